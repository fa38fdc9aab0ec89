/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Index bytes from a registry, with and without a contradicting Content-Type. */
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ocv_index *index)
{
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        if (e->code == OCV_REJECT_MALFORMED && !*e->digest && e->detail && !e->n_properties)
            continue;
        if (!ocv_digest_wellformed(e->digest) || e->size < 0 || e->position != i)
            abort();
        if (!ocv_index_find_digest(index, e->digest))
            abort();
        for (size_t k = 0; k < e->n_properties; k++) {
            struct ocv_property p = ocv_index_property(index, e->properties[k]);
            if (!ocv_property_value_valid(p.value, strlen(p.value)))
                abort();
            if (k && e->properties[k - 1] >= e->properties[k])
                abort(); /* canonical: ascending, no duplicates */
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_index) typed = NULL;
    struct ocv_error err = {0};
    if (ocv_index_parse(data, size, NULL, &index, &err) == OCV_OK)
        check(index);
    else if (!err.message[0])
        abort();
    if (ocv_index_parse(data, size, OCV_MEDIA_TYPE_INDEX, &typed, &err) == OCV_OK && !index &&
        ocv_index_count(typed))
        abort(); /* a Content-Type can only contradict, or stand for a list that is left out */
    return 0;
}
