/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A declarative provider's file, checked: schema/provider.schema.json says the same. Past this
 * point the tree has every shape that probing takes for granted. */
#include "lib/probe/declarative/declarative_check.h"

#include <stdlib.h>
#include <string.h>

/* ---- features -------------------------------------------------------------------------------- */

static int check_compat(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return ocv_check_named(r, node, ocv_check_values); /* which values: check_feature */
}

static int check_compat_values(const struct ocv_check *r, const struct ocv_yaml *feature)
{
    const struct ocv_yaml *values = ocv_yaml_get(feature, "values");
    const struct ocv_yaml *compat = ocv_yaml_get(feature, "compat");
    for (const struct ocv_yaml *m = compat ? compat->first : NULL; m; m = m->next) {
        if (ocv_yaml_find(values, m->key) < 0)
            return ocv_check_complain(r, m, "is not among the feature's values");
        for (const struct ocv_yaml *v = m->first; v; v = v->next)
            if (ocv_yaml_find(values, v->text) < 0 || strcmp(v->text, m->key) == 0)
                return ocv_check_complain(r, v, "is not another one of the feature's values");
    }
    return OCV_OK;
}

static int check_feature(const struct ocv_check *r, const struct ocv_yaml *node)
{
    static const struct ocv_check_field fields[] = {{"feature", true, ocv_check_name},
                                                    {"values", false, ocv_check_values},
                                                    {"compat", false, check_compat},
                                                    {"read", false, ocv_check_sources}};
    int status = ocv_check_map(r, node, fields, sizeof(fields) / sizeof(*fields));
    if (status < 0)
        return status;
    if (!ocv_yaml_get(node, "values") == !ocv_yaml_get(node, "read"))
        return ocv_check_complain(r, node, "needs either 'values' or 'read'");
    return check_compat_values(r, node);
}

static const struct ocv_yaml *feature_of(const struct ocv_yaml *features, const char *name)
{
    for (const struct ocv_yaml *f = features ? features->first : NULL; f; f = f->next)
        if (strcmp(ocv_yaml_text(f, "feature"), name) == 0)
            return f;
    return NULL;
}

static int check_features(const struct ocv_check *r, const struct ocv_yaml *node)
{
    int status = ocv_check_list(r, node, check_feature);
    for (const struct ocv_yaml *f = node->first; status == OCV_OK && f; f = f->next)
        if (feature_of(node, ocv_yaml_text(f, "feature")) != f)
            status = ocv_check_complain(r, ocv_yaml_get(f, "feature"), "names one feature twice");
    return status;
}

/* ---- devices --------------------------------------------------------------------------------- */

static int check_pci(const struct ocv_check *r, const struct ocv_yaml *node)
{
    static const struct ocv_check_field fields[] = {{"vendor", true, ocv_check_id},
                                                    {"device", false, ocv_check_ids},
                                                    {"subsystem_vendor", false, ocv_check_id},
                                                    {"subsystem_device", false, ocv_check_ids},
                                                    {"class", false, ocv_check_classes},
                                                    {"revision", false, ocv_check_revisions},
                                                    {"driver", false, ocv_check_components}};
    return ocv_check_map(r, node, fields, sizeof(fields) / sizeof(*fields));
}

static int check_wanted(const struct ocv_check *r, const struct ocv_yaml *node)
{
    const struct ocv_yaml path = {.type = OCV_YAML_SCALAR, .line = node->line, .text = node->key};
    int status = ocv_check_path(r, &path);
    if (status == OCV_OK && node->key[0] == '/')
        status = ocv_check_complain(r, node, "must be a file of the class entry");
    return status < 0 ? status : ocv_check_texts(r, node);
}

static int check_wanted_all(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return ocv_check_named(r, node, check_wanted);
}

static int check_sysfs(const struct ocv_check *r, const struct ocv_yaml *node)
{
    static const struct ocv_check_field fields[] = {{"class", true, ocv_check_component},
                                                    {"vendor", false, ocv_check_id},
                                                    {"attributes", false, check_wanted_all},
                                                    {"pci_address", false, ocv_check_path}};
    int status = ocv_check_map(r, node, fields, sizeof(fields) / sizeof(*fields));
    /* classes like accel belong to several vendors */
    if (status == OCV_OK && !ocv_yaml_get(node, "vendor") && !ocv_yaml_get(node, "attributes"))
        status = ocv_check_complain(r, node, "needs 'vendor' or 'attributes'");
    return status;
}

static int check_devicetree(const struct ocv_check *r, const struct ocv_yaml *node)
{
    static const struct ocv_check_field fields[] = {{"compatible", true, ocv_check_texts}};
    return ocv_check_map(r, node, fields, 1);
}

static int check_set_member(const struct ocv_check *r, const struct ocv_yaml *node)
{
    const struct ocv_yaml *values = ocv_yaml_get(feature_of(r->features, node->key), "values");
    if (!values)
        return ocv_check_complain(r, node, "is not a feature with values of this file");
    if (node->type != OCV_YAML_SCALAR || ocv_yaml_find(values, node->text) < 0)
        return ocv_check_complain(r, node, "is not among the feature's values");
    return OCV_OK;
}

static int check_set(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return ocv_check_named(r, node, check_set_member);
}

static int check_rule(const struct ocv_check *r, const struct ocv_yaml *node)
{
    static const struct ocv_check_field fields[] = {{"pci", false, check_pci},
                                                    {"sysfs", false, check_sysfs},
                                                    {"name", false, ocv_check_text},
                                                    {"devicetree", false, check_devicetree},
                                                    {"set", false, check_set},
                                                    {"memory", false, ocv_check_memory},
                                                    {"guess", false, ocv_check_true},
                                                    {"virtual_functions", false, ocv_check_virtual},
                                                    {"attributes", false, ocv_check_attributes}};
    int status = ocv_check_map(r, node, fields, sizeof(fields) / sizeof(*fields));
    if (status < 0)
        return status;
    if (!!ocv_yaml_get(node, "pci") + !!ocv_yaml_get(node, "sysfs") +
            !!ocv_yaml_get(node, "devicetree") !=
        1)
        return ocv_check_complain(r, node, "needs one of 'pci', 'sysfs' and 'devicetree'");
    const struct ocv_yaml *vf = ocv_yaml_get(node, "virtual_functions");
    return vf && !ocv_yaml_get(node, "pci") ? ocv_check_complain(r, vf, "belongs to 'pci'")
                                            : OCV_OK;
}

static int check_rules(const struct ocv_check *r, const struct ocv_yaml *node)
{
    return ocv_check_list(r, node, check_rule);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int check_file(struct ocv_check *r, const struct ocv_yaml *root)
{
    static const struct ocv_check_field fields[] = {
        {"schema", true, ocv_check_schema},       {"namespace", true, ocv_check_name},
        {"name", false, ocv_check_name},          {"version", false, ocv_check_value},
        {"replaces", false, ocv_check_name},      {"meaning", false, ocv_check_text},
        {"drivers", false, ocv_check_components}, {"driver_version", false, ocv_check_sources},
        {"features", true, check_features},       {"devices", true, check_rules}};
    const struct ocv_yaml *features = ocv_yaml_get(root, "features");
    if (root->type == OCV_YAML_MAP && features) { /* rules refer to them and may stand first */
        int status = check_features(r, features);
        if (status < 0)
            return status;
        r->features = features;
    }
    return ocv_check_map(r, root, fields, sizeof(fields) / sizeof(*fields));
}

int ocv_declaration_read(const char *source, const char *text, size_t len,
                         struct ocv_declaration *out, struct ocv_error *err)
{
    struct ocv_declaration d = {0};
    struct ocv_check r = {.source = source, .err = err};
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
