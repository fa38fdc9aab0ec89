/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of the registry client share. One direction: manifest, fetch, stream, push ->
 * exchange -> transfer -> host; exchange -> auth -> credentials. Nothing here is installed. */
#ifndef OCV_REGISTRY_INTERNAL_H
#define OCV_REGISTRY_INTERNAL_H

#include "lib/base/clock.h"
#include "lib/registry/auth/credentials.h"
#include "ocivariant/buffer.h"
#include "ocivariant/digest.h"
#include "ocivariant/registry.h"

#include <curl/curl.h>
#include <jansson.h>
#include <openssl/types.h>

/* Limits on what servers send. */
#define OCV_ERROR_BODY_MAX (64u * 1024) /* body of an error answer that is looked at */
#define OCV_TOKEN_BODY_MAX (32u * 1024) /* answer of a token server: it becomes a header */
#define OCV_LOCATION_MAX (16u * 1024)   /* Location header: signed URLs are long */
#define OCV_LINK_MAX (4u * 1024)        /* the target of a Link header */
#define OCV_CHALLENGES_MAX (16u * 1024) /* all WWW-Authenticate headers together */
#define OCV_REDIRECTS_MAX 5             /* hops of one request */
#define OCV_ORIGIN_MAX 320              /* "https://" + host name (255) + port */
#define OCV_CA_MAX (8u * 1024 * 1024)   /* all trusted certificates of a host together */
#define OCV_TOKENS_MAX 64u              /* repositories of a host whose tokens are kept */

enum ocv_scheme { OCV_SCHEME_HTTP, OCV_SCHEME_HTTPS };

/** State of one server. Lives as long as the client. */
struct ocv_registry_host {
    struct ocv_registry_host *next;
    char *name;      /* as written in references or URLs: "docker.io", "localhost:5000" */
    char *authority; /* what is contacted: "registry-1.docker.io" */
    char *prefix;    /* path before /v2/ of a configured URL, or "" */
    char *account;   /* whose credentials may be sent there */
    char *cert;      /* client certificate and its key, or NULL */
    char *key;
    struct ocv_buffer ca; /* PEM of additional certificate authorities, then of the system's */
    X509_STORE *store;    /* the same, shared, in place of the text; or NULL */
    bool tls_loaded;      /* the three above are read, as the first request with TLS needs them */
    enum ocv_scheme scheme;
    bool decided;    /* the scheme is known; else the other one may be tried once */
    bool loopback;   /* plain HTTP is allowed */
    bool insecure;   /* by configuration: plain HTTP and unverified TLS are allowed */
    bool configured; /* named by the administrator or user */
    bool answered;   /* an HTTP answer came from it: connection trouble is worth a retry */
    bool pinged;     /* /v2/ was asked how to log in, and `challenges` is what it said */
    struct ocv_buffer challenges;
    struct ocv_token *tokens;
};

/** What became of the credentials for a request. */
enum ocv_login {
    OCV_LOGIN_NONE,   /**< there are none */
    OCV_LOGIN_UNUSED, /**< there are, and the server never said how to send them */
    OCV_LOGIN_USED
};

/** An Authorization header for one repository of one host. */
struct ocv_token {
    struct ocv_token *next;
    char *repository;
    char *header;    /* "Bearer ..." or "Basic ..." */
    int64_t expires; /* monotonic milliseconds */
    uint64_t serial; /* to see that another request has renewed it meanwhile */
    uint64_t issue;  /* of the credentials that it is made of */
    enum ocv_login login;
    char source[256]; /* where they are from, or empty */
};

struct ocv_registry {
    CURLM *multi;
    unsigned transfers; /* running on it */
    const struct ocv_registry_config *registries;
    size_t n_registries;
    char *user_agent, *ca_file, *cert_file, *key_file;
    char **insecure;
    size_t n_insecure;
    char *username, *password, *identity_token, *registry_token;
    char *auth_file, *certs_dir;
    unsigned retries, connect_timeout_ms, stall_timeout_ms;
    unsigned document_timeout_ms, silent_retries; /* of documents that are not answered in time */
    struct ocv_ca_store *ca_store;
    bool anonymous, given_only, service;
    unsigned patience_ms; /* of ocv_registry_deadline, 0: none */
    int64_t deadline;     /* monotonic milliseconds */
    const volatile int *interrupted;
    void (*log)(void *data, const char *line);
    void *log_data;
    int (*budget)(void *data, size_t bytes, struct ocv_error *err);
    void *budget_data;
    void (*wait)(void *data, const struct ocv_registry_wait *wait);
    void *wait_data;
    struct ocv_credential_providers *credential_providers;
    int64_t told;                      /* when it was called last */
    bool silent;                       /* see ocv_registry_was_silent */
    struct ocv_downloads *downloads;   /* shared with other clients, or NULL */
    struct ocv_registry *next_waiting; /* for one of them, as `waits` says; under its lock */
    bool waits;
    struct ocv_registry_host *hosts;
    uint64_t serial;
    char note[256];   /* why stored credentials could not be read; becomes part of a hint */
    char source[256]; /* the file that the last ones came from, or empty */
};

/** A store of the PEM text's certificates, with a reference taken; NULL: libcurl shall read it. */
X509_STORE *ocv_ca_store_get(struct ocv_ca_store *ca_store, const struct ocv_buffer *pem);

/** curl_global_init, once per process. */
int ocv_registry_global(struct ocv_error *err);
void ocv_registry_log(const struct ocv_registry *registry, const char *format, ...)
    OCV_PRINTF(2, 3);
int64_t ocv_clock_ms(void); /* monotonic milliseconds */
/* Milliseconds until the deadline, at most `wait_ms`; 0 when it has passed. */
int ocv_registry_left(const struct ocv_registry *registry, int wait_ms);

/** The host of that name, made on first use. */
int ocv_registry_host_get(struct ocv_registry *registry, const char *name,
                          struct ocv_registry_host **out, struct ocv_error *err);
/** The host that is contacted at that authority ("host" or "host:port"), made on first use. Where
 * several names are served there, the settings of the authority's own name are its settings. */
int ocv_registry_host_at(struct ocv_registry *registry, const char *authority,
                         struct ocv_registry_host **out, struct ocv_error *err);
void ocv_registry_host_free(struct ocv_registry_host *host);
OCV_DEFINE_CLEANUP(ocv_registry_host)
/** The URL without its path: scheme://host:port in lower case with the port always there.
 *  Anything but http and https, or user information in it: OCV_ERR_DATA. */
int ocv_url_origin(const char *url, char out[OCV_ORIGIN_MAX], struct ocv_error *err);
/** "host" or "host:port" of an origin, without a default port. */
void ocv_origin_authority(const char *origin, char *out, size_t size);
/** URL without query and fragment, for messages: queries of signed URLs are secrets. */
void ocv_url_public(const char *url, char *out, size_t size);
/** Loopback, link-local or unspecified address, where a foreign server must not send us. */
bool ocv_address_is_local(const struct sockaddr *address);
/** May a server at `from` (an origin) send us to `to`? `*guard`: the address must be checked when
 * it is known. `kind` is "redirect" or "token server", for the message. */
int ocv_hop_allowed(struct ocv_registry *registry, const char *from, const char *to,
                    const char *kind, bool *guard, struct ocv_error *err);
/** Read certificates for a host (configuration, certs.d) into it, once. */
int ocv_tls_load(struct ocv_registry *registry, struct ocv_registry_host *host,
                 struct ocv_error *err);
void ocv_tls_unload(struct ocv_registry_host *host);

struct ocv_response {
    long status;
    char content_type[256];      /* lower case, without parameters */
    char digest[OCV_DIGEST_MAX]; /* Docker-Content-Digest, or empty */
    int64_t content_length;      /* -1 where not told */
    int64_t range_start;         /* Content-Range, -1 where absent or malformed */
    int64_t range_end;
    int64_t range_total; /* -1 where unknown */
    bool encoded;        /* Content-Encoding other than identity */
    bool complete;       /* the head has come whole */
    unsigned interim;    /* heads before it */
    char *location;
    char *next; /* the target of a Link whose relation is "next" */
    char etag[256];
    char filters[256];            /* OCI-Filters-Applied */
    struct ocv_buffer challenges; /* one WWW-Authenticate value a line */
};

struct ocv_transfer {
    CURL *easy;
    struct curl_slist *headers;
    bool running;
    bool done;
    bool guard;                 /* refuse loopback and link-local addresses */
    const char *proxy_variable; /* what names the proxy that it goes through, or NULL */
    char proxy[256];            /* HOST[:PORT] */
    bool refused;               /* an address was refused */
    bool began;                 /* the answer's head was checked */
    bool budgeted;              /* the budget has taken its body */
    CURLcode result;
    int abort_status; /* why a callback of ours stopped the transfer, or 0 */
    char error[CURL_ERROR_SIZE];
    struct ocv_response response;
    struct ocv_buffer body; /* documents, and the bodies of error answers */
    struct ocv_exchange *exchange;
};

/** The variable of the environment that names a proxy for the URL; NULL: none does, or no_proxy
 *  excepts its host, or that is on loopback. `proxy` becomes HOST[:PORT], without a password. */
const char *ocv_proxy_find(const char *url, char *proxy, size_t size);

enum ocv_exchange_state {
    OCV_EXCHANGE_READY,
    OCV_EXCHANGE_RUNNING,
    OCV_EXCHANGE_WAITING,
    OCV_EXCHANGE_DONE
};

/** What is sent: bytes in memory, or a file from its start. */
struct ocv_upload {
    const char *content_type;
    const void *bytes;
    int64_t size;
    int fd; /* -1: `bytes` */
    void (*progress)(void *data, int64_t sent);
    void *data;
};

struct ocv_exchange {
    /* set by the caller; strings are borrowed */
    struct ocv_registry *registry;
    struct ocv_registry_host *host;
    const char *what;                /* names the thing in messages */
    const char *kind;                /* what a document is: "index", "token" */
    const char *method;              /* GET, HEAD, POST */
    const char *path;                /* from /v2/ on; or NULL and `url` */
    const char *url;                 /* absolute (token servers) */
    const char *accept;              /* or NULL */
    const char *repository;          /* whose token is used; NULL: no authentication */
    const char *authorization;       /* fixed header value instead of a token, or NULL */
    const char *form;                /* body of a POST */
    const struct ocv_upload *upload; /* body of a PUT, or an empty one of a POST; may be NULL */
    const char *if_match;            /* or NULL */
    bool once;                       /* never retried: the server may have begun to act */
    bool has_get;                    /* a HEAD whose refusal is answered with GET, not a retry */
    size_t body_max;                 /* of a document */
    long buffer_size;                /* curl's receive buffer */
    bool guard;                      /* check the address of the very first hop, too */
    int64_t range_from;              /* first byte wanted; the callbacks below keep it */
    int64_t range_end;               /* the byte after the last one wanted, 0: to the end */
    const char *range;               /* a client's Range value instead, or NULL */
    const char *if_none_match;       /* or NULL */
    /** Check the head of a 2xx answer before its body: 0, or a status with `error` filled.
     *  OCV_EXCHANGE_AGAIN: stop and ask again (with the new range_from). */
    int (*begin)(void *data, struct ocv_exchange *exchange);
    /** Body bytes of a 2xx answer; NULL collects them in transfer.body. */
    int (*sink)(void *data, const char *bytes, size_t len, struct ocv_error *err);
    /** All that came was given to `sink`, and no more is at hand. May be NULL. */
    int (*pause)(void *data, struct ocv_error *err);
    void *data;

    /* results */
    int status;
    struct ocv_error error;
    struct ocv_transfer transfer;

    /* inside */
    enum ocv_exchange_state state;
    char *redirect; /* URL of the current hop, NULL at the origin */
    bool redirect_guard;
    bool swapped; /* the other scheme was tried */
    bool swapped_on_400;
    bool fresh; /* over a new connection: surplus bytes came first on the old one */
    enum ocv_login login;
    unsigned attempts, redirects, logins, restarts;
    uint64_t token_serial;
    int64_t not_before;
    int64_t started; /* of this try */
    int64_t begun;   /* of the first try, or of the request that this one is for */
    int64_t sent;    /* of the upload */
    int64_t mark;    /* range_from at the last failure: progress resets the count of attempts */
};

#define OCV_EXCHANGE_AGAIN 1

/** Run until the exchange is done, and return its status. */
int ocv_exchange_run(struct ocv_exchange *exchange, struct ocv_error *err);
/** Make progress without waiting; `*wait_ms` becomes smaller if something is due sooner. */
void ocv_exchange_step(struct ocv_exchange *exchange, int *wait_ms);
/** Drive all transfers of the client, wait at most `wait_ms` (100 at most) for something to do. */
int ocv_exchange_poll(struct ocv_registry *registry, int wait_ms, struct ocv_error *err);
void ocv_exchange_free(struct ocv_exchange *exchange);
/** Check the ended transfer: the exchange is READY, WAITING or DONE afterwards. */
void ocv_exchange_classify(struct ocv_exchange *exchange);
void ocv_exchange_finish(struct ocv_exchange *exchange, int status);
/** The same; errors of callbacks and of the core do not name the request yet. */
void ocv_exchange_finish_named(struct ocv_exchange *exchange, int status);
/** Where the request belongs: the token realm for a token request, else the registry. */
int ocv_exchange_origin(const struct ocv_exchange *exchange, char out[OCV_ORIGIN_MAX]);
/** The host of the current hop. */
int ocv_exchange_hop_host(struct ocv_exchange *exchange, const char *origin, bool at_home,
                          struct ocv_registry_host **out);

/** curl_multi_perform; SIGPIPE does not reach the program. A connection whose server floods this
 * thread ends; it must have been made with ocv_tls_context. */
CURLMcode ocv_multi_perform(CURLM *multi);
/** CURLOPT_SSL_CTX_FUNCTION, where ocv_curl_has_openssl; its data is the store to verify with, or
 *  NULL for libcurl's own. */
CURLcode ocv_tls_context(CURL *easy, void *context, void *store);
bool ocv_curl_has_openssl(void);
int ocv_transfer_start(struct ocv_exchange *exchange, const char *url,
                       const struct ocv_registry_host *host, const char *authorization);
/** After an answer: never use a connection again on which more came than that. */
void ocv_transfer_drop_surplus(const struct ocv_transfer *transfer,
                               const struct ocv_registry *registry);
void ocv_transfer_stop(struct ocv_transfer *transfer, struct ocv_registry *registry);
void ocv_transfer_free(struct ocv_transfer *transfer, struct ocv_registry *registry);
/** The target of the first link of a Link header whose relation is "next"; 0: there is none. */
size_t ocv_link_next(const char *text, size_t len, const char **target);
/** Some servers refuse HEAD and serve GET. Is this failure of a HEAD such an answer? */
bool ocv_head_refused(const struct ocv_exchange *exchange, const struct ocv_error *err);
void ocv_response_reset(struct ocv_response *response);
size_t ocv_response_header(char *line, size_t size, size_t count, void *data);

/** Take a slot among the shared downloads, without waiting. False: there is none, or others have
 *  waited longer; then this client waits, too, and its loop is woken when it is its turn. */
bool ocv_downloads_enter(struct ocv_registry *registry);
/** Give one slot back. */
void ocv_downloads_leave(struct ocv_registry *registry);
/** Wait no longer. */
void ocv_downloads_give_up(struct ocv_registry *registry);

/** A document is kept in memory and due soon; blobs and uploads may take as long as they flow. */
bool ocv_exchange_is_document(const struct ocv_exchange *exchange);
/** Milliseconds that all tries of a document have left. */
int64_t ocv_exchange_left(const struct ocv_exchange *exchange);
/** Did the last try end because nothing came in time? */
bool ocv_exchange_was_silent(const struct ocv_exchange *exchange);
/** Tries after the first that a failure like the last one is worth. */
unsigned ocv_exchange_retries(const struct ocv_exchange *exchange);
/** Tell the program that this is waited for; NULL: several blobs. */
void ocv_wait_report(struct ocv_registry *registry, const struct ocv_exchange *exchange);
/** Tell it that the last try failed, and that another one follows in `wait_ms`; `asked`: the server
 *  named the time. */
void ocv_wait_report_retry(const struct ocv_exchange *exchange, int64_t wait_ms, bool asked);

/** Fill exchange->error for the transfer's curl failure; returns the status. */
int ocv_failure_curl(struct ocv_exchange *exchange, const struct ocv_registry_host *host);
/** The same for an HTTP status other than success. */
int ocv_failure_http(struct ocv_exchange *exchange, const struct ocv_registry_host *host);
/** What a body says of an error, as registries and token servers write it; "" where it says
 * nothing. */
void ocv_failure_text(const struct ocv_buffer *body, char *out, size_t size);
/** Visit the tags of a page until `visit` returns something else than 0. False: that happened, or
 *  the page has no list. */
bool ocv_tag_page_read(const char *bytes, size_t len, int (*visit)(void *data, const char *tag),
                       void *data);

/** The Authorization header for a repository, or NULL. */
const struct ocv_token *ocv_auth_find(const struct ocv_registry_host *host, const char *repository);
/** Answer a refusal: find credentials, get a token, keep it. Where the refusal does not say how,
 *  /v2/ may; a 403 or 404 is one only to somebody who has credentials. OCV_ERR_NOT_FOUND: there is
 *  no way to log in. Sets exchange->login. */
int ocv_auth_answer(struct ocv_exchange *exchange, const char *origin, struct ocv_error *err);
/** What /v2/ answers to nobody: its challenges, one a line, asked for once; empty where it wants no
 *  login, and where it does not answer. */
int ocv_ping_challenges(struct ocv_exchange *exchange, const struct ocv_buffer **out,
                        struct ocv_error *err);
void ocv_auth_free(struct ocv_token *tokens);
/** Of a token server's answer: the first of each, and the life that the token may have here. */
struct ocv_token_answer {
    char *token, *access_token;
    int64_t life_s;
};
/** Read the answer. Forget what was read in any case. */
int ocv_token_read(const char *text, size_t len, struct ocv_token_answer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_token_forget(struct ocv_token_answer *answer);
/** The header that was sent was refused. Was it made of what a credential provider gave, and may
 *  that have better ones? Then it is forgotten, and the next challenge brings them. */
bool ocv_auth_renew(struct ocv_exchange *exchange);
/** The credentials for a host, from options, files, helpers and credential providers; empty if
 *  there are none. */
int ocv_creds_find(struct ocv_registry *registry, const char *account, const char *repository,
                   struct ocv_credentials *out, struct ocv_error *err);
/** The hint for a refusal, after that. */
void ocv_creds_hint(const struct ocv_registry *registry, const char *host, enum ocv_login login,
                    struct ocv_error *err);

/** Append a page's descriptors to `out`, but those whose digests `seen` has as keys already.
 *  `entries`: how many the page has. */
int ocv_referrers_read(const char *what, const struct ocv_buffer *body, json_t *out, json_t *seen,
                       size_t *entries, struct ocv_error *err) OCV_WARN_UNUSED;
/** The reference with the tag "ALGORITHM-HEX" and a suffix: where clients keep what belongs to a
 *  digest. Algorithm cut to 32 characters, the rest to 64. */
int ocv_reference_for_digest(const struct ocv_reference *reference, const char *digest,
                             const char *suffix, struct ocv_reference **out,
                             struct ocv_error *err) OCV_WARN_UNUSED;

/* What a request that is passed on remembers while it runs. */

struct ocv_streaming {
    struct ocv_exchange exchange;
    const struct ocv_stream *request;
    char *path, *what;
    bool told; /* the head was given to the caller */
    /* of a blob */
    struct ocv_hasher *hasher; /* of a whole one */
    bool part;                 /* the answer is a part of it */
    int64_t size;              /* bytes that were promised, -1 while unknown */
    int64_t first, total;      /* of a part: where it begins, -1 if not told; size of the blob */
    int64_t offset;            /* bytes received, all but `gathered` given to the caller */
    char *block;               /* request->buffer bytes, or NULL */
    size_t gathered;           /* bytes in it */
    int64_t skip;              /* bytes to skip, from a server without Range */
};

/** Give the head to the caller. */
int ocv_stream_give_head(struct ocv_streaming *s, const struct ocv_stream_head *head,
                         struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_stream_fill(struct ocv_stream_head *head, const struct ocv_response *response);
/** OCV_ERR_INTERRUPTED: the caller wants no more. */
int ocv_stream_stopped(struct ocv_error *err);
int ocv_stream_blob(struct ocv_streaming *s, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
