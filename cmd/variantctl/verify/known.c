/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node knows about an image: its records, its kept indexes, and variantd. */
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/cleanup.h"
#include "lib/internal/records/daemon.h"
#include "lib/internal/records/records.h"

#include "lib/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_MAX 1600u
#define ASK_MS 10000u /* it may ask a registry */

void known_set_label(struct known_image *k, const char *label)
{
    struct ocv_record said = k->said, copy;
    said.label = label;
    if (ocv_record_copy(&said, &copy, NULL) < 0)
        return;
    ocv_record_free(&k->said);
    k->said = copy;
}

/* Without a name, all repositories with the digest must agree. */
static int add_record(void *data, const struct ocv_record *record)
{
    struct known_image *k = data;
    if (!record->properties)
        return OCV_OK;
    if (k->n++ == 0) {
        snprintf(k->heard, sizeof(k->heard), "%s", record->repository);
        return ocv_record_copy(record, &k->said, NULL);
    }
    k->differ =
        k->differ || strcmp(k->said.properties, record->properties) != 0 ||
        strcmp(k->said.statics ? k->said.statics : "", record->statics ? record->statics : "") != 0;
    return OCV_OK;
}

/* Entries of an index resolved on this node, even if another entry was chosen. */
static int add_index(void *data, struct ocv_record_index *kept)
{
    const struct known_image *k = data;
    ocv_auto_record said = {0};
    const struct ocv_entry *entry = ocv_index_find_digest(kept->index, k->digest);
    if (!entry || entry->code != OCV_REJECT_NONE || !ocv_index_has_variants(kept->index))
        return OCV_OK;
    OCV_TRY(ocv_entry_describe(kept->index, entry, &said, NULL));
    said.repository = kept->repository;
    said.reference = *kept->reference ? kept->reference : NULL;
    return add_record(data, &said);
}

void known_forget(struct known_image *k)
{
    ocv_record_free(&k->said);
    k->n = 0;
    k->differ = false;
    k->heard[0] = '\0';
}

/* The full repository name, or NULL. */
static char *repository_of(const char *name)
{
    ocv_auto(ocv_reference) reference = NULL;
    bool named =
        name && !ocv_digest_known(name) && ocv_reference_parse(name, &reference, NULL) == OCV_OK;
    return named ? strdup(reference->name) : NULL;
}

void known_find(const char *records, const struct local_image *image, struct known_image *k)
{
    /* an id, or a layout's bare tag, names no repository */
    bool full = image->name && strpbrk(image->name, "/:");
    char *named = full ? repository_of(image->name) : NULL;
    *k = (struct known_image){0};
    /* records before kept indexes; of each, the name's own repository before others */
    for (size_t i = 0; i < 4 * image->n_digests; i++) {
        bool record = i < 2 * image->n_digests, others = i / image->n_digests % 2 == 1;
        size_t at = i % image->n_digests;
        char *of = image->repositories ? repository_of(image->repositories[at]) : NULL;
        bool other = of && named && strcmp(of, named) != 0;
        int status = OCV_ERR_NOT_FOUND;
        if (other == others) {
            const char *repository = of ? of : named;
            known_forget(k);
            k->digest = image->digests[at];
            status =
                record ? ocv_record_walk(records, repository, k->digest, add_record, k, NULL)
                       : ocv_record_index_walk(records, repository, k->digest, add_index, k, NULL);
            if (status >= 0 && record && k->n && !repository) /* sibling repositories must agree */
                status = ocv_record_index_walk(records, NULL, k->digest, add_index, k, NULL);
        }
        if (status >= 0 && k->n > 0 && !k->differ) { /* contradicting ones count as unknown */
            k->by = record ? "record" : "index";
            k->repository = of ? of : named;
            if (of)
                free(named);
            return;
        }
        free(of);
    }
    known_forget(k);
    k->digest = image->n_digests ? image->digests[0] : NULL;
    k->repository = named;
    const struct ocv_record labels = {.label = image->label, .properties = image->properties};
    if (image->properties && ocv_record_copy(&labels, &k->said, NULL) == OCV_OK)
        k->by = "labels";
}

enum ocv_verdict known_best(const char *records, const struct known_image *k,
                            const struct ocv_profile *profile,
                            const struct ocv_resolve_options *choose, struct ocv_buffer *reason)
{
    struct ocv_record_index kept;
    ocv_auto(ocv_decision) decision = NULL;
    enum ocv_verdict verdict = OCV_VERDICT_OPEN;
    if (!k->repository || !k->digest ||
        ocv_record_find(records, k->repository, k->digest, &kept, NULL) < 0)
        return verdict;
    if (ocv_resolve(kept.index, profile, choose, &decision, NULL) == OCV_OK) {
        const struct ocv_entry *best = ocv_decision_selected(decision);
        bool listed = ocv_index_find_digest(kept.index, k->digest) != NULL;
        if (!best)
            verdict = OCV_VERDICT_MISFIT;
        else if (listed && strcmp(best->digest, k->digest) != 0)
            verdict = OCV_VERDICT_LESSER;
        if (verdict == OCV_VERDICT_LESSER && reason) {
            reason->len = 0; /* why it fits is of no interest now */
            if (ocv_buffer_printf(reason, NULL, "%s fits it better",
                                  best->label ? best->label : "the default") < 0)
                verdict = OCV_VERDICT_OPEN;
        }
    }
    ocv_decision_free(decision);
    decision = NULL; /* it points into the index */
    ocv_record_index_free(&kept);
    return verdict;
}

enum ocv_verdict known_ask(const struct ocv_config *config, struct known_image *k,
                           const struct local_image *image, struct ocv_buffer *reason,
                           bool *answers)
{
    char reference[REFERENCE_MAX];
    struct ocv_verdict_answer said;
    const char *path = ocv_config_get(config, "socket");
    if (!k->repository || !k->digest)
        return OCV_VERDICT_OPEN;
    /* REPOSITORY:TAG, or REPOSITORY@DIGEST without a tag */
    ocv_auto(ocv_reference) named = NULL;
    const char *tag = NULL;
    if (image->name && ocv_reference_parse(image->name, &named, NULL) == OCV_OK &&
        strcmp(named->name, k->repository) == 0)
        tag = named->tag;
    int n = snprintf(reference, REFERENCE_MAX, "%s%s%s", k->repository, tag ? ":" : "@",
                     tag ? tag : k->digest);
    if (n <= 0 || n >= (int)REFERENCE_MAX)
        return OCV_VERDICT_OPEN;
    const struct ocv_verdict_question question = {
        .reference = reference, .digest = k->digest, .held = true, .given = image->given};
    int status =
        ocv_verdict_ask(path && *path ? path : OCV_PATH_SOCKET, &question, ASK_MS, &said, NULL);
    *answers = status != OCV_ERR_NOT_FOUND;
    if (status < 0 || said.labels_only || said.verdict == OCV_VERDICT_UNKNOWN ||
        said.verdict == OCV_VERDICT_INDEX)
        return OCV_VERDICT_OPEN;
    if (!k->said.label && said.label[0])
        known_set_label(k, said.label);
    if (said.reason[0]) {
        reason->len = 0;
        if (ocv_buffer_printf(reason, NULL, "%s", said.reason) < 0)
            return OCV_VERDICT_OPEN;
    }
    return said.verdict;
}
