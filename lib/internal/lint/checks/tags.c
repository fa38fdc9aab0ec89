/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Tags by the rules of their families, and against the index (OCV301, 304 to 306). */
#include "lib/internal/lint/lint_internal.h"

#include <stdlib.h>
#include <string.h>

/* Are all values of the feature that the entry names the tag's, too? */
static bool is_within(const struct ocv_lint *lint, const struct ocv_entry *entry,
                      const struct ocv_properties *set, struct ocv_property feature)
{
    for (size_t k = 0; k < entry->n_properties; k++) {
        struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
        bool found = strcmp(p.ns, feature.ns) != 0 || strcmp(p.feature, feature.feature) != 0;
        for (size_t m = 0; m < ocv_properties_count(set) && !found; m++) {
            struct ocv_property q = ocv_properties_get(set, m);
            found =
                !strcmp(p.ns, q.ns) && !strcmp(p.feature, q.feature) && !strcmp(p.value, q.value);
        }
        if (!found)
            return false;
    }
    return true;
}

/* Features that both name must share a value; hardware that the tag names must be named at all. A
 * tag may say less than the entry: that is what tags do. `*out`: the property that the entry lacks;
 * `*named`: it has another value of that feature. */
static bool tag_disagrees(const struct ocv_lint *lint, const struct ocv_tag *tag, size_t at,
                          struct ocv_property *out, bool *named)
{
    const struct ocv_entry *entry = ocv_index_entry(lint->index, at);
    const struct ocv_properties *set = ocv_tag_said(tag), *all = ocv_tag_properties(tag);
    for (size_t k = 0; k < ocv_properties_count(set); k++) {
        struct ocv_property p = ocv_properties_get(set, k), q;
        bool shared = false, value = false, ns = false;
        *named = false;
        if (k && !strcmp(p.ns, ocv_properties_get(set, k - 1).ns) &&
            !strcmp(p.feature, ocv_properties_get(set, k - 1).feature))
            continue;
        for (size_t m = k; m < ocv_properties_count(set); m++) {
            q = ocv_properties_get(set, m);
            if (strcmp(p.ns, q.ns) != 0 || strcmp(p.feature, q.feature) != 0)
                break;
            *named = value = ns = false;
            for (size_t e = 0; e < entry->n_properties; e++) {
                struct ocv_property has = ocv_index_property(lint->index, entry->properties[e]);
                bool same = !strcmp(q.ns, has.ns);
                ns = ns || same;
                same = same && !strcmp(q.feature, has.feature);
                *named = *named || same;
                value = value || (same && !strcmp(q.value, has.value));
            }
            shared = shared || value;
        }
        /* what the tag says may mean more: a CUDA version that its major's first one runs */
        shared = shared || (*named && is_within(lint, entry, all, p));
        *out = p;
        if (!shared && (*named || !ns))
            return true;
    }
    return false;
}

/* The entry of the image that the tag names; if it has several labels, the one that agrees. The
 * number of entries if there is none. */
static size_t entry_of(const struct ocv_lint *lint, const struct ocv_tag *tag, const char *digest)
{
    size_t n = ocv_index_count(lint->index), found = n;
    struct ocv_property p;
    bool named;
    for (size_t k = 0; k < n; k++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, k);
        if (entry->code != OCV_REJECT_NONE || strcmp(entry->digest, digest) != 0)
            continue;
        if (!tag_disagrees(lint, tag, k, &p, &named))
            return k;
        found = found == n ? k : found;
    }
    return found;
}

void ocv_lint_check_tags(struct ocv_lint *lint)
{
    const char **families = calloc(lint->input->n_tags + 1, sizeof(*families));
    if (!families) {
        lint->status = ocv_error_nomem(lint->err);
        return;
    }
    for (size_t i = 0;
         lint->options->tag_rules && i < lint->input->n_tags && lint->status == OCV_OK; i++) {
        const struct ocv_lint_tag *given = &lint->input->tags[i];
        ocv_auto(ocv_tag) tag = NULL;
        int status = ocv_tag_parse(lint->options->tag_rules, given->reference,
                                   given->reference->tag, &tag, lint->err);
        if (status < 0) {
            lint->status = ocv_error_prefix(lint->err, "%s", lint->input->name);
            break;
        }
        families[i] = ocv_tag_family(tag); /* borrowed from the rules */
        if (!families[i]) {
            ocv_lint_check_tag_words(lint, i);
            continue;
        }
        const char *const *texts;
        size_t n = ocv_tag_list(tag, OCV_TAG_UNKNOWN, &texts);
        for (size_t k = 0; k < n; k++)
            ocv_lint_tag_at(lint, OCV_LINT_TAG_PART_UNKNOWN, i,
                            "the rules of %s do not know '%.100s'", families[i], texts[k]);
        n = ocv_tag_list(tag, OCV_TAG_AMBIGUOUS, &texts);
        for (size_t k = 0; k < n; k++)
            ocv_lint_tag_at(lint, OCV_LINT_TAG_AMBIGUOUS, i, "%.200s", texts[k]);
        if (!lint->index || !given->digest)
            continue;

        size_t at = entry_of(lint, tag, given->digest);
        if (at == ocv_index_count(lint->index))
            continue;
        const struct ocv_entry *entry = ocv_index_entry(lint->index, at);
        const char *name = ocv_lint_name(lint, at), *platform = ocv_tag_platform(tag);
        struct ocv_property p;
        bool named;
        if (tag_disagrees(lint, tag, at, &p, &named)) {
            ocv_lint_tag_at(
                lint, OCV_LINT_TAG_DISAGREES, i,
                "by the rules of %s it is %s :: %s :: %s, entry %zu (%s) of the index has %s",
                families[i], p.ns, p.feature, p.value, at, *name ? name : "no label",
                named ? "another value" : "nothing of it");
            ocv_lint_hint(lint, "move the tag to the right image, or variantctl index annotate");
        }
        const struct ocv_platform plain = {.os = entry->platform.os,
                                           .architecture = entry->platform.architecture};
        char text[128];
        ocv_platform_format(&plain, text, sizeof(text));
        if (platform && entry->has_platform && strcmp(text, platform) != 0) {
            ocv_lint_tag_at(lint, OCV_LINT_TAG_PLATFORM_DISAGREES, i,
                            "it says %s, entry %zu of the index %s", platform, at, text);
            ocv_lint_hint(lint, "move the tag to the right image");
        }
        ocv_lint_check_tag_labels(lint, i, tag, at);
    }
    if (lint->status == OCV_OK && lint->input->n_tags)
        ocv_lint_check_tag_drift(lint, families);
    free(families);
}
