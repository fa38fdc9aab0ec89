/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of `variantctl derive` for an image, a directory or a file. */
#ifndef OCV_DERIVE_H
#define OCV_DERIVE_H

#include "lib/internal/content/derived.h"
#include "ocivariant/digest.h"

#include <jansson.h>

/** Result of one input. */
struct derive_result {
    const char *name;   /**< as given; for an entry of an index its label is appended */
    const char *config; /**< the image's configuration (JSON), or NULL */
    size_t config_len;
    struct ocv_content content;
    char attached[OCV_DIGEST_MAX]; /**< digest of the referrer written, or empty */
};

/** A table in text form. */
int derive_format_text(const struct derive_result *result, struct ocv_buffer *out,
                       struct ocv_error *err);
/** The same as a value of schema/derive.schema.json; NULL without memory. */
json_t *derive_format_json(const struct derive_result *result);
/** A self-contained page with all results. */
int derive_format_page(const struct derive_result *results, size_t n, struct ocv_buffer *out,
                       struct ocv_error *err);

/** Call `visit` for each statement of the configuration or a framework about itself:
 *  "CUDA_VERSION=12.8.1", "torch: cuda 12.8". */
void derive_words(const struct derive_result *result,
                  void (*visit)(void *data, const char *source, const char *words), void *data);
/** The same for parts of files that were not examined, once per reason. */
void derive_unseen(const struct derive_result *result,
                   void (*visit)(void *data, const char *source, const char *words), void *data);
/** True if everything was examined. */
bool derive_all_seen(const struct derive_result *result);
/** What to say of a result without properties, a sentence. */
const char *derive_no_property(const struct derive_result *result);
/** Percentage of the image's bytes that a build for `target` alone would save. */
int derive_saving(const struct derive_result *result, const struct ocv_content_target *target);
/** "machine code", "PTX", ... */
const char *derive_kind(enum ocv_content_fact fact);

#endif
