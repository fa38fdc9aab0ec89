/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real clients on loopback. */
#include "cmd/variantd/http/httpd.h"

#include "test/unit/suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS_MAX 512
#define FILE_BYTES (64u * 1024 * 1024)

static struct httpd *httpd;
static unsigned port;
static sem_t entered, gate;
static atomic_uint open_now, completed_now, polls;

/* Requests for /later are suspended, and resumed by another thread. */
struct later {
    struct httpd_suspended suspended;
    bool slept;
};

static void *resume_soon(void *data)
{
    struct later *later = data;
    httpd_resume(&later->suspended);
    return NULL;
}

static enum MHD_Result suspend(struct MHD_Connection *connection, struct later *later)
{
    pthread_t thread;
    later->slept = true;
    httpd_suspend(connection, &later->suspended);
    ck_assert_int_eq(pthread_create(&thread, NULL, resume_soon, later), 0);
    pthread_detach(thread);
    return MHD_YES;
}

/* Sent by sendfile, which raises SIGPIPE where a client is gone. */
static int make_file(void)
{
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    ck_assert_int_eq(sigismember(&blocked, SIGPIPE), 1);
    int fd = memfd_create("body", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, FILE_BYTES), 0);
    return fd;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **context)
{
    static char text[] = "ok";
    (void)cls, (void)method, (void)version, (void)upload, (void)upload_size;
    if (!*context)
        return (*context = calloc(1, sizeof(struct later))) ? MHD_YES : MHD_NO;
    struct later *later = *context;
    if (!strcmp(url, "/later") && !later->slept)
        return suspend(connection, later);
    if (!strcmp(url, "/gate")) {
        sem_post(&entered);
        while (sem_wait(&gate) < 0 && errno == EINTR)
            ;
    }
    struct MHD_Response *response =
        strcmp(url, "/file") == 0
            ? MHD_create_response_from_fd(FILE_BYTES, make_file())
            : MHD_create_response_from_buffer(2, text, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static void completed(void *cls, struct MHD_Connection *connection, void **context,
                      enum MHD_RequestTerminationCode why)
{
    (void)cls, (void)connection, (void)why;
    free(*context);
    atomic_fetch_add(&completed_now, 1);
}

static void notify(void *cls, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode code)
{
    (void)cls, (void)connection, (void)context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        atomic_fetch_add(&open_now, 1);
    else
        atomic_fetch_sub(&open_now, 1);
}

/* The loops' own calls come here, to be counted. */
int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    const struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    atomic_fetch_add(&polls, 1);
    return ppoll(fds, n, timeout_ms < 0 ? NULL : &timeout, NULL);
}

static void start(unsigned threads, unsigned connections, unsigned timeout_s)
{
    const struct httpd_calls calls = {handle, completed, notify, NULL, NULL};
    const struct httpd_limits limits = {threads, connections, timeout_s, 4096};
    struct ocv_error err = {0};
    struct listening listening;
    sem_init(&entered, 0, 0);
    sem_init(&gate, 0, 0);
    atomic_store(&completed_now, 0);
    ck_assert_int_eq(listen_tcp("127.0.0.1:0", -1, &listening, &err), 0);
    port = listening.port;
    int status = httpd_new(listening.fd, &calls, &limits, &httpd, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
}

static void stop(void)
{
    httpd_free(httpd);
    ck_assert_uint_eq(atomic_load(&open_now), 0);
}

/* A connected client, or -1 if it was not accepted. */
static int join(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 30};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void ask(int fd, const char *path)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);
    ck_assert_int_eq(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

static bool answered(int fd)
{
    char text[512] = "";
    ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
    return n > 0 && strncmp(text, "HTTP/1.1 200", 12) == 0;
}

/* How many clients ask while the only thread is busy: libmicrohttpd takes 128 events at a time. */
static const unsigned bursts[] = {1, 127, 128, 129, 256, 257};

START_TEST(test_burst)
{
    int clients[CLIENTS_MAX];
    start(1, CLIENTS_MAX, 0);
    int first = join();
    for (unsigned i = 0; i < bursts[_i]; i++)
        ck_assert_int_ge(clients[i] = join(), 0);
    while (atomic_load(&open_now) < bursts[_i] + 1) /* all are accepted, and idle */
        usleep(1000);
    ask(first, "/gate");
    sem_wait(&entered);
    for (unsigned i = 0; i < bursts[_i]; i++)
        ask(clients[i], "/");
    sem_post(&gate);
    ck_assert(answered(first));
    for (unsigned i = 0; i < bursts[_i]; i++) {
        ck_assert_msg(answered(clients[i]), "client %u of %u", i, bursts[_i]);
        close(clients[i]);
    }
    close(first);
    stop();
    ck_assert_uint_eq(atomic_load(&completed_now), bursts[_i] + 1);
}
END_TEST

START_TEST(test_threads)
{
    int clients[64];
    start(4, 64, 0);
    for (unsigned i = 0; i < 64; i++)
        ck_assert_int_ge(clients[i] = join(), 0);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 64; i++)
            ask(clients[i], "/");
        for (unsigned i = 0; i < 64; i++)
            ck_assert(answered(clients[i]));
    }
    stop(); /* with all of them connected */
    for (unsigned i = 0; i < 64; i++) {
        ck_assert(!answered(clients[i]));
        close(clients[i]);
    }
}
END_TEST

/* Resumed while the loop works: none may be missed. */
START_TEST(test_suspended)
{
    int clients[32];
    start(2, 64, 0);
    for (unsigned i = 0; i < 32; i++)
        ck_assert_int_ge(clients[i] = join(), 0);
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 32; i++)
            ask(clients[i], "/later");
        for (unsigned i = 0; i < 32; i++)
            ck_assert_msg(answered(clients[i]), "client %u, round %u", i, round);
    }
    for (unsigned i = 0; i < 32; i++)
        close(clients[i]);
    stop();
    ck_assert_uint_eq(atomic_load(&completed_now), 200 * 32);
}
END_TEST

START_TEST(test_quiesce)
{
    start(2, 16, 0);
    int fd = join();
    ask(fd, "/");
    ck_assert(answered(fd));
    httpd_quiesce(httpd);
    ck_assert_int_eq(join(), -1);
    ask(fd, "/"); /* who is there is served */
    ck_assert(answered(fd));
    httpd_quiesce(httpd);
    close(fd);
    stop();
}
END_TEST

static void *open_gate(void *data)
{
    (void)data;
    usleep(50000);
    sem_post(&gate);
    return NULL;
}

/* It waits for a busy thread, but not forever. */
START_TEST(test_quiesce_busy)
{
    pthread_t thread;
    start(1, 16, 0);
    int fd = join();
    ask(fd, "/gate");
    sem_wait(&entered);
    ck_assert_int_eq(pthread_create(&thread, NULL, open_gate, NULL), 0);
    httpd_quiesce(httpd);
    ck_assert_int_eq(join(), -1);
    pthread_join(thread, NULL);
    ck_assert(answered(fd));
    close(fd);
    stop();
}
END_TEST

START_TEST(test_quiesce_stuck)
{
    start(1, 16, 0);
    int fd = join();
    ask(fd, "/gate");
    sem_wait(&entered);
    httpd_quiesce(httpd); /* returns */
    sem_post(&gate);
    ck_assert(answered(fd));
    close(fd);
    stop();
}
END_TEST

START_TEST(test_gone)
{
    char some[65536];
    start(1, 16, 0);
    for (unsigned i = 0; i < 8; i++) {
        int fd = join();
        ask(fd, "/file");
        ck_assert_int_gt(recv(fd, some, sizeof(some), MSG_WAITALL), 0);
        if (i % 2) { /* for a reset after an end the kernel says EPIPE */
            shutdown(fd, SHUT_WR);
            usleep(10000);
        }
        close(fd); /* with bytes unread: a reset */
    }
    while (atomic_load(&open_now))
        usleep(1000);
    stop();
    ck_assert_uint_eq(atomic_load(&completed_now), 8);
}
END_TEST

/* Clients wait in the backlog while no descriptor is left, and the thread waits with them. */
START_TEST(test_no_descriptors)
{
    struct rlimit old, few;
    start(1, 16, 0);
    int fd = join();
    while (atomic_load(&open_now) == 0)
        usleep(1000);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    close(fd);
    while (atomic_load(&open_now))
        usleep(1000);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    int next = dup(fd);
    close(next);
    few = old;
    few.rlim_cur = (rlim_t)next;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ask(fd, "/");
    unsigned before = atomic_load(&polls);
    usleep(500000);
    unsigned after = atomic_load(&polls);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    ck_assert(answered(fd));
    ck_assert_uint_lt(after - before, 2000); /* one that spins makes tens of thousands */
    close(fd);
    stop();
}
END_TEST

/* Nothing else happens: the loop must wake up for it. */
START_TEST(test_timeout)
{
    char byte;
    start(1, 16, 1);
    int fd = join();
    ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
    close(fd);
    stop();
}
END_TEST

START_TEST(test_limit)
{
    start(1, 1, 0);
    int one = join(), two = join(); /* in the backlog */
    ask(one, "/");
    ask(two, "/");
    ck_assert(answered(one));
    ck_assert_int_eq(recv(two, &(char){0}, 1, MSG_DONTWAIT), -1);
    close(one);
    ck_assert(answered(two));
    close(two);
    stop();
}
END_TEST

START_TEST(test_no_socket)
{
    const struct httpd_calls calls = {handle, completed, notify, NULL, NULL};
    const struct httpd_limits limits = {2, 16, 0, 4096};
    struct httpd *none = NULL;
    struct ocv_error err = {0};
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(httpd_new(fd, &calls, &limits, &none, &err), OCV_ERR_IO);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1); /* taken over, and closed */
}
END_TEST

/* A greeting in TLS without an end of line, which libmicrohttpd would wait for. */
static const unsigned char hello[] = {0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3};

static void await_open(unsigned n)
{
    while (atomic_load(&open_now) != n)
        usleep(1000);
}

static void expect_http(int fd)
{
    char text[512] = "";
    ck_assert_int_gt(recv(fd, text, sizeof(text) - 1, 0), 0);
    ck_assert_msg(strncmp(text, "HTTP/1.1 400 ", 13) == 0, "%s", text);
    const char *body = strstr(text, "\r\n\r\n");
    const char *length = strstr(text, "Content-Length: ");
    ck_assert(body && length);
    ck_assert_uint_eq(strlen(body + 4), strtoul(length + 16, NULL, 10));
    ck_assert_int_eq(recv(fd, text, sizeof(text), 0), 0); /* closed, and not reset */
    close(fd);
}

START_TEST(test_tls)
{
    start(1, 64, 0);
    int fd = join(); /* before it is accepted, after that, or after its first byte */
    ck_assert_int_eq(send(fd, hello, sizeof(hello), MSG_NOSIGNAL), (int)sizeof(hello));
    expect_http(fd);
    fd = join();
    await_open(1);
    ck_assert_int_eq(send(fd, hello, sizeof(hello), MSG_NOSIGNAL), (int)sizeof(hello));
    expect_http(fd);
    fd = join();
    ck_assert_int_eq(send(fd, hello, 1, MSG_NOSIGNAL), 1);
    expect_http(fd);
    await_open(0);
    stop();
}
END_TEST

START_TEST(test_tls_crowd)
{
    int silent[TLS_HELLO_SILENT_MAX];
    start(1, 64, 0);
    int early = join();
    await_open(1);
    for (unsigned i = 0; i < TLS_HELLO_SILENT_MAX; i++)
        silent[i] = join();
    await_open(TLS_HELLO_SILENT_MAX + 1);
    /* the first one is no longer examined, but can still send a request */
    ask(early, "/");
    ck_assert(answered(early));
    for (unsigned i = 0; i < TLS_HELLO_SILENT_MAX; i += 2)
        close(silent[i]);
    await_open(TLS_HELLO_SILENT_MAX / 2 + 1);
    for (unsigned i = 1; i < TLS_HELLO_SILENT_MAX; i += 2) {
        usleep(20000); /* the loop has gone to rest: it looks before libmicrohttpd reads */
        ck_assert_int_eq(send(silent[i], hello, sizeof(hello), MSG_NOSIGNAL), (int)sizeof(hello));
        expect_http(silent[i]);
    }
    close(early);
    stop();
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd httpd");
    TCase *tcase = tcase_create("variantd httpd");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, test_burst, 0, sizeof(bursts) / sizeof(*bursts));
    tcase_add_test(tcase, test_threads);
    tcase_add_test(tcase, test_suspended);
    tcase_add_test(tcase, test_quiesce);
    tcase_add_test(tcase, test_quiesce_busy);
    tcase_add_test(tcase, test_quiesce_stuck);
    tcase_add_test(tcase, test_gone);
    tcase_add_test(tcase, test_no_descriptors);
    tcase_add_test(tcase, test_timeout);
    tcase_add_test(tcase, test_limit);
    tcase_add_test(tcase, test_no_socket);
    tcase_add_test(tcase, test_tls);
    tcase_add_test(tcase, test_tls_crowd);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
