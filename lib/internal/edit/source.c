/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The YAML file that an index is made of (schema/index-source.schema.json). Everything is checked
 * here, so that a mistake is reported with its line before anything else is read or written. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/internal/edit/edit_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX (1024u * 1024)

void ocv_edit_source_free(struct ocv_edit_source *source)
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

static int add_image(struct ocv_edit_source *s, const struct ocv_yaml_reader *r,
                     const struct ocv_yaml *node, const char *reference,
                     struct ocv_source_image **out)
{
    if (s->n_images == OCV_INDEX_ENTRIES_MAX)
        return ocv_yaml_fail(r, node, "more than %u images", OCV_INDEX_ENTRIES_MAX);
    *out = ocv_array_grow(&s->images, s->n_images);
    if (!*out)
        return ocv_error_nomem(r->err);
    s->n_images++;
    (*out)->reference = reference;
    (*out)->line = (*out)->image_line = node->line;
    return OCV_OK;
}

static int read_variant(struct ocv_edit_source *s, const struct ocv_yaml_reader *r,
                        const struct ocv_yaml *node)
{
    const struct ocv_yaml *label = ocv_yaml_get(node, "label");
    const struct ocv_yaml *properties = ocv_yaml_get(node, "properties");
    const char *own = ocv_yaml_text(node, "image"), *shared = ocv_yaml_text(s->tree, "image");
    const char *reference = own ? own : shared;
    struct ocv_source_image *image = NULL;
    if (!reference)
        return ocv_yaml_fail(r, node, "a variant lacks 'image'");
    OCV_TRY(add_image(s, r, node, reference, &image));
    if (!image)
        return OCV_OK;
    image->label = label->text;
    image->platform = ocv_yaml_text(node, "platform");
    image->shared = !own;
    image->node = properties;
    image->image_line = ocv_yaml_get(own ? node : s->tree, "image")->line;
    for (size_t i = 0; i + 1 < s->n_images; i++)
        if (s->images[i].label && !strcmp(s->images[i].label, label->text) &&
            !strcmp(s->images[i].reference, reference) &&
            ocv_text_same(s->images[i].platform, image->platform))
            return ocv_yaml_fail(r, label, "the label '%s' was given to this image in line %zu",
                                 label->text, s->images[i].line);
    if (properties)
        OCV_TRY(ocv_edit_source_properties(r, properties, &image->properties));
    bool is_null = !strcmp(label->text, "null");
    size_t n = image->properties ? ocv_properties_count(image->properties) : 0;
    if (is_null && n)
        return ocv_yaml_fail(r, node, "the label null cannot have properties");
    if (!is_null && !n && !s->derive)
        return ocv_yaml_fail(r, node,
                             "%s has no property: a build that needs nothing is labelled null, or "
                             "'derive: true' reads them from its files",
                             label->text);
    return OCV_OK;
}

static int add_annotation(struct ocv_edit_source *s, const struct ocv_yaml_reader *r,
                          const struct ocv_yaml *node, const char *prefix, const char *key,
                          const char *value)
{
    if (s->n_annotations == OCV_SOURCE_ANNOTATIONS_MAX)
        return ocv_yaml_fail(r, node, "more than %u annotations", OCV_SOURCE_ANNOTATIONS_MAX);
    size_t i = s->n_annotations++;
    if (asprintf(&s->annotations[i].key, "%s%s", prefix, key) < 0)
        s->annotations[i].key = NULL;
    s->annotations[i].value = strdup(value);
    return s->annotations[i].key && s->annotations[i].value ? OCV_OK : ocv_error_nomem(r->err);
}

/* A list or text as one annotation, joined by ", ". */
static int add_joined(struct ocv_edit_source *s, const struct ocv_yaml_reader *r,
                      const struct ocv_yaml *node, const char *prefix, const char *key)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    bool list = node->type == OCV_YAML_LIST;
    int status = ocv_buffer_append(&text, "", 0, r->err);
    for (const struct ocv_yaml *m = list ? node->first : node; m && status == OCV_OK;
         m = list ? m->next : NULL)
        status = ocv_buffer_printf(&text, r->err, "%s%s", text.len ? ", " : "", m->text);
    return status < 0 ? ocv_error_prefix(r->err, "%s:%zu", r->source, node->line)
                      : add_annotation(s, r, node, prefix, key, text.data);
}

static int read_file(struct ocv_edit_source *s, const struct ocv_yaml_reader *r, const char *text,
                     size_t len)
{
    OCV_TRY(ocv_yaml_load(r, &ocv_edit_source_rule, text, len, SOURCE_MAX, &s->tree));
    const char *layout = ocv_yaml_text(s->tree, "layout");
    const char *derive = ocv_yaml_text(s->tree, "derive");
    s->target = ocv_yaml_text(s->tree, "target");
    s->derive = derive && !strcmp(derive, "true");
    s->has_layout = layout != NULL;
    s->layout =
        layout && !strcmp(layout, "same-platform") ? OCV_EDIT_SAME_PLATFORM : OCV_EDIT_HIDDEN;
    /* namespaces, static namespaces and annotations, as annotations of the index */
    const struct ocv_yaml *node = ocv_yaml_get(s->tree, "namespaces"), *m;
    if (node)
        OCV_TRY(add_joined(s, r, node, OCV_ANNOTATION_NAMESPACES, ""));
    node = ocv_yaml_get(s->tree, "static");
    for (m = node ? node->first : NULL; m; m = m->next)
        OCV_TRY(add_joined(s, r, m, OCV_ANNOTATION_STATIC, m->key));
    node = ocv_yaml_get(s->tree, "annotations");
    for (m = node ? node->first : NULL; m; m = m->next)
        OCV_TRY(add_annotation(s, r, m, "", m->key, m->text));
    const struct ocv_yaml *defaults = ocv_yaml_get(s->tree, "defaults");
    const struct ocv_yaml *variants = ocv_yaml_get(s->tree, "variants");
    struct ocv_source_image *image;
    if (defaults && defaults->type == OCV_YAML_SCALAR)
        OCV_TRY(add_image(s, r, defaults, defaults->text, &image));
    for (m = defaults ? defaults->first : NULL; m; m = m->next)
        OCV_TRY(add_image(s, r, m, m->text, &image));
    for (m = variants ? variants->first : NULL; m; m = m->next)
        OCV_TRY(read_variant(s, r, m));
    if (!s->n_images)
        return ocv_error_set(r->err, OCV_ERR_CONFIG, "%s:%zu: no variant and no default", r->source,
                             s->tree ? s->tree->line : 1);
    return OCV_OK;
}

int ocv_edit_source_parse(const char *name, const char *text, size_t len,
                          struct ocv_edit_source **out, struct ocv_error *err)
{
    struct ocv_error own = {0};
    const struct ocv_yaml_reader r = {.source = name, .err = err ? err : &own};
    ocv_auto(ocv_edit_source) source = calloc(1, sizeof(*source));
    if (!source)
        return ocv_error_nomem(err);
    int status = read_file(source, &r, text, len);
    if (status < 0 && status != OCV_ERR_NOMEM) { /* the readers of YAML take it for configuration */
        status = r.err->status = OCV_ERR_DATA;
        /* ": " begins a value, and in a list in brackets the parser waits for its end */
        bool list = strstr(r.err->message, "did not find expected ',' or ']'") != NULL;
        if (strstr(r.err->message, "mapping values") || (list && memmem(text, len, " :: ", 4)))
            ocv_error_hint(r.err, OCV_SOURCE_QUOTING_HINT);
    }
    if (status < 0)
        return status;
    *out = ocv_steal(&source);
    return OCV_OK;
}

const char *ocv_edit_source_target(const struct ocv_edit_source *source)
{
    return source->target;
}

size_t ocv_edit_source_count(const struct ocv_edit_source *source)
{
    return source->n_images;
}

struct ocv_edit_source_image ocv_edit_source_image(const struct ocv_edit_source *source, size_t i)
{
    const struct ocv_source_image *m = &source->images[i];
    return (struct ocv_edit_source_image){.label = m->label,
                                          .reference = m->reference,
                                          .platform = m->platform,
                                          .shared = m->shared,
                                          .properties = m->properties,
                                          .line = m->line,
                                          .image_line = m->image_line};
}

size_t ocv_edit_source_line(const struct ocv_edit_source *source, size_t i, const char *property)
{
    const struct ocv_source_image *m = &source->images[i];
    size_t line = ocv_edit_source_property_line(m->node, property);
    return line ? line : m->line;
}

bool ocv_edit_source_annotation(const struct ocv_edit_source *source, size_t i, const char **key,
                                const char **value)
{
    if (i >= source->n_annotations)
        return false;
    *key = source->annotations[i].key;
    *value = source->annotations[i].value;
    return true;
}

enum ocv_edit_layout ocv_edit_source_layout(const struct ocv_edit_source *source,
                                            enum ocv_edit_layout fallback)
{
    return source->has_layout ? source->layout : fallback;
}

bool ocv_edit_source_derives(const struct ocv_edit_source *source)
{
    return source->derive;
}
