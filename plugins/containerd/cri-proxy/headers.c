/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/proxy.h"

#include <stdlib.h>
#include <string.h>

void headers_init(struct headers *h)
{
    *h = (struct headers){0};
    ocv_buffer_init(&h->text, HEADERS_MAX);
}

void headers_free(struct headers *h)
{
    if (h->text.data) /* tokens may be among them */
        explicit_bzero(h->text.data, h->text.len);
    ocv_buffer_free(&h->text);
    free(h->list);
    *h = (struct headers){0};
}

void headers_add(struct headers *h, const void *name, size_t name_len, const void *value,
                 size_t value_len, uint8_t flags)
{
    if (h->bad)
        return;
    if (h->n == h->room) {
        size_t room = h->room ? h->room * 2 : 16;
        struct header *list =
            room <= HEADERS_COUNT_MAX ? reallocarray(h->list, room, sizeof(*list)) : NULL;
        h->bad = !list;
        if (h->bad)
            return;
        h->list = list;
        h->room = room;
    }
    struct header one = {h->text.len, name_len, h->text.len + name_len, value_len,
                         flags & NGHTTP2_NV_FLAG_NO_INDEX};
    h->bad = ocv_buffer_append(&h->text, name, name_len, NULL) < 0 ||
             ocv_buffer_append(&h->text, value, value_len, NULL) < 0;
    if (!h->bad)
        h->list[h->n++] = one;
}

static struct header *find(const struct headers *h, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].name_len == len && memcmp(h->text.data + h->list[i].name, name, len) == 0)
            return &h->list[i];
    return NULL;
}

const char *headers_find(const struct headers *h, const char *name, size_t *len)
{
    const struct header *one = find(h, name);
    if (!one)
        return NULL;
    *len = one->value_len;
    return h->text.data + one->value;
}

void headers_set(struct headers *h, const char *name, const char *value)
{
    struct header *one = find(h, name);
    size_t at = h->text.len, len = strlen(value);
    if (!one)
        return;
    h->bad = h->bad || ocv_buffer_append(&h->text, value, len, NULL) < 0;
    if (!h->bad) {
        one->value = at;
        one->value_len = len;
    }
}

nghttp2_nv *headers_list(const struct headers *h)
{
    nghttp2_nv *out = calloc(h->n ? h->n : 1, sizeof(*out));
    for (size_t i = 0; out && i < h->n; i++) {
        const struct header *one = &h->list[i];
        out[i] =
            (nghttp2_nv){(uint8_t *)h->text.data + one->name, (uint8_t *)h->text.data + one->value,
                         one->name_len, one->value_len, one->flags};
    }
    return out;
}
