/* SPDX-License-Identifier: GPL-3.0-or-later */
/* content-scan: reports the content of a directory, an archive or a layer as JSON on standard
 * output. It is a process of its own because it reads untrusted archives. */
#ifndef CONTENT_SCAN_H
#define CONTENT_SCAN_H

#include "lib/internal/content/content.h"

#define SCAN_CHUNK ((size_t)256 << 10)
#define SCAN_HINT "unpack it into a directory: variantctl derive DIR"

/** State of a scan: the reader, the report, and a buffer. */
struct scan {
    struct ocv_content_reader *reader;
    struct ocv_content_report report;
    unsigned char *chunk; /* SCAN_CHUNK */
    int64_t read;         /* bytes of the files of a directory */
    /* of the archive that is being read */
    const char
        *inside;    /* its path in a directory, which those of its members begin with; or NULL */
    int64_t size;   /* of its file; 0: a layer, which is a stream */
    int64_t before; /* bytes of the report when it began */
    const char *refused; /* why it is not read to its end, as OCV_CONTENT_UNSEEN; NULL: it is, or a
                            limit of the whole scan was reached */
    const char *what;    /* that is, for messages: "a layer", "an archive" */
    int64_t bytes_max;   /* decompressed bytes of all files in an archive */
};

/** What is still done after scan_confine. */
enum scan_rights {
    SCAN_STREAM, /**< what is open is read */
    SCAN_TREE,   /**< files below a directory are opened and read, too */
    SCAN_FILES   /**< files that are open are written, too, and get other sizes */
};
/** From here on nothing but that: no other files, no network, no other programs. A kernel without
 *  seccomp or Landlock does with what it has. */
void scan_confine(enum scan_rights rights);
/** A file has ended: report its findings, and its name. `path` has no leading slash. */
int scan_file(struct scan *scan, const char *path, int64_t size, struct ocv_error *err);

/** Scan a file, or all files of a directory. `path` may be a link; links below it are not
 *  followed. */
int scan_tree(struct scan *scan, const char *path, struct ocv_error *err);
/** A layer from a descriptor: tar, plain or compressed by gzip or zstd. */
int scan_layer(struct scan *scan, int fd, struct ocv_error *err);
/** An archive that is a file: a wheel or another zip archive, or tar as above. `inside` as in scan.
 */
int scan_archive(struct scan *scan, int fd, const char *inside, struct ocv_error *err);

/** content-scan --slim TARGET DIRECTORY [--keep-ptx]: on standard input a list of paths and a
 * layer, on standard output the layer with these files cut, not compressed; on standard error, at
 * the end, a line of JSON for each. Temporary files are made in the directory. */
int scan_slim(char **arguments, struct ocv_error *err);

/** content-scan --compress gzip|zstd: a layer that is a tar archive, compressed. */
int scan_compress(const char *method, struct ocv_error *err);

#endif
