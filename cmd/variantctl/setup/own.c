/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking our part out of a file that others have changed since. What is not as we wrote it any more
 * belongs to whoever changed it and stays. */
#include "setup.h"

#include <stdlib.h>
#include <string.h>

#define HOST_TABLE "host" TOML_DOT

static int remove_key(const struct setup_own *own, const char *source, struct ocv_buffer *text,
                      bool table_too, struct ocv_error *err)
{
    toml_auto toml = {0};
    int status = toml_scan(source, text->data, text->len, &toml, err);
    char *path = status == OCV_OK ? toml_join(own->table, own->key, err) : NULL;
    if (!path)
        return status < 0 ? status : OCV_ERR_NOMEM;
    const struct toml_item *item = toml_find(&toml, path);
    free(path);
    if (!item || item->end - item->start != strlen(own->value) ||
        memcmp(toml.text + item->start, own->value, strlen(own->value)) != 0)
        return OCV_OK;
    return own->previous ? toml_set(source, text, own->table, own->key, own->previous, err)
                         : toml_unset(source, text, own->table, own->key, table_too, err);
}

/* Behind the last block of the tables below the header's path, and one blank line after them. */
static size_t block_with_children(const struct toml *toml, size_t header)
{
    size_t end = toml_block_end(toml, header);
    for (size_t i = header + 1; i < toml->count; i++) {
        const struct toml_item *item = &toml->items[i];
        if (item->kind == TOML_VALUE)
            continue;
        if (!toml_path_under(item->path, toml->items[header].path) ||
            strcmp(item->path, toml->items[header].path) == 0)
            break;
        end = toml_block_end(toml, i);
    }
    if (end < toml->len && toml->text[end] == '\n')
        end++;
    else if (end + 1 < toml->len && memcmp(toml->text + end, "\r\n", 2) == 0)
        end += 2;
    return end;
}

/* True if the header's table, or one below it, has a location that is our mirror. */
static bool has_location(const struct toml *toml, size_t header, const char *mirror)
{
    for (size_t i = header; i < toml->count; i++) {
        const struct toml_item *item = &toml->items[i];
        if (item->kind == TOML_VALUE)
            continue;
        if (i > header && strcmp(item->path, "registry" TOML_DOT "mirror") != 0)
            return false;
        char *location = toml_string(toml, toml_find_under(toml, i, "location"));
        bool same = location && strcmp(location, mirror) == 0;
        free(location);
        if (same)
            return true;
    }
    return false;
}

int setup_registry_remove(const char *source, struct ocv_buffer *text, const char *prefix,
                          const char *mirror, struct ocv_error *err)
{
    toml_auto toml = {0};
    int status = toml_scan(source, text->data, text->len, &toml, err);
    for (size_t i = 0; status == OCV_OK && i < toml.count; i++) {
        if (toml.items[i].kind != TOML_ARRAY_TABLE || strcmp(toml.items[i].path, "registry") != 0)
            continue;
        char *name = toml_string(&toml, toml_find_under(&toml, i, "prefix"));
        bool ours = name && strcmp(name, prefix) == 0 && has_location(&toml, i, mirror);
        free(name);
        if (ours)
            return text_splice(text, toml.items[i].line, block_with_children(&toml, i), NULL, 0,
                               err);
    }
    return status;
}

int setup_hosts_remove(const char *source, struct ocv_buffer *text, const char *url,
                       struct ocv_error *err)
{
    toml_auto toml = {0};
    int status = toml_scan(source, text->data, text->len, &toml, err);
    for (size_t i = 0; status == OCV_OK && i < toml.count; i++) {
        const struct toml_item *item = &toml.items[i];
        if (item->kind != TOML_TABLE || strncmp(item->path, HOST_TABLE, strlen(HOST_TABLE)) != 0 ||
            strcmp(item->path + strlen(HOST_TABLE), url) != 0)
            continue;
        size_t from = item->line, n = strlen(SETUP_HOSTS_COMMENT);
        size_t nl = from >= 2 && toml.text[from - 2] == '\r' ? 2 : 1;
        if (from >= n + nl && memcmp(toml.text + from - n - nl, SETUP_HOSTS_COMMENT, n) == 0)
            from -= n + nl;
        return text_splice(text, from, block_with_children(&toml, i), NULL, 0, err);
    }
    return status;
}

int setup_own_remove(const struct setup_own *own, const char *source, struct ocv_buffer *text,
                     struct ocv_error *err)
{
    switch (own->kind) {
    case SETUP_OWN_TOML_KEY:
    case SETUP_OWN_TOML_TABLE:
        return remove_key(own, source, text, own->kind == SETUP_OWN_TOML_TABLE, err);
    case SETUP_OWN_TOML_HOST:
        return setup_hosts_remove(source, text, own->key, err);
    case SETUP_OWN_TOML_REGISTRY:
        return setup_registry_remove(source, text, own->key, own->value, err);
    case SETUP_OWN_TOML_ITEM:
        return setup_toml_remove_item(source, text, own->table, own->key, own->value,
                                      !own->previous, err);
    case SETUP_OWN_JSON_ITEM:
        return setup_json_remove(source, text, own->key, own->value, !own->previous, err);
    }
    return ocv_error_set(err, OCV_ERR_DATA, "the state names an unknown kind of change");
}
