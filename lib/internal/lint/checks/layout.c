/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Documents and entries as older clients see them: media types, what is there, what is attached
 * (OCV506, 511 to 513, 515 to 520, 525). Platforms are in platforms.c. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/lint/lint_internal.h"

#include <string.h>

/* Before the index is parsed: one that is too large gets no other finding. */
void ocv_lint_check_size(struct ocv_lint *lint)
{
    ocv_lint_index_at(lint, OCV_LINT_INDEX_TOO_LARGE, "",
                      "the index has %zu bytes, more than %u (4 MiB)", lint->input->len,
                      OCV_MANIFEST_MAX);
    ocv_lint_hint(lint, "leave attestations out, or shorten annotations");
}

#define LEVELS_MAX 64u /* of an index that are looked at for null */

static void check_types(struct ocv_lint *lint)
{
    const char *type = ocv_json_text(lint->root, "mediaType");
    if (!type) {
        ocv_lint_index_at(lint, OCV_LINT_MEDIA_TYPE_MISSING, "", "the index has no mediaType");
        ocv_lint_hint(lint, "--fix adds %s", OCV_MEDIA_TYPE_INDEX);
        type = lint->input->media_type ? lint->input->media_type : OCV_MEDIA_TYPE_INDEX;
    }
    bool docker = !strcmp(type, OCV_MEDIA_TYPE_DOCKER_LIST);
    if (docker && ocv_index_has_variants(lint->index)) {
        ocv_lint_index_at(lint, OCV_LINT_DOCKER_LIST, "/mediaType",
                          "a Docker manifest list has no annotations, and so no variants");
        ocv_lint_hint(lint, "variantctl index create writes an OCI index over the same images");
        return;
    }
    for (size_t i = 0; i < ocv_index_count(lint->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        if (entry->code == OCV_REJECT_MEDIA_TYPE || entry->code == OCV_REJECT_MALFORMED ||
            !strncmp(entry->media_type, "application/vnd.docker.", 23) == docker)
            continue;
        ocv_lint_entry_at(lint, OCV_LINT_MEDIA_TYPES_MIXED, i, "/mediaType", "%.200s in %.200s",
                          entry->media_type, type);
        ocv_lint_hint(lint, "push the image in one format: skopeo copy --format %s",
                      docker ? "v2s2" : "oci");
        return; /* one finding is enough */
    }
}

#define SNAPSHOT "containerd.io/snapshot/"
#define SNAPSHOT_MAX 4096u /* key and value together (reference: containerd labels.Validate) */

static void check_layers(struct ocv_lint *lint, size_t i, const json_t *manifest)
{
    const json_t *layers = json_object_get(manifest, "layers"), *layer;
    size_t n;
    json_array_foreach((json_t *)layers, n, layer)
    {
        const char *key;
        json_t *value;
        json_object_foreach(json_object_get(layer, "annotations"), key, value)
        {
            size_t len = strlen(key) + json_string_length(value);
            if (strncmp(key, SNAPSHOT, strlen(SNAPSHOT)) != 0 || len <= SNAPSHOT_MAX)
                continue;
            ocv_lint_entry_at(lint, OCV_LINT_SNAPSHOT_LABEL_TOO_LONG, i, "",
                              "layer %zu: %.100s and its value have %zu bytes, at most %u", n, key,
                              len, SNAPSHOT_MAX);
            ocv_lint_hint(lint, "push the image without that annotation, and list that one");
        }
    }
    size_t count = json_array_size(layers);
    const json_t *top = count ? json_array_get(layers, count - 1) : NULL;
    const char *named =
        ocv_json_text(json_object_get(top, "annotations"), SNAPSHOT OCV_ANNOTATION_LABEL);
    bool is_default = ocv_index_entry(lint->index, i)->kind == OCV_ENTRY_NON_VARIANT;
    const char *label = is_default ? "null" : ocv_lint_label(lint, i);
    if (named && strcmp(named, label) != 0) {
        ocv_lint_entry_at(lint, OCV_LINT_SNAPSHOT_LABEL_DISAGREES, i, "/annotations",
                          "the top layer says '%.64s', the entry '%.64s'", named, label);
        ocv_lint_hint(lint, "variantctl index create --relabel writes what the index says");
    }
}

void ocv_lint_check_layout(struct ocv_lint *lint)
{
    check_types(lint);
    /* Bytes that were read: readers here see such members no more. */
    ocv_auto_free char *null = NULL;
    const struct ocv_lint_input *input = lint->input;
    lint->status = ocv_lint_null_member(input->bytes, input->len, LEVELS_MAX, &null, lint->err);
    if (lint->status == OCV_OK && null)
        ocv_lint_index_at(lint, OCV_LINT_NULL_MEMBER, null, "the index has null at %s", null);
    for (size_t i = 0; i < ocv_index_count(lint->index) && lint->status == OCV_OK; i++) {
        const struct ocv_lint_child *child = ocv_lint_child(lint, i);
        if (child && child->null_manifest)
            ocv_lint_entry_at(lint, OCV_LINT_NULL_MEMBER, i, "", "its manifest has null at %s",
                              child->null_manifest);
        else if (child && child->null_config)
            ocv_lint_entry_at(lint, OCV_LINT_NULL_MEMBER, i, "", "its configuration has null at %s",
                              child->null_config);
    }
    for (size_t i = 0; i < ocv_index_count(lint->index) && lint->status == OCV_OK; i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        const struct ocv_lint_child *child = i < input->n_children ? &input->children[i] : NULL;
        const json_t *object = ocv_lint_entry_json(lint, i);
        if (entry->code == OCV_REJECT_MALFORMED) {
            ocv_lint_entry_at(lint, OCV_LINT_CHILD_BROKEN, i, "", "%s", entry->detail);
            ocv_lint_hint(lint, "write the index again without the entry: readers leave it out, or "
                                "refuse the index");
        } else if (entry->code == OCV_REJECT_NESTED) {
            ocv_lint_entry_at(lint, OCV_LINT_INDEX_NESTED, i, "/mediaType",
                              "an index in the index");
            ocv_lint_hint(lint,
                          "list its images instead: variantctl index create %s, with "
                          "[LABEL=]REPOSITORY@DIGEST for each of them",
                          ocv_lint_target(lint));
        } else if (entry->code == OCV_REJECT_MEDIA_TYPE || entry->code == OCV_REJECT_ARTIFACT) {
            ocv_lint_entry_at(
                lint, OCV_LINT_ENTRY_NOT_IMAGE, i, "/mediaType", "%.200s is not an image",
                entry->code == OCV_REJECT_ARTIFACT ? ocv_json_text(object, "artifactType")
                                                   : entry->media_type);
        }
        bool urls = json_object_get(object, "urls") != NULL;
        if (entry->code != OCV_REJECT_MALFORMED && (urls || json_object_get(object, "data")))
            ocv_lint_entry_at(lint, OCV_LINT_URLS_OR_DATA, i, urls ? "/urls" : "/data",
                              "%s is not used by readers", urls ? "urls" : "data");
        if (child && child->state == OCV_LINT_STATE_MISSING) {
            ocv_lint_entry_at(lint, OCV_LINT_CHILD_MISSING, i, "/digest", "%s is not there",
                              entry->digest);
            ocv_lint_hint(
                lint,
                "push it into the repository of the index, or variantctl index remove %s %s; in a "
                "sparse copy it is missing on purpose (variantctl index copy --for FLEET --update)",
                ocv_lint_target(lint), entry->digest);
        } else if (child && child->state == OCV_LINT_STATE_BROKEN) {
            ocv_lint_entry_at(lint, OCV_LINT_CHILD_BROKEN, i, "/digest", "%s",
                              child->problem ? child->problem
                                             : "the image does not match its descriptor");
            ocv_lint_hint(lint, "push the image again and rewrite the index");
        } else if (child && child->state == OCV_LINT_STATE_READ && child->manifest &&
                   !ocv_lint_attests(lint, i)) {
            check_layers(lint, i, child->manifest);
        }
    }
}
