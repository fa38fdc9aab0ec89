/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The choice among the tags that stand for one name. Their digests are fixed once, before anything
 * is chosen: what is pulled is what was shown, whatever happens to the tags meanwhile. */
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/core/index_internal.h"
#include "lib/tags/tag_plan.h"
#include "lib/tags/tags_internal.h"
#include "ocivariant/manifest.h"

#include <stdlib.h>
#include <string.h>

#define CONFIG_MAX (1024u * 1024)
#define NAMES_SHOWN 8u /* of tags that cannot be told apart */

struct fixed {
    struct ocv_tag_candidate candidate;
    struct ocv_buffer body; /* of an index */
    char platform[128];     /* of a manifest, once its config was read */
};

struct ocv_tag_choice {
    struct ocv_tag_plan *plan;
    struct fixed *fixed;
    size_t n;
    struct ocv_index *index;
};

/* ---- the tags ----------------------------------------------------------------------------------
 */

struct tag_list {
    char **list;
    size_t n;
    bool failed;
};

static int add_tag(void *data, const char *tag)
{
    struct tag_list *tags = data;
    char **copy = ocv_array_grow(&tags->list, tags->n);
    tags->failed = !copy || !(*copy = strdup(tag));
    tags->n += !tags->failed;
    return tags->failed;
}

/* A registry that has no lists (405 or 501) is as one that keeps this one to itself. */
static int list_tags(const struct ocv_tag_source *source, struct tag_list *tags,
                     struct ocv_error *err)
{
    struct ocv_error failure = {0};
    int status = source->tags(source->data, add_tag, tags, &failure);
    if (tags->failed)
        return ocv_error_nomem(err);
    if (status < 0 && (failure.http_status == 405 || failure.http_status == 501))
        status = failure.status = OCV_ERR_NOT_FOUND;
    if (status < 0 && err)
        *err = failure;
    return status;
}

static int make_plan(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const struct ocv_tag_source *source, struct ocv_tag_plan **out,
                     struct ocv_error *err)
{
    struct tag_list tags = {0};
    int status = list_tags(source, &tags, err);
    if (status == OCV_OK)
        status = ocv_tag_plan_new(rules, reference, reference->tag, (const char *const *)tags.list,
                                  tags.n, out, err);
    for (size_t i = 0; i < tags.n; i++)
        free(tags.list[i]);
    free(tags.list);
    return status;
}

static int check_doubts(const struct ocv_tag_plan *plan, const struct ocv_reference *reference,
                        struct ocv_error *err)
{
    const char *const *doubts;
    struct ocv_buffer text;
    size_t n = ocv_tag_plan_doubts(plan, 0, &doubts);
    if (n == 0)
        return OCV_OK;
    ocv_buffer_init(&text, NAMES_SHOWN * OCV_TAG_TEXT_MAX);
    int status = OCV_OK;
    for (size_t i = 0; i < n && i < NAMES_SHOWN && status == OCV_OK; i++)
        status = ocv_buffer_printf(&text, err, "%s%s", i ? "; " : "", doubts[i]);
    if (status == OCV_OK)
        status = ocv_error_set(err, OCV_ERR_DATA, "%s:%s: the tag rules cannot decide: %s",
                               reference->familiar, reference->tag, text.data);
    ocv_error_hint(err, "name a full tag, or switch the rules off (--tag-rules off)");
    ocv_buffer_free(&text);
    return status;
}

/* ---- their digests -----------------------------------------------------------------------------
 */

static bool is_manifest(const char *type)
{
    return strcmp(type, OCV_MEDIA_TYPE_MANIFEST) == 0 ||
           strcmp(type, OCV_MEDIA_TYPE_DOCKER_MANIFEST) == 0;
}

/* What is not plainly a manifest of known size is read: an index gives its images. */
static int read_document(const struct ocv_tag_source *source, struct fixed *f,
                         struct ocv_error *err)
{
    struct ocv_descriptor *d = &f->candidate.descriptor, seen;
    enum ocv_document_kind kind = OCV_DOCUMENT_MANIFEST;
    if (is_manifest(d->media_type) && d->size >= 0)
        return OCV_OK;
    int status = source->get(source->data, d->digest, &f->body, &seen, err);
    if (status == OCV_OK)
        status = ocv_document_kind(f->body.data, f->body.len,
                                   seen.media_type[0] ? seen.media_type : NULL, &kind, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", ocv_tag_text(f->candidate.tag));
    d->size = (int64_t)f->body.len;
    snprintf(d->media_type, sizeof(d->media_type), "%s",
             seen.media_type[0]           ? seen.media_type
             : kind == OCV_DOCUMENT_INDEX ? OCV_MEDIA_TYPE_INDEX
                                          : OCV_MEDIA_TYPE_MANIFEST);
    if (kind == OCV_DOCUMENT_MANIFEST)
        return OCV_OK;
    f->candidate.body = f->body.data;
    f->candidate.body_len = f->body.len;
    return OCV_OK;
}

/* A tag that was deleted since it was listed is not a candidate. */
static int fix(struct ocv_tag_choice *choice, const struct ocv_tag_source *source,
               struct ocv_error *err)
{
    size_t members = ocv_tag_plan_members(choice->plan, 0);
    if (members > OCV_TAG_CANDIDATES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u tags stand for it",
                             ocv_tag_plan_name(choice->plan, 0), OCV_TAG_CANDIDATES_MAX);
    choice->fixed = calloc(members + 1, sizeof(*choice->fixed));
    if (!choice->fixed)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < members; i++) {
        struct fixed *f = &choice->fixed[choice->n];
        struct ocv_error failure = {0};
        ocv_buffer_init(&f->body, OCV_MANIFEST_MAX);
        f->candidate = (struct ocv_tag_candidate){0};
        f->candidate.tag = ocv_tag_plan_member(choice->plan, 0, i, &f->candidate.label);
        int status = source->head(source->data, ocv_tag_text(f->candidate.tag),
                                  &f->candidate.descriptor, &failure);
        if (status == OCV_ERR_NOT_FOUND)
            continue;
        choice->n++;
        if (status == OCV_OK)
            status = read_document(source, f, &failure);
        if (status < 0) {
            if (err)
                *err = failure;
            return status;
        }
    }
    return OCV_OK;
}

/* The index outlives the choice where it is taken. */
static int name_rule(const struct ocv_tag_choice *choice, struct ocv_index *index,
                     struct ocv_error *err)
{
    const char *rule = ocv_tag_choice_family(choice), *group = ocv_tag_choice_group(choice);
    index->rule = ocv_arena_copy(&index->arena, rule, strlen(rule));
    index->group = ocv_arena_copy(&index->arena, group, strlen(group));
    return index->rule && index->group ? OCV_OK : ocv_error_nomem(err);
}

/* The one before stays until there is another. */
static int make_index(struct ocv_tag_choice *choice, struct ocv_error *err)
{
    struct ocv_tag_candidate *list = calloc(choice->n + 1, sizeof(*list));
    ocv_auto(ocv_index) index = NULL;
    struct ocv_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    for (size_t i = 0; list && i < choice->n; i++)
        list[i] = choice->fixed[i].candidate;
    int status = list ? ocv_tag_index(list, choice->n, &text, err) : ocv_error_nomem(err);
    free(list);
    if (status == OCV_OK)
        status = ocv_index_parse(text.data, text.len, OCV_MEDIA_TYPE_INDEX, &index, err);
    ocv_buffer_free(&text);
    if (status == OCV_OK)
        status = name_rule(choice, index, err);
    if (status < 0)
        return status;
    ocv_index_free(choice->index);
    choice->index = ocv_steal(&index);
    return OCV_OK;
}

/* ---- the choice --------------------------------------------------------------------------------
 */

static int choose(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                  const struct ocv_tag_source *source, struct ocv_tag_choice *choice,
                  struct ocv_error *err)
{
    int status = make_plan(rules, reference, source, &choice->plan, err);
    if (status < 0 || ocv_tag_plan_sets(choice->plan) == 0)
        return status;
    status = check_doubts(choice->plan, reference, err);
    if (status == OCV_OK)
        status = fix(choice, source, err);
    return status == OCV_OK && choice->n ? make_index(choice, err) : status;
}

/* A tag of which no part says what it needs is the name of a set, but no member of it. Where there
 * is such a tag, it is what was asked for. */
static int taken_as_it_is(const struct ocv_tag *tag, const struct ocv_tag_source *source, bool *out,
                          struct ocv_error *err)
{
    struct ocv_descriptor seen;
    *out = false;
    if (!ocv_tag_refused(tag))
        return OCV_OK;
    struct ocv_error failure = {0};
    int status = source->head(source->data, ocv_tag_text(tag), &seen, &failure);
    *out = status == OCV_OK;
    if (status == OCV_OK || status == OCV_ERR_NOT_FOUND)
        return OCV_OK;
    if (err)
        *err = failure;
    return status;
}

int ocv_tag_choice_new(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                       const struct ocv_tag_source *source, struct ocv_tag_choice **out,
                       struct ocv_error *err)
{
    ocv_auto(ocv_tag) tag = NULL;
    *out = NULL;
    if (!reference->tag || reference->digest)
        return OCV_OK;
    int status = ocv_tag_parse(rules, reference, NULL, &tag, err);
    if (status < 0 || !ocv_tag_names_group(tag))
        return status;
    bool as_it_is;
    status = taken_as_it_is(tag, source, &as_it_is, err);
    if (status < 0 || as_it_is)
        return status;
    struct ocv_tag_choice *choice = calloc(1, sizeof(*choice));
    if (!choice)
        return ocv_error_nomem(err);
    status = choose(rules, reference, source, choice, err);
    if (status == OCV_OK && choice->index)
        *out = choice;
    else
        ocv_tag_choice_free(choice);
    return status;
}

void ocv_tag_choice_free(struct ocv_tag_choice *choice)
{
    if (!choice)
        return;
    ocv_index_free(choice->index);
    for (size_t i = 0; i < choice->n; i++)
        ocv_buffer_free(&choice->fixed[i].body);
    free(choice->fixed);
    ocv_tag_plan_free(choice->plan);
    free(choice);
}

static struct fixed *fixed_of(const struct ocv_tag_choice *choice, const struct ocv_entry *entry)
{
    const json_t *one =
        json_array_get(json_object_get(choice->index->root, "manifests"), entry->position);
    const char *tag = json_string_value(
        json_object_get(json_object_get(one, "annotations"), OCV_ANNOTATION_REF_NAME));
    for (size_t i = 0; tag && i < choice->n; i++)
        if (strcmp(ocv_tag_text(choice->fixed[i].candidate.tag), tag) == 0)
            return &choice->fixed[i];
    return NULL;
}

/* "os/architecture[/variant]" of a config; without an architecture it says nothing. */
static int config_platform(const struct ocv_buffer *config, char out[128], struct ocv_error *err)
{
    json_error_t error;
    json_t *root = json_loadb(config->data ? config->data : "", config->len, 0, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return ocv_error_nomem(err);
    const char *os = json_string_value(json_object_get(root, "os"));
    const char *arch = json_string_value(json_object_get(root, "architecture"));
    const char *variant = json_string_value(json_object_get(root, "variant"));
    int n = arch ? snprintf(out, 128, "%s/%s%s%s", os && *os ? os : "linux", arch,
                            variant && *variant ? "/" : "", variant ? variant : "")
                 : -1;
    json_decref(root);
    return n > 0 && n < 128 ? OCV_OK
                            : ocv_error_set(err, OCV_ERR_DATA, "its config names no platform");
}

static int read_platform(const struct ocv_tag_source *source, struct fixed *f,
                         struct ocv_error *err)
{
    ocv_auto(ocv_manifest) manifest = NULL;
    ocv_auto(ocv_platform) platform = NULL;
    struct ocv_buffer body, config;
    struct ocv_descriptor seen;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    ocv_buffer_init(&config, CONFIG_MAX);
    const struct ocv_descriptor *d = &f->candidate.descriptor;
    int status = source->get(source->data, d->digest, &body, &seen, err);
    if (status == OCV_OK)
        status = ocv_manifest_parse(body.data, body.len, d->media_type, &manifest, err);
    if (status == OCV_OK)
        status = source->blob(source->data, ocv_manifest_config(manifest), &config, err);
    if (status == OCV_OK)
        status = config_platform(&config, f->platform, err);
    if (status == OCV_OK)
        status = ocv_platform_parse(f->platform, &platform, err);
    ocv_buffer_free(&config);
    ocv_buffer_free(&body);
    if (status < 0)
        return ocv_error_prefix(err, "%s", ocv_tag_text(f->candidate.tag));
    f->candidate.platform = f->platform;
    return OCV_OK;
}

int ocv_tag_choice_resolve(struct ocv_tag_choice *choice, const struct ocv_tag_source *source,
                           const struct ocv_profile *profile,
                           const struct ocv_resolve_options *options, struct ocv_decision **out,
                           struct ocv_error *err)
{
    /* each round reads one config more, so it ends */
    for (size_t round = 0; round <= choice->n; round++) {
        ocv_auto(ocv_decision) decision = NULL;
        int status = ocv_resolve(choice->index, profile, options, &decision, err);
        if (status < 0)
            return status;
        const struct ocv_entry *winner = ocv_decision_selected(decision);
        struct fixed *f = winner && !winner->has_platform ? fixed_of(choice, winner) : NULL;
        if (!f) {
            *out = ocv_steal(&decision);
            return OCV_OK;
        }
        status = read_platform(source, f, err);
        if (status == OCV_OK) {
            ocv_decision_free(decision); /* it borrows the index that goes now */
            decision = NULL;
            status = make_index(choice, err);
        }
        if (status < 0)
            return status;
    }
    return ocv_error_set(err, OCV_ERR_DATA, "%s: no end of choosing", ocv_tag_choice_group(choice));
}

const struct ocv_index *ocv_tag_choice_index(const struct ocv_tag_choice *choice)
{
    return choice->index;
}

struct ocv_index *ocv_tag_choice_take(struct ocv_tag_choice *choice)
{
    struct ocv_index *index = choice->index;
    choice->index = NULL;
    ocv_tag_choice_free(choice);
    return index;
}

const char *ocv_tag_choice_candidate(const struct ocv_tag_choice *choice, size_t i,
                                     const struct ocv_descriptor **descriptor)
{
    if (i >= choice->n)
        return NULL;
    *descriptor = &choice->fixed[i].candidate.descriptor;
    return ocv_tag_text(choice->fixed[i].candidate.tag);
}

const char *ocv_tag_choice_family(const struct ocv_tag_choice *choice)
{
    return ocv_tag_family(choice->fixed[0].candidate.tag);
}

const char *ocv_tag_choice_group(const struct ocv_tag_choice *choice)
{
    return ocv_tag_plan_name(choice->plan, 0);
}

const char *ocv_tag_choice_tag(const struct ocv_tag_choice *choice, const struct ocv_entry *entry,
                               const struct ocv_descriptor **descriptor)
{
    const struct fixed *f = fixed_of(choice, entry);
    if (f && descriptor)
        *descriptor = &f->candidate.descriptor;
    return f ? ocv_tag_text(f->candidate.tag) : NULL;
}
