/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where the signatures of an image are: manifests that refer to it, as cosign 3 writes them, and
 * the manifest under its own tag, of cosign 1 and 2. Each layer of one is a signature. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/registry/registry_internal.h"
#include "ocivariant/signature.h"

#include <string.h>

#define TAG_SUFFIX ".sig"
#define SIGNATURE_ANNOTATION "dev.cosignproject.cosign/signature"
#define BUNDLE_ARTIFACT "application/vnd.dev.sigstore.bundle"

struct search {
    struct ocv_registry *registry;
    const struct ocv_reference *reference;
    const struct ocv_signature_keys *keys;
    const struct ocv_signature_subject *subject;
    struct ocv_signature *out;
    unsigned seen;         /* signatures that were looked at */
    unsigned left;         /* documents that may still be asked for, of this place */
    bool too_many;         /* not all were */
    struct ocv_error last; /* why the last one is not good */
};

static bool is_signature(const char *media_type)
{
    return media_type && (!strcmp(media_type, OCV_SIGNATURE_BUNDLE) ||
                          !strcmp(media_type, OCV_SIGNATURE_PAYLOAD));
}

/* OCV_ERR_UNTRUSTED: none of the layers is good. */
static int check_layers(struct search *s, const json_t *layers, struct ocv_error *err)
{
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        const char *type = ocv_json_text(layer, "mediaType");
        const char *digest = ocv_json_text_or(layer, "digest", "");
        json_int_t size = json_integer_value(json_object_get(layer, "size"));
        struct ocv_descriptor d = {.size = size};
        if (!is_signature(type) || !ocv_digest_known(digest) ||
            (s->subject->document && strcmp(s->subject->document, digest) != 0))
            continue;
        if (!s->left) {
            s->too_many = true;
            break;
        }
        s->left--;
        s->seen++;
        if (size <= 0 || size > (json_int_t)OCV_SIGNATURE_MAX) {
            ocv_error_set(&s->last, OCV_ERR_UNTRUSTED, "it is too large for a signature");
            continue;
        }
        ocv_auto_buffer bytes;
        ocv_buffer_init(&bytes, OCV_SIGNATURE_MAX);
        snprintf(d.digest, sizeof(d.digest), "%s", digest);
        snprintf(d.media_type, sizeof(d.media_type), "%s", type);
        int status = ocv_registry_get_blob(s->registry, s->reference, &d, &bytes, err);
        if (status == OCV_ERR_NOT_FOUND || status == OCV_ERR_MISMATCH || status == OCV_ERR_DATA ||
            status == OCV_ERR_DENIED) { /* of this one alone */
            ocv_error_set(&s->last, OCV_ERR_UNTRUSTED, "it cannot be read: %s",
                          err ? err->message : "not there");
            continue;
        }
        OCV_TRY(status);
        const char *signature =
            ocv_json_text(json_object_get(layer, "annotations"), SIGNATURE_ANNOTATION);
        status = ocv_signature_check(s->keys, type, bytes.data, bytes.len, signature, s->subject,
                                     s->out, &s->last);
        if (status != OCV_ERR_UNTRUSTED)
            return status;
    }
    return OCV_ERR_UNTRUSTED;
}

/* It counts, and why is in `last`. */
static int unread(struct search *s)
{
    s->seen++;
    return OCV_ERR_UNTRUSTED;
}

/* A manifest by digest, or by the reference's tag. */
static int check_manifest(struct search *s, const struct ocv_reference *reference,
                          const char *digest, struct ocv_error *err)
{
    struct ocv_descriptor d;
    ocv_auto_json *root = NULL;
    ocv_auto_buffer body;
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    int status = ocv_registry_get(s->registry, reference, digest, &body, &d, err);
    if (status == OCV_ERR_NOT_FOUND)
        return OCV_ERR_UNTRUSTED;
    if (status == OCV_ERR_MISMATCH || status == OCV_ERR_DATA) {
        s->last = err ? *err : s->last;
        return unread(s);
    }
    OCV_TRY(status);
    if (ocv_json_load_counted("manifest", body.data, body.len, OCV_MANIFEST_MAX,
                              OCV_JSON_VALUES_MAX, &root, &s->last) < 0)
        return unread(s);
    return check_layers(s, json_object_get(root, "layers"), err);
}

static int check_referrers(struct search *s, struct ocv_error *err)
{
    ocv_auto_json *list = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 2 * OCV_MANIFEST_MAX);
    s->left = 2 * OCV_SIGNATURES_MAX;
    int listed = ocv_registry_referrers(s->registry, s->reference, s->subject->digest,
                                        OCV_SIGNATURE_BUNDLE, &text, NULL, err);
    if (listed == OCV_ERR_DATA) { /* too many, or malformed: another place may have a signature */
        s->last = err ? *err : s->last;
        return unread(s);
    }
    OCV_TRY(listed);
    list = ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, 0, NULL);
    if (!list)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *type = ocv_json_text_or(entry, "artifactType", "");
        const char *digest = ocv_json_text_or(entry, "digest", "");
        if (!ocv_digest_known(digest) ||
            strncmp(type, BUNDLE_ARTIFACT, strlen(BUNDLE_ARTIFACT)) != 0)
            continue;
        if (!s->left) {
            s->too_many = true;
            break;
        }
        s->left--;
        int status = check_manifest(s, s->reference, digest, err);
        if (status != OCV_ERR_UNTRUSTED)
            return status;
    }
    return OCV_ERR_UNTRUSTED;
}

int ocv_registry_verify(struct ocv_registry *registry, const struct ocv_reference *reference,
                        const struct ocv_signature_keys *keys,
                        const struct ocv_signature_subject *subject, struct ocv_signature *out,
                        struct ocv_error *err)
{
    struct search s = {
        .registry = registry, .reference = reference, .keys = keys, .subject = subject, .out = out};
    ocv_auto(ocv_reference) tagged = NULL;
    if (!ocv_digest_known(subject->digest))
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.80s' is not a digest", subject->digest);
    OCV_TRY(ocv_reference_for_digest(reference, subject->digest, TAG_SUFFIX, &tagged, err));
    /* Each place has its turn: what one does not tell, another may. */
    struct ocv_error failure = {0}, here = {0};
    int status = check_referrers(&s, &here);
    s.left = 2 * OCV_SIGNATURES_MAX;
    if (status != OCV_OK) {
        if (status != OCV_ERR_UNTRUSTED)
            failure = here;
        here = (struct ocv_error){0};
        status = check_manifest(&s, tagged, NULL, &here);
        if (status != OCV_OK && status != OCV_ERR_UNTRUSTED)
            failure = here;
    }
    if (status != OCV_OK && failure.status) {
        if (err)
            *err = failure;
        return failure.status;
    }
    if (status != OCV_ERR_UNTRUSTED)
        return status;
    if (!s.seen && subject->document)
        ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s@%s: the signature %s is not there",
                      reference->name, subject->digest, subject->document);
    else if (!s.seen)
        ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s@%s is not signed", reference->name,
                      subject->digest);
    else
        ocv_error_set(err, OCV_ERR_UNTRUSTED, "%s@%s: none of %u signature%s is good%s: %s",
                      reference->name, subject->digest, s.seen, s.seen == 1 ? "" : "s",
                      s.too_many ? " (there are more, which were not looked at)" : "",
                      s.last.message);
    return OCV_ERR_UNTRUSTED;
}
