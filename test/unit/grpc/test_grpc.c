/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/grpc: calls between our server and our client, and clients that misbehave. Text forms and
 * headers: test_grpc_text.c. */
#include "lib/grpc/grpc.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

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

static int bound_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/s", directory);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 128), 0);
    return fd;
}

static void start(void)
{
    const struct grpc_server_options options = {.handle = handle};
    ck_assert_int_eq(grpc_server_new(&options, bound_socket(), &server, NULL), OCV_OK);
    ck_assert_int_eq(pthread_create(&server_thread, NULL, serve, NULL), 0);
}

static void stop(void)
{
    grpc_server_stop(server);
    pthread_join(server_thread, NULL);
    grpc_server_free(server);
    unlink(path);
    rmdir(directory);
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

static int64_t server_cpu_ms(clockid_t clock)
{
    struct timespec now;
    ck_assert_int_eq(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* An answer that is late and not read occupies no processor. */
START_TEST(test_late_and_unread)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    clockid_t clock;
    start();
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(pthread_getcpuclockid(server_thread, &clock), 0);
    ask_without_reading(fd);
    poll(NULL, 0, 2500); /* past the deadline, and the second after which the stream is cut */
    int64_t before = server_cpu_ms(clock);
    poll(NULL, 0, 500);
    ck_assert_int_lt(server_cpu_ms(clock) - before, 250);
    close(fd);
    stop();
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

static int dial(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

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

static int64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

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
    int64_t before = cpu_ms();
    poll(NULL, 0, 1500);
    ck_assert_int_lt(cpu_ms() - before, 200);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct collected c = {0};
    ck_assert_int_eq(ask(client, "/t.T/Echo", "x", 1, &c, OCV_OK).code, GRPC_OK);
    ocv_buffer_free(&c.bytes);
    grpc_client_free(client);
    close(fd);
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
        grpc_server_stop(server);
        pthread_join(server_thread, NULL);
        grpc_server_free(server);
        unlink(path);
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        memcpy(address.sun_path, path, strlen(path) + 1);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        ck_assert_int_eq(listen(fd, 16), 0);
        const struct grpc_server_options options = {.handle = handle};
        ck_assert_int_eq(grpc_server_new(&options, fd, &server, NULL), OCV_OK);
        ck_assert_int_eq(pthread_create(&server_thread, NULL, serve, NULL), 0);
    }
    grpc_client_free(client);
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

int main(void)
{
    Suite *suite = suite_create("grpc");
    TCase *tcase = tcase_create("grpc");
    tcase_set_timeout(tcase, 240); /* the largest messages take long under a sanitizer */
    tcase_add_test(tcase, test_calls);
    tcase_add_test(tcase, test_late_and_unread);
    tcase_add_test(tcase, test_large_request);
    tcase_add_test(tcase, test_threads);
    tcase_add_test(tcase, test_deadline);
    tcase_add_test(tcase, test_pass_again);
    tcase_add_test(tcase, test_gone);
    tcase_add_test(tcase, test_rubbish);
    tcase_add_test(tcase, test_descriptors);
    tcase_add_test(tcase, test_restart);
    tcase_add_test(tcase, test_nobody);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
