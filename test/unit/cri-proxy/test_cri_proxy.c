/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/containerd/cri-proxy: calls of every kind between an engine and clients that misbehave.
 * Requests that get another image: test_cri_proxy_requests.c. */
#include "test/unit/cri-proxy/cri_proxy_client.h"

START_TEST(unary)
{
    client_call(&client, "/any.Service/Method", "metadata", "hello", 5, &a);
    expect("0", "hello", 5);
    ck_assert_str_eq(a.engine, "yes");
    ck_assert_str_eq(a.echoed, "metadata");
    client_call(&client, "/any.Service/Method", NULL, NULL, 0, &a);
    expect("0", NULL, 0);
    client_call(&client, "/fail", NULL, "x", 1, &a);
    expect("5", NULL, 0);
    ck_assert_str_eq(a.message, "nothing%20here"); /* as it was written */
    ck_assert_int_eq(look(&engine_connections), 1);
}
END_TEST

/* What the engine has said arrives before it has said all. */
START_TEST(answers_as_they_come)
{
    client_start(&client, "/wait", "e", "x", 1, &a);
    CLIENT_UNTIL(&client, a.len == 10);
    ck_assert(!a.closed);
    add(&engine_gate, 1);
    CLIENT_UNTIL(&client, a.closed);
    expect("0", "some bytes", 10);
    ck_assert_str_eq(a.echoed, "e"); /* in trailers */
}
END_TEST

START_TEST(single_bytes)
{
    uint8_t *bytes = noise(3000);
    client.fragment = 1;
    client_call(&client, "/late", "fragment", bytes, 3000, &a);
    expect("0", bytes, 3000);
    free(bytes);
}
END_TEST

START_TEST(long_ones)
{
    uint8_t *bytes = noise(BIG);
    client_call(&client, "/echo", NULL, bytes, BIG, &a);
    expect("0", bytes, BIG);
    for (size_t i = 0; i < BIG; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    client_call(&client, "/big", NULL, "x", 1, &a);
    expect("0", bytes, BIG);
    free(bytes);
}
END_TEST

/* One that takes nothing does not stop the others. */
START_TEST(stalled_streams)
{
    static struct answer stalled[32];
    for (size_t i = 0; i < 32; i++) {
        stalled[i].stall = true;
        client_start(&client, i % 2 ? "/big" : "/echo", NULL, "x", 1, &stalled[i]);
    }
    CLIENT_UNTIL(&client, stalled[31].len == 65535 && stalled[1].len == 65535);
    uint8_t *bytes = noise(300000);
    client_call(&client, "/late", NULL, bytes, 300000, &a);
    expect("0", bytes, 300000);
    free(bytes);
    ck_assert_uint_eq(stalled[31].len, 65535);
    stalled[1].stall = false;
    nghttp2_session_consume_stream(client.session, stalled[1].id, stalled[1].len);
    CLIENT_UNTIL(&client, stalled[1].closed);
    ck_assert_uint_eq(stalled[1].len, BIG);
    for (size_t i = 0; i < 32; i++)
        free(stalled[i].bytes);
}
END_TEST

/* An engine that takes nothing holds nobody else up. */
START_TEST(stalled_engine)
{
    uint8_t *bytes = noise(BIG);
    client_start(&client, "/hang", NULL, bytes, BIG, &a);
    CLIENT_UNTIL(&client, look(&engine_received) == 65535);
    for (int i = 0; i < 200; i++)
        client_turn(&client, 1);
    ck_assert_int_eq(look(&engine_received), 65535);
    struct answer other = {0};
    client_call(&client, "/late", NULL, "y", 1, &other);
    ck_assert_str_eq(other.status, "0");
    free(other.bytes);
    free(bytes);
}
END_TEST

/* As the status that HTTP/2's code stands for. */
START_TEST(resets)
{
    client_call(&client, "/reset", NULL, "x", 1, &a);
    expect("8", NULL, 0);
    client_call(&client, "/part", NULL, "x", 1, &a);
    expect("8", "some bytes", 10);
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
}
END_TEST

START_TEST(a_cancelled_call)
{
    client_start(&client, "/hang", NULL, "x", 1, &a); /* that is not answered yet */
    CLIENT_UNTIL(&client, look(&engine_received) == 1);
    nghttp2_submit_rst_stream(client.session, 0, a.id, 8);
    CLIENT_UNTIL(&client, look(&engine_closed) == 1);
    client_start(&client, "/wait", NULL, "x", 1, &a); /* that is being answered */
    CLIENT_UNTIL(&client, a.len == 10);
    nghttp2_submit_rst_stream(client.session, 0, a.id, 8);
    CLIENT_UNTIL(&client, look(&engine_closed) == 2);
    free(a.bytes);
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
}
END_TEST

/* The engine never hears of it. */
START_TEST(half_a_request)
{
    struct answer half = {.hold = true};
    client_start(&client, "/late", NULL, "x", 1, &half);
    CLIENT_UNTIL(&client, half.request_at == 1);
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
    nghttp2_submit_rst_stream(client.session, 0, half.id, 8);
    CLIENT_UNTIL(&client, half.closed);
    client_call(&client, "/late", NULL, "z", 1, &a);
    expect("0", "z", 1);
    ck_assert_int_eq(look(&engine_connections), 1);
}
END_TEST

/* Large requests share what the proxy holds of them; small ones always have room. */
START_TEST(too_many_large_requests)
{
    enum { HELD = GRPC_REQUESTS_MAX / BIG };
    static struct answer held[HELD];
    uint8_t *bytes = noise(BIG);
    for (size_t i = 0; i < HELD; i++) {
        held[i] = (struct answer){.hold = true};
        client_start(&client, "/late", NULL, bytes, BIG, &held[i]);
        CLIENT_UNTIL(&client, held[i].request_at == BIG);
    }
    client_call(&client, "/late", NULL, bytes, BIG, &a);
    expect("8", NULL, 0);
    client_call(&client, "/late", NULL, bytes, GRPC_REQUEST_FREE, &a);
    expect("0", bytes, GRPC_REQUEST_FREE);
    for (size_t i = 0; i < HELD; i++) {
        nghttp2_submit_rst_stream(client.session, 0, held[i].id, 8);
        CLIENT_UNTIL(&client, held[i].closed);
    }
    client_call(&client, "/late", NULL, bytes, BIG, &a);
    expect("0", bytes, BIG);
    free(bytes);
}
END_TEST

START_TEST(a_client_that_leaves)
{
    struct client_side other;
    struct answer b = {0};
    client_open(&other, front);
    client_start(&other, "/hang", NULL, "x", 1, &b);
    CLIENT_UNTIL(&other, look(&engine_received) == 1);
    client_close(&other);
    CLIENT_UNTIL(&client, look(&engine_closed) == 1);
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
}
END_TEST

/* The engine need not look at the deadline. */
START_TEST(deadline)
{
    nghttp2_nv list[] = {text_nv(":method", "POST"), text_nv(":scheme", "http"),
                         text_nv(":path", "/hang"), text_nv(":authority", "localhost"),
                         text_nv("grpc-timeout", "100m")};
    nghttp2_data_provider body = {.read_callback = client_read};
    a = (struct answer){.request = (const uint8_t *)"x", .request_len = 1};
    a.id = nghttp2_submit_request(client.session, NULL, list, 5, &body, &a);
    CLIENT_UNTIL(&client, a.closed);
    expect("4", NULL, 0);
    CLIENT_UNTIL(&client, look(&engine_closed) == 1);
}
END_TEST

START_TEST(engine_dies)
{
    struct answer b = {0};
    client_start(&client, "/wait", NULL, "x", 1, &b);
    CLIENT_UNTIL(&client, b.len == 10);
    client_call(&client, "/die", NULL, "x", 1, &a);
    ck_assert_str_eq(a.status, "14");
    ck_assert_ptr_nonnull(strstr(a.message, "lost"));
    CLIENT_UNTIL(&client, b.closed); /* one that was being answered */
    ck_assert_str_eq(b.status, "14");
    free(b.bytes);
    client_call(&client, "/late", NULL, "y", 1, &a); /* the next call finds it again */
    expect("0", "y", 1);
}
END_TEST

START_TEST(engine_restarts)
{
    client_call(&client, "/die", NULL, "x", 1, &a);
    ck_assert_str_eq(a.status, "14");
    engine_stop();
    client_call(&client, "/late", NULL, "x", 1, &a);
    ck_assert_str_eq(a.status, "14");
    ck_assert_ptr_nonnull(strstr(a.message, "cannot be reached"));
    engine_start();
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
}
END_TEST

/* GOAWAY: running calls finish on that connection, new ones use another. */
START_TEST(engine_leaves)
{
    struct answer b = {0};
    client_start(&client, "/wait", NULL, "x", 1, &b);
    CLIENT_UNTIL(&client, b.len == 10);
    client_call(&client, "/leave", NULL, "x", 1, &a);
    expect("0", "some bytes", 10);
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
    ck_assert_int_eq(look(&engine_connections), 3);
    add(&engine_gate, 1);
    CLIENT_UNTIL(&client, b.closed);
    ck_assert_str_eq(b.status, "0");
    free(b.bytes);
}
END_TEST

/* An engine that ends waits until its last word has been read, on connections that rest, too. */
START_TEST(engine_leaves_at_rest)
{
    client_call(&client, "/late", NULL, "x", 1, &a);
    expect("0", "x", 1);
    add(&engine_leaving, 1);
    CLIENT_UNTIL(&client, look(&engine_closed) == 1);
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
}
END_TEST

/* Nobody is there who would take the connection. */
START_TEST(engine_is_full)
{
    engine_stop();
    int fd = unix_socket(back, true);
    ck_assert_int_eq(listen(fd, 0), 0);
    int waiting = unix_socket(back, false);
    client_call(&client, "/late", NULL, "x", 1, &a);
    ck_assert_str_eq(a.status, "14");
    close(waiting);
    close(fd);
}
END_TEST

START_TEST(huge_headers)
{
    char *value = malloc(60001);
    ck_assert_ptr_nonnull(value);
    memset(value, 'v', 60000);
    value[60000] = '\0';
    client_call(&client, "/late", value, "x", 1, &a);
    expect("0", "x", 1);
    ck_assert_uint_eq(strlen(a.echoed), 60000);
    nghttp2_nv list[] = {
        text_nv(":method", "POST"), text_nv(":scheme", "http"),
        text_nv(":path", "/late"),  text_nv(":authority", "localhost"),
        text_nv("x-echo", value),   text_nv("x-echo", value)}; /* more than GRPC_HEADERS_MAX */
    a = (struct answer){0};
    ck_assert_int_gt(nghttp2_submit_request(client.session, NULL, list, 6, NULL, &a), 0);
    CLIENT_UNTIL(&client, a.closed);
    ck_assert_str_eq(a.status, "8");
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
    free(value);
}
END_TEST

/* Deadline, credentials, tracing, and what nobody knows: in their order, as they were. */
START_TEST(headers_arrive)
{
    static const char *const paths[] = {"/any.Service/Method",
                                        "/runtime.v1.ImageService/PullImage"};
    char wanted[1024];
    for (size_t i = 0; i < 2; i++) {
        const nghttp2_nv list[] = {text_nv(":method", "POST"),
                                   text_nv(":scheme", "http"),
                                   text_nv(":path", paths[i]),
                                   text_nv(":authority", "localhost"),
                                   text_nv("content-type", "application/grpc+proto"),
                                   text_nv("te", "trailers"),
                                   text_nv("user-agent", "kubelet/1"),
                                   text_nv("grpc-timeout", "119999m"),
                                   text_nv("grpc-accept-encoding", "gzip"),
                                   text_nv("authorization", "Bearer x"),
                                   text_nv("some-bin", "AAEC"),
                                   text_nv("some-bin", "AwQF"),
                                   text_nv("traceparent", "00-1-2-01")};
        nghttp2_data_provider body = {.read_callback = client_read};
        a = (struct answer){.request = (const uint8_t *)"x", .request_len = 1};
        a.id = nghttp2_submit_request(client.session, NULL, list, 13, &body, &a);
        ck_assert_int_gt(a.id, 0);
        CLIENT_UNTIL(&client, a.closed);
        expect("0", "x", 1);
        snprintf(wanted, sizeof(wanted),
                 ":method: POST\n:scheme: http\n:path: %s\n:authority: localhost\n"
                 "content-type: application/grpc+proto\nte: trailers\nuser-agent: kubelet/1\n"
                 "grpc-timeout: 119999m\ngrpc-accept-encoding: gzip\nauthorization: Bearer x\n"
                 "some-bin: AAEC\nsome-bin: AwQF\ntraceparent: 00-1-2-01\n",
                 paths[i]);
        pthread_mutex_lock(&engine_headers_lock);
        ck_assert_str_eq(engine_headers, wanted);
        pthread_mutex_unlock(&engine_headers_lock);
    }
}
END_TEST

START_TEST(no_http2)
{
    char byte;
    int fd = unix_socket(front, false);
    ck_assert_int_eq(send(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n\r\n", 30, MSG_NOSIGNAL), 30);
    while (recv(fd, &byte, 1, 0) > 0)
        ;
    close(fd);
    client_call(&client, "/late", NULL, "y", 1, &a);
    expect("0", "y", 1);
}
END_TEST

START_TEST(many_clients)
{
    enum { N = 100 };
    static struct client_side clients[N];
    static struct answer answers[N];
    for (int i = 0; i < N; i++) {
        client_open(&clients[i], front);
        client_start(&clients[i], "/late", NULL, "many", 4, &answers[i]);
    }
    for (int i = 0; i < N; i++) {
        CLIENT_UNTIL(&clients[i], answers[i].closed);
        ck_assert_str_eq(answers[i].status, "0");
        free(answers[i].bytes);
        client_close(&clients[i]);
    }
}
END_TEST

/* What runs when the proxy is told to end is finished, and the client is told to go elsewhere. */
START_TEST(drains)
{
    client_start(&client, "/wait", NULL, "one", 3, &a);
    CLIENT_UNTIL(&client, a.len == 10);
    grpc_server_stop(proxy->server);
    CLIENT_UNTIL(&client, client.going);
    add(&engine_gate, 1);
    CLIENT_UNTIL(&client, a.closed);
    expect("0", "some bytes", 10);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("cri-proxy");
    TCase *calls = tcase_create("calls");
    tcase_add_checked_fixture(calls, open_client, close_client);
    tcase_set_timeout(calls, 300);
    tcase_add_test(calls, unary);
    tcase_add_test(calls, answers_as_they_come);
    tcase_add_test(calls, single_bytes);
    tcase_add_test(calls, long_ones);
    tcase_add_test(calls, stalled_streams);
    tcase_add_test(calls, stalled_engine);
    tcase_add_test(calls, resets);
    tcase_add_test(calls, a_cancelled_call);
    tcase_add_test(calls, half_a_request);
    tcase_add_test(calls, too_many_large_requests);
    tcase_add_test(calls, deadline);
    tcase_add_test(calls, a_client_that_leaves);
    tcase_add_test(calls, engine_dies);
    tcase_add_test(calls, engine_restarts);
    tcase_add_test(calls, engine_leaves);
    tcase_add_test(calls, engine_leaves_at_rest);
    tcase_add_test(calls, engine_is_full);
    tcase_add_test(calls, huge_headers);
    tcase_add_test(calls, headers_arrive);
    tcase_add_test(calls, no_http2);
    tcase_add_test(calls, many_clients);
    tcase_add_test(calls, drains);
    suite_add_tcase(suite, calls);
    return run_suite(suite);
}
