/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of the CRI proxy's tables on disk: an accepted row is complete. */
#include "plugins/containerd/cri-proxy/workload/pod_table_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pod_row row;
    if (table_row_parse(data, size, &row, NULL) < 0)
        return 0;
    check(row.reference && row.key && *row.value.user);
    check(ocv_digest_known(row.value.child) && ocv_digest_known(row.value.index));
    check(row.wishes ? row.devices != NULL : *row.uid || *row.seen);
    char *key = table_row_key(&row);
    check(key && strcmp(key, row.key) == 0);
    free(key);
    table_row_free(&row);
    return 0;
}
