/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties in the YAML that an index is made of. */
#include "lib/edit/source.h"

#include <stdio.h>
#include <string.h>

static int at_line(const struct ocv_yaml_reader *r, const struct ocv_yaml *node, int status)
{
    return status < 0 ? ocv_error_prefix(r->err, "%s:%zu", r->source, node->line) : OCV_OK;
}

static int put_property(const struct ocv_yaml_reader *r, const struct ocv_yaml *node,
                        const char *text, struct ocv_buffer *out)
{
    ocv_auto(ocv_properties) one = NULL;
    int status = ocv_properties_parse(text, strlen(text), &one, r->err);
    if (status == OCV_OK && ocv_properties_count(one) == 0)
        return ocv_yaml_fail(r, node, "an empty property");
    if (status == OCV_OK)
        status = ocv_buffer_printf(out, r->err, "%s%s", out->len ? ", " : "", text);
    return at_line(r, node, status);
}

/* "feature: value" or "feature: [values]" of a namespace. */
static int put_feature(const struct ocv_yaml_reader *r, const char *ns,
                       const struct ocv_yaml *feature, struct ocv_buffer *out)
{
    char text[1024];
    int status = OCV_OK;
    bool list = feature->type == OCV_YAML_LIST;
    for (const struct ocv_yaml *v = list ? feature->first : feature; v && status == OCV_OK;
         v = list ? v->next : NULL) {
        int n = snprintf(text, sizeof(text), "%s :: %s :: %s", ns, feature->key, v->text);
        if (n < 0 || (size_t)n >= sizeof(text))
            return ocv_yaml_fail(r, v, "too long");
        status = put_property(r, v, text, out);
    }
    return status;
}

int ocv_edit_source_properties(const struct ocv_yaml_reader *r, const struct ocv_yaml *node,
                               struct ocv_properties **out)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = OCV_OK;
    for (const struct ocv_yaml *m = node->first; m && status == OCV_OK; m = m->next) {
        if (node->type == OCV_YAML_LIST)
            status = put_property(r, m, m->text, &text);
        for (const struct ocv_yaml *f = m->first; f && status == OCV_OK; f = f->next)
            status = put_feature(r, m->key, f, &text);
    }
    if (status < 0)
        return status;
    const char *list = node->type == OCV_YAML_SCALAR ? node->text : text.data;
    return at_line(r, node,
                   ocv_properties_parse(list ? list : "", list ? strlen(list) : 0, out, r->err));
}
