/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/upstream/upstream.h"

#include "cmd/variantd/common/budget.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAGS_MAX 10000u /* of a repository, in one list */

struct layout_search {
    const struct ocv_reference *reference;
    struct ocv_descriptor full, bare; /* by full name, which is preferred; by tag alone */
    bool found_full, found_bare;
    char **tags; /* for a list */
    size_t n_tags;
    bool listing;
};

static int visit_tag(void *data, const char *tag, const char *image_name,
                     const struct ocv_descriptor *descriptor)
{
    struct layout_search *s = data;
    ocv_auto(ocv_reference) name = NULL;
    /* an entry's full name: its own annotation, or a tag that is one (as some tools write it) */
    const char *text = image_name ? image_name : tag && strchr(tag, '/') ? tag : NULL;
    bool full = text && ocv_reference_parse(text, &name, NULL) == OCV_OK && name->tag;
    /* the directory belongs to this registry: the host in the name only tells its origin */
    if (full && strcmp(name->repository, s->reference->repository) != 0)
        return OCV_OK;
    const char *found = full ? name->tag : image_name ? NULL : tag;
    if (!found || !ocv_reference_tag_valid(found))
        return OCV_OK;
    if (s->listing) {
        char **copy = s->n_tags < TAGS_MAX ? ocv_array_grow(&s->tags, s->n_tags) : NULL;
        if (!copy || !(*copy = strdup(found)))
            return OCV_ERR_NOMEM;
        s->n_tags++;
        return OCV_OK;
    }
    if (strcmp(found, s->reference->tag) != 0)
        return OCV_OK;
    if (full && !s->found_full)
        s->full = *descriptor;
    else if (!full && !s->found_bare)
        s->bare = *descriptor;
    *(full ? &s->found_full : &s->found_bare) = true;
    return OCV_OK;
}

static int not_found(const struct ocv_reference *reference, const char *object,
                     struct ocv_error *err)
{
    int status =
        ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no %s in the layout", reference->name, object);
    if (err)
        err->http_status = 404;
    return status;
}

/* The type in a name's entry may be wrong; the document's own type takes precedence. */
static int type_of(const struct ocv_buffer *body, const char *hint, char *out, size_t size,
                   struct ocv_error *err)
{
    enum ocv_document_kind kind;
    OCV_TRY(ocv_document_kind(body->data, body->len, NULL, &kind, err));
    json_t *root =
        ocv_json_load_any(body->data, body->len, OCV_JSON_VALUES_MAX, JSON_REJECT_DUPLICATES, NULL);
    const char *said = ocv_json_text(root, "mediaType");
    char own[256] = "";
    bool fits = !said || strlen(said) < sizeof(own);
    if (said && fits)
        memcpy(own, said, strlen(said) + 1);
    json_decref(root);
    if (!root || !fits)
        return ocv_error_set(err, OCV_ERR_DATA, "not a manifest");
    const char *type = *own                         ? own
                       : hint && *hint              ? hint
                       : kind == OCV_DOCUMENT_INDEX ? OCV_MEDIA_TYPE_INDEX
                                                    : OCV_MEDIA_TYPE_MANIFEST;
    if (strlen(type) >= size)
        return ocv_error_set(err, OCV_ERR_DATA, "media type of %zu characters", strlen(type));
    memcpy(out, type, strlen(type) + 1);
    return OCV_OK;
}

int layout_get(const struct upstream *upstream, const struct ocv_reference *reference,
               const char *digest, struct document *document, struct ocv_error *err)
{
    ocv_auto(ocv_layout) layout = NULL;
    struct ocv_descriptor descriptor = {.size = -1};
    OCV_TRY(ocv_layout_open(upstream->layout, OCV_LAYOUT_READ, &layout, err));
    if (!digest)
        digest = reference->digest;
    if (digest && !ocv_digest_known(digest))
        return not_found(reference, digest, err);
    if (digest) {
        memcpy(descriptor.digest, digest, strlen(digest) + 1);
    } else {
        struct layout_search search = {.reference = reference};
        OCV_TRY(ocv_layout_list(layout, visit_tag, &search, err));
        if (!search.found_full && !search.found_bare)
            return not_found(reference, reference->tag, err);
        descriptor = search.found_full ? search.full : search.bare;
    }

    struct ocv_error local = {0};
    int fd;
    int64_t size;
    int status = ocv_layout_open_blob(layout, descriptor.digest, &fd, &size, &local);
    if (status == OCV_OK) {
        close(fd);
        budget_read_begin((size_t)size);
        status = ocv_layout_read_blob(layout, descriptor.digest, &document->body, &local);
        if (status == OCV_OK)
            status =
                type_of(&document->body, descriptor.media_type, document->descriptor.media_type,
                        sizeof(document->descriptor.media_type), &local);
        budget_read_end((size_t)size);
    }
    if (status == OCV_ERR_NOT_FOUND)
        return not_found(reference, descriptor.digest, err);
    if (status == OCV_OK) {
        memcpy(document->descriptor.digest, descriptor.digest, sizeof(descriptor.digest));
        document->descriptor.size = (int64_t)document->body.len;
    } else if (err) {
        *err = local;
    }
    return status;
}

int layout_tags(const struct upstream *upstream, const struct ocv_reference *reference,
                struct ocv_buffer *json, struct ocv_error *err)
{
    ocv_auto(ocv_layout) layout = NULL;
    struct layout_search search = {.reference = reference, .listing = true};
    int status = ocv_layout_open(upstream->layout, OCV_LAYOUT_READ, &layout, err);
    if (status == OCV_OK)
        status = ocv_layout_list(layout, visit_tag, &search, err);
    if (status == OCV_OK && !search.n_tags)
        status = not_found(reference, "tags", err);
    if (status == OCV_OK) {
        qsort(search.tags, search.n_tags, sizeof(*search.tags), ocv_text_order);
        status = ocv_buffer_printf(json, err, "{\"name\":\"%s\",\"tags\":[", reference->repository);
    }
    for (size_t i = 0; status == OCV_OK && i < search.n_tags; i++)
        if (i == 0 || strcmp(search.tags[i], search.tags[i - 1]) != 0) /* they need no escaping */
            status = ocv_buffer_printf(json, err, "%s\"%s\"", i ? "," : "", search.tags[i]);
    if (status == OCV_OK)
        status = ocv_buffer_append(json, "]}\n", 3, err);
    for (size_t i = 0; i < search.n_tags; i++)
        free(search.tags[i]);
    free(search.tags);
    return status;
}
