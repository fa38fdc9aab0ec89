/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/grpc with peers that send any bytes: a client to a server that passes calls on
 * (first byte even), and an engine that answers a call passed on (odd). The HTTP/2 preface is
 * fixed, so inputs are frames. */
#include "lib/internal/grpc/grpc.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sockaddr_un front = {.sun_family = AF_UNIX}, back = {.sun_family = AF_UNIX};
static struct grpc_client *client;
static int back_fd;
static const uint8_t *answer;
static size_t answer_len;
static sem_t said; /* the engine has released the answer */

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* Send all headers and bytes back. */
static void handle(void *data, struct grpc_call *call)
{
    const char *name, *value;
    size_t len = 0, at = 0, sum = 0;
    const uint8_t *request = grpc_call_request(call, &len);
    (void)data;
    while (grpc_header_next(grpc_call_headers(call), &at, &name, &value))
        sum += strlen(name) + strlen(value) + 2;
    check(sum == grpc_call_headers(call)->len);
    if (grpc_call_send(call, request, len) < 0)
        return;
    grpc_call_end(call, grpc_call_headers(call));
}

static int on_headers(void *data, const struct ocv_buffer *headers, bool last)
{
    const char *name, *value;
    size_t at = 0;
    bool *ended = data;
    check(!*ended);
    *ended = last;
    while (grpc_header_next(headers, &at, &name, &value))
        check(at <= headers->len);
    return 0;
}

static int on_message(void *data, const uint8_t *bytes, size_t len)
{
    volatile uint8_t sum = 0;
    (void)data;
    for (size_t i = 0; i < len; i++)
        sum = (uint8_t)(sum + bytes[i]);
    return 0;
}

static int bound(struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(bind(fd, (struct sockaddr *)address, sizeof(*address)) == 0 && listen(fd, 64) == 0);
    return fd;
}

static void *serve(void *data)
{
    return grpc_server_run(data, NULL) == OCV_OK ? NULL : data;
}

static void say(int fd, const uint8_t *bytes, size_t len)
{
    uint8_t drain[4096];
    for (size_t at = 0; at < len;) {
        ssize_t n = send(fd, bytes + at, len - at, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    shutdown(fd, SHUT_WR);
    while (recv(fd, drain, sizeof(drain), 0) > 0)
        ;
    close(fd);
}

static void *engine(void *data)
{
    static const uint8_t settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    (void)data;
    for (int fd; (fd = accept(back_fd, NULL, NULL)) >= 0;) {
        (void)!send(fd, settings, sizeof(settings), MSG_NOSIGNAL);
        say(fd, answer, answer_len);
        sem_post(&said);
    }
    return NULL;
}

static void leave(void)
{
    unlink(front.sun_path);
    unlink(back.sun_path);
}

static void start(void)
{
    const struct grpc_server_options options = {.handle = handle, .framed = true};
    struct grpc_server *server = NULL;
    pthread_t thread;
    snprintf(front.sun_path, sizeof(front.sun_path), "/tmp/ocv-fuzz-%d-f", (int)getpid());
    snprintf(back.sun_path, sizeof(back.sun_path), "/tmp/ocv-fuzz-%d-b", (int)getpid());
    check(atexit(leave) == 0 && sem_init(&said, 0, 0) == 0);
    check(grpc_server_new(&options, bound(&front), &server, NULL) == OCV_OK);
    check(pthread_create(&thread, NULL, serve, server) == 0);
    back_fd = bound(&back);
    check(pthread_create(&thread, NULL, engine, NULL) == 0);
    check(grpc_client_new(back.sun_path, &client, NULL) == OCV_OK);
}

static void to_server(const uint8_t *data, size_t size)
{
    static const char opening[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(connect(fd, (struct sockaddr *)&front, sizeof(front)) == 0);
    (void)!send(fd, opening, sizeof(opening) - 1, MSG_NOSIGNAL);
    say(fd, data, size);
}

static void to_client(const uint8_t *data, size_t size)
{
    static const char text[] = ":method\0POST\0:scheme\0http\0:path\0/a/B\0:authority\0x";
    struct ocv_buffer headers = {
        .data = (char *)(uintptr_t)text, .len = sizeof(text), .max = sizeof(text)};
    struct grpc_result result;
    struct ocv_error err = {0};
    bool ended = false;
    const struct grpc_passed passed = {.headers = &headers,
                                       .body = "\0\0\0\0",
                                       .len = 5,
                                       .on_headers = on_headers,
                                       .on_message = on_message,
                                       .data = &ended};
    answer = data;
    answer_len = size;
    int status = grpc_client_pass(client, &passed, &result, &err);
    check(status == OCV_OK || err.message[0]);
    while (sem_trywait(&said) < 0) { /* an idle connection is closed when it is next checked */
        grpc_client_tend(client);
        sched_yield();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool started;
    if (!started)
        start();
    started = true;
    if (size && data[0] % 2 == 0)
        to_server(data + 1, size - 1);
    else if (size)
        to_client(data + 1, size - 1);
    return 0;
}
