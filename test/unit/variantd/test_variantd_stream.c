/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A blob from a worker to a client, through a real server. */
#include "cmd/variantd/upstream/upstream.h"

#include "cmd/variantd/http/httpd.h"

#include "ocivariant-registry.h"
#include "test/unit/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES (3u * 1024 * 1024 + 17)

static struct httpd *server;
static unsigned port;
static struct {
    size_t chunk;
    useconds_t pause;
    bool hold, good, sized;
    unsigned patience_ms;
    size_t bytes;
} plan;
static atomic_int pushed_all, writers, started;
static struct stream *last;

static char byte_at(size_t i)
{
    return (char)(i * 31 + i / 251);
}

static void *write_all(void *data)
{
    struct stream *stream = data;
    char chunk[200000];
    size_t at = 0;
    bool gone = false;
    while (at < plan.bytes && !gone) {
        size_t n = plan.chunk < plan.bytes - at ? plan.chunk : plan.bytes - at;
        for (size_t i = 0; i < n; i++)
            chunk[i] = byte_at(at + i);
        gone = stream_push(stream, chunk, n, n >= plan.chunk);
        at += n;
        if (plan.pause)
            usleep(plan.pause);
    }
    if (!gone)
        atomic_fetch_add(&pushed_all, 1);
    stream_end(stream, plan.good);
    refcounted_unref(stream);
    atomic_fetch_sub(&writers, 1);
    return NULL;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **context)
{
    static int seen;
    struct stream *stream = NULL;
    pthread_t thread;
    (void)cls, (void)url, (void)method, (void)version, (void)upload, (void)upload_size;
    if (!*context) {
        *context = &seen;
        return MHD_YES;
    }
    if (stream_new(plan.hold, plan.sized ? (int64_t)plan.bytes : -1, plan.patience_ms, &stream,
                   NULL) < 0)
        return MHD_NO;
    struct MHD_Response *response = stream_response(stream, connection);
    last = refcounted_ref(stream);
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    atomic_fetch_add(&writers, 1);
    atomic_fetch_add(&started, 1);
    if (pthread_create(&thread, NULL, write_all, stream))
        abort();
    pthread_detach(thread);
    return result;
}

static void set_up(void)
{
    plan.chunk = 65536;
    plan.pause = 0;
    plan.hold = plan.good = plan.sized = true;
    plan.patience_ms = STREAM_PATIENCE_MS;
    plan.bytes = BYTES;
    const struct httpd_calls calls = {.handle = handle};
    const struct httpd_limits limits = {.threads = 1, .connections = 16, .head = 4096};
    struct listening listening;
    ck_assert_int_eq(listen_tcp("127.0.0.1:0", -1, &listening, NULL), OCV_OK);
    port = listening.port;
    ck_assert_int_eq(httpd_new(listening.fd, &calls, &limits, &server, NULL), OCV_OK);
}

static void tear_down(void)
{
    while (atomic_load(&writers)) /* each ends by itself */
        usleep(1000);
    httpd_free(server);
    refcounted_unref(last);
    last = NULL;
}

struct got {
    size_t n, wrong, stop_at;
};

static int on_body(void *data, const char *bytes, size_t len)
{
    struct got *got = data;
    for (size_t i = 0; i < len; i++)
        got->wrong += bytes[i] != byte_at(got->n + i);
    got->n += len;
    return got->stop_at && got->n >= got->stop_at;
}

static int fetch(struct got *got)
{
    char url[64];
    long status = 0;
    struct ocv_error err = {0};
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
    struct ocv_engine_request request = {
        .method = "GET", .url = url, .upload_fd = -1, .body = on_body, .data = got};
    return ocv_engine_http(&request, &status, &err);
}

static const struct {
    size_t chunk;
    useconds_t pause;
    bool hold, sized;
    size_t bytes;
} ways[] = {
    {65536, 0, true, true, BYTES},
    {65536, 0, false, false, BYTES},
    {1, 0, true, true, BYTES / 8},
    {1, 0, true, false, BYTES / 8},
    {200000, 0, true, true, BYTES},
    {200000, 0, true, false, BYTES},
    {1021, 0, true, false, BYTES},
    {50000, 3000, true, true, BYTES},
    {200000, 0, false, true, BYTES},
    {100, 0, true, true, STREAM_HELD},
    {100, 0, true, true, STREAM_HELD + 1},
    {100, 0, true, false, STREAM_HELD - 1},
    {100, 0, true, false, 0},
};

START_TEST(every_byte_arrives)
{
    struct got got = {0};
    plan.chunk = ways[_i].chunk;
    plan.pause = ways[_i].pause;
    plan.hold = ways[_i].hold;
    plan.sized = ways[_i].sized;
    plan.bytes = ways[_i].bytes;
    ck_assert_int_eq(fetch(&got), 0);
    ck_assert_uint_eq(got.n, plan.bytes);
    ck_assert_uint_eq(got.wrong, 0);
}
END_TEST

START_TEST(wrong_whole_never_ends)
{
    struct got got = {0};
    plan.good = false;
    plan.sized = _i;
    ck_assert_int_lt(fetch(&got), 0);
    ck_assert_uint_le(got.n, BYTES - STREAM_HELD);
    ck_assert_uint_eq(got.wrong, 0);
}
END_TEST

START_TEST(writer_notices_that_nobody_reads)
{
    struct got got = {.stop_at = 100000};
    ck_assert_int_lt(fetch(&got), 0);
    tear_down();
    set_up();
    ck_assert_int_eq(atomic_load(&writers), 0);
}
END_TEST

/* A client with next to no buffer that has asked, and reads nothing yet. */
static int ask(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    const char *request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    ck_assert_int_eq(send(fd, request, strlen(request), 0), (ssize_t)strlen(request));
    return fd;
}

/* libmicrohttpd must not add a Content-Length, and must announce that the connection closes. */
START_TEST(head_tells_the_size_once)
{
    char text[2 * STREAM_HELD];
    size_t len = 0;
    plan.bytes = STREAM_HELD;
    int fd = ask();
    for (ssize_t n; (n = recv(fd, text + len, sizeof(text) - 1 - len, 0)) > 0;)
        len += (size_t)n;
    text[len] = '\0';
    const char *length = strcasestr(text, "\r\nContent-Length: 1024\r\n");
    ck_assert_ptr_nonnull(length);
    ck_assert_ptr_null(strcasestr(length + 2, "\r\nContent-Length:"));
    ck_assert_ptr_null(strcasestr(text, "\r\nTransfer-Encoding:"));
    ck_assert_ptr_nonnull(strcasestr(text, "\r\nConnection: close\r\n"));
    const char *body = strstr(text, "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    ck_assert_uint_eq(len - (size_t)(body + 4 - text), STREAM_HELD);
    close(fd);
}
END_TEST

START_TEST(slow_reader_holds_the_writer_back)
{
    plan.bytes = 256u * 1024 * 1024; /* more than any socket's buffers hold */
    int fd = ask();
    usleep(300000);
    ck_assert_int_eq(atomic_load(&pushed_all), 0);
    ck_assert_int_eq(atomic_load(&writers), 1);
    close(fd);
}
END_TEST

/* A reader that takes nothing is disconnected, and its writer with it. */
START_TEST(dead_reader_is_cut)
{
    plan.bytes = 256u * 1024 * 1024;
    plan.patience_ms = 200;
    int fd = ask();
    while (!atomic_load(&started)) /* the connection is open all the time */
        usleep(1000);
    while (atomic_load(&writers))
        usleep(1000);
    ck_assert_int_eq(atomic_load(&pushed_all), 0);
    close(fd);
}
END_TEST

/* However long the kernel takes to say that there is room again. */
START_TEST(slow_reader_is_not_cut)
{
    char bytes[16384];
    ssize_t n;
    plan.bytes = 32u * 1024 * 1024;
    plan.patience_ms = 1500;
    int fd = ask();
    for (int i = 0; i < 150; i++) {
        ck_assert_int_gt(recv(fd, bytes, sizeof(bytes) / 2, 0), 0);
        usleep(20000);
    }
    while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
        ;
    ck_assert_int_eq(n, 0);
    ck_assert_int_eq(atomic_load(&pushed_all), 1);
    close(fd);
}
END_TEST

/* Whoever cuts a stream finds its connection resumed, and may stop the server. */
START_TEST(cut_ends_a_writer_that_waits)
{
    plan.bytes = 256u * 1024 * 1024;
    int fd = ask();
    while (!atomic_load(&started))
        usleep(1000);
    usleep((useconds_t)_i * 100000); /* before the first byte, and when no more fits */
    stream_cut(last);
    httpd_free(server);
    server = NULL;
    while (atomic_load(&writers))
        usleep(1000);
    ck_assert_int_eq(atomic_load(&pushed_all), 0);
    close(fd);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd stream");
    TCase *tcase = tcase_create("stream");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, every_byte_arrives, 0, sizeof(ways) / sizeof(*ways));
    tcase_add_loop_test(tcase, wrong_whole_never_ends, 0, 2);
    tcase_add_test(tcase, writer_notices_that_nobody_reads);
    tcase_add_test(tcase, head_tells_the_size_once);
    tcase_add_test(tcase, slow_reader_holds_the_writer_back);
    tcase_add_test(tcase, dead_reader_is_cut);
    tcase_add_test(tcase, slow_reader_is_not_cut);
    tcase_add_loop_test(tcase, cut_ends_a_writer_that_waits, 0, 3);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
