/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties and labels: syntax, parsing, canonical form (PEP 825; specification sections 1, 2). */
#include "gen/vocabulary.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/core/core_internal.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/vocabulary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool ocv_property_name_valid(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!ocv_text_is_lower_alnum(s[i]) && s[i] != '_')
            return false;
    return len > 0;
}

bool ocv_property_value_valid(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!ocv_text_is_lower_alnum(s[i]) && s[i] != '_' && s[i] != '.')
            return false;
    return len > 0;
}

bool ocv_label_readable(const char *s, size_t len)
{
    if (len > 63 || (len == 1 && s[0] == '.') || (len == 2 && s[0] == '.' && s[1] == '.'))
        return false;
    return ocv_property_value_valid(s, len);
}

bool ocv_label_valid(const char *s, size_t len)
{
    if (len > 48 || !ocv_property_value_valid(s, len))
        return false;
    bool separator = true; /* not first, last or next to another */
    for (size_t i = 0; i < len; i++) {
        bool now = s[i] == '.' || s[i] == '_';
        if (now && separator)
            return false;
        separator = now;
    }
    return !separator;
}

bool ocv_vocabulary_owns(const char *ns)
{
    return bsearch(&ns, ocv_vocabulary_namespaces,
                   sizeof(ocv_vocabulary_namespaces) / sizeof(*ocv_vocabulary_namespaces),
                   sizeof(*ocv_vocabulary_namespaces), ocv_text_order) != NULL;
}

unsigned ocv_vocabulary_turn(const char *ns)
{
    for (size_t i = 0; i < sizeof(ocv_vocabulary_api_namespaces) / sizeof(char *); i++)
        if (strcmp(ocv_vocabulary_api_namespaces[i], ns) == 0)
            return 1;
    return ocv_vocabulary_is_cpu(ns) ? 2 : 0;
}

bool ocv_vocabulary_is_cpu(const char *ns)
{
    return bsearch(&ns, ocv_vocabulary_cpu_namespaces,
                   sizeof(ocv_vocabulary_cpu_namespaces) / sizeof(*ocv_vocabulary_cpu_namespaces),
                   sizeof(*ocv_vocabulary_cpu_namespaces), ocv_text_order) != NULL;
}

/* The likely word; often only the case of its letters is wrong: "H100". */
static bool hint_value(const struct ocv_span parts[3], struct ocv_error *err)
{
    char words[3][OCV_WORD_MAX], meant[OCV_WORD_MAX] = "";
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].len >= OCV_WORD_MAX)
            return false;
        for (size_t k = 0; k <= parts[i].len; k++)
            words[i][k] = k < parts[i].len ? (char)tolower((unsigned char)parts[i].data[k]) : '\0';
    }
    enum ocv_word part = ocv_vocabulary_check(words[0], words[1], words[2], meant);
    if (part != OCV_WORD_KNOWN && (part != OCV_WORD_VALUE || !*meant))
        return false;
    ocv_error_hint(err, "did you mean %s :: %s :: %s?", words[0], words[1],
                   part == OCV_WORD_KNOWN ? words[2] : meant);
    return true;
}

static int parse_property(struct ocv_span text, struct ocv_span parts[3], struct ocv_error *err)
{
    size_t n = ocv_span_parts(text, parts, 3);
    bool named = n == 3 && ocv_property_name_valid(parts[0].data, parts[0].len) &&
                 ocv_property_name_valid(parts[1].data, parts[1].len);
    if (named && ocv_property_value_valid(parts[2].data, parts[2].len))
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_DATA,
                  "'%.*s' is not a property (namespace :: feature :: value, lower case)",
                  (int)(text.len > 100 ? 100 : text.len), text.data ? text.data : "");
    bool compared = false; /* the vocabulary has the form of a feature's values */
    for (size_t i = 0; i < text.len; i++)
        compared = compared || strchr("<>=", text.data[i]);
    if (compared)
        ocv_error_hint(err, "write only the value after '::': the feature defines the comparison "
                            "(variantctl vocabulary)");
    else if (n == 3 && hint_value(parts, err))
        return OCV_ERR_DATA;
    else if (named)
        ocv_error_hint(err, "its values: variantctl vocabulary %.*s::%.*s", (int)parts[0].len,
                       parts[0].data, (int)parts[1].len, parts[1].data);
    else
        ocv_error_hint(err, "'variantctl vocabulary' lists them");
    return OCV_ERR_DATA;
}

int ocv_property_compare(const struct ocv_property *a, const struct ocv_property *b)
{
    int order = strcmp(a->ns, b->ns);
    if (order == 0)
        order = strcmp(a->feature, b->feature);
    return order ? order : strcmp(a->value, b->value);
}

/* The set: an array of properties whose strings are in one text block after it. */
struct ocv_properties {
    size_t count;
    struct ocv_property list[];
};

static int compare_void(const void *a, const void *b)
{
    return ocv_property_compare(a, b);
}

size_t ocv_properties_pieces(struct ocv_span text)
{
    size_t n = 0;
    struct ocv_span piece;
    while (ocv_span_split(&text, ',', &piece))
        n++;
    return n;
}

int ocv_properties_parse(const char *text, size_t len, struct ocv_properties **out,
                         struct ocv_error *err)
{
    if (len > OCV_ENTRY_PROPERTIES_BYTES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u bytes of properties",
                             OCV_ENTRY_PROPERTIES_BYTES_MAX);
    struct ocv_span rest = ocv_span_trim((struct ocv_span){text, len});
    size_t n = rest.len ? ocv_properties_pieces(rest) : 0;
    if (n > OCV_ENTRY_PROPERTIES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u properties",
                             OCV_ENTRY_PROPERTIES_MAX);
    size_t array = n * sizeof(struct ocv_property);
    ocv_auto(ocv_properties) set = malloc(sizeof(*set) + array + len + n * 3 + 1);
    if (!set)
        return ocv_error_nomem(err);
    char *at = (char *)(set->list + n);
    struct ocv_span piece, parts[3];
    for (set->count = 0; set->count < n && ocv_span_split(&rest, ',', &piece); set->count++) {
        OCV_TRY(parse_property(piece, parts, err));
        struct ocv_property *p = &set->list[set->count];
        const char **texts[] = {&p->ns, &p->feature, &p->value};
        for (size_t i = 0; i < 3; i++) {
            *texts[i] = at;
            at = mempcpy(at, parts[i].data, parts[i].len);
            *at++ = '\0';
        }
    }
    if (set->count > 1)
        qsort(set->list, set->count, sizeof(*set->list), compare_void);
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++)
        if (kept == 0 || ocv_property_compare(&set->list[kept - 1], &set->list[i]) != 0)
            set->list[kept++] = set->list[i];
    set->count = kept;
    *out = ocv_steal(&set);
    return OCV_OK;
}

void ocv_properties_free(struct ocv_properties *properties)
{
    free(properties);
}

size_t ocv_properties_count(const struct ocv_properties *properties)
{
    return properties->count;
}

struct ocv_property ocv_properties_get(const struct ocv_properties *properties, size_t i)
{
    return properties->list[i];
}

int ocv_properties_format(const struct ocv_properties *properties, struct ocv_buffer *out,
                          struct ocv_error *err)
{
    for (size_t i = 0; i < properties->count; i++) {
        const struct ocv_property *p = &properties->list[i];
        OCV_TRY(ocv_buffer_printf(out, err, "%s%s :: %s :: %s", i ? ", " : "", p->ns, p->feature,
                                  p->value));
    }
    return OCV_OK;
}
