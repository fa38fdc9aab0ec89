/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The configuration object: what one key means, whatever it was read from. Files are read by
 * lib/config_yaml.c, environment variables and flags by lib/config_text.c; they put it in by
 * lib/config_set.c. */
#include "config_set.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const keys[] = {
    "namespace_priority",
    "disable",
    "device_policy",
    "devices",
    "override",
    "registries",
    "tag_rules",
    "to",
    "listen",
    "socket",
    "mode",
    "tag_ttl",
    "probe_interval",
    "serve_private",
    "credentials",
    "metrics_listen",
    "log",
    "access_log",
    "policy",
    "fail",
    "allow",
    NULL,
};

const char *const *ocv_config_keys(void)
{
    return keys;
}

const char *ocv_config_key(const char *name)
{
    for (size_t i = 0; keys[i]; i++)
        if (!strcmp(keys[i], name))
            return keys[i];
    return NULL;
}

int ocv_config_new(struct ocv_config **out, struct ocv_error *err)
{
    *out = calloc(1, sizeof(**out));
    return *out ? OCV_OK : ocv_error_nomem(err);
}

static void clear_strings(struct ocv_strings *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i]);
    free(s->list);
    *s = (struct ocv_strings){0};
}

int ocv_strings_add(struct ocv_strings *s, const char *text, size_t len, struct ocv_error *err)
{
    if (s->count == OCV_CONFIG_ITEMS_MAX)
        return ocv_error_set(err, OCV_ERR_CONFIG, "more than %u members", OCV_CONFIG_ITEMS_MAX);
    char **list = realloc(s->list, (s->count + 1) * sizeof(*list));
    char *copy = list ? strndup(text, len) : NULL;
    if (list)
        s->list = list;
    if (!copy)
        return ocv_error_nomem(err);
    s->list[s->count++] = copy;
    return OCV_OK;
}

static void clear_devices(struct ocv_config *c)
{
    for (size_t i = 0; i < c->n_devices; i++) {
        free(c->devices[i].name);
        clear_strings(&c->devices[i].values);
    }
    free(c->devices);
    c->devices = NULL;
    c->n_devices = 0;
}

static void clear_policies(struct ocv_config *c)
{
    for (size_t i = 0; i < c->n_policies; i++)
        free(c->policies[i].ns);
    free(c->policies);
    c->policies = NULL;
    c->n_policies = 0;
}

static void clear_overrides(struct ocv_config *c)
{
    for (size_t i = 0; i < c->n_overrides; i++) {
        free(c->overrides[i].ns);
        free(c->overrides[i].feature);
        clear_strings(&c->overrides[i].values);
    }
    free(c->overrides);
    c->overrides = NULL;
    c->n_overrides = 0;
}

static void clear_registries(struct ocv_config *c)
{
    for (size_t i = 0; i < c->n_registries; i++) {
        struct ocv_registry_setting *r = &c->registries[i];
        char *const strings[] = {r->host, r->url, r->ca, r->cert, r->key, r->mirror_of};
        for (size_t k = 0; k < sizeof(strings) / sizeof(*strings); k++)
            free(strings[k]);
    }
    free(c->registries);
    c->registries = NULL;
    c->n_registries = 0;
}

void ocv_config_clear(struct ocv_config *c, const char *key)
{
    if (!strcmp(key, "namespace_priority"))
        clear_strings(&c->namespace_priority);
    else if (!strcmp(key, "disable"))
        clear_strings(&c->disable);
    else if (!strcmp(key, "allow"))
        clear_strings(&c->allow);
    else if (!strcmp(key, "device_policy"))
        clear_policies(c);
    else if (!strcmp(key, "devices"))
        clear_devices(c);
    else if (!strcmp(key, "override"))
        clear_overrides(c);
    else if (!strcmp(key, "registries"))
        clear_registries(c);
}

void ocv_config_free(struct ocv_config *config)
{
    if (!config)
        return;
    for (size_t i = 0; keys[i]; i++)
        ocv_config_clear(config, keys[i]);
    for (size_t i = 0; i < config->n_scalars; i++)
        free(config->scalars[i].value);
    free(config->scalars);
    free(config);
}

/* ---- reading ---- */

const char *ocv_config_get(const struct ocv_config *config, const char *key)
{
    for (size_t i = 0; i < config->n_scalars; i++)
        if (!strcmp(config->scalars[i].key, key))
            return config->scalars[i].value;
    return NULL;
}

size_t ocv_config_registry_count(const struct ocv_config *config)
{
    return config->n_registries;
}

struct ocv_registry_config ocv_config_registry(const struct ocv_config *config, size_t i)
{
    const struct ocv_registry_setting *r = &config->registries[i];
    return (struct ocv_registry_config){r->host, r->url,       r->ca,      r->cert,
                                        r->key,  r->mirror_of, r->insecure};
}

struct ocv_registry_config ocv_config_find_registry(const struct ocv_config *config,
                                                    const char *host)
{
    for (size_t i = 0; i < config->n_registries; i++)
        if (!strcasecmp(ocv_host_canonical(config->registries[i].host), ocv_host_canonical(host)))
            return ocv_config_registry(config, i);
    return (struct ocv_registry_config){0};
}

/* Is `item` ("ns", "ns :: feature", ...) the part of the property up to where it ends? */
static bool item_is(const char *item, const char *ns, const char *feature, const char *value)
{
    const char *const parts[] = {ns, feature, value};
    for (size_t i = 0; i < 3 && parts[i]; i++) {
        size_t n = strlen(parts[i]);
        if (strncmp(item, parts[i], n) != 0)
            return false;
        item += n;
        if (!*item)
            return i == 2 || !parts[i + 1];
        if (strncmp(item, " :: ", 4) != 0)
            return false;
        item += 4;
    }
    return false;
}

bool ocv_config_disabled(const struct ocv_config *config, const char *ns, const char *feature,
                         const char *value)
{
    for (size_t i = 0; i < config->disable.count; i++)
        if (item_is(config->disable.list[i], ns, feature, value))
            return true;
    return false;
}

enum ocv_policy ocv_config_policy(const struct ocv_config *config, const char *ns)
{
    for (size_t i = 0; i < config->n_policies; i++)
        if (!strcmp(config->policies[i].ns, ns))
            return config->policies[i].policy;
    return OCV_POLICY_ALL;
}

const struct ocv_strings *ocv_config_devices(const struct ocv_config *config, const char *ns)
{
    for (size_t i = 0; i < config->n_devices; i++)
        if (!strcmp(config->devices[i].name, ns))
            return &config->devices[i].values;
    return NULL;
}

size_t ocv_config_allow_count(const struct ocv_config *config)
{
    return config->allow.count;
}

const char *ocv_config_allow(const struct ocv_config *config, size_t i)
{
    return config->allow.list[i];
}
