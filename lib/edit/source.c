/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The YAML file that an index is made of (schema/index-source.schema.json). Everything is checked
 * here, so that a mistake is told with its line before anything is read or written elsewhere. */
#include "lib/edit/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX (1024u * 1024)
#define REFERENCE_MAX 4096u
#define SOURCE_SCHEMA "dev.ocivariant.index-source/v1"

void ocv_author_source_free(struct ocv_author_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < source->n_images; i++)
        ocv_properties_free(source->images[i].properties);
    for (size_t i = 0; i < source->n_annotations; i++) {
        free(source->annotations[i].key);
        free(source->annotations[i].value);
    }
    free(source->images);
    ocv_yaml_free(source->tree);
    free(source);
}

int ocv_author_source_fail(const struct ocv_author_source *s, size_t line, struct ocv_error *err,
                           const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return ocv_error_set(err, OCV_ERR_DATA, "%s:%zu: %s", s->name, line, text);
}

static int need_scalar(const struct ocv_author_source *s, const struct ocv_yaml *node,
                       const char *what, struct ocv_error *err)
{
    if (node->type == OCV_YAML_SCALAR && *node->text)
        return OCV_OK;
    return ocv_author_source_fail(s, node->line, err, "%s is not a text", what);
}

int ocv_author_source_map(const struct ocv_author_source *s, const struct ocv_yaml *node,
                          const char *what, const char *const *keys, struct ocv_error *err)
{
    if (node->type != OCV_YAML_MAP)
        return ocv_author_source_fail(s, node->line, err, "%s is not a map", what);
    for (const struct ocv_yaml *m = node->first; keys && m; m = m->next) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], m->key) != 0)
            i++;
        if (!keys[i])
            return ocv_author_source_fail(s, m->line, err, "unknown key '%.100s' of %s", m->key,
                                          what);
    }
    return OCV_OK;
}

int ocv_author_source_at(const struct ocv_author_source *s, size_t line,
                         const struct ocv_error *why, struct ocv_error *err)
{
    if (why->status == OCV_ERR_NOMEM)
        return ocv_error_nomem(err);
    int status = ocv_error_set(err, OCV_ERR_DATA, "%s:%zu: %s", s->name, line, why->message);
    if (why->hint[0])
        ocv_error_hint(err, "%s", why->hint);
    return status;
}

/* ---- images ------------------------------------------------------------------------------------
 */

static int add_image(struct ocv_author_source *s, const struct ocv_yaml *reference, size_t line,
                     struct ocv_source_image **out, struct ocv_error *err)
{
    int status = need_scalar(s, reference, "the image", err);
    if (status == OCV_OK && strlen(reference->text) > REFERENCE_MAX)
        status = ocv_author_source_fail(s, line, err, "the image's name is too long");
    if (status == OCV_OK && s->n_images == OCV_INDEX_ENTRIES_MAX)
        status = ocv_author_source_fail(s, line, err, "more than %u images", OCV_INDEX_ENTRIES_MAX);
    if (status < 0)
        return status;
    struct ocv_source_image *grown = realloc(s->images, (s->n_images + 1) * sizeof(*grown));
    if (!grown)
        return ocv_error_nomem(err);
    s->images = grown;
    *out = &grown[s->n_images++];
    **out = (struct ocv_source_image){.reference = reference->text, .line = line};
    return OCV_OK;
}

static int check_variant(const struct ocv_author_source *s, const struct ocv_yaml *node,
                         const struct ocv_source_image *image, struct ocv_error *err)
{
    bool is_null = !strcmp(image->label, "null");
    size_t n = image->properties ? ocv_properties_count(image->properties) : 0;
    if (is_null && n)
        return ocv_author_source_fail(s, node->line, err, "the label null is for no property");
    if (!is_null && !n)
        return ocv_author_source_fail(s, node->line, err,
                                      "%s has no property: a build that needs nothing is "
                                      "labelled null",
                                      image->label);
    return OCV_OK;
}

static int read_variant(struct ocv_author_source *s, const struct ocv_yaml *node,
                        struct ocv_error *err)
{
    static const char *const keys[] = {"label", "image", "properties", NULL};
    int status = ocv_author_source_map(s, node, "a variant", keys, err);
    if (status < 0)
        return status;
    const struct ocv_yaml *label = ocv_yaml_get(node, "label");
    const struct ocv_yaml *reference = ocv_yaml_get(node, "image");
    const struct ocv_yaml *properties = ocv_yaml_get(node, "properties");
    if (!label || !reference)
        return ocv_author_source_fail(s, node->line, err, "a variant without '%s'",
                                      label ? "image" : "label");
    status = need_scalar(s, label, "the label", err);
    if (status == OCV_OK && !ocv_label_valid(label->text, strlen(label->text)))
        status = ocv_author_source_fail(
            s, label->line, err,
            "'%.100s' is not a label: a-z 0-9 with single . or _ between them, at most "
            "48 characters",
            label->text);
    struct ocv_source_image *image = NULL;
    if (status == OCV_OK)
        status = add_image(s, reference, node->line, &image, err);
    if (status < 0 || !image)
        return status;
    image->label = label->text;
    for (size_t i = 0; i + 1 < s->n_images; i++)
        if (s->images[i].label && !strcmp(s->images[i].label, label->text) &&
            !strcmp(s->images[i].reference, reference->text))
            return ocv_author_source_fail(s, label->line, err,
                                          "the label '%s' was given to this image in line %zu",
                                          label->text, s->images[i].line);
    if (properties)
        status = ocv_author_source_properties(s, properties, &image->properties, err);
    return status == OCV_OK ? check_variant(s, node, image, err) : status;
}

static int read_list(struct ocv_author_source *s, const struct ocv_yaml *node, bool defaults,
                     struct ocv_error *err)
{
    int status = OCV_OK;
    struct ocv_source_image *image;
    if (defaults && node->type == OCV_YAML_SCALAR)
        return add_image(s, node, node->line, &image, err);
    if (node->type != OCV_YAML_LIST)
        return ocv_author_source_fail(s, node->line, err, "'%s' is not a list", node->key);
    for (const struct ocv_yaml *m = node->first; m && status == OCV_OK; m = m->next)
        status = defaults ? add_image(s, m, m->line, &image, err) : read_variant(s, m, err);
    return status;
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static int read_layout(struct ocv_author_source *s, const struct ocv_yaml *node,
                       struct ocv_error *err)
{
    const char *text = node->type == OCV_YAML_SCALAR ? node->text : "";
    s->has_layout = true;
    s->layout = OCV_AUTHOR_HIDDEN;
    if (!strcmp(text, "same-platform"))
        s->layout = OCV_AUTHOR_SAME_PLATFORM;
    else if (strcmp(text, "hidden") != 0)
        return ocv_author_source_fail(s, node->line, err,
                                      "layout: '%.60s' is neither hidden nor same-platform", text);
    return OCV_OK;
}

static int read_schema(struct ocv_author_source *s, const struct ocv_yaml *node,
                       struct ocv_error *err)
{
    if (node->type == OCV_YAML_SCALAR && !strcmp(node->text, SOURCE_SCHEMA))
        return OCV_OK;
    return ocv_author_source_fail(s, node->line, err, "schema is not " SOURCE_SCHEMA);
}

static int read_target(struct ocv_author_source *s, const struct ocv_yaml *node,
                       struct ocv_error *err)
{
    int status = need_scalar(s, node, "target", err);
    s->target = node->text;
    return status;
}

static int read_member(struct ocv_author_source *s, const struct ocv_yaml *m, struct ocv_error *err)
{
    static const struct {
        const char *key;
        int (*read)(struct ocv_author_source *, const struct ocv_yaml *, struct ocv_error *);
    } readers[] = {
        {"schema", read_schema},
        {"target", read_target},
        {"layout", read_layout},
        {"namespaces", ocv_author_source_namespaces},
        {"static", ocv_author_source_static},
        {"annotations", ocv_author_source_annotations},
    };
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
        if (!strcmp(m->key, readers[i].key))
            return readers[i].read(s, m, err);
    if (!strcmp(m->key, "defaults") || !strcmp(m->key, "variants"))
        return read_list(s, m, m->key[0] == 'd', err);
    return ocv_author_source_fail(s, m->line, err, "unknown key '%.100s'", m->key);
}

static int read_tree(struct ocv_author_source *s, struct ocv_error *err)
{
    int status = OCV_OK;
    if (!s->tree || s->tree->type != OCV_YAML_MAP)
        return ocv_author_source_fail(s, s->tree ? s->tree->line : 1, err,
                                      "not a map of an index's parts");
    for (const struct ocv_yaml *m = s->tree->first; m && status == OCV_OK; m = m->next)
        status = read_member(s, m, err);
    if (status == OCV_OK && !s->n_images)
        status = ocv_author_source_fail(s, s->tree->line, err, "no variant and no default");
    return status;
}

int ocv_author_source_parse(const char *name, const char *text, size_t len,
                            struct ocv_author_source **out, struct ocv_error *err)
{
    ocv_auto(ocv_author_source) source = calloc(1, sizeof(*source));
    if (!source)
        return ocv_error_nomem(err);
    source->name = name;
    if (len > SOURCE_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s is larger than %u bytes", name, SOURCE_MAX);
    int status = ocv_yaml_read(name, text, len, &source->tree, err);
    if (status < 0 && status != OCV_ERR_NOMEM && err) {
        status = err->status = OCV_ERR_DATA;
        if (strstr(err->message, "mapping values"))
            ocv_error_hint(err, OCV_SOURCE_QUOTING_HINT);
    }
    if (status == OCV_OK)
        status = read_tree(source, err);
    source->name = NULL;
    if (status < 0)
        return status;
    *out = source;
    source = NULL;
    return OCV_OK;
}

const char *ocv_author_source_target(const struct ocv_author_source *source)
{
    return source->target;
}

size_t ocv_author_source_count(const struct ocv_author_source *source)
{
    return source->n_images;
}

struct ocv_author_source_image ocv_author_source_image(const struct ocv_author_source *source,
                                                       size_t i)
{
    const struct ocv_source_image *m = &source->images[i];
    return (struct ocv_author_source_image){m->label, m->reference, m->properties, m->line};
}

bool ocv_author_source_annotation(const struct ocv_author_source *source, size_t i,
                                  const char **key, const char **value)
{
    if (i >= source->n_annotations)
        return false;
    *key = source->annotations[i].key;
    *value = source->annotations[i].value;
    return true;
}

enum ocv_author_layout ocv_author_source_layout(const struct ocv_author_source *source,
                                                enum ocv_author_layout fallback)
{
    return source->has_layout ? source->layout : fallback;
}
