/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/node/setup_report.h"
#include "cmd/variantd/common/log.h"
#include "lib/base/file.h"

#include <string.h>

#define REPORT_MAX 1024u /* bytes; the reason is one line of text */

void setup_report_read(const char *path, struct metrics *metrics)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, REPORT_MAX);
    if (!path)
        return;
    int status = ocv_file_read(path, OCV_FILE_REGULAR, &text, &err);
    if (status == OCV_OK && text.data)
        text.data[strcspn(text.data, "\n")] = '\0';
    bool configured = status == OCV_OK && text.data && strcmp(text.data, "configured") == 0;
    if (!configured && status == OCV_OK && text.data)
        log_clean(text.data);
    if (!configured)
        log_line(LOG_LEVEL_WARNING, "no engine of this node asks the mirror: %s",
                 status < 0  ? err.message
                 : text.data ? text.data
                             : "the report is empty");
    metrics_not_configured(metrics, !configured);
}
