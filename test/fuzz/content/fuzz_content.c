/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files with device code: the same facts are found however the file is split into pieces, and with
 * parts skipped; and a file takes no more time than its bytes are worth. */
#include "lib/internal/content/content.h"
#include "test/fuzz/content/cpu_time.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_in(const uint8_t *data, size_t size, size_t chunk, bool leave_out,
                    struct ocv_content_facts *facts)
{
    static struct ocv_content_reader *reader; /* shared: a file must leave no state */
    if (!reader && !(reader = ocv_content_reader_new()))
        abort();
    ocv_content_allow(reader, INT64_MAX); /* the budget is what read_within_budget looks at */
    for (size_t at = 0; at < size;) {
        size_t n = size - at < chunk ? size - at : chunk;
        if (ocv_content_feed(reader, data + at, n, NULL) < 0)
            break;
        at += n;
        int64_t unwanted = leave_out ? ocv_content_unwanted(reader) : 0;
        if (unwanted > (int64_t)(size - at))
            unwanted = (int64_t)(size - at);
        if (unwanted)
            ocv_content_skip(reader, unwanted);
        at += (size_t)unwanted;
    }
    if (ocv_content_end(reader, facts, NULL) < 0)
        abort();
}

/* As in a layer of nothing else: either it is read, or there is too much to read. */
static void read_within_budget(const uint8_t *data, size_t size)
{
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_content_facts facts = {0};
    if (!reader)
        abort();
    double began = cpu_time();
    ocv_content_allow(reader, (int64_t)size);
    (void)!ocv_content_feed(reader, data, size, NULL);
    (void)!ocv_content_end(reader, &facts, NULL);
    cpu_check(began);
    ocv_content_facts_free(&facts);
    ocv_content_reader_free(reader);
}

static void same(const struct ocv_content_facts *a, const struct ocv_content_facts *b)
{
    if (a->n != b->n)
        abort();
    for (size_t i = 0; i < a->n; i++) {
        const struct ocv_content_finding *x = &a->list[i], *y = &b->list[i];
        if (x->fact != y->fact || strcmp(x->value, y->value) != 0 || x->bytes != y->bytes ||
            x->count != y->count || x->bytes < 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_content_facts whole = {0}, pieces = {0};
    char *path = strndup((const char *)data, size < 200 ? size : 200);
    read_in(data, size, size ? size : 1, false, &whole);
    read_in(data, size, size ? data[0] % 61 + 1 : 1, true, &pieces);
    same(&whole, &pieces);
    read_within_budget(data, size);
    if (path && ocv_content_path(&whole, path, 1, NULL) < 0)
        abort();
    ocv_content_facts_free(&whole);
    ocv_content_facts_free(&pieces);
    free(path);
    return 0;
}
