/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Whole files: bounded reads, and writes that appear by rename after fsync. */
#ifndef OCV_FILE_H
#define OCV_FILE_H

#include "lib/base/cleanup.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/** Append what `fd` has up to its end. `name` is for messages: "NAME: <errno>" is OCV_ERR_IO, more
 *  than out->max bytes are OCV_ERR_DATA. */
int ocv_fd_read(int fd, const char *name, struct ocv_buffer *out,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** Write all of it; false with errno. */
bool ocv_fd_write(int fd, const void *data, size_t len) OCV_WARN_UNUSED;

enum ocv_file_kind {
    OCV_FILE_ANY,     /**< anything that can be opened and read, also a FIFO */
    OCV_FILE_REGULAR, /**< anything else is OCV_ERR_IO, and does not block */
};
/** Append a whole file. Missing: OCV_ERR_NOT_FOUND; other errors as ocv_fd_read. */
int ocv_file_read(const char *path, enum ocv_file_kind kind, struct ocv_buffer *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** The same for `name` in an open directory; `path` is for messages. */
int ocv_file_read_in(int dirfd, const char *name, const char *path, enum ocv_file_kind kind,
                     struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** Why user `self` should not trust a program or its directory: NULL if it should. It must belong
 * to root or to that user, and nobody else may have write permission. */
const char *ocv_file_distrust(const struct stat *st, uid_t self);

/** OCV_ERR_IO "DIR/NAME: cannot WHAT: <errno>". `name` may be NULL. */
int ocv_file_fail(struct ocv_error *err, const char *dir, const char *name, const char *what);
/** Read up to the end or out->max. `dir` is for messages. A missing file is OCV_ERR_NOT_FOUND. */
int ocv_file_read_at(int dirfd, const char *dir, const char *name, struct ocv_buffer *out,
                     struct ocv_error *err);
/** Open a regular file for reading; never follows a link in the last component, never blocks. */
int ocv_file_open_at(int dirfd, const char *dir, const char *name, int *fd, int64_t *size,
                     struct ocv_error *err);
/** For scandir: by the bytes of the names, whatever the locale. */
int ocv_directory_order(const struct dirent **a, const struct dirent **b);
/** For scandir: leaves out what a dot hides. */
int ocv_directory_visible(const struct dirent *entry);
/** Make a directory and the missing ones above it. `mode` 0 leaves theirs to the umask. */
int ocv_directory_make(const char *path, mode_t mode, struct ocv_error *err);
/** Remove a directory with all that is in it, as far as it can be; links are not followed. */
void ocv_directory_remove(const char *path);
/** Open DIRFD/NAME as a directory without following a link; `make` creates it (fsyncing DIRFD). */
int ocv_directory_open(int dirfd, const char *dir, const char *name, bool make, int *fd,
                       struct ocv_error *err);
/** Write bytes under a unique name in `tmpfd`, fsync, rename to DIRFD/NAME, fsync the directory.
 *  `mode` 0 leaves the file's to the umask. */
int ocv_file_replace(int tmpfd, int dirfd, const char *dir, const char *name, const void *data,
                     size_t len, mode_t mode, struct ocv_error *err);
/** Write a file that a user named: whole or not at all. One that is there keeps its mode, a link
 *  stays a link; a pipe or a device is written through. */
int ocv_file_write(const char *path, const void *data, size_t len, struct ocv_error *err);
/** Remove what killed writers of ocv_file_replace left there more than an hour ago. */
void ocv_file_sweep(int tmpfd);
/** Remove files "sha..." of the directory: those not touched for `age` seconds (0: whatever their
 * age), and while there are more than `max`, the oldest. */
void ocv_directory_keep_newest(int dirfd, size_t max, int64_t age);

/* Paths of this project's files and sockets. Directories that are chosen at build time are in the
 * generated datadir.h and libexecdir.h. */

#define OCV_PATH_CONFIG "/etc/ocivariant/config.yaml"
#define OCV_PATH_PROVIDERS "/etc/ocivariant/providers.d" /**< the administrator's providers */
#define OCV_PATH_TAG_RULES "/etc/ocivariant/tags.d"      /**< and tag rules */
#define OCV_PATH_SOCKET "/run/ocivariant/variantd.sock"  /**< of the daemon's API */
/** Of the mirror. Below 1024, so that no other user can take the port while variantd is down; not
 * assigned by IANA; and below 512, where bindresvport(3) and NFS do not look for a free one. */
#define OCV_LISTEN "127.0.0.1:340"
/** Used instead where that one is not allowed (rootless, started by hand). */
#define OCV_LISTEN_UNPRIVILEGED "127.0.0.1:5050"
#define OCV_PATH_STATE "/var/lib/ocivariant"
#define OCV_PATH_RECORDS OCV_PATH_STATE "/resolved" /**< what was resolved on this node */
/** What variantctl setup did, and what files were before: root's alone, so not in a directory that
 *  belongs to the daemon's user, who could put another one in its place. */
#define OCV_PATH_SETUP "/var/lib/ocivariant-setup"
/** What pinned indexes became: root's alone, too. */
#define OCV_PATH_CRI_PROXY "/var/lib/ocivariant-cri-proxy"

#endif
