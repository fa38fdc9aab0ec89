/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a namespace and its devices in the probe's table. */
#include "cmd/variantctl/probe/probe_table.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_MIN 3    /* flags printed together */
#define VALUES_FULL 8  /* longest list printed in full */
#define VALUES_SHOWN 4 /* shown of a longer list, plus the last one */

static bool is_flag(const json_t *feature)
{
    const json_t *values = json_object_get(feature, "values");
    return json_array_size(values) == 1 &&
           strcmp(json_string_value(json_array_get(values, 0)), "on") == 0;
}

/* Features with values, one line each; then all that are just "on" together if there are many. */
void table_features(struct probe_table *table, const json_t *features, size_t indent)
{
    size_t n = json_array_size(features), flags = 0;
    for (size_t i = 0; i < n; i++)
        flags += is_flag(json_array_get(features, i));
    for (size_t i = 0; i < n; i++) {
        const json_t *feature = json_array_get(features, i);
        const json_t *values = json_object_get(feature, "values");
        if ((is_flag(feature) && flags >= FLAGS_MIN) || json_array_size(values) == 0)
            continue;
        table_heading(table, "", indent);
        table_put(table, ocv_json_text_or(feature, "name", ""));
        table_put(table, ":");
        size_t count = json_array_size(values), shown = count;
        if (!table->options->all && count > VALUES_FULL)
            shown = VALUES_SHOWN;
        for (size_t k = 0; k < shown; k++)
            table_word(table, json_string_value(json_array_get(values, k)));
        if (shown < count) {
            char all[48];
            table_word(table, "...");
            table_word(table, json_string_value(json_array_get(values, count - 1)));
            snprintf(all, sizeof(all), "(%zu in all)", count);
            table_word(table, all);
        }
        table_end(table);
    }
    if (flags < FLAGS_MIN)
        return;
    table_heading(table, "", indent);
    table_put(table, "flags:");
    for (size_t i = 0; i < n; i++)
        if (is_flag(json_array_get(features, i)))
            table_word(table, ocv_json_text_or(json_array_get(features, i), "name", ""));
    table_end(table);
}

bool table_has_values(const json_t *features)
{
    for (size_t i = 0; i < json_array_size(features); i++)
        if (json_array_size(json_object_get(json_array_get(features, i), "values")))
            return true;
    return false;
}

/* "KEY TEXT" after a semicolon. */
static void add_detail(struct probe_table *table, bool *first, const char *key, const char *text)
{
    if (!*text)
        return;
    if (!*first)
        table_put(table, ";");
    *first = false;
    if (*key)
        table_words(table, key);
    table_words(table, text);
}

/* Ids, driver and attributes, then anything unusual. `version` is the driver's, already printed for
 * the namespace. */
static void put_details(struct probe_table *table, const json_t *device, const char *version,
                        bool alone)
{
    bool first = true;
    size_t before = table->out->len;
    const char *driver = ocv_json_text_or(device, "kernel_driver", "");
    const char *reason = ocv_json_text_or(json_object_get(device, "attributes"), "reason", "");
    table_heading(table, "", TABLE_INDENT + 2);
    add_detail(table, &first, "PCI id", ocv_json_text_or(device, "pci_id", ""));
    if (*driver)
        add_detail(table, &first, "driver", driver);
    else if (table->options->drivers && *ocv_json_text_or(device, "pci_id", ""))
        add_detail(table, &first, "", "no driver is bound to it");
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(device, "attributes"), key, value)
    {
        const char *text = json_string_value(value);
        char size[32], words_of_key[64];
        bool told =
            *ocv_json_text_or(device, "pci_id", "") && /* with the PCI id, from the kernel */
            (strcmp(key, "driver") == 0 || strcmp(key, "kernel_driver") == 0);
        if (!text || told || strcmp(key, "reason") == 0 ||
            (strcmp(key, "driver_version") == 0 && !strcmp(text, version)))
            continue;
        if (strcmp(key, "memory") == 0) { /* rounded as cards are sold */
            double gib = strtod(text, NULL) / (1024.0 * 1024 * 1024);
            snprintf(size, sizeof(size), "%.*f GiB", gib < 9.95 ? 1 : 0, gib);
            text = size;
        }
        snprintf(words_of_key, sizeof(words_of_key), "%s", key);
        for (char *c = words_of_key; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        add_detail(table, &first, words_of_key, text);
    }
    if (alone)
        add_detail(table, &first, "uuid", ocv_json_text_or(device, "uuid", ""));
    if (json_is_true(json_object_get(device, "guess")))
        add_detail(table, &first, "", "its kind is guessed from its id");
    if (*reason)
        add_detail(table, &first, "does not count:", reason);
    else if (json_is_true(json_object_get(device, "secondary")))
        add_detail(table, &first, "", "secondary: does not count for the choice");
    if (!first) {
        table_end(table);
        return;
    }
    table->out->len = before; /* nothing was said */
    if (table->out->data)
        table->out->data[before] = '\0';
    table->column = 0;
}

/* True if two devices differ only in their ids. */
static bool same_device(const json_t *left, const json_t *right)
{
    static const char *const own[] = {"id", "index", "uuid"};
    ocv_auto_json *a = json_copy((json_t *)(uintptr_t)left);
    ocv_auto_json *b = json_copy((json_t *)(uintptr_t)right);
    for (size_t i = 0; a && b && i < sizeof(own) / sizeof(*own); i++) {
        json_object_del(a, own[i]);
        json_object_del(b, own[i]);
    }
    return a && b && json_equal(a, b);
}

/* Consecutive equal devices are printed once. */
void table_devices(struct probe_table *table, const json_t *devices, const json_t *ns)
{
    size_t n = json_array_size(devices);
    for (size_t i = 0, next; i < n; i = next) {
        const json_t *device = json_array_get(devices, i);
        char count[32];
        const char *name = ocv_json_text_or(device, "name", "");
        for (next = i + 1; next < n && same_device(device, json_array_get(devices, next)); next++)
            ;
        table_heading(table, "", TABLE_INDENT);
        snprintf(count, sizeof(count), *name ? "%zu x" : "%zu", next - i);
        if (next - i > 1)
            table_words(table, count);
        else
            table_word(table, ocv_json_text_or(device, "id", ""));
        table_words(table, *name || next - i == 1 ? name : "devices");
        table_end(table);
        if (next - i > 1) {
            table_heading(table, "", TABLE_INDENT + 2);
            for (size_t k = i; k < next; k++)
                table_word(table, ocv_json_text_or(json_array_get(devices, k), "id", ""));
            table_end(table);
        }
        put_details(table, device, ocv_json_text_or(ns, "driver", ""), next - i == 1);
        /* a device's own list if it differs from the namespace's */
        const json_t *own = json_object_get(device, "features");
        const json_t *common = json_object_get(ns, "features");
        bool useless = json_array_size(own) && !table_has_values(own);
        if (useless) {
            table_heading(table, "", TABLE_INDENT + 2);
            table_words(table, "no build can use it");
            table_end(table);
        }
        for (size_t k = 0; !useless && k < json_array_size(own); k++) {
            json_t *feature = json_array_get(own, k);
            bool same = false;
            for (size_t m = 0; m < json_array_size(common) && !same; m++)
                same = json_equal(feature, json_array_get(common, m));
            ocv_auto_json *one = same ? NULL : json_pack("[O]", feature);
            table_features(table, one, TABLE_INDENT + 2);
        }
    }
}
