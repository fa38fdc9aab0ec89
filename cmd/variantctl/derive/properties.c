/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties that an image's files show, beside those that were written by hand. */
#include "cmd/variantctl/derive/derive_read.h"

#include <string.h>

/* Is anything written of the feature that this derived property is about? */
static bool is_given(const struct ocv_properties *given, struct ocv_property p)
{
    for (size_t i = 0; given && i < ocv_properties_count(given); i++) {
        struct ocv_property it = ocv_properties_get(given, i);
        if (!strcmp(it.ns, p.ns) && !strcmp(it.feature, p.feature))
            return true;
    }
    return false;
}

static int add_property(struct ocv_buffer *list, struct ocv_property p, struct ocv_error *err)
{
    return ocv_buffer_printf(list, err, "%s%s :: %s :: %s", list->len ? ", " : "", p.ns, p.feature,
                             p.value);
}

static int parse_derived(const struct ocv_content_derived *derived, struct ocv_properties **out,
                         struct ocv_error *err)
{
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = OCV_OK;
    for (size_t i = 0; i < derived->n_properties && status == OCV_OK; i++)
        status = ocv_buffer_printf(&list, err, "%s%s", i ? ", " : "", derived->properties[i]);
    return status < 0 ? status
                      : ocv_properties_parse(list.data ? list.data : "", list.len, out, err);
}

int derive_properties(const struct ocv_content *content, const struct ocv_properties *given,
                      struct ocv_properties **out, struct ocv_error *err)
{
    ocv_auto(ocv_properties) derived = NULL;
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = parse_derived(&content->derived, &derived, err);
    for (size_t i = 0; status == OCV_OK && given && i < ocv_properties_count(given); i++)
        status = add_property(&list, ocv_properties_get(given, i), err);
    for (size_t i = 0; status == OCV_OK && i < ocv_properties_count(derived); i++)
        if (!is_given(given, ocv_properties_get(derived, i)))
            status = add_property(&list, ocv_properties_get(derived, i), err);
    return status < 0 ? status
                      : ocv_properties_parse(list.data ? list.data : "", list.len, out, err);
}
