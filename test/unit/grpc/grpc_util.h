/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server that does what a method's name asks for, and calls of it. */
#ifndef OCV_GRPC_UTIL_H
#define OCV_GRPC_UTIL_H

#include "lib/internal/grpc/grpc.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static char directory[] = "/tmp/ocv-grpc-XXXXXX", path[64];
static struct grpc_server *server;
static pthread_t server_thread;

static int went; /* calls whose caller has gone; atomic */

/* What the method's name asks for. */
static void handle(void *data, struct grpc_call *call)
{
    const char *method = grpc_call_path(call);
    size_t len = 0;
    const uint8_t *request = grpc_call_request(call, &len);
    (void)data;
    if (!strcmp(method, "/t.T/Echo")) {
        ck_assert_int_eq(grpc_call_send(call, request, len), OCV_OK);
        grpc_call_finish(call, GRPC_OK, NULL);
    } else if (!strcmp(method, "/t.T/Stream")) {
        for (unsigned i = 0; i < 1000; i++)
            if (grpc_call_send(call, &i, sizeof(i)) < 0)
                return;
        grpc_call_finish(call, GRPC_OK, NULL);
    } else if (!strcmp(method, "/t.T/Metadata")) {
        const char *value = grpc_call_metadata(call, "containerd-namespace");
        ck_assert_int_eq(grpc_call_send(call, value ? value : "", value ? strlen(value) : 0),
                         OCV_OK);
        grpc_call_finish(call, GRPC_OK, NULL);
    } else if (!strcmp(method, "/t.T/Slow")) {
        for (int i = 0; i < 1000 && !grpc_call_cancelled(call); i++)
            poll(NULL, 0, 5);
        grpc_call_finish(call, grpc_call_cancelled(call) ? GRPC_CANCELLED : GRPC_OK, NULL);
    } else if (!strcmp(method, "/t.T/Gone")) { /* one message, and no end while somebody waits */
        struct pollfd gone = {.fd = grpc_call_gone_fd(call), .events = POLLIN};
        ck_assert_int_eq(grpc_call_send(call, "", 0), OCV_OK);
        grpc_call_push(call);
        ck_assert_int_eq(poll(&gone, 1, -1), 1);
        ck_assert(__atomic_load_n(grpc_call_gone(call), __ATOMIC_ACQUIRE) != 0);
        __atomic_add_fetch(&went, 1, __ATOMIC_ACQ_REL);
    } else if (!strcmp(method, "/t.T/Big")) {
        char *bytes = calloc(1, GRPC_MESSAGE_MAX);
        int status = grpc_call_send(call, bytes, GRPC_MESSAGE_MAX);
        free(bytes);
        grpc_call_finish(call, status < 0 ? GRPC_INTERNAL : GRPC_OK, NULL);
    } else if (strcmp(method, "/t.T/Forget") != 0) {
        grpc_call_finish(call, GRPC_FAILED_PRECONDITION, "image a: b%c\n\xc3\xa9 is no fit");
    }
}

static void *serve(void *data)
{
    (void)data;
    ck_assert_int_eq(grpc_server_run(server, NULL), OCV_OK);
    return NULL;
}

static struct sockaddr_un address(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, path, strlen(path) + 1);
    return at;
}

/* Listens at `path`, where no socket is. */
static void open_server(void)
{
    const struct grpc_server_options options = {.handle = handle};
    const struct sockaddr_un at = address();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(fd, 128), 0);
    ck_assert_int_eq(grpc_server_new(&options, fd, &server, NULL), OCV_OK);
}

static void run_server(void)
{
    ck_assert_int_eq(pthread_create(&server_thread, NULL, serve, NULL), 0);
}

static void start_again(void)
{
    open_server();
    run_server();
}

static void start(void)
{
    memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/s", directory);
    start_again();
}

/* The directory stays, for start_again. */
static void stop_server(void)
{
    grpc_server_stop(server);
    pthread_join(server_thread, NULL);
    grpc_server_free(server);
    unlink(path);
}

static void stop(void)
{
    stop_server();
    rmdir(directory);
}

UNUSED static int dial(void)
{
    const struct sockaddr_un at = address();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

struct collected {
    struct ocv_buffer bytes;
    size_t n, stop_at;
};

static int collect(void *data, const uint8_t *message, size_t len)
{
    struct collected *c = data;
    c->n++;
    if (len)
        ck_assert_int_eq(ocv_buffer_append(&c->bytes, message, len, NULL), OCV_OK);
    return c->stop_at && c->n >= c->stop_at ? 1 : 0;
}

static struct grpc_result ask(struct grpc_client *client, const char *method, const void *request,
                              size_t len, struct collected *out, int expected)
{
    const struct grpc_header headers[] = {{"containerd-namespace", "k8s.io"}};
    struct grpc_result result;
    struct ocv_error err = {0};
    ocv_buffer_init(&out->bytes, 64u * 1024 * 1024);
    int status = grpc_client_call(client, method, headers, 1, request, len, 120000, collect, out,
                                  &result, &err);
    ck_assert_msg(status == expected, "%s: %d %s", method, status, err.message);
    return result;
}

#endif
