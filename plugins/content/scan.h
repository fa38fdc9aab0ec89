/* SPDX-License-Identifier: GPL-3.0-or-later */
/* content-scan: what the files of a directory or a layer say, as JSON on standard output. A process
 * of its own, because it reads archives that anybody may have made. */
#ifndef CONTENT_SCAN_H
#define CONTENT_SCAN_H

#include "lib/content/content_report.h"

#define SCAN_CHUNK ((size_t)256 << 10)

/** One scan: the reader, the report, and room for bytes. */
struct scan {
    struct ocv_content_reader *reader;
    struct ocv_content_report report;
    unsigned char *chunk; /* SCAN_CHUNK */
    int64_t bytes_max;    /* of all files of an archive, inflated */
};

/** A file has ended: note what it says, its own name too. `path` has no slash in front. */
int scan_file(struct scan *scan, const char *path, int64_t size, struct ocv_error *err);

/** A file by its name, or all files of a directory. `path` may be a link; those below it are not
 *  followed. */
int scan_tree(struct scan *scan, const char *path, struct ocv_error *err);
/** A layer from a descriptor: tar, plain or compressed by gzip or zstd. */
int scan_layer(struct scan *scan, int fd, struct ocv_error *err);

#endif
