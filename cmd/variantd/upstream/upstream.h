/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to a registry, or to the layout that replaces it, for the mirror. There are two
 * identities with separate connections: the daemon's credentials, and anonymous. All functions
 * block; they are for workers. */
#ifndef VARIANTD_UPSTREAM_H
#define VARIANTD_UPSTREAM_H

#include "cmd/variantd/common/cache.h"
#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"

enum identity { IDENTITY_ANONYMOUS, IDENTITY_DAEMON };

/** Use of a client, which determines its time limits. */
enum patience {
    PATIENCE_DOCUMENT, /**< a client waits 3 seconds for it */
    PATIENCE_BLOB      /**< a long transfer that can be resumed */
};

struct clients;
/** `settings` and `metrics` are borrowed. */
int clients_new(const struct settings *settings, struct metrics *metrics, struct clients **out,
                struct ocv_error *err) OCV_WARN_UNUSED;
void clients_free(struct clients *clients);
/** Make all running requests fail soon with OCV_ERR_INTERRUPTED. */
void clients_interrupt(struct clients *clients);
/** Drop unused clients and their connections. */
void clients_trim(struct clients *clients);
/** True if the daemon has credentials for that registry; otherwise both identities are the same. */
bool clients_private(const struct clients *clients, const struct upstream *upstream);

/** A registry client, owned by this thread until it is given back. Its calls finish within
 *  `limit_ms` in total. */
struct client;
int client_take(struct clients *clients, const struct upstream *upstream, enum identity identity,
                enum patience patience, int64_t limit_ms, struct client **out,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** Take over the memory reserved for the last document: `kept` bytes of it are now the caller's, to
 *  be released later. Returns their number; 0 if none were reserved. */
size_t client_reserved(struct client *client, size_t kept);
/** Count bytes that a look-up keeps while it asks that registry; OCV_ERR_NOMEM where the budget, or
 *  the registry's part of it, has no room. */
int client_pay(struct client *client, size_t bytes, struct ocv_error *err) OCV_WARN_UNUSED;
void client_repay(struct client *client, size_t bytes);
/** `status`: result of the last call. Connections that sent invalid data are not reused. */
void client_give(struct client *client, int status);
struct ocv_registry *client_registry(struct client *client);
/** True if the client may read what only the daemon's credentials can read. NULL (a layout):
 *  false. */
bool client_is_daemon(const struct client *client);

/** A manifest or index in memory, shared. */
struct document {
    struct refcounted item;
    struct ocv_descriptor descriptor; /**< digest of the bytes; as the registry types it */
    struct ocv_buffer body;
    size_t reserved; /**< memory reserved for it until it is freed; 0: it is small */
};

/** A tag or digest as upstream's head describes it. */
struct head {
    bool unchanged;                   /**< the ETag still matches; nothing else is set */
    struct ocv_descriptor descriptor; /**< digest empty if the registry does not send it */
    char etag[256];
};
/** The source of a request. */
struct source {
    const struct upstream *upstream;
    struct client *client; /**< NULL for layouts */
};
/** HEAD of the reference's digest, else its tag; GET where the registry refuses that. `etag` may be
 *  NULL. */
int upstream_head(const struct source *from, const struct ocv_reference *reference,
                  const char *etag, struct head *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** GET a manifest and verify it. `digest` NULL: the reference's digest, else its tag. */
int upstream_get(const struct source *from, const struct ocv_reference *reference,
                 const char *digest, struct document **out, struct ocv_error *err) OCV_WARN_UNUSED;

/** True for the type of an image manifest, which has no variants by itself. */
bool media_type_is_manifest(const char *media_type);

#endif
