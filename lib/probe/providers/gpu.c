/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the providers of GPUs share (see gpu.h). */
#include "lib/probe/providers/gpu.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACKAGES_MAX 4096u /* entries of usr/lib/wsl/drivers */
#define NODES_MAX 64u      /* entries of a device's directory of nodes */

bool ocv_gpu_is_class(uint32_t class_code)
{
    uint32_t class_subclass = class_code >> 8;
    return class_subclass == 0x0300 || class_subclass == 0x0302 || class_subclass == 0x0380 ||
           class_subclass == 0x1200;
}

int ocv_gpu_add_none(json_t *device, const char *feature, struct ocv_error *err)
{
    json_t *features = json_object_get(device, "features");
    if (!features && json_object_set_new(device, "features", features = json_array()) < 0)
        return ocv_error_nomem(err);
    json_t *none = json_pack("{s:s, s:[]}", "name", feature, "values");
    return !none || json_array_append_new(features, none) < 0 ? ocv_error_nomem(err) : OCV_OK;
}

int ocv_gpu_bar(json_t *device, const char *const *features, size_t n, const char *why,
                struct ocv_error *err)
{
    OCV_TRY(ocv_device_attribute(device, "reason", why, err));
    for (size_t i = 0; i < n; i++)
        OCV_TRY(ocv_gpu_add_none(device, features[i], err));
    return OCV_OK;
}

int ocv_gpu_add_once(struct ocv_result *result, const char *feature, const char *value,
                     struct ocv_error *err)
{
    size_t i, k;
    json_t *entry, *have;
    json_array_foreach(result->features, i, entry)
    {
        if (strcmp(ocv_json_text(entry, "name"), feature) != 0)
            continue;
        json_array_foreach(json_object_get(entry, "values"), k, have)
        {
            if (strcmp(json_string_value(have), value) == 0)
                return OCV_OK;
        }
    }
    return ocv_result_add(result, feature, value, err);
}

int ocv_gpu_add_number(json_t *device, const char *key, uint64_t number, struct ocv_error *err)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    return number ? ocv_device_attribute(device, key, text, err) : OCV_OK;
}

int ocv_gpu_mark(json_t *device, size_t index, bool secondary, bool guess, struct ocv_error *err)
{
    if (json_object_set_new(device, "index", json_integer((json_int_t)index)) < 0 ||
        (secondary && json_object_set_new(device, "secondary", json_true()) < 0) ||
        (guess && json_object_set_new(device, "guess", json_true()) < 0))
        return ocv_error_nomem(err);
    return OCV_OK;
}

bool ocv_gpu_node(const struct ocv_probe_host *host, const char *address, const char *class_name,
                  const char *prefix, char *out, size_t size)
{
    char path[96];
    struct dirent *entry;
    bool found = false;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", address, class_name);
    DIR *dir = ocv_sysroot_opendir(host->root, path);
    if (!dir)
        return false;
    for (size_t n = 0; !found && n < NODES_MAX && (entry = readdir(dir)); n++) {
        const char *digits = entry->d_name + strlen(prefix);
        size_t len = strlen(entry->d_name);
        found = strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && len < size &&
                *digits != '\0' && strspn(digits, "0123456789") == strlen(digits);
        if (found)
            memcpy(out, entry->d_name, len + 1);
    }
    closedir(dir);
    return found;
}

bool ocv_gpu_is_windows(const struct ocv_probe_host *host, const char *const *names, size_t n)
{
    struct dirent *entry;
    bool found = false;
    int dxg = ocv_sysroot_openat(host->root, "dev/dxg", O_PATH);
    if (dxg < 0)
        return false;
    close(dxg);
    DIR *dir = ocv_sysroot_opendir(host->root, "usr/lib/wsl/drivers");
    if (!dir)
        return false;
    for (size_t i = 0; !found && i < PACKAGES_MAX && (entry = readdir(dir)); i++)
        for (size_t k = 0; k < n && !found; k++) {
            const char *at = entry->d_name, *name = names[k]; /* # is a digit */
            while (*name && (*name == '#' ? *at >= '0' && *at <= '9' : *at == *name)) {
                at++;
                name++;
            }
            found = !*name;
        }
    closedir(dir);
    return found;
}

enum ocv_gpu_access ocv_gpu_access(const struct ocv_probe_host *host, const char *path)
{
    /* the root is the process's own, so no link of a recording can lead out of it */
    if (!host->live || faccessat(host->root, path, R_OK | W_OK, AT_EACCESS) == 0)
        return OCV_GPU_MAY;
    return errno == ENOENT || errno == ENOTDIR ? OCV_GPU_MISSING : OCV_GPU_MAY_NOT;
}

bool ocv_gpu_number(const struct ocv_probe_host *host, const char *path, uint64_t *out)
{
    char line[24];
    if (!ocv_sysroot_line(host->root, path, line, sizeof(line)) || strlen(line) > 19 ||
        strspn(line, "0123456789") != strlen(line))
        return false;
    *out = strtoull(line, NULL, 10);
    return true;
}

void ocv_gpu_driver_version(const struct ocv_probe_host *host, const char *module, char *out,
                            size_t size)
{
    char path[64], release[64];
    snprintf(path, sizeof(path), "sys/module/%s/version", module);
    out[0] = '\0';
    if (ocv_sysroot_line(host->root, path, out, size))
        return;
    if (ocv_sysroot_line(host->root, "proc/sys/kernel/osrelease", release, sizeof(release)))
        snprintf(out, size, "in-tree, Linux %s", release);
}
