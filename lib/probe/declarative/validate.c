/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A declarative provider's file, checked: schema/provider.schema.json says the same. Past this
 * point the tree has every shape that probing takes for granted. */
#include "lib/base/format/yaml.h"
#include "lib/probe/declarative/declarative.h"
#include "ocivariant/property.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 63 /* namespaces, features, providers, drivers, classes */
#define PATH_MAX_LEN 255
#define TEXT_MAX_LEN 255
#define LIST_MAX 256 /* members of a list or map */

static bool is_name(const char *text)
{
    return ocv_property_name_valid(text, strlen(text));
}

static bool is_value(const char *text)
{
    return ocv_property_value_valid(text, strlen(text));
}

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static size_t hex_digits(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return text[n] ? 0 : n;
}

static bool is_id(const char *text)
{
    return hex_digits(text) == 4;
}

static bool is_revision(const char *text)
{
    return hex_digits(text) == 2;
}

static bool is_class(const char *text)
{
    size_t n = hex_digits(text);
    return n == 2 || n == 4 || n == 6;
}

/* A name of one directory or file, as drivers, classes and class entries have. */
static bool is_component(const char *text)
{
    return is_plain(text) && !strchr(text, '/') && strcmp(text, ".") != 0 &&
           strcmp(text, "..") != 0;
}

static bool is_path(const char *text)
{
    const char *p = text + (text[0] == '/');
    if (!is_plain(text))
        return false;
    for (size_t len;; p += len + 1) {
        len = strcspn(p, "/");
        if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        if (!p[len])
            return true;
    }
}

static bool is_unit(const char *text)
{
    for (size_t i = 0; ocv_source_units(i); i++)
        if (strcmp(text, ocv_source_units(i)) == 0)
            return true;
    return false;
}

/* of class entries */
static int check_relative(const struct ocv_yaml_reader *r, const struct ocv_yaml *path)
{
    return path->text[0] == '/' ? ocv_yaml_error(r, path, "must be a file of the class entry")
                                : OCV_OK;
}

static int check_attribute(const struct ocv_yaml_reader *r, const struct ocv_yaml *name)
{
    if (strcmp(name->text, "memory") == 0) /* only the rule's key converts it to bytes */
        return ocv_yaml_error(r, name, "is a key of the rule, not an attribute");
    return OCV_OK;
}

#define TEXT .takes = OCV_TAKES_TEXT
#define ONE_OR_MORE(rule)                                                              \
    .takes = OCV_TAKES_TEXT | OCV_TAKES_LIST, .min = 1, .max = LIST_MAX, .once = true, \
    .item = &(rule)
#define NAME .wanted = "a name of a-z, 0-9 and _", .good = is_name, .len_max = NAME_MAX_LEN
#define PLAIN                                                                       \
    .wanted = "a text of at most 255 characters, none of them a control character", \
    .good = is_plain, .len_max = TEXT_MAX_LEN
#define ID .wanted = "4 hexadecimal digits in lower case, quoted", .good = is_id
#define CLASS .wanted = "6 or fewer hexadecimal digits in lower case, quoted", .good = is_class
#define REVISION .wanted = "2 hexadecimal digits in lower case, quoted", .good = is_revision
#define COMPONENT .wanted = "one name without '/'", .good = is_component, .len_max = NAME_MAX_LEN
#define PATH \
    .wanted = "a path without empty parts, '.' and '..'", .good = is_path, .len_max = PATH_MAX_LEN

static const struct ocv_yaml_rule name = {TEXT, NAME};
static const struct ocv_yaml_rule value = {TEXT, .wanted = "a value of a-z, 0-9, _ and .",
                                           .good = is_value, .len_max = NAME_MAX_LEN};
static const struct ocv_yaml_rule text = {TEXT, PLAIN}, texts = {PLAIN, ONE_OR_MORE(text)};
static const struct ocv_yaml_rule id = {TEXT, ID}, ids = {ID, ONE_OR_MORE(id)};
static const struct ocv_yaml_rule class = {TEXT, CLASS}, classes = {CLASS, ONE_OR_MORE(class)};
static const struct ocv_yaml_rule revision = {TEXT, REVISION};
static const struct ocv_yaml_rule revisions = {REVISION, ONE_OR_MORE(revision)};
static const struct ocv_yaml_rule component = {TEXT, COMPONENT};
static const struct ocv_yaml_rule components = {COMPONENT, ONE_OR_MORE(component)};
static const struct ocv_yaml_rule path = {TEXT, PATH};
static const struct ocv_yaml_rule values = {
    .takes = OCV_TAKES_LIST, .min = 1, .max = LIST_MAX, .once = true, .item = &value};

static const struct ocv_yaml_key source_keys[] = {{"file", &path, true}, {"key", &text, false}};
static const struct ocv_yaml_table source_table = {"a source", OCV_YAML_KEYS(source_keys)};
#define SOURCE PATH, .table = &source_table
static const struct ocv_yaml_rule source = {SOURCE, .takes = OCV_TAKES_TEXT | OCV_TAKES_MAP};
static const struct ocv_yaml_rule sources = {
    SOURCE, .takes = OCV_TAKES_TEXT | OCV_TAKES_LIST | OCV_TAKES_MAP, .min = 1, .max = LIST_MAX,
    .item = &source};

static const struct ocv_yaml_rule unit = {TEXT, .wanted = "B, KiB, MiB or GiB", .good = is_unit};
static const struct ocv_yaml_key memory_keys[] = {
    {"file", &path, true}, {"key", &text, false}, {"unit", &unit, false}};
static const struct ocv_yaml_table memory_table = {"memory", OCV_YAML_KEYS(memory_keys)};
static const struct ocv_yaml_rule memory = {PATH, .takes = OCV_TAKES_TEXT | OCV_TAKES_MAP,
                                            .table = &memory_table};

static int check_feature(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    const struct ocv_yaml *list = ocv_yaml_get(node, "values");
    const struct ocv_yaml *compat = ocv_yaml_get(node, "compat");
    if (!list == !ocv_yaml_get(node, "read"))
        return ocv_yaml_fail(r, node, "a feature needs either 'values' or 'read'");
    for (const struct ocv_yaml *m = compat ? compat->first : NULL; m; m = m->next) {
        if (ocv_yaml_find(list, m->key) < 0)
            return ocv_yaml_error(r, m, "is not among the feature's values");
        for (const struct ocv_yaml *v = m->first; v; v = v->next)
            if (ocv_yaml_find(list, v->text) < 0 || strcmp(v->text, m->key) == 0)
                return ocv_yaml_error(r, v, "is not another one of the feature's values");
    }
    return OCV_OK;
}

static const struct ocv_yaml *feature_of(const struct ocv_yaml *features, const char *wanted)
{
    for (const struct ocv_yaml *f = features->first; f; f = f->next)
        if (strcmp(ocv_yaml_text(f, "feature"), wanted) == 0)
            return f;
    return NULL;
}

static int check_features(const struct ocv_yaml_reader *r, const struct ocv_yaml *list)
{
    for (const struct ocv_yaml *f = list->first; f; f = f->next)
        if (feature_of(list, ocv_yaml_text(f, "feature")) != f)
            return ocv_yaml_error(r, ocv_yaml_get(f, "feature"), "names one feature twice");
    return OCV_OK;
}

#define ANY_KEYS .takes = OCV_TAKES_MAP, .min = 1, .max = LIST_MAX
#define LIST_OF(rule) .takes = OCV_TAKES_LIST, .min = 1, .max = LIST_MAX, .item = &(rule)

static const struct ocv_yaml_rule key_name = {TEXT, .len_max = PATH_MAX_LEN};
static const struct ocv_yaml_rule compat = {ANY_KEYS, .name = &key_name, .each = &values};
static const struct ocv_yaml_key feature_keys[] = {{"feature", &name, true},
                                                   {"values", &values, false},
                                                   {"compat", &compat, false},
                                                   {"read", &sources, false}};
static const struct ocv_yaml_table feature_table = {"a feature", OCV_YAML_KEYS(feature_keys)};
static const struct ocv_yaml_rule feature = {
    .takes = OCV_TAKES_MAP, .table = &feature_table, .check = check_feature};
static const struct ocv_yaml_rule features = {LIST_OF(feature), .check = check_features};

static int check_sysfs(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    /* classes like accel belong to several vendors */
    if (!ocv_yaml_get(node, "vendor") && !ocv_yaml_get(node, "attributes"))
        return ocv_yaml_error(r, node, "needs 'vendor' or 'attributes'");
    return OCV_OK;
}

static int check_rule(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    const struct ocv_yaml *pci = ocv_yaml_get(node, "pci");
    const struct ocv_yaml *functions = ocv_yaml_get(node, "virtual_functions");
    if (!!pci + !!ocv_yaml_get(node, "sysfs") + !!ocv_yaml_get(node, "devicetree") != 1)
        return ocv_yaml_fail(r, node, "a rule needs one of 'pci', 'sysfs' and 'devicetree'");
    return functions && !pci ? ocv_yaml_error(r, functions, "belongs to 'pci'") : OCV_OK;
}

static const struct ocv_yaml_key pci_keys[] = {{"vendor", &id, true},
                                               {"device", &ids, false},
                                               {"subsystem_vendor", &id, false},
                                               {"subsystem_device", &ids, false},
                                               {"class", &classes, false},
                                               {"revision", &revisions, false},
                                               {"driver", &components, false}};
static const struct ocv_yaml_table pci_table = {"pci", OCV_YAML_KEYS(pci_keys)};
static const struct ocv_yaml_rule pci = {.takes = OCV_TAKES_MAP, .table = &pci_table};

static const struct ocv_yaml_rule entry_file = {TEXT, PATH, .check = check_relative};
static const struct ocv_yaml_rule entry_files = {ANY_KEYS, .name = &entry_file, .each = &texts};
static const struct ocv_yaml_key sysfs_keys[] = {{"class", &component, true},
                                                 {"vendor", &id, false},
                                                 {"attributes", &entry_files, false},
                                                 {"pci_address", &path, false}};
static const struct ocv_yaml_table sysfs_table = {"sysfs", OCV_YAML_KEYS(sysfs_keys)};
static const struct ocv_yaml_rule sysfs = {
    .takes = OCV_TAKES_MAP, .table = &sysfs_table, .check = check_sysfs};

static const struct ocv_yaml_key tree_keys[] = {{"compatible", &texts, true}};
static const struct ocv_yaml_table tree_table = {"devicetree", OCV_YAML_KEYS(tree_keys)};
static const struct ocv_yaml_rule devicetree = {.takes = OCV_TAKES_MAP, .table = &tree_table};

static const char *const function_words[] = {"skip", "count", "replace", NULL};
static const struct ocv_yaml_rule functions = {TEXT, .words = function_words};
static const char *const true_word[] = {"true", NULL};
static const struct ocv_yaml_rule guess = {TEXT, .words = true_word, .wanted = "true, or left out"};
static const struct ocv_yaml_rule set = {ANY_KEYS, .each = &value};
static const struct ocv_yaml_rule attribute = {TEXT, NAME, .check = check_attribute};
static const struct ocv_yaml_rule attributes = {ANY_KEYS, .name = &attribute, .each = &sources};

static const struct ocv_yaml_key rule_keys[] = {{"pci", &pci, false},
                                                {"sysfs", &sysfs, false},
                                                {"name", &text, false},
                                                {"devicetree", &devicetree, false},
                                                {"set", &set, false},
                                                {"memory", &memory, false},
                                                {"guess", &guess, false},
                                                {"virtual_functions", &functions, false},
                                                {"attributes", &attributes, false}};
static const struct ocv_yaml_table rule_table = {"a rule", OCV_YAML_KEYS(rule_keys)};
static const struct ocv_yaml_rule rule = {
    .takes = OCV_TAKES_MAP, .table = &rule_table, .check = check_rule};
static const struct ocv_yaml_rule rules = {LIST_OF(rule)};

/* Rules refer to features, which may come after them. */
static int check_file(const struct ocv_yaml_reader *r, const struct ocv_yaml *root)
{
    const struct ocv_yaml *known = ocv_yaml_get(root, "features");
    for (const struct ocv_yaml *d = ocv_yaml_get(root, "devices")->first; d; d = d->next) {
        const struct ocv_yaml *map = ocv_yaml_get(d, "set");
        for (const struct ocv_yaml *m = map ? map->first : NULL; m; m = m->next) {
            const struct ocv_yaml *list = ocv_yaml_get(feature_of(known, m->key), "values");
            if (!list)
                return ocv_yaml_error(r, m, "is not a feature with values of this file");
            if (ocv_yaml_find(list, m->text) < 0)
                return ocv_yaml_error(r, m, "is not among the feature's values");
        }
    }
    return OCV_OK;
}

static const char *const schema_word[] = {OCV_DECLARATION_SCHEMA, NULL};
static const struct ocv_yaml_rule schema = {TEXT, .words = schema_word};
static const struct ocv_yaml_key file_keys[] = {
    {"schema", &schema, true},       {"namespace", &name, true},
    {"name", &name, false},          {"version", &value, false},
    {"replaces", &name, false},      {"meaning", &text, false},
    {"drivers", &components, false}, {"driver_version", &sources, false},
    {"features", &features, true},   {"devices", &rules, true}};
static const struct ocv_yaml_table file_table = {OCV_YAML_KEYS(file_keys)};
const struct ocv_yaml_rule ocv_declaration_rule = {
    .takes = OCV_TAKES_MAP, .table = &file_table, .check = check_file};

int ocv_declaration_read(const char *file, const char *data, size_t len,
                         struct ocv_declaration *out, struct ocv_error *err)
{
    const struct ocv_yaml_reader r = {.source = file, .err = err};
    struct ocv_declaration d = {0};
    int status = ocv_yaml_load(&r, &ocv_declaration_rule, data, len, OCV_DECLARATION_MAX, &d.tree);
    if (status == OCV_OK && !d.tree)
        status = ocv_error_set(err, OCV_ERR_CONFIG, "%s:1: an empty file", file);
    if (status == OCV_OK && !(d.source = strdup(file)))
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
