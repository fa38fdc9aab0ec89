/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl images: the local images that have variants, and what to do about them. */
#include "cmd/variantctl/verbs.h"
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_MAX (64u * 1024 * 1024)

struct image_report {
    struct image_checker checker;
    json_t *images, *missed;
    size_t n, unrecorded; /* images examined; those without a record */
    struct ocv_option_list places;
    bool json;
};

static const struct ocv_option options[] = {
    {.name = "from",
     .value = "PLACE",
     .help = "docker, podman, containerd, cri or oci:DIR\n"
             "again for more (every engine that answers)",
     OCV_OPTION_LIST(struct image_report, places)},
    CLI_FORMAT(struct image_report, json, "what is printed (text)"),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl images [OPTIONS]\n"
             "\n"
             "List the images of docker, podman, containerd and vpull's own layout that have\n"
             "variants: name, label, whether it fits this machine now (fits; lesser: another\n"
             "one of its index fits better; misfit; warning: a misfit by its labels; unknown),\n"
             "why, and what to do. An image with several names has a line for each.\n"
             "An engine that does not answer is named once on standard error. Exit 0 whatever\n"
             "is found: see 'verify' for a check.\n",
    .options = options,
    .groups = CLI_HOST,
    .complete = local_images_complete,
    .arguments = {.hint = "variantctl index show IMAGE lists what an index holds"},
    .end = "\n"
           "Examples:\n"
           "  variantctl images\n"
           "  variantctl images --from oci:images\n"
           "  variantctl images --json --profile h100.json --from oci:images\n"};

static int add_image(void *data, const struct local_image *image)
{
    struct image_report *l = data;
    struct image_result checked;
    const struct known_image *k = &checked.known;
    image_check(&l->checker, image, &checked);
    l->n++;
    l->unrecorded += checked.verdict == OCV_VERDICT_NONE && !k->by;
    const char *label = k->fit.said.label, *properties = k->fit.said.properties;
    const char *why = checked.reason && *checked.reason     ? checked.reason
                      : properties && *properties           ? properties
                      : label && strcmp(label, "null") != 0 ? "the best of its index"
                                                            : "needs nothing special";
    int status = OCV_OK;
    if (checked.verdict != OCV_VERDICT_NONE &&
        json_array_append_new(
            l->images, json_pack("{s:s, s:s?, s:s?, s:s?, s:s, s:s, s:s?, s:s?}", "where",
                                 image->where, "image", image->name, "digest", k->digest, "label",
                                 label, "verdict", ocv_verdict_name(checked.verdict), "why", why,
                                 "do", checked.remedy, "signedBy", checked.key)) < 0)
        status = OCV_ERR_NOMEM;
    image_result_free(&checked);
    return status;
}

static int look_at(void *data, const char *where, struct ocv_error *err)
{
    struct image_report *l = data;
    return local_images(where, l->checker.cli->profile, add_image, l, err);
}

static int add_missed(void *data, const char *where, const struct ocv_error *why)
{
    struct image_report *l = data;
    cli_warn(l->checker.cli, why->status == OCV_ERR_ENGINE ? "%s: %s" : "%s is skipped: %s", where,
             why->message);
    return json_array_append_new(l->missed,
                                 json_pack("{s:s, s:s}", "where", where, "why", why->message)) < 0
               ? OCV_ERR_NOMEM
               : OCV_OK;
}

static int format_text(const struct image_report *l, struct ocv_buffer *out, struct ocv_error *err)
{
    static const char *const keys[] = {"where", "image", "label"};
    static const char *const otherwise[] = {"", "(no name)", "the default"};
    int widths[] = {5, 5, 5}; /* of all columns but the last */
    size_t i;
    const json_t *image;
    json_array_foreach(l->images, i, image)
    {
        for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
            int len = (int)strlen(ocv_json_text_or(image, keys[k], otherwise[k]));
            widths[k] = len > widths[k] ? len : widths[k];
        }
    }
    json_array_foreach(l->images, i, image)
    {
        const char *remedy = ocv_json_text_or(image, "do", NULL);
        OCV_TRY(ocv_buffer_printf(out, err, "%-*s  %-*s  %-*s  %-7s  %s\n", widths[0],
                                  ocv_json_text_or(image, keys[0], otherwise[0]), widths[1],
                                  ocv_json_text_or(image, keys[1], otherwise[1]), widths[2],
                                  ocv_json_text_or(image, keys[2], otherwise[2]),
                                  ocv_json_text_or(image, "verdict", ""),
                                  ocv_json_text_or(image, "why", "")));
        const char *key = ocv_json_text(image, "signedBy");
        if (key)
            OCV_TRY(ocv_buffer_printf(out, err, "%*s  signed by the key %s\n", widths[0], "", key));
        if (remedy)
            OCV_TRY(ocv_buffer_printf(out, err, "%*s  %s\n", widths[0], "", remedy));
    }
    OCV_TRY(ocv_buffer_printf(out, err, "%zu of %zu images here have variants",
                              json_array_size(l->images), l->n));
    if (l->unrecorded)
        OCV_TRY(ocv_buffer_printf(out, err, "; of %zu no record here says whether it has%s",
                                  l->unrecorded,
                                  geteuid() ? " (only root's vpull and variantd record)" : ""));
    return ocv_buffer_append(out, "\n", 1, err);
}

static void end_report(struct image_report *l)
{
    image_checker_end(&l->checker);
}

int cmd_images(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    __attribute__((cleanup(end_report))) struct image_report l = {0};
    ocv_auto_buffer out;
    ocv_buffer_init(&out, OUTPUT_MAX);
    int code = cli_read(cli, &command, &l, argc, argv);
    if (code >= 0)
        return code;
    OCV_TRY(image_checker_begin(&l.checker, cli, err));
    ocv_auto_json *images = l.images = json_array();
    ocv_auto_json *missed = l.missed = json_array();
    if (!images || !missed)
        return ocv_error_nomem(err);
    const struct local_walk walk = {&l.places, look_at, add_missed, &l};
    OCV_TRY(local_walk(&walk, err));
    /* The directory that vpull uses without an engine, if it exists. */
    char own[4096] = "oci:";
    if (l.places.n == 0 && cli_images_directory(own + 4, sizeof(own) - 4) &&
        access(own + 4, F_OK) == 0)
        OCV_TRY(look_at(&l, own, err));
    if (l.json) {
        OCV_TRY(format_document(json_pack("{s:s, s:O, s:O}", "schema", "dev.ocivariant.images/v1",
                                          "images", images, "notLookedAt", missed),
                                &out, err));
    } else {
        OCV_TRY(format_text(&l, &out, err));
    }
    /* Names and labels are untrusted; only our own newlines may end a line. */
    for (char *line = out.data, *end; line && *line && !l.json; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        ocv_text_clean(line);
        if (end)
            *end = '\n';
    }
    return out.data ? cli_print(out.data, strlen(out.data), err) : OCV_OK;
}
