/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/node/node.h"
#include "lib/base/format/json.h"

#include "lib/probe/pci/pci.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VALUES_SHOWN 12u

static json_t *load_json(const struct ocv_buffer *text)
{
    return ocv_json_load_any(text->data, text->len, OCV_JSON_VALUES_MAX, 0, NULL);
}

/* The object in an array whose member `key` is `text`. */
static json_t *find_member(const json_t *array, const char *key, const char *text)
{
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        if (strcmp(ocv_json_text_or(item, key, ""), text) == 0)
            return item;
    }
    return NULL;
}

static void add_line(struct ocv_buffer *out, const char *format, ...) OCV_PRINTF(2, 3);
static void add_line(struct ocv_buffer *out, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (ocv_buffer_append(out, text, strlen(text), NULL) < 0)
        return; /* full: the rest is dropped */
}

/* " +a +b" for values in `after` that are not in `before`. */
static void append_values(struct ocv_buffer *out, const json_t *before, const json_t *after,
                          char sign)
{
    size_t i, shown = 0, more = 0;
    json_t *value;
    json_array_foreach(after, i, value)
    {
        bool had = false;
        for (size_t k = 0; k < json_array_size(before) && !had; k++)
            had = json_equal(json_array_get(before, k), value);
        if (had)
            continue;
        if (shown < VALUES_SHOWN)
            add_line(out, " %c%s", sign, json_string_value(value));
        else
            more++;
        shown++;
    }
    if (more)
        add_line(out, " %c%zu more", sign, more);
}

static void compare_feature(const char *who, const char *name, const json_t *before,
                            const json_t *after, struct ocv_buffer *out)
{
    if (json_equal(before, after))
        return;
    add_line(out, "%s: %s", who, name);
    size_t head = out->len;
    append_values(out, after, before, '-');
    append_values(out, before, after, '+');
    if (out->len == head)
        add_line(out, " in another order");
    add_line(out, "\n");
}

static void compare_features(const char *who, const json_t *before, const json_t *after,
                             struct ocv_buffer *out)
{
    size_t i;
    json_t *feature;
    json_array_foreach(before, i, feature)
    {
        const char *name = ocv_json_text_or(feature, "name", "");
        compare_feature(who, name, json_object_get(feature, "values"),
                        json_object_get(find_member(after, "name", name), "values"), out);
    }
    json_array_foreach(after, i, feature)
    {
        const char *name = ocv_json_text_or(feature, "name", "");
        if (!find_member(before, "name", name))
            compare_feature(who, name, NULL, json_object_get(feature, "values"), out);
    }
}

static void compare_namespace(const char *ns, const json_t *before, const json_t *after,
                              struct ocv_buffer *out)
{
    static const char *const texts[] = {"status", "driver", "error"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const char *was = ocv_json_text_or(before, texts[i], ""),
                   *is = ocv_json_text_or(after, texts[i], "");
        if (strcmp(was, is) != 0)
            add_line(out, "%s: %s %.150s -> %.150s\n", ns, texts[i], *was ? was : "none",
                     *is ? is : "none");
    }
    compare_features(ns, json_object_get(before, "features"), json_object_get(after, "features"),
                     out);

    const json_t *old = json_object_get(before, "devices"),
                 *new = json_object_get(after, "devices");
    size_t i;
    json_t *device;
    char who[256];
    json_array_foreach(old, i, device)
    {
        const char *id = ocv_json_text_or(device, "id", "");
        const json_t *now = find_member(new, "id", id);
        if (!now) {
            add_line(out, "%s: device %.64s gone\n", ns, id);
            continue;
        }
        snprintf(who, sizeof(who), "%.64s: device %.64s", ns, id);
        compare_features(who, json_object_get(device, "features"), json_object_get(now, "features"),
                         out);
    }
    json_array_foreach(new, i, device)
    {
        if (!find_member(old, "id", ocv_json_text_or(device, "id", "")))
            add_line(out, "%s: new device %.64s %.100s\n", ns, ocv_json_text_or(device, "id", ""),
                     ocv_json_text_or(device, "name", ""));
    }
}

bool node_diff(const struct ocv_buffer *before, const struct ocv_buffer *after,
               struct ocv_buffer *out)
{
    json_t *a = load_json(before), *b = load_json(after), *item;
    size_t i;
    json_object_del(a, "generated"); /* the only member that changes with every probe */
    json_object_del(b, "generated");
    bool changed = !json_equal(a, b);
    const json_t *old = json_object_get(a, "namespaces"), *new = json_object_get(b, "namespaces");
    json_array_foreach(old, i, item)
    {
        const char *ns = ocv_json_text_or(item, "namespace", "");
        compare_namespace(ns, item, find_member(new, "namespace", ns), out);
    }
    json_array_foreach(new, i, item)
    {
        const char *ns = ocv_json_text_or(item, "namespace", "");
        if (!find_member(old, "namespace", ns))
            compare_namespace(ns, NULL, item, out);
    }
    if (changed && !out->len)
        add_line(out, "details of devices\n");
    json_decref(a);
    json_decref(b);
    return changed;
}

void node_diff_failures(const struct ocv_buffer *profile, struct metrics *metrics)
{
    json_t *root = load_json(profile), *item, *device;
    size_t i, k;
    uint64_t lost = 0;
    json_array_foreach(json_object_get(root, "namespaces"), i, item)
    {
        if (strcmp(ocv_json_text_or(item, "status", ""), "failed") == 0)
            metrics_raise(metrics, METRICS_FAILURES, ocv_json_text_or(item, "namespace", ""), NULL,
                          1);
        json_array_foreach(json_object_get(item, "devices"), k, device)
        {
            const char *why = ocv_json_text_or(json_object_get(device, "attributes"), "reason", "");
            lost += strstr(why, OCV_PCI_LOST) != NULL;
        }
    }
    metrics_set(metrics, METRIC_LOST_DEVICES, lost);
    json_decref(root);
}
