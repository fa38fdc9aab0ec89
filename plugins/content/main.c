/* SPDX-License-Identifier: GPL-3.0-or-later */
/* content-scan PATH | --layer: writes a report of content to standard output; --slim cuts the files
 * of a layer. variantctl runs it. */
#include "plugins/content/scan.h"

#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/internal/slim/slim.h"

#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX (INT64_C(256) << 30)

enum input { INPUT_TREE, INPUT_LAYER, INPUT_ARCHIVE, INPUT_UNKNOWN };

/* What a path is: of a file by its first bytes, and by its name where it should be an archive. */
static enum input input_of(int fd, const char *path)
{
    static const struct {
        const char *bytes;
        size_t len, at;
        enum input input;
    } kinds[] = {
        {"\x1f\x8b\x08", 3, 0, INPUT_LAYER}, {"\x28\xb5\x2f\xfd", 4, 0, INPUT_LAYER},
        {"ustar", 5, 257, INPUT_LAYER},      {"PK\3\4", 4, 0, INPUT_ARCHIVE},
        {"PK\5\6", 4, 0, INPUT_ARCHIVE},     {"\xfd\x37zXZ", 5, 0, INPUT_UNKNOWN},
        {"BZh", 3, 0, INPUT_UNKNOWN},        {"7z\xbc\xaf\x27", 5, 0, INPUT_UNKNOWN},
        {"Rar!", 4, 0, INPUT_UNKNOWN},       {"\xed\xab\xee\xdb", 4, 0, INPUT_UNKNOWN}, /* rpm */
        {"!<arch>\n", 8, 0, INPUT_UNKNOWN}, /* deb, .a */
    };
    char head[264];
    struct stat st;
    ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? pread(fd, head, sizeof(head), 0) : -1;
    if (n < 0)
        return INPUT_TREE;
    bool empty = n == 8 && !memcmp(head, "!<arch>\n", 8); /* glibc's libdl.a */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !empty; i++)
        if (kinds[i].at + kinds[i].len <= (size_t)n &&
            !memcmp(head + kinds[i].at, kinds[i].bytes, kinds[i].len))
            return kinds[i].input;
    return ocv_content_opens(path) ? INPUT_ARCHIVE : INPUT_TREE;
}

static int scan_path(struct scan *scan, const char *path, struct ocv_error *err)
{
    ocv_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum input input = fd >= 0 ? input_of(fd, path) : INPUT_TREE;
    scan_confine(input == INPUT_TREE ? SCAN_TREE : SCAN_STREAM);
    switch (input) {
    case INPUT_LAYER:
        return scan_layer(scan, fd, err);
    case INPUT_ARCHIVE:
        return scan_archive(scan, fd, NULL, err);
    case INPUT_UNKNOWN:
        ocv_error_set(err, OCV_ERR_DATA, "an archive of a kind that is not opened");
        ocv_error_hint(err, SCAN_HINT);
        return OCV_ERR_DATA;
    case INPUT_TREE:
        break;
    }
    return scan_tree(scan, path, err);
}

static int scan_input(struct scan *scan, const char *what, struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, OCV_CONTENT_REPORT_MAX);
    bool layer = strcmp(what, "--layer") == 0;
    scan->what = layer ? "a layer" : "an archive";
    if (layer)
        scan_confine(SCAN_STREAM);
    OCV_TRY(!layer ? scan_path(scan, what, err) : scan_layer(scan, STDIN_FILENO, err));
    OCV_TRY(ocv_content_report_write(&scan->report, &out, err));
    if (!ocv_fd_write(STDOUT_FILENO, out.data, out.len))
        return ocv_error_set(err, OCV_ERR_IO, "standard output: %m");
    return OCV_OK;
}

int main(int argc, char **argv)
{
    struct ocv_error err = {0};
    (void)!setlocale(LC_CTYPE, "C.UTF-8"); /* what libarchive turns names into */
    bool slims = argc > 3 && !strcmp(argv[1], "--slim");
    if (slims || (argc == 3 && !strcmp(argv[1], "--compress"))) {
        int status = slims ? scan_slim(argv + 2, &err) : scan_compress(argv[2], &err);
        if (status < 0)
            fprintf(stderr, "content-scan: %s\n", err.message);
        return status == OCV_OK                   ? 0
               : slims && status == OCV_ERR_NOMEM ? OCV_SLIM_EXIT_NO_MEMORY
                                                  : ocv_error_exit_code(err.status);
    }
    if (argc != 2 || (argv[1][0] == '-' && strcmp(argv[1], "--layer") != 0)) {
        fputs("usage: content-scan PATH | --layer <LAYER | --slim TARGET DIRECTORY <PATHS+LAYER |\n"
              "    --compress gzip|zstd <LAYER\n",
              stderr);
        return 2;
    }
    struct scan scan = {
        .reader = ocv_content_reader_new(), .chunk = malloc(SCAN_CHUNK), .bytes_max = BYTES_MAX};
    int status =
        scan.reader && scan.chunk ? scan_input(&scan, argv[1], &err) : ocv_error_nomem(&err);
    if (status < 0)
        fprintf(stderr, "content-scan: %s\n%s%s", err.message, err.hint, err.hint[0] ? "\n" : "");
    ocv_content_reader_free(scan.reader);
    ocv_content_report_free(&scan.report);
    free(scan.chunk);
    return status < 0 ? ocv_error_exit_code(err.status) : 0;
}
