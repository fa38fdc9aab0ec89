/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Labels of the images' configurations (OCV405 to 410). */
#include "lib/base/format/json.h"
#include "lib/base/text.h"
#include "lib/internal/lint/lint_internal.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next property from `*i` on that an image has to say of itself; what ranks it among others is
 * the index's. False: no more. */
static bool next_own(const struct ocv_lint *lint, const struct ocv_properties *all, size_t *i,
                     struct ocv_property *out)
{
    while (*i < ocv_properties_count(all)) {
        char key[256];
        *out = ocv_properties_get(all, (*i)++);
        snprintf(key, sizeof(key), OCV_ANNOTATION_STATIC "%.200s", out->ns);
        if (!ocv_lint_index_annotation(lint, key))
            return true;
    }
    return false;
}

/* As sets: order and blanks do not count. Text that does not parse is only equal to itself. */
static bool same_properties(struct ocv_lint *lint, const char *a, const char *b)
{
    ocv_auto(ocv_properties) x = NULL;
    ocv_auto(ocv_properties) y = NULL;
    int status = ocv_properties_parse(a, strlen(a), &x, NULL);
    if (status == OCV_OK)
        status = ocv_properties_parse(b, strlen(b), &y, NULL);
    if (status == OCV_ERR_NOMEM)
        lint->status = ocv_error_nomem(lint->err);
    if (status < 0)
        return !strcmp(a, b);
    struct ocv_property p, q;
    for (size_t i = 0, k = 0;;) {
        bool more = next_own(lint, x, &i, &p);
        if (more != next_own(lint, y, &k, &q))
            return false;
        if (!more)
            return true;
        if (strcmp(p.ns, q.ns) != 0 || strcmp(p.feature, q.feature) != 0 ||
            strcmp(p.value, q.value) != 0)
            return false;
    }
}

static void check_own(struct ocv_lint *lint, size_t i, const json_t *labels)
{
    const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
    const char *name = ocv_json_text(labels, OCV_ANNOTATION_LABEL);
    const char *list = ocv_json_text(labels, OCV_ANNOTATION_PROPERTIES);
    const char *wanted = ocv_lint_annotation(lint, i, OCV_ANNOTATION_LABEL);
    const char *properties = ocv_lint_annotation(lint, i, OCV_ANNOTATION_PROPERTIES);
    if (!name && !list)
        return;
    if (entry->kind == OCV_ENTRY_NON_VARIANT && name && !strcmp(name, "null") && list && !*list)
        return; /* the default goes by that name */
    if (entry->kind == OCV_ENTRY_NON_VARIANT && entry->code == OCV_REJECT_NONE) {
        ocv_lint_entry_at(lint, OCV_LINT_CONFIG_LABELS_INHERITED, i, "",
                          "not a variant, but its configuration has the labels of %s",
                          name ? name : "?");
        ocv_lint_hint(lint, "build with --label %s= --label %s=", OCV_ANNOTATION_LABEL,
                      OCV_ANNOTATION_PROPERTIES);
        return;
    }
    if (!name || !list) {
        ocv_lint_entry_at(lint, OCV_LINT_CONFIG_LABELS_HALF, i, "",
                          "the image's configuration has %s and not %s",
                          name ? OCV_ANNOTATION_LABEL : OCV_ANNOTATION_PROPERTIES,
                          name ? OCV_ANNOTATION_PROPERTIES : OCV_ANNOTATION_LABEL);
        ocv_lint_hint(lint, "variantctl index create --relabel writes both");
    }
    bool differ = (name && wanted && strcmp(name, wanted) != 0) ||
                  (list && properties && !same_properties(lint, list, properties));
    if (differ) {
        ocv_lint_entry_at(lint, OCV_LINT_CONFIG_LABELS_DISAGREE, i, "",
                          "the image's own labels are '%s' and '%.300s'", name ? name : "",
                          list ? list : "");
        ocv_lint_hint(lint, "variantctl index create --relabel writes what the index says");
    }
}

static void check_key(struct ocv_lint *lint, size_t i, const char *key)
{
    size_t len = strlen(key);
    if (strstr(key, "..") || key[0] == '.' || (len && key[len - 1] == '.')) {
        ocv_lint_entry_at(lint, OCV_LINT_LABEL_KEY_TYPO, i, "",
                          "the image's label %.200s has an empty part", key);
        return;
    }
    struct ocv_nearest nearest = {.wanted = key};
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_labels); k++)
        ocv_nearest_offer(&nearest, ocv_lint_labels[k].a);
    const char *meant = ocv_nearest_meant(&nearest);
    bool ours = false;
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_prefixes); k++)
        ours = ours || !strncmp(key, ocv_lint_prefixes[k].a, strlen(ocv_lint_prefixes[k].a));
    if (!meant || (!ours && nearest.distance > 2))
        return;
    ocv_lint_entry_at(lint, OCV_LINT_LABEL_KEY_TYPO, i, "",
                      "nothing reads the image's label %.200s", key);
    ocv_lint_hint(lint, "did you mean %s?", meant);
}

static bool has_namespace(const struct ocv_lint *lint, const struct ocv_entry *entry,
                          const char *ns)
{
    for (size_t k = 0; k < entry->n_properties; k++)
        if (!strcmp(ocv_index_property(lint->index, entry->properties[k]).ns, ns))
            return true;
    return false;
}

/* The list of the label is alternatives: one that the properties name is enough. */
static void check_accelerators(struct ocv_lint *lint, size_t i, const char *key, const char *names,
                               const char *separators)
{
    const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
    const char *other = NULL;
    bool device = false;
    /* An image that names none of the accelerators that the entry could speak of, as null and
     * processor builds do, may use one where there is one. */
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_accelerators); k++)
        device = device || has_namespace(lint, entry, ocv_lint_accelerators[k].b);
    if (!device)
        return;
    for (const char *at = names; at && *at;) {
        size_t n = strcspn(at, separators);
        const struct lint_fact *accelerator = ocv_lint_accelerator(at, n);
        if (!accelerator || has_namespace(lint, entry, accelerator->b))
            return;
        other = accelerator->b;
        at = separators[0] == ',' && at[n] ? at + n + 1 : NULL;
    }
    if (!other)
        return;
    ocv_lint_entry_at(lint, OCV_LINT_ACCELERATOR_LABEL_DISAGREES, i, "",
                      "the image's label %.200s means %s, which its properties do not name", key,
                      other);
    ocv_lint_hint(lint, "correct the label in the image, or the properties");
}

static void check_label(struct ocv_lint *lint, size_t i, const char *key, const char *value)
{
    const struct lint_fact *known = NULL;
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_labels) && !known; k++) {
        const char *name = ocv_lint_labels[k].a;
        size_t n = strlen(name);
        if (name[n - 1] == '.' ? !strncmp(key, name, n) && key[n] : !strcmp(key, name))
            known = &ocv_lint_labels[k];
    }
    bool misspelt = !known || strstr(key, "..");
    regex_t regex;
    if (misspelt)
        check_key(lint, i, key);
    if (!value)
        return;
    if (!misspelt && *known->b && strlen(value) <= 4096 &&
        regcomp(&regex, known->b, REG_EXTENDED | REG_NOSUB) == 0) {
        if (regexec(&regex, value, 0, NULL, 0) != 0) {
            ocv_lint_entry_at(
                lint, OCV_LINT_LABEL_VALUE_BAD, i, "",
                "the image's label %.200s=%.200s is not a value that its readers take", key, value);
            ocv_lint_hint(lint, "it must match %s", known->b);
        }
        regfree(&regex);
    }
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_accelerator_labels); k++) {
        const struct lint_fact *fact = &ocv_lint_accelerator_labels[k];
        size_t n = strlen(fact->a);
        if (!strcmp(fact->b, "list") && !strcmp(key, fact->a))
            check_accelerators(lint, i, key, value, ",");
        else if (!strcmp(fact->b, "part") && !strncmp(key, fact->a, n) && strcmp(value, "0") != 0)
            check_accelerators(lint, i, key, key + n, ".");
    }
}

void ocv_lint_check_config_labels(struct ocv_lint *lint)
{
    for (size_t i = 0; i < ocv_index_count(lint->index) && lint->status == OCV_OK; i++) {
        const struct ocv_lint_child *child = ocv_lint_child(lint, i);
        const json_t *config = child ? json_object_get(child->config, "config") : NULL;
        const json_t *labels = json_object_get(config, "Labels");
        const char *key;
        json_t *value;
        if (!labels || ocv_lint_attests(lint, i))
            continue;
        check_own(lint, i, labels);
        json_object_foreach((json_t *)labels, key, value)
        {
            check_label(lint, i, key, json_string_value(value));
        }
    }
}
