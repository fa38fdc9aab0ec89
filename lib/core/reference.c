/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Image references: distribution/reference's grammar with Docker's defaults.
 *
 *   reference  = name [ ":" tag ] [ "@" digest ]
 *   name       = [ host "/" ] component ( "/" component )*
 *   component  = [a-z0-9]+ ( ( "." | "_" | "__" | "-"+ ) [a-z0-9]+ )*
 * The first part is a host if it has a "." or ":", is "localhost", or has upper-case letters. */
#include "ocivariant/reference.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define REFERENCE_MAX 1024u /* bytes of a reference */
#define NAME_MAX_BYTES 255u /* distribution/reference: NameTotalLengthMax */

bool ocv_reference_tag_valid(const char *tag)
{
    size_t n = strnlen(tag, 129);
    if (n == 0 || n > 128 || tag[0] == '.' || tag[0] == '-')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)tag[i]) && !strchr("_.-", tag[i]))
            return false;
    return true;
}

static bool path_valid(const char *s)
{
    for (;;) {
        if (!ocv_text_is_lower_alnum(*s))
            return false;
        while (ocv_text_is_lower_alnum(*s))
            s++;
        if (!*s)
            return true;
        if (*s == '/') {
            s++;
            continue;
        }
        /* a dot, one or two underscores, or dashes */
        size_t separator = *s == '_' && s[1] == '_' ? 2
                           : *s == '_' || *s == '.' ? 1
                                                    : strspn(s, "-");
        if (separator == 0)
            return false;
        s += separator;
    }
}

static bool port_valid(const char *s)
{
    size_t digits = strspn(s, "0123456789");
    return digits > 0 && digits <= 5 && !s[digits] && strtol(s, NULL, 10) <= 65535;
}

/* domain-name, IPv4 or [IPv6], with an optional port. */
bool ocv_reference_host_valid(const char *s)
{
    if (*s == '[') {
        const char *end = strchr(s, ']');
        if (!end || end - s < 3 ||
            strspn(s + 1, "0123456789abcdefABCDEF:") != (size_t)(end - s - 1))
            return false;
        return !end[1] || (end[1] == ':' && port_valid(end + 2));
    }
    char previous = '.';
    for (; *s && *s != ':'; s++) {
        bool edge = previous == '.';
        if (!isalnum((unsigned char)*s) && !(*s == '-' && !edge) && !(*s == '.' && !edge))
            return false;
        if (*s == '.' && previous == '-')
            return false;
        previous = *s;
    }
    if (previous == '.' || previous == '-')
        return false;
    return !*s || port_valid(s + 1);
}

static bool looks_like_host(const char *s, size_t len)
{
    if (memchr(s, '.', len) || memchr(s, ':', len))
        return true;
    if (len == strlen("localhost") && memcmp(s, "localhost", len) == 0)
        return true;
    for (size_t i = 0; i < len; i++)
        if (s[i] >= 'A' && s[i] <= 'Z')
            return true;
    return false;
}

bool ocv_reference_host_is_loopback(const char *authority)
{
    char host[256];
    /* the host of "host", "host:port", "[v6]:port", without brackets */
    size_t len = strlen(authority);
    const char *start = authority;
    if (*start == '[') {
        start++;
        len = strcspn(start, "]");
    } else if (strchr(start, ':') && strchr(start, ':') == strrchr(start, ':')) {
        len = strcspn(start, ":");
    }
    snprintf(host, sizeof(host), "%.*s", (int)(len < sizeof(host) ? len : sizeof(host) - 1), start);
    struct in_addr v4;
    struct in6_addr v6;
    if (!strcasecmp(host, "localhost"))
        return true;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

const char *ocv_reference_host_canonical(const char *host)
{
    bool hub = !strcasecmp(host, "index.docker.io") || !strcasecmp(host, "registry-1.docker.io");
    return hub ? "docker.io" : host;
}

static bool is_image_id(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static int bad_reference(struct ocv_error *err, const char *text, const char *why)
{
    return ocv_error_set(err, OCV_ERR_INVALID, "'%.200s' is not an image reference: %s", text, why);
}

/* The three texts, one after another; NULL without memory. Not asprintf: a proxy does this several
 * times per call. */
static char *join(const char *a, const char *b, const char *c)
{
    size_t na = strlen(a), nb = strlen(b), nc = strlen(c);
    char *text = malloc(na + nb + nc + 1);
    if (text)
        memcpy(mempcpy(mempcpy(text, a, na), b, nb), c, nc + 1);
    return text;
}

/* Fill host, repository, name and familiar from the name part, which is cut up in place. */
static int split_name(const char *text, char *name, struct ocv_reference *ref,
                      struct ocv_error *err)
{
    const char *host = "docker.io", *path = name;
    char *slash = strchr(name, '/');
    if (slash && looks_like_host(name, (size_t)(slash - name))) {
        *slash = '\0';
        host = name;
        path = slash + 1;
        if (!ocv_reference_host_valid(host))
            return bad_reference(err, text, "malformed host");
        host = ocv_reference_host_canonical(host);
    }
    if (path == name && is_image_id(path))
        return bad_reference(err, text, "64 hexadecimal digits are an image's id, not a name");
    for (const char *s = path; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            return bad_reference(err, text, "the repository name must be lower case");
    if (!path_valid(path))
        return bad_reference(err, text, "malformed repository name");
    bool hub = !strcmp(host, "docker.io");
    bool official = hub && !strchr(path, '/');
    const char *familiar =
        hub && !strncmp(path, "library/", 8) && !strchr(path + 8, '/') ? path + 8 : path;
    ref->host = strdup(host);
    ref->repository = join(official ? "library/" : "", path, "");
    if (!ref->host || !ref->repository)
        return ocv_error_nomem(err);
    ref->name = join(ref->host, "/", ref->repository);
    /* would a repository of Docker Hub be taken for something else without its host? */
    const char *part = strchr(familiar, '/');
    bool bare = hub && !(part ? looks_like_host(familiar, (size_t)(part - familiar))
                              : is_image_id(familiar));
    ref->familiar = join(bare ? "" : ref->host, bare ? "" : "/", familiar);
    if (!ref->name || !ref->familiar)
        return ocv_error_nomem(err);
    if (strlen(ref->name) > NAME_MAX_BYTES)
        return bad_reference(err, text, "the name is longer than 255 characters");
    return OCV_OK;
}

int ocv_reference_parse(const char *text, struct ocv_reference **out, struct ocv_error *err)
{
    if (!text || !*text)
        return ocv_error_set(err, OCV_ERR_INVALID, "empty image reference");
    if (strnlen(text, REFERENCE_MAX + 1) > REFERENCE_MAX)
        return bad_reference(err, text, "too long");
    if (strstr(text, "://")) {
        bad_reference(err, text, "it has a scheme");
        ocv_error_hint(err, "leave out '%.*s://'", (int)(strstr(text, "://") - text), text);
        return OCV_ERR_INVALID;
    }
    ocv_auto(ocv_reference) ref = calloc(1, sizeof(*ref));
    ocv_auto_free char *rest = strdup(text);
    if (!ref || !rest)
        return ocv_error_nomem(err);
    /* Cut "@digest" and ":tag" off `rest` and copy them into `ref`. */
    char *at = strchr(rest, '@');
    if (at) {
        *at++ = '\0';
        if (!ocv_digest_wellformed(at))
            return bad_reference(err, text, "malformed digest");
        if (!(ref->digest = strdup(at)))
            return ocv_error_nomem(err);
    }
    char *slash = strrchr(rest, '/');
    char *colon = strchr(slash ? slash : rest, ':');
    if (colon) {
        *colon++ = '\0';
        if (!ocv_reference_tag_valid(colon))
            return bad_reference(err, text, "malformed tag");
    }
    const char *tag = colon ? colon : at ? NULL : "latest";
    if (tag && !(ref->tag = strdup(tag)))
        return ocv_error_nomem(err);

    OCV_TRY(split_name(text, rest, ref, err));
    *out = ocv_steal(&ref);
    return OCV_OK;
}

void ocv_reference_free(struct ocv_reference *reference)
{
    if (!reference)
        return;
    free(reference->host);
    free(reference->repository);
    free(reference->tag);
    free(reference->digest);
    free(reference->name);
    free(reference->familiar);
    free(reference);
}
