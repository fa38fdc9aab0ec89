/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/cri-images/images.h"

#include "gen/images.pb-c.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <string.h>

static json_t *texts_json(char *const *texts, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++)
        json_array_append_new(list, json_string(texts[i])); /* no UTF-8: left out */
    return list;
}

int images_list_json(const uint8_t *bytes, size_t len, json_t **out, struct ocv_error *err)
{
    Images__ListResponse *answer = images__list_response__unpack(NULL, len, bytes);
    if (!answer)
        return ocv_error_set(err, OCV_ERR_DATA, "malformed answer to ListImages");
    *out = json_array();
    bool whole = *out != NULL;
    for (size_t i = 0; whole && i < answer->n_images; i++) {
        const Images__Image *image = answer->images[i];
        json_t *entry = json_pack("{s:s, s:o, s:o}", "Id", image->id, "RepoTags",
                                  texts_json(image->repo_tags, image->n_repo_tags), "RepoDigests",
                                  texts_json(image->repo_digests, image->n_repo_digests));
        if (entry) /* an id that is not UTF-8 loses its image */
            whole = json_array_append_new(*out, entry) == 0;
    }
    images__list_response__free_unpacked(answer, NULL);
    return whole ? OCV_OK : ocv_error_nomem(err);
}

int images_add_config(json_t *image, const uint8_t *bytes, size_t len, struct ocv_error *err)
{
    Images__StatusResponse *answer = images__status_response__unpack(NULL, len, bytes);
    if (!answer)
        return ocv_error_set(err, OCV_ERR_DATA, "malformed answer to ImageStatus");
    int there = answer->image != NULL;
    for (size_t i = 0; i < answer->n_info; i++) {
        const char *text = answer->info[i]->value;
        ocv_auto_json *info = ocv_json_load_any(text, strlen(text), OCV_JSON_VALUES_MAX, 0, NULL);
        json_t *config = json_object_get(json_object_get(info, "imageSpec"), "config");
        if (json_is_object(config))
            json_object_set(image, "Config", config);
    }
    images__status_response__free_unpacked(answer, NULL);
    return there;
}
