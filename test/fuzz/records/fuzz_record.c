/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a record and as a kept index: an accepted one names its repository, and its digests
 * are safe as file names. */
#include "lib/internal/records/records_internal.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[OCV_RECORD_NAME_MAX];
    json_t *tree = NULL;
    struct ocv_record record;
    struct ocv_record_index kept = {0};
    struct ocv_error err = {0};
    int status = ocv_record_parse(data, size, &record, &tree, &err);
    if (status == OCV_OK && ocv_record_name(record.child, record.repository, name, &err) < 0)
        abort();
    if (status < 0 && (tree || !err.message[0]))
        abort();
    json_decref(tree);
    err = (struct ocv_error){0};
    status = ocv_record_index_parse(data, size, &kept, &err);
    if (status == OCV_OK &&
        (!kept.index || ocv_record_name(kept.digest, kept.repository, name, &err) < 0))
        abort();
    if (status < 0 && !err.message[0])
        abort();
    ocv_record_index_free(&kept);
    return 0;
}
