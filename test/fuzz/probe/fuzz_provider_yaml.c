/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A declarative provider's file: an accepted one can probe a machine with devices. */
#include "lib/probe/declarative/declarative.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_declaration declaration;
    struct ocv_error err = {0};
    if (ocv_declaration_read("fuzz", (const char *)data, size, &declaration, &err) < 0) {
        if (strncmp(err.message, "fuzz", 4) != 0)
            abort(); /* every message names its source */
        return 0;
    }
    struct ocv_pci_device cards[] = {
        {.address = "0000:01:00.0", .vendor = 0x1eff, .device = 0x1250, .driver = "rebellions"},
        {.address = "0000:02:00.0", .vendor = 0x1234, .device = 0x0001, .virtual_function = true},
    };
    struct ocv_probe_host host = {.root = -1, .pci = {.devices = cards, .n = 2}};
    struct ocv_result result = {.features = json_array(), .devices = json_array()};
    if (ocv_sysroot_open("test/data/fuzz", &host.root, &err) == 0) {
        int status = ocv_declaration_probe(&declaration, &host, &result, &err);
        if (status < 0 && status != OCV_ERR_NOMEM)
            abort();
    }
    ocv_probe_host_close(&(struct ocv_probe_host){.root = host.root});
    json_decref(result.features);
    json_decref(result.devices);
    ocv_declaration_free(&declaration);
    return 0;
}
