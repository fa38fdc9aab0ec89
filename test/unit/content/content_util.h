/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files with device code for tests of lib/internal/content: test/data/fuzz/content, made by
 * test/data/content.py. */
#ifndef CONTENT_UTIL_H
#define CONTENT_UTIL_H

#include "lib/base/file.h"
#include "lib/internal/content/content.h"
#include "test/unit/core_util.h"

/* The bytes of a sample; the caller frees the buffer. */
static inline struct ocv_buffer sample(const char *name)
{
    char path[256];
    struct ocv_buffer bytes;
    struct ocv_error err = {0};
    snprintf(path, sizeof(path), "test/data/fuzz/content/%s", name);
    ocv_buffer_init(&bytes, 1 << 20);
    ck_assert_msg(ocv_file_read(path, OCV_FILE_REGULAR, &bytes, &err) == OCV_OK, "%s", err.message);
    return bytes;
}

/* Read bytes in chunks; with `seek` those that say nothing are left out. */
static inline struct ocv_content_facts read_chunks(struct ocv_content_reader *reader,
                                                   const char *data, size_t len, size_t chunk,
                                                   bool seek)
{
    struct ocv_content_facts facts = {0};
    struct ocv_error err = {0};
    for (size_t at = 0; at < len;) {
        size_t n = len - at < chunk ? len - at : chunk;
        ocv_content_allow(reader, (int64_t)(at + n));
        ck_assert_int_eq(ocv_content_feed(reader, data + at, n, &err), OCV_OK);
        at += n;
        int64_t unwanted = seek ? ocv_content_unwanted(reader) : 0;
        if (unwanted > (int64_t)(len - at))
            unwanted = (int64_t)(len - at);
        if (unwanted)
            ocv_content_skip(reader, unwanted);
        at += (size_t)unwanted;
    }
    ck_assert_msg(ocv_content_end(reader, &facts, &err) == OCV_OK, "%s", err.message);
    return facts;
}

/* "FACT VALUE BYTES;" of each finding, without the file's machine. The caller frees it. */
static inline char *facts_text(const struct ocv_content_facts *facts)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < facts->n; i++)
        fprintf(out, "%s %s %lld;", ocv_content_fact_name(facts->list[i].fact),
                facts->list[i].value, (long long)facts->list[i].bytes);
    fclose(out);
    return text;
}

#endif
