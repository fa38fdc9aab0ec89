/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks this node's records of its choices after the profile has changed. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/fit/image_fit_internal.h"
#include "lib/internal/config/config.h"

#include <stdio.h>
#include <string.h>

struct ocv_fit_host fit_host(const struct instance *instance, const struct snapshot *snapshot)
{
    return (struct ocv_fit_host){.profile = snapshot->profile,
                                 .config = instance->settings->config,
                                 .records = instance->settings->records,
                                 .any_use = true};
}

static void set_answer(const struct instance *instance, const char *reference,
                       const struct ocv_fit *fit, const char *why, struct fit_answer *out)
{
    const struct ocv_record *said = &fit->said;
    out->each_pod =
        ocv_config_workload(settings_for_text(instance->settings, reference)) != OCV_WORKLOAD_OFF;
    out->verdict = fit->verdict;
    snprintf(out->label, sizeof(out->label), "%s", said->label ? said->label : "");
    snprintf(out->properties, sizeof(out->properties), "%s",
             said->properties ? said->properties : "");
    snprintf(out->reason, sizeof(out->reason), "%s",
             why               ? why
             : fit->reason.len ? fit->reason.data
                               : "");
}

int fit_by_properties(const struct instance *instance, const char *reference, const char *given,
                      const struct ocv_record *said, struct fit_answer *out)
{
    const ocv_auto(snapshot) snapshot = node_get(instance->node);
    const struct ocv_fit_host host = fit_host(instance, snapshot);
    const struct ocv_fit_image image = {.reference = reference, .given = given};
    struct ocv_error err = {0};
    ocv_auto_fit fit = {0};
    int status = ocv_fit_said(&host, &image, said, &fit, &err);
    set_answer(instance, reference, &fit, status < 0 ? err.message : NULL, out);
    return status;
}

void fit_by_record(const struct instance *instance, const char *repository,
                   const struct fit_question *q, struct fit_answer *out, char *reference,
                   size_t size)
{
    const ocv_auto(snapshot) snapshot = node_get(instance->node);
    struct ocv_fit_host host = fit_host(instance, snapshot);
    const struct ocv_fit_image image = {.given = q->given};
    ocv_auto_fit fit = {0};
    host.no_secrets = !q->trusted;
    budget_read_begin(SIZE_MAX); /* kept indexes can have any size */
    int status = ocv_fit_recorded(&host, &image, repository, q->digest, false, &fit);
    budget_read_end(SIZE_MAX);
    if (status == OCV_OK && fit.differ) {
        out->verdict = OCV_VERDICT_UNKNOWN;
        snprintf(out->reason, sizeof(out->reason),
                 "repositories with this digest disagree about it, and its name is unknown");
    } else if (status == OCV_OK && fit.verdict != OCV_VERDICT_OPEN) {
        set_answer(instance, fit.said.repository, &fit, NULL, out);
        snprintf(reference, size, "%s", fit.said.reference ? fit.said.reference : "");
        if (!q->trusted && fit.said.secret)
            out->label[0] = out->reason[0] = reference[0] = '\0';
    }
}

/* A review of all records after a change of the profile. */
struct record_review {
    const struct instance *instance;
    uint64_t misfits;
};

static int review_record(void *data, const struct ocv_record *record)
{
    struct record_review *all = data;
    struct fit_answer answer = {.verdict = OCV_VERDICT_OPEN};
    const struct settings *settings = all->instance->settings;
    if (!record->properties ||
        ocv_config_choose(settings_for_text(settings, record->repository)) == OCV_CHOOSE_OFF ||
        fit_by_properties(all->instance, record->repository, NULL, record, &answer) < 0 ||
        answer.verdict != OCV_VERDICT_MISFIT)
        return OCV_OK;
    log_line(LOG_LEVEL_WARNING, "%s (%s) no longer fits this node: %s",
             record->reference ? record->reference : record->child, answer.label, answer.reason);
    all->misfits++;
    return OCV_OK;
}

void fit_review_records(const struct instance *instance, struct metrics *metrics)
{
    struct record_review all = {.instance = instance};
    struct ocv_error err = {0};
    if (ocv_record_walk(instance->settings->records, NULL, NULL, review_record, &all, &err) < 0)
        log_line(LOG_LEVEL_WARNING, "records are not checked: %s", err.message);
    metrics_set(metrics, METRIC_MISFIT_IMAGES, all.misfits);
}
