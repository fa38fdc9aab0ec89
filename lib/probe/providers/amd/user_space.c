/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which ROCm a container may bring. It brings a user space of its own; what the host gives is the
 * kernel driver. AMD's "User and kernel-space support matrix" says which user spaces a release of
 * the driver is for. Its lower ends are firm. Its upper ends are where AMD had tested when the page
 * was written, and move with every ROCm: newer ones come after all that was tested. */
#include "lib/probe/providers/amd/amd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER_PARTS 3

/* Releases of the driver by the version that the module has, oldest first. Versions: packages
 * amdgpu-dkms (6.3.6.60000, 6.8.5.60200, 6.10.5.60300), repo.radeon.com/amdgpu/30.10.2, and AMD's
 * release notes and issues for the others. Ranges: AMD, ROCm installation for Linux, "User and
 * kernel-space support matrix" (September 2025), amdgpu-docs for 30.x; ROCm 7.14's compatibility
 * page names 30.10.0 to 31.40.1. Where no page says a release's own range, the lower end is that of
 * the last release before it that has one. */
static const struct {
    unsigned version[DRIVER_PARTS];
    const char *release;
    struct ocv_rocm_version oldest, tested;
} drivers[] = {
    {{6, 3, 6}, "ROCm 6.0", {5, 6}, {6, 2}},   {{6, 7, 0}, "ROCm 6.1", {5, 7}, {6, 4}},
    {{6, 8, 5}, "ROCm 6.2", {6, 0}, {7, 0}},   {{6, 10, 5}, "ROCm 6.3", {6, 1}, {7, 0}},
    {{6, 12, 12}, "ROCm 6.4", {6, 1}, {7, 0}}, {{6, 14, 14}, "30.10", {6, 2}, {7, 14}},
    {{6, 16, 6}, "30.20", {6, 2}, {7, 14}},    {{6, 16, 13}, "30.30", {6, 3}, {7, 14}},
    {{6, 18, 4}, "31.10", {6, 3}, {7, 14}},
};
#define N_DRIVERS (sizeof(drivers) / sizeof(*drivers))

/* ROCm's minor versions, from the first that is told of to those that are not out yet: there is no
 * 8.x and no 9.x. Source: ROCm's release history. */
static const struct {
    unsigned major, last;
} history[] = {{4, 5}, {5, 7}, {6, 4}, {7, 20}, {10, 20}, {11, 20}, {12, 20}};
#define N_MAJORS (sizeof(history) / sizeof(*history))
#define NEWEST ((struct ocv_rocm_version){10, 0}) /* that was out when this was written */

/* User spaces that do not run on a target with the driver of the kernel. gfx1151: ROCm before 7.2,
 * and TheRock's previews before 7.11, crash with a number of registers that Linux 6.18 and its
 * stable kernels correct (ROCm/TheRock, issues 2505 and 2991). AMD's own driver is not made for it.
 */
static const struct {
    unsigned target;
    struct ocv_rocm_version first, last;
} failing[] = {{110501, {0, 0}, {7, 1}}, {110501, {7, 9}, {7, 10}}};

static int compare_versions(struct ocv_rocm_version a, struct ocv_rocm_version b)
{
    if (a.major != b.major)
        return a.major < b.major ? -1 : 1;
    return a.minor < b.minor ? -1 : a.minor > b.minor;
}

struct ocv_amd_driver ocv_amd_driver_of(const char *version)
{
    struct ocv_amd_driver found = {.tested = NEWEST, .guess = true};
    unsigned parts[DRIVER_PARTS];
    /* "6.14.14": numbers of at most four digits, with dots */
    for (size_t i = 0; i < DRIVER_PARTS; i++) {
        size_t len = version ? strspn(version, "0123456789") : 0;
        if (len == 0 || len > 4 || version[len] != (i + 1 < DRIVER_PARTS ? '.' : '\0'))
            return found;
        parts[i] = (unsigned)strtoul(version, NULL, 10);
        version += len + 1;
    }
    found.own = true;
    found.tested = drivers[0].tested; /* of one that is older than the table */
    for (size_t i = 0; i < N_DRIVERS; i++) {
        int order = 0;
        for (size_t k = 0; k < DRIVER_PARTS && order == 0; k++)
            order = (parts[k] > drivers[i].version[k]) - (parts[k] < drivers[i].version[k]);
        if (order < 0)
            break;
        found.release = drivers[i].release;
        found.oldest = drivers[i].oldest;
        found.tested = i + 1 == N_DRIVERS && order > 0 ? NEWEST : drivers[i].tested;
        found.guess = order != 0;
    }
    return found;
}

struct ocv_amd_driver ocv_amd_driver(const struct ocv_probe_host *host)
{
    char line[64];
    bool said = ocv_sysroot_line(host->root, "sys/module/amdgpu/version", line, sizeof(line));
    return ocv_amd_driver_of(said ? line : NULL);
}

static bool fails_with(const struct ocv_amd_driver *driver, unsigned target,
                       struct ocv_rocm_version version)
{
    for (size_t i = 0; i < sizeof(failing) / sizeof(*failing) && !driver->own; i++)
        if (failing[i].target == target && compare_versions(version, failing[i].first) >= 0 &&
            compare_versions(version, failing[i].last) <= 0)
            return true;
    return false;
}

bool ocv_amd_bounded(const struct ocv_amd_driver *driver, unsigned target)
{
    for (size_t i = 0; i < sizeof(failing) / sizeof(*failing) && !driver->own; i++)
        if (failing[i].target == target)
            return true;
    return false;
}

size_t ocv_amd_user_spaces(const struct ocv_amd_driver *driver, unsigned target,
                           struct ocv_rocm_version out[OCV_AMD_USER_SPACES_MAX])
{
    size_t n = 0;
    for (size_t i = N_MAJORS; i-- > 0;) /* tested: newest first */
        for (unsigned minor = history[i].last + 1; minor-- > 0;) {
            struct ocv_rocm_version v = {history[i].major, minor};
            if (compare_versions(v, driver->oldest) >= 0 &&
                compare_versions(v, driver->tested) <= 0 && !fails_with(driver, target, v) &&
                n < OCV_AMD_USER_SPACES_MAX)
                out[n++] = v;
        }
    for (size_t i = 0; i < N_MAJORS; i++) /* newer ones: the nearest first */
        for (unsigned minor = 0; minor <= history[i].last; minor++) {
            struct ocv_rocm_version v = {history[i].major, minor};
            if (compare_versions(v, driver->tested) > 0 && !fails_with(driver, target, v) &&
                n < OCV_AMD_USER_SPACES_MAX)
                out[n++] = v;
        }
    return n;
}
