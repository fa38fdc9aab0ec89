/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Versions that are compatible within their major: an entry names the one that its image was built
 * with and the first of the same major, from which on it runs; or, where its code is compressed
 * with zstd, the first one whose drivers read that. */
#include "lib/internal/lint/lint_internal.h"

#include "gen/toolkits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEATURE OCV_TOOLKIT_NAMESPACE " :: " OCV_TOOLKIT_VERSION

/* Is `base` "12.0", or "12.4", for a `version` of "12.9"? No major before the promise has one. */
static bool is_base(const char *base, const char *version)
{
    char first[32];
    long major = strtol(version, NULL, 10);
    snprintf(first, sizeof(first), "%ld.0", major);
    return major >= OCV_TOOLKIT_MINOR_FROM &&
           (!strcmp(base, first) ||
            (!strcmp(base, OCV_TOOLKIT_ZSTD) && strtol(base, NULL, 10) == major &&
             ocv_version_compare(version, base) > 0));
}

/* The values of the feature; at most two are of interest. */
static size_t count_values(const struct ocv_lint *lint, const struct ocv_entry *entry,
                           const char *feature, const char *out[2])
{
    size_t n = 0;
    for (size_t k = 0; k < entry->n_properties; k++) {
        struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
        if (!ocv_lint_is_feature(p, feature))
            continue;
        if (n < 2)
            out[n] = p.value;
        n++;
    }
    return n;
}

const char *ocv_lint_minor_pair(const struct ocv_lint *lint, const struct ocv_entry *entry,
                                const char *feature)
{
    const char *found[2];
    if (strcmp(feature, FEATURE) != 0 || count_values(lint, entry, feature, found) != 2)
        return NULL;
    for (size_t i = 0; i < 2; i++)
        if (is_base(found[!i], found[i]))
            return found[i];
    return NULL;
}

const char *ocv_lint_built_with(const struct ocv_lint *lint, const struct ocv_entry *entry,
                                const char *feature)
{
    const char *found[2], *other[2], *pair = ocv_lint_minor_pair(lint, entry, feature);
    if (pair || strcmp(feature, FEATURE) != 0 || count_values(lint, entry, feature, found) != 1)
        return pair;
    for (size_t i = 0; i < ocv_index_count(lint->index); i++) {
        const struct ocv_entry *twin = ocv_index_entry(lint->index, i);
        if (twin == entry || strcmp(twin->digest, entry->digest) != 0)
            continue;
        if (count_values(lint, twin, feature, other) == 1 && strcmp(other[0], found[0]) != 0 &&
            is_base(found[0], other[0]))
            return other[0];
    }
    return NULL;
}

bool ocv_lint_minor_base(const struct ocv_lint *lint, const struct ocv_entry *entry)
{
    return !ocv_lint_minor_pair(lint, entry, FEATURE) && ocv_lint_built_with(lint, entry, FEATURE);
}

bool ocv_lint_minor_twins(const struct ocv_lint *lint, const struct ocv_entry *a,
                          const struct ocv_entry *b)
{
    const struct ocv_entry *both[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        const char *built = ocv_lint_built_with(lint, both[i], FEATURE), *other[2];
        if (ocv_lint_minor_base(lint, both[i]) &&
            count_values(lint, both[!i], FEATURE, other) == 1 && strcmp(other[0], built) == 0)
            return true;
    }
    return false;
}

bool ocv_lint_minor_settles(const struct ocv_lint *lint, const struct ocv_entry *a,
                            const struct ocv_entry *b)
{
    const char *x = ocv_lint_minor_pair(lint, a, FEATURE);
    const char *y = ocv_lint_minor_pair(lint, b, FEATURE);
    int order = x && y ? ocv_version_compare(x, y) : 0;
    return order != 0 && (order < 0) == (strcmp(a->label, b->label) < 0);
}
