/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The configuration object: what one key means, whatever it was read from. Files are read by
 * lib/internal/config/yaml.c, environment variables and flags by lib/internal/config/text.c; they
 * put it in by lib/internal/config/set.c. */
#include "lib/core/core_internal.h"
#include "lib/internal/config/config_internal.h"

#include "lib/base/arena.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int ocv_config_new(struct ocv_config **out, struct ocv_error *err)
{
    *out = calloc(1, sizeof(**out));
    return *out ? OCV_OK : ocv_error_nomem(err);
}

void ocv_strings_clear(struct ocv_strings *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->list[i]);
        free(s->origins[i]);
    }
    free(s->list);
    free(s->origins);
    *s = (struct ocv_strings){0};
}

int ocv_strings_add(struct ocv_strings *s, const char *text, size_t len, const char *origin,
                    struct ocv_error *err)
{
    if (s->count == OCV_CONFIG_ITEMS_MAX)
        return ocv_error_set(err, OCV_ERR_CONFIG, "more than %u members", OCV_CONFIG_ITEMS_MAX);
    char **item = ocv_array_grow(&s->list, s->count);
    char **where = ocv_array_grow(&s->origins, s->count);
    ocv_auto_free char *copy = strndup(text, len);
    if (!item || !where || !copy || !(*where = strdup(origin)))
        return ocv_error_nomem(err);
    *item = ocv_steal(&copy);
    s->count++;
    return OCV_OK;
}

void ocv_config_clear(struct ocv_config *c, const char *key)
{
    struct ocv_strings *strings = ocv_config_list_of(c, key);
    if (strings)
        ocv_strings_clear(strings);
    else if (!strcmp(key, "device_policy")) {
        for (size_t i = 0; i < c->n_policies; i++) {
            free(c->policies[i].ns);
            free(c->policies[i].origin);
        }
        free(c->policies);
        c->policies = NULL;
        c->n_policies = 0;
    } else if (!strcmp(key, "devices")) {
        for (size_t i = 0; i < c->n_devices; i++) {
            free(c->devices[i].ns);
            free(c->devices[i].origin);
            ocv_strings_clear(&c->devices[i].ids);
        }
        free(c->devices);
        c->devices = NULL;
        c->n_devices = 0;
    } else if (!strcmp(key, "override")) {
        for (size_t i = 0; i < c->n_overrides; i++) {
            free(c->overrides[i].ns);
            free(c->overrides[i].feature);
            free(c->overrides[i].origin);
            ocv_strings_clear(&c->overrides[i].values);
        }
        free(c->overrides);
        c->overrides = NULL;
        c->n_overrides = 0;
    } else if (!strcmp(key, "registries")) {
        for (size_t i = 0; i < c->n_registries; i++) {
            struct ocv_registry_config *r = &c->registries[i];
            char *const texts[] = {r->host, r->url, r->ca, r->cert, r->key, r->mirror_of};
            for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
                free(texts[k]);
        }
        free(c->registries);
        c->registries = NULL;
        c->n_registries = 0;
        for (size_t i = 0; i < c->n_path_mirrors; i++) {
            free(c->path_mirrors[i].prefix);
            free(c->path_mirrors[i].of);
        }
        free(c->path_mirrors);
        c->path_mirrors = NULL;
        c->n_path_mirrors = 0;
        ocv_strings_clear(&c->sparse);
        for (size_t i = 0; i < c->n_file_origins; i++) {
            free(c->file_origins[i].host);
            free(c->file_origins[i].origin);
        }
        free(c->file_origins);
        c->file_origins = NULL;
        c->n_file_origins = 0;
    } else if (!strcmp(key, "repositories")) {
        for (size_t i = 0; i < c->n_repositories; i++) {
            free(c->repositories[i].glob);
            free(c->repositories[i].origin);
            free(c->repositories[i].pattern);
            ocv_config_free(c->repositories[i].config);
        }
        free(c->repositories);
        c->repositories = NULL;
        c->n_repositories = 0;
    } else if (!strcmp(key, "trust")) {
        ocv_config_clear_trust(c);
    }
}

void ocv_config_free(struct ocv_config *config)
{
    if (!config)
        return;
    for (const char *const *key = ocv_config_keys(); *key; key++)
        ocv_config_clear(config, *key);
    ocv_config_clear(config, "deny");
    for (size_t i = 0; i < config->n_scalars; i++) {
        free(config->scalars[i].value);
        free(config->scalars[i].origin);
    }
    free(config->scalars);
    free(config);
}

const struct ocv_config *ocv_config_for_reference(const struct ocv_config *config,
                                                  const struct ocv_reference *reference)
{
    const struct ocv_repository_setting *best = NULL;
    for (size_t i = 0; config && reference && i < config->n_repositories; i++) {
        const struct ocv_repository_setting *r = &config->repositories[i];
        if (ocv_glob_match(r->pattern, reference->name) &&
            (!best || ocv_glob_more_specific(r->pattern, best->pattern)))
            best = r;
    }
    return best ? best->config : config;
}

const struct ocv_config *ocv_config_layer(const struct ocv_config *config, const char *key)
{
    if (!config->base)
        return config;
    uint64_t bit = ocv_config_key_bit(key);
    return (config->given & ~config->base->by_text & bit) ? config : config->base;
}

static const struct ocv_scalar *find_scalar(const struct ocv_config *config, const char *key)
{
    config = ocv_config_layer(config, key);
    for (size_t i = 0; i < config->n_scalars; i++)
        if (!strcmp(config->scalars[i].key, key))
            return &config->scalars[i];
    return NULL;
}

const char *ocv_config_get(const struct ocv_config *config, const char *key)
{
    const struct ocv_scalar *scalar = find_scalar(config, key);
    return scalar ? scalar->value : NULL;
}

const char *ocv_config_origin(const struct ocv_config *config, const char *key)
{
    const struct ocv_scalar *scalar = find_scalar(config, key);
    return scalar ? scalar->origin : NULL;
}

const struct ocv_strings *ocv_config_strings(const struct ocv_config *config, const char *key)
{
    static const struct ocv_strings none = {0};
    /* the cast is safe: the list is only read */
    struct ocv_config *speaker = config ? (struct ocv_config *)ocv_config_layer(config, key) : NULL;
    const struct ocv_strings *strings = speaker ? ocv_config_list_of(speaker, key) : NULL;
    return strings ? strings : &none;
}

const char *ocv_config_repository(const struct ocv_config *config, const char **origin)
{
    const struct ocv_config *base = config ? config->base : NULL;
    for (size_t i = 0; base && i < base->n_repositories; i++)
        if (base->repositories[i].config == config) {
            *origin = base->repositories[i].origin;
            return base->repositories[i].glob;
        }
    return NULL;
}

bool ocv_config_any_repository(const struct ocv_config *config, const char *key, const char *text)
{
    for (size_t i = 0; i < config->n_repositories; i++) {
        const char *own = ocv_config_get(config->repositories[i].config, key);
        if (own && !strcmp(own, text))
            return true;
    }
    return false;
}

size_t ocv_config_list(const struct ocv_config *config, const char *key,
                       const char *const **members)
{
    const struct ocv_strings *strings = ocv_config_strings(config, key);
    if (members)
        *members = (const char *const *)strings->list;
    return strings->count;
}

size_t ocv_config_registries(const struct ocv_config *config,
                             const struct ocv_registry_config **out)
{
    config = config ? ocv_config_layer(config, "registries") : NULL;
    *out = config ? config->registries : NULL;
    return config ? config->n_registries : 0;
}

size_t ocv_config_path_mirrors(const struct ocv_config *config, const struct ocv_path_mirror **list)
{
    config = config ? ocv_config_layer(config, "registries") : NULL;
    *list = config ? config->path_mirrors : NULL;
    return config ? config->n_path_mirrors : 0;
}

struct ocv_registry_config ocv_config_find_registry(const struct ocv_config *config,
                                                    const char *host)
{
    const struct ocv_registry_config *list;
    size_t n = ocv_config_registries(config, &list);
    return ocv_registry_find(list, n, host);
}

const char *ocv_config_registry_origin(const struct ocv_config *config, const char *host,
                                       const char *key)
{
    config = ocv_config_layer(config, "registries");
    for (size_t i = 0; i < config->n_file_origins; i++)
        if (!strcmp(config->file_origins[i].host, host) &&
            !strcmp(config->file_origins[i].key, key))
            return config->file_origins[i].origin;
    return NULL;
}

struct ocv_preferences ocv_config_preferences(const struct ocv_config *config)
{
    if (!config)
        return (struct ocv_preferences){0};
    const struct ocv_config *policies = ocv_config_layer(config, "device_policy");
    const struct ocv_config *devices = ocv_config_layer(config, "devices");
    const struct ocv_scalar *label = find_scalar(config, "label");
    return (struct ocv_preferences){.namespace_priority =
                                        *ocv_config_strings(config, "namespace_priority"),
                                    .disable = *ocv_config_strings(config, "disable"),
                                    .require = *ocv_config_strings(config, "require"),
                                    .policies = policies->policies,
                                    .n_policies = policies->n_policies,
                                    .devices = devices->devices,
                                    .n_devices = devices->n_devices,
                                    .label = label && *label->value ? label->value : NULL,
                                    .label_origin = label ? label->origin : NULL,
                                    .deny = *ocv_config_strings(config, "deny")};
}

struct ocv_preferences ocv_config_preferences_for(const struct ocv_config *config,
                                                  const struct ocv_reference *reference)
{
    struct ocv_preferences own =
        ocv_config_preferences(ocv_config_for_reference(config, reference));
    own.tag = reference ? reference->tag : NULL;
    return own;
}
