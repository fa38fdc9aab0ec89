/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file property.h
 * Properties "namespace :: feature :: value" and labels (PEP 825; schema/annotations.md, "Words").
 *
 * Ownership: the caller owns a set and frees it; the strings of its properties are borrowed from
 * it. Thread safety: a set never changes, so any number of threads may read it.
 */
#ifndef OCIVARIANT_PROPERTY_H
#define OCIVARIANT_PROPERTY_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One property. Strings are borrowed from the object that gave it. */
struct ocv_property {
    const char *ns;
    const char *feature;
    const char *value;
};

/** True if the `len` bytes at `s` are a namespace or feature: [a-z0-9_]+. */
OCV_API bool ocv_property_name_valid(const char *s, size_t len);
/** True if they are a value: [a-z0-9_.]+. */
OCV_API bool ocv_property_value_valid(const char *s, size_t len);
/** True if readers accept the label: [a-z0-9_.]{1,63}, not "." or "..". */
OCV_API bool ocv_label_readable(const char *s, size_t len);
/** True if writers may produce the label: [a-z0-9]+([._][a-z0-9]+)*, at most 48 characters. */
OCV_API bool ocv_label_valid(const char *s, size_t len);

/** A sorted set of properties (namespace, feature, value; byte order), without duplicates. */
struct ocv_properties;
/** Parse "ns :: feature :: value, ..." with free whitespace; an empty or blank list is the empty
 *  set. More than 4,000 bytes or 512 properties, or bad syntax: OCV_ERR_DATA. */
OCV_API int ocv_properties_parse(const char *text, size_t len, struct ocv_properties **out,
                                 struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_properties_free(struct ocv_properties *properties);
/** Number of properties in the set. */
OCV_API size_t ocv_properties_count(const struct ocv_properties *properties);
/** The i-th one in sorted order; its strings live as long as the set. */
OCV_API struct ocv_property ocv_properties_get(const struct ocv_properties *properties, size_t i);
/** Append the canonical form: sorted, one space around `::`, joined by ", ". */
OCV_API int ocv_properties_format(const struct ocv_properties *properties, struct ocv_buffer *out,
                                  struct ocv_error *err) OCV_WARN_UNUSED;

OCV_DEFINE_CLEANUP(ocv_properties)

#ifdef __cplusplus
}
#endif
#endif
