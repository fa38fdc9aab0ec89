/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose signature the images here have, by the records of what vpull and variantd verified. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdio.h>
#include <string.h>

static int take_document(json_t *all, const char *repository, const char *digest, const char *key)
{
    char name[1024];
    snprintf(name, sizeof(name), "%s@%s", repository, digest);
    return json_object_set_new(all, name, json_string(key)) < 0 ? OCV_ERR_NOMEM : OCV_OK;
}

static int take_record(void *data, const struct ocv_trusted *record)
{
    size_t i;
    json_t *member;
    OCV_TRY(take_document(data, record->repository, record->digest, record->key));
    json_array_foreach(record->members, i, member)
    {
        if (json_is_string(member))
            OCV_TRY(
                take_document(data, record->repository, json_string_value(member), record->key));
    }
    return OCV_OK;
}

int signed_read(const char *records, json_t **out, struct ocv_error *err)
{
    *out = json_object();
    return *out ? ocv_trusted_walk(records, take_record, *out, err) : ocv_error_nomem(err);
}

const char *signed_by(const json_t *all, const struct local_image *image,
                      const struct ocv_reference *reference)
{
    char name[1024];
    for (size_t i = 0; i < image->n_digests; i++) {
        const char *repository = image->repositories && image->repositories[i]
                                     ? image->repositories[i]
                                 : reference ? reference->name
                                             : "";
        snprintf(name, sizeof(name), "%s@%s", repository, image->digests[i]);
        const char *key = ocv_json_text(all, name);
        if (key)
            return key;
    }
    return NULL;
}

const char *signed_wanting(const struct ocv_config *config, const struct ocv_reference *reference,
                           const char *key)
{
    struct ocv_trust_rule rules[2];
    size_t n = reference ? ocv_config_trust(config, reference, rules) : 0;
    for (size_t i = 0; i < n; i++) {
        ocv_auto(ocv_signature_keys) keys = NULL;
        if (rules[i].require && rules[i].n_keys &&
            (!key || trust_keys(&rules[i], &keys, NULL) < 0 || !ocv_signature_keys_have(keys, key)))
            return rules[i].origin;
    }
    return NULL;
}
