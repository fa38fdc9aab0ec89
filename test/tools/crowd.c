/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clients that mean no good, for tests of servers on loopback.
 *
 *   crowd idle PORT N          open N connections and say nothing until stdin ends; prints "open M"
 *   crowd drip PORT N          the same, each sending one byte of a request every 200 ms
 *   crowd silent PORT N URL    the same, each asking for URL, waiting for the first bytes of the
 *                              answer and reading no more; prints "open M" when all have those
 *   crowd slow PORT N URL      the same, each reading on, 10 KB a second; prints "open M" when all
 * have asked crowd raw PORT             send stdin as it is, print what comes back until the server
 * closes or two seconds pass without a byte
 *
 * Exit status 0 if all were opened. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int dial(unsigned port)
{
    /* many loopback addresses, since one has only 28,000 ports */
    static unsigned calls;
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(0x7f000002 + calls++ / 5000)};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
                    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int crowd(unsigned port, long n, int drip)
{
    static const char request[] = "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
    int *fds = calloc((size_t)n, sizeof(*fds));
    long open = 0;
    if (!fds)
        return 1;
    while (open < n && (fds[open] = dial(port)) >= 0)
        open++;
    printf("open %ld\n", open);
    fflush(stdout);
    for (size_t sent = 0;; sent++) {
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        char byte;
        if (poll(&in, 1, drip ? 200 : -1) > 0 && read(STDIN_FILENO, &byte, 1) <= 0)
            break;
        const char *next = sent < sizeof(request) - 1 ? &request[sent] : "x";
        for (long i = 0; drip && i < open; i++)
            if (fds[i] >= 0 && send(fds[i], next, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
                errno != EAGAIN) {
                close(fds[i]);
                fds[i] = -1;
            }
    }
    free(fds);
    return open == n ? 0 : 1;
}

static int silent(unsigned port, long n, const char *url)
{
    char request[1024], byte;
    int small = 4096; /* so that the kernel does not buffer everything */
    int *fds = calloc((size_t)n, sizeof(*fds));
    long open = 0, answered = 0;
    int len = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", url);
    for (; fds && open < n && (fds[open] = dial(port)) >= 0; open++) {
        setsockopt(fds[open], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
        if (send(fds[open], request, (size_t)len, MSG_NOSIGNAL) != len)
            break;
    }
    for (long i = 0; i < open; i++)
        answered += recv(fds[i], &byte, 1, 0) == 1;
    printf("open %ld\n", answered);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    free(fds);
    return answered == n ? 0 : 1;
}

static int slow(unsigned port, long n, const char *url)
{
    char request[1024], some[1024];
    int little = 4096;
    int *fds = calloc((size_t)n, sizeof(*fds));
    long open = 0;
    int len = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", url);
    for (; fds && open < n && (fds[open] = dial(port)) >= 0; open++) {
        setsockopt(fds[open], SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
        if (send(fds[open], request, (size_t)len, MSG_NOSIGNAL) != len)
            break;
    }
    printf("open %ld\n", open);
    fflush(stdout);
    for (struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN}; open == n;) {
        if (poll(&in, 1, 100) > 0 && read(STDIN_FILENO, some, 1) <= 0)
            break;
        for (long i = 0; i < open; i++)
            (void)!recv(fds[i], some, sizeof(some), MSG_DONTWAIT);
    }
    free(fds);
    return open == n ? 0 : 1;
}

static int raw(unsigned port)
{
    char chunk[4096];
    ssize_t got;
    int fd = dial(port);
    if (fd < 0)
        return 1;
    while ((got = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
        if (send(fd, chunk, (size_t)got, MSG_NOSIGNAL) != got)
            break;
    struct pollfd in = {.fd = fd, .events = POLLIN};
    while (poll(&in, 1, 2000) > 0 && (got = recv(fd, chunk, sizeof(chunk), 0)) > 0)
        fwrite(chunk, 1, (size_t)got, stdout);
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    struct rlimit limit = {0};
    char *end = NULL;
    unsigned port = argc > 2 ? (unsigned)strtoul(argv[2], &end, 10) : 0;
    long n = argc > 3 ? strtol(argv[3], &end, 10) : 0;
    if (argc < 3 || (end && *end)) {
        fputs("usage: crowd idle|drip PORT N | crowd silent|slow PORT N URL | crowd raw PORT\n",
              stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (strcmp(argv[1], "raw") == 0)
        return raw(port);
    if (strcmp(argv[1], "silent") == 0)
        return argc > 4 ? silent(port, n, argv[4]) : 2;
    if (strcmp(argv[1], "slow") == 0)
        return argc > 4 ? slow(port, n, argv[4]) : 2;
    return crowd(port, n, strcmp(argv[1], "drip") == 0);
}
