/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Variants that are never chosen (OCV121). B hides A when B fits every host that A fits, and stands
 * before A on each of them. Readers compare namespaces in the index's order, features and values in
 * the host's; an unknown host may have any order, so for a namespace that hosts report only this is
 * certain: if both name the same features and B accepts every value that A accepts, A is not
 * better. A static namespace's order is known. A user's own namespace_priority is not considered.
 */
#include "lib/internal/lint/lint_internal.h"

#include <string.h>

enum comparison { B_BETTER, NOT_WORSE, UNSURE };

struct property_span {
    size_t start, end; /* properties of one feature */
};

static struct property_span find_run(const struct ocv_lint *lint, const struct ocv_entry *entry,
                                     const char *ns, const char *feature)
{
    struct property_span run = {0, 0};
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(lint->index, entry->properties[i]);
        if (strcmp(p.ns, ns) != 0 || strcmp(p.feature, feature) != 0)
            continue;
        if (run.end == 0)
            run.start = i;
        run.end = i + 1;
    }
    return run;
}

/* Each feature of B is one of A's, with no value of A's missing; a static one is on every host. */
bool ocv_lint_fits_wherever(const struct ocv_lint *lint, const struct ocv_entry *a,
                            const struct ocv_entry *b)
{
    for (size_t i = 0; i < b->n_properties; i++) {
        struct ocv_property p = ocv_index_property(lint->index, b->properties[i]);
        const struct ocv_lint_static *known = &lint->statics[b->properties[i]];
        if (known->is_static) {
            if (known->value < 0)
                return false; /* simple and sure: one value that is there is enough for readers */
            continue;
        }
        struct property_span of_a = find_run(lint, a, p.ns, p.feature);
        if (of_a.end == 0)
            return false;
        struct property_span of_b = find_run(lint, b, p.ns, p.feature);
        for (size_t k = of_a.start; k < of_a.end; k++) { /* is each value of A's one of B's? */
            bool found = false;
            for (size_t m = of_b.start; m < of_b.end; m++)
                found = found || a->properties[k] == b->properties[m];
            if (!found)
                return false;
        }
    }
    return true;
}

/* The best of the entry's values in the static list; a feature that is not named is worst. */
static int static_rank(const struct ocv_lint *lint, const struct ocv_entry *entry, const char *ns,
                       const char *feature)
{
    struct property_span run = find_run(lint, entry, ns, feature);
    int best = INT32_MAX;
    for (size_t i = run.start; i < run.end; i++) {
        int at = lint->statics[entry->properties[i]].value;
        best = at >= 0 && at < best ? at : best;
    }
    return best;
}

static enum comparison compare_static(const struct ocv_lint *lint, const struct ocv_entry *a,
                                      const struct ocv_entry *b, const char *ns)
{
    const struct ocv_entry *both[] = {a, b};
    for (int after = -1, at = -1;; after = at) {
        /* the next feature in the list of the namespace, of those that either entry names */
        const char *feature = NULL;
        for (size_t e = 0; e < 2; e++)
            for (size_t i = 0; i < both[e]->n_properties; i++) {
                struct ocv_property p = ocv_index_property(lint->index, both[e]->properties[i]);
                int place = lint->statics[both[e]->properties[i]].feature;
                if (!strcmp(p.ns, ns) && place > after && (!feature || place < at)) {
                    feature = p.feature;
                    at = place;
                }
            }
        if (!feature)
            return NOT_WORSE;
        int x = static_rank(lint, a, ns, feature), y = static_rank(lint, b, ns, feature);
        if (x != y)
            return y < x ? B_BETTER : UNSURE;
    }
}

/* A namespace that neither names asks for nothing. */
static bool is_static(const struct ocv_lint *lint, const struct ocv_entry *a,
                      const struct ocv_entry *b, const char *ns)
{
    const struct ocv_entry *both[] = {a, b};
    for (size_t e = 0; e < 2; e++)
        for (size_t i = 0; i < both[e]->n_properties; i++)
            if (!strcmp(ocv_index_property(lint->index, both[e]->properties[i]).ns, ns))
                return lint->statics[both[e]->properties[i]].is_static;
    return false;
}

static bool real_platform(const struct ocv_entry *entry)
{
    return (entry->platform.variant && *entry->platform.variant &&
            !ocv_platform_is_hidden(entry->platform.variant)) ||
           entry->platform.n_os_features || !entry->has_platform;
}

static bool hides_entry(const struct ocv_lint *lint, const struct ocv_entry *a,
                        const struct ocv_entry *b)
{
    const char *const *names;
    size_t n = ocv_index_namespaces(lint->index, &names, NULL);
    if (!ocv_lint_same_platform(a, b) || real_platform(a) || real_platform(b) ||
        !ocv_lint_fits_wherever(lint, a, b))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (is_static(lint, a, b, names[i])) {
            enum comparison comparison = compare_static(lint, a, b, names[i]);
            if (comparison != NOT_WORSE)
                return comparison == B_BETTER;
            continue;
        }
        /* of a feature that both name ocv_lint_fits_wherever has checked the values */
        for (size_t k = 0; k < a->n_properties; k++) {
            struct ocv_property p = ocv_index_property(lint->index, a->properties[k]);
            if (!strcmp(p.ns, names[i]) && find_run(lint, b, p.ns, p.feature).end == 0)
                return false; /* A names more, and may rank higher by it */
        }
    }
    return strcmp(b->label, a->label) < 0; /* at best a tie for A */
}

/* An entry that the resolver may choose: without a fault, and with no namespace that is not listed.
 */
static bool is_eligible(const struct ocv_lint *lint, const struct ocv_entry *entry)
{
    const char *const *names;
    size_t n = ocv_index_namespaces(lint->index, &names, NULL);
    if (entry->code != OCV_REJECT_NONE || entry->kind != OCV_ENTRY_VARIANT)
        return false;
    for (size_t i = 0; i < entry->n_properties; i++) {
        const char *ns = ocv_index_property(lint->index, entry->properties[i]).ns;
        bool found = false;
        for (size_t k = 0; k < n && !found; k++)
            found = !strcmp(names[k], ns);
        if (!found)
            return false;
    }
    return true;
}

#define WORK_MAX 30000u /* properties of all entries: pairs of them are compared */

void ocv_lint_check_reach(struct ocv_lint *lint)
{
    size_t n = ocv_index_count(lint->index), total = 0;
    for (size_t i = 0; i < n; i++)
        total += ocv_index_entry(lint->index, i)->n_properties;
    if (total > WORK_MAX || lint->input->partial)
        return;
    for (size_t i = 0; i < n && lint->status == OCV_OK; i++) {
        const struct ocv_entry *a = ocv_index_entry(lint->index, i);
        if (!is_eligible(lint, a) || ocv_lint_minor_base(lint, a))
            continue; /* the latter's image is reached by its other entry */
        for (size_t k = 0; k < n; k++) {
            const struct ocv_entry *b = ocv_index_entry(lint->index, k);
            if (k == i || !is_eligible(lint, b) || ocv_lint_same_sets(a, b) ||
                !hides_entry(lint, a, b))
                continue; /* another rule reports equal sets */
            /* "cuda12" beside "cuda12.sm80", which `variantctl slim` made of it and ranks: what was
             * there stays, for those who name it */
            size_t len = strlen(a->label);
            bool ranked = false;
            for (size_t m = 0; m < b->n_properties; m++) {
                struct ocv_property p = ocv_index_property(lint->index, b->properties[m]);
                ranked = ranked || (lint->statics[b->properties[m]].is_static &&
                                    !strcmp(p.feature, "order") &&
                                    (!strcmp(p.value, "slim") || !strcmp(p.value, "fat")));
            }
            if (ranked && !strncmp(b->label, a->label, len) && b->label[len] == '.')
                continue;
            ocv_lint_entry_at(
                lint, OCV_LINT_VARIANT_UNREACHABLE, i, "/annotations/" OCV_ANNOTATION_PROPERTIES,
                "%s is never chosen: %s fits wherever it fits and comes first", a->label, b->label);
            if (lint->input->draft)
                ocv_lint_hint(lint, "leave %s out, or ask for something that %s does not accept",
                              a->label, b->label);
            else
                ocv_lint_hint(lint,
                              "variantctl index remove %s %s, or ask for something that %s does "
                              "not accept",
                              ocv_lint_target(lint), a->label, b->label);
            break;
        }
    }
}
