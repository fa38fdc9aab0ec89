/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One HTTP exchange on the wire: set-up of the curl handle, the body's way and its limits.
 * Redirects, authentication and retries are exchange.c's: libcurl is told to do none of them, so
 * that no header can travel further than intended. */
#include "lib/registry/registry_internal.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static int too_large(struct ocv_exchange *x)
{
    bool mib = x->body_max >= 1024 * 1024;
    return ocv_error_set(&x->error, OCV_ERR_DATA, "%s larger than %zu %s",
                         x->kind ? x->kind : "answer", x->body_max / (mib ? 1024 * 1024 : 1024),
                         mib ? "MiB" : "KiB");
}

/* Bytes of a 2xx answer: to the caller's sink, or kept. */
static int take_bytes(struct ocv_exchange *exchange, const char *bytes, size_t len)
{
    struct ocv_transfer *t = &exchange->transfer;
    const struct ocv_registry *registry = exchange->registry;
    int64_t told = t->response.encoded ? -1 : t->response.content_length;
    int status = OCV_OK;
    if (!t->began) {
        t->began = true;
        if (exchange->begin)
            status = exchange->begin(exchange->data, exchange);
        else if (told > (int64_t)exchange->body_max)
            status = too_large(exchange);
    }
    /* Beyond the bytes that every transfer may keep, take the announced length from the caller's
     * budget, or the maximum if none is announced. */
    if (status == OCV_OK && !t->budgeted && registry->budget && !exchange->sink &&
        (told > (int64_t)OCV_BUDGET_FREE || t->body.len + len > OCV_BUDGET_FREE)) {
        t->budgeted = true;
        status = registry->budget(registry->budget_data,
                                  told < 0 ? exchange->body_max : (size_t)told, &exchange->error);
    }
    if (status != OCV_OK)
        return status;
    if (exchange->sink)
        return exchange->sink(exchange->data, bytes, len, &exchange->error);
    if (len > exchange->body_max - t->body.len)
        return too_large(exchange);
    return ocv_buffer_append(&t->body, bytes, len, &exchange->error);
}

static size_t on_body(char *bytes, size_t size, size_t count, void *data)
{
    struct ocv_exchange *exchange = data;
    struct ocv_transfer *t = &exchange->transfer;
    size_t len = size * count;
    if (t->response.status < 200 || t->response.status > 299) {
        size_t room = OCV_ERROR_BODY_MAX -
                      (t->body.len < OCV_ERROR_BODY_MAX ? t->body.len : OCV_ERROR_BODY_MAX);
        size_t take = len < room ? len : room; /* the rest of an error page is of no interest */
        if (ocv_buffer_append(&t->body, bytes, take, NULL) < 0 || take < len) {
            t->abort_status = OCV_EXCHANGE_AGAIN; /* no failure: the status says what happened */
            return 0;
        }
        return len;
    }
    int status = take_bytes(exchange, bytes, len);
    if (status != OCV_OK) {
        t->abort_status = status;
        return 0;
    }
    return len;
}

static curl_socket_t on_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct ocv_transfer *t = data;
    if (purpose == CURLSOCKTYPE_IPCXN && t->guard && ocv_address_is_local(&address->addr)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool add_header(struct ocv_transfer *t, const char *name, const char *value)
{
    char *line = NULL;
    if (asprintf(&line, "%s: %s", name, value) < 0)
        return false;
    struct curl_slist *longer = curl_slist_append(t->headers, line);
    explicit_bzero(line, strlen(line));
    free(line);
    if (longer)
        t->headers = longer;
    return longer;
}

static void set_tls(CURL *easy, const struct ocv_registry *registry,
                    const struct ocv_registry_host *host)
{
    if (ocv_curl_has_openssl()) {
        curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, ocv_tls_context);
        curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, host->store);
    }
    if (host->store) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        /* 7.88 keeps the store that a host was verified with, and puts it in place of the next's */
        curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
    } else if (host->ca.len) {
        struct curl_blob blob = {host->ca.data, host->ca.len, CURL_BLOB_NOCOPY};
        curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
    }
    if (host->cert) {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, host->cert);
        curl_easy_setopt(easy, CURLOPT_SSLKEY, host->key);
    }
    if (host->insecure) { /* only where the administrator or user named the host */
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }

    /* libcurl does not compare the store when it looks for a connection or a session to reuse, and
     * what other authorities verified does not hold here. */
    const struct ocv_registry_host *other = registry->hosts;
    while (other && (!other->tls_loaded || other->store == host->store ||
                     strcasecmp(other->authority, host->authority) != 0))
        other = other->next;
    if (other) {
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
        curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    }
}

static size_t on_upload(char *out, size_t size, size_t count, void *data)
{
    struct ocv_exchange *exchange = data;
    const struct ocv_upload *upload = exchange->upload;
    int64_t left = upload->size - exchange->sent;
    size_t want = size * count;
    if ((int64_t)want > left)
        want = (size_t)left;
    ssize_t got = (ssize_t)want;
    if (upload->fd >= 0)
        got = pread(upload->fd, out, want, exchange->sent);
    else if (want)
        memcpy(out, (const char *)upload->bytes + exchange->sent, want);
    if (got < 0 || (want && got == 0)) { /* shorter than it was */
        exchange->transfer.abort_status =
            ocv_error_set(&exchange->error, OCV_ERR_IO, "the file to send ended early");
        return CURL_READFUNC_ABORT;
    }
    exchange->sent += got;
    if (upload->progress)
        upload->progress(upload->data, exchange->sent);
    return (size_t)got;
}

/* libcurl wants to send it again, on another connection. */
static int on_rewind(void *data, curl_off_t offset, int origin)
{
    struct ocv_exchange *exchange = data;
    if (origin != SEEK_SET || offset < 0 || offset > exchange->upload->size)
        return CURL_SEEKFUNC_FAIL;
    exchange->sent = offset;
    return CURL_SEEKFUNC_OK;
}

static void set_request(struct ocv_exchange *exchange, const char *url)
{
    struct ocv_transfer *t = &exchange->transfer;
    CURL *easy = t->easy;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* Ctrl-C does not wait for a silent resolver */
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, exchange->registry->user_agent);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, ocv_response_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &t->response);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, t);
    t->proxy_variable = ocv_proxy_find(url, t->proxy, sizeof(t->proxy));
    curl_easy_setopt(easy, CURLOPT_PROXY, t->proxy_variable ? getenv(t->proxy_variable) : "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    if (exchange->fresh)
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);

    unsigned stall = exchange->registry->stall_timeout_ms;
    unsigned connect = exchange->registry->connect_timeout_ms;
    if (ocv_exchange_is_document(exchange)) { /* a slow drip must not hold us for long, either */
        int64_t left = ocv_exchange_left(exchange);
        stall = exchange->registry->document_timeout_ms;
        connect = connect < stall ? connect : stall;
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, left > 0 ? (long)left : 1L);
    }
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)(stall + 999) / 1000);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE,
                     exchange->buffer_size ? exchange->buffer_size : 64L * 1024);

    if (!strcmp(exchange->method, "HEAD"))
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (exchange->upload) {
        exchange->sent = 0;
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)exchange->upload->size);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
        curl_easy_setopt(easy, CURLOPT_READDATA, exchange);
        curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
        curl_easy_setopt(easy, CURLOPT_SEEKDATA, exchange);
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 0L); /* the stall limit ends a dead one */
    }
    if (exchange->upload || !strcmp(exchange->method, "DELETE"))
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange->method);
    if (exchange->form) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange->form);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(exchange->form));
    }
    if (!exchange->sink) /* decodes what came compressed unasked; the limit holds for the result */
        curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
}

int ocv_transfer_start(struct ocv_exchange *exchange, const char *url,
                       const struct ocv_registry_host *host, const char *authorization)
{
    struct ocv_transfer *t = &exchange->transfer;
    ocv_transfer_stop(t, exchange->registry);
    if (!t->easy && !(t->easy = curl_easy_init()))
        return ocv_error_nomem(&exchange->error);
    curl_easy_reset(t->easy);
    ocv_buffer_free(&t->body);
    ocv_buffer_init(&t->body, exchange->body_max > OCV_ERROR_BODY_MAX ? exchange->body_max
                                                                      : OCV_ERROR_BODY_MAX);
    ocv_response_reset(&t->response);
    t->exchange = exchange;
    t->done = t->began = t->budgeted = t->refused = false;
    t->abort_status = 0;
    t->error[0] = '\0';
    set_request(exchange, url);
    set_tls(t->easy, exchange->registry, host);
    t->guard = (exchange->guard || exchange->redirect_guard) && !t->proxy_variable;
    bool ok = add_header(t, "Accept-Encoding", "identity");
    if (exchange->accept)
        ok = ok && add_header(t, "Accept", exchange->accept);
    if (authorization)
        ok = ok && add_header(t, "Authorization", authorization);
    if (exchange->form || exchange->upload)
        ok = ok && add_header(t, "Expect", "");
    if (exchange->upload)
        ok = ok && add_header(t, "Content-Type", exchange->upload->content_type);
    if (exchange->if_match)
        ok = ok && add_header(t, "If-Match", exchange->if_match);
    if (exchange->if_none_match)
        ok = ok && add_header(t, "If-None-Match", exchange->if_none_match);
    if (exchange->range) {
        ok = ok && add_header(t, "Range", exchange->range);
    } else if (exchange->range_from > 0 || exchange->range_end > 0) {
        char range[64], last[24] = "";
        if (exchange->range_end > 0)
            snprintf(last, sizeof(last), "%lld", (long long)exchange->range_end - 1);
        snprintf(range, sizeof(range), "bytes=%lld-%s", (long long)exchange->range_from, last);
        ok = ok && add_header(t, "Range", range);
    }
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
    if (!ok)
        return ocv_error_nomem(&exchange->error);
    if (curl_multi_add_handle(exchange->registry->multi, t->easy) != CURLM_OK)
        return ocv_error_nomem(&exchange->error);
    exchange->registry->transfers++;
    t->running = true;
    return OCV_OK;
}

/* Surplus bytes would be read as the answer to the next request on this connection. That they are
 * surplus is certain only with plain HTTP/1.1, and only while no other transfer runs that may use
 * the connection by now. libcurl repeats a request on a new connection if the old one was shut
 * down. */
void ocv_transfer_drop_surplus(const struct ocv_transfer *t, const struct ocv_registry *registry)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    const char *scheme = NULL;
    long version = 0;
    char byte;
    curl_easy_getinfo(t->easy, CURLINFO_SCHEME, &scheme);
    curl_easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
    if (registry->transfers > 1 || !scheme || strcasecmp(scheme, "http") != 0 ||
        version != CURL_HTTP_VERSION_1_1 ||
        curl_easy_getinfo(t->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD)
        return;
    if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
        shutdown(fd, SHUT_RDWR);
}

void ocv_transfer_stop(struct ocv_transfer *t, struct ocv_registry *registry)
{
    if (t->running) {
        curl_multi_remove_handle(registry->multi, t->easy);
        registry->transfers--;
    }
    t->running = false;
    for (struct curl_slist *h = t->headers; h; h = h->next)
        explicit_bzero(h->data, strlen(h->data));
    curl_slist_free_all(t->headers);
    t->headers = NULL;
}

void ocv_transfer_free(struct ocv_transfer *t, struct ocv_registry *registry)
{
    ocv_transfer_stop(t, registry);
    ocv_response_reset(&t->response);
    ocv_buffer_free(&t->body);
    if (t->easy)
        curl_easy_cleanup(t->easy);
    t->easy = NULL;
}

/* Driving libcurl without touching the program's signal handling. */

#define FLOOD_MS 500 /* processor time that one call of libcurl takes at most */
#define RECORDS 16   /* between two looks at the clock */

/* With HTTP/2 libcurl reads frames until one belongs to the request or none is left. If a server
 * sends other frames faster than libcurl reads them, the call never returns and checks no timeout.
 * OpenSSL calls us for each record, and after FLOOD_MS the connection is treated as closed by the
 * server. */

static _Thread_local int64_t work_began; /* of the call that runs, in ms */
static _Thread_local unsigned records;

static int64_t thread_work_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_record(int written, int version, int type, const void *bytes, size_t len, SSL *ssl,
                      void *data)
{
    (void)version, (void)bytes, (void)len, (void)data;
    if (written || type != SSL3_RT_HEADER || ++records % RECORDS != 0)
        return;
    if (thread_work_ms() - work_began > FLOOD_MS)
        SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

bool ocv_curl_has_openssl(void)
{
    const char *backend = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return backend && !strncmp(backend, "OpenSSL/", 8);
}

CURLcode ocv_tls_context(CURL *easy, void *context, void *store)
{
    (void)easy;
    if (store)
        SSL_CTX_set1_cert_store(context, store);
    SSL_CTX_set_msg_callback(context, on_record);
    return CURLE_OK;
}

/* OpenSSL writes with write(2): a closed connection raises SIGPIPE in this thread. It is held back
 * while libcurl runs and taken away if it was not pending before; no handler is touched. */
CURLMcode ocv_multi_perform(CURLM *multi)
{
    sigset_t pipe_set, old, pending;
    const struct timespec none = {0};
    int running = 0;
    sigemptyset(&pipe_set);
    sigaddset(&pipe_set, SIGPIPE);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
    work_began = thread_work_ms();
    records = 0;
    CURLMcode code = curl_multi_perform(multi, &running);
    if (!was_pending)
        while (sigtimedwait(&pipe_set, NULL, &none) == SIGPIPE)
            ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code;
}
