/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Referrers of a manifest: by the API, or in registries without it by the fallback tag, which
 * clients maintain. A list that turns in circles ends where it was before. */
#include "lib/base/cleanup.h"
#include "lib/base/format/encodings.h"
#include "lib/base/format/json.h"
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>

#define PAGES_MAX 100u /* of one list */

struct pages {
    struct ocv_buffer *body;
    char query[1024]; /* of the next page; empty: last page */
};

static int on_head(void *data, const struct ocv_stream_head *head)
{
    struct pages *l = data;
    const char *question = head->next ? strchr(head->next, '?') : NULL;
    bool fits = question && strlen(question) < sizeof(l->query);
    snprintf(l->query, sizeof(l->query), "%s", fits ? question + 1 : "");
    return 0;
}

static int on_body(void *data, const char *bytes, size_t len)
{
    struct pages *l = data;
    return ocv_buffer_append(l->body, bytes, len, NULL) < 0;
}

int ocv_referrers_read(const char *what, const struct ocv_buffer *body, json_t *out, json_t *seen,
                       size_t *entries, struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    *entries = 0;
    OCV_TRY(ocv_json_load_counted(what, body->data, body->len, OCV_MANIFEST_MAX,
                                  OCV_JSON_VALUES_MAX, &root, err));
    json_t *list = json_object_get(root, "manifests"), *entry;
    size_t i;
    if (!list) /* Go's empty list, too */
        return OCV_OK;
    if (!json_is_array(list))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: the list of referrers is malformed", what);
    *entries = json_array_size(list);
    json_array_foreach(list, i, entry)
    {
        const char *digest = ocv_json_text(entry, "digest");
        if (digest && json_object_get(seen, digest))
            continue;
        if (json_array_append(out, entry) < 0 ||
            (digest && json_object_set_new(seen, digest, json_true()) < 0))
            return ocv_error_nomem(err);
    }
    if (json_array_size(out) > OCV_REFERRERS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u referrers", what,
                             OCV_REFERRERS_MAX);
    return OCV_OK;
}

/* OCV_ERR_NOT_FOUND, or an HTTP status, if the registry has no such API. `err` is not NULL. */
static int ask_api(struct ocv_registry *registry, const struct ocv_reference *reference,
                   const char *digest, const char *artifact_type, json_t *out, json_t *seen,
                   struct ocv_error *err)
{
    struct pages l = {.query = ""};
    ocv_auto_buffer filter;
    ocv_buffer_init(&filter, sizeof(l.query));
    if (artifact_type) {
        OCV_TRY(ocv_buffer_printf(&filter, err, "artifactType="));
        OCV_TRY(ocv_url_escape(artifact_type, OCV_URL_UNRESERVED, &filter, err));
        snprintf(l.query, sizeof(l.query), "%s", filter.data);
    }
    for (unsigned page = 0; page == 0 || l.query[0]; page++) {
        char query[sizeof(l.query)];
        ocv_auto_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        l.body = &body;
        size_t before = json_array_size(out), entries;
        memcpy(query, l.query, sizeof(query));
        if (json_object_set_new_nocheck(seen, query, json_true()) < 0) /* beside the digests */
            return ocv_error_nomem(err);
        const struct ocv_stream request = {.kind = OCV_STREAM_REFERRERS,
                                           .reference = reference,
                                           .object = digest,
                                           .query = query[0] ? query : NULL,
                                           .head = on_head,
                                           .body = on_body,
                                           .data = &l};
        if (page == PAGES_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u pages of referrers", digest,
                                 PAGES_MAX);
        int status = ocv_registry_stream(registry, &request, err);
        /* after the first page the API is there, whatever the answer: half a list is none */
        if (status < 0 && page > 0) {
            if (status == OCV_ERR_NOT_FOUND)
                status = ocv_error_set(err, OCV_ERR_NETWORK,
                                       "%s: page %u of its referrers: not found", digest, page + 1);
            err->http_status = 0;
        }
        OCV_TRY(status);
        OCV_TRY(ocv_referrers_read(digest, &body, out, seen, &entries, err));
        if (json_object_get(seen, l.query) || (entries && json_array_size(out) == before))
            break;
    }
    return OCV_OK;
}

int ocv_reference_for_digest(const struct ocv_reference *reference, const char *digest,
                             const char *suffix, struct ocv_reference **out, struct ocv_error *err)
{
    const char *colon = strchr(digest, ':');
    ocv_auto_free char *text = NULL;
    if (asprintf(&text, "%s:%.*s-%.64s%s", reference->name,
                 (int)(colon - digest > 32 ? 32 : colon - digest), digest, colon + 1, suffix) < 0) {
        text = NULL;
        return ocv_error_nomem(err);
    }
    return ocv_reference_parse(text, out, err);
}

int ocv_registry_referrers(struct ocv_registry *registry, const struct ocv_reference *reference,
                           const char *digest, const char *artifact_type, struct ocv_buffer *list,
                           bool *api, struct ocv_error *err)
{
    struct ocv_error local = {0};
    ocv_auto_json *out = json_array(), *seen = json_object();
    if (api)
        *api = false;
    if (!out || !seen)
        return ocv_error_nomem(err);
    if (!ocv_digest_wellformed(digest))
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.80s' is not a digest", digest);
    int status = ask_api(registry, reference, digest, artifact_type, out, seen, &local);
    /* as registries without it answer, beside 404 */
    bool none = local.http_status == 400 || local.http_status == 405 || local.http_status == 406 ||
                local.http_status == 501;
    status = status < 0 && none ? OCV_ERR_NOT_FOUND : status;
    if (api)
        *api = status == OCV_OK;
    if (status < 0 && status != OCV_ERR_NOT_FOUND) {
        if (err)
            *err = local;
        return status;
    }
    if (!json_array_size(out)) { /* or pushed before the registry had the API: in a tag */
        ocv_auto(ocv_reference) tagged = NULL;
        struct ocv_descriptor d;
        size_t entries;
        ocv_auto_buffer body;
        ocv_buffer_init(&body, OCV_MANIFEST_MAX);
        OCV_TRY(ocv_reference_for_digest(reference, digest, "", &tagged, err));
        status = ocv_registry_get(registry, tagged, NULL, &body, &d, err);
        if (status == OCV_OK)
            OCV_TRY(ocv_referrers_read(tagged->tag, &body, out, seen, &entries, err));
        else if (status != OCV_ERR_NOT_FOUND)
            return status;
        else if (err)
            *err = (struct ocv_error){0};
    }
    return ocv_json_append(out, JSON_COMPACT, list, err);
}
