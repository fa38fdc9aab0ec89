/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file's change as a unified diff for patch and git apply, made by diff(1). If diff cannot run,
 * all old lines are removed and all new lines added. */
#include "cmd/variantctl/setup/setup.h"
#include "lib/base/cleanup.h"
#include "lib/base/system/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LABEL_MAX 4200u

static size_t length_of(const struct setup_content *content)
{
    return content->there ? content->text.len : 0;
}

static const char *label_of(const struct setup_content *content, const char *side, const char *path,
                            char out[LABEL_MAX])
{
    if (!content->there)
        return "/dev/null";
    snprintf(out, LABEL_MAX, "%s%s", side, path);
    return out;
}

/* The content as a file that a child process can open, or -1. */
static int open_content(const struct setup_content *content)
{
    size_t done = 0, len = length_of(content);
    ssize_t n = 0;
    int fd = memfd_create("setup", 0);
    while (fd >= 0 && done < len && (n = write(fd, content->text.data + done, len - done)) > 0)
        done += (size_t)n;
    if (fd >= 0 && (done < len || lseek(fd, 0, SEEK_SET) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* True if diff printed a difference. */
static bool run_diff(const char *old_label, const char *new_label, int old, int new)
{
    char path[32];
    int result = 0;
    pid_t pid;
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), new); /* diff inherits none */
    const char *argv[] = {"diff", "-a", "-u", "-L", old_label, "-L", new_label, "-", path, NULL};
    if (ocv_spawn(argv, old, STDOUT_FILENO, -1, &pid) != 0)
        return false;
    while (waitpid(pid, &result, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(result) && WEXITSTATUS(result) == 1;
}

static int append_lines(struct ocv_buffer *out, char sign, const struct setup_content *content,
                        struct ocv_error *err)
{
    const char *at = content->text.data;
    size_t left = length_of(content);
    while (left) {
        const char *end = memchr(at, '\n', left);
        size_t len = end ? (size_t)(end - at) + 1 : left;
        OCV_TRY(ocv_buffer_append(out, &sign, 1, err));
        OCV_TRY(ocv_buffer_append(out, at, len, err));
        if (!end)
            OCV_TRY(ocv_buffer_printf(out, err, "\n\\ No newline at end of file\n"));
        at += len;
        left -= len;
    }
    return OCV_OK;
}

static size_t count_lines(const struct setup_content *content)
{
    size_t n = 0, len = length_of(content);
    for (size_t i = 0; i < len; i++)
        n += content->text.data[i] == '\n' || i == len - 1;
    return n;
}

static int print_whole(const char *old_label, const char *new_label,
                       const struct setup_content *from, const struct setup_content *to,
                       struct ocv_error *err)
{
    size_t n_old = count_lines(from), n_new = count_lines(to);
    ocv_auto_buffer out;
    ocv_buffer_init(&out, 4 * (size_t)SETUP_FILE_MAX + 4 * LABEL_MAX);
    bool lines = n_old + n_new > 0 && !setup_content_equal(from, to); /* else the mode */
    OCV_TRY(ocv_buffer_printf(&out, err, "--- %s\n+++ %s\n", old_label, new_label));
    if (lines)
        OCV_TRY(ocv_buffer_printf(&out, err, "@@ -%d,%zu +%d,%zu @@\n", n_old > 0, n_old, n_new > 0,
                                  n_new));
    if (lines)
        OCV_TRY(append_lines(&out, '-', from, err));
    if (lines)
        OCV_TRY(append_lines(&out, '+', to, err));
    return cli_print(out.data, out.len, err);
}

int setup_print_diff(const char *path, const struct setup_content *from,
                     const struct setup_content *to, struct ocv_error *err)
{
    char labels[2][LABEL_MAX];
    const char *old_label = label_of(from, "a", path, labels[0]);
    const char *new_label = label_of(to, "b", path, labels[1]);
    int old = open_content(from), new = open_content(to);
    int status = cli_print("", 0, err);
    bool printed = status == OCV_OK && old >= 0 && new >= 0 && !setup_content_equal(from, to) &&
                   run_diff(old_label, new_label, old, new);
    if (old >= 0)
        close(old);
    if (new >= 0)
        close(new);
    return status < 0 || printed ? status : print_whole(old_label, new_label, from, to, err);
}
