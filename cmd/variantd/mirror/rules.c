/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tag rules, the second source of variants: the tags that stand for a name, read under the identity
 * of the look-up that asks. */
#include "cmd/common/rules.h"

#include "cmd/variantd/mirror/mirror_internal.h"

#include <stdlib.h>

/* What a choice among tags is read from. */
struct asked {
    const struct source *from;
    const struct ocv_reference *reference;
};

static int list_tags(void *data, int (*visit)(void *visit_data, const char *tag), void *visit_data,
                     struct ocv_error *err)
{
    const struct asked *a = data;
    return ocv_registry_tags(client_registry(a->from->client), a->reference, visit, visit_data,
                             err);
}

static int get(void *data, const char *digest, struct ocv_buffer *body, struct ocv_descriptor *out,
               struct ocv_error *err)
{
    const struct asked *a = data;
    struct document *document = NULL;
    int status = upstream_get(a->from, a->reference, digest, &document, err);
    if (status < 0)
        return status;
    *out = document->descriptor;
    status = ocv_buffer_append(body, document->body.data, document->body.len, err);
    refcounted_unref(document);
    return status;
}

/* A registry that gives no digest, or has no HEAD, is asked for the bytes. */
static int head(void *data, const char *tag, struct ocv_descriptor *out, struct ocv_error *err)
{
    const struct asked *a = data;
    struct ocv_reference tagged = *a->reference;
    struct head seen = {0};
    struct document *document = NULL;
    tagged.tag = (char *)(uintptr_t)tag; /* borrowed for this call */
    tagged.digest = NULL;
    int status = upstream_head(a->from, &tagged, NULL, &seen, err);
    *out = seen.descriptor;
    if (status != OCV_ERR_UNSUPPORTED && (status < 0 || *seen.descriptor.digest))
        return status;
    status = upstream_get(a->from, &tagged, NULL, &document, err);
    if (status == OCV_OK)
        *out = document->descriptor;
    refcounted_unref(document);
    return status;
}

static int blob(void *data, const struct ocv_descriptor *wanted, struct ocv_buffer *body,
                struct ocv_error *err)
{
    const struct asked *a = data;
    return ocv_registry_get_blob(client_registry(a->from->client), a->reference, wanted, body, err);
}

/* The winner may change while configs are read, so it is chosen here; the index is resolved again
 * as any other. */
static int settle(const struct mirror *mirror, const struct ocv_reference *reference,
                  struct ocv_tag_choice *choice, const struct ocv_tag_source *source,
                  struct ocv_error *err)
{
    const struct snapshot *snapshot = node_get(mirror->node);
    struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences(settings_for(mirror->settings, reference))};
    struct ocv_decision *decision = NULL;
    int status =
        ocv_tag_choice_resolve(choice, source, snapshot->profile, &options, &decision, err);
    ocv_decision_free(decision);
    node_put(snapshot);
    return status;
}

bool rules_name(const struct mirror *mirror, const struct ocv_reference *reference)
{
    ocv_auto(ocv_tag) tag = NULL;
    return mirror->rules && settings_tag_rules(mirror->settings, reference) && reference->tag &&
           !reference->digest &&
           ocv_tag_parse(mirror->rules, reference, NULL, &tag, NULL) == OCV_OK &&
           ocv_tag_names_group(tag);
}

int rules_find(const struct mirror *mirror, const struct source *from,
               const struct ocv_reference *reference, struct ocv_index **index,
               struct ocv_error *err)
{
    struct asked asked = {from, reference};
    struct ocv_tag_source source = {&asked, list_tags, head, get, blob};
    struct ocv_tag_choice *choice = NULL;
    struct ocv_error reason = {0};
    if (!from->client) /* a layout: every name in it is there by intention */
        return OCV_OK;
    int status = ocv_tag_choice_new(mirror->rules, reference, &source, &choice, &reason);
    if (status == OCV_ERR_DENIED || status == OCV_ERR_NOT_FOUND) { /* its tags are not listed */
        log_line(LOG_LEVEL_INFO, "%s: no choice by tag rules: %s", reference->name, reason.message);
        return OCV_OK;
    }
    if (status == OCV_OK && choice)
        status = settle(mirror, reference, choice, &source, &reason);
    if (status == OCV_OK && choice) {
        *index = ocv_tag_choice_take(choice);
        return OCV_OK;
    }
    ocv_tag_choice_free(choice);
    if (status < 0 && err)
        *err = reason;
    return status;
}
