/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks this node's records of its choices after the profile has changed. */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/fit/image_fit_internal.h"
#include "lib/internal/config/config.h"
#include "lib/internal/records/records.h"

#include <stdio.h>
#include <string.h>

int fit_by_properties(const struct instance *instance, const char *reference, const char *given,
                      const struct ocv_record *said, struct fit_answer *out)
{
    ocv_auto_buffer reason;
    struct ocv_error err = {0};
    bool fits = false;
    ocv_buffer_init(&reason, REASON_MAX * 4);
    const struct snapshot *snapshot = node_get(instance->node);
    struct ocv_resolve_options options = {.any_use = true, .made_of = said->tag};
    struct ocv_workload_input input = {0};
    char by[OCV_GIVEN_FOUND_MAX];
    const struct ocv_config *config = settings_for_text(instance->settings, reference);
    int status = ocv_workload_preferences(config, snapshot->profile, given, &input,
                                          &options.preferences, by, &err);
    if (status == OCV_OK)
        status = ocv_fit_check(said->label, said->properties, said->statics, snapshot->profile,
                               &options, &fits, &reason, &err);
    ocv_workload_input_free(&input);
    node_put(snapshot);
    out->each_pod = ocv_config_workload(config) != OCV_WORKLOAD_OFF;
    out->verdict = status < 0 ? OCV_VERDICT_UNKNOWN : fits ? OCV_VERDICT_FITS : OCV_VERDICT_MISFIT;
    snprintf(out->label, sizeof(out->label), "%s", said->label ? said->label : "");
    snprintf(out->properties, sizeof(out->properties), "%s",
             said->properties ? said->properties : "");
    snprintf(out->reason, sizeof(out->reason), "%s",
             status < 0    ? err.message
             : reason.data ? reason.data
                           : "");
    size_t n = strlen(out->reason);
    if (*by && status == OCV_OK && !fits)
        snprintf(out->reason + n, sizeof(out->reason) - n, "; the container has %.200s", by);
    return status;
}

/* What all records of one digest say. */
struct digest_records {
    const struct instance *instance;
    const struct fit_question *question;
    struct fit_answer *out;
    char *reference;
    size_t size, n;
    bool differ;
};

static int add_record(void *data, const struct ocv_record *record)
{
    struct digest_records *said = data;
    struct fit_answer one = {.verdict = OCV_VERDICT_OPEN};
    if (!record->properties || fit_by_properties(said->instance, record->repository,
                                                 said->question->given, record, &one) < 0)
        return OCV_OK;
    said->differ = said->differ || (said->n > 0 && one.verdict != said->out->verdict);
    if (said->n++ > 0)
        return OCV_OK;
    *said->out = one;
    snprintf(said->reference, said->size, "%s", record->reference ? record->reference : "");
    if (!said->question->trusted && record->secret)
        said->out->label[0] = said->out->reason[0] = said->reference[0] = '\0';
    return OCV_OK;
}

static int add_index(void *data, struct ocv_record_index *kept)
{
    struct digest_records *said = data;
    struct fit_answer one = {.verdict = OCV_VERDICT_OPEN};
    ocv_auto_record here = {0};
    const struct ocv_entry *entry = ocv_index_find_digest(kept->index, said->question->digest);
    if (!entry || entry->code != OCV_REJECT_NONE || (kept->secret && !said->question->trusted) ||
        ocv_entry_describe(kept->index, entry, &here, NULL) < 0 ||
        fit_by_properties(said->instance, kept->repository, said->question->given, &here, &one) < 0)
        return OCV_OK;
    said->differ = said->differ || one.verdict != said->out->verdict;
    return said->differ ? 1 : OCV_OK;
}

bool fit_by_record(const struct instance *instance, const char *repository,
                   const struct fit_question *q, struct fit_answer *out, char *reference,
                   size_t size)
{
    const char *records = instance->settings->records, *digest = q->digest;
    struct digest_records said = {instance, q, out, reference, size, 0, false};
    int status = ocv_record_walk(records, repository, digest, add_record, &said, NULL);
    if (status < 0 || said.n == 0)
        return false;
    if (!repository && !said.differ) {
        budget_read_begin(SIZE_MAX); /* kept indexes can have any size */
        status = ocv_record_index_walk(records, NULL, digest, add_index, &said, NULL);
        budget_read_end(SIZE_MAX);
    }
    if (!said.differ && status >= 0)
        return true;
    *out = (struct fit_answer){.verdict = OCV_VERDICT_UNKNOWN};
    snprintf(out->reason, sizeof(out->reason),
             "repositories with this digest disagree about it, and its name is unknown");
    return true;
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
