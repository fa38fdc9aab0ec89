/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any record of a signature: what is taken of it has digests. */
#include "lib/internal/records/records.h"
#include "ocivariant/digest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_trusted trusted;
    struct ocv_error err = {0};
    json_t *tree = NULL;
    int status = ocv_trusted_parse(data, size, &trusted, &tree, &err);
    if (status < 0 && (!*err.message || tree))
        abort();
    if (status == OCV_OK && (!ocv_digest_known(trusted.digest) || !ocv_digest_known(trusted.key) ||
                             !ocv_digest_known(trusted.signature) || !trusted.repository))
        abort();
    json_decref(tree);
    return 0;
}
