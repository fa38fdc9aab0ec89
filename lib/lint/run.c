/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One input through all checks, and what the checks ask about its index. */
#include "internal.h"

#include "vocabulary.h"

#include <string.h>

const json_t *ocv_lint_entry_json(const struct ocv_lint *lint, size_t entry)
{
    return json_array_get(json_object_get(lint->root, "manifests"), entry);
}

const char *ocv_lint_annotation(const struct ocv_lint *lint, size_t entry, const char *key)
{
    const json_t *annotations = json_object_get(ocv_lint_entry_json(lint, entry), "annotations");
    return json_string_value(json_object_get(annotations, key));
}

const char *ocv_lint_index_annotation(const struct ocv_lint *lint, const char *key)
{
    return json_string_value(json_object_get(json_object_get(lint->root, "annotations"), key));
}

const char *ocv_lint_label(const struct ocv_lint *lint, size_t entry)
{
    const char *label = ocv_lint_annotation(lint, entry, OCV_ANNOTATION_LABEL);
    return label ? label : "";
}

bool ocv_lint_usable(const struct ocv_entry *entry)
{
    return entry->code == OCV_REJECT_NONE;
}

bool ocv_lint_attests(const struct ocv_lint *lint, size_t entry)
{
    return ocv_index_entry(lint->index, entry)->code == OCV_REJECT_ATTESTATION;
}

static bool same_text(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

bool ocv_lint_same_platform(const struct ocv_entry *a, const struct ocv_entry *b)
{
    return same_text(a->platform.os, b->platform.os) &&
           same_text(a->platform.architecture, b->platform.architecture);
}

bool ocv_lint_hidden(const struct ocv_entry *entry)
{
    return entry->platform.variant && !strncmp(entry->platform.variant, "x-", 2);
}

void ocv_lint_hidden_variant(const char *label, char out[80])
{
    size_t n = 2;
    memcpy(out, "x-", 3);
    for (; *label && n < 79; label++)
        out[n++] = *label == '.' ? '-' : *label;
    out[n] = '\0';
}

const struct ocv_lint_child *ocv_lint_child(const struct ocv_lint *lint, size_t entry)
{
    const struct ocv_lint_input *input = lint->input;
    if (entry >= input->n_children || input->children[entry].state != OCV_LINT_STATE_READ)
        return NULL;
    return &input->children[entry];
}

bool ocv_lint_is_feature(struct ocv_property p, const char *text)
{
    size_t n = strlen(p.ns);
    return !strncmp(text, p.ns, n) && !strncmp(text + n, " :: ", 4) &&
           !strcmp(text + n + 4, p.feature);
}

bool ocv_lint_known_namespace(const char *ns)
{
    for (size_t i = 0; i < OCV_LINT_COUNT(ocv_vocabulary_namespaces); i++)
        if (!strcmp(ocv_vocabulary_namespaces[i], ns))
            return true;
    return false;
}

static const char *static_list(const struct ocv_lint *lint, const char *ns)
{
    char key[256];
    int n = snprintf(key, sizeof(key), "%s%s", OCV_ANNOTATION_STATIC, ns);
    if (n < 0 || (size_t)n >= sizeof(key) || ocv_namespace_owned(ns))
        return NULL;
    return ocv_lint_index_annotation(lint, key);
}

bool ocv_lint_is_static(const struct ocv_lint *lint, const char *ns)
{
    return static_list(lint, ns) != NULL;
}

/* "feature :: value" of `item`, blanks around them not counted. False: malformed. */
static bool split_item(const char *item, size_t len, const char *parts[2], size_t lens[2])
{
    const char *middle = memmem(item, len, "::", 2);
    if (!middle)
        return false;
    parts[0] = item;
    lens[0] = (size_t)(middle - item);
    parts[1] = middle + 2;
    lens[1] = len - lens[0] - 2;
    for (int i = 0; i < 2; i++) {
        while (lens[i] && strchr(" \t\n", *parts[i])) {
            parts[i]++;
            lens[i]--;
        }
        while (lens[i] && strchr(" \t\n", parts[i][lens[i] - 1]))
            lens[i]--;
    }
    return ocv_property_name_valid(parts[0], lens[0]) &&
           ocv_property_value_valid(parts[1], lens[1]);
}

static bool is_text(const char *part, size_t len, const char *text)
{
    return strlen(text) == len && !memcmp(part, text, len);
}

/* Features and values count from their first place; a malformed list has none, as readers have it.
 */
int ocv_lint_static_value(const struct ocv_lint *lint, struct ocv_property p, int *feature_at)
{
    const char *list = static_list(lint, p.ns), *parts[2];
    size_t lens[2];
    int value_at = -1, first = -1, place = 0;
    for (; list; place++) {
        size_t n = strcspn(list, ",");
        if (!split_item(list, n, parts, lens)) {
            value_at = first = -1;
            break;
        }
        if (is_text(parts[0], lens[0], p.feature)) {
            first = first < 0 ? place : first;
            if (value_at < 0 && is_text(parts[1], lens[1], p.value))
                value_at = place;
        }
        list = list[n] ? list + n + 1 : NULL;
    }
    if (feature_at)
        *feature_at = first;
    return value_at;
}

static void check_size(struct ocv_lint *lint)
{
    if (lint->input->len > OCV_MANIFEST_MAX)
        ocv_lint_index_at(lint, OCV_LINT_INDEX_TOO_LARGE, "",
                          "the index has %zu bytes, more than %u (4 MiB)", lint->input->len,
                          OCV_MANIFEST_MAX);
    ocv_lint_hint(lint, "leave attestations out, or shorten annotations");
}

static int read_index(struct ocv_lint *lint)
{
    const struct ocv_lint_input *input = lint->input;
    int status =
        ocv_index_parse(input->bytes, input->len, input->media_type, &lint->index, lint->err);
    if (status == OCV_OK)
        status = ocv_json_load("index", input->bytes, input->len, OCV_MANIFEST_MAX, &lint->root,
                               lint->err);
    return status < 0 ? ocv_error_prefix(lint->err, "%s", input->name) : OCV_OK;
}

static void (*const index_checks[])(struct ocv_lint *) = {
    ocv_lint_check_annotations, ocv_lint_check_labels,    ocv_lint_check_reach,
    ocv_lint_check_properties,  ocv_lint_check_configs,   ocv_lint_check_config_labels,
    ocv_lint_check_layout,      ocv_lint_check_platforms, ocv_lint_check_trust,
};

int ocv_lint_run(const struct ocv_lint_input *input, const struct ocv_lint_options *options,
                 struct ocv_lint_report *report, struct ocv_error *err)
{
    static const struct ocv_lint_options nothing;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_json *root = NULL;
    struct ocv_lint lint = {
        .input = input, .options = options ? options : &nothing, .report = report, .err = err};
    if (input->bytes || input->len)
        check_size(&lint);
    if (lint.status == OCV_OK && input->bytes && input->len <= OCV_MANIFEST_MAX)
        lint.status = read_index(&lint);
    index = lint.index;
    root = lint.root;
    for (size_t i = 0; lint.status == OCV_OK && root && i < OCV_LINT_COUNT(index_checks); i++)
        index_checks[i](&lint);
    if (lint.status == OCV_OK)
        ocv_lint_check_tags(&lint);
    return lint.status;
}
