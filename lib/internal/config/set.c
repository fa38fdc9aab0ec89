/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Members of the configuration, checked one by one, whatever they were read from. */
#include "lib/internal/config/config_internal.h"

#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/span.h"
#include "lib/base/format/yaml.h"

#include <stdlib.h>
#include <string.h>

static int check_namespace(const char *text, struct ocv_error *err)
{
    if (ocv_property_name_valid(text, strlen(text)))
        return OCV_OK;
    return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not a namespace (a-z 0-9 _)", text);
}

#define BUILD_GLOB_MAX 128u /* bytes, as a tag; fnmatch recurses over it */

int ocv_config_add(struct ocv_config *c, const char *key, const char *text, const char *origin,
                   struct ocv_error *err)
{
    struct ocv_strings *list = ocv_config_list_of(c, key);
    if (!strcmp(key, "disable") || !strcmp(key, "require")) {
        /* "ns", "ns :: feature" or "ns :: feature :: value" in canonical spacing */
        struct ocv_span parts[3];
        size_t n = ocv_span_parts((struct ocv_span){text, strlen(text)}, parts, 3);
        bool ok = n >= 1 && n <= 3;
        for (size_t i = 0; ok && i < n; i++)
            ok = i < 2 ? ocv_property_name_valid(parts[i].data, parts[i].len)
                       : ocv_property_value_valid(parts[i].data, parts[i].len);
        if (!ok)
            return ocv_error_set(err, OCV_ERR_CONFIG,
                                 "'%.100s' is not NS, NS::FEATURE or NS::FEATURE::VALUE", text);
        ocv_auto_buffer canonical;
        ocv_buffer_init(&canonical, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        for (size_t i = 0; i < n; i++)
            OCV_TRY(ocv_buffer_printf(&canonical, err, "%s%.*s", i ? " :: " : "", (int)parts[i].len,
                                      parts[i].data));
        return ocv_strings_add(list, canonical.data, canonical.len, origin, err);
    }
    if (!strcmp(key, "namespace_priority") || !strcmp(key, "known_namespaces"))
        OCV_TRY(check_namespace(text, err));
    static const char letters[] =
        "*abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (!strcmp(key, "os_features") && (!*text || text[strspn(text, letters + 1)]))
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not a feature (A-Z a-z 0-9 . _ -)",
                             text);
    const char *equals = strchr(text, '=');
    if (!strcmp(key, "layout") && *text != '/' && (!equals || equals[1] != '/'))
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "'%.60s' is not a directory by its full path, or REGISTRY=DIRECTORY",
                             text);
    if (!strcmp(key, "host_names") && !ocv_reference_host_valid(text))
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not the name of a host", text);
    bool wish = !strcmp(text, "require") || !strcmp(text, "disable") || !strcmp(text, "label") ||
                !strcmp(text, "devices");
    if (!strcmp(key, "workload_annotations") && !wish)
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "'%.60s' is not require, disable, label or devices", text);
    size_t len = strlen(text);
    if (!strcmp(key, "deny") && (!len || len > BUILD_GLOB_MAX || text[strspn(text, letters)]))
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "'%.60s' is not a label or tag (A-Z a-z 0-9 . _ -, `*` for any part)",
                             text);
    return ocv_strings_add(list, text, len, origin, err);
}

/* Put a copy of `text` in place of `*field`. */
static int replace_text(char **field, const char *text, struct ocv_error *err)
{
    char *copy = strdup(text);
    if (!copy)
        return ocv_error_nomem(err);
    free(*field);
    *field = copy;
    return OCV_OK;
}

int ocv_config_add_policy(struct ocv_config *c, const char *ns, const char *text,
                          const char *origin, struct ocv_error *err)
{
    static const char *const names[] = {"all", "any", "first", NULL};
    static const struct ocv_yaml_rule rule = {.takes = OCV_TAKES_TEXT, .words = names};
    size_t policy = 0, i = 0;
    while (policy < 3 && strcmp(text, names[policy]) != 0)
        policy++;
    OCV_TRY(check_namespace(ns, err));
    if (policy == 3)
        return ocv_yaml_check_text(&rule, ns, text, err);
    while (i < c->n_policies && strcmp(c->policies[i].ns, ns) != 0)
        i++;
    if (i == c->n_policies) {
        struct ocv_policy_setting *added = ocv_array_grow(&c->policies, i);
        if (!added || !(added->ns = strdup(ns)))
            return ocv_error_nomem(err);
        c->n_policies++;
    }
    c->policies[i].policy = (enum ocv_policy)policy;
    return replace_text(&c->policies[i].origin, origin, err);
}

int ocv_config_add_device(struct ocv_config *c, const char *ns, const char *text,
                          const char *origin, struct ocv_error *err)
{
    OCV_TRY(check_namespace(ns, err));
    if (text && !*text)
        return ocv_error_set(err, OCV_ERR_CONFIG, "an empty device for %s", ns);
    size_t i = 0;
    while (i < c->n_devices && strcmp(c->devices[i].ns, ns) != 0)
        i++;
    if (i == c->n_devices) {
        struct ocv_device_setting *added = ocv_array_grow(&c->devices, i);
        if (!added || !(added->ns = strdup(ns)))
            return ocv_error_nomem(err);
        c->n_devices++;
    }
    if (text)
        return ocv_strings_add(&c->devices[i].ids, text, strlen(text), origin, err);
    return replace_text(&c->devices[i].origin, origin, err);
}

int ocv_config_add_override(struct ocv_config *c, const char *ns, const char *feature,
                            const char *value, const char *origin, struct ocv_error *err)
{
    OCV_TRY(check_namespace(ns, err));
    if (!ocv_property_name_valid(feature, strlen(feature)))
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not a feature (a-z 0-9 _)", feature);
    if (value && !ocv_property_value_valid(value, strlen(value)))
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not a valid value (a-z 0-9 _ .)",
                             value);
    size_t i = 0;
    while (i < c->n_overrides &&
           (strcmp(c->overrides[i].ns, ns) != 0 || strcmp(c->overrides[i].feature, feature) != 0))
        i++;
    if (i == c->n_overrides) {
        struct ocv_override *added = ocv_array_grow(&c->overrides, i);
        ocv_auto_free char *copy = strdup(ns);
        if (!added || !copy || !(added->feature = strdup(feature)))
            return ocv_error_nomem(err);
        added->ns = ocv_steal(&copy);
        c->n_overrides++;
    }
    if (value)
        return ocv_strings_add(&c->overrides[i].values, value, strlen(value), origin, err);
    return replace_text(&c->overrides[i].origin, origin, err);
}

int ocv_config_add_repository(struct ocv_config *c, const char *glob, const char *origin,
                              struct ocv_config **out, struct ocv_error *err)
{
    struct ocv_repository_setting *r = ocv_array_grow(&c->repositories, c->n_repositories);
    if (!r)
        return ocv_error_nomem(err);
    c->n_repositories++;
    r->glob = strdup(glob);
    r->origin = strdup(origin);
    OCV_TRY(ocv_glob_canonical(glob, &r->pattern, err));
    if (!r->glob || !r->origin)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_config_new(&r->config, err));
    r->config->base = c;
    *out = r->config;
    return OCV_OK;
}

int ocv_config_set_scalar(struct ocv_config *c, const char *key, const char *text,
                          const char *origin, struct ocv_error *err)
{
    OCV_TRY(ocv_config_check_scalar(key, key, text, err));
    const char *known = ocv_config_key(key) ? ocv_config_key(key) : ocv_config_repository_key(key);
    size_t i = 0;
    while (i < c->n_scalars && c->scalars[i].key != known)
        i++;
    if (i == c->n_scalars) {
        struct ocv_scalar *added = ocv_array_grow(&c->scalars, i);
        if (!added || !(added->value = strdup(text)))
            return ocv_error_nomem(err);
        added->key = known;
        c->n_scalars++;
    }
    OCV_TRY(replace_text(&c->scalars[i].value, text, err));
    return replace_text(&c->scalars[i].origin, origin, err);
}

int ocv_config_set_registry(struct ocv_config *c, const char *host, const char *url,
                            struct ocv_error *err)
{
    bool plain = !strncmp(url, "http://", 7);
    size_t i = 0, scheme = plain ? 7 : 8;
    if ((!plain && strncmp(url, "https://", 8) != 0) || !url[scheme] || strpbrk(url, "\"\\\r\n\t "))
        return ocv_error_set(err, OCV_ERR_CONFIG, "%.100s: '%.200s' is not a URL", host, url);
    while (i < c->n_registries && strcmp(c->registries[i].host, host) != 0)
        i++;
    if (i == c->n_registries) {
        struct ocv_registry_config *added = ocv_array_grow(&c->registries, i);
        if (!added || !(added->host = strdup(host)))
            return ocv_error_nomem(err);
        c->n_registries++;
    }
    OCV_TRY(replace_text(&c->registries[i].url, url, err));
    c->registries[i].insecure = plain;
    return OCV_OK;
}
