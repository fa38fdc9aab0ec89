/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties against the vocabulary and against each other (OCV201 to 212). */
#include "gen/vocabulary.h"
#include "lib/base/text.h"
#include "lib/internal/edit/edit_internal.h"
#include "lib/internal/lint/lint_internal.h"
#include "ocivariant/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#define AT_PROPERTIES "/annotations/" OCV_ANNOTATION_PROPERTIES

typedef const struct ocv_vocabulary_feature *feature_ref;

static feature_ref find_feature(struct ocv_property p)
{
    for (size_t i = 0; i < OCV_LINT_COUNT(ocv_vocabulary_features); i++)
        if (!strcmp(ocv_vocabulary_features[i].ns, p.ns) &&
            !strcmp(ocv_vocabulary_features[i].name, p.feature))
            return &ocv_vocabulary_features[i];
    return NULL;
}

/* Bytes of name and properties: a command that is cut would lose some of them. */
#define COMMAND_MAX 600u

/* "did you mean", and the command that writes the whole list with the right word in it. */
static void hint_instead(struct ocv_lint *lint, size_t i, struct ocv_property wrong,
                         struct ocv_property right)
{
    const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
    ocv_auto_buffer list;
    ocv_buffer_init(&list, 64u * 1024);
    for (size_t k = 0; k < entry->n_properties; k++) {
        struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
        bool same = !strcmp(p.ns, wrong.ns) && !strcmp(p.feature, wrong.feature) &&
                    !strcmp(p.value, wrong.value);
        p = same ? right : p;
        int status = ocv_buffer_printf(&list, lint->err, "%s%s :: %s :: %s", k ? ", " : "", p.ns,
                                       p.feature, p.value);
        if (status < 0) {
            lint->status = status;
            return;
        }
    }
    if (list.len + strlen(ocv_lint_target(lint)) > COMMAND_MAX)
        ocv_lint_hint(lint, "did you mean %s :: %s :: %s?", right.ns, right.feature, right.value);
    else
        ocv_lint_hint(lint, "did you mean %s :: %s :: %s? variantctl index annotate %s '%s=%s'",
                      right.ns, right.feature, right.value, ocv_lint_target(lint),
                      entry->label ? entry->label : entry->digest, list.data);
}

static void check_word(struct ocv_lint *lint, size_t i, struct ocv_property p)
{
    char meant[OCV_WORD_MAX];
    switch (ocv_vocabulary_check(p.ns, p.feature, p.value, meant)) {
    case OCV_WORD_KNOWN: {
        const char *documented = find_feature(p)->documented;
        if (!documented || (*documented != '*' && !ocv_text_listed(documented, p.value)))
            break;
        ocv_lint_entry_at(lint, OCV_LINT_VALUE_UNREPORTED, i, AT_PROPERTIES,
                          "no provider reports %s :: %s :: %s yet", p.ns, p.feature, p.value);
        ocv_lint_property(lint, i, p);
        break;
    }
    case OCV_WORD_NAMESPACE:
        ocv_lint_entry_at(lint, OCV_LINT_NAMESPACE_UNKNOWN, i, AT_PROPERTIES,
                          "no provider owns the namespace %s", p.ns);
        ocv_lint_property(lint, i, p);
        if (*meant)
            hint_instead(lint, i, p, (struct ocv_property){meant, p.feature, p.value});
        break;
    case OCV_WORD_FEATURE:
        ocv_lint_entry_at(lint, OCV_LINT_FEATURE_UNKNOWN, i, AT_PROPERTIES,
                          "the namespace %s has no feature %s", p.ns, p.feature);
        ocv_lint_property(lint, i, p);
        if (*meant)
            hint_instead(lint, i, p, (struct ocv_property){p.ns, meant, p.value});
        break;
    case OCV_WORD_VALUE: {
        feature_ref f = find_feature(p);
        ocv_lint_entry_at(lint, OCV_LINT_VALUE_UNKNOWN, i, AT_PROPERTIES,
                          "%s :: %s has no value %s", p.ns, p.feature, p.value);
        ocv_lint_property(lint, i, p);
        if (*meant)
            hint_instead(lint, i, p, (struct ocv_property){p.ns, p.feature, meant});
        else if (f->values)
            ocv_lint_hint(lint, "known are %.300s", f->values);
        else
            ocv_lint_hint(lint, "it must match %s", f->pattern);
        break;
    }
    }
}

static void check_syntax(struct ocv_lint *lint, size_t i, const struct ocv_entry *entry)
{
    const char *text = ocv_lint_annotation(lint, i, OCV_ANNOTATION_PROPERTIES);
    ocv_auto(ocv_properties) set = NULL;
    ocv_auto_buffer canonical;
    ocv_buffer_init(&canonical, 64u * 1024);
    if (entry->code == OCV_REJECT_BAD_PROPERTIES) {
        ocv_lint_entry_at(lint, OCV_LINT_PROPERTY_MALFORMED, i, AT_PROPERTIES, "%s",
                          entry->detail ? entry->detail : "malformed properties");
        ocv_lint_hint(lint, "write namespace :: feature :: value, joined by commas");
    }
    int status = text && lint->status == OCV_OK
                     ? ocv_properties_parse(text, strlen(text), &set, NULL)
                     : OCV_ERR_INVALID;
    if (status == OCV_ERR_NOMEM)
        lint->status = ocv_error_nomem(lint->err);
    if (status < 0)
        return;
    lint->status = ocv_properties_format(set, &canonical, lint->err);
    if (lint->status == OCV_OK && strcmp(canonical.data ? canonical.data : "", text) != 0) {
        ocv_lint_entry_at(lint, OCV_LINT_PROPERTY_NOT_CANONICAL, i, AT_PROPERTIES,
                          "the properties are not in canonical form");
        if (canonical.len > COMMAND_MAX)
            ocv_lint_hint(lint, "--fix rewrites them");
        else
            ocv_lint_hint(lint, "write %s, or let --fix do it",
                          canonical.data ? canonical.data : "''");
    }
}

static void check_processor(struct ocv_lint *lint, size_t i, const struct ocv_entry *entry,
                            struct ocv_property p)
{
    const char *architecture = entry->platform.architecture;
    if (ocv_lint_attests(lint, i))
        return; /* that it has properties at all is the fault */
    for (size_t k = 0; architecture && k < OCV_LINT_COUNT(ocv_lint_processors); k++)
        if (!strcmp(ocv_lint_processors[k].a, p.ns) &&
            strcmp(ocv_lint_processors[k].b, architecture) != 0) {
            ocv_lint_entry_at(lint, OCV_LINT_CPU_NAMESPACE_FOREIGN, i, "/platform",
                              "%s :: %s :: %s on an image for %s", p.ns, p.feature, p.value,
                              architecture);
            ocv_lint_property(lint, i, p);
            ocv_lint_hint(lint, "the platform or the property belongs to another build");
        }
}

static void check_versions(struct ocv_lint *lint, size_t i, const struct ocv_entry *entry)
{
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_bounds); k++) {
        const char *lower = ocv_lint_lowest(lint, entry, ocv_lint_bounds[k].a), *upper = NULL;
        for (size_t m = 0; m < entry->n_properties; m++) {
            struct ocv_property p = ocv_index_property(lint->index, entry->properties[m]);
            if (ocv_lint_is_feature(p, ocv_lint_bounds[k].b) &&
                (!upper || ocv_version_compare(p.value, upper) > 0))
                upper = p.value;
        }
        if (!lower || !upper || ocv_version_compare(lower, upper) < 0)
            continue;
        ocv_lint_entry_at(lint, OCV_LINT_BOUNDS_CROSSED, i, AT_PROPERTIES,
                          "at least %s and below %s: no host satisfies both", lower, upper);
        ocv_lint_hint(lint, "%s must be above %s", ocv_lint_bounds[k].b, lower);
    }
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_drivers) && !lint->input->partial; k++) {
        if (!ocv_lint_lowest(lint, entry, ocv_lint_drivers[k].a) ||
            ocv_lint_lowest(lint, entry, ocv_lint_drivers[k].b) ||
            ocv_lint_lowest(lint, entry, ocv_lint_drivers[k].c))
            continue;
        ocv_lint_entry_at(lint, OCV_LINT_DRIVER_BOUND_MISSING, i, AT_PROPERTIES,
                          "%s without %s: hosts with too old a driver get it, too",
                          ocv_lint_drivers[k].a, ocv_lint_drivers[k].b);
        ocv_lint_hint(lint,
                      "add %s :: VERSION, to every entry with %s: one that says a version ranks "
                      "before one that does not",
                      ocv_lint_drivers[k].b, ocv_lint_drivers[k].a);
    }
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_exact); k++)
        if (ocv_lint_lowest(lint, entry, ocv_lint_exact[k].a)) {
            ocv_lint_entry_at(lint, OCV_LINT_VERSION_EXACT, i, AT_PROPERTIES,
                              "%s is an exact version", ocv_lint_exact[k].a);
            ocv_lint_hint(lint, "%s takes newer ones, too", ocv_lint_exact[k].b);
        }
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_cumulative); k++) {
        size_t n = 0;
        for (size_t m = 0; m < entry->n_properties; m++)
            n += ocv_lint_is_feature(ocv_index_property(lint->index, entry->properties[m]),
                                     ocv_lint_cumulative[k].a);
        if (n < 2 || ocv_lint_minor_pair(lint, entry, ocv_lint_cumulative[k].a))
            continue;
        ocv_lint_entry_at(lint, OCV_LINT_VALUES_SUBSUMED, i, AT_PROPERTIES,
                          "%zu values of %s: only the lowest decides which hosts fit", n,
                          ocv_lint_cumulative[k].a);
        ocv_lint_hint(lint, "name only the one that is needed");
    }
}

void ocv_lint_check_properties(struct ocv_lint *lint)
{
    for (size_t i = 0; i < ocv_index_count(lint->index) && lint->status == OCV_OK; i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        const char *last = "";
        check_syntax(lint, i, entry);
        for (size_t k = 0; k < entry->n_properties; k++) {
            struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
            if (!lint->statics[entry->properties[k]].is_static)
                check_word(lint, i, p);
            if (strcmp(p.ns, last) != 0)
                check_processor(lint, i, entry, p);
            last = p.ns;
        }
        char feature[128];
        const char *variant = entry->platform.variant;
        const char *level = ocv_lint_level(entry->platform.architecture, variant, feature);
        for (size_t k = 0; level && k < entry->n_properties; k++) {
            struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
            if (!ocv_lint_is_feature(p, feature) || !strcmp(p.value, strrchr(level, ' ') + 1))
                continue;
            ocv_lint_entry_at(lint, OCV_LINT_CPU_LEVEL_CONTRADICTS, i, "/platform/variant",
                              "the platform says %s and the properties %s :: %s :: %s", variant,
                              p.ns, p.feature, p.value);
            ocv_lint_hint(lint, "keep the property; platform.variant becomes x- and the label");
        }
        check_versions(lint, i, entry);
    }
}
