/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees with GPUs of AMD. */
#ifndef OCV_AMD_UTIL_H
#define OCV_AMD_UTIL_H

#include "lib/probe/providers/amd/amd.h"
#include "test/unit/probe/sysroot_util.h"

#define NODES "sys/class/kfd/kfd/topology/nodes"
#define ECC 0x04000000u
/* A node's properties as the kernel writes them; 0 for what the node lacks. */
struct node {
    unsigned target, device, location, domain, cores, capability;
    unsigned long long unique_id;
};

UNUSED static void add_node(unsigned number, struct node node)
{
    char path[128], text[1024];
    snprintf(path, sizeof(path), NODES "/%u/properties", number);
    snprintf(text, sizeof(text),
             "cpu_cores_count %u\nsimd_count %u\nmem_banks_count 1\ncapability %u\n"
             "gfx_target_version %u\nvendor_id %u\ndevice_id %u\nlocation_id %u\ndomain %u\n"
             "unique_id %llu\n",
             node.cores, node.device ? 64u : 0u, node.capability, node.target,
             node.device ? 4098u : 0u, node.device, node.location, node.domain, node.unique_id);
    write_text(path, text);
}

UNUSED static void add_bank(unsigned number, unsigned bank, unsigned heap, const char *size)
{
    char path[128], text[128];
    snprintf(path, sizeof(path), NODES "/%u/mem_banks/%u/properties", number, bank);
    snprintf(text, sizeof(text), "heap_type %u\nsize_in_bytes %s\nflags 0\nwidth 8192\n", heap,
             size);
    write_text(path, text);
}

UNUSED static void add_processor(void)
{
    add_node(0, (struct node){.cores = 32});
}

UNUSED static json_t *amd(void)
{
    return namespace_of(root, "amd");
}

UNUSED static const char *note_of(json_t *ns)
{
    return text_of(ns, "error");
}

#endif
