/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A --cpuid file: an accepted one has a level, and every leaf can be queried. */
#include "lib/probe/providers/cpu/cpu.h"
#include "lib/probe/providers/gpu.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_error err = {0};
    struct ocv_probe_host host = {.root = -1, .has_cpuid = true, .architecture = "amd64"};
    if (ocv_cpuid_parse("fuzz", (const char *)data, size, &host.cpuid, &err) < 0) {
        if (err.status == OCV_OK || err.message[0] == '\0')
            abort();
        return 0;
    }
    struct ocv_result result = {.features = json_array()};
    if (ocv_provider_x86_64.probe(&host, &result, &err) < 0 || result.status != OCV_RESULT_OK ||
        (result.variant != NULL) != (ocv_x86_64_level(&host.cpuid) > 0))
        abort();
    json_decref(result.features);
    ocv_cpuid_free(&host.cpuid);
    return 0;
}
