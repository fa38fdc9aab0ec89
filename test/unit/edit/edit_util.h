/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An index as another tool wrote it, and short ways to make, change and show one. */
#ifndef EDIT_UTIL_H
#define EDIT_UTIL_H

#include "lib/internal/edit/edit.h"
#include "test/unit/core_util.h"

static struct ocv_error err;

#define ANNOTATIONS                                                      \
    "  \"annotations\" : {\"dev.ocivariant.schema\":\"1\", \"k\":\"v\"," \
    " \"dev.ocivariant.namespaces\":\"nvidia, x86_64\"},\n"
#define PLAIN                                                                        \
    "{ \"size\":5, \"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\n"  \
    "      \"digest\":\"sha256:" ZERO63 "1\", \"unknown\": [1, {\"a\":\"]}\\\"\"}]," \
    " \"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"} }"
#define ZERO63 "000000000000000000000000000000000000000000000000000000000000000"
#define CUDA                                                                                \
    "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"size\":5,"             \
    "\"digest\":\"sha256:" ZERO63 "2\",\"platform\":{\"architecture\":\"amd64\",\"os\":"    \
    "\"linux\",\"variant\":\"x-cuda\"},\"annotations\":{\"dev.ocivariant.label\":\"cuda\"," \
    "\"dev.ocivariant.properties\":\"nvidia :: sm_arch :: 90_real\"}}"
#define ATTESTATION                                                                         \
    "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"size\":5,"             \
    "\"digest\":\"sha256:" ZERO63 "3\",\"platform\":{\"architecture\":\"unknown\",\"os\":"  \
    "\"unknown\"},\"annotations\":{\"vnd.docker.reference.type\":\"attestation-manifest\"," \
    "\"vnd.docker.reference.digest\":\"sha256:" ZERO63 "2\"}}"
/* as no tool of ours would write it */
#define PRETTY                                                                          \
    "\n{ \"schemaVersion\": 2,\n" ANNOTATIONS "  \"mediaType\":\"" OCV_MEDIA_TYPE_INDEX \
    "\",\n  \"manifests\" : [\n    " PLAIN ",\n    " CUDA ",\n    " ATTESTATION         \
    "\n  ], \"other\": null }\n"

static inline struct ocv_edit *open_author(const char *text)
{
    struct ocv_edit *edit = NULL;
    int status = ocv_edit_open(text, strlen(text), NULL, OCV_EDIT_HIDDEN, &edit, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return edit;
}

static inline struct ocv_edit *new_author(enum ocv_edit_layout layout)
{
    struct ocv_edit *edit = NULL;
    ck_assert_int_eq(ocv_edit_new(layout, &edit, &err), OCV_OK);
    return edit;
}

/* Freed by the caller. */
static inline char *format(struct ocv_edit *edit)
{
    struct ocv_buffer out;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    int status = ocv_edit_format(edit, &out, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return out.data;
}

static bool replace; /* what is added takes the place of what was there */

static inline int add(struct ocv_edit *edit, unsigned n, const char *platform, const char *label,
                      const char *properties)
{
    ocv_auto(ocv_properties) set = NULL;
    ocv_auto(ocv_platform) p = NULL;
    ck_assert_int_eq(ocv_platform_parse(platform, &p, &err), OCV_OK);
    if (properties)
        ck_assert_int_eq(ocv_properties_parse(properties, strlen(properties), &set, &err), OCV_OK);
    struct ocv_edit_image image = {.label = label,
                                   .properties = set,
                                   .descriptor = {.media_type = OCV_MEDIA_TYPE_MANIFEST, .size = 5},
                                   .platform = *p,
                                   .replace = replace};
    fake_digest(image.descriptor.digest, n);
    return ocv_edit_add(edit, &image, &err);
}

static inline void must_add(struct ocv_edit *edit, unsigned n, const char *platform,
                            const char *label, const char *properties)
{
    int status = add(edit, n, platform, label, properties);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
}

/* "LABEL/VARIANT ..." of all entries, '-' for nothing. Freed by the caller. */
static inline char *outline(struct ocv_edit *edit)
{
    char *text = format(edit), *out = NULL;
    struct ocv_index *index = parse_index(text);
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        fprintf(stream, "%s%s/%s", i ? " " : "",
                e->code == OCV_REJECT_ATTESTATION ? "att"
                : e->label                        ? e->label
                                                  : "-",
                e->platform.variant ? e->platform.variant : "-");
    }
    fclose(stream);
    ocv_index_free(index);
    free(text);
    return out;
}

static inline void assert_outline(struct ocv_edit *edit, const char *expected)
{
    char *text = outline(edit);
    ck_assert_str_eq(text, expected);
    free(text);
}

static inline void assert_text(struct ocv_edit *edit, const char *expected)
{
    char *text = format(edit);
    ck_assert_str_eq(text, expected);
    free(text);
}

#endif
