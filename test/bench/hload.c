/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hload [OPTION]... URL...: HTTP/1.1 load from one thread, over connections that stay open.
 *
 *   -X METHOD   HEAD (default) or GET
 *   -c N        connections (default 1)
 *   -n N        stop after so many requests
 *   -t SECONDS  or after so long (default 3)
 *   -H HEADER   another header
 *   -e STATUS   what counts as right (default 200)
 *   -d DIGEST   and the Docker-Content-Digest that it must have
 *   -r RATE     read at most so many bytes per second, all connections together
 *   -p PID      a process of the server; again for more
 *
 * Several URLs are asked in turn. Every answer is checked: status, digest, length of the body.
 * Prints "REQUESTS ERRORS SECONDS P50_US P99_US CPU_US BYTES PEAK_KIB": CPU is that of the
 * processes named, user and system, for all requests; PEAK the sum of their largest resident sets
 * during the run. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 16384
#define PIDS_MAX 32
#define URLS_MAX 64
#define RECEIVE_LIMITED (256 * 1024) /* a receive buffer too small to hide the limit */

struct connection {
    int fd;
    char head[HEAD_MAX + 1];
    size_t head_len;
    bool in_body, busy;
    bool close; /* the server closes it after this answer */
    bool bad;
    int64_t left; /* of the body */
    int64_t asked_ns;
};

static struct {
    const char *method, *digest;
    unsigned connections, status;
    uint64_t requests;
    double seconds, rate;
    char headers[4096];
    pid_t pids[PIDS_MAX];
    size_t n_pids;
    char *asks[URLS_MAX]; /* whole requests */
    size_t n_asks;
    struct sockaddr_in address;
} options = {.method = "HEAD", .connections = 1, .status = 200, .seconds = 3};

static struct {
    uint64_t asked, done, errors;
    int64_t bytes;
    uint32_t *latencies; /* us */
    size_t n, room;
    bool ending;
} result;

static char sink[256 * 1024];

static void die(const char *what)
{
    fprintf(stderr, "hload: %s: %s\n", what, errno ? strerror(errno) : "failed");
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t cpu_ns(void)
{
    int64_t sum = 0;
    for (size_t i = 0; i < options.n_pids; i++) {
        clockid_t clock;
        struct timespec t;
        if (clock_getcpuclockid(options.pids[i], &clock) != 0 || clock_gettime(clock, &t) != 0)
            die("a server's process is gone");
        sum += (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    return sum;
}

/* Forget the largest value so far. */
static void reset_peaks(void)
{
    for (size_t i = 0; i < options.n_pids; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)options.pids[i]);
        FILE *file = fopen(path, "w");
        if (!file || fputs("5", file) < 0 || fclose(file) != 0)
            die(path);
    }
}

static long peaks_kib(void)
{
    long sum = 0;
    for (size_t i = 0; i < options.n_pids; i++) {
        char path[64], line[256];
        snprintf(path, sizeof(path), "/proc/%d/status", (int)options.pids[i]);
        FILE *file = fopen(path, "r");
        if (!file)
            die(path);
        while (fgets(line, sizeof(line), file))
            if (strncmp(line, "VmHWM:", 6) == 0)
                sum += strtol(line + 6, NULL, 10);
        fclose(file);
    }
    return sum;
}

static void connect_one(struct connection *c, int epoll)
{
    int one = 1, small = RECEIVE_LIMITED;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        die("socket");
    if (options.rate > 0)
        setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(c->fd, (struct sockaddr *)&options.address, sizeof(options.address)) < 0)
        die("connect");
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) < 0)
        die("epoll_ctl");
}

static void ask(struct connection *c)
{
    const char *text = options.asks[result.asked % options.n_asks];
    size_t len = strlen(text);
    if (result.ending || (options.requests && result.asked >= options.requests))
        return;
    c->head_len = 0;
    c->in_body = c->bad = c->close = false;
    c->busy = true;
    c->asked_ns = now_ns();
    result.asked++;
    if (send(c->fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
        c->bad = true; /* the end of the connection will be noticed */
}

static void keep_latency(int64_t ns)
{
    if (result.n == result.room) {
        result.room = result.room ? result.room * 2 : 1u << 16;
        result.latencies = realloc(result.latencies, result.room * sizeof(*result.latencies));
        if (!result.latencies)
            die("memory");
    }
    result.latencies[result.n++] = (uint32_t)(ns / 1000);
}

static void finished(struct connection *c)
{
    c->busy = false;
    result.done++;
    result.errors += c->bad ? 1 : 0;
    keep_latency(now_ns() - c->asked_ns);
}

static const char *header(const char *head, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = strstr(head, "\r\n"); p && p[2]; p = strstr(p + 2, "\r\n"))
        if (strncasecmp(p + 2, name, len) == 0 && p[2 + len] == ':')
            return p + 3 + len + strspn(p + 3 + len, " ");
    return NULL;
}

static void read_head(struct connection *c)
{
    const char *length = header(c->head, "Content-Length");
    const char *close = header(c->head, "Connection");
    const char *digest = options.digest ? header(c->head, "Docker-Content-Digest") : NULL;
    bool head_only = !strcmp(options.method, "HEAD");
    bool http = strncmp(c->head, "HTTP/1.1 ", 9) == 0;
    if (!http || strtoul(c->head + 9, NULL, 10) != options.status || !length)
        c->bad = true;
    if (options.digest && (!digest || strncmp(digest, options.digest, strlen(options.digest)) != 0))
        c->bad = true;
    c->left = length && !head_only ? strtoll(length, NULL, 10) : 0;
    c->close = close && !strncasecmp(close, "close", 5);
    c->in_body = true;
}

/* Take bytes of an answer; false: too many, or not an answer. */
static bool take(struct connection *c, const char *bytes, size_t len)
{
    if (!c->busy)
        return false;
    if (!c->in_body) {
        size_t n = len < HEAD_MAX - c->head_len ? len : HEAD_MAX - c->head_len;
        memcpy(c->head + c->head_len, bytes, n);
        c->head[c->head_len + n] = '\0';
        char *end = strstr(c->head, "\r\n\r\n");
        if (!end) {
            c->head_len += n;
            return c->head_len < HEAD_MAX;
        }
        size_t used = (size_t)(end + 4 - c->head) - c->head_len;
        end[2] = '\0';
        read_head(c);
        bytes += used;
        len -= used;
    }
    if ((int64_t)len > c->left)
        return false;
    c->left -= (int64_t)len;
    result.bytes += (int64_t)len;
    if (c->left == 0)
        finished(c);
    return true;
}

static void serve(struct connection *c, int epoll)
{
    ssize_t n = recv(c->fd, sink, sizeof(sink), MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    bool good = n > 0 && take(c, sink, (size_t)n);
    if (good && c->busy)
        return;
    if (!good || c->close) {
        if (c->busy) {
            c->bad = true;
            finished(c);
        }
        close(c->fd);
        if (!result.ending)
            connect_one(c, epoll);
    }
    ask(c);
}

/* Simulate a slow link: wait until so many bytes may have arrived. */
static void keep_to_rate(int64_t start)
{
    if (options.rate <= 0)
        return;
    double due = (double)result.bytes / options.rate * 1e9 - (double)(now_ns() - start);
    if (due > 0) {
        struct timespec wait = {.tv_sec = (time_t)(due / 1e9),
                                .tv_nsec = (long)((int64_t)due % 1000000000)};
        nanosleep(&wait, NULL);
    }
}

static bool running(int64_t start)
{
    if (options.requests)
        return result.done < options.requests;
    if ((double)(now_ns() - start) >= options.seconds * 1e9)
        result.ending = true;
    return !result.ending;
}

static void run(struct connection *connections, int epoll, int64_t start)
{
    struct epoll_event events[64];
    for (unsigned i = 0; i < options.connections; i++)
        ask(&connections[i]);
    while (running(start)) {
        int n = epoll_wait(epoll, events, options.rate > 0 ? 4 : 64, 1000);
        for (int i = 0; i < n; i++)
            serve(events[i].data.ptr, epoll);
        keep_to_rate(start);
    }
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static unsigned percentile(double part)
{
    return result.n ? result.latencies[(size_t)((double)(result.n - 1) * part)] : 0;
}

static void add_url(const char *url)
{
    char host[256], text[8192];
    const char *rest = strncmp(url, "http://", 7) == 0 ? url + 7 : url;
    size_t len = strcspn(rest, "/");
    if (len >= sizeof(host) || !rest[len] || options.n_asks == URLS_MAX)
        die(url);
    memcpy(host, rest, len);
    host[len] = '\0';
    int n =
        snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: hload\r\n%s\r\n",
                 options.method, rest + len, host, options.headers);
    options.asks[options.n_asks++] = n > 0 && n < (int)sizeof(text) ? strdup(text) : NULL;
    char *colon = strrchr(host, ':');
    if (colon)
        *colon = '\0';
    options.address.sin_family = AF_INET;
    options.address.sin_port = htons((uint16_t)(colon ? strtoul(colon + 1, NULL, 10) : 80));
    if (!options.asks[options.n_asks - 1] ||
        inet_pton(AF_INET, host, &options.address.sin_addr) != 1)
        die(url);
}

static void add_header(const char *text)
{
    size_t len = strlen(options.headers);
    int n = snprintf(options.headers + len, sizeof(options.headers) - len, "%s\r\n", text);
    if (n < 0 || (size_t)n >= sizeof(options.headers) - len)
        die("headers");
}

static void read_options(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "X:c:n:t:H:e:d:r:p:")) >= 0;) {
        if (option == 'X')
            options.method = optarg;
        else if (option == 'c')
            options.connections = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'n')
            options.requests = strtoull(optarg, NULL, 10);
        else if (option == 't')
            options.seconds = strtod(optarg, NULL);
        else if (option == 'H')
            add_header(optarg);
        else if (option == 'e')
            options.status = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'd')
            options.digest = optarg;
        else if (option == 'r')
            options.rate = strtod(optarg, NULL);
        else if (option == 'p' && options.n_pids < PIDS_MAX)
            options.pids[options.n_pids++] = (pid_t)strtol(optarg, NULL, 10);
        else
            exit(2);
    }
    for (; optind < argc; optind++)
        add_url(argv[optind]);
    if (!options.n_asks || !options.connections) {
        fputs("usage: hload [-X METHOD] [-c N] [-n REQUESTS | -t SECONDS] [-H HEADER]... "
              "[-e STATUS] [-d DIGEST] [-r BYTES] [-p PID]... URL...\n",
              stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *connections = calloc(options.connections, sizeof(*connections));
    if (epoll < 0 || !connections)
        die("epoll");
    for (unsigned i = 0; i < options.connections; i++)
        connect_one(&connections[i], epoll);
    reset_peaks();
    int64_t cpu = cpu_ns(), start = now_ns();
    run(connections, epoll, start);
    int64_t end = now_ns();
    cpu = cpu_ns() - cpu;
    qsort(result.latencies, result.n, sizeof(*result.latencies), by_value);
    printf("%llu %llu %.6f %u %u %.1f %lld %ld\n", (unsigned long long)result.done,
           (unsigned long long)result.errors, (double)(end - start) / 1e9, percentile(0.5),
           percentile(0.99), (double)cpu / 1e3, (long long)result.bytes, peaks_kib());
    return 0;
}
