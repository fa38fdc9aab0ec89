/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Reports as JSON. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/encodings.h"
#include "lib/base/format/json.h"
#include "lib/internal/content/content.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define WHAT "report of content"

static void write_facts(struct ocv_json_writer *w, const char *key,
                        const struct ocv_content_facts *facts)
{
    ocv_json_write_open(w, key, '[');
    for (size_t i = 0; i < facts->n; i++) {
        const struct ocv_content_finding *it = &facts->list[i];
        ocv_json_write_open(w, NULL, '{');
        ocv_json_write_string(w, "fact", ocv_content_fact_name(it->fact));
        ocv_json_write_string(w, "value", it->value);
        if (it->bytes)
            ocv_json_write_number(w, "bytes", it->bytes);
        if (it->count != 1)
            ocv_json_write_number(w, "count", it->count);
        ocv_json_write_close(w, '}');
    }
    ocv_json_write_close(w, ']');
}

static void write_strings(struct ocv_json_writer *w, const char *key, char *const *list, size_t n)
{
    if (!n)
        return;
    ocv_json_write_open(w, key, '[');
    for (size_t i = 0; i < n; i++)
        ocv_json_write_string(w, NULL, list[i]);
    ocv_json_write_close(w, ']');
}

int ocv_content_report_write(struct ocv_content_report *report, struct ocv_buffer *out,
                             struct ocv_error *err)
{
    struct ocv_json_writer w = {.out = out, .err = err};
    ocv_content_report_sort(report);
    ocv_content_facts_sort(&report->notes);
    ocv_json_write_open(&w, NULL, '{');
    ocv_json_write_string(&w, "schema", OCV_CONTENT_SCHEMA);
    ocv_json_write_number(&w, "members", report->members);
    ocv_json_write_number(&w, "bytes", report->bytes);
    ocv_json_write_open(&w, "files", '[');
    for (size_t i = 0; i < report->n_files; i++) {
        ocv_json_write_open(&w, NULL, '{');
        ocv_json_write_string(&w, "path", report->files[i].path);
        ocv_json_write_number(&w, "size", report->files[i].size);
        write_facts(&w, "facts", &report->files[i].facts);
        ocv_json_write_close(&w, '}');
    }
    ocv_json_write_close(&w, ']');
    if (report->n_texts)
        ocv_json_write_open(&w, "texts", '[');
    for (size_t i = 0; i < report->n_texts; i++) {
        ocv_json_write_open(&w, NULL, '{');
        ocv_json_write_string(&w, "path", report->texts[i].path);
        ocv_json_write_string(&w, "text", report->texts[i].text);
        ocv_json_write_close(&w, '}');
    }
    if (report->n_texts)
        ocv_json_write_close(&w, ']');
    write_strings(&w, "removed", report->removed, report->n_removed);
    write_strings(&w, "opaque", report->opaque, report->n_opaque);
    if (report->notes.n)
        write_facts(&w, "notes", &report->notes);
    if (report->n_others) {
        ocv_auto_free uint64_t *bytes = malloc(report->n_others * sizeof(uint64_t));
        if (!bytes)
            return ocv_error_nomem(err);
        for (size_t i = 0; i < report->n_others; i++)
            bytes[i] = htole64(report->others[i]);
        ocv_auto_free char *text = ocv_base64_encode(bytes, report->n_others * sizeof(uint64_t));
        if (!text)
            return ocv_error_nomem(err);
        ocv_json_write_string(&w, "others", text);
    }
    ocv_json_write_close(&w, '}');
    return w.status;
}

static int64_t get_number(const json_t *object, const char *key, int64_t otherwise)
{
    const json_t *it = json_object_get(object, key);
    return it ? json_integer_value(it) : otherwise;
}

static int report_malformed(struct ocv_error *err, const char *what)
{
    return ocv_error_set(err, OCV_ERR_DATA, WHAT ": malformed %s", what);
}

static int read_facts(const json_t *list, struct ocv_content_facts *out, struct ocv_error *err)
{
    size_t i;
    json_t *it;
    if (list && !json_is_array(list))
        return report_malformed(err, "facts");
    json_array_foreach(list, i, it)
    {
        const char *name = ocv_json_text(it, "fact");
        const char *value = ocv_json_text(it, "value");
        int64_t bytes = get_number(it, "bytes", 0), count = get_number(it, "count", 1);
        enum ocv_content_fact fact = name ? ocv_content_fact_find(name) : OCV_CONTENT_FACTS;
        if (fact == OCV_CONTENT_FACTS || !value || !*value || bytes < 0 || count < 1 ||
            bytes > INT64_MAX / 4 || count > INT64_MAX / 4)
            return report_malformed(err, "fact");
        OCV_TRY(ocv_content_facts_add(out, fact, value, bytes, count, err));
    }
    return OCV_OK;
}

static int read_strings(const json_t *list, char ***out, size_t *n, struct ocv_error *err)
{
    size_t i;
    json_t *it;
    json_array_foreach(list, i, it)
    {
        if (!json_is_string(it))
            return report_malformed(err, "path");
        char *copy = strdup(json_string_value(it));
        char **place = copy ? ocv_array_grow(out, *n) : NULL;
        if (!place) {
            free(copy);
            return ocv_error_nomem(err);
        }
        *place = copy;
        (*n)++;
    }
    return OCV_OK;
}

int ocv_content_report_read(const void *bytes, size_t len, struct ocv_content_report *out,
                            struct ocv_error *err)
{
    ocv_auto_content_report struct ocv_content_report report = {0};
    ocv_auto_json *root = NULL;
    json_t *it;
    size_t i;
    OCV_TRY(ocv_json_load(WHAT, bytes, len, OCV_CONTENT_REPORT_MAX, &root, err));
    const char *schema = ocv_json_text(root, "schema");
    if (!schema || strcmp(schema, OCV_CONTENT_SCHEMA) != 0)
        return ocv_error_set(err, OCV_ERR_DATA, WHAT ": not of " OCV_CONTENT_SCHEMA);
    int64_t members = get_number(root, "members", 0), size = get_number(root, "bytes", 0);
    if (members < 0 || size < 0)
        return report_malformed(err, "number");
    if (!json_is_array(json_object_get(root, "files")))
        return report_malformed(err, "files");
    json_array_foreach(json_object_get(root, "files"), i, it)
    {
        struct ocv_content_facts facts = {0};
        const char *path = ocv_json_text(it, "path");
        int64_t file_size = get_number(it, "size", -1);
        if (!path || !*path || file_size < 0 || file_size > INT64_MAX / 4)
            return report_malformed(err, "file");
        int status = read_facts(json_object_get(it, "facts"), &facts, err);
        if (status >= 0 && !facts.n)
            status = report_malformed(err, "file: it says nothing");
        if (status >= 0)
            status = ocv_content_report_file(&report, path, file_size, &facts, err);
        ocv_content_facts_free(&facts);
        OCV_TRY(status);
    }
    json_array_foreach(json_object_get(root, "texts"), i, it)
    {
        const char *path = ocv_json_text(it, "path");
        const char *text = ocv_json_text(it, "text");
        if (!path || !text || strlen(text) > OCV_CONTENT_TEXT_MAX)
            return report_malformed(err, "text");
        OCV_TRY(ocv_content_report_text(&report, path, text, strlen(text), err));
    }
    OCV_TRY(
        read_strings(json_object_get(root, "removed"), &report.removed, &report.n_removed, err));
    OCV_TRY(read_strings(json_object_get(root, "opaque"), &report.opaque, &report.n_opaque, err));
    OCV_TRY(read_facts(json_object_get(root, "notes"), &report.notes, err));
    const json_t *others = json_object_get(root, "others");
    if (others) {
        size_t n = 0;
        const char *text = json_string_value(others);
        report.others = (uint64_t *)(void *)(text ? ocv_base64_decode(text, &n) : NULL);
        if (!report.others || n % sizeof(uint64_t) != 0)
            return report_malformed(err, "others");
        report.n_others = n / sizeof(uint64_t);
        for (i = 0; i < report.n_others; i++)
            report.others[i] = le64toh(report.others[i]);
    }
    report.members = members;
    report.bytes = size;
    *out = report;
    report = (struct ocv_content_report){0};
    return OCV_OK;
}
