/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers: tar, plain or compressed. A report made of any layer can be parsed. */
#include "plugins/content/scan.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_report(struct ocv_content_report *report)
{
    struct ocv_content_report again = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_CONTENT_REPORT_MAX);
    if (ocv_content_report_write(report, &text, NULL) < 0 ||
        ocv_content_report_read(text.data, text.len, &again, NULL) < 0)
        abort();
    if (again.n_files != report->n_files || again.n_others != report->n_others ||
        again.bytes != report->bytes)
        abort();
    ocv_content_report_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ocv_content_reader *reader; /* shared by all inputs */
    static unsigned char *chunk;
    static int fd = -1;
    if (fd < 0 && ((fd = memfd_create("layer", MFD_CLOEXEC)) < 0 ||
                   !(reader = ocv_content_reader_new()) || !(chunk = malloc(SCAN_CHUNK))))
        abort();
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size ||
        lseek(fd, 0, SEEK_SET) < 0)
        abort();
    struct scan scan = {.reader = reader, .chunk = chunk, .bytes_max = 1 << 24};
    if (scan_layer(&scan, fd, NULL) >= 0) {
        check_report(&scan.report);
    } else { /* a file that was cut off must leave no state for the next one */
        struct ocv_content_facts rest = {0};
        if (ocv_content_end(reader, &rest, NULL) < 0)
            abort();
        ocv_content_facts_free(&rest);
    }
    ocv_content_report_free(&scan.report);
    return 0;
}
