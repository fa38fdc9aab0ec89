/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties in the YAML that an index is made of. */
#include "lib/base/cleanup.h"
#include "lib/internal/edit/edit_internal.h"

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

int ocv_edit_source_properties(const struct ocv_yaml_reader *r, const struct ocv_yaml *node,
                               struct ocv_properties **out)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        if (node->type == OCV_YAML_LIST)
            OCV_TRY(put_property(r, m, m->text, &text));
        /* "feature: value" or "feature: [values]" of a namespace */
        for (const struct ocv_yaml *f = m->first; f; f = f->next) {
            bool list = f->type == OCV_YAML_LIST;
            if (!list && strchr(f->text, ',')) /* "sm_arch: 90_real, 80_real" is one text */
                return ocv_yaml_fail(r, f,
                                     "%.64s has several values: write a list, %.64s: [%.200s]",
                                     f->key, f->key, f->text);
            for (const struct ocv_yaml *v = list ? f->first : f; v; v = list ? v->next : NULL) {
                char one[1024];
                int n = snprintf(one, sizeof(one), "%s :: %s :: %s", m->key, f->key, v->text);
                if (n < 0 || (size_t)n >= sizeof(one))
                    return ocv_yaml_fail(r, v, "too long");
                OCV_TRY(put_property(r, v, one, &text));
            }
        }
    }
    const char *list = node->type == OCV_YAML_SCALAR ? node->text : text.data;
    return at_line(r, node,
                   ocv_properties_parse(list ? list : "", list ? strlen(list) : 0, out, r->err));
}

static bool has_property(const char *list, const char *property)
{
    ocv_auto(ocv_properties) set = NULL;
    bool found = false;
    if (ocv_properties_parse(list, strlen(list), &set, NULL) < 0)
        return false;
    for (size_t i = 0; i < ocv_properties_count(set) && !found; i++) {
        struct ocv_property p = ocv_properties_get(set, i);
        char text[1024];
        snprintf(text, sizeof(text), "%s :: %s :: %s", p.ns, p.feature, p.value);
        found = !strcmp(text, property);
    }
    return found;
}

size_t ocv_edit_source_property_line(const struct ocv_yaml *node, const char *property)
{
    for (const struct ocv_yaml *m = node ? node->first : NULL; m; m = m->next) {
        if (node->type == OCV_YAML_LIST && has_property(m->text, property))
            return m->line;
        for (const struct ocv_yaml *f = m->first; f; f = f->next) {
            bool list = f->type == OCV_YAML_LIST;
            for (const struct ocv_yaml *v = list ? f->first : f; v; v = list ? v->next : NULL) {
                char text[1024];
                snprintf(text, sizeof(text), "%s :: %s :: %s", m->key, f->key, v->text);
                if (has_property(text, property))
                    return v->line;
            }
        }
    }
    return node && node->type == OCV_YAML_SCALAR && has_property(node->text, property) ? node->line
                                                                                       : 0;
}
