/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mirror_ready COMMAND...: start it as systemd would and print the milliseconds from there until it
 * says READY=1, then end it. Built statically: what is measured is the daemon's start, not ours. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* An address that the kernel chooses in the abstract namespace. */
static int notify_socket(char *name, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(address);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return -1;
    snprintf(name, size, "@%.*s", (int)(len - sizeof(sa_family_t) - 1), address.sun_path + 1);
    return fd;
}

static int await_ready(int fd)
{
    char text[256];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (poll(&ready, 1, PATIENCE_MS) == 1) {
        ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        if (strstr(text, "READY=1"))
            return 0;
    }
    return -1;
}

int main(int argc, char **argv)
{
    char name[128];
    int fd = notify_socket(name, sizeof(name));
    if (argc < 2 || fd < 0 || setenv("NOTIFY_SOCKET", name, 1) < 0) {
        fprintf(stderr, "usage: mirror_ready COMMAND...\n");
        return 2;
    }
    double start = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    int failed = pid < 0 ? -1 : await_ready(fd);
    double end = now_ms();
    if (pid > 0) {
        kill(pid, SIGTERM);
        waitpid(pid, NULL, 0);
    }
    if (failed) {
        fprintf(stderr, "mirror_ready: %s did not say READY=1\n", argv[1]);
        return 1;
    }
    printf("%.2f\n", end - start);
    return 0;
}
