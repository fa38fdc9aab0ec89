/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table: host, then per namespace how it stands, what it supports and its devices. */
#include "probe_lines.h"
#include "vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_MIN 3    /* that stand together */
#define VALUES_FULL 8  /* a list of so many is told in full */
#define VALUES_SHOWN 4 /* of a longer one, and the last one */

/* ---- features ---------------------------------------------------------------------------------
 */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is_flag(const json_t *feature)
{
    const json_t *values = json_object_get(feature, "values");
    return json_array_size(values) == 1 &&
           strcmp(json_string_value(json_array_get(values, 0)), "on") == 0;
}

static void put_values(struct table *table, const json_t *values)
{
    size_t n = json_array_size(values), shown = n;
    char count[48];
    if (!table->options->all && n > VALUES_FULL)
        shown = VALUES_SHOWN;
    for (size_t i = 0; i < shown; i++)
        table_word(table, json_string_value(json_array_get(values, i)));
    if (shown == n)
        return;
    table_word(table, "...");
    table_word(table, json_string_value(json_array_get(values, n - 1)));
    snprintf(count, sizeof(count), "(%zu in all)", n);
    table_word(table, count);
}

static void put_flags(struct table *table, const json_t *features, size_t indent)
{
    table_heading(table, "", indent);
    table_put(table, "flags:");
    for (size_t i = 0; i < json_array_size(features); i++)
        if (is_flag(json_array_get(features, i)))
            table_word(table, text_of(json_array_get(features, i), "name"));
    table_end(table);
}

/* Features with values a line each, then everything that is just "on" together, if it is many. */
static void put_features(struct table *table, const json_t *features, size_t indent)
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
        table_put(table, text_of(feature, "name"));
        table_put(table, ":");
        put_values(table, values);
        table_end(table);
    }
    if (flags >= FLAGS_MIN)
        put_flags(table, features, indent);
}

static bool has_values(const json_t *features)
{
    for (size_t i = 0; i < json_array_size(features); i++)
        if (json_array_size(json_object_get(json_array_get(features, i), "values")))
            return true;
    return false;
}

/* ---- devices ----------------------------------------------------------------------------------
 */

/* "KEY TEXT" after a semicolon. */
static void detail(struct table *table, bool *first, const char *key, const char *text)
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

/* As cards are sold: in powers of two. */
static const char *memory_text(const char *bytes, char *out, size_t size)
{
    double gib = strtod(bytes, NULL) / (1024.0 * 1024 * 1024);
    snprintf(out, size, "%.*f GiB", gib < 9.95 ? 1 : 0, gib);
    return out;
}

static void put_attributes(struct table *table, bool *first, const json_t *device,
                           const char *version)
{
    const char *key;
    char size[32];
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(device, "attributes"), key, value)
    {
        const char *text = json_string_value(value);
        bool told = *text_of(device, "pci_id") && /* with the PCI id, from the kernel */
                    (strcmp(key, "driver") == 0 || strcmp(key, "kernel_driver") == 0);
        if (!text || told || (strcmp(key, "driver_version") == 0 && !strcmp(text, version)))
            continue;
        if (strcmp(key, "memory") == 0)
            text = memory_text(text, size, sizeof(size));
        char words_of_key[64];
        snprintf(words_of_key, sizeof(words_of_key), "%s", key);
        for (char *c = words_of_key; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        detail(table, first, words_of_key, text);
    }
}

/* Ids, driver and attributes, then what is out of the ordinary. `version` is the driver's, which
 * the namespace told already. */
static void put_details(struct table *table, const json_t *device, const char *version, bool alone)
{
    bool first = true;
    size_t before = table->out->len;
    const char *driver = text_of(device, "kernel_driver");
    table_heading(table, "", TABLE_INDENT + 2);
    detail(table, &first, "PCI id", text_of(device, "pci_id"));
    if (*driver)
        detail(table, &first, "driver", driver);
    else if (table->options->drivers && *text_of(device, "pci_id"))
        detail(table, &first, "", "no driver is bound to it");
    put_attributes(table, &first, device, version);
    if (alone)
        detail(table, &first, "uuid", text_of(device, "uuid"));
    if (json_is_true(json_object_get(device, "guess")))
        detail(table, &first, "", "its kind is guessed from its id");
    if (json_is_true(json_object_get(device, "secondary")))
        detail(table, &first, "", "secondary: does not count for the choice");
    if (!first)
        table_end(table);
    else
        table_drop(table, before);
}

/* Whether two devices differ in nothing but their ids. */
static bool alike(const json_t *left, const json_t *right)
{
    static const char *const own[] = {"id", "index", "uuid"};
    json_t *a = json_copy((json_t *)(uintptr_t)left), *b = json_copy((json_t *)(uintptr_t)right);
    for (size_t i = 0; a && b && i < sizeof(own) / sizeof(*own); i++) {
        json_object_del(a, own[i]);
        json_object_del(b, own[i]);
    }
    bool same = a && b && json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return same;
}

/* A device's own list is told where the namespace's does not stand for it. */
static void put_own(struct table *table, const json_t *own, const json_t *features)
{
    if (json_array_size(own) && !has_values(own)) {
        table_heading(table, "", TABLE_INDENT + 2);
        table_words(table, "no build can use it");
        table_end(table);
        return;
    }
    for (size_t i = 0; i < json_array_size(own); i++) {
        json_t *feature = json_array_get(own, i);
        bool same = false;
        for (size_t k = 0; k < json_array_size(features) && !same; k++)
            same = json_equal(feature, json_array_get(features, k));
        json_t *one = same ? NULL : json_pack("[O]", feature);
        put_features(table, one, TABLE_INDENT + 2);
        json_decref(one);
    }
}

/* Devices that stand one after another and are alike are told once. */
static void put_devices(struct table *table, const json_t *devices, const json_t *ns)
{
    size_t n = json_array_size(devices);
    for (size_t i = 0, next; i < n; i = next) {
        const json_t *device = json_array_get(devices, i);
        char count[32];
        const char *name = text_of(device, "name");
        for (next = i + 1; next < n && alike(device, json_array_get(devices, next)); next++)
            ;
        table_heading(table, "", TABLE_INDENT);
        snprintf(count, sizeof(count), *name ? "%zu x" : "%zu", next - i);
        if (next - i > 1)
            table_words(table, count);
        else
            table_word(table, text_of(device, "id"));
        table_words(table, *name || next - i == 1 ? name : "devices");
        table_end(table);
        if (next - i > 1) {
            table_heading(table, "", TABLE_INDENT + 2);
            for (size_t k = i; k < next; k++)
                table_word(table, text_of(json_array_get(devices, k), "id"));
            table_end(table);
        }
        put_details(table, device, text_of(ns, "driver"), next - i == 1);
        put_own(table, json_object_get(device, "features"), json_object_get(ns, "features"));
    }
}

/* ---- namespaces -------------------------------------------------------------------------------
 */

static bool is_cpu(const char *ns)
{
    for (size_t i = 0; i < OCV_VOCABULARY_CPU_NAMESPACES; i++)
        if (strcmp(ns, ocv_vocabulary_cpu_namespaces[i]) == 0)
            return true;
    return false;
}

/* How it stands, before the provider's own sentence. */
static const char *status_words(const json_t *ns, bool usable)
{
    const char *status = text_of(ns, "status");
    if (strcmp(status, "absent") == 0)
        return "not on this machine";
    if (strcmp(status, "failed") == 0)
        return "could not be read";
    if (strcmp(status, "partial") == 0)
        return "needs attention";
    if (usable)
        return "ready";
    return is_cpu(text_of(ns, "namespace")) ? "ready: the baseline, no extension"
                                            : "present, but no build can use it";
}

static void put_namespace(struct table *table, const json_t *ns)
{
    const json_t *features = json_object_get(ns, "features");
    const json_t *devices = json_object_get(ns, "devices");
    const char *error = text_of(ns, "error"), *driver = text_of(ns, "driver");
    const char *source = text_of(json_object_get(ns, "provider"), "source");
    bool usable = has_values(features);
    char origin[256];
    table_heading(table, text_of(ns, "namespace"), TABLE_INDENT);
    table_words(table, status_words(ns, usable));
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
    put_features(table, features, TABLE_INDENT);
    put_devices(table, devices, ns);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static void put_head(struct table *table, const json_t *profile)
{
    const json_t *platform = json_object_get(profile, "platform");
    const char *variant = text_of(platform, "variant");
    char text[256];
    if (*text_of(profile, "hostname"))
        table_line(table, "host", text_of(profile, "hostname"));
    if (*text_of(profile, "boot_id"))
        table_line(table, "boot", text_of(profile, "boot_id"));
    snprintf(text, sizeof(text), "%s/%s%s%s", text_of(platform, "os"),
             text_of(platform, "architecture"), *variant ? "/" : "", variant);
    table_line(table, "platform", platform ? text : "unknown: no processor is recorded");
}

/* Whether a provider named the device node of this sentence already. */
static bool mentioned(const struct table *table, const char *sentence)
{
    char node[64];
    const char *start = strchr(sentence, '/');
    if (!start || !table->out->data)
        return false;
    snprintf(node, sizeof(node), "%.*s", (int)strcspn(start, " :"), start);
    return strstr(table->out->data, node) != NULL;
}

/* What no provider speaks of. */
static void put_rest(struct table *table, const json_t *profile)
{
    const json_t *others = json_object_get(profile, "other_devices");
    json_int_t broken = json_integer_value(json_object_get(profile, "broken_devices"));
    char text[256];
    size_t denied = 0;
    if (json_array_size(others)) {
        table_line(table, "other", "no provider knows these:");
        put_devices(table, others, NULL);
    }
    if (broken) {
        snprintf(text, sizeof(text), "%lld PCI device%s could not be read and %s left out",
                 (long long)broken, broken == 1 ? "" : "s", broken == 1 ? "is" : "are");
        table_line(table, "unreadable", text);
    }
    if (*text_of(profile, "pci_error"))
        table_line(table, "unreadable", text_of(profile, "pci_error"));
    for (size_t i = 0; probe_access(table->options->sysroot, i, text, sizeof(text)); i++)
        if (*text && !mentioned(table, text))
            table_line(table, denied++ ? "" : "access", text);
}

static int put_profile(struct table *table, const json_t *profile)
{
    const json_t *namespaces = json_object_get(profile, "namespaces");
    bool devices = json_array_size(json_object_get(profile, "other_devices")) > 0;
    put_head(table, profile);
    for (size_t i = 0; i < json_array_size(namespaces); i++) {
        const json_t *ns = json_array_get(namespaces, i);
        devices |= !is_cpu(text_of(ns, "namespace"));
        put_namespace(table, ns);
    }
    if (!devices)
        table_line(table, "accelerators", "none found");
    put_rest(table, profile);
    return table->status;
}

int probe_table(const struct ocv_buffer *profile, const struct probe_table_options *options,
                struct ocv_buffer *out, struct ocv_error *err)
{
    struct table table = {.options = options, .out = out, .err = err};
    json_t *json = json_loadb(profile->data, profile->len, 0, NULL);
    if (!json)
        return ocv_error_nomem(err);
    int status = put_profile(&table, json);
    json_decref(json);
    return status;
}
