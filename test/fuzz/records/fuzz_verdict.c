/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as variantd's answer about an image: its texts are terminated, and without an answer
 * they are empty. */
#include "lib/internal/records/daemon.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_verdict_answer said;
    struct ocv_error err = {0};
    memset(&said, 0xff, sizeof(said));
    int status = ocv_verdict_parse(data, size, &said, &err);
    if (!memchr(said.label, '\0', sizeof(said.label)) ||
        !memchr(said.fit, '\0', sizeof(said.fit)) ||
        !memchr(said.reason, '\0', sizeof(said.reason)) || !ocv_verdict_name(said.verdict))
        abort();
    if (status < 0 && (said.verdict != OCV_VERDICT_UNKNOWN || *said.reason || !err.message[0]))
        abort();
    return 0;
}
