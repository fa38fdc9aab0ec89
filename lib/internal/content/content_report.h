/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the files of a directory, of a layer or of a whole image say: dev.ocivariant.content/v1.
 *
 * A report of a layer also says what the layer hides of those below it: whiteouts, and the paths of
 * all its other files, as hashes. So reports of layers can be kept, and stacked again at any time.
 *
 * Thread safety: one thread at a time for each report. */
#ifndef OCV_CONTENT_REPORT_H
#define OCV_CONTENT_REPORT_H

#include "lib/internal/content/content.h"
#include "ocivariant/buffer.h"

#include <jansson.h>

#define OCV_CONTENT_SCHEMA "dev.ocivariant.content/v1"
#define OCV_CONTENT_MEDIA_TYPE "application/vnd.dev.ocivariant.content.v1+json"
#define OCV_CONTENT_REPORT_MAX ((size_t)256 << 20) /* bytes of one as JSON */
#define OCV_CONTENT_FILES_MAX 1000000u
#define OCV_CONTENT_TEXT_MAX ((size_t)64 << 10) /* of a file that is kept as text */
#define OCV_CONTENT_KEPT_MAX ((size_t)16 << 20) /* of memory, but for the hashes of other paths */

struct ocv_content_file {
    char *path; /**< from the root, without a slash in front */
    int64_t size;
    struct ocv_content_facts facts;
};

/** A small file whose text is evaluated: the publisher's own, or a framework's. */
struct ocv_content_text {
    char *path, *text;
};

/** Zero-initialise; ocv_content_report_free frees what it holds. */
struct ocv_content_report {
    struct ocv_content_file *files; /**< those with facts */
    size_t n_files;
    struct ocv_content_text *texts;
    size_t n_texts;
    char **removed; /**< paths that are not there any more, with all below them */
    size_t n_removed;
    char **opaque; /**< directories of which nothing of the layers below is seen */
    size_t n_opaque;
    uint64_t *others; /**< hashes of the paths of all other files */
    size_t n_others;
    struct ocv_content_facts notes; /**< what was not looked at, of the whole */
    int64_t members;                /**< files, links and directories that were there */
    int64_t bytes;                  /**< of all files */
    size_t kept;                    /**< memory that was taken, about */
};

void ocv_content_report_free(struct ocv_content_report *report);

/** Is the file one whose text is kept, by its path? */
bool ocv_content_is_text(const char *path);
/** Add a file with what it says; the facts are moved. Without facts only its path is noted. What
 *  goes beyond OCV_CONTENT_KEPT_MAX is OCV_ERR_DATA, here and where texts and whiteouts are added:
 *  20,000 libraries take a third of it. */
int ocv_content_report_file(struct ocv_content_report *report, const char *path, int64_t size,
                            struct ocv_content_facts *facts, struct ocv_error *err);
/** Add a finding to a file that is in the report. */
int ocv_content_report_add(struct ocv_content_report *report, struct ocv_content_file *file,
                           enum ocv_content_fact fact, const char *value, int64_t bytes,
                           struct ocv_error *err);
int ocv_content_report_text(struct ocv_content_report *report, const char *path, const char *text,
                            size_t len, struct ocv_error *err);
/** A member named `.wh.NAME` or `.wh..wh..opq`, as layers have them: 1 if it was one, else 0. */
int ocv_content_report_whiteout(struct ocv_content_report *report, const char *path,
                                struct ocv_error *err);
/** Put the layer `upper` on what is below it: moved out of `upper`, which is empty afterwards. */
int ocv_content_report_stack(struct ocv_content_report *below, struct ocv_content_report *upper,
                             struct ocv_error *err);

/** Sort files by path, and what a layer hides. */
void ocv_content_report_sort(struct ocv_content_report *report);
/** As JSON, sorted by path: the same files give the same bytes. */
int ocv_content_report_write(struct ocv_content_report *report, struct ocv_buffer *out,
                             struct ocv_error *err);
/** Read one; what is not as written by ocv_content_report_write is OCV_ERR_DATA. */
int ocv_content_report_read(const void *bytes, size_t len, struct ocv_content_report *out,
                            struct ocv_error *err);

#define ocv_auto_content_report __attribute__((cleanup(ocv_content_report_free)))

#endif
