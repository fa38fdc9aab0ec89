/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties in the YAML that an index is made of. */
#include "lib/edit/source.h"

#include <stdio.h>
#include <string.h>

static int put_property(const struct ocv_author_source *s, size_t line, const char *text,
                        struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_properties) one = NULL;
    struct ocv_error why = {0};
    int status = ocv_properties_parse(text, strlen(text), &one, &why);
    if (status == OCV_OK && ocv_properties_count(one) == 0)
        return ocv_author_source_fail(s, line, err, "an empty property");
    if (status == OCV_OK)
        status = ocv_buffer_printf(out, &why, "%s%s", out->len ? ", " : "", text);
    return status < 0 ? ocv_author_source_at(s, line, &why, err) : OCV_OK;
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
        return ocv_author_source_fail(s, feature->line, err, "%s :: %s has no value", ns,
                                      feature->key);
    for (const struct ocv_yaml *v = list ? feature->first : feature; v && status == OCV_OK;
         v = list ? v->next : NULL) {
        if (v->type != OCV_YAML_SCALAR)
            return ocv_author_source_fail(s, v->line, err, "a value of %s :: %s is not a text", ns,
                                          feature->key);
        int n = snprintf(text, sizeof(text), "%s :: %s :: %s", ns, feature->key, v->text);
        if (n < 0 || (size_t)n >= sizeof(text))
            return ocv_author_source_fail(s, v->line, err, "too long");
        status = put_property(s, v->line, text, out, err);
    }
    return status;
}

static int put_namespaces(const struct ocv_author_source *s, const struct ocv_yaml *map,
                          struct ocv_buffer *out, struct ocv_error *err)
{
    int status = OCV_OK;
    for (const struct ocv_yaml *ns = map->first; ns && status == OCV_OK; ns = ns->next) {
        status = ocv_author_source_map(s, ns, ns->key, NULL, err);
        for (const struct ocv_yaml *f = ns->first; f && status == OCV_OK; f = f->next)
            status = put_feature(s, ns->key, f, out, err);
    }
    return status;
}

int ocv_author_source_properties(const struct ocv_author_source *s, const struct ocv_yaml *node,
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
            status = ocv_author_source_fail(s, p->line, err, "a property is not a text");
            ocv_error_hint(err, OCV_SOURCE_QUOTING_HINT);
        }
    }
    if (status < 0)
        return status;
    const char *list = node->type == OCV_YAML_SCALAR ? node->text : text.data;
    status = ocv_properties_parse(list ? list : "", list ? strlen(list) : 0, out, &why);
    return status < 0 ? ocv_author_source_at(s, node->line, &why, err) : OCV_OK;
}
