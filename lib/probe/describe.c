/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What only people read of PCI devices: names from a list of names, ids, the kernel's driver, and
 * accelerators that no provider knows. The list is 1.3 MB of text, so it is opened when the first
 * name is wanted, and not at all for a profile that programs read. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/probe/host/host.h"
#include "lib/probe/pci/pci_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OTHERS_MAX 256u /* accelerators without a provider that are listed */

struct describer {
    const char *datadir;
    struct ocv_libpci *names;
    bool tried;
};

static int describe_device(struct describer *d, const struct ocv_pci_device *pci, json_t *device,
                           struct ocv_error *err)
{
    char text[160], path[4096];
    bool nameless = !json_object_get(device, "name");
    if (nameless && !d->tried) {
        snprintf(path, sizeof(path), "%s/pci.ids", d->datadir);
        bool own = access(path, R_OK) == 0;
        d->tried = true;
        if (ocv_libpci_open(&d->names, true, own ? path : NULL, NULL) < 0)
            d->names = NULL;
    }
    /* nothing knows the ids, or libpci or its list is not installed: a name is a nicety */
    if (nameless && d->names &&
        ocv_libpci_name(d->names, pci->vendor, pci->device, text, sizeof(text)))
        (void)json_object_set_new(device, "name", json_string(text)); /* not UTF-8: no name */
    snprintf(text, sizeof(text), "%04x:%04x", pci->vendor, pci->device);
    if (json_object_set_new(device, "pci_id", json_string(text)) < 0 ||
        json_object_set_new(device, "kernel_driver", json_string(pci->driver)) < 0)
        return ocv_error_nomem(err);
    return OCV_OK;
}

static int describe_all(struct describer *d, const struct ocv_pci_list *list, json_t *profile,
                        bool *claimed, struct ocv_error *err)
{
    size_t i, k;
    json_t *ns, *device, *others = json_array();
    if (json_object_set_new(profile, "other_devices", others) < 0)
        return ocv_error_nomem(err);
    json_array_foreach(json_object_get(profile, "namespaces"), i, ns)
    {
        json_array_foreach(json_object_get(ns, "devices"), k, device)
        {
            const char *id = ocv_json_text(device, "id");
            const struct ocv_pci_device *pci = id ? ocv_pci_find(list, id) : NULL;
            if (!pci)
                continue;
            claimed[pci - list->devices] = true;
            OCV_TRY(describe_device(d, pci, device, err));
        }
    }
    for (i = 0; i < list->n; i++) {
        const struct ocv_pci_device *pci = &list->devices[i];
        /* display controllers, processing accelerators, co-processors */
        bool accelerator = pci->class_code >> 16 == 0x03 || pci->class_code >> 16 == 0x12 ||
                           pci->class_code >> 8 == 0x0b40;
        if (claimed[i] || !accelerator || pci->virtual_function ||
            json_array_size(others) == OTHERS_MAX)
            continue;
        device = json_pack("{s:s}", "id", pci->address);
        if (!device || json_array_append_new(others, device) < 0)
            return ocv_error_nomem(err);
        OCV_TRY(describe_device(d, pci, device, err));
    }
    return OCV_OK;
}

int ocv_pci_describe(const struct ocv_probe_host *host, const char *datadir, json_t *profile,
                     struct ocv_error *err)
{
    struct describer d = {.datadir = datadir};
    const struct ocv_pci_list *list = &host->pci;
    bool *claimed = calloc(list->n + 1, sizeof(*claimed));
    if (!claimed)
        return ocv_error_nomem(err);
    int status = describe_all(&d, list, profile, claimed, err);
    if (status == OCV_OK && list->broken &&
        json_object_set_new(profile, "broken_devices", json_integer((json_int_t)list->broken)) < 0)
        status = ocv_error_nomem(err);
    ocv_libpci_close(d.names);
    free(claimed);
    return status;
}
