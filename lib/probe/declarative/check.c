/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a single value of a declarative provider's file may be; which values belong where is
 * declarative_read.c's. */
#include "lib/probe/declarative/declarative_check.h"
#include "ocivariant/property.h"

#include <string.h>

#define NAME_MAX_LEN 63 /* namespaces, features, providers, drivers, classes */
#define PATH_MAX_LEN 255
#define TEXT_MAX_LEN 255
#define LIST_MAX 256 /* members of a list or map */

int ocv_check_complain(const struct ocv_check *r, const struct ocv_yaml *node, const char *format,
                       ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return ocv_error_set(r->err, OCV_ERR_CONFIG, "%s:%zu: '%s' %s", r->source, node->line,
                         node->key    ? node->key
                         : node->text ? node->text
                                      : "item",
                         what);
}

/* A map with these fields and no other. */
int ocv_check_map(const struct ocv_check *r, const struct ocv_yaml *node,
                  const struct ocv_check_field *fields, size_t n)
{
    if (node->type != OCV_YAML_MAP)
        return ocv_check_complain(r, node, "must be a mapping");
    for (size_t i = 0; i < n; i++)
        if (fields[i].required && !ocv_yaml_get(node, fields[i].key))
            return ocv_check_complain(r, node, "lacks '%s'", fields[i].key);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        size_t i = 0;
        while (i < n && strcmp(fields[i].key, m->key) != 0)
            i++;
        int status = i == n ? ocv_check_complain(r, m, "is an unknown key") : fields[i].check(r, m);
        if (status < 0)
            return status;
    }
    return OCV_OK;
}

int ocv_check_list(const struct ocv_check *r, const struct ocv_yaml *node, ocv_checker check)
{
    if (node->type != OCV_YAML_LIST || node->n == 0)
        return ocv_check_complain(r, node, "must be a list of at least one");
    if (node->n > LIST_MAX)
        return ocv_check_complain(r, node, "has more than %d members", LIST_MAX);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        int status = check(r, m);
        if (status < 0)
            return status;
    }
    return OCV_OK;
}

int ocv_check_text(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || !*node->text || strlen(node->text) > TEXT_MAX_LEN)
        return ocv_check_complain(r, node, "must be a text of at most %d characters", TEXT_MAX_LEN);
    for (const char *c = node->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return ocv_check_complain(r, node, "must have no control characters");
    return OCV_OK;
}

/* A scalar, or a list without repetitions. */
static int check_one_or_more(const struct ocv_check *r, const struct ocv_yaml *node,
                             ocv_checker check)
{
    if (node->type == OCV_YAML_SCALAR)
        return check(r, node);
    int status = ocv_check_list(r, node, check);
    for (const struct ocv_yaml *m = node->first; status == OCV_OK && m; m = m->next)
        for (const struct ocv_yaml *k = node->first; k != m && status == OCV_OK; k = k->next)
            if (strcmp(k->text, m->text) == 0)
                status = ocv_check_complain(r, m, "is given twice");
    return status;
}

/* ---- scalars --------------------------------------------------------------------------------- */

int ocv_check_schema(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || strcmp(node->text, OCV_DECLARATION_SCHEMA) != 0)
        return ocv_check_complain(r, node, "must be %s", OCV_DECLARATION_SCHEMA);
    return OCV_OK;
}

int ocv_check_name(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || strlen(node->text) > NAME_MAX_LEN ||
        !ocv_property_name_valid(node->text, strlen(node->text)))
        return ocv_check_complain(r, node, "must be a name of a-z, 0-9 and _");
    return OCV_OK;
}

int ocv_check_value(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || strlen(node->text) > NAME_MAX_LEN ||
        !ocv_property_value_valid(node->text, strlen(node->text)))
        return ocv_check_complain(r, node, "must be a value of a-z, 0-9, _ and .");
    return OCV_OK;
}

/* Hexadecimal digits: as many as `max`, or fewer where they are a prefix. */
static int check_hex(const struct ocv_check *r, const struct ocv_yaml *node, size_t min, size_t max)
{
    size_t n = node->type == OCV_YAML_SCALAR ? strspn(node->text, "0123456789abcdef") : 0;
    if (n == 0 || node->text[n] || n < min || n > max || n % 2)
        return ocv_check_complain(r, node, "must be %zu%s hexadecimal digits in lower case, quoted",
                                  max, min < max ? " or fewer" : "");
    return OCV_OK;
}

int ocv_check_id(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return check_hex(r, node, 4, 4);
}

static int check_revision(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return check_hex(r, node, 2, 2);
}

static int check_class(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return check_hex(r, node, 2, 6);
}

/* A name of one folder or file, as drivers, classes and class entries have. */
int ocv_check_component(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (ocv_check_text(r, node) < 0)
        return OCV_ERR_CONFIG;
    if (strchr(node->text, '/') || !strcmp(node->text, ".") || !strcmp(node->text, "..") ||
        strlen(node->text) > NAME_MAX_LEN)
        return ocv_check_complain(r, node, "must be one name without '/'");
    return OCV_OK;
}

int ocv_check_path(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (ocv_check_text(r, node) < 0)
        return OCV_ERR_CONFIG;
    const char *p = node->text + (node->text[0] == '/');
    for (size_t len;; p += len + 1) {
        len = strcspn(p, "/");
        if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
            return ocv_check_complain(r, node, "must be a path without empty parts, '.' and '..'");
        if (!p[len])
            return OCV_OK;
    }
}

int ocv_check_virtual(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR ||
        (strcmp(node->text, "skip") != 0 && strcmp(node->text, "count") != 0 &&
         strcmp(node->text, "replace") != 0))
        return ocv_check_complain(r, node, "must be skip, count or replace");
    return OCV_OK;
}

int ocv_check_true(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || strcmp(node->text, "true") != 0)
        return ocv_check_complain(r, node, "must be true, or left out");
    return OCV_OK;
}

/* ---- lists of scalars ------------------------------------------------------------------------ */

int ocv_check_values(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return node->type == OCV_YAML_SCALAR
               ? ocv_check_complain(r, node, "must be a list of at least one")
               : check_one_or_more(r, node, ocv_check_value);
}

int ocv_check_ids(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, ocv_check_id);
}

int ocv_check_classes(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, check_class);
}

int ocv_check_revisions(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, check_revision);
}

int ocv_check_components(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, ocv_check_component);
}

int ocv_check_texts(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, ocv_check_text);
}

/* ---- sources: a path, or {file, key}; one or several, the first that is there counts -----------
 */

static int check_source(const struct ocv_check *r, const struct ocv_yaml *node)
{
    static const struct ocv_check_field fields[] = {{"file", true, ocv_check_path},
                                                    {"key", false, ocv_check_text}};
    return node->type == OCV_YAML_SCALAR ? ocv_check_path(r, node)
                                         : ocv_check_map(r, node, fields, 2);
}

int ocv_check_sources(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return node->type == OCV_YAML_LIST ? ocv_check_list(r, node, check_source)
                                       : check_source(r, node);
}

static int check_unit(const struct ocv_check *r, const struct ocv_yaml *node)
{
    for (size_t i = 0; node->text && ocv_source_units(i); i++)
        if (strcmp(node->text, ocv_source_units(i)) == 0)
            return OCV_OK;
    return ocv_check_complain(r, node, "must be B, KiB, MiB or GiB");
}

int ocv_check_memory(const struct ocv_check *r, const struct ocv_yaml *node)
{
    static const struct ocv_check_field fields[] = {{"file", true, ocv_check_path},
                                                    {"key", false, ocv_check_text},
                                                    {"unit", false, check_unit}};
    return node->type == OCV_YAML_SCALAR ? ocv_check_path(r, node)
                                         : ocv_check_map(r, node, fields, 3);
}

int ocv_check_named(const struct ocv_check *r, const struct ocv_yaml *node, ocv_checker check)
{
    if (node->type != OCV_YAML_MAP || node->n == 0 || node->n > LIST_MAX)
        return ocv_check_complain(r, node, "must be a mapping of 1 to %d members", LIST_MAX);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        if (strlen(m->key) > PATH_MAX_LEN)
            return ocv_check_complain(r, m, "is too long a name");
        int status = check(r, m);
        if (status < 0)
            return status;
    }
    return OCV_OK;
}

static int check_attribute(const struct ocv_check *r, const struct ocv_yaml *node)
{
    if (!ocv_property_name_valid(node->key, strlen(node->key)))
        return ocv_check_complain(r, node, "must be a name of a-z, 0-9 and _");
    if (strcmp(node->key, "memory") == 0) /* a number of bytes, whatever the file has */
        return ocv_check_complain(r, node, "is a key of the rule, not an attribute");
    return ocv_check_sources(r, node);
}

int ocv_check_attributes(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return ocv_check_named(r, node, check_attribute);
}
