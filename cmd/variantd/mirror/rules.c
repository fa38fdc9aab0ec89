/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tag rules, the second source of variants. The tags that a name stands for are read under the
 * identity of the look-up. */
#include "cmd/common/image/image.h"

#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/mirror/mirror_internal.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/internal/content/image_config.h"

#include <stdlib.h>
#include <string.h>

#define ESSENCE_MAX (64u * 1024) /* kept of a configuration; a larger one counts as empty */

/* Source of a choice among tags. */
struct tag_question {
    const struct mirror *mirror;
    const struct source *from;
    const struct ocv_reference *reference;
    size_t read;   /* configurations read from this registry */
    size_t paid;   /* bytes of the memory budget */
    bool unlisted; /* its tags are too many, or are no list */
};

/* What is kept of an image's configuration. */
struct config {
    struct refcounted item;
    struct ocv_buffer essence;
};

static int list_tags(void *data, int (*visit)(void *visit_data, const char *tag), void *visit_data,
                     struct ocv_error *err)
{
    struct tag_question *a = data;
    int status =
        ocv_registry_tags(client_registry(a->from->client), a->reference, visit, visit_data, err);
    a->unlisted = status == OCV_ERR_DATA;
    return status;
}

static int get_manifest(void *data, const char *digest, struct ocv_buffer *body,
                        struct ocv_descriptor *out, struct ocv_error *err)
{
    const struct tag_question *a = data;
    ocv_auto(document) document = NULL;
    OCV_TRY(upstream_get(a->from, a->reference, digest, &document, err));
    *out = document->descriptor;
    return ocv_buffer_append(body, document->body.data, document->body.len, err);
}

/* A registry without digests in its answers is asked for the bytes. */
static int head_tag(void *data, const char *tag, struct ocv_descriptor *out, struct ocv_error *err)
{
    const struct tag_question *a = data;
    struct ocv_reference tagged = *a->reference;
    struct head seen = {0};
    ocv_auto(document) document = NULL;
    tagged.tag = (char *)(uintptr_t)tag; /* borrowed for this call */
    tagged.digest = NULL;
    int status = upstream_head(a->from, &tagged, NULL, &seen, err);
    *out = seen.descriptor;
    if (status < 0 || *seen.descriptor.digest)
        return status;
    OCV_TRY(upstream_get(a->from, &tagged, NULL, &document, err));
    *out = document->descriptor;
    return OCV_OK;
}

static int get_blob(void *data, const struct ocv_descriptor *wanted, struct ocv_buffer *body,
                    struct ocv_error *err)
{
    struct tag_question *a = data;
    ocv_auto_buffer config;
    ocv_buffer_init(&config, body->max);
    metrics_raise(a->mirror->metrics, METRICS_UPSTREAM, "config", NULL, 1);
    a->read++;
    int status =
        ocv_registry_get_blob(client_registry(a->from->client), a->reference, wanted, &config, err);
    body->max = ESSENCE_MAX;
    if (status < 0)
        return status;

    /* configurations are parsed one at a time with other documents; only a small part is kept */
    ocv_auto(ocv_image_config) parsed = NULL;
    budget_read_begin(config.len);
    status = ocv_image_config_parse(config.data ? config.data : "", config.len, &parsed, err);
    if (status == OCV_OK)
        status = ocv_image_config_essence(parsed, body, err);
    ocv_image_config_free(parsed);
    parsed = NULL;
    budget_read_end(config.len);
    return status;
}

static bool recall_config(void *data, const char *digest, struct ocv_buffer *essence)
{
    const struct tag_question *a = data;
    struct key key;
    /* The key has the identity: details of a private image are only for clients that may read it.
     */
    object_key(client_is_daemon(a->from->client), a->reference->name, digest, &key);
    struct config *known = cache_find(a->mirror->configs, &key);
    bool there = known && ocv_buffer_append(essence, known->essence.data, known->essence.len,
                                            NULL) == OCV_OK;
    refcounted_unref(known);
    return there;
}

static void free_config(struct refcounted *item)
{
    ocv_buffer_free(&((struct config *)item)->essence);
    free(item);
}

static void keep_config(void *data, const char *digest, const struct ocv_buffer *essence)
{
    const struct tag_question *a = data;
    struct key key;
    struct config *config = calloc(1, sizeof(*config));
    if (!config)
        return;
    refcounted_init(&config->item, free_config);
    ocv_buffer_init(&config->essence, ESSENCE_MAX);
    object_key(client_is_daemon(a->from->client), a->reference->name, digest, &key);
    if (ocv_buffer_append(&config->essence, essence->data, essence->len, NULL) == OCV_OK)
        cache_keep(a->mirror->configs, &key, config, sizeof(*config) + essence->len);
    refcounted_unref(config);
}

const struct ocv_tag_rules *mirror_tag_rules(const struct mirror *mirror)
{
    return mirror->rules;
}

bool variants_by_rule(const struct mirror *mirror, const struct ocv_reference *reference)
{
    ocv_auto(ocv_tag) tag = NULL;
    return mirror->rules && settings_on(mirror->settings, reference, "tag_rules") &&
           reference->tag && !reference->digest &&
           ocv_tag_parse(mirror->rules, reference, NULL, &tag, NULL) == OCV_OK &&
           ocv_tag_names_group(tag);
}

static void parse(void *data, bool begin)
{
    (void)data;
    if (begin)
        budget_read_begin(SIZE_MAX);
    else
        budget_read_end(SIZE_MAX);
}

/* Of what a choice keeps while it asks the registry. */
static int pay(void *data, size_t bytes, struct ocv_error *err)
{
    struct tag_question *a = data;
    int status = client_pay(a->from->client, bytes, err);
    a->paid += status == OCV_OK ? bytes : 0;
    return status;
}

int rules_find(const struct mirror *mirror, const struct source *from,
               const struct ocv_reference *reference, struct ocv_index **index,
               char parent[OCV_DIGEST_MAX], struct ocv_error *err)
{
    struct tag_question asked = {.mirror = mirror, .from = from, .reference = reference};
    struct ocv_tag_source source = {.data = &asked,
                                    .tags = list_tags,
                                    .head = head_tag,
                                    .get = get_manifest,
                                    .blob = get_blob,
                                    .recall = recall_config,
                                    .keep = keep_config,
                                    .parse = parse,
                                    .pay = pay};
    struct ocv_tag_choice *choice = NULL;
    struct ocv_error reason = {0};
    if (!from->client) /* a layout: all its names are there intentionally */
        return OCV_OK;
    int status = ocv_tag_choice_new(mirror->rules, reference, &source, &choice, &reason);
    bool listed = status != OCV_ERR_DENIED && status != OCV_ERR_NOT_FOUND && !asked.unlisted;
    if (status == OCV_OK && choice) {
        /* The winner may change while configurations are read, so the choice is made here; the
         * resulting index is resolved like any other. */
        const ocv_auto(snapshot) snapshot = node_get(mirror->node);
        struct ocv_resolve_options options = {
            .preferences = ocv_config_preferences_for(mirror->settings->config, reference)};
        ocv_auto(ocv_decision) decision = NULL;
        status = ocv_tag_choice_resolve(choice, &source, snapshot->profile, &options, &decision,
                                        &reason);
        const struct ocv_entry *chosen = status < 0 ? NULL : ocv_decision_selected(decision);
        const struct ocv_descriptor *tagged = NULL;
        if (parent && chosen && ocv_tag_choice_tag(choice, chosen, &tagged) && tagged)
            memcpy(parent, tagged->digest, OCV_DIGEST_MAX);
    }
    if (status == OCV_OK && choice) {
        /* Logged when a configuration is read, not for each pull. */
        struct ocv_tag_note note;
        for (size_t i = 0; asked.read && ocv_tag_choice_note(choice, i, &note); i++)
            if (note.contradiction) {
                char line[1024];
                snprintf(line, sizeof(line), "%s:%s: %s; the configuration counts",
                         asked.reference->name, note.tag, note.contradiction);
                ocv_text_clean(line);
                log_line(LOG_LEVEL_WARNING, "%s", line);
            }
        *index = ocv_tag_choice_take(choice);
    } else {
        ocv_tag_choice_free(choice);
    }
    client_repay(from->client, asked.paid);
    if (!listed) {
        log_line(asked.unlisted ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
                 "%s: no choice by tag rules: %s", reference->name, reason.message);
        return OCV_OK;
    }
    if (status < 0 && err)
        *err = reason;
    return status;
}
