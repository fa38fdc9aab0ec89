/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/internal/content/content.h"

#include <stdlib.h>
#include <string.h>

#define FINDINGS_MAX 65536u

static const char *const names[OCV_CONTENT_FACTS] = {
    [OCV_CONTENT_MACHINE] = "machine",
    [OCV_CONTENT_X86_LEVEL] = "x86-level",
    [OCV_CONTENT_NEEDED] = "needed",
    [OCV_CONTENT_SONAME] = "soname",
    [OCV_CONTENT_GLIBC] = "glibc",
    [OCV_CONTENT_GLIBCXX] = "glibcxx",
    [OCV_CONTENT_CUDA_CODE] = "cuda-code",
    [OCV_CONTENT_CUDA_PTX] = "cuda-ptx",
    [OCV_CONTENT_CUDA_IR] = "cuda-ir",
    [OCV_CONTENT_PTX_VERSION] = "ptx-version",
    [OCV_CONTENT_CUDA_COMPAT] = "cuda-compat",
    [OCV_CONTENT_CUDA_EMPTY] = "cuda-empty",
    [OCV_CONTENT_TOOLKIT] = "toolkit",
    [OCV_CONTENT_CUDA_ZSTD] = "cuda-zstd",
    [OCV_CONTENT_HIP_CODE] = "hip-code",
    [OCV_CONTENT_KPACK_NAME] = "kpack-name",
    [OCV_CONTENT_KPACK_PATH] = "kpack-path",
    [OCV_CONTENT_KPACK_CODE] = "kpack-code",
    [OCV_CONTENT_SYCL_CODE] = "sycl-code",
    [OCV_CONTENT_OUTSIDE] = "outside",
    [OCV_CONTENT_HWCAPS] = "hwcaps",
    [OCV_CONTENT_NPU_KERNEL] = "npu-kernel",
    [OCV_CONTENT_DRIVER] = "driver",
    [OCV_CONTENT_COMPILER] = "compiler",
    [OCV_CONTENT_UNSEEN] = "not-looked-at",
};

const char *ocv_content_fact_name(enum ocv_content_fact fact)
{
    return names[fact];
}

enum ocv_content_fact ocv_content_fact_find(const char *name)
{
    enum ocv_content_fact fact = 0;
    while (fact < OCV_CONTENT_FACTS && strcmp(names[fact], name))
        fact++;
    return fact;
}

int ocv_content_facts_add(struct ocv_content_facts *facts, enum ocv_content_fact fact,
                          const char *value, int64_t bytes, int64_t count, struct ocv_error *err)
{
    bool highest_only = fact == OCV_CONTENT_GLIBC || fact == OCV_CONTENT_GLIBCXX;
    struct ocv_content_finding *it = NULL;
    for (size_t i = 0; i < facts->n && !it; i++)
        if (facts->list[i].fact == fact && (highest_only || !strcmp(facts->list[i].value, value)))
            it = &facts->list[i];
    if (it) {
        ocv_content_sum(&it->bytes, bytes);
        ocv_content_sum(&it->count, count);
        if (!highest_only || strverscmp(value, it->value) <= 0)
            return OCV_OK;
        char *higher = strdup(value);
        if (!higher)
            return ocv_error_nomem(err);
        free(it->value);
        it->value = higher;
        return OCV_OK;
    }
    if (facts->n >= FINDINGS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u findings", FINDINGS_MAX);
    char *copy = strdup(value);
    it = copy ? ocv_array_grow(&facts->list, facts->n) : NULL;
    if (!it) {
        free(copy);
        return ocv_error_nomem(err);
    }
    *it = (struct ocv_content_finding){fact, copy, bytes, count};
    facts->n++;
    return OCV_OK;
}

int ocv_content_facts_merge(struct ocv_content_facts *into, const struct ocv_content_facts *from,
                            struct ocv_error *err)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct ocv_content_finding *it = &from->list[i];
        OCV_TRY(ocv_content_facts_add(into, it->fact, it->value, it->bytes, it->count, err));
    }
    return OCV_OK;
}

static int compare_findings(const void *a, const void *b)
{
    const struct ocv_content_finding *x = a;
    const struct ocv_content_finding *y = b;
    if (x->fact != y->fact)
        return x->fact < y->fact ? -1 : 1;
    return strverscmp(x->value, y->value);
}

void ocv_content_facts_sort(struct ocv_content_facts *facts)
{
    if (facts->n)
        qsort(facts->list, facts->n, sizeof(*facts->list), compare_findings);
}

void ocv_content_facts_free(struct ocv_content_facts *facts)
{
    for (size_t i = 0; i < facts->n; i++)
        free(facts->list[i].value);
    free(facts->list);
    *facts = (struct ocv_content_facts){0};
}
