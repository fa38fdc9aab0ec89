/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of content, from the cache or a program: after being written and read again they are the
 * same. Stacking and deriving never read past the end. */
#include "lib/internal/content/derived.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_one(const void *data, size_t size, struct ocv_content_report *out)
{
    *out = (struct ocv_content_report){0};
    return ocv_content_report_read(data, size, out, NULL) >= 0;
}

static void derive(struct ocv_content_report *report)
{
    static const struct ocv_property given[] = {{"nvidia", "sm_arch", "90_real"},
                                                {"nvidia", "sm_arch", "120_virtual"}};
    static const struct ocv_content_told told[] = {{.cuda = "12.8"},
                                                   {.cuda = "12.8", .given = given, .n_given = 2}};
    for (size_t i = 0; i <= 2; i++) {
        struct ocv_content_derived derived = {0};
        if (ocv_content_derive(report, i ? &told[i - 1] : NULL, &derived, NULL) >= 0)
            ocv_content_derived_free(&derived);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_content_report first, second;
    struct ocv_buffer once, again;
    if (!read_one(data, size, &first))
        return 0;
    ocv_buffer_init(&once, OCV_CONTENT_REPORT_MAX);
    ocv_buffer_init(&again, OCV_CONTENT_REPORT_MAX);
    if (ocv_content_report_write(&first, &once, NULL) < 0 ||
        !read_one(once.data, once.len, &second) ||
        ocv_content_report_write(&second, &again, NULL) < 0 || once.len != again.len ||
        memcmp(once.data, again.data, once.len) != 0)
        abort();
    derive(&second);
    if (ocv_content_report_stack(&first, &second, NULL) >= 0)
        derive(&first);
    ocv_content_report_free(&first);
    ocv_content_report_free(&second);
    ocv_buffer_free(&once);
    ocv_buffer_free(&again);
    return 0;
}
