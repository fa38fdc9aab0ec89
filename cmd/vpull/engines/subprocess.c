/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs an engine's client. Its output is read line by line, its last error line becomes the error
 * message, and it is stopped when the user interrupts. Some clients show progress only on a
 * terminal; those get a pseudo terminal as standard error. */
#include "cmd/vpull/engines/engine.h"
#include "lib/base/system/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096u
#define STOP_MS 10000 /* time a client gets to clean up after Ctrl-C */
#define STOP_STEP_MS 20
#define TERMINAL_ROWS 500 /* a bar for each layer, however many there are */
#define TERMINAL_COLUMNS 200
#define ESCAPE '\033'

typedef void (*take_line)(void *data, const char *text);

/* One stream of the client. */
struct output_stream {
    int fd;
    take_line line; /* may be NULL */
    void *data;
    char *last; /* keeps the last line; may be NULL */
    char text[LINE_MAX_BYTES];
    size_t len;
    enum { PLAIN, ESCAPED, SEQUENCE } state; /* position in a terminal control sequence */
};

static void end_line(struct output_stream *s)
{
    s->text[s->len] = '\0';
    if (s->len && s->last)
        snprintf(s->last, LINE_MAX_BYTES, "%s", s->text);
    if (s->len && s->line)
        s->line(s->data, s->text);
    s->len = 0;
}

/* Take bytes, pass on whole lines. \r also ends a line, as progress bars use it. What is within
 * "ESC [ parameters letter" and "ESC byte" is no text. */
static void feed_lines(struct output_stream *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = bytes[i];
        if (c == '\n' || c == '\r') {
            end_line(s);
            continue;
        }
        if (s->state == PLAIN && c != ESCAPE && s->len < sizeof(s->text) - 1)
            s->text[s->len++] = c;
        if (c == ESCAPE)
            s->state = ESCAPED;
        else if (s->state == ESCAPED)
            s->state = c == '[' ? SEQUENCE : PLAIN;
        else if (s->state == SEQUENCE && c >= '@' && c <= '~')
            s->state = PLAIN;
    }
}

/* Read both streams until they end. Returns false when interrupted. */
static bool drain_streams(struct output_stream streams[2], const struct cli *cli)
{
    struct pollfd fds[2] = {{.fd = streams[0].fd, .events = POLLIN},
                            {.fd = streams[1].fd, .events = POLLIN}};
    char bytes[4096];
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (cli_interrupted(cli))
            return false;
        if (cli->tick)
            cli->tick(cli->callback_data);
        if (poll(fds, 2, 100) <= 0)
            continue;
        for (size_t i = 0; i < 2; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            ssize_t n = read(fds[i].fd, bytes, sizeof(bytes));
            if (n > 0)
                feed_lines(&streams[i], bytes, (size_t)n);
            else if (n == 0 || errno != EINTR) /* EIO: the other side of the terminal was closed */
                fds[i].fd = -1;
        }
    }
    end_line(&streams[0]);
    end_line(&streams[1]);
    return true;
}

/* Ask it to end, then kill it: the user is waiting. */
static void stop_process(pid_t pid)
{
    int code = 0;
    kill(pid, SIGTERM);
    for (int i = 0; i < STOP_MS / STOP_STEP_MS; i++) {
        if (waitpid(pid, &code, WNOHANG) == pid)
            return;
        poll(NULL, 0, STOP_STEP_MS);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR)
        ;
}

/* Both streams have ended, so the process normally exits soon; but it may go on running with
 * interrupts ignored. False when interrupted. */
static bool await_end(pid_t pid, int *code, const struct cli *cli)
{
    int step = 1;
    for (;;) {
        pid_t ended = waitpid(pid, code, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return true;
        if (cli_interrupted(cli))
            return false;
        poll(NULL, 0, step);
        step = step < STOP_STEP_MS ? step * 2 : STOP_STEP_MS;
    }
}

/* A pseudo terminal: ends[0] is read, ends[1] written. */
static bool open_terminal(int ends[2])
{
    char name[64];
    struct winsize size = {.ws_row = TERMINAL_ROWS, .ws_col = TERMINAL_COLUMNS};
    ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ends[0] < 0)
        return false;
    if (grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0 &&
        ptsname_r(ends[0], name, sizeof(name)) == 0) {
        ends[1] = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (ends[1] >= 0 && ioctl(ends[1], TIOCSWINSZ, &size) == 0)
            return true;
        if (ends[1] >= 0)
            close(ends[1]);
    }
    close(ends[0]);
    return false;
}

int subprocess_run(const char *const *argv, int stdin_fd, bool terminal, take_line line, void *data,
                   const struct cli *cli, struct ocv_error *err)
{
    struct output_stream streams[2] = {{0}, {0}};
    int out[2], errors[2];
    streams[terminal].line = line;
    streams[terminal].data = data;
    if (pipe2(out, O_CLOEXEC) != 0)
        return ocv_error_set(err, OCV_ERR_IO, "pipe: %s", strerror(errno));
    /* without pseudo terminals, as in some containers, the client reports less */
    if ((terminal && open_terminal(errors)) || pipe2(errors, O_CLOEXEC) == 0) {
        pid_t pid;
        char last[LINE_MAX_BYTES] = "";
        int failed = ocv_spawn(argv, stdin_fd, out[1], errors[1], &pid);
        close(out[1]);
        close(errors[1]);
        streams[0].fd = out[0];
        streams[1].fd = errors[0];
        streams[1].last = last;
        int code = 0;
        bool finished = failed || (drain_streams(streams, cli) && await_end(pid, &code, cli));
        streams[1].last = NULL;
        close(out[0]);
        close(errors[0]);
        if (failed)
            return ocv_error_set(err, OCV_ERR_ENGINE, "cannot run %s: %s", argv[0],
                                 strerror(failed));
        if (finished) {
            if (WIFEXITED(code) && WEXITSTATUS(code) == 0)
                return OCV_OK;
            size_t n = strlen(argv[0]); /* some clients name themselves */
            bool named = !strncmp(last, argv[0], n) && last[n] == ':';
            return ocv_error_set(err, OCV_ERR_ENGINE, "%s%s%s", named ? "" : argv[0],
                                 named ? "" : ": ", last[0] ? last : "failed");
        }
        stop_process(pid);
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    }
    close(out[0]);
    close(out[1]);
    return ocv_error_set(err, OCV_ERR_IO, "pipe: %s", strerror(errno));
}

bool subprocess_available(const char *name)
{
    char path[PATH_MAX];
    return ocv_spawn_find(name, path, sizeof(path));
}
