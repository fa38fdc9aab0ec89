/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl verify: drivers get downgraded and cards moved, so check that pulled images still fit.
 */
#include "cmd/variantctl/verbs.h"
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "lib/base/format/span.h"
#include "lib/base/text.h"
#include "lib/internal/config/config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct verify {
    struct cli *cli;
    struct image_checker checker;
    json_t *results;
    struct ocv_option_list places;
    bool json, all;
    bool strict; /* a lesser image is a failure */
    bool repair;
    bool trust;                           /* list what lacks a signature */
    bool unread;                          /* an engine did not report on all its images */
    int64_t every_ms;                     /* 0: once */
    size_t count[OCV_VERDICT_OPEN];       /* of each verdict */
    size_t unrecorded, wanting, answered; /* the last: places */
};

static int take_every(const struct ocv_option_given *given, struct ocv_error *err)
{
    int64_t *every_ms = given->into;
    if (!ocv_duration_parse(given->value, every_ms) || *every_ms == 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "--every: '%.40s' is not " OCV_DURATION_FORM,
                             given->value);
    return OCV_OK;
}

static const struct ocv_option options[] = {
    {.name = "from",
     .value = "PLACE",
     .help = "docker, podman, containerd, cri or oci:DIR\n"
             "again for more (every engine that answers)",
     OCV_OPTION_LIST(struct verify, places)},
    {.name = "all",
     .help = "show what fits and what cannot be checked, too",
     OCV_OPTION_FLAG(struct verify, all)},
    {.name = "strict",
     .help = "exit 5 for a lesser one, too",
     OCV_OPTION_FLAG(struct verify, strict)},
    {.name = "repair",
     .help = "run these commands, and check again",
     OCV_OPTION_FLAG(struct verify, repair)},
    {.name = "trust",
     .help = "list what lacks a signature (`trust`); exit 5",
     OCV_OPTION_FLAG(struct verify, trust)},
    {.name = "every",
     .value = "TIME",
     .help = "check again each TIME (10m), until told to stop",
     .flags = OCV_OPTION_MORE,
     OCV_OPTION_MEMBER(take_every, struct verify, every_ms)},
    CLI_FORMAT(struct verify, json, "what is printed (text)"),
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl verify [OPTIONS]\n"
             "\n"
             "Check the images on this node against what it can run today. Each line has the\n"
             "command that pulls the right one. Exit 5 if one does not fit any more.\n",
    .details = "Images are checked by the node's records of what was resolved, else by config\n"
               "labels (which containerd's client does not show). Images inherit labels, so a\n"
               "misfit that rests only on labels is a warning. An image without variants gets\n"
               "checked by the NVIDIA_REQUIRE_* of its own configuration, as `config_policy`\n"
               "says. An image that fits is lesser if another one of its index fits better.\n"
               "variantd is asked about what is not known here, unless --profile names another\n"
               "machine. cri is what a kubelet's runtime has: /run/containerd/containerd.sock,\n"
               "or cri:SOCKET; --repair has it pull again. Exit 1 if an engine did not list all\n"
               "of its images, even if those that it listed fit, or if a repair failed.\n",
    .options = options,
    .groups = CLI_HOST,
    .complete = local_images_complete,
    .arguments = {.hint = "--from docker, podman, containerd, cri or oci:DIR"},
    .end = "\n"
           "Examples:\n"
           "  variantctl verify --from oci:images\n"
           "  variantctl verify --all --from oci:images --json\n"
           "  variantctl verify --strict --profile h100.json --from oci:images\n"};

static int check_image(void *data, const struct local_image *image)
{
    struct verify *v = data;
    struct image_result checked;
    const struct known_image *k = &checked.known;
    image_check(&v->checker, image, &checked);
    enum ocv_verdict verdict = checked.verdict;
    v->count[verdict]++;
    v->unrecorded += verdict == OCV_VERDICT_NONE && !k->by;
    v->wanting += checked.wanting != NULL;
    json_t *entry = json_pack("{s:s, s:s?, s:s?, s:s?, s:s, s:s?, s:s?, s:s?, s:s?, s:s?}", "where",
                              image->where, "image", image->name, "digest", k->digest, "label",
                              k->fit.said.label, "verdict", ocv_verdict_name(verdict), "by", k->by,
                              "reason", checked.reason, "remedy", checked.remedy, "signedBy",
                              checked.key, "unsigned", checked.wanting);
    bool failed = !entry || json_array_append_new(v->results, entry) < 0;
    image_result_free(&checked);
    return failed ? OCV_ERR_NOMEM : OCV_OK;
}

/* A container is checked against its own devices if its image's repository has `workload: devices`;
 * otherwise its image has been checked already. */
static int check_container(void *data, const struct local_image *image)
{
    struct verify *v = data;
    ocv_auto(ocv_reference) reference = NULL;
    if (!image->name || ocv_reference_parse(image->name, &reference, NULL) < 0 ||
        ocv_config_workload(ocv_config_for_reference(v->cli->config, reference)) !=
            OCV_WORKLOAD_DEVICES)
        return OCV_OK;
    return check_image(data, image);
}

static int check_place(void *data, const char *where, struct ocv_error *err)
{
    struct verify *v = data;
    OCV_TRY(local_images(where, v->cli->profile, check_image, v, err));
    if (ocv_workload_anywhere(v->cli->config))
        OCV_TRY(local_containers(where, check_container, v, err));
    v->answered++;
    return OCV_OK;
}

/* An engine that does not answer is a failure only if it was named. */
static int note_missed(void *data, const char *where, const struct ocv_error *why)
{
    struct verify *v = data;
    if (why->status == OCV_ERR_NOT_FOUND) {
        cli_log(v->cli, "%s: %s", where, why->message);
        return OCV_OK;
    }
    v->answered += why->status == OCV_ERR_ENGINE; /* what it does report has been checked */
    v->unread = true;
    cli_warn(v->cli, "%s: %s", where, why->message);
    return OCV_OK;
}

static int print_table(const struct verify *v, struct ocv_error *err)
{
    size_t i;
    json_t *r;
    json_array_foreach(v->results, i, r)
    {
        const char *verdict = ocv_json_text(r, "verdict"), *name = ocv_json_text(r, "image");
        const char *label = ocv_json_text(r, "label"), *reason = ocv_json_text(r, "reason");
        const char *remedy = ocv_json_text(r, "remedy");
        ocv_auto_free char *line = NULL;
        const char *wanting = v->trust ? ocv_json_text(r, "unsigned") : NULL;
        if (wanting) {
            if (asprintf(&line,
                         "unsigned  %s: %s: %s asks for a signature, and none is on record here",
                         ocv_json_text(r, "where"), name ? name : "(no name)", wanting) < 0)
                return ocv_error_nomem(err);
            ocv_text_clean(line);
            puts(line);
            free(ocv_steal(&line));
        }
        bool trouble = strcmp(verdict, "misfit") == 0 || strcmp(verdict, "lesser") == 0 ||
                       strcmp(verdict, "warning") == 0;
        if (!trouble && !v->all)
            continue;
        if (asprintf(&line, "%-7s  %s: %s%s%s%s%s%s%s%s", verdict, ocv_json_text(r, "where"),
                     name ? name : "(no name)", label ? " (" : "", label ? label : "",
                     label ? ")" : "", reason ? ": " : "", reason ? reason : "", remedy ? "; " : "",
                     remedy ? remedy : "") < 0)
            return ocv_error_nomem(err);
        ocv_text_clean(line); /* names and labels are untrusted */
        puts(line);
    }
    size_t n = json_array_size(v->results);
    const struct {
        size_t n;
        const char *what;
    } counts[] = {{v->count[OCV_VERDICT_FITS], "fit"},
                  {v->count[OCV_VERDICT_MISFIT], "do not fit"},
                  {v->count[OCV_VERDICT_WARNING], "do not fit by their labels or configuration"},
                  {v->count[OCV_VERDICT_UNKNOWN], "cannot be checked"},
                  {v->count[OCV_VERDICT_NONE] - v->unrecorded, "have no variants"},
                  {v->unrecorded, "have no record here"},
                  {v->count[OCV_VERDICT_LESSER], "could be better"},
                  {v->trust ? v->wanting : 0, "lack a signature"}};
    printf("%zu %s", n, n == 1 ? "image" : "images");
    for (size_t c = 0, told = 0; c < sizeof(counts) / sizeof(*counts); c++)
        if (counts[c].n)
            printf("%s%zu %s", told++ ? ", " : ": ", counts[c].n, counts[c].what);
    printf("\n");
    return cli_print("", 0, err);
}

/* The images of all places, in `v->results`, which `*out` owns. */
static int check_all(struct verify *v, json_t **out, struct ocv_error *err)
{
    const struct local_walk walk = {&v->places, check_place, note_missed, v};
    json_decref(*out);
    v->results = *out = json_array();
    if (!*out)
        return ocv_error_nomem(err);
    OCV_TRY(local_walk(&walk, err));
    if (v->answered)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_NOT_FOUND, "no engine answers here");
    ocv_error_hint(err, "--from oci:DIR, or -v to see why");
    return OCV_ERR_NOT_FOUND;
}

static void end_verify(struct verify *v)
{
    image_checker_end(&v->checker);
}

int cmd_verify(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    __attribute__((cleanup(end_verify))) struct verify v = {.cli = cli};
    int code = cli_read(cli, &command, &v, argc, argv);
    if (code >= 0)
        return code;
    if (v.every_ms && !verify_is_round(cli, v.every_ms, &code))
        return code;
    OCV_TRY(image_checker_begin(&v.checker, cli, err));
    v.checker.configs = true;
    bool chooser = cli->profile_file || !v.every_ms;
    for (size_t i = 0; i < v.places.n && !chooser; i++)
        if (local_images_socket(v.places.texts[i]) && !verify_has_chooser(cli)) {
            cli_warn(cli, "variantd does not answer, and chooses for %s", v.places.texts[i]);
            return VERIFY_TOLD_NOBODY;
        }
    ocv_auto_json *results = NULL;
    OCV_TRY(check_all(&v, &results, err));
    bool failed = false;
    if (v.repair && verify_repair(cli, results, &failed)) { /* what it is now */
        const struct image_checker checker = v.checker;
        v = (struct verify){.cli = cli,
                            .checker = checker,
                            .places = v.places,
                            .json = v.json,
                            .all = v.all,
                            .strict = v.strict,
                            .trust = v.trust,
                            .every_ms = v.every_ms};
        OCV_TRY(check_all(&v, &results, err));
    }
    bool ok = v.count[OCV_VERDICT_MISFIT] == 0 && !(v.strict && v.count[OCV_VERDICT_LESSER]) &&
              !(v.trust && v.wanting);
    OCV_TRY(v.json
                ? print_document(json_pack("{s:s, s:O, s:b}", "schema", "dev.ocivariant.verify/v1",
                                           "images", results, "ok", ok),
                                 err)
                : print_table(&v, err));
    if (v.every_ms && v.unread && !json_array_size(results))
        return 1; /* it was told, and the next round is soon */
    if (v.every_ms)
        return v.checker.ask || cli->profile_file ? 0 : VERIFY_TOLD_NOBODY;
    return !ok ? 5 : v.unread || failed ? 1 : 0;
}
