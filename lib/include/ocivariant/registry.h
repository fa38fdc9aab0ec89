/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file registry.h
 * libocivariant-registry: client of OCI distribution registries (distribution-spec v1.1), on
 * libcurl.
 *
 * Ownership: the caller owns a client and frees it; options are copied except where they say so.
 * Thread safety: one thread at a time for each client, which holds its connections, TLS settings,
 * credentials and tokens; blobs are fetched several at once inside one call. Errors beside those of
 * ocivariant.h: OCV_ERR_NETWORK, OCV_ERR_TLS, OCV_ERR_DENIED (401, 403), OCV_ERR_NOT_FOUND (404),
 * OCV_ERR_DATA (a malformed answer), OCV_ERR_MISMATCH (digest or size), OCV_ERR_INTERRUPTED;
 * `http_status` is set where a server answered.
 */
#ifndef OCIVARIANT_REGISTRY_H
#define OCIVARIANT_REGISTRY_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/error.h"
#include "ocivariant/layout.h"
#include "ocivariant/reference.h"
#include "ocivariant/registry_config.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ocv_registry;

/** Certificate authorities that are read once for several clients, of any thread. Optional. */
struct ocv_ca_store;
OCV_API int ocv_ca_store_new(struct ocv_ca_store **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** After the clients that use it. NULL is allowed. */
OCV_API void ocv_ca_store_free(struct ocv_ca_store *ca_store);

/** Programs that print credentials for a while, as kubelet's credential provider plug-ins do
 *  (credentialprovider.kubelet.k8s.io), with kubelet's own configuration of them. Their answers are
 *  cached for as long as they say, and shared by clients of any thread. Each run has its own thread
 *  and serves every caller that waits for the same answer. It continues after they give up, so that
 *  a later caller finds the answer. At most four programs of one plug-in run at a time. */
struct ocv_credential_providers;
/** How a run ended. */
enum ocv_credential_run {
    OCV_CREDENTIAL_RUN_OK,
    OCV_CREDENTIAL_RUN_FAILED,
    OCV_CREDENTIAL_RUN_TIMEOUT,
    OCV_CREDENTIAL_RUN_UNUSABLE /**< not a run: the program cannot be run at present */
};
struct ocv_credential_providers_options {
    const char *config;  /**< CredentialProviderConfig of kubelet.config.k8s.io (YAML) */
    const char *bin_dir; /**< where the programs are */
    unsigned timeout_ms; /**< of a run; default 60,000, as kubelet's */
    /** A run has ended, with the reason where it failed: never a secret nor anything that the
     *  program printed. From any thread, and for each program that cannot be run from
     *  ocv_credential_providers_new. It may not call the providers. May be NULL. */
    void (*ended)(void *data, const char *provider, enum ocv_credential_run how, const char *why);
    void *data;
};
/** Read the configuration. OCV_ERR_CONFIG with file and line where it is wrong; OCV_ERR_IO or
 * OCV_ERR_NOT_FOUND where it, or the directory, cannot be read. A missing program is not an error:
 * it gives no credentials. */
OCV_API int ocv_credential_providers_new(const struct ocv_credential_providers_options *options,
                                         struct ocv_credential_providers **out,
                                         struct ocv_error *err) OCV_WARN_UNUSED;
/** After the clients that use them. Running programs are killed. NULL is allowed. */
OCV_API void ocv_credential_providers_free(struct ocv_credential_providers *providers);
/** May one of them have credentials for a repository at HOST[:PORT]? */
OCV_API bool ocv_credential_providers_cover(const struct ocv_credential_providers *providers,
                                            const char *host);

/** What a call is waiting for. Strings are borrowed for the call. */
struct ocv_registry_wait {
    const char *what;    /**< what is asked for: "registry.example/app:1"; NULL: several blobs */
    const char *host;    /**< who is asked, a registry or a token server; NULL with `what` */
    const char *trouble; /**< why the last try failed, as "is silent for 15 s"; else NULL */
    unsigned attempt;    /**< with `trouble` the try that is to come, else the one that runs */
    unsigned attempts;   /**< tries in all, if it goes on failing in this way */
    int64_t ms;          /**< with `trouble` the pause before the next try, else how long it runs */
};

/** Settings; zero-initialised means the defaults. Strings are copied. */
struct ocv_registry_options {
    const struct ocv_registry_config *registries; /**< not copied: must outlive the client */
    size_t n_registries;
    const char *user_agent; /**< default "ocivariant/VERSION" */
    const char *ca_file;    /**< --cacert: added for every host */
    const char *cert_file;  /**< --cert, --key: client certificate for every host */
    const char *key_file;
    const char *const *insecure; /**< hosts for which plain HTTP and unverified TLS are allowed */
    size_t n_insecure;
    const char *username; /**< --creds-stdin: for every host asked; NULL: from the files */
    const char *password;
    const char *auth_file;       /**< only this docker config / auth.json; NULL: the usual places */
    const char *certs_dir;       /**< default "/etc/docker/certs.d" and containers' certs.d */
    unsigned retries;            /**< default 5 attempts after the first, 2 where a document was not
                                      answered in time; OCV_RETRIES_NONE: none */
    unsigned connect_timeout_ms; /**< default 30,000, of documents no more than the next but one */
    unsigned stall_timeout_ms;   /**< without a byte for this long a transfer is given up and
                                  *   retried; default 60,000 */
    /** The same for documents (manifests, lists, tokens, small blobs); default 15,000, or
     *  stall_timeout_ms if that is less. All tries of one together end after three times this and
     *  ten seconds, but not before 55 s. */
    unsigned document_timeout_ms;
    const volatile int *interrupted; /**< non-zero: stop with OCV_ERR_INTERRUPTED; may be NULL */
    void (*log)(void *data, const char *line); /**< -v: requests and retries, never a secret */
    void *log_data;
    struct ocv_ca_store *ca_store; /**< shared by clients; must outlive them; may be NULL */
    bool anonymous; /**< no password, token or client certificate is read or sent, whatever the
                         files, the configuration and this structure say */
    const char *identity_token; /**< instead of a password: for the token server of every host */
    const char *registry_token; /**< instead of both: a token as a registry takes it */
    bool given_only; /**< what this structure names and nothing else: neither files nor helpers are
                          asked for credentials, and no client certificate of theirs is sent */
    /** A document (manifest, index, list, small blob) of more than OCV_BUDGET_FREE bytes, or of a
     *  length that is not announced (then the most that are read), is about to be kept in memory.
     *  May block, which holds the server back. A negative status stops with it, `err` filled.
     *  Called again where it is asked for again. May be NULL. */
    int (*budget)(void *data, size_t bytes, struct ocv_error *err);
    void *budget_data;
    /** Called ten times a second while a call waits, and when it is about to ask again; may be
     *  NULL. It may not call the client. */
    void (*wait)(void *data, const struct ocv_registry_wait *wait);
    void *wait_data;
    /** Asked where neither this structure nor a file has credentials; shared by clients, must
     *  outlive them; may be NULL. */
    struct ocv_credential_providers *credential_providers;
    bool service; /**< hints name keys of a configuration, not options of a command */
};
#define OCV_RETRIES_NONE UINT_MAX
#define OCV_BUDGET_FREE (64u * 1024)

/** Make a client. Nothing is asked yet; files of credentials are read when a host wants some. */
OCV_API int ocv_registry_new(const struct ocv_registry_options *options, struct ocv_registry **out,
                             struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_registry_free(struct ocv_registry *registry);
/** Downloads of blobs that several clients share, as the threads of one program do. */
struct ocv_downloads;
/** At most `at_once` of them (0: 1). Thread-safe. To be freed after the clients that share it. */
OCV_API int ocv_downloads_new(unsigned at_once, struct ocv_downloads **out,
                              struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_downloads_free(struct ocv_downloads *downloads);
/** True if the last call failed because a server that it asked sent nothing of its answer in time;
 *  one that answered slowly, or with a failure, was not silent. */
OCV_API bool ocv_registry_was_silent(const struct ocv_registry *registry);
/** What ocv_registry_fetch downloads with this client counts among them; clients take turns. NULL:
 *  no longer. Not while a call of this client runs. */
OCV_API void ocv_registry_share(struct ocv_registry *registry, struct ocv_downloads *downloads);
/** Calls from now on must have their answer within `timeout_ms` together, else they fail with
 *  OCV_ERR_NETWORK and http_status 504; nothing is retried that would be too late. 0: no limit. Of
 *  ocv_registry_stream of a blob only the head must come in time. */
OCV_API void ocv_registry_deadline(struct ocv_registry *registry, unsigned timeout_ms);

/** What a registry allows without a login. */
enum ocv_registry_access {
    OCV_REGISTRY_ACCESS_OPEN,  /**< it wants no login */
    OCV_REGISTRY_ACCESS_TOKEN, /**< it has a token server: each repository decides */
    OCV_REGISTRY_ACCESS_LOGIN  /**< nothing without a login */
};
/** Does the registry answer, and is there a login that it accepts? `host` as references write it;
 *  the result is filled also where the login is refused (OCV_ERR_DENIED). */
OCV_API int ocv_registry_ping(struct ocv_registry *registry, const char *host, bool *login,
                              enum ocv_registry_access *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** HEAD of a manifest by the reference's digest, else its tag. Falls back to GET where a registry
 *  refuses HEAD, or gives no digest or another one. One small request when tokens are cached. */
OCV_API int ocv_registry_head(struct ocv_registry *registry, const struct ocv_reference *reference,
                              struct ocv_descriptor *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** GET of a manifest or index. `digest` (may be NULL) overrides the reference's tag and digest and
 * is verified; without it a Docker-Content-Digest header is verified. `body`->max is set to
 *  OCV_MANIFEST_MAX. `out`: Content-Type, digest of the bytes, size. */
OCV_API int ocv_registry_get(struct ocv_registry *registry, const struct ocv_reference *reference,
                             const char *digest, struct ocv_buffer *body,
                             struct ocv_descriptor *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** One blob to fetch into a layout. */
struct ocv_fetch {
    struct ocv_descriptor descriptor;
    void *data; /**< for the caller */
};
/** Called from the fetching call: `done` bytes of `fetches[i]` are on disk (resumed ones included);
 *  the first call for a blob says how many an earlier run left. `done` == size and `finished` when
 * committed; `cached` when it was there before. */
typedef void (*ocv_fetch_progress)(void *data, size_t i, int64_t done, bool finished, bool cached);
/** The maximum of blobs at once: each holds more than 1 MiB, and a whole program should stay below
 *  24 MiB. */
#define OCV_FETCH_JOBS_MAX 8u
/** Fetch blobs into the layout, the largest first, `jobs` at once (0: 4), verifying, resuming,
 * retrying. Returns the first failure after stopping the others (their partial files stay for a
 * resume). */
OCV_API int ocv_registry_fetch(struct ocv_registry *registry, const struct ocv_reference *reference,
                               struct ocv_layout *layout, const struct ocv_fetch *fetches, size_t n,
                               unsigned jobs, ocv_fetch_progress progress, void *data,
                               struct ocv_error *err) OCV_WARN_UNUSED;
/** A small blob (an image config) into memory, at most body->max bytes, verified. */
OCV_API int ocv_registry_get_blob(struct ocv_registry *registry,
                                  const struct ocv_reference *reference,
                                  const struct ocv_descriptor *descriptor, struct ocv_buffer *body,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** What is streamed: an object of a repository, or a list. */
enum ocv_stream_kind {
    OCV_STREAM_MANIFEST,
    OCV_STREAM_BLOB,
    OCV_STREAM_TAGS,
    OCV_STREAM_REFERRERS
};
/** What an answer says about itself. Texts are empty, numbers -1 where the header was absent,
 *  malformed or too long. */
struct ocv_stream_head {
    long status; /**< 200, 206 or 304 */
    char media_type[256];
    char
        digest[OCV_DIGEST_MAX]; /**< of a document: checked where it is known and there is a body */
    char etag[256];
    char filters[256]; /**< OCI-Filters-Applied */
    const char
        *next;    /**< of a list: where its next page is (Link), borrowed for the call, or NULL */
    int64_t size; /**< of the body; with HEAD of the one that a GET would bring */
    int64_t range_start, range_end, range_total; /**< Content-Range */
};
/** A request that is passed on. Zero-initialise; strings are borrowed. */
struct ocv_stream {
    enum ocv_stream_kind kind;
    const struct ocv_reference
        *reference;            /**< host and repository; its tag and digest are unused */
    const char *object;        /**< tag or digest; NULL for the list of tags */
    const char *query;         /**< escaped, without "?"; or NULL */
    bool head_only;            /**< HEAD instead of GET; of a manifest GET, where HEAD is refused */
    const char *accept;        /**< NULL: all manifests and indexes */
    const char *range;         /**< of a blob: a Range header's value; NULL: all of it */
    const char *if_none_match; /**< an ETag; a 304 is not an error then */
    int64_t most; /**< size of a blob by its manifest: a blob that is announced as larger is
                       refused, one without a length is cut there. 0: not known, and
                       OCV_STREAM_BLOB_MAX is for those without length */
    long buffer;  /**< bytes of a blob that are gathered for one call of `body` as long as more are
                       at hand; `head` may change it. 0: given as they come */
    /** Called once, before any body. Non-zero stops with OCV_ERR_INTERRUPTED. */
    int (*head)(void *data, const struct ocv_stream_head *head);
    /** Body bytes as they come; may block, which holds the server back. Non-zero as above. */
    int (*body)(void *data, const char *bytes, size_t len);
    void *data;
};
/** A blob whose length is given neither by a manifest nor by the server may be endless. The largest
 *  layer that a public registry takes is 52 GB. */
#define OCV_STREAM_BLOB_MAX (INT64_C(64) * 1024 * 1024 * 1024)
/** Perform it. Documents are kept in memory, at most OCV_MANIFEST_MAX, and checked before `head` is
 *  called. A blob that breaks off is asked for again from there, a part of one only if the answer
 *  is exactly the rest of its first Content-Range. A whole blob is hashed on the way; a wrong one
 *  is OCV_ERR_MISMATCH after all of its bytes were given to `body`: hold the last ones back. Parts
 *  are not checked. `http_status` of the error: 404, 416, ... */
OCV_API int ocv_registry_stream(struct ocv_registry *registry, const struct ocv_stream *stream,
                                struct ocv_error *err) OCV_WARN_UNUSED;

/** Tags of a repository in the registry's order, over all pages, until one comes a second time; at
 *  most OCV_TAGS_MAX, else OCV_ERR_DATA. A non-zero return of `visit` stops and is returned. */
#define OCV_TAGS_MAX 100000u
OCV_API int ocv_registry_tags(struct ocv_registry *registry, const struct ocv_reference *reference,
                              int (*visit)(void *data, const char *tag), void *data,
                              struct ocv_error *err) OCV_WARN_UNUSED;

/** Referrers of a manifest (distribution-spec, "Listing Referrers"): the API's, over all pages,
 * else those of the fallback tag (ALGORITHM-HEX). `artifact_type` (NULL: all) is asked for;
 * registries may answer with others, too. `list` receives a JSON array of their descriptors, each
 * digest once; at most OCV_REFERRERS_MAX, else OCV_ERR_DATA. `*api` (may be NULL): the registry has
 * the API. */
#define OCV_REFERRERS_MAX 4096u
OCV_API int ocv_registry_referrers(struct ocv_registry *registry,
                                   const struct ocv_reference *reference, const char *digest,
                                   const char *artifact_type, struct ocv_buffer *list, bool *api,
                                   struct ocv_error *err) OCV_WARN_UNUSED;

/** Write these bytes as a manifest or index under the reference's tag, else its digest. `if_match`
 *  (a digest, may be NULL) asks the registry to refuse when the tag has moved; many ignore it. The
 *  digest that the registry answers with must be that of the bytes. `out` may be NULL. */
OCV_API int ocv_registry_put(struct ocv_registry *registry, const struct ocv_reference *reference,
                             const char *media_type, const void *bytes, size_t len,
                             const char *if_match, struct ocv_descriptor *out,
                             struct ocv_error *err) OCV_WARN_UNUSED;
/** Is the blob in the repository? 1, 0, or an error. `size` below 0: any. */
OCV_API int ocv_registry_has_blob(struct ocv_registry *registry,
                                  const struct ocv_reference *reference, const char *digest,
                                  int64_t size, struct ocv_error *err) OCV_WARN_UNUSED;
/** A blob to write into a repository. Zero-initialise; strings are borrowed. */
struct ocv_push {
    struct ocv_descriptor descriptor;
    const char *from;  /**< a repository of the same registry that may have it: mounted; or NULL */
    const void *bytes; /**< its bytes, or NULL */
    int fd;            /**< without `bytes`: a file of exactly its size, or -1 (mount or nothing) */
    void (*progress)(void *data, int64_t sent);
    void *data;
};
/** How it got there. */
enum ocv_pushed { OCV_PUSHED_PRESENT, OCV_PUSHED_MOUNTED, OCV_PUSHED_SENT };
/** Make the blob be in the repository: nothing where it is already, a mount, or an upload in one
 *  PUT, tried again from its start. With neither bytes nor file, and no mount: OCV_ERR_NOT_FOUND.
 */
OCV_API int ocv_registry_push(struct ocv_registry *registry, const struct ocv_reference *reference,
                              const struct ocv_push *push, enum ocv_pushed *how,
                              struct ocv_error *err) OCV_WARN_UNUSED;

/** Credentials for a host from the same sources as the client's own: JSON {"username","password",
 *  "identitytoken","serveraddress"} for an engine's X-Registry-Auth. Empty buffer when there are
 *  none. Holds a secret: never print it. */
OCV_API int ocv_registry_credentials(struct ocv_registry *registry, const char *host,
                                     struct ocv_buffer *json,
                                     struct ocv_error *err) OCV_WARN_UNUSED;

/** HTTP on a unix or TCP socket, for container engines (Docker Engine API, libpod). */
struct ocv_engine_request {
    const char *socket;         /**< unix socket path, or NULL */
    const char *method;         /**< "GET", "POST", "DELETE", "HEAD" */
    const char *url;            /**< with unix sockets "http://localhost/..." */
    const char *const *headers; /**< "Name: value" */
    size_t n_headers;
    const char *ca_file, *cert_file, *key_file; /**< DOCKER_CERT_PATH */
    int upload_fd; /**< file to send as the body, or -1 (0 only when upload is true) */
    bool upload;
    unsigned timeout_ms; /**< whole request; 0: none */
    const volatile int *interrupted;
    /** Body bytes as they come; non-zero stops with OCV_ERR_INTERRUPTED. May be NULL. */
    int (*body)(void *data, const char *bytes, size_t len);
    void *data;
    /** Called about ten times a second while the engine works; may be NULL. */
    void (*tick)(void *data);
    void *tick_data;
};
/** Perform it. `*status`: the HTTP status. No proxy, no redirects. */
OCV_API int ocv_engine_http(const struct ocv_engine_request *request, long *status,
                            struct ocv_error *err) OCV_WARN_UNUSED;

#if defined(__GNUC__) && !defined(__cplusplus)
OCV_DEFINE_CLEANUP(ocv_registry)
OCV_DEFINE_CLEANUP(ocv_credential_providers)
#endif

#ifdef __cplusplus
}
#endif
#endif
