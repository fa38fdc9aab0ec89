/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the document at a name to this node's choice. */
#include "cmd/common/image/image.h"
#include "cmd/common/image/nested_index.h"
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES_MAX (64u * 1024) /* of a configuration that is read for its platform */

#define NOTE_MAX 4096u

struct nested_upstream {
    const struct source *from;
    const struct ocv_reference *reference;
};

static int get_nested(void *data, const struct ocv_descriptor *nested, struct ocv_buffer *body,
                      struct ocv_error *err)
{
    const struct nested_upstream *n = data;
    ocv_auto(document) document = NULL;
    if (nested->size > (int64_t)BUDGET_READ_FREE)
        return OCV_ERR_NOT_FOUND; /* larger ones are parsed one at a time, and this asks others */
    OCV_TRY(upstream_get(n->from, n->reference, nested->digest, &document, err));
    if (document->body.len > BUDGET_READ_FREE)
        return OCV_ERR_NOT_FOUND;
    return ocv_buffer_append(body, document->body.data, document->body.len, err);
}

static int get_config(void *data, const struct ocv_descriptor *image, struct ocv_buffer *config,
                      struct ocv_error *err)
{
    const struct nested_upstream *n = data;
    ocv_auto(ocv_manifest) manifest = NULL;
    ocv_auto(ocv_layout) layout = NULL;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    config->max = CONFIG_BYTES_MAX;
    OCV_TRY(get_nested(data, image, &body, err));
    OCV_TRY(ocv_manifest_parse(body.data, body.len, image->media_type, &manifest, err));
    if (!n->from->client)
        OCV_TRY(ocv_layout_open(n->from->upstream->layout, OCV_LAYOUT_READ, &layout, err));
    const struct ocv_descriptor *blob = ocv_manifest_config(manifest);
    return layout ? ocv_layout_read_blob(layout, blob->digest, config, err)
                  : ocv_registry_get_blob(client_registry(n->from->client), n->reference, blob,
                                          config, err);
}

static int flatten_with(const struct nested_source *source, const struct ocv_reference *reference,
                        struct ocv_index **index, struct ocv_error *err)
{
    struct ocv_index *flat = NULL;
    const char *const *warnings;
    if (!nested_index_is(*index, source->lone))
        return OCV_OK;
    OCV_TRY(nested_index_flatten(*index, source, &flat, err));
    size_t known = ocv_index_warnings(*index, &warnings);
    for (size_t i = known, n = ocv_index_warnings(flat, &warnings); i < n; i++)
        log_line(LOG_LEVEL_WARNING, "%s: %s", reference->name, warnings[i]);
    ocv_index_free(*index);
    *index = flat;
    return OCV_OK;
}

int index_walk(const struct source *from, const struct ocv_reference *reference,
               const struct document *document, bool all, struct ocv_index **index,
               struct ocv_error *err)
{
    enum ocv_document_kind kind;
    const struct ocv_buffer *body = &document->body;
    const char *type = *document->descriptor.media_type ? document->descriptor.media_type : NULL;
    OCV_TRY(ocv_document_kind(body->data, body->len, type, &kind, err));
    if (kind != OCV_DOCUMENT_INDEX)
        return OCV_OK;
    OCV_TRY(ocv_index_parse(body->data, body->len, type, index, err));
    if (body->len > BUDGET_READ_FREE)
        return OCV_OK; /* the rest may ask the registry */

    /* Indexes first: variants may stand in them. Platforms are read only where variants are chosen
     * from, or `all`: other indexes are the engine's. Where a nested index is not there, or too
     * large to be read beside others, it stays an entry. */
    struct nested_upstream data = {from, reference};
    const struct nested_source indexes = {.data = &data, .get = get_nested};
    bool nested = nested_index_is(*index, false);
    OCV_TRY(flatten_with(&indexes, reference, index, err));
    bool variants = ocv_index_has_variants(*index);
    const struct nested_source platforms = {
        .data = &data, .config = get_config, .lone = variants || nested};
    return (variants || all) ? flatten_with(&platforms, reference, index, err) : OCV_OK;
}

/* The document if it is an index with annotations; with `host`, also if it has entries for several
 * CPU levels of that host. */
static int find_in(const struct source *from, const struct ocv_reference *reference,
                   const struct document *document, const struct ocv_platform *host,
                   struct ocv_index **index, struct ocv_error *err)
{
    ocv_auto(ocv_index) found = NULL;
    OCV_TRY(index_walk(from, reference, document, false, &found, err));
    if (found && (host ? ocv_index_has_levels(found, host) : ocv_index_has_variants(found)))
        *index = ocv_steal(&found);
    return OCV_OK;
}

int variants_find(const struct mirror *mirror, const struct source *from,
                  const struct ocv_reference *reference, const struct document *document,
                  struct ocv_index **index, char parent[OCV_DIGEST_MAX], struct ocv_error *err)
{
    *index = NULL;
    if (parent)
        *parent = '\0';
    /* (1) Annotations in the index itself. */
    int status = document ? find_in(from, reference, document, NULL, index, err) : OCV_OK;
    /* (2) Rules for tags. */
    if (status == OCV_OK && !*index && variants_by_rule(mirror, reference)) {
        size_t len = document ? document->body.len : 0;
        budget_read_end(len);
        status = rules_find(mirror, from, reference, index, parent, err);
        budget_read_begin(len);
    }
    return status;
}

/* What the configuration never takes: for the log, and for a client that gets nothing. Once for
 * each choice, not for each pull. */
static void tell_denied(struct mirror_choice *choice, const struct ocv_reference *reference,
                        const char *what, const char *glob, const char *origin)
{
    snprintf(choice->message, sizeof(choice->message),
             "%.63s is never taken here: deny has '%s' (%s)", what, glob, origin);
    ocv_text_clean(choice->message); /* it may have been cut within a character */
    log_line(LOG_LEVEL_INFO, "%s:%s: %s", reference->name, reference->tag, choice->message);
}

/* The entry; or where the registry lacks it and may (`sparse: next`), the next best that is there.
 */
static const struct ocv_entry *find_present(const struct mirror *mirror, const struct source *from,
                                            const struct ocv_reference *reference,
                                            const struct ocv_index *index,
                                            const struct ocv_decision *decision, size_t len,
                                            struct mirror_choice *choice)
{
    const struct ocv_entry *best = ocv_decision_selected(decision), *entry = best;
    size_t n = ocv_decision_order_count(decision), i = 0;
    char name[80], other[80];
    if (!entry || !from->client || !ocv_config_takes_next(mirror->settings->config, reference))
        return entry;
    while (i < n && ocv_decision_order(decision, i) != best)
        i++;
    budget_read_end(len);
    for (; entry; entry = ++i < n ? ocv_decision_order(decision, i) : NULL) {
        struct ocv_reference child = *reference;
        struct head head = {0};
        struct ocv_error why = {0};
        child.tag = NULL;
        child.digest = (char *)(uintptr_t)entry->digest; /* borrowed for this call */
        metrics_raise(mirror->metrics, METRICS_UPSTREAM, "head", NULL, 1);
        if (upstream_head(from, &child, NULL, &head, &why) != OCV_ERR_NOT_FOUND)
            break;
    }
    budget_read_begin(len);
    if (!entry || entry == best)
        return best;
    choice->next = true;
    metrics_add(mirror->metrics, METRIC_SPARSE_NEXT_TOTAL, 1);
    log_line(LOG_LEVEL_WARNING,
             "%s:%s: %s fits best and is not mirrored there; %s is the next best", reference->name,
             reference->tag, explain_name(index, best, name, sizeof(name)),
             explain_name(index, entry, other, sizeof(other)));
    return entry;
}

static int decide_entry(struct mirror_choice *choice, const struct mirror *mirror,
                        const struct source *from, const struct ocv_reference *reference,
                        const struct ocv_index *index, const struct snapshot *snapshot, size_t len,
                        struct ocv_error *err)
{
    struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences_for(mirror->settings->config, reference)};
    ocv_auto(ocv_decision) decision = NULL;
    OCV_TRY(ocv_resolve(index, snapshot->profile, &options, &decision, err));
    const struct ocv_entry *entry =
        find_present(mirror, from, reference, index, decision, len, choice);
    uint64_t n = 0;
    for (size_t i = 0; i < ocv_decision_rejected_count(decision); i++) {
        struct ocv_rejection r = ocv_decision_rejected(decision, i);
        if (r.code == OCV_REJECT_DENIED && n++ == 0)
            tell_denied(choice, reference, r.entry->label ? r.entry->label : "the default",
                        r.required, r.origin);
    }
    metrics_add(mirror->metrics, METRIC_DENY_TOTAL, n);
    /* only served choices are on the node, so only they are recorded */
    const struct ocv_config *own = ocv_config_for_reference(mirror->settings->config, reference);
    if (ocv_index_has_variants(index) && ocv_config_choose(own) == OCV_CHOOSE_ON)
        choice_note(choice, mirror, from, reference, index, entry);
    if (!entry) {
        choice->outcome = OUTCOME_NO_FIT;
        return OCV_OK;
    }
    choice->outcome = OUTCOME_VARIANT;
    choice->child.size = entry->size;
    snprintf(choice->child.media_type, sizeof(choice->child.media_type), "%s", entry->media_type);
    snprintf(choice->child.digest, sizeof(choice->child.digest), "%s", entry->digest);
    if (ocv_index_has_variants(index))
        snprintf(choice->label, sizeof(choice->label), "%s", entry->label ? entry->label : "");
    else
        ocv_platform_format(&entry->platform, choice->label, sizeof(choice->label));

    /* logged once per choice, not per pull */
    ocv_auto_buffer text;
    ocv_buffer_init(&text, NOTE_MAX);
    OCV_TRY(ocv_decision_note(decision, entry, &text, err));
    if (text.len)
        log_line(LOG_LEVEL_INFO, "%s:%s (%s) %s", reference->name, reference->tag, entry->label,
                 text.data);
    return OCV_OK;
}

static void free_choice(struct refcounted *item)
{
    choice_drop_note(((struct mirror_choice *)item)->note);
    free(item);
}

bool choice_denied(const struct mirror *mirror, const struct ocv_reference *reference,
                   const char **glob, const char **origin)
{
    const struct ocv_preferences own =
        ocv_config_preferences_for(mirror->settings->config, reference);
    return ocv_preferences_deny(&own, NULL, NULL, glob, origin);
}

struct mirror_choice *choice_make(const struct mirror *mirror, const struct source *from,
                                  const struct ocv_reference *reference,
                                  const struct document *document, const struct snapshot *snapshot)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_index) index = NULL;
    struct mirror_choice *choice = calloc(1, sizeof(*choice));
    const char *glob, *origin;
    if (!choice)
        return NULL;
    refcounted_init(&choice->item, free_choice);
    choice->outcome = OUTCOME_ORDINARY;
    if (choice_denied(mirror, reference, &glob, &origin)) {
        choice->outcome = OUTCOME_NO_FIT;
        tell_denied(choice, reference, "the tag", glob, origin);
        metrics_add(mirror->metrics, METRIC_DENY_TOTAL, 1);
        return choice;
    }
    size_t len = document ? document->body.len : 0;
    budget_read_begin(len);
    int status = variants_find(mirror, from, reference, document, &index, choice->parent, &err);
    /* (3) No variants, but perhaps entries for CPU levels. */
    const struct ocv_platform host = ocv_profile_platform(snapshot->profile);
    if (status == OCV_OK && !index && document &&
        settings_on(mirror->settings, reference, "cpu_levels"))
        status = find_in(from, reference, document, &host, &index, &err);
    if (status == OCV_OK && index)
        status = decide_entry(choice, mirror, from, reference, index, snapshot, len, &err);
    ocv_index_free(index);
    index = NULL;
    budget_read_end(len);
    if (status == OCV_ERR_NOMEM) {
        refcounted_unref(choice);
        return NULL;
    }
    if (status < 0) {
        choice->outcome = OUTCOME_UPSTREAM_ERROR;
        snprintf(choice->message, sizeof(choice->message), "%.250s", err.message);
        ocv_text_clean(choice->message); /* it may have been cut within a character */
        log_line(LOG_LEVEL_WARNING, "%s: %s", reference->name, err.message);
    }
    return choice;
}

/* Registries that deny access. The client gets 404 and pulls the image without a choice; only the
 * log shows why. */

#define AGAIN_MS (3600 * 1000)

void denied_remember(struct mirror *m, const struct upstream *upstream, enum identity identity,
                     const struct ocv_reference *reference, const struct ocv_error *err)
{
    int64_t now = ocv_clock_ms();
    size_t i = (size_t)(upstream - m->settings->upstreams);
    struct denied *d = &m->denied[2 * i + (identity == IDENTITY_DAEMON)];
    pthread_mutex_lock(&m->lock);
    bool tell = !d->told_ms || now - d->told_ms > AGAIN_MS;
    d->n++;
    if (tell) {
        d->told_ms = now;
        snprintf(d->name, sizeof(d->name), "%.250s", reference->name);
    }
    pthread_mutex_unlock(&m->lock);
    bool has_login = m->private[i];
    if (!tell)
        log_line(LOG_LEVEL_DEBUG, "%s", err->message);
    else if (identity == IDENTITY_DAEMON)
        log_line(LOG_LEVEL_WARNING, "%s; its variants are not served: %s", err->message, err->hint);
    else if (has_login)
        log_line(
            LOG_LEVEL_WARNING,
            "%s; podman, CRI-O and Docker's own store ask in a way that only `serve_private: "
            "true` answers with what needs a login (docs/configuration.md, Private registries)",
            err->message);
    else
        log_line(LOG_LEVEL_WARNING,
                 "%s; if it is private, its variants are served where `credentials` names a login "
                 "for %s (docs/configuration.md, Private registries)",
                 err->message, upstream->name);
}
