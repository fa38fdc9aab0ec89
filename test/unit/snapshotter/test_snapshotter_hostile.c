/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clients that misbehave: whatever they do, the next one is served. */
#include "plugins/containerd/snapshotter/service/service_internal.h"
#include "test/unit/snapshotter/snapshotter_util.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/resource.h>

static struct world w;

static void opened(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    world_open(&w);
}

static void closed(void)
{
    ck_assert_int_eq(prepare(&w, "the next one", "", NULL), GRPC_OK);
    world_close(&w);
}

static int dial(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, w.socket, strlen(w.socket) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

struct raw {
    int fd;
    nghttp2_session *session;
    const uint8_t *body; /* with its frame */
    size_t len, sent;
    int status;             /* grpc-status, -1: none yet */
    bool closed, encodings; /* encodings: those that are taken were named */
    size_t received;
};

static int raw_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                      size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                      void *data)
{
    struct raw *r = data;
    char text[16];
    (void)session, (void)frame, (void)flags;
    snprintf(text, sizeof(text), "%.*s", (int)(value_len < 15 ? value_len : 15), value);
    if (name_len == 11 && memcmp(name, "grpc-status", 11) == 0)
        r->status = (int)strtol(text, NULL, 10);
    if (name_len == 20 && memcmp(name, "grpc-accept-encoding", 20) == 0)
        r->encodings = strcmp(text, "identity") == 0;
    return 0;
}

static int raw_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                    size_t len, void *data)
{
    struct raw *r = data;
    (void)session, (void)flags, (void)stream, (void)bytes;
    r->received += len;
    return 0;
}

static int raw_close(nghttp2_session *session, int32_t stream, uint32_t error, void *data)
{
    struct raw *r = data;
    (void)session, (void)stream, (void)error;
    r->closed = true;
    return 0;
}

static ssize_t raw_body(nghttp2_session *session, int32_t stream, uint8_t *out, size_t size,
                        uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct raw *r = data;
    (void)session, (void)stream, (void)source;
    size_t n = r->len - r->sent < size ? r->len - r->sent : size;
    memcpy(out, r->body + r->sent, n);
    r->sent += n;
    if (r->sent == r->len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv pair(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static struct raw raw_open(uint32_t window)
{
    struct raw r = {.fd = dial(), .status = -1};
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    nghttp2_session_callbacks *callbacks = NULL;
    ck_assert_int_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, raw_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, raw_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, raw_close);
    ck_assert_int_eq(nghttp2_session_client_new(&r.session, callbacks, NULL), 0);
    nghttp2_session_callbacks_del(callbacks);
    ck_assert_int_eq(nghttp2_submit_settings(r.session, 0, settings, 1), 0);
    return r;
}

static void raw_free(struct raw *r)
{
    nghttp2_session_del(r->session);
    close(r->fd);
}

/* A call with one more header. */
static void raw_submit(struct raw *r, const char *method, const char *name, const char *value,
                       const void *body, size_t len)
{
    char path[128];
    snprintf(path, sizeof(path), SNAP_SERVICE "%s", method);
    const nghttp2_nv headers[] = {pair(":method", "POST"),
                                  pair(":scheme", "http"),
                                  pair(":path", path),
                                  pair(":authority", "localhost"),
                                  pair("content-type", "application/grpc"),
                                  pair("te", "trailers"),
                                  pair(name, value)};
    const nghttp2_data_provider provider = {.read_callback = raw_body};
    r->body = body;
    r->len = len;
    r->sent = 0;
    ck_assert_int_gt(nghttp2_submit_request(r->session, NULL, headers, 7, &provider, r), 0);
}

/* Send what there is, `piece` bytes at a time; false when the server has closed. */
static bool raw_send(struct raw *r, size_t piece)
{
    const uint8_t *bytes;
    ssize_t n;
    nghttp2_session_set_user_data(r->session, r);
    while ((n = nghttp2_session_mem_send(r->session, &bytes)) > 0)
        for (ssize_t at = 0; at < n; at += (ssize_t)piece)
            if (send(r->fd, bytes + at, (size_t)(n - at) < piece ? (size_t)(n - at) : piece,
                     MSG_NOSIGNAL) < 0)
                return false;
    return true;
}

/* Until the call has ended (or `enough` bytes have come); false when the server has closed. */
static bool raw_wait(struct raw *r, size_t enough, int ms)
{
    uint8_t bytes[4096];
    while (!r->closed && (!enough || r->received < enough)) {
        struct pollfd fd = {.fd = r->fd, .events = POLLIN};
        if (!raw_send(r, 4096) || poll(&fd, 1, ms) <= 0)
            return false;
        ssize_t n = recv(r->fd, bytes, sizeof(bytes), 0);
        if (n <= 0 || nghttp2_session_mem_recv(r->session, bytes, (size_t)n) < 0)
            return false;
    }
    return true;
}

static int ask_raw(const char *method, const void *body, size_t len)
{
    struct raw r = raw_open(65535);
    raw_submit(&r, method, "x-nothing", "1", body, len);
    ck_assert(raw_wait(&r, 0, 20000));
    int status = r.status;
    raw_free(&r);
    return status;
}

START_TEST(test_byte_by_byte)
{
    static const uint8_t body[] = {0, 0, 0, 0, 3, 0x12, 1, 'a'};
    struct raw r = raw_open(65535);
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    raw_submit(&r, "Stat", "x-nothing", "1", body, sizeof(body));
    ck_assert(raw_send(&r, 1));
    ck_assert(raw_wait(&r, 0, 20000));
    ck_assert_int_eq(r.status, GRPC_OK);
    ck_assert_uint_gt(r.received, 5);
    raw_free(&r);
}
END_TEST

START_TEST(test_bad_messages)
{
    static const struct {
        const char *bytes;
        size_t len;
        int status;
    } cases[] = {
        {"", 0, GRPC_INTERNAL},         /* no message */
        {"\0\0\0\0", 4, GRPC_INTERNAL}, /* half a frame */
        {"\0\0\0\0\x09\x12\x01"
         "a",
         8, GRPC_INTERNAL},                                 /* shorter than it says */
        {"\0\0\0\0\0\0\0\0\0\0", 10, GRPC_INTERNAL},        /* two messages */
        {"\1\0\0\0\0", 5, GRPC_INTERNAL},                   /* compressed, and not said how */
        {"\0\xff\xff\xff\xff", 5, GRPC_RESOURCE_EXHAUSTED}, /* 4 GiB announced */
        {"\0\0\0\0\x02\x12\x7f", 7, GRPC_INTERNAL},         /* a field longer than all */
        {"\0\0\0\0\x02\x17\xff", 7, GRPC_INTERNAL},         /* a wire type that is none */
        {"\0\0\0\0\x02\x02\x00", 7, GRPC_INTERNAL},         /* field 0 */
        {"\0\0\0\0\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16, GRPC_INTERNAL},
        {"\0\0\0\0\x03\x12\x01"
         "z",
         8, GRPC_NOT_FOUND},                                      /* good, by the way */
        {"\0\0\0\0\x05\xaa\x06\x00\x12\x00", 10, GRPC_NOT_FOUND}, /* an unknown field */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int status = ask_raw("Stat", cases[i].bytes, cases[i].len);
        ck_assert_msg(status == cases[i].status, "case %zu: %d", i, status);
    }
    ck_assert_int_eq(ask_raw("Nothing", "\0\0\0\0\0", 5), GRPC_UNIMPLEMENTED);
}
END_TEST

/* A name that another name begins, and what nobody could read in an answer. */
START_TEST(test_bad_texts)
{
    static const struct {
        const char *method, *bytes;
        size_t len;
        int status;
    } cases[] = {
        {"Remove", "\0\0\0\0\x04\x12\x02g\0", 9, GRPC_INVALID_ARGUMENT},
        {"Stat", "\0\0\0\0\x05\x12\x03g\0x", 10, GRPC_INVALID_ARGUMENT},
        {"Prepare", "\0\0\0\0\x04\x12\x02\0g", 9, GRPC_INVALID_ARGUMENT},
        {"Prepare", "\0\0\0\0\x04\x12\x02\xff\xfe", 9, GRPC_INTERNAL},
        {"Prepare", "\0\0\0\0\x04\x12\x02g\xc3", 9, GRPC_INTERNAL}, /* half a character */
        {"Prepare",
         "\0\0\0\0\x0d\x12\x01h\x22\x08\x0a\x02k\0\x12\x02"
         "vv",
         18, GRPC_INVALID_ARGUMENT}, /* within a label */
        {"Prepare",
         "\0\0\0\0\x0b\x12\x01h\x22\x06\x0a\x00\x12\x02"
         "vv",
         16, GRPC_INVALID_ARGUMENT}, /* a label without a key */
        {"Update",
         "\0\0\0\0\x13\x12\x03\x0a\x01g\x1a\x0c\x0a\x0a"
         "labels.k\0\0",
         24, GRPC_INVALID_ARGUMENT},
        {"List", "\0\0\0\0\x09\x12\x07name==\0", 14, GRPC_INVALID_ARGUMENT},
        {"Prepare", "\0\0\0\0\x04\x12\x02\xc3\xa9", 9, GRPC_OK}, /* good, by the way */
    };
    ck_assert_int_eq(prepare(&w, "g", "", NULL), GRPC_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int status = ask_raw(cases[i].method, cases[i].bytes, cases[i].len);
        ck_assert_msg(status == cases[i].status, "case %zu: %d", i, status);
    }
    ck_assert_int_eq(stat_snapshot(&w, "g", (char[64]){0}, 64), GRPC_OK);
    ck_assert_int_eq(stat_snapshot(&w, "h", (char[64]){0}, 64), GRPC_NOT_FOUND);
}
END_TEST

/* A request that takes much memory when it is decoded. */
START_TEST(test_amplification)
{
    enum { N = SNAP_REQUEST_MAX };
    uint8_t *body = malloc(N + 5 + 2);
    for (int len = N; len <= N + 2; len += 2) {
        grpc_frame(body, (size_t)len);
        for (int i = 0; i < len; i += 2)
            memcpy(body + 5 + i, "\x22\x00", 2); /* labels without key and value */
        ck_assert_int_eq(ask_raw("Prepare", body, (size_t)len + 5), GRPC_RESOURCE_EXHAUSTED);
    }
    for (int i = 0; i < N; i += 2)
        memcpy(body + 5 + i, "\x12\x00", 2); /* filters */
    grpc_frame(body, N);
    ck_assert_int_ne(ask_raw("List", body, N + 5), GRPC_OK);
    free(body);
}
END_TEST

START_TEST(test_huge_headers)
{
    static const uint8_t body[] = {0, 0, 0, 0, 0};
    static const size_t sizes[] = {1000, GRPC_HEADERS_MAX / 2, GRPC_HEADERS_MAX, 1000000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct raw r = raw_open(65535);
        char *value = malloc(sizes[i] + 1);
        memset(value, 'x', sizes[i]);
        value[sizes[i]] = '\0';
        raw_submit(&r, "Cleanup", "x-large", value, body, sizeof(body));
        /* an answer, a refusal or a closed connection: never silence */
        bool answered = raw_wait(&r, 0, 5000);
        if (i == 0)
            ck_assert_int_eq(r.status, GRPC_OK);
        else if (i >= 2)
            ck_assert(!answered || r.status != GRPC_OK);
        free(value);
        raw_free(&r);
        ck_assert_int_eq(stat_snapshot(&w, "none", (char[8]){0}, 8), GRPC_NOT_FOUND);
    }
}
END_TEST

/* A server without compression says so; a header that lists encodings is not an error. */
START_TEST(test_compressed)
{
    static const struct {
        const char *encoding;
        uint8_t body[5];
        int status;
    } cases[] = {{"gzip", {1, 0, 0, 0, 0}, GRPC_UNIMPLEMENTED},
                 {"gzip", {0, 0, 0, 0, 0}, GRPC_OK},
                 {"identity", {1, 0, 0, 0, 0}, GRPC_INTERNAL},
                 {"identity", {0, 0, 0, 0, 0}, GRPC_OK}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct raw r = raw_open(65535);
        raw_submit(&r, "Cleanup", "grpc-encoding", cases[i].encoding, cases[i].body, 5);
        ck_assert(raw_wait(&r, 0, 20000));
        ck_assert_msg(r.status == cases[i].status, "case %zu: %d", i, r.status);
        ck_assert(r.status != GRPC_UNIMPLEMENTED || r.encodings);
        raw_free(&r);
    }
}
END_TEST

START_TEST(test_metadata)
{
    static const uint8_t body[] = {0, 0, 0, 0, 0};
    static const struct {
        const char *name, *value;
        int status;
    } cases[] = {{"containerd-namespace", "k8s.io", GRPC_OK},
                 {"containerd-namespace", "../etc", GRPC_INVALID_ARGUMENT},
                 {"containerd-namespace", "a..b", GRPC_INVALID_ARGUMENT},
                 {"containerd-namespace", "", GRPC_INVALID_ARGUMENT},
                 {"containerd-lease", "a-lease", GRPC_OK},
                 {"grpc-timeout", "0n", GRPC_DEADLINE_EXCEEDED},
                 {"grpc-timeout", "1n", GRPC_OK},
                 {"grpc-timeout", "30S", GRPC_OK},
                 {"grpc-timeout", "nonsense", GRPC_OK}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct raw r = raw_open(65535);
        raw_submit(&r, "Cleanup", cases[i].name, cases[i].value, body, sizeof(body));
        ck_assert(raw_wait(&r, 0, 20000));
        if (strcmp(cases[i].value, "1n") != 0) /* that one is a race */
            ck_assert_msg(r.status == cases[i].status, "%s %s: %d", cases[i].name, cases[i].value,
                          r.status);
        raw_free(&r);
    }
}
END_TEST

/* Ask for much and take nothing: others are served, and the answer still comes when it is taken. */
START_TEST(test_stalls)
{
    static const uint8_t body[] = {0, 0, 0, 0, 0};
    struct raw stalled[20];
    char key[32];
    for (int i = 0; i < 300; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ck_assert_int_eq(prepare(&w, key, "", "a=b"), GRPC_OK);
    }
    for (int i = 0; i < 20; i++) { /* more than there are workers */
        stalled[i] = raw_open(0);
        raw_submit(&stalled[i], "List", "x-nothing", "1", body, sizeof(body));
        ck_assert(raw_send(&stalled[i], 4096));
    }
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(stat_snapshot(&w, "none", (char[8]){0}, 8), GRPC_NOT_FOUND);
    for (int i = 0; i < 20; i++) {
        if (i % 2) { /* half of them were only slow */
            ck_assert_int_eq(nghttp2_submit_window_update(stalled[i].session, 0, 1, 1 << 20), 0);
            ck_assert(raw_wait(&stalled[i], 0, 20000));
            ck_assert_int_eq(stalled[i].status, GRPC_OK);
            ck_assert_uint_gt(stalled[i].received, 300 * 10);
        }
        raw_free(&stalled[i]);
    }
}
END_TEST

/* What is not taken within its time is over, for the client and here. */
START_TEST(test_stalled_deadline)
{
    static const uint8_t body[] = {0, 0, 0, 0, 0};
    ck_assert_int_eq(prepare(&w, "k", "", "a=b"), GRPC_OK);
    struct raw r = raw_open(0);
    raw_submit(&r, "List", "grpc-timeout", "200m", body, sizeof(body));
    ck_assert(raw_wait(&r, 0, 20000));
    ck_assert(r.status == GRPC_DEADLINE_EXCEEDED || r.status == -1);
    ck_assert_uint_eq(r.received, 0);
    raw_free(&r);
}
END_TEST

/* The order to end is obeyed although somebody does not take his answer: closed() returns. */
START_TEST(test_stalled_end)
{
    static const uint8_t body[] = {0, 0, 0, 0, 0};
    static struct raw r;
    ck_assert_int_eq(prepare(&w, "k", "", "a=b"), GRPC_OK);
    r = raw_open(0);
    raw_submit(&r, "List", "x-nothing", "1", body, sizeof(body));
    ck_assert(raw_send(&r, 4096));
}
END_TEST

/* A thousand connections, each asked once, in turn and again. */
START_TEST(test_thousand)
{
    static const uint8_t body[] = {0, 0, 0, 0, 3, 0x12, 1, 'z'};
    static struct raw all[1000];
    for (size_t i = 0; i < 1000; i++) {
        all[i] = raw_open(65535);
        ck_assert(raw_send(&all[i], 4096));
    }
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < 1000; i++) {
            raw_submit(&all[i], "Stat", "x-nothing", "1", body, sizeof(body));
            ck_assert(raw_send(&all[i], 4096));
        }
        for (size_t i = 0; i < 1000; i++) {
            ck_assert(raw_wait(&all[i], 0, 20000));
            ck_assert_int_eq(all[i].status, GRPC_NOT_FOUND);
            all[i].closed = false;
            all[i].status = -1;
        }
    }
    for (size_t i = 0; i < 1000; i++)
        raw_free(&all[i]);
}
END_TEST

/* Gone in the middle of everything. */
START_TEST(test_vanishing)
{
    static const uint8_t body[] = {0, 0, 0, 0, 3, 0x12, 1, 'z'};
    for (size_t cut = 1; cut < 400; cut += 7) {
        struct raw r = raw_open(65535);
        const uint8_t *bytes;
        uint8_t all[1024];
        size_t len = 0;
        ssize_t n;
        nghttp2_session_set_user_data(r.session, &r);
        raw_submit(&r, cut % 2 ? "List" : "Prepare", "x-nothing", "1", body, sizeof(body));
        while ((n = nghttp2_session_mem_send(r.session, &bytes)) > 0 &&
               len + (size_t)n <= sizeof(all)) {
            memcpy(all + len, bytes, (size_t)n);
            len += (size_t)n;
        }
        ck_assert_int_gt(send(r.fd, all, cut < len ? cut : len, MSG_NOSIGNAL), 0);
        raw_free(&r);
    }
    ck_assert_int_eq(stat_snapshot(&w, "none", (char[8]){0}, 8), GRPC_NOT_FOUND);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("snapshotter_hostile");
    TCase *tcase = tcase_create("hostile");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, opened, closed);
    tcase_add_test(tcase, test_byte_by_byte);
    tcase_add_test(tcase, test_bad_messages);
    tcase_add_test(tcase, test_bad_texts);
    tcase_add_test(tcase, test_amplification);
    tcase_add_test(tcase, test_huge_headers);
    tcase_add_test(tcase, test_compressed);
    tcase_add_test(tcase, test_metadata);
    tcase_add_test(tcase, test_stalls);
    tcase_add_test(tcase, test_stalled_deadline);
    tcase_add_test(tcase, test_stalled_end);
    tcase_add_test(tcase, test_thousand);
    tcase_add_test(tcase, test_vanishing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
