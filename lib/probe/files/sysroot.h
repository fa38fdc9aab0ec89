/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the probed machine, below a directory that stands for /. */
#ifndef OCV_SYSROOT_H
#define OCV_SYSROOT_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <dirent.h>
#include <stdbool.h>

#define OCV_SYSROOT_DEPTH_MAX 64u /**< components of a path, links followed */
#define OCV_SYSROOT_LINKS_MAX 40u /**< links followed on the way, as the kernel has it */

/** Open the directory that stands for `/` (NULL: `/` itself). The caller closes `*root`. */
int ocv_sysroot_open(const char *path, int *root, struct ocv_error *err) OCV_WARN_UNUSED;
/** Open `path` (relative to the root, no leading slash) for reading. No link, absolute or with
 *  "..", leaves the root. A descriptor, or -1 with errno. */
int ocv_sysroot_openat(int root, const char *path, int flags);
/** The same without openat2(2), for kernels and emulators that lack it, and where it gives up. */
int ocv_sysroot_walk(int root, const char *path, int flags);
/** Open a regular file for reading; -1 with errno, EBADFD for any other kind. That is found out
 *  before it is opened: opening some devices does things (watchdogs, tapes), and a FIFO waits. */
int ocv_sysroot_file(int root, const char *path);
/** Read a regular file of at most out->max bytes. Missing: OCV_ERR_NOT_FOUND; not a regular file,
 *  unreadable: OCV_ERR_IO; larger: OCV_ERR_DATA. */
int ocv_sysroot_read(int root, const char *path, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** The first line of a small file without surrounding blanks, cut to `size`. False if there is none
 *  or it is not printable ASCII. */
bool ocv_sysroot_line(int root, const char *path, char *out, size_t size);

/** Open a directory for reading; NULL if there is none. The caller closes it. */
DIR *ocv_sysroot_opendir(int root, const char *path);
/** True if there is such a directory. */
bool ocv_sysroot_directory(int root, const char *path);

#endif
