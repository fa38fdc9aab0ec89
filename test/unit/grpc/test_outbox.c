/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/grpc/outbox.c: frames go out together, and what a full socket does not take is not
 * lost. */
#include "lib/internal/grpc/grpc_internal.h"
#include "test/unit/suite.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static struct grpc_outbox outbox;
static nghttp2_session *session;

static ssize_t on_send(nghttp2_session *unused, const uint8_t *bytes, size_t len, int flags,
                       void *data)
{
    (void)unused, (void)flags, (void)data;
    return grpc_outbox_add(&outbox, ends[0], bytes, len);
}

/* A server's session: it sends nothing by itself. */
static void start(int type)
{
    nghttp2_session_callbacks *callbacks;
    ck_assert_int_eq(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, ends), 0);
    ck_assert_int_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
    ck_assert_int_eq(nghttp2_session_server_new(&session, callbacks, NULL), 0);
    nghttp2_session_callbacks_del(callbacks);
    outbox.len = outbox.sent = 0;
}

static void stop(void)
{
    nghttp2_session_del(session);
    close(ends[0]);
    close(ends[1]);
}

/* A packet socket shows what each send wrote. */
START_TEST(test_together)
{
    uint8_t bytes[256], opaque[8] = "together";
    start(SOCK_SEQPACKET);
    ck_assert_int_eq(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0), 0);
    ck_assert_int_eq(nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, opaque), 0);
    ck_assert(grpc_outbox_waits(&outbox, session));
    ck_assert_int_eq(grpc_outbox_send(&outbox, ends[0], session), 0);
    ck_assert(!grpc_outbox_waits(&outbox, session));
    /* two frames with their heads */
    ck_assert_int_eq(recv(ends[1], bytes, sizeof(bytes), 0), 9 + 9 + 8);
    ck_assert_int_lt(recv(ends[1], bytes, sizeof(bytes), 0), 0);
    stop();
}
END_TEST

START_TEST(test_full)
{
    static uint8_t chunk[10000], got[4096];
    uint64_t added = 0, read = 0;
    ssize_t n;
    start(SOCK_STREAM);
    for (;;) {
        for (size_t i = 0; i < sizeof(chunk); i++)
            chunk[i] = (uint8_t)((added + i) % 251);
        n = grpc_outbox_add(&outbox, ends[0], chunk, sizeof(chunk));
        if (n < 0)
            break;
        ck_assert_int_gt(n, 0);
        added += (uint64_t)n;
    }
    ck_assert_int_eq(n, NGHTTP2_ERR_WOULDBLOCK);
    ck_assert_uint_eq(outbox.len, GRPC_OUTBOX_MAX);
    ck_assert(grpc_outbox_waits(&outbox, session));
    while (read < added) {
        n = recv(ends[1], got, sizeof(got), 0);
        ck_assert_int_gt(n, 0);
        for (ssize_t i = 0; i < n; i++)
            ck_assert_uint_eq(got[i], (read + (uint64_t)i) % 251);
        read += (uint64_t)n;
        ck_assert_int_eq(grpc_outbox_send(&outbox, ends[0], session), 0);
    }
    ck_assert(!grpc_outbox_waits(&outbox, session));
    ck_assert_uint_eq(read, added);
    stop();
}
END_TEST

START_TEST(test_lost)
{
    start(SOCK_STREAM);
    close(ends[1]);
    ck_assert_int_eq(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0), 0);
    ck_assert_int_eq(grpc_outbox_send(&outbox, ends[0], session), -1);
    ends[1] = dup(ends[0]);
    stop();
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("outbox");
    TCase *tcase = tcase_create("outbox");
    tcase_add_test(tcase, test_together);
    tcase_add_test(tcase, test_full);
    tcase_add_test(tcase, test_lost);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
