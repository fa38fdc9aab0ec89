/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the YAML file that an index is made of may hold (schema/index-source.schema.json). */
#include "lib/internal/edit/edit_internal.h"
#include "ocivariant/vocabulary.h"

#include <string.h>

#define REFERENCE_MAX 4096u
#define NAMESPACE_MAX 64u
#define OWN_PREFIX "dev.ocivariant."

static bool is_name(const char *text)
{
    return ocv_property_name_valid(text, strlen(text));
}

static bool is_label(const char *text)
{
    return ocv_label_valid(text, strlen(text));
}

static int check_static(const struct ocv_yaml_reader *r, const struct ocv_yaml *name)
{
    if (ocv_vocabulary_owns(name->text))
        return ocv_yaml_fail(r, name, "%s is probed on the host: it cannot be static", name->text);
    return OCV_OK;
}

static int check_annotation(const struct ocv_yaml_reader *r, const struct ocv_yaml *name)
{
    if (!strncmp(name->text, OWN_PREFIX, strlen(OWN_PREFIX)))
        return ocv_yaml_fail(r, name, "%.100s is written by this program itself", name->text);
    return OCV_OK;
}

static int check_platform(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    ocv_auto(ocv_platform) platform = NULL;
    int status = ocv_platform_parse(node->text, &platform, NULL);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(r->err);
    return status < 0 ? ocv_yaml_error(r, node, "is not OS/ARCHITECTURE[/VARIANT]") : OCV_OK;
}

#define TEXT .takes = OCV_TAKES_TEXT
#define NAMESPACE .wanted = "a namespace (a-z 0-9 _)", .good = is_name

static const struct ocv_yaml_rule any_text = {TEXT, .empty = true};
static const struct ocv_yaml_rule one_text = {TEXT};
static const struct ocv_yaml_rule namespace = {TEXT, NAMESPACE};
static const struct ocv_yaml_rule namespaces = {
    .takes = OCV_TAKES_TEXT | OCV_TAKES_LIST, .empty = true, .item = &namespace};
static const struct ocv_yaml_rule own_namespace = {TEXT, NAMESPACE, .len_max = NAMESPACE_MAX,
                                                   .check = check_static};
static const struct ocv_yaml_rule text_or_texts = {
    .takes = OCV_TAKES_TEXT | OCV_TAKES_LIST, .empty = true, .item = &any_text};
static const struct ocv_yaml_rule statics = {
    .takes = OCV_TAKES_MAP, .name = &own_namespace, .each = &text_or_texts};
static const struct ocv_yaml_rule annotation = {TEXT, .empty = true, .check = check_annotation};
static const struct ocv_yaml_rule annotations = {
    .takes = OCV_TAKES_MAP, .name = &annotation, .each = &any_text};

static const struct ocv_yaml_rule image = {TEXT, .len_max = REFERENCE_MAX};
static const struct ocv_yaml_rule images = {
    .takes = OCV_TAKES_TEXT | OCV_TAKES_LIST, .len_max = REFERENCE_MAX, .item = &image};
static const struct ocv_yaml_rule platform = {TEXT, .check = check_platform};
static const struct ocv_yaml_rule label = {
    TEXT, .wanted = "a label: a-z 0-9 with single . or _ between them, at most 48 characters",
    .good = is_label};

static const struct ocv_yaml_rule property = {TEXT, .hint = OCV_SOURCE_QUOTING_HINT};
static const struct ocv_yaml_rule feature = {
    .takes = OCV_TAKES_TEXT | OCV_TAKES_LIST, .min = 1, .item = &one_text};
static const struct ocv_yaml_rule features = {.takes = OCV_TAKES_MAP, .each = &feature};
static const struct ocv_yaml_rule properties = {.takes =
                                                    OCV_TAKES_TEXT | OCV_TAKES_LIST | OCV_TAKES_MAP,
                                                .empty = true,
                                                .item = &property,
                                                .each = &features};

static const struct ocv_yaml_key variant_keys[] = {{"label", &label, true},
                                                   {"image", &image, false},
                                                   {"platform", &platform, false},
                                                   {"properties", &properties, false}};
static const struct ocv_yaml_table variant_table = {"a variant", OCV_YAML_KEYS(variant_keys)};
static const struct ocv_yaml_rule variant = {.takes = OCV_TAKES_MAP, .table = &variant_table};
static const struct ocv_yaml_rule variants = {
    .takes = OCV_TAKES_LIST, .max = OCV_INDEX_ENTRIES_MAX, .item = &variant};

static const char *const schema_words[] = {"dev.ocivariant.index-source/v1", NULL};
static const struct ocv_yaml_rule schema = {TEXT, .words = schema_words};
static const char *const layout_words[] = {"hidden", "same-platform", NULL};
static const struct ocv_yaml_rule layout = {TEXT, .words = layout_words};

static const char *const derive_words[] = {"true", "false", NULL};
static const struct ocv_yaml_rule derive = {TEXT, .words = derive_words};

static const struct ocv_yaml_key keys[] = {
    {"derive", &derive, false},           {"schema", &schema, false},
    {"target", &one_text, false},         {"layout", &layout, false},
    {"namespaces", &namespaces, false},   {"static", &statics, false},
    {"annotations", &annotations, false}, {"image", &image, false},
    {"defaults", &images, false},         {"variants", &variants, false}};
static const struct ocv_yaml_table table = {OCV_YAML_KEYS(keys)};
const struct ocv_yaml_rule ocv_edit_source_rule = {.takes = OCV_TAKES_MAP, .table = &table};
