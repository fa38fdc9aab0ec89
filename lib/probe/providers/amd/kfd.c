/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The topology that amdgpu's compute part (KFD) shows in sysfs: one node for each processor, each
 * GPU and each partition of a GPU. */
#include "lib/probe/providers/amd/amd.h"

#include "lib/base/arena.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES "sys/class/kfd/kfd/topology/nodes"
#define VENDOR_AMD 4098u /* 0x1002; other vendors' drivers copy this topology */
#define LOCATION_MAX 0xffffu
/* enum of heap types, include/uapi/linux/kfd_sysfs.h */
#define HEAP_PUBLIC 1u
#define HEAP_PRIVATE 2u

/* One decimal number that ends the line; false if it is malformed or too large. */
static bool read_number(const char *text, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9' || value > (UINT64_MAX - (uint64_t)(*text - '0')) / 10)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *out = value;
    return true;
}

struct keyed_value {
    const char *key;
    uint64_t *value;
};

/* Read "KEY NUMBER" lines into the wanted places; others are skipped. False where a wanted key
 * has no number. */
static bool read_lines(const char *text, size_t len, const struct keyed_value *wanted, size_t n)
{
    const char *end = text + len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        const char *blank = memchr(text, ' ', (size_t)(stop - text));
        size_t key = blank ? (size_t)(blank - text) : 0;
        for (size_t i = 0; i < n && blank; i++)
            if (strlen(wanted[i].key) == key && memcmp(wanted[i].key, text, key) == 0 &&
                !read_number(blank + 1, stop, wanted[i].value))
                return false;
        text = newline ? newline + 1 : end;
    }
    return true;
}

int ocv_kfd_parse(const char *text, size_t len, struct ocv_kfd_node *out)
{
    uint64_t cores = 0, simds = 0, target = 0, vendor = 0, device = 0, location = 0, domain = 0;
    uint64_t capability = UINT64_MAX, unique_id = 0; /* it has 32 bits: that many are never read */
    char name[16];
    const struct keyed_value wanted[] = {
        {"cpu_cores_count", &cores}, {"simd_count", &simds},      {"gfx_target_version", &target},
        {"vendor_id", &vendor},      {"device_id", &device},      {"location_id", &location},
        {"domain", &domain},         {"capability", &capability}, {"unique_id", &unique_id},
    };
    if (len > OCV_KFD_PROPERTIES_MAX ||
        !read_lines(text, len, wanted, sizeof(wanted) / sizeof(*wanted)))
        return -1;
    if ((simds == 0 && target == 0) || (vendor != VENDOR_AMD && vendor != 0))
        return 0;
    if (device > UINT16_MAX || location > LOCATION_MAX || domain > UINT32_MAX ||
        target > UINT32_MAX || (target && !ocv_amd_name((unsigned)target, name, sizeof(name))))
        return -1;
    if (target == 0 && device == 0)
        return -1; /* a GPU of no kind */
    *out = (struct ocv_kfd_node){.target = (unsigned)target,
                                 .device = (uint32_t)device,
                                 .domain = (uint32_t)domain,
                                 .location = (uint32_t)location,
                                 .capability = capability == UINT64_MAX ? 0 : capability,
                                 .has_capability = capability != UINT64_MAX,
                                 .unique_id = unique_id,
                                 .with_cpu = cores > 0};
    return 1;
}

static int read_node(const struct ocv_probe_host *host, unsigned node, struct ocv_kfd *out,
                     struct ocv_error *err)
{
    char path[sizeof(NODES) + 32];
    struct ocv_kfd_node found;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_KFD_PROPERTIES_MAX);
    snprintf(path, sizeof(path), NODES "/%u/properties", node);
    int status = ocv_sysroot_read(host->root, path, &text, NULL);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(err);
    /* the kernel answers EPERM for GPUs that the device cgroup keeps from this process */
    int kind = status == OCV_OK && text.len ? ocv_kfd_parse(text.data, text.len, &found) : -1;
    if (status == OCV_ERR_IO)
        out->hidden++;
    else if (kind < 0)
        out->broken++;
    if (kind <= 0)
        return OCV_OK;
    struct ocv_kfd_node *added = ocv_array_grow(&out->nodes, out->n);
    if (!added)
        return ocv_error_nomem(err);
    found.number = node;
    /* memory of the GPU itself; the processor's counts where there is nothing else (integrated) */
    found.memory = 0;
    for (unsigned bank = 0; bank < OCV_KFD_BANKS_MAX; bank++) {
        char bank_path[sizeof(NODES) + 64];
        uint64_t heap = 0, bytes = 0;
        const struct keyed_value wanted[] = {{"heap_type", &heap}, {"size_in_bytes", &bytes}};
        ocv_auto_buffer lines;
        ocv_buffer_init(&lines, OCV_KFD_PROPERTIES_MAX);
        snprintf(bank_path, sizeof(bank_path), NODES "/%u/mem_banks/%u/properties", node, bank);
        if (ocv_sysroot_read(host->root, bank_path, &lines, NULL) < 0)
            break;
        if (lines.len && read_lines(lines.data, lines.len, wanted, 2) &&
            (heap == HEAP_PUBLIC || heap == HEAP_PRIVATE) && bytes <= UINT64_MAX - found.memory)
            found.memory += bytes;
    }
    *added = found;
    out->n++;
    return OCV_OK;
}

static int by_number(const void *a, const void *b)
{
    unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
    return (left > right) - (left < right);
}

int ocv_kfd_read(const struct ocv_probe_host *host, struct ocv_kfd *out, struct ocv_error *err)
{
    unsigned numbers[OCV_KFD_NODES_MAX];
    struct dirent *entry;
    size_t n = 0;
    *out = (struct ocv_kfd){0};
    DIR *dir = ocv_sysroot_opendir(host->root, NODES);
    if (!dir)
        return OCV_OK;
    while (n < OCV_KFD_NODES_MAX && (entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        if (len > 0 && len < 8 && strspn(entry->d_name, "0123456789") == len)
            numbers[n++] = (unsigned)strtoul(entry->d_name, NULL, 10);
    }
    closedir(dir);
    if (n)
        qsort(numbers, n, sizeof(*numbers), by_number);
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = read_node(host, numbers[i], out, err);
    out->present = n > 0;
    if (status < 0)
        ocv_kfd_free(out);
    return status;
}

void ocv_kfd_free(struct ocv_kfd *kfd)
{
    free(kfd->nodes);
    *kfd = (struct ocv_kfd){0};
}
