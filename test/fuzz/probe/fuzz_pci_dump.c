/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text of `lspci -x`: any text gives valid devices, each address once. */
#include "lib/probe/pci/pci_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_error err = {0};
    struct ocv_pci_scan scan = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, size + 1);
    if (ocv_buffer_append(&text, data, size, &err) < 0)
        return 0;
    int status = ocv_pci_dump_text(&text, &scan, &err);
    if (status < 0 && !strstr(err.message, "no device in it") &&
        !strstr(err.message, "more than") && !strstr(err.message, "without their configuration"))
        abort();
    if (status == OCV_OK && scan.list.n + scan.list.broken == 0)
        abort();
    ocv_pci_sort(&scan.list); /* as ocv_pci_scan does with every reader's list */
    for (size_t i = 1; i < scan.list.n; i++)
        if (ocv_pci_find(&scan.list, scan.list.devices[i].address) != &scan.list.devices[i])
            abort(); /* sorted, each address once */
    ocv_pci_list_free(&scan.list);
    return 0;
}
