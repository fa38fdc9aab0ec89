/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file daemon.h
 * Asking this node's variantd over its unix socket. Does I/O.
 */
#ifndef OCV_DAEMON_H
#define OCV_DAEMON_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** GET `target` ("/v1/profile") from the daemon that listens on unix socket `path`, all within
 *  `timeout_ms`, without libcurl. `*http_status`: the answer's; its body, at most body->max bytes,
 * is appended. Nobody listens: OCV_ERR_NOT_FOUND; late or cut: OCV_ERR_NETWORK; not HTTP, a wrong
 *  length: OCV_ERR_DATA. Thread-safe. */
int ocv_daemon_get(const char *path, const char *target, unsigned timeout_ms, long *http_status,
                   struct ocv_buffer *body, struct ocv_error *err) OCV_WARN_UNUSED;
/** The head of an answer that came to its end: where its body starts and how long it is. For tests
 *  and fuzzing of the above. */
int ocv_daemon_parse_answer(const char *bytes, size_t len, long *status, size_t *body,
                            size_t *length, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
