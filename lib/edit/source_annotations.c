/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Namespaces, static namespaces and annotations in the YAML that an index is made of. */
#include "lib/edit/source.h"
#include "ocivariant/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_annotation(struct ocv_author_source *s, size_t line, const char *prefix,
                          const char *key, const char *value, struct ocv_error *err)
{
    if (s->n_annotations == OCV_SOURCE_ANNOTATIONS_MAX)
        return ocv_author_source_fail(s, line, err, "more than %u annotations",
                                      OCV_SOURCE_ANNOTATIONS_MAX);
    size_t i = s->n_annotations++;
    if (asprintf(&s->annotations[i].key, "%s%s", prefix, key) < 0)
        s->annotations[i].key = NULL;
    s->annotations[i].value = strdup(value);
    return s->annotations[i].key && s->annotations[i].value ? OCV_OK : ocv_error_nomem(err);
}

/* A list or text, joined by ", ". */
static int join(const struct ocv_author_source *s, const struct ocv_yaml *node,
                struct ocv_buffer *out, struct ocv_error *err)
{
    struct ocv_error why = {0};
    if (node->type == OCV_YAML_MAP)
        return ocv_author_source_fail(s, node->line, err, "'%.100s' is not a list", node->key);
    bool list = node->type == OCV_YAML_LIST;
    int status = ocv_buffer_append(out, "", 0, &why);
    for (const struct ocv_yaml *m = list ? node->first : node; m && status == OCV_OK;
         m = list ? m->next : NULL) {
        if (m->type != OCV_YAML_SCALAR)
            return ocv_author_source_fail(s, m->line, err, "not a text");
        status = ocv_buffer_printf(out, &why, "%s%s", out->len ? ", " : "", m->text);
    }
    return status < 0 ? ocv_author_source_at(s, node->line, &why, err) : OCV_OK;
}

static int check_namespaces(const struct ocv_author_source *s, const struct ocv_yaml *node,
                            struct ocv_error *err)
{
    for (const struct ocv_yaml *m = node->type == OCV_YAML_LIST ? node->first : NULL; m;
         m = m->next)
        if (m->type != OCV_YAML_SCALAR || !ocv_property_name_valid(m->text, strlen(m->text)))
            return ocv_author_source_fail(s, m->line, err, "'%.100s' is not a namespace",
                                          m->text ? m->text : "");
    return OCV_OK;
}

int ocv_author_source_namespaces(struct ocv_author_source *s, const struct ocv_yaml *node,
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

int ocv_author_source_static(struct ocv_author_source *s, const struct ocv_yaml *node,
                             struct ocv_error *err)
{
    int status = ocv_author_source_map(s, node, "static", NULL, err);
    for (const struct ocv_yaml *m = node->first; m && status == OCV_OK; m = m->next) {
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        if (!ocv_property_name_valid(m->key, strlen(m->key)) || strlen(m->key) > 64)
            return ocv_author_source_fail(s, m->line, err, "'%.100s' is not a namespace", m->key);
        if (ocv_namespace_owned(m->key))
            return ocv_author_source_fail(s, m->line, err,
                                          "%s is probed on the host: it cannot be static", m->key);
        status = join(s, m, &text, err);
        if (status == OCV_OK)
            status = add_annotation(s, m->line, OCV_ANNOTATION_STATIC, m->key, text.data, err);
    }
    return status;
}

int ocv_author_source_annotations(struct ocv_author_source *s, const struct ocv_yaml *node,
                                  struct ocv_error *err)
{
    int status = ocv_author_source_map(s, node, "annotations", NULL, err);
    for (const struct ocv_yaml *m = node->first; m && status == OCV_OK; m = m->next) {
        if (m->type != OCV_YAML_SCALAR)
            return ocv_author_source_fail(s, m->line, err, "annotation '%.100s' is not a text",
                                          m->key);
        if (!strncmp(m->key, "dev.ocivariant.", strlen("dev.ocivariant.")))
            return ocv_author_source_fail(s, m->line, err,
                                          "%.100s is written by this program itself", m->key);
        status = add_annotation(s, m->line, "", m->key, m->text, err);
    }
    return status;
}
