/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A door before a server, for tests that must act while something is under way.
 *
 *   gate PORT FILE [OWN-PORT]
 *
 * Forwards connections from its own loopback port (a free one unless it is said), which it prints,
 * to PORT. While FILE exists, its line says what is held, and "held" is printed for each connection
 * that is: bytes N        a server's answers on one connection after the first N bytes request TEXT
 * a client's bytes that contain TEXT, before the server sees them When FILE goes, all goes on. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK 16384
#define TICK_US 20000

static unsigned target;
static const char *hold_file;

struct way {
    int from, to;
    int to_client;
};

/* What is held now: fills `text`, returns the number of bytes or -1; 0 if nothing is held. */
static long holding(char *text, size_t size)
{
    char line[256] = "";
    FILE *file = fopen(hold_file, "re");
    text[0] = '\0';
    if (!file)
        return 0;
    if (!fgets(line, sizeof(line), file))
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "bytes ", 6) == 0)
        return strtol(line + 6, NULL, 10);
    if (strncmp(line, "request ", 8) == 0)
        snprintf(text, size, "%s", line + 8);
    return text[0] ? -1 : 0;
}

static int is_held(const struct way *way, long passed, const char *chunk)
{
    char text[256];
    long limit = holding(text, sizeof(text));
    return way->to_client ? limit > 0 && passed >= limit : limit < 0 && strstr(chunk, text) != NULL;
}

static void *forward(void *data)
{
    struct way *way = data;
    char chunk[CHUNK + 1];
    long passed = 0;
    ssize_t n;
    while ((n = recv(way->from, chunk, CHUNK, 0)) > 0) {
        chunk[n] = '\0';
        if (is_held(way, passed, chunk)) {
            puts("held");
            while (is_held(way, passed, chunk))
                usleep(TICK_US);
        }
        passed += n;
        for (ssize_t sent = 0, m; sent < n; sent += m)
            if ((m = send(way->to, chunk + sent, (size_t)(n - sent), MSG_NOSIGNAL)) <= 0)
                goto end;
    }
end:
    shutdown(way->to, SHUT_WR);
    shutdown(way->from, SHUT_RD);
    return NULL;
}

static int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)target),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void *serve(void *data)
{
    int client = (int)(intptr_t)data, server = dial();
    struct way up = {client, server, 0}, down = {server, client, 1};
    pthread_t other;
    if (server >= 0 && pthread_create(&other, NULL, forward, &up) == 0) {
        forward(&down);
        pthread_join(other, NULL);
    }
    if (server >= 0)
        close(server);
    close(client);
    return NULL;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    target = argc >= 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    unsigned own = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    if (argc < 3 || argc > 4 || target == 0 || target > 65535 || own > 65535) {
        fputs("usage: gate PORT FILE [OWN-PORT]\n", stderr);
        return 2;
    }
    hold_file = argv[2];
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    address.sin_port = htons((uint16_t)own);
    if (bind(listener, (struct sockaddr *)&address, len) < 0 || listen(listener, 512) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) < 0) {
        perror("gate");
        return 1;
    }
    printf("%u\n", (unsigned)ntohs(address.sin_port));
    for (;;) {
        int client = accept(listener, NULL, NULL);
        pthread_t thread;
        if (client >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)client) == 0)
            pthread_detach(thread);
        else if (client >= 0)
            close(client);
    }
}
