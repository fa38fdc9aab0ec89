/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and directories below the root by descriptors. Paths are below the root, with links
 * followed (setup_resolve); one that has become a link since is an error. */
#ifndef OCV_SETUP_TREE_H
#define OCV_SETUP_TREE_H

#include "cmd/variantctl/setup/setup.h"

/** setup->root_fd for setup->root; -1 with errno. */
int setup_open_root(struct setup *setup);
/** The directory itself: a descriptor, or -1 with errno. `make`: directories that are missing are
 * made, the last one with this mode, those above it as directories usually are; 0: none. */
int setup_enter(const struct setup *setup, const char *path, mode_t make);
/** The same with an error; `*out` (may be NULL): the descriptor. */
int setup_make_directories(const struct setup *setup, const char *path, mode_t mode, int *out,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** True if it is gone now, or was; it stays while it holds something. */
bool setup_remove_directory(const struct setup *setup, const char *path);

/** For reading, not waiting for anything; -1 with errno. */
int setup_open_file(const struct setup *setup, const char *path);
int setup_read_fd(int fd, const char *path, struct ocv_buffer *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Read a file into a buffer; missing: OCV_ERR_NOT_FOUND. */
int setup_read_file(const struct setup *setup, const char *path, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Write by a temporary file, fsync and rename, or over a file that has other names (never below
 *  --root); directories are made. `restore`: give it its time of change, too. */
int setup_write_file(const struct setup *setup, const char *path,
                     const struct setup_content *content, bool restore,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove it, if it is there. */
int setup_remove_file(const struct setup *setup, const char *path,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** What a killed setup_write_file was writing over the file; else OCV_ERR_NOT_FOUND. */
int setup_read_whole(const struct setup *setup, const char *path, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove what a killed setup_write_file of that path has left; `whole_too`: also that. */
void setup_unlink_temporary(const struct setup *setup, const char *path, bool whole_too);

#endif
