/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaves out shipped files that need not be parsed: most machines have the devices of one or two,
 * and parsing the others would be most of the time of a probe. The build has recorded what devices
 * each file is for.
 *
 * Invariant: a file is skipped only if its bytes are those that the build read, and these are
 * tested; a file that an administrator adds or changes is always parsed and checked. */
#include "gen/providers.h"

#include <stdlib.h>
#include <string.h>

const struct ocv_known_file *ocv_known_file(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof(ocv_known_files) / sizeof(*ocv_known_files); i++)
        if (len && ocv_known_files[i].len == len && memcmp(ocv_known_files[i].text, text, len) == 0)
            return &ocv_known_files[i];
    return NULL;
}

static bool has_vendor(const struct ocv_probe_host *host, const char *vendors)
{
    char *end;
    for (const char *at = vendors; *at; at = end + (*end == ' ')) {
        unsigned long vendor = strtoul(at, &end, 16);
        for (size_t i = 0; i < host->pci.n; i++)
            if (host->pci.devices[i].vendor == vendor)
                return true;
    }
    return false;
}

static bool has_class(const struct ocv_probe_host *host, const char *classes)
{
    for (const char *at = classes; *at;) {
        char path[96];
        int len = (int)strcspn(at, " ");
        snprintf(path, sizeof(path), "sys/class/%.*s", len, at);
        if (ocv_sysroot_directory(host->root, path))
            return true;
        at += len + (at[len] == ' ');
    }
    return false;
}

/* A running kernel with a device tree shows it; a recording may have no more than the devices. */
static bool has_devicetree(const struct ocv_probe_host *host)
{
    return ocv_sysroot_directory(host->root, "sys/bus/platform/devices") &&
           (!host->live || ocv_sysroot_directory(host->root, "sys/firmware/devicetree/base"));
}

bool ocv_known_file_concerns(const struct ocv_known_file *known, const struct ocv_probe_host *host)
{
    return has_vendor(host, known->vendors) || has_class(host, known->classes) ||
           (known->devicetree && has_devicetree(host));
}
