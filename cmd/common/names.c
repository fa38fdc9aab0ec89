/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/names.h"
#include "gen/vocabulary-words.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/core/core_internal.h"

#include <stdlib.h>
#include <string.h>

#define LABELS_SHOWN 12u
#define TEXT_MAX (64u * 1024)

struct names_check {
    struct cli *cli;
    struct ocv_error *err;
    bool quiet; /* count only */
    bool blind; /* there is no index that could know the name */
    bool told;  /* its warnings have been printed */
    size_t unknown;
};

static int unknown_name(void *data, const struct ocv_unknown_name *name)
{
    struct names_check *c = data;
    /* "FILE:LINE", not a flag or variable */
    bool file = strncmp(name->origin, "--", 2) != 0 && strncmp(name->origin, "OCV_", 4) != 0;
    bool elsewhere = (name->kind == OCV_UNKNOWN_HOST || c->blind) && file;
    if (c->quiet) {
        c->unknown += name->kind == OCV_UNKNOWN_NAME;
        return OCV_OK;
    }
    if (name->kind == OCV_UNKNOWN_NOTE || elsewhere) {
        if (!c->told)
            cli_warn(c->cli, "%s: %s", name->origin, name->message);
        return OCV_OK;
    }
    ocv_error_set(c->err, OCV_ERR_CONFIG, "%s: %s", name->origin, name->message);
    if (name->kind == OCV_UNKNOWN_NAME && strstr(name->message, "no namespace") &&
        !strstr(name->message, "did you mean"))
        ocv_error_hint(c->err, "known_namespaces in the configuration admits private ones");
    return OCV_ERR_CONFIG;
}

int names_check(struct cli *cli, const struct ocv_config *config, const struct ocv_profile *profile,
                const struct ocv_index *index, struct ocv_error *err)
{
    struct ocv_error own = {0};
    struct names_check check = {
        .cli = cli, .err = err ? err : &own, .quiet = true, .blind = !index};
    struct ocv_name_sources sources = {.profile = profile, .index = index};
    const struct ocv_probe_options options = {.datadir = getenv("OCV_DATADIR"),
                                              .libexecdir = getenv("OCV_LIBEXECDIR")};
    const char *providers[INSTALLED_MAX];
    ocv_auto_buffer text;
    ocv_buffer_init(&text, INSTALLED_TEXT_MAX);
    (void)ocv_config_check_names(config, &sources, unknown_name, &check);
    if (check.unknown) {
        sources.providers = providers;
        sources.n_providers = installed_namespaces(&options, &text, providers);
    }
    check.quiet = false;
    check.told = cli->names_told && __atomic_exchange_n(cli->names_told, true, __ATOMIC_RELAXED);
    return ocv_config_check_names(config, &sources, unknown_name, &check);
}

/* An image by name, and the index to choose from. */
struct named_index {
    const char *text;
    const struct ocv_index *index;
    struct ocv_preferences preferences;
};

static const char *label_of(const struct ocv_entry *entry)
{
    if (entry->label)
        return entry->label;
    return entry->code == OCV_REJECT_NONE && entry->kind == OCV_ENTRY_NON_VARIANT ? "null" : NULL;
}

static bool has_label(const struct ocv_index *index, const char *label, size_t end)
{
    for (size_t i = 0; i < end; i++) {
        const char *other = label_of(ocv_index_entry(index, i));
        if (other && !strcmp(other, label))
            return true;
    }
    return false;
}

const char *names_label(const struct ocv_index *index, const char *label)
{
    bool meant = label && index && !strcmp(label, "default") &&
                 !has_label(index, label, ocv_index_count(index));
    return meant ? "null" : label;
}

static int no_such_label(const struct named_index *image, const char *label, const char *origin,
                         struct ocv_error *err)
{
    ocv_auto_buffer labels;
    ocv_buffer_init(&labels, TEXT_MAX);
    /* "null (the default), cuda12.6, cuda12.8" */
    size_t n = ocv_index_count(image->index), listed = 0;
    for (size_t i = 0; i < n; i++) {
        const char *other = label_of(ocv_index_entry(image->index, i));
        if (!other || has_label(image->index, other, i))
            continue;
        if (listed < LABELS_SHOWN &&
            ocv_buffer_printf(&labels, NULL, "%s%s%s", listed ? ", " : "", other,
                              strcmp(other, "null") != 0 ? "" : " (the default)") < 0)
            return ocv_error_nomem(err);
        listed++;
    }
    if (listed > LABELS_SHOWN &&
        ocv_buffer_printf(&labels, NULL, " and %zu more", listed - LABELS_SHOWN) < 0)
        return ocv_error_nomem(err);
    if (!strcmp(label, "null"))
        return ocv_error_set(err, origin ? OCV_ERR_NO_MATCH : OCV_ERR_CONFIG,
                             "%s: it has no build that runs everywhere: it has %s", image->text,
                             labels.data ? labels.data : "none");
    struct ocv_nearest nearest = {.wanted = label};
    char question[OCV_NEAREST_QUESTION_MAX];
    for (size_t i = 0; i < n; i++) {
        const char *other = label_of(ocv_index_entry(image->index, i));
        if (other)
            ocv_nearest_offer(&nearest, other);
    }
    const char *meant = ocv_nearest_meant(&nearest);
    int status = ocv_error_set(
        err, origin ? OCV_ERR_NO_MATCH : OCV_ERR_CONFIG, "%s: no variant '%s' in %s: it has %s%s",
        origin ? origin : "--label", label, image->text, labels.data ? labels.data : "none",
        ocv_nearest_question(meant, question));
    if (!meant && has_label(image->index, "null", n))
        ocv_error_hint(err, "--label null is the build that needs nothing");
    return status;
}

int names_check_label(const char *text, const struct ocv_index *index, const char *label,
                      struct ocv_error *err)
{
    const struct named_index image = {.text = text, .index = index};
    const char *wanted = names_label(index, label);
    return !wanted || has_label(index, wanted, ocv_index_count(index))
               ? OCV_OK
               : no_such_label(&image, wanted, NULL, err);
}

/* Put a rejection's reason and hint into the error. */
static int explain_choice(const struct named_index *image, const struct ocv_decision *decision,
                          size_t i, const char *what, const char *also, struct ocv_error *err)
{
    ocv_auto_buffer reason, hint;
    ocv_buffer_init(&reason, TEXT_MAX);
    ocv_buffer_init(&hint, TEXT_MAX);
    OCV_TRY(ocv_decision_reason(decision, i, &reason, err));
    OCV_TRY(ocv_decision_hint(decision, i, &hint, err));
    ocv_error_set(err, OCV_ERR_NO_MATCH, "%s: %s: %s", image->text, what, reason.data);
    ocv_error_hint(err, "%s%s%s", hint.data ? hint.data : "", hint.len && *also ? "; " : "", also);
    return OCV_ERR_NO_MATCH;
}

static bool is_platform(enum ocv_reject code)
{
    return code == OCV_REJECT_PLATFORM || code == OCV_REJECT_PLATFORM_VARIANT ||
           code == OCV_REJECT_OS_FEATURES;
}

/* Then --unchecked does not help. */
static bool is_denied(const struct named_index *image, const struct ocv_entry *entry)
{
    const char *glob, *origin;
    return ocv_preferences_deny(&image->preferences, entry->label ? entry->label : "null",
                                ocv_entry_tag(image->index, entry), &glob, &origin);
}

/* Of several entries with the label, the one for this platform counts. */
static int label_unfit(const struct named_index *image, const struct ocv_decision *decision,
                       const char *label, struct ocv_error *err)
{
    char what[96];
    size_t n = ocv_decision_rejected_count(decision), best = n;
    for (size_t i = 0; i < n; i++) {
        struct ocv_rejection r = ocv_decision_rejected(decision, i);
        const char *own = label_of(r.entry);
        if (own && !strcmp(own, label) &&
            (best == n ||
             (is_platform(ocv_decision_rejected(decision, best).code) && !is_platform(r.code))))
            best = i;
    }
    if (best == n)
        return ocv_error_set(err, OCV_ERR_NO_MATCH, "%s: variant %s is not chosen", image->text,
                             label);
    snprintf(what, sizeof(what), "variant %s does not fit this host", label);
    bool never = is_denied(image, ocv_decision_rejected(decision, best).entry);
    return explain_choice(image, decision, best, what, never ? "" : "--unchecked pulls it anyway",
                          err);
}

/* The same question to explain: for the same machine. */
static void hint_explain(const struct cli *cli, const struct named_index *image,
                         struct ocv_error *err)
{
    ocv_error_hint(err, "variantctl explain %s%s%s%s%s%s%s", cli->profile_file ? "--profile " : "",
                   cli->profile_file ? cli->profile_file : "", cli->profile_file ? " " : "",
                   cli->platform_text ? "--platform " : "",
                   cli->platform_text ? cli->platform_text : "", cli->platform_text ? " " : "",
                   image->text);
}

/* Entries that fit do not use the feature; entries that use it do not fit. */
static int requirement_unmet(const struct cli *cli, const struct named_index *image,
                             const struct ocv_decision *decision, struct ocv_rejection unmet,
                             struct ocv_error *err)
{
    char what[320];
    size_t len = strcspn(unmet.required, " ");
    size_t n = ocv_decision_rejected_count(decision), best = n;
    for (size_t i = 0; i < n; i++) {
        struct ocv_rejection r = ocv_decision_rejected(decision, i);
        bool uses = false; /* the namespace of "ns :: feature" */
        for (size_t k = 0; k < r.entry->n_properties; k++) {
            struct ocv_property p = ocv_index_property(image->index, r.entry->properties[k]);
            uses = uses || (strlen(p.ns) == len && !memcmp(p.ns, unmet.required, len));
        }
        if (r.code == OCV_REJECT_REQUIREMENT || r.entry->code != OCV_REJECT_NONE || !uses)
            continue;
        if ((best == n ||
             (is_platform(ocv_decision_rejected(decision, best).code) && !is_platform(r.code))))
            best = i;
    }
    if (best == n) {
        ocv_error_set(err, OCV_ERR_NO_MATCH,
                      "%s: nothing that fits uses %s, which is required (%s)", image->text,
                      unmet.required, unmet.origin ? unmet.origin : "");
        hint_explain(cli, image, err);
        return OCV_ERR_NO_MATCH;
    }
    const char *label = ocv_decision_rejected(decision, best).entry->label;
    snprintf(what, sizeof(what), "nothing that fits uses %.100s, which is required (%.100s): %s",
             unmet.required, unmet.origin ? unmet.origin : "", label ? label : "");
    return explain_choice(image, decision, best, what, "", err);
}

/* "linux/amd64, linux/arm64": the platforms of the entries; false if an entry was rejected for a
 * reason other than its platform. */
static bool other_platforms(const struct ocv_decision *decision, char *out, size_t size)
{
    size_t n = ocv_decision_rejected_count(decision), used = 0;
    *out = '\0';
    for (size_t i = 0; i < n; i++) {
        struct ocv_rejection r = ocv_decision_rejected(decision, i);
        const struct ocv_platform *p = &r.entry->platform;
        char one[128];
        if (r.code >= OCV_REJECT_UNKNOWN_PLATFORM && r.code <= OCV_REJECT_DIGEST_ALGORITHM)
            continue; /* no image */
        if (r.code != OCV_REJECT_PLATFORM || !r.entry->has_platform)
            return false;
        const struct ocv_platform bare = {.os = p->os, .architecture = p->architecture};
        ocv_platform_format(&bare, one, sizeof(one));
        size_t len = strlen(one);
        const char *at = strstr(out, one);
        while (at && at[len] && at[len] != ',') /* "linux/arm" is in "linux/arm64", too */
            at = strstr(at + len, one);
        if (!at && used + len + 3 < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", one);
    }
    return used > 0;
}

/* Where one property keeps all builds away, say which, and how to pull one all the same. */
static int nothing_fits(const struct cli *cli, const struct named_index *image,
                        const struct ocv_decision *decision, const char *tag, struct ocv_error *err)
{
    const struct ocv_entry *first = NULL;
    const char *ns = NULL;
    bool same = true;
    for (size_t i = 0; i < ocv_decision_rejected_count(decision); i++) {
        struct ocv_rejection r = ocv_decision_rejected(decision, i);
        if (!r.ns)
            continue; /* another platform, or no image */
        same = same && (!ns || !strcmp(ns, r.ns));
        ns = r.ns;
        if ((!first || r.entry->position < first->position) && !is_denied(image, r.entry))
            first = r.entry;
    }
    ocv_error_set(err, OCV_ERR_NO_MATCH, "%s: no variant fits and there is no default",
                  image->text);
    hint_explain(cli, image, err);
    if (!first || !first->label)
        return OCV_ERR_NO_MATCH;
    char why[80] = "";
    if (same)
        snprintf(why, sizeof(why), "every build needs %.50s; ", ns);
    if (tag)
        ocv_error_hint(err,
                       "%s--tag-rules off pulls %.120s as docker would, --label %s --unchecked "
                       "that build",
                       why, tag, first->label);
    else
        ocv_error_hint(err, "%s--label %s --unchecked pulls that build", why, first->label);
    return OCV_ERR_NO_MATCH;
}

/* The first malformed entry of an index that has no other image; NULL: it has one. */
static const struct ocv_entry *only_malformed(const struct ocv_decision *decision)
{
    const struct ocv_entry *first = NULL;
    for (size_t i = 0; i < ocv_decision_rejected_count(decision); i++) {
        struct ocv_rejection r = ocv_decision_rejected(decision, i);
        if (r.code >= OCV_REJECT_UNKNOWN_PLATFORM && r.code <= OCV_REJECT_DIGEST_ALGORITHM)
            continue; /* no image */
        if (r.code != OCV_REJECT_MALFORMED)
            return NULL;
        if (!first || r.entry->position < first->position)
            first = r.entry;
    }
    return first;
}

int names_no_match(const struct cli *cli, const char *text, const struct ocv_reference *reference,
                   const struct ocv_index *index, const struct ocv_decision *decision,
                   const char *tag, struct ocv_error *err)
{
    const struct named_index made = {.text = text,
                                     .index = index,
                                     .preferences =
                                         ocv_config_preferences_for(cli->config, reference)};
    const struct named_index *image = &made;
    struct ocv_error own = {0};
    const struct ocv_config *config = ocv_config_for_reference(cli->config, reference);
    const char *label =
        cli->label ? names_label(index, cli->label) : ocv_config_get(config, "label");
    const char *origin = cli->label ? NULL : ocv_config_origin(config, "label");
    err = err ? err : &own;
    const struct ocv_entry *malformed = only_malformed(decision);
    if (malformed)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: no entry can be used: manifests[%zu]: %s",
                             text, malformed->position,
                             malformed->detail ? malformed->detail : "malformed");
    for (size_t i = 0; i < ocv_decision_rejected_count(decision); i++) {
        /* only `deny` keeps it away: then nothing else fits */
        const struct ocv_rejection why = ocv_decision_rejected(decision, i);
        bool one = label && *label;
        if (why.code != OCV_REJECT_DENIED)
            continue;
        ocv_error_set(err, OCV_ERR_NO_MATCH, "%s: %s%.63s is denied: deny has '%s' (%s)", text,
                      one ? "variant " : "every build of it for this machine", one ? label : "",
                      why.required, why.origin ? why.origin : "");
        ocv_error_hint(err, "name another %s, or take it out of deny there",
                       one ? "label" : "tag of the repository");
        return OCV_ERR_NO_MATCH;
    }
    if (label && *label && !has_label(image->index, label, ocv_index_count(image->index)))
        return no_such_label(image, label, origin, err);
    for (size_t i = 0; i < ocv_decision_rejected_count(decision); i++) {
        struct ocv_rejection r = ocv_decision_rejected(decision, i);
        bool wanted = !label || !*label || (r.entry->label && !strcmp(r.entry->label, label));
        if (r.code == OCV_REJECT_REQUIREMENT && wanted)
            return requirement_unmet(cli, image, decision, r, err);
    }
    if (label && *label)
        return label_unfit(image, decision, label, err);
    char has[400];
    const struct ocv_platform *asked = cli->platform;
    if (!other_platforms(decision, has, sizeof(has)))
        return nothing_fits(cli, image, decision, tag, err);
    ocv_error_set(err, OCV_ERR_NO_MATCH, "%s: no image for %s%s%s; it has %s", image->text,
                  asked ? asked->os : "this machine's platform", asked ? "/" : "",
                  asked ? asked->architecture : "", has);
    hint_explain(cli, image, err);
    return OCV_ERR_NO_MATCH;
}

#define NAMESPACES (sizeof(vocabulary_namespaces) / sizeof(*vocabulary_namespaces))

const struct vocabulary_namespace *vocabulary_namespace_at(size_t i)
{
    return i < NAMESPACES ? &vocabulary_namespaces[i] : NULL;
}

const struct vocabulary_namespace *vocabulary_namespace_find(const char *name)
{
    for (size_t i = 0; i < NAMESPACES; i++)
        if (!strcmp(vocabulary_namespaces[i].name, name))
            return &vocabulary_namespaces[i];
    return NULL;
}

const struct vocabulary_feature *vocabulary_feature_at(const struct vocabulary_namespace *ns,
                                                       size_t i)
{
    return &vocabulary_features[ns->first + i];
}

const struct vocabulary_feature *vocabulary_feature_find(const struct vocabulary_namespace *ns,
                                                         const char *name)
{
    for (size_t i = 0; i < ns->n; i++)
        if (!strcmp(vocabulary_features[ns->first + i].name, name))
            return &vocabulary_features[ns->first + i];
    return NULL;
}
