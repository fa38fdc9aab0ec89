/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose signature the images here have, by the records of what vpull and variantd verified. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdio.h>
#include <string.h>

static int take_document(json_t *all, const struct ocv_trusted *record, const char *digest)
{
    char name[1024];
    snprintf(name, sizeof(name), "%s@%s", record->repository, digest);
    json_t *list = json_object_get(all, name);
    if (!list && json_object_set_new(all, name, list = json_array()) < 0)
        return OCV_ERR_NOMEM;
    json_t *by = json_pack("{s:s, s:b}", "key", record->key, "named", record->named);
    return json_array_append_new(list, by) < 0 ? OCV_ERR_NOMEM : OCV_OK;
}

static int take_record(void *data, const struct ocv_trusted *record)
{
    size_t i;
    json_t *member;
    OCV_TRY(take_document(data, record, record->digest));
    json_array_foreach(record->members, i, member)
    {
        const char *digest = json_string_value(member);
        if (digest && strcmp(digest, record->digest) != 0)
            OCV_TRY(take_document(data, record, digest));
    }
    return OCV_OK;
}

int signed_read(const char *records, json_t **out, struct ocv_error *err)
{
    *out = json_object();
    return *out ? ocv_trusted_walk(records, take_record, *out, err) : ocv_error_nomem(err);
}

json_t *signed_by(const json_t *all, const struct local_image *image,
                  const struct ocv_reference *reference)
{
    char name[1024];
    json_t *by = json_array();
    for (size_t i = 0; i < image->n_digests; i++) {
        const char *repository = image->repositories && image->repositories[i]
                                     ? image->repositories[i]
                                 : reference ? reference->name
                                             : "";
        snprintf(name, sizeof(name), "%s@%s", repository, image->digests[i]);
        json_t *list = json_object_get(all, name);
        if (list)
            (void)json_array_extend(by, list);
    }
    return by;
}

const char *signed_wanting(const struct ocv_config *config, const struct ocv_reference *reference,
                           const json_t *by)
{
    struct ocv_trust_rule rules[2];
    size_t n = reference ? ocv_config_trust(config, reference, rules) : 0;
    for (size_t i = 0; i < n; i++) {
        ocv_auto(ocv_signature_keys) keys = NULL;
        if (!rules[i].require || !rules[i].n_keys)
            continue;
        bool good = false, known = trust_keys(&rules[i], &keys, NULL) == OCV_OK;
        for (size_t k = 0; known && k < json_array_size(by) && !good; k++) {
            const json_t *one = json_array_get(by, k);
            good = ocv_signature_keys_have(keys, ocv_json_text_or(one, "key", "")) &&
                   (!rules[i].match || json_is_true(json_object_get(one, "named")));
        }
        if (!good)
            return rules[i].origin;
    }
    return NULL;
}
