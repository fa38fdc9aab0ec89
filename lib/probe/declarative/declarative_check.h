/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of single nodes of a declarative provider's file. Each returns OCV_ERR_CONFIG with file
 * and line for a node that is not what its name says. */
#ifndef OCV_DECLARATIVE_CHECK_H
#define OCV_DECLARATIVE_CHECK_H

#include "lib/probe/declarative/declarative.h"

struct ocv_check {
    const char *source;
    struct ocv_error *err;
    const struct ocv_yaml *features; /* once they are checked */
};

typedef int (*ocv_checker)(const struct ocv_check *r, const struct ocv_yaml *node);

/** A key of a map. */
struct ocv_check_field {
    const char *key;
    bool required;
    ocv_checker check;
};

/** "SOURCE:LINE: 'KEY OR TEXT' ..." */
__attribute__((format(printf, 3, 4))) int
ocv_check_complain(const struct ocv_check *r, const struct ocv_yaml *node, const char *format, ...);
int ocv_check_map(const struct ocv_check *r, const struct ocv_yaml *node,
                  const struct ocv_check_field *fields, size_t n);
int ocv_check_list(const struct ocv_check *r, const struct ocv_yaml *node, ocv_checker check);
int ocv_check_text(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_schema(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_name(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_value(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_id(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_component(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_path(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_virtual(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_values(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_ids(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_classes(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_revisions(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_components(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_texts(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_sources(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_true(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_memory(const struct ocv_check *r, const struct ocv_yaml *node);
int ocv_check_named(const struct ocv_check *r, const struct ocv_yaml *node, ocv_checker check);
int ocv_check_attributes(const struct ocv_check *r, const struct ocv_yaml *node);

#endif
