/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc/cpuinfo of a recorded tree: flags are sorted strings, each can be found, and at most one
 * provider accepts the CPU. */
#include "lib/probe/providers/gpu.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct provider *const providers[] = {
    &ocv_provider_x86_64,  &ocv_provider_aarch64, &ocv_provider_loongarch64,
    &ocv_provider_ppc64le, &ocv_provider_riscv64, &ocv_provider_s390x,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_error err = {0};
    struct ocv_probe_host host = {.root = -1, .has_cpuinfo = true};
    struct ocv_buffer text;
    ocv_buffer_init(&text, OCV_CPUINFO_MAX);
    if (ocv_buffer_append(&text, data, size, &err) < 0)
        abort();
    if (ocv_cpuinfo_parse(&text, &host.cpuinfo, &err) < 0)
        return 0;
    for (size_t i = 0; i < host.cpuinfo.n_flags; i++) {
        if (i > 0 && strcmp(host.cpuinfo.flags[i - 1], host.cpuinfo.flags[i]) > 0)
            abort();
        if (!ocv_cpuinfo_has(&host.cpuinfo, host.cpuinfo.flags[i]))
            abort();
    }
    host.architecture = host.cpuinfo.architecture;
    size_t mine = 0;
    for (size_t i = 0; i < sizeof(providers) / sizeof(*providers); i++) {
        struct ocv_result result = {.status = OCV_RESULT_ABSENT, .features = json_array()};
        if (providers[i]->probe(&host, &result, &err) < 0)
            abort();
        mine += result.status != OCV_RESULT_ABSENT;
        json_decref(result.features);
    }
    if (mine > 1)
        abort();
    ocv_cpuinfo_free(&host.cpuinfo);
    return 0;
}
