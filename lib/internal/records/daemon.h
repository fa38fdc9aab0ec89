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

/* Asking this node's variantd whether an image fits (/v1/verdict, docs/refusing.md). Does I/O.
 */

enum ocv_verdict {
    OCV_VERDICT_FITS,
    OCV_VERDICT_MISFIT,
    OCV_VERDICT_NONE,    /**< the image has no variants */
    OCV_VERDICT_INDEX,   /**< an unresolved variant index */
    OCV_VERDICT_UNKNOWN, /**< variantd cannot tell, or there is no answer */
    OCV_VERDICT_LESSER,  /**< it runs, but another one of its index fits better */
    OCV_VERDICT_WARNING, /**< a misfit by its labels or configuration alone; in no answer */
    OCV_VERDICT_OPEN,    /**< not looked for yet; likewise */
};
/** "fits", "misfit", ..., "warning" */
const char *ocv_verdict_name(enum ocv_verdict verdict);

/** What is known about the image; unknown fields are NULL. Borrowed. */
struct ocv_verdict_question {
    const char *reference;  /**< "docker.io/team/app:1" */
    const char *digest;     /**< of what was resolved: manifest or index */
    const char *label;      /**< the variant's label, of an annotation */
    const char *properties; /**< likewise, canonical */
    bool held;          /**< it is on the node: an index means the entry that engines take of it by
                         *   themselves */
    const char *config; /**< the essence of its configuration (lib/internal/content/image_config.h),
                           to be checked where it is an ordinary image */
    const char *devices; /**< the GPUs that it is given, as NVIDIA_VISIBLE_DEVICES names them */
    const char *given;   /**< a container's devices (container_devices.h), which it has to fit where
                              its repository has `workload: devices` */
};
/** What variantd says of the configuration of an ordinary image. */
enum ocv_verdict_config {
    OCV_VERDICT_CONFIG_NONE, /**< nothing: it asks for nothing, or has variants */
    OCV_VERDICT_CONFIG_WARNING,
    OCV_VERDICT_CONFIG_MISFIT,
};
/** What variantd says of the signature. */
enum ocv_verdict_trust {
    OCV_VERDICT_TRUST_NONE, /**< nothing: no rule of `trust` requires one */
    OCV_VERDICT_TRUST_GOOD,
    OCV_VERDICT_TRUST_BAD
};
/** What variantd says; longer texts are cut. */
struct ocv_verdict_answer {
    enum ocv_verdict verdict;
    bool labels_only;  /**< by the image's own labels alone, which images inherit */
    bool required;     /**< a lesser one lacks what the configuration requires */
    char label[64];    /**< the variant's, or empty */
    char fit[64];      /**< the label that would fit this node, "null": the default; or empty */
    char reason[1024]; /**< or empty */
    enum ocv_verdict_config config;
    char config_reason[512]; /**< or empty */
    enum ocv_verdict_trust trust;
    char trust_reason[512]; /**< or empty */
    char choose[8];         /**< "shadow" or "off" where it is not on for the image, else empty */
};

/** `fit` for people: "null (the default)", else the label. */
const char *ocv_verdict_fit_words(const char *fit);
/** Ask the daemon that listens on unix socket `path`, all within `timeout_ms`. OCV_ERR_NOT_FOUND:
 * no process listens; OCV_ERR_INVALID: the request is too long; other errors as ocv_daemon_get
 * and ocv_verdict_parse. On every error the verdict is OCV_VERDICT_UNKNOWN. Thread-safe. */
int ocv_verdict_ask(const char *path, const struct ocv_verdict_question *question,
                    unsigned timeout_ms, struct ocv_verdict_answer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The body of an answer; an unknown word becomes OCV_VERDICT_UNKNOWN; anything but a JSON object
 * is OCV_ERR_DATA. */
int ocv_verdict_parse(const void *bytes, size_t len, struct ocv_verdict_answer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
