/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/internal/content/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ocv_content_report_free(struct ocv_content_report *report)
{
    for (size_t i = 0; i < report->n_files; i++) {
        free(report->files[i].path);
        ocv_content_facts_free(&report->files[i].facts);
    }
    for (size_t i = 0; i < report->n_texts; i++) {
        free(report->texts[i].path);
        free(report->texts[i].text);
    }
    for (size_t i = 0; i < report->n_removed; i++)
        free(report->removed[i]);
    for (size_t i = 0; i < report->n_opaque; i++)
        free(report->opaque[i]);
    free(report->files);
    free(report->texts);
    free(report->removed);
    free(report->opaque);
    free(report->others);
    ocv_content_facts_free(&report->notes);
    *report = (struct ocv_content_report){0};
}

bool ocv_content_is_text(const char *path)
{
    return ocv_text_ends(path, "/torch/version.py") || !strcmp(path, "torch/version.py") ||
           ocv_text_ends(path, ".dist-info/variant.json");
}

/* Count memory that is kept, including the allocator's header of each string. */
static int count_bytes(struct ocv_content_report *report, size_t bytes, struct ocv_error *err)
{
    report->kept += bytes;
    return report->kept <= OCV_CONTENT_KEPT_MAX
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_DATA, "the findings in its files exceed %u MiB",
                               (unsigned)(OCV_CONTENT_KEPT_MAX >> 20));
}

static size_t text_cost(const char *text)
{
    return strlen(text) + 16;
}

static int check_room(size_t n, struct ocv_error *err)
{
    return n < OCV_CONTENT_FILES_MAX
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_DATA, "more than %u files", OCV_CONTENT_FILES_MAX);
}

int ocv_content_report_file(struct ocv_content_report *report, const char *path, int64_t size,
                            struct ocv_content_facts *facts, struct ocv_error *err)
{
    OCV_TRY(check_room(report->n_files + report->n_others, err));
    report->members++;
    ocv_content_sum(&report->bytes, size);
    if (!facts->n) {
        uint64_t *place = ocv_array_grow(&report->others, report->n_others);
        if (!place)
            return ocv_error_nomem(err);
        /* a publisher who makes two paths collide hides a file of that image only */
        *place = ocv_text_hash(path, strlen(path));
        report->n_others++;
        return OCV_OK;
    }
    size_t cost = sizeof(struct ocv_content_file) + text_cost(path);
    for (size_t i = 0; i < facts->n; i++)
        cost += sizeof(*facts->list) + text_cost(facts->list[i].value);
    OCV_TRY(count_bytes(report, cost, err));
    char *copy = strdup(path);
    if (copy)
        ocv_text_clean(copy);
    struct ocv_content_file *file = copy ? ocv_array_grow(&report->files, report->n_files) : NULL;
    if (!file) {
        free(copy);
        return ocv_error_nomem(err);
    }
    *file = (struct ocv_content_file){.path = copy, .size = size, .facts = *facts};
    report->n_files++;
    *facts = (struct ocv_content_facts){0};
    return OCV_OK;
}

int ocv_content_report_add(struct ocv_content_report *report, struct ocv_content_file *file,
                           enum ocv_content_fact fact, const char *value, int64_t bytes,
                           struct ocv_error *err)
{
    size_t had = file->facts.n;
    OCV_TRY(ocv_content_facts_add(&file->facts, fact, value, bytes, 1, err));
    if (file->facts.n == had)
        return OCV_OK;
    return count_bytes(report, sizeof(*file->facts.list) + text_cost(value), err);
}

int ocv_content_report_text(struct ocv_content_report *report, const char *path, const char *text,
                            size_t len, struct ocv_error *err)
{
    OCV_TRY(count_bytes(report, sizeof(*report->texts) + text_cost(path) + len + 16, err));
    char *path_copy = strdup(path), *text_copy = strndup(text, len);
    if (path_copy)
        ocv_text_clean(path_copy);
    if (text_copy) {
        /* as ocv_text_clean, line by line: the ends of lines stay */
        for (char *line = text_copy, *end; line; line = end ? end + 1 : NULL) {
            end = strchr(line, '\n');
            if (end)
                *end = '\0';
            ocv_text_clean(line);
            if (end)
                *end = '\n';
        }
    }
    struct ocv_content_text *place =
        path_copy && text_copy ? ocv_array_grow(&report->texts, report->n_texts) : NULL;
    if (!place) {
        free(path_copy);
        free(text_copy);
        return ocv_error_nomem(err);
    }
    *place = (struct ocv_content_text){path_copy, text_copy};
    report->n_texts++;
    return OCV_OK;
}

/* image-spec layer.md, "Whiteouts" and "Opaque Whiteout". */
int ocv_content_report_whiteout(struct ocv_content_report *report, const char *path,
                                struct ocv_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (strncmp(name, ".wh.", 4) != 0)
        return 0;
    OCV_TRY(check_room(report->n_removed + report->n_opaque, err));
    report->members++;
    bool opaque = !strcmp(name, ".wh..wh..opq");
    char ***list = opaque ? &report->opaque : &report->removed;
    size_t *n = opaque ? &report->n_opaque : &report->n_removed;
    const char *rest = opaque ? "" : name + 4;
    OCV_TRY(count_bytes(report, sizeof(char *) + (size_t)(name - path) + text_cost(rest), err));
    ocv_auto_free char *gone = NULL;
    if (asprintf(&gone, "%.*s%s", (int)(name - path), path, rest) < 0) {
        gone = NULL;
        return ocv_error_nomem(err);
    }
    ocv_text_clean(gone);
    char **place = ocv_array_grow(list, *n);
    if (!place)
        return ocv_error_nomem(err);
    *place = ocv_steal(&gone);
    ++*n;
    return 1;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct ocv_content_file *)a)->path,
                  ((const struct ocv_content_file *)b)->path);
}

void ocv_content_report_sort(struct ocv_content_report *report)
{
    if (report->n_removed)
        qsort(report->removed, report->n_removed, sizeof(char *), ocv_text_order);
    if (report->n_opaque)
        qsort(report->opaque, report->n_opaque, sizeof(char *), ocv_text_order);
    bool sorted = true; /* as what comes from the cache is */
    for (size_t i = 1; i < report->n_others && sorted; i++)
        sorted = report->others[i - 1] <= report->others[i];
    if (!sorted)
        qsort(report->others, report->n_others, sizeof(uint64_t), compare_hashes);
    if (report->n_files)
        qsort(report->files, report->n_files, sizeof(*report->files), compare_files);
}

static bool has_string(char *const *list, size_t n, char *text)
{
    return n && bsearch(&text, list, n, sizeof(*list), ocv_text_order);
}

bool ocv_content_report_names(const struct ocv_content_report *report, char *path)
{
    const struct ocv_content_file wanted = {.path = path};
    uint64_t hash = ocv_text_hash(path, strlen(path));
    return (report->n_files &&
            bsearch(&wanted, report->files, report->n_files, sizeof(wanted), compare_files)) ||
           (report->n_others &&
            bsearch(&hash, report->others, report->n_others, sizeof(hash), compare_hashes));
}

/* Does the sorted layer `upper` hide a path of the layers below? `path` is changed for a moment. */
static bool hides_path(const struct ocv_content_report *upper, char *path)
{
    char nothing[] = "", *end = path;
    bool hidden = has_string(upper->opaque, upper->n_opaque, nothing);
    while (!hidden) {
        /* Is it, or a directory above it, gone? A file may stand where a directory stood. */
        end += strcspn(end, "/");
        char kept = *end;
        *end = '\0';
        hidden = has_string(upper->removed, upper->n_removed, path) ||
                 ocv_content_report_names(upper, path);
        *end = kept;
        if (!kept)
            break;
        /* Is the directory, which ends in a slash, replaced as a whole (an opaque whiteout)? */
        kept = *++end;
        *end = '\0';
        hidden = hidden || has_string(upper->opaque, upper->n_opaque, path);
        *end = kept;
    }
    return hidden;
}

/* A list that has lost elements has not the room that ocv_array_grow counts on. */
static int append_list(void **list, size_t *n, void *more, size_t n_more, size_t size,
                       struct ocv_error *err)
{
    size_t room = 1;
    while (room < *n + n_more)
        room *= 2;
    char *joined = reallocarray(*list, room, size);
    if (!joined)
        return ocv_error_nomem(err);
    if (n_more)
        memcpy(joined + *n * size, more, n_more * size);
    *list = joined;
    *n += n_more;
    return OCV_OK;
}

int ocv_content_report_stack(struct ocv_content_report *below, struct ocv_content_report *upper,
                             struct ocv_error *err)
{
    ocv_content_report_sort(upper);
    size_t kept = 0;
    for (size_t i = 0; i < below->n_files; i++) {
        if (!hides_path(upper, below->files[i].path)) {
            below->files[kept++] = below->files[i];
            continue;
        }
        free(below->files[i].path);
        ocv_content_facts_free(&below->files[i].facts);
    }
    below->n_files = kept;
    kept = 0;
    for (size_t i = 0; i < below->n_texts; i++) {
        if (!hides_path(upper, below->texts[i].path)) {
            below->texts[kept++] = below->texts[i];
            continue;
        }
        free(below->texts[i].path);
        free(below->texts[i].text);
    }
    below->n_texts = kept;
    void *files = below->files, *texts = below->texts;
    OCV_TRY(ocv_content_facts_merge(&below->notes, &upper->notes, err));
    OCV_TRY(append_list(&files, &below->n_files, upper->files, upper->n_files,
                        sizeof(*below->files), err));
    below->files = files;
    upper->n_files = 0;
    OCV_TRY(append_list(&texts, &below->n_texts, upper->texts, upper->n_texts,
                        sizeof(*below->texts), err));
    below->texts = texts;
    upper->n_texts = 0;
    ocv_content_sum(&below->members, upper->members);
    ocv_content_sum(&below->bytes, upper->bytes);
    ocv_content_report_free(upper);
    return OCV_OK;
}
