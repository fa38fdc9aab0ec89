/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files that read an index's YAML share. */
#ifndef OCV_AUTHOR_SOURCE_H
#define OCV_AUTHOR_SOURCE_H

#include "lib/base/yaml_tree.h"
#include "lib/edit/edit_internal.h"

#define OCV_SOURCE_ANNOTATIONS_MAX 256u
/* ": " begins a value in YAML */
#define OCV_SOURCE_QUOTING_HINT "a property stands in quotes: 'nvidia :: sm_arch :: 90_real'"

struct ocv_source_image {
    const char *label, *reference;
    struct ocv_properties *properties;
    size_t line;
};

struct ocv_author_source {
    struct ocv_yaml *tree;
    const char *name, *target;
    bool has_layout;
    enum ocv_author_layout layout;
    struct ocv_source_image *images;
    size_t n_images;
    struct {
        char *key, *value;
    } annotations[OCV_SOURCE_ANNOTATIONS_MAX];
    size_t n_annotations;
};

/** OCV_ERR_DATA, "FILE:LINE: ...". */
int ocv_author_source_fail(const struct ocv_author_source *s, size_t line, struct ocv_error *err,
                           const char *format, ...) OCV_PRINTF(4, 5);
/** Put the line before what another function says; OCV_ERR_NOMEM stays that. */
int ocv_author_source_at(const struct ocv_author_source *s, size_t line,
                         const struct ocv_error *why, struct ocv_error *err);
/** The node is a map, with none but `keys` (NULL: any). */
int ocv_author_source_map(const struct ocv_author_source *s, const struct ocv_yaml *node,
                          const char *what, const char *const *keys, struct ocv_error *err);

/** `properties:` of a variant, a list or a map of namespaces. */
int ocv_author_source_properties(const struct ocv_author_source *s, const struct ocv_yaml *node,
                                 struct ocv_properties **out, struct ocv_error *err);

/** `namespaces:`, `static:` and `annotations:`, as annotations of the index. */
int ocv_author_source_namespaces(struct ocv_author_source *s, const struct ocv_yaml *node,
                                 struct ocv_error *err);
int ocv_author_source_static(struct ocv_author_source *s, const struct ocv_yaml *node,
                             struct ocv_error *err);
int ocv_author_source_annotations(struct ocv_author_source *s, const struct ocv_yaml *node,
                                  struct ocv_error *err);

#endif
