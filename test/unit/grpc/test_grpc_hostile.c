/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/grpc's server with clients that misbehave, and without descriptors: it serves the
 * others, and occupies no processor. */
#include "test/unit/grpc/grpc_util.h"

#include <nghttp2/nghttp2.h>
#include <sys/resource.h>
#include <time.h>

static int64_t cpu_ms(clockid_t clock)
{
    struct timespec used;
    ck_assert_int_eq(clock_gettime(clock, &used), 0);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static ssize_t send_raw(nghttp2_session *session, const uint8_t *bytes, size_t len, int flags,
                        void *data)
{
    (void)session, (void)flags;
    return send(*(int *)data, bytes, len, MSG_NOSIGNAL);
}

static ssize_t read_empty_message(nghttp2_session *session, int32_t stream, uint8_t *out,
                                  size_t size, uint32_t *flags, nghttp2_data_source *source,
                                  void *data)
{
    (void)session, (void)stream, (void)source, (void)data;
    ck_assert_uint_ge(size, 5);
    memset(out, 0, 5);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return 5;
}

#define HEADER(name, value)                                                                       \
    {                                                                                             \
        (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), strlen(name), strlen(value), \
            0                                                                                     \
    }

/* Ask for 16 MiB within 50 ms, open every window, and read nothing. */
static void ask_without_reading(int fd)
{
    const nghttp2_nv headers[] = {HEADER(":method", "POST"),
                                  HEADER(":scheme", "http"),
                                  HEADER(":path", "/t.T/Big"),
                                  HEADER(":authority", "x"),
                                  HEADER("content-type", "application/grpc"),
                                  HEADER("grpc-timeout", "50m")};
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, INT32_MAX};
    const nghttp2_data_provider body = {.read_callback = read_empty_message};
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_session *session = NULL;
    ck_assert_int_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_send_callback(callbacks, send_raw);
    ck_assert_int_eq(nghttp2_session_client_new(&session, callbacks, &fd), 0);
    ck_assert_int_eq(nghttp2_submit_settings(session, 0, &window, 1), 0);
    ck_assert_int_eq(nghttp2_submit_window_update(session, 0, 0, INT32_MAX - 65535), 0);
    ck_assert_int_gt(nghttp2_submit_request(session, NULL, headers, 6, &body, NULL), 0);
    ck_assert_int_eq(nghttp2_session_send(session), 0);
    nghttp2_session_del(session);
    nghttp2_session_callbacks_del(callbacks);
}

/* An answer that is late and not read occupies no processor. */
START_TEST(test_late_and_unread)
{
    clockid_t clock;
    start();
    int fd = dial();
    ck_assert_int_eq(pthread_getcpuclockid(server_thread, &clock), 0);
    ask_without_reading(fd);
    poll(NULL, 0, 2500); /* past the deadline, and the second after which the stream is cut */
    int64_t before = cpu_ms(clock);
    poll(NULL, 0, 500);
    ck_assert_int_lt(cpu_ms(clock) - before, 250);
    close(fd);
    stop();
}
END_TEST

/* Bytes that are not HTTP/2, half a preface, a flood of SETTINGS: other clients are still served.
 */
START_TEST(test_rubbish)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct grpc_client *client = NULL;
    int fds[200];
    start();
    for (int i = 0; i < 200; i++) {
        fds[i] = dial();
        const char *text = i % 3 == 0 ? "GET / HTTP/1.1\r\n\r\n" : preface;
        size_t len = i % 3 == 1 ? 7 : strlen(text);
        ck_assert_int_eq(send(fds[i], text, len, MSG_NOSIGNAL), (ssize_t)len);
        if (i % 3 == 2) /* a frame longer than is allowed, of a type that is not known */
            ck_assert_int_gt(send(fds[i], "\xff\xff\xff\x63\xff\x7f\xff\xff\xff", 9, MSG_NOSIGNAL),
                             0);
    }
    struct collected c = {0};
    ck_assert_int_eq(grpc_client_new(path, &client, NULL), OCV_OK);
    ck_assert_int_eq(ask(client, "/t.T/Echo", "x", 1, &c, OCV_OK).code, GRPC_OK);
    ocv_buffer_free(&c.bytes);
    grpc_client_free(client);
    for (int i = 0; i < 200; i++)
        close(fds[i]);
    stop();
}
END_TEST

/* Without descriptors, who comes waits, and the loop does, too. */
START_TEST(test_descriptors)
{
    struct grpc_client *client = NULL;
    struct rlimit limit, low;
    start();
    ck_assert_int_eq(grpc_client_new(path, &client, NULL), OCV_OK);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = dup(0);
    close(next);
    low = (struct rlimit){(rlim_t)next + 1, limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    int fd = dial(); /* the last one */
    int64_t before = cpu_ms(CLOCK_PROCESS_CPUTIME_ID);
    poll(NULL, 0, 1500);
    ck_assert_int_lt(cpu_ms(CLOCK_PROCESS_CPUTIME_ID) - before, 200);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct collected c = {0};
    ck_assert_int_eq(ask(client, "/t.T/Echo", "x", 1, &c, OCV_OK).code, GRPC_OK);
    ocv_buffer_free(&c.bytes);
    grpc_client_free(client);
    close(fd);
    stop();
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("grpc_hostile");
    TCase *tcase = tcase_create("grpc_hostile");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_late_and_unread);
    tcase_add_test(tcase, test_rubbish);
    tcase_add_test(tcase, test_descriptors);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
