/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Part of badregistry.c: modes that ask for a password or a token. */
#ifndef OCV_BADREGISTRY_AUTH_H
#define OCV_BADREGISTRY_AUTH_H

#include "test/tools/badregistry_modes.h"

#define BASIC_U_P "Basic dTpw" /* u:p */

static bool mode_basic(const struct request *r)
{
    if (strcmp(r->authorization, BASIC_U_P))
        return error(r, 401, "WWW-Authenticate: Basic realm=\"here\"\r\n", "UNAUTHORIZED");
    return good(r);
}
static bool mode_basicredirect(const struct request *r)
{
    if (strcmp(r->authorization, BASIC_U_P))
        return error(r, 401, "WWW-Authenticate: Basic realm=\"here\"\r\n", "UNAUTHORIZED");
    return mode_redirect(r);
}
static bool challenge(const struct request *r, const char *realm)
{
    char header[512];
    snprintf(header, sizeof(header),
             "WWW-Authenticate: Bearer realm=\"http://127.0.0.1:%d/%s\",service=\"bad, registry\","
             "scope=\"repository:%s:pull\"\r\n",
             ports[0], realm, r->mode);
    return error(r, 401, header, "UNAUTHORIZED");
}
static bool has_token(const struct request *r, const char *who)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "Bearer %s-", who);
    return !strncmp(r->authorization, wanted, strlen(wanted));
}
static bool mode_public(const struct request *r) /* an anonymous token suffices */
{
    return has_token(r, "anonymous") || has_token(r, "u") ? good(r) : challenge(r, "token");
}
static bool mode_private(const struct request *r)
{
    return has_token(r, "u") ? good(r) : challenge(r, "token");
}
static bool mode_oauth(const struct request *r)
{
    return has_token(r, "u") ? good(r) : challenge(r, "oauth");
}
/* Every token is good for one request. */
static bool mode_onetime(const struct request *r)
{
    const char *dash = strrchr(r->authorization, '-');
    unsigned mine = dash ? (unsigned)strtoul(dash + 1, NULL, 10) : 0;
    static unsigned used;
    pthread_mutex_lock(&lock);
    bool fresh = mine > used;
    if (fresh)
        used = mine;
    pthread_mutex_unlock(&lock);
    return fresh ? good(r) : challenge(r, "token");
}
static bool mode_localrealm(const struct request *r)
{
    return error(r, 401, "WWW-Authenticate: Bearer realm=\"https://169.254.1.2/token\"\r\n",
                 "UNAUTHORIZED");
}
static bool mode_farrealm(const struct request *r)
{
    return error(r, 401, "WWW-Authenticate: Bearer realm=\"http://auth.invalid/token\"\r\n",
                 "UNAUTHORIZED");
}
static bool mode_mutetoken(const struct request *r)
{
    return challenge(r, "mute");
}
static bool mode_fattoken(const struct request *r)
{
    return challenge(r, "fattoken");
}
/* A token in an answer of so many bytes, which it announces or does not. */
static bool mode_fulltoken(const struct request *r)
{
    return has_token(r, "sized") ? good(r) : challenge(r, "sized/32768");
}
static bool mode_overtoken(const struct request *r)
{
    return has_token(r, "sized") ? good(r) : challenge(r, "sized/32769");
}
static bool mode_fulluntold(const struct request *r)
{
    return has_token(r, "sized") ? good(r) : challenge(r, "untold/32768");
}
static bool mode_overuntold(const struct request *r)
{
    return has_token(r, "sized") ? good(r) : challenge(r, "untold/32769");
}
static bool sized_token(const struct request *r, bool told)
{
    char body[40000], length[64] = "Connection: close\r\n";
    size_t len = strtoul(strrchr(r->path, '/') + 1, NULL, 10);
    int n = snprintf(body, sizeof(body), "{\"token\":\"sized-1\",\"x\":\"");
    if (len > sizeof(body))
        return false;
    memset(body + n, 'x', len - (size_t)n);
    memcpy(body + len - 2, "\"}", 2);
    if (told)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", len);
    return say(r->fd, "HTTP/1.1 200 OK\r\n%s\r\n", length) && put(r->fd, body, len) && told;
}
static bool mode_badtoken(const struct request *r)
{
    return challenge(r, "badtoken");
}

/* {"KEY":[{},{},...]} of so many bytes: as a tree it would take 75 times as many. */
static bool fat(const struct request *r, int status, const char *key, size_t bytes)
{
    size_t n = (bytes - 16 - strlen(key)) / 3, len = 3 * n + 6 + strlen(key);
    bool whole = say(r->fd,
                     "HTTP/1.1 %d Fat\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n{\"%s\":[",
                     status, len, key);
    for (size_t i = 1; whole && i < n; i++)
        whole = put(r->fd, "{},", 3);
    return whole && put(r->fd, "{}  ]}", 6);
}
static bool mode_faterror(const struct request *r)
{
    return fat(r, 500, "errors", 64000);
}
static bool mode_fattags(const struct request *r)
{
    return strstr(r->path, "/tags/list") ? fat(r, 200, "tags", 4000000)
                                         : error(r, 404, "", "MANIFEST_UNKNOWN");
}

static bool give_token(const struct request *r, const char *who)
{
    char body[256];
    pthread_mutex_lock(&lock);
    unsigned n = ++tokens;
    pthread_mutex_unlock(&lock);
    int len =
        snprintf(body, sizeof(body), "{\"access_token\":\"%s-%u\",\"expires_in\":300}", who, n);
    return say(r->fd, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len, body);
}
static bool token_get(const struct request *r)
{
    if (!r->authorization[0])
        return give_token(r, "anonymous");
    if (strcmp(r->authorization, BASIC_U_P))
        return error(r, 401, "", "UNAUTHORIZED");
    return give_token(r, "u");
}
static bool token_post(const struct request *r)
{
    if (strcmp(r->method, "POST"))
        return error(r, 405, "", "UNSUPPORTED");
    bool refresh = strstr(r->body, "grant_type=refresh_token") &&
                   strstr(r->body, "refresh_token=identity%2Btoken");
    bool password = strstr(r->body, "grant_type=password") && strstr(r->body, "username=u&") &&
                    strstr(r->body, "password=p");
    return refresh || password ? give_token(r, "u") : error(r, 401, "", "UNAUTHORIZED");
}

/* What is sent is taken, and stored as something else. */
static bool mode_storesother(const struct request *r)
{
    if (!strcmp(r->method, "POST"))
        return say(r->fd, "HTTP/1.1 202 Accepted\r\nLocation: /v2/storesother/blobs/uploads/1\r\n"
                          "Content-Length: 0\r\n\r\n");
    if (!strcmp(r->method, "PUT"))
        return say(r->fd,
                   "HTTP/1.1 201 Created\r\nDocker-Content-Digest: %s\r\n"
                   "Content-Length: 0\r\n\r\n",
                   served_index.digest);
    return error(r, 404, "", "BLOB_UNKNOWN");
}

#endif
