/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers: tar, plain or compressed. A report made of any layer can be parsed, and none takes more
 * time than its bytes are worth. */
#include "plugins/content/scan.h"
#include "test/fuzz/content/cpu_time.h"

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
    static unsigned char *chunk;
    static int fd = -1;
    if (fd < 0 && ((fd = memfd_create("layer", MFD_CLOEXEC)) < 0 || !(chunk = malloc(SCAN_CHUNK))))
        abort();
    /* one for each layer, as in the program: what it has done counts against the layer's bytes */
    struct ocv_content_reader *reader = ocv_content_reader_new();
    if (!reader)
        abort();
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size ||
        lseek(fd, 0, SEEK_SET) < 0)
        abort();
    struct scan scan = {.reader = reader, .chunk = chunk, .bytes_max = 1 << 24};
    double began = cpu_time();
    int status = scan_layer(&scan, fd, NULL);
    cpu_check(began);
    if (status >= 0)
        check_report(&scan.report);
    ocv_content_report_free(&scan.report);
    ocv_content_reader_free(reader);
    return 0;
}
