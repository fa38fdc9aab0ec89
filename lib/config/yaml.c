/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Configuration files (schema/config.schema.json). Every message names file and line. */
#include "lib/config/config_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define CONFIG_BYTES_MAX (256u * 1024)
#define CONFIG_DEPTH_MAX 16 /* nesting of a file; libyaml's loader recurses */
#define ORIGIN_MAX 4200     /* bytes of FILE:LINE */

struct reader {
    struct ocv_config *config;
    yaml_document_t *document;
    const char *source;
    struct ocv_error *err;
    const yaml_node_t *key; /* of the member that is read: its value may begin lines later */
};

static int at_line(const struct reader *r, const yaml_node_t *node)
{
    return ocv_error_prefix(r->err, "%s:%zu", r->source, node->start_mark.line + 1);
}

/* FILE:LINE, for what is said of the member later. */
static const char *origin(const struct reader *r, const yaml_node_t *node, char out[ORIGIN_MAX])
{
    snprintf(out, ORIGIN_MAX, "%s:%zu", r->source, node->start_mark.line + 1);
    return out;
}

static int complain(const struct reader *r, const yaml_node_t *node, const char *name,
                    const char *what)
{
    ocv_error_set(r->err, OCV_ERR_CONFIG, "'%s' %s", name, what);
    return at_line(r, node);
}

static const char *text_of(const yaml_node_t *node)
{
    return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

/* The scalar's text; an embedded NUL would cut it short unseen. */
static int scalar(const struct reader *r, const yaml_node_t *node, const char *name,
                  const char **out)
{
    *out = text_of(node);
    if (!*out || strlen(*out) != node->data.scalar.length) {
        ocv_error_set(r->err, OCV_ERR_CONFIG, "'%s' must be plain text", name);
        return at_line(r, node);
    }
    return OCV_OK;
}

typedef int (*visitor)(const struct reader *r, const char *name, const yaml_node_t *value,
                       const void *data);

static int each_pair(const struct reader *r, const yaml_node_t *map, const char *name,
                     visitor visit, const void *data)
{
    if (map->type == YAML_SCALAR_NODE && !*text_of(map))
        return OCV_OK; /* "key:" with nothing after it */
    if (map->type != YAML_MAPPING_NODE)
        return complain(r, map, name, "must be a mapping");
    size_t n = (size_t)(map->data.mapping.pairs.top - map->data.mapping.pairs.start);
    if (n > OCV_CONFIG_ITEMS_MAX)
        return complain(r, map, name, "has too many members");
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++) {
        const yaml_node_pair_t *pair = &map->data.mapping.pairs.start[i];
        const yaml_node_t *key = yaml_document_get_node(r->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(r->document, pair->value);
        const char *text;
        status = scalar(r, key, name, &text);
        for (size_t k = 0; status == OCV_OK && k < i; k++) {
            const char *earlier =
                text_of(yaml_document_get_node(r->document, map->data.mapping.pairs.start[k].key));
            if (earlier && !strcmp(earlier, text))
                status = complain(r, key, text, "is given twice");
        }
        struct reader member = *r;
        member.key = key;
        if (status == OCV_OK)
            status = visit(&member, text, value, data);
    }
    return status;
}

static int each_item(const struct reader *r, const yaml_node_t *list, const char *name,
                     visitor visit, const void *data)
{
    if (list->type == YAML_SCALAR_NODE && !*text_of(list))
        return OCV_OK; /* "key:" with nothing after it is the empty list */
    if (list->type != YAML_SEQUENCE_NODE)
        return complain(r, list, name, "must be a list");
    int status = OCV_OK;
    const yaml_node_item_t *item = list->data.sequence.items.start;
    for (; item < list->data.sequence.items.top && status == OCV_OK; item++)
        status = visit(r, name, yaml_document_get_node(r->document, *item), data);
    return status;
}

static int checked(const struct reader *r, const yaml_node_t *node, int status)
{
    return status < 0 ? at_line(r, node) : OCV_OK;
}

static int list_item(const struct reader *r, const char *name, const yaml_node_t *value,
                     const void *key)
{
    const char *text;
    char at[ORIGIN_MAX];
    int status = scalar(r, value, name, &text);
    if (status == OCV_OK)
        status =
            checked(r, value, ocv_config_add(r->config, key, text, origin(r, value, at), r->err));
    return status;
}

static int policy_pair(const struct reader *r, const char *name, const yaml_node_t *value,
                       const void *data)
{
    const char *text;
    char at[ORIGIN_MAX];
    (void)data;
    int status = scalar(r, value, name, &text);
    if (status == OCV_OK)
        status = checked(
            r, value, ocv_config_add_policy(r->config, name, text, origin(r, value, at), r->err));
    return status;
}

static int device_item(const struct reader *r, const char *name, const yaml_node_t *value,
                       const void *data)
{
    const char *text;
    char at[ORIGIN_MAX];
    (void)data;
    int status = scalar(r, value, name, &text);
    if (status == OCV_OK)
        status = checked(
            r, value, ocv_config_add_device(r->config, name, text, origin(r, value, at), r->err));
    return status;
}

static int devices_pair(const struct reader *r, const char *name, const yaml_node_t *value,
                        const void *data)
{
    char at[ORIGIN_MAX];
    int status = checked(
        r, value, ocv_config_add_device(r->config, name, NULL, origin(r, r->key, at), r->err));
    return status < 0 ? status : each_item(r, value, name, device_item, data);
}

static int override_value(const struct reader *r, const char *feature, const yaml_node_t *value,
                          const void *ns)
{
    const char *text;
    char at[ORIGIN_MAX];
    int status = scalar(r, value, feature, &text);
    if (status == OCV_OK)
        status = checked(
            r, value,
            ocv_config_add_override(r->config, ns, feature, text, origin(r, value, at), r->err));
    return status;
}

static int override_feature(const struct reader *r, const char *feature, const yaml_node_t *value,
                            const void *ns)
{
    char at[ORIGIN_MAX];
    int status = checked(
        r, value,
        ocv_config_add_override(r->config, ns, feature, NULL, origin(r, r->key, at), r->err));
    return status < 0 ? status : each_item(r, value, feature, override_value, ns);
}

static int override_pair(const struct reader *r, const char *ns, const yaml_node_t *value,
                         const void *data)
{
    (void)data;
    return each_pair(r, value, ns, override_feature, ns);
}

static int registry_field(const struct reader *r, const char *name, const yaml_node_t *value,
                          const void *data)
{
    struct ocv_registry_setting *s = &r->config->registries[r->config->n_registries - 1];
    (void)data;
    const struct {
        const char *name;
        char **field;
    } fields[] = {{"url", &s->url},
                  {"ca", &s->ca},
                  {"cert", &s->cert},
                  {"key", &s->key},
                  {"mirror_of", &s->mirror_of}};
    const char *text;
    bool known = !strcmp(name, "insecure");
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        known = known || !strcmp(fields[i].name, name);
    if (!known)
        return complain(r, r->key, name, "is not a key of a registry");
    int status = scalar(r, value, name, &text);
    if (status < 0)
        return status;
    if (!strcmp(name, "mirror_of") && !ocv_host_valid(text))
        return complain(r, value, text, "is not the name of a registry");
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (!strcmp(fields[i].name, name)) {
            free(*fields[i].field);
            *fields[i].field = strdup(text);
            return *fields[i].field ? OCV_OK : ocv_error_nomem(r->err);
        }
    s->insecure = !strcmp(text, "true") || !strcmp(text, "yes");
    if (!s->insecure && strcmp(text, "false") != 0 && strcmp(text, "no") != 0)
        return complain(r, value, name, "must be true or false");
    return OCV_OK;
}

static int registry_pair(const struct reader *r, const char *host, const yaml_node_t *value,
                         const void *data)
{
    struct ocv_config *c = r->config;
    if (!ocv_host_valid(host))
        return complain(r, r->key, host, "is not the name of a registry");
    struct ocv_registry_setting *list =
        realloc(c->registries, (c->n_registries + 1) * sizeof(*list));
    if (!list)
        return ocv_error_nomem(r->err);
    c->registries = list;
    list[c->n_registries] = (struct ocv_registry_setting){.host = strdup(host)};
    if (!list[c->n_registries].host)
        return ocv_error_nomem(r->err);
    c->n_registries++;
    return each_pair(r, value, host, registry_field, data);
}

static int read_key(const struct reader *r, const char *key, const yaml_node_t *value);

static int repository_field(const struct reader *r, const char *name, const yaml_node_t *value,
                            const void *data)
{
    const char *key = ocv_config_repository_key(name);
    (void)data;
    if (!key)
        return complain(r, r->key, name, "is not a key of a repository");
    r->config->given |= ocv_config_key_bit(key);
    return read_key(r, key, value);
}

static int repository_pair(const struct reader *r, const char *glob, const yaml_node_t *value,
                           const void *data)
{
    struct reader member = *r;
    char at[ORIGIN_MAX];
    (void)data;
    int status = checked(
        r, r->key,
        ocv_config_add_repository(r->config, glob, origin(r, r->key, at), &member.config, r->err));
    return status < 0 ? status : each_pair(&member, value, glob, repository_field, NULL);
}

static int read_key(const struct reader *r, const char *key, const yaml_node_t *value)
{
    const char *text;
    char at[ORIGIN_MAX];
    int status;
    switch (ocv_config_shape(key)) {
    case OCV_KEY_LIST:
        return each_item(r, value, key, list_item, key);
    case OCV_KEY_SCALAR:
        status = scalar(r, value, key, &text);
        if (status == OCV_OK)
            status =
                checked(r, value,
                        ocv_config_set_scalar(r->config, key, text, origin(r, r->key, at), r->err));
        return status;
    case OCV_KEY_MAP:
        return each_pair(r, value, key,
                         !strcmp(key, "device_policy") ? policy_pair
                         : !strcmp(key, "devices")     ? devices_pair
                                                       : override_pair,
                         NULL);
    case OCV_KEY_FILE_ONLY:
        break;
    }
    return each_pair(r, value, key, strcmp(key, "registries") ? repository_pair : registry_pair,
                     NULL);
}

static int top_pair(const struct reader *r, const char *name, const yaml_node_t *value,
                    const void *data)
{
    const char *key = ocv_config_key(name);
    (void)data;
    if (!key)
        return complain(r, r->key, name,
                        ocv_config_repository_key(name) ? "is a key of repositories only"
                                                        : "is an unknown key");
    ocv_config_clear(r->config, key);
    r->config->by_text &= ~ocv_config_key_bit(key);
    return read_key(r, key, value);
}

static int parser_error(const yaml_parser_t *parser, const char *source, struct ocv_error *err)
{
    if (!parser->problem) /* as libyaml leaves it when memory runs out */
        return ocv_error_nomem(err);
    return ocv_error_set(err, OCV_ERR_CONFIG, "%s:%zu: %s", source, parser->problem_mark.line + 1,
                         parser->problem ? parser->problem : "not valid YAML");
}

/* libyaml's loader follows nesting by recursion and aliases by sharing nodes: refuse both beyond
 * what a configuration needs, before it runs. */
static int check_events(const char *source, const char *text, size_t len, struct ocv_error *err)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return ocv_error_nomem(err);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int depth = 0, documents = 0, status = OCV_OK;
    for (bool end = false; !end && status == OCV_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = parser_error(&parser, source, err);
            break;
        }
        depth += event.type == YAML_MAPPING_START_EVENT || event.type == YAML_SEQUENCE_START_EVENT;
        depth -= event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT;
        documents += event.type == YAML_DOCUMENT_START_EVENT;
        const char *wrong = depth > CONFIG_DEPTH_MAX         ? "nested too deeply"
                            : event.type == YAML_ALIAS_EVENT ? "aliases are not allowed"
                            : documents > 1                  ? "a second document"
                                                             : NULL;
        if (wrong)
            status = ocv_error_set(err, OCV_ERR_CONFIG, "%s:%zu: %s", source,
                                   event.start_mark.line + 1, wrong);
        end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

int ocv_config_merge_yaml(struct ocv_config *config, const char *source, const char *text,
                          size_t len, struct ocv_error *err)
{
    struct ocv_error own = {0};
    struct ocv_error *e = err ? err : &own;
    if (len > CONFIG_BYTES_MAX)
        return ocv_error_set(e, OCV_ERR_CONFIG, "%s: larger than %u bytes", source,
                             CONFIG_BYTES_MAX);
    int status = check_events(source, text, len, e);
    if (status < 0)
        return status;
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser))
        return ocv_error_nomem(e);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    if (!yaml_parser_load(&parser, &document)) {
        status = parser_error(&parser, source, e); /* the loader finds an anchor given twice */
        yaml_parser_delete(&parser);
        return status;
    }
    struct reader r = {.config = config, .document = &document, .source = source, .err = e};
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root)
        status = each_pair(&r, root, "configuration", top_pair, NULL);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    return status;
}
