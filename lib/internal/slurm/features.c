/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The features of a node. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/internal/slurm/slurm.h"

#include <string.h>

#define FEATURE_MAX 512u /* of one that is exported, with NUL */

int ocv_slurm_short(const char *feature, char out[OCV_SLURM_SHORT_MAX], struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    OCV_TRY(ocv_digest_bytes(feature, strlen(feature), digest, err));
    snprintf(out, OCV_SLURM_SHORT_MAX, "v%.8s", strchr(digest, ':') + 1);
    return OCV_OK;
}

struct property_walk {
    ocv_slurm_property visit;
    void *data;
    struct ocv_error *err;
};

static int visit_feature(const struct property_walk *w, const struct ocv_namespace *ns,
                         const struct ocv_feature *common, const struct ocv_feature *feature)
{
    for (size_t i = 0; i < feature->n_values; i++) {
        const struct ocv_property p = {ns->name, feature->name, feature->values[i]};
        /* Do all devices that count have it? Where one has no list of its own, the namespace's
         * holds. */
        bool all = true;
        for (size_t d = 0; d < ns->n_devices && all; d++) {
            const struct ocv_device *device = &ns->devices[d];
            const struct ocv_feature *f =
                ocv_feature_find(device->features, device->n_features, p.feature);
            f = f ? f : common;
            all = device->secondary;
            for (size_t k = 0; f && k < f->n_values && !all; k++)
                all = !strcmp(f->values[k], p.value);
        }
        /* what is no property no image can ask for */
        if (all && ocv_property_name_valid(p.ns, strlen(p.ns)) &&
            ocv_property_name_valid(p.feature, strlen(p.feature)) &&
            ocv_property_value_valid(p.value, strlen(p.value)))
            OCV_TRY(w->visit(w->data, p, w->err));
    }
    return OCV_OK;
}

int ocv_slurm_properties(const struct ocv_profile *profile, ocv_slurm_property visit, void *data,
                         struct ocv_error *err)
{
    const struct property_walk w = {visit, data, err};
    for (size_t k = 0; k < profile->n_namespaces; k++) {
        const struct ocv_namespace *ns = &profile->namespaces[k];
        bool secondary = true;
        for (size_t i = 0; i < ns->n_features; i++)
            OCV_TRY(visit_feature(&w, ns, &ns->features[i], &ns->features[i]));
        for (size_t i = 0; i < ns->n_devices && secondary; i++) {
            const struct ocv_device *device = &ns->devices[i]; /* what only devices list */
            secondary = device->secondary;
            for (size_t f = 0; f < device->n_features && !secondary; f++)
                if (!ocv_feature_find(ns->features, ns->n_features, device->features[f].name))
                    OCV_TRY(visit_feature(&w, ns, NULL, &device->features[f]));
        }
    }
    return OCV_OK;
}

struct feature_writer {
    struct ocv_buffer *out;
    bool as_short, begun;
};

static int put_feature(void *data, struct ocv_property p, struct ocv_error *err)
{
    struct feature_writer *w = data;
    char text[FEATURE_MAX], brief[OCV_SLURM_SHORT_MAX];
    int n = snprintf(text, sizeof(text), "%s::%s::%s", p.ns, p.feature, p.value);
    if (n < 0 || (size_t)n >= sizeof(text))
        return OCV_OK;
    if (w->as_short)
        OCV_TRY(ocv_slurm_short(text, brief, err));
    OCV_TRY(
        ocv_buffer_printf(w->out, err, "%s%s", w->begun ? "," : "", w->as_short ? brief : text));
    w->begun = true;
    return OCV_OK;
}

int ocv_slurm_features(const struct ocv_profile *profile, bool with_short, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    struct feature_writer w = {.out = out};
    for (int pass = 0; pass < (with_short ? 2 : 1); pass++) {
        w.as_short = pass > 0;
        OCV_TRY(ocv_slurm_properties(profile, put_feature, &w, err));
    }
    return OCV_OK;
}
