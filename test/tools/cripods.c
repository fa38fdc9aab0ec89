/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cripods SOCKET IMAGE N [ENGINE CHILD]: what kubelet asks for N pods, uid-I and seen-I of
 * default/pod-I: PullImage for each, then ImageStatus for each three times, and as often without a
 * pod. With ENGINE and CHILD ("NAME@DIGEST"), ImageStatus of that is asked there by turns. Prints
 * one line: "pods N", "median_us M" of ImageStatus and, with ENGINE, "added_us A". */
#include "lib/internal/grpc/grpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SERVICE "/runtime.v1.ImageService/"
#define ROUNDS 3
#define CALL_MS 60000u
#define PIECE (64u * 1024)

static struct grpc_client *connect_to(const char *path)
{
    struct grpc_client *client = NULL;
    struct ocv_error err = {0};
    if (grpc_client_new(path, &client, &err) < 0) {
        fprintf(stderr, "cripods: %s\n", err.message);
        exit(1);
    }
    return client;
}

static void put(struct ocv_buffer *out, uint8_t number, const void *bytes, size_t len)
{
    uint8_t head[GRPC_VARINT_MAX + 1] = {(uint8_t)(number << 3 | GRPC_BYTES)};
    size_t n = 1 + grpc_put_varint(head + 1, len);
    if (ocv_buffer_append(out, head, n, NULL) < 0 || ocv_buffer_append(out, bytes, len, NULL) < 0)
        abort();
}

static void put_text(struct ocv_buffer *out, uint8_t number, const char *text)
{
    put(out, number, text, strlen(text));
}

/* `pod` below 0: nobody's. ImageSpec {image = 1; annotations = 2 {key = 1, value = 2}} */
static void put_image(struct ocv_buffer *out, const char *image, long pod)
{
    char seen[64];
    ocv_auto_buffer spec;
    ocv_auto_buffer entry;
    ocv_buffer_init(&spec, PIECE);
    ocv_buffer_init(&entry, PIECE);
    put_text(&spec, 1, image);
    snprintf(seen, sizeof(seen), "seen-%ld", pod);
    put_text(&entry, 1, "kubernetes.io/config.seen");
    put_text(&entry, 2, seen);
    if (pod >= 0)
        put(&spec, 2, entry.data, entry.len);
    put(out, 1, spec.data, spec.len);
}

/* PodSandboxConfig {metadata = 1 {name = 1, uid = 2, namespace = 3}} */
static void put_sandbox(struct ocv_buffer *out, long pod)
{
    char text[64];
    ocv_auto_buffer metadata;
    ocv_auto_buffer config;
    ocv_buffer_init(&metadata, PIECE);
    ocv_buffer_init(&config, PIECE);
    snprintf(text, sizeof(text), "pod-%ld", pod);
    put_text(&metadata, 1, text);
    snprintf(text, sizeof(text), "uid-%ld", pod);
    put_text(&metadata, 2, text);
    put_text(&metadata, 3, "default");
    put(&config, 1, metadata.data, metadata.len);
    put(out, 3, config.data, config.len);
}

static double call(struct grpc_client *client, const char *method, const struct ocv_buffer *request)
{
    struct grpc_result result = {0};
    struct ocv_error err = {0};
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    int status = grpc_client_call(client, method, NULL, 0, request->data, request->len, CALL_MS,
                                  NULL, NULL, &result, &err);
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (status < 0 || result.code != GRPC_OK) {
        fprintf(stderr, "cripods: %s\n", status < 0 ? err.message : result.message);
        exit(1);
    }
    return (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
}

static double ask(struct grpc_client *client, const char *image, long pod)
{
    ocv_auto_buffer request;
    ocv_buffer_init(&request, PIECE);
    put_image(&request, image, pod);
    return call(client, SERVICE "ImageStatus", &request);
}

static void pull(struct grpc_client *client, const char *image, long pod)
{
    ocv_auto_buffer request;
    ocv_buffer_init(&request, PIECE);
    put_image(&request, image, pod);
    put_sandbox(&request, pod);
    call(client, SERVICE "PullImage", &request);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *times, size_t n)
{
    qsort(times, n, sizeof(*times), by_value);
    return times[n / 2];
}

int main(int argc, char **argv)
{
    long pods = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    if (pods < 1 || pods > 100000 || argc > 6 || argc == 5)
        return 2;
    struct grpc_client *proxy = connect_to(argv[1]),
                       *engine = argc > 5 ? connect_to(argv[4]) : NULL;
    size_t n = (size_t)pods * ROUNDS, at = 0;
    double *times = calloc(n, sizeof(*times)), *direct = calloc(n, sizeof(*direct));
    if (!times || !direct)
        return 1;
    for (long pod = 0; pod < pods; pod++)
        pull(proxy, argv[2], pod);
    for (int round = 0; round < ROUNDS; round++)
        for (long pod = 0; pod < pods; pod++, at++) {
            times[at] = ask(proxy, argv[2], pod);
            ask(proxy, argv[2], -1);
            if (engine)
                direct[at] = ask(engine, argv[5], pod);
        }
    double through = median(times, n), without = median(direct, n);
    printf("pods %ld median_us %.0f", pods, through);
    if (engine)
        printf(" added_us %.0f", through - without);
    putchar('\n');
    grpc_client_free(proxy);
    grpc_client_free(engine);
    free(times);
    free(direct);
    return 0;
}
