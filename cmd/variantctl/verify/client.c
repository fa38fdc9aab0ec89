/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/verify/verify_verb.h"

#include "lib/base/cleanup.h"
#include "lib/base/system/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ERRORS_MAX 4096 /* size of the end of its errors that is searched */

int client_capture(const char *const argv[], struct ocv_buffer *out, struct ocv_error *err)
{
    int fds[2], code = 0;
    char why[ERRORS_MAX];
    pid_t pid;
    ocv_auto_fd int errors = memfd_create("errors", MFD_CLOEXEC);
    if (errors < 0 || pipe2(fds, O_CLOEXEC) < 0)
        return ocv_error_set(err, OCV_ERR_IO, "pipe: %s", strerror(errno));
    int failed = ocv_spawn(argv, -1, fds[1], errors, &pid);
    close(fds[1]);
    char chunk[65536];
    ssize_t got;
    int status = OCV_OK;
    while (!failed &&
           ((got = read(fds[0], chunk, sizeof(chunk))) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0 && status == OCV_OK)
            status = ocv_buffer_append(out, chunk, (size_t)got, err);
    close(fds[0]);
    if (failed == ENOENT)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s is not installed", argv[0]);
    if (failed)
        return ocv_error_set(err, OCV_ERR_ENGINE, "%s: %s", argv[0], strerror(failed));
    while (waitpid(pid, &code, 0) < 0 && errno == EINTR)
        ;
    if (status < 0 || (WIFEXITED(code) && WEXITSTATUS(code) == 0))
        return status;
    /* the last line of its errors with text */
    off_t end = lseek(errors, 0, SEEK_END);
    off_t from = end > ERRORS_MAX - 1 ? end - (ERRORS_MAX - 1) : 0;
    ssize_t n = end > 0 ? pread(errors, why, ERRORS_MAX - 1, from) : 0;
    n = n > 0 ? n : 0;
    while (n > 0 && strchr(" \r\n\t", why[n - 1]))
        n--;
    why[n] = '\0';
    const char *line = strrchr(why, '\n');
    line = line ? line + 1 : why;
    if (*line)
        return ocv_error_set(err, OCV_ERR_ENGINE, "%s", line);
    return ocv_error_set(err, OCV_ERR_ENGINE, "%s %s fails without a message", argv[0], argv[1]);
}

int client_capture_first(const char *const argv[], struct ocv_buffer *out, struct ocv_error *err)
{
    int status = client_capture(argv, out, err);
    if (status != OCV_ERR_ENGINE)
        return status;
    if (err)
        err->status = OCV_ERR_NOT_FOUND;
    return OCV_ERR_NOT_FOUND;
}

char *client_next_line(char **rest)
{
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
    *rest = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line && *line ? line : NULL;
}

static int visit_lines(const struct ocv_buffer *text, client_visit visit, void *data,
                       struct ocv_error *err)
{
    char *rest = text->len ? text->data : NULL, *line;
    while ((line = client_next_line(&rest)))
        OCV_TRY(visit(data, line, err));
    return OCV_OK;
}

int client_each_line(const char *const argv[], client_visit visit, void *data,
                     struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    OCV_TRY(client_capture(argv, &text, err));
    return visit_lines(&text, visit, data, err);
}

int client_each_namespace(client_visit visit, void *data, struct ocv_error *err)
{
    const char *const argv[] = {"ctr", "namespaces", "ls", "-q", NULL};
    /* ctr waits ten seconds for a socket that does not exist. */
    const char *address = getenv("CONTAINERD_ADDRESS");
    const char *socket = address && *address ? address : "/run/containerd/containerd.sock";
    if (access(socket, F_OK) < 0)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: %s", socket, strerror(errno));
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    OCV_TRY(client_capture_first(argv, &text, err));
    return visit_lines(&text, visit, data, err);
}
