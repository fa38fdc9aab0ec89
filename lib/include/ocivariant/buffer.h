/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file buffer.h
 * A growing byte buffer with a stated maximum.
 *
 * Ownership: the caller owns the structure and the buffer owns its bytes; ocv_buffer_free frees
 * them. Thread safety: one thread at a time for each buffer.
 */
#ifndef OCIVARIANT_BUFFER_H
#define OCIVARIANT_BUFFER_H

#include "ocivariant/attributes.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Growing byte buffer with a stated maximum. Always NUL-terminated after the first append. */
struct ocv_buffer {
    char *data; /**< NULL while empty */
    size_t len; /**< bytes used, without the NUL */
    size_t cap;
    size_t max; /**< an append past this fails with OCV_ERR_DATA */
};

/** Make it empty; it may grow to `max` bytes. Allocates nothing. */
OCV_API void ocv_buffer_init(struct ocv_buffer *buffer, size_t max);
/** Free the bytes and make it empty again, of the same maximum. */
OCV_API void ocv_buffer_free(struct ocv_buffer *buffer);
/** Append `len` bytes (0: only make sure that there is a NUL). After an error the buffer is as it
 * was. */
OCV_API int ocv_buffer_append(struct ocv_buffer *buffer, const void *data, size_t len,
                              struct ocv_error *err) OCV_WARN_UNUSED;
/** Append as printf does. Note the order: `err` comes before the format. */
OCV_API int ocv_buffer_printf(struct ocv_buffer *buffer, struct ocv_error *err, const char *format,
                              ...) OCV_PRINTF(3, 4) OCV_WARN_UNUSED;

#if defined(__GNUC__)
/** A buffer that frees itself; initialise with ocv_buffer_init at once. */
#define ocv_auto_buffer __attribute__((cleanup(ocv_buffer_free))) struct ocv_buffer
#endif

#ifdef __cplusplus
}
#endif
#endif
