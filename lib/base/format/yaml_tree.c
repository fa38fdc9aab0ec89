/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* YAML into a tree of nodes with line numbers, in one pass over libyaml's events: libyaml's own
 * loader recurses without limit and does not detect duplicate keys. */
#include "lib/base/format/yaml.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct builder {
    yaml_parser_t parser;
    const char *source;
    struct ocv_error *err;
    struct ocv_yaml *root;
    struct ocv_yaml
        *open[OCV_YAML_DEPTH_MAX]; /* collections that are not closed, outermost first */
    struct ocv_yaml *last[OCV_YAML_DEPTH_MAX]; /* their last member so far */
    size_t depth;
    size_t nodes;
    char *key; /* of the map's member that comes next */
    size_t key_line;
    bool documents;
};

static int fail_at(const struct builder *b, size_t line, const char *what)
{
    return ocv_error_set(b->err, OCV_ERR_CONFIG, "%s:%zu: %s", b->source, line, what);
}

static int add_node(struct builder *b, const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT &&
        strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
        return fail_at(b, event->start_mark.line + 1, "a NUL byte in text");
    if (b->depth > 0 && b->open[b->depth - 1]->type == OCV_YAML_MAP && !b->key) {
        b->key_line = event->start_mark.line + 1;
        if (event->type != YAML_SCALAR_EVENT)
            return fail_at(b, b->key_line, "a key must be plain text");
        const char *text = (const char *)event->data.scalar.value;
        if (ocv_yaml_get(b->open[b->depth - 1], text))
            return ocv_error_set(b->err, OCV_ERR_CONFIG, "%s:%zu: '%s' is given twice", b->source,
                                 b->key_line, text);
        b->key = strdup(text);
        return b->key ? OCV_OK : ocv_error_nomem(b->err);
    }
    if (++b->nodes > OCV_YAML_NODES_MAX)
        return fail_at(b, event->start_mark.line + 1, "too many values");
    if (event->type != YAML_SCALAR_EVENT && b->depth == OCV_YAML_DEPTH_MAX)
        return fail_at(b, event->start_mark.line + 1, "nested too deeply");
    struct ocv_yaml *node = calloc(1, sizeof(*node));
    if (!node)
        return ocv_error_nomem(b->err);
    node->type = event->type == YAML_SCALAR_EVENT          ? OCV_YAML_SCALAR
                 : event->type == YAML_MAPPING_START_EVENT ? OCV_YAML_MAP
                                                           : OCV_YAML_LIST;
    node->line = b->key ? b->key_line : event->start_mark.line + 1;
    node->key = ocv_steal(&b->key);
    if (node->type == OCV_YAML_SCALAR &&
        !(node->text = strdup((const char *)event->data.scalar.value))) {
        ocv_yaml_free(node);
        return ocv_error_nomem(b->err);
    }
    if (b->depth == 0) {
        b->root = node;
    } else {
        struct ocv_yaml *parent = b->open[b->depth - 1], *last = b->last[b->depth - 1];
        *(last ? &last->next : &parent->first) = node;
        b->last[b->depth - 1] = node;
        parent->n++;
    }
    if (node->type != OCV_YAML_SCALAR) {
        b->open[b->depth] = node;
        b->last[b->depth++] = NULL;
    }
    return OCV_OK;
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
    size_t line = event->start_mark.line + 1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return add_node(b, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        b->depth--;
        return OCV_OK;
    case YAML_ALIAS_EVENT:
        return fail_at(b, line, "aliases are not allowed");
    case YAML_DOCUMENT_START_EVENT:
        if (b->documents)
            return fail_at(b, line, "a second document");
        b->documents = true;
        return OCV_OK;
    default:
        return OCV_OK;
    }
}

int ocv_yaml_read(const char *source, const char *text, size_t len, struct ocv_yaml **out,
                  struct ocv_error *err)
{
    struct builder b = {.source = source, .err = err};
    if (!yaml_parser_initialize(&b.parser))
        return ocv_error_nomem(err);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
    int status = OCV_OK;
    for (bool end = false; !end && status == OCV_OK;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b.parser, &event)) {
            const char *problem = b.parser.problem ? b.parser.problem : "not valid YAML";
            size_t line = b.parser.problem_mark.line + 1;
            if (b.parser.error == YAML_READER_ERROR) {
                /* it reads ahead, so of a byte that is not text it knows the offset alone */
                line = 1;
                for (size_t i = 0; i < b.parser.problem_offset && i < len; i++)
                    line += text[i] == '\n';
            }
            status = b.parser.error == YAML_MEMORY_ERROR ? ocv_error_nomem(err)
                                                         : fail_at(&b, line, problem);
            break;
        }
        status = take_event(&b, &event);
        end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&b.parser);
    free(b.key);
    if (status < 0)
        ocv_yaml_free(b.root);
    else
        *out = b.root;
    return status;
}

void ocv_yaml_free(struct ocv_yaml *node)
{
    while (node) {
        struct ocv_yaml *next = node->next;
        ocv_yaml_free(node->first);
        free(node->key);
        free(node->text);
        free(node);
        node = next;
    }
}

const struct ocv_yaml *ocv_yaml_get(const struct ocv_yaml *map, const char *key)
{
    for (const struct ocv_yaml *m = map ? map->first : NULL; m; m = m->next)
        if (m->key && strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

const char *ocv_yaml_text(const struct ocv_yaml *map, const char *key)
{
    const struct ocv_yaml *node = ocv_yaml_get(map, key);
    return node ? node->text : NULL;
}

int ocv_yaml_find(const struct ocv_yaml *list, const char *text)
{
    if (!list || list->type == OCV_YAML_SCALAR)
        return list && strcmp(list->text, text) == 0 ? 0 : -1;
    int at = 0;
    for (const struct ocv_yaml *m = list->first; m; m = m->next, at++)
        if (m->text && strcmp(m->text, text) == 0)
            return at;
    return -1;
}
