/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices that a declarative provider's rules find in directories of sysfs: entries of a class, and
 * platform devices by their device tree node. */
#include "lib/probe/declarative/declarative.h"

#include "lib/base/arena.h"
#include "lib/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 4096u /* of a class, of the platform bus */
#define LINE_MAX_LEN 256
#define COMPATIBLE_MAX 4096u /* bytes of a device tree node's list */

typedef int (*visit)(const struct ocv_matcher *m, const struct ocv_yaml *rule,
                     const char *directory, const char *name);

/* Every entry by name; a directory that is not there has none. */
static int each_entry(const struct ocv_matcher *m, const struct ocv_yaml *rule,
                      const char *directory, visit call)
{
    char **names = NULL;
    size_t n = 0;
    int fd = ocv_sysroot_openat(m->host->root, directory, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (fd < 0)
        return OCV_OK;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return ocv_error_nomem(m->err);
    }
    int status = OCV_OK;
    for (struct dirent *entry; status == OCV_OK && (entry = readdir(dir));) {
        char **name = NULL;
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= 200)
            continue;
        if (n == ENTRIES_MAX)
            status = ocv_error_set(m->err, OCV_ERR_DATA, "more than %u entries in a directory",
                                   ENTRIES_MAX);
        else if (!(name = ocv_array_grow(&names, n)) || !(*name = strdup(entry->d_name)))
            status = ocv_error_nomem(m->err);
        else
            n++;
    }
    closedir(dir);
    if (n > 0)
        qsort(names, n, sizeof(*names), ocv_text_order);
    for (size_t i = 0; i < n; i++) {
        if (status == OCV_OK)
            status = call(m, rule, directory, names[i]);
        free(names[i]);
    }
    free(names);
    return status;
}

/* Last component of a link in a directory of sysfs; false if there is no such link. */
static bool link_name(const struct ocv_matcher *m, const char *dir, const char *link, char *out,
                      size_t size)
{
    char target[512];
    int fd = ocv_sysroot_openat(m->host->root, dir, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return false;
    ssize_t n = readlinkat(fd, link, target, sizeof(target) - 1);
    close(fd);
    if (n <= 0)
        return false;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    if (strlen(name) >= size)
        return false;
    memcpy(out, name, strlen(name) + 1);
    return true;
}

static bool entry_fits(const struct ocv_matcher *m, const struct ocv_yaml *want, const char *dir)
{
    char path[640], line[LINE_MAX_LEN];
    uint32_t id;
    const char *vendor = ocv_yaml_text(want, "vendor");
    if (vendor) {
        snprintf(path, sizeof(path), "%s/device/vendor", dir);
        if (!ocv_sysroot_line(m->host->root, path, line, sizeof(line)) ||
            !ocv_pci_hex(line, 0xffff, &id) || !ocv_match_hex(ocv_yaml_get(want, "vendor"), id, 4))
            return false;
    }
    const struct ocv_yaml *attributes = ocv_yaml_get(want, "attributes");
    for (const struct ocv_yaml *a = attributes ? attributes->first : NULL; a; a = a->next) {
        snprintf(path, sizeof(path), "%s/%s", dir, a->key);
        if (!ocv_sysroot_line(m->host->root, path, line, sizeof(line)))
            return false;
        const struct ocv_yaml *text = a->type == OCV_YAML_SCALAR ? a : a->first;
        while (text && strcasecmp(text->text, line) != 0)
            text = text == a ? NULL : text->next;
        if (!text)
            return false;
    }
    return true;
}

/* What is known of the device already; entries of one class name a device once. */
static struct ocv_declared *find_declared(const struct ocv_matcher *m, const char *id)
{
    for (size_t i = 0; i < m->out->n; i++)
        if (strcasecmp(m->out->items[i].id, id) == 0)
            return &m->out->items[i];
    return NULL;
}

static int match_entry(const struct ocv_matcher *m, const struct ocv_yaml *rule,
                       const char *directory, const char *name)
{
    const struct ocv_yaml *want = ocv_yaml_get(rule, "sysfs");
    const char *attribute = ocv_yaml_text(want, "pci_address");
    char dir[320], path[640], id[LINE_MAX_LEN];
    int status;
    snprintf(dir, sizeof(dir), "%s/%s", directory, name);
    if (!entry_fits(m, want, dir))
        return OCV_OK;
    /* its PCI address: of the attribute that the rule names, else of its parent */
    snprintf(path, sizeof(path), "%s/%s", dir, attribute ? attribute : "");
    bool found = attribute ? ocv_sysroot_line(m->host->root, path, id, sizeof(id))
                           : link_name(m, dir, "device", id, sizeof(id));
    const struct ocv_pci_device *pci = NULL;
    static const char hex[] = "0123456789abcdefABCDEF";
    size_t domain = found ? strspn(id, hex) : 0;
    const char *rest = id + domain; /* DDDD:BB:SS.F, in either case */
    if (domain < 4 || domain > 8 || strlen(rest) != 8 || rest[0] != ':' ||
        strspn(rest + 1, hex) != 2 || rest[3] != ':' || strspn(rest + 4, hex) != 2 ||
        rest[6] != '.' || strspn(rest + 7, hex) != 1)
        snprintf(id, sizeof(id), "%s/%s", directory + strlen("sys/class/"), name);
    else
        for (size_t i = 0; i < m->host->pci.n && !pci; i++)
            if (strcasecmp(m->host->pci.devices[i].address, id) == 0)
                pci = &m->host->pci.devices[i];
    struct ocv_declared *device = find_declared(m, id);
    if (device && device->class_rule)
        return OCV_OK; /* an earlier rule knows it */
    if (!device && !ocv_yaml_get(rule, "set"))
        return OCV_OK; /* without `set` a rule adds to devices that PCI rules found */
    if (!device && pci && (pci->virtual_function || ocv_match_pci_rule(m, pci)))
        return OCV_OK; /* PCI shows a virtual function, or a PCI rule fits it and left it out */
    if (!device) {
        if (!(device = ocv_match_append(m, &status)))
            return status;
        snprintf(device->id, sizeof(device->id), "%s", id);
        snprintf(device->dir, sizeof(device->dir), "%s", dir);
        device->pci = pci;
        device->rule = rule;
    }
    device->class_rule = rule;
    device->lost = device->lost || (pci && ocv_pci_is_lost(m->host->root, pci->address));
    device->driven = !device->lost; /* the entry is the driver's */
    snprintf(device->class_dir, sizeof(device->class_dir), "%s", dir);
    return OCV_OK;
}

static int match_platform(const struct ocv_matcher *m, const struct ocv_yaml *rule,
                          const char *directory, const char *name)
{
    const struct ocv_yaml *want = ocv_yaml_get(ocv_yaml_get(rule, "devicetree"), "compatible");
    char path[640], id[LINE_MAX_LEN], driver[LINE_MAX_LEN] = "";
    bool fits = false;
    int status;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, COMPATIBLE_MAX);
    snprintf(path, sizeof(path), "%s/%s/of_node/compatible", directory, name);
    if (ocv_sysroot_read(m->host->root, path, &text, NULL) < 0)
        return OCV_OK;
    for (size_t at = 0; at < text.len && !fits; at += strlen(text.data + at) + 1)
        fits = ocv_yaml_find(want, text.data + at) >= 0;
    snprintf(id, sizeof(id), "platform/%s", name);
    if (!fits || find_declared(m, id))
        return OCV_OK;
    struct ocv_declared *device = ocv_match_append(m, &status);
    if (!device)
        return status;
    snprintf(device->id, sizeof(device->id), "%s", id);
    snprintf(device->dir, sizeof(device->dir), "%s/%s", directory, name);
    link_name(m, device->dir, "driver", driver, sizeof(driver));
    device->rule = rule;
    device->driven = ocv_match_driver(m, driver);
    return OCV_OK;
}

int ocv_match_directories(const struct ocv_matcher *m, const struct ocv_yaml *rule)
{
    char directory[96];
    const struct ocv_yaml *sysfs = ocv_yaml_get(rule, "sysfs");
    if (sysfs) {
        snprintf(directory, sizeof(directory), "sys/class/%s", ocv_yaml_text(sysfs, "class"));
        return each_entry(m, rule, directory, match_entry);
    }
    if (ocv_yaml_get(rule, "devicetree"))
        return each_entry(m, rule, "sys/bus/platform/devices", match_platform);
    return OCV_OK;
}
