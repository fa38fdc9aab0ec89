/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/verify/judge.h"

#include "cmd/common/names.h"
#include "lib/config/choose.h"
#include "lib/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_MAX (64u * 1024)

int judge_begin(struct judge *j, struct cli *cli, struct ocv_error *err)
{
    int status = cli_load(cli, err);
    const char *state = status == OCV_OK ? ocv_config_get(cli->config, "state_dir") : NULL;
    ocv_record_directory(state, j->records, sizeof(j->records));
    j->cli = cli;
    j->ask = !cli->profile_file;
    if (status == OCV_OK)
        status = cli_profile(cli, err);
    return status == OCV_OK ? names_check(cli, cli->config, cli->plain, NULL, err) : status;
}

/* A reference has nothing that a shell would read otherwise; one by digest stays what it is. */
static bool can_be_pulled(const char *name)
{
    ocv_auto(ocv_reference) reference = NULL;
    return name && strpbrk(name, "/:") && !strchr(name, '@') && !ocv_digest_wellformed(name) &&
           ocv_reference_parse(name, &reference, NULL) == OCV_OK;
}

/* Without a character that a shell would read: the line is there to be copied, and a layout's names
 * are whatever its author wrote. */
static bool is_plain_word(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "._-/:@+=,%")] == '\0';
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
    if (!due || !image->name || image->index || !is_plain_word(image->where) ||
        !is_plain_word(image->name))
        return NULL;
    if (can_be_pulled(image->name))
        made = ns ? asprintf(&line, "vpull --to containerd -n %s %s", ns, image->name)
                  : asprintf(&line, "vpull --to %s %s", image->where, image->name);
    else if (layout && can_be_pulled(k->said.reference))
        made = asprintf(&line, "vpull --to %s:%s %s", image->where, image->name, k->said.reference);
    return made < 0 ? NULL : line;
}

/* An index in a layout fits where something in it does. */
static const char *judge_index(const struct judge *j, const struct ocv_index *index,
                               const struct ocv_resolve_options *choose, struct known *k,
                               struct ocv_buffer *reason, struct ocv_error *err)
{
    ocv_auto(ocv_decision) decision = NULL;
    k->by = "index";
    known_forget(k);
    if (ocv_resolve(index, j->cli->profile, choose, &decision, err) < 0)
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

static const char *judge_known(const struct judge *j, const struct ocv_resolve_options *choose,
                               const struct known *k, struct ocv_buffer *reason,
                               struct ocv_error *err)
{
    bool fits = false;
    if (!k->by)
        return "none";
    if (ocv_fit_check(k->said.label, k->said.properties, k->said.statics, j->cli->profile, choose,
                      &fits, reason, err) < 0)
        return "unknown";
    if (!fits && strcmp(k->by, "labels") == 0)
        return "warning"; /* FROM inherits labels: they may be another image's */
    return fits ? "fits" : "misfit";
}

/* `on`: variants are chosen for it, so that the default entry is not what is wanted. By what is
 * kept here; else by variantd, which is told at the same time. */
static const char *compare(struct judge *j, const struct local_image *image, bool on,
                           const struct ocv_resolve_options *choose, struct known *k,
                           const char *verdict, struct ocv_buffer *reason)
{
    bool fits = strcmp(verdict, "fits") == 0;
    if (!image->name || !strpbrk(image->name, "/:") || ocv_digest_wellformed(image->name))
        return verdict; /* replaced: another image has its name now */
    if (fits && on && known_lesser(j->records, k, j->cli->profile, choose, reason))
        verdict = "lesser";
    if (!j->ask || (!fits && strcmp(verdict, "none") != 0))
        return verdict;
    const char *told = known_ask(j->cli->config, k, image->name, reason, &j->ask);
    if (!told || (fits && strcmp(told, "none") == 0))
        return verdict;
    if (!on && strcmp(told, "lesser") == 0)
        told = "fits";
    if (!k->by)
        k->by = "daemon";
    return told;
}

/* An image that nothing is known of need not be one without variants. */
static void explain_none(const struct known *k, struct ocv_buffer *reason)
{
    reason->len = 0;
    if (ocv_buffer_printf(reason, NULL, "%s",
                          k->by ? "an image without variants"
                                : "no record here says whether it is a variant") < 0)
        reason->len = 0;
}

void judge_image(struct judge *j, const struct local_image *image, struct judged *out)
{
    struct known *known = &out->known;
    *out = (struct judged){0};
    ocv_buffer_init(&out->text, REASON_MAX);
    known_find(j->records, image, known);
    ocv_auto(ocv_reference) reference = NULL;
    const char *name = known->repository ? known->repository
                       : known->heard[0] ? known->heard
                                         : image->name;
    if (name && ocv_reference_parse(name, &reference, NULL) < 0)
        reference = NULL; /* a layout's bare tag is of no repository */
    const struct ocv_config *config = ocv_config_for_reference(j->cli->config, reference);
    const struct ocv_resolve_options choose = {.preferences = ocv_config_preferences(config),
                                               .platform = j->cli->platform};
    out->verdict = image->index
                       ? judge_index(j, image->index, &choose, known, &out->text, &out->err)
                       : judge_known(j, &choose, known, &out->text, &out->err);
    if (!image->index)
        out->verdict = compare(j, image, ocv_config_choose(config) == OCV_CHOOSE_ON, &choose, known,
                               out->verdict, &out->text);
    if (strcmp(out->verdict, "none") == 0)
        explain_none(known, &out->text);
    out->reason = out->err.message[0] ? out->err.message : out->text.data;
    out->remedy = remedy_of(image, known, out->verdict);
}

void judged_free(struct judged *judged)
{
    known_free(&judged->known);
    ocv_buffer_free(&judged->text);
    free(judged->remedy);
}
