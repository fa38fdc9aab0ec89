/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Makes the index that a source file of `index create --from` describes, for the checks that do not
 * need its images. Builds without a platform are assumed to share one. */
#include "lib/base/cleanup.h"
#include "lib/internal/lint/lint_internal.h"

#include <stdlib.h>
#include <string.h>

static bool is_default(const struct ocv_edit_source_image *image)
{
    return !image->label || !strcmp(image->label, "null");
}

static int put_entry(json_t *manifests, const struct ocv_edit_source *source, size_t i,
                     struct ocv_error *err)
{
    static const char *const names[] = {"amd64", "arm64", "ppc64le", "riscv64", "s390x", "loong64"};
    char digest[OCV_DIGEST_MAX];
    struct ocv_edit_source_image image = ocv_edit_source_image(source, i);
    ocv_auto(ocv_platform) platform = NULL;
    ocv_auto_buffer name;
    ocv_auto_buffer properties;
    ocv_buffer_init(&name, 16384);
    ocv_buffer_init(&properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    OCV_TRY(ocv_buffer_printf(&name, err, "%s %s", image.reference,
                              image.platform                ? image.platform
                              : image.shared && image.label ? image.label
                                                            : ""));
    OCV_TRY(ocv_digest_bytes(name.data, name.len, digest, err));
    if (image.properties)
        OCV_TRY(ocv_properties_format(image.properties, &properties, err));
    bool given = image.platform && ocv_platform_parse(image.platform, &platform, NULL) == OCV_OK;
    /* Builds with the same label get different architectures; otherwise the label would be a
     * duplicate. */
    size_t before = 0;
    for (size_t k = 0; k < i; k++) {
        struct ocv_edit_source_image other = ocv_edit_source_image(source, k);
        before += is_default(&image) ? is_default(&other)
                                     : other.label && !strcmp(other.label, image.label);
    }
    const char *architecture = names[before % (sizeof(names) / sizeof(*names))];
    json_t *entry =
        json_pack("{s:s, s:s, s:i, s:{s:s, s:s}}", "mediaType", OCV_MEDIA_TYPE_MANIFEST, "digest",
                  digest, "size", 1, "platform", "os", given ? platform->os : "linux",
                  "architecture", given ? platform->architecture : architecture);
    bool failed = !entry;
    if (entry && !is_default(&image))
        failed = json_object_set_new(entry, "annotations",
                                     json_pack("{s:s, s:s}", OCV_ANNOTATION_LABEL, image.label,
                                               OCV_ANNOTATION_PROPERTIES,
                                               properties.len ? properties.data : "")) < 0;
    return json_array_append_new(manifests, entry) < 0 || failed ? ocv_error_nomem(err) : OCV_OK;
}

int ocv_lint_run_source(const char *name, const struct ocv_edit_source *source,
                        const struct ocv_lint_options *options, struct ocv_lint_report *report,
                        struct ocv_error *err)
{
    const char *key, *value;
    size_t kept = 0;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_LINT_INDEX_MAX);
    /* of each entry the place in the source of its image */
    ocv_auto_free size_t *images = calloc(ocv_edit_source_count(source) + 1, sizeof(*images));
    json_t *manifests = json_array(), *annotations = json_object();
    ocv_auto_json *root =
        json_pack("{s:i, s:s, s:o, s:o}", "schemaVersion", 2, "mediaType", OCV_MEDIA_TYPE_INDEX,
                  "annotations", annotations, "manifests", manifests);
    if (!images || !root ||
        json_object_set_new(annotations, OCV_ANNOTATION_SCHEMA, json_string("1")) < 0)
        return ocv_error_nomem(err);
    for (size_t i = 0; ocv_edit_source_annotation(source, i, &key, &value); i++)
        if (json_object_set_new(annotations, key, json_string(value)) < 0)
            return ocv_error_nomem(err);
    for (size_t i = 0; i < ocv_edit_source_count(source); i++) {
        struct ocv_edit_source_image image = ocv_edit_source_image(source, i);
        if (ocv_edit_source_derives(source) && !image.properties && !is_default(&image))
            continue; /* derived properties are unknown until its files are read */
        images[kept++] = i;
        OCV_TRY(put_entry(manifests, source, i, err));
    }
    OCV_TRY(ocv_json_append(root, JSON_COMPACT, &text, err));
    const struct ocv_lint_input input = {.name = name,
                                         .file = true,
                                         .draft = true,
                                         .yaml = true,
                                         .partial = ocv_edit_source_derives(source),
                                         .source = source,
                                         .images = images,
                                         .bytes = text.data,
                                         .len = text.len};
    return ocv_lint_run(&input, options, report, err);
}
