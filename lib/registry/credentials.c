/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Where credentials come from, first hit wins: the caller's own; the one file the caller names;
 * else where docker, podman and skopeo keep them (auth/files.c); else the credential providers. */
#include "lib/registry/auth/credentials.h"
#include "lib/base/cleanup.h"
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

/* A broken helper must not break a public pull: its error is kept for the hint of a refusal. */
static int ask_helper(struct ocv_registry *registry, const char *helper, const char *host,
                      struct ocv_credentials *out, struct ocv_error *err)
{
    struct ocv_error local = {0};
    struct ocv_credentials found = {0};
    const char *server = ocv_docker_config_server(host);
    int status = ocv_helper_get(helper, server, registry->interrupted, &found, &local);
    if (status == OCV_OK && ocv_credentials_empty(&found) && strcmp(server, host))
        status = ocv_helper_get(helper, host, registry->interrupted, &found, &local); /* podman's */
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
    ocv_buffer_init(&text, OCV_DOCKER_CONFIG_MAX);
    /* a descriptor opened by the caller has a writer; any other FIFO would block */
    bool open_already =
        !strncmp(path, "/dev/fd/", 8) || !strcmp(path, "/dev/stdin") || !strcmp(path, "/dev/null");
    int status = ocv_file_read(path, open_already ? OCV_FILE_ANY : OCV_FILE_REGULAR, &text, err);
    if (status == OCV_ERR_NOT_FOUND)
        status = required ? ocv_error_set(err, OCV_ERR_CONFIG, "no such file") : OCV_OK;
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
    if (status == OCV_OK && !ocv_credentials_empty(out)) {
        snprintf(registry->source, sizeof(registry->source), "%s", path);
        ocv_registry_log(registry, "%s: credentials from %s", host, path);
    }
    if (text.data)
        explicit_bzero(text.data, text.len);
    ocv_buffer_free(&text);
    return status;
}

int ocv_creds_find(struct ocv_registry *registry, const char *account, const char *repository,
                   struct ocv_credentials *out, struct ocv_error *err)
{
    *out = (struct ocv_credentials){0};
    registry->note[0] = registry->source[0] = '\0';
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
    int status;
    if (registry->auth_file) {
        status = try_file(registry, registry->auth_file, account, repository, true, out, err);
    } else {
        struct ocv_auth_files files;
        status = ocv_auth_files_find(&files, err);
        for (size_t i = 0; i < files.n && status == OCV_OK && ocv_credentials_empty(out); i++)
            if (ocv_auth_file_safe(&files.list[i]))
                status =
                    try_file(registry, files.list[i].path, account, repository, false, out, err);
        ocv_auth_files_free(&files);
    }
    if (status == OCV_OK && ocv_credentials_empty(out) && registry->credential_providers) {
        const struct ocv_providers_patience patience = {registry->interrupted, registry->deadline};
        ocv_auto_free char *image = NULL;
        if (asprintf(&image, "%s%s%s", account, repository ? "/" : "",
                     repository ? repository : "") < 0)
            image = NULL;
        status = image ? ocv_providers_find(registry->credential_providers, image, &patience, out,
                                            registry->note, sizeof(registry->note), err)
                       : ocv_error_nomem(err);
        if (!ocv_credentials_empty(out)) {
            snprintf(registry->source, sizeof(registry->source), "a credential provider");
            ocv_registry_log(registry, "%s: credentials from a credential provider", account);
        } else if (image && registry->note[0])
            ocv_registry_log(registry, "%s", registry->note);
    }
    if (status < 0)
        ocv_credentials_free(out);
    return status;
}

void ocv_creds_hint(const struct ocv_registry *registry, const char *host, enum ocv_login login,
                    struct ocv_error *err)
{
    char where[OCV_ERROR_HINT_MAX / 2 + 100];
    const char *note = registry->note, *file = registry->auth_file;
    bool used = login == OCV_LOGIN_USED, hub = !strcmp(host, "docker.io");
    if (login == OCV_LOGIN_UNUSED) {
        ocv_error_hint(err, "the login for %s%s%s was not sent: %s never says that it takes one",
                       host, *registry->source ? " in " : "", registry->source, host);
    } else if (!registry->service) {
        /* "; there are none for it in A, B and C"; empty where no file was to be looked at */
        bool looked = !registry->anonymous && !registry->given_only && !registry->username &&
                      !registry->identity_token && !registry->registry_token;
        int n = snprintf(where, sizeof(where), "%s%s", looked ? "; there are none for it in " : "",
                         looked && file ? file : "");
        if (looked && !file) {
            struct ocv_auth_files files;
            if (ocv_auth_files_find(&files, NULL) == OCV_OK)
                ocv_auth_files_name(&files, where + n, sizeof(where) - (size_t)n);
            ocv_auth_files_free(&files);
        }
        ocv_error_hint(
            err, "%s%sdocker login%s%s or podman login %s%s%s%s", note, *note ? "; " : "",
            hub ? "" : " ", hub ? "" : host, host, used ? " (again)" : ", or --authfile FILE",
            used && *registry->source ? "; these are from " : "", used ? registry->source : where);
    } else if (used) { /* a user's `login` does not reach a daemon */
        ocv_error_hint(err, "the login for %s in %s is refused", host, registry->source);
    } else if (!file || !strcmp(file, "/dev/null") || registry->anonymous) {
        ocv_error_hint(err,
                       "%s is private: `credentials` of the configuration names the file "
                       "with its login",
                       host);
    } else {
        ocv_error_hint(err, "%s%s%s has no login for %s", note, *note ? "; " : "", file, host);
    }
}

int ocv_registry_credentials(struct ocv_registry *registry, const char *host,
                             struct ocv_buffer *json, struct ocv_error *err)
{
    struct ocv_credentials c = {0};
    const char *server = ocv_docker_config_server(host);
    int status = ocv_creds_find(registry, host, NULL, &c, err);
    json->len = 0;
    if (status == OCV_OK && !ocv_credentials_empty(&c)) {
        json_t *root = json_object();
        if (c.registry_token) {
            json_object_set_new(root, "registrytoken", json_string(c.registry_token));
        } else if (c.identity_token) {
            json_object_set_new(root, "identitytoken", json_string(c.identity_token));
        } else {
            json_object_set_new(root, "username", json_string(c.username));
            json_object_set_new(root, "password", json_string(c.password ? c.password : ""));
        }
        json_object_set_new(root, "serveraddress", json_string(server));
        char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
        json_decref(root);
        if (text) {
            status = ocv_buffer_append(json, text, strlen(text), err);
            explicit_bzero(text, strlen(text));
            free(text);
        } else
            status = ocv_error_set(err, OCV_ERR_CONFIG, "credentials for %s are not UTF-8", server);
    }
    ocv_credentials_free(&c);
    return status;
}
