/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where credentials come from, first hit wins: the caller's own; the one file the caller names;
 * else DOCKER_CONFIG and REGISTRY_AUTH_FILE where set; else ~/.docker/config.json, then podman's
 * $XDG_RUNTIME_DIR/containers/auth.json and ~/.config/containers/auth.json. */
#include "lib/base/file.h"
#include "lib/registry/registry_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the caller has opened has a peer; another FIFO would block for ever. */
static int read_file(const char *path, struct ocv_buffer *out, bool *missing, struct ocv_error *err)
{
    bool open_already = !strncmp(path, "/dev/fd/", 8) || !strcmp(path, "/dev/stdin");
    int status = ocv_file_read(path, open_already ? OCV_FILE_ANY : OCV_FILE_REGULAR, out, err);
    *missing = status == OCV_ERR_NOT_FOUND;
    return *missing ? OCV_OK : status;
}

/* A broken helper must not break a public pull: what happened is kept for the hint of a refusal. */
static int ask_helper(struct ocv_registry *registry, const char *helper, const char *host,
                      struct ocv_credentials *out, struct ocv_error *err)
{
    struct ocv_error local = {0};
    struct ocv_credentials found = {0};
    int status = ocv_helper_get(helper, ocv_docker_config_server(host), registry->interrupted,
                                &found, &local);
    if (status == OCV_ERR_INTERRUPTED || status == OCV_ERR_NOMEM) {
        if (err)
            *err = local;
        return status;
    }
    if (status < 0) {
        snprintf(registry->note, sizeof(registry->note), "%s", local.message);
        ocv_registry_log(registry, "%s", local.message);
    }
    if (status == OCV_OK && !ocv_credentials_empty(&found)) {
        ocv_credentials_free(out); /* the helper has the last word */
        *out = found;
    }
    return OCV_OK;
}

static int try_file(struct ocv_registry *registry, const char *path, const char *host,
                    const char *repository, bool required, struct ocv_credentials *out,
                    struct ocv_error *err)
{
    struct ocv_buffer text;
    char helper[OCV_HELPER_NAME_MAX];
    bool missing = false;
    ocv_buffer_init(&text, OCV_DOCKER_CONFIG_MAX);
    int status = read_file(path, &text, &missing, err);
    if (status == OCV_OK && missing && required)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "no such file");
    if (status == OCV_ERR_IO && !required) { /* not ours to read: say so only when it matters */
        snprintf(registry->note, sizeof(registry->note), "cannot read %s", path);
        status = OCV_OK;
    } else if (status < 0) {
        ocv_error_prefix(err, "%s", path);
        status = status == OCV_ERR_NOMEM ? status : OCV_ERR_CONFIG;
        if (err)
            err->status = (enum ocv_status)status;
    } else if (text.len) {
        status = ocv_docker_config_find(text.data, text.len, host, repository, helper, out, err);
        if (status < 0)
            ocv_error_prefix(err, "%s", path);
        else if (helper[0])
            status = ask_helper(registry, helper, host, out, err);
    }
    if (status == OCV_OK && !ocv_credentials_empty(out))
        ocv_registry_log(registry, "%s: credentials from %s", host, path);
    if (text.data)
        explicit_bzero(text.data, text.len);
    ocv_buffer_free(&text);
    return status;
}

/* DIR/TAIL if the variable or directory is set. */
static bool join_path(char *out, size_t size, const char *dir, const char *tail)
{
    return dir && *dir && snprintf(out, size, "%s%s", dir, tail) < (int)size;
}

static int search(struct ocv_registry *registry, const char *host, const char *repository,
                  struct ocv_credentials *out, struct ocv_error *err)
{
    enum { PLACES = 5, LONGEST = 2048 };
    char(*path)[LONGEST] = calloc(PLACES, sizeof(*path));
    size_t n = 0;
    if (!path)
        return ocv_error_nomem(err);
    const char *home = getenv("HOME"), *config_home = getenv("XDG_CONFIG_HOME");
    bool docker = join_path(path[n], LONGEST, getenv("DOCKER_CONFIG"), "/config.json");
    n += docker;
    bool podman = join_path(path[n], LONGEST, getenv("REGISTRY_AUTH_FILE"), "");
    n += podman;
    if (!docker)
        n += join_path(path[n], LONGEST, home, "/.docker/config.json");
    if (!podman) {
        n += join_path(path[n], LONGEST, getenv("XDG_RUNTIME_DIR"), "/containers/auth.json");
        n += config_home && *config_home
                 ? join_path(path[n], LONGEST, config_home, "/containers/auth.json")
                 : join_path(path[n], LONGEST, home, "/.config/containers/auth.json");
    }
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK && ocv_credentials_empty(out); i++)
        status = try_file(registry, path[i], host, repository, false, out, err);
    free(path);
    return status;
}

int ocv_creds_find(struct ocv_registry *registry, const char *account, const char *repository,
                   struct ocv_credentials *out, struct ocv_error *err)
{
    *out = (struct ocv_credentials){0};
    registry->note[0] = '\0';
    if (registry->anonymous)
        return OCV_OK;
    if (registry->identity_token) {
        out->identity_token = strdup(registry->identity_token);
        return out->identity_token ? OCV_OK : ocv_error_nomem(err);
    }
    if (registry->username) {
        out->username = strdup(registry->username);
        out->password = strdup(registry->password ? registry->password : "");
        if (out->username && out->password)
            return OCV_OK;
        ocv_credentials_free(out);
        return ocv_error_nomem(err);
    }
    if (registry->given_only)
        return OCV_OK;
    int status = registry->auth_file
                     ? try_file(registry, registry->auth_file, account, repository, true, out, err)
                     : search(registry, account, repository, out, err);
    if (status < 0)
        ocv_credentials_free(out);
    return status;
}

static int write_json(const struct ocv_credentials *c, const char *server, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    json_t *root = json_object();
    if (c->identity_token) {
        json_object_set_new(root, "identitytoken", json_string(c->identity_token));
    } else {
        json_object_set_new(root, "username", json_string(c->username));
        json_object_set_new(root, "password", json_string(c->password ? c->password : ""));
    }
    json_object_set_new(root, "serveraddress", json_string(server));
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!text)
        return ocv_error_set(err, OCV_ERR_CONFIG, "credentials for %s are not UTF-8", server);
    int status = ocv_buffer_append(out, text, strlen(text), err);
    explicit_bzero(text, strlen(text));
    free(text);
    return status;
}

int ocv_registry_credentials(struct ocv_registry *registry, const char *host,
                             struct ocv_buffer *json, struct ocv_error *err)
{
    struct ocv_credentials credentials = {0};
    int status = ocv_creds_find(registry, host, NULL, &credentials, err);
    json->len = 0;
    if (status == OCV_OK && !ocv_credentials_empty(&credentials))
        status = write_json(&credentials, ocv_docker_config_server(host), json, err);
    ocv_credentials_free(&credentials);
    return status;
}
