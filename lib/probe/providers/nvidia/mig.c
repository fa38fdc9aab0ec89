/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instances of GPUs in MIG mode, as the driver's files show them:
 * proc/driver/nvidia/capabilities/gpuMINOR/mig/giN/ciM, a directory for every compute instance. The
 * mode itself is not shown, so a GPU in MIG mode without an instance looks like one without MIG. */
#include "lib/probe/providers/nvidia/nvidia.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 64u /* of a directory; a GPU has 7 instances at most */

/* Call `entry` with the number of each directory "PREFIXn". */
static void each_directory(const struct ocv_probe_host *host, const char *path, const char *prefix,
                           void (*entry)(const struct ocv_probe_host *, const char *, unsigned *),
                           unsigned *count)
{
    char below[160];
    struct dirent *found;
    DIR *dir = ocv_sysroot_opendir(host->root, path);
    if (!dir)
        return;
    size_t len = strlen(prefix);
    for (unsigned i = 0; i < ENTRIES_MAX && (found = readdir(dir)); i++) {
        const char *number = found->d_name + len;
        if (strncmp(found->d_name, prefix, len) != 0 || !*number || strlen(number) > 4 ||
            strspn(number, "0123456789") != strlen(number))
            continue;
        snprintf(below, sizeof(below), "%s/%s%.4s", path, prefix, number);
        entry(host, below, count);
    }
    closedir(dir);
}

static void count_one(const struct ocv_probe_host *host, const char *path, unsigned *count)
{
    (void)host;
    (void)path;
    ++*count;
}

static void count_compute(const struct ocv_probe_host *host, const char *path, unsigned *count)
{
    each_directory(host, path, "ci", count_one, count);
}

void ocv_nvidia_scan_mig(const struct ocv_probe_host *host, unsigned minor,
                         struct ocv_nvidia_gpu *gpu)
{
    char path[96];
    unsigned count = 0;
    snprintf(path, sizeof(path), "proc/driver/nvidia/capabilities/gpu%u/mig", minor);
    each_directory(host, path, "gi", count_compute, &count);
    if (count == 0)
        return;
    gpu->mig = 1;
    gpu->mig_instances = count;
}
