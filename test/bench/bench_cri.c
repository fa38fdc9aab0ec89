/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_cri ENGINE PROXY REF [ROUNDS]: ImageStatus of REF, asked of the engine and through the
 * proxy by turns on connections that stay open. Prints both medians and what the proxy adds.
 *
 * bench_cri cancel ENGINE PROXY [ROUNDS]: is the engine, on a socket that the proxy has behind it:
 * how long after a client cancels a call that engine learns of it, directly and through the proxy.
 */
#include "lib/internal/grpc/grpc.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 50

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void *need(void *thing)
{
    if (!thing)
        exit(1);
    return thing;
}

/* Print two columns of times. */
static void print(const char *what, const char *direct, double *times, unsigned rounds)
{
    double median[2], high[2];
    for (unsigned i = 0; i < 2; i++) {
        qsort(times + i * rounds, rounds, sizeof(*times), by_value);
        median[i] = times[i * rounds + rounds / 2];
        high[i] = times[i * rounds + rounds - 1 - rounds / 100];
    }
    printf("| %s | median us | 99%% us |\n|---|---|---|\n| %s | %.0f | %.0f |\n"
           "| through the proxy | %.0f | %.0f |\n| added | %.0f | %.0f |\n",
           what, direct, median[0], high[0], median[1], high[1], median[1] - median[0],
           high[1] - high[0]);
}

static double ask(struct grpc_client *client, const uint8_t *request, size_t len)
{
    struct grpc_result result = {0};
    struct ocv_error err = {0};
    double start = now_us();
    int status = grpc_client_call(client, "/runtime.v1.ImageService/ImageStatus", NULL, 0, request,
                                  len, 10000, NULL, NULL, &result, &err);
    if (status < 0 || result.code != GRPC_OK) {
        fprintf(stderr, "bench_cri: %s\n", status < 0 ? err.message : result.message);
        exit(1);
    }
    return now_us() - start;
}

static void measure_calls(struct grpc_client *const clients[2], const char *ref, unsigned rounds)
{
    uint8_t request[600];
    size_t n = strlen(ref);
    /* ImageStatusRequest{image: {image: REF}} with lengths of two bytes, needed or not */
    const uint8_t head[] = {0x0a, (uint8_t)((n + 3) | 0x80), (uint8_t)((n + 3) >> 7),
                            0x0a, (uint8_t)(n | 0x80),       (uint8_t)(n >> 7)};
    memcpy(request, head, sizeof(head));
    memcpy(request + sizeof(head), ref, n);
    double *times = need(calloc(2 * (size_t)rounds, sizeof(*times)));
    for (unsigned i = 0; i < WARM_UP + rounds; i++)
        for (unsigned which = 0; which < 2; which++) {
            double us = ask(clients[which], request, sizeof(head) + n);
            if (i >= WARM_UP)
                times[which * rounds + i - WARM_UP] = us;
        }
    print("ImageStatus", "containerd", times, rounds);
    free(times);
}

static int learned[2]; /* a pipe: the moments at which a call was found cancelled */

/* Send one message, then nothing until the caller goes. */
static void never_end(void *data, struct grpc_call *call)
{
    struct pollfd gone = {.fd = grpc_call_gone_fd(call), .events = POLLIN};
    (void)data;
    if (grpc_call_send(call, "x", 1) < 0)
        return;
    grpc_call_push(call);
    if (poll(&gone, 1, 10000) == 1) {
        double now = now_us();
        (void)!write(learned[1], &now, sizeof(now));
    }
}

static void *serve(void *data)
{
    return grpc_server_run(data, NULL) == OCV_OK ? NULL : data;
}

static struct grpc_server *start_engine(const char *path, pthread_t *thread)
{
    const struct grpc_server_options options = {.handle = never_end};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct grpc_server *server = NULL;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, 16) < 0 || pipe(learned) < 0 ||
        grpc_server_new(&options, fd, &server, NULL) < 0 ||
        pthread_create(thread, NULL, serve, server) != 0)
        exit(1);
    return server;
}

/* Called with the answer: that is enough. */
static int go(void *data, const uint8_t *message, size_t len)
{
    (void)message, (void)len;
    poll(NULL, 0, 2); /* let all threads become idle */
    *(double *)data = now_us();
    return 1;
}

static double cancel(struct grpc_client *client)
{
    struct grpc_result result = {0};
    double went = 0, heard = 0;
    if (grpc_client_call(client, "/runtime.v1.ImageService/StreamImages", NULL, 0, "", 0, 10000, go,
                         &went, &result, NULL) < 0 ||
        read(learned[0], &heard, sizeof(heard)) != sizeof(heard))
        exit(1);
    return heard - went;
}

static void measure_cancels(const char *engine, struct grpc_client *const clients[2],
                            unsigned rounds)
{
    pthread_t thread;
    struct grpc_server *server = start_engine(engine, &thread);
    double *times = need(calloc(2 * (size_t)rounds, sizeof(*times)));
    for (unsigned i = 0; i < rounds; i++)
        for (unsigned which = 0; which < 2; which++)
            times[which * rounds + i] = cancel(clients[which]);
    print("until the engine knows of a cancel", "directly", times, rounds);
    free(times);
    grpc_server_stop(server);
    pthread_join(thread, NULL);
    grpc_server_free(server);
}

int main(int argc, char **argv)
{
    struct grpc_client *clients[2];
    bool cancels = argc > 1 && strcmp(argv[1], "cancel") == 0;
    const char *const *paths = (const char *const *)argv + (cancels ? 2 : 1);
    const char *rounds_text = argc > 4 ? argv[4] : cancels ? "200" : "2000";
    unsigned rounds = (unsigned)strtoul(rounds_text, NULL, 10);
    if (argc < 4 || strlen(argv[3]) > 500 || rounds < 1 || rounds > 1000000)
        return fputs("bench_cri ENGINE PROXY PINNED-REF [ROUNDS]\n"
                     "bench_cri cancel ENGINE PROXY [ROUNDS]\n",
                     stderr),
               2;
    for (int i = 0; i < 2; i++)
        if (grpc_client_new(paths[i], &clients[i], NULL) < 0)
            return 1;
    if (cancels)
        measure_cancels(paths[0], clients, rounds);
    else
        measure_calls(clients, argv[3], rounds);
    for (int i = 0; i < 2; i++)
        grpc_client_free(clients[i]);
    return 0;
}
