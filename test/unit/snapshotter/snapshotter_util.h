/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshotter in this process, asked over its socket with real messages. */
#ifndef SNAPSHOTTER_UTIL_H
#define SNAPSHOTTER_UTIL_H

#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"
#include "plugins/containerd/snapshotter/service/service.h"
#include "test/unit/suite.h"

#include "gen/snapshots.pb-c.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct world {
    char root[64], socket[80];
    struct snap_service service;
    struct grpc_server *server;
    pthread_t thread;
    struct grpc_client *client;
};

static inline void *world_serve(void *data)
{
    struct world *w = data;
    ck_assert_int_eq(grpc_server_run(w->server, NULL), OCV_OK);
    return NULL;
}

static inline int world_listen(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 1100), 0);
    return fd;
}

/* Serve what is set in w->service. */
static inline void world_run(struct world *w)
{
    const struct grpc_server_options options = {
        .handle = snap_service_handle, .data = &w->service, .workers = 8};
    ck_assert_int_eq(grpc_server_new(&options, world_listen(w->socket), &w->server, NULL), OCV_OK);
    ck_assert_int_eq(pthread_create(&w->thread, NULL, world_serve, w), 0);
    ck_assert_int_eq(grpc_client_new(w->socket, &w->client, NULL), OCV_OK);
}

static inline void world_directory(struct world *w)
{
    *w = (struct world){.root = "/tmp/ocv-snap-XXXXXX"};
    umask(0);
    ck_assert_ptr_nonnull(mkdtemp(w->root));
    snprintf(w->socket, sizeof(w->socket), "%s/s", w->root);
}

static inline void world_open(struct world *w)
{
    char path[80];
    struct ocv_error err = {0};
    world_directory(w);
    snprintf(path, sizeof(path), "%s/metadata.db", w->root);
    ck_assert_msg(snap_meta_open(path, &w->service.meta, &err) == OCV_OK, "%s", err.message);
    ck_assert_msg(snap_overlay_open(w->root, false, w->service.meta, NULL, &w->service.overlay,
                                    &err) == OCV_OK,
                  "%s", err.message);
    world_run(w);
}

static inline void world_close(struct world *w)
{
    grpc_client_free(w->client);
    grpc_server_stop(w->server);
    pthread_join(w->thread, NULL);
    grpc_server_free(w->server);
    snap_fit_free(w->service.fit);
    snap_relay_free(w->service.relay);
    snap_overlay_free(w->service.overlay);
    snap_meta_close(w->service.meta);
    ck_assert_int_eq(snap_tree_remove(AT_FDCWD, w->root), 0);
}

struct answers {
    const ProtobufCMessageDescriptor *type;
    void *list[4096];
    size_t n;
};

static inline int world_take(void *data, const uint8_t *message, size_t len)
{
    struct answers *a = data;
    ck_assert_uint_lt(a->n, sizeof(a->list) / sizeof(*a->list));
    a->list[a->n] = protobuf_c_message_unpack(a->type, NULL, len, message);
    ck_assert_ptr_nonnull(a->list[a->n]);
    a->n++;
    return 0;
}

static inline enum grpc_code world_call(const struct world *w, const char *method,
                                        const void *request, struct answers *out)
{
    const struct grpc_header headers[] = {{"containerd-namespace", "default"},
                                          {"containerd-lease", "lease-1"}};
    char path[128];
    struct grpc_result result;
    struct ocv_error err = {0};
    size_t len = protobuf_c_message_get_packed_size(request);
    uint8_t *bytes = malloc(len + 1);
    protobuf_c_message_pack(request, bytes);
    snprintf(path, sizeof(path), SNAP_SERVICE "%s", method);
    int status = grpc_client_call(w->client, path, headers, 2, bytes, len, 30000, world_take, out,
                                  &result, &err);
    free(bytes);
    ck_assert_msg(status == OCV_OK, "%s: %s", method, err.message);
    if (result.code != GRPC_OK)
        ck_assert_msg(result.message[0], "%s: no message", method);
    return result.code;
}

static inline void answers_free(struct answers *a)
{
    while (a->n)
        protobuf_c_message_free_unpacked(a->list[--a->n], NULL);
}

/* `labels`: "k=v k=v" */
static inline size_t make_labels(const char *text, Snapshots__Label *labels,
                                 Snapshots__Label **list)
{
    static __thread char copy[1024];
    char *save = NULL;
    size_t n = 0;
    snprintf(copy, sizeof(copy), "%s", text ? text : "");
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        snapshots__label__init(&labels[n]);
        labels[n].key = word;
        labels[n].value = strchr(word, '=') + 1;
        labels[n].value[-1] = '\0';
        list[n] = &labels[n];
        n++;
    }
    return n;
}

/* Prepare or View; the mount's options joined by blanks go into `out` (may be NULL). */
static inline enum grpc_code create(const struct world *w, const char *method, const char *key,
                                    const char *parent, const char *labels, char *out, size_t size)
{
    Snapshots__PrepareRequest request = SNAPSHOTS__PREPARE_REQUEST__INIT;
    Snapshots__Label all[16], *list[16];
    struct answers a = {.type = &snapshots__mounts_response__descriptor};
    request.snapshotter = (char *)(uintptr_t) "ocivariant";
    request.key = (char *)(uintptr_t)key;
    request.parent = (char *)(uintptr_t)parent;
    request.n_labels = make_labels(labels, all, list);
    request.labels = list;
    enum grpc_code code = world_call(w, method, &request, &a);
    ck_assert_uint_eq(a.n, code == GRPC_OK ? 1 : 0);
    if (a.n && out) {
        const Snapshots__MountsResponse *response = a.list[0];
        ck_assert_uint_eq(response->n_mounts, 1);
        const Snapshots__Mount *m = response->mounts[0];
        int at = snprintf(out, size, "%s %s", m->type, m->source);
        for (size_t i = 0; i < m->n_options; i++)
            at += snprintf(out + at, size - (size_t)at, " %s", m->options[i]);
    }
    answers_free(&a);
    return code;
}

static inline enum grpc_code prepare(const struct world *w, const char *key, const char *parent,
                                     const char *labels)
{
    return create(w, "Prepare", key, parent, labels, NULL, 0);
}

static inline enum grpc_code commit(const struct world *w, const char *name, const char *key,
                                    const char *labels)
{
    Snapshots__CommitRequest request = SNAPSHOTS__COMMIT_REQUEST__INIT;
    Snapshots__Label all[16], *list[16];
    struct answers a = {.type = &snapshots__empty__descriptor};
    request.name = (char *)(uintptr_t)name;
    request.key = (char *)(uintptr_t)key;
    request.n_labels = make_labels(labels, all, list);
    request.labels = list;
    enum grpc_code code = world_call(w, "Commit", &request, &a);
    answers_free(&a);
    return code;
}

static inline enum grpc_code by_key(const struct world *w, const char *method, const char *key,
                                    struct answers *out)
{
    Snapshots__KeyRequest request = SNAPSHOTS__KEY_REQUEST__INIT;
    request.key = (char *)(uintptr_t)key;
    return world_call(w, method, &request, out);
}

static inline enum grpc_code remove_snapshot(const struct world *w, const char *key)
{
    struct answers a = {.type = &snapshots__empty__descriptor};
    enum grpc_code code = by_key(w, "Remove", key, &a);
    answers_free(&a);
    return code;
}

/* "name parent kind k=v k=v" of a snapshot, or "" */
static inline const char *describe(const Snapshots__Info *info, char *out, size_t size)
{
    int at = snprintf(out, size, "%s %s %d", info->name, info->parent, (int)info->kind);
    for (size_t i = 0; i < info->n_labels; i++)
        at += snprintf(out + at, size - (size_t)at, " %s=%s", info->labels[i]->key,
                       info->labels[i]->value);
    return out;
}

static inline enum grpc_code stat_snapshot(const struct world *w, const char *key, char *out,
                                           size_t size)
{
    struct answers a = {.type = &snapshots__stat_response__descriptor};
    enum grpc_code code = by_key(w, "Stat", key, &a);
    if (code == GRPC_OK)
        describe(((const Snapshots__StatResponse *)a.list[0])->info, out, size);
    answers_free(&a);
    return code;
}

/* Names that pass the filter (NULL: none), joined by blanks; returns how many messages came. */
static inline size_t list_names(const struct world *w, const char *filter, char *out, size_t size,
                                enum grpc_code *code)
{
    static __thread struct answers a;
    Snapshots__ListRequest request = SNAPSHOTS__LIST_REQUEST__INIT;
    char *filters[] = {(char *)(uintptr_t)filter};
    int at = 0;
    a = (struct answers){.type = &snapshots__list_response__descriptor};
    request.n_filters = filter ? 1 : 0;
    request.filters = filters;
    *code = world_call(w, "List", &request, &a);
    out[0] = '\0';
    for (size_t i = 0; i < a.n; i++) {
        const Snapshots__ListResponse *response = a.list[i];
        ck_assert_uint_le(response->n_info, 100);
        for (size_t j = 0; j < response->n_info; j++)
            at += snprintf(out + at, size - (size_t)at, "%s%s", at ? " " : "",
                           response->info[j]->name);
    }
    size_t n = a.n;
    answers_free(&a);
    return n;
}

static inline void put_file(const char *directory, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

#endif
