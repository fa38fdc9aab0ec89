/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file reference.h
 * Image references (distribution/reference's grammar, Docker's defaults).
 *
 * Ownership: the caller owns a reference and frees it; its members are its own and are not to be
 * changed. Thread safety: any number of threads may read one.
 */
#ifndef OCIVARIANT_REFERENCE_H
#define OCIVARIANT_REFERENCE_H

#include "ocivariant/attributes.h"
#include "ocivariant/digest.h"
#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A parsed image reference. All strings are owned by it and never NULL except where said. */
struct ocv_reference {
    char *host;       /**< "docker.io", "localhost:5000", "[::1]:5000" */
    char *repository; /**< "library/alpine" */
    char *tag;        /**< NULL where only a digest was given; "latest" when neither was */
    char *digest;     /**< NULL without "@digest" */
    char *name;       /**< HOST/REPOSITORY without tag and digest */
    char *familiar;   /**< as docker prints it: "alpine", "user/app", "host:5000/app"; no tag */
};

/** Parse `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`. index.docker.io and registry-1.docker.io become
 *  docker.io; one-component names there get library/. Bad input: OCV_ERR_INVALID. */
OCV_API int ocv_reference_parse(const char *text, struct ocv_reference **out,
                                struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_reference_free(struct ocv_reference *reference);
/** True if the text is HOST[:PORT] as references write it: a name, an IPv4 address, an IPv6 address
 *  in brackets. */
OCV_API bool ocv_reference_host_valid(const char *host);
/** "docker.io" for the other names of Docker Hub, else `host` itself. */
OCV_API const char *ocv_reference_host_canonical(const char *host);
/** True if a reference's host is this machine: localhost, 127.0.0.0/8 or [::1], with or without a
 *  port. Registries there may be asked without TLS. */
OCV_API bool ocv_reference_host_is_loopback(const char *host);
/** True if the text is a legal tag: [A-Za-z0-9_][A-Za-z0-9._-]{0,127}. */
OCV_API bool ocv_reference_tag_valid(const char *tag);

OCV_DEFINE_CLEANUP(ocv_reference)

#ifdef __cplusplus
}
#endif
#endif
