/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Labels, and sets of properties that hosts cannot tell apart (OCV111 to 120, 122, 123, 126). */
#include "lib/base/text.h"
#include "lib/internal/lint/lint_internal.h"

#include <limits.h>
#include <string.h>

#define AT_LABEL "/annotations/" OCV_ANNOTATION_LABEL
#define AT_PROPERTIES "/annotations/" OCV_ANNOTATION_PROPERTIES

enum remedy { NONE, RELABEL, ANNOTATE, BOTH };

/* The command that corrects the entry; only its author knows the label or the properties. */
static void hint_remedy(struct ocv_lint *lint, enum remedy remedy, const char *digest)
{
    const char *target = ocv_lint_target(lint);
    if (remedy == RELABEL)
        ocv_lint_hint(lint, "variantctl index annotate --label %s=LABEL %s", digest, target);
    else if (remedy == ANNOTATE)
        ocv_lint_hint(lint, "variantctl index annotate %s '%s=NAMESPACE :: FEATURE :: VALUE'",
                      target, digest);
    else if (remedy == BOTH)
        ocv_lint_hint(lint,
                      "variantctl index annotate --label %s=LABEL %s "
                      "'%s=NAMESPACE :: FEATURE :: VALUE'",
                      digest, target, digest);
}

#define RANKS "priority" /* the namespace that --from-tags writes, too */

/* The hint for two variants that hosts cannot order. One that fits wherever the other does comes
 * second: as the first it would be the only one that is chosen. */
static void hint_rank(struct ocv_lint *lint, const struct ocv_entry *a, const struct ocv_entry *b)
{
    bool keep = ocv_lint_fits_wherever(lint, a, b);
    const char *first = keep ? a->label : b->label, *second = keep ? b->label : a->label;
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ERROR_HINT_MAX);
    if (ocv_lint_index_annotation(lint, OCV_ANNOTATION_STATIC RANKS))
        ocv_lint_hint(lint,
                      "rank them by " RANKS " :: order, as the list of the index does others");
    else if (!ocv_lint_list_namespaces(lint, RANKS, &list))
        return;
    else if (lint->input->yaml)
        ocv_lint_hint(lint,
                      "rank them, the better one 1: 'namespaces: [%s]', "
                      "'static: {" RANKS ": [\"order :: 1\", \"order :: 2\"]}', and the property "
                      "'" RANKS " :: order :: 1' of %s, '" RANKS " :: order :: 2' of %s",
                      list.data, first, second);
    else if (lint->input->draft)
        ocv_lint_hint(lint,
                      "rank them, the better one 1: --namespaces '%s' "
                      "--static '" RANKS "=order :: 1, order :: 2', and the property "
                      "'" RANKS " :: order :: 1' of %s, '" RANKS " :: order :: 2' of %s",
                      list.data, first, second);
    else
        ocv_lint_hint(lint,
                      "rank them, the better one 1: variantctl index annotate --static "
                      "'" RANKS "=order :: 1, order :: 2' --namespaces '%s' %s "
                      "'%s+=" RANKS " :: order :: 1' '%s+=" RANKS " :: order :: 2'",
                      list.data, ocv_lint_target(lint), first, second);
}

static bool same_feature(const struct ocv_lint *lint, uint32_t a, uint32_t b)
{
    struct ocv_property p = ocv_index_property(lint->index, a);
    struct ocv_property q = ocv_index_property(lint->index, b);
    return !strcmp(p.ns, q.ns) && !strcmp(p.feature, q.feature);
}

/* Both lists are sorted, so each feature is one run in each. True: the same features, and each has
 * a value that is in both. */
static bool may_tie(const struct ocv_lint *lint, const struct ocv_entry *a,
                    const struct ocv_entry *b)
{
    size_t i = 0, k = 0;
    while (i < a->n_properties && k < b->n_properties) {
        size_t i_end = i, k_end = k;
        bool shared = false;
        if (!same_feature(lint, a->properties[i], b->properties[k]))
            return false;
        for (;
             i_end < a->n_properties && same_feature(lint, a->properties[i], a->properties[i_end]);
             i_end++)
            for (k_end = k; k_end < b->n_properties &&
                            same_feature(lint, b->properties[k], b->properties[k_end]);
                 k_end++)
                shared = shared || a->properties[i_end] == b->properties[k_end];
        if (!shared)
            return false;
        i = i_end;
        k = k_end;
    }
    return i == a->n_properties && k == b->n_properties && i > 0;
}

static bool is_variant(const struct ocv_entry *entry)
{
    return entry->code == OCV_REJECT_NONE && entry->kind == OCV_ENTRY_VARIANT;
}

/* Platforms that decide before properties do leave nothing to the label. */
static bool equal_platform(const struct ocv_entry *a, const struct ocv_entry *b)
{
    const char *x = ocv_platform_is_hidden(a->platform.variant) ? "" : a->platform.variant;
    const char *y = ocv_platform_is_hidden(b->platform.variant) ? "" : b->platform.variant;
    return ocv_lint_same_platform(a, b) && ocv_text_same(x, y) && !a->platform.n_os_features &&
           !b->platform.n_os_features;
}

/* Findings that an entry has already: one of each is enough, however many others it resembles. */
struct label_findings {
    bool differ, equal, tie, image;
};

static void check_pair(struct ocv_lint *lint, size_t i, size_t k, struct label_findings *said)
{
    const struct ocv_entry *a = ocv_index_entry(lint->index, i);
    const struct ocv_entry *b = ocv_index_entry(lint->index, k);
    bool equal = ocv_lint_same_sets(a, b);
    bool twins = !strcmp(a->label, b->label);
    if (!said->differ && !equal && twins) {
        said->differ = true;
        const struct ocv_edit_source *file = lint->input->source;
        ocv_lint_entry_at(lint, OCV_LINT_LABEL_SETS_DIFFER, k, AT_PROPERTIES,
                          "'%s' has other properties in %s %zu", b->label, file ? "line" : "entry",
                          file ? ocv_edit_source_image(file, lint->input->images[i]).line : i);
        hint_remedy(lint, RELABEL, b->digest);
    }
    if (twins || !equal_platform(a, b))
        return;
    bool known = !lint->input->partial;
    if (equal && known && !said->equal) {
        said->equal = true;
        ocv_lint_entry_at(lint, OCV_LINT_SETS_EQUAL, k, AT_PROPERTIES,
                          "%s and %s have equal properties: only the label separates them",
                          a->label, b->label);
        /* one is never chosen, however they are ranked */
        if (lint->input->draft)
            ocv_lint_hint(lint, "leave one out, or say what one needs and the other does not");
        else
            ocv_lint_hint(
                lint, "variantctl index remove %s %s, or say what one needs and the other does not",
                ocv_lint_target(lint), b->label);
    } else if (!equal && known && !said->tie && may_tie(lint, a, b) &&
               !ocv_lint_minor_settles(lint, a, b)) {
        said->tie = true;
        ocv_lint_entry_at(lint, OCV_LINT_ONLY_LABEL_SEPARATES, k, AT_PROPERTIES,
                          "on some hosts only the label decides between %s and %s", a->label,
                          b->label);
        hint_rank(lint, a, b);
    }
    if (!said->image && !strcmp(a->digest, b->digest) && !ocv_lint_minor_twins(lint, a, b)) {
        said->image = true;
        ocv_lint_entry_at(lint, OCV_LINT_SAME_IMAGE_TWICE, k, "/digest",
                          "%s and %s are the same image", a->label, b->label);
    }
}

/* The best place of an entry in what the index ranks by itself; INT_MAX: it has none. */
static int own_rank(const struct ocv_lint *lint, const struct ocv_entry *entry)
{
    int best = INT_MAX;
    for (size_t i = 0; i < entry->n_properties; i++) {
        const struct ocv_lint_static *it = &lint->statics[entry->properties[i]];
        if (it->is_static && it->value >= 0 && it->value < best)
            best = it->value;
    }
    return best;
}

/* Is the entry the default again, for hosts that another image would else be taken for, which the
 * index ranks before it (variantctl slim)? */
static bool is_kept_behind(const struct ocv_lint *lint, const struct ocv_entry *entry)
{
    int rank = own_rank(lint, entry);
    for (size_t i = 0; i < ocv_index_count(lint->index) && rank < INT_MAX; i++) {
        const struct ocv_entry *other = ocv_index_entry(lint->index, i);
        if (is_variant(other) && strcmp(other->digest, entry->digest) != 0 &&
            equal_platform(entry, other) && own_rank(lint, other) < rank)
            return true;
    }
    return false;
}

void ocv_lint_check_labels(struct ocv_lint *lint)
{
    static const struct {
        enum ocv_reject code;
        enum ocv_lint_id id;
        const char *member;
        enum remedy remedy;
    } codes[] = {
        {OCV_REJECT_LABEL_MISSING, OCV_LINT_LABEL_MISSING, "/annotations", RELABEL},
        {OCV_REJECT_PROPERTIES_MISSING, OCV_LINT_PROPERTIES_MISSING, "/annotations", ANNOTATE},
        {OCV_REJECT_BAD_LABEL, OCV_LINT_LABEL_MALFORMED, AT_LABEL, RELABEL},
        {OCV_REJECT_DUPLICATE_LABEL, OCV_LINT_LABEL_DUPLICATE, AT_LABEL, RELABEL},
        {OCV_REJECT_NULL_WITH_PROPERTIES, OCV_LINT_NULL_WITH_PROPERTIES, AT_PROPERTIES, RELABEL},
        {OCV_REJECT_EMPTY_NOT_NULL, OCV_LINT_EMPTY_NOT_NULL, AT_LABEL, BOTH},
        {OCV_REJECT_TOO_LONG, OCV_LINT_PROPERTIES_TOO_LONG, AT_PROPERTIES, NONE},
    };
    size_t n = ocv_index_count(lint->index);
    for (size_t i = 0; i < n; i++) { /* what the reader says of a malformed entry */
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        for (size_t k = 0; k < OCV_LINT_COUNT(codes); k++) {
            if (codes[k].code != entry->code)
                continue;
            ocv_lint_entry_at(lint, codes[k].id, i, codes[k].member, "%s",
                              entry->detail ? entry->detail : ocv_reject_name(entry->code));
            hint_remedy(lint, codes[k].remedy, entry->digest);
        }
        if (entry->label && !ocv_label_valid(entry->label, strlen(entry->label))) {
            ocv_lint_entry_at(lint, OCV_LINT_LABEL_UNWRITABLE, i, AT_LABEL,
                              "'%s' is read, but should not be written", entry->label);
            hint_remedy(lint, RELABEL, entry->digest);
        }
    }
    for (size_t k = 0; k < n && lint->status == OCV_OK; k++) {
        struct label_findings said = {0};
        if (!is_variant(ocv_index_entry(lint->index, k)))
            continue;
        const struct ocv_entry *entry = ocv_index_entry(lint->index, k);
        for (size_t i = 0; i < n; i++) {
            const struct ocv_entry *other = ocv_index_entry(lint->index, i);
            if (other->code != OCV_REJECT_NONE || !ocv_entry_is_default(other) ||
                strcmp(entry->digest, other->digest) != 0 || !equal_platform(entry, other) ||
                is_kept_behind(lint, entry))
                continue;
            ocv_lint_entry_at(lint, OCV_LINT_DEFAULT_IS_VARIANT, k, "/digest",
                              "%s and the default are the same image", entry->label);
            break;
        }
        ocv_lint_check_label_words(lint, k);
        for (size_t i = 0; i < k; i++)
            if (is_variant(ocv_index_entry(lint->index, i)))
                check_pair(lint, i, k, &said);
    }
}
