/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl verify: drivers are downgraded, cards are moved; does what was pulled still fit? */
#include "cmd/variantctl/verbs.h"
#include "cmd/variantctl/verify/judge.h"
#include "lib/base/paths.h"
#include "lib/base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 64u

enum { OPTION_FROM = 1, OPTION_FORMAT, OPTION_ALL, OPTION_STRICT };

static const struct option options[] = {{"from", required_argument, NULL, OPTION_FROM},
                                        {"format", required_argument, NULL, OPTION_FORMAT},
                                        {"all", no_argument, NULL, OPTION_ALL},
                                        {"strict", no_argument, NULL, OPTION_STRICT},
                                        CLI_HOST_OPTIONS,
                                        CLI_COMMON_OPTIONS,
                                        CLI_OPTIONS_END};

static const char help[] =
    "Usage: variantctl verify [OPTIONS]\n"
    "\n"
    "Check the images on this node against what it can run today, by the node's\n"
    "records of what was resolved, else by config labels (which containerd's client\n"
    "does not tell). Exit 5 if one does not fit any more; what only its labels say,\n"
    "which images inherit, is a warning. One that fits, though another one of its\n"
    "index fits better, is lesser. Each line says what pulls the right one. variantd\n"
    "is asked about what is not known here, unless --profile names another machine.\n"
    "\n"
    "Options:\n"
    "  --from PLACE             docker, podman, containerd or oci:DIR; again for more\n"
    "                           (default: every engine that answers)\n"
    "  --all                    show what fits and what cannot be judged, too\n"
    "  --strict                 exit 5 for a lesser one, too\n"
    "  --format text|json       what is printed (text)\n" CLI_HOST_HELP CLI_COMMON_HELP "\n"
    "Examples:\n"
    "  variantctl verify --from oci:images\n"
    "  variantctl verify --all --from oci:images --json\n"
    "  variantctl verify --strict --profile h100.json --from oci:images\n";

struct verify {
    struct cli *cli;
    struct judge judge;
    json_t *results;
    bool strict; /* a lesser one is a failure */
    size_t fits, lesser, misfits, warnings, unjudged, unrecorded;
};

/* ---- judging -----------------------------------------------------------------------------------
 */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int add_result(struct verify *v, const struct local_image *image,
                      const struct judged *judged, struct ocv_error *err)
{
    const struct known *k = &judged->known;
    json_t *entry =
        json_pack("{s:s, s:s?, s:s?, s:s?, s:s, s:s?, s:s?, s:s?}", "where", image->where, "image",
                  image->name, "digest", k->digest, "label", k->said.label, "verdict",
                  judged->verdict, "by", k->by, "reason", judged->reason, "remedy", judged->remedy);
    return !entry || json_array_append_new(v->results, entry) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

static int check_image(void *data, const struct local_image *image)
{
    struct verify *v = data;
    struct ocv_error err = {0};
    struct judged judged;
    judge_image(&v->judge, image, &judged);
    const char *verdict = judged.verdict;
    v->fits += strcmp(verdict, "fits") == 0;
    v->lesser += strcmp(verdict, "lesser") == 0;
    v->misfits += strcmp(verdict, "misfit") == 0;
    v->warnings += strcmp(verdict, "warning") == 0;
    v->unjudged += strcmp(verdict, "unknown") == 0;
    v->unrecorded += strcmp(verdict, "none") == 0 && !judged.known.by;
    int status = add_result(v, image, &judged, &err);
    judged_free(&judged);
    return status;
}

/* Engines that do not answer are not a failure unless they were named. */
static int look_everywhere(struct verify *v, struct ocv_error *err)
{
    static const char *const engines[] = {"docker", "podman", "containerd"};
    size_t answered = 0;
    for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
        struct ocv_error why = {0};
        int status = local_images(engines[i], check_image, v, &why);
        if (status == OCV_OK)
            answered++;
        else if (status == OCV_ERR_NOT_FOUND)
            cli_say(v->cli, "%s: %s", engines[i], why.message);
        else
            cli_warn(v->cli, "%s", why.message);
    }
    if (answered)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_NOT_FOUND, "no engine answers here");
    ocv_error_hint(err, "--from oci:DIR, or -v to see why");
    return OCV_ERR_NOT_FOUND;
}

/* ---- showing -----------------------------------------------------------------------------------
 */

static int print_row(const json_t *r, struct ocv_error *err)
{
    const char *label = text_of(r, "label"), *reason = text_of(r, "reason");
    const char *name = text_of(r, "image");
    const char *remedy = text_of(r, "remedy");
    char *line = NULL;
    if (asprintf(&line, "%-7s  %s: %s%s%s%s%s%s%s%s", text_of(r, "verdict"), text_of(r, "where"),
                 name ? name : "(no name)", label ? " (" : "", label ? label : "", label ? ")" : "",
                 reason ? ": " : "", reason ? reason : "", remedy ? "; " : "",
                 remedy ? remedy : "") < 0)
        return ocv_error_nomem(err);
    ocv_text_clean(line); /* names and labels are what the authors of images wrote */
    puts(line);
    free(line);
    return OCV_OK;
}

static int print_table(const struct verify *v, bool all, struct ocv_error *err)
{
    size_t i;
    int status = OCV_OK;
    json_t *r;
    json_array_foreach(v->results, i, r)
    {
        const char *verdict = text_of(r, "verdict");
        bool trouble = strcmp(verdict, "misfit") == 0 || strcmp(verdict, "lesser") == 0 ||
                       strcmp(verdict, "warning") == 0;
        if ((trouble || all) && status == OCV_OK)
            status = print_row(r, err);
    }
    size_t n = json_array_size(v->results);
    size_t judged = v->fits + v->lesser + v->misfits + v->warnings + v->unjudged;
    printf("%zu %s: %zu fit, %zu do not, %zu do not by their labels, %zu cannot be judged, "
           "%zu have no variants, %zu have no record here, %zu could be better\n",
           n, n == 1 ? "image" : "images", v->fits, v->misfits, v->warnings, v->unjudged,
           n - judged - v->unrecorded, v->unrecorded, v->lesser);
    return status;
}

static int show(const struct verify *v, bool json, bool all, struct ocv_error *err)
{
    if (json) {
        json_t *root = json_pack("{s:s, s:O, s:b}", "schema", "dev.ocivariant.verify/v1", "images",
                                 v->results, "ok", v->misfits == 0 && !(v->strict && v->lesser));
        char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
        json_decref(root);
        if (!text)
            return ocv_error_nomem(err);
        puts(text);
        free(text);
    } else if (print_table(v, all, err) < 0) {
        return OCV_ERR_NOMEM;
    }
    return cli_print("", 0, err);
}

static int run(struct verify *v, const char *const *places, size_t n, struct ocv_error *err)
{
    int status = judge_begin(&v->judge, v->cli, err);
    if (status == OCV_OK && !(v->results = json_array()))
        status = ocv_error_nomem(err);
    if (status == OCV_OK && n == 0)
        return look_everywhere(v, err);
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = local_images(places[i], check_image, v, err);
    return status;
}

int cmd_verify(struct cli *cli, int argc, char **argv)
{
    struct ocv_error err = {0};
    struct verify v = {.cli = cli};
    const char *places[PLACES_MAX];
    size_t n = 0;
    bool json = false, all = false;
    int value, code = -1;
    while (cli_next_option(cli, argc, argv, options, help, &value, &code)) {
        if (value == OPTION_FROM && n < PLACES_MAX)
            places[n++] = optarg;
        else if (value == OPTION_ALL)
            all = true;
        else if (value == OPTION_STRICT)
            v.strict = true;
        else if (value != OPTION_FORMAT || !cli_format(optarg, &json))
            return cli_bad_option(cli, argv, value);
    }
    if (code >= 0)
        return code;
    if (optind < argc) {
        ocv_error_set(&err, OCV_ERR_INVALID, "verify takes no argument, not '%s'", argv[optind]);
        ocv_error_hint(&err, "--from docker, podman, containerd or oci:DIR");
        return cli_fail(cli, &err);
    }
    int status = run(&v, places, n, &err);
    if (status == OCV_OK)
        status = show(&v, json, all, &err);
    json_decref(v.results);
    if (status < 0)
        return cli_fail(cli, &err);
    return v.misfits || (v.strict && v.lesser) ? 5 : 0;
}
