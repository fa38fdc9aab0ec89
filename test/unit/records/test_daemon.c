/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* lib/internal/records/daemon.c against a server that says what the case says. */
#include "lib/internal/records/daemon.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/ocv-local-XXXXXX";
static char path[64];

static int listen_here(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/s", directory);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    return fd;
}

/* Answer one request with `answer` a byte at a time where `slow`, then close. NULL: never. */
static pid_t serve(int fd, const char *answer, bool slow)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char request[1024];
    int peer = accept(fd, NULL, NULL);
    ssize_t got = read(peer, request, sizeof(request) - 1);
    if (!answer)
        pause();
    for (size_t i = 0, step; got > 0 && answer && answer[i]; i += step) {
        step = slow ? 1 : strlen(answer + i);
        if (write(peer, answer + i, step) < 0)
            break;
        if (slow)
            poll(NULL, 0, 1);
    }
    _exit(0);
}

static const struct {
    const char *answer;
    bool slow;
    int status;
    long http;
    const char *body;
} answers[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, OCV_OK, 200, "hello"},
    {"HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\nhello", true, OCV_OK, 200, "hello"},
    {"HTTP/1.0 404 Not Found\r\n\r\nno", false, OCV_OK, 404, "no"},
    {"HTTP/1.1 204 No Content\r\n\r\n", false, OCV_OK, 204, ""},
    {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", false, OCV_ERR_DATA, 0, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello", false, OCV_ERR_DATA, 0, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello", false, OCV_ERR_DATA, 0, NULL},
    {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx", false, OCV_ERR_DATA, 0,
     NULL},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false,
     OCV_ERR_DATA, 0, NULL},
    {"HTTP/1.1 2x0 OK\r\n\r\n", false, OCV_ERR_DATA, 0, NULL},
    {"SSH-2.0-OpenSSH\r\n", false, OCV_ERR_DATA, 0, NULL},
    {"", false, OCV_ERR_DATA, 0, NULL},
    {NULL, false, OCV_ERR_NETWORK, 0, NULL},
};

START_TEST(test_answers)
{
    int fd = listen_here();
    pid_t server = serve(fd, answers[_i].answer, answers[_i].slow);
    struct ocv_buffer body;
    struct ocv_error err = {0};
    long http = 0;
    ocv_buffer_init(&body, 1024);
    int status =
        ocv_daemon_get(path, "/v1/x?a=b", answers[_i].answer ? 5000 : 100, &http, &body, &err);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    close(fd);
    unlink(path);
    rmdir(directory);
    ck_assert_msg(status == answers[_i].status, "%d %s", status, err.message);
    if (status == OCV_OK) {
        ck_assert_int_eq(http, answers[_i].http);
        ck_assert_str_eq(body.data ? body.data : "", answers[_i].body);
    } else {
        ck_assert_msg(strstr(err.message, path) != NULL, "%s", err.message);
    }
    ocv_buffer_free(&body);
}
END_TEST

START_TEST(test_too_large)
{
    char *answer = malloc(40000);
    memset(answer, 'x', 39999);
    answer[39999] = '\0';
    memcpy(answer, "HTTP/1.1 200 OK\r\n\r\n", 19);
    int fd = listen_here();
    pid_t server = serve(fd, answer, false);
    struct ocv_buffer body;
    long http = 0;
    ocv_buffer_init(&body, 1024);
    ck_assert_int_lt(ocv_daemon_get(path, "/", 5000, &http, &body, NULL), 0);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    close(fd);
    unlink(path);
    rmdir(directory);
    ck_assert_uint_eq(body.len, 0);
    ocv_buffer_free(&body);
    free(answer);
}
END_TEST

START_TEST(test_nobody)
{
    struct ocv_buffer body;
    long http = 0;
    ocv_buffer_init(&body, 1024);
    ck_assert_int_eq(ocv_daemon_get("/nonexistent/socket", "/", 1000, &http, &body, NULL),
                     OCV_ERR_NOT_FOUND);
    int fd = listen_here();
    close(fd); /* the socket file of a daemon that died */
    ck_assert_int_eq(ocv_daemon_get(path, "/", 1000, &http, &body, NULL), OCV_ERR_NOT_FOUND);
    unlink(path);
    rmdir(directory);
}
END_TEST

START_TEST(test_bad_arguments)
{
    struct ocv_buffer body;
    char longer[200];
    long http = 0;
    ocv_buffer_init(&body, 1024);
    memset(longer, 'x', sizeof(longer) - 1);
    longer[0] = '/';
    longer[sizeof(longer) - 1] = '\0';
    ck_assert_int_eq(ocv_daemon_get(longer, "/", 10, &http, &body, NULL), OCV_ERR_INVALID);
    ck_assert_int_eq(ocv_daemon_get("/x", "no-slash", 10, &http, &body, NULL), OCV_ERR_INVALID);
    ck_assert_int_eq(ocv_daemon_get("/x", "/a b", 10, &http, &body, NULL), OCV_ERR_INVALID);
    ck_assert_int_eq(ocv_daemon_get("/x", "/a\r\nHost: b", 10, &http, &body, NULL),
                     OCV_ERR_INVALID);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("daemon");
    TCase *tcase = tcase_create("daemon");
    tcase_add_loop_test(tcase, test_answers, 0, sizeof(answers) / sizeof(*answers));
    tcase_add_test(tcase, test_too_large);
    tcase_add_test(tcase, test_nobody);
    tcase_add_test(tcase, test_bad_arguments);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
