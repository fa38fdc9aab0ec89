/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd's configuration with its imports: the settings in effect, and those that prevent a
 * set-up. */
#include "cmd/variantctl/setup/engines/containerd.h"

#include "lib/base/cleanup.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DROP_IN_PATTERN "/etc/containerd/conf.d/*.toml" /* imported by default from 2.2 on */

void containerd_config_free(struct containerd_config *config)
{
    for (size_t i = 0; i < config->n; i++)
        toml_free(&config->parts[i].toml);
    for (size_t i = 0; i < config->n_roots; i++)
        free(config->roots[i]);
    free(config->path);
}

#define PLUGIN_V1 "plugins" TOML_DOT "cri"
#define PLUGIN_V2 "plugins" TOML_DOT "io.containerd.grpc.v1.cri"
#define PLUGIN_V3 "plugins" TOML_DOT "io.containerd.cri.v1.images"

const char *const containerd_plugin_names[] = {PLUGIN_V3, PLUGIN_V2, PLUGIN_V1, NULL};

static bool has_table(const struct toml *toml, const char *path)
{
    for (size_t i = 0; i < toml->count; i++)
        if (toml_path_under(toml->items[i].path, path))
            return true;
    return false;
}

/* The names by which the files are read (`config dump` of 2.1 is the judge). containerd 2 merges
 * all files, and the last version that one of them states, from 2 on, is that of the whole; 3 where
 * none does. In a whole of version 2 the old names are translated, and a registry table by the old
 * name replaces that by the new one; in a whole of version 3 the old names are ignored, whatever
 * the file that has them says. */
static int name_tables(struct containerd_config *config, struct ocv_error *err)
{
    const struct containerd_part *last = NULL, *ignored = NULL;
    bool merged = config->engine.known && config->engine.major >= 2, old = false, new = false;
    for (size_t i = 0; i < config->n; i++) {
        struct containerd_part *part = &config->parts[i];
        if (part->stated >= 2)
            last = part;
        if (has_table(&part->toml, PLUGIN_V2) ||
            (part->version == 1 && has_table(&part->toml, PLUGIN_V1)))
            ignored = part;
        merged = merged || (!config->engine.known &&
                            (part->stated >= 3 || has_table(&part->toml, PLUGIN_V3)));
        old = old || has_table(&part->toml, PLUGIN_V2 TOML_DOT "registry") ||
              (part->version == 1 && has_table(&part->toml, PLUGIN_V1 TOML_DOT "registry"));
        new = new || has_table(&part->toml, PLUGIN_V3);
    }
    bool whole_is_2 = last && last->stated == 2;
    for (size_t i = 0; i < config->n; i++) {
        struct containerd_part *part = &config->parts[i];
        if (!merged) {
            /* The file's own version, as containerd before 2.0 reads it. In a version 2 file newer
             * ones also accept the new name, and such files exist. */
            bool new_name = part->version >= 3;
            if (part->version == 2 && !config->engine.known)
                new_name = has_table(&part->toml, PLUGIN_V3) &&
                           !has_table(&part->toml, PLUGIN_V2 TOML_DOT "registry");
            part->plugin = new_name ? PLUGIN_V3 : part->version == 1 ? PLUGIN_V1 : PLUGIN_V2;
        } else if (!whole_is_2 || (new && !old)) {
            part->plugin = PLUGIN_V3;
        } else {
            part->plugin =
                part->version == 1 && has_table(&part->toml, PLUGIN_V1) ? PLUGIN_V1 : PLUGIN_V2;
        }
    }
    if (!merged || whole_is_2 || !ignored)
        return OCV_OK;
    if (!last)
        return setup_note(config->setup, err,
                          "note: containerd 2 takes %s for version 3, since no file states a "
                          "version, and ignores the CRI plugin's older settings in it",
                          ignored->file->path);
    return setup_note(config->setup, err,
                      "note: containerd 2 ignores the CRI plugin's settings of version 2 in %s, "
                      "because %s is of version %d: write them as version 3 (containerd config "
                      "migrate)",
                      ignored->file->path, last->file->path, last->stated);
}

char *containerd_registry_path(const char *plugin, const char *rest, struct ocv_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s" TOML_DOT "registry%s%s", plugin, *rest ? TOML_DOT : "", rest) >= 0)
        return path;
    ocv_error_nomem(err);
    return NULL;
}

/* IMPORT may be relative to the importing file, and its last component may be a pattern. */
static int add_import(struct containerd_config *config, const char *parent, const char *import,
                      int inherited, struct ocv_error *err)
{
    ocv_auto_buffer path;
    ocv_buffer_init(&path, SETUP_FILE_MAX);
    const char *slash = strrchr(parent, '/');
    OCV_TRY(import[0] == '/'
                ? ocv_buffer_printf(&path, err, "%s", import)
                : ocv_buffer_printf(&path, err, "%.*s/%s", (int)(slash - parent), parent, import));
    if (!strpbrk(path.data, "*?["))
        return containerd_read(config, path.data, inherited, err);
    char *pattern = strrchr(path.data, '/') + 1;
    pattern[-1] = '\0';
    if (strpbrk(path.data, "*?["))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: imports a pattern of directories",
                             parent);
    setup_auto_names names = {0};
    OCV_TRY(setup_list(config->setup, path.data, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        ocv_auto_buffer one;
        ocv_buffer_init(&one, SETUP_FILE_MAX);
        if (fnmatch(pattern, names.list[i], FNM_PATHNAME) != 0)
            continue;
        OCV_TRY(ocv_buffer_printf(&one, err, "%s/%s", path.data, names.list[i]));
        OCV_TRY(containerd_read(config, one.data, inherited, err));
    }
    return OCV_OK;
}

int containerd_read(struct containerd_config *config, const char *path, int inherited,
                    struct ocv_error *err)
{
    struct setup_file *file = NULL;
    OCV_TRY(setup_open(config->setup, path, &file, err));
    for (size_t i = 0; i < config->n; i++)
        if (config->parts[i].file == file)
            return OCV_OK; /* also ends circular imports */
    if (!file->want.there && config->n > 0)
        return OCV_OK;
    if (config->n == CONTAINERD_CHAIN_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: more than %u imports", path,
                             CONTAINERD_CHAIN_MAX);
    struct containerd_part *part = &config->parts[config->n];
    const struct toml *toml = &part->toml;
    *part = (struct containerd_part){.file = file, .version = inherited};
    OCV_TRY(toml_scan(file->path, file->want.text.data, file->want.text.len, &part->toml, err));
    bool first = config->n++ == 0;

    const struct toml_item *version = toml_find(toml, "version");
    if (version) {
        const char *text = toml->text + version->start;
        if (version->end - version->start != 1 || *text < '1' || *text > '4')
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: version %.*s is not known here",
                                 file->path, (int)(version->end - version->start), text);
        part->version = part->stated = *text - '0';
    }

    const struct toml_item *imports = toml_find(toml, "imports");
    if (!imports && first && setup_version_at_least(&config->engine, 2, 2))
        return add_import(config, file->path, DROP_IN_PATTERN, part->version, err);
    for (size_t at = 0; imports;) {
        ocv_auto_free char *import = toml_next_string(toml, imports, &at, NULL, NULL);
        if (!import)
            break;
        OCV_TRY(add_import(config, file->path, import, part->version, err));
    }
    return OCV_OK;
}

/* Up to 1.7 the last file with the plugin's table replaces the others' whole table; from 2.0 on
 * tables are merged. A key in the last such file takes precedence in both cases. */
int containerd_check(struct containerd_config *config, struct ocv_error *err)
{
    bool merged = !config->engine.known || config->engine.major >= 2;
    OCV_TRY(name_tables(config, err));
    for (size_t i = 0; i < config->n; i++) {
        const struct containerd_part *part = &config->parts[i];
        ocv_auto_free char *key = containerd_registry_path(part->plugin, "config_path", err);
        ocv_auto_free char *mirrors = containerd_registry_path(part->plugin, "mirrors", err);
        ocv_auto_free char *configs = containerd_registry_path(part->plugin, "configs", err);
        if (!key || !mirrors || !configs)
            return OCV_ERR_NOMEM;
        /* The plugin does not start if `mirrors`, or TLS settings in `configs`, are combined with
         * config_path. */
        const char *found = NULL;
        for (size_t k = 0; k < part->toml.count && !found; k++) {
            const char *table = part->toml.items[k].path;
            if (toml_path_under(table, mirrors) && strcmp(table, mirrors) != 0)
                found = "registry.mirrors";
            if (toml_path_under(table, configs) && strstr(table, TOML_DOT "tls"))
                found = "registry.configs with tls";
        }
        if (found) {
            ocv_error_set(
                err, OCV_ERR_CONFIG,
                "%s: uses %s; together with config_path containerd's CRI plugin does not start",
                part->file->path, found);
            ocv_error_hint(err, "move those settings into hosts.toml files under "
                                "/etc/containerd/certs.d"
                                " (containerd's docs/hosts.md), then run this again");
            return OCV_ERR_CONFIG;
        }
        const struct toml_item *item = toml_find(&part->toml, key);
        ocv_auto_free char *path = item ? toml_string(&part->toml, item) : NULL;
        if (item && !path)
            return ocv_error_set(err, OCV_ERR_DATA, "%s: config_path is not a string",
                                 part->file->path);
        bool set = path && *path, names = i == 0;
        for (size_t k = 0; k < part->toml.count && !names; k++)
            names = toml_path_under(part->toml.items[k].path, part->plugin);
        if (names)
            config->target = i;
        if (set || (names && !merged)) {
            free(config->path);
            config->path = set ? ocv_steal(&path) : NULL;
        }
    }
    return OCV_OK;
}

int containerd_add_root(struct containerd_config *config, const char *path, size_t len,
                        struct ocv_error *err)
{
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len == 0)
        return OCV_OK;
    if (path[0] != '/' || config->n_roots == CONTAINERD_ROOTS_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "config_path '%.200s' cannot be used",
                             config->path ? config->path : path);
    char *root = strndup(path, len);
    if (!root)
        return ocv_error_nomem(err);
    config->roots[config->n_roots++] = root;
    return OCV_OK;
}

int containerd_split_roots(struct containerd_config *config, struct ocv_error *err)
{
    for (const char *at = config->path; at; at = strchr(at, ':')) {
        at += at != config->path || *at == ':';
        OCV_TRY(containerd_add_root(config, at, strcspn(at, ":"), err));
    }
    return OCV_OK;
}

bool containerd_cri_disabled(const struct containerd_config *config)
{
    for (size_t i = 0; i < config->n; i++) {
        const struct toml *toml = &config->parts[i].toml;
        const struct toml_item *item = toml_find(toml, "disabled_plugins");
        size_t at = 0;
        char *name;
        bool found = false;
        while (item && !found && (name = toml_next_string(toml, item, &at, NULL, NULL)) != NULL) {
            found = strcmp(name, "cri") == 0 || strcmp(name, "io.containerd.grpc.v1.cri") == 0 ||
                    strcmp(name, "io.containerd.cri.v1.images") == 0;
            free(name);
        }
        if (found)
            return true;
    }
    return false;
}
