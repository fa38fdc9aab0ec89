/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and directories below the root, by descriptors. Paths are below the root, with links
 * resolved (setup_resolve); one that has become a link since is an error. */
#ifndef OCV_SETUP_TREE_H
#define OCV_SETUP_TREE_H

#include "cmd/variantctl/setup/setup.h"

/** Set setup->root_fd for setup->root; -1 with errno. */
int setup_open_root(struct setup *setup);
/** Open a directory; -1 with errno. `make`: create missing directories, the last one with this
 *  mode, those above with the usual one; 0: create none. */
int setup_enter(const struct setup *setup, const char *path, mode_t make);
/** The same with an error message; `*out` (may be NULL): the descriptor. */
int setup_make_directories(const struct setup *setup, const char *path, mode_t mode, int *out,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** True if the directory does not exist any more; it stays if it is not empty. */
bool setup_remove_directory(const struct setup *setup, const char *path);

/** Open for reading without blocking; -1 with errno. */
int setup_open_file(const struct setup *setup, const char *path);
int setup_read_fd(int fd, const char *path, struct ocv_buffer *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Read a file into a buffer; OCV_ERR_NOT_FOUND if it is missing. */
int setup_read_file(const struct setup *setup, const char *path, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Write with a temporary file, fsync and rename, or in place if the file has hard links (never
 *  below --root); creates directories. `restore`: also set its time of modification. */
int setup_write_file(const struct setup *setup, const char *path,
                     const struct setup_content *content, bool restore,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove a file if it exists. */
int setup_remove_file(const struct setup *setup, const char *path,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The content that a killed setup_write_file was writing in place; else OCV_ERR_NOT_FOUND. */
int setup_read_whole(const struct setup *setup, const char *path, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Remove the temporary file of a killed setup_write_file of that path; `whole_too`: also that
 *  content. */
void setup_unlink_temporary(const struct setup *setup, const char *path, bool whole_too);

#endif
