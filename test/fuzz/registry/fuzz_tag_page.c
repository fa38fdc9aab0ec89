/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any page of a list of tags. What is visited is a tag, and is there: visitors name files and
 * requests after it. */
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>

struct visits {
    size_t n, limit;
};

static int count_tag(void *data, const char *tag)
{
    struct visits *visits = data;
    if (!ocv_reference_tag_valid(tag))
        abort();
    return ++visits->n == visits->limit;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct visits all = {0}, some;
    bool listed = ocv_tag_page_read((const char *)data, size, count_tag, &all);
    if (all.n > size / 3) /* "a" */
        abort();
    some = (struct visits){.limit = all.n};
    if (listed && all.n &&
        (ocv_tag_page_read((const char *)data, size, count_tag, &some) || some.n != all.n))
        abort();
    return 0;
}
