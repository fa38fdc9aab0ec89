/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd: one folder of hosts.toml files, and its own configuration only where `config_path`
 * does not lead to one.
 *
 * From 2.1 on, CRI pulls through the transfer service, which takes `config_path` for one folder
 * even where it is a list (the default of 2.2 is such a list): no mirror is asked then and nothing
 * is logged. So the list becomes one folder there. `registry.mirrors` and `config_path` together
 * keep the CRI plugin from starting: refused. */
#include "setup.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_DEFAULT "/etc/containerd/config.toml"
#define HOSTS_DEFAULT "/etc/containerd/certs.d"
#define DROP_IN_PATTERN "/etc/containerd/conf.d/*.toml" /* imported by default from 2.2 on */
#define ROOTS_MAX 16u
#define CHAIN_MAX 64u /* configuration files with all that they import */

/* One file of the configuration, read. */
struct part {
    struct setup_file *file;
    struct toml toml;
    int version;
};

struct config {
    struct setup *setup;
    struct setup_version engine;
    struct part parts[CHAIN_MAX]; /* the main file, then imports in the order that they count */
    size_t n;
    size_t target;          /* the part that has the last word about the plugin */
    char *path;             /* config_path as it counts, or NULL */
    char *roots[ROOTS_MAX]; /* its folders */
    size_t n_roots;
};

static void config_free(struct config *config)
{
    for (size_t i = 0; i < config->n; i++)
        toml_free(&config->parts[i].toml);
    for (size_t i = 0; i < config->n_roots; i++)
        free(config->roots[i]);
    free(config->path);
}

/* The plugin's table in each version of the configuration. */
static const char *plugin_table(int version)
{
    return version == 1   ? "plugins" TOML_DOT "cri"
           : version == 2 ? "plugins" TOML_DOT "io.containerd.grpc.v1.cri"
                          : "plugins" TOML_DOT "io.containerd.cri.v1.images";
}

static char *registry_path(int version, const char *rest, struct ocv_error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s" TOML_DOT "registry%s%s", plugin_table(version), *rest ? TOML_DOT : "",
                 rest) >= 0)
        return path;
    ocv_error_nomem(err);
    return NULL;
}

/* ---- reading the configuration -----------------------------------------------------------------
 */

static int read_version(struct part *part, int inherited, struct ocv_error *err)
{
    const struct toml_item *item = toml_find(&part->toml, "version");
    if (!item) {
        part->version = inherited;
        return OCV_OK;
    }
    char c = part->toml.text[item->start];
    if (item->end - item->start != 1 || c < '1' || c > '3')
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: version %.*s is not known here",
                             part->file->path, (int)(item->end - item->start),
                             part->toml.text + item->start);
    part->version = c - '0';
    return OCV_OK;
}

static int add_part(struct config *config, const char *path, int inherited, struct ocv_error *err);

/* IMPORT may be relative to the file that names it, and its last component a pattern. */
static int add_import(struct config *config, const char *parent, const char *import, int inherited,
                      struct ocv_error *err)
{
    ocv_auto_buffer path;
    ocv_buffer_init(&path, SETUP_FILE_MAX);
    const char *slash = strrchr(parent, '/');
    int status = import[0] == '/' ? ocv_buffer_printf(&path, err, "%s", import)
                                  : ocv_buffer_printf(&path, err, "%.*s/%s", (int)(slash - parent),
                                                      parent, import);
    if (status < 0 || !strpbrk(path.data, "*?["))
        return status < 0 ? status : add_part(config, path.data, inherited, err);
    char *pattern = strrchr(path.data, '/') + 1, **names;
    size_t n;
    pattern[-1] = '\0';
    if (strpbrk(path.data, "*?["))
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: imports a pattern of folders", parent);
    status = setup_list(config->setup, path.data, &names, &n, err);
    if (status < 0)
        return status;
    for (size_t i = 0; i < n && status == OCV_OK; i++) {
        ocv_auto_buffer one;
        ocv_buffer_init(&one, SETUP_FILE_MAX);
        if (fnmatch(pattern, names[i], FNM_PATHNAME) != 0)
            continue;
        status = ocv_buffer_printf(&one, err, "%s/%s", path.data, names[i]);
        if (status == OCV_OK)
            status = add_part(config, one.data, inherited, err);
    }
    setup_names_free(names, n);
    return status;
}

static int add_imports(struct config *config, size_t index, struct ocv_error *err)
{
    const struct toml *toml = &config->parts[index].toml;
    const char *parent = config->parts[index].file->path;
    const struct toml_item *item = toml_find(toml, "imports");
    size_t at = 0;
    char *import;
    int status = OCV_OK, version = config->parts[index].version;
    if (!item && index == 0 && setup_version_at_least(&config->engine, 2, 2))
        return add_import(config, parent, DROP_IN_PATTERN, version, err);
    while (item && status == OCV_OK &&
           (import = toml_next_string(toml, item, &at, NULL, NULL)) != NULL) {
        status = add_import(config, parent, import, version, err);
        free(import);
    }
    return status;
}

static int add_part(struct config *config, const char *path, int inherited, struct ocv_error *err)
{
    struct setup_file *file = NULL;
    int status = setup_open(config->setup, path, &file, err);
    for (size_t i = 0; status == OCV_OK && i < config->n; i++)
        if (config->parts[i].file == file)
            return OCV_OK; /* also where imports go in a circle */
    if (status < 0 || (!file->want.there && config->n > 0))
        return status;
    if (config->n == CHAIN_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "%s: more than %u imports", path, CHAIN_MAX);
    struct part *part = &config->parts[config->n];
    *part = (struct part){.file = file};
    status = toml_scan(file->path, file->want.text.data, file->want.text.len, &part->toml, err);
    if (status < 0)
        return status;
    size_t index = config->n++;
    status = read_version(part, inherited, err);
    return status < 0 ? status : add_imports(config, index, err);
}

/* Mirrors, or TLS settings in `configs`: the plugin does not start with them and config_path. */
static int refuse_old_style(const struct part *part, struct ocv_error *err)
{
    char *mirrors = registry_path(part->version, "mirrors", err);
    char *configs = registry_path(part->version, "configs", err);
    const char *found = NULL;
    for (size_t i = 0; mirrors && configs && i < part->toml.count && !found; i++) {
        const char *path = part->toml.items[i].path;
        if (toml_path_under(path, mirrors) && strcmp(path, mirrors) != 0)
            found = "registry.mirrors";
        if (toml_path_under(path, configs) && strstr(path, TOML_DOT "tls"))
            found = "registry.configs with tls";
    }
    bool ready = mirrors && configs;
    free(mirrors);
    free(configs);
    if (!ready)
        return OCV_ERR_NOMEM;
    if (!found)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_CONFIG,
                  "%s: uses %s; together with config_path containerd's CRI plugin does not start",
                  part->file->path, found);
    ocv_error_hint(err, "move those settings into hosts.toml files under " HOSTS_DEFAULT
                        " (containerd's docs/hosts.md), then run this again");
    return OCV_ERR_CONFIG;
}

/* config_path of a part; `*out` NULL where it is not set or empty. */
static int part_config_path(const struct part *part, char **out, struct ocv_error *err)
{
    char *path = registry_path(part->version, "config_path", err);
    *out = NULL;
    if (!path)
        return OCV_ERR_NOMEM;
    const struct toml_item *item = toml_find(&part->toml, path);
    free(path);
    if (!item)
        return OCV_OK;
    *out = toml_string(&part->toml, item);
    if (!*out)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: config_path is not a string",
                             part->file->path);
    if (!**out) {
        free(*out);
        *out = NULL;
    }
    return OCV_OK;
}

/* Up to 1.7 the last file that names the plugin replaces the others' whole table; from 2.0 on
 * tables are merged. Setting a key in the last such file has the last word in both. */
static int find_effective(struct config *config, struct ocv_error *err)
{
    bool merged = !config->engine.known || config->engine.major >= 2;
    for (size_t i = 0; i < config->n; i++) {
        const struct part *part = &config->parts[i];
        char *path = NULL;
        int status = refuse_old_style(part, err);
        if (status == OCV_OK)
            status = part_config_path(part, &path, err);
        if (status < 0)
            return status;
        bool names = i == 0;
        for (size_t k = 0; k < part->toml.count && !names; k++)
            names = toml_path_under(part->toml.items[k].path, plugin_table(part->version));
        if (names)
            config->target = i;
        if (path || (names && !merged)) {
            free(config->path);
            config->path = path;
        }
    }
    return OCV_OK;
}

static int add_root(struct config *config, const char *path, size_t len, struct ocv_error *err)
{
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len == 0)
        return OCV_OK;
    if (path[0] != '/' || config->n_roots == ROOTS_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "config_path '%.200s' cannot be used",
                             config->path ? config->path : path);
    char *root = strndup(path, len);
    if (!root)
        return ocv_error_nomem(err);
    config->roots[config->n_roots++] = root;
    return OCV_OK;
}

static int split_roots(struct config *config, struct ocv_error *err)
{
    int status = OCV_OK;
    for (const char *at = config->path; at && status == OCV_OK; at = strchr(at, ':')) {
        at += at != config->path || *at == ':';
        status = add_root(config, at, strcspn(at, ":"), err);
    }
    return status;
}

/* ---- the plan ---------------------------------------------------------------------------------
 */

/* True if CRI is switched off here, as Docker's packages of containerd do. */
static bool cri_disabled(const struct config *config)
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

/* A file of our own making says which version it is. */
static int start_config(struct config *config, struct part *part, struct ocv_buffer *text,
                        struct ocv_error *err)
{
    if (part->file->want.there)
        return ocv_buffer_append(text, part->file->want.text.data, part->file->want.text.len, err);
    part->version = config->engine.known && config->engine.major >= 2 ? 3 : 2;
    return ocv_buffer_printf(text, err, "version = %d\n", part->version);
}

static int set_config_path(struct config *config, const char *hosts, struct ocv_error *err)
{
    struct part *part = &config->parts[config->target];
    ocv_auto_buffer text, raw;
    ocv_buffer_init(&text, SETUP_FILE_MAX);
    ocv_buffer_init(&raw, SETUP_FILE_MAX);
    int status = start_config(config, part, &text, err);
    if (status == OCV_OK)
        status = toml_quote(&raw, hosts, err);
    char *table = status == OCV_OK ? registry_path(part->version, "", err) : NULL;
    char *key = table ? registry_path(part->version, "config_path", err) : NULL;
    if (status == OCV_OK && !key)
        status = OCV_ERR_NOMEM;
    char *previous = NULL;
    bool header = false;
    if (status == OCV_OK) {
        const struct toml_item *item = toml_find(&part->toml, key);
        previous = item ? strndup(part->toml.text + item->start, item->end - item->start) : NULL;
        for (size_t i = 0; i < part->toml.count; i++)
            header = header || (part->toml.items[i].kind == TOML_TABLE &&
                                strcmp(part->toml.items[i].path, table) == 0);
        status = toml_set(part->file->path, &text, table, "config_path", raw.data, err);
    }
    if (status == OCV_OK)
        status = setup_add_own(part->file, header ? SETUP_OWN_TOML_KEY : SETUP_OWN_TOML_TABLE,
                               table, "config_path", raw.data, previous, err);
    if (status == OCV_OK) /* frees what part->toml points into: last */
        status = setup_want(part->file, text.data, text.len, err);
    free(table);
    free(key);
    free(previous);
    return status;
}

/* Which folder, and whether containerd has to be told about it. */
static int choose_folder(struct config *config, bool *tell, struct ocv_error *err)
{
    struct setup *setup = config->setup;
    bool splits = config->engine.known && !setup_version_at_least(&config->engine, 2, 1);
    int status = split_roots(config, err);
    if (status < 0)
        return status;
    if (setup->config_dir) {
        if (config->n_roots && strcmp(config->roots[0], setup->config_dir) != 0)
            return ocv_error_set(err, OCV_ERR_CONFIG, "%s: config_path is already '%.200s'",
                                 config->parts[config->target].file->path, config->path);
        status = config->n_roots
                     ? OCV_OK
                     : add_root(config, setup->config_dir, strlen(setup->config_dir), err);
        *tell = !config->path;
    } else if (!config->path) {
        *tell = true;
        status = add_root(config, HOSTS_DEFAULT, strlen(HOSTS_DEFAULT), err);
    }
    if (status < 0 || config->n_roots < 2 || splits)
        return status;
    *tell = true;
    status = setup_note(setup, err,
                        "note: config_path was the list '%s', which containerd from 2.1 on takes "
                        "for one folder; it becomes %s, and what lies in the others stays unused",
                        config->path, config->roots[0]);
    while (config->n_roots > 1)
        free(config->roots[--config->n_roots]);
    return status;
}

static int plan(struct config *config, struct ocv_error *err)
{
    struct setup *setup = config->setup;
    const char *path = setup->engine_config ? setup->engine_config : CONFIG_DEFAULT;
    bool tell = false;
    int status = add_part(config, path, 1, err);
    if (status == OCV_OK)
        status = find_effective(config, err);
    if (status == OCV_OK)
        status = choose_folder(config, &tell, err);
    bool disabled = cri_disabled(config);
    if (status == OCV_OK)
        status = setup_hosts(setup, config->roots, config->n_roots,
                             setup_version_at_least(&config->engine, 2, 1), err);
    if (status == OCV_OK && tell) {
        snprintf(setup->restart, sizeof(setup->restart), "systemctl restart containerd");
        status = set_config_path(config, config->roots[0], err);
    }
    if (status == OCV_OK && disabled)
        status = setup_note(setup, err,
                            "note: the CRI plugin is disabled in %s: only nerdctl and "
                            "`ctr images pull --hosts-dir %s` read these files",
                            path, config->roots[0]);
    return status;
}

int setup_containerd(struct setup *setup, struct ocv_error *err)
{
    struct config config = {.setup = setup};
    setup_find_version(setup, "containerd", &config.engine);
    int status = setup_note(setup, err, "containerd %s",
                            config.engine.known ? config.engine.text
                                                : "of unknown version (--engine-version tells it)");
    if (status == OCV_OK)
        status = plan(&config, err);
    if (status == OCV_OK)
        status = setup_note(setup, err,
                            "hosts.toml files are read at every pull; ctr needs "
                            "`ctr images pull --hosts-dir %s`",
                            config.roots[0]);
    config_free(&config);
    return status;
}
