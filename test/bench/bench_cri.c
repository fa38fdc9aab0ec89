/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_cri ENGINE PROXY REF [ROUNDS]: ImageStatus of REF, asked of the engine and through the
 * proxy by turns on connections that stay open. Prints both medians and what the proxy adds. */
#include "lib/grpc/grpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 2000
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

int main(int argc, char **argv)
{
    struct grpc_client *clients[2];
    uint8_t request[600];
    size_t n = argc > 3 ? strlen(argv[3]) : 0;
    unsigned rounds = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : ROUNDS;
    if (argc < 4 || !n || n > 500 || rounds < 1 || rounds > 1000000)
        return fputs("bench_cri ENGINE PROXY PINNED-REF [ROUNDS]\n", stderr), 2;
    /* ImageStatusRequest{image: {image: REF}} with lengths of two bytes, needed or not */
    const uint8_t head[] = {0x0a, (uint8_t)((n + 3) | 0x80), (uint8_t)((n + 3) >> 7),
                            0x0a, (uint8_t)(n | 0x80),       (uint8_t)(n >> 7)};
    memcpy(request, head, sizeof(head));
    memcpy(request + sizeof(head), argv[3], n);
    double *times = calloc(2 * (size_t)rounds, sizeof(*times));
    for (int i = 0; i < 2; i++)
        if (!times || grpc_client_new(argv[1 + i], &clients[i], NULL) < 0)
            return 1;
    for (unsigned i = 0; i < WARM_UP + rounds; i++)
        for (unsigned which = 0; which < 2; which++) {
            double us = ask(clients[which], request, sizeof(head) + n);
            if (i >= WARM_UP)
                times[which * rounds + i - WARM_UP] = us;
        }
    double median[2], high[2];
    for (unsigned i = 0; i < 2; i++) {
        qsort(times + i * rounds, rounds, sizeof(*times), by_value);
        median[i] = times[i * rounds + rounds / 2];
        high[i] = times[i * rounds + rounds - 1 - rounds / 100];
        grpc_client_free(clients[i]);
    }
    printf("| ImageStatus | median us | 99%% us |\n|---|---|---|\n| containerd | %.0f | %.0f |\n"
           "| through the proxy | %.0f | %.0f |\n| added | %.0f | %.0f |\n",
           median[0], high[0], median[1], high[1], median[1] - median[0], high[1] - high[0]);
    free(times);
    return 0;
}
