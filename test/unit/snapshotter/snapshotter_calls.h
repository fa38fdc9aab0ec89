/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshotter for each test. */
#ifndef OCV_SNAPSHOTTER_CALLS_H
#define OCV_SNAPSHOTTER_CALLS_H

#include "test/unit/snapshotter/snapshotter_util.h"

__attribute__((unused)) static struct world w;

__attribute__((unused)) static void opened(void)
{
    world_open(&w);
}

__attribute__((unused)) static void closed(void)
{
    world_close(&w);
}

__attribute__((unused)) static void expect(const char *key, const char *text)
{
    char got[4096];
    ck_assert_int_eq(stat_snapshot(&w, key, got, sizeof(got)), GRPC_OK);
    ck_assert_str_eq(got, text);
}

__attribute__((unused)) static size_t directories(void)
{
    char command[128];
    snprintf(command, sizeof(command), "ls -A %s/snapshots | wc -l", w.root);
    FILE *pipe = popen(command, "r");
    unsigned n = 0;
    ck_assert_int_eq(fscanf(pipe, "%u", &n), 1);
    pclose(pipe);
    return n;
}

#endif
