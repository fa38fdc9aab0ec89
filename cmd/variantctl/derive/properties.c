/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Combines the properties shown by an image's files with those given by hand. */
#include "cmd/variantctl/derive/derive_verb.h"

#include "gen/toolkits.h"
#include "ocivariant/vocabulary.h"

#include "lib/base/cleanup.h"

#include <string.h>

/* True if a property of the same feature was given by hand. */
static bool is_given(const struct ocv_properties *given, struct ocv_property p)
{
    for (size_t i = 0; given && i < ocv_properties_count(given); i++) {
        struct ocv_property it = ocv_properties_get(given, i);
        if (!strcmp(it.ns, p.ns) && !strcmp(it.feature, p.feature))
            return true;
    }
    return false;
}

const char *derive_maker(const struct ocv_properties *set, const char *other)
{
    for (size_t i = 0; set && i < ocv_properties_count(set); i++) {
        const char *ns = ocv_properties_get(set, i).ns;
        if (ocv_vocabulary_owns(ns) && ocv_vocabulary_turn(ns) == 0 &&
            (!other || strcmp(ns, other)))
            return ns;
    }
    return NULL;
}

static int add_property(struct ocv_buffer *list, struct ocv_property p, struct ocv_error *err)
{
    return ocv_buffer_printf(list, err, "%s%s :: %s :: %s", list->len ? ", " : "", p.ns, p.feature,
                             p.value);
}

static int parse_list(char *const *from, size_t n, struct ocv_properties **out,
                      struct ocv_error *err)
{
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        OCV_TRY(ocv_buffer_printf(&list, err, "%s%s", i ? ", " : "", from[i]));
    return ocv_properties_parse(list.data ? list.data : "", list.len, out, err);
}

bool derive_has_two_makers(const struct ocv_content_derived *derived)
{
    ocv_auto(ocv_properties) set = NULL;
    const char *maker = parse_list(derived->properties, derived->n_properties, &set, NULL) == OCV_OK
                            ? derive_maker(set, NULL)
                            : NULL;
    return maker && derive_maker(set, maker);
}

/* `narrowed`: drop given values that are not among the feature's derived values. */
static int merge_lists(const struct ocv_properties *derived, const struct ocv_properties *given,
                       bool narrowed, struct ocv_properties **out, struct ocv_error *err)
{
    ocv_auto_buffer list;
    const char *maker = derive_maker(given, NULL);
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    for (size_t i = 0; given && i < ocv_properties_count(given); i++)
        if (!narrowed || !is_given(derived, ocv_properties_get(given, i)))
            OCV_TRY(add_property(&list, ocv_properties_get(given, i), err));
    for (size_t i = 0; i < ocv_properties_count(derived); i++) {
        struct ocv_property p = ocv_properties_get(derived, i);
        /* of another maker's devices than those that are given by hand */
        bool of_others = maker && ocv_vocabulary_owns(p.ns) && ocv_vocabulary_turn(p.ns) == 0 &&
                         strcmp(maker, p.ns) != 0;
        if ((narrowed || !is_given(given, p)) && !of_others)
            OCV_TRY(add_property(&list, p, err));
    }
    return ocv_properties_parse(list.data ? list.data : "", list.len, out, err);
}

int derive_properties(const struct ocv_content *content, const struct ocv_properties *given,
                      struct ocv_properties **out, struct ocv_properties **base,
                      struct ocv_error *err)
{
    const struct ocv_content_derived *d = &content->derived;
    ocv_auto(ocv_properties) all = NULL;
    ocv_auto(ocv_properties) less = NULL;
    *base = NULL;
    OCV_TRY(parse_list(d->properties, d->n_properties, &all, err));
    OCV_TRY(merge_lists(all, given, false, out, err));
    const char *maker = derive_maker(given, NULL);
    bool cuda = !maker || !strcmp(maker, OCV_TOOLKIT_NAMESPACE); /* whose older drivers it is for */
    if (!d->n_base || !cuda)
        return OCV_OK;
    OCV_TRY(parse_list(d->base, d->n_base, &less, err));
    return merge_lists(less, given, true, base, err);
}
