/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `variantctl derive` prints of one image, directory or file. */
#ifndef OCV_DERIVE_H
#define OCV_DERIVE_H

#include "lib/content/derived.h"
#include "ocivariant/digest.h"

#include <jansson.h>

/** One that was read. */
struct derive_result {
    const char *name;   /**< as given, with the label of an entry of an index behind it */
    const char *config; /**< the image's configuration, JSON; NULL: none */
    size_t config_len;
    struct ocv_content content;
    char attached[OCV_DIGEST_MAX]; /**< the referrer that was written, or empty */
};

/** A table for people. */
int derive_format_text(const struct derive_result *result, struct ocv_buffer *out,
                       struct ocv_error *err);
/** The same as a value of schema/derive.schema.json; NULL without memory. */
json_t *derive_format_json(const struct derive_result *result);
/** A self-contained page with all results. */
int derive_format_page(const struct derive_result *results, size_t n, struct ocv_buffer *out,
                       struct ocv_error *err);

/** What the configuration or a framework says of itself: "CUDA_VERSION=12.8.1", "torch: cuda 12.8".
 *  `visit` is called for each. */
void derive_words(const struct derive_result *result,
                  void (*visit)(void *data, const char *source, const char *words), void *data);
/** What was not looked at in files, as above: once for each reason. */
void derive_unseen(const struct derive_result *result,
                   void (*visit)(void *data, const char *source, const char *words), void *data);
/** What is taken off the image by a build for `target` alone, in percent of all its bytes. */
int derive_saving(const struct derive_result *result, const struct ocv_content_target *target);
/** "machine code", "PTX", ... */
const char *derive_kind(enum ocv_content_fact fact);

#endif
