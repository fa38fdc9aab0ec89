/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mount for a snapshot: its directory itself, or an overlay with its parents. */
#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool add_option(struct snap_mount *m, const char *format, ...) OCV_PRINTF(2, 3);
static bool add_option(struct snap_mount *m, const char *format, ...)
{
    va_list args;
    if (m->n_options == sizeof(m->options) / sizeof(*m->options))
        return false;
    va_start(args, format);
    bool added = vasprintf(&m->options[m->n_options], format, args) >= 0;
    va_end(args);
    m->n_options += added;
    return added;
}

static bool make_bind(struct snap_mount *m, const struct snap_overlay *o, int64_t id, bool writable)
{
    m->type = strdup("bind");
    return m->type && asprintf(&m->source, "%s/%" PRId64 "/fs", o->directory, id) >= 0 &&
           add_option(m, writable ? "rw" : "ro") && add_option(m, "rbind");
}

enum grpc_code snap_overlay_mount(const struct snap_overlay *o, const struct snap_chain *chain,
                                  const struct ocv_buffer *labels, struct snap_mount *m,
                                  struct ocv_error *err)
{
    bool ok = true;
    const char *uids = snap_labels_get(labels, LABEL_UIDS);
    const char *gids = snap_labels_get(labels, LABEL_GIDS);
    *m = (struct snap_mount){0};
    if (o->remap_ids && uids)
        ok = add_option(m, "uidmap=%s", uids);
    if (ok && o->remap_ids && gids)
        ok = add_option(m, "gidmap=%s", gids);
    /* A layer that is unpacked beside those below it and gets its parent when it is committed: what
     * it deletes has to stay in it as overlayfs's whiteouts. containerd's applier writes them into
     * the upper directory of an overlay; it mounts nothing. */
    bool beside = chain->kind == SNAP_ACTIVE && snap_labels_get(labels, SNAP_LABEL_PARENT);
    if (ok && chain->n_parents == 0 && !beside) /* overlayfs needs a lower directory */
        ok = make_bind(m, o, chain->id, chain->kind == SNAP_ACTIVE);
    else if (ok && chain->n_parents == 1 &&
             chain->kind == SNAP_VIEW) /* and two of them if read-only */
        ok = make_bind(m, o, chain->parents[0], false);
    else if (ok) {
        ok = (m->type = strdup("overlay")) && (m->source = strdup("overlay"));
        for (size_t i = 0; ok && i < o->n_options; i++)
            ok = add_option(m, "%s", o->options[i]);
        if (ok && chain->kind == SNAP_ACTIVE)
            ok = add_option(m, "workdir=%s/%" PRId64 "/work", o->directory, chain->id) &&
                 add_option(m, "upperdir=%s/%" PRId64 "/fs", o->directory, chain->id);
        ocv_auto_buffer lower;
        ocv_buffer_init(&lower, 8u * 1024 * 1024);
        for (size_t i = 0; ok && i < chain->n_parents; i++)
            ok =
                ocv_buffer_printf(&lower, NULL, "%s%s/%" PRId64 "/fs",
                                  i ? ":" : "lowerdir=", o->directory, chain->parents[i]) == OCV_OK;
        if (ok && chain->n_parents)
            ok = add_option(m, "%s", lower.data);
    }
    if (ok)
        return GRPC_OK;
    snap_mount_free(m);
    return snap_fail(err, GRPC_RESOURCE_EXHAUSTED, "out of memory");
}

enum grpc_code snap_overlay_mounts(struct snap_overlay *o, const char *key, struct snap_mount *out,
                                   struct ocv_error *err)
{
    struct snap_chain chain;
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    enum grpc_code code = snap_meta_chain(o->meta, key, &chain, &labels, err);
    return code == GRPC_OK ? snap_overlay_mount(o, &chain, &labels, out, err) : code;
}

/* Options that overlay mounts need here, chosen like in containerd's overlayfs snapshotter:
 * index=off always (an index forbids a lower directory in two mounts), and user.* attributes in a
 * user namespace, where trusted.* ones cannot be written. */

/* From Linux 5.11 on. It may be backported to an older kernel: only a mount shows. */
static bool has_userxattr(const char *root)
{
    static const char *const names[] = {"lower", "upper", "work", "merged"};
    char top[4096], path[4200], options[13000], *end = NULL;
    struct utsname kernel;
    unsigned long major = uname(&kernel) == 0 ? strtoul(kernel.release, &end, 10) : 0;
    unsigned long minor = end && *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    if (major > 5 || (major == 5 && minor >= 11))
        return true;
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

size_t snap_overlay_options(const char *root, const char *options[4])
{
    size_t n = 0;
    if (access("/sys/module/overlay/parameters/index", F_OK) == 0)
        options[n++] = "index=off";
    struct statfs fs;
    unsigned long inside, outside, length;
    bool nested = false; /* in a user namespace: the initial one maps every id to itself */
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (map) {
        int fields = fscanf(map, "%lu %lu %lu", &inside, &outside, &length); // NOLINT(cert-err34-c)
        fclose(map);
        nested = fields == 3 && !(inside == 0 && outside == 0 && length == 4294967295UL);
    }
    if (nested && !(statfs(root, &fs) == 0 && fs.f_type == TMPFS_MAGIC) && has_userxattr(root))
        options[n++] = "userxattr"; /* tmpfs may lack user attributes */
    return n;
}
