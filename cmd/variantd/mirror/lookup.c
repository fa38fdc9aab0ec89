/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks up a tag for this node: ask upstream for the tag's digest, find or make the choice in that
 * index, and check that the chosen child exists before announcing it. Each step's result is cached
 * under the identity that obtained it. */
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/core/core_internal.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHT_TAG (sizeof(struct tag))
#define WEIGHT_CHOICE (sizeof(struct mirror_choice))

struct lookup_result *lookup_failed(struct lookup *l, const struct ocv_error *err)
{
    l->status = err->status;
    return lookup_result_of_error(l->mirror, l->q->upstream, l->q->identity, l->q->reference, err);
}

void object_key(unsigned identity, const char *name, const char *object, struct key *key)
{
    key_begin(key);
    key_add_number(key, identity);
    key_add(key, name);
    key_add(key, object);
}

static void choice_key(const struct lookup *l, const char *digest, struct key *key)
{
    object_key(l->q->identity, l->q->reference->name, digest, key);
    key_add_number(key, l->snapshot->generation);
    key_add_number(key, settings_on(l->mirror->settings, l->q->reference, "cpu_levels"));
}

int lookup_need_client(struct lookup *l, struct ocv_error *err)
{
    if (l->from.client || l->q->upstream->layout)
        return OCV_OK;
    return client_acquire(l->mirror->clients, l->q->upstream, l->q->identity, PATIENCE_DOCUMENT,
                          FLIGHT_MS, &l->from.client, err);
}

static struct tag *remember_tag(struct lookup *l, const struct head *head)
{
    struct key key;
    struct tag *tag = calloc(1, sizeof(*tag));
    if (!tag)
        return NULL;
    refcounted_init(&tag->item, NULL);
    tag->head = *head;
    tag->head.unchanged = false;
    atomic_init(&tag->validated_ms, ocv_clock_ms());
    object_key(l->q->identity, l->q->reference->name, l->q->reference->tag, &key);
    cache_keep(l->mirror->tags, &key, tag, WEIGHT_TAG);
    return tag;
}

static int find_tag(struct lookup *l, struct tag **out, struct ocv_error *err)
{
    struct key key;
    object_key(l->q->identity, l->q->reference->name, l->q->reference->tag, &key);
    struct tag *known = cache_find(l->mirror->tags, &key);
    int64_t ttl_ms = l->mirror->settings->tag_ttl_ms;
    int status = OCV_OK;
    if (known && ttl_ms > 0 && ocv_clock_ms() - atomic_load(&known->validated_ms) < ttl_ms) {
        *out = refcounted_ref(known); /* recent enough not to ask upstream */
        metrics_raise(l->mirror->metrics, METRICS_UPSTREAM, "remembered", NULL, 1);
    } else {
        struct head head = {0};
        status = lookup_need_client(l, err);
        if (status == OCV_OK) {
            metrics_raise(l->mirror->metrics, METRICS_UPSTREAM, "head", NULL, 1);
            status = upstream_head(&l->from, l->q->reference, known ? known->head.etag : NULL,
                                   &head, err);
        }
        if (status == OCV_OK && head.unchanged && known) {
            atomic_store(&known->validated_ms, ocv_clock_ms());
            *out = refcounted_ref(known);
        } else if (status == OCV_OK && !(*out = remember_tag(l, &head))) {
            status = ocv_error_nomem(err);
        }
        if (status == OCV_ERR_NOT_FOUND || status == OCV_ERR_DENIED)
            cache_forget(l->mirror->tags, &key);
    }
    refcounted_unref(known);
    return status;
}

static struct mirror_choice *known_choice(struct lookup *l, const char *digest)
{
    struct key key;
    if (!*digest)
        return NULL;
    choice_key(l, digest, &key);
    return cache_find(l->mirror->choices, &key);
}

static int find_choice(struct lookup *l, struct tag **tag, struct mirror_choice **out,
                       struct ocv_error *err)
{
    const struct ocv_descriptor *top = *tag ? &(*tag)->head.descriptor : NULL;
    const char *glob, *origin;
    if (choice_denied(l->mirror, l->q->reference, &glob, &origin)) {
        /* The choice does not depend on what the tag holds, which other tags may hold, too: it is
         * kept by the tag. No digest is written like one. */
        struct key key;
        *out = known_choice(l, l->q->reference->tag);
        if (*out)
            return OCV_OK;
        *out = choice_make(l->mirror, &l->from, l->q->reference, NULL, l->snapshot);
        choice_key(l, l->q->reference->tag, &key);
        if (*out)
            cache_keep(l->mirror->choices, &key, *out, WEIGHT_CHOICE);
        return *out ? OCV_OK : ocv_error_nomem(err);
    }
    bool ruled = variants_by_rule(l->mirror, l->q->reference);
    *out = top && !ruled ? known_choice(l, top->digest) : NULL;
    if (*out)
        return OCV_OK;
    if (top && !(*top->digest && ocv_media_type_is_manifest(top->media_type))) {
        /* GET by tag: if upstream has changed since the HEAD, these bytes are still consistent. */
        ocv_auto(document) document = NULL;
        struct key key;
        OCV_TRY(lookup_need_client(l, err));
        metrics_raise(l->mirror->metrics, METRICS_UPSTREAM, "get", NULL, 1);
        OCV_TRY(upstream_get(&l->from, l->q->reference, NULL, &document, err));
        sizes_learn_own(l->mirror, l->q->reference, document->descriptor.digest,
                        document->body.len);
        if (strcmp(document->descriptor.digest, (*tag)->head.descriptor.digest) != 0) {
            struct head head = {.descriptor = document->descriptor};
            refcounted_unref(*tag);
            *tag = remember_tag(l, &head);
        }
        *out = ruled ? NULL : known_choice(l, document->descriptor.digest);
        if (!*out) {
            *out = choice_make(l->mirror, &l->from, l->q->reference, document, l->snapshot);
            choice_key(l, document->descriptor.digest, &key);
            if (*out && !ruled && !(*out)->next)
                cache_keep(l->mirror->choices, &key, *out, WEIGHT_CHOICE);
        }
        return *out && *tag ? OCV_OK : ocv_error_nomem(err);
    }
    if (ruled)
        OCV_TRY(lookup_need_client(l, err));
    *out = choice_make(l->mirror, &l->from, l->q->reference, NULL, l->snapshot);
    return *out ? OCV_OK : ocv_error_nomem(err);
}

/* Is the tag's document signed, and does it name what was chosen? */
static int check_trust(struct lookup *l, const struct tag *tag, const struct mirror_choice *choice,
                       struct ocv_error *err)
{
    struct ocv_trust_rule rules[2];
    const char *top = *choice->parent ? choice->parent : tag ? tag->head.descriptor.digest : "";
    if (!ocv_config_trust(l->mirror->settings->config, l->q->reference, rules))
        return OCV_OK;
    if (!*top)
        return ocv_error_set(err, OCV_ERR_UNTRUSTED,
                             "%s:%s: there is no document that could be signed",
                             l->q->reference->name, l->q->reference->tag);
    OCV_TRY(lookup_need_client(l, err));
    return trust_check_member(l->mirror, &l->from, l->q->reference, top,
                              choice->outcome == OUTCOME_VARIANT ? choice->child.digest : top, err);
}

static struct lookup_result *result_of_choice(struct lookup *l, const struct mirror_choice *choice,
                                              bool body)
{
    struct lookup_result *v;
    switch (choice->outcome) {
    case OUTCOME_VARIANT:
        v = lookup_check_child(l, &choice->child, body);
        if (v && v->outcome == OUTCOME_VARIANT)
            memcpy(v->label, choice->label, sizeof(v->label));
        return v;
    case OUTCOME_ORDINARY:
        v = lookup_result_new(choice->outcome, 404, "MANIFEST_UNKNOWN", MIRROR_ORDINARY);
        break;
    case OUTCOME_NO_FIT:
        v = lookup_result_new(choice->outcome, 404, "MANIFEST_UNKNOWN",
                              *choice->message ? choice->message
                                               : "no variant of it fits this machine");
        if (*choice->message) /* a proxy does not serve what `deny` keeps away, either */
            return v;
        break;
    default:
        metrics_raise(l->mirror->metrics, METRICS_ERRORS, l->q->upstream->name, "data", 1);
        v = lookup_result_new(OUTCOME_UPSTREAM_ERROR, 502, "MANIFEST_INVALID", choice->message);
    }
    if (v)
        v->pass_through = true;
    return v;
}

struct lookup_result *lookup_tag(struct mirror *mirror, const struct lookup_target *question,
                                 const atomic_bool *want_body, struct ocv_record_note **note)
{
    struct lookup look = {.mirror = mirror,
                          .q = question,
                          .from = {.upstream = question->upstream},
                          .snapshot = node_get(mirror->node)},
                  *l = &look;
    struct ocv_error err = {0};
    struct tag *tag = NULL;
    struct mirror_choice *choice = NULL;
    struct lookup_result *v;
    int status = find_tag(l, &tag, &err);
    if (status == OCV_ERR_NOT_FOUND && variants_by_rule(l->mirror, l->q->reference))
        status = OCV_OK; /* only a tag rule knows this tag */
    if (status == OCV_OK)
        status = find_choice(l, &tag, &choice, &err);
    if (choice)
        status = check_trust(l, tag, choice, &err);
    v = choice && status == OCV_OK ? result_of_choice(l, choice, atomic_load(want_body))
                                   : lookup_failed(l, &err);
    if (choice) {
        /* Record a choice only after its child was seen upstream. Otherwise forget it, so that the
         * next request chooses again: the child may exist by then. */
        bool seen = status == OCV_OK &&
                    (choice->outcome != OUTCOME_VARIANT || (v && v->outcome == OUTCOME_VARIANT));
        struct key key;
        struct ocv_record_note *taken = atomic_exchange(&choice->note, NULL);
        if (seen)
            l->note = taken;
        else
            choice_drop_note(taken);
        if (!seen && tag) {
            choice_key(l, tag->head.descriptor.digest, &key);
            cache_forget(l->mirror->choices, &key);
        }
    }
    if (v && tag) {
        /* the tag's own document; its size comes from the bytes where they were read, since a HEAD
         * may be wrong */
        struct bounds size;
        v->validated_ms = atomic_load(&tag->validated_ms);
        v->top = tag->head.descriptor;
        if (!l->q->upstream->layout)
            v->top.size =
                sizes_find(l->mirror, l->q->reference, v->top.digest, &size) && size.checked
                    ? size.most
                    : -1;
    }
    if (v)
        v->generation = l->snapshot->generation;
    refcounted_unref(choice);
    refcounted_unref(tag);
    *note = l->note;
    client_release(l->from.client, l->status);
    node_put(l->snapshot);
    return v;
}
