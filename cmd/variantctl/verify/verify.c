/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl verify: drivers are downgraded, cards are moved; does what was pulled still fit? */
#include "cmd/common/names.h"
#include "cmd/variantctl/verbs.h"
#include "cmd/variantctl/verify/verify_known.h"
#include "lib/base/paths.h"
#include "lib/base/text.h"
#include "lib/config/choose.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX (64u * 1024)
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
    char records[4096];
    json_t *results;
    bool ask;    /* the daemon knows this machine */
    bool strict; /* a lesser one is a failure */
    size_t fits, lesser, misfits, warnings, unjudged, unrecorded;
};

/* ---- judging -----------------------------------------------------------------------------------
 */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A reference has nothing that a shell would read otherwise; one by digest stays what it is. */
static bool can_be_pulled(const char *name)
{
    ocv_auto(ocv_reference) reference = NULL;
    return name && strpbrk(name, "/:") && !strchr(name, '@') && !ocv_digest_wellformed(name) &&
           ocv_reference_parse(name, &reference, NULL) == OCV_OK;
}

/* What to do about one that does not fit, or fits less than another; NULL: nothing, or no memory. A
 * layout has tags alone at times: what was asked for when it was chosen has the name. */
static char *remedy_of(const struct local_image *image, const struct known *k, const char *verdict)
{
    char *line = NULL;
    const char *ns = strncmp(image->where, "containerd:", 11) == 0 ? image->where + 11 : NULL;
    bool layout = strncmp(image->where, "oci:", 4) == 0;
    bool due = strcmp(verdict, "lesser") == 0 || strcmp(verdict, "misfit") == 0 ||
               strcmp(verdict, "warning") == 0;
    int made = -1;
    if (!due || !image->name || image->index)
        return NULL;
    if (can_be_pulled(image->name))
        made = ns ? asprintf(&line, "vpull --to containerd -n %s %s", ns, image->name)
                  : asprintf(&line, "vpull --to %s %s", image->where, image->name);
    else if (layout && can_be_pulled(k->said.reference))
        made = asprintf(&line, "vpull --to %s:%s %s", image->where, image->name, k->said.reference);
    return made < 0 ? NULL : line;
}

static int add_result(struct verify *v, const struct local_image *image, const struct known *k,
                      const char *verdict, const char *reason, struct ocv_error *err)
{
    char *remedy = remedy_of(image, k, verdict);
    json_t *entry =
        json_pack("{s:s, s:s?, s:s?, s:s?, s:s, s:s?, s:s?, s:s?}", "where", image->where, "image",
                  image->name, "digest", k->digest, "label", k->said.label, "verdict", verdict,
                  "by", k->by, "reason", reason, "remedy", remedy);
    free(remedy);
    return !entry || json_array_append_new(v->results, entry) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

/* An index in a layout fits where something in it does. */
static const char *judge_index(const struct verify *v, const struct ocv_index *index,
                               const struct ocv_resolve_options *choose, struct known *k,
                               struct ocv_buffer *reason, struct ocv_error *err)
{
    ocv_auto(ocv_decision) decision = NULL;
    k->by = "index";
    known_forget(k);
    if (ocv_resolve(index, v->cli->profile, choose, &decision, err) < 0)
        return "unknown";
    const struct ocv_entry *chosen = ocv_decision_selected(decision);
    if (chosen) {
        known_set_label(k, chosen->label);
        return "fits";
    }
    return ocv_buffer_printf(reason, err, "no variant fits and there is no default entry") < 0
               ? "unknown"
               : "misfit";
}

static const char *judge_image(const struct verify *v, const struct ocv_resolve_options *choose,
                               const struct known *k, struct ocv_buffer *reason,
                               struct ocv_error *err)
{
    bool fits = false;
    if (!k->by)
        return "none";
    if (ocv_fit_check(k->said.label, k->said.properties, k->said.statics, v->cli->profile, choose,
                      &fits, reason, err) < 0)
        return "unknown";
    if (!fits && strcmp(k->by, "labels") == 0)
        return "warning"; /* FROM inherits labels: they may be another image's */
    return fits ? "fits" : "misfit";
}

/* `on`: variants are chosen for it, so that the default entry is not what is wanted. By what is
 * kept here; else by variantd, which is told at the same time. */
static const char *compare(struct verify *v, const struct local_image *image, bool on,
                           const struct ocv_resolve_options *choose, struct known *k,
                           const char *verdict, struct ocv_buffer *reason)
{
    bool fits = strcmp(verdict, "fits") == 0;
    if (!image->name || !strpbrk(image->name, "/:") || ocv_digest_wellformed(image->name))
        return verdict; /* replaced: another image has its name now */
    if (fits && on && known_lesser(v->records, k, v->cli->profile, choose, reason))
        verdict = "lesser";
    if (!v->ask || (!fits && strcmp(verdict, "none") != 0))
        return verdict;
    const char *told = known_ask(v->cli->config, k, image->name, reason, &v->ask);
    if (!told || (fits && strcmp(told, "none") == 0))
        return verdict;
    if (!on && strcmp(told, "lesser") == 0)
        told = "fits";
    if (!k->by)
        k->by = "daemon";
    return told;
}

/* An image that nothing is known of need not be one without variants. */
static void explain_none(struct verify *v, const struct known *k, struct ocv_buffer *reason)
{
    v->unrecorded += !k->by;
    reason->len = 0;
    if (ocv_buffer_printf(reason, NULL, "%s",
                          k->by ? "an image without variants"
                                : "no record here says whether it is a variant") < 0)
        reason->len = 0;
}

static int check_image(void *data, const struct local_image *image)
{
    struct verify *v = data;
    struct known known;
    struct ocv_error err = {0};
    ocv_auto_buffer reason;
    ocv_buffer_init(&reason, RECORD_MAX);
    known_find(v->records, image, &known);
    ocv_auto(ocv_reference) reference = NULL;
    const char *name = known.repository ? known.repository
                       : known.heard[0] ? known.heard
                                        : image->name;
    if (name && ocv_reference_parse(name, &reference, NULL) < 0)
        reference = NULL; /* a layout's bare tag is of no repository */
    const struct ocv_config *config = ocv_config_for_reference(v->cli->config, reference);
    const struct ocv_resolve_options choose = {.preferences = ocv_config_preferences(config),
                                               .platform = v->cli->platform};
    const char *verdict = image->index
                              ? judge_index(v, image->index, &choose, &known, &reason, &err)
                              : judge_image(v, &choose, &known, &reason, &err);
    if (!image->index)
        verdict = compare(v, image, ocv_config_choose(config) == OCV_CHOOSE_ON, &choose, &known,
                          verdict, &reason);
    if (strcmp(verdict, "none") == 0)
        explain_none(v, &known, &reason);
    v->fits += strcmp(verdict, "fits") == 0;
    v->lesser += strcmp(verdict, "lesser") == 0;
    v->misfits += strcmp(verdict, "misfit") == 0;
    v->warnings += strcmp(verdict, "warning") == 0;
    v->unjudged += strcmp(verdict, "unknown") == 0;
    const char *why = err.message[0] ? err.message : reason.data;
    int status = add_result(v, image, &known, verdict, why, &err);
    known_free(&known);
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
    int status = cli_load(v->cli, err);
    const char *state = status == OCV_OK ? ocv_config_get(v->cli->config, "state_dir") : NULL;
    ocv_record_directory(state, v->records, sizeof(v->records));
    v->ask = !v->cli->profile_file;
    if (status == OCV_OK)
        status = cli_profile(v->cli, err);
    if (status == OCV_OK)
        status = names_check(v->cli, v->cli->config, v->cli->plain, NULL, err);
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
