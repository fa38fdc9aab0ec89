/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Is a blob of a layout what its name says? Size alone does not tell after a power cut, a failing
 * disk or an edit by hand. DIR/.ocivariant/verified/ALGORITHM-HEX remembers that it was, of which
 * file: "INODE SECONDS.NANOSECONDS SIZE". Where it is lost, the blob is read once more. */
#include "lib/core/core_internal.h"
#include "lib/layout/layout_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DIRECTORY OCV_LAYOUT_PRIVATE "/verified"
#define MARK_MAX 128
#define CHUNK (256u * 1024)

static void format_mark(const struct stat *st, char out[MARK_MAX])
{
    snprintf(out, MARK_MAX, "%llu %lld.%09ld %lld\n", (unsigned long long)st->st_ino,
             (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, (long long)st->st_size);
}

static bool mark_name(const char *digest, char out[OCV_LAYOUT_NAME_MAX])
{
    char algorithm[8];
    const char *hex = NULL;
    return ocv_digest_split(digest, algorithm, &hex, NULL) == OCV_OK &&
           snprintf(out, OCV_LAYOUT_NAME_MAX, DIRECTORY "/%s-%s", algorithm, hex) <
               OCV_LAYOUT_NAME_MAX;
}

/* Not synced: a mark that is lost or torn only costs another check. */
void ocv_layout_remember_blob(const struct ocv_layout *layout, const char *digest, int blob)
{
    char name[OCV_LAYOUT_NAME_MAX], mark[MARK_MAX];
    struct stat st = {0};
    if (layout->nosync || fstat(blob, &st) < 0 || !mark_name(digest, name))
        return;
    if (mkdirat(layout->fd, DIRECTORY, 0777) < 0 && errno != EEXIST)
        return;
    format_mark(&st, mark);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    ocv_auto_fd int fd = openat(layout->fd, name, flags, 0666);
    ssize_t n = fd < 0 ? -1 : write(fd, mark, strlen(mark));
    (void)n;
}

int ocv_layout_find_blob(const struct ocv_layout *layout, const char *digest, int64_t size,
                         bool *present, struct ocv_error *err)
{
    struct stat st = {0};
    ocv_auto_fd int fd = -1;
    *present = false;
    if (!ocv_layout_has_blob(layout, digest, size))
        return OCV_OK;
    int status = ocv_layout_open_blob(layout, digest, &fd, NULL, err);
    if (status == OCV_ERR_NOT_FOUND) {
        if (err)
            *err = (struct ocv_error){0};
        return OCV_OK;
    }
    if (status == OCV_OK && fstat(fd, &st) < 0)
        status = ocv_file_fail(err, layout->path, digest, "read");
    if (status < 0)
        return status;
    char name[OCV_LAYOUT_NAME_MAX], expected[MARK_MAX], mark[MARK_MAX];
    if (!layout->distrust && mark_name(digest, name)) {
        ocv_auto_fd int marked =
            openat(layout->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        ssize_t n = marked < 0 ? -1 : read(marked, mark, sizeof(mark));
        format_mark(&st, expected);
        *present = n == (ssize_t)strlen(expected) && memcmp(mark, expected, (size_t)n) == 0;
    }
    if (*present)
        return OCV_OK;
    ocv_auto(ocv_hasher) hasher = NULL;
    char found[OCV_DIGEST_MAX] = "";
    ocv_auto_free char *chunk = malloc(CHUNK);
    if (!chunk)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_hasher_new(digest, &hasher, err));
    ssize_t n = 1;
    while (n > 0) {
        n = read(fd, chunk, CHUNK);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0 && errno == EIO)
            break; /* an unreadable blob counts as missing: it is written again */
        else if (n < 0)
            return ocv_file_fail(err, layout->path, digest, "read");
        else
            OCV_TRY(ocv_hasher_update(hasher, chunk, (size_t)n, err));
    }
    OCV_TRY(ocv_hasher_final(hasher, found, err));
    *present = n == 0 && strcmp(found, digest) == 0;
    if (*present)
        ocv_layout_remember_blob(layout, digest, fd);
    return OCV_OK;
}
