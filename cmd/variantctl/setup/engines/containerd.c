/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd: one directory of hosts.toml files, and containerd's own configuration only if
 * `config_path` does not name that directory.
 *
 * From 2.1 on, CRI pulls through the transfer service, which reads `config_path` as one
 * directory even if it is a list (as in the default of 2.2). No mirror is asked then, and
 * nothing is logged. So the list is replaced by one directory. `registry.mirrors` together with
 * `config_path` keeps the CRI plugin from starting, so that is refused. */
#include "cmd/variantctl/setup/engines/containerd.h"
#include "cmd/variantctl/setup/setup_internal.h"

#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_DEFAULT "/etc/containerd/config.toml"
#define HOSTS_DEFAULT "/etc/containerd/certs.d"

static int set_config_path(struct containerd_config *config, const char *hosts,
                           struct ocv_error *err)
{
    struct containerd_part *part = &config->parts[config->target];
    struct setup_content *want = &part->file->want;
    ocv_auto_buffer text, raw;
    ocv_buffer_init(&text, SETUP_FILE_MAX);
    ocv_buffer_init(&raw, SETUP_FILE_MAX);
    if (want->there) {
        OCV_TRY(ocv_buffer_append(&text, want->text.data, want->text.len, err));
    } else { /* a configuration file that we create states its version */
        bool new = config->engine.known && config->engine.major >= 2;
        part->version = new ? 3 : 2;
        part->plugin = new ? "plugins" TOML_DOT "io.containerd.cri.v1.images"
                           : "plugins" TOML_DOT "io.containerd.grpc.v1.cri";
        OCV_TRY(ocv_buffer_printf(&text, err, "version = %d\n", part->version));
    }
    OCV_TRY(toml_quote(&raw, hosts, err));
    ocv_auto_free char *table = containerd_registry_path(part->plugin, "", err);
    ocv_auto_free char *key = containerd_registry_path(part->plugin, "config_path", err);
    if (!table || !key)
        return OCV_ERR_NOMEM;
    const struct toml_item *item = toml_find(&part->toml, key);
    ocv_auto_free char *previous =
        item ? strndup(part->toml.text + item->start, item->end - item->start) : NULL;
    bool header = false;
    for (size_t i = 0; i < part->toml.count; i++)
        header = header || (part->toml.items[i].kind == TOML_TABLE &&
                            strcmp(part->toml.items[i].path, table) == 0);
    OCV_TRY(toml_set(part->file->path, &text, table, "config_path", raw.data, err));
    OCV_TRY(setup_add_own(part->file, header ? SETUP_OWN_TOML_KEY : SETUP_OWN_TOML_TABLE, table,
                          "config_path", raw.data, previous, err));
    return setup_want(part->file, text.data, text.len, err); /* frees what part->toml points into */
}

/* Choose the directory, and whether containerd must be told about it. */
static int choose_directory(struct containerd_config *config, bool *tell, struct ocv_error *err)
{
    struct setup *setup = config->setup;
    bool splits = config->engine.known && !setup_version_at_least(&config->engine, 2, 1);
    OCV_TRY(containerd_split_roots(config, err));
    if (setup->config_dir) {
        if (strchr(setup->config_dir, ':'))
            return ocv_error_set(err, OCV_ERR_INVALID,
                                 "--config-dir: containerd takes '%.200s' for several directories",
                                 setup->config_dir);
        if (config->n_roots && strcmp(config->roots[0], setup->config_dir) != 0)
            return ocv_error_set(err, OCV_ERR_CONFIG, "%s: config_path is already '%.200s'",
                                 config->parts[config->target].file->path, config->path);
        if (!config->n_roots)
            OCV_TRY(containerd_add_root(config, setup->config_dir, strlen(setup->config_dir), err));
        *tell = !config->path;
    } else if (!config->path) {
        *tell = true;
        OCV_TRY(containerd_add_root(config, HOSTS_DEFAULT, strlen(HOSTS_DEFAULT), err));
    }
    if (config->n_roots < 2 || splits)
        return OCV_OK;
    *tell = true;
    OCV_TRY(setup_note(setup, err,
                       "note: config_path was the list '%s', which containerd from 2.1 on takes "
                       "for one directory; it becomes %s, and what lies in the others stays unused",
                       config->path, config->roots[0]));
    while (config->n_roots > 1)
        free(config->roots[--config->n_roots]);
    return OCV_OK;
}

/* Note it if a running containerd (other than dockerd's own) was started with another file, and so
 * will not see the changes. */
static int note_other_config(struct setup *setup, const char *path, const char *cmdline, size_t len,
                             const char *pid, struct ocv_error *err)
{
    const char *end = cmdline + len;
    for (const char *at = cmdline; at < end; at += strlen(at) + 1) {
        const char *value = NULL;
        if (strcmp(at, "-c") == 0 || strcmp(at, "--config") == 0)
            value = at + strlen(at) + 1;
        else if (strncmp(at, "--config=", 9) == 0)
            value = at + 9;
        if (!value || value >= end || strstr(value, "/docker/"))
            continue;
        /* the file as that process sees it; NULL if it does not exist */
        char seen[4096];
        int n = *value == '/' ? snprintf(seen, sizeof(seen), "%s", value)
                              : snprintf(seen, sizeof(seen), "/proc/%.20s/cwd/%s", pid, value);
        ocv_auto_free char *read = n < (int)sizeof(seen) ? realpath(seen, NULL) : NULL;
        ocv_auto_free char *ours = realpath(path, NULL);
        if (strcmp(read ? read : value, ours ? ours : path) == 0)
            continue;
        return setup_note(setup, err,
                          "note: the containerd that runs as process %s reads %s; --engine-config "
                          "%s sets that one up",
                          pid, read ? read : value, read ? read : value);
    }
    return OCV_OK;
}

#define DUMP_MAX (256u * 1024) /* what `containerd config dump` prints */

/* config_path as containerd itself reads its configuration, where it runs here; NULL: not known. */
static char *dumped_path(const struct containerd_config *config, const char *path)
{
    const char *argv[] = {"containerd", "--config", path, "config", "dump", NULL};
    ocv_auto_free char *text = *config->setup->root ? NULL : malloc(DUMP_MAX);
    toml_auto toml = {0};
    if (!text || !setup_ask(argv, text, DUMP_MAX) ||
        toml_scan("containerd config dump", text, strlen(text), &toml, NULL) < 0)
        return NULL;
    for (size_t i = 0; containerd_plugin_names[i]; i++) {
        ocv_auto_free char *key =
            containerd_registry_path(containerd_plugin_names[i], "config_path", NULL);
        const struct toml_item *item = key ? toml_find(&toml, key) : NULL;
        if (item)
            return toml_string(&toml, item);
    }
    return NULL;
}

/* True if this is the configuration that the set-up is about: it changed one of these files, or one
 * has a config_path, by a name that is not read. (--engine-config is not recorded.) */
static bool is_configuration_of(const struct containerd_config *config,
                                const struct setup_state *state)
{
    for (size_t i = 0; i < config->n; i++) {
        for (size_t k = 0; k < state->n_records; k++)
            if (strcmp(state->records[k].path, config->parts[i].file->path) == 0)
                return true;
        for (size_t k = 0; containerd_plugin_names[k]; k++) {
            ocv_auto_free char *key =
                containerd_registry_path(containerd_plugin_names[k], "config_path", NULL);
            if (key && toml_find(&config->parts[i].toml, key))
                return true;
        }
    }
    return false;
}

int setup_containerd_passed_by(struct setup *setup, const struct setup_state *state, json_t *list,
                               struct ocv_error *err)
{
    containerd_auto_config config = {.setup = setup};
    const char *path = setup->engine_config ? setup->engine_config : CONFIG_DEFAULT;
    ocv_auto_free char *url = NULL;
    setup_find_version(setup, "containerd", &config.engine);
    if (asprintf(&url, "http://%s%s", state->listen, state->fail_closed ? "/proxy" : "") < 0)
        return ocv_error_nomem(err);
    OCV_TRY(containerd_read(&config, path, 1, err));
    OCV_TRY(containerd_check(&config, err));
    char *dumped = dumped_path(&config, path);
    if (dumped) {
        free(config.path);
        config.path = dumped;
    }
    OCV_TRY(containerd_split_roots(&config, err));
    if (config.n_roots == 0 && !containerd_cri_disabled(&config) &&
        is_configuration_of(&config, state))
        return json_array_append_new(list, json_pack("{s:n, s:s}", "registry", "file", path)) < 0
                   ? ocv_error_nomem(err)
                   : OCV_OK;
    /* The directories of the set-up's own hosts.toml files: DIRECTORY/REGISTRY/hosts.toml. */
    bool unread = config.n_roots == 0;
    for (size_t i = 0; unread && i < state->n_records; i++) {
        const char *written = state->records[i].path, *file = strrchr(written, '/'), *end = file;
        while (end && end > written && *--end != '/')
            continue;
        if (!end || end == written || strcmp(file, "/hosts.toml") != 0)
            continue;
        size_t len = (size_t)(end - written);
        bool known = false;
        for (size_t k = 0; k < config.n_roots; k++)
            known = known || (strncmp(config.roots[k], written, len) == 0 && !config.roots[k][len]);
        if (!known)
            OCV_TRY(containerd_add_root(&config, written, len, err));
    }
    return setup_hosts_passed_by(setup, config.roots, config.n_roots, state, url, list, err);
}

int setup_containerd(struct setup *setup, struct ocv_error *err)
{
    containerd_auto_config config = {.setup = setup};
    const char *path = setup->engine_config ? setup->engine_config : CONFIG_DEFAULT;
    setup_find_version(setup, "containerd", &config.engine);
    OCV_TRY(setup_note(setup, err, "containerd %s, %s",
                       config.engine.known ? config.engine.text
                                           : "of unknown version (set it with --engine-version)",
                       path));
    setup_auto_names pids = {0};
    if (!*setup->root)
        OCV_TRY(setup_list_processes(setup, "containerd", &pids, err));
    for (size_t i = 0; i < pids.n; i++) {
        char file[64];
        ocv_auto_buffer cmdline;
        ocv_buffer_init(&cmdline, SETUP_FILE_MAX);
        snprintf(file, sizeof(file), "/proc/%.20s/cmdline", pids.list[i]);
        if (setup_read_file(setup, file, &cmdline, NULL) == OCV_OK && cmdline.len)
            OCV_TRY(note_other_config(setup, path, cmdline.data, cmdline.len, pids.list[i], err));
    }

    bool tell = false;
    OCV_TRY(containerd_read(&config, path, 1, err));
    OCV_TRY(containerd_check(&config, err));
    OCV_TRY(choose_directory(&config, &tell, err));
    const char *directory = config.roots[0];
    /* The configuration belongs to another program: print what it would need. Exit status 5 tells
     * programs. */
    if (tell && setup->hosts_only) {
        if (config.path)
            ocv_error_set(
                err, OCV_ERR_CHECK,
                "%s: config_path is the list '%s', which containerd from 2.1 on takes for one "
                "directory",
                path, config.path);
        else
            ocv_error_set(err, OCV_ERR_CHECK, "%s has no config_path", path);
        ocv_error_hint(err,
                       "set config_path = \"%s\" in it and restart containerd, or run this without "
                       "--hosts-only",
                       directory);
        return OCV_ERR_CHECK;
    }
    bool disabled = containerd_cri_disabled(&config);
    OCV_TRY(setup_hosts(setup, config.roots, config.n_roots,
                        setup_version_at_least(&config.engine, 2, 1), err));
    if (tell) {
        snprintf(setup->restart, sizeof(setup->restart), "systemctl restart containerd");
        OCV_TRY(set_config_path(&config, directory, err));
    }
    if (disabled)
        OCV_TRY(setup_note(setup, err,
                           "note: the CRI plugin is disabled in %s: only nerdctl and "
                           "`ctr images pull --hosts-dir %s` read these files",
                           path, directory));
    /* By default nerdctl reads two directories, and not containerd's configuration. */
    bool nerdctl = strcmp(directory, "/etc/containerd/certs.d") == 0 ||
                   strcmp(directory, "/etc/docker/certs.d") == 0;
    return setup_note(setup, err,
                      nerdctl
                          ? "hosts.toml files are read at every pull, by nerdctl, too; ctr needs "
                            "`ctr images pull --hosts-dir %s`"
                          : "hosts.toml files are read at every pull; nerdctl and `ctr images "
                            "pull` need `--hosts-dir %s`",
                      directory);
}
