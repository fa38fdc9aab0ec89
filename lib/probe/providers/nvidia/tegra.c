/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tegra: the GPU is on no bus, and the branches of its driver do not follow the table for
 * desktops and servers, so the release of Jetson Linux says which CUDA version there is.
 *
 * What makes a Tegra is the device tree, or where there is none sys/devices/soc0/family. GB10 has a
 * family, too ("jep106:0426"), and is none: its GPU is an ordinary PCI device. */
#include "lib/probe/providers/nvidia/nvidia.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX 4096u
#define DRIVER_UNIFIED 580u /* from JetPack 7 on the driver is that of servers */

/* Source: device trees of Jetson Linux. */
static const struct {
    const char *compatible;
    unsigned sm;
} tegras[] = {{"nvidia,tegra264", 110}, {"nvidia,tegra234", 87}, {"nvidia,tegra194", 72},
              {"nvidia,tegra186", 62},  {"nvidia,tegra210", 53}, {"nvidia,tegra124", 32}};

/* Jetson Linux release -> CUDA. Source: NVIDIA's release notes of JetPack 4 to 7 (4.2 and 4.3,
 * which are R32.1 to R32.3, have CUDA 10.0). */
static const struct {
    unsigned release, revision;
    struct ocv_cuda_version cuda;
} l4ts[] = {{39, 0, {13, 2}}, {38, 0, {13, 0}}, {36, 4, {12, 6}}, {36, 0, {12, 2}},
            {35, 0, {11, 4}}, {34, 0, {11, 4}}, {32, 4, {10, 2}}, {32, 0, {10, 0}}};

/* "# R36 (release), REVISION: 4.3, ..." */
static bool read_release(const struct ocv_probe_host *host, struct ocv_nvidia_machine *m)
{
    char line[512];
    if (!ocv_sysroot_line(host->root, "etc/nv_tegra_release", line, sizeof(line)) ||
        strncmp(line, "# R", 3) != 0)
        return false;
    unsigned long release = strtoul(line + 3, NULL, 10);
    const char *at = strstr(line, "REVISION: ");
    unsigned long revision = at ? strtoul(at + strlen("REVISION: "), NULL, 10) : 0;
    for (size_t i = 0; i < sizeof(l4ts) / sizeof(*l4ts); i++)
        if (release > l4ts[i].release ||
            (release == l4ts[i].release && revision >= l4ts[i].revision)) {
            m->cuda = l4ts[i].cuda;
            m->newer = release != l4ts[i].release; /* what came before is the least it has */
            return true;
        }
    return false;
}

void ocv_nvidia_scan_tegra(const struct ocv_probe_host *host, struct ocv_nvidia_machine *m)
{
    char family[32];
    unsigned sm = 0;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, TEXT_MAX);
    bool told = ocv_sysroot_read(host->root, "proc/device-tree/compatible", &text, NULL) == OCV_OK;
    /* the chip by the list of names, each ended by a NUL, that the device tree gives the board */
    for (size_t at = 0; told && !sm && at < text.len; at += strlen(text.data + at) + 1) {
        if (strncmp(text.data + at, "nvidia,tegra", strlen("nvidia,tegra")) != 0)
            continue;
        m->tegra = true;
        for (size_t i = 0; i < sizeof(tegras) / sizeof(*tegras) && !sm; i++)
            if (strcmp(text.data + at, tegras[i].compatible) == 0)
                sm = tegras[i].sm;
    }
    if (!m->tegra &&
        ocv_sysroot_line(host->root, "sys/devices/soc0/family", family, sizeof(family)))
        m->tegra = strncasecmp(family, "tegra", strlen("tegra")) == 0;
    if (!m->tegra)
        return;
    bool on_bus = false, discrete = false;
    for (size_t i = 0; i < m->n; i++) {
        on_bus = on_bus || m->gpus[i].integrated; /* Thor's own GPU is on the bus */
        discrete = discrete || (m->gpus[i].driven && !m->gpus[i].integrated);
    }
    struct ocv_nvidia_gpu *gpu = on_bus ? NULL : ocv_nvidia_add_gpu(m, "tegra");
    if (gpu) {
        gpu->sm = sm;
        gpu->integrated = true;
    }
    m->source = "device-tree";
    if (discrete && m->driver[0])
        return; /* the card's driver is the one for servers */
    if (read_release(host, m)) {
        m->loaded = true; /* its driver, nvgpu, is part of the release's kernel */
    } else if (strtoul(m->driver, NULL, 10) < DRIVER_UNIFIED) {
        m->cuda = (struct ocv_cuda_version){0, 0};
        m->newer = false;
    }
}
