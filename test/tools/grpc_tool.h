/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stand-in for a service: serves gRPC on SOCKET from the files in DIR. */
#ifndef TEST_GRPC_TOOL_H
#define TEST_GRPC_TOOL_H

#include "lib/internal/grpc/grpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *dir;

/* Append a field of bytes to a message. */
static inline void put(struct ocv_buffer *out, uint8_t number, const void *bytes, size_t len)
{
    uint8_t head[GRPC_VARINT_MAX + 1] = {(uint8_t)(number << 3 | GRPC_BYTES)};
    size_t n = 1 + grpc_put_varint(head + 1, len);
    if (ocv_buffer_append(out, head, n, NULL) < 0 || ocv_buffer_append(out, bytes, len, NULL) < 0)
        abort();
}

static inline void put_text(struct ocv_buffer *out, uint8_t number, const char *text)
{
    put(out, number, text, strlen(text));
}

/* The main function of "PROGRAM SOCKET DIR"; prints "listening" when it is ready. */
static int serve_socket(int argc, char **argv, const char *program,
                        const struct grpc_server_options *options)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct grpc_server *server = NULL;
    struct ocv_error err = {0};
    if (argc != 3 || strlen(argv[1]) >= sizeof(address.sun_path)) {
        fprintf(stderr, "usage: %s SOCKET DIR\n", program);
        return 2;
    }
    dir = argv[2];
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[1]);
    unlink(argv[1]);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, 64) < 0 || grpc_server_new(options, fd, &server, &err) < 0) {
        perror(argv[1]);
        return 1;
    }
    printf("listening\n");
    fflush(stdout);
    return grpc_server_run(server, &err) < 0;
}

#endif
