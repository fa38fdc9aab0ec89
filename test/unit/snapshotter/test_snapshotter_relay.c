/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passing calls on to another snapshotter: what is passed on, and what happens if it hangs. */
#include "test/unit/snapshotter/snapshotter_util.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>

#define METHOD SNAP_SERVICE "Stat"

static struct world w;
static char backend[96];
static int backend_fd;

/* Takes connections and says nothing. */
static void opened(void)
{
    world_directory(&w);
    snprintf(backend, sizeof(backend), "%s/backend", w.root);
    backend_fd = world_listen(backend);
    const struct snap_relay_options options = {.socket = backend};
    ck_assert_int_eq(snap_relay_new(&options, &w.service.relay, NULL), OCV_OK);
    world_run(&w);
}

/* A call without a deadline; its caller goes away once the back end has it. */
static void *call_it(void *data)
{
    struct grpc_client *client = NULL;
    struct grpc_result result;
    (void)data;
    ck_assert_int_eq(grpc_client_new(w.socket, &client, NULL), OCV_OK);
    int status = grpc_client_call(client, METHOD, NULL, 0, "", 0, 0, NULL, NULL, &result, NULL);
    ck_assert(status < 0 || result.code != GRPC_OK);
    grpc_client_free(client);
    return NULL;
}

/* The back end's side of a call, until the relay drops it. */
static void await_end(int fd)
{
    char bytes[4096];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        ;
    ck_assert_int_eq(n, 0);
    close(fd);
}

static int accept_call(void)
{
    int fd = accept(backend_fd, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* An order to end is followed, though the back end never answers. */
START_TEST(test_stop)
{
    pthread_t caller;
    ck_assert_int_eq(pthread_create(&caller, NULL, call_it, NULL), 0);
    int fd = accept_call();
    grpc_server_stop(w.server);
    await_end(fd);
    pthread_join(caller, NULL);
}
END_TEST

/* More callers than workers that give up: the next one is served. */
START_TEST(test_callers_gone)
{
    int fds[10];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    static const uint8_t call[] = /* preface, SETTINGS, HEADERS, a DATA frame with no message */
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        "\0\0\0\4\0\0\0\0\0";
    memcpy(address.sun_path, w.socket, strlen(w.socket) + 1);
    nghttp2_hd_deflater *deflater = NULL;
    uint8_t head[512];
    nghttp2_nv list[] = {
        {(uint8_t *)(uintptr_t) ":method", (uint8_t *)(uintptr_t) "POST", 7, 4, 0},
        {(uint8_t *)(uintptr_t) ":scheme", (uint8_t *)(uintptr_t) "http", 7, 4, 0},
        {(uint8_t *)(uintptr_t) ":path", (uint8_t *)(uintptr_t)METHOD, 5, sizeof(METHOD) - 1, 0},
        {(uint8_t *)(uintptr_t) ":authority", (uint8_t *)(uintptr_t) "x", 10, 1, 0},
        {(uint8_t *)(uintptr_t) "content-type", (uint8_t *)(uintptr_t) "application/grpc", 12, 16,
         0}};
    ck_assert_int_eq(nghttp2_hd_deflate_new(&deflater, 0), 0);
    ssize_t len = nghttp2_hd_deflate_hd(deflater, head + 9, sizeof(head) - 9, list, 5);
    nghttp2_hd_deflate_del(deflater);
    ck_assert_int_gt(len, 0);
    memcpy(head, (uint8_t[9]){0, (uint8_t)(len >> 8), (uint8_t)len, 1, 4, 0, 0, 0, 1}, 9);
    for (int i = 0; i < 10; i++) {
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(fds[i], (struct sockaddr *)&address, sizeof(address)), 0);
        ck_assert_int_gt(send(fds[i], call, sizeof(call) - 1, 0), 0);
        ck_assert_int_gt(send(fds[i], head, (size_t)len + 9, 0), 0);
        ck_assert_int_eq(send(fds[i], "\0\0\5\0\1\0\0\0\1\0\0\0\0\0", 14, 0), 14);
    }
    int calls[8]; /* as many as are passed on at the same time */
    for (int i = 0; i < 8; i++)
        calls[i] = accept_call();
    for (int i = 0; i < 10; i++)
        close(fds[i]);
    for (int i = 0; i < 8; i++)
        await_end(calls[i]);
    pthread_t caller;
    ck_assert_int_eq(pthread_create(&caller, NULL, call_it, NULL), 0);
    while (pthread_tryjoin_np(caller, NULL) != 0) { /* the last two may have got here, too */
        struct pollfd waiting = {.fd = backend_fd, .events = POLLIN};
        if (poll(&waiting, 1, 10) > 0)
            close(accept_call());
    }
}
END_TEST

static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static char told[256]; /* "namespace lease traceparent" */
static int64_t left;

static void note(void *data, struct grpc_call *call)
{
    static const char *const names[] = {"containerd-namespace", "containerd-lease", "traceparent"};
    size_t at = 0;
    (void)data;
    pthread_mutex_lock(&told_lock);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = grpc_call_metadata(call, names[i]);
        at += (size_t)snprintf(told + at, sizeof(told) - at, "%s%s", i ? " " : "",
                               value ? value : "-");
    }
    left = grpc_call_left(call);
    pthread_mutex_unlock(&told_lock);
    grpc_call_finish(call, GRPC_OK, NULL);
}

static void *serve_backend(void *data)
{
    ck_assert_int_eq(grpc_server_run(data, NULL), OCV_OK);
    return NULL;
}

/* `ms`: the caller's deadline, 0 without one. */
static void ask_with(unsigned ms, const char *wanted)
{
    const struct grpc_header headers[] = {{"containerd-namespace", "k8s.io"},
                                          {"containerd-lease", "lease-1"},
                                          {"traceparent", "00-1-2-01"}};
    struct grpc_result result;
    ck_assert_int_eq(
        grpc_client_call(w.client, METHOD, headers, 3, "", 0, ms, NULL, NULL, &result, NULL),
        OCV_OK);
    ck_assert_int_eq(result.code, GRPC_OK);
    pthread_mutex_lock(&told_lock);
    ck_assert_str_eq(told, wanted);
    ck_assert(ms ? left > 0 && left <= ms : left == -1);
    pthread_mutex_unlock(&told_lock);
}

/* The back end learns the caller and the deadline. One that is another containerd has its own
 * namespaces, and none of our leases. */
START_TEST(test_goes_along)
{
    const struct grpc_server_options options = {.handle = note};
    const struct snap_relay_options other = {.socket = backend, .ns = "ours"};
    struct grpc_server *server = NULL;
    pthread_t thread;
    ck_assert_int_eq(grpc_server_new(&options, dup(backend_fd), &server, NULL), OCV_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve_backend, server), 0);
    ask_with(30000, "k8s.io lease-1 00-1-2-01");
    ask_with(0, "k8s.io lease-1 00-1-2-01");
    snap_relay_free(w.service.relay);
    ck_assert_int_eq(snap_relay_new(&other, &w.service.relay, NULL), OCV_OK);
    ask_with(30000, "ours - 00-1-2-01");
    grpc_server_stop(server);
    pthread_join(thread, NULL);
    grpc_server_free(server);
}
END_TEST

static void closed(void)
{
    grpc_client_free(w.client);
    grpc_server_stop(w.server);
    pthread_join(w.thread, NULL);
    grpc_server_free(w.server);
    snap_relay_free(w.service.relay);
    close(backend_fd);
    ck_assert_int_eq(snap_tree_remove(AT_FDCWD, w.root), 0);
}

RUN_TESTS_IN("snapshotter_relay", opened, closed, test_stop, test_callers_gone, test_goes_along)
