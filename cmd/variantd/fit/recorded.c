/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this node remembers of its decisions, and what it makes of it after the profile has changed.
 */
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/fit/image_fit.h"
#include "cmd/variantd/fit/image_fit_internal.h"
#include "lib/records/records.h"

#include <stdio.h>
#include <string.h>

int fit_by_properties(const struct instance *instance, const char *reference, const char *label,
                      const char *properties, const char *statics, struct answer *out)
{
    ocv_auto_buffer reason;
    struct ocv_error err = {0};
    bool fits = false;
    ocv_buffer_init(&reason, REASON_MAX * 4);
    const struct snapshot *snapshot = node_get(instance->node);
    const struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences(settings_for_text(instance->settings, reference)),
        .any_use = true};
    int status = ocv_fit_check(label, properties, statics, snapshot->profile, &options, &fits,
                               &reason, &err);
    node_put(snapshot);
    out->verdict = status < 0 ? "unknown" : fits ? "fits" : "misfit";
    snprintf(out->label, sizeof(out->label), "%s", label ? label : "");
    snprintf(out->properties, sizeof(out->properties), "%s", properties ? properties : "");
    snprintf(out->reason, sizeof(out->reason), "%s",
             status < 0    ? err.message
             : reason.data ? reason.data
                           : "");
    return status;
}

/* What all that know a digest say of it. */
struct said {
    const struct instance *instance;
    bool trusted;
    const char *digest;
    struct answer *out;
    char *reference;
    size_t size, n;
    bool differ;
};

static int hear_record(void *data, const struct ocv_record *record)
{
    struct said *said = data;
    struct answer one = {0};
    if (!record->properties || fit_by_properties(said->instance, record->repository, record->label,
                                                 record->properties, record->statics, &one) < 0)
        return OCV_OK;
    said->differ = said->differ || (said->n > 0 && strcmp(one.verdict, said->out->verdict) != 0);
    if (said->n++ > 0)
        return OCV_OK;
    *said->out = one;
    snprintf(said->reference, said->size, "%s", record->reference ? record->reference : "");
    if (!said->trusted && record->secret)
        said->out->label[0] = said->out->reason[0] = said->reference[0] = '\0';
    return OCV_OK;
}

static int hear_index(void *data, struct ocv_record_index *kept)
{
    struct said *said = data;
    struct answer one = {0};
    ocv_auto_record here = {0};
    const struct ocv_entry *entry = ocv_index_find_digest(kept->index, said->digest);
    if (!entry || entry->code != OCV_REJECT_NONE || (kept->secret && !said->trusted) ||
        ocv_entry_describe(kept->index, entry, &here, NULL) < 0 ||
        fit_by_properties(said->instance, kept->repository, here.label, here.properties,
                          here.statics, &one) < 0)
        return OCV_OK;
    said->differ = said->differ || strcmp(one.verdict, said->out->verdict) != 0;
    return said->differ ? 1 : OCV_OK;
}

bool fit_by_record(const struct instance *instance, const char *repository, const char *digest,
                   bool trusted, struct answer *out, char *reference, size_t size)
{
    const char *records = instance->settings->records;
    struct said said = {instance, trusted, digest, out, reference, size, 0, false};
    int status = ocv_record_walk(records, repository, digest, hear_record, &said, NULL);
    if (status < 0 || said.n == 0)
        return false;
    if (!repository && !said.differ) {
        budget_read_begin(SIZE_MAX); /* each may be as large as they come */
        status = ocv_record_index_walk(records, NULL, digest, hear_index, &said, NULL);
        budget_read_end(SIZE_MAX);
    }
    if (!said.differ && status >= 0)
        return true;
    *out = (struct answer){.verdict = "unknown"};
    snprintf(out->reason, sizeof(out->reason),
             "repositories that have this digest say different things of it, and its name is not "
             "known");
    return true;
}

/* What is judged after the profile has changed. */
struct review {
    const struct instance *instance;
    uint64_t misfits;
};

static int review(void *data, const struct ocv_record *record)
{
    struct review *all = data;
    struct answer answer = {0};
    const struct settings *settings = all->instance->settings;
    if (!record->properties ||
        ocv_config_choose(settings_for_text(settings, record->repository)) == OCV_CHOOSE_OFF ||
        fit_by_properties(all->instance, record->repository, record->label, record->properties,
                          record->statics, &answer) < 0 ||
        strcmp(answer.verdict, "misfit") != 0)
        return OCV_OK;
    log_line(LOG_LEVEL_WARNING, "%s (%s) no longer fits this node: %s",
             record->reference ? record->reference : record->child, answer.label, answer.reason);
    all->misfits++;
    return OCV_OK;
}

void fit_review_records(const struct instance *instance, struct metrics *metrics)
{
    struct review all = {.instance = instance};
    struct ocv_error err = {0};
    if (ocv_record_walk(instance->settings->records, NULL, NULL, review, &all, &err) < 0)
        log_line(LOG_LEVEL_WARNING, "records are not judged: %s", err.message);
    metrics_misfits(metrics, all.misfits);
}
