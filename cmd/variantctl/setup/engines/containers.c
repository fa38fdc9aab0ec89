/* SPDX-License-Identifier: GPL-3.0-or-later */
/* podman and CRI-O (also skopeo and buildah): a drop-in under registries.conf.d.
 *
 * A [[registry]] in a later file completely replaces an earlier one with the same prefix, so
 * ours repeats the earlier file's settings, with our mirror before its mirrors. The library
 * appends /v2/ directly to HOST:PORT, so a mirror's path names the registry, and can contain
 * neither /proxy nor a colon. */
#include "cmd/variantctl/setup/setup.h"
#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY_DEFAULT "/etc/containers"
#define OUR_PREFIX "50-ocivariant"
#define MIRROR_TABLE "registry" TOML_DOT "mirror"

/* Settings of one registry in other files. */
struct registry_entry {
    struct ocv_buffer keys;    /* lines of its [[registry]] except prefix and location */
    struct ocv_buffer mirrors; /* its [[registry.mirror]] blocks */
    char *location;            /* raw, or NULL */
    json_t *replacing;         /* gets later files that replace ours; NULL: they are refused */
};

static void entry_free(struct registry_entry *entry)
{
    ocv_buffer_free(&entry->keys);
    ocv_buffer_free(&entry->mirrors);
    free(entry->location);
}

static int copy_keys(const struct toml *toml, size_t header, struct ocv_buffer *out, bool registry,
                     struct registry_entry *entry, struct ocv_error *err)
{
    for (size_t i = header + 1; i < toml->count && toml->items[i].kind == TOML_VALUE; i++) {
        const struct toml_item *item = &toml->items[i];
        const char *key = item->path + strlen(toml->items[header].path) + 1;
        size_t len = item->end - item->start;
        if (item->inside || (registry && strcmp(key, "prefix") == 0))
            continue;
        if (registry && strcmp(key, "location") == 0) {
            free(entry->location);
            entry->location = strndup(toml->text + item->start, len);
            if (!entry->location)
                return ocv_error_nomem(err);
            continue;
        }
        OCV_TRY(ocv_buffer_append(out, toml->text + item->key, item->end - item->key, err));
        OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    }
    return OCV_OK;
}

/* Copy the [[registry]] at `header` with its mirrors. */
static int copy_entry(const char *source, const struct toml *toml, size_t header,
                      struct registry_entry *entry, struct ocv_error *err)
{
    const struct toml_item *digests = toml_find_under(toml, header, "mirror-by-digest-only");
    if (toml_find_under(toml, header, "mirror") || (digests && toml->text[digests->start] == 't')) {
        ocv_error_set(err, OCV_ERR_CONFIG,
                      "%s: its mirrors are %s, which a mirror of tags cannot be added to", source,
                      digests ? "for digests alone" : "not written as [[registry.mirror]]");
        return OCV_ERR_CONFIG;
    }
    entry_free(entry);
    *entry = (struct registry_entry){.replacing = entry->replacing};
    ocv_buffer_init(&entry->keys, SETUP_FILE_MAX);
    ocv_buffer_init(&entry->mirrors, SETUP_FILE_MAX);
    OCV_TRY(copy_keys(toml, header, &entry->keys, true, entry, err));
    for (size_t i = header + 1; i < toml->count; i++) {
        if (toml->items[i].kind == TOML_VALUE)
            continue;
        if (strcmp(toml->items[i].path, MIRROR_TABLE) != 0)
            break;
        OCV_TRY(ocv_buffer_printf(&entry->mirrors, err, "\n[[registry.mirror]]\n"));
        OCV_TRY(copy_keys(toml, i, &entry->mirrors, false, entry, err));
    }
    return OCV_OK;
}

/* A [[registry]] in a file of others. `later`: that file is read after ours. */
static int scan_entry(struct setup *setup, const char *source, const struct toml *toml,
                      size_t header, const char *host, bool later, struct registry_entry *entry,
                      struct ocv_error *err)
{
    ocv_auto_free char *prefix = toml_string(toml, toml_find_under(toml, header, "prefix"));
    size_t n = strlen(host);
    if (!prefix || !*prefix) {
        free(prefix);
        prefix = toml_string(toml, toml_find_under(toml, header, "location"));
    }
    if (!prefix)
        return OCV_OK;
    bool same = strcmp(prefix, host) == 0;
    if (entry->replacing)
        return same && later &&
                       json_array_append_new(entry->replacing, json_pack("{s:s, s:s}", "registry",
                                                                         host, "file", source)) < 0
                   ? ocv_error_nomem(err)
                   : OCV_OK;
    if (same && later)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "%s: has a [[registry]] for %s, which would replace ours", source,
                             host);
    if (same)
        return setup->fail_closed ? OCV_OK : copy_entry(source, toml, header, entry, err);
    size_t m = strlen(prefix);
    if (m > 2 && strncmp(prefix, "*.", 2) == 0 && n > m - 1 &&
        strcmp(host + n - (m - 1), prefix + 1) == 0)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "%s: %s covers %s; one for %s alone would hide it", source, prefix,
                             host, host);
    return strncmp(prefix, host, n) == 0 && prefix[n] == '/'
               ? setup_note(setup, err, "note: %s keeps its own way for %s", source, prefix)
               : OCV_OK;
}

static int scan_file(struct setup *setup, const struct setup_file *file, const char *host,
                     bool later, struct registry_entry *entry, struct ocv_error *err)
{
    toml_auto toml = {0};
    const char *source = file->path;
    OCV_TRY(toml_scan(source, file->want.text.data, file->want.text.len, &toml, err));
    for (size_t i = 0; i < toml.count; i++) {
        const struct toml_item *item = &toml.items[i];
        if (item->kind == TOML_VALUE && strcmp(item->path, "registry") == 0)
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                                 "%s: 'registry' is not written as [[registry]]", source);
        if (toml_path_under(item->path, "registries")) {
            ocv_error_set(err, OCV_ERR_CONFIG,
                          "%s: is in the first format of registries.conf, which has no mirrors",
                          source);
            ocv_error_hint(err, "rewrite it with unqualified-search-registries and [[registry]] "
                                "(man 5 containers-registries.conf)");
            return OCV_ERR_CONFIG;
        }
        if (item->kind == TOML_ARRAY_TABLE && strcmp(item->path, "registry") == 0)
            OCV_TRY(scan_entry(setup, source, &toml, i, host, later, entry, err));
    }
    return OCV_OK;
}

/* The drop-ins of a directory, by name. `own_name`: our file in it, or NULL if the directory is
 * read before ours. */
static int scan_drop_ins(struct setup *setup, const char *directory, const char *own_name,
                         const char *host, struct registry_entry *entry, struct ocv_error *err)
{
    ocv_auto_buffer path;
    ocv_buffer_init(&path, SETUP_FILE_MAX);
    struct setup_file *file = NULL;
    setup_auto_names names = {0};
    OCV_TRY(ocv_buffer_printf(&path, err, "%s/registries.conf.d", directory));
    OCV_TRY(setup_list(setup, path.data, &names, err));
    size_t len = path.len;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.list[i];
        size_t m = strlen(name);
        bool own = own_name && strcmp(name, own_name) == 0;
        if (m < 6 || strcmp(name + m - 5, ".conf") != 0 ||
            (strncmp(name, OUR_PREFIX, strlen(OUR_PREFIX)) == 0 && !own))
            continue; /* our drop-in for the other engine has the same content */
        path.len = len;
        OCV_TRY(ocv_buffer_printf(&path, err, "/%s", name));
        OCV_TRY(setup_open(setup, path.data, &file, err));
        if (file->want.there)
            OCV_TRY(scan_file(setup, file, host,
                              own_name && strcmp(name, own_name) >= (entry->replacing != NULL),
                              entry, err));
    }
    return OCV_OK;
}

/* podman and CRI-O read each other's drop-ins, podman's last. If both name a registry, podman's
 * would undo a fail-closed set-up of CRI-O, or CRI-O's would make podman fail closed against its
 * own set-up. */
static int check_other(const struct setup *setup, const char *directory, const char *host,
                       struct ocv_error *err)
{
    struct setup other = *setup;
    struct setup_state state;
    other.engine = strcmp(setup->engine, "crio") == 0 ? "podman" : "crio";
    int status = setup_load_state(&other, &state, err);
    if (status < 0)
        return status;
    bool here = false, named = false;
    size_t n = strlen(directory);
    for (size_t i = 0; i < state.n_records; i++)
        here = here || (strncmp(state.records[i].path, directory, n) == 0 &&
                        strncmp(state.records[i].path + n, "/registries.conf.d/", 19) == 0);
    for (size_t i = 0; i < state.n_registries; i++)
        named = named || strcmp(state.registries[i], host) == 0;
    if (here && named && state.fail_closed != setup->fail_closed) {
        status = ocv_error_set(err, OCV_ERR_CONFIG,
                               "%s: set up fail-%s for %s, which podman and CRI-O would both read",
                               host, state.fail_closed ? "closed" : "open", other.engine);
        ocv_error_hint(err,
                       "run `variantctl setup %s` with%s --fail-closed first, or with "
                       "--uninstall",
                       other.engine, setup->fail_closed ? "" : "out");
    }
    setup_state_free(&state);
    return status;
}

static int plan_registry(struct setup *setup, const char *directory, const char *name,
                         const char *host, struct setup_file *file, struct ocv_buffer *text,
                         struct ocv_error *err)
{
    __attribute__((cleanup(entry_free))) struct registry_entry entry = {0};
    ocv_auto_buffer path, mirror;
    ocv_buffer_init(&path, SETUP_FILE_MAX);
    ocv_buffer_init(&mirror, SETUP_FILE_MAX);
    OCV_TRY(check_other(setup, directory, host, err));

    /* All files in the library's order: registries.conf, then the drop-ins by name. A user's
     * registries.conf replaces the system's files; without one the user's drop-ins come last. */
    struct setup_file *main_file = NULL;
    OCV_TRY(ocv_buffer_printf(&path, err, "%s/registries.conf", directory));
    OCV_TRY(setup_open(setup, path.data, &main_file, err));
    bool system = !main_file->want.there && setup->home;
    if (system)
        OCV_TRY(setup_open(setup, DIRECTORY_DEFAULT "/registries.conf", &main_file, err));
    if (main_file->want.there)
        OCV_TRY(scan_file(setup, main_file, host, false, &entry, err));
    if (system)
        OCV_TRY(scan_drop_ins(setup, DIRECTORY_DEFAULT, NULL, host, &entry, err));
    OCV_TRY(scan_drop_ins(setup, directory, name, host, &entry, err));

    /* 127.0.0.1:340/docker.io; a colon in the registry's name is written as "--" */
    if (strchr(host, '['))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: a mirror's path cannot hold an IPv6 address",
                             host);
    OCV_TRY(ocv_buffer_printf(&mirror, err, "%s/", setup->listen));
    for (const char *at = host; *at; at++)
        OCV_TRY(*at == ':' ? ocv_buffer_append(&mirror, "--", 2, err)
                           : ocv_buffer_append(&mirror, at, 1, err));

    OCV_TRY(ocv_buffer_printf(text, err, "\n[[registry]]\nprefix = \"%s\"\n", host));
    if (setup->fail_closed) {
        OCV_TRY(ocv_buffer_printf(text, err, "location = \"%s\"\ninsecure = true\n", mirror.data));
    } else {
        OCV_TRY(entry.location ? ocv_buffer_printf(text, err, "location = %s\n", entry.location)
                               : ocv_buffer_printf(text, err, "location = \"%s\"\n", host));
        OCV_TRY(ocv_buffer_printf(text, err,
                                  "%s\n[[registry.mirror]]\nlocation = \"%s\"\ninsecure = true\n",
                                  entry.keys.data ? entry.keys.data : "", mirror.data));
        OCV_TRY(ocv_buffer_append(text, entry.mirrors.data, entry.mirrors.len, err));
    }
    return setup_add_own(file, SETUP_OWN_TOML_REGISTRY, NULL, host, mirror.data,
                         entry.mirrors.len ? entry.mirrors.data : NULL, err);
}

int setup_containers(struct setup *setup, struct ocv_error *err)
{
    const bool crio = strcmp(setup->engine, "crio") == 0;
    const char *directory = setup->config_dir ? setup->config_dir
                            : setup->home     ? setup->home
                                              : DIRECTORY_DEFAULT;
    const char *name = crio ? OUR_PREFIX "-crio.conf" : OUR_PREFIX ".conf";
    struct setup_version version;
    struct setup_file *file = NULL;
    ocv_auto_buffer path, text;
    ocv_buffer_init(&path, SETUP_FILE_MAX);
    ocv_buffer_init(&text, SETUP_FILE_MAX);
    setup_find_version(setup, crio ? "crio" : "podman", &version);
    OCV_TRY(setup_note(setup, err, "%s %s", setup->engine,
                       version.known ? version.text : "of unknown version"));
    OCV_TRY(ocv_buffer_printf(&path, err, "%s/registries.conf.d/%s", directory, name));
    OCV_TRY(setup_open(setup, path.data, &file, err));
    if (file->want.there) /* keeps others' additions to it */
        OCV_TRY(ocv_buffer_append(&text, file->want.text.data, file->want.text.len, err));
    else
        OCV_TRY(ocv_buffer_printf(&text, err,
                                  SETUP_FILE_COMMENT "%s`, which also takes it away "
                                                     "(--uninstall).\n",
                                  setup->engine));
    for (size_t i = 0; i < setup->n_registries; i++)
        OCV_TRY(plan_registry(setup, directory, name, setup->registries[i], file, &text, err));
    OCV_TRY(setup_want(file, text.data, text.len, err));
    if (crio)
        snprintf(setup->restart, sizeof(setup->restart), "systemctl reload crio");
    return setup_note(setup, err,
                      "note: podman, CRI-O, skopeo and buildah all read this file: in "
                      "FROM of a build, too, a tag means this machine's variant then");
}

int setup_containers_passed_by(struct setup *setup, const struct setup_state *state, json_t *list,
                               struct ocv_error *err)
{
    static const char drop_ins[] = "/registries.conf.d/";
    struct registry_entry entry = {.replacing = list};
    for (size_t i = 0; i < state->n_records; i++) {
        const char *path = state->records[i].path, *at = strstr(path, drop_ins);
        ocv_auto_free char *directory = at ? strndup(path, (size_t)(at - path)) : NULL;
        for (size_t k = 0; directory && k < state->n_registries; k++)
            OCV_TRY(scan_drop_ins(setup, directory, at + strlen(drop_ins), state->registries[k],
                                  &entry, err));
    }
    return OCV_OK;
}
