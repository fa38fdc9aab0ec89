/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whole blobs of a layout: blobs/ALGORITHM/HEX. */
#include "lib/core/core_internal.h"
#include "lib/layout/layout_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int ocv_layout_check_writable(const struct ocv_layout *layout, struct ocv_error *err)
{
    if (layout->writable)
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_INVALID, "%s: opened for reading only", layout->path);
}

static int blob_name(const char *digest, char name[OCV_LAYOUT_NAME_MAX], struct ocv_error *err)
{
    char algorithm[8];
    const char *hex = NULL;
    OCV_TRY(ocv_digest_split(digest, algorithm, &hex, err));
    snprintf(name, OCV_LAYOUT_NAME_MAX, "blobs/%s/%s", algorithm, hex);
    return OCV_OK;
}

bool ocv_layout_has_blob(const struct ocv_layout *layout, const char *digest, int64_t size)
{
    char name[OCV_LAYOUT_NAME_MAX];
    struct stat st;
    return blob_name(digest, name, NULL) == OCV_OK &&
           fstatat(layout->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           (size < 0 || st.st_size == size);
}

int ocv_layout_open_blob(const struct ocv_layout *layout, const char *digest, int *fd,
                         int64_t *size, struct ocv_error *err)
{
    char name[OCV_LAYOUT_NAME_MAX];
    int64_t found = 0;
    OCV_TRY(blob_name(digest, name, err));
    OCV_TRY(ocv_file_open_at(layout->fd, layout->path, name, fd, &found, err));
    if (size)
        *size = found;
    return OCV_OK;
}

int ocv_layout_read_blob(const struct ocv_layout *layout, const char *digest,
                         struct ocv_buffer *out, struct ocv_error *err)
{
    char name[OCV_LAYOUT_NAME_MAX];
    OCV_TRY(blob_name(digest, name, err));
    size_t before = out->len;
    OCV_TRY(ocv_file_read_at(layout->fd, layout->path, name, out, err));
    int status = ocv_digest_check(digest, out->len > before ? out->data + before : "",
                                  out->len - before, err);
    if (status < 0)
        ocv_error_prefix(err, "%s/%s", layout->path, name);
    return status;
}

int ocv_layout_open_blobs(const struct ocv_layout *layout, const char *algorithm, int *fd,
                          struct ocv_error *err)
{
    ocv_auto_fd int blobs = -1;
    OCV_TRY(ocv_directory_open(layout->fd, layout->path, "blobs", true, &blobs, err));
    return ocv_directory_open(blobs, layout->path, algorithm, true, fd, err);
}

int ocv_layout_write_blob(struct ocv_layout *layout, const void *data, size_t len,
                          char digest[OCV_DIGEST_MAX], struct ocv_error *err)
{
    OCV_TRY(ocv_layout_check_writable(layout, err));
    OCV_TRY(digest[0] ? ocv_digest_check(digest, data, len, err)
                      : ocv_digest_bytes(data, len, digest, err));
    char algorithm[8];
    const char *hex = NULL;
    OCV_TRY(ocv_digest_split(digest, algorithm, &hex, err));
    bool present = false;
    OCV_TRY(ocv_layout_find_blob(layout, digest, (int64_t)len, &present, err));
    if (present)
        return OCV_OK;
    ocv_auto_fd int tmp = -1;
    ocv_auto_fd int blobs = -1;
    OCV_TRY(ocv_directory_open(layout->fd, layout->path, OCV_LAYOUT_PRIVATE, true, &tmp, err));
    OCV_TRY(ocv_layout_open_blobs(layout, algorithm, &blobs, err));
    return ocv_file_replace(tmp, blobs, layout->path, hex, data, len, 0, err);
}
