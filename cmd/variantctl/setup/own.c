/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removes our part from a file that others have changed since. Anything changed belongs to whoever
 * changed it, and stays. */
#include "cmd/variantctl/setup/setup.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define HOST_TABLE "host" TOML_DOT

static int remove_key(const struct setup_own *own, const char *source, struct ocv_buffer *text,
                      bool table_too, struct ocv_error *err)
{
    toml_auto toml = {0};
    OCV_TRY(toml_scan(source, text->data, text->len, &toml, err));
    ocv_auto_free char *path = toml_join(own->table, own->key, err);
    if (!path)
        return OCV_ERR_NOMEM;
    const struct toml_item *item = toml_find(&toml, path);
    if (!item || item->end - item->start != strlen(own->value) ||
        memcmp(toml.text + item->start, own->value, strlen(own->value)) != 0)
        return OCV_OK;
    return own->previous ? toml_set(source, text, own->table, own->key, own->previous, err)
                         : toml_unset(source, text, own->table, own->key, table_too, err);
}

/* The position after the last block of the tables below the header's path, including one blank
 * line. */
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

/* The next header that still belongs to the [[registry]] before it, or 0. */
static size_t next_mirror(const struct toml *toml, size_t at)
{
    for (size_t i = at + 1; i < toml->count; i++)
        if (toml->items[i].kind != TOML_VALUE)
            return strcmp(toml->items[i].path, "registry" TOML_DOT "mirror") == 0 ? i : 0;
    return 0;
}

/* True if a user has put a mirror into our [[registry]]; `copied` are the mirrors that the set-up
 * took over. */
static bool has_foreign_mirror(const struct toml *toml, size_t header, const char *mirror,
                               const char *copied)
{
    for (size_t i = next_mirror(toml, header); i; i = next_mirror(toml, i)) {
        ocv_auto_free char *location = toml_string(toml, toml_find_under(toml, i, "location"));
        if (location && strcmp(location, mirror) != 0 && !(copied && strstr(copied, location)))
            return true;
    }
    return false;
}

/* One past the table of the [[registry]] that names our mirror, its own or one below it; 0: none.
 */
static size_t find_location(const struct toml *toml, size_t header, const char *mirror)
{
    size_t at = header;
    do {
        ocv_auto_free char *location = toml_string(toml, toml_find_under(toml, at, "location"));
        if (location && strcmp(location, mirror) == 0)
            return at + 1;
        at = next_mirror(toml, at);
    } while (at);
    return 0;
}

int setup_registry_remove(const char *source, struct ocv_buffer *text, const char *prefix,
                          const char *mirror, const char *copied, struct ocv_error *err)
{
    toml_auto toml = {0};
    OCV_TRY(toml_scan(source, text->data, text->len, &toml, err));
    for (size_t i = 0; i < toml.count; i++) {
        if (toml.items[i].kind != TOML_ARRAY_TABLE || strcmp(toml.items[i].path, "registry") != 0)
            continue;
        char *name = toml_string(&toml, toml_find_under(&toml, i, "prefix"));
        size_t found = name && strcmp(name, prefix) == 0 ? find_location(&toml, i, mirror) : 0;
        free(name);
        if (!found)
            continue;
        size_t from = i; /* everything, or only our mirror if another one was added */
        if (found - 1 != i && has_foreign_mirror(&toml, i, mirror, copied))
            from = found - 1;
        return text_splice(text, toml.items[from].line, block_with_children(&toml, from), NULL, 0,
                           err);
    }
    return OCV_OK;
}

int setup_hosts_remove(const char *source, struct ocv_buffer *text, const char *url,
                       struct ocv_error *err)
{
    toml_auto toml = {0};
    OCV_TRY(toml_scan(source, text->data, text->len, &toml, err));
    for (size_t i = 0; i < toml.count; i++) {
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
    return OCV_OK;
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
        return setup_registry_remove(source, text, own->key, own->value, own->previous, err);
    case SETUP_OWN_TOML_ITEM:
    case SETUP_OWN_TOML_MEMBER:
        return setup_toml_remove_item(source, text, own->table, own->key, own->value,
                                      !own->previous, own->kind == SETUP_OWN_TOML_ITEM, err);
    case SETUP_OWN_JSON_ITEM:
        return setup_json_remove(source, text, own->key, own->value, !own->previous, err);
    }
    return ocv_error_set(err, OCV_ERR_DATA, "the state names an unknown kind of change");
}
