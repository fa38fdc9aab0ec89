/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A declarative provider's file, checked: schema/provider.schema.json says the same. Past this
 * point the tree has every shape that probing takes for granted. */
#include "declarative.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 63 /* namespaces, features, providers, drivers, classes */
#define PATH_MAX_LEN 255
#define TEXT_MAX_LEN 255
#define LIST_MAX 256 /* members of a list or map */

struct reader {
    const char *source;
    struct ocv_error *err;
    const struct ocv_yaml *features; /* once they are checked */
};

typedef int (*checker)(const struct reader *r, const struct ocv_yaml *node);

struct field {
    const char *key;
    bool required;
    checker check;
};

__attribute__((format(printf, 3, 4))) static int
complain(const struct reader *r, const struct ocv_yaml *node, const char *format, ...)
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
static int check_map(const struct reader *r, const struct ocv_yaml *node,
                     const struct field *fields, size_t n)
{
    if (node->type != OCV_YAML_MAP)
        return complain(r, node, "must be a mapping");
    for (size_t i = 0; i < n; i++)
        if (fields[i].required && !ocv_yaml_get(node, fields[i].key))
            return complain(r, node, "lacks '%s'", fields[i].key);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        size_t i = 0;
        while (i < n && strcmp(fields[i].key, m->key) != 0)
            i++;
        int status = i == n ? complain(r, m, "is an unknown key") : fields[i].check(r, m);
        if (status < 0)
            return status;
    }
    return OCV_OK;
}

static int check_list(const struct reader *r, const struct ocv_yaml *node, checker check)
{
    if (node->type != OCV_YAML_LIST || node->n == 0)
        return complain(r, node, "must be a list of at least one");
    if (node->n > LIST_MAX)
        return complain(r, node, "has more than %d members", LIST_MAX);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        int status = check(r, m);
        if (status < 0)
            return status;
    }
    return OCV_OK;
}

static int check_text(const struct reader *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || !*node->text || strlen(node->text) > TEXT_MAX_LEN)
        return complain(r, node, "must be a text of at most %d characters", TEXT_MAX_LEN);
    for (const char *c = node->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return complain(r, node, "must have no control characters");
    return OCV_OK;
}

/* A scalar, or a list without repetitions. */
static int check_one_or_more(const struct reader *r, const struct ocv_yaml *node, checker check)
{
    if (node->type == OCV_YAML_SCALAR)
        return check(r, node);
    int status = check_list(r, node, check);
    for (const struct ocv_yaml *m = node->first; status == OCV_OK && m; m = m->next)
        for (const struct ocv_yaml *k = node->first; k != m && status == OCV_OK; k = k->next)
            if (strcmp(k->text, m->text) == 0)
                status = complain(r, m, "is given twice");
    return status;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static int check_schema(const struct reader *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || strcmp(node->text, OCV_DECLARATION_SCHEMA) != 0)
        return complain(r, node, "must be %s", OCV_DECLARATION_SCHEMA);
    return OCV_OK;
}

static int check_name(const struct reader *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || strlen(node->text) > NAME_MAX_LEN ||
        !ocv_property_name_valid(node->text, strlen(node->text)))
        return complain(r, node, "must be a name of a-z, 0-9 and _");
    return OCV_OK;
}

static int check_value(const struct reader *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR || strlen(node->text) > NAME_MAX_LEN ||
        !ocv_property_value_valid(node->text, strlen(node->text)))
        return complain(r, node, "must be a value of a-z, 0-9, _ and .");
    return OCV_OK;
}

/* Hexadecimal digits: as many as `max`, or fewer where they are a prefix. */
static int check_hex(const struct reader *r, const struct ocv_yaml *node, size_t min, size_t max)
{
    size_t n = node->type == OCV_YAML_SCALAR ? strspn(node->text, "0123456789abcdef") : 0;
    if (n == 0 || node->text[n] || n < min || n > max || n % 2)
        return complain(r, node, "must be %zu%s hexadecimal digits in lower case, quoted", max,
                        min < max ? " or fewer" : "");
    return OCV_OK;
}

static int check_id(const struct reader *r, const struct ocv_yaml *node)
{
    return check_hex(r, node, 4, 4);
}

static int check_revision(const struct reader *r, const struct ocv_yaml *node)
{
    return check_hex(r, node, 2, 2);
}

static int check_class(const struct reader *r, const struct ocv_yaml *node)
{
    return check_hex(r, node, 2, 6);
}

/* A name of one folder or file, as drivers, classes and class entries have. */
static int check_component(const struct reader *r, const struct ocv_yaml *node)
{
    if (check_text(r, node) < 0)
        return OCV_ERR_CONFIG;
    if (strchr(node->text, '/') || !strcmp(node->text, ".") || !strcmp(node->text, "..") ||
        strlen(node->text) > NAME_MAX_LEN)
        return complain(r, node, "must be one name without '/'");
    return OCV_OK;
}

static int check_path(const struct reader *r, const struct ocv_yaml *node)
{
    if (check_text(r, node) < 0)
        return OCV_ERR_CONFIG;
    const char *p = node->text + (node->text[0] == '/');
    for (size_t len;; p += len + 1) {
        len = strcspn(p, "/");
        if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
            return complain(r, node, "must be a path without empty parts, '.' and '..'");
        if (!p[len])
            return OCV_OK;
    }
}

static int check_virtual(const struct reader *r, const struct ocv_yaml *node)
{
    if (node->type != OCV_YAML_SCALAR ||
        (strcmp(node->text, "skip") != 0 && strcmp(node->text, "count") != 0 &&
         strcmp(node->text, "replace") != 0))
        return complain(r, node, "must be skip, count or replace");
    return OCV_OK;
}

/* ---- lists of scalars ------------------------------------------------------------------------ */

static int check_values(const struct reader *r, const struct ocv_yaml *node)
{
    return node->type == OCV_YAML_SCALAR ? complain(r, node, "must be a list of at least one")
                                         : check_one_or_more(r, node, check_value);
}

static int check_ids(const struct reader *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, check_id);
}

static int check_classes(const struct reader *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, check_class);
}

static int check_revisions(const struct reader *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, check_revision);
}

static int check_components(const struct reader *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, check_component);
}

static int check_texts(const struct reader *r, const struct ocv_yaml *node)
{
    return check_one_or_more(r, node, check_text);
}

/* ---- sources: a path, or {file, key}; one or several, the first that is there counts -----------
 */

static int check_source(const struct reader *r, const struct ocv_yaml *node)
{
    static const struct field fields[] = {{"file", true, check_path}, {"key", false, check_text}};
    return node->type == OCV_YAML_SCALAR ? check_path(r, node) : check_map(r, node, fields, 2);
}

static int check_sources(const struct reader *r, const struct ocv_yaml *node)
{
    return node->type == OCV_YAML_LIST ? check_list(r, node, check_source) : check_source(r, node);
}

static int check_named(const struct reader *r, const struct ocv_yaml *node, checker check)
{
    if (node->type != OCV_YAML_MAP || node->n == 0 || node->n > LIST_MAX)
        return complain(r, node, "must be a mapping of 1 to %d members", LIST_MAX);
    for (const struct ocv_yaml *m = node->first; m; m = m->next) {
        if (strlen(m->key) > PATH_MAX_LEN)
            return complain(r, m, "is too long a name");
        int status = check(r, m);
        if (status < 0)
            return status;
    }
    return OCV_OK;
}

static int check_attribute(const struct reader *r, const struct ocv_yaml *node)
{
    if (!ocv_property_name_valid(node->key, strlen(node->key)))
        return complain(r, node, "must be a name of a-z, 0-9 and _");
    return check_sources(r, node);
}

static int check_attributes(const struct reader *r, const struct ocv_yaml *node)
{
    return check_named(r, node, check_attribute);
}

/* ---- features -------------------------------------------------------------------------------- */

static int check_compat(const struct reader *r, const struct ocv_yaml *node)
{
    return check_named(r, node, check_values); /* which values: check_feature */
}

static int check_compat_values(const struct reader *r, const struct ocv_yaml *feature)
{
    const struct ocv_yaml *values = ocv_yaml_get(feature, "values");
    const struct ocv_yaml *compat = ocv_yaml_get(feature, "compat");
    for (const struct ocv_yaml *m = compat ? compat->first : NULL; m; m = m->next) {
        if (ocv_yaml_find(values, m->key) < 0)
            return complain(r, m, "is not among the feature's values");
        for (const struct ocv_yaml *v = m->first; v; v = v->next)
            if (ocv_yaml_find(values, v->text) < 0 || strcmp(v->text, m->key) == 0)
                return complain(r, v, "is not another one of the feature's values");
    }
    return OCV_OK;
}

static int check_feature(const struct reader *r, const struct ocv_yaml *node)
{
    static const struct field fields[] = {{"feature", true, check_name},
                                          {"values", false, check_values},
                                          {"compat", false, check_compat},
                                          {"read", false, check_sources}};
    int status = check_map(r, node, fields, sizeof(fields) / sizeof(*fields));
    if (status < 0)
        return status;
    if (!ocv_yaml_get(node, "values") == !ocv_yaml_get(node, "read"))
        return complain(r, node, "needs either 'values' or 'read'");
    return check_compat_values(r, node);
}

static const struct ocv_yaml *feature_of(const struct ocv_yaml *features, const char *name)
{
    for (const struct ocv_yaml *f = features ? features->first : NULL; f; f = f->next)
        if (strcmp(ocv_yaml_text(f, "feature"), name) == 0)
            return f;
    return NULL;
}

static int check_features(const struct reader *r, const struct ocv_yaml *node)
{
    int status = check_list(r, node, check_feature);
    for (const struct ocv_yaml *f = node->first; status == OCV_OK && f; f = f->next)
        if (feature_of(node, ocv_yaml_text(f, "feature")) != f)
            status = complain(r, ocv_yaml_get(f, "feature"), "names one feature twice");
    return status;
}

/* ---- devices --------------------------------------------------------------------------------- */

static int check_pci(const struct reader *r, const struct ocv_yaml *node)
{
    static const struct field fields[] = {{"vendor", true, check_id},
                                          {"device", false, check_ids},
                                          {"subsystem_vendor", false, check_id},
                                          {"subsystem_device", false, check_ids},
                                          {"class", false, check_classes},
                                          {"revision", false, check_revisions},
                                          {"driver", false, check_components}};
    return check_map(r, node, fields, sizeof(fields) / sizeof(*fields));
}

static int check_wanted(const struct reader *r, const struct ocv_yaml *node)
{
    const struct ocv_yaml path = {.type = OCV_YAML_SCALAR, .line = node->line, .text = node->key};
    int status = check_path(r, &path);
    if (status == OCV_OK && node->key[0] == '/')
        status = complain(r, node, "must be a file of the class entry");
    return status < 0 ? status : check_texts(r, node);
}

static int check_wanted_all(const struct reader *r, const struct ocv_yaml *node)
{
    return check_named(r, node, check_wanted);
}

static int check_sysfs(const struct reader *r, const struct ocv_yaml *node)
{
    static const struct field fields[] = {{"class", true, check_component},
                                          {"vendor", false, check_id},
                                          {"attributes", false, check_wanted_all},
                                          {"pci_address", false, check_path}};
    int status = check_map(r, node, fields, sizeof(fields) / sizeof(*fields));
    /* classes like accel belong to several vendors */
    if (status == OCV_OK && !ocv_yaml_get(node, "vendor") && !ocv_yaml_get(node, "attributes"))
        status = complain(r, node, "needs 'vendor' or 'attributes'");
    return status;
}

static int check_devicetree(const struct reader *r, const struct ocv_yaml *node)
{
    static const struct field fields[] = {{"compatible", true, check_texts}};
    return check_map(r, node, fields, 1);
}

static int check_set_member(const struct reader *r, const struct ocv_yaml *node)
{
    const struct ocv_yaml *values = ocv_yaml_get(feature_of(r->features, node->key), "values");
    if (!values)
        return complain(r, node, "is not a feature with values of this file");
    if (node->type != OCV_YAML_SCALAR || ocv_yaml_find(values, node->text) < 0)
        return complain(r, node, "is not among the feature's values");
    return OCV_OK;
}

static int check_set(const struct reader *r, const struct ocv_yaml *node)
{
    return check_named(r, node, check_set_member);
}

static int check_rule(const struct reader *r, const struct ocv_yaml *node)
{
    static const struct field fields[] = {{"pci", false, check_pci},
                                          {"sysfs", false, check_sysfs},
                                          {"name", false, check_text},
                                          {"devicetree", false, check_devicetree},
                                          {"set", false, check_set},
                                          {"virtual_functions", false, check_virtual},
                                          {"attributes", false, check_attributes}};
    int status = check_map(r, node, fields, sizeof(fields) / sizeof(*fields));
    if (status < 0)
        return status;
    if (!!ocv_yaml_get(node, "pci") + !!ocv_yaml_get(node, "sysfs") +
            !!ocv_yaml_get(node, "devicetree") !=
        1)
        return complain(r, node, "needs one of 'pci', 'sysfs' and 'devicetree'");
    const struct ocv_yaml *vf = ocv_yaml_get(node, "virtual_functions");
    return vf && !ocv_yaml_get(node, "pci") ? complain(r, vf, "belongs to 'pci'") : OCV_OK;
}

static int check_rules(const struct reader *r, const struct ocv_yaml *node)
{
    return check_list(r, node, check_rule);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int check_file(struct reader *r, const struct ocv_yaml *root)
{
    static const struct field fields[] = {
        {"schema", true, check_schema},       {"namespace", true, check_name},
        {"name", false, check_name},          {"version", false, check_value},
        {"replaces", false, check_name},      {"meaning", false, check_text},
        {"drivers", false, check_components}, {"driver_version", false, check_sources},
        {"features", true, check_features},   {"devices", true, check_rules}};
    const struct ocv_yaml *features = ocv_yaml_get(root, "features");
    if (root->type == OCV_YAML_MAP && features) { /* rules refer to them and may stand first */
        int status = check_features(r, features);
        if (status < 0)
            return status;
        r->features = features;
    }
    return check_map(r, root, fields, sizeof(fields) / sizeof(*fields));
}

int ocv_declaration_read(const char *source, const char *text, size_t len,
                         struct ocv_declaration *out, struct ocv_error *err)
{
    struct ocv_declaration d = {0};
    struct reader r = {.source = source, .err = err};
    if (len > OCV_DECLARATION_MAX)
        return ocv_error_set(err, OCV_ERR_CONFIG, "%s: larger than %u bytes", source,
                             OCV_DECLARATION_MAX);
    int status = ocv_yaml_read(source, text, len, &d.tree, err);
    if (status == OCV_OK && !d.tree)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "%s:1: an empty file", source);
    if (status == OCV_OK)
        status = check_file(&r, d.tree);
    if (status == OCV_OK && !(d.source = strdup(source)))
        status = ocv_error_nomem(err);
    if (status < 0) {
        ocv_declaration_free(&d);
        return status;
    }
    d.ns = ocv_yaml_text(d.tree, "namespace");
    d.name = ocv_yaml_get(d.tree, "name") ? ocv_yaml_text(d.tree, "name") : d.ns;
    d.version = ocv_yaml_get(d.tree, "version") ? ocv_yaml_text(d.tree, "version") : "1";
    d.replaces = ocv_yaml_text(d.tree, "replaces");
    *out = d;
    return OCV_OK;
}

void ocv_declaration_free(struct ocv_declaration *declaration)
{
    ocv_yaml_free(declaration->tree);
    free(declaration->source);
    *declaration = (struct ocv_declaration){0};
}
