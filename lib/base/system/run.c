/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Run a program and read what it prints. Its input is a memory file, so that a program that does
 * not read it can neither raise SIGPIPE nor block us; so are its errors, so that it never waits for
 * us. */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/system/spawn.h"
#include "ocivariant/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 50                       /* how often to see whether it ended or has to */
#define MEMORY_MAX (1024u * 1024 * 1024) /* of a confined one: private and writable */
#define FILE_MAX (64u * 1024 * 1024)     /* that it writes */
#define FILES_MAX 1024u                  /* that it has open */

/* May it go on? */
static int check_time(const struct ocv_run *program, int64_t until, struct ocv_error *err)
{
    if (program->interrupted && __atomic_load_n(program->interrupted, __ATOMIC_RELAXED))
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    if (ocv_clock_ms() > until)
        return ocv_error_set(err, OCV_ERR_NETWORK, "no answer after %u s",
                             program->timeout_ms / 1000);
    return OCV_OK;
}

/* It stays a zombie when it has ended: its number is ours until it is reaped. No such child: a
 * SIGCHLD policy of the program had it reaped. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != 0;
}

/* Read to the end of its output, or of itself: what it started may hold the pipe open. */
static int listen_to(const struct ocv_run *program, pid_t pid, int fd, int64_t until,
                     struct ocv_buffer *out, struct ocv_error *err)
{
    for (bool more = true; more;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        bool gone = has_ended(pid);
        int ready = poll(&p, 1, gone ? 0 : LOOK_MS);
        OCV_TRY(check_time(program, until, err));
        more = ready > 0 || !gone;
        if (ready <= 0)
            continue;
        char chunk[4096];
        ssize_t n = read(fd, chunk, sizeof(chunk));
        more = n < 0 ? errno == EINTR || errno == EAGAIN : n > 0;
        int status = n > 0 ? ocv_buffer_append(out, chunk, (size_t)n, NULL) : OCV_OK;
        explicit_bzero(chunk, sizeof(chunk));
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(err);
        if (status < 0)
            return ocv_error_set(err, OCV_ERR_DATA, "it printed more than %zu bytes", out->max);
    }
    return OCV_OK;
}

static int start_program(const struct ocv_run *program, int in, int out, int errors, pid_t *pid,
                         struct ocv_error *err)
{
    struct ocv_spawn_program child = {.path = program->path,
                                      .argv = program->argv,
                                      .environment = program->environment,
                                      .in = in,
                                      .out = out,
                                      .errors = errors,
                                      .confined = program->confined,
                                      .trusted = program->trusted};
    const struct {
        int resource;
        uint64_t value;
    } limits[] = {{RLIMIT_DATA, MEMORY_MAX},
                  {RLIMIT_CPU, program->timeout_ms / 1000 + 2},
                  {RLIMIT_FSIZE, FILE_MAX},
                  {RLIMIT_NOFILE, FILES_MAX},
                  {RLIMIT_CORE, 0}};
    for (size_t i = 0; program->confined && i < sizeof(limits) / sizeof(*limits); i++) {
        child.limits[i].resource = limits[i].resource;
        child.limits[i].value = limits[i].value;
        child.n_limits++;
    }
    int code = ocv_spawn_start(&child, pid);
    if (!code)
        return OCV_OK;
    return ocv_error_set(err, code == ENOENT ? OCV_ERR_NOT_FOUND : OCV_ERR_CONFIG, "%s",
                         strerror(code));
}

int ocv_run(const struct ocv_run *program, struct ocv_buffer *answer, int *code,
            struct ocv_error *err)
{
    int ends[2];
    pid_t pid = 0;
    int64_t until = ocv_clock_ms() + program->timeout_ms;
    ocv_auto_fd int in = -1, errors = -1;
    if (program->input &&
        ((in = memfd_create("ocivariant-question", MFD_CLOEXEC)) < 0 ||
         !ocv_fd_write(in, program->input, strlen(program->input)) || lseek(in, 0, SEEK_SET) < 0))
        return ocv_error_set(err, OCV_ERR_IO, "cannot prepare its input: %s", strerror(errno));
    if (program->why && (errors = memfd_create("ocivariant-errors", MFD_CLOEXEC)) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "cannot prepare its errors: %s", strerror(errno));
    if (pipe2(ends, O_CLOEXEC) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s", strerror(errno));
    ocv_auto_fd int from = ends[0];
    int status = start_program(program, in, ends[1], errors, &pid, err);
    close(ends[1]);
    if (status < 0)
        return status;
    status = listen_to(program, pid, from, until, answer, err);
    while (status == OCV_OK && !has_ended(pid)) { /* its answer is complete */
        status = check_time(program, until, err);
        poll(NULL, 0, 5);
    }
    if (program->confined)
        kill(-pid, SIGKILL); /* and what it started */
    else if (status < 0)
        kill(pid, SIGKILL);
    int end = 0;
    pid_t reaped;
    do
        reaped = waitpid(pid, &end, 0);
    while (reaped < 0 && errno == EINTR);
    *code = reaped < 0       ? -1 /* a SIGCHLD policy of the program hides it */
            : WIFEXITED(end) ? WEXITSTATUS(end)
                             : 128 + WTERMSIG(end);
    if (program->why) { /* the last line of its errors that has text */
        char *why = program->why;
        off_t size = lseek(errors, 0, SEEK_END), most = (off_t)program->why_size - 1;
        ssize_t n =
            size > 0 ? pread(errors, why, program->why_size - 1, size > most ? size - most : 0) : 0;
        n = n > 0 ? n : 0;
        while (n > 0 && strchr(" \r\n\t", why[n - 1]))
            n--;
        why[n] = '\0';
        const char *line = strrchr(why, '\n');
        if (line)
            memmove(why, line + 1, strlen(line));
    }
    return status;
}

int ocv_run_wait(const char *const *argv, int in, int out, int errors, int *code)
{
    pid_t pid;
    int end = 0, failed = ocv_spawn(argv, in, out, errors, &pid);
    if (failed)
        return failed;
    while (waitpid(pid, &end, 0) < 0 && errno == EINTR)
        continue;
    *code = WIFEXITED(end) ? WEXITSTATUS(end) : 128 + WTERMSIG(end);
    return 0;
}
