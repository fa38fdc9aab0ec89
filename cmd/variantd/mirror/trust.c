/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose signature a document needs before it is served (`trust`). What is signed is the document
 * that a name stands for, mostly an index; its images are trusted because it names them. Both are
 * kept by digest until the configuration is read again, a refusal for a short while only. */
#include "cmd/common/image/image.h"
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/format/json.h"
#include "lib/internal/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED_MS 10000 /* then the registry is asked again: it may be signed by then */
#define NESTED_MAX 4u    /* indexes in indexes */
#define INDEXES_MAX 64u  /* of one document */
#define MEMBERS_MAX 4096u

struct trusted {
    struct refcounted item;
    int64_t until_ms; /* of a refusal; 0: good */
    struct ocv_signature signature;
    char message[320];
};

static void trusted_key(const char *repository, const char *digest, struct key *key)
{
    key_begin(key);
    key_add(key, repository);
    key_add(key, digest);
}

static struct trusted *remembered(const struct mirror *mirror, const char *repository,
                                  const char *digest)
{
    struct key key;
    trusted_key(repository, digest, &key);
    struct trusted *known = cache_find(mirror->trusted, &key);
    if (known && known->until_ms && known->until_ms < ocv_clock_ms()) {
        refcounted_unref(known);
        known = NULL;
    }
    return known;
}

/* Good by that signature, or with a refusal not, for a while. */
static void remember(const struct mirror *mirror, const char *repository, const char *digest,
                     const struct ocv_signature *signature, const struct ocv_error *refusal)
{
    struct key key;
    struct trusted *item = calloc(1, sizeof(*item));
    if (!item)
        return;
    refcounted_init(&item->item, NULL);
    if (signature)
        item->signature = *signature;
    if (refusal) {
        item->until_ms = ocv_clock_ms() + REFUSED_MS;
        snprintf(item->message, sizeof(item->message), "%.300s", refusal->message);
    }
    trusted_key(repository, digest, &key);
    cache_keep(mirror->trusted, &key, item, sizeof(*item));
    refcounted_unref(item);
}

/* Append the digests that an index names, and those that the indexes in it name. */
static int find_members(const struct source *from, const struct ocv_reference *reference,
                        const char *digest, unsigned depth, unsigned *indexes, json_t *members,
                        struct ocv_error *err)
{
    ocv_auto(document) document = NULL;
    ocv_auto_json *nested = json_array();
    json_t *root = NULL, *entry;
    size_t i;
    if (!nested)
        return ocv_error_nomem(err);
    OCV_TRY(upstream_get(from, reference, digest, &document, err));
    size_t len = document->body.len;
    budget_read_begin(len);
    int status = ocv_json_load_counted("index", document->body.data, len, OCV_MANIFEST_MAX,
                                       OCV_JSON_VALUES_MAX, &root, err);
    json_array_foreach(status < 0 ? NULL : json_object_get(root, "manifests"), i, entry)
    {
        const char *member = ocv_json_text(entry, "digest");
        const char *type = ocv_json_text_or(entry, "mediaType", "");
        if (!member || !ocv_digest_known(member) || json_array_size(members) == MEMBERS_MAX)
            continue;
        json_array_append_new(members, json_string(member));
        if (!strcmp(type, OCV_MEDIA_TYPE_INDEX) || !strcmp(type, OCV_MEDIA_TYPE_DOCKER_LIST))
            json_array_append_new(nested, json_string(member));
    }
    json_decref(root);
    budget_read_end(len);
    OCV_TRY(status);
    json_array_foreach(nested, i, entry)
    {
        struct ocv_error why = {0};
        if (depth == NESTED_MAX || ++*indexes > INDEXES_MAX)
            break; /* what is in them is not trusted */
        if (find_members(from, reference, json_string_value(entry), depth + 1, indexes, members,
                         &why) == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
    }
    return OCV_OK;
}

/* Every rule has to hold. OCV_ERR_UNTRUSTED: one does not. */
static int check_rules(const struct mirror *mirror, const struct source *from,
                       const struct ocv_reference *reference, const char *digest,
                       struct ocv_signature *signature, struct ocv_error *err)
{
    struct ocv_trust_rule rules[2];
    size_t n = ocv_config_trust(mirror->settings->config, reference, rules);
    for (size_t i = 0; i < n; i++) {
        struct ocv_error why = {0};
        int status =
            from->client
                ? trust_verify(client_registry(from->client), mirror->settings->config, reference,
                               &rules[i], mirror->settings->trust[rules[i].place], digest, NULL,
                               signature, &why)
                : ocv_error_set(&why, OCV_ERR_UNTRUSTED,
                                "%s is served from a layout, in which no signature is "
                                "looked for",
                                reference->name);
        if (status < 0 && rules[i].require) {
            *err = why;
            return status;
        }
        if (status == OCV_ERR_UNTRUSTED)
            log_line(LOG_LEVEL_WARNING, "%s (served: require is false in %s)", why.message,
                     rules[i].origin);
        else if (status < 0)
            log_line(LOG_LEVEL_WARNING, "%s", why.message);
    }
    return OCV_OK;
}

static int check_anew(const struct mirror *mirror, const struct source *from,
                      const struct ocv_reference *reference, const char *digest,
                      struct ocv_signature *signature, struct ocv_error *err)
{
    struct ocv_error refusal = {0};
    unsigned indexes = 0;
    size_t i;
    json_t *member;
    ocv_auto_json *members = json_array();
    if (!members)
        return ocv_error_nomem(err);
    int status = check_rules(mirror, from, reference, digest, signature, &refusal);
    if (status == OCV_ERR_UNTRUSTED) {
        remember(mirror, reference->name, digest, NULL, &refusal);
        metrics_add(mirror->metrics, METRIC_UNTRUSTED_TOTAL, 1);
        log_line(LOG_LEVEL_WARNING, "%s; refused%s%s", refusal.message, *refusal.hint ? ": " : "",
                 refusal.hint);
    }
    if (status < 0) {
        if (err)
            *err = refusal;
        return status;
    }
    OCV_TRY(find_members(from, reference, digest, 0, &indexes, members, err));
    json_array_foreach(members, i, member)
    {
        remember(mirror, reference->name, json_string_value(member), signature, NULL);
    }
    remember(mirror, reference->name, digest, signature, NULL);
    if (*signature->key) {
        /* so that a restart needs no registry to know it */
        const struct ocv_trusted record = {.repository = reference->name,
                                           .digest = digest,
                                           .key = signature->key,
                                           .signature = signature->document,
                                           .members = members};
        struct ocv_error why = {0};
        if (ocv_trusted_write(mirror->settings->records, &record, &why) < 0)
            log_line(LOG_LEVEL_DEBUG, "not recorded: %s", why.message);
    }
    return OCV_OK;
}

int trust_check(const struct mirror *mirror, const struct source *from,
                const struct ocv_reference *reference, const char *digest,
                struct ocv_signature *signature, struct ocv_error *err)
{
    struct ocv_trust_rule rules[2];
    struct ocv_signature own = {.key = ""}, *out = signature ? signature : &own;
    if (!ocv_config_trust(mirror->settings->config, reference, rules))
        return OCV_OK;
    struct trusted *known = remembered(mirror, reference->name, digest);
    if (!known)
        return check_anew(mirror, from, reference, digest, out, err);
    bool good = !known->until_ms;
    *out = known->signature;
    if (!good)
        ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s", known->message);
    refcounted_unref(known);
    return good ? OCV_OK : OCV_ERR_UNTRUSTED;
}

bool trust_known(const struct mirror *mirror, const char *repository, const char *digest)
{
    struct trusted *known = remembered(mirror, repository, digest);
    bool good = known && !known->until_ms;
    refcounted_unref(known);
    return good;
}

/* A record counts while the keys of today include its key; where the repository has to be named, it
 * is looked up again. */
static int take_record(void *data, const struct ocv_trusted *record)
{
    const struct mirror *mirror = data;
    struct ocv_trust_rule rules[2];
    struct ocv_signature signature;
    size_t i;
    json_t *member;
    ocv_auto(ocv_reference) reference = settings_reference(record->repository);
    size_t n = reference ? ocv_config_trust(mirror->settings->config, reference, rules) : 0;
    for (i = 0; i < n; i++)
        if (rules[i].require &&
            (rules[i].match ||
             !ocv_signature_keys_have(mirror->settings->trust[rules[i].place], record->key)))
            return OCV_OK;
    if (!n)
        return OCV_OK;
    snprintf(signature.key, sizeof(signature.key), "%s", record->key);
    snprintf(signature.document, sizeof(signature.document), "%s", record->signature);
    remember(mirror, record->repository, record->digest, &signature, NULL);
    json_array_foreach(record->members, i, member) if (json_is_string(member))
        remember(mirror, record->repository, json_string_value(member), &signature, NULL);
    return OCV_OK;
}

void trust_remember(const struct mirror *mirror)
{
    struct ocv_error why = {0};
    if (mirror->settings->n_trust && ocv_trusted_walk(mirror->settings->records, take_record,
                                                      (void *)(uintptr_t)mirror, &why) < 0)
        log_line(LOG_LEVEL_WARNING, "%s", why.message);
}

int mirror_trusted(struct mirror *m, const struct ocv_reference *reference, const char *digest,
                   bool trusted, struct ocv_error *err)
{
    struct source from;
    struct head head = {0};
    const struct upstream *upstream = settings_upstream(m->settings, reference->host);
    if (!ocv_config_trust_required(m->settings->config, reference) ||
        (digest && trust_known(m, reference->name, digest)))
        return OCV_OK;
    if (!upstream)
        return ocv_error_set(
            err, OCV_ERR_UNTRUSTED,
            "%s: its signature cannot be asked for: the registry is not configured "
            "here",
            reference->name);
    OCV_TRY(source_open(m, upstream, trusted, &from, err));
    int status = OCV_OK;
    if (!digest) {
        status = upstream_head(&from, reference, NULL, &head, err);
        digest = head.descriptor.digest;
    }
    if (status == OCV_OK)
        status = *digest ? trust_check(m, &from, reference, digest, NULL, err)
                         : ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s: its registry gives no digest",
                                         reference->name);
    source_close(m, &from, trusted, status == OCV_ERR_UNTRUSTED ? OCV_OK : status);
    return status;
}
