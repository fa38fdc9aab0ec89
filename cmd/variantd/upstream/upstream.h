/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to a registry, or to the layout that replaces it, for the mirror. There are two
 * identities with separate connections: the daemon's credentials, and anonymous. All functions
 * block; they are for workers. */
#ifndef VARIANTD_UPSTREAM_H
#define VARIANTD_UPSTREAM_H

#include "cmd/variantd/common/cache.h"
#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"

#include <microhttpd.h>

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
void clients_trim(void *clients);
/** True if the daemon has credentials for that registry; otherwise both identities are the same. */
bool clients_private(const struct clients *clients, const struct upstream *upstream);

/** A registry client, owned by this thread until it is given back. Its calls finish within
 *  `limit_ms` in total. */
struct client;
int client_acquire(struct clients *clients, const struct upstream *upstream, enum identity identity,
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
void client_release(struct client *client, int status);
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
static inline void document_cleanup(struct document **document)
{
    refcounted_unref(*document);
}

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

/* A directory with an OCI layout that replaces a registry. Everything is read when asked for, so
 * content copied into the directory is served immediately. */

/** Read into `document`, verified. Tags: `io.containerd.image.name` is a full name; an entry
 * without it has its `org.opencontainers.image.ref.name` as a tag in every repository. */
int layout_get(const struct upstream *upstream, const struct ocv_reference *reference,
               const char *digest, struct document *document,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** {"name", "tags"} of the repository. */
int layout_tags(const struct upstream *upstream, const struct ocv_reference *reference,
                struct ocv_buffer *json, struct ocv_error *err) OCV_WARN_UNUSED;

/* Checks whether the registries answer, and accept this daemon's login. */

struct reach {
    int status;                      /**< OCV_OK; OCV_ERR_DENIED: the login is refused */
    enum ocv_registry_access access; /**< what it permits anonymous clients */
    bool login;                      /**< the daemon has a login for it */
    bool wrong;                      /**< it fails because of the configuration, not the network */
    struct ocv_error err;
};

/** Ask all registries of the settings in parallel, for at most REACH_MS each; layouts always
 *  succeed. `list` has settings->n_upstreams members. `trusted` false: ask anonymously. Blocks. */
void reach_all(struct clients *clients, const struct settings *settings, bool trusted,
               struct reach *list);
#define REACH_MS 3000

/* Sends bytes from a worker to a client without a copy: the worker writes to the socket itself. A
 * slow reader blocks the writer, and the writer the registry. The last bytes are held back until
 * the writer has verified all of them. */

/** A reader that takes fewer bytes in this time is disconnected, once the kernel's buffers are
 * full. */
#define STREAM_PATIENCE_MS 120000u
#define STREAM_PATIENCE_BYTES (120 * 1024)
/** A reader that takes fewer bytes in this time of waiting gives way if others need its worker. */
#define STREAM_SLOW_MS 10000
#define STREAM_SLOW_BYTES (320 * 1024)
#define STREAM_HELD 1024u /**< last bytes of an object, held back until it is verified */

struct stream;
/** Returns one reference, for refcounted_unref. `hold`: hold the last bytes back until stream_end.
 * `size`: of all bytes, -1: unknown. `patience_ms`: a reader that takes almost nothing for so long
 * is disconnected. */
int stream_new(bool hold, int64_t size, unsigned patience_ms, struct stream **out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Writer: blocks while the reader takes nothing. `more`: more bytes are at hand, and will be
 * pushed soon. Non-zero: the reader has gone. */
int stream_push(struct stream *stream, const char *bytes, size_t len, bool more);
/** Writer: all bytes were passed. `good` false: cut the connection before its end. */
void stream_end(struct stream *stream, bool good);
/** A body for that connection; it ends with the body if the size is known. Takes a reference. NULL:
 *  no memory. */
struct MHD_Response *stream_response(struct stream *stream, struct MHD_Connection *connection);
/** Call now and then: true if the writer waits for a reader that takes almost nothing. */
bool stream_slow(struct stream *stream);
/** Stop both sides now. */
void stream_cut(struct stream *stream);
/** Bytes passed to the kernel. */
int64_t stream_sent(struct stream *stream);

#endif
