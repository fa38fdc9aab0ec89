/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration's requirements for a repository's images (`require`). An image that does not
 * use them runs, but is not what the administrator wants. */
#include "cmd/variantd/fit/image_fit_internal.h"

#include <stdio.h>
#include <string.h>

/* True if this node has the property, or one of a feature's several values. */
static bool has_property(const struct instance *instance, const char *reference, const char *given,
                         const char *property)
{
    struct fit_answer one = {.verdict = OCV_VERDICT_OPEN};
    const struct ocv_record said = {.properties = property};
    return fit_by_properties(instance, reference, given, &said, &one) == OCV_OK &&
           one.verdict == OCV_VERDICT_FITS;
}

const char *fit_unmet(const struct instance *instance, const char *reference, const char *given,
                      const char *properties)
{
    const char *const *required = NULL;
    ocv_auto(ocv_properties) all = NULL;
    size_t n =
        ocv_config_list(settings_for_text(instance->settings, reference), "require", &required);
    if (n && *properties && ocv_properties_parse(properties, strlen(properties), &all, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const char *feature = strstr(required[i], " :: ");
        bool value = feature && strstr(feature + 4, " :: "), ns = false, uses = false;
        for (size_t k = 0; all && !uses && k < ocv_properties_count(all); k++) {
            struct ocv_property p = ocv_properties_get(all, k);
            char text[512];
            int len = snprintf(text, sizeof(text), "%s :: %s :: %s", p.ns, p.feature, p.value);
            size_t own = strlen(required[i]), ns_len = strlen(p.ns);
            /* within the requirement: "ns", "ns :: feature" or a whole property */
            bool within =
                len >= 0 && len < (int)sizeof(text) && strncmp(text, required[i], own) == 0 &&
                (own == ns_len || own == ns_len + 4 + strlen(p.feature) || own == (size_t)len);
            uses = within && has_property(instance, reference, given, text);
            ns = ns || (feature && ns_len == (size_t)(feature - required[i]) &&
                        !memcmp(p.ns, required[i], ns_len));
        }
        /* else the devices that serve it have the property */
        if (!uses && !(ns && value && has_property(instance, reference, given, required[i])))
            return required[i];
    }
    return NULL;
}
