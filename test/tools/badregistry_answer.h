/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Part of badregistry.c: its content, and the answers that its modes combine. */
#ifndef OCV_BADREGISTRY_ANSWER_H
#define OCV_BADREGISTRY_ANSWER_H

#include "ocivariant.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#define BLOB_SIZE 3000000

struct request {
    int fd;
    int port; /* 0 or 1: the port of the two that received it */
    char method[8];
    char path[2048];
    char authorization[1024];
    char range[64];
    char body[4096];
    char mode[64]; /* first component of the repository */
    bool blob;
    bool head;
};

struct bytes {
    const char *data;
    size_t len;
    const char *type;
    char digest[OCV_DIGEST_MAX];
};

static int ports[2];
static unsigned char blob[BLOB_SIZE];
static struct bytes served_blob, served_index, served_big, served_generic, served_cut, served_file;
static struct bytes image_index, image_manifest, image_config; /* of "MODE/image" */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ocv_buffer request_log;
static struct {
    char mode[64];
    unsigned count;
} counters[64];
static unsigned tokens, connections;

/* Number of earlier requests in the mode. */
static unsigned count(const char *mode)
{
    unsigned before = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
        if (counters[i].mode[0] && strcmp(counters[i].mode, mode))
            continue;
        snprintf(counters[i].mode, sizeof(counters[i].mode), "%s", mode);
        before = counters[i].count++;
        break;
    }
    pthread_mutex_unlock(&lock);
    return before;
}

static bool put(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

OCV_PRINTF(2, 3) static bool say(int fd, const char *format, ...)
{
    char text[8192];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return put(fd, text, (size_t)n);
}

static bool error(const struct request *r, int status, const char *headers, const char *code)
{
    char body[256];
    int n =
        snprintf(body, sizeof(body),
                 "{\"errors\":[{\"code\":\"%s\",\"message\":\"said the bad registry\"}]}", code);
    return say(
        r->fd,
        "HTTP/1.1 %d Error\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
        status, headers, n, r->head ? "" : body);
}

static bool whole(const struct request *r, const struct bytes *b)
{
    return say(r->fd,
               "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDocker-Content-Digest: %s\r\n"
               "Content-Length: %zu\r\n\r\n",
               b->type, b->digest, b->len) &&
           (r->head || put(r->fd, b->data, b->len));
}

/* Bytes `start` to before `end`, told as something else: all numbers shifted, the end, the total.
 */
struct told {
    size_t shift, end, total;
};

static bool part(const struct request *r, const struct bytes *b, size_t start, size_t end,
                 struct told told)
{
    return say(r->fd,
               "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %zu-%zu/%zu\r\n"
               "Content-Length: %zu\r\n\r\n",
               start + told.shift, end - 1 + told.shift + told.end,
               b->len + told.shift + told.end + told.total, end - start) &&
           (r->head || put(r->fd, b->data + start, end - start));
}

/* The bytes of a Range header; false: no range. */
static bool range_of(const struct request *r, const struct bytes *b, size_t *start, size_t *end)
{
    char *dash = NULL;
    *start = r->range[0] ? strtoul(r->range + strlen("bytes="), &dash, 10) : 0;
    *end = dash && *dash == '-' && dash[1] ? strtoul(dash + 1, NULL, 10) + 1 : b->len;
    if (*end > b->len)
        *end = b->len;
    return r->range[0] && *start < *end;
}

/* A correct answer. */
static bool good(const struct request *r)
{
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    size_t start, end;
    return r->blob && range_of(r, b, &start, &end) ? part(r, b, start, end, (struct told){0})
                                                   : whole(r, b);
}

static void reset_connection(int fd)
{
    struct linger hard = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

/* Announce the full length, send half, and break off. */
static bool half(const struct request *r, bool hard)
{
    const struct bytes *b = r->blob ? &served_blob : &served_index;
    size_t start = 0, end = b->len;
    if (r->blob && range_of(r, b, &start, &end))
        say(r->fd,
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %zu-%zu/%zu\r\n"
            "Content-Length: %zu\r\n\r\n",
            start, end - 1, b->len, end - start);
    else
        say(r->fd,
            "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nDocker-Content-Digest: %s\r\n"
            "Content-Length: %zu\r\n\r\n",
            b->type, b->digest, b->len);
    put(r->fd, b->data + start, (end - start) / 2);
    if (hard) {
        usleep(100000); /* a reset drops what the peer has not read yet */
        reset_connection(r->fd);
    }
    return false;
}

#endif
