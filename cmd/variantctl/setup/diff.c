/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file's change as a unified diff for patch and git apply, made by diff(1). */
#include "cmd/variantctl/setup/setup.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/system/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LABEL_MAX 4200u

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
    int fd = memfd_create("setup", 0);
    if (fd >= 0 && content->there &&
        (!ocv_fd_write(fd, content->text.data, content->text.len) || lseek(fd, 0, SEEK_SET) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

int setup_print_diff(const char *path, const struct setup_content *from,
                     const struct setup_content *to, struct ocv_error *err)
{
    char labels[2][LABEL_MAX], second[32];
    const char *old_label = label_of(from, "a", path, labels[0]);
    const char *new_label = label_of(to, "b", path, labels[1]);
    bool empty = (!from->there || !from->text.len) && (!to->there || !to->text.len);
    if (setup_content_equal(from, to) || empty) {
        ocv_auto_buffer out; /* its rights change, or an empty file appears */
        ocv_buffer_init(&out, 3 * LABEL_MAX);
        OCV_TRY(ocv_buffer_printf(&out, err, "--- %s\n+++ %s\n", old_label, new_label));
        return cli_print(out.data, out.len, err);
    }
    ocv_auto_fd int old = open_content(from);
    ocv_auto_fd int new = open_content(to);
    if (old < 0 || new < 0)
        return ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    OCV_TRY(cli_print("", 0, err)); /* what is printed before stands before */

    /* diff inherits none */
    snprintf(second, sizeof(second), "/proc/%ld/fd/%d", (long)getpid(), new);
    const char *argv[] = {"diff", "-a", "-u", "-L", old_label, "-L", new_label, "-", second, NULL};
    int code = 0, failure = ocv_run_wait(argv, old, STDOUT_FILENO, -1, &code);
    if (failure) {
        ocv_error_set(err, OCV_ERR_UNSUPPORTED, "cannot run diff(1): %s", strerror(failure));
        ocv_error_hint(err, "install diffutils");
        return OCV_ERR_UNSUPPORTED;
    }
    return code <= 1 ? OCV_OK : ocv_error_set(err, OCV_ERR_IO, "diff(1) failed");
}
