/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hosts.toml files, which containerd, nerdctl and Docker's containerd store read at every pull: a
 * directory for each registry, and `_default` for all others. */
#include "cmd/variantctl/setup/setup.h"

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_TABLE "host" TOML_DOT
#define DIAL_TIMEOUT                                                             \
    "1s" /* to loopback: long enough for a busy machine, short for a stopped one \
          */

/* Checks whether our table can be inserted into the file's content and notation. */
static int check_hosts(const char *source, const struct toml *toml, const char *url,
                       bool fail_closed, bool *present, size_t *first, struct ocv_error *err)
{
    *present = false;
    *first = TOML_NONE;
    for (size_t i = 0; i < toml->count; i++) {
        const struct toml_item *item = &toml->items[i];
        bool host = strncmp(item->path, HOST_TABLE, strlen(HOST_TABLE)) == 0;
        bool above = item->header != TOML_NONE &&
                     strncmp(toml->items[item->header].path, HOST_TABLE, strlen(HOST_TABLE)) == 0;
        if (item->kind == TOML_VALUE && !above && toml_path_under(item->path, "host"))
            return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                                 "%s: 'host' is not written as [host.\"URL\"]", source);
        if (item->kind != TOML_VALUE && host) {
            bool ours = strcmp(item->path + strlen(HOST_TABLE), url) == 0;
            *present = *present || ours;
            *first = *first == TOML_NONE ? i : *first;
            if (fail_closed && !ours)
                return ocv_error_set(err, OCV_ERR_CONFIG,
                                     "%s: lists other hosts, which would bypass variantd", source);
        }
        if (fail_closed && item->kind == TOML_VALUE && strcmp(item->path, "server") == 0) {
            char *server = toml_string(toml, item);
            bool ours = server && strcmp(server, url) == 0;
            free(server);
            if (!ours) {
                ocv_error_set(err, OCV_ERR_CONFIG,
                              "%s: names a server, the registry itself or another, which would "
                              "bypass variantd",
                              source);
                ocv_error_hint(err, "take out the line `server = ...`; a `ca` or `client` there is "
                                    "for variantd then: `ca`, `cert` and `key` of the registry in "
                                    "its configuration");
                return OCV_ERR_CONFIG;
            }
        }
    }
    return OCV_OK;
}

int setup_hosts_edit(const char *source, struct ocv_buffer *text, const char *url, bool fail_closed,
                     bool dial_timeout, struct ocv_error *err)
{
    toml_auto toml = {0};
    ocv_auto_buffer add, quoted;
    ocv_buffer_init(&add, SETUP_FILE_MAX);
    ocv_buffer_init(&quoted, SETUP_FILE_MAX);
    bool present = false;
    size_t first = TOML_NONE;
    OCV_TRY(ocv_buffer_append(text, "", 0, err));
    OCV_TRY(toml_scan(source, text->data, text->len, &toml, err));
    OCV_TRY(check_hosts(source, &toml, url, fail_closed, &present, &first, err));
    OCV_TRY(toml_quote(&quoted, url, err));
    const char *nl = toml_newline(text->data, text->len);
    if (!present) {
        bool ended = text->len == 0 || text->data[text->len - 1] == '\n';
        size_t at = first == TOML_NONE ? text->len : toml.items[first].line;
        while (first != TOML_NONE && at > 0) { /* above the comments that belong to the header */
            size_t line = at - 1;
            while (line > 0 && toml.text[line - 1] != '\n')
                line--;
            if (toml.text[line + strspn(toml.text + line, " \t")] != '#')
                break;
            at = line;
        }
        bool end = at == text->len;
        OCV_TRY(ocv_buffer_printf(&add, err, "%s%s" SETUP_HOSTS_COMMENT "%s[host.%s]%s",
                                  end && !ended ? nl : "", end && text->len ? nl : "", nl,
                                  quoted.data, nl));
        OCV_TRY(ocv_buffer_printf(&add, err, "  capabilities = [\"pull\", \"resolve\"]%s", nl));
        if (dial_timeout)
            OCV_TRY(ocv_buffer_printf(&add, err, "  dial_timeout = \"" DIAL_TIMEOUT "\"%s", nl));
        if (!end)
            OCV_TRY(ocv_buffer_append(&add, nl, strlen(nl), err));
        OCV_TRY(text_splice(text, at, at, add.data, add.len, err));
    }
    return !fail_closed ? OCV_OK : toml_set(source, text, "", "server", quoted.data, err);
}

static int append_quoted(struct ocv_buffer *out, const char *lead, const char *name,
                         const char *tail, struct ocv_error *err)
{
    OCV_TRY(ocv_buffer_printf(out, err, "%s", lead));
    OCV_TRY(toml_quote(out, name, err));
    return ocv_buffer_printf(out, err, "%s", tail);
}

/* A directory in Docker's style has *.crt (authorities) and NAME.cert with NAME.key (client
 * certificates). containerd ignores them once there is a hosts.toml, so that file must name them.
 */
static int name_certificates(const struct setup *setup, const char *directory,
                             struct ocv_buffer *out, struct ocv_error *err)
{
    setup_auto_names names = {0};
    ocv_auto_buffer ca, client;
    ocv_buffer_init(&ca, SETUP_FILE_MAX);
    ocv_buffer_init(&client, SETUP_FILE_MAX);
    OCV_TRY(setup_list(setup, directory, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        char *name = names.list[i];
        if (ocv_text_ends(name, ".crt")) {
            OCV_TRY(append_quoted(&ca, ca.len ? ", " : "", name, "", err));
        } else if (ocv_text_ends(name, ".cert")) {
            OCV_TRY(append_quoted(&client, client.len ? ", [" : "[", name, ", ", err));
            memcpy(name + strlen(name) - 4, "key", 4);
            OCV_TRY(append_quoted(&client, "", name, "]", err));
        }
    }
    if (ca.len)
        OCV_TRY(ocv_buffer_printf(out, err, "ca = [%s]\n", ca.data));
    return client.len ? ocv_buffer_printf(out, err, "client = [%s]\n", client.data) : OCV_OK;
}

/* `host`: the directory's registry; NULL: all registries, or only those requested. */
static int edit_directory(struct setup *setup, const char *directory, const char *host,
                          bool dial_timeout, struct ocv_error *err)
{
    struct setup_file *file = NULL;
    ocv_auto_buffer path, url, text;
    ocv_buffer_init(&path, SETUP_FILE_MAX);
    ocv_buffer_init(&url, SETUP_FILE_MAX);
    ocv_buffer_init(&text, SETUP_FILE_MAX);
    OCV_TRY(ocv_buffer_printf(&path, err, "%s/hosts.toml", directory));
    OCV_TRY(ocv_buffer_printf(&url, err, "http://%s%s", setup->listen,
                              setup->fail_closed ? "/proxy" : ""));
    OCV_TRY(setup_open(setup, path.data, &file, err));
    OCV_TRY(ocv_buffer_append(&text, file->want.text.data, file->want.text.len, err));
    if (text.len == 0)
        OCV_TRY(name_certificates(setup, directory, &text, err));
    /* The certificate authority that variantd's configuration names for the registry: containerd
     * must trust it too, because it pulls the content from the registry, unless it asks only
     * variantd. Written only into a file that is ours alone; otherwise a note. */
    struct ocv_registry_config config = {0};
    if (!setup->fail_closed && host)
        config = ocv_config_find_registry(setup->cli->config, host);
    bool told = !config.ca || config.insecure || (text.len && strstr(text.data, "ca = "));
    if (!told && text.len) {
        OCV_TRY(
            setup_note(setup, err,
                       "note: containerd does not read variantd's configuration, which names "
                       "%s as the authority of %s: name it in %s, too: ca = \"%s\" above [host]",
                       config.ca, host, path.data, config.ca));
    } else if (!told) {
        OCV_TRY(ocv_buffer_printf(&text, err, "server = \"https://%s\"\n", host));
        OCV_TRY(append_quoted(&text, "ca = ", config.ca, "\n", err));
    }
    OCV_TRY(setup_hosts_edit(file->path, &text, url.data, setup->fail_closed, dial_timeout, err));
    OCV_TRY(setup_want(file, text.data, text.len, err));
    OCV_TRY(setup_add_own(file, SETUP_OWN_TOML_HOST, NULL, url.data, NULL, NULL, err));
    if (!setup->fail_closed)
        return OCV_OK;
    ocv_auto_buffer quoted;
    ocv_buffer_init(&quoted, SETUP_FILE_MAX);
    OCV_TRY(toml_quote(&quoted, url.data, err));
    return setup_add_own(file, SETUP_OWN_TOML_KEY, "", "server", quoted.data, NULL, err);
}

/* True for a directory that is on disk, or will be, and not only because of our earlier set-up. */
static bool directory_counts(const struct setup *setup, const char *directory)
{
    setup_auto_names names = {0};
    if (!setup_exists(setup, directory, true))
        return false;
    if (setup_list(setup, directory, &names, NULL) < 0)
        return true;
    size_t len = strlen(directory), ours = 0;
    for (size_t i = 0; i < setup->n_files; i++) {
        const struct setup_file *file = setup->files[i];
        ours += file->disk.there && !file->base.there && strncmp(file->path, directory, len) == 0 &&
                file->path[len] == '/' && !strchr(file->path + len + 1, '/');
    }
    for (size_t i = 0; names.n == ours && i < setup->n_directories; i++)
        if (strcmp(setup->directories[i], directory) == 0)
            return false; /* the set-up being replaced made it, and it has nothing else */
    return true;
}

/* The directory in which containerd would look for a registry's file: `*found` is its place in the
 * order of names, 2 for _default, 3 where there is none. */
static int find_directory(const struct setup *setup, char *const *roots, size_t n_roots,
                          const char *host, bool (*counts)(const struct setup *, const char *),
                          struct ocv_buffer *directory, size_t *found, struct ocv_error *err)
{
    /* "HOST:PORT" as "HOST_PORT_", the name that containerd tries first */
    const char *colon = strrchr(host, ':');
    bool port = colon && colon != host && !strchr(colon, ']');
    ocv_auto_free char *other = NULL;
    if ((port ? asprintf(&other, "%.*s_%s_", (int)(colon - host), host, colon + 1)
              : asprintf(&other, "%s", host)) < 0)
        return ocv_error_nomem(err);
    const char *names[] = {other, host, "_default"};
    for (size_t i = 0; i < n_roots; i++)
        for (*found = 0; *found < 3; ++*found) {
            ocv_buffer_free(directory);
            OCV_TRY(ocv_buffer_printf(directory, err, "%s/%s", roots[i], names[*found]));
            if (counts(setup, directory->data))
                return OCV_OK;
        }
    *found = 3;
    return OCV_OK;
}

/* Every directory of a root that belongs to a registry. */
static int edit_existing(struct setup *setup, const char *root, bool dial_timeout, size_t *edited,
                         bool *has_default, struct ocv_error *err)
{
    setup_auto_names names = {0};
    ocv_auto_buffer directory;
    ocv_buffer_init(&directory, SETUP_FILE_MAX);
    OCV_TRY(setup_list(setup, root, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.list[i];
        bool all = strcmp(name, "_default") == 0;
        if (!all && (name[0] == '_' || name[0] == '.'))
            continue; /* backups made by others */
        ocv_buffer_free(&directory);
        OCV_TRY(ocv_buffer_printf(&directory, err, "%s/%s", root, name));
        if (!directory_counts(setup, directory.data))
            continue;
        *has_default = *has_default || all;
        ++*edited;
        OCV_TRY(edit_directory(setup, directory.data, NULL, dial_timeout, err));
    }
    return OCV_OK;
}

int setup_hosts(struct setup *setup, char *const *roots, size_t n_roots, bool dial_timeout,
                struct ocv_error *err)
{
    for (size_t i = 0; i < setup->n_registries; i++) {
        /* One registry: the directory in which containerd would look, or a new one in the first
         * root. */
        ocv_auto_buffer directory;
        ocv_buffer_init(&directory, SETUP_FILE_MAX);
        size_t found;
        OCV_TRY(find_directory(setup, roots, n_roots, setup->registries[i], directory_counts,
                               &directory, &found, err));
        if (found == 2) {
            ocv_error_set(
                err, OCV_ERR_CONFIG,
                "%s: a directory for %s alone would hide what is set there for all registries",
                directory.data, setup->registries[i]);
            ocv_error_hint(err, "without --registry the set-up is added to _default itself");
            return OCV_ERR_CONFIG;
        }
        if (found == 3) {
            ocv_buffer_free(&directory);
            OCV_TRY(ocv_buffer_printf(&directory, err, "%s/%s", roots[0], setup->registries[i]));
        }
        OCV_TRY(edit_directory(setup, directory.data, setup->registries[i], dial_timeout, err));
    }
    if (setup->n_registries)
        return OCV_OK;
    /* a _default hides the roots after its own, so it goes into the last one with directories */
    size_t last = 0;
    bool has_default = false;
    for (size_t i = 0; i < n_roots; i++) {
        size_t edited = 0;
        OCV_TRY(edit_existing(setup, roots[i], dial_timeout, &edited, &has_default, err));
        last = edited ? i : last;
    }
    if (has_default)
        return OCV_OK;
    ocv_auto_buffer directory;
    ocv_buffer_init(&directory, SETUP_FILE_MAX);
    OCV_TRY(ocv_buffer_printf(&directory, err, "%s/_default", roots[last]));
    return edit_directory(setup, directory.data, NULL, dial_timeout, err);
}

static bool is_directory(const struct setup *setup, const char *path)
{
    return setup_exists(setup, path, true);
}

static int check_registry(struct setup *setup, char *const *roots, size_t n_roots, const char *host,
                          const char *url, json_t *list, struct ocv_error *err)
{
    ocv_auto_buffer path;
    ocv_buffer_init(&path, SETUP_FILE_MAX);
    struct setup_file *file = NULL;
    toml_auto toml = {0};
    size_t found, i = 0;
    OCV_TRY(find_directory(setup, roots, n_roots, host, is_directory, &path, &found, err));
    OCV_TRY(ocv_buffer_printf(&path, err, "/hosts.toml"));
    /* The file's first host must be `url`. */
    if (setup_open(setup, path.data, &file, NULL) == OCV_OK && file->disk.there &&
        toml_scan(path.data, file->disk.text.data, file->disk.text.len, &toml, NULL) == OCV_OK) {
        while (i < toml.count && strncmp(toml.items[i].path, HOST_TABLE, strlen(HOST_TABLE)) != 0)
            i++;
        if (i < toml.count && strcmp(toml.items[i].path + strlen(HOST_TABLE), url) == 0)
            return OCV_OK;
    }
    return json_array_append_new(list,
                                 json_pack("{s:s, s:s}", "registry", host, "file", path.data)) < 0
               ? ocv_error_nomem(err)
               : OCV_OK;
}

int setup_hosts_passed_by(struct setup *setup, char *const *roots, size_t n_roots,
                          const struct setup_state *state, const char *url, json_t *list,
                          struct ocv_error *err)
{
    bool has_default = false;
    for (size_t i = 0; i < state->n_registries; i++)
        OCV_TRY(check_registry(setup, roots, n_roots, state->registries[i], url, list, err));
    for (size_t i = 0; i < n_roots && state->n_registries == 0; i++) {
        setup_auto_names names = {0};
        OCV_TRY(setup_list(setup, roots[i], &names, err));
        for (size_t k = 0; k < names.n; k++) {
            const char *name = names.list[k];
            bool all = strcmp(name, "_default") == 0;
            has_default = has_default || all;
            if (all || !strchr("_.", name[0]))
                OCV_TRY(check_registry(setup, roots, n_roots, name, url, list, err));
        }
    }
    /* the set-up's own is somewhere else, or gone */
    return n_roots && state->n_registries == 0 && !has_default
               ? check_registry(setup, roots, n_roots, "_default", url, list, err)
               : OCV_OK;
}
