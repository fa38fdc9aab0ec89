/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Assumptions about a tag's image unless the tag says otherwise: the GPUs for which a toolkit's
 * libraries are built, those for which a family builds. Each bounds the image, so both do. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/internal/tags/tags_internal.h"

#include <string.h>

/* Length of "namespace :: feature". The texts were checked and written in one way when the rules
 * were read. */
static size_t key_length(const char *text)
{
    const char *feature = strstr(text, " :: ") + 4;
    return (size_t)(strstr(feature, " :: ") - text);
}

static bool same_feature(const char *a, const char *b)
{
    size_t n = key_length(a);
    return n == key_length(b) && memcmp(a, b, n) == 0;
}

static bool set_says(const struct ocv_properties *set, const char *text)
{
    size_t n = key_length(text);
    for (size_t i = 0; i < ocv_properties_count(set); i++) {
        struct ocv_property p = ocv_properties_get(set, i);
        size_t ns = strlen(p.ns), feature = strlen(p.feature);
        if (n == ns + 4 + feature && memcmp(text, p.ns, ns) == 0 &&
            memcmp(text + n - feature, p.feature, feature) == 0)
            return true;
    }
    return false;
}

/* Do all assumptions allow the value? Also those that say nothing of the feature. */
static bool all_allow(const struct ocv_tag_assumption *all, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        bool speaks = false, allows = false;
        for (size_t k = 0; k < all[i].n; k++) {
            allows = allows || strcmp(all[i].list[k].text, text) == 0;
            speaks = speaks || same_feature(all[i].list[k].text, text);
        }
        if (speaks && !allows)
            return false;
    }
    return true;
}

/* The first assumption about the feature; its values are compared with all others. */
static bool is_first(const struct ocv_tag_assumption *all, size_t at, const char *text)
{
    for (size_t i = 0; i < at; i++)
        for (size_t k = 0; k < all[i].n; k++)
            if (same_feature(all[i].list[k].text, text))
                return false;
    return true;
}

int ocv_tag_assume(const struct ocv_tag_assumption *all, size_t n, struct ocv_buffer *properties,
                   const char **none, struct ocv_error *err)
{
    ocv_auto(ocv_properties) said = NULL;
    *none = NULL;
    if (n == 0)
        return OCV_OK;
    OCV_TRY(
        ocv_properties_parse(properties->len ? properties->data : "", properties->len, &said, err));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < all[i].n; k++) {
            const char *text = all[i].list[k].text;
            if (set_says(said, text) || !is_first(all, i, text))
                continue;
            bool any = false; /* of the feature's values */
            for (size_t m = 0; m < all[i].n && !any; m++)
                any = same_feature(all[i].list[m].text, text) &&
                      all_allow(all, n, all[i].list[m].text);
            if (!any)
                *none = *none ? *none : text;
            else if (all_allow(all, n, text))
                OCV_TRY(
                    ocv_buffer_printf(properties, err, "%s%s", properties->len ? ", " : "", text));
        }
    return OCV_OK;
}
