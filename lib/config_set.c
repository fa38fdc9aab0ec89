/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Members of the configuration, checked one by one, whatever they were read from. */
#include "config_set.h"

#include "property.h"

#include <stdlib.h>
#include <string.h>

static int bad_namespace(struct ocv_error *err, const char *text)
{
    return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not a namespace (a-z 0-9 _)", text);
}

static bool name_ok(const char *s)
{
    return ocv_property_name_valid(s, strlen(s));
}

/* "ns", "ns :: feature" or "ns :: feature :: value" in canonical spacing. */
static int add_disabled(struct ocv_config *c, const char *text, struct ocv_error *err)
{
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
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = ocv_buffer_printf(&canonical, err, "%s%.*s", i ? " :: " : "", (int)parts[i].len,
                                   parts[i].data);
    if (status < 0)
        return status;
    return ocv_strings_add(&c->disable, canonical.data, canonical.len, err);
}

int ocv_config_add(struct ocv_config *c, const char *key, const char *text, struct ocv_error *err)
{
    if (!strcmp(key, "disable"))
        return add_disabled(c, text, err);
    if (!strcmp(key, "namespace_priority")) {
        if (!name_ok(text))
            return bad_namespace(err, text);
        return ocv_strings_add(&c->namespace_priority, text, strlen(text), err);
    }
    return ocv_strings_add(&c->allow, text, strlen(text), err);
}

int ocv_config_add_policy(struct ocv_config *c, const char *ns, const char *text,
                          struct ocv_error *err)
{
    static const char *const names[] = {"all", "any", "first"};
    size_t policy = 0;
    while (policy < 3 && strcmp(text, names[policy]) != 0)
        policy++;
    if (!name_ok(ns))
        return bad_namespace(err, ns);
    if (policy == 3)
        return ocv_error_set(err, OCV_ERR_CONFIG, "device policy '%.60s' is not all, any or first",
                             text);
    for (size_t i = 0; i < c->n_policies; i++)
        if (!strcmp(c->policies[i].ns, ns)) {
            c->policies[i].policy = (enum ocv_policy)policy;
            return OCV_OK;
        }
    struct ocv_policy_setting *list = realloc(c->policies, (c->n_policies + 1) * sizeof(*list));
    if (!list)
        return ocv_error_nomem(err);
    c->policies = list;
    list[c->n_policies] = (struct ocv_policy_setting){strdup(ns), (enum ocv_policy)policy};
    if (!list[c->n_policies].ns)
        return ocv_error_nomem(err);
    c->n_policies++;
    return OCV_OK;
}

int ocv_config_add_device(struct ocv_config *c, const char *ns, const char *text,
                          struct ocv_error *err)
{
    if (!name_ok(ns))
        return bad_namespace(err, ns);
    if (text && !*text)
        return ocv_error_set(err, OCV_ERR_CONFIG, "an empty device for %s", ns);
    size_t i = 0;
    while (i < c->n_devices && strcmp(c->devices[i].name, ns) != 0)
        i++;
    if (i == c->n_devices) {
        struct ocv_named_strings *list = realloc(c->devices, (i + 1) * sizeof(*list));
        if (!list)
            return ocv_error_nomem(err);
        c->devices = list;
        list[i] = (struct ocv_named_strings){.name = strdup(ns)};
        if (!list[i].name)
            return ocv_error_nomem(err);
        c->n_devices++;
    }
    return text ? ocv_strings_add(&c->devices[i].values, text, strlen(text), err) : OCV_OK;
}

int ocv_config_add_override(struct ocv_config *c, const char *ns, const char *feature,
                            const char *value, struct ocv_error *err)
{
    if (!name_ok(ns))
        return bad_namespace(err, ns);
    if (!name_ok(feature))
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not a feature (a-z 0-9 _)", feature);
    if (value && !ocv_property_value_valid(value, strlen(value)))
        return ocv_error_set(err, OCV_ERR_CONFIG, "'%.60s' is not a value (a-z 0-9 _ .)", value);
    size_t i = 0;
    while (i < c->n_overrides &&
           (strcmp(c->overrides[i].ns, ns) != 0 || strcmp(c->overrides[i].feature, feature) != 0))
        i++;
    if (i == c->n_overrides) {
        struct ocv_override *list = realloc(c->overrides, (i + 1) * sizeof(*list));
        if (!list)
            return ocv_error_nomem(err);
        c->overrides = list;
        list[i] = (struct ocv_override){.ns = strdup(ns), .feature = strdup(feature)};
        if (!list[i].ns || !list[i].feature) {
            free(list[i].ns);
            free(list[i].feature);
            return ocv_error_nomem(err);
        }
        c->n_overrides++;
    }
    return value ? ocv_strings_add(&c->overrides[i].values, value, strlen(value), err) : OCV_OK;
}

int ocv_config_set_scalar(struct ocv_config *c, const char *key, const char *text,
                          struct ocv_error *err)
{
    int status = ocv_config_check_scalar(key, text, err);
    if (status < 0)
        return status;
    char *copy = strdup(text);
    if (!copy)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < c->n_scalars; i++)
        if (!strcmp(c->scalars[i].key, key)) {
            free(c->scalars[i].value);
            c->scalars[i].value = copy;
            return OCV_OK;
        }
    struct ocv_scalar *list = realloc(c->scalars, (c->n_scalars + 1) * sizeof(*list));
    if (!list) {
        free(copy);
        return ocv_error_nomem(err);
    }
    c->scalars = list;
    list[c->n_scalars++] = (struct ocv_scalar){ocv_config_key(key), copy};
    return OCV_OK;
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
        struct ocv_registry_setting *list = realloc(c->registries, (i + 1) * sizeof(*list));
        if (!list)
            return ocv_error_nomem(err);
        c->registries = list;
        list[i] = (struct ocv_registry_setting){.host = strdup(host)};
        if (!list[i].host)
            return ocv_error_nomem(err);
        c->n_registries++;
    }
    char *copy = strdup(url);
    if (!copy)
        return ocv_error_nomem(err);
    free(c->registries[i].url);
    c->registries[i].url = copy;
    c->registries[i].insecure = plain;
    return OCV_OK;
}
