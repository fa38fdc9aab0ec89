/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table: host, then for each namespace its status, what it supports, and its devices. */
#include "cmd/variantctl/probe/probe_table.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "ocivariant/vocabulary.h"

#include <stdio.h>
#include <string.h>

static void put_namespace(struct probe_table *table, const json_t *ns)
{
    const json_t *features = json_object_get(ns, "features");
    const json_t *devices = json_object_get(ns, "devices");
    const char *error = ocv_json_text_or(ns, "error", ""),
               *driver = ocv_json_text_or(ns, "driver", "");
    const char *source = ocv_json_text_or(json_object_get(ns, "provider"), "source", "");
    const char *status = ocv_json_text_or(ns, "status", "");
    bool cpu = ocv_vocabulary_is_cpu(ocv_json_text_or(ns, "namespace", ""));
    /* before the provider's own sentence */
    const char *words = !strcmp(status, "absent")    ? "not on this machine"
                        : !strcmp(status, "failed")  ? "could not be read"
                        : !strcmp(status, "partial") ? "needs attention"
                        : table_has_values(features) ? "ready"
                        : cpu                        ? "ready: the baseline, no extension"
                                                     : "present, but no build can use it";
    char origin[256];
    table_heading(table, ocv_json_text_or(ns, "namespace", ""), TABLE_INDENT);
    table_words(table, words);
    if (*error) {
        table_put(table, ":");
        table_words(table, error);
    }
    snprintf(origin, sizeof(origin), "(%s%s%s%s%s)", *driver ? "driver " : "", driver,
             *driver && *source ? ", " : "", *source ? "from " : "", source);
    if (strlen(origin) > 2)
        table_words(table, origin);
    table_end(table);
    if (json_is_true(json_object_get(ns, "guess")))
        table_line(table, "", "some of this is inferred and not read from the machine");
    table_features(table, features, TABLE_INDENT);
    table_devices(table, devices, ns);
}

int probe_table(const struct ocv_buffer *profile, const struct probe_table_options *options,
                struct ocv_buffer *out, struct ocv_error *err)
{
    struct probe_table table = {.options = options, .out = out, .err = err};
    ocv_auto_json *json =
        ocv_json_load_any(profile->data, profile->len, OCV_JSON_VALUES_MAX, 0, NULL);
    if (!json)
        return ocv_error_nomem(err);
    const json_t *namespaces = json_object_get(json, "namespaces");
    bool devices = json_array_size(json_object_get(json, "other_devices")) > 0;
    const json_t *platform = json_object_get(json, "platform");
    const char *variant = ocv_json_text_or(platform, "variant", "");
    char text[256];
    if (*ocv_json_text_or(json, "hostname", ""))
        table_line(&table, "host", ocv_json_text_or(json, "hostname", ""));
    if (*ocv_json_text_or(json, "boot_id", ""))
        table_line(&table, "boot", ocv_json_text_or(json, "boot_id", ""));
    snprintf(text, sizeof(text), "%s/%s%s%s", ocv_json_text_or(platform, "os", ""),
             ocv_json_text_or(platform, "architecture", ""), *variant ? "/" : "", variant);
    table_line(&table, "platform", platform ? text : "unknown: no processor is recorded");
    for (size_t i = 0; i < json_array_size(namespaces); i++) {
        const json_t *ns = json_array_get(namespaces, i);
        devices |= !ocv_vocabulary_is_cpu(ocv_json_text_or(ns, "namespace", ""));
        put_namespace(&table, ns);
    }
    if (!devices)
        table_line(&table, "accelerators", "none found");
    /* Devices without a provider. */
    const json_t *others = json_object_get(json, "other_devices");
    json_int_t broken = json_integer_value(json_object_get(json, "broken_devices"));
    size_t denied = 0;
    if (json_array_size(others)) {
        table_line(&table, "other", "no provider knows these:");
        table_devices(&table, others, NULL);
    }
    if (broken) {
        snprintf(text, sizeof(text), "%lld PCI device%s could not be read and %s left out",
                 (long long)broken, broken == 1 ? "" : "s", broken == 1 ? "is" : "are");
        table_line(&table, "unreadable", text);
    }
    if (*ocv_json_text_or(json, "pci_error", ""))
        table_line(&table, "unreadable", ocv_json_text_or(json, "pci_error", ""));
    for (size_t i = 0; probe_access(options->sysroot, i, text, sizeof(text)); i++) {
        /* unless a provider already named the sentence's device node */
        char node[64];
        const char *start = strchr(text, '/');
        snprintf(node, sizeof(node), "%.*s", start ? (int)strcspn(start, " :") : 0,
                 start ? start : "");
        if (*text && !(start && table.out->data && strstr(table.out->data, node)))
            table_line(&table, denied++ ? "" : "access", text);
    }
    return table.status;
}
