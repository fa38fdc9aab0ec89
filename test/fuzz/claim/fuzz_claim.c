/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims for any index. */
#include "lib/internal/claim/claim.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ocv_claim *claim)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (claim->n_alternatives > OCV_CLAIM_ALTERNATIVES_MAX)
        abort();
    for (size_t i = 0; i < claim->n_alternatives; i++) {
        const struct ocv_claim_alternative *a = &claim->alternatives[i];
        size_t n = strlen(a->name);
        if (n == 0 || n >= OCV_CLAIM_NAME_MAX || strspn(a->name, good) != n || a->name[0] == '-' ||
            a->name[n - 1] == '-' || a->n_labels == 0 || !a->driver)
            abort();
        if (a->expression && strlen(a->expression) > OCV_CLAIM_EXPRESSION_MAX)
            abort();
        for (size_t k = 0; k < i; k++)
            if (!strcmp(claim->alternatives[k].name, a->name))
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_claim) claim = NULL;
    struct ocv_error err = {0};
    if (ocv_index_parse(data, size, NULL, &index, &err) < 0)
        return 0;
    if (ocv_claim_new(index, NULL, &claim, &err) == OCV_OK)
        check(claim);
    else if (!err.message[0])
        abort();
    return 0;
}
