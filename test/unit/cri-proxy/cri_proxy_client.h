/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A proxy with one client, for tests of single calls. */
#ifndef CRI_PROXY_CLIENT_H
#define CRI_PROXY_CLIENT_H

#include "test/unit/cri-proxy/cri_proxy_util.h"

static struct client_side client;
static struct answer a;

__attribute__((unused)) static void open_client(void)
{
    set_up();
    a = (struct answer){0};
    client_open(&client, front);
}

__attribute__((unused)) static void close_client(void)
{
    client_close(&client);
    free(a.bytes);
    tear_down();
}

__attribute__((unused)) static void expect(const char *status, const void *bytes, size_t len)
{
    ck_assert_str_eq(a.status, status);
    ck_assert_uint_eq(a.len, len);
    if (len)
        ck_assert_mem_eq(a.bytes, bytes, len);
    free(a.bytes);
    a.bytes = NULL;
}

/* An unpredictable-looking text of that length; the caller's. */
__attribute__((unused)) static uint8_t *noise(size_t len)
{
    uint8_t *bytes = malloc(len);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 11);
    return bytes;
}

#endif
