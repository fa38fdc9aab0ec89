/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/proxy.h"

#include <stdlib.h>
#include <string.h>

#define KEEP (64u * 1024) /* an empty pipe gives back more room than this */

void pipe_init(struct pipe *p)
{
    *p = (struct pipe){0};
    headers_init(&p->trailers);
}

static void forget(struct pipe *p)
{
    if (p->bytes) /* a request has passwords in it */
        explicit_bzero(p->bytes, p->room);
    free(p->bytes);
    p->bytes = NULL;
    p->at = p->len = p->room = 0;
}

void pipe_free(struct pipe *p)
{
    forget(p);
    headers_free(&p->trailers);
}

bool pipe_put(struct pipe *p, const void *bytes, size_t len)
{
    if (p->at) {
        memmove(p->bytes, p->bytes + p->at, p->len - p->at);
        p->len -= p->at;
        p->at = 0;
    }
    if (p->room - p->len < len) {
        size_t room = (p->len + len) * 2;
        uint8_t *more = malloc(room);
        if (!more)
            return false;
        if (p->len)
            memcpy(more, p->bytes, p->len);
        size_t kept = p->len;
        forget(p);
        p->bytes = more;
        p->len = kept;
        p->room = room;
    }
    if (len)
        memcpy(p->bytes + p->len, bytes, len);
    p->len += len;
    return true;
}

size_t pipe_take(struct pipe *p, uint8_t *out, size_t size, size_t *pay)
{
    size_t n = p->len - p->at;
    if (n > size)
        n = size;
    if (n)
        memcpy(out, p->bytes + p->at, n);
    p->at += n;
    size_t paid = n < p->paid ? n : p->paid;
    p->paid -= paid;
    *pay = n - paid;
    if (p->at == p->len && p->room > KEEP)
        forget(p);
    return n;
}
