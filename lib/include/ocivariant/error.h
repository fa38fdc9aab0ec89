/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file error.h
 * Errors: a status, one message, a hint.
 *
 * Ownership: the caller owns the structure, which holds its texts and needs no freeing. Thread
 * safety: each thread has its own; the functions keep no state.
 */
#ifndef OCIVARIANT_ERROR_H
#define OCIVARIANT_ERROR_H

#include "ocivariant/attributes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the library that is running, "MAJOR.MINOR.PATCH". Never NULL. */
OCV_API const char *ocv_version(void);

/** Status of a call. Numbers are never reused or removed. */
enum ocv_status {
    OCV_OK = 0,
    OCV_ERR_NOMEM = -1,        /**< an allocation failed */
    OCV_ERR_INVALID = -2,      /**< wrong argument or usage */
    OCV_ERR_CONFIG = -3,       /**< wrong configuration */
    OCV_ERR_DATA = -4,         /**< malformed index, profile, rule file or message */
    OCV_ERR_MISMATCH = -5,     /**< digest or size differs from what was announced */
    OCV_ERR_IO = -6,           /**< file system */
    OCV_ERR_NETWORK = -7,      /**< name, connection, broken transfer, server fault */
    OCV_ERR_NOT_FOUND = -8,    /**< no such image, tag, blob, file */
    OCV_ERR_DENIED = -9,       /**< credentials missing or refused */
    OCV_ERR_NO_MATCH = -10,    /**< no variant fits and there is no default */
    OCV_ERR_ENGINE = -11,      /**< a container engine refused or failed */
    OCV_ERR_INTERRUPTED = -12, /**< stopped on the caller's request */
    OCV_ERR_UNSUPPORTED = -13, /**< valid, but not something this version can do */
    OCV_ERR_CHECK = -14,       /**< a check failed: lint, verify */
    OCV_ERR_TLS = -15,         /**< the server's certificate is not accepted, or it speaks no TLS */
    OCV_ERR_UNTRUSTED = -16    /**< no signature by a key that is trusted */
};

#define OCV_ERROR_MESSAGE_MAX 1024
#define OCV_ERROR_HINT_MAX 512

/** Filled by a failing call. Zero-initialise before the first use. Owns no memory. */
struct ocv_error {
    enum ocv_status status;
    int http_status;                     /**< the HTTP status behind it, else 0 */
    char message[OCV_ERROR_MESSAGE_MAX]; /**< one line, no program name, no final newline */
    char hint[OCV_ERROR_HINT_MAX];       /**< what to try, or empty */
};

/** Set status and message (control characters become '?'); clears the hint. Returns `status`, so
 *  that `return ocv_error_set(...)` reads well. `err` may be NULL. */
OCV_API int ocv_error_set(struct ocv_error *err, enum ocv_status status, const char *format, ...)
    OCV_PRINTF(3, 4);
/** Put "CONTEXT: " before the message. Returns the error's status (OCV_ERR_INVALID without err). */
OCV_API int ocv_error_prefix(struct ocv_error *err, const char *format, ...) OCV_PRINTF(2, 3);
/** Set the hint of an error that is already set. */
OCV_API void ocv_error_hint(struct ocv_error *err, const char *format, ...) OCV_PRINTF(2, 3);
/** Out of memory: fills `err` without allocating; returns OCV_ERR_NOMEM. */
OCV_API int ocv_error_nomem(struct ocv_error *err);

#ifdef __cplusplus
}
#endif
#endif
