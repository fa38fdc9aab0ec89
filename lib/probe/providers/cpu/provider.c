/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Providers of the CPU namespaces that follow from the kernel's word (cpu.h): where the facts come
 * from on this host, and the answer as part of a profile. */
#include "lib/base/cleanup.h"
#include "lib/probe/providers/cpu/cpu.h"
#include "lib/probe/providers/gpu.h"

#include <string.h>

static int gather_facts(const struct ocv_cpu *cpu, const struct ocv_probe_host *host,
                        struct ocv_cpuinfo *own, struct ocv_cpu_facts *facts, struct ocv_error *err)
{
    if (host->has_cpuinfo)
        return ocv_cpu_recorded(cpu, &host->cpuinfo, facts)
                   ? OCV_OK
                   : ocv_error_set(err, OCV_ERR_DATA, "/proc/cpuinfo does not describe the CPU");
    bool live = ocv_cpu_live(cpu, facts);
    if (live && !ocv_cpu_thin(cpu, facts))
        return OCV_OK;
    /* the live machine's own /proc/cpuinfo, which is read only where it is needed */
    struct ocv_error *told = live ? NULL : err;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_CPUINFO_MAX);
    int status = ocv_sysroot_read(host->root, "proc/cpuinfo", &text, told);
    if (status == OCV_OK)
        status = ocv_cpuinfo_parse(&text, own, told);
    if (status == OCV_OK && !ocv_cpu_recorded(cpu, own, facts))
        status = ocv_error_set(told, OCV_ERR_UNSUPPORTED,
                               "/proc/cpuinfo describes another architecture than the kernel's");
    return live && status != OCV_ERR_NOMEM ? OCV_OK : status;
}

static int probe_cpu(const struct ocv_cpu *cpu, const struct ocv_probe_host *host,
                     struct ocv_result *result, struct ocv_error *err)
{
    struct ocv_cpu_facts facts = {0};
    struct ocv_cpu_answer answer;
    struct ocv_cpuinfo own = {0};
    if (!host->architecture || strcmp(host->architecture, cpu->architecture) != 0)
        return OCV_OK;
    int status = gather_facts(cpu, host, &own, &facts, err);
    if (status == OCV_OK) {
        ocv_cpu_detect(cpu, &facts, &answer);
        result->status = OCV_RESULT_OK;
        result->source = facts.source;
        result->variant = answer.variant;
        for (size_t i = 0; status == OCV_OK && i < answer.n; i++)
            status = ocv_result_add(result, answer.items[i].feature, answer.items[i].value, err);
    }
    ocv_cpuinfo_free(&own);
    return status;
}

#define PROVIDER(name_)                                                                    \
    static int probe_##name_(const struct ocv_probe_host *host, struct ocv_result *result, \
                             struct ocv_error *err)                                        \
    {                                                                                      \
        return probe_cpu(&ocv_cpu_##name_, host, result, err);                             \
    }                                                                                      \
    const struct provider ocv_provider_##name_ = {.name = #name_,                          \
                                                  .ns = #name_,                            \
                                                  .kind = "builtin",                       \
                                                  .version = "1",                          \
                                                  .cpu = true,                             \
                                                  .probe = probe_##name_}

PROVIDER(aarch64);
PROVIDER(loongarch64);
PROVIDER(ppc64le);
PROVIDER(riscv64);
PROVIDER(s390x);
