/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `choose: shadow`: logs and counts what would have been served. */
#include "cmd/variantd/mirror/mirror_internal.h"

#include <stdio.h>
#include <string.h>

void shadow_log(const struct mirror *mirror, const struct ocv_reference *reference,
                const struct lookup_result *result, uint64_t n)
{
    bool variant = result->outcome == OUTCOME_VARIANT;
    const char *why = result->outcome == OUTCOME_DENIED
                          ? "the registry refuses it without a login (docs/configuration.md, "
                            "Private registries)"
                          : result->message;
    const char *label = !variant ? "" : *result->label ? result->label : "default";
    metrics_shadow(mirror->metrics, result->outcome, label, n);
    if (variant)
        log_line(LOG_LEVEL_INFO, "%s:%s: shadow: would serve %s (%s)", reference->name,
                 reference->tag, *result->label ? result->label : "the default",
                 result->child.digest);
    else if (result->outcome == OUTCOME_ORDINARY)
        log_line(LOG_LEVEL_DEBUG, "%s:%s: shadow: %s", reference->name, reference->tag,
                 result->message);
    else
        log_line(LOG_LEVEL_INFO, "%s:%s: shadow: would answer %u: %s", reference->name,
                 reference->tag, result->status, why);
}
