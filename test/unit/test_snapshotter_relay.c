/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passing calls on to a snapshotter that hangs. */
#include "snapshotter_util.h"

#include <nghttp2/nghttp2.h>

#define METHOD SNAP_SERVICE "Stat"

static struct world w;
static char backend[96];
static int backend_fd;

/* Takes connections and says nothing. */
static void opened(void)
{
    world_folder(&w);
    snprintf(backend, sizeof(backend), "%s/backend", w.root);
    backend_fd = world_listen(backend);
    const struct snap_relay_options options = {.socket = backend};
    ck_assert_int_eq(snap_relay_new(&options, &w.service.relay, NULL), OCV_OK);
    world_run(&w);
}

/* A call without a deadline; its caller goes when the back end has it. */
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

/* The back end's side of a call that has come: until the relay lets go of it. */
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
    int calls[8]; /* as many as are passed on at once */
    for (int i = 0; i < 8; i++)
        calls[i] = accept_call();
    for (int i = 0; i < 10; i++)
        close(fds[i]);
    for (int i = 0; i < 8; i++)
        await_end(calls[i]);
    pthread_t caller;
    ck_assert_int_eq(pthread_create(&caller, NULL, call_it, NULL), 0);
    close(accept_call());
    pthread_join(caller, NULL);
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

int main(void)
{
    Suite *suite = suite_create("snapshotter_relay");
    TCase *tcase = tcase_create("relay");
    tcase_add_checked_fixture(tcase, opened, closed);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_stop);
    tcase_add_test(tcase, test_callers_gone);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
