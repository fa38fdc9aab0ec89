/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose signature a document needs before it is served (`trust`). What is signed is the document
 * that a name stands for, mostly an index; its images are trusted because it names them. What is
 * good is kept by digest until the configuration is read again, and for everybody: it says nothing
 * of the content. A refusal is kept for a short while, for those alone whose credentials it was
 * found with. */
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

struct good {
    struct refcounted item;
    struct ocv_signature signature; /* `key` empty: no rule requires one */
};

struct refusal {
    struct refcounted item;
    int64_t until_ms;
    struct ocv_error why;
};

static void good_key(const char *repository, const char *digest, struct key *key)
{
    key_begin(key);
    key_add(key, repository);
    key_add(key, digest);
}

static void keep_good(const struct mirror *mirror, const char *repository, const char *digest,
                      const struct ocv_signature *signature)
{
    struct key key;
    struct good *item = calloc(1, sizeof(*item));
    if (!item)
        return;
    refcounted_init(&item->item, NULL);
    item->signature = *signature;
    good_key(repository, digest, &key);
    cache_keep(mirror->trusted, &key, item, sizeof(*item));
    refcounted_unref(item);
}

/* Append the digests that a document names to `members`, and those of indexes to `nested`. */
static int read_members(const struct document *document, json_t *members, json_t *nested,
                        struct ocv_error *err)
{
    size_t i, len = document->body.len;
    json_t *root = NULL, *entry;
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
    return status;
}

/* What a document names, and what the indexes in it name, level by level. One that is not there
 * names nothing. The document itself was fetched: `first`. */
static int find_members(const struct source *from, const struct ocv_reference *reference,
                        struct document *first, json_t *members, struct ocv_error *err)
{
    ocv_auto_json *level = json_array();
    size_t asked = 0;
    if (!level)
        return ocv_error_nomem(err);
    OCV_TRY(read_members(first, members, level, err));
    for (unsigned depth = 0; depth < NESTED_MAX && json_array_size(level); depth++) {
        ocv_auto_json *deeper = json_array();
        for (size_t i = 0; deeper && i < json_array_size(level) && asked < INDEXES_MAX;
             i++, asked++) {
            ocv_auto(document) document = NULL;
            struct ocv_error why = {0};
            int status = upstream_get(from, reference, json_string_value(json_array_get(level, i)),
                                      &document, &why);
            if (status == OCV_OK)
                status = read_members(document, members, deeper, &why);
            if (status < 0 && status != OCV_ERR_NOT_FOUND && status != OCV_ERR_DATA) {
                *err = why;
                return status;
            }
        }
        if (!deeper)
            return ocv_error_nomem(err);
        json_array_clear(level);
        json_array_extend(level, deeper);
    }
    return OCV_OK;
}

/* Every rule has to hold. OCV_ERR_UNTRUSTED: one does not. `*sure` false: what only tells could not
 * be asked. */
static int check_rules(const struct mirror *mirror, const struct source *from,
                       const struct ocv_reference *reference, const char *digest,
                       struct ocv_signature *signature, bool *named, bool *sure,
                       struct ocv_error *err)
{
    struct ocv_trust_rule rules[2];
    size_t n = ocv_config_trust(mirror->settings->config, reference, rules);
    *named = false;
    *sure = true;
    for (size_t i = 0; i < n; i++) {
        struct ocv_error why = {0};
        int status =
            from->client
                ? trust_verify(client_registry(from->client), mirror->settings->config, reference,
                               &rules[i], mirror->settings->trust[rules[i].place], digest, NULL,
                               signature, &why)
                : ocv_error_set(&why, OCV_ERR_UNTRUSTED,
                                "%s is served from a layout, in which no signature is looked for",
                                reference->name);
        if (status < 0 && rules[i].require) {
            *err = why;
            return status;
        }
        *named = *named || (status == OCV_OK && rules[i].match && rules[i].n_keys);
        if (status == OCV_ERR_UNTRUSTED)
            log_line(LOG_LEVEL_WARNING, "%s (served: require is false in %s)", why.message,
                     rules[i].origin);
        else if (status < 0)
            log_line(LOG_LEVEL_WARNING, "%s", why.message);
        *sure = *sure && (status == OCV_OK || status == OCV_ERR_UNTRUSTED);
    }
    return OCV_OK;
}

static void keep_all(const struct mirror *mirror, const struct ocv_trusted *good)
{
    size_t i;
    json_t *member;
    struct ocv_signature signature;
    snprintf(signature.key, sizeof(signature.key), "%s", good->key);
    snprintf(signature.document, sizeof(signature.document), "%s", good->signature);
    json_array_foreach(good->members, i, member)
    {
        if (json_is_string(member))
            keep_good(mirror, good->repository, json_string_value(member), &signature);
    }
    keep_good(mirror, good->repository, good->digest, &signature); /* the last to be forgotten */
}

/* The document is fetched first: what is not there is missing, whoever would have signed it. */
static int check_anew(const struct mirror *mirror, const struct source *from,
                      const struct ocv_reference *reference, const char *digest,
                      struct ocv_signature *signature, struct ocv_error *err)
{
    struct ocv_error why = {0};
    bool named = false, sure = true;
    ocv_auto(document) document = NULL;
    ocv_auto_json *members = json_array();
    if (!members)
        return ocv_error_nomem(err);
    OCV_TRY(upstream_get(from, reference, digest, &document, err));
    int status = check_rules(mirror, from, reference, digest, signature, &named, &sure, &why);
    if (status == OCV_ERR_UNTRUSTED) {
        struct key key;
        struct refusal *item = calloc(1, sizeof(*item));
        if (item) {
            refcounted_init(&item->item, NULL);
            item->until_ms = ocv_clock_ms() + REFUSED_MS;
            item->why = why;
            object_key(client_is_daemon(from->client), reference->name, digest, &key);
            cache_keep(mirror->refused, &key, item, sizeof(*item));
            refcounted_unref(item);
        }
        metrics_add(mirror->metrics, METRIC_UNTRUSTED_TOTAL, 1);
        log_line(LOG_LEVEL_WARNING, "%s; refused%s%s", why.message, *why.hint ? ": " : "",
                 why.hint);
    }
    if (status < 0) {
        if (err)
            *err = why;
        return status;
    }
    if (!sure)
        return OCV_OK; /* this time */
    OCV_TRY(find_members(from, reference, document, members, err));
    const struct ocv_trusted good = {.repository = reference->name,
                                     .digest = digest,
                                     .key = signature->key,
                                     .signature = signature->document,
                                     .named = named,
                                     .members = members};
    keep_all(mirror, &good);
    /* so that a restart needs no registry to know it */
    if (*signature->key && ocv_trusted_write(mirror->settings->records, &good, &why) < 0)
        log_line(LOG_LEVEL_DEBUG, "not recorded: %s", why.message);
    return OCV_OK;
}

/* A record counts while the keys of today include its key, and if it says that the repository was
 * named, where that is asked for. */
static int take_record(void *data, const struct ocv_trusted *record)
{
    const struct mirror *mirror = data;
    struct ocv_trust_rule rules[2];
    ocv_auto(ocv_reference) reference = settings_reference(record->repository);
    size_t n = reference ? ocv_config_trust(mirror->settings->config, reference, rules) : 0;
    bool good = n > 0;
    for (size_t i = 0; i < n; i++)
        good = good &&
               (!rules[i].require || !rules[i].n_keys ||
                ((!rules[i].match || record->named) &&
                 ocv_signature_keys_have(mirror->settings->trust[rules[i].place], record->key)));
    if (good)
        keep_all(mirror, record);
    return OCV_OK;
}

void trust_remember(struct mirror *mirror)
{
    struct ocv_error why = {0};
    int64_t written = ocv_trusted_time(mirror->settings->records);
    if (!mirror->settings->n_trust || !written ||
        atomic_exchange(&mirror->records_time, written) == written)
        return;
    if (ocv_trusted_walk(mirror->settings->records, take_record, mirror, &why) < 0)
        log_line(LOG_LEVEL_WARNING, "%s", why.message);
}

/* Known, or known since others wrote it down: vpull, the CRI proxy. */
static bool recall(struct mirror *mirror, const struct ocv_reference *reference, const char *digest,
                   struct ocv_signature *signature)
{
    struct key key;
    good_key(reference->name, digest, &key);
    for (int again = 0; again < 2; again++) {
        struct good *known = cache_find(mirror->trusted, &key);
        if (known && signature)
            *signature = known->signature;
        refcounted_unref(known);
        if (known)
            return true;
        if (!again)
            trust_remember(mirror);
    }
    return false;
}

int trust_check(struct mirror *mirror, const struct source *from,
                const struct ocv_reference *reference, const char *digest,
                struct ocv_signature *signature, struct ocv_error *err)
{
    struct ocv_trust_rule rules[2];
    struct ocv_signature own = {.key = ""}, *out = signature ? signature : &own;
    if (!ocv_config_trust(mirror->settings->config, reference, rules) ||
        recall(mirror, reference, digest, out))
        return OCV_OK;
    struct key key;
    object_key(client_is_daemon(from->client), reference->name, digest, &key);
    struct refusal *known = cache_find(mirror->refused, &key);
    bool refused = known && known->until_ms > ocv_clock_ms();
    if (refused && err)
        *err = known->why;
    refcounted_unref(known);
    return refused ? OCV_ERR_UNTRUSTED : check_anew(mirror, from, reference, digest, out, err);
}

int trust_check_member(struct mirror *mirror, const struct source *from,
                       const struct ocv_reference *reference, const char *top, const char *digest,
                       struct ocv_error *err)
{
    struct ocv_trust_rule rules[2];
    struct ocv_signature signature = {.key = ""};
    if (!ocv_config_trust(mirror->settings->config, reference, rules))
        return OCV_OK;
    OCV_TRY(trust_check(mirror, from, reference, top, &signature, err));
    if (!strcmp(top, digest) || recall(mirror, reference, digest, NULL))
        return OCV_OK;
    /* its members may have been forgotten: ask again what it names */
    OCV_TRY(check_anew(mirror, from, reference, top, &signature, err));
    return recall(mirror, reference, digest, NULL)
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s@%s is not in %s, which is signed",
                               reference->name, digest, top);
}

int mirror_trusted(struct mirror *m, const struct ocv_reference *reference, const char *digest,
                   bool trusted, struct ocv_error *err)
{
    struct source from;
    struct head head = {0};
    struct ocv_reference tagged = *reference;
    const struct upstream *upstream = settings_upstream(m->settings, reference->host);
    if (!ocv_config_trust_required(m->settings->config, reference) ||
        recall(m, reference, digest, NULL))
        return OCV_OK;
    if (!upstream)
        return ocv_error_set(err, OCV_ERR_UNTRUSTED,
                             "%s: its signature cannot be asked for: the registry is not "
                             "configured here",
                             reference->name);
    tagged.digest = NULL;
    OCV_TRY(source_open(m, upstream, trusted, &from, err));
    /* by the name's own index, where it still has the digest; else by a signature of its own */
    int status = OCV_ERR_UNTRUSTED;
    struct ocv_error ignored = {0};
    if (reference->tag && upstream_head(&from, &tagged, NULL, &head, &ignored) == OCV_OK &&
        *head.descriptor.digest)
        status = trust_check_member(m, &from, reference, head.descriptor.digest, digest, &ignored);
    if (status < 0)
        status = trust_check(m, &from, reference, digest, NULL, err);
    source_close(m, &from, trusted, status == OCV_ERR_UNTRUSTED ? OCV_OK : status);
    return status;
}
