/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Libraries such as rocBLAS have a file for each GPU, named for it, and open that of the GPU that
 * is there: such files of one directory are one, as far as a target is concerned. */
#include "lib/internal/content/derived.h"

#include <stdlib.h>
#include <string.h>

/* The directory of such files: the path up to the name, and up to a directory that is named for the
 * GPU ("library/gfx942/x_gfx942.co"). */
static size_t directory_len(const char *path)
{
    size_t n = strlen(path);
    do {
        while (n && path[n - 1] != '/')
            n--;
        n -= n > 0;
        const char *name = memrchr(path, '/', n);
        name = name ? name + 1 : path;
        if (strncmp(name, "gfx", 3) != 0 || name[3] < '0' || name[3] > '9')
            break;
    } while (n);
    return n;
}

static int compare_directories(const char *a, const char *b)
{
    size_t a_len = directory_len(a), b_len = directory_len(b);
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order ? order : a_len < b_len ? -1 : a_len > b_len;
}

/* Sets are together, and within a set files are as in the report. */
static int compare_files(const void *x, const void *y)
{
    const struct ocv_content_file *a = *(const struct ocv_content_file *const *)x;
    const struct ocv_content_file *b = *(const struct ocv_content_file *const *)y;
    bool a_named = ocv_content_is_named(a->path), b_named = ocv_content_is_named(b->path);
    if (a_named != b_named)
        return a_named ? 1 : -1;
    int order = a_named ? compare_directories(a->path, b->path) : 0;
    return order ? order : a < b ? -1 : a > b;
}

int ocv_content_sets(const struct ocv_content_report *report, struct ocv_content_derived *out,
                     struct ocv_error *err)
{
    out->files = calloc(report->n_files + 1, sizeof(*out->files));
    if (!out->files)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < report->n_files; i++)
        if (ocv_content_has_code(&report->files[i].facts, OCV_CONTENT_CUDA_CODE) ||
            ocv_content_has_code(&report->files[i].facts, OCV_CONTENT_HIP_CODE) ||
            ocv_content_has_code(&report->files[i].facts, OCV_CONTENT_SYCL_CODE) ||
            ocv_content_has_code(&report->files[i].facts, OCV_CONTENT_CUDA_IR))
            out->files[out->n_files++] = &report->files[i];
    qsort(out->files, out->n_files, sizeof(*out->files), compare_files);
    return OCV_OK;
}

bool ocv_content_next_set(const struct ocv_content_derived *derived, size_t *at,
                          enum ocv_content_fact fact, const char *value,
                          struct ocv_content_set *out)
{
    *out = (struct ocv_content_set){0};
    while (!out->path && *at < derived->n_files) {
        const char *first = derived->files[*at]->path;
        do {
            const struct ocv_content_file *file = derived->files[(*at)++];
            if (!ocv_content_has_code(&file->facts, fact))
                continue;
            out->path = out->path ? out->path : file->path;
            if (!ocv_content_covers(&file->facts, fact, value))
                continue;
            out->runs = true;
            out->machine = out->machine || ocv_content_machine_code_runs(&file->facts, fact, value);
        } while (*at < derived->n_files && ocv_content_is_named(first) &&
                 ocv_content_is_named(derived->files[*at]->path) &&
                 !compare_directories(first, derived->files[*at]->path));
    }
    return out->path != NULL;
}
