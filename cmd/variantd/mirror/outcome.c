/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outcomes of a look-up, and of failed upstream requests. */
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_result(struct refcounted *item)
{
    struct lookup_result *result = (struct lookup_result *)item;
    refcounted_unref(result->document);
    free(result);
}

struct lookup_result *lookup_result_new(enum outcome outcome, unsigned status, const char *code,
                                        const char *message)
{
    struct lookup_result *v = calloc(1, sizeof(*v));
    if (!v)
        return NULL;
    refcounted_init(&v->item, free_result);
    v->outcome = outcome;
    v->status = status;
    v->code = code;
    snprintf(v->message, sizeof(v->message), "%.300s", message ? message : "");
    ocv_text_clean(v->message); /* and a character that was cut in two: JSON takes no part of one */
    return v;
}

struct lookup_result *lookup_result_busy(void)
{
    return lookup_result_new(OUTCOME_BUSY, 502, "UNKNOWN", "server busy, retry later");
}

static const char *kind_of(const struct ocv_error *err)
{
    switch (err->status) {
    case OCV_ERR_DENIED:
        return "denied";
    case OCV_ERR_NOT_FOUND:
        return "not_found";
    case OCV_ERR_DATA:
        return "data";
    case OCV_ERR_MISMATCH:
        return "mismatch";
    case OCV_ERR_TLS:
        return "tls";
    default:
        return err->http_status == 429   ? "http_429"
               : err->http_status == 504 ? "timeout"
               : err->http_status >= 500 ? "http_5xx"
               : err->http_status >= 400 ? "http_4xx"
                                         : "network";
    }
}

struct lookup_result *lookup_result_of_error(struct mirror *mirror, const struct upstream *upstream,
                                             enum identity identity,
                                             const struct ocv_reference *reference,
                                             const struct ocv_error *err)
{
    if (err->status == OCV_ERR_NOMEM) { /* the daemon's failure, not the registry's */
        log_line(LOG_LEVEL_WARNING, "%s", err->message);
        return lookup_result_busy();
    }
    if (err->status == OCV_ERR_UNTRUSTED) /* logged and counted where it was found */
        return lookup_result_new(OUTCOME_UNTRUSTED, 404, "DENIED", err->message);
    bool missing = err->status == OCV_ERR_NOT_FOUND, denied = err->status == OCV_ERR_DENIED;
    if (!missing)
        metrics_raise(mirror->metrics, METRICS_ERRORS, upstream->name, kind_of(err), 1);
    if (denied)
        denied_remember(mirror, upstream, identity, reference, err);
    else if (missing)
        log_line(LOG_LEVEL_DEBUG, "%s", err->message);
    else
        log_line(LOG_LEVEL_WARNING, "%s%s%s", err->message, *err->hint ? "; " : "", err->hint);
    if (missing)
        return lookup_result_new(OUTCOME_MISSING, 404, "MANIFEST_UNKNOWN", "not found upstream");
    if (denied) /* no challenge: clients must not send us passwords */
        return lookup_result_new(OUTCOME_DENIED, 404, "MANIFEST_UNKNOWN", "not found upstream");
    /* an engine shows this as its own: it has to tell whose error it is */
    char message[300];
    bool late = err->http_status == 504 || err->status == OCV_ERR_INTERRUPTED;
    snprintf(message, sizeof(message), "registry %s: %s", upstream->name,
             late ? "no answer in time" : err->message);
    return lookup_result_new(late ? OUTCOME_TIMEOUT : OUTCOME_UPSTREAM_ERROR, late ? 504 : 502,
                             "UNKNOWN", message);
}

/* `choose: shadow`: logs and counts what would have been served. */

void shadow_log(const struct mirror *mirror, const struct ocv_reference *reference,
                const struct lookup_result *result, uint64_t n)
{
    bool variant = result->outcome == OUTCOME_VARIANT;
    const char *why = result->outcome == OUTCOME_DENIED
                          ? "the registry refuses it without a login (docs/configuration.md, "
                            "Private registries)"
                          : result->message;
    const char *label = !variant ? "" : *result->label ? result->label : "default";
    metrics_raise(mirror->metrics, METRICS_SHADOW, metrics_outcome_name(result->outcome), label, n);
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
