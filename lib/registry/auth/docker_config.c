/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* docker's config.json, podman's auth.json (containers-auth.json(5)) and Kubernetes' pull secrets.
 * Keys of `auths` are hosts, URLs with a host (docker's old form), host/part/of/repository
 * (podman), or have "*" in the labels of the host (kubelet). The longest part of the repository
 * wins, then the host as it is written here, then its other spellings, then URLs; an entry without
 * credentials is none. */
#include "lib/base/cleanup.h"
#include "lib/base/format/encodings.h"
#include "lib/base/format/json.h"
#include "lib/registry/auth/credentials.h"
#include "lib/registry/auth/providers_internal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_MAX 1024 /* longest key that is compared */
#define HUB_KEY "https://index.docker.io/v1/"
#define HELPER_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

void ocv_secret_free(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void ocv_credentials_free(struct ocv_credentials *c)
{
    ocv_secret_free(c->username);
    ocv_secret_free(c->password);
    ocv_secret_free(c->identity_token);
    ocv_secret_free(c->registry_token);
    c->username = c->password = c->identity_token = c->registry_token = NULL;
}

bool ocv_credentials_empty(const struct ocv_credentials *credentials)
{
    return !credentials->username && !credentials->identity_token && !credentials->registry_token;
}

const char *ocv_docker_config_server(const char *host)
{
    return strcmp(host, "docker.io") ? host : HUB_KEY;
}

static bool is_hub(const char *host, size_t len)
{
    const char *names[] = {"docker.io", "index.docker.io", "registry-1.docker.io"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (len == strlen(names[i]) && !strncasecmp(host, names[i], len))
            return true;
    return false;
}

/* For the same part of a repository, what is written last here wins. */
enum spelling { SPELT_HTTP = 1, SPELT_HTTPS, SPELT_OTHERWISE, SPELT_SAME, SPELLINGS };
#define RANK_NAMED (KEY_MAX + 2u) /* a host by its name is better than any glob */

/* How well a key fits: 0 not at all, else more for a better match. */
static size_t rank_of_key(const char *key, const char *host, const char *repository)
{
    if (strlen(key) > KEY_MAX)
        return 0;
    bool tls = !strncasecmp(key, "https://", 8), url = tls || !strncasecmp(key, "http://", 7);
    const char *name = url ? strstr(key, "//") + 2 : key;
    size_t len = strcspn(name, "/");
    const char *path = name + len;
    if (memchr(name, '*', len)) {
        /* As kubelet reads it, with or without a scheme: /v1/ and /v2/ at the head of the path mean
         * nothing, and so does a path that is empty then
         * (k8s.io/kubernetes/pkg/credentialprovider/keyring.go). A longer path comes first, as
         * there. */
        char glob[KEY_MAX + 1], image[2 * KEY_MAX];
        if (!strncmp(path, "/v1/", 4) || !strncmp(path, "/v2/", 4))
            path += 3;
        if (!strcmp(path, "/"))
            path = "";
        snprintf(glob, sizeof(glob), "%.*s%s", (int)len, name, path);
        int n = snprintf(image, sizeof(image), "%s/%s", host, repository ? repository : "");
        bool fits = n < (int)sizeof(image) && ocv_image_glob_match(glob, image);
        return fits ? strlen(path) + 1 : 0;
    }
    bool same = len == strlen(host) && !strncasecmp(name, host, len);
    if (!same && (!is_hub(name, len) || !is_hub(host, strlen(host))))
        return 0;
    if (url) /* docker ignores the path of a URL: /v1/, /v2/ */
        return RANK_NAMED + (tls ? SPELT_HTTPS : SPELT_HTTP);
    path += *path == '/';
    size_t n = strlen(path), exact = strcmp(name, host) ? SPELT_OTHERWISE : SPELT_SAME;
    while (n && path[n - 1] == '/')
        n--;
    if (!n)
        return RANK_NAMED + exact;
    if (!repository || strncmp(repository, path, n) != 0 || (repository[n] && repository[n] != '/'))
        return 0;
    return RANK_NAMED + n * SPELLINGS + (strncmp(name, host, len) ? SPELT_OTHERWISE : SPELT_SAME);
}

static bool copy_text(char **out, const char *text, size_t len)
{
    *out = len ? strndup(text, len) : NULL;
    return *out || !len;
}

static int read_entry(const json_t *entry, struct ocv_credentials *out, struct ocv_error *err)
{
    const char *auth = ocv_json_some_text(entry, "auth"),
               *user = ocv_json_some_text(entry, "username");
    const char *password = ocv_json_some_text(entry, "password");
    const char *identity = ocv_json_some_text(entry, "identitytoken");
    const char *token = ocv_json_some_text(entry, "registrytoken");
    int status = OCV_OK;
    *out = (struct ocv_credentials){0};
    if (auth) {
        size_t len = 0;
        char *pair = ocv_base64_decode(auth, &len);
        const char *colon = pair ? memchr(pair, ':', len) : NULL;
        if (!colon || memchr(pair, '\0', (size_t)(colon - pair)))
            status = ocv_error_set(err, OCV_ERR_CONFIG, "auth is not base64 of user:password");
        else if (!copy_text(&out->username, pair, (size_t)(colon - pair)) ||
                 !copy_text(&out->password, colon + 1, strlen(colon + 1)))
            status = ocv_error_nomem(err);
        if (pair)
            explicit_bzero(pair, len);
        free(pair);
    } else if (user && (!copy_text(&out->username, user, strlen(user)) ||
                        !copy_text(&out->password, password ? password : "",
                                   password ? strlen(password) : 0)))
        status = ocv_error_nomem(err);
    if (status == OCV_OK &&
        ((identity && !copy_text(&out->identity_token, identity, strlen(identity))) ||
         (token && !copy_text(&out->registry_token, token, strlen(token)))))
        status = ocv_error_nomem(err);
    if (status < 0)
        ocv_credentials_free(out);
    return status;
}

int ocv_docker_config_find(const char *text, size_t len, const char *host, const char *repository,
                           char helper[OCV_HELPER_NAME_MAX], struct ocv_credentials *out,
                           struct ocv_error *err)
{
    json_error_t where;
    helper[0] = '\0';
    *out = (struct ocv_credentials){0};
    while (len && strchr(" \t\r\n", text[len - 1]))
        len--;
    if (!len) /* as good as no file */
        return OCV_OK;
    ocv_auto_json *root = ocv_json_load_any(text, len, OCV_JSON_VALUES_MAX, 0, &where);
    if (!json_is_object(root))
        return ocv_error_set(err, OCV_ERR_CONFIG, "line %d: %s", root ? 1 : where.line,
                             root ? "not a JSON object" : where.text);
    /* .dockercfg, and secrets of type kubernetes.io/dockercfg, have the entries at the top */
    const json_t *auths = json_object_get(root, "auths");
    const char *name = NULL, *key;
    json_t *value;
    size_t best = 0;
    int status = OCV_OK;
    /* The best entry that has credentials. A malformed one is an error where no better one has
     * them. */
    json_object_foreach((json_t *)(uintptr_t)(auths ? auths : root), key, value)
    {
        struct ocv_credentials found;
        struct ocv_error local = {0};
        size_t rank = rank_of_key(key, host, repository);
        if (rank <= best)
            continue;
        int read = read_entry(value, &found, &local);
        if (read == OCV_OK && ocv_credentials_empty(&found)) {
            ocv_credentials_free(&found);
            continue;
        }
        best = rank;
        ocv_credentials_free(out);
        *out = found;
        status = read;
        if (read < 0) {
            ocv_error_prefix(&local, "auths: %.200s", key);
            if (err)
                *err = local;
        }
        if (read == OCV_ERR_NOMEM)
            break;
    }
    if (status < 0)
        return status;
    best = 0;
    json_object_foreach(json_object_get(root, "credHelpers"), key, value)
    {
        size_t rank = rank_of_key(key, host, repository);
        if (rank > best && json_is_string(value)) {
            best = rank;
            name = json_string_value(value); /* an empty one: the file itself */
        }
    }
    if (!name)
        name = ocv_json_text(root, "credsStore");
    /* it becomes part of a program's name: nothing that could leave the search path */
    if (name && strlen(name) < OCV_HELPER_NAME_MAX && !name[strspn(name, HELPER_CHARACTERS)])
        snprintf(helper, OCV_HELPER_NAME_MAX, "%s", name);
    return OCV_OK;
}

int ocv_helper_parse(const char *text, size_t len, struct ocv_credentials *out,
                     struct ocv_error *err)
{
    *out = (struct ocv_credentials){0};
    json_t *root = ocv_json_load_any(text, len, OCV_JSON_VALUES_MAX, 0, NULL);
    const char *user = ocv_json_text(root, "Username");
    const char *secret = ocv_json_text(root, "Secret");
    int status = OCV_OK;
    if (!user || !secret)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "no Username and Secret in its answer");
    else if (!strcmp(user, "<token>")) /* the helpers' protocol for identity tokens */
        status = copy_text(&out->identity_token, secret, strlen(secret)) ? OCV_OK : OCV_ERR_NOMEM;
    else if (!copy_text(&out->username, user, strlen(user)) ||
             !copy_text(&out->password, secret, strlen(secret)))
        status = OCV_ERR_NOMEM;
    json_decref(root);
    if (status == OCV_ERR_NOMEM)
        ocv_error_nomem(err);
    if (status < 0)
        ocv_credentials_free(out);
    return status;
}
