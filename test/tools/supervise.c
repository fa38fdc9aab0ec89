/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A service manager for one service, in tests: what systemd does for Type=notify, WatchdogSec= and
 * Restart=always.
 *
 *   supervise WATCHDOG_MS COMMAND [ARGUMENT...]
 *
 * The command gets NOTIFY_SOCKET and WATCHDOG_USEC, and, once it has stored a descriptor
 * (FDSTORE=1), that from the next start on (LISTEN_FDS), until it is taken back (FDSTOREREMOVE=1).
 * A service that has said READY=1 and then no WATCHDOG=1 for so long is told to abort, killed a
 * second later, and started again; so is one that ended by itself. SIGTERM ends both. stdout says:
 * "started PID", "ready PID", "watchdog PID", "stored NAME", "removed NAME", "ended PID STATUS" (a
 * signal as 128 and its number). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20
#define ABORT_MS 1000  /* from SIGABRT to SIGKILL */
#define RESTART_MS 200 /* systemd's RestartSec, shorter */
#define STOP_MS 10000  /* for a service to end after SIGTERM */

struct service {
    char **argv;
    pid_t pid;
    int notify;
    long watchdog_ms;
    long last_ms; /* last message, or time of the abort */
    int ready, aborting;
    int stored; /* a descriptor, or -1, and its name */
    char name[128];
};

static volatile sig_atomic_t stopping;

static void on_term(int signal_number)
{
    (void)signal_number;
    stopping = 1;
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* An abstract socket that the kernel names; its name goes to NOTIFY_SOCKET. */
static int open_notify(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(address.sun_family);
    char name[sizeof(address.sun_path) + 1];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0)
        return -1;
    len = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return -1;
    snprintf(name, sizeof(name), "@%.*s", (int)(len - offsetof(struct sockaddr_un, sun_path) - 1),
             address.sun_path + 1);
    return setenv("NOTIFY_SOCKET", name, 1) < 0 || setenv("FDSTORE", "1", 1) < 0 ? -1 : fd;
}

static void start(struct service *service)
{
    char usec[32];
    pid_t manager = getpid();
    snprintf(usec, sizeof(usec), "%ld000", service->watchdog_ms);
    setenv("WATCHDOG_USEC", usec, 1);
    service->ready = service->aborting = 0;
    service->pid = fork();
    if (service->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != manager)
            _exit(127);
        if (service->stored >= 0) {
            char pid[16];
            snprintf(pid, sizeof(pid), "%d", (int)getpid());
            setenv("LISTEN_PID", pid, 1);
            setenv("LISTEN_FDS", "1", 1);
            setenv("LISTEN_FDNAMES", service->name, 1);
            if (dup2(service->stored, 3) != 3)
                _exit(127);
        }
        execvp(service->argv[0], service->argv);
        perror(service->argv[0]);
        _exit(127);
    }
    if (service->pid < 0) {
        perror("fork");
        exit(1);
    }
    printf("started %d\n", (int)service->pid);
}

static void look_at_store(struct service *service, const char *words, int fd)
{
    const char *name = strstr(words, "FDNAME=");
    name = name ? name + 7 : "stored";
    int length = (int)strcspn(name, "\n");
    if (strstr(words, "FDSTORE=1") && fd >= 0) {
        snprintf(service->name, sizeof(service->name), "%.*s", length, name);
        if (service->stored >= 0)
            close(service->stored);
        service->stored = fcntl(fd, F_DUPFD_CLOEXEC, 10);
        printf("stored %s\n", service->name);
    } else if (strstr(words, "FDSTOREREMOVE=1") && service->stored >= 0) {
        close(service->stored);
        service->stored = -1;
        printf("removed %.*s\n", length, name);
    }
}

/* Receive a message, and a descriptor if there is one. */
static ssize_t hear_once(int notify, char *words, size_t size, int *fd)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    struct iovec text = {words, size - 1};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    ssize_t n = recvmsg(notify, &message, MSG_CMSG_CLOEXEC);
    *fd = -1;
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(head), sizeof(*fd));
    return n;
}

static void hear(struct service *service)
{
    char words[4096];
    ssize_t n;
    int fd;
    while ((n = hear_once(service->notify, words, sizeof(words), &fd)) > 0) {
        words[n] = '\0';
        look_at_store(service, words, fd);
        if (fd >= 0)
            close(fd);
        if (strstr(words, "READY=1")) {
            service->ready = 1;
            printf("ready %d\n", (int)service->pid);
        }
        if (!service->aborting)
            service->last_ms = now_ms();
    }
}

static void check(struct service *service)
{
    long silent = now_ms() - service->last_ms;
    if (service->aborting && silent > ABORT_MS) {
        kill(service->pid, SIGKILL);
    } else if (service->ready && !service->aborting && silent > service->watchdog_ms) {
        printf("watchdog %d\n", (int)service->pid);
        kill(service->pid, SIGABRT);
        kill(service->pid, SIGCONT); /* a stopped process only receives SIGKILL */
        service->aborting = 1;
        service->last_ms = now_ms();
    }
}

/* True if it has ended. Waits up to TICK_MS for a message. */
static int ended(struct service *service)
{
    struct pollfd in = {.fd = service->notify, .events = POLLIN};
    int status;
    if (poll(&in, 1, TICK_MS) > 0)
        hear(service);
    if (waitpid(service->pid, &status, WNOHANG) != service->pid)
        return 0;
    printf("ended %d %d\n", (int)service->pid,
           WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    return 1;
}

static void stop(struct service *service)
{
    long until = now_ms() + STOP_MS;
    kill(service->pid, SIGTERM);
    kill(service->pid, SIGCONT);
    while (!ended(service))
        if (now_ms() > until)
            kill(service->pid, SIGKILL);
}

int main(int argc, char **argv)
{
    struct service service = {.argv = argv + 2, .stored = -1};
    struct sigaction action = {.sa_handler = on_term};
    char *end = NULL;
    service.watchdog_ms = argc > 2 ? strtol(argv[1], &end, 10) : 0;
    if (argc < 3 || *end || service.watchdog_ms <= 0) {
        fputs("usage: supervise WATCHDOG_MS COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    service.notify = open_notify();
    if (service.notify < 0) {
        perror("supervise");
        return 1;
    }
    while (!stopping) {
        start(&service);
        while (!stopping && !ended(&service))
            check(&service);
        if (stopping)
            stop(&service);
        else
            poll(NULL, 0, RESTART_MS);
    }
    return 0;
}
