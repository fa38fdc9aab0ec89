/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The targets of slim: as they are named, or the GPUs of machines. */
#include "cmd/variantctl/slim/slim_verb.h"

#include "cmd/variantctl/fleet/fleet_verbs.h"
#include "gen/content-rules.h"
#include "gen/toolkits.h"
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "ocivariant/match.h"

#include <stdlib.h>
#include <string.h>

static int add_target(struct slim *s, const char *text, size_t len, bool again,
                      struct ocv_error *err)
{
    char label[OCV_SLIM_LABEL_MAX], other[OCV_SLIM_LABEL_MAX];
    struct ocv_slim_target target;
    if (ocv_slim_target_parse(text, len, &target, err) < 0)
        return ocv_error_prefix(err, "slim: %s", again ? "--profiles" : "--for");
    if (target.n && target.n_gfx)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "slim: --for: '%.*s' has GPUs of two makers: make a variant for each",
                             (int)len, text);
    target.keep_ptx = s->keep_ptx;
    ocv_slim_target_label(&target, label, sizeof(label));
    if (!ocv_label_valid(label, strlen(label)))
        return ocv_error_set(err, OCV_ERR_INVALID, "slim: --for: too many targets in one variant");
    for (size_t i = 0; i < s->n_targets; i++)
        if (!strcmp(ocv_slim_target_label(&s->targets[i], other, sizeof(other)), label))
            return again ? OCV_OK
                         : ocv_error_set(err, OCV_ERR_INVALID,
                                         "slim: --for: '%.*s' stands twice (%s)", (int)len, text,
                                         ocv_slim_target_format(&target, label, sizeof(label)));
    if (s->n_targets == SLIM_VARIANTS_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "slim: more than %u variants",
                             SLIM_VARIANTS_MAX);
    /* A number that no toolkit knows is rather a slip than a GPU: what it would be given is code of
     * another one. */
    for (size_t i = 0; i < target.n; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof(ocv_toolkits) / sizeof(ocv_toolkits[0]); k++)
            for (const char *at = ocv_toolkits[k].makes; *at && !known;) {
                char *end;
                known = strtoul(at, &end, 10) == target.sm[i];
                at = end;
            }
        if (!known)
            cli_warn(s->build.cli, "sm_%u is no architecture that is known here", target.sm[i]);
    }
    s->targets[s->n_targets++] = target;
    return OCV_OK;
}

/* The GPU of a machine: the architecture that is its own is the first that it runs. A namespace's
 * devices may differ, then each has its own. */
static int add_gpus(struct slim *s, const struct ocv_feature *features, size_t n,
                    const struct content_property *rule, struct ocv_error *err)
{
    const struct ocv_feature *found = ocv_feature_find(features, n, rule->feature);
    const char *value = found && found->n_values ? found->values[0] : NULL;
    size_t len = value ? strspn(value, "0123456789") : 0;
    char text[64];
    struct ocv_slim_target known;
    if (!value)
        return OCV_OK;
    if (rule->fact == OCV_CONTENT_CUDA_CODE)
        snprintf(text, sizeof(text), "sm_%.*s", (int)(len < 8 ? len : 8), value);
    else
        snprintf(text, sizeof(text), "%.32s", value);
    /* one that is too old or too new to be named as a target has no variant */
    return ocv_slim_target_parse(text, strlen(text), &known, NULL) < 0
               ? OCV_OK
               : add_target(s, text, strlen(text), true, err);
}

/* Older GPUs first, and NVIDIA's before AMD's. */
static int compare_targets(const void *a, const void *b)
{
    const struct ocv_slim_target *x = a, *y = b;
    if (!x->n != !y->n)
        return x->n ? -1 : 1;
    if (x->n && x->sm[0] != y->sm[0])
        return x->sm[0] < y->sm[0] ? -1 : 1;
    return x->n_gfx && y->n_gfx ? strcmp(x->gfx[0], y->gfx[0]) : 0;
}

int slim_read_targets(struct slim *s, struct ocv_error *err)
{
    if (!s->profiles) {
        const char *end = s->wanted + strlen(s->wanted);
        for (const char *part = s->wanted; part <= end;) {
            size_t len = strcspn(part, ","), blanks = strspn(part, " ");
            size_t n = len > blanks ? len - blanks : 0;
            while (n && part[blanks + n - 1] == ' ')
                n--;
            OCV_TRY(add_target(s, part + blanks, n, false, err));
            part += len + 1;
        }
        return OCV_OK;
    }
    /* The GPUs of each class of machines. */
    ocv_auto(ocv_fleet) fleet = NULL;
    size_t skipped = 0;
    OCV_TRY(ocv_fleet_new(&fleet, err));
    OCV_TRY(fleet_read(s->build.cli, s->profiles, false, fleet, &skipped, err));
    for (size_t i = 0; i < ocv_fleet_class_count(fleet); i++) {
        const struct ocv_profile *profile = ocv_fleet_class_profile(fleet, i);
        for (size_t k = 0; k < sizeof(content_properties) / sizeof(content_properties[0]); k++) {
            const struct content_property *rule = &content_properties[k];
            const struct ocv_namespace *ns = ocv_profile_namespace(profile, rule->ns);
            if (!ns || (rule->fact != OCV_CONTENT_CUDA_CODE && rule->fact != OCV_CONTENT_HIP_CODE))
                continue;
            OCV_TRY(add_gpus(s, ns->features, ns->n_features, rule, err));
            for (size_t d = 0; d < ns->n_devices; d++)
                OCV_TRY(add_gpus(s, ns->devices[d].features, ns->devices[d].n_features, rule, err));
        }
    }
    qsort(s->targets, s->n_targets, sizeof(s->targets[0]), compare_targets);
    return s->n_targets ? OCV_OK
                        : ocv_error_set(err, OCV_ERR_DATA,
                                        "%s: no machine has a GPU of NVIDIA or AMD", s->profiles);
}
