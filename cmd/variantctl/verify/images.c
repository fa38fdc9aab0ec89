/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl images: what is on this machine that has variants, and what is to be done about it. */
#include "cmd/variantctl/verbs.h"
#include "cmd/variantctl/verify/judge.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLACES_MAX 64u
#define OUTPUT_MAX (64u * 1024 * 1024)

enum { OPTION_FROM = 1, OPTION_FORMAT };

static const struct option options[] = {{"from", required_argument, NULL, OPTION_FROM},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        CLI_HOST_OPTIONS,
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantctl images [OPTIONS]\n"
    "\n"
    "List the images of docker, podman, containerd and vpull's own layout that have\n"
    "variants: name, label, whether it fits this machine now (fits; lesser: another\n"
    "one of its index fits better; misfit; warning: a misfit by its own labels\n"
    "alone; unknown), why, and what to do. An engine that does not answer is named\n"
    "once on standard error. Exit 0 whatever is found: see 'verify' for a check.\n"
    "\n"
    "Options:\n"
    "  --from PLACE             docker, podman, containerd or oci:DIR; again for more\n"
    "  --format text|json       what is printed (text)\n" CLI_HOST_HELP CLI_COMMON_HELP "\n"
    "Examples:\n"
    "  variantctl images\n"
    "  variantctl images --from oci:images\n"
    "  variantctl images --json --profile h100.json --from oci:images\n";

struct listing {
    struct judge judge;
    json_t *images, *missed;
    size_t n; /* images that were looked at */
};

/* ---- looking ---- */

static const char *why_of(const struct judged *judged)
{
    const char *properties = judged->known.said.properties;
    if (judged->reason && *judged->reason)
        return judged->reason;
    return properties && *properties ? properties : "the default entry";
}

static int add_image(void *data, const struct local_image *image)
{
    struct listing *l = data;
    struct judged judged;
    judge_image(&l->judge, image, &judged);
    l->n++;
    int status = OCV_OK;
    if (strcmp(judged.verdict, "none") != 0 &&
        json_array_append_new(
            l->images,
            json_pack("{s:s, s:s?, s:s?, s:s?, s:s, s:s, s:s?}", "where", image->where, "image",
                      image->name, "digest", judged.known.digest, "label", judged.known.said.label,
                      "verdict", judged.verdict, "why", why_of(&judged), "do", judged.remedy)) < 0)
        status = OCV_ERR_NOMEM;
    judged_free(&judged);
    return status;
}

static int miss(struct listing *l, const char *where, const struct ocv_error *why)
{
    cli_warn(l->judge.cli, "%s is not looked at: %s", where, why->message);
    return json_array_append_new(l->missed,
                                 json_pack("{s:s, s:s}", "where", where, "why", why->message)) < 0
               ? OCV_ERR_NOMEM
               : OCV_OK;
}

/* Where vpull puts images without an engine, if it ever did. */
static int look_at_own(struct listing *l, struct ocv_error *err)
{
    char place[4096] = "oci:";
    if (!cli_images_directory(place + 4, sizeof(place) - 4) || access(place + 4, F_OK) < 0)
        return OCV_OK;
    return local_images(place, add_image, l, err);
}

static int look_everywhere(struct listing *l, struct ocv_error *err)
{
    static const char *const engines[] = {"docker", "podman", "containerd"};
    int status = OCV_OK;
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines) && status != OCV_ERR_NOMEM; i++) {
        struct ocv_error why = {0};
        status = local_images(engines[i], add_image, l, &why);
        if (status < 0 && status != OCV_ERR_NOMEM)
            status = miss(l, engines[i], &why);
    }
    return status == OCV_ERR_NOMEM ? ocv_error_nomem(err) : look_at_own(l, err);
}

/* ---- showing ---- */

static const char *text_of(const json_t *image, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(image, key));
    return text ? text : otherwise;
}

/* Widths of the columns before the last. */
struct widths {
    int where, image, label;
};

static void widen(int *width, const char *text)
{
    int len = (int)strlen(text);
    *width = len > *width ? len : *width;
}

static struct widths measure(const json_t *images)
{
    struct widths w = {5, 5, 5};
    size_t i;
    const json_t *image;
    json_array_foreach(images, i, image)
    {
        widen(&w.where, text_of(image, "where", ""));
        widen(&w.image, text_of(image, "image", "(no name)"));
        widen(&w.label, text_of(image, "label", "(default)"));
    }
    return w;
}

static int format_text(const struct listing *l, struct ocv_buffer *out, struct ocv_error *err)
{
    struct widths w = measure(l->images);
    size_t i;
    const json_t *image;
    int status = OCV_OK;
    json_array_foreach(l->images, i, image)
    {
        const char *remedy = text_of(image, "do", NULL);
        if (status == OCV_OK)
            status = ocv_buffer_printf(out, err, "%-*s  %-*s  %-*s  %-7s  %s\n", w.where,
                                       text_of(image, "where", ""), w.image,
                                       text_of(image, "image", "(no name)"), w.label,
                                       text_of(image, "label", "(default)"),
                                       text_of(image, "verdict", ""), text_of(image, "why", ""));
        if (status == OCV_OK && remedy)
            status = ocv_buffer_printf(out, err, "%*s  %s\n", w.where, "", remedy);
    }
    if (status == OCV_OK)
        status = ocv_buffer_printf(out, err, "%zu of %zu images here have variants\n",
                                   json_array_size(l->images), l->n);
    return status;
}

static int format_json(const struct listing *l, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *root = json_pack("{s:s, s:O, s:O}", "schema", "dev.ocivariant.images/v1",
                                    "images", l->images, "notLookedAt", l->missed);
    if (!root)
        return ocv_error_nomem(err);
    int status = ocv_json_append(root, JSON_INDENT(2), out, err);
    return status == OCV_OK ? ocv_buffer_append(out, "\n", 1, err) : status;
}

/* Names and labels are what the authors of images wrote; a line ends only where one ends. */
static void clean_lines(char *text)
{
    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        ocv_text_clean(line);
        if (end)
            *end = '\n';
    }
}

static int run(struct listing *l, struct cli *cli, const char *const *places, size_t n, bool json,
               struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, OUTPUT_MAX);
    int status = judge_begin(&l->judge, cli, err);
    l->images = json_array();
    l->missed = json_array();
    if (status == OCV_OK && (!l->images || !l->missed))
        status = ocv_error_nomem(err);
    if (status == OCV_OK && n == 0)
        status = look_everywhere(l, err);
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = local_images(places[i], add_image, l, err);
    if (status == OCV_OK)
        status = json ? format_json(l, &out, err) : format_text(l, &out, err);
    if (status == OCV_OK && !json)
        clean_lines(out.data);
    return status == OCV_OK ? cli_print(out.data, strlen(out.data), err) : status;
}

int cmd_images(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct listing l = {0};
    const char *places[PLACES_MAX];
    size_t n = 0;
    bool json = false;
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options, help, &value, &code)) {
        if (value == OPTION_FROM && n < PLACES_MAX)
            places[n++] = optarg;
        else if (value != OPTION_FORMAT || !cli_format(optarg, &json))
            return cli_bad_option(cli, argv, value);
    }
    if (code >= 0)
        return code;
    if (optind < argc) {
        ocv_error_set(&err, OCV_ERR_INVALID, "images takes no argument, not '%s'", argv[optind]);
        ocv_error_hint(&err, "variantctl index show IMAGE lists what an index holds");
        return cli_fail(cli, &err);
    }
    int status = run(&l, cli, places, n, json, &err);
    json_decref(l.images);
    json_decref(l.missed);
    return status < 0 ? cli_fail(cli, &err) : 0;
}
