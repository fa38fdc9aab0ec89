/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of nvml-query: texts are plain and terminated, numbers are in range, and merging it
 * into a machine gives a valid one. */
#include "lib/probe/providers/nvidia/nvidia.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need_plain(const char *text, size_t size)
{
    size_t len = strnlen(text, size);
    if (len == size)
        abort();
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            abort();
}

static void need_gpu(const struct ocv_nvidia_gpu *gpu)
{
    need_plain(gpu->id, sizeof(gpu->id));
    need_plain(gpu->name, sizeof(gpu->name));
    need_plain(gpu->uuid, sizeof(gpu->uuid));
    need_plain(gpu->virtualization, sizeof(gpu->virtualization));
    need_plain(gpu->mig_uuids, sizeof(gpu->mig_uuids));
    if (gpu->sm > 999 || gpu->mig < -1 || gpu->mig > 1 || gpu->mig_instances > OCV_NVML_MIG_MAX)
        abort();
}

static void merge_into(const struct ocv_nvml_answer *answer, bool tegra)
{
    struct ocv_result result = {.status = OCV_RESULT_ABSENT};
    struct ocv_nvidia_machine m = {.tegra = tegra, .source = "sysfs"};
    m.gpus = calloc(OCV_NVIDIA_GPUS_MAX, sizeof(*m.gpus));
    if (!m.gpus)
        return;
    struct ocv_nvidia_gpu *gpu = ocv_nvidia_add_gpu(&m, tegra ? "tegra" : "0000:3b:00.0");
    gpu->sm = 80;
    gpu->integrated = tegra;
    ocv_nvidia_merge(&m, answer);
    ocv_nvidia_rank(&m);
    ocv_nvidia_set_status(&m, &result);
    if (m.n > OCV_NVIDIA_GPUS_MAX || result.status == OCV_RESULT_ABSENT)
        abort();
    need_plain(m.trouble, sizeof(m.trouble));
    need_plain(result.note, sizeof(result.note));
    for (size_t i = 0; i < m.n; i++)
        need_gpu(&m.gpus[i]);
    free(m.gpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_nvml_answer answer;
    struct ocv_error err = {0};
    if (ocv_nvml_parse((const char *)data, size, &answer, &err) < 0)
        return 0;
    need_plain(answer.driver, sizeof(answer.driver));
    need_plain(answer.hung, sizeof(answer.hung));
    if (answer.n > OCV_NVML_DEVICES_MAX || answer.cuda.major > 99 || answer.cuda.minor > 99)
        abort();
    for (size_t i = 0; i < answer.n; i++)
        need_gpu(&answer.devices[i].gpu);
    merge_into(&answer, false);
    merge_into(&answer, true);
    ocv_nvml_free(&answer);
    return 0;
}
