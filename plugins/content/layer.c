/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of a layer, as a stream, and of an archive that is a file. libarchive reads tar and zip,
 * and decompresses; nothing is written to disk, and archives within the archive are not opened. */
#include "plugins/content/scan.h"

#include "lib/base/cleanup.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int archive_failed(struct scan *scan, struct archive *archive, struct ocv_error *err)
{
    scan->refused = OCV_CONTENT_UNREADABLE;
    const char *why = archive_error_string(archive);
    int status = ocv_error_set(err, OCV_ERR_DATA, "not %s that can be read: %s", scan->what,
                               why ? why : "no reason given");
    /* libarchive crashes on the latter where no format fits */
    if (archive_format(archive) != 0 && archive_read_has_encrypted_entries(archive) > 0)
        ocv_error_hint(err, SCAN_HINT);
    return status;
}

/* Layers of zeros inflate to a thousand times their size; no real image has such layers. Of a zip
 * archive the whole file counts, whose parts are read in any order. */
#define RATIO_FREE (INT64_C(4) << 30)
#define RATIO_MAX 200
static int check_ratio(struct scan *scan, struct archive *archive, int64_t more,
                       struct ocv_error *err)
{
    int64_t inflated = scan->report.bytes - scan->before;
    int64_t read = scan->size ? scan->size : archive_filter_bytes(archive, -1);
    ocv_content_sum(&inflated, more);
    ocv_content_allow(scan->reader, scan->read + read);
    if (inflated <= scan->bytes_max && (inflated <= RATIO_FREE || inflated / RATIO_MAX <= read))
        return OCV_OK;
    scan->refused = OCV_CONTENT_BOMB;
    return ocv_error_set(err, OCV_ERR_DATA, "%s of %lld MiB inflates to more than %lld MiB",
                         scan->what, (long long)(read >> 20), (long long)(inflated >> 20));
}

/* `data` NULL: zeros. Skips bytes that the reader does not need. */
static int feed_bytes(struct scan *scan, const unsigned char *data, int64_t len,
                      struct ocv_error *err)
{
    static const unsigned char zeros[4096];
    while (len > 0) {
        int64_t n = ocv_content_unwanted(scan->reader);
        if (n > 0) {
            n = n < len ? n : len;
            ocv_content_skip(scan->reader, n);
        } else {
            n = data || len < (int64_t)sizeof(zeros) ? len : (int64_t)sizeof(zeros);
            OCV_TRY(ocv_content_feed(scan->reader, data ? data : zeros, (size_t)n, err));
        }
        data = data ? data + n : NULL;
        len -= n;
    }
    return OCV_OK;
}

static int read_member(struct scan *scan, struct archive *archive, struct archive_entry *entry,
                       struct ocv_error *err)
{
    const char *path = archive_entry_pathname(entry);
    ocv_auto_free char *joined = NULL;
    if (!path)
        return ocv_content_facts_add(&scan->report.notes, OCV_CONTENT_UNSEEN,
                                     "files whose names are not in UTF-8", 0, 1, err);
    /* "./usr/lib" -> "usr/lib"; nothing is left of the root itself */
    while (path[0] == '/' || (path[0] == '.' && (path[1] == '/' || !path[1])))
        path++;
    if (!*path)
        return OCV_OK;
    int status = scan->size ? 0 : ocv_content_report_whiteout(&scan->report, path, err);
    if (status != 0)
        return status < 0 ? status : OCV_OK;
    if (scan->inside && asprintf(&joined, "%s/%s", scan->inside, path) < 0)
        return ocv_error_nomem(err);
    path = joined ? joined : path;
    if (archive_entry_filetype(entry) == AE_IFDIR)
        return OCV_OK;
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry)) {
        /* a link may replace a file of a lower layer; its own target is a file elsewhere */
        struct ocv_content_facts none = {0};
        return ocv_content_report_file(&scan->report, path, 0, &none, err);
    }
    int64_t size = archive_entry_size(entry);
    if (size < 0) {
        scan->refused = OCV_CONTENT_UNREADABLE;
        return ocv_error_set(err, OCV_ERR_DATA, "%s: a file of negative size", path);
    }
    OCV_TRY(check_ratio(scan, archive, 0, err));
    char text[OCV_CONTENT_TEXT_MAX];
    size_t text_len = 0, len;
    bool is_text = ocv_content_is_text(path);
    const void *data;
    la_int64_t offset, at = 0;
    int got;
    while ((got = archive_read_data_block(archive, &data, &len, &offset)) == ARCHIVE_OK) {
        OCV_TRY(check_ratio(scan, archive, offset, err));
        OCV_TRY(feed_bytes(scan, NULL, offset - at, err)); /* a hole of a sparse file */
        OCV_TRY(feed_bytes(scan, data, (int64_t)len, err));
        at = offset + (la_int64_t)len;
        size_t n = len < sizeof(text) - text_len ? len : sizeof(text) - text_len;
        if (is_text && n)
            memcpy(text + text_len, data, n);
        text_len += is_text ? n : 0;
    }
    if (got != ARCHIVE_EOF)
        return archive_failed(scan, archive, err);
    if (at < size)
        ocv_content_skip(scan->reader, size - at);
    if (at > size) /* a zip archive may say it after the file */
        size = at;
    if (is_text)
        OCV_TRY(ocv_content_report_text(&scan->report, path, text, text_len, err));
    return scan_file(scan, path, size, err);
}

static int read_members(struct scan *scan, struct archive *archive, int fd, struct ocv_error *err)
{
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_format_tar(archive);
    int status = OCV_OK, got = archive_read_open_fd(archive, fd, SCAN_CHUNK);
    struct archive_entry *entry;
    scan->before = scan->report.bytes;
    while (status >= 0 && got == ARCHIVE_OK) {
        got = archive_read_next_header(archive, &entry);
        if (got == ARCHIVE_WARN)
            got = ARCHIVE_OK; /* for example a name in another character set */
        if (got == ARCHIVE_OK)
            status = read_member(scan, archive, entry, err);
    }
    if (status >= 0 && got != ARCHIVE_EOF)
        status = archive_failed(scan, archive, err);
    archive_read_free(archive);
    return status;
}

int scan_layer(struct scan *scan, int fd, struct ocv_error *err)
{
    struct archive *archive = archive_read_new();
    if (!archive)
        return ocv_error_nomem(err);
    archive_read_support_format_empty(archive);
    OCV_TRY(read_members(scan, archive, fd, err)); /* frees the archive */
    /* bytes after the archive are part of the layer's digest, so the writer wants them read */
    ssize_t n;
    while ((n = read(fd, scan->chunk, SCAN_CHUNK)) > 0 || (n < 0 && errno == EINTR))
        continue;
    return n < 0 ? ocv_error_set(err, OCV_ERR_IO, "reading a layer: %s", strerror(errno)) : OCV_OK;
}

int scan_archive(struct scan *scan, int fd, const char *inside, struct ocv_error *err)
{
    struct stat st;
    struct archive *archive = archive_read_new();
    if (!archive)
        return ocv_error_nomem(err);
    archive_read_support_format_zip(archive);
    scan->size = fstat(fd, &st) == 0 && st.st_size > 0 ? st.st_size : 1;
    scan->inside = inside;
    scan->refused = NULL;
    int status = read_members(scan, archive, fd, err);
    scan->read += scan->size;
    scan->size = 0;
    scan->inside = NULL;
    return status;
}
