/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of a directory, and of the wheels and other archives in it. Only what may have findings is
 * read. */
#include "gen/content-rules.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "plugins/content/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int note_unread(struct scan *scan, struct ocv_error *err)
{
    return ocv_content_facts_add(&scan->report.notes, OCV_CONTENT_UNSEEN,
                                 "files that cannot be read", 0, 1, err);
}

/* A file that cannot be read is reported, and the others are still read. `named`: links are
 * followed, because the user named the path. */
static int read_file(struct scan *scan, const char *access_path, const char *path, int64_t size,
                     bool named, struct ocv_error *err)
{
    ocv_auto_fd int fd =
        open(access_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (named ? 0 : O_NOFOLLOW));
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return note_unread(scan, err);
    int status = OCV_OK;
    if (ocv_content_opens(path)) {
        /* One that is refused is reported, and what comes after it still read. */
        struct ocv_content_facts facts = {0}, half = {0};
        status = scan_archive(scan, fd, path, err);
        if (status != OCV_ERR_DATA || !scan->refused)
            return status < 0 ? ocv_error_prefix(err, "%s", path) : status;
        status = ocv_content_end(scan->reader, &half, err); /* of the member where it ended */
        ocv_content_facts_free(&half);
        if (status >= 0)
            status = ocv_content_facts_add(&facts, OCV_CONTENT_UNSEEN, scan->refused, 0, 1, err);
        if (status >= 0)
            status = ocv_content_report_file(&scan->report, path, size, &facts, err);
        ocv_content_facts_free(&facts);
        return status;
    }
    int64_t at = 0;
    while (at < size) {
        ssize_t n = pread(fd, scan->chunk, SCAN_CHUNK, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = note_unread(scan, err);
        if (n <= 0)
            break;
        OCV_TRY(ocv_content_feed(scan->reader, scan->chunk, (size_t)n, err));
        at += n;
        scan->read += n;
        ocv_content_allow(scan->reader, scan->read);
        int64_t unwanted = ocv_content_unwanted(scan->reader);
        if (unwanted > size - at)
            unwanted = size - at;
        if (unwanted > 0)
            ocv_content_skip(scan->reader, unwanted);
        at += unwanted > 0 ? unwanted : 0;
    }
    if (status < 0)
        return status;
    ssize_t n = ocv_content_is_text(path) ? pread(fd, scan->chunk, OCV_CONTENT_TEXT_MAX, 0) : -1;
    if (n >= 0)
        OCV_TRY(ocv_content_report_text(&scan->report, path, (char *)scan->chunk, (size_t)n, err));
    return scan_file(scan, path, size, err);
}

int scan_tree(struct scan *scan, const char *path, struct ocv_error *err)
{
    char *const roots[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR | FTS_XDEV, NULL);
    int status = tree ? OCV_OK : ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno));
    size_t root = strlen(path);
    for (FTSENT *entry; status >= 0 && (entry = fts_read(tree));) {
        const char *below = entry->fts_path + root;
        below += strspn(below, "/");
        if (entry->fts_level == FTS_ROOTLEVEL &&
            (entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR))
            status = ocv_error_set(err, entry->fts_errno == ENOENT ? OCV_ERR_NOT_FOUND : OCV_ERR_IO,
                                   "%s: %s", path, strerror(entry->fts_errno));
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS)
            status = ocv_content_facts_add(&scan->report.notes, OCV_CONTENT_UNSEEN,
                                           "directories that cannot be read", 0, 1, err);
        else if (entry->fts_info == FTS_F)
            status = read_file(scan, entry->fts_accpath, *below ? below : entry->fts_name,
                               entry->fts_statp->st_size, entry->fts_level == FTS_ROOTLEVEL, err);
    }
    if (tree)
        fts_close(tree);
    return status;
}

/* At the end of a file, adds its findings to the report. */

int scan_file(struct scan *scan, const char *path, int64_t size, struct ocv_error *err)
{
    struct ocv_content_facts facts = {0};
    size_t kept = 0;
    int status = ocv_content_end(scan->reader, &facts, err);
    if (status >= 0 && !(facts.n && facts.list[0].fact == OCV_CONTENT_HIP_CODE))
        status = ocv_content_path(&facts, path, size, err);
    for (size_t i = 0; i < facts.n; i++) {
        const struct ocv_content_finding *it = &facts.list[i];
        /* library names are reported only if they tell what a file was built for */
        bool needed = it->fact == OCV_CONTENT_NEEDED,
             tells = !needed && it->fact != OCV_CONTENT_SONAME;
        for (size_t k = 0;
             needed && !tells && k < sizeof(content_libraries) / sizeof(content_libraries[0]);
             k++) {
            size_t n = strlen(content_libraries[k].name);
            tells = !strncmp(it->value, content_libraries[k].name, n) &&
                    (!it->value[n] || it->value[n] == '.');
        }
        if (tells)
            facts.list[kept++] = facts.list[i];
        else
            free(facts.list[i].value);
    }
    facts.n = kept;
    if (status >= 0)
        status = ocv_content_report_file(&scan->report, path, size, &facts, err);
    ocv_content_facts_free(&facts);
    return status;
}
