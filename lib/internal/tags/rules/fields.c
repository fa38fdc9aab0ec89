/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a rule file may hold (schema/tag-rules.schema.json says the same). */
#include "lib/core/core_internal.h"
#include "lib/internal/tags/rules/read.h"

#include <string.h>

static bool is_name(const char *text)
{
    return ocv_property_name_valid(text, strlen(text));
}

/* HOST/PATH as references have it, with stars; another text would never match. */
static bool is_repository(const char *text)
{
    return strchr(text, '/') && !strstr(text, "//") &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-:/*[]") == strlen(text);
}

/* A dash elsewhere in a bracket expression could mean a range. */
static bool are_separators(const char *text)
{
    return strspn(text, "-_.+") == strlen(text) && !strchr(text + 1, '-');
}

/* "90_real", "100a_real", "120f_real", "90_virtual" */
static bool is_sm_arch(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    if (digits < 2 || digits > 3 || *text == '0')
        return false;
    if (strcmp(rest, "_virtual") == 0)
        return true;
    rest += *rest == 'a' || *rest == 'f';
    return strcmp(rest, "_real") == 0;
}

/* "12.4": the driver's version from which on machine code runs. */
static bool is_minor(const char *text)
{
    size_t major = strspn(text, "0123456789");
    const char *minor = text + major + (text[major] == '.');
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ||
           (major > 0 && major < 3 && minor > text + major && *minor &&
            strspn(minor, "0123456789") == strlen(minor) && strlen(minor) < 3);
}

/* Would the template be a property if what it captures were plain? */
static int check_property(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    char sample[OCV_TAG_TEXT_MAX];
    ocv_auto(ocv_properties) parsed = NULL;
    size_t n = 0;
    for (const char *p = node->text; *p && n + 2 < sizeof(sample); p++) {
        bool capture = *p == '\\' && p[1] >= '0' && p[1] <= '9';
        sample[n++] = capture ? '1' : *p;
        p += capture ? 1 : 0;
    }
    sample[n] = '\0';
    int status = ocv_properties_parse(sample, n, &parsed, NULL);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(r->err);
    if (status < 0 || ocv_properties_count(parsed) != 1)
        return ocv_yaml_error(r, node, "is not 'namespace :: feature :: value'");
    return OCV_OK;
}

static int check_platform(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    ocv_auto(ocv_platform) platform = NULL;
    int status = ocv_platform_parse(node->text, &platform, NULL);
    if (status == OCV_ERR_NOMEM)
        return ocv_error_nomem(r->err);
    return status < 0 ? ocv_yaml_error(r, node, "is not OS/ARCHITECTURE") : OCV_OK;
}

/* without a variant */
static int check_architecture(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    const char *slash = strchr(node->text, '/');
    if (!slash || strchr(slash + 1, '/'))
        return ocv_yaml_error(r, node, "is not OS/ARCHITECTURE");
    return check_platform(r, node);
}

/* "{version}-{python}": braces around names. */
static int check_group_tag(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    bool any = false;
    for (const char *p = node->text; *p; p++) {
        const char *end = *p == '{' ? strchr(p, '}') : NULL;
        if (*p == '}' ||
            (*p == '{' && (!end || !ocv_property_name_valid(p + 1, (size_t)(end - p - 1)))))
            return ocv_yaml_error(r, node, "must name groups in braces, as {version}");
        any = any || end;
        p = end ? end : p;
    }
    return any ? OCV_OK : ocv_yaml_error(r, node, "names no group, as {version}");
}

static int check_prefer(const struct ocv_yaml_reader *r, const struct ocv_yaml *node)
{
    static const char *const lengths[] = {"shortest", NULL};
    static const char *const ages[] = {"newest", "oldest", NULL};
    static const struct ocv_yaml_rule tag = {.takes = OCV_TAKES_TEXT, .words = lengths};
    static const struct ocv_yaml_rule kind = {.takes = OCV_TAKES_TEXT | OCV_TAKES_LIST,
                                              .words = ages};
    return ocv_yaml_check(r, strcmp(node->key, "tag") == 0 ? &tag : &kind, node);
}

#define TEXT .takes = OCV_TAKES_TEXT, .len_max = OCV_TAG_PATTERN_MAX
#define NAME .wanted = "a name (a-z 0-9 _)", .good = is_name
#define LIST_OF(rule) .takes = OCV_TAKES_LIST, .item = &(rule)

static const struct ocv_yaml_rule text = {TEXT};
static const struct ocv_yaml_rule note = {.takes = OCV_TAKES_TEXT, .empty = true};
static const struct ocv_yaml_rule flag = {.takes = OCV_TAKES_TEXT, .words = ocv_yaml_flag_words};
static const struct ocv_yaml_rule name = {TEXT, NAME};
static const struct ocv_yaml_rule property = {TEXT, .check = check_property};
static const struct ocv_yaml_rule gives = {LIST_OF(property)};
static const struct ocv_yaml_rule pair = {TEXT, .empty = true};
static const struct ocv_yaml_rule where = {.takes = OCV_TAKES_MAP, .name = &name, .each = &pair};
static const struct ocv_yaml_rule group = {NAME, .takes = OCV_TAKES_TEXT | OCV_TAKES_MAP,
                                           .len_max = OCV_TAG_PATTERN_MAX, .name = &name,
                                           .each = &pair};
static const struct ocv_yaml_rule platform = {TEXT, .check = check_platform};

static const struct ocv_yaml_key part_keys[] = {
    {"match", &text, true},         {"kind", &text, false},   {"gives", &gives, false},
    {"assumes", &gives, false},     {"group", &group, false}, {"ignore", &flag, false},
    {"platform", &platform, false}, {"refuse", &text, false}, {"first", &flag, false},
    {"repeat", &flag, false},       {"label", &text, false},  {"config", &name, false},
    {"note", &note, false}};
static const struct ocv_yaml_table part_table = {"a part", OCV_YAML_KEYS(part_keys)};
const struct ocv_yaml_rule ocv_tag_part_rule = {.takes = OCV_TAKES_MAP, .table = &part_table};

static const struct ocv_yaml_key use_keys[] = {
    {"use", &text, true}, {"kind", &text, false}, {"label", &text, false}};
static const struct ocv_yaml_table use_table = {"a part", OCV_YAML_KEYS(use_keys)};
static const struct ocv_yaml_table item_table = {"a part", OCV_YAML_KEYS(part_keys),
                                                 .other = &use_table};
static const struct ocv_yaml_rule item = {.takes = OCV_TAKES_MAP, .table = &item_table};
static const struct ocv_yaml_rule items = {LIST_OF(item), .min = 1, .max = OCV_TAG_ITEMS_MAX};

static const struct ocv_yaml_rule repository = {.takes = OCV_TAKES_TEXT | OCV_TAKES_MAP,
                                                .wanted =
                                                    "HOST/PATH (\"docker.io/pytorch/pytorch\")",
                                                .good = is_repository,
                                                .len_max = OCV_TAG_PATTERN_MAX,
                                                .table = &part_table};
static const struct ocv_yaml_rule repositories = {LIST_OF(repository), .min = 1};

static const struct ocv_yaml_rule notation = {LIST_OF(ocv_tag_part_rule)};
static const struct ocv_yaml_rule notations = {.takes = OCV_TAKES_MAP, .each = &notation};

static const struct ocv_yaml_rule text_or_texts = {
    .takes = OCV_TAKES_TEXT | OCV_TAKES_LIST, .len_max = OCV_TAG_PATTERN_MAX, .item = &text};
static const struct ocv_yaml_key default_keys[] = {
    {"missing", &text_or_texts, false}, {"said", &text, false},
    {"where", &where, false},           {"gives", &gives, false},
    {"assumes", &gives, false},         {"group", &group, false},
    {"platform", &platform, false},     {"refuse", &text, false},
    {"config", &name, false},           {"note", &note, false}};
static const struct ocv_yaml_table default_table = {"a default", OCV_YAML_KEYS(default_keys)};
static const struct ocv_yaml_rule one_default = {.takes = OCV_TAKES_MAP, .table = &default_table};
static const struct ocv_yaml_rule defaults = {LIST_OF(one_default)};

static const struct ocv_yaml_rule sm_arch = {
    TEXT, .wanted = "NN_real, NNa_real, NNf_real or NN_virtual", .good = is_sm_arch};
static const char *const any_word[] = {"any", NULL};
static const struct ocv_yaml_rule sm_archs = {.takes = OCV_TAKES_TEXT | OCV_TAKES_LIST,
                                              .words = any_word,
                                              .min = 1,
                                              .max = OCV_TAG_SM_MAX,
                                              .item = &sm_arch};
static const struct ocv_yaml_rule architecture = {TEXT, .check = check_architecture};
static const struct ocv_yaml_rule minor = {
    TEXT, .wanted = "true, false, or the driver's CUDA version (\"12.4\")", .good = is_minor};
static const char *const truths[] = {"true", "false", NULL};
static const struct ocv_yaml_rule truth = {TEXT, .words = truths};
static const struct ocv_yaml_key cuda_keys[] = {
    {"toolkit", &text, false},     {"where", &where, false}, {"platform", &architecture, false},
    {"sm_arch", &sm_archs, false}, {"minor", &minor, false}, {"compat", &truth, false},
    {"note", &note, false}};
static const struct ocv_yaml_table cuda_table = {"a table", OCV_YAML_KEYS(cuda_keys)};
static const struct ocv_yaml_rule cuda = {.takes = OCV_TAKES_MAP, .table = &cuda_table};
static const char *const cuda_words[] = {"minor", "strict", "compat", NULL};
static const struct ocv_yaml_rule cudas = {.takes = OCV_TAKES_TEXT | OCV_TAKES_LIST,
                                           .words = cuda_words,
                                           .max = OCV_TAG_CUDA_MAX,
                                           .item = &cuda};

static const char *const schema_words[] = {OCV_TAG_RULES_SCHEMA, NULL};
static const struct ocv_yaml_rule schema = {.takes = OCV_TAKES_TEXT, .words = schema_words};
static const struct ocv_yaml_rule separators = {TEXT, .wanted = "some of - _ . +, the dash first",
                                                .good = are_separators};
static const struct ocv_yaml_rule group_tag = {TEXT, .check = check_group_tag};
static const struct ocv_yaml_rule group_tags = {LIST_OF(group_tag)};
static const struct ocv_yaml_rule preference = {
    .takes = OCV_TAKES_TEXT | OCV_TAKES_LIST, .item = &text, .check = check_prefer};
static const struct ocv_yaml_rule prefer = {.takes = OCV_TAKES_MAP, .each = &preference};
static const struct ocv_yaml_rule namespace = {TEXT, .wanted = "a namespace (a-z 0-9 _)",
                                               .good = is_name};
static const struct ocv_yaml_rule namespaces = {LIST_OF(namespace)};

static const struct ocv_yaml_key keys[] = {
    {"schema", &schema, true},          {"family", &text, false},
    {"description", &text, false},      {"repositories", &repositories, false},
    {"separators", &separators, false}, {"parts", &items, false},
    {"defaults", &defaults, false},     {"cuda", &cudas, false},
    {"group_tags", &group_tags, false}, {"prefer", &prefer, false},
    {"namespaces", &namespaces, false}, {"notations", &notations, false}};
static const struct ocv_yaml_table table = {OCV_YAML_KEYS(keys)};
const struct ocv_yaml_rule ocv_tag_rules_rule = {.takes = OCV_TAKES_MAP, .table = &table};
