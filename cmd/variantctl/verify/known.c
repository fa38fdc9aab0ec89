/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node knows about an image: its records, its kept indexes, and variantd. */
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_MAX 1600u
#define ASK_MS 10000u /* it may ask a registry */

void known_set_label(struct known_image *k, const char *label)
{
    struct ocv_record said = k->fit.said, copy;
    said.label = label;
    if (ocv_record_copy(&said, &copy, NULL) < 0)
        return;
    ocv_record_free(&k->fit.said);
    k->fit.said = copy;
}

/* The full repository name, or NULL. */
static char *repository_of(const char *name)
{
    ocv_auto(ocv_reference) reference = NULL;
    bool named =
        name && !ocv_digest_known(name) && ocv_reference_parse(name, &reference, NULL) == OCV_OK;
    return named ? strdup(reference->name) : NULL;
}

void known_find(const struct ocv_fit_host *host, const struct local_image *image,
                struct known_image *k, struct ocv_error *err)
{
    /* an id, or a layout's bare tag, names no repository */
    bool full = image->name && strpbrk(image->name, "/:");
    ocv_auto(ocv_reference) name = NULL;
    char *named = full ? repository_of(image->name) : NULL;
    if (full && ocv_reference_parse(image->name, &name, NULL) < 0)
        name = NULL;
    const struct ocv_fit_image about = {
        .reference = named, .tag = name ? name->tag : NULL, .given = image->given};
    *k = (struct known_image){.fit = {.verdict = OCV_VERDICT_NONE}};
    /* records before kept indexes; of each, the name's own repository before others */
    for (size_t i = 0; i < 4 * image->n_digests; i++) {
        bool by_indexes = i >= 2 * image->n_digests, others = i / image->n_digests % 2 == 1;
        size_t at = i % image->n_digests;
        char *of = image->repositories ? repository_of(image->repositories[at]) : NULL;
        bool other = of && named && strcmp(of, named) != 0;
        k->digest = image->digests[at];
        /* contradicting ones count as unknown */
        if (other == others &&
            ocv_fit_recorded(host, &about, of ? of : named, k->digest, by_indexes, &k->fit) ==
                OCV_OK &&
            k->fit.verdict != OCV_VERDICT_OPEN) {
            k->by = by_indexes ? "index" : "record";
            k->repository = of ? of : named;
            if (of)
                free(named);
            return;
        }
        free(of);
    }
    k->fit = (struct ocv_fit){.verdict = OCV_VERDICT_NONE};
    k->digest = image->n_digests ? image->digests[0] : NULL;
    k->repository = named;
    if (!image->properties)
        return;
    const struct ocv_record labels = {.label = image->label, .properties = image->properties};
    k->by = "labels";
    if (ocv_fit_said(host, &about, &labels, &k->fit, err) < 0)
        return;
    if (k->fit.verdict == OCV_VERDICT_MISFIT)
        k->fit.verdict = OCV_VERDICT_WARNING; /* they are inherited: maybe another image's */
}

enum ocv_verdict known_best(const struct ocv_fit_host *host, const struct known_image *k,
                            const struct ocv_resolve_options *choose, struct ocv_buffer *reason)
{
    struct ocv_record_index kept;
    struct ocv_fit_place place = {0};
    enum ocv_verdict verdict = OCV_VERDICT_OPEN;
    if (!k->repository || !k->digest ||
        ocv_record_find(host->records, k->repository, k->digest, &kept, NULL) < 0)
        return verdict;
    if (ocv_fit_in_index(kept.index, kept.digest, k->digest, host->profile, choose, &place, NULL) ==
        OCV_OK) {
        const char *better = ocv_fit_better(&place, k->digest);
        if (!place.fit_digest[0])
            verdict = OCV_VERDICT_MISFIT;
        else if (place.listed && better)
            verdict = OCV_VERDICT_LESSER;
        if (verdict == OCV_VERDICT_LESSER && reason) {
            reason->len = 0; /* why it fits is of no interest now */
            if (ocv_buffer_printf(reason, NULL, "%s fits it better", better) < 0)
                verdict = OCV_VERDICT_OPEN;
        }
    }
    ocv_record_free(&place.said);
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
    if (!k->fit.said.label && said.label[0])
        known_set_label(k, said.label);
    if (said.reason[0]) {
        reason->len = 0;
        if (ocv_buffer_printf(reason, NULL, "%s", said.reason) < 0)
            return OCV_VERDICT_OPEN;
    }
    return said.verdict;
}
