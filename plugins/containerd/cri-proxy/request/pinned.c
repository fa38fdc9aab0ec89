/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/request/pinned.h"
#include "lib/base/format/encodings.h"
#include "lib/base/text.h"
#include "lib/registry/auth/credentials.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct ocv_reference *pinned_parse(const void *text, size_t len)
{
    char copy[PINNED_TEXT_MAX];
    struct ocv_reference *reference = NULL;
    if (len >= sizeof(copy) || !len || memchr(text, 0, len) || !memchr(text, '@', len))
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (ocv_reference_parse(copy, &reference, NULL) < 0)
        return NULL;
    if (!pinned_by_digest(reference)) {
        ocv_reference_free(reference);
        return NULL;
    }
    return reference;
}

bool pinned_by_digest(const struct ocv_reference *reference)
{
    return reference && reference->digest && ocv_digest_known(reference->digest);
}

/* "NAME@DIGEST" */
static bool join(const char *name, size_t len, const char *digest, char out[PINNED_TEXT_MAX])
{
    size_t n = strlen(digest);
    if (n >= PINNED_TEXT_MAX - 1 || len >= PINNED_TEXT_MAX - 1 - n)
        return false;
    memcpy(out, name, len);
    out[len] = '@';
    memcpy(out + len + 1, digest, n + 1);
    return true;
}

bool pinned_key(const struct ocv_reference *reference, char out[PINNED_TEXT_MAX])
{
    return join(reference->name, strlen(reference->name), reference->digest, out);
}

bool pinned_rewrite(const void *text, size_t len, const char *digest, char out[PINNED_TEXT_MAX])
{
    const char *start = text, *at = memchr(text, '@', len);
    size_t name = at ? (size_t)(at - start) : len;
    for (size_t i = name; i > 0 && start[i - 1] != '/'; i--)
        if (start[i - 1] == ':') /* after the last slash, so a tag and not a port */
            name = i - 1;
    return join(start, name, digest, out);
}

int pinned_credentials(struct wire_auth *auth, const char *host, struct ocv_error *err)
{
    if (auth->server_address) {
        /* "https://index.docker.io/v1/" or "registry.example:5000" */
        static const char *const hub[] = {"docker.io", "index.docker.io", "registry-1.docker.io"};
        char server[512];
        const char *scheme = strstr(auth->server_address, "://");
        const char *start = scheme ? scheme + 3 : auth->server_address;
        snprintf(server, sizeof(server), "%.*s", (int)strcspn(start, "/"), start);
        bool same = strcasecmp(server, host) == 0, at_hub = strcasecmp(host, hub[0]) == 0;
        for (size_t i = 0; at_hub && !same && i < sizeof(hub) / sizeof(*hub); i++)
            same = strcasecmp(server, hub[i]) == 0;
        if (!same)
            wire_auth_free(auth);
    }
    if (auth->username || auth->identity_token || auth->registry_token || !auth->auth)
        return OCV_OK;
    /* `auth` is base64 of "username:password", sometimes padded with NULs. */
    size_t len = 0;
    char *pair = ocv_base64_decode(auth->auth, &len);
    char *colon = pair ? strchr(pair, ':') : NULL;
    int status = OCV_OK;
    if (colon) {
        free(auth->password);
        auth->username = strndup(pair, (size_t)(colon - pair));
        auth->password = strdup(colon + 1);
        if (!auth->username || !auth->password)
            status = ocv_error_nomem(err);
    } else {
        status = ocv_error_set(err, OCV_ERR_DATA, "the request's auth is malformed");
    }
    if (pair)
        explicit_bzero(pair, len);
    free(pair);
    return status;
}

#define LINE_MAX_BYTES 2048

static bool verbose; /* written before threads start */

void log_setup(bool wanted)
{
    verbose = wanted;
}

__attribute__((format(printf, 1, 0))) static void put(const char *format, va_list args)
{
    static const char name[] = "ocivariant-cri-proxy: ";
    char line[LINE_MAX_BYTES];
    memcpy(line, name, sizeof(name));
    vsnprintf(line + sizeof(name) - 1, sizeof(line) - sizeof(name), format, args);
    ocv_text_clean(line);
    size_t len = strlen(line);
    line[len] = '\n';
    ssize_t written = write(STDERR_FILENO, line, len + 1);
    (void)written;
}

void log_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(format, args);
    va_end(args);
}

void log_debug(const char *format, ...)
{
    va_list args;
    if (!verbose)
        return;
    va_start(args, format);
    put(format, args);
    va_end(args);
}
