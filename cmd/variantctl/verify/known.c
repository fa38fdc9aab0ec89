/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the node's own memory knows of an image: its records, its kept indexes, and variantd. */
#include "cmd/variantctl/verify/verify_known.h"
#include "lib/records/daemon.h"
#include "lib/records/records.h"

#include "lib/base/paths.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define TARGET_MAX 2048u
#define ANSWER_MAX (64u * 1024)
#define ASK_MS 10000u /* it may have to ask a registry */

void known_set_label(struct known *k, const char *label)
{
    struct ocv_record said = k->said, copy;
    said.label = label;
    if (ocv_record_copy(&said, &copy, NULL) < 0)
        return;
    ocv_record_free(&k->said);
    k->said = copy;
}

/* Without a name, all repositories that have the digest must say the same. */
static int hear(void *data, const struct ocv_record *record)
{
    struct known *k = data;
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

/* What stands in an index that this node has resolved, though another image of it was chosen. */
static int hear_index(void *data, struct ocv_record_index *kept)
{
    const struct known *k = data;
    ocv_auto_record said = {0};
    const struct ocv_entry *entry = ocv_index_find_digest(kept->index, k->digest);
    if (!entry || entry->code != OCV_REJECT_NONE || !ocv_index_has_variants(kept->index))
        return OCV_OK;
    int status = ocv_entry_describe(kept->index, entry, &said, NULL);
    said.repository = kept->repository;
    return status < 0 ? status : hear(data, &said);
}

void known_forget(struct known *k)
{
    ocv_record_free(&k->said);
    k->n = 0;
    k->differ = false;
    k->heard[0] = '\0';
}

/* True if one of them knows it; what repositories say that differ is nothing. */
static bool look_up(const char *records, const char *repository, const char *digest, bool record,
                    struct known *k)
{
    known_forget(k);
    k->digest = digest;
    int status = record ? ocv_record_walk(records, repository, digest, hear, k, NULL)
                        : ocv_record_index_walk(records, repository, digest, hear_index, k, NULL);
    if (status >= 0 && record && k->n && !repository) /* siblings must not say something else */
        status = ocv_record_index_walk(records, NULL, digest, hear_index, k, NULL);
    return status >= 0 && k->n > 0 && !k->differ;
}

/* In full, or NULL. */
static char *repository_of(const char *name)
{
    ocv_auto(ocv_reference) reference = NULL;
    bool named = name && !ocv_digest_wellformed(name) &&
                 ocv_reference_parse(name, &reference, NULL) == OCV_OK;
    return named ? strdup(reference->name) : NULL;
}

void known_find(const char *records, const struct local_image *image, struct known *k)
{
    /* an id, or a layout's bare tag, names no repository */
    bool full = image->name && strpbrk(image->name, "/:");
    char *named = full ? repository_of(image->name) : NULL;
    *k = (struct known){0};
    for (size_t i = 0; i < 2 * image->n_digests; i++) {
        bool record = i < image->n_digests;
        size_t at = record ? i : i - image->n_digests;
        char *of = image->repositories ? repository_of(image->repositories[at]) : NULL;
        if (look_up(records, of ? of : named, image->digests[at], record, k)) {
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

void known_free(struct known *k)
{
    ocv_record_free(&k->said);
    free(k->repository);
}

/* ---- is there a better one? --------------------------------------------------------------------
 */

bool known_lesser(const char *records, const struct known *k, const struct ocv_profile *profile,
                  const struct ocv_resolve_options *choose, struct ocv_buffer *reason)
{
    struct ocv_record_index kept;
    ocv_auto(ocv_decision) decision = NULL;
    bool lesser = false;
    if (!k->repository || !k->digest ||
        ocv_record_find(records, k->repository, k->digest, &kept, NULL) < 0)
        return false;
    if (ocv_resolve(kept.index, profile, choose, &decision, NULL) == OCV_OK) {
        const struct ocv_entry *best = ocv_decision_selected(decision);
        lesser = best && ocv_index_find_digest(kept.index, k->digest) &&
                 strcmp(best->digest, k->digest) != 0;
        reason->len = lesser ? 0 : reason->len; /* what else there is to know matters less */
        if (lesser && ocv_buffer_printf(reason, NULL, "%s fits it better",
                                        best->label ? best->label : "the default entry") < 0)
            lesser = false;
    }
    ocv_decision_free(decision);
    decision = NULL;
    ocv_record_index_free(&kept);
    return lesser;
}

/* Of names and digests only "+" means something else in a query. */
static bool write_target(const struct known *k, const char *name, char target[TARGET_MAX])
{
    ocv_auto(ocv_reference) reference = NULL;
    const char *tag = NULL;
    if (name && ocv_reference_parse(name, &reference, NULL) == OCV_OK &&
        strcmp(reference->name, k->repository) == 0)
        tag = reference->tag;
    int n = snprintf(target, TARGET_MAX, "/v1/verdict?held=1&ref=%s%s%s&digest=%s", k->repository,
                     tag ? ":" : "@", tag ? tag : k->digest, k->digest);
    return n > 0 && n < (int)TARGET_MAX && !strchr(target, '+');
}

const char *known_ask(const struct ocv_config *config, struct known *k, const char *name,
                      struct ocv_buffer *reason, bool *answers)
{
    static const char *const verdicts[] = {"fits", "lesser", "misfit", "none"};
    char target[TARGET_MAX];
    ocv_auto_buffer body;
    const char *path = ocv_config_get(config, "socket"), *found = NULL;
    long http = 0;
    ocv_buffer_init(&body, ANSWER_MAX);
    if (!k->repository || !k->digest || !write_target(k, name, target))
        return NULL;
    int status =
        ocv_daemon_get(path && *path ? path : OCV_PATH_SOCKET, target, ASK_MS, &http, &body, NULL);
    *answers = status != OCV_ERR_NOT_FOUND;
    if (status < 0 || http != 200)
        return NULL;
    json_t *root = json_loadb(body.data ? body.data : "", body.len, JSON_REJECT_DUPLICATES, NULL);
    const char *word = json_string_value(json_object_get(root, "verdict"));
    const char *label = json_string_value(json_object_get(root, "label"));
    const char *why = json_string_value(json_object_get(root, "reason"));
    bool hint = json_object_get(root, "source") != NULL; /* labels, which images inherit */
    for (size_t i = 0; word && !hint && i < sizeof(verdicts) / sizeof(*verdicts); i++)
        if (strcmp(verdicts[i], word) == 0)
            found = verdicts[i];
    if (found && !k->said.label && label && *label)
        known_set_label(k, label);
    if (found && why && *why) {
        reason->len = 0;
        if (ocv_buffer_append(reason, why, strlen(why) + 1, NULL) < 0)
            found = NULL;
    }
    json_decref(root);
    return found;
}
