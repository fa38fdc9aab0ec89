/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/grpc: calls between our server and our client. Clients that misbehave:
 * test_grpc_hostile.c; text forms and headers: test_grpc_text.c. */
#include "test/unit/grpc/grpc_util.h"

START_TEST(test_calls)
{
    struct grpc_client *client = NULL;
    struct collected c = {0};
    start();
    ck_assert_int_eq(grpc_client_new(path, &client, NULL), OCV_OK);
    ck_assert_int_eq(ask(client, "/t.T/Echo", "hello", 5, &c, OCV_OK).code, GRPC_OK);
    ck_assert_uint_eq(c.n, 1);
    ck_assert_mem_eq(c.bytes.data, "hello", 5);
    ocv_buffer_free(&c.bytes);
    c = (struct collected){0};
    ck_assert_int_eq(ask(client, "/t.T/Echo", NULL, 0, &c, OCV_OK).code, GRPC_OK);
    ck_assert_uint_eq(c.n, 1);
    ck_assert_uint_eq(c.bytes.len, 0);
    c = (struct collected){0};
    ck_assert_int_eq(ask(client, "/t.T/Metadata", NULL, 0, &c, OCV_OK).code, GRPC_OK);
    ck_assert_mem_eq(c.bytes.data, "k8s.io", 6);
    ocv_buffer_free(&c.bytes);
    c = (struct collected){0};
    ck_assert_int_eq(ask(client, "/t.T/Stream", NULL, 0, &c, OCV_OK).code, GRPC_OK);
    ck_assert_uint_eq(c.n, 1000);
    ocv_buffer_free(&c.bytes);
    c = (struct collected){.stop_at = 3};
    ask(client, "/t.T/Stream", NULL, 0, &c, OCV_OK);
    ck_assert_uint_eq(c.n, 3);
    ocv_buffer_free(&c.bytes);
    c = (struct collected){0};
    struct grpc_result result = ask(client, "/t.T/Refuse", "x", 1, &c, OCV_OK);
    ck_assert_int_eq(result.code, GRPC_FAILED_PRECONDITION);
    ck_assert_str_eq(result.message, "image a: b%c\n\xc3\xa9 is no fit");
    ck_assert_int_eq(ask(client, "/t.T/Forget", "x", 1, &c, OCV_OK).code, GRPC_INTERNAL);
    c = (struct collected){0};
    ck_assert_int_eq(ask(client, "/t.T/Big", "x", 1, &c, OCV_OK).code, GRPC_OK);
    ck_assert_uint_eq(c.bytes.len, GRPC_MESSAGE_MAX);
    ocv_buffer_free(&c.bytes);
    grpc_client_free(client);
    stop();
}
END_TEST

START_TEST(test_large_request)
{
    struct grpc_client *client = NULL;
    struct collected c = {0};
    char *bytes = malloc(GRPC_MESSAGE_MAX + 1);
    memset(bytes, 7, GRPC_MESSAGE_MAX + 1);
    start();
    ck_assert_int_eq(grpc_client_new(path, &client, NULL), OCV_OK);
    ck_assert_int_eq(ask(client, "/t.T/Echo", bytes, GRPC_MESSAGE_MAX, &c, OCV_OK).code, GRPC_OK);
    ck_assert_uint_eq(c.bytes.len, GRPC_MESSAGE_MAX);
    ocv_buffer_free(&c.bytes);
    c = (struct collected){0};
    ask(client, "/t.T/Echo", bytes, GRPC_MESSAGE_MAX + 1, &c, OCV_ERR_INVALID);
    grpc_client_free(client);
    stop();
    free(bytes);
}
END_TEST

static void *many(void *data)
{
    for (int i = 0; i < 50; i++) {
        struct collected c = {0};
        char text[32];
        int len = snprintf(text, sizeof(text), "message %d", i);
        ck_assert_int_eq(ask(data, "/t.T/Echo", text, (size_t)len, &c, OCV_OK).code, GRPC_OK);
        ck_assert_uint_eq(c.bytes.len, (size_t)len);
        ck_assert_mem_eq(c.bytes.data, text, (size_t)len);
        ocv_buffer_free(&c.bytes);
    }
    return NULL;
}

START_TEST(test_threads)
{
    struct grpc_client *client = NULL;
    pthread_t threads[16];
    start();
    ck_assert_int_eq(grpc_client_new(path, &client, NULL), OCV_OK);
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, many, client), 0);
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    grpc_client_free(client);
    stop();
}
END_TEST

START_TEST(test_deadline)
{
    struct grpc_client *client = NULL;
    struct grpc_result result;
    struct ocv_error err = {0};
    start();
    ck_assert_int_eq(grpc_client_new(path, &client, NULL), OCV_OK);
    /* whichever side notices first */
    int status =
        grpc_client_call(client, "/t.T/Slow", NULL, 0, "", 0, 50, NULL, NULL, &result, &err);
    ck_assert(status == OCV_ERR_NETWORK ||
              (status == OCV_OK &&
               (result.code == GRPC_DEADLINE_EXCEEDED || result.code == GRPC_CANCELLED)));
    ck_assert_int_eq(
        grpc_client_call(client, "/t.T/Echo", NULL, 0, "", 0, 5000, NULL, NULL, &result, &err),
        OCV_OK);
    grpc_client_free(client);
    stop();
}
END_TEST

/* A call that is passed on, and once more as soon as its answer has ended. */
struct passing {
    struct grpc_client *client;
    struct grpc_passed call;
    int begun, ended, second;
};

static int pass_again(void *data, const struct ocv_buffer *headers, bool last)
{
    struct passing *p = data;
    struct grpc_result result;
    ck_assert_uint_gt(headers->len, 0);
    p->begun += !last;
    p->ended += last;
    if (last && p->ended == 1) {
        ck_assert_int_eq(unlink(path), 0); /* there are no more connections */
        p->second = grpc_client_pass(p->client, &p->call, &result, NULL);
    }
    return 0;
}

static int ignore_bytes(void *data, const uint8_t *bytes, size_t len)
{
    (void)data, (void)bytes, (void)len;
    return 0;
}

START_TEST(test_pass_again)
{
    static const struct grpc_header names[] = {
        {":method", "POST"},         {":scheme", "http"}, {":path", "/t.T/Echo"},
        {":authority", "localhost"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
    struct grpc_result result;
    struct ocv_error err = {0};
    struct ocv_buffer headers;
    struct passing p = {.second = -1};
    ocv_buffer_init(&headers, GRPC_HEADERS_MAX);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        ck_assert_int_eq(grpc_header_add(&headers, names[i].name, strlen(names[i].name),
                                         names[i].value, strlen(names[i].value)),
                         OCV_OK);
    start();
    ck_assert_int_eq(grpc_client_new(path, &p.client, NULL), OCV_OK);
    p.call = (struct grpc_passed){.headers = &headers,
                                  .body = "\0\0\0\0\1x",
                                  .len = 6,
                                  .on_headers = pass_again,
                                  .on_message = ignore_bytes,
                                  .data = &p};
    ck_assert_msg(grpc_client_pass(p.client, &p.call, &result, &err) == OCV_OK, "%s", err.message);
    ck_assert_int_eq(p.second, OCV_OK); /* on the connection of the first */
    ck_assert_int_eq(p.begun, 2);
    ck_assert_int_eq(p.ended, 2);
    ocv_buffer_free(&headers);
    grpc_client_free(p.client);
    stop();
}
END_TEST

static int gone_fd(void *data)
{
    return ((int *)data)[1];
}

/* The caller's caller goes away: the write end of a pipe is closed. */
static int goes(void *data, const uint8_t *message, size_t len)
{
    (void)message;
    ck_assert_uint_eq(len, 0);
    close(((int *)data)[0]);
    return 0;
}

/* A cancelled call ends on both sides, and more calls can run than before. */
START_TEST(test_gone)
{
    struct grpc_client *client = NULL;
    struct grpc_result result;
    struct ocv_error err = {0};
    int ends[2], back[2];
    start();
    ck_assert_int_eq(grpc_client_new(path, &client, NULL), OCV_OK);
    grpc_client_set_gone(client, gone_fd);
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(pipe(ends), 0);
        back[0] = ends[1], back[1] = ends[0];
        ck_assert_int_eq(
            grpc_client_call(client, "/t.T/Gone", NULL, 0, "", 0, 0, goes, back, &result, &err),
            OCV_ERR_NETWORK);
        close(ends[0]);
    }
    grpc_client_free(client);
    while (__atomic_load_n(&went, __ATOMIC_ACQUIRE) < 10)
        poll(NULL, 0, 1);
    stop();
}
END_TEST

/* A connection that waits in the client's pool does not outlive the server it was made to. */
START_TEST(test_restart)
{
    struct grpc_client *client = NULL;
    start();
    ck_assert_int_eq(grpc_client_new(path, &client, NULL), OCV_OK);
    for (int i = 0; i < 3; i++) {
        struct collected c = {0};
        ck_assert_int_eq(ask(client, "/t.T/Echo", "x", 1, &c, OCV_OK).code, GRPC_OK);
        ocv_buffer_free(&c.bytes);
        stop_server();
        start_again();
    }
    grpc_client_free(client);
    stop();
}
END_TEST

/* More than one event's worth of connections: each gets the server's settings. */
START_TEST(test_backlog)
{
    int fds[100];
    char bytes[64];
    start();
    stop_server();
    open_server();
    for (size_t i = 0; i < 100; i++)
        fds[i] = dial();
    run_server();
    for (size_t i = 0; i < 100; i++) {
        ck_assert_int_gt(recv(fds[i], bytes, sizeof(bytes), 0), 0);
        close(fds[i]);
    }
    stop();
}
END_TEST

/* A client that sends and closes its side before anything is read: the end is seen, too. */
START_TEST(test_sent_and_closed)
{
    static const char bytes[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    const struct timeval patience = {.tv_sec = GRPC_IDLE_MS / 2000}; /* less than an idle one has */
    const size_t len = sizeof(bytes) - 1;
    char answer[64];
    ssize_t n;
    start();
    stop_server();
    open_server();
    int fd = dial();
    ck_assert_int_eq(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    run_server();
    while ((n = recv(fd, answer, sizeof(answer), 0)) > 0)
        ;
    ck_assert_int_eq(n, 0);
    close(fd);
    stop();
}
END_TEST

START_TEST(test_nobody)
{
    struct grpc_client *client = NULL;
    struct grpc_result result;
    char longer[200];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    ck_assert_int_eq(grpc_client_new(longer, &client, NULL), OCV_ERR_INVALID);
    ck_assert_int_eq(grpc_client_new("/nonexistent/s", &client, NULL), OCV_OK);
    ck_assert_int_eq(
        grpc_client_call(client, "/a/B", NULL, 0, "", 0, 100, NULL, NULL, &result, NULL),
        OCV_ERR_NETWORK);
    grpc_client_free(client);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("grpc");
    TCase *tcase = tcase_create("grpc");
    tcase_set_timeout(tcase, 240); /* the largest messages take long under a sanitizer */
    tcase_add_test(tcase, test_calls);
    tcase_add_test(tcase, test_large_request);
    tcase_add_test(tcase, test_threads);
    tcase_add_test(tcase, test_deadline);
    tcase_add_test(tcase, test_pass_again);
    tcase_add_test(tcase, test_gone);
    tcase_add_test(tcase, test_restart);
    tcase_add_test(tcase, test_backlog);
    tcase_add_test(tcase, test_sent_and_closed);
    tcase_add_test(tcase, test_nobody);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
