/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a tag is on this node: ask upstream what it points to, know or find out what that index
 * means here, and see that the chosen child exists before it is announced. Every step that was done
 * before is remembered under the identity that did it. */
#include "clock.h"
#include "mirror_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_TAG (sizeof(struct tag))
#define WEIGHT_CHOICE (sizeof(struct choice))

/* One lookup's tools. */
struct lookup {
    struct mirror *mirror;
    const struct question *q;
    struct client *client; /* taken when first needed; NULL for layouts */
    const struct snapshot *snapshot;
    int status; /* of the failure, if there was one */
};

/* ---- verdicts -----------------------------------------------------------------------------------
 */

static void free_verdict(struct item *item)
{
    struct verdict *verdict = (struct verdict *)item;
    item_put(verdict->document);
    free(verdict);
}

struct verdict *verdict_new(enum outcome outcome, unsigned status, const char *code,
                            const char *message)
{
    struct verdict *v = calloc(1, sizeof(*v));
    if (!v)
        return NULL;
    item_init(&v->item, free_verdict);
    v->outcome = outcome;
    v->status = status;
    v->code = code;
    snprintf(v->message, sizeof(v->message), "%.300s", message ? message : "");
    return v;
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
    default:
        return err->http_status == 429   ? "http_429"
               : err->http_status == 504 ? "timeout"
               : err->http_status >= 500 ? "http_5xx"
               : err->http_status >= 400 ? "http_4xx"
                                         : "network";
    }
}

struct verdict *verdict_of_error(struct mirror *mirror, const struct upstream *upstream,
                                 const struct ocv_error *err)
{
    bool missing = err->status == OCV_ERR_NOT_FOUND, denied = err->status == OCV_ERR_DENIED;
    if (!missing)
        metrics_upstream_error(mirror->metrics, upstream->name, kind_of(err));
    log_line(missing || denied ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING, "%s", err->message);
    if (missing)
        return verdict_new(OUTCOME_MISSING, 404, "MANIFEST_UNKNOWN", "not found upstream");
    if (denied) /* no challenge: nobody shall send us a password */
        return verdict_new(OUTCOME_DENIED, 404, "MANIFEST_UNKNOWN", "not found upstream");
    if (err->http_status == 504 || err->status == OCV_ERR_INTERRUPTED)
        return verdict_new(OUTCOME_TIMEOUT, 504, "UNKNOWN", "no answer from upstream in time");
    return verdict_new(OUTCOME_UPSTREAM, 502, "UNKNOWN", "upstream does not answer properly");
}

static struct verdict *failed(struct lookup *l, const struct ocv_error *err)
{
    l->status = err->status;
    return verdict_of_error(l->mirror, l->q->upstream, err);
}

/* ---- keys ---------------------------------------------------------------------------------------
 */

static void begin_key(const struct lookup *l, struct key *key)
{
    key_begin(key);
    key_add_number(key, l->q->identity);
}

static void tag_key(const struct lookup *l, struct key *key)
{
    begin_key(l, key);
    key_add(key, l->q->reference->name);
    key_add(key, l->q->reference->tag);
}

static void child_key(const struct lookup *l, const char *digest, struct key *key)
{
    begin_key(l, key);
    key_add(key, l->q->reference->name);
    key_add(key, digest);
}

static void choice_key(const struct lookup *l, const char *digest, struct key *key)
{
    begin_key(l, key);
    key_add_number(key, l->snapshot->generation);
    key_add(key, digest);
}

/* ---- what the tag points to ---------------------------------------------------------------------
 */

static int need_client(struct lookup *l, struct ocv_error *err)
{
    if (l->client || l->q->upstream->layout)
        return OCV_OK;
    int status =
        client_take(l->mirror->clients, l->q->identity, PATIENCE_DOCUMENT, &l->client, err);
    if (status == OCV_OK)
        ocv_registry_deadline(client_registry(l->client), FLIGHT_MS);
    return status;
}

static void free_tag(struct item *item)
{
    free(item);
}

static struct tag *remember_tag(struct lookup *l, const struct head *head)
{
    struct key key;
    struct tag *tag = calloc(1, sizeof(*tag));
    if (!tag)
        return NULL;
    item_init(&tag->item, free_tag);
    tag->head = *head;
    tag->head.unchanged = false;
    atomic_init(&tag->validated_ms, clock_ms());
    tag_key(l, &key);
    memory_keep(l->mirror->tags, &key, tag, WEIGHT_TAG);
    return tag;
}

/* Known well enough not to ask? */
static bool fresh(const struct mirror *mirror, struct tag *tag)
{
    return tag && mirror->settings->tag_ttl_ms > 0 &&
           clock_ms() - atomic_load(&tag->validated_ms) < mirror->settings->tag_ttl_ms;
}

/* A tag whose head has no digest counts as unknown: its bytes will tell. */
static int ask_head(struct lookup *l, struct tag *known, struct tag **out, struct ocv_error *err)
{
    struct head head = {0};
    int status = need_client(l, err);
    if (status < 0)
        return status;
    metrics_upstream(l->mirror->metrics, "head");
    status = upstream_head(l->q->upstream, l->client, l->q->reference,
                           known ? known->head.etag : NULL, &head, err);
    if (status < 0 && status != OCV_ERR_UNSUPPORTED)
        return status;
    if (status == OCV_OK && head.unchanged && known) {
        atomic_store(&known->validated_ms, clock_ms());
        *out = item_get(known);
        return OCV_OK;
    }
    if (status == OCV_ERR_UNSUPPORTED)
        head = (struct head){0};
    *out = remember_tag(l, &head);
    return *out ? OCV_OK : ocv_error_nomem(err);
}

static int find_tag(struct lookup *l, struct tag **out, struct ocv_error *err)
{
    struct key key;
    tag_key(l, &key);
    struct tag *known = memory_find(l->mirror->tags, &key);
    int status = OCV_OK;
    if (fresh(l->mirror, known)) {
        *out = item_get(known);
        metrics_upstream(l->mirror->metrics, "remembered");
    } else {
        status = ask_head(l, known, out, err);
        if (status == OCV_ERR_NOT_FOUND || status == OCV_ERR_DENIED)
            memory_forget(l->mirror->tags, &key);
    }
    item_put(known);
    return status;
}

/* ---- what it means here -------------------------------------------------------------------------
 */

static struct choice *known_choice(struct lookup *l, const char *digest)
{
    struct key key;
    if (!*digest)
        return NULL;
    choice_key(l, digest, &key);
    return memory_find(l->mirror->choices, &key);
}

/* GET by tag: should upstream have been changed since the HEAD, these bytes are one chain. */
static int fetch_choice(struct lookup *l, struct tag **tag, struct choice **out,
                        struct ocv_error *err)
{
    struct document *document = NULL;
    struct key key;
    int status = need_client(l, err);
    if (status < 0)
        return status;
    metrics_upstream(l->mirror->metrics, "get");
    status = upstream_get(l->q->upstream, l->client, l->q->reference, NULL, &document, err);
    if (status < 0)
        return status;
    if (strcmp(document->descriptor.digest, (*tag)->head.descriptor.digest) != 0) {
        struct head head = {.descriptor = document->descriptor};
        item_put(*tag);
        *tag = remember_tag(l, &head);
    }
    *out = known_choice(l, document->descriptor.digest);
    if (!*out) {
        *out = choice_make(l->mirror, l->q->reference, document, l->snapshot);
        choice_key(l, document->descriptor.digest, &key);
        if (*out)
            memory_keep(l->mirror->choices, &key, *out, WEIGHT_CHOICE);
    }
    item_put(document);
    return *out && *tag ? OCV_OK : ocv_error_nomem(err);
}

static int find_choice(struct lookup *l, struct tag **tag, struct choice **out,
                       struct ocv_error *err)
{
    const struct ocv_descriptor *top = &(*tag)->head.descriptor;
    *out = known_choice(l, top->digest);
    if (*out)
        return OCV_OK;
    if (*top->digest && media_type_is_manifest(top->media_type) &&
        !variants_of_images(l->mirror, l->q->reference)) {
        *out = choice_make(l->mirror, l->q->reference, NULL, l->snapshot);
        return *out ? OCV_OK : ocv_error_nomem(err);
    }
    return fetch_choice(l, tag, out, err);
}

/* ---- the child ----------------------------------------------------------------------------------
 */

static void free_child(struct item *item)
{
    struct child *child = (struct child *)item;
    item_put(child->document);
    free(child);
}

static struct child *remember_child(struct lookup *l, const struct ocv_descriptor *descriptor,
                                    struct document *document)
{
    struct key key;
    struct child *child = calloc(1, sizeof(*child));
    if (!child)
        return NULL;
    item_init(&child->item, free_child);
    child->descriptor = *descriptor;
    child->seen_ms = clock_ms();
    child->document = item_get(document);
    child_key(l, descriptor->digest, &key);
    memory_keep(l->mirror->children, &key, child,
                sizeof(*child) + (document ? document->body.len : 0));
    return child;
}

static struct child *known_child(struct lookup *l, const char *digest, bool body)
{
    struct key key;
    child_key(l, digest, &key);
    struct child *child = memory_find(l->mirror->children, &key);
    if (child && clock_ms() - child->seen_ms < CHILD_KNOWN_MS && (child->document || !body))
        return child;
    item_put(child);
    return NULL;
}

/* The reference with the child's digest in place of its tag; borrows. */
static struct ocv_reference by_digest(const struct ocv_reference *reference, char *digest)
{
    struct ocv_reference out = *reference;
    out.tag = NULL;
    out.digest = digest;
    return out;
}

static int ask_child(struct lookup *l, const struct ocv_descriptor *wanted, bool body,
                     struct child **out, struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    struct head head = {0};
    struct document *document = NULL;
    memcpy(digest, wanted->digest, sizeof(digest));
    struct ocv_reference reference = by_digest(l->q->reference, digest);
    int status = need_client(l, err);
    if (status == OCV_OK && !body) {
        metrics_upstream(l->mirror->metrics, "head");
        status = upstream_head(l->q->upstream, l->client, &reference, NULL, &head, err);
        /* a head that does not tell all, or none, or a file server's type: the bytes will */
        body = status == OCV_ERR_UNSUPPORTED ||
               (status == OCV_OK && (strcmp(head.descriptor.media_type, wanted->media_type) != 0 ||
                                     head.descriptor.size < 0));
        status = body ? OCV_OK : status;
    }
    if (status == OCV_OK && body) {
        metrics_upstream(l->mirror->metrics, "get");
        status = upstream_get(l->q->upstream, l->client, &reference, digest, &document, err);
        if (status == OCV_OK)
            head.descriptor = document->descriptor;
    }
    if (status == OCV_OK && *head.descriptor.digest && strcmp(head.descriptor.digest, digest) != 0)
        status = ocv_error_set(err, OCV_ERR_MISMATCH, "%s@%s: upstream answers with %s",
                               reference.name, digest, head.descriptor.digest);
    if (status == OCV_OK) {
        memcpy(head.descriptor.digest, digest, sizeof(digest));
        *out = remember_child(l, &head.descriptor, document);
        status = *out ? OCV_OK : ocv_error_nomem(err);
    }
    item_put(document);
    return status;
}

static struct verdict *missing_child(struct lookup *l, const struct ocv_descriptor *wanted,
                                     const char *why)
{
    metrics_upstream_error(l->mirror->metrics, l->q->upstream->name, "child");
    log_line(LOG_LEVEL_WARNING, "%s@%s, chosen for %s, %s", l->q->reference->name, wanted->digest,
             l->q->reference->tag, why);
    struct verdict *v = verdict_new(OUTCOME_MISSING, 404, "MANIFEST_UNKNOWN",
                                    "the chosen variant is not there as its index says");
    if (v)
        v->pass_on = true;
    return v;
}

/* The chosen child, seen to be there, or why not. */
static struct verdict *check_child(struct lookup *l, const struct ocv_descriptor *wanted, bool body)
{
    struct ocv_error err = {0};
    struct child *child = known_child(l, wanted->digest, body);
    int status = child ? OCV_OK : ask_child(l, wanted, body, &child, &err);
    if (status == OCV_ERR_NOT_FOUND)
        return missing_child(l, wanted, "is not there");
    if (status == OCV_ERR_MISMATCH) {
        l->status = status;
        return missing_child(l, wanted, "has other bytes");
    }
    if (status < 0)
        return failed(l, &err);
    struct verdict *v = NULL;
    if (child->descriptor.size != wanted->size)
        v = missing_child(l, wanted, "has another size");
    else if (strcmp(child->descriptor.media_type, wanted->media_type) != 0)
        v = missing_child(l, wanted, "has another type");
    else if ((v = verdict_new(OUTCOME_VARIANT, 200, NULL, NULL))) {
        v->child = *wanted;
        v->document = item_get(child->document);
    }
    item_put(child);
    return v;
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static struct verdict *judge(struct lookup *l, const struct choice *choice, bool body)
{
    struct verdict *v;
    switch (choice->outcome) {
    case OUTCOME_VARIANT:
        v = check_child(l, &choice->child, body);
        if (v && v->outcome == OUTCOME_VARIANT)
            memcpy(v->label, choice->label, sizeof(v->label));
        return v;
    case OUTCOME_ORDINARY:
        v = verdict_new(choice->outcome, 404, "MANIFEST_UNKNOWN", "an image without variants");
        break;
    case OUTCOME_NO_FIT:
        v = verdict_new(choice->outcome, 404, "MANIFEST_UNKNOWN",
                        "no variant of it fits this machine");
        break;
    default:
        metrics_upstream_error(l->mirror->metrics, l->q->upstream->name, "data");
        v = verdict_new(OUTCOME_UPSTREAM, 502, "MANIFEST_INVALID", choice->message);
    }
    if (v)
        v->pass_on = true;
    return v;
}

static struct verdict *look_up(struct lookup *l, const atomic_bool *want_body)
{
    struct ocv_error err = {0};
    struct tag *tag = NULL;
    struct choice *choice = NULL;
    struct verdict *v;
    int status = find_tag(l, &tag, &err);
    if (status == OCV_OK)
        status = find_choice(l, &tag, &choice, &err);
    v = status < 0 ? failed(l, &err) : judge(l, choice, atomic_load(want_body));
    if (v && tag) {
        v->validated_ms = atomic_load(&tag->validated_ms);
        v->top = tag->head.descriptor;
    }
    if (v)
        v->generation = l->snapshot->generation;
    item_put(choice);
    item_put(tag);
    return v;
}

struct verdict *lookup_tag(struct mirror *mirror, const struct question *question,
                           const atomic_bool *want_body)
{
    struct lookup l = {.mirror = mirror, .q = question, .snapshot = node_get(mirror->node)};
    struct verdict *v = look_up(&l, want_body);
    client_give(l.client, l.status);
    node_put(l.snapshot);
    return v;
}

struct verdict *lookup_child(struct mirror *mirror, const struct question *question)
{
    struct lookup l = {.mirror = mirror, .q = question};
    struct verdict *v = check_child(&l, &question->child, true);
    client_give(l.client, l.status);
    return v;
}
