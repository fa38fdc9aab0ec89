/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs an engine's own client. */
#ifndef OCV_VERIFY_CLIENT_H
#define OCV_VERIFY_CLIENT_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#define CLIENT_OUTPUT_MAX (64u * 1024 * 1024)      /**< bytes that a client may print */
#define CLIENT_VALUES_MAX (CLIENT_OUTPUT_MAX / 32) /**< of JSON; 200 images have some 100,000 */

/** Append the command's standard output to `out`, even if it fails. OCV_ERR_NOT_FOUND: the program
 *  is not installed. OCV_ERR_ENGINE: it failed; the message is the last line of its errors. */
int client_capture(const char *const argv[], struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** The same for the first command to an engine. OCV_ERR_NOT_FOUND also if it fails, because the
 *  engine does not answer. */
int client_capture_first(const char *const argv[], struct ocv_buffer *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** Visit a line, which may be modified. A status other than OCV_OK stops the iteration. */
typedef int (*client_visit)(void *data, char *line, struct ocv_error *err);
/** Run the command, then visit each output line up to the first empty one. Returns the status of
 *  client_capture or `visit`. */
int client_each_line(const char *const argv[], client_visit visit, void *data,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Visit the names of containerd's namespaces. OCV_ERR_NOT_FOUND: ctr is not installed, or
 *  containerd does not answer. */
int client_each_namespace(client_visit visit, void *data, struct ocv_error *err) OCV_WARN_UNUSED;

/** The next line of a text, which is modified; initialise `*rest` to its beginning. NULL at the end
 *  or at an empty line. */
char *client_next_line(char **rest);

#endif
