/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* docker-credential-NAME get: the server's name on its standard input, JSON on its output. Run
 * without a shell; the input is a memory file, so that a helper that does not read it cannot raise
 * SIGPIPE or block us. */
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/registry/auth/credentials.h"
#include "ocivariant/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER_TIMEOUT_MS 60000 /* a person may have to unlock a key ring */

static int input_file(const char *server, struct ocv_error *err)
{
    int fd = memfd_create("ocivariant-helper", MFD_CLOEXEC);
    size_t len = strlen(server);
    if (fd < 0 || write(fd, server, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET) < 0) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return ocv_error_set(err, OCV_ERR_IO, "cannot prepare its input: %s", strerror(code));
    }
    return fd;
}

/* May it go on? */
static int check_time(int64_t until, const volatile int *interrupted, struct ocv_error *err)
{
    if (interrupted && __atomic_load_n(interrupted, __ATOMIC_RELAXED))
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    if (ocv_clock_ms() > until)
        return ocv_error_set(err, OCV_ERR_IO, "no answer after %d s", HELPER_TIMEOUT_MS / 1000);
    return OCV_OK;
}

/* Read until the end, the limit, the time limit or an interruption. */
static int read_output(int fd, int64_t until, const volatile int *interrupted,
                       struct ocv_buffer *out, struct ocv_error *err)
{
    char chunk[4096];
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, 100), late = check_time(until, interrupted, err);
        if (late < 0)
            return late;
        if (ready <= 0)
            continue;
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return OCV_OK;
        int status = ocv_buffer_append(out, chunk, (size_t)n, err);
        explicit_bzero(chunk, sizeof(chunk));
        if (status < 0)
            return status;
    }
}

/* Its exit status; -1 where a SIGCHLD policy of the program hides it. */
static int reap(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* It has said what it had to say, and may go on for ever: it stays a zombie when it ends. */
static int await(pid_t pid, int64_t until, const volatile int *interrupted, struct ocv_error *err)
{
    for (;;) {
        siginfo_t info = {0};
        int rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (rc < 0 ? errno != EINTR : info.si_pid != 0)
            return OCV_OK;
        int status = check_time(until, interrupted, err);
        if (status < 0)
            return status;
        poll(NULL, 0, 5);
    }
}

static int judge_answer(int code, const struct ocv_buffer *text, struct ocv_credentials *out,
                        struct ocv_error *err)
{
    const char *words = text->data ? text->data : "";
    if (code <= 0 && words[0] == '{')
        return ocv_helper_parse(words, text->len, out, err);
    if (strstr(words, "credentials not found") || strstr(words, "no credentials server URL"))
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_CONFIG, "failed (exit %d)%s%.*s", code, *words ? ": " : "",
                         (int)strcspn(words, "\r\n") < 200 ? (int)strcspn(words, "\r\n") : 200,
                         words);
}

int ocv_helper_get(const char *name, const char *server, const volatile int *interrupted,
                   struct ocv_credentials *out, struct ocv_error *err)
{
    char program[sizeof("docker-credential-") + OCV_HELPER_NAME_MAX];
    int ends[2];
    pid_t pid = 0;
    struct ocv_buffer text;
    *out = (struct ocv_credentials){0};
    snprintf(program, sizeof(program), "docker-credential-%s", name);
    ocv_auto_fd int in = input_file(server, err);
    if (in < 0)
        return ocv_error_prefix(err, "%s", program);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", program, strerror(errno));
    ocv_auto_fd int answer = ends[0];
    const char *const argv[] = {program, "get", NULL};
    int code = ocv_spawn(argv, in, ends[1], -1, &pid);
    close(ends[1]);
    if (code)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: %s", program, strerror(code));
    ocv_buffer_init(&text, OCV_HELPER_ANSWER_MAX);
    int64_t until = ocv_clock_ms() + HELPER_TIMEOUT_MS;
    int status = read_output(answer, until, interrupted, &text, err);
    if (status == OCV_OK)
        status = await(pid, until, interrupted, err);
    if (status < 0)
        kill(pid, SIGKILL);
    code = reap(pid);
    if (status == OCV_OK)
        status = judge_answer(code, &text, out, err);
    if (text.data)
        explicit_bzero(text.data, text.len);
    ocv_buffer_free(&text);
    return status < 0 ? ocv_error_prefix(err, "%s", program) : OCV_OK;
}
