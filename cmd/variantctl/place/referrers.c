/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Referrers of a manifest in a place: of a registry as ocv_registry_referrers gives them, of a
 * layout those of the fallback tag. Where there is no API, whoever adds one writes that list. */
#include "cmd/variantctl/place/place.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

/* The list under the fallback tag. */
static int ask_tag(struct place *place, const char *digest, json_t *out, struct ocv_error *err)
{
    char tag[128];
    struct ocv_descriptor d;
    ocv_auto_json *root = NULL;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    referrers_tag(digest, tag);
    int status = place_get(place, tag, &body, &d, err);
    if (status == OCV_ERR_NOT_FOUND)
        return OCV_OK;
    OCV_TRY(status);
    OCV_TRY(ocv_json_load_counted(tag, body.data, body.len, OCV_MANIFEST_MAX, OCV_JSON_VALUES_MAX,
                                  &root, err));
    json_t *list = json_object_get(root, "manifests");
    if (list && !json_is_array(list))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: the list of referrers is malformed", tag);
    return list && json_array_extend(out, list) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

void referrers_tag(const char *digest, char out[128])
{
    const char *colon = strchr(digest, ':');
    snprintf(out, 128, "%.*s-%.64s", (int)(colon - digest > 32 ? 32 : colon - digest), digest,
             colon + 1);
}

int list_referrers(struct place *place, const char *digest, bool *api, json_t *out,
                   struct ocv_error *err)
{
    *api = false;
    if (!place->reference)
        return ask_tag(place, digest, out, err);
    ocv_auto_json *list = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 2 * OCV_MANIFEST_MAX);
    OCV_TRY(ocv_registry_referrers(place->cli->registry, place->reference, digest, NULL, &text, api,
                                   err));
    list = ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, 0, NULL);
    return !list || json_array_extend(out, list) < 0 ? ocv_error_nomem(err) : OCV_OK;
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
