/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/mirror/route.h"

#include <stdio.h>
#include <string.h>

#define URL_MAX 1024 /* a name has 255 characters at most, a digest 135 */

/* Remove the prefix that selects the view; false unless "/v2" follows. */
static bool take_view(const struct settings *settings, const char **url, const char *ns,
                      enum view *view)
{
    static const struct {
        const char *prefix;
        enum view view;
    } prefixes[] = {{"/resolver", VIEW_RESOLVER}, {"/proxy", VIEW_PROXY}, {"/raw", VIEW_RAW}};
    *view = settings->mode == MODE_RESOLVER ? VIEW_RESOLVER
            : settings->mode == MODE_PROXY  ? VIEW_PROXY
            : ns                            ? VIEW_RESOLVER
                                            : VIEW_PROXY;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        size_t len = strlen(prefixes[i].prefix);
        if (strncmp(*url, prefixes[i].prefix, len) != 0 || (*url)[len] != '/')
            continue;
        *view = prefixes[i].view;
        *url += len;
        break;
    }
    if (strncmp(*url, "/v2", 3) != 0 || ((*url)[3] && (*url)[3] != '/'))
        return false;
    *url += 3;
    return true;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len > n && memcmp(text + len - n, end, n) == 0;
}

/* Split "NAME/manifests/OBJECT" and similar paths: returns the length of NAME and where OBJECT
 * begins. */
static enum route_kind split_path(const char *path, size_t *name_len, const char **object)
{
    static const struct {
        const char *infix;
        enum route_kind kind;
    } kinds[] = {
        {"/manifests", ROUTE_TAG}, {"/blobs", ROUTE_BLOB}, {"/referrers", ROUTE_REFERRERS}};
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ROUTE_NO_SUCH;
    size_t len = (size_t)(slash - path);
    *object = slash + 1;
    if (!strcmp(*object, "list") && ends_with(path, len, "/tags")) {
        *name_len = len - strlen("/tags");
        return ROUTE_TAGS;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (!ends_with(path, len, kinds[i].infix))
            continue;
        *name_len = len - strlen(kinds[i].infix);
        return kinds[i].kind == ROUTE_TAG && strchr(*object, ':') ? ROUTE_DIGEST : kinds[i].kind;
    }
    return ROUTE_NO_SUCH;
}

/* The library's parser checks the name; this function prevents its defaults (registry, "library/",
 * tag) from being applied. */
static enum route_kind make_reference(struct route *out, enum route_kind kind, const char *name,
                                      size_t len, const char *object)
{
    char text[URL_MAX + 512];
    bool digest = kind != ROUTE_TAG && kind != ROUTE_TAGS;
    const char *end = kind == ROUTE_TAGS ? "latest" : object;
    if (digest ? !ocv_digest_wellformed(object) : !ocv_reference_tag_valid(end))
        return ROUTE_BAD_NAME;
    for (size_t i = 0; i < len; i++) /* these characters would begin a tag or a digest */
        if (name[i] == ':' || name[i] == '@')
            return ROUTE_BAD_NAME;
    snprintf(text, sizeof(text), "%s/%.*s%c%s", out->upstream->name, (int)len, name,
             digest ? '@' : ':', end);
    int status = ocv_reference_parse(text, &out->reference, NULL);
    if (status == OCV_ERR_NOMEM)
        return ROUTE_NO_MEMORY;
    if (status < 0)
        return ROUTE_BAD_NAME;
    if (strcmp(out->reference->host, out->upstream->name) != 0) {
        ocv_reference_free(out->reference);
        out->reference = NULL;
        return ROUTE_BAD_NAME;
    }
    return kind;
}

void route_parse(const struct settings *settings, const char *url, const char *ns,
                 struct route *out)
{
    const char *path = url, *object = NULL;
    size_t len = 0;
    *out = (struct route){.kind = ROUTE_NO_SUCH};
    if (!take_view(settings, &path, ns, &out->view))
        return;
    if (!*path || !strcmp(path, "/")) {
        out->kind = ROUTE_BASE;
        return;
    }
    path++;
    enum route_kind kind = split_path(path, &len, &object);
    if (kind == ROUTE_NO_SUCH)
        return;
    if (strnlen(path, URL_MAX) == URL_MAX) {
        out->kind = ROUTE_BAD_NAME;
        return;
    }
    /* The registry: `ns`, else the first part of the path, else the default one. */
    const char *slash = ns ? NULL : memchr(path, '/', len);
    size_t first = slash ? (size_t)(slash - path) : 0;
    out->upstream = ns      ? settings_upstream(settings, ns)
                    : slash ? settings_segment(settings, path, first)
                            : NULL;
    if (!ns && out->upstream) {
        path += first + 1;
        len -= first + 1;
    } else if (!ns) {
        out->upstream = settings->default_upstream;
    }
    out->kind =
        out->upstream ? make_reference(out, kind, path, len, object) : ROUTE_UNKNOWN_REGISTRY;
}

void route_clear(struct route *route)
{
    ocv_reference_free(route->reference);
    route->reference = NULL;
}
