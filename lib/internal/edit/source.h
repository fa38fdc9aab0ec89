/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files that read an index's YAML share. */
#ifndef OCV_EDIT_SOURCE_H
#define OCV_EDIT_SOURCE_H

#include "lib/base/format/yaml.h"
#include "lib/internal/edit/edit_internal.h"

#define OCV_SOURCE_ANNOTATIONS_MAX 256u
/* ": " begins a value in YAML */
#define OCV_SOURCE_QUOTING_HINT "put properties in quotes: 'nvidia :: sm_arch :: 90_real'"

struct ocv_source_image {
    const char *label, *reference, *platform;
    bool shared;
    struct ocv_properties *properties;
    const struct ocv_yaml *node; /* of `properties`, or NULL */
    size_t line, image_line;
};

struct ocv_edit_source {
    struct ocv_yaml *tree;
    const char *target;
    bool has_layout, derive;
    enum ocv_edit_layout layout;
    struct ocv_source_image *images;
    size_t n_images;
    struct {
        char *key, *value;
    } annotations[OCV_SOURCE_ANNOTATIONS_MAX];
    size_t n_annotations;
};

/** What the file may hold. */
extern const struct ocv_yaml_rule ocv_edit_source_rule;

/* The nodes below are checked against it. */

/** `properties:` of a variant, a list or a map of namespaces. */
int ocv_edit_source_properties(const struct ocv_yaml_reader *r, const struct ocv_yaml *node,
                               struct ocv_properties **out);
/** The line of a property in that node; 0: it is not there. */
size_t ocv_edit_source_property_line(const struct ocv_yaml *node, const char *property);
/** `namespaces:`, `static:` and `annotations:` (NULL: none), as annotations of the index. */
int ocv_edit_source_annotations(struct ocv_edit_source *s, const struct ocv_yaml_reader *r);

#endif
