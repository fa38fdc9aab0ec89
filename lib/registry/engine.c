/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* HTTP to a container engine: its unix socket, or TCP with TLS. No proxy, no redirects, no retries:
 * an engine's requests change its state. */
#include "lib/registry/registry_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct engine {
    const struct ocv_engine_request *request;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    bool stopped;
    char error[CURL_ERROR_SIZE];
};

static size_t on_body(char *bytes, size_t size, size_t count, void *data)
{
    struct engine *e = data;
    const struct ocv_engine_request *r = e->request;
    if (r->body && r->body(r->data, bytes, size * count)) {
        e->stopped = true;
        return 0;
    }
    return size * count;
}

static size_t on_read(char *out, size_t size, size_t count, void *data)
{
    const struct engine *e = data;
    for (;;) {
        ssize_t n = read(e->request->upload_fd, out, size * count);
        if (n >= 0)
            return (size_t)n;
        if (errno != EINTR)
            return CURL_READFUNC_ABORT;
    }
}

static int set_up(struct engine *e, struct ocv_error *err)
{
    const struct ocv_engine_request *r = e->request;
    CURL *easy = e->easy = curl_easy_init();
    e->multi = curl_multi_init();
    if (!easy || !e->multi)
        return ocv_error_nomem(err);
    curl_easy_setopt(easy, CURLOPT_URL, r->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, e->error);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, e);
    if (r->socket)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, r->socket);
    if (r->ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, r->ca_file);
    if (r->cert_file)
        curl_easy_setopt(easy, CURLOPT_SSLCERT, r->cert_file);
    if (r->key_file)
        curl_easy_setopt(easy, CURLOPT_SSLKEY, r->key_file);

    if (r->upload) {
        struct stat file;
        off_t at = lseek(r->upload_fd, 0, SEEK_CUR);
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 512L * 1024);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, e);
        if (at >= 0 && !fstat(r->upload_fd, &file) && S_ISREG(file.st_mode))
            curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)(file.st_size - at));
    } else if (!strcmp(r->method, "HEAD"))
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else if (!strcmp(r->method, "POST"))
        curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, "");
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);

    e->headers = curl_slist_append(NULL, "Expect:");
    for (size_t i = 0; e->headers && i < r->n_headers; i++) {
        struct curl_slist *longer = curl_slist_append(e->headers, r->headers[i]);
        if (!longer)
            return ocv_error_nomem(err);
        e->headers = longer;
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, e->headers);
    if (!e->headers || curl_multi_add_handle(e->multi, easy) != CURLM_OK)
        return ocv_error_nomem(err);
    return OCV_OK;
}

static int perform_transfer(struct engine *e, struct ocv_error *err)
{
    const struct ocv_engine_request *r = e->request;
    const char *where = r->socket ? r->socket : r->url;
    const struct CURLMsg *message;
    for (;;) {
        if (r->interrupted && *r->interrupted)
            return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
        if (r->tick)
            r->tick(r->tick_data);
        CURLMcode code = ocv_multi_perform(e->multi);
        int left;
        message = curl_multi_info_read(e->multi, &left);
        if (message && message->msg == CURLMSG_DONE)
            break;
        if (code == CURLM_OK)
            code = curl_multi_poll(e->multi, NULL, 0, 100, NULL);
        if (code != CURLM_OK)
            return ocv_error_set(err, OCV_ERR_NETWORK, "libcurl: %s", curl_multi_strerror(code));
    }
    CURLcode result = message->data.result;
    if (result == CURLE_OK)
        return OCV_OK;

    long code = 0;
    if (e->stopped)
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "%s: stopped", where);
    if (result == CURLE_OUT_OF_MEMORY)
        return ocv_error_nomem(err);
    curl_easy_getinfo(e->easy, CURLINFO_OS_ERRNO, &code);
    if (result == CURLE_COULDNT_CONNECT && (code == EACCES || code == EPERM)) {
        ocv_error_set(err, OCV_ERR_DENIED, "%s: %s", where, strerror((int)code));
        ocv_error_hint(err, "may this user talk to the engine? (group docker, or sudo)");
        return OCV_ERR_DENIED;
    }
    if (result == CURLE_COULDNT_CONNECT && code)
        return ocv_error_set(err, OCV_ERR_NETWORK, "%s: %s", where, strerror((int)code));
    return ocv_error_set(err, OCV_ERR_NETWORK, "%s: %s", where,
                         e->error[0] ? e->error : curl_easy_strerror(result));
}

int ocv_engine_http(const struct ocv_engine_request *request, long *status, struct ocv_error *err)
{
    struct engine e = {.request = request};
    int code = ocv_registry_global(err);
    if (code == OCV_OK)
        code = set_up(&e, err);
    if (code == OCV_OK)
        code = perform_transfer(&e, err);
    if (code == OCV_OK)
        curl_easy_getinfo(e.easy, CURLINFO_RESPONSE_CODE, status);
    if (e.multi && e.easy)
        curl_multi_remove_handle(e.multi, e.easy);
    if (e.easy)
        curl_easy_cleanup(e.easy);
    if (e.multi)
        curl_multi_cleanup(e.multi);
    curl_slist_free_all(e.headers);
    return code;
}
