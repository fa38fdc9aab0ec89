/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What files say together: the code of a library that was split by kpack is in archives, which may
 * be in other layers. An archive has it if the library's search path leads there, and its table has
 * the library's name. */
#include "lib/internal/content/derived.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX INT64_C(5000000)  /* 100 libraries and archives of 20 GPUs take 200,000 */
#define PATH_LEN_MAX ((size_t)4096) /* what the kernel opens */
#define GPU "@GFXARCH@"

struct join {
    struct ocv_content_report *report;
    struct ocv_content_file **archives; /* by path */
    size_t n;
    int64_t steps;
    size_t had; /* facts of the file that gets some */
};

static bool says(const struct ocv_content_file *file, enum ocv_content_fact fact)
{
    for (size_t i = 0; i < file->facts.n; i++)
        if (file->facts.list[i].fact == fact)
            return true;
    return false;
}

/* Wheels are unpacked into one directory. */
static const char *installed(const char *path)
{
    for (const char *at; (at = strstr(path, ".whl/"));)
        path = at + 5;
    return path;
}

static int compare_archives(const void *a, const void *b)
{
    return strcmp(installed((*(struct ocv_content_file *const *)a)->path),
                  installed((*(struct ocv_content_file *const *)b)->path));
}

/* Add the parts of `path` to out[0, *len); false: it leads out of the root, or is too long. */
static bool add_parts(const char *path, char *out, size_t size, size_t *len)
{
    for (size_t n; *path; path += n + (path[n] == '/')) {
        n = strcspn(path, "/");
        if (!n || (n == 1 && path[0] == '.'))
            continue;
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            if (!*len)
                return false;
            while (*len && out[*len - 1] != '/')
                --*len;
            *len -= *len > 0;
        } else {
            if (*len + n + 2 > size)
                return false;
            if (*len)
                out[(*len)++] = '/';
            memcpy(out + *len, path, n);
            *len += n;
        }
        out[*len] = '\0';
    }
    return true;
}

/* The file gets code that an archive has for a GPU. */
static int add_code(struct join *j, struct ocv_content_file *file, struct ocv_content_finding code,
                    struct ocv_error *err)
{
    char gpu[64];
    size_t len = strcspn(code.value, " ");
    if (len >= sizeof(gpu))
        return OCV_OK;
    memcpy(gpu, code.value, len);
    gpu[len] = '\0';
    OCV_TRY(ocv_content_report_add(j->report, file, OCV_CONTENT_HIP_CODE, gpu, code.bytes, err));
    if (file->facts.n - j->had > OCV_CONTENT_KINDS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: code for more than %u targets", file->path,
                             OCV_CONTENT_KINDS_MAX);
    return OCV_OK;
}

static int follow_path(struct join *j, struct ocv_content_file *library, const char *name,
                       const char *path, struct ocv_error *err)
{
    char pattern[PATH_LEN_MAX];
    size_t len = 0;
    pattern[0] = '\0';
    /* "lib/libx.so" and "../.kpack/x_@GFXARCH@.kpack": ".kpack/x_@GFXARCH@.kpack" */
    if (strlen(library->path) >= PATH_LEN_MAX ||
        (*path != '/' && (!add_parts(installed(library->path), pattern, sizeof(pattern), &len) ||
                          !add_parts("..", pattern, sizeof(pattern), &len))) ||
        !add_parts(path, pattern, sizeof(pattern), &len) || !len)
        return OCV_OK;
    const char *gpu = strstr(pattern, GPU);
    const char *behind = gpu ? gpu + sizeof(GPU) - 1 : "";
    size_t before = gpu ? (size_t)(gpu - pattern) : strlen(pattern), after = strlen(behind);
    size_t low = 0, high = j->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strncmp(installed(j->archives[middle]->path), pattern, before) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < j->n; low++) {
        const char *archive = installed(j->archives[low]->path);
        if (strncmp(archive, pattern, before) != 0)
            break;
        if (++j->steps > STEPS_MAX)
            return ocv_error_set(err, OCV_ERR_DATA,
                                 "more libraries and .kpack archives than a real image has");
        /* Is it the pattern, with a GPU's name in place of the word for it? */
        size_t n = strlen(archive);
        if (gpu ? n <= before + after || strcmp(archive + n - after, behind) != 0 ||
                      memchr(archive + before, '/', n - before - after)
                : archive[before] != '\0')
            continue;
        /* The library gets what that has of it. */
        const struct ocv_content_facts *facts = &j->archives[low]->facts;
        for (size_t i = 0; i < facts->n; i++) {
            const struct ocv_content_finding *it = &facts->list[i];
            const char *of = strchr(it->value, ' ');
            j->steps++;
            if (it->fact == OCV_CONTENT_KPACK_CODE && of && !strcmp(of + 1, name))
                OCV_TRY(add_code(j, library, *it, err));
        }
    }
    return OCV_OK;
}

int ocv_content_join(struct ocv_content_report *report, struct ocv_error *err)
{
    ocv_auto_free struct ocv_content_file **archives = NULL;
    struct join j = {.report = report};
    bool split = false;
    if (!(archives = calloc(report->n_files + 1, sizeof(struct ocv_content_file *))))
        return ocv_error_nomem(err);
    j.archives = archives;
    for (size_t i = 0; i < report->n_files; i++) {
        struct ocv_content_file *file = &report->files[i];
        if (says(file, OCV_CONTENT_KPACK_CODE) && strlen(file->path) < PATH_LEN_MAX)
            archives[j.n++] = file;
        split = split || says(file, OCV_CONTENT_KPACK_NAME);
    }
    if (j.n)
        qsort(archives, j.n, sizeof(struct ocv_content_file *), compare_archives);
    /* A library gets the code that the archives on its search path have of it. Archives without any
     * library are all that there is: they have their own code. */
    for (size_t k = 0; k < report->n_files; k++) {
        struct ocv_content_file *file = &report->files[k];
        const char *name = "";
        bool told = false;
        int status = OCV_OK;
        if (!says(file, split ? OCV_CONTENT_KPACK_NAME : OCV_CONTENT_KPACK_CODE) ||
            says(file, OCV_CONTENT_HIP_CODE)) /* joined before */
            continue;
        j.had = file->facts.n;
        for (size_t i = 0; i < j.had; i++) {
            if (file->facts.list[i].fact == OCV_CONTENT_KPACK_NAME)
                name = file->facts.list[i].value;
            told = told || !strcmp(file->facts.list[i].value, OCV_CONTENT_KPACK_MISSING);
        }
        for (size_t i = 0; i < j.had && status >= 0; i++) {
            struct ocv_content_finding it = file->facts.list[i];
            if (split && it.fact == OCV_CONTENT_KPACK_PATH)
                status = follow_path(&j, file, name, it.value, err);
            else if (!split && it.fact == OCV_CONTENT_KPACK_CODE)
                status = add_code(&j, file, it, err);
        }
        if (split && status >= 0 && !says(file, OCV_CONTENT_HIP_CODE) && !told)
            status = ocv_content_facts_add(&file->facts, OCV_CONTENT_UNSEEN,
                                           OCV_CONTENT_KPACK_MISSING, 0, 1, err);
        ocv_content_facts_sort(&file->facts);
        OCV_TRY(status);
    }
    return OCV_OK;
}
