/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/daemons.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "ocivariant-registry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TOKEN_MAX (64u * 1024)

const char *kube_variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

bool kube_api_known(void)
{
    const char *port = kube_variable("KUBERNETES_SERVICE_PORT");
    return *kube_variable("KUBERNETES_SERVICE_HOST") && *port &&
           strspn(port, "0123456789") == strlen(port);
}

bool kube_node_name_valid(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n < KUBE_NODE_MAX && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") == n;
}

static int keep_answer(void *data, const char *bytes, size_t len)
{
    struct ocv_error err = {0};
    return ocv_buffer_append(data, bytes, len, &err);
}

int kube_api_send(const struct kube_request *r, struct ocv_error *err)
{
    const char *host = kube_variable("KUBERNETES_SERVICE_HOST");
    bool v6 = strchr(host, ':') != NULL;
    char url[2048], path[4200], ca[4200], type[128];
    long http = 0;
    ocv_auto_buffer token;
    ocv_buffer_init(&token, TOKEN_MAX);
    snprintf(path, sizeof(path), "%.4000s/token", r->account);
    OCV_TRY(ocv_buffer_printf(&token, err, "Authorization: Bearer "));
    OCV_TRY(ocv_file_read(path, OCV_FILE_REGULAR, &token, err));
    token.data[strcspn(token.data, "\r\n")] = '\0';
    ocv_auto_fd int fd = r->body ? memfd_create("request", MFD_CLOEXEC) : -1;
    if (r->body &&
        (fd < 0 || !ocv_fd_write(fd, r->body, strlen(r->body)) || lseek(fd, 0, SEEK_SET) < 0))
        return ocv_file_fail(err, "request", NULL, "write");
    snprintf(url, sizeof(url), "https://%s%.255s%s:%.5s%.1500s", v6 ? "[" : "", host, v6 ? "]" : "",
             kube_variable("KUBERNETES_SERVICE_PORT"), r->path);
    snprintf(ca, sizeof(ca), "%.4000s/ca.crt", r->account);
    snprintf(type, sizeof(type), "Content-Type: %.100s", r->type);
    const char *headers[] = {token.data, "Accept: application/json", type};
    const struct ocv_engine_request request = {.method = r->method,
                                               .url = url,
                                               .headers = headers,
                                               .n_headers = r->body ? 3 : 2,
                                               .ca_file = ca,
                                               .upload_fd = fd,
                                               .upload = r->body != NULL,
                                               .timeout_ms = r->timeout_ms,
                                               .interrupted = r->interrupted,
                                               .body = r->answer ? keep_answer : NULL,
                                               .data = r->answer};
    OCV_TRY(ocv_engine_http(&request, &http, err));
    if (http != r->wanted)
        return ocv_error_set(err, OCV_ERR_DENIED, "the API server answers %ld", http);
    return OCV_OK;
}
