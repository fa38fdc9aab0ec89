/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What an ELF file's machine is called: processors as images have them, and devices. */
#include "lib/internal/content/reader/reader.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

static const struct {
    uint16_t number;
    bool processor;
    const char *name;
} machines[] = {
    {EM_X86_64, true, "amd64"},          {EM_AARCH64, true, "arm64"},
    {EM_RISCV, true, "riscv64"},         {EM_PPC64, true, "ppc64le"},
    {EM_LOONGARCH, true, "loong64"},     {EM_CUDA_NUMBER, false, "cuda"},
    {EM_AMDGPU_NUMBER, false, "amdgpu"},
};
#define MACHINES (sizeof(machines) / sizeof(machines[0]))

bool ocv_content_is_processor(const char *machine)
{
    for (size_t i = 0; i < MACHINES; i++)
        if (machines[i].processor && !strcmp(machines[i].name, machine))
            return true;
    return false;
}

const char *ocv_content_machine_name(uint16_t machine, char *buffer, size_t size)
{
    for (size_t i = 0; i < MACHINES; i++)
        if (machines[i].number == machine)
            return machines[i].name;
    snprintf(buffer, size, "elf-%u", machine);
    return buffer;
}
