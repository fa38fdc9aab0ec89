/* SPDX-License-Identifier: GPL-3.0-or-later */
/* content-scan PATH | --layer: writes a report of content to standard output. variantctl runs it.
 */
#include "plugins/content/scan.h"

#include "lib/base/exit_code.h"
#include "lib/base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX (INT64_C(256) << 30)

/* True for a layer, by its first bytes: gzip, zstd or tar. */
static bool is_layer(int fd)
{
    unsigned char head[264];
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return false;
    return !memcmp(head, "\x1f\x8b\x08", 3) || !memcmp(head, "\x28\xb5\x2f\xfd", 4) ||
           !memcmp(head + 257, "ustar", 5);
}

static int scan_path(struct scan *scan, const char *path, struct ocv_error *err)
{
    ocv_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool layer = fd >= 0 && is_layer(fd);
    scan_confine(!layer);
    return layer ? scan_layer(scan, fd, err) : scan_tree(scan, path, err);
}

static int scan_input(struct scan *scan, const char *what, struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, OCV_CONTENT_REPORT_MAX);
    bool layer = strcmp(what, "--layer") == 0;
    if (layer)
        scan_confine(false);
    int status = !layer ? scan_path(scan, what, err) : scan_layer(scan, STDIN_FILENO, err);
    if (status >= 0)
        status = ocv_content_report_write(&scan->report, &out, err);
    if (status >= 0 && !ocv_fd_write(STDOUT_FILENO, out.data, out.len))
        status = ocv_error_set(err, OCV_ERR_IO, "standard output: %m");
    return status;
}

int main(int argc, char **argv)
{
    struct ocv_error err = {0};
    if (argc != 2 || (argv[1][0] == '-' && strcmp(argv[1], "--layer") != 0)) {
        fputs("usage: content-scan PATH | content-scan --layer <LAYER\n", stderr);
        return 2;
    }
    struct scan scan = {
        .reader = ocv_content_reader_new(), .chunk = malloc(SCAN_CHUNK), .bytes_max = BYTES_MAX};
    int status =
        scan.reader && scan.chunk ? scan_input(&scan, argv[1], &err) : ocv_error_nomem(&err);
    if (status < 0)
        fprintf(stderr, "content-scan: %s\n", err.message);
    ocv_content_reader_free(scan.reader);
    ocv_content_report_free(&scan.report);
    free(scan.chunk);
    return status < 0 ? ocv_error_exit_code(err.status) : 0;
}
