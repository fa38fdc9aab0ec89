/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Any bytes as a reference of a library to kpack archives, and as the table of one: what is found
 * can be written into a report, and takes no more time than the bytes are worth. */
#include "lib/internal/content/derived.h"
#include "lib/internal/content/reader/reader.h"
#include "test/fuzz/content/cpu_time.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(const char *value)
{
    if (!*value)
        abort();
    for (const char *c = value; *c; c++)
        if (*c < ' ' || *c > '~')
            abort();
}

/* The library beside an archive whose table has the same bytes behind it. */
static void join(const struct ocv_content_facts *library, const struct ocv_content_facts *archive)
{
    struct ocv_content_report report = {0};
    struct ocv_content_derived derived = {0};
    struct ocv_content_facts facts = {0};
    if (ocv_content_facts_merge(&facts, library, NULL) < 0 ||
        ocv_content_report_file(&report, "lib/lib.so", 1, &facts, NULL) < 0 ||
        ocv_content_facts_merge(&facts, archive, NULL) < 0 ||
        ocv_content_report_file(&report, "lib/x_gfx90a.kpack", 1, &facts, NULL) < 0)
        abort();
    if (ocv_content_derive(&report, NULL, &derived, NULL) >= 0)
        ocv_content_derived_free(&derived);
    ocv_content_report_free(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_content_facts facts = {0}, code = {0};
    if (!reader)
        abort();
    double began = cpu_time();
    int found = ocv_kpack_ref_parse(data, size, &facts, NULL);
    if (found != (facts.n > 1))
        abort();
    for (size_t i = 0; i < facts.n; i++)
        check_value(facts.list[i].value);
    ocv_content_allow(reader, (int64_t)size);
    if (ocv_kpack_table_parse(reader, data, size, NULL) >= 0)
        for (size_t i = 0; i < reader->n_sightings; i++) {
            const struct ocv_content_value *value = &reader->values[reader->sightings[i].value];
            check_value(value->text);
            if (reader->sightings[i].bytes < 0 ||
                ocv_content_facts_add(&code, value->fact, value->text, 1, 1, NULL) < 0)
                abort();
        }
    if (code.n || found)
        join(&facts, &code);
    cpu_check(began);
    ocv_content_facts_free(&facts);
    ocv_content_facts_free(&code);
    ocv_content_reader_free(reader);
    return 0;
}
