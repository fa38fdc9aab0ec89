/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A node's properties by the parser, then a tree that has them through the whole provider: what
 * comes out are properties, and a node is a device exactly when the parser says so. Bytes ff
 * separate the properties, those of a memory bank, amdgpu's parameter and the version of ROCm. */
#include "lib/probe/providers/amd/amd.h"
#include "lib/probe/providers/gpu.h"
#include "ocivariant/property.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE "sys/class/kfd/kfd/topology/nodes/0"
#define PARTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[PARTS] = {NODE "/properties", NODE "/mem_banks/0/properties",
                                         "sys/module/amdgpu/parameters/noretry",
                                         "opt/rocm/.info/version"};

static void make_directories(int root, const char *path)
{
    char directory[256];
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
        mkdirat(root, directory, 0700);
    }
}

static char directory_of_root[] = "/tmp/ocv-fuzz-kfd.XXXXXX";

static void remove_root(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory_of_root);
    if (system(command) != 0)
        fputs("the directory of the fuzzed tree is left\n", stderr);
}

static int open_root(void)
{
    static int root = -1;
    if (root >= 0)
        return root;
    if (!mkdtemp(directory_of_root) || atexit(remove_root) != 0 ||
        (root = open(directory_of_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        abort();
    for (size_t i = 0; i < PARTS; i++)
        make_directories(root, files[i]);
    return root;
}

static void put(int root, const char *path, const uint8_t *bytes, size_t len)
{
    int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        abort();
    close(fd);
}

static void check_values(json_t *holder)
{
    json_t *features = json_object_get(holder, "features");
    for (size_t i = 0; i < json_array_size(features); i++) {
        json_t *values = json_object_get(json_array_get(features, i), "values");
        for (size_t k = 0; k < json_array_size(values); k++) {
            const char *value = json_string_value(json_array_get(values, k));
            if (!value || !ocv_property_value_valid(value, strlen(value)))
                abort();
        }
    }
}

static void check_tree(int root, bool is_device)
{
    struct ocv_error err = {0};
    struct ocv_probe_host host = {.root = root};
    struct ocv_result result = {
        .status = OCV_RESULT_ABSENT, .features = json_array(), .devices = json_array()};
    if (ocv_provider_amd.probe(&host, &result, &err) < 0)
        abort();
    if (json_array_size(result.devices) != is_device ||
        (result.status == OCV_RESULT_OK && !is_device))
        abort();
    json_t *lists = json_pack("{s:O}", "features", result.features);
    check_values(lists);
    for (size_t i = 0; i < json_array_size(result.devices); i++)
        check_values(json_array_get(result.devices, i));
    json_decref(lists);
    json_decref(result.features);
    json_decref(result.devices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    struct ocv_kfd_node node;
    char name[16];
    int root = open_root(), kind = 0;
    for (size_t i = 0; i < PARTS; i++) {
        const uint8_t *stop = at < end ? memchr(at, 0xff, (size_t)(end - at)) : NULL;
        size_t len = (size_t)((stop ? stop : end) - at);
        if (i == 0)
            kind = len ? ocv_kfd_parse((const char *)at, len, &node) : -1;
        put(root, files[i], at, len);
        at = stop ? stop + 1 : end;
    }
    if (kind == 1 && node.target && !ocv_amd_name(node.target, name, sizeof(name)))
        abort();
    check_tree(root, kind == 1);
    return 0;
}
