/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library or a fat binary: what is written passes the check, and is cut no further; else there is
 * no file. */
#include "lib/base/file.h"
#include "lib/internal/slim/slim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int empty_file(void)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = {"sm_80", "sm_90", "sm_80+sm_120", "gfx942", "sm_75+gfx90a"};
    const char *word = words[size % 5];
    struct ocv_slim_target target;
    struct ocv_slim_result result, again;
    int in = empty_file(), out = empty_file(), none = empty_file();
    struct stat st;
    if (ocv_slim_target_parse(word, strlen(word), &target, NULL) < 0 ||
        !ocv_fd_write(in, data, size))
        abort();
    static int scratch = -1;
    scratch = scratch < 0 ? empty_file() : scratch;
    target.scratch = scratch;
    target.keep_ptx = size & 4;
    if (ocv_slim_file(in, size, out, &target, &result, NULL) < 0)
        abort();
    bool written = result.outcome == OCV_SLIM_CUT || result.outcome == OCV_SLIM_ZEROED;
    if (fstat(out, &st) < 0 || st.st_size != (written ? result.after : 0) ||
        result.after > (int64_t)size || (result.outcome == OCV_SLIM_LEFT) != (result.why != NULL))
        abort();
    if (written && (ocv_slim_file(out, (size_t)st.st_size, none, &target, &again, NULL) < 0 ||
                    again.outcome != OCV_SLIM_NOTHING))
        abort();
    close(in);
    close(out);
    close(none);
    /* a target by itself */
    char text[64];
    size_t n = size < sizeof(text) ? size : sizeof(text);
    memcpy(text, data, n);
    (void)!ocv_slim_target_parse(text, n, &target, NULL);
    return 0;
}
