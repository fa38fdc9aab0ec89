/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/fit/fit.h"
#include "lib/base/cleanup.h"

#include <stdio.h>
#include <string.h>

#define REASON_MAX (64u * 1024)

void ocv_fit_free(struct ocv_fit *fit)
{
    ocv_record_free(&fit->said);
    ocv_buffer_free(&fit->reason);
}

static const struct ocv_config *config_for(const struct ocv_fit_host *host, const char *text)
{
    ocv_auto(ocv_reference) reference = NULL;
    if (text && ocv_reference_parse(text, &reference, NULL) < 0)
        reference = NULL;
    return ocv_config_for_reference(host->config, reference);
}

int ocv_fit_options(const struct ocv_fit_host *host, const struct ocv_fit_image *image,
                    struct ocv_workload_input *input, struct ocv_resolve_options *out, char *by,
                    struct ocv_error *err)
{
    *input = (struct ocv_workload_input){0};
    *out = (struct ocv_resolve_options){.platform = host->platform, .any_use = host->any_use};
    OCV_TRY(ocv_workload_preferences(config_for(host, image->reference), host->profile,
                                     image->given, input, &out->preferences, by, err));
    out->preferences.tag = image->tag;
    return OCV_OK;
}

int ocv_fit_said(const struct ocv_fit_host *host, const struct ocv_fit_image *image,
                 const struct ocv_record *said, struct ocv_fit *out, struct ocv_error *err)
{
    struct ocv_workload_input input;
    struct ocv_resolve_options options;
    char by[OCV_GIVEN_FOUND_MAX];
    bool fits = false;
    *out = (struct ocv_fit){.verdict = OCV_VERDICT_UNKNOWN};
    ocv_buffer_init(&out->reason, REASON_MAX);
    OCV_TRY(ocv_record_copy(said, &out->said, err));
    int status = ocv_fit_options(host, image, &input, &options, by, err);
    options.made_of = said->tag;
    if (status == OCV_OK)
        status = ocv_fit_check(said->label, said->properties, said->statics, host->profile,
                               &options, &fits, &out->reason, err);
    if (status == OCV_OK && !fits && *by)
        status = ocv_buffer_printf(&out->reason, err, "; the container has %.200s", by);
    ocv_workload_input_free(&input);
    if (status == OCV_OK)
        out->verdict = fits ? OCV_VERDICT_FITS : OCV_VERDICT_MISFIT;
    return status;
}

/* What records, and indexes that were kept, say of one digest. */
struct digest_facts {
    const struct ocv_fit_host *host;
    const struct ocv_fit_image *image;
    const char *digest;
    struct ocv_fit *out;
    bool by_indexes; /* alone: nothing was chosen, so they have to say the same */
};

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static int add_record(void *data, const struct ocv_record *record)
{
    struct digest_facts *facts = data;
    struct ocv_fit_image image = *facts->image;
    ocv_auto_fit one = {0};
    image.reference = record->repository;
    if (!record->properties || ocv_fit_said(facts->host, &image, record, &one, NULL) < 0)
        return OCV_OK;
    struct ocv_fit *out = facts->out;
    if (out->verdict == OCV_VERDICT_OPEN) {
        *out = one;
        one = (struct ocv_fit){0};
    } else {
        out->differ = out->differ || one.verdict != out->verdict ||
                      (facts->by_indexes && !(same_text(out->said.properties, record->properties) &&
                                              same_text(out->said.statics, record->statics)));
    }
    return OCV_OK;
}

static int add_index(void *data, struct ocv_record_index *kept)
{
    const struct digest_facts *facts = data;
    ocv_auto_record said = {0};
    const struct ocv_entry *entry = ocv_index_find_digest(kept->index, facts->digest);
    if (!entry || entry->code != OCV_REJECT_NONE || !ocv_index_has_variants(kept->index) ||
        (kept->secret && facts->host->no_secrets) ||
        ocv_entry_describe(kept->index, entry, &said, NULL) < 0)
        return OCV_OK;
    said.repository = kept->repository;
    said.reference = *kept->reference ? kept->reference : NULL;
    said.secret = kept->secret;
    return add_record(data, &said);
}

int ocv_fit_recorded(const struct ocv_fit_host *host, const struct ocv_fit_image *image,
                     const char *repository, const char *digest, bool by_indexes,
                     struct ocv_fit *out)
{
    struct digest_facts facts = {host, image, digest, out, by_indexes};
    *out = (struct ocv_fit){.verdict = OCV_VERDICT_OPEN};
    if (by_indexes) {
        OCV_TRY(ocv_record_index_walk(host->records, repository, digest, add_index, &facts, NULL));
    } else {
        OCV_TRY(ocv_record_walk(host->records, repository, digest, add_record, &facts, NULL));
        if (out->verdict != OCV_VERDICT_OPEN && !repository && !out->differ &&
            ocv_record_index_walk(host->records, NULL, digest, add_index, &facts, NULL) < 0)
            out->differ = true; /* what cannot be read may say so */
    }
    if (out->differ) {
        ocv_fit_free(out);
        *out = (struct ocv_fit){.verdict = OCV_VERDICT_OPEN, .differ = true};
    }
    return OCV_OK;
}

int ocv_fit_in_index(const struct ocv_index *index, const char *own, const char *digest,
                     const struct ocv_profile *profile, const struct ocv_resolve_options *options,
                     struct ocv_fit_place *out, struct ocv_error *err)
{
    ocv_auto(ocv_decision) decision = NULL;
    OCV_TRY(ocv_resolve(index, profile, options, &decision, err));
    const struct ocv_entry *selected = ocv_decision_selected(decision),
                           *plain = ocv_decision_default(decision),
                           *entry = digest ? ocv_index_find_digest(index, digest) : NULL;
    *out = (struct ocv_fit_place){.variants = ocv_index_has_variants(index),
                                  .is_index = digest && strcmp(own, digest) == 0,
                                  .alone = ocv_index_count(index) == 1 &&
                                           strcmp(ocv_index_entry(index, 0)->digest, own) == 0,
                                  .listed = entry != NULL,
                                  .found = entry && entry->code == OCV_REJECT_NONE};
    if (selected) {
        snprintf(out->fit, sizeof(out->fit), "%s",
                 selected->label ? selected->label
                 : out->variants ? "null"
                                 : "");
        snprintf(out->fit_digest, sizeof(out->fit_digest), "%s", selected->digest);
    }
    if (plain)
        snprintf(out->default_digest, sizeof(out->default_digest), "%s", plain->digest);
    return out->found ? ocv_entry_describe(index, entry, &out->said, err) : OCV_OK;
}

const char *ocv_fit_better(const struct ocv_fit_place *place, const char *digest)
{
    if (!digest || !place->fit_digest[0] || strcmp(place->fit_digest, digest) == 0)
        return NULL;
    return place->fit[0] && strcmp(place->fit, "null") != 0 ? place->fit : "the default";
}

/* True if the machine lacks what the rules say a tag with such a configuration needs. */
static bool rules_refuse(const struct ocv_fit_host *host, const struct ocv_image_config *config,
                         const struct ocv_tag_rules *rules, const char *text, char *reason,
                         size_t size)
{
    ocv_auto(ocv_reference) name = NULL;
    ocv_auto(ocv_tag) tag = NULL;
    ocv_auto(ocv_tag) answered = NULL;
    ocv_auto_buffer properties;
    ocv_auto_fit one = {0};
    const struct ocv_fit_image image = {.reference = text};
    ocv_buffer_init(&properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    if (ocv_reference_parse(text, &name, NULL) < 0 || !name->tag ||
        ocv_tag_parse(rules, name, NULL, &tag, NULL) < 0 ||
        ocv_tag_answer(tag, config, &answered, NULL) < 0 || ocv_tag_refused(answered) ||
        ocv_properties_count(ocv_tag_properties(answered)) == 0 ||
        ocv_properties_format(ocv_tag_properties(answered), &properties, NULL) < 0)
        return false;
    const struct ocv_record said = {.properties = properties.data};
    if (ocv_fit_said(host, &image, &said, &one, NULL) < 0 || one.verdict != OCV_VERDICT_MISFIT)
        return false;
    snprintf(reason, size, "by its tag's family it does not run here: %.400s",
             one.reason.data ? one.reason.data : "");
    return true;
}

void ocv_fit_ordinary(const struct ocv_fit_host *host, const struct ocv_image_config *config,
                      const struct ocv_gpu_host *gpus, const struct ocv_tag_rules *rules,
                      const char *reference, struct ocv_config_finding *out)
{
    *out = (struct ocv_config_finding){.fit = OCV_CONFIG_NO_WORD};
    if (ocv_config_check(config, gpus, out, NULL) < 0)
        out->fit = OCV_CONFIG_NO_WORD;
    if (out->fit == OCV_CONFIG_WARNING && rules && reference &&
        rules_refuse(host, config, rules, reference, out->reason, sizeof(out->reason)))
        out->fit = OCV_CONFIG_MISFIT;
}
