/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TOML configuration: any bytes. Undoing an edit removes what it added, and all other values stay
 * the same. */
#include "cmd/variantctl/setup/setup.h"

#include <stdlib.h>
#include <string.h>

#define URL "http://127.0.0.1:5050"

/* All values except those under `ours`, as text. */
static void values(const struct ocv_buffer *text, const char *ours, struct ocv_buffer *out)
{
    toml_auto toml = {0};
    if (toml_scan("f", text->data, text->len, &toml, NULL) < 0)
        abort(); /* the result of an edit is TOML */
    for (size_t i = 0; i < toml.count; i++) {
        const struct toml_item *item = &toml.items[i];
        if (item->start > item->end || item->end > toml.len || item->line > item->key)
            abort();
        if (item->kind != TOML_VALUE || toml_path_under(item->path, ours) ||
            text->data[item->start] == '{')
            continue;
        if (ocv_buffer_append(out, item->path, strlen(item->path) + 1, NULL) < 0 ||
            ocv_buffer_append(out, text->data + item->start, item->end - item->start, NULL) < 0)
            abort();
    }
}

static void compare(const struct ocv_buffer *a, const struct ocv_buffer *b, const char *ours)
{
    ocv_auto_buffer left, right;
    ocv_buffer_init(&left, 64 * TOML_MAX);
    ocv_buffer_init(&right, 64 * TOML_MAX);
    values(a, ours, &left);
    values(b, ours, &right);
    if (left.len != right.len || (left.len && memcmp(left.data, right.data, left.len) != 0))
        abort();
}

static void copy_of(struct ocv_buffer *out, const uint8_t *data, size_t size)
{
    ocv_buffer_init(out, 2 * TOML_MAX);
    if (ocv_buffer_append(out, data, size, NULL) < 0)
        abort();
}

static void check_key(const uint8_t *data, size_t size, const char *table, const char *path)
{
    ocv_auto_buffer before, after;
    copy_of(&before, data, size);
    copy_of(&after, data, size);
    if (toml_set("f", &after, table, "k", "\"v\"", NULL) < 0)
        return;
    compare(&before, &after, path);
    if (toml_unset("f", &after, table, "k", true, NULL) == 0)
        compare(&before, &after, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    toml_auto toml = {0};
    if (size > TOML_MAX || toml_scan("f", (const char *)data, size, &toml, NULL) < 0)
        return 0;
    for (size_t i = 0; i < toml.count && i < 64; i++) {
        size_t at = 0;
        char *text = toml.items[i].kind == TOML_VALUE ? toml_string(&toml, &toml.items[i]) : NULL;
        free(text);
        while (toml.items[i].kind == TOML_VALUE &&
               (text = toml_next_string(&toml, &toml.items[i], &at, NULL, NULL)) != NULL)
            free(text);
    }
    check_key(data, size, "a" TOML_DOT "b.c", "a" TOML_DOT "b.c" TOML_DOT "k");
    check_key(data, size, "", "k");
    ocv_auto_buffer before, after;
    copy_of(&before, data, size);
    copy_of(&after, data, size);
    if (setup_hosts_edit("f", &after, URL, size & 1, false, NULL) == 0) {
        if (!(size & 1))
            compare(&before, &after, "host" TOML_DOT URL);
        if (setup_hosts_remove("f", &after, URL, NULL) < 0)
            abort();
    }
    ocv_buffer_free(&after);
    copy_of(&after, data, size);
    if (setup_toml_remove_item("f", &after, "a", "m", "v", size & 2, size & 4, NULL) == 0)
        compare(&before, &after, "a" TOML_DOT "m");
    ocv_buffer_free(&after);
    copy_of(&after, data, size);
    if (setup_registry_remove("f", &after, "p", "m", "other", NULL) == 0)
        values(&after, "registry", &before);
    return 0;
}
