/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the order in which they are tried when the user names none. */
static const struct sink *const sinks[] = {&sink_docker,     &sink_podman, &sink_nerdctl,
                                           &sink_containerd, &sink_oci,    &sink_archive};
#define SINKS (sizeof(sinks) / sizeof(*sinks))

extern char **environ;

static int unknown_sink(const char *text, struct ocv_error *err)
{
    ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not a place to pull to", text);
    ocv_error_hint(err, "docker, podman, containerd, nerdctl, oci:DIR[:TAG], docker-archive:FILE");
    return OCV_ERR_INVALID;
}

static int named_sink(const char *text, const struct sink **out, char **argument,
                      struct ocv_error *err)
{
    size_t n = strcspn(text, ":");
    for (size_t i = 0; i < SINKS; i++) {
        const struct sink *s = sinks[i];
        if (strlen(s->name) != n || strncmp(s->name, text, n) != 0)
            continue;
        if (s->takes_argument != (text[n] == ':' && text[n + 1]))
            return unknown_sink(text, err);
        *out = s;
        *argument = strdup(text[n] ? text + n + 1 : "");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    return unknown_sink(text, err);
}

static int data_folder(char **argument, struct ocv_error *err)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool xdg = data && *data;
    if (!xdg && (!home || !*home))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "no engine answers, and neither HOME nor --to says where to pull to");
    if (asprintf(argument, "%s%s/ocivariant/images", xdg ? data : home,
                 xdg ? "" : "/.local/share") < 0)
        return ocv_error_nomem(err);
    return OCV_OK;
}

int sink_choose(struct cli *cli, const struct pull_options *options, const struct sink **out,
                char **argument, struct ocv_error *err)
{
    if (options->to)
        return named_sink(options->to, out, argument, err);
    for (size_t i = 0; i < SINKS; i++) {
        if (!sinks[i]->available || !sinks[i]->available(cli, options))
            continue;
        *out = sinks[i];
        *argument = strdup("");
        return *argument ? OCV_OK : ocv_error_nomem(err);
    }
    *out = &sink_oci;
    return data_folder(argument, err);
}

bool sink_has_program(const char *name)
{
    const char *path = getenv("PATH");
    char file[4096];
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        size_t n = strcspn(at, ":");
        snprintf(file, sizeof(file), "%.*s/%s", (int)n, at, name);
        if (n && access(file, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

/* ---- running a client ---- */

#define LINE_MAX_BYTES 4096u
#define STOP_MS 10000 /* time a client gets to clean up after Ctrl-C */
#define STOP_STEP_MS 20

struct lines {
    char text[LINE_MAX_BYTES];
    size_t len;
};

/* Take bytes, hand out whole lines; \r ends one too, as progress bars use it. */
static void feed(struct lines *l, const char *bytes, size_t n,
                 void (*line)(void *data, const char *text), void *data)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != '\n' && bytes[i] != '\r') {
            if (l->len < sizeof(l->text) - 1)
                l->text[l->len++] = bytes[i];
            continue;
        }
        l->text[l->len] = '\0';
        if (l->len && line)
            line(data, l->text);
        l->len = 0;
    }
}

static void keep_last(void *data, const char *text)
{
    snprintf(data, LINE_MAX_BYTES, "%s", text);
}

static int spawn(const char *const *argv, int stdin_fd, int out, int errors, pid_t *pid,
                 struct ocv_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, ignored;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ocv_error_nomem(err);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    /* what this program ignores is not the client's business */
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &ignored);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (stdin_fd >= 0)
        posix_spawn_file_actions_adddup2(&actions, stdin_fd, STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    int failed =
        posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed)
        return ocv_error_set(err, OCV_ERR_ENGINE, "cannot run %s: %s", argv[0], strerror(failed));
    return OCV_OK;
}

/* Read both pipes until they end. Returns false when interrupted. */
static bool drain(int out, int errors, void (*line)(void *data, const char *text), void *data,
                  char *last, const volatile int *interrupted)
{
    struct pollfd fds[2] = {{.fd = out, .events = POLLIN}, {.fd = errors, .events = POLLIN}};
    struct lines lines[2] = {0};
    char bytes[4096];
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (interrupted && *interrupted)
            return false;
        if (poll(fds, 2, 100) <= 0)
            continue;
        for (size_t i = 0; i < 2; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            ssize_t n = read(fds[i].fd, bytes, sizeof(bytes));
            if (n > 0)
                feed(&lines[i], bytes, (size_t)n, i ? keep_last : line, i ? last : data);
            else if (n == 0 || errno != EINTR)
                fds[i].fd = -1;
        }
    }
    feed(&lines[0], "\n", 1, line, data);
    feed(&lines[1], "\n", 1, keep_last, last);
    return true;
}

/* Ask it to end; a client that does not is killed, since the user is waiting. */
static void stop(pid_t pid)
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

int sink_run(const char *const *argv, int stdin_fd, void (*line)(void *data, const char *text),
             void *data, const volatile int *interrupted, struct ocv_error *err)
{
    int out[2], errors[2], code = 0;
    pid_t pid;
    char last[LINE_MAX_BYTES] = "";
    if (pipe2(out, O_CLOEXEC) != 0)
        return ocv_error_set(err, OCV_ERR_IO, "pipe: %s", strerror(errno));
    if (pipe2(errors, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return ocv_error_set(err, OCV_ERR_IO, "pipe: %s", strerror(errno));
    }
    int status = spawn(argv, stdin_fd, out[1], errors[1], &pid, err);
    close(out[1]);
    close(errors[1]);
    bool finished = status < 0 || drain(out[0], errors[0], line, data, last, interrupted);
    close(out[0]);
    close(errors[0]);
    if (status < 0)
        return status;
    if (!finished) {
        stop(pid);
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    }
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(code) && WEXITSTATUS(code) == 0)
        return OCV_OK;
    size_t n = strlen(argv[0]); /* some clients name themselves */
    bool named = !strncmp(last, argv[0], n) && last[n] == ':';
    return ocv_error_set(err, OCV_ERR_ENGINE, "%s%s%s", named ? "" : argv[0], named ? "" : ": ",
                         last[0] ? last : "failed");
}
