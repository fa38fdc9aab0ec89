/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signatures, SBOMs and whatever else names an image as its subject (distribution-spec, "Listing
 * Referrers"): by the API, or where a registry lacks it by the fallback tag, which then has to be
 * kept by the client. cosign before version 3 used tags of its own. */
#include "cmd/variantctl/index/index_build.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 3u   /* a signature of an SBOM of an image */
#define PAGES_MAX 100u /* of one list */
#define REFERRERS_MAX 4096u

struct listing {
    struct ocv_buffer body;
    char query[1024]; /* of the next page; empty: none */
};

/* Link: </v2/...?query>; rel="next" */
static int on_head(void *data, const struct ocv_stream_head *head)
{
    struct listing *l = data;
    const char *question = head->link ? strchr(head->link, '?') : NULL;
    const char *end = question ? strchr(question, '>') : NULL;
    l->query[0] = '\0';
    if (end && (size_t)(end - question) < sizeof(l->query))
        snprintf(l->query, sizeof(l->query), "%.*s", (int)(end - question - 1), question + 1);
    return 0;
}

static int on_body(void *data, const char *bytes, size_t len)
{
    struct listing *l = data;
    return ocv_buffer_append(&l->body, bytes, len, NULL) < 0;
}

static int take_page(const struct ocv_buffer *body, const char *what, json_t *out,
                     struct ocv_error *err)
{
    json_t *root =
        json_loadb(body->data ? body->data : "", body->len, JSON_REJECT_DUPLICATES, NULL);
    json_t *list = json_object_get(root, "manifests");
    int status = OCV_OK;
    if (!json_is_array(list))
        status = ocv_error_set(err, OCV_ERR_DATA, "%s: the list of referrers is malformed", what);
    else if (json_array_extend(out, list) < 0)
        status = ocv_error_nomem(err);
    else if (json_array_size(out) > REFERRERS_MAX)
        status =
            ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u referrers", what, REFERRERS_MAX);
    json_decref(root);
    return status;
}

/* OCV_ERR_NOT_FOUND where the registry has no such API. */
static int ask_api(const struct place *place, const char *digest, json_t *out,
                   struct ocv_error *err)
{
    struct listing l = {.query = ""};
    int status = OCV_OK;
    for (unsigned page = 0; status == OCV_OK && (page == 0 || l.query[0]); page++) {
        char query[sizeof(l.query)];
        memcpy(query, l.query, sizeof(query));
        const struct ocv_stream request = {.kind = OCV_STREAM_REFERRERS,
                                           .reference = place->reference,
                                           .object = digest,
                                           .query = query[0] ? query : NULL,
                                           .head = on_head,
                                           .body = on_body,
                                           .data = &l};
        if (page == PAGES_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u pages of referrers", digest,
                                 PAGES_MAX);
        ocv_buffer_init(&l.body, OCV_MANIFEST_MAX);
        status = ocv_registry_stream(place->cli->registry, &request, err);
        if (status == OCV_OK)
            status = take_page(&l.body, digest, out, err);
        ocv_buffer_free(&l.body);
    }
    return status;
}

/* "sha256-<hex>", the algorithm cut to 32, the rest to 64 characters. */
static void fallback_tag(const char *digest, char out[128])
{
    const char *colon = strchr(digest, ':');
    snprintf(out, 128, "%.*s-%.64s", (int)(colon - digest > 32 ? 32 : colon - digest), digest,
             colon + 1);
}

static int ask_tag(struct place *place, const char *digest, json_t *out, struct ocv_error *err)
{
    char tag[128];
    struct ocv_descriptor d;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    fallback_tag(digest, tag);
    int status = place_get(place, tag, &body, &d, err);
    if (status == OCV_ERR_NOT_FOUND)
        return OCV_OK;
    return status == OCV_OK ? take_page(&body, tag, out, err) : status;
}

int list_referrers(struct place *place, const char *digest, bool *api, json_t *out,
                   struct ocv_error *err)
{
    struct ocv_error local = {0};
    *api = false;
    int status = place->reference ? ask_api(place, digest, out, &local) : OCV_ERR_NOT_FOUND;
    *api = status == OCV_OK;
    if (status == OCV_OK && json_array_size(out))
        return OCV_OK;
    if (status < 0 && status != OCV_ERR_NOT_FOUND) {
        if (err)
            *err = local;
        return status;
    }
    return ask_tag(place, digest, out, err); /* pushed before the registry had the API */
}

static bool holds(const json_t *list, const char *digest)
{
    size_t i;
    json_t *entry;
    json_array_foreach((json_t *)list, i, entry)
    {
        const char *text = json_string_value(json_object_get(entry, "digest"));
        if (text && !strcmp(text, digest))
            return true;
    }
    return false;
}

/* Where there is no API, the list is a document under a tag, and adding to it is the client's. */
static int add_to_tag(struct place *to, const char *digest, const json_t *added,
                      struct ocv_error *err)
{
    char tag[128];
    size_t i;
    json_t *entry, *list = json_array();
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_MANIFEST_MAX);
    fallback_tag(digest, tag);
    int status = ask_tag(to, digest, list, err);
    json_array_foreach((json_t *)added, i, entry)
    {
        const char *text = json_string_value(json_object_get(entry, "digest"));
        if (status == OCV_OK && text && !holds(list, text))
            json_array_append(list, entry);
    }
    json_t *root = json_pack("{s:i, s:s, s:o}", "schemaVersion", 2, "mediaType",
                             OCV_MEDIA_TYPE_INDEX, "manifests", list);
    char *text = json_dumps(root, JSON_COMPACT);
    struct ocv_descriptor d = {.media_type = OCV_MEDIA_TYPE_INDEX};
    if (status == OCV_OK)
        status = text ? ocv_buffer_append(&bytes, text, strlen(text), err) : ocv_error_nomem(err);
    d.size = (int64_t)bytes.len;
    if (status == OCV_OK)
        status = ocv_digest_bytes(bytes.data, bytes.len, d.digest, err);
    if (status == OCV_OK)
        status = place_put(to, tag, &d, bytes.data, bytes.len, err);
    free(text);
    json_decref(root);
    return status;
}

static int descriptor_of(const json_t *entry, struct ocv_descriptor *out, struct ocv_error *err)
{
    const char *type = json_string_value(json_object_get(entry, "mediaType"));
    const char *digest = json_string_value(json_object_get(entry, "digest"));
    if (!type || !digest || !ocv_digest_known(digest) || strlen(type) >= sizeof(out->media_type))
        return ocv_error_set(err, OCV_ERR_DATA, "a malformed referrer");
    snprintf(out->media_type, sizeof(out->media_type), "%s", type);
    snprintf(out->digest, sizeof(out->digest), "%s", digest);
    out->size = json_integer_value(json_object_get(entry, "size"));
    return OCV_OK;
}

/* cosign's tags of before there were referrers. */
static int copy_tags(struct copier *copier, const struct image *from, struct place *source,
                     const char *digest, struct ocv_error *err)
{
    static const char *const suffixes[] = {".sig", ".att", ".sbom"};
    int status = OCV_OK;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes) && status == OCV_OK; i++) {
        char tag[136];
        struct ocv_descriptor d;
        ocv_auto_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        fallback_tag(digest, tag);
        strncat(tag, suffixes[i], sizeof(tag) - strlen(tag) - 1);
        status = place_get(source, tag, &body, &d, err);
        if (status == OCV_ERR_NOT_FOUND) {
            status = OCV_OK;
            continue;
        }
        if (status == OCV_OK && !d.media_type[0])
            snprintf(d.media_type, sizeof(d.media_type), "%s", OCV_MEDIA_TYPE_MANIFEST);
        if (status == OCV_OK)
            status = copier_tree(copier, from, &d, err);
        if (status == OCV_OK)
            status = place_put(copier->to, tag, &d, body.data, body.len, err);
    }
    return status;
}

static int copy_level(struct copier *copier, const struct image *from, const char *digest,
                      unsigned depth, struct ocv_error *err)
{
    struct place source = {.cli = copier->cli,
                           .reference = from->reference,
                           .layout = from->layout,
                           .name = from->reference ? from->reference->name : (char *)from->text};
    json_t *found = json_array(), *there = json_array();
    bool source_api, api;
    int status = list_referrers(&source, digest, &source_api, found, err);
    for (size_t i = 0; i < json_array_size(found) && status == OCV_OK; i++) {
        struct ocv_descriptor d;
        status = descriptor_of(json_array_get(found, i), &d, err);
        if (status == OCV_OK)
            status = copier_document(copier, from, &d, err);
        if (status == OCV_OK && depth + 1 < DEPTH_MAX)
            status = copy_level(copier, from, d.digest, depth + 1, err);
    }
    if (status == OCV_OK && json_array_size(found)) {
        status = list_referrers(copier->to, digest, &api, there, err);
        if (status == OCV_OK && !api)
            status = add_to_tag(copier->to, digest, found, err);
    }
    if (status == OCV_OK)
        status = copy_tags(copier, from, &source, digest, err);
    json_decref(found);
    json_decref(there);
    return status;
}

int copy_referrers(struct copier *copier, const struct image *from, const char *digest,
                   struct ocv_error *err)
{
    int status = copy_level(copier, from, digest, 0, err);
    return status < 0 ? ocv_error_prefix(err, "what refers to %s", digest) : OCV_OK;
}
