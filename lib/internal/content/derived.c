/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/content/derived.h"
#include "lib/base/cleanup.h"

#include "gen/content-rules.h"
#include "lib/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

void ocv_content_derived_free(struct ocv_content_derived *derived)
{
    for (size_t i = 0; i < derived->n_targets; i++)
        free(derived->targets[i].value);
    for (size_t i = 0; i < derived->n_needs; i++)
        free(derived->needs[i].name);
    for (size_t i = 0; i < derived->n_properties; i++)
        free(derived->properties[i]);
    for (size_t i = 0; i < derived->n_base; i++)
        free(derived->base[i]);
    free(derived->targets);
    free(derived->needs);
    free(derived->properties);
    free(derived->base);
    free(derived->files);
    ocv_content_facts_free(&derived->machines);
    *derived = (struct ocv_content_derived){0};
}

void ocv_content_free(struct ocv_content *content)
{
    ocv_content_derived_free(&content->derived);
    ocv_content_report_free(&content->report);
    *content = (struct ocv_content){0};
}

/* "90a" -> 90 and 'a'; "90" -> 90 and NUL. */
static unsigned read_sm(const char *value, char *kind)
{
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    *kind = *end;
    return (unsigned)number;
}

/* https://docs.nvidia.com/cuda/cuda-c-programming-guide/, "Binary Compatibility", "PTX
 * Compatibility" and "Family-Specific Compatibility". */
static bool sm_runs(const struct ocv_content_finding *it, const char *value)
{
    char has_kind, kind;
    unsigned has = read_sm(it->value, &has_kind), wanted = read_sm(value, &kind);
    if (it->fact == OCV_CONTENT_CUDA_PTX && !has_kind)
        return has <= wanted;
    if (it->fact != OCV_CONTENT_CUDA_CODE && it->fact != OCV_CONTENT_CUDA_PTX)
        return false;
    if (has_kind == 'a')
        return has == wanted && (kind == 'a' || has == 90); /* 9.0 has no later minor version */
    if (has_kind == 'f')
        return kind && has / 10 == wanted / 10 && has <= wanted;
    return has / 10 == wanted / 10 && has <= wanted;
}

static bool is_cuda(enum ocv_content_fact fact)
{
    return fact == OCV_CONTENT_CUDA_CODE || fact == OCV_CONTENT_CUDA_PTX;
}

bool ocv_content_has_code(const struct ocv_content_facts *facts, enum ocv_content_fact fact)
{
    for (size_t i = 0; i < facts->n; i++) {
        enum ocv_content_fact it = facts->list[i].fact;
        if (it == fact || (is_cuda(fact) && is_cuda(it)) ||
            (fact == OCV_CONTENT_HIP_CODE && it == OCV_CONTENT_KPACK_NAME))
            return true;
    }
    return false;
}

bool ocv_content_covers(const struct ocv_content_facts *facts, enum ocv_content_fact fact,
                        const char *value)
{
    char kind, has_kind;
    size_t gfx = strcspn(value, ":"); /* "gfx942:xnack-" runs on what "gfx942" names */
    for (size_t i = 0; i < facts->n; i++) {
        const struct ocv_content_finding *it = &facts->list[i];
        if (fact == OCV_CONTENT_CUDA_PTX) {
            /* what a later GPU runs is PTX again */
            if (it->fact == OCV_CONTENT_CUDA_PTX &&
                read_sm(it->value, &has_kind) <= read_sm(value, &kind) && !has_kind)
                return true;
        } else if (is_cuda(fact)
                       ? sm_runs(it, value)
                       : it->fact == OCV_CONTENT_HIP_CODE && strcspn(it->value, ":") == gfx &&
                             !strncmp(it->value, value, gfx)) {
            return true;
        }
    }
    return false;
}

bool ocv_content_machine_code_runs(const struct ocv_content_facts *facts,
                                   enum ocv_content_fact fact, const char *value)
{
    for (size_t i = 0; i < facts->n; i++) {
        const struct ocv_content_facts one = {.list = &facts->list[i], .n = 1};
        if (facts->list[i].fact == fact && ocv_content_covers(&one, fact, value))
            return true;
    }
    return false;
}

static int add_target(struct ocv_content_derived *out, const struct ocv_content_finding *it,
                      struct ocv_error *err)
{
    struct ocv_content_target *target = NULL;
    for (size_t i = 0; i < out->n_targets && !target; i++)
        if (out->targets[i].fact == it->fact && !strcmp(out->targets[i].value, it->value))
            target = &out->targets[i];
    if (!target && out->n_targets == OCV_CONTENT_KINDS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "code for more than %u targets",
                             OCV_CONTENT_KINDS_MAX);
    if (!target) {
        char *value = strdup(it->value);
        target = value ? ocv_array_grow(&out->targets, out->n_targets) : NULL;
        if (!target) {
            free(value);
            return ocv_error_nomem(err);
        }
        target->fact = it->fact;
        target->value = value;
        out->n_targets++;
    }
    ocv_content_sum(&target->bytes, it->bytes);
    target->files++;
    return OCV_OK;
}

static int compare_targets(const void *a, const void *b)
{
    const struct ocv_content_target *x = a, *y = b;
    if (x->fact != y->fact)
        return x->fact < y->fact ? -1 : 1;
    return strverscmp(x->value, y->value);
}

const char *ocv_content_target_name(const struct ocv_content_target *target, char *out, size_t size)
{
    bool cuda = is_cuda(target->fact) || target->fact == OCV_CONTENT_CUDA_IR;
    snprintf(out, size, "%s%s", cuda ? "sm_" : "", target->value);
    return out;
}

static int add_needs(struct ocv_content_derived *out, const char *soname, const char *path,
                     struct ocv_error *err)
{
    const struct content_library *rule = NULL;
    size_t n = 0;
    for (size_t i = 0; i < COUNT(content_libraries) && !rule; i++) {
        n = strlen(content_libraries[i].name);
        if (!strncmp(soname, content_libraries[i].name, n) && (soname[n] == '.' || !soname[n]))
            rule = &content_libraries[i];
    }
    if (!rule)
        return OCV_OK;
    struct ocv_content_needs *needs = NULL;
    for (size_t k = 0; k < out->n_needs && !needs; k++)
        if (!strcmp(out->needs[k].name, soname))
            needs = &out->needs[k];
    if (!needs && out->n_needs == OCV_CONTENT_KINDS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u libraries", OCV_CONTENT_KINDS_MAX);
    if (!needs) {
        char *name = strdup(soname);
        needs = name ? ocv_array_grow(&out->needs, out->n_needs) : NULL;
        if (!needs) {
            free(name);
            return ocv_error_nomem(err);
        }
        needs->rule = rule;
        needs->is = rule->is;
        needs->name = name;
        needs->path = path;
        /* "libcudart.so.11.0" -> "11" */
        const char *version = soname + n + (soname[n] == '.');
        snprintf(needs->version, sizeof(needs->version), "%.*s", (int)strspn(version, "0123456789"),
                 version);
        out->n_needs++;
    }
    needs->files++;
    return OCV_OK;
}

static int read_file(struct ocv_content_derived *out, const struct ocv_content_file *file,
                     struct ocv_error *err)
{
    /* Does the loader open such a file only where the processor has what it needs? */
    bool optional = strstr(file->path, "glibc-hwcaps/") || strstr(file->path, "/haswell/") ||
                    strstr(file->path, "/avx512_1/");
    struct ocv_content_highest *const all[OCV_CONTENT_FACTS] = {
        [OCV_CONTENT_X86_LEVEL] = optional ? NULL : &out->level,
        [OCV_CONTENT_GLIBC] = &out->glibc,
        [OCV_CONTENT_GLIBCXX] = &out->glibcxx,
        [OCV_CONTENT_PTX_VERSION] = &out->ptx,
        [OCV_CONTENT_TOOLKIT] = &out->cubin,
        [OCV_CONTENT_CUDA_ZSTD] = &out->zstd,
    };
    out->cuda_files += ocv_content_has_code(&file->facts, OCV_CONTENT_CUDA_CODE);
    out->hip_files += ocv_content_has_code(&file->facts, OCV_CONTENT_HIP_CODE);
    out->sycl_files += ocv_content_has_code(&file->facts, OCV_CONTENT_SYCL_CODE);
    for (size_t i = 0; i < file->facts.n; i++) {
        const struct ocv_content_finding *it = &file->facts.list[i];
        struct ocv_content_highest *highest = all[it->fact];
        if (is_cuda(it->fact) || it->fact == OCV_CONTENT_HIP_CODE ||
            it->fact == OCV_CONTENT_SYCL_CODE || it->fact == OCV_CONTENT_CUDA_IR)
            OCV_TRY(add_target(out, it, err));
        else if (it->fact == OCV_CONTENT_NEEDED)
            OCV_TRY(add_needs(out, it->value, file->path, err));
        else if (it->fact == OCV_CONTENT_MACHINE)
            OCV_TRY(ocv_content_facts_add(&out->machines, it->fact, it->value, it->bytes, 1, err));
        else if (highest && (!highest->value || strverscmp(it->value, highest->value) > 0))
            *highest = (struct ocv_content_highest){it->value, file->path};
    }
    return OCV_OK;
}

int ocv_content_derive(struct ocv_content_report *report, const struct ocv_content_told *told,
                       struct ocv_content_derived *out, struct ocv_error *err)
{
    *out = (struct ocv_content_derived){0};
    int status = ocv_content_join(report, err);
    for (size_t i = 0; i < report->n_files && status >= 0; i++)
        status = read_file(out, &report->files[i], err);
    if (status >= 0)
        status = ocv_content_sets(report, out, err);
    if (out->n_targets)
        qsort(out->targets, out->n_targets, sizeof(*out->targets), compare_targets);
    for (size_t i = 0; i < out->n_targets; i++) { /* which files do not run there */
        struct ocv_content_target *target = &out->targets[i];
        struct ocv_content_set set;
        for (size_t at = 0; ocv_content_next_set(out, &at, target->fact, target->value, &set);)
            if (!set.runs && (!target->lacking++ || strcmp(set.path, target->without) < 0))
                target->without = set.path;
    }
    ocv_content_facts_sort(&out->machines);
    for (size_t i = 0; out->ptx.value && i < COUNT(content_toolkits) && !out->ptx_toolkit; i++)
        if (!strcmp(content_toolkits[i].ptx, out->ptx.value))
            out->ptx_toolkit = content_toolkits[i].toolkit;
    out->toolkit = out->ptx_toolkit;
    if (out->cubin.value && (!out->toolkit || strverscmp(out->cubin.value, out->toolkit) > 0))
        out->toolkit = out->cubin.value;
    if (status >= 0)
        status = ocv_content_propose(report, told, out, err);
    if (status < 0)
        ocv_content_derived_free(out);
    return status;
}

bool ocv_content_setting(const struct ocv_content_target *target, size_t i, char *out, size_t size)
{
    char value[64];
    size_t seen = 0;
    for (size_t k = 0; k < COUNT(content_settings); k++) {
        const struct content_setting *setting = &content_settings[k];
        if (setting->fact != target->fact || seen++ != i)
            continue;
        snprintf(value, sizeof(value), "%.*s", (int)strcspn(target->value, ":"), target->value);
        size_t digits = strspn(value, "0123456789");
        if (setting->dotted && digits > 1)
            snprintf(out, size, "%s=%.*s.%s", setting->name, (int)digits - 1, value,
                     value + digits - 1);
        else
            snprintf(out, size, "%s=%s", setting->name, value);
        return true;
    }
    return false;
}
