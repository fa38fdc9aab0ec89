/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The input is a memory file, so that a program that does not read it can neither raise SIGPIPE nor
 * block us. */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/system/spawn.h"
#include "lib/registry/auth/credentials.h"

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
static int check_time(const struct ocv_program *program, int64_t until, struct ocv_error *err)
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
static int listen_to(const struct ocv_program *program, pid_t pid, int fd, int64_t until,
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

static int start_program(const struct ocv_program *program, int in, int out, pid_t *pid,
                         struct ocv_error *err)
{
    struct ocv_spawn_program child = {.path = program->path,
                                      .argv = program->argv,
                                      .environment = program->environment,
                                      .in = in,
                                      .out = out,
                                      .errors = -1,
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

int ocv_program_ask(const struct ocv_program *program, struct ocv_buffer *answer, int *code,
                    struct ocv_error *err)
{
    int ends[2];
    pid_t pid = 0;
    int64_t until = ocv_clock_ms() + program->timeout_ms;
    ocv_auto_fd int in = memfd_create("ocivariant-question", MFD_CLOEXEC);
    if (in < 0 || !ocv_fd_write(in, program->input, strlen(program->input)) ||
        lseek(in, 0, SEEK_SET) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "cannot prepare its input: %s", strerror(errno));
    if (pipe2(ends, O_CLOEXEC) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s", strerror(errno));
    ocv_auto_fd int from = ends[0];
    int status = start_program(program, in, ends[1], &pid, err);
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
    return status;
}

/* docker-credential-NAME get: the server's name on its standard input, JSON on its output. */

#define HELPER_TIMEOUT_MS 60000 /* a person may have to unlock a key ring */

int ocv_helper_get(const char *name, const char *server, const volatile int *interrupted,
                   struct ocv_credentials *out, struct ocv_error *err)
{
    char program[sizeof("docker-credential-") + OCV_HELPER_NAME_MAX];
    struct ocv_buffer text;
    int code = 0;
    *out = (struct ocv_credentials){0};
    snprintf(program, sizeof(program), "docker-credential-%s", name);
    const char *const argv[] = {program, "get", NULL};
    const struct ocv_program helper = {
        .argv = argv, .input = server, .timeout_ms = HELPER_TIMEOUT_MS, .interrupted = interrupted};
    ocv_buffer_init(&text, OCV_HELPER_ANSWER_MAX);
    int status = ocv_program_ask(&helper, &text, &code, err);
    const char *words = text.data ? text.data : "";
    if (status == OCV_OK && code <= 0 && words[0] == '{')
        status = ocv_helper_parse(words, text.len, out, err);
    else if (status == OCV_OK && !strstr(words, "credentials not found") &&
             !strstr(words, "no credentials server URL"))
        status = ocv_error_set(
            err, OCV_ERR_CONFIG, "failed (exit %d)%s%.*s", code, *words ? ": " : "",
            (int)strcspn(words, "\r\n") < 200 ? (int)strcspn(words, "\r\n") : 200, words);
    if (text.data)
        explicit_bzero(text.data, text.len);
    ocv_buffer_free(&text);
    return status < 0 ? ocv_error_prefix(err, "%s", program) : OCV_OK;
}
