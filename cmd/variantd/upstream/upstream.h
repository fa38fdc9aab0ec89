/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to a registry, or to the layout that replaces it, for the mirror. Two identities with
 * separate connections: the daemon's credentials, and anonymous. All functions block; they are for
 * workers. */
#ifndef VARIANTD_UPSTREAM_H
#define VARIANTD_UPSTREAM_H

#include "cmd/variantd/common/cache.h"
#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"

enum identity { IDENTITY_ANONYMOUS, IDENTITY_DAEMON };

/** What a client is used for: how patient it is. */
enum patience {
    PATIENCE_DOCUMENT, /**< a client waits 3 seconds for it */
    PATIENCE_BLOB      /**< a long transfer, that may break and go on */
};

struct clients;
/** `settings` and `metrics` are borrowed. */
int clients_new(const struct settings *settings, struct metrics *metrics, struct clients **out,
                struct ocv_error *err) OCV_WARN_UNUSED;
void clients_free(struct clients *clients);
/** Let every running request fail soon with OCV_ERR_INTERRUPTED. */
void clients_interrupt(struct clients *clients);
/** Drop the clients that are not in use, and their connections. */
void clients_trim(struct clients *clients);
/** True where the daemon has something to show that registry: else the identities are one. */
bool clients_private(const struct clients *clients, const struct upstream *upstream);

/** A registry client, for this thread until it is given back. Its calls have their answers within
 *  `limit_ms` together. */
struct client;
int client_take(struct clients *clients, const struct upstream *upstream, enum identity identity,
                enum patience patience, int64_t limit_ms, struct client **out,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** The room that was made for the last document that came: `kept` bytes of it are the caller's now,
 *  to be given back. Returns those; 0: there was no need. */
size_t client_room(struct client *client, size_t kept);
/** `status`: how the last call ended. Connections that brought rubbish are not used again. */
void client_give(struct client *client, int status);
struct ocv_registry *client_registry(struct client *client);
/** May it show what only the daemon's credentials can read? NULL (a layout): no. */
bool client_is_daemon(const struct client *client);

/** A manifest or index in memory, shared. */
struct document {
    struct refcounted item;
    struct ocv_descriptor descriptor; /**< digest of the bytes; as the registry types it */
    struct ocv_buffer body;
    size_t room; /**< taken for it until it is freed; 0: it is small */
};

/** What a tag or digest stands for upstream, by its head alone. */
struct head {
    bool unchanged;                   /**< the ETag given still holds; nothing else is set then */
    struct ocv_descriptor descriptor; /**< digest empty where the registry does not tell */
    char etag[256];
};
/** Whom to ask. */
struct source {
    const struct upstream *upstream;
    struct client *client; /**< NULL for layouts */
};
/** HEAD of the reference's digest, else its tag. `etag` may be NULL. OCV_ERR_UNSUPPORTED where the
 *  registry has no HEAD. */
int upstream_head(const struct source *from, const struct ocv_reference *reference,
                  const char *etag, struct head *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** GET of a manifest, checked. `digest` NULL: the reference's digest, else its tag. */
int upstream_get(const struct source *from, const struct ocv_reference *reference,
                 const char *digest, struct document **out, struct ocv_error *err) OCV_WARN_UNUSED;

/** Is it the type of an image manifest, which has no variants by itself? */
bool media_type_is_manifest(const char *media_type);

#endif
