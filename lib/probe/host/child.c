/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Listening to programs that cannot be trusted to answer, to stop, or to be silent. Invariant: one
 * loop serves all of them, no wait in it lasts past the next deadline, and a child is reaped only
 * after its group was killed: until then its number cannot be reused. */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/system/spawn.h"
#include "lib/probe/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STDERR_KEPT 256 /* bytes of stderr, of which one line is shown */
#define TICK_MS 10      /* how often to look where pidfd_open(2) is missing (Linux before 5.3) */
#define DRAIN_READS 64  /* of 16 KiB: all that a pipe holds */

enum outcome { RUNNING, EXITED, LATE, VERBOSE, BROKEN };

struct child_run {
    struct ocv_child *child;
    struct ocv_child_limits limits;
    struct ocv_child_process process;
    int pidfd;
    int64_t deadline; /* ms of the monotonic clock */
    size_t before;    /* bytes that were in child->out */
    char words[STDERR_KEPT];
    size_t n_words;
    enum outcome outcome;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* One read; false when there is nothing more to be had now. */
static bool listen_once(struct child_run *r, int *fd)
{
    char block[16384];
    if (*fd < 0)
        return false;
    ssize_t n = read(*fd, block, sizeof(block));
    if (n > 0) {
        struct ocv_child *child = r->child;
        size_t len = (size_t)n, room = sizeof(r->words) - r->n_words;
        if (fd != &r->process.out) {
            memcpy(r->words + r->n_words, block, len < room ? len : room);
            r->n_words += len < room ? len : room;
        } else if (len > r->limits.output_max - (child->out->len - r->before)) {
            r->outcome = VERBOSE;
        } else {
            child->status = ocv_buffer_append(child->out, block, len, &child->error);
            if (child->status < 0)
                r->outcome = BROKEN;
        }
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        close_fd(fd);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Set the error of a child that ended. `state` as waitpid(2) gives it. */
static int classify_end(struct child_run *r, int state)
{
    struct ocv_error *err = &r->child->error;
    unsigned ms = r->limits.timeout_ms;
    char line[STDERR_KEPT + 1];
    size_t skip = 0, len = 0;
    if (r->outcome == LATE)
        return ocv_error_set(err, OCV_ERR_IO, "did not answer within %u %s",
                             ms % 1000 ? ms : ms / 1000, ms % 1000 ? "ms" : "s");
    if (r->outcome == VERBOSE)
        return ocv_error_set(err, OCV_ERR_IO, "printed more than %zu bytes", r->limits.output_max);
    if (r->outcome == BROKEN)
        return r->child->status;
    while (skip < r->n_words && strchr(" \t\r\n", r->words[skip]))
        skip++;
    while (skip + len < r->n_words && !strchr("\r\n", r->words[skip + len]))
        len++;
    memcpy(line, r->words + skip, len);
    line[len] = '\0';
    if (WIFSIGNALED(state))
        return ocv_error_set(err, OCV_ERR_IO, "killed by signal %d (%s)%s%s", WTERMSIG(state),
                             strsignal(WTERMSIG(state)), len ? ": " : "", line);
    if (WEXITSTATUS(state) != 0)
        return ocv_error_set(err, OCV_ERR_IO, "exit status %d%s%s", WEXITSTATUS(state),
                             len ? ": " : "", line);
    return OCV_OK;
}

/* Kill what is left of its group, read what is left in the pipes, reap. */
static void finish_child(struct child_run *r)
{
    int state = 0;
    if (r->process.pid > 0) {
        kill(-r->process.pid, SIGKILL);
        for (int i = 0; r->outcome == EXITED && i < DRAIN_READS; i++)
            if (!listen_once(r, &r->process.out))
                break;
        for (int i = 0; r->outcome == EXITED && i < DRAIN_READS; i++)
            if (!listen_once(r, &r->process.err))
                break;
        while (waitpid(r->process.pid, &state, 0) < 0 && errno == EINTR)
            ;
        r->child->status = classify_end(r, state);
    }
    if (r->child->status < 0 && r->child->out->data) { /* an incomplete answer is discarded */
        r->child->out->len = r->before;
        r->child->out->data[r->before] = '\0';
    }
    close_fd(&r->process.out);
    close_fd(&r->process.err);
    close_fd(&r->pidfd);
}

static void serve_children(struct child_run *all, size_t n, struct pollfd *fds)
{
    for (;;) {
        nfds_t n_fds = 0;
        int timeout = -1;
        for (struct child_run *r = all; r < all + n; r++) {
            if (r->outcome != RUNNING)
                continue;
            int64_t left = r->deadline - ocv_clock_ms();
            int wait = left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
            if (r->pidfd < 0 && wait > TICK_MS)
                wait = TICK_MS;
            if (timeout < 0 || wait < timeout)
                timeout = wait;
            const int watched[] = {r->process.out, r->process.err, r->pidfd};
            for (size_t i = 0; i < 3; i++) /* poll(2) ignores a negative descriptor */
                fds[n_fds++] = (struct pollfd){.fd = watched[i], .events = POLLIN};
        }
        if (n_fds == 0)
            return;
        poll(fds, n_fds, timeout);
        for (struct child_run *r = all; r < all + n; r++) {
            if (r->outcome != RUNNING)
                continue;
            listen_once(r, &r->process.out);
            if (r->outcome == RUNNING)
                listen_once(r, &r->process.err);
            /* one that ended stays a zombie; other code may have reaped it, too */
            siginfo_t info = {0};
            int code = waitid(P_PID, (id_t)r->process.pid, &info, WEXITED | WNOHANG | WNOWAIT);
            bool ended = code < 0 ? errno == ECHILD : info.si_pid != 0;
            if (r->outcome == RUNNING && ended)
                r->outcome = EXITED;
            else if (r->outcome == RUNNING && ocv_clock_ms() >= r->deadline)
                r->outcome = LATE;
            if (r->outcome != RUNNING)
                finish_child(r);
        }
    }
}

void ocv_child_run_all(struct ocv_child *children, size_t n)
{
    struct child_run *all = calloc(n ? n : 1, sizeof(*all));
    struct pollfd *fds = calloc(n ? n : 1, 3 * sizeof(*fds));
    for (size_t i = 0; i < n; i++) {
        struct ocv_child *child = &children[i];
        if (!all || !fds) {
            child->status = ocv_error_nomem(&child->error);
            continue;
        }
        struct child_run *r = &all[i];
        const struct ocv_child_limits none = {0}, *asked = child->limits ? child->limits : &none;
        *r = (struct child_run){.child = child, .pidfd = -1, .before = child->out->len};
        r->process = (struct ocv_child_process){.pid = -1, .out = -1, .err = -1};
        r->limits = *asked;
        if (!asked->timeout_ms)
            r->limits.timeout_ms = OCV_CHILD_TIMEOUT_MS;
        if (!asked->output_max)
            r->limits.output_max = OCV_CHILD_OUTPUT_MAX;
        if (!asked->memory_max)
            r->limits.memory_max = (size_t)OCV_CHILD_MEMORY_MAX;
        child->error = (struct ocv_error){0};
        r->deadline = ocv_clock_ms() + r->limits.timeout_ms;
        child->status =
            ocv_child_spawn(child->path, child->argv, &r->limits, &r->process, &child->error);
        r->outcome = child->status < 0 ? BROKEN : RUNNING;
        if (r->outcome == RUNNING)
            r->pidfd = (int)syscall(SYS_pidfd_open, r->process.pid, 0);
    }
    if (all && fds)
        serve_children(all, n, fds);
    free(all);
    free(fds);
}

int ocv_child_run(const char *path, const char *const argv[], const struct ocv_child_limits *limits,
                  struct ocv_buffer *out, struct ocv_error *err)
{
    struct ocv_child child = {.path = path, .argv = argv, .limits = limits, .out = out};
    ocv_child_run_all(&child, 1);
    if (child.status < 0 && err)
        *err = child.error;
    return child.status;
}

/* How a program of a probe is started: its limits, its environment and its pipes. */

#define LIBRARY_PATH_MAX (16 * 1024)

/* Of this end only: the program must not meet a pipe that does not block. */
static int open_pipe(int *read_end, int *write_end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *read_end = ends[0];
    *write_end = ends[1];
    return fcntl(*read_end, F_SETFL, O_NONBLOCK);
}

static void add_limit(struct ocv_spawn_program *program, int resource, uint64_t value)
{
    program->limits[program->n_limits].resource = resource;
    program->limits[program->n_limits++].value = value;
}

int ocv_child_spawn(const char *path, const char *const argv[],
                    const struct ocv_child_limits *limits, struct ocv_child_process *process,
                    struct ocv_error *err)
{
    const char *library_path = getenv("LD_LIBRARY_PATH");
    char libraries[LIBRARY_PATH_MAX];
    const char *environment[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C", "LC_ALL=C",
        NULL, NULL};
    ocv_auto_fd int out = -1, errors = -1, out_write = -1, errors_write = -1;
    if (library_path && strlen(library_path) < sizeof(libraries) - sizeof("LD_LIBRARY_PATH=")) {
        snprintf(libraries, sizeof(libraries), "LD_LIBRARY_PATH=%s", library_path);
        environment[3] = libraries;
    }
    *process = (struct ocv_child_process){.pid = -1, .out = -1, .err = -1};
    int code = open_pipe(&out, &out_write) < 0 || open_pipe(&errors, &errors_write) < 0 ? errno : 0;
    struct ocv_spawn_program program = {.path = path,
                                        .argv = argv,
                                        .environment = environment,
                                        .in = -1,
                                        .out = out_write,
                                        .errors = errors_write,
                                        .confined = true,
                                        .trusted = limits->trusted};
#ifndef OCV_SANITIZED /* their shadow memory alone takes terabytes of addresses */
    add_limit(&program, RLIMIT_DATA, limits->memory_max); /* all private memory, since Linux 4.7 */
    if (!limits->wide)
        add_limit(&program, RLIMIT_AS, limits->memory_max);
#endif
    /* a second more than the deadline, which has the better message */
    add_limit(&program, RLIMIT_CPU, limits->timeout_ms / 1000 + 2);
    add_limit(&program, RLIMIT_FSIZE, OCV_CHILD_FILE_MAX);
    add_limit(&program, RLIMIT_NOFILE, OCV_CHILD_FILES_MAX);
    add_limit(&program, RLIMIT_CORE, 0);
    if (code == 0)
        code = ocv_spawn_start(&program, &process->pid);
    if (code == ENOENT || code == ENOTDIR || code == EACCES || code == ENOEXEC || code == ELOOP ||
        code == EISDIR)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "cannot be run: %s", strerror(code));
    if (code)
        return ocv_error_set(err, OCV_ERR_IO, "cannot start a program: %s", strerror(code));
    process->out = ocv_fd_steal(&out);
    process->err = ocv_fd_steal(&errors);
    return OCV_OK;
}
