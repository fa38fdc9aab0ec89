/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads the probe when a program first probes: one that asks variantd, or that has another process
 * probe, goes without it. Programs that link this file call the functions of ocivariant/probe.h as
 * usual, from one thread. */
#include "ocivariant/probe.h"

#include "lib/base/cleanup.h"

#include <dlfcn.h>

static struct {
    __typeof__(ocv_probe) *probe;
    __typeof__(ocv_probe_namespaces) *namespaces;
} calls;

static int load_probe(struct ocv_error *err)
{
    if (calls.probe && calls.namespaces)
        return OCV_OK;
    void *library = dlopen("libocivariant-probe.so." OCV_ABI, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "cannot load the probe: %s", dlerror());
    *(void **)&calls.probe = dlsym(library, "ocv_probe");
    *(void **)&calls.namespaces = dlsym(library, "ocv_probe_namespaces");
    return calls.probe && calls.namespaces
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_UNSUPPORTED, "the probe's library is too old");
}

int ocv_probe(const struct ocv_probe_options *options, struct ocv_buffer *json,
              struct ocv_error *err)
{
    OCV_TRY(load_probe(err));
    return calls.probe(options, json, err);
}

int ocv_probe_namespaces(const struct ocv_probe_options *options, struct ocv_buffer *names,
                         struct ocv_error *err)
{
    OCV_TRY(load_probe(err));
    return calls.namespaces(options, names, err);
}
