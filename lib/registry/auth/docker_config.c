/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* docker's config.json and podman's auth.json (containers-auth.json(5)). Keys of `auths` are hosts,
 * URLs with a host (docker's old form), or host/part/of/repository (podman): the longest key that
 * names the repository wins. */
#include "lib/base/format/base64.h"
#include "lib/base/format/json.h"
#include "lib/registry/auth/credentials.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_MAX 1024 /* longest key that is compared */
#define HUB_KEY "https://index.docker.io/v1/"

static void wipe_secret(char **secret)
{
    if (*secret)
        explicit_bzero(*secret, strlen(*secret));
    free(*secret);
    *secret = NULL;
}

void ocv_credentials_free(struct ocv_credentials *credentials)
{
    wipe_secret(&credentials->username);
    wipe_secret(&credentials->password);
    wipe_secret(&credentials->identity_token);
}

bool ocv_credentials_empty(const struct ocv_credentials *credentials)
{
    return !credentials->username && !credentials->identity_token;
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

/* How well a key fits: 0 not at all, else larger for a longer match. */
static size_t length_of_match(const char *key, const char *host, const char *repository)
{
    bool url = false;
    if (strlen(key) > KEY_MAX)
        return 0;
    if (!strncasecmp(key, "https://", 8) || !strncasecmp(key, "http://", 7)) {
        key = strstr(key, "//") + 2;
        url = true;
    }
    size_t len = strcspn(key, "/");
    bool same = len == strlen(host) && !strncasecmp(key, host, len);
    if (!same && !(is_hub(key, len) && is_hub(host, strlen(host))))
        return 0;
    const char *path = key + len;
    if (!*path || url) /* docker ignores the path of a URL: /v1/, /v2/ */
        return 1;
    path++;
    size_t n = strlen(path);
    if (!n)
        return 1;
    if (!repository || strncmp(repository, path, n) || (repository[n] && repository[n] != '/'))
        return 0;
    return 1 + n;
}

static bool copy_text(char **out, const char *text, size_t len)
{
    *out = len ? strndup(text, len) : NULL;
    return *out || !len;
}

static int split_auth(const char *auth, struct ocv_credentials *out, struct ocv_error *err)
{
    size_t len = 0;
    char *pair = ocv_base64_decode(auth, &len);
    if (!pair)
        return ocv_error_set(err, OCV_ERR_CONFIG, "auth is not base64 of user:password");
    char *colon = memchr(pair, ':', len);
    int status = OCV_OK;
    if (!colon || memchr(pair, '\0', (size_t)(colon - pair)))
        status = ocv_error_set(err, OCV_ERR_CONFIG, "auth is not base64 of user:password");
    else if (!copy_text(&out->username, pair, (size_t)(colon - pair)) ||
             !copy_text(&out->password, colon + 1, strlen(colon + 1)))
        status = ocv_error_nomem(err);
    explicit_bzero(pair, len);
    free(pair);
    return status;
}

static int read_entry(const json_t *entry, struct ocv_credentials *out, struct ocv_error *err)
{
    const char *auth = json_string_value(json_object_get(entry, "auth"));
    const char *user = json_string_value(json_object_get(entry, "username"));
    const char *password = json_string_value(json_object_get(entry, "password"));
    const char *identity = json_string_value(json_object_get(entry, "identitytoken"));
    int status = OCV_OK;
    if (auth && *auth)
        status = split_auth(auth, out, err);
    else if (user && (!copy_text(&out->username, user, strlen(user)) ||
                      !copy_text(&out->password, password ? password : "",
                                 password ? strlen(password) : 0)))
        status = ocv_error_nomem(err);
    if (status == OCV_OK && identity &&
        !copy_text(&out->identity_token, identity, strlen(identity)))
        status = ocv_error_nomem(err);
    if (status < 0)
        ocv_credentials_free(out);
    return status;
}

/* A helper's name becomes part of a program's name: nothing that could leave the search path. */
static bool helper_name(const char *name)
{
    if (!name || !*name || strlen(name) >= OCV_HELPER_NAME_MAX)
        return false;
    for (; *name; name++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *name))
            return false;
    return true;
}

static void find_helper(const json_t *root, const char *host, const char *repository,
                        char helper[OCV_HELPER_NAME_MAX])
{
    const char *name = NULL, *key;
    json_t *value;
    size_t best = 0;
    json_object_foreach(json_object_get(root, "credHelpers"), key, value)
    {
        size_t n = length_of_match(key, host, repository);
        if (n > best && json_is_string(value)) {
            best = n;
            name = json_string_value(value);
        }
    }
    if (!name)
        name = json_string_value(json_object_get(root, "credsStore"));
    if (helper_name(name))
        snprintf(helper, OCV_HELPER_NAME_MAX, "%s", name);
}

int ocv_docker_config_find(const char *text, size_t len, const char *host, const char *repository,
                           char helper[OCV_HELPER_NAME_MAX], struct ocv_credentials *out,
                           struct ocv_error *err)
{
    json_error_t where;
    const char *key, *best_key = NULL;
    json_t *value, *best_entry = NULL;
    size_t best = 0;
    helper[0] = '\0';
    *out = (struct ocv_credentials){0};
    ocv_auto_json *root = json_loadb(text, len, 0, &where);
    if (!json_is_object(root))
        return ocv_error_set(err, OCV_ERR_CONFIG, "line %d: %s", root ? 1 : where.line,
                             root ? "not a JSON object" : where.text);
    json_object_foreach(json_object_get(root, "auths"), key, value)
    {
        size_t n = length_of_match(key, host, repository);
        if (n > best) {
            best = n;
            best_key = key;
            best_entry = value;
        }
    }
    int status = OCV_OK;
    if (best_entry && (status = read_entry(best_entry, out, err)) < 0)
        ocv_error_prefix(err, "auths: %.200s", best_key);
    if (status == OCV_OK)
        find_helper(root, host, repository, helper);
    return status;
}

int ocv_helper_parse(const char *text, size_t len, struct ocv_credentials *out,
                     struct ocv_error *err)
{
    *out = (struct ocv_credentials){0};
    json_t *root = json_loadb(text, len, 0, NULL);
    const char *user = json_string_value(json_object_get(root, "Username"));
    const char *secret = json_string_value(json_object_get(root, "Secret"));
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
