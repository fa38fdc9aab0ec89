/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Opening a layout directory, and its index.json under the lock DIR/.ocivariant/lock.
 *
 * A new layout gets index.json before oci-layout, so that whatever says it is a layout is one. */
#include "lib/layout/layout_internal.h"

#include "lib/base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define MARKER "oci-layout"
#define MARKER_TEXT "{\"imageLayoutVersion\":\"1.0.0\"}"
#define MARKER_MAX 65536u
#define INDEX "index.json"
#define EMPTY_INDEX \
    "{\"schemaVersion\":2,\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX "\",\"manifests\":[]}"

static bool file_exists(int dirfd, const char *name)
{
    struct stat st;
    return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Open and take the lock file; closing the descriptor gives it back. */
static int take_lock(const struct ocv_layout *layout, int private, int *fd, struct ocv_error *err)
{
    ocv_auto_fd int lock =
        openat(private, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (lock < 0)
        return ocv_file_fail(err, layout->path, OCV_LAYOUT_PRIVATE "/lock", "open");
    int rc;
    do /* held for milliseconds only, so a signal need not end the wait */
        rc = flock(lock, LOCK_EX);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return ocv_file_fail(err, layout->path, OCV_LAYOUT_PRIVATE "/lock", "lock");
    *fd = ocv_fd_steal(&lock);
    return OCV_OK;
}

static int prepare_directory(const struct ocv_layout *layout, struct ocv_error *err)
{
    if (file_exists(layout->fd, MARKER) && file_exists(layout->fd, INDEX))
        return OCV_OK;
    ocv_auto_fd int private = -1;
    ocv_auto_fd int lock = -1;
    ocv_auto_fd int blobs = -1;
    if (!file_exists(layout->fd, MARKER)) {
        /* what is not part of a layout: no user wants blobs spilled over a home directory by a
         * typing error */
        static const char *const ours[] = {".",   "..",   "blobs",     OCV_LAYOUT_PRIVATE,
                                           INDEX, MARKER, "lost+found"};
        int fd = openat(layout->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ocv_auto_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
            ocv_fd_close(&fd);
            return ocv_file_fail(err, layout->path, NULL, "list");
        }
        for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            bool known = false;
            for (size_t i = 0; !known && i < sizeof(ours) / sizeof(*ours); i++)
                known = strcmp(entry->d_name, ours[i]) == 0;
            if (!known)
                return ocv_error_set(err, OCV_ERR_INVALID,
                                     "%s: holds '%.100s' and is not an OCI image layout",
                                     layout->path, entry->d_name);
        }
    }
    OCV_TRY(ocv_directory_open(layout->fd, layout->path, OCV_LAYOUT_PRIVATE, true, &private, err));
    OCV_TRY(take_lock(layout, private, &lock, err));
    OCV_TRY(ocv_layout_open_blobs(layout, "sha256", &blobs, err));
    if (!file_exists(layout->fd, INDEX))
        OCV_TRY(ocv_file_replace(private, layout->fd, layout->path, INDEX, EMPTY_INDEX,
                                 strlen(EMPTY_INDEX), 0, err));
    if (!file_exists(layout->fd, MARKER))
        OCV_TRY(ocv_file_replace(private, layout->fd, layout->path, MARKER, MARKER_TEXT,
                                 strlen(MARKER_TEXT), 0, err));
    return OCV_OK;
}

int ocv_layout_open(const char *dir, int flags, struct ocv_layout **out, struct ocv_error *err)
{
    bool create = flags & OCV_LAYOUT_CREATE;
    if (create)
        OCV_TRY(ocv_directory_make(dir, 0, err));
    ocv_auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no such directory", dir);
    if (fd < 0 && errno == ENOTDIR)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: not an OCI image layout: not a directory",
                             dir);
    if (fd < 0)
        return ocv_file_fail(err, dir, NULL, "open");
    ocv_auto(ocv_layout) layout = calloc(1, sizeof(*layout) + strlen(dir) + 1);
    if (!layout)
        return ocv_error_nomem(err);
    memcpy(layout->path, dir, strlen(dir) + 1);
    layout->writable = create;
    layout->nosync = flags & OCV_LAYOUT_NOSYNC;
    layout->distrust = flags & OCV_LAYOUT_VERIFY;
    layout->fd = ocv_fd_steal(&fd);
    if (create)
        OCV_TRY(prepare_directory(layout, err));

    ocv_auto_buffer text;
    ocv_buffer_init(&text, MARKER_MAX);
    int status = ocv_file_read_at(layout->fd, layout->path, MARKER, &text, err);
    if (status == OCV_ERR_NOT_FOUND)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: not an OCI image layout: no " MARKER " file",
                             layout->path);
    ocv_auto_json *root = NULL;
    const char *version = NULL;
    if (status == OCV_OK)
        status = ocv_json_load(MARKER, text.data, text.len, MARKER_MAX, &root, err);
    if (status == OCV_OK)
        status = ocv_json_string(root, MARKER, "imageLayoutVersion", &version, err);
    if (status == OCV_OK && (!version || strncmp(version, "1.", 2) != 0))
        status = ocv_error_set(err, OCV_ERR_DATA, "imageLayoutVersion '%.50s' is not 1.x",
                               version ? version : "");
    if (status == OCV_ERR_DATA)
        ocv_error_prefix(err, "%s", layout->path);
    OCV_TRY(status);
    *out = ocv_steal(&layout);
    return OCV_OK;
}

void ocv_layout_free(struct ocv_layout *layout)
{
    if (!layout)
        return;
    ocv_fd_close(&layout->fd);
    free(layout);
}

const char *ocv_layout_path(const struct ocv_layout *layout)
{
    return layout->path;
}

static int load_index(const struct ocv_layout *layout, json_t **root, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    OCV_TRY(ocv_file_read_at(layout->fd, layout->path, INDEX, &text, err));
    int status = ocv_index_json_load(text.data, text.len, root, err);
    if (status < 0)
        ocv_error_prefix(err, "%s", layout->path);
    return status;
}

int ocv_layout_resolve(const struct ocv_layout *layout, const char *tag, struct ocv_descriptor *out,
                       struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(load_index(layout, &root, err));
    int status = ocv_index_json_find(root, tag, out, err);
    if (status < 0)
        ocv_error_prefix(err, "%s", layout->path);
    return status;
}

int ocv_layout_list(const struct ocv_layout *layout, ocv_layout_visit visit, void *data,
                    struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    OCV_TRY(load_index(layout, &root, err));
    return ocv_index_json_walk(root, visit, data);
}

/* `now`: with a guard, what the tag names; it has to be `before`. */
static int write_tag(struct ocv_layout *layout, const char *tag, const char *image_name,
                     const struct ocv_descriptor *descriptor, const struct ocv_platform *platform,
                     const char *before, char *now, struct ocv_error *err)
{
    OCV_TRY(ocv_layout_check_writable(layout, err));
    if (!ocv_layout_has_blob(layout, descriptor->digest, descriptor->size))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no blob %.150s of %lld bytes to tag",
                             layout->path, descriptor->digest, (long long)descriptor->size);
    ocv_auto_fd int private = -1;
    ocv_auto_fd int lock = -1;
    ocv_auto_json *root = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    OCV_TRY(ocv_directory_open(layout->fd, layout->path, OCV_LAYOUT_PRIVATE, true, &private, err));
    OCV_TRY(take_lock(layout, private, &lock, err));
    OCV_TRY(load_index(layout, &root, err));
    if (now) {
        struct ocv_descriptor found;
        struct ocv_error local = {0};
        int status = ocv_index_json_find(root, tag, &found, &local);
        now[0] = '\0';
        if (status < 0 && status != OCV_ERR_NOT_FOUND)
            return ocv_error_set(err, status, "%s: %s", layout->path, local.message);
        if (status == OCV_OK)
            memcpy(now, found.digest, OCV_DIGEST_MAX);
        if (strcmp(now, before) != 0)
            return ocv_error_set(err, OCV_ERR_DENIED, "%s:%s was changed meanwhile", layout->path,
                                 tag);
    }
    OCV_TRY(ocv_index_json_tag(root, tag, image_name, descriptor, platform, err));
    OCV_TRY(ocv_json_append(root, JSON_INDENT(2), &text, err));
    OCV_TRY(
        ocv_file_replace(private, layout->fd, layout->path, INDEX, text.data, text.len, 0, err));
    ocv_file_sweep(private);
    return OCV_OK;
}

int ocv_layout_tag(struct ocv_layout *layout, const char *tag, const char *image_name,
                   const struct ocv_descriptor *descriptor, const struct ocv_platform *platform,
                   struct ocv_error *err)
{
    return write_tag(layout, tag, image_name, descriptor, platform, NULL, NULL, err);
}

int ocv_layout_retag(struct ocv_layout *layout, const char *tag, const char *before,
                     const struct ocv_descriptor *descriptor, char now[OCV_DIGEST_MAX],
                     struct ocv_error *err)
{
    return write_tag(layout, tag, NULL, descriptor, NULL, before, now, err);
}
