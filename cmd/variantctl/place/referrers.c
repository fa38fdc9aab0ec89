/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Referrers of a manifest (distribution-spec, "Listing Referrers"): by the API, or in registries
 * without it by the fallback tag, which clients maintain. A list that turns in circles ends where
 * it was before. */
#include "cmd/variantctl/place/place.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

#define PAGES_MAX 100u /* of one list */
#define REFERRERS_MAX 4096u

struct referrer_pages {
    struct ocv_buffer *body;
    char query[1024]; /* of the next page; empty: last page */
};

static int on_head(void *data, const struct ocv_stream_head *head)
{
    struct referrer_pages *l = data;
    const char *question = head->next ? strchr(head->next, '?') : NULL;
    bool fits = question && strlen(question) < sizeof(l->query);
    snprintf(l->query, sizeof(l->query), "%s", fits ? question + 1 : "");
    return 0;
}

static int on_body(void *data, const char *bytes, size_t len)
{
    struct referrer_pages *l = data;
    return ocv_buffer_append(l->body, bytes, len, NULL) < 0;
}

int referrers_read(const struct ocv_buffer *body, const char *what, json_t *out,
                   struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(ocv_json_load_counted(what, body->data, body->len, OCV_MANIFEST_MAX,
                                  OCV_JSON_VALUES_MAX, &root, err));
    json_t *list = json_object_get(root, "manifests");
    if (!list) /* Go's empty list, too */
        return OCV_OK;
    if (!json_is_array(list))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: the list of referrers is malformed", what);
    if (json_array_extend(out, list) < 0)
        return ocv_error_nomem(err);
    if (json_array_size(out) > REFERRERS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u referrers", what, REFERRERS_MAX);
    return OCV_OK;
}

/* OCV_ERR_NOT_FOUND if the registry has no such API. */
static int ask_api(const struct place *place, const char *digest, json_t *out,
                   struct ocv_error *err)
{
    struct referrer_pages l = {.query = ""};
    ocv_auto_json *seen = json_object();
    if (!seen)
        return ocv_error_nomem(err);
    for (unsigned page = 0; page == 0 || l.query[0]; page++) {
        char query[sizeof(l.query)];
        ocv_auto_json *found = json_array();
        ocv_auto_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        l.body = &body;
        size_t before = json_array_size(out);
        memcpy(query, l.query, sizeof(query));
        if (!found || json_object_set_new_nocheck(seen, query, json_true()) < 0)
            return ocv_error_nomem(err);
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
        OCV_TRY(ocv_registry_stream(place->cli->registry, &request, err));
        OCV_TRY(referrers_read(&body, digest, found, err));
        size_t i;
        json_t *entry;
        json_array_foreach(found, i, entry)
        {
            const char *own = ocv_json_text(entry, "digest");
            if (own && json_object_get(seen, own)) /* `seen` has the queries, and all digests */
                continue;
            if (json_array_append(out, entry) < 0 ||
                (own && json_object_set_new(seen, own, json_true()) < 0))
                return ocv_error_nomem(err);
        }
        if (json_array_size(out) > REFERRERS_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u referrers", digest,
                                 REFERRERS_MAX);
        if (json_object_get(seen, l.query) ||
            (json_array_size(found) && json_array_size(out) == before))
            break;
    }
    return OCV_OK;
}

void referrers_tag(const char *digest, char out[128])
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
    referrers_tag(digest, tag);
    int status = place_get(place, tag, &body, &d, err);
    if (status == OCV_ERR_NOT_FOUND)
        return OCV_OK;
    return status == OCV_OK ? referrers_read(&body, tag, out, err) : status;
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

int note_referrers(struct place *to, const char *digest, const json_t *added, struct ocv_error *err)
{
    ocv_auto_json *there = json_array();
    bool api = false;
    OCV_TRY(there ? list_referrers(to, digest, &api, there, err) : ocv_error_nomem(err));
    if (api)
        return OCV_OK;
    /* Without the API, the list is a document under a tag, and the client adds to it. */
    char tag[128];
    size_t i;
    json_t *entry;
    ocv_auto_json *list = json_array();
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_MANIFEST_MAX);
    referrers_tag(digest, tag);
    OCV_TRY(ask_tag(to, digest, list, err));
    json_array_foreach((json_t *)added, i, entry)
    {
        const char *text = ocv_json_text(entry, "digest");
        bool known = !text;
        for (size_t k = 0; k < json_array_size(list) && !known; k++) {
            const char *other = ocv_json_text(json_array_get(list, k), "digest");
            known = other && !strcmp(other, text);
        }
        if (!known)
            json_array_append(list, entry);
    }
    ocv_auto_json *root = json_pack("{s:i, s:s, s:O}", "schemaVersion", 2, "mediaType",
                                    OCV_MEDIA_TYPE_INDEX, "manifests", list);
    struct ocv_descriptor d = {.media_type = OCV_MEDIA_TYPE_INDEX};
    OCV_TRY(root ? ocv_json_append(root, JSON_COMPACT, &bytes, err) : ocv_error_nomem(err));
    d.size = (int64_t)bytes.len;
    OCV_TRY(ocv_digest_bytes(bytes.data, bytes.len, d.digest, err));
    return place_put(to, tag, &d, bytes.data, bytes.len, err);
}
