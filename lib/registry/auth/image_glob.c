/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/registry/auth/providers_internal.h"

#include <string.h>

/* Parts of a text, which stay where they are. */
struct parts {
    const char *host, *port, *path;
    size_t host_len, port_len;
};

static struct parts split_parts(const char *text)
{
    size_t len = strcspn(text, "/");
    struct parts out = {.host = text, .host_len = len, .port = "", .path = text + len};
    const char *close = text[0] == '[' ? memchr(text, ']', len) : NULL;
    const char *colon = close ? close + 1 : memchr(text, ':', len);
    size_t after = colon ? (size_t)(text + len - colon) : 0;
    if (!after || *colon != ':' || (!close && memchr(colon + 1, ':', after - 1)))
        return out; /* no port, or an address without brackets */
    out.host_len = (size_t)(colon - text);
    out.port = colon + 1;
    out.port_len = after - 1;
    return out;
}

static size_t label_len(const char *at, size_t left)
{
    const char *dot = memchr(at, '.', left);
    return dot ? (size_t)(dot - at) : left;
}

static bool host_fits(const struct parts *glob, const struct parts *image)
{
    if (glob->port_len != image->port_len || memcmp(glob->port, image->port, glob->port_len) != 0)
        return false;
    const char *g = glob->host, *i = image->host;
    size_t g_left = glob->host_len, i_left = image->host_len;
    for (;;) {
        size_t g_len = label_len(g, g_left), i_len = label_len(i, i_left);
        /* one label; "*" is any number of characters */
        size_t at = 0, l = 0, star = g_len, from = 0;
        while (l < i_len) {
            if (at < g_len && g[at] == '*') {
                star = at++;
                from = l;
            } else if (at < g_len && g[at] == i[l]) {
                at++;
                l++;
            } else if (star < g_len) {
                at = star + 1;
                l = ++from;
            } else {
                return false;
            }
        }
        while (at < g_len && g[at] == '*')
            at++;
        if (at < g_len || (g_len == g_left) != (i_len == i_left))
            return false;
        if (g_len == g_left)
            return true;
        g += g_len + 1;
        g_left -= g_len + 1;
        i += i_len + 1;
        i_left -= i_len + 1;
    }
}

bool ocv_image_glob_match(const char *glob, const char *image)
{
    if (strlen(glob) > OCV_IMAGE_GLOB_MAX)
        return false;
    const struct parts wanted = split_parts(glob), given = split_parts(image);
    return host_fits(&wanted, &given) && !strncmp(given.path, wanted.path, strlen(wanted.path));
}

bool ocv_image_glob_covers(const char *glob, const char *host)
{
    const struct parts wanted = split_parts(glob), given = split_parts(host);
    return strlen(glob) <= OCV_IMAGE_GLOB_MAX && host_fits(&wanted, &given);
}
