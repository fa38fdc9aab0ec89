/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/upstream/upstream.h"
#include "cmd/variantd/common/budget.h"
#include "cmd/variantd/common/log.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 16u  /* idle clients per kind that keep their connections */
#define KEPT_MS 30000 /* for how long, while other clients are used */
#define USES_MAX                                                                         \
    1024u              /* a client remembers hosts and tokens, so it is replaced after a \
                        * while */
#define LIFE_MS 600000 /* interval after which changed certificates and credentials are read */
#define DOCUMENT_CONNECT_MS 2500u /* a tag's answer is due after 3 s */
#define DOCUMENT_STALL_MS 10000u
#define DOCUMENT_RETRIES 1u
#define BUDGET_WAIT_MS 3000
#define BLOB_CONNECT_MS 10000u
#define BLOB_STALL_MS 30000u
#define BLOB_RETRIES 5u

#define KIND_BLOB 1u
#define KIND_DAEMON 2u

struct client {
    struct client *next;
    struct clients *clients;
    struct ocv_registry *registry;
    unsigned kind, uses;
    int64_t born, idle_since;
    size_t upstream, reserved; /* the registry, and the memory reserved for the arriving document */
    int64_t until_ms;
};

struct clients {
    const struct settings *settings;
    struct metrics *metrics;
    struct ocv_credential_providers *providers; /* or NULL */
    char agent[64];
    volatile int interrupted;
    struct ocv_ca_store *ca_store;
    pthread_mutex_t lock;
    struct client *idle[4]; /* by kind: identity and patience */
};

/* A failure is logged once for all requests that waited for it. */
static void provider_ended(void *data, const char *provider, enum ocv_credential_run how,
                           const char *why)
{
    static const char *const names[] = {"ok", "failed", "timeout", "unusable"};
    const struct clients *clients = data;
    if (how != OCV_CREDENTIAL_RUN_UNUSABLE)
        metrics_raise(clients->metrics, METRICS_CREDENTIALS, provider, names[how], 1);
    if (how != OCV_CREDENTIAL_RUN_OK)
        log_line(LOG_LEVEL_WARNING, "credential provider %s: %s", provider, why);
}

OCV_DEFINE_CLEANUP(clients)

int clients_new(const struct settings *settings, struct metrics *metrics, struct clients **out,
                struct ocv_error *err)
{
    ocv_auto(clients) clients = calloc(1, sizeof(*clients));
    if (!clients)
        return ocv_error_nomem(err);
    clients->settings = settings;
    clients->metrics = metrics;
    snprintf(clients->agent, sizeof(clients->agent), "variantd/%s", ocv_version());
    pthread_mutex_init(&clients->lock, NULL);
    const struct ocv_credential_providers_options options = {
        .config = settings->provider_config,
        .bin_dir = settings->provider_bin_dir,
        .ended = provider_ended,
        .data = clients,
    };
    OCV_TRY(ocv_ca_store_new(&clients->ca_store, err));
    if (options.config)
        OCV_TRY(ocv_credential_providers_new(&options, &clients->providers, err));
    *out = ocv_steal(&clients);
    return OCV_OK;
}

static void drop_client(struct client *client)
{
    while (client) {
        struct client *next = client->next;
        ocv_registry_free(client->registry);
        free(client);
        client = next;
    }
}

void clients_free(struct clients *clients)
{
    if (!clients)
        return;
    for (size_t i = 0; i < sizeof(clients->idle) / sizeof(*clients->idle); i++)
        drop_client(clients->idle[i]);
    ocv_credential_providers_free(clients->providers);
    ocv_ca_store_free(clients->ca_store);
    pthread_mutex_destroy(&clients->lock);
    free(clients);
}

void clients_trim(void *data)
{
    struct clients *clients = data;
    struct client *old[sizeof(clients->idle) / sizeof(*clients->idle)];
    pthread_mutex_lock(&clients->lock);
    memcpy(old, clients->idle, sizeof(old));
    memset(clients->idle, 0, sizeof(clients->idle));
    pthread_mutex_unlock(&clients->lock);
    for (size_t i = 0; i < sizeof(old) / sizeof(*old); i++)
        drop_client(old[i]);
}

void clients_interrupt(struct clients *clients)
{
    __atomic_store_n(&clients->interrupted, 1, __ATOMIC_RELAXED);
}

bool clients_private(const struct clients *clients, const struct upstream *upstream)
{
    const struct settings *s = clients->settings;
    const char *host = upstream->name;
    if (upstream->layout)
        return false;
    if (s->authfile || ocv_config_find_registry(s->config, host).cert)
        return true;
    /* Client certificates in addition to the system's: NAME.cert in certs.d/HOST. */
    static const char *const roots[] = {"/etc/docker/certs.d", "/etc/containers/certs.d"};
    for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
        char pattern[512];
        glob_t files = {0};
        /* the brackets of an IPv6 address are special in a pattern; "?" matches each */
        int n = snprintf(pattern, sizeof(pattern), "%s/%s/*.cert", roots[i], host);
        for (char *p = pattern; *p; p++)
            if (*p == '[' || *p == ']')
                *p = '?';
        bool found =
            n > 0 && n < (int)sizeof(pattern) && glob(pattern, GLOB_NOSORT, NULL, &files) == 0;
        globfree(&files);
        if (found)
            return true;
    }
    if (!clients->providers)
        return false;
    /* A provider has the name that the registry client uses: if a URL replaces the registry, the
     * URL's host. */
    const char *url = ocv_config_find_registry(s->config, host).url;
    const char *start = url ? strstr(url, "://") : NULL;
    char authority[300];
    start = start ? start + 3 : url ? url : host;
    snprintf(authority, sizeof(authority), "%.*s", (int)strcspn(start, "/?#"), start);
    char *port = strrchr(authority, ':');
    if (port && url && !strcmp(port, strncmp(url, "http://", 7) ? ":443" : ":80"))
        *port = '\0';
    return ocv_credential_providers_cover(clients->providers, authority);
}

static void log_debug(void *data, const char *line)
{
    (void)data;
    log_line(LOG_LEVEL_DEBUG, "%s", line);
}

size_t client_reserved(struct client *client, size_t kept)
{
    size_t had = client->reserved, left = kept < had ? kept : had;
    if (had)
        budget_arrived(client->upstream, had, left);
    client->reserved = 0;
    return left;
}

static int no_room(size_t bytes, struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_NOMEM, "the memory budget has no %zu bytes left; retry later",
                         bytes);
}

int client_pay(struct client *client, size_t bytes, struct ocv_error *err)
{
    return budget_wait(client->upstream, bytes, 0, &client->clients->interrupted)
               ? OCV_OK
               : no_room(bytes, err);
}

void client_repay(struct client *client, size_t bytes)
{
    budget_arrived(client->upstream, bytes, 0);
}

/* Called before a large document arrives: memory that silent clients and caches hold may have to be
 * freed first. */
static int wait_for_budget(void *data, size_t bytes, struct ocv_error *err)
{
    struct client *client = data;
    (void)client_reserved(client, 0); /* an earlier attempt was interrupted */
    int64_t patience = ocv_clock_ms() + BUDGET_WAIT_MS;
    if (!budget_wait(client->upstream, bytes,
                     patience < client->until_ms ? patience : client->until_ms,
                     &client->clients->interrupted))
        return no_room(bytes, err);
    client->reserved = bytes;
    return OCV_OK;
}

/* The clients at the end of the list have been idle longest. Call with the lock held; returns those
 * to drop. */
static struct client *cut_idle(struct clients *clients, unsigned kind, int64_t now)
{
    unsigned n = 0;
    for (struct client **at = &clients->idle[kind]; *at; at = &(*at)->next, n++) {
        if (n < KEPT_MAX && now - (*at)->idle_since < KEPT_MS)
            continue;
        struct client *old = *at;
        *at = NULL;
        return old;
    }
    return NULL;
}

int client_acquire(struct clients *clients, const struct upstream *upstream, enum identity identity,
                   enum patience patience, int64_t limit_ms, struct client **out,
                   struct ocv_error *err)
{
    unsigned kind = (identity == IDENTITY_DAEMON ? KIND_DAEMON : 0u) |
                    (patience == PATIENCE_BLOB ? KIND_BLOB : 0u);
    pthread_mutex_lock(&clients->lock);
    struct client *old = cut_idle(clients, kind, ocv_clock_ms());
    struct client *client = clients->idle[kind];
    if (client)
        clients->idle[kind] = client->next;
    pthread_mutex_unlock(&clients->lock);
    drop_client(old);
    if (!client) {
        const struct settings *s = clients->settings;
        bool blob = kind & KIND_BLOB;
        if (!(client = calloc(1, sizeof(*client))))
            return ocv_error_nomem(err);
        struct ocv_registry_options options = {
            .user_agent = clients->agent,
            /* never a file in a home directory */
            .auth_file = s->authfile ? s->authfile : "/dev/null",
            .anonymous = !(kind & KIND_DAEMON),
            .retries = blob ? BLOB_RETRIES : DOCUMENT_RETRIES,
            .connect_timeout_ms = blob ? BLOB_CONNECT_MS : DOCUMENT_CONNECT_MS,
            .stall_timeout_ms = blob ? BLOB_STALL_MS : DOCUMENT_STALL_MS,
            .ca_store = clients->ca_store,
            .interrupted = &clients->interrupted,
            .log = log_debug,
            .budget = wait_for_budget,
            .budget_data = client,
            .credential_providers = kind & KIND_DAEMON ? clients->providers : NULL,
            .service = true,
        };
        options.n_registries = ocv_config_registries(s->config, &options.registries);
        int status = ocv_registry_new(&options, &client->registry, err);
        if (status < 0) {
            free(client);
            return status;
        }
        client->clients = clients;
        client->kind = kind;
        client->born = ocv_clock_ms();
    }
    client->next = NULL;
    client->uses++;
    client->upstream = (size_t)(upstream - clients->settings->upstreams);
    limit_ms = limit_ms > 1 ? limit_ms : 1;
    client->until_ms = ocv_clock_ms() + limit_ms;
    ocv_registry_deadline(client->registry, (unsigned)limit_ms);
    *out = client;
    return OCV_OK;
}

void client_release(struct client *client, int status)
{
    if (!client)
        return;
    struct clients *clients = client->clients;
    (void)client_reserved(client, 0);
    ocv_registry_deadline(client->registry, 0);
    int64_t now = ocv_clock_ms();
    struct client *old;
    pthread_mutex_lock(&clients->lock);
    client->idle_since = now;
    bool clean = status != OCV_ERR_DATA && status != OCV_ERR_MISMATCH;
    if (clean && client->uses < USES_MAX && now - client->born < LIFE_MS) {
        client->next = clients->idle[client->kind];
        clients->idle[client->kind] = client;
        client = NULL;
    }
    old = cut_idle(clients, 0, now);
    for (unsigned kind = 1; !old && kind < 4; kind++)
        old = cut_idle(clients, kind, now);
    pthread_mutex_unlock(&clients->lock);
    drop_client(client);
    drop_client(old);
}

bool client_is_daemon(const struct client *client)
{
    return client && (client->kind & KIND_DAEMON);
}

struct ocv_registry *client_registry(struct client *client)
{
    return client->registry;
}

static int on_head(void *data, const struct ocv_stream_head *from)
{
    struct head *head = data;
    *head = (struct head){.unchanged = from->status == 304};
    head->descriptor.size = from->size;
    memcpy(head->descriptor.media_type, from->media_type, sizeof(from->media_type));
    if (ocv_digest_known(from->digest))
        memcpy(head->descriptor.digest, from->digest, sizeof(from->digest));
    memcpy(head->etag, from->etag, sizeof(head->etag));
    return 0;
}

int upstream_head(const struct source *from, const struct ocv_reference *reference,
                  const char *etag, struct head *out, struct ocv_error *err)
{
    if (from->upstream->layout) {
        struct document document = {0};
        ocv_buffer_init(&document.body, OCV_MANIFEST_MAX);
        int status = layout_get(from->upstream, reference, NULL, &document, err);
        ocv_buffer_free(&document.body);
        if (status == OCV_OK)
            *out = (struct head){.descriptor = document.descriptor};
        return status;
    }
    struct ocv_stream question = {
        .kind = OCV_STREAM_MANIFEST,
        .reference = reference,
        .object = reference->digest ? reference->digest : reference->tag,
        .head_only = true,
        .if_none_match = etag && *etag ? etag : NULL,
        .head = on_head,
        .data = out,
    };
    return ocv_registry_stream(from->client->registry, &question, err);
}

static void free_document(struct refcounted *item)
{
    struct document *document = (struct document *)item;
    budget_release(document->reserved);
    ocv_buffer_free(&document->body);
    free(document);
}

int upstream_get(const struct source *from, const struct ocv_reference *reference,
                 const char *digest, struct document **out, struct ocv_error *err)
{
    struct document *document = calloc(1, sizeof(*document));
    if (!document)
        return ocv_error_nomem(err);
    refcounted_init(&document->item, free_document);
    ocv_buffer_init(&document->body, OCV_MANIFEST_MAX);
    int status = from->upstream->layout
                     ? layout_get(from->upstream, reference, digest, document, err)
                     : ocv_registry_get(from->client->registry, reference, digest, &document->body,
                                        &document->descriptor, err);
    size_t len = document->body.len;
    if (status == OCV_OK && from->client)
        document->reserved = client_reserved(from->client, len);
    /* the bytes of a layout are in memory already */
    if (status == OCV_OK && !document->reserved && len > OCV_BUDGET_FREE) {
        if (budget_acquire(len))
            document->reserved = len;
        else
            status = no_room(len, err);
    }
    if (status < 0)
        refcounted_unref(document);
    else
        *out = document;
    return status;
}
