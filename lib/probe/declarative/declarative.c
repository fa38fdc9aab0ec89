/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A namespace of the profile from a declarative provider's file. A device without its driver, or of
 * a generation that the file does not name, is shown with empty lists and as secondary: it serves
 * no build, and it takes nothing from the devices beside it. */
#include "lib/probe/declarative/declarative.h"
#include "lib/base/cleanup.h"
#include "lib/probe/providers/gpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LEN 256

struct filler {
    const struct ocv_declaration *declaration;
    const struct ocv_probe_host *host;
    struct ocv_result *result;
    struct ocv_error *err;
    const char *driver_version; /* of all devices, or empty */
};

static const char *set_value(const struct ocv_declared *device, const char *feature)
{
    return ocv_yaml_text(ocv_yaml_get(device->rule, "set"), feature);
}

static bool is_usable(const struct ocv_declared *device)
{
    return device->driven && ocv_yaml_get(device->rule, "set");
}

static const struct ocv_yaml *compat_of(const struct ocv_yaml *feature, const char *value)
{
    return ocv_yaml_get(ocv_yaml_get(feature, "compat"), value);
}

static int fill_features(const struct filler *f, const struct ocv_declared_list *devices)
{
    const struct ocv_yaml *feature = ocv_yaml_get(f->declaration->tree, "features")->first;
    for (; feature; feature = feature->next) {
        const char *name = ocv_yaml_text(feature, "feature");
        const struct ocv_yaml *values = ocv_yaml_get(feature, "values");
        const struct ocv_yaml *sources = ocv_yaml_get(feature, "read");
        char text[LINE_LEN];
        if (sources && ocv_source_read(f->host, sources, "", text, sizeof(text)) &&
            ocv_source_version(text))
            OCV_TRY(ocv_result_add(f->result, name, text, f->err));
        for (const struct ocv_yaml *v = values ? values->first : NULL; v; v = v->next) {
            bool offered = false; /* by a device's list */
            for (size_t i = 0; i < devices->n && !offered; i++) {
                const struct ocv_declared *device = &devices->items[i];
                const char *own = is_usable(device) ? set_value(device, name) : NULL;
                offered = own && (strcmp(own, v->text) == 0 ||
                                  ocv_yaml_find(compat_of(feature, own), v->text) >= 0);
            }
            if (offered)
                OCV_TRY(ocv_result_add(f->result, name, v->text, f->err));
        }
    }
    return OCV_OK;
}

/* True if the kernel has one of the drivers that the file names, bound to the device or not. */
static const char *loaded_driver(const struct filler *f)
{
    const struct ocv_yaml *drivers = ocv_yaml_get(f->declaration->tree, "drivers");
    const struct ocv_yaml *d = drivers && !drivers->text ? drivers->first : drivers;
    for (; d; d = drivers->text ? NULL : d->next) {
        static const char *const buses[] = {"pci", "platform"};
        for (size_t i = 0; i < 2; i++) {
            char path[128];
            snprintf(path, sizeof(path), "sys/bus/%s/drivers/%s", buses[i], d->text);
            if (ocv_sysroot_directory(f->host->root, path))
                return d->text;
        }
    }
    return NULL;
}

static void reason_of(const struct filler *f, const struct ocv_declared *device, char *out,
                      size_t size)
{
    const struct ocv_yaml *drivers = ocv_yaml_get(f->declaration->tree, "drivers");
    const char *driver = !drivers ? "*" : drivers->text ? drivers->text : drivers->first->text;
    const char *loaded = loaded_driver(f);
    if (device->lost)
        snprintf(out, size, OCV_PCI_LOST);
    else if (device->split)
        snprintf(out, size, "split into virtual functions, and none of them is left for this host");
    else if (device->driven)
        snprintf(out, size, "recognised, but its generation is not known to this version");
    else if (device->pci && device->pci->driver[0])
        snprintf(out, size, "bound to driver '%s', which serves no builds here",
                 device->pci->driver);
    else if (loaded)
        snprintf(out, size,
                 "driver '%.48s' is loaded but did not take it; the kernel's log says why", loaded);
    else if (strcmp(driver, "*") != 0)
        snprintf(out, size, "driver '%.48s' is not loaded", driver);
    else
        snprintf(out, size, "no driver is loaded");
}

/* What a rule says of a device in addition to its features. */
static int fill_known(const struct filler *f, const struct ocv_yaml *rule, const char *dir,
                      json_t *json)
{
    const struct ocv_yaml *memory = ocv_yaml_get(rule, "memory");
    char text[LINE_LEN];
    uint64_t bytes;
    if (ocv_source_read(f->host, memory, dir, text, sizeof(text)) &&
        ocv_source_bytes(text, ocv_yaml_text(memory, "unit"), &bytes)) {
        snprintf(text, sizeof(text), "%" PRIu64, bytes);
        OCV_TRY(ocv_device_attribute(json, "memory", text, f->err));
    }
    const struct ocv_yaml *attributes = ocv_yaml_get(rule, "attributes");
    for (const struct ocv_yaml *a = attributes ? attributes->first : NULL; a; a = a->next) {
        if (!ocv_source_read(f->host, a, dir, text, sizeof(text)))
            continue;
        if (strcmp(a->key, "driver_version") == 0 && !f->result->driver[0])
            snprintf(f->result->driver, sizeof(f->result->driver), "%.63s", text);
        OCV_TRY(ocv_device_attribute(json, a->key, text, f->err));
    }
    return OCV_OK;
}

static const char *name_of(const struct ocv_declared *device)
{
    const char *name = ocv_yaml_text(device->rule, "name");
    return name || !device->class_rule ? name : ocv_yaml_text(device->class_rule, "name");
}

static int fill_device(const struct filler *f, const struct ocv_declared *device, size_t index)
{
    json_t *json = ocv_result_device(f->result, device->id, name_of(device));
    if (!json || json_object_set_new(json, "index", json_integer((json_int_t)index)) < 0)
        return ocv_error_nomem(f->err);
    if (!is_usable(device) && json_object_set_new(json, "secondary", json_true()) < 0)
        return ocv_error_nomem(f->err);
    OCV_TRY(fill_known(f, device->rule, device->dir, json));
    if (device->class_rule && device->class_rule != device->rule)
        OCV_TRY(fill_known(f, device->class_rule, device->class_dir, json));
    if (device->pci && device->pci->driver[0])
        OCV_TRY(ocv_device_attribute(json, "driver", device->pci->driver, f->err));
    if (device->driven && !json_object_get(json_object_get(json, "attributes"), "driver_version"))
        OCV_TRY(ocv_device_attribute(json, "driver_version", f->driver_version, f->err));

    const struct ocv_yaml *feature = ocv_yaml_get(f->declaration->tree, "features")->first;
    for (; feature; feature = feature->next) {
        /* a value read from a file belongs to the machine, except for devices that the file does
         * not serve */
        if (!ocv_yaml_get(feature, "values") && is_usable(device))
            continue;
        const char *name = ocv_yaml_text(feature, "feature");
        const char *value = is_usable(device) ? set_value(device, name) : NULL;
        const struct ocv_yaml *compat = value ? compat_of(feature, value) : NULL;
        if (value)
            OCV_TRY(ocv_device_add(json, name, value, f->err));
        for (const struct ocv_yaml *c = compat ? compat->first : NULL; c; c = c->next)
            OCV_TRY(ocv_device_add(json, name, c->text, f->err));
        if (!value)
            OCV_TRY(ocv_gpu_add_none(json, name, f->err));
    }
    if (is_usable(device))
        return OCV_OK;
    char why[128];
    reason_of(f, device, why, sizeof(why));
    return ocv_device_attribute(json, "reason", why, f->err);
}

/* Place of a device: by the values of its features, most important first; unusable ones last. */
static int compare_devices(const struct filler *f, const struct ocv_declared *a,
                           const struct ocv_declared *b)
{
    if (is_usable(a) != is_usable(b))
        return is_usable(a) ? -1 : 1;
    const struct ocv_yaml *feature = ocv_yaml_get(f->declaration->tree, "features")->first;
    for (; feature; feature = feature->next) {
        const char *name = ocv_yaml_text(feature, "feature");
        const struct ocv_yaml *values = ocv_yaml_get(feature, "values");
        const char *va = set_value(a, name), *vb = set_value(b, name);
        int ia = va ? ocv_yaml_find(values, va) : INT32_MAX;
        int ib = vb ? ocv_yaml_find(values, vb) : INT32_MAX;
        if (ia != ib)
            return ia < ib ? -1 : 1;
    }
    return 0;
}

int ocv_declaration_probe(const struct ocv_declaration *declaration,
                          const struct ocv_probe_host *host, struct ocv_result *result,
                          struct ocv_error *err)
{
    char text[LINE_LEN] = "", more[48] = "", why[128];
    const struct filler f = {declaration, host, result, err, text};
    struct ocv_declared_list devices = {0};
    OCV_TRY(ocv_declaration_match(declaration, host, &devices, err));
    ocv_auto_free struct ocv_declared *items = devices.items;
    if (devices.n == 0)
        return OCV_OK;
    const struct ocv_declared *unusable = NULL; /* the first one */
    size_t n_unusable = 0;
    for (size_t i = 0; i < devices.n; i++) {
        if (is_usable(&devices.items[i]))
            result->guess = result->guess || ocv_yaml_get(devices.items[i].rule, "guess");
        else if (n_unusable++ == 0)
            unusable = &devices.items[i];
    }
    result->status = OCV_RESULT_OK;
    result->source = "sysfs";
    if (ocv_source_read(host, ocv_yaml_get(declaration->tree, "driver_version"), "", text,
                        sizeof(text)))
        snprintf(result->driver, sizeof(result->driver), "%.63s", text);
    else
        text[0] = '\0';
    if (n_unusable < devices.n)
        OCV_TRY(fill_features(&f, &devices));
    /* most capable first; equal ones keep their order */
    ocv_auto_free size_t *order = calloc(devices.n, sizeof(*order));
    if (!order)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < devices.n; i++) {
        size_t at = i;
        for (; at > 0 && compare_devices(&f, &items[i], &items[order[at - 1]]) < 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (size_t i = 0; i < devices.n; i++)
        OCV_TRY(fill_device(&f, &items[order[i]], order[i]));
    if (unusable) { /* a note for the operator */
        const char *name = name_of(unusable) ? name_of(unusable) : declaration->ns;
        if (n_unusable > 1)
            snprintf(more, sizeof(more), " (and %zu more)", n_unusable - 1);
        reason_of(&f, unusable, why, sizeof(why));
        snprintf(result->note, sizeof(result->note), "%s %.48s%s: %s", unusable->id, name, more,
                 why);
        result->status = OCV_RESULT_PARTIAL;
    }
    return OCV_OK;
}
