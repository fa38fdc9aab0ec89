/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/json.h"
#include "lib/registry/auth/providers_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUB_KEY "index.docker.io"
#define CENTURY_MS 3.1536e12

static const struct {
    const char *name;
    double ms;
} units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"\xc2\xb5s", 1e-3}, {"\xce\xbcs", 1e-3},
             {"ms", 1},    {"s", 1e3},   {"m", 60e3},         {"h", 3600e3}};

bool ocv_go_duration_parse(const char *text, int64_t *ms)
{
    double sum = 0;
    bool negative = *text == '-';
    text += *text == '-' || *text == '+';
    if (!strcmp(text, "0")) {
        *ms = 0;
        return true;
    }
    do {
        double value = 0, place = 1;
        bool digits = false, fraction = false;
        for (; *text == '.' || (*text >= '0' && *text <= '9'); text++) {
            if (*text == '.' && fraction)
                return false;
            if (*text == '.') {
                fraction = true;
                continue;
            }
            digits = true;
            if (fraction)
                value += (*text - '0') * (place /= 10);
            else
                value = value * 10 + (*text - '0');
        }
        if (!digits)
            return false;
        size_t len = strcspn(text, "+-.0123456789"), u = 0, n = sizeof(units) / sizeof(*units);
        while (u < n && (strlen(units[u].name) != len || memcmp(units[u].name, text, len) != 0))
            u++;
        if (u == n)
            return false;
        text += len;
        sum += value * units[u].ms;
        if (!(sum <= CENTURY_MS))
            return false;
    } while (*text);
    *ms = (int64_t)(negative ? -sum : sum);
    return true;
}

void ocv_provider_answer_free(struct ocv_provider_answer *answer)
{
    for (size_t i = 0; i < answer->n; i++) {
        free(answer->auths[i].key);
        ocv_secret_free(answer->auths[i].username);
        ocv_secret_free(answer->auths[i].password);
    }
    free(answer->auths);
    *answer = (struct ocv_provider_answer){0};
}

static bool is_text(const json_t *object, const char *key, const char *wanted)
{
    const char *text = ocv_json_text(object, key);
    return text && !strcmp(text, wanted);
}

/* "https://HOST/v2/PATH" is HOST/PATH, and /v1/ likewise. */
static char *plain_key(const char *key)
{
    char *out = NULL;
    if (!strncmp(key, "https://", 8) || !strncmp(key, "http://", 7))
        key = strstr(key, "//") + 2;
    size_t host = strcspn(key, "/");
    const char *path = key + host;
    if (!strncmp(path, "/v1/", 4) || !strncmp(path, "/v2/", 4))
        path += 3;
    if (asprintf(&out, "%.*s%s", (int)host, key, strcmp(path, "/") ? path : "") < 0)
        return NULL;
    return out;
}

static int read_answer(const json_t *root, const char *version, struct ocv_provider_answer *out,
                       struct ocv_error *err)
{
    static const char *const scopes[] = {"Image", "Registry", "Global"};
    const json_t *duration = json_object_get(root, "cacheDuration");
    const char *text = json_string_value(duration);
    unsigned scope = 0;
    if (!is_text(root, "kind", "CredentialProviderResponse"))
        return ocv_error_set(err, OCV_ERR_DATA,
                             "its output is not a CredentialProviderResponse in JSON");
    if (!is_text(root, "apiVersion", version))
        return ocv_error_set(err, OCV_ERR_DATA, "its answer's apiVersion is not %s", version);
    while (scope < 3 && !is_text(root, "cacheKeyType", scopes[scope]))
        scope++;
    if (scope == 3)
        return ocv_error_set(err, OCV_ERR_DATA,
                             "its cacheKeyType is not Image, Registry or Global");
    out->scope = (enum ocv_provider_scope)scope;
    out->keep_ms = -1;
    if (duration && !json_is_null(duration)) {
        if (!text || !ocv_go_duration_parse(text, &out->keep_ms))
            return ocv_error_set(err, OCV_ERR_DATA,
                                 "its cacheDuration is not a duration such as 6h");
        if (out->keep_ms < 0)
            out->keep_ms = 0;
    }

    const json_t *auth = json_object_get(root, "auth");
    const char *key;
    json_t *value;
    size_t n = json_object_size(auth);
    if (!auth || json_is_null(auth))
        return OCV_OK;
    if (!json_is_object(auth) || n > OCV_PROVIDER_AUTHS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "its auth is not an object of at most %u members",
                             OCV_PROVIDER_AUTHS_MAX);
    out->auths = calloc(n + 1, sizeof(*out->auths));
    if (!out->auths)
        return ocv_error_nomem(err);
    json_object_foreach((json_t *)auth, key, value)
    {
        const json_t *user = json_object_get(value, "username");
        const json_t *password = json_object_get(value, "password");
        if (!json_is_object(value) || (user && !json_is_string(user)) ||
            (password && !json_is_string(password)) || strlen(key) > OCV_PROVIDER_KEY_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "its auth is not of user names and passwords");
        size_t i = out->n++;
        out->auths[i].key = plain_key(key);
        out->auths[i].username = strdup(user ? json_string_value(user) : "");
        out->auths[i].password = strdup(password ? json_string_value(password) : "");
        if (!out->auths[i].key || !out->auths[i].username || !out->auths[i].password)
            return ocv_error_nomem(err);
    }
    return OCV_OK;
}

int ocv_provider_answer_parse(const char *text, size_t len, const char *version,
                              struct ocv_provider_answer *out, struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    *out = (struct ocv_provider_answer){0};
    /* the reader's own message would quote the text */
    int status = ocv_json_load_counted("answer", text, len, OCV_PROVIDER_ANSWER_MAX,
                                       OCV_PROVIDER_VALUES_MAX, &root, NULL);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(err);
    status = read_answer(status < 0 ? NULL : root, version, out, err);
    if (status < 0)
        ocv_provider_answer_free(out);
    return status;
}

int ocv_provider_answer_find(const struct ocv_provider_answer *answer, const char *image,
                             struct ocv_credentials *out, struct ocv_error *err)
{
    size_t best = answer->n;
    *out = (struct ocv_credentials){0};
    for (size_t i = 0; i < answer->n; i++)
        if (ocv_image_glob_match(answer->auths[i].key, image) &&
            (best == answer->n || strcmp(answer->auths[i].key, answer->auths[best].key) > 0))
            best = i;
    size_t len = strcspn(image, "/");
    bool hub = (len == strlen("docker.io") && !strncmp(image, "docker.io", len)) ||
               (len == strlen(HUB_KEY) && !strncmp(image, HUB_KEY, len));
    for (size_t i = 0; best == answer->n && i < answer->n && hub; i++)
        if (!strcmp(answer->auths[i].key, HUB_KEY))
            best = i;
    if (best == answer->n || (!*answer->auths[best].username && !*answer->auths[best].password))
        return OCV_OK;
    out->username = strdup(answer->auths[best].username);
    out->password = strdup(answer->auths[best].password);
    if (out->username && out->password)
        return OCV_OK;
    ocv_credentials_free(out);
    return ocv_error_nomem(err);
}
