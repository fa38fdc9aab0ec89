/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Configuration files (schema/config.schema.json): a tree that the table of keys has let through is
 * put into the configuration. Every message names file and line. */
#include "lib/base/cleanup.h"
#include "lib/internal/config/config_internal.h"

#include "lib/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES_MAX (256u * 1024)
#define ORIGIN_MAX 4200 /* bytes of FILE:LINE */

struct config_reader {
    struct ocv_config *config;
    struct ocv_yaml_reader file;
};

/* FILE:LINE, for what is said of the member later. */
static const char *origin_of(const struct config_reader *r, const struct ocv_yaml *node,
                             char out[ORIGIN_MAX])
{
    snprintf(out, ORIGIN_MAX, "%s:%zu", r->file.source, node->line);
    return out;
}

static int at_line(const struct config_reader *r, const struct ocv_yaml *node, int status)
{
    return status < 0 ? ocv_error_prefix(r->file.err, "%s:%zu", r->file.source, node->line)
                      : OCV_OK;
}

/* NULL before the members: an empty list is a setting, too, here and of devices. */
static int read_override(const struct config_reader *r, const char *ns,
                         const struct ocv_yaml *feature)
{
    char at[ORIGIN_MAX];
    OCV_TRY(at_line(r, feature,
                    ocv_config_add_override(r->config, ns, feature->key, NULL,
                                            origin_of(r, feature, at), r->file.err)));
    for (const struct ocv_yaml *m = feature->first; m; m = m->next)
        OCV_TRY(at_line(r, m,
                        ocv_config_add_override(r->config, ns, feature->key, m->text,
                                                origin_of(r, m, at), r->file.err)));
    return OCV_OK;
}

static int read_map(const struct config_reader *r, const char *key, const struct ocv_yaml *map)
{
    char at[ORIGIN_MAX];
    for (const struct ocv_yaml *m = map->first; m; m = m->next) {
        const char *origin = origin_of(r, m, at);
        if (!strcmp(key, "device_policy")) {
            OCV_TRY(at_line(
                r, m, ocv_config_add_policy(r->config, m->key, m->text, origin, r->file.err)));
        } else if (!strcmp(key, "devices")) {
            OCV_TRY(
                at_line(r, m, ocv_config_add_device(r->config, m->key, NULL, origin, r->file.err)));
            for (const struct ocv_yaml *d = m->first; d; d = d->next)
                OCV_TRY(at_line(r, d,
                                ocv_config_add_device(r->config, m->key, d->text,
                                                      origin_of(r, d, at), r->file.err)));
        } else {
            for (const struct ocv_yaml *f = m->first; f; f = f->next)
                OCV_TRY(read_override(r, m->key, f));
        }
    }
    return OCV_OK;
}

static int read_sparse(const struct config_reader *r, const struct ocv_yaml *map)
{
    char at[ORIGIN_MAX];
    const char *text = ocv_yaml_text(map, "sparse");
    return text && !strcmp(text, "next")
               ? ocv_strings_add(&r->config->sparse, map->key, strlen(map->key),
                                 origin_of(r, map, at), r->file.err)
               : OCV_OK;
}

static int read_registry(const struct config_reader *r, const struct ocv_yaml *map)
{
    char at[ORIGIN_MAX];
    struct ocv_config *c = r->config;
    struct ocv_registry_config *s = ocv_array_grow(&c->registries, c->n_registries);
    if (!s || !(s->host = strdup(map->key)))
        return ocv_error_nomem(r->file.err);
    c->n_registries++;
    const struct {
        const char *name;
        char **field;
        bool file;
    } fields[] = {{"url", &s->url, false},
                  {"ca", &s->ca, true},
                  {"cert", &s->cert, true},
                  {"key", &s->key, true},
                  {"mirror_of", &s->mirror_of, false}};
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        const char *text = ocv_yaml_text(map, fields[i].name);
        if (text && !(*fields[i].field = strdup(text)))
            return ocv_error_nomem(r->file.err);
        if (!text || !fields[i].file)
            continue;
        struct ocv_file_origin *o = ocv_array_grow(&c->file_origins, c->n_file_origins);
        if (!o)
            return ocv_error_nomem(r->file.err);
        const char *origin = origin_of(r, ocv_yaml_get(map, fields[i].name), at);
        *o = (struct ocv_file_origin){
            .host = strdup(map->key), .key = fields[i].name, .origin = strdup(origin)};
        c->n_file_origins++;
        if (!o->host || !o->origin)
            return ocv_error_nomem(r->file.err);
    }
    OCV_TRY(read_sparse(r, map));
    const char *insecure = ocv_yaml_text(map, "insecure");
    s->insecure = insecure && (!strcmp(insecure, "true") || !strcmp(insecure, "yes"));
    return OCV_OK;
}

/* "harbor.example/dockerhub: {mirror_of: docker.io}": a part of a registry. Its host is a registry
 * of the configuration, too. */
static int read_path(const struct config_reader *r, const struct ocv_yaml *map)
{
    char at[ORIGIN_MAX], host[300];
    struct ocv_config *c = r->config;
    const char *of = ocv_yaml_text(map, "mirror_of");
    const bool also = ocv_yaml_get(map, "sparse") != NULL;
    OCV_TRY(read_sparse(r, map));
    if (!of || map->n != 1 + (size_t)also)
        return ocv_error_set(r->file.err, OCV_ERR_CONFIG,
                             "%s: %s: a path of a registry has mirror_of, may have sparse, and "
                             "nothing else",
                             origin_of(r, map, at), map->key);
    struct ocv_path_mirror *m = ocv_array_grow(&c->path_mirrors, c->n_path_mirrors);
    if (!m)
        return ocv_error_nomem(r->file.err);
    c->n_path_mirrors++;
    m->prefix = strdup(map->key);
    m->of = strdup(of);
    if (!m->prefix || !m->of)
        return ocv_error_nomem(r->file.err);
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(map->key, "/"), map->key);
    for (size_t i = 0; i < c->n_registries; i++)
        if (!strcmp(c->registries[i].host, host))
            return OCV_OK;
    struct ocv_registry_config *s = ocv_array_grow(&c->registries, c->n_registries);
    if (!s || !(s->host = strdup(host)))
        return ocv_error_nomem(r->file.err);
    c->n_registries++;
    return OCV_OK;
}

static int read_key(const struct config_reader *r, const char *key, const struct ocv_yaml *node)
{
    char at[ORIGIN_MAX];
    switch (ocv_config_shape(key)) {
    case OCV_KEY_LIST:
        for (const struct ocv_yaml *m = node->first; m; m = m->next)
            OCV_TRY(at_line(
                r, m, ocv_config_add(r->config, key, m->text, origin_of(r, m, at), r->file.err)));
        return OCV_OK;
    case OCV_KEY_SCALAR:
        return at_line(
            r, node,
            ocv_config_set_scalar(r->config, key, node->text, origin_of(r, node, at), r->file.err));
    case OCV_KEY_MAP:
        return read_map(r, key, node);
    case OCV_KEY_FILE_ONLY:
        break;
    }
    if (!strcmp(key, "trust")) {
        for (const struct ocv_yaml *m = node->first; m; m = m->next) {
            struct ocv_trust_setting *t;
            OCV_TRY(at_line(
                r, m,
                ocv_config_add_trust(r->config, m->key, origin_of(r, m, at), &t, r->file.err)));
            const struct ocv_yaml *keys = ocv_yaml_get(m, "keys");
            const char *require = ocv_yaml_text(m, "require");
            const char *repository = ocv_yaml_text(m, "repository");
            t->require = !require || strcmp(require, "false") != 0;
            t->match = repository && !strcmp(repository, "match");
            for (const struct ocv_yaml *k = keys ? keys->first : NULL; k; k = k->next)
                OCV_TRY(ocv_strings_add(&t->keys, k->text, strlen(k->text), origin_of(r, k, at),
                                        r->file.err));
            if (!t->keys.count && t->require)
                return ocv_error_set(
                    r->file.err, OCV_ERR_CONFIG,
                    "%s: %s: keys are missing (or require: false, for no signature at all)",
                    origin_of(r, m, at), m->key);
        }
        return OCV_OK;
    }
    bool registries = !strcmp(key, "registries");
    for (const struct ocv_yaml *m = node->first; m && registries; m = m->next)
        if (!strchr(m->key, '/'))
            OCV_TRY(read_registry(r, m));
    for (const struct ocv_yaml *m = node->first; m && registries; m = m->next)
        if (strchr(m->key, '/'))
            OCV_TRY(read_path(r, m));
    for (const struct ocv_yaml *m = node->first; m && !registries; m = m->next) {
        struct config_reader own = *r;
        OCV_TRY(at_line(r, m,
                        ocv_config_add_repository(r->config, m->key, origin_of(r, m, at),
                                                  &own.config, r->file.err)));
        for (const struct ocv_yaml *k = m->first; k; k = k->next) {
            const char *name = ocv_config_repository_key(k->key);
            own.config->given |= ocv_config_key_bit(name);
            OCV_TRY(read_key(&own, name, k));
        }
    }
    return OCV_OK;
}

void ocv_config_tolerate(struct ocv_config *config, void (*unknown)(const char *message))
{
    config->unknown = unknown;
}

int ocv_config_merge_yaml(struct ocv_config *config, const char *source, const char *text,
                          size_t len, struct ocv_error *err)
{
    struct ocv_error own = {0};
    const struct config_reader r = {config, {source, err ? err : &own, config->unknown}};
    struct ocv_yaml *tree = NULL;
    int status = ocv_yaml_load(&r.file, &ocv_config_rule, text, len, CONFIG_BYTES_MAX, &tree);
    if (status < 0 && strstr(r.file.err->message, "'registries' must be a mapping"))
        ocv_error_hint(r.file.err,
                       "one key for each registry, `registry.example:5000:`, with nothing "
                       "or its settings below; no list");
    for (const struct ocv_yaml *m = tree ? tree->first : NULL; m && status == OCV_OK; m = m->next) {
        const char *key = ocv_config_key(m->key);
        ocv_config_clear(config, key);
        config->by_text &= ~ocv_config_key_bit(key);
        status = read_key(&r, key, m);
    }
    ocv_yaml_free(tree);
    return status;
}
