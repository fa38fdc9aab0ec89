/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file registry_config.h
 * What an administrator says of a registry: where it is, and whom to trust there.
 *
 * Ownership: a plain structure; its strings belong to the caller who filled it. Thread safety: no
 * function here changes it.
 */
#ifndef OCIVARIANT_REGISTRY_CONFIG_H
#define OCIVARIANT_REGISTRY_CONFIG_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A registry. All but `host` may be NULL. */
struct ocv_registry_config {
    char *host; /**< as written in references, e.g. "registry.example:5000" */
    char *url;  /**< where it is, if not at https://HOST */
    char *ca;   /**< PEM file of certificate authorities that are trusted for it */
    char *cert; /**< PEM files of a client certificate and its key */
    char *key;
    char *mirror_of; /**< the registry that it stands in for */
    bool insecure;   /**< plain HTTP and unverified TLS are allowed */
};

#ifdef __cplusplus
}
#endif
#endif
