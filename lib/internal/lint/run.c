/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One input through all checks, and what the checks ask about its index. */
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/internal/lint/lint_internal.h"

#include "gen/vocabulary.h"

#include <stdlib.h>
#include <string.h>

const json_t *ocv_lint_entry_json(const struct ocv_lint *lint, size_t entry)
{
    return json_array_get(json_object_get(lint->root, "manifests"), entry);
}

const char *ocv_lint_annotation(const struct ocv_lint *lint, size_t entry, const char *key)
{
    const json_t *annotations = json_object_get(ocv_lint_entry_json(lint, entry), "annotations");
    return ocv_json_text(annotations, key);
}

const char *ocv_lint_index_annotation(const struct ocv_lint *lint, const char *key)
{
    return ocv_json_text(json_object_get(lint->root, "annotations"), key);
}

const char *ocv_lint_label(const struct ocv_lint *lint, size_t entry)
{
    const char *label = ocv_lint_annotation(lint, entry, OCV_ANNOTATION_LABEL);
    return label ? label : "";
}

const char *ocv_lint_name(const struct ocv_lint *lint, size_t entry)
{
    bool is_default = ocv_index_shows_default(lint->index, ocv_index_entry(lint->index, entry));
    return is_default ? "the default" : ocv_lint_label(lint, entry);
}

bool ocv_lint_attests(const struct ocv_lint *lint, size_t entry)
{
    return ocv_index_entry(lint->index, entry)->code == OCV_REJECT_ATTESTATION;
}

bool ocv_lint_same_platform(const struct ocv_entry *a, const struct ocv_entry *b)
{
    return ocv_text_same(a->platform.os, b->platform.os) &&
           ocv_text_same(a->platform.architecture, b->platform.architecture);
}

bool ocv_lint_same_sets(const struct ocv_entry *a, const struct ocv_entry *b)
{
    return a->n_properties == b->n_properties &&
           !memcmp(a->properties, b->properties, a->n_properties * sizeof(*a->properties));
}

const struct ocv_lint_child *ocv_lint_child(const struct ocv_lint *lint, size_t entry)
{
    const struct ocv_lint_input *input = lint->input;
    if (entry >= input->n_children || input->children[entry].state != OCV_LINT_STATE_READ)
        return NULL;
    return &input->children[entry];
}

const char *ocv_lint_architecture(const char *name)
{
    for (size_t i = 0; name && i < OCV_LINT_COUNT(ocv_lint_architectures); i++)
        if (!strcmp(ocv_lint_architectures[i].a, name))
            return ocv_lint_architectures[i].b;
    return NULL;
}

const char *ocv_lint_level(const char *architecture, const char *variant, char feature[128])
{
    for (size_t k = 0; variant && architecture && k < OCV_LINT_COUNT(ocv_lint_levels); k++) {
        const char *level = ocv_lint_levels[k].c;
        if (strcmp(ocv_lint_levels[k].a, architecture) != 0 ||
            strcmp(ocv_lint_levels[k].b, variant) != 0)
            continue;
        snprintf(feature, 128, "%.*s", (int)(strrchr(level, ' ') - 3 - level), level);
        return level;
    }
    return NULL;
}

const struct lint_fact *ocv_lint_accelerator(const char *name, size_t len)
{
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_accelerators); k++)
        if (strlen(ocv_lint_accelerators[k].a) == len &&
            !strncmp(ocv_lint_accelerators[k].a, name, len))
            return &ocv_lint_accelerators[k];
    return NULL;
}

bool ocv_lint_misspelt(const char *ns, char meant[OCV_WORD_MAX])
{
    return ocv_vocabulary_check(ns, NULL, NULL, meant) == OCV_WORD_NAMESPACE && *meant;
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

bool ocv_lint_list_namespaces(const struct ocv_lint *lint, const char *more, struct ocv_buffer *out)
{
    const char *const *names;
    size_t n = ocv_index_namespaces(lint->index, &names, NULL);
    bool named = !more;
    for (size_t i = 0; i < n; i++) {
        named = named || strcmp(names[i], more) == 0;
        if (ocv_buffer_printf(out, NULL, "%s%s", i ? ", " : "", names[i]) < 0)
            return false;
    }
    return named || ocv_buffer_printf(out, NULL, "%s%s", n ? ", " : "", more) == OCV_OK;
}

static int read_index(struct ocv_lint *lint)
{
    const struct ocv_lint_input *input = lint->input;
    int status =
        ocv_index_parse(input->bytes, input->len, input->media_type, &lint->index, lint->err);
    if (status == OCV_OK)
        status = ocv_json_load("index", input->bytes, input->len, OCV_MANIFEST_MAX, &lint->root,
                               lint->err);
    if (status < 0)
        return ocv_error_prefix(lint->err, "%s", input->name);
    size_t n = ocv_index_count(lint->index);
    if (input->file && !input->source && !(lint->places = calloc(n + 1, sizeof(*lint->places))))
        return ocv_error_nomem(lint->err);
    if (lint->places)
        ocv_lint_locate_entries(input->bytes, input->len, lint->places, n);
    return ocv_lint_read_statics(lint);
}

/* The checks that need no images, and those that do. */
static void (*const source_checks[])(struct ocv_lint *) = {
    ocv_lint_check_annotations, ocv_lint_check_labels,         ocv_lint_check_reach,
    ocv_lint_check_properties,  ocv_lint_check_source_default,
};
static void (*const index_checks[])(struct ocv_lint *) = {
    ocv_lint_check_annotations, ocv_lint_check_labels,    ocv_lint_check_reach,
    ocv_lint_check_properties,  ocv_lint_check_configs,   ocv_lint_check_config_labels,
    ocv_lint_check_layout,      ocv_lint_check_platforms, ocv_lint_check_trust,
    ocv_lint_check_content,     ocv_lint_check_users,
};

int ocv_lint_run(const struct ocv_lint_input *input, const struct ocv_lint_options *options,
                 struct ocv_lint_report *report, struct ocv_error *err)
{
    static const struct ocv_lint_options nothing;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_json *root = NULL;
    struct ocv_lint lint = {
        .input = input, .options = options ? options : &nothing, .report = report, .err = err};
    if (input->len > OCV_MANIFEST_MAX)
        ocv_lint_check_size(&lint);
    if (lint.status == OCV_OK && input->bytes && input->len <= OCV_MANIFEST_MAX)
        lint.status = read_index(&lint);
    index = lint.index;
    root = lint.root;
    void (*const *checks)(struct ocv_lint *) = input->source ? source_checks : index_checks;
    size_t n = input->source ? OCV_LINT_COUNT(source_checks) : OCV_LINT_COUNT(index_checks);
    for (size_t i = 0; lint.status == OCV_OK && root && i < n; i++)
        checks[i](&lint);
    if (lint.status == OCV_OK)
        ocv_lint_check_tags(&lint);
    free(lint.statics);
    free(lint.places);
    return lint.status;
}
