/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses a request to the mirror. Pure: URL, `ns` and settings in, a route out. Nothing is guessed:
 * names follow the grammar, registries are configured. */
#ifndef VARIANTD_ROUTE_H
#define VARIANTD_ROUTE_H

#include "cmd/variantd/common/settings.h"

enum view {
    VIEW_RESOLVER, /**< answers only tags with variants; clients fall back for the rest */
    VIEW_PROXY,    /**< the same, and passes everything else through */
    VIEW_RAW       /**< passes everything through, tags unchanged */
};

enum route_kind {
    ROUTE_BASE,             /**< /v2/ */
    ROUTE_TAG,              /**< manifests/TAG */
    ROUTE_DIGEST,           /**< manifests/DIGEST */
    ROUTE_BLOB,             /**< blobs/DIGEST */
    ROUTE_TAGS,             /**< tags/list */
    ROUTE_REFERRERS,        /**< referrers/DIGEST */
    ROUTE_NO_SUCH,          /**< not a URL of the distribution API that is supported */
    ROUTE_BAD_NAME,         /**< malformed repository, tag or digest */
    ROUTE_UNKNOWN_REGISTRY, /**< not configured, or not named and no default */
    ROUTE_NO_MEMORY
};

struct route {
    enum view view;
    enum route_kind kind;
    /* set for TAG, DIGEST, BLOB, TAGS and REFERRERS only */
    const struct upstream *upstream; /**< borrowed from the settings */
    struct ocv_reference *reference; /**< owned; tag or digest as asked for */
};

/** `url`: path as the HTTP server decoded it; `ns`: the query's, or NULL. */
void route_parse(const struct settings *settings, const char *url, const char *ns,
                 struct route *out);
void route_clear(struct route *route);

#endif
