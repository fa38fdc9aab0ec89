/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A running content-scan. */
#ifndef OCV_DERIVE_SCANNER_H
#define OCV_DERIVE_SCANNER_H

#include "cmd/common/cli.h"

#include <sys/types.h>

struct scanner {
    pid_t pid;
    int in;     /**< takes the layer, or -1 */
    int out;    /**< receives the answer; a file in memory */
    int errors; /**< receives stderr; a file in memory */
};

/** Start it for a path; NULL: for a layer passed with scanner_write. Its time is limited by `size`,
 *  the layer's bytes; -1: a directory. */
int scanner_start(const struct cli *cli, const char *path, int64_t size, struct scanner *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Pass on bytes of the layer. False: the scanner has ended; scanner_finish gives the reason. */
bool scanner_write(struct scanner *scanner, const void *data, size_t len);
/** End of input: wait for it, and append its answer. */
int scanner_finish(struct scanner *scanner, struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Kill it. May be called after scanner_finish. */
void scanner_drop(struct scanner *scanner);

#endif
