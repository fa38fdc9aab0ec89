/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The YAML file that an index is made of (schema/index-source.schema.json). Everything is checked
 * here, so that a mistake is told with its line before anything is read or written elsewhere. */
#include "author.h"
#include "yaml_tree.h"

#include <stdarg.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>

#define SOURCE_MAX (1024u * 1024)
#define ANNOTATIONS_MAX 256u
#define REFERENCE_MAX 4096u
/* ": " begins a value in YAML */
#define QUOTING_HINT "a property stands in quotes: 'nvidia :: sm_arch :: 90_real'"
#define SOURCE_SCHEMA "dev.ocivariant.index-source/v1"

struct image {
    const char *label, *reference;
    struct ocv_properties *properties;
    size_t line;
};

struct annotation {
    char *key, *value;
};

struct ocv_author_source {
    struct ocv_yaml *tree;
    const char *name, *target;
    bool has_layout;
    enum ocv_author_layout layout;
    struct image *images;
    size_t n_images;
    struct annotation annotations[ANNOTATIONS_MAX];
    size_t n_annotations;
};

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

OCV_PRINTF(4, 5)
static int fail(const struct ocv_author_source *s, size_t line, struct ocv_error *err,
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
    return fail(s, node->line, err, "%s is not a text", what);
}

static int need_map(const struct ocv_author_source *s, const struct ocv_yaml *node,
                    const char *what, const char *const *keys, struct ocv_error *err)
{
    if (node->type != OCV_YAML_MAP)
        return fail(s, node->line, err, "%s is not a map", what);
    for (const struct ocv_yaml *m = node->first; keys && m; m = m->next) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], m->key) != 0)
            i++;
        if (!keys[i])
            return fail(s, m->line, err, "unknown key '%.100s' of %s", m->key, what);
    }
    return OCV_OK;
}

/* Put the line before what another function says. */
static int at_line(const struct ocv_author_source *s, size_t line, const struct ocv_error *why,
                   struct ocv_error *err)
{
    if (why->status == OCV_ERR_NOMEM)
        return ocv_error_nomem(err);
    int status = ocv_error_set(err, OCV_ERR_DATA, "%s:%zu: %s", s->name, line, why->message);
    if (why->hint[0])
        ocv_error_hint(err, "%s", why->hint);
    return status;
}

/* ---- properties --------------------------------------------------------------------------------
 */

static int put_property(const struct ocv_author_source *s, size_t line, const char *text,
                        struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_properties) one = NULL;
    struct ocv_error why = {0};
    int status = ocv_properties_parse(text, strlen(text), &one, &why);
    if (status == OCV_OK && ocv_properties_count(one) == 0)
        return fail(s, line, err, "an empty property");
    if (status == OCV_OK)
        status = ocv_buffer_printf(out, &why, "%s%s", out->len ? ", " : "", text);
    return status < 0 ? at_line(s, line, &why, err) : OCV_OK;
}

/* "feature: value" or "feature: [values]" of a namespace. */
static int put_feature(const struct ocv_author_source *s, const char *ns,
                       const struct ocv_yaml *feature, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    char text[1024];
    int status = OCV_OK;
    bool list = feature->type == OCV_YAML_LIST;
    if (feature->type == OCV_YAML_MAP || (list && !feature->first))
        return fail(s, feature->line, err, "%s :: %s has no value", ns, feature->key);
    for (const struct ocv_yaml *v = list ? feature->first : feature; v && status == OCV_OK;
         v = list ? v->next : NULL) {
        if (v->type != OCV_YAML_SCALAR)
            return fail(s, v->line, err, "a value of %s :: %s is not a text", ns, feature->key);
        int n = snprintf(text, sizeof(text), "%s :: %s :: %s", ns, feature->key, v->text);
        if (n < 0 || (size_t)n >= sizeof(text))
            return fail(s, v->line, err, "too long");
        status = put_property(s, v->line, text, out, err);
    }
    return status;
}

static int put_namespaces(const struct ocv_author_source *s, const struct ocv_yaml *map,
                          struct ocv_buffer *out, struct ocv_error *err)
{
    int status = OCV_OK;
    for (const struct ocv_yaml *ns = map->first; ns && status == OCV_OK; ns = ns->next) {
        status = need_map(s, ns, ns->key, NULL, err);
        for (const struct ocv_yaml *f = ns->first; f && status == OCV_OK; f = f->next)
            status = put_feature(s, ns->key, f, out, err);
    }
    return status;
}

static int read_properties(const struct ocv_author_source *s, const struct ocv_yaml *node,
                           struct ocv_properties **out, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    struct ocv_error why = {0};
    int status = OCV_OK;
    if (node->type == OCV_YAML_MAP)
        status = put_namespaces(s, node, &text, err);
    for (const struct ocv_yaml *p = node->type == OCV_YAML_LIST ? node->first : NULL;
         p && status == OCV_OK; p = p->next) {
        if (p->type == OCV_YAML_SCALAR) {
            status = put_property(s, p->line, p->text, &text, err);
        } else {
            status = fail(s, p->line, err, "a property is not a text");
            ocv_error_hint(err, QUOTING_HINT);
        }
    }
    if (status < 0)
        return status;
    const char *list = node->type == OCV_YAML_SCALAR ? node->text : text.data;
    status = ocv_properties_parse(list ? list : "", list ? strlen(list) : 0, out, &why);
    return status < 0 ? at_line(s, node->line, &why, err) : OCV_OK;
}

/* ---- images ------------------------------------------------------------------------------------
 */

static int add_image(struct ocv_author_source *s, const struct ocv_yaml *reference, size_t line,
                     struct image **out, struct ocv_error *err)
{
    int status = need_scalar(s, reference, "the image", err);
    if (status == OCV_OK && strlen(reference->text) > REFERENCE_MAX)
        status = fail(s, line, err, "the image's name is too long");
    if (status == OCV_OK && s->n_images == OCV_INDEX_ENTRIES_MAX)
        status = fail(s, line, err, "more than %u images", OCV_INDEX_ENTRIES_MAX);
    if (status < 0)
        return status;
    struct image *grown = realloc(s->images, (s->n_images + 1) * sizeof(*grown));
    if (!grown)
        return ocv_error_nomem(err);
    s->images = grown;
    *out = &grown[s->n_images++];
    **out = (struct image){.reference = reference->text, .line = line};
    return OCV_OK;
}

static int check_variant(const struct ocv_author_source *s, const struct ocv_yaml *node,
                         const struct image *image, struct ocv_error *err)
{
    bool is_null = !strcmp(image->label, "null");
    size_t n = image->properties ? ocv_properties_count(image->properties) : 0;
    if (is_null && n)
        return fail(s, node->line, err, "the label null is for no property");
    if (!is_null && !n)
        return fail(s, node->line, err,
                    "%s has no property: a build that needs nothing is "
                    "labelled null",
                    image->label);
    return OCV_OK;
}

static int read_variant(struct ocv_author_source *s, const struct ocv_yaml *node,
                        struct ocv_error *err)
{
    static const char *const keys[] = {"label", "image", "properties", NULL};
    int status = need_map(s, node, "a variant", keys, err);
    if (status < 0)
        return status;
    const struct ocv_yaml *label = ocv_yaml_get(node, "label");
    const struct ocv_yaml *reference = ocv_yaml_get(node, "image");
    const struct ocv_yaml *properties = ocv_yaml_get(node, "properties");
    if (!label || !reference)
        return fail(s, node->line, err, "a variant without '%s'", label ? "image" : "label");
    status = need_scalar(s, label, "the label", err);
    if (status == OCV_OK && !ocv_label_valid(label->text, strlen(label->text)))
        status = fail(s, label->line, err,
                      "'%.100s' is not a label: a-z 0-9 with single . or _ between them, at most "
                      "48 characters",
                      label->text);
    struct image *image = NULL;
    if (status == OCV_OK)
        status = add_image(s, reference, node->line, &image, err);
    if (status < 0 || !image)
        return status;
    image->label = label->text;
    for (size_t i = 0; i + 1 < s->n_images; i++)
        if (s->images[i].label && !strcmp(s->images[i].label, label->text) &&
            !strcmp(s->images[i].reference, reference->text))
            return fail(s, label->line, err, "the label '%s' was given to this image in line %zu",
                        label->text, s->images[i].line);
    if (properties)
        status = read_properties(s, properties, &image->properties, err);
    return status == OCV_OK ? check_variant(s, node, image, err) : status;
}

static int read_list(struct ocv_author_source *s, const struct ocv_yaml *node, bool defaults,
                     struct ocv_error *err)
{
    int status = OCV_OK;
    struct image *image;
    if (defaults && node->type == OCV_YAML_SCALAR)
        return add_image(s, node, node->line, &image, err);
    if (node->type != OCV_YAML_LIST)
        return fail(s, node->line, err, "'%s' is not a list", node->key);
    for (const struct ocv_yaml *m = node->first; m && status == OCV_OK; m = m->next)
        status = defaults ? add_image(s, m, m->line, &image, err) : read_variant(s, m, err);
    return status;
}

/* ---- annotations -------------------------------------------------------------------------------
 */

static int add_annotation(struct ocv_author_source *s, size_t line, const char *prefix,
                          const char *key, const char *value, struct ocv_error *err)
{
    struct annotation *a = &s->annotations[s->n_annotations];
    if (s->n_annotations == ANNOTATIONS_MAX)
        return fail(s, line, err, "more than %u annotations", ANNOTATIONS_MAX);
    if (asprintf(&a->key, "%s%s", prefix, key) < 0)
        a->key = NULL;
    a->value = strdup(value);
    s->n_annotations++;
    return a->key && a->value ? OCV_OK : ocv_error_nomem(err);
}

/* A list or text, joined by ", ". */
static int join(const struct ocv_author_source *s, const struct ocv_yaml *node,
                struct ocv_buffer *out, struct ocv_error *err)
{
    struct ocv_error why = {0};
    if (node->type == OCV_YAML_MAP)
        return fail(s, node->line, err, "'%.100s' is not a list", node->key);
    bool list = node->type == OCV_YAML_LIST;
    int status = ocv_buffer_append(out, "", 0, &why);
    for (const struct ocv_yaml *m = list ? node->first : node; m && status == OCV_OK;
         m = list ? m->next : NULL) {
        if (m->type != OCV_YAML_SCALAR)
            return fail(s, m->line, err, "not a text");
        status = ocv_buffer_printf(out, &why, "%s%s", out->len ? ", " : "", m->text);
    }
    return status < 0 ? at_line(s, node->line, &why, err) : OCV_OK;
}

static int check_namespaces(const struct ocv_author_source *s, const struct ocv_yaml *node,
                            struct ocv_error *err)
{
    for (const struct ocv_yaml *m = node->type == OCV_YAML_LIST ? node->first : NULL; m;
         m = m->next)
        if (m->type != OCV_YAML_SCALAR || !ocv_property_name_valid(m->text, strlen(m->text)))
            return fail(s, m->line, err, "'%.100s' is not a namespace", m->text ? m->text : "");
    return OCV_OK;
}

static int read_namespaces(struct ocv_author_source *s, const struct ocv_yaml *node,
                           struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = check_namespaces(s, node, err);
    if (status == OCV_OK)
        status = join(s, node, &text, err);
    return status < 0
               ? status
               : add_annotation(s, node->line, OCV_ANNOTATION_NAMESPACES, "", text.data, err);
}

static int read_static(struct ocv_author_source *s, const struct ocv_yaml *node,
                       struct ocv_error *err)
{
    int status = need_map(s, node, "static", NULL, err);
    for (const struct ocv_yaml *m = node->first; m && status == OCV_OK; m = m->next) {
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        if (!ocv_property_name_valid(m->key, strlen(m->key)) || strlen(m->key) > 64)
            return fail(s, m->line, err, "'%.100s' is not a namespace", m->key);
        if (ocv_namespace_owned(m->key))
            return fail(s, m->line, err, "%s is probed on the host: it cannot be static", m->key);
        status = join(s, m, &text, err);
        if (status == OCV_OK)
            status = add_annotation(s, m->line, OCV_ANNOTATION_STATIC, m->key, text.data, err);
    }
    return status;
}

static int read_annotations(struct ocv_author_source *s, const struct ocv_yaml *node,
                            struct ocv_error *err)
{
    int status = need_map(s, node, "annotations", NULL, err);
    for (const struct ocv_yaml *m = node->first; m && status == OCV_OK; m = m->next) {
        if (m->type != OCV_YAML_SCALAR)
            return fail(s, m->line, err, "annotation '%.100s' is not a text", m->key);
        if (!strncmp(m->key, "dev.ocivariant.", strlen("dev.ocivariant.")))
            return fail(s, m->line, err, "%.100s is written by this program itself", m->key);
        status = add_annotation(s, m->line, "", m->key, m->text, err);
    }
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
        return fail(s, node->line, err, "layout: '%.60s' is neither hidden nor same-platform",
                    text);
    return OCV_OK;
}

static int read_schema(struct ocv_author_source *s, const struct ocv_yaml *node,
                       struct ocv_error *err)
{
    if (node->type == OCV_YAML_SCALAR && !strcmp(node->text, SOURCE_SCHEMA))
        return OCV_OK;
    return fail(s, node->line, err, "schema is not " SOURCE_SCHEMA);
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
        {"schema", read_schema},         {"target", read_target}, {"layout", read_layout},
        {"namespaces", read_namespaces}, {"static", read_static}, {"annotations", read_annotations},
    };
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
        if (!strcmp(m->key, readers[i].key))
            return readers[i].read(s, m, err);
    if (!strcmp(m->key, "defaults") || !strcmp(m->key, "variants"))
        return read_list(s, m, m->key[0] == 'd', err);
    return fail(s, m->line, err, "unknown key '%.100s'", m->key);
}

static int read_tree(struct ocv_author_source *s, struct ocv_error *err)
{
    int status = OCV_OK;
    if (!s->tree || s->tree->type != OCV_YAML_MAP)
        return fail(s, s->tree ? s->tree->line : 1, err, "not a map of an index's parts");
    for (const struct ocv_yaml *m = s->tree->first; m && status == OCV_OK; m = m->next)
        status = read_member(s, m, err);
    if (status == OCV_OK && !s->n_images)
        status = fail(s, s->tree->line, err, "no variant and no default");
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
            ocv_error_hint(err, QUOTING_HINT);
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
    const struct image *m = &source->images[i];
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
