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

int setup_registry_remove(const char *source, struct ocv_buffer *text, const char *prefix,
                          const char *mirror, const char *copied, struct ocv_error *err)
{
    toml_auto toml = {0};
    OCV_TRY(toml_scan(source, text->data, text->len, &toml, err));
    for (size_t i = 0; i < toml.count; i++) {
        if (toml.items[i].kind != TOML_ARRAY_TABLE || strcmp(toml.items[i].path, "registry") != 0)
            continue;
        ocv_auto_free char *name = toml_string(&toml, toml_find_under(&toml, i, "prefix"));
        if (!name || strcmp(name, prefix) != 0)
            continue;
        /* The table that names our mirror, its own or one below it; and whether a user has put
         * another one there, which is not among those that the set-up took over. */
        size_t found = TOML_NONE, at = i;
        bool foreign = false;
        do {
            ocv_auto_free char *location =
                toml_string(&toml, toml_find_under(&toml, at, "location"));
            bool ours = location && strcmp(location, mirror) == 0;
            if (ours && found == TOML_NONE)
                found = at;
            foreign =
                foreign || (location && !ours && at != i && !(copied && strstr(copied, location)));
            do /* the next header, if it still belongs to the [[registry]] */
                at++;
            while (at < toml.count && toml.items[at].kind == TOML_VALUE);
        } while (at < toml.count && strcmp(toml.items[at].path, "registry" TOML_DOT "mirror") == 0);
        if (found == TOML_NONE)
            continue;
        /* everything, or only our mirror if another one was added */
        size_t from = foreign ? found : i;
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
