/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A child is announced only after upstream has shown that it exists, with the type and size in the
 * index: containerd does not fall back after a wrong announcement. */
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

static void free_child(struct refcounted *item)
{
    struct seen_child *child = (struct seen_child *)item;
    refcounted_unref(child->document);
    free(child);
}

static int ask_child(struct lookup *l, const struct ocv_descriptor *wanted, bool body,
                     struct seen_child **out, struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    struct head head = {0};
    ocv_auto(document) document = NULL;
    struct ocv_reference reference = *l->q->reference;
    memcpy(digest, wanted->digest, sizeof(digest));
    reference.tag = NULL;
    reference.digest = digest; /* borrowed for this call */
    OCV_TRY(lookup_need_client(l, err));
    if (!body) {
        metrics_raise(l->mirror->metrics, METRICS_UPSTREAM, "head", NULL, 1);
        OCV_TRY(upstream_head(&l->from, &reference, NULL, &head, err));
        /* a HEAD that says something else, or nothing: the bytes tell */
        const struct ocv_descriptor *said = &head.descriptor;
        body = strcmp(said->media_type, wanted->media_type) != 0 || said->size != wanted->size ||
               (*said->digest && strcmp(said->digest, digest) != 0);
    }
    if (body) {
        metrics_raise(l->mirror->metrics, METRICS_UPSTREAM, "get", NULL, 1);
        OCV_TRY(upstream_get(&l->from, &reference, digest, &document, err));
        head.descriptor = document->descriptor;
        sizes_learn(l->mirror, &reference, head.descriptor.media_type, &document->body);
        sizes_learn_own(l->mirror, &reference, head.descriptor.digest, document->body.len);
    }
    if (*head.descriptor.digest && strcmp(head.descriptor.digest, digest) != 0)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "%s@%s: upstream answers with %s",
                             reference.name, digest, head.descriptor.digest);

    struct key key;
    struct seen_child *child = calloc(1, sizeof(*child));
    if (!child)
        return ocv_error_nomem(err);
    refcounted_init(&child->item, free_child);
    child->descriptor = head.descriptor;
    memcpy(child->descriptor.digest, digest, sizeof(digest));
    child->seen_ms = ocv_clock_ms();
    child->document = refcounted_ref(document);
    object_key(l->q->identity, l->q->reference->name, digest, &key);
    cache_keep(l->mirror->children, &key, child,
               sizeof(*child) + (document ? document->body.len : 0));
    *out = child;
    return OCV_OK;
}

static struct lookup_result *missing_child(struct lookup *l, const struct ocv_descriptor *wanted,
                                           const char *why)
{
    metrics_raise(l->mirror->metrics, METRICS_ERRORS, l->q->upstream->name, "child", 1);
    log_line(LOG_LEVEL_WARNING, "%s@%s, chosen for %s, %s", l->q->reference->name, wanted->digest,
             l->q->reference->tag, why);
    struct lookup_result *v =
        lookup_result_new(OUTCOME_MISSING, 404, "MANIFEST_UNKNOWN",
                          "the chosen variant does not match its index, or is missing");
    if (v)
        v->pass_through = true;
    return v;
}

/* The chosen child if upstream has it, else the reason why not. */
struct lookup_result *lookup_check_child(struct lookup *l, const struct ocv_descriptor *wanted,
                                         bool body)
{
    struct ocv_error err = {0};
    struct key key;
    object_key(l->q->identity, l->q->reference->name, wanted->digest, &key);
    struct seen_child *child = cache_find(l->mirror->children, &key);
    if (child &&
        (ocv_clock_ms() - child->seen_ms >= CHILD_KNOWN_MS || (body && !child->document))) {
        refcounted_unref(child);
        child = NULL;
    }
    int status = child ? OCV_OK : ask_child(l, wanted, body, &child, &err);
    if (status == OCV_ERR_NOT_FOUND)
        return missing_child(l, wanted, "is not there");
    if (status == OCV_ERR_MISMATCH) {
        l->status = status;
        return missing_child(l, wanted, "has other bytes");
    }
    if (status < 0)
        return lookup_failed(l, &err);
    struct lookup_result *v = NULL;
    if (child->descriptor.size != wanted->size)
        v = missing_child(l, wanted, "has another size");
    else if (strcmp(child->descriptor.media_type, wanted->media_type) != 0)
        v = missing_child(l, wanted, "has another type");
    else if ((v = lookup_result_new(OUTCOME_VARIANT, 200, NULL, NULL))) {
        v->child = *wanted;
        v->document = refcounted_ref(child->document);
    }
    refcounted_unref(child);
    return v;
}

struct lookup_result *lookup_child(struct mirror *mirror, const struct lookup_target *question)
{
    struct lookup l = {.mirror = mirror, .q = question, .from = {.upstream = question->upstream}};
    struct lookup_result *v = lookup_check_child(&l, &question->child, true);
    client_release(l.from.client, l.status);
    return v;
}
