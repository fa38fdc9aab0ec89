/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Docker: with the classic store, `registry-mirrors` in daemon.json (docker.io only, whatever is
 * requested); with the containerd store, hosts.toml files where it reads them (28.0 and later). */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/cleanup.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY_DEFAULT "/etc/docker"
#define MIRRORS "registry-mirrors"
#define ANSWER_MAX 65536u

enum store { STORE_CLASSIC, STORE_CONTAINERD };

static int find_store(const struct setup *setup, const struct setup_file *file,
                      const struct setup_version *version, enum store *out, struct ocv_error *err)
{
    char answer[ANSWER_MAX];
    const char *argv[] = {"docker", "info", "--format", "{{json .DriverStatus}}", NULL};
    const char *text = file->want.text.data;
    ocv_auto_json *root = NULL;
    if (file->want.there && text[strspn(text, " \t\r\n")] != '\0')
        OCV_TRY(setup_json_load(file->path, text, file->want.text.len, &root, err));
    const json_t *said =
        json_object_get(json_object_get(root, "features"), "containerd-snapshotter");
    *out = STORE_CLASSIC;
    if (setup->store)
        *out = strcmp(setup->store, "containerd") == 0 ? STORE_CONTAINERD : STORE_CLASSIC;
    else if (json_is_boolean(said))
        *out = json_is_true(said) ? STORE_CONTAINERD : STORE_CLASSIC;
    else if (!*setup->root && !setup->engine_version && setup_ask(argv, answer, sizeof(answer)) &&
             strchr(answer, '['))
        *out = strstr(answer, "io.containerd.snapshotter") ? STORE_CONTAINERD : STORE_CLASSIC;
    else if (setup_version_at_least(version, 29, 0)) { /* new ones use the other store */
        ocv_error_set(err, OCV_ERR_CONFIG,
                      "docker %s may have either image store, and its daemon does not answer",
                      version->text);
        ocv_error_hint(err, "--store classic or --store containerd");
        return OCV_ERR_CONFIG;
    }
    return OCV_OK;
}

#define FLAG "--registry-mirror"

/* `*found` becomes the file's path if it has the flag outside comments. */
static int find_flag(struct setup *setup, const char *path, const char **found,
                     struct ocv_error *err)
{
    struct setup_file *file = NULL;
    OCV_TRY(setup_open(setup, path, &file, err));
    const char *at = file->disk.text.data, *end = at ? at + file->disk.text.len : NULL;
    for (; at && at < end; at = memchr(at, '\n', (size_t)(end - at)), at = at ? at + 1 : NULL) {
        size_t n = strcspn(at, "\n");
        size_t blank = strspn(at, " \t");
        if (at[blank] != '#' && memmem(at, n, FLAG, strlen(FLAG)))
            *found = file->path;
    }
    return OCV_OK;
}

/* The daemon does not start if both the flag and the file name mirrors. */
static int refuse_flag(struct setup *setup, struct ocv_error *err)
{
    static const char *const places[] = {
        "/etc/default/docker",
        "/etc/sysconfig/docker",
        "/etc/systemd/system/docker.service",
        "/lib/systemd/system/docker.service",
        "/usr/lib/systemd/system/docker.service",
    };
    static const char directory[] = "/etc/systemd/system/docker.service.d";
    setup_auto_names names = {0};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !found; i++)
        OCV_TRY(find_flag(setup, places[i], &found, err));
    OCV_TRY(setup_list(setup, directory, &names, err));
    for (size_t i = 0; i < names.n && !found; i++) {
        ocv_auto_buffer path;
        ocv_buffer_init(&path, SETUP_FILE_MAX);
        OCV_TRY(ocv_buffer_printf(&path, err, "%s/%s", directory, names.list[i]));
        OCV_TRY(find_flag(setup, path.data, &found, err));
    }
    if (!found)
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_CONFIG,
                  "%s: dockerd gets " FLAG
                  " there, and does not start when daemon.json names mirrors, too",
                  found);
    ocv_error_hint(err, "move that mirror into daemon.json, then run this again");
    return OCV_ERR_CONFIG;
}

static int plan_mirrors(struct setup *setup, struct setup_file *file, struct ocv_error *err)
{
    ocv_auto_buffer text, url;
    ocv_buffer_init(&text, SETUP_FILE_MAX);
    ocv_buffer_init(&url, SETUP_FILE_MAX);
    bool made = false;
    for (size_t i = 0; i < setup->n_registries; i++)
        if (strcmp(setup->registries[i], "docker.io") != 0) {
            ocv_error_set(err, OCV_ERR_CONFIG,
                          "here Docker asks a mirror for docker.io only, never for %s",
                          setup->registries[i]);
            ocv_error_hint(err, "vpull %s/IMAGE brings the right variant into Docker",
                           setup->registries[i]);
            return OCV_ERR_CONFIG;
        }
    if (setup->fail_closed) {
        ocv_error_set(err, OCV_ERR_CONFIG,
                      "--fail-closed: Docker always goes to docker.io itself here when its mirrors "
                      "fail");
        ocv_error_hint(err, "with containerd's image store it does not, from 28 on");
        return OCV_ERR_CONFIG;
    }
    OCV_TRY(refuse_flag(setup, err));
    OCV_TRY(ocv_buffer_printf(&url, err, "http://%s", setup->listen)); /* no path is allowed here */
    OCV_TRY(ocv_buffer_append(&text, file->want.text.data, file->want.text.len, err));
    OCV_TRY(setup_json_add(file->path, &text, MIRRORS, url.data, &made, err));
    OCV_TRY(setup_want(file, text.data, text.len, err));
    OCV_TRY(
        setup_add_own(file, SETUP_OWN_JSON_ITEM, NULL, MIRRORS, url.data, made ? NULL : "", err));
    snprintf(setup->restart, sizeof(setup->restart), "systemctl reload docker");
    bool there = setup_registry_known(setup, "docker.io") == SETUP_KNOWN;
    return setup_note(setup, err,
                      "note: Docker does not tell its mirror which registry it means: "
                      "docker.io must be among variantd's registries: %s",
                      there ? "yes" : "not yet");
}

int setup_docker(struct setup *setup, struct ocv_error *err)
{
    struct setup_version version;
    struct setup_file *file = NULL;
    enum store store = STORE_CLASSIC;
    const char *directory = setup->config_dir ? setup->config_dir : DIRECTORY_DEFAULT;
    ocv_auto_buffer path, root;
    ocv_buffer_init(&path, SETUP_FILE_MAX);
    ocv_buffer_init(&root, SETUP_FILE_MAX);
    setup_find_version(setup, "dockerd", &version);
    OCV_TRY(setup->engine_config ? ocv_buffer_printf(&path, err, "%s", setup->engine_config)
                                 : ocv_buffer_printf(&path, err, "%s/daemon.json", directory));
    OCV_TRY(setup_open(setup, path.data, &file, err));
    OCV_TRY(find_store(setup, file, &version, &store, err));
    OCV_TRY(setup_note(setup, err, "docker %s, %s image store",
                       version.known ? version.text
                                     : "of unknown version (set it with --engine-version)",
                       store == STORE_CONTAINERD ? "containerd" : "classic"));
    if (store == STORE_CONTAINERD && (!version.known || version.major >= 28)) {
        OCV_TRY(ocv_buffer_printf(&root, err, "%s/certs.d", directory));
        OCV_TRY(setup_hosts(setup, &root.data, 1, setup_version_at_least(&version, 29, 0), err));
        OCV_TRY(setup_note(setup, err,
                           "hosts.toml files are read at every pull: no restart is needed; "
                           "builds go on for minutes with what they have read before"));
    } else {
        OCV_TRY(plan_mirrors(setup, file, err));
    }
    return setup_note(setup, err,
                      "note: `docker build` asks the same mirror: a tag in FROM means "
                      "this machine's variant then; a digest there stays what it is");
}

int setup_docker_passed_by(struct setup *setup, const struct setup_state *state, json_t *list,
                           struct ocv_error *err)
{
    static const char certs[] = "/certs.d/";
    ocv_auto_free char *root = NULL, *url = NULL;
    if (asprintf(&url, "http://%s%s", state->listen, state->fail_closed ? "/proxy" : "") < 0)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < state->n_records; i++) {
        const char *path = state->records[i].path, *at = strstr(path, certs);
        if (at && !root)
            root = strndup(path, (size_t)(at - path) + strlen(certs) - 1);
        if (at)
            continue;
        /* Mirrors are tried in order. */
        const struct setup_record *record = &state->records[i];
        struct setup_file *file = NULL;
        OCV_TRY(setup_open(setup, path, &file, err));
        for (size_t k = 0; k < record->n_own && file->disk.there; k++) {
            ocv_auto_json *read = NULL;
            if (record->own[k].kind != SETUP_OWN_JSON_ITEM ||
                strcmp(record->own[k].key, MIRRORS) != 0)
                continue;
            OCV_TRY(setup_json_load(path, file->disk.text.data, file->disk.text.len, &read, err));
            const char *first =
                json_string_value(json_array_get(json_object_get(read, MIRRORS), 0));
            if ((!first || strcmp(first, record->own[k].value) != 0) &&
                json_array_append_new(
                    list, json_pack("{s:s, s:s}", "registry", "docker.io", "file", path)) < 0)
                return ocv_error_nomem(err);
        }
    }
    return root ? setup_hosts_passed_by(setup, &root, 1, state, url, list, err) : OCV_OK;
}
