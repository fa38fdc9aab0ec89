/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file daemon_verdict.h
 * Asking this node's variantd whether an image fits (/v1/verdict, docs/refusing.md). Does I/O.
 */
#ifndef OCV_DAEMON_VERDICT_H
#define OCV_DAEMON_VERDICT_H

#include "ocivariant/attributes.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>

enum ocv_verdict {
    OCV_VERDICT_FITS,
    OCV_VERDICT_MISFIT,
    OCV_VERDICT_NONE,    /**< the image has no variants */
    OCV_VERDICT_INDEX,   /**< an unresolved variant index */
    OCV_VERDICT_UNKNOWN, /**< variantd cannot tell, or there is no answer */
    OCV_VERDICT_LESSER,  /**< it runs, but another one of its index fits better */
};
/** "fits", "misfit", ... */
const char *ocv_verdict_name(enum ocv_verdict verdict);

/** What is known about the image; unknown fields are NULL. Borrowed. */
struct ocv_verdict_question {
    const char *reference;  /**< "docker.io/team/app:1" */
    const char *digest;     /**< of what was resolved: manifest or index */
    const char *label;      /**< the variant's label, of an annotation */
    const char *properties; /**< likewise, canonical */
    bool held; /**< it is on the node: an index stands for what engines take of it by themselves */
};
/** What variantd says; longer texts are cut. */
struct ocv_verdict_answer {
    enum ocv_verdict verdict;
    bool labels_only;  /**< by the image's own labels alone, which images inherit */
    bool required;     /**< a lesser one lacks what the configuration requires */
    char label[64];    /**< the variant's, or empty */
    char fit[64];      /**< the label that would fit this node, or empty */
    char reason[1024]; /**< or empty */
    char choose[8];    /**< "shadow" or "off" where it is not on for the image, else empty */
};

/** Ask the daemon that listens on unix socket `path`, all within `timeout_ms`. OCV_ERR_NOT_FOUND:
 *  nobody listens; other errors as ocv_daemon_get and ocv_verdict_parse, and OCV_ERR_INVALID: the
 *  question is too long. Whatever fails, the verdict is OCV_VERDICT_UNKNOWN. Thread-safe. */
int ocv_verdict_ask(const char *path, const struct ocv_verdict_question *question,
                    unsigned timeout_ms, struct ocv_verdict_answer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The body of an answer; a verdict that is not known is OCV_VERDICT_UNKNOWN, and what is no JSON
 *  object OCV_ERR_DATA. */
int ocv_verdict_parse(const void *bytes, size_t len, struct ocv_verdict_answer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
