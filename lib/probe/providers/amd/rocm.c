/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The installed ROCm tree. */
#include "lib/base/cleanup.h"
#include "lib/core/resolve/resolve_internal.h"
#include "lib/probe/providers/amd/amd.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION_FILE ".info/version"
#define TREES_MAX 1024u /* entries of /opt that are looked at */
#define MINOR_MAX 99u
#define MAJOR_MAX 99u

static bool read_digits(const char **text, unsigned max, unsigned *out)
{
    unsigned value = 0;
    if (!isdigit((unsigned char)**text))
        return false;
    for (; isdigit((unsigned char)**text); (*text)++) {
        value = value * 10 + (unsigned)(**text - '0');
        if (value > max)
            return false;
    }
    *out = value;
    return true;
}

bool ocv_rocm_parse(const char *text, struct ocv_rocm_version *out)
{
    struct ocv_rocm_version found = {0};
    if (!read_digits(&text, MAJOR_MAX, &found.major) || found.major == 0 || *text++ != '.' ||
        !read_digits(&text, MINOR_MAX, &found.minor))
        return false;
    *out = found;
    return true;
}

static bool read_tree(const struct ocv_probe_host *host, const char *tree,
                      struct ocv_rocm_version *out)
{
    char path[PATH_MAX], line[128];
    while (*tree == '/')
        tree++;
    if ((size_t)snprintf(path, sizeof(path), "%s/" VERSION_FILE, tree) >= sizeof(path))
        return false;
    return ocv_sysroot_line(host->root, path, line, sizeof(line)) && ocv_rocm_parse(line, out);
}

struct ocv_rocm_version ocv_rocm_read(const struct ocv_probe_host *host)
{
    struct ocv_rocm_version best = {0}, found;
    const char *own = ocv_probe_host_variable(host, "ROCM_PATH");
    if ((own && read_tree(host, own, &best)) || read_tree(host, "opt/rocm", &best))
        return best;
    /* the newest of /opt/rocm-6.4.1 and the like, where /opt/rocm does not exist */
    struct dirent *entry;
    ocv_auto_dir DIR *dir = ocv_sysroot_opendir(host->root, "opt");
    for (size_t n = 0; dir && n < TREES_MAX && (entry = readdir(dir)); n++) {
        char tree[NAME_MAX + 8];
        if (strncmp(entry->d_name, "rocm-", 5) != 0)
            continue;
        snprintf(tree, sizeof(tree), "opt/%s", entry->d_name);
        if (read_tree(host, tree, &found) &&
            (found.major > best.major || (found.major == best.major && found.minor > best.minor)))
            best = found;
    }
    return best;
}

struct lower_bounds {
    struct ocv_result *result;
    struct ocv_error *err;
};

static int add_lower_bound(void *data, const char *version)
{
    const struct lower_bounds *to = data;
    return ocv_result_add(to->result, "rocm_version_lower_bound", version, to->err);
}

int ocv_rocm_add(struct ocv_result *result, struct ocv_rocm_version version, struct ocv_error *err)
{
    char text[32];
    struct lower_bounds to = {result, err};
    if (version.major == 0)
        return OCV_OK;
    snprintf(text, sizeof(text), "%u.%u", version.major, version.minor);
    OCV_TRY(ocv_result_add(result, "rocm_version", text, err));
    return ocv_versions_below("amd", "rocm_version_lower_bound", version.major, version.minor,
                              add_lower_bound, &to);
}
