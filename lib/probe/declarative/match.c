/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which devices of the machine a declarative provider's rules mean. Rules are tried in file order;
 * the first that matches a device counts. A device that PCI and a class both know is one device. */
#include "lib/base/cleanup.h"
#include "lib/probe/declarative/declarative.h"

#include "lib/base/arena.h"

#include <stdlib.h>
#include <string.h>

#define LINE_MAX_LEN 256

struct ocv_declared *ocv_match_append(const struct ocv_matcher *m, int *status)
{
    struct ocv_declared_list *list = m->out;
    if (list->n == OCV_DECLARED_DEVICES_MAX) {
        *status =
            ocv_error_set(m->err, OCV_ERR_DATA, "more than %u devices", OCV_DECLARED_DEVICES_MAX);
        return NULL;
    }
    struct ocv_declared *device = ocv_array_grow(&list->items, list->n);
    list->n += device != NULL;
    *status = device ? OCV_OK : ocv_error_nomem(m->err);
    return device;
}

/* Where a file names no driver every one counts that leaves the device to this host: none that
 * holds it for a guest or for a program of its own, and no vfio-pci or variant of it. "*" takes
 * vfio, too: some runtimes drive their device with it. Source: Linux, drivers/pci (pci-stub),
 * drivers/xen (pciback; Xen's tools call it xen-pciback), drivers/uio; DPDK (igb_uio). */
bool ocv_match_driver(const struct ocv_matcher *m, const char *driver)
{
    const struct ocv_yaml *drivers = ocv_yaml_get(m->declaration->tree, "drivers");
    static const char *const holders[] = {"pci-stub", "pciback", "xen-pciback", "uio_pci_generic",
                                          "igb_uio"};
    bool any = *driver != '\0';
    for (size_t i = 0; i < sizeof(holders) / sizeof(*holders); i++)
        any = any && strcmp(driver, holders[i]) != 0;
    if (!drivers)
        return any && !strstr(driver, "vfio");
    return ocv_yaml_find(drivers, driver) >= 0 || (any && ocv_yaml_find(drivers, "*") >= 0);
}

/* A missing member sets no condition. `digits`: of the number, leading zeros included. */
bool ocv_match_hex(const struct ocv_yaml *want, unsigned value, int digits)
{
    char text[16];
    snprintf(text, sizeof(text), "%0*x", digits, value);
    return !want || ocv_yaml_find(want, text) >= 0;
}

/* Virtual functions: `skip` (default: a host's are shares of a device that counts already, a
 * guest's look like devices of their own), `count`, `replace` (they count, their device does not).
 */
static bool shares_count(const struct ocv_matcher *m, const struct ocv_yaml *rule,
                         const struct ocv_pci_device *device)
{
    const char *policy = ocv_yaml_text(rule, "virtual_functions");
    char path[128], line[LINE_MAX_LEN];
    if (device->virtual_function) /* one without the driver is lent to a guest */
        return policy && strcmp(policy, "skip") != 0 && ocv_match_driver(m, device->driver);
    if (!policy || strcmp(policy, "replace") != 0)
        return true;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/sriov_numvfs", device->address);
    return !ocv_sysroot_line(m->host->root, path, line, sizeof(line)) || strcmp(line, "0") == 0;
}

/* The first rule that fits, or NULL. */
const struct ocv_yaml *ocv_match_pci_rule(const struct ocv_matcher *m,
                                          const struct ocv_pci_device *device)
{
    const struct ocv_yaml *rule = ocv_yaml_get(m->declaration->tree, "devices")->first;
    char text[16];
    snprintf(text, sizeof(text), "%06x", device->class_code & 0xffffff);
    for (; rule; rule = rule->next) {
        const struct ocv_yaml *want = ocv_yaml_get(rule, "pci");
        const struct ocv_yaml *driver = ocv_yaml_get(want, "driver");
        /* a class may be its beginning alone */
        const struct ocv_yaml *classes = ocv_yaml_get(want, "class"), *class = classes;
        if (classes && classes->type != OCV_YAML_SCALAR)
            class = classes->first;
        while (class && strncmp(text, class->text, strlen(class->text)) != 0)
            class = class == classes ? NULL : class->next;
        if (want && ocv_match_hex(ocv_yaml_get(want, "vendor"), device->vendor, 4) &&
            ocv_match_hex(ocv_yaml_get(want, "device"), device->device, 4) &&
            ocv_match_hex(ocv_yaml_get(want, "subsystem_vendor"), device->subsystem_vendor, 4) &&
            ocv_match_hex(ocv_yaml_get(want, "subsystem_device"), device->subsystem_device, 4) &&
            ocv_match_hex(ocv_yaml_get(want, "revision"), device->revision, 2) &&
            (!classes || class) && (!driver || ocv_yaml_find(driver, device->driver) >= 0))
            return rule;
    }
    return NULL;
}

/* Devices that count; or, once it is known that none does, those that were split. */
static int match_pci(const struct ocv_matcher *m, bool split)
{
    for (size_t i = 0; i < m->host->pci.n; i++) {
        const struct ocv_pci_device *device = &m->host->pci.devices[i];
        const struct ocv_yaml *rule = ocv_match_pci_rule(m, device);
        int status;
        if (!rule || !(split ? !device->virtual_function : shares_count(m, rule, device)))
            continue;
        struct ocv_declared *found = ocv_match_append(m, &status);
        if (!found)
            return status;
        found->rule = rule;
        found->pci = device;
        found->driven = !split && ocv_match_driver(m, device->driver);
        found->lost = found->driven && ocv_pci_is_lost(m->host->root, device->address);
        found->driven = found->driven && !found->lost;
        found->split = split;
        snprintf(found->id, sizeof(found->id), "%s", device->address);
        snprintf(found->dir, sizeof(found->dir), "sys/bus/pci/devices/%s", device->address);
    }
    return OCV_OK;
}

int ocv_declaration_match(const struct ocv_declaration *declaration,
                          const struct ocv_probe_host *host, struct ocv_declared_list *out,
                          struct ocv_error *err)
{
    const struct ocv_matcher m = {declaration, host, out, err};
    *out = (struct ocv_declared_list){0};
    int status = match_pci(&m, false);
    const struct ocv_yaml *rule = ocv_yaml_get(declaration->tree, "devices")->first;
    for (; status == OCV_OK && rule; rule = rule->next)
        status = ocv_match_directories(&m, rule);
    if (status == OCV_OK && out->n == 0)
        status = match_pci(&m, true);
    if (status < 0) {
        free(out->items);
        *out = (struct ocv_declared_list){0};
    }
    return status;
}
