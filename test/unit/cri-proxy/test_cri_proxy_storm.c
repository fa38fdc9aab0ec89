/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy: many calls at the same time, and an engine that stops during them.
 */
#include "test/unit/cri-proxy/cri_proxy_util.h"

static struct client_side client;

static void open_client(void)
{
    set_up();
    client_open(&client, front);
}

static void close_client(void)
{
    client_close(&client);
    tear_down();
}

#define CALLS 1000

static struct answer answers[CALLS];
static char texts[CALLS][2048];

static size_t text_of(int i)
{
    size_t n = 1 + (size_t)(i * 37) % (sizeof(texts[0]) - 1);
    for (size_t k = 0; k < n; k++)
        texts[i][k] = (char)(i + (int)k * 7);
    return n;
}

/* More calls than a connection may have at the same time: the others wait, and none are mixed up.
 */
START_TEST(thousand_calls)
{
    size_t done = 0;
    for (int i = 0; i < CALLS; i++)
        client_start(&client, i % 2 ? "/echo" : "/late", NULL, texts[i], text_of(i), &answers[i]);
    for (int i = 0; i < CALLS; i++) {
        CLIENT_UNTIL(&client, answers[i].closed);
        ck_assert_str_eq(answers[i].status, "0");
        ck_assert_uint_eq(answers[i].len, answers[i].request_len);
        ck_assert_mem_eq(answers[i].bytes, texts[i], answers[i].len);
        free(answers[i].bytes);
        done++;
    }
    ck_assert_uint_eq(done, CALLS);
}
END_TEST

/* Calls that fail in every way do no harm to those beside them, over a hundred connections. */
START_TEST(storm)
{
    enum { CLIENTS = 100, EACH = CALLS / CLIENTS };
    static const struct {
        const char *path, *status;
    } kinds[] = {{"/late", "0"}, {"/reset", "8"}, {"/echo", "0"}, {"/part", "8"}, {"/fail", "5"}};
    enum { KINDS = sizeof(kinds) / sizeof(*kinds) };
    static struct client_side clients[CLIENTS];
    for (int i = 0; i < CALLS; i++) {
        struct client_side *c = &clients[i / EACH];
        if (i % EACH == 0)
            client_open(c, front);
        client_start(c, kinds[i % KINDS].path, NULL, texts[i], text_of(i), &answers[i]);
    }
    for (int i = 0; i < CALLS; i++) {
        CLIENT_UNTIL(&clients[i / EACH], answers[i].closed);
        ck_assert_str_eq(answers[i].status, kinds[i % KINDS].status);
        free(answers[i].bytes);
    }
    for (int i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
}
END_TEST

/* More calls than there are threads: those that are too many wait, and none is lost. */
START_TEST(more_than_run_at_once)
{
    enum { CLIENTS = 4, EACH = 90 };
    static struct client_side clients[CLIENTS];
    for (int i = 0; i < CLIENTS * EACH; i++) {
        if (i % EACH == 0)
            client_open(&clients[i / EACH], front);
        client_start(&clients[i / EACH], "/wait", NULL, "x", 1, &answers[i]);
        client_turn(&clients[i / EACH], 0);
    }
    for (int i = 0; look(&engine_connections) < (int)CALLS_MAX; i = (i + 1) % CLIENTS)
        client_turn(&clients[i], 1);
    for (int i = 0; i < 200; i++)
        client_turn(&clients[i % CLIENTS], 1);
    ck_assert_int_eq(look(&engine_connections), CALLS_MAX);
    add(&engine_gate, 1);
    for (int i = 0; i < CLIENTS * EACH; i++) {
        CLIENT_UNTIL(&clients[i / EACH], answers[i].closed);
        ck_assert_str_eq(answers[i].status, "0");
        free(answers[i].bytes);
    }
    for (int i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
}
END_TEST

/* The engine is restarted while ninety calls run: each has an end, and the next one works. */
START_TEST(engine_restarts_in_mid_call)
{
    enum { N = 90 };
    struct answer die = {0}, later = {0};
    for (int i = 0; i < N; i++)
        client_start(&client, "/wait", NULL, "x", 1, &answers[i]);
    for (int i = 0; i < N; i++)
        CLIENT_UNTIL(&client, answers[i].len == 10);
    client_call(&client, "/die", NULL, "x", 1, &die);
    ck_assert_str_eq(die.status, "14");
    for (int i = 0; i < N; i++) {
        CLIENT_UNTIL(&client, answers[i].closed);
        ck_assert_str_eq(answers[i].status, "14");
        ck_assert_uint_eq(answers[i].len, 10); /* what came is not lost */
        free(answers[i].bytes);
    }
    client_call(&client, "/late", NULL, "y", 1, &later);
    ck_assert_str_eq(later.status, "0");
    free(later.bytes);
}
END_TEST

/* An engine that dies under a long request, and one that dies under a long answer. */
START_TEST(engine_dies_under_load)
{
    uint8_t *bytes = calloc(1, BIG);
    struct answer upload = {0}, download = {.stall = true}, die = {0};
    ck_assert_ptr_nonnull(bytes);
    client_start(&client, "/big", NULL, "x", 1, &download);
    CLIENT_UNTIL(&client, download.len > 0);
    client_start(&client, "/hang", NULL, bytes, BIG, &upload);
    CLIENT_UNTIL(&client, look(&engine_received) > 0);
    client_call(&client, "/die", NULL, "x", 1, &die);
    CLIENT_UNTIL(&client, upload.closed);
    ck_assert_str_eq(upload.status, "14");
    download.stall = false;
    nghttp2_session_consume_stream(client.session, download.id, download.len);
    CLIENT_UNTIL(&client, download.closed);
    ck_assert_str_eq(download.status, "14");
    ck_assert_uint_lt(download.len, BIG);
    free(download.bytes);
    free(bytes);
}
END_TEST

static const char *trailer_value;

static ssize_t read_with_trailer(nghttp2_session *session, int32_t id, uint8_t *out, size_t size,
                                 uint32_t *flags, nghttp2_data_source *source, void *data)
{
    const nghttp2_nv list[] = {text_nv("x-echo", trailer_value), text_nv("x-more", trailer_value)};
    (void)size, (void)source, (void)data;
    out[0] = 'b';
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_submit_trailer(session, id, list, 2);
    return 1;
}

static void call_with_trailer(const char *path, const char *value, struct answer *a)
{
    nghttp2_nv list[] = {text_nv(":method", "POST"), text_nv(":scheme", "http"),
                         text_nv(":path", path), text_nv(":authority", "localhost")};
    nghttp2_data_provider body = {.read_callback = read_with_trailer};
    trailer_value = value;
    *a = (struct answer){0};
    a->id = nghttp2_submit_request(client.session, NULL, list, 4, &body, a);
    ck_assert_int_gt(a->id, 0);
    CLIENT_UNTIL(&client, a->closed);
}

/* gRPC has no trailers in requests; they are ignored. */
START_TEST(request_trailers)
{
    struct answer a;
    char *value = malloc(60001);
    ck_assert_ptr_nonnull(value);
    memset(value, 'v', 60000);
    value[60000] = '\0';
    static const char *const paths[] = {"/late", "/runtime.v1.ImageService/ImageStatus"};
    for (size_t i = 0; i < 4; i++) {
        call_with_trailer(paths[i % 2], i < 2 ? "behind" : value, &a);
        ck_assert_str_eq(a.status, "0");
        ck_assert_str_eq(a.echoed, "");
        ck_assert_uint_eq(a.len, 1);
        free(a.bytes);
    }
    free(value);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("cri-proxy-storm");
    TCase *calls = tcase_create("calls");
    tcase_add_checked_fixture(calls, open_client, close_client);
    tcase_set_timeout(calls, 300);
    tcase_add_test(calls, thousand_calls);
    tcase_add_test(calls, storm);
    tcase_add_test(calls, more_than_run_at_once);
    tcase_add_test(calls, engine_restarts_in_mid_call);
    tcase_add_test(calls, engine_dies_under_load);
    tcase_add_test(calls, request_trailers);
    suite_add_tcase(suite, calls);
    return run_suite(suite);
}
