/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether this user may use the accelerators. A probe reads sysfs, which everyone may; programs
 * open device nodes. */
#include "cmd/variantctl/probe/probe_table.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first node of each kind. Sources: the drivers' documentation; for /dev/accel Linux,
 * Documentation/accel. */
static const char *const nodes[] = {
    "/dev/nvidiactl", "/dev/nvidia0",      "/dev/kfd",           "/dev/dri/renderD128",
    "/dev/dxg",       "/dev/accel/accel0", "/dev/accel0",        "/dev/hl0",
    "/dev/rbln0",     "/dev/npu0",         "/dev/rngd/npu0mgmt", "/dev/apex_0",
    "/dev/neuron0",   "/dev/davinci0",     "/dev/hailo0",        "/dev/tenstorrent/0",
    "/dev/ipu0",      "/dev/dxrt0",        "/dev/memx0",         "/dev/cambricon_dev0",
    "/dev/xpu0",
};

bool probe_access(const char *sysroot, size_t i, char *out, size_t size)
{
    char path[4096], buffer[1024];
    struct stat st;
    struct group group, *found = NULL;
    out[0] = '\0';
    if (i >= sizeof(nodes) / sizeof(*nodes))
        return false;
    int n = snprintf(path, sizeof(path), "%s%s", sysroot ? sysroot : "", nodes[i]);
    if (n < 0 || (size_t)n >= sizeof(path) || lstat(path, &st) < 0 || !S_ISCHR(st.st_mode) ||
        faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0)
        return true;
    if ((st.st_mode & 0060) == 0060 &&
        getgrgid_r(st.st_gid, &group, buffer, sizeof(buffer), &found) == 0 && found)
        snprintf(out, size, "no permission to open %s: this user is not in group '%s'", nodes[i],
                 group.gr_name);
    else
        snprintf(out, size, "no permission to open %s (mode %04o, owner %u:%u)", nodes[i],
                 (unsigned)st.st_mode & 07777, (unsigned)st.st_uid, (unsigned)st.st_gid);
    return true;
}
