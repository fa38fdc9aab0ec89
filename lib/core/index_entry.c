/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One entry of an index: descriptor, platform, label and properties. A malformed entry is rejected
 * by itself; a document that is not an index is an error. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/core/core_internal.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const reject_names[OCV_REJECT_MAX] = {
    [OCV_REJECT_NONE] = "none",
    [OCV_REJECT_PLATFORM] = "platform",
    [OCV_REJECT_PLATFORM_VARIANT] = "platform-variant",
    [OCV_REJECT_OS_FEATURES] = "os-features",
    [OCV_REJECT_UNKNOWN_PLATFORM] = "unknown-platform",
    [OCV_REJECT_ATTESTATION] = "attestation",
    [OCV_REJECT_ARTIFACT] = "artifact",
    [OCV_REJECT_MEDIA_TYPE] = "media-type",
    [OCV_REJECT_NESTED] = "nested",
    [OCV_REJECT_DIGEST_ALGORITHM] = "digest-algorithm",
    [OCV_REJECT_LABEL_MISSING] = "label-missing",
    [OCV_REJECT_PROPERTIES_MISSING] = "properties-missing",
    [OCV_REJECT_BAD_LABEL] = "bad-label",
    [OCV_REJECT_BAD_PROPERTIES] = "bad-properties",
    [OCV_REJECT_TOO_LONG] = "too-long",
    [OCV_REJECT_DUPLICATE_LABEL] = "duplicate-label",
    [OCV_REJECT_NULL_WITH_PROPERTIES] = "null-with-properties",
    [OCV_REJECT_EMPTY_NOT_NULL] = "empty-not-null",
    [OCV_REJECT_SCHEMA] = "schema",
    [OCV_REJECT_NAMESPACE_UNDECLARED] = "namespace-undeclared",
    [OCV_REJECT_NAMESPACE_UNSUPPORTED] = "namespace-unsupported",
    [OCV_REJECT_FEATURE_UNSUPPORTED] = "feature-unsupported",
    [OCV_REJECT_VALUE_UNSUPPORTED] = "value-unsupported",
    [OCV_REJECT_DEVICE] = "device",
    [OCV_REJECT_NO_DEVICE] = "no-device",
    [OCV_REJECT_DISABLED] = "disabled",
    [OCV_REJECT_NOT_REQUESTED] = "not-requested",
    [OCV_REJECT_FOREIGN_ARCHITECTURE] = "foreign-architecture",
    [OCV_REJECT_REQUIREMENT] = "requirement",
    [OCV_REJECT_MALFORMED] = "malformed",
    [OCV_REJECT_AMBIGUOUS] = "ambiguous",
    [OCV_REJECT_DENIED] = "denied",
};

const char *ocv_reject_name(enum ocv_reject code)
{
    if ((unsigned)code >= OCV_REJECT_MAX || !reject_names[code])
        return "unknown";
    return reject_names[code];
}

static int read_platform(struct ocv_index *index, const json_t *platform, struct ocv_entry *entry,
                         struct ocv_error *err)
{
    static const char what[] = "entry";
    if (!platform || json_is_null(platform))
        return OCV_OK;
    if (!json_is_object(platform))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: platform is not an object", what);
    struct ocv_platform *p = &entry->platform;
    OCV_TRY(ocv_json_string(platform, what, "os", &p->os, err));
    OCV_TRY(ocv_json_string(platform, what, "architecture", &p->architecture, err));
    OCV_TRY(ocv_json_string(platform, what, "variant", &p->variant, err));
    OCV_TRY(ocv_json_string(platform, what, "os.version", &p->os_version, err));
    entry->has_platform = (p->os && *p->os) || (p->architecture && *p->architecture);

    /* a set, so it is kept sorted: two entries with the same ones are easy to find */
    const json_t *list = json_object_get(platform, "os.features");
    if (!list)
        return OCV_OK;
    size_t n = json_array_size(list);
    if (!json_is_array(list))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: os.features is not a list", what);
    const char **features = ocv_arena_alloc(&index->arena, n, sizeof(char *));
    if (n && !features)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        features[i] = json_string_value(json_array_get(list, i));
        if (!features[i])
            return ocv_error_set(err, OCV_ERR_DATA, "%s: os.features has a non-string", what);
    }
    if (n > 1)
        qsort(features, n, sizeof(*features), ocv_text_order);
    p->os_features = features;
    p->n_os_features = n;
    return OCV_OK;
}

/* Entries that are not images, whatever their annotations say. */
static enum ocv_reject skip_code(const struct ocv_entry *entry, const json_t *object,
                                 const json_t *annotations)
{
    const char *artifact = ocv_json_text(object, "artifactType");
    if (json_object_get(annotations, "vnd.docker.reference.type"))
        return OCV_REJECT_ATTESTATION;
    if (!strcmp(entry->media_type, OCV_MEDIA_TYPE_INDEX) ||
        !strcmp(entry->media_type, OCV_MEDIA_TYPE_DOCKER_LIST))
        return OCV_REJECT_NESTED;
    if (!ocv_media_type_is_manifest(entry->media_type))
        return OCV_REJECT_MEDIA_TYPE;
    /* of a real image: BuildKit and podman may repeat the config's type there */
    if (artifact && *artifact && strcmp(artifact, OCV_MEDIA_TYPE_CONFIG) != 0 &&
        strcmp(artifact, "application/vnd.docker.container.image.v1+json") != 0 &&
        !ocv_media_type_is_manifest(artifact))
        return OCV_REJECT_ARTIFACT;
    const struct ocv_platform *p = &entry->platform;
    if (entry->has_platform && p->os && p->architecture && !strcmp(p->os, "unknown") &&
        !strcmp(p->architecture, "unknown"))
        return OCV_REJECT_UNKNOWN_PLATFORM;
    if (!ocv_digest_known(entry->digest))
        return OCV_REJECT_DIGEST_ALGORITHM;
    return OCV_REJECT_NONE;
}

int ocv_index_reject_entry(struct ocv_index *index, struct ocv_entry *entry, enum ocv_reject code,
                           const char *detail, struct ocv_error *err)
{
    if (entry->code != OCV_REJECT_NONE)
        return OCV_OK;
    entry->code = code;
    char *copy = ocv_arena_text(&index->arena, detail);
    if (!copy)
        return ocv_error_nomem(err);
    ocv_text_clean(copy);
    entry->detail = copy;
    return OCV_OK;
}

/* Label and properties of one entry. `*set` stays NULL for a non-variant or a malformed list. */
static int read_variant(struct ocv_index *index, struct ocv_entry *entry, const json_t *annotations,
                        struct ocv_properties **set, struct ocv_error *err)
{
    const json_t *label = json_object_get(annotations, OCV_ANNOTATION_LABEL);
    const json_t *list = json_object_get(annotations, OCV_ANNOTATION_PROPERTIES);
    entry->kind = OCV_ENTRY_NON_VARIANT;
    if (!label && !list)
        return OCV_OK;
    index->has_variants = true;
    entry->kind = OCV_ENTRY_VARIANT;
    entry->label = json_string_value(label);
    if (!label)
        return ocv_index_reject_entry(index, entry, OCV_REJECT_LABEL_MISSING,
                                      "properties without a label", err);
    if (!entry->label || !ocv_label_readable(entry->label, strlen(entry->label))) {
        entry->label = NULL; /* may hold anything; other faults are reported first */
        return ocv_index_reject_entry(index, entry, OCV_REJECT_BAD_LABEL,
                                      "the label is not 1 to 63 of a-z 0-9 _ .", err);
    }
    if (!list)
        return ocv_index_reject_entry(index, entry, OCV_REJECT_PROPERTIES_MISSING,
                                      "a label without properties", err);
    const char *text = json_string_value(list);
    if (!text)
        return ocv_index_reject_entry(index, entry, OCV_REJECT_BAD_PROPERTIES,
                                      "the properties are not a string", err);
    size_t len = strlen(text);
    if (ocv_properties_pieces((struct ocv_span){text, len}) > OCV_ENTRY_PROPERTIES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "index: entry %zu has more than %u properties",
                             entry->position, OCV_ENTRY_PROPERTIES_MAX);
    if (len > OCV_ENTRY_PROPERTIES_BYTES_MAX)
        return ocv_index_reject_entry(index, entry, OCV_REJECT_TOO_LONG,
                                      "more than 4,000 bytes of properties", err);
    struct ocv_error parse = {0};
    if (ocv_properties_parse(text, len, set, &parse) < 0) {
        if (parse.status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        return ocv_index_reject_entry(index, entry, OCV_REJECT_BAD_PROPERTIES, parse.message, err);
    }
    bool is_null = !strcmp(entry->label, "null");
    size_t n = ocv_properties_count(*set);
    if (is_null && n)
        return ocv_index_reject_entry(
            index, entry, OCV_REJECT_NULL_WITH_PROPERTIES,
            "the label null is reserved for the variant without properties", err);
    if (!is_null && n == 0)
        return ocv_index_reject_entry(index, entry, OCV_REJECT_EMPTY_NOT_NULL,
                                      "a variant without properties must be labelled null", err);
    if (is_null)
        entry->kind = OCV_ENTRY_NULL;
    return OCV_OK;
}

int ocv_index_read_entry(struct ocv_index *index, size_t i, const json_t *object,
                         struct ocv_properties **set, struct ocv_error *err)
{
    struct ocv_entry *entry = &index->entries[i];
    struct ocv_error local = {0};
    entry->position = i;
    const json_t *annotations = json_object_get(object, "annotations");
    int status = ocv_json_descriptor(object, "entry", &entry->media_type, &entry->digest,
                                     &entry->size, &local);
    if (status == OCV_OK)
        status = read_platform(index, json_object_get(object, "platform"), entry, &local);
    if (status == OCV_OK && annotations && !json_is_object(annotations))
        status = ocv_error_set(&local, OCV_ERR_DATA, "entry: annotations is not an object");
    if (status == OCV_ERR_DATA) { /* it loses itself, not the index */
        *entry = (struct ocv_entry){
            .position = i, .kind = OCV_ENTRY_NON_VARIANT, .media_type = "", .digest = ""};
        return ocv_index_reject_entry(index, entry, OCV_REJECT_MALFORMED, local.message, err);
    }
    if (status < 0) {
        if (err)
            *err = local;
        return status;
    }
    entry->code = skip_code(entry, object, annotations);
    return read_variant(index, entry, annotations, set, err);
}
