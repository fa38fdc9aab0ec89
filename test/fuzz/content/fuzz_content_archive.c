/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Archives that are files: zip, or tar. A report made of any can be parsed; one that cannot be read
 * leaves nothing behind, so that the next is read as if it were the first. */
#include "plugins/content/scan.h"
#include "test/fuzz/content/cpu_time.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a directory of two such archives says. */
static int read_twice(struct scan *scan, int fd, struct ocv_error *err)
{
    int status = OCV_OK;
    for (int i = 0; i < 2 && status >= 0; i++) {
        struct ocv_content_facts half = {0};
        if (lseek(fd, 0, SEEK_SET) < 0)
            abort();
        status = scan_archive(scan, fd, i ? "b.whl" : "a.whl", err);
        if (scan->inside || scan->size)
            abort();
        if (status != OCV_ERR_DATA || !scan->refused)
            continue;
        status = ocv_content_end(scan->reader, &half, err);
        ocv_content_facts_free(&half);
    }
    return status;
}

static void check_report(struct ocv_content_report *report)
{
    struct ocv_content_report again = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_CONTENT_REPORT_MAX);
    if (ocv_content_report_write(report, &text, NULL) < 0 ||
        ocv_content_report_read(text.data, text.len, &again, NULL) < 0 ||
        again.n_files != report->n_files || again.n_others != report->n_others)
        abort();
    ocv_content_report_free(&again);
    if (report->n_files % 2 || report->n_others % 2 || report->n_texts % 2)
        abort(); /* the second said something else than the first */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct scan scan = {
        .reader = ocv_content_reader_new(), .what = "an archive", .bytes_max = 1 << 24};
    if (!scan.reader || (fd < 0 && (fd = memfd_create("archive", MFD_CLOEXEC)) < 0) ||
        ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    double began = cpu_time();
    int status = read_twice(&scan, fd, NULL);
    cpu_check(began);
    if (status >= 0)
        check_report(&scan.report);
    ocv_content_report_free(&scan.report);
    ocv_content_reader_free(scan.reader);
    return 0;
}
