/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that overlay mounts need here, chosen like in containerd's overlayfs snapshotter:
 * index=off always (an index forbids a lower directory in two mounts), and user.* attributes in a
 * user namespace, where trusted.* ones cannot be written. */
#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The initial namespace maps every id to itself. */
static bool in_user_namespace(void)
{
    unsigned long inside, outside, n;
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (!map)
        return false; /* a kernel without user namespaces */
    int fields = fscanf(map, "%lu %lu %lu", &inside, &outside, &n); // NOLINT(cert-err34-c)
    fclose(map);
    return fields == 3 && !(inside == 0 && outside == 0 && n == 4294967295UL);
}

static bool kernel_at_least(unsigned major, unsigned minor)
{
    struct utsname name;
    char *end = NULL;
    if (uname(&name) < 0)
        return false;
    unsigned long a = strtoul(name.release, &end, 10);
    unsigned long b = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return a > major || (a == major && b >= minor);
}

/* It may be missing, or backported to an older kernel: only a mount shows. */
static bool userxattr_mounts(const char *root)
{
    static const char *const names[] = {"lower", "upper", "work", "merged"};
    char top[4096], path[4200], options[13000];
    snprintf(top, sizeof(top), "%s/userxattr-XXXXXX", root);
    if (!mkdtemp(top))
        return false;
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", top, names[i]);
        (void)mkdir(path, 0755);
    }
    snprintf(options, sizeof(options),
             "userxattr,lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", top, top, top);
    bool works = mount("overlay", path, "overlay", MS_RDONLY, options) == 0;
    if (works)
        (void)umount2(path, MNT_DETACH);
    (void)snap_tree_remove(AT_FDCWD, top);
    return works;
}

static bool needs_userxattr(const char *root)
{
    struct statfs fs;
    if (!in_user_namespace() || (statfs(root, &fs) == 0 && fs.f_type == TMPFS_MAGIC))
        return false; /* tmpfs may lack user attributes */
    return kernel_at_least(5, 11) || userxattr_mounts(root);
}

size_t snap_overlay_options(const char *root, const char *options[4])
{
    size_t n = 0;
    if (access("/sys/module/overlay/parameters/index", F_OK) == 0)
        options[n++] = "index=off";
    if (needs_userxattr(root))
        options[n++] = "userxattr";
    return n;
}
