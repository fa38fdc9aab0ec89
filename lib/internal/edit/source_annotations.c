/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Namespaces, static namespaces and annotations in the YAML that an index is made of. */
#include "lib/internal/edit/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int ocv_edit_source_annotations(struct ocv_edit_source *s, const struct ocv_yaml_reader *r)
{
    const struct ocv_yaml *node = ocv_yaml_get(s->tree, "namespaces"), *m;
    int status = node ? add_joined(s, r, node, OCV_ANNOTATION_NAMESPACES, "") : OCV_OK;
    node = ocv_yaml_get(s->tree, "static");
    for (m = node ? node->first : NULL; m && status == OCV_OK; m = m->next)
        status = add_joined(s, r, m, OCV_ANNOTATION_STATIC, m->key);
    node = ocv_yaml_get(s->tree, "annotations");
    for (m = node ? node->first : NULL; m && status == OCV_OK; m = m->next)
        status = add_annotation(s, r, m, "", m->key, m->text);
    return status;
}
