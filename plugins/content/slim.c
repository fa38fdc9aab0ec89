/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layer whose libraries are cut. What it reads is decompressed by libarchive, and what it writes
 * is compressed by another one of these programs. */
#include "plugins/content/scan.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"
#include "lib/internal/slim/slim.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX ((size_t)64 << 20)

struct slim {
    struct archive *archive;
    char *report; /* lines, until the end */
    size_t report_len;
    FILE *lines;
};

static int fail_archive(struct archive *archive, struct ocv_error *err)
{
    const char *why = archive_error_string(archive);
    if (why && strstr(why, "not enough memory")) /* ZSTD_error_memory_allocation: its window */
        return ocv_error_nomem(err);
    return ocv_error_set(err, OCV_ERR_DATA, "a layer that cannot be read: %s",
                         why ? why : "no reason given");
}

static ssize_t read_layer(void *data, void *bytes, size_t len, struct ocv_error *err)
{
    struct slim *s = data;
    ssize_t n = archive_read_data(s->archive, bytes, len);
    if (n >= 0)
        return n;
    return fail_archive(s->archive, err);
}

static int write_layer(void *data, const void *bytes, size_t len, struct ocv_error *err)
{
    (void)data;
    return ocv_fd_write(STDOUT_FILENO, bytes, len)
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_IO, "standard output: %s", strerror(errno));
}

static int note_file(void *data, const char *path, const struct ocv_slim_result *r,
                     struct ocv_error *err)
{
    struct slim *s = data;
    json_t *removed = json_array();
    for (size_t i = 0; i < r->n_removed; i++)
        json_array_append_new(removed, json_pack("{s:s, s:s, s:I, s:I}", "kind", r->removed[i].kind,
                                                 "value", r->removed[i].value, "count",
                                                 (json_int_t)r->removed[i].count, "bytes",
                                                 (json_int_t)r->removed[i].bytes));
    ocv_auto_json *line =
        json_pack("{s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:o}", "path", path, "outcome",
                  ocv_slim_outcome_name(r->outcome), "why", r->why, "before", (json_int_t)r->before,
                  "after", (json_int_t)r->after, "regions", (json_int_t)r->regions, "byPtx",
                  (json_int_t)r->by_ptx, "without", (json_int_t)r->without, "removed", removed);
    if (!line)
        return ocv_error_nomem(err);
    return json_dumpf(line, s->lines, JSON_COMPACT) < 0 || fputc('\n', s->lines) < 0
               ? ocv_error_nomem(err)
               : OCV_OK;
}

static int note_listed(void *data, const char *path, const char *where, struct ocv_error *err)
{
    struct slim *s = data;
    ocv_auto_json *line = json_pack("{s:s, s:s}", "path", path, "listed", where);
    return !line || json_dumpf(line, s->lines, JSON_COMPACT) < 0 || fputc('\n', s->lines) < 0
               ? ocv_error_nomem(err)
               : OCV_OK;
}

/* A file without a name in the directory. */
static int temporary_file(const char *directory, int *fd, struct ocv_error *err)
{
    char path[4096];
    *fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0)
        return OCV_OK;
    /* not every file system has these */
    int n = snprintf(path, sizeof(path), "%s/.slim.XXXXXX", directory);
    if (n > 0 && (size_t)n < sizeof(path) && (*fd = mkostemp(path, O_CLOEXEC)) >= 0)
        unlink(path);
    return *fd >= 0 ? OCV_OK
                    : ocv_error_set(err, OCV_ERR_IO, "%s: cannot make a temporary file: %s",
                                    directory, strerror(errno));
}

/* "BYTES\n", then so many bytes: paths, each ended by NUL, with '+' in front of one that is to be
 * cut and '-' before one that is left out. */
static int read_list(char **text, size_t *len, struct ocv_error *err)
{
    char c;
    ssize_t n;
    *len = 0;
    while ((n = read(STDIN_FILENO, &c, 1)) == 1 && c >= '0' && c <= '9' && *len < LIST_MAX)
        *len = *len * 10 + (size_t)(c - '0');
    if (n != 1 || c != '\n' || *len > LIST_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "no list of files");
    *text = malloc(*len + 1);
    if (!*text)
        return ocv_error_nomem(err);
    (*text)[*len] = '\0';
    for (size_t have = 0; have < *len; have += (size_t)n) {
        n = read(STDIN_FILENO, *text + have, *len - have);
        if (n <= 0)
            return ocv_error_set(err, OCV_ERR_INVALID, "the list of files ends early");
    }
    return OCV_OK;
}

static void free_archive(struct archive **archive)
{
    if (*archive)
        archive_read_free(*archive);
}

int scan_slim(char **arguments, struct ocv_error *err)
{
    struct ocv_slim_target target;
    struct ocv_slim_layer layer = {.target = &target,
                                   .files = {-1, -1, -1},
                                   .read = read_layer,
                                   .write = write_layer,
                                   .done = note_file,
                                   .listed = note_listed};
    struct slim slim = {0};
    ocv_auto_free char *list = NULL, *report = NULL;
    size_t len, n = 0;
    OCV_TRY(ocv_slim_target_parse(arguments[0], strlen(arguments[0]), &target, err));
    target.keep_ptx = arguments[2] && !strcmp(arguments[2], "--keep-ptx");
    for (size_t i = 0; i < 3; i++)
        OCV_TRY(temporary_file(arguments[1], &layer.files[i], err));
    OCV_TRY(temporary_file(arguments[1], &target.scratch, err));
    scan_confine(SCAN_FILES);

    OCV_TRY(read_list(&list, &len, err));
    for (size_t i = 0; i < len; i++)
        n += !list[i];
    ocv_auto_free const char **paths = calloc(n + 1, sizeof(*paths));
    ocv_auto_free bool *leaves_out = calloc(n + 1, sizeof(*leaves_out));
    __attribute__((cleanup(free_archive))) struct archive *archive = archive_read_new();
    if (!paths || !leaves_out || !archive ||
        !(slim.lines = open_memstream(&slim.report, &slim.report_len)))
        return ocv_error_nomem(err);
    for (const char *at = list; layer.n_paths < n; at += strlen(at) + 1) {
        if (*at != '+' && *at != '-')
            return ocv_error_set(err, OCV_ERR_INVALID, "a path without a sign before it");
        leaves_out[layer.n_paths] = *at == '-';
        paths[layer.n_paths++] = at + 1;
    }
    layer.paths = paths;
    layer.leaves_out = leaves_out;
    layer.data = &slim;
    slim.archive = archive;
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_format_raw(archive);
    archive_read_support_format_empty(archive);
    struct archive_entry *entry;
    int got = archive_read_open_fd(archive, STDIN_FILENO, SCAN_CHUNK);
    if (got == ARCHIVE_OK)
        got = archive_read_next_header(archive, &entry);
    int status = got == ARCHIVE_EOF  ? OCV_OK
                 : got == ARCHIVE_OK ? ocv_slim_layer_run(&layer, err)
                                     : fail_archive(archive, err);
    if (fclose(slim.lines) != 0 && status >= 0)
        status = ocv_error_nomem(err);
    report = slim.report;
    unsigned char rest[4096]; /* belongs to the layer's digest: the writer wants it read */
    while (status != OCV_ERR_NOMEM && read(STDIN_FILENO, rest, sizeof(rest)) > 0)
        continue;
    if (status >= 0 && !ocv_fd_write(STDERR_FILENO, report, slim.report_len))
        return ocv_error_set(err, OCV_ERR_IO, "standard error: %s", strerror(errno));
    return status;
}
