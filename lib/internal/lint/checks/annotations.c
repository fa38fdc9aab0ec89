/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Annotations of the index: schema, namespaces, static namespaces (OCV101 to 110, 124, 125). */
#include "lib/base/text.h"
#include "lib/internal/edit/edit_internal.h"
#include "lib/internal/lint/lint_internal.h"

#include "gen/vocabulary.h"
#include "ocivariant/vocabulary.h"

#include <string.h>

static bool uses_namespace(const struct ocv_lint *lint, const char *ns)
{
    for (size_t i = 0; i < ocv_index_property_count(lint->index); i++)
        if (!strcmp(ocv_index_property(lint->index, (uint32_t)i).ns, ns))
            return true;
    return false;
}

/* For one accelerator `index create` writes the order itself; for two it must be given. Named in
 * the order of the entries. */
static void check_order(struct ocv_lint *lint)
{
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ERROR_MESSAGE_MAX);
    size_t n = 0;
    for (size_t i = 0; i < ocv_index_count(lint->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        for (size_t k = 0; k < entry->n_properties; k++) {
            const char *ns = ocv_index_property(lint->index, entry->properties[k]).ns;
            char key[300];
            snprintf(key, sizeof(key), OCV_ANNOTATION_STATIC "%.250s", ns);
            if (ocv_vocabulary_is_cpu(ns) || ocv_lint_index_annotation(lint, key) ||
                ocv_text_listed(list.data, ns))
                continue;
            if (ocv_buffer_printf(&list, NULL, "%s%s", n++ ? ", " : "", ns) < 0)
                return; /* more than a reader wants */
        }
    }
    if (n < 2)
        return;
    ocv_lint_index_at(lint, OCV_LINT_NAMESPACES_MISSING, "/annotations",
                      "%zu accelerators without an order: %s", n, list.data);
    ocv_lint_hint(lint, "add 'namespaces: [%s]', most important first", list.data);
}

/* Items as readers split them: the library says which are malformed or double, by warnings. */
static void check_namespaces(struct ocv_lint *lint)
{
    static const char at[] = "/annotations/" OCV_ANNOTATION_NAMESPACES;
    const char *const *names;
    bool declared;
    size_t n = ocv_index_namespaces(lint->index, &names, &declared);
    if (!declared && lint->input->draft) {
        check_order(lint);
        return;
    }
    if (!declared) {
        if (ocv_index_property_count(lint->index) == 0)
            return;
        ocv_lint_index_at(lint, OCV_LINT_NAMESPACES_MISSING, "/annotations", "%s is missing",
                          OCV_ANNOTATION_NAMESPACES);
        ocv_lint_hint(lint, "--fix writes the order that readers use now; put the namespace that "
                            "matters most first");
        return;
    }
    const char *const *warnings;
    size_t n_warnings = ocv_index_warnings(lint->index, &warnings);
    for (size_t i = 0; i < n_warnings; i++)
        if (!strncmp(warnings[i], OCV_ANNOTATION_NAMESPACES, strlen(OCV_ANNOTATION_NAMESPACES)))
            ocv_lint_index_at(lint, OCV_LINT_NAMESPACES_MALFORMED, at, "%s", warnings[i]);
    /* Is there an entry that no reader takes? Its namespaces are unknown. */
    bool broken = lint->input->partial;
    for (size_t i = 0; i < ocv_index_count(lint->index); i++)
        broken = broken || ((ocv_lint_annotation(lint, i, OCV_ANNOTATION_LABEL) ||
                             ocv_lint_annotation(lint, i, OCV_ANNOTATION_PROPERTIES)) &&
                            ocv_index_entry(lint->index, i)->code != OCV_REJECT_NONE);
    /* The list without what no variant uses. */
    char list[OCV_ERROR_HINT_MAX] = "";
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof(list); i++)
        if (uses_namespace(lint, names[i]))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                                     names[i]);
    for (size_t i = 0; i < n && !broken; i++) {
        if (uses_namespace(lint, names[i]))
            continue;
        ocv_lint_index_at(lint, OCV_LINT_NAMESPACE_UNUSED, at, "no variant uses the namespace %s",
                          names[i]);
        if (used && used < sizeof(list) && lint->input->yaml)
            ocv_lint_hint(lint, "'namespaces: [%s]' leaves it out", list);
        else if (used && used < sizeof(list))
            ocv_lint_hint(lint,
                          "--namespaces '%s' leaves it out: variantctl index annotate --namespaces "
                          "'%s' %s",
                          list, list, ocv_lint_target(lint));
    }
}

static void check_listed(struct ocv_lint *lint)
{
    for (size_t i = 0; i < ocv_index_count(lint->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        const char *last = "";
        for (size_t k = 0; k < entry->n_properties; k++) {
            const char *ns = ocv_index_property(lint->index, entry->properties[k]).ns;
            bool again = !strcmp(ns, last);
            last = ns;
            if (again || ocv_edit_declares(lint->index, ns))
                continue;
            ocv_lint_entry_at(lint, OCV_LINT_NAMESPACE_NOT_LISTED, i,
                              "/annotations/" OCV_ANNOTATION_PROPERTIES,
                              "the namespace %s is not in %s", ns,
                              lint->input->yaml ? "'namespaces'" : OCV_ANNOTATION_NAMESPACES);
            /* what is not written yet gets it by its author, else --fix adds it */
            ocv_auto_buffer list;
            char meant[OCV_WORD_MAX];
            ocv_buffer_init(&list, OCV_ERROR_HINT_MAX);
            if (ocv_lint_misspelt(ns, meant))
                ocv_lint_hint(lint, "did you mean %s?", meant);
            else if (!lint->input->draft)
                ocv_lint_hint(lint, "--fix appends it there, as the least important one");
            else if (ocv_lint_list_namespaces(lint, ns, &list))
                ocv_lint_hint(lint,
                              lint->input->yaml
                                  ? "'namespaces: [%s]' lists it, as the least important one"
                                  : "--namespaces '%s' lists it, as the least important one",
                              list.data);
        }
    }
}

static void check_static(struct ocv_lint *lint, const char *key)
{
    const char *ns = key + strlen(OCV_ANNOTATION_STATIC);
    char at[300];
    snprintf(at, sizeof(at), "/annotations/%.250s", key);
    if (ocv_lint_known_namespace(ns)) {
        ocv_lint_index_at(lint, OCV_LINT_STATIC_OWNED, at,
                          "hosts are probed for %s: an index cannot define it", ns);
        ocv_lint_hint(lint, "use a name of your own, such as priority");
        return;
    }
    /* a property that cannot be there finds its place only if the list is well-formed */
    bool bad = !ocv_property_name_valid(ns, strlen(ns)) || !ocv_lint_index_annotation(lint, key);
    const char *const *warnings;
    size_t n = ocv_index_warnings(lint->index, &warnings);
    for (size_t i = 0; i < n; i++)
        bad = bad || (!strncmp(warnings[i], key, strlen(key)) && warnings[i][strlen(key)] == ':');
    if (bad) {
        ocv_lint_index_at(lint, OCV_LINT_STATIC_MALFORMED, at,
                          "%.200s is not a list 'feature :: value, ...'", key);
    } else if (!uses_namespace(lint, ns) && !lint->input->partial) {
        ocv_lint_index_at(lint, OCV_LINT_STATIC_UNUSED, at, "no variant uses %s", ns);
    }
}

#define OWN_PREFIX "dev.ocivariant."

static const char *const index_keys[] = {OCV_ANNOTATION_NAMESPACES, OCV_ANNOTATION_SCHEMA};
static const char *const entry_keys[] = {OCV_ANNOTATION_LABEL, OCV_ANNOTATION_PROPERTIES};

static bool is_one(const char *const keys[2], const char *key)
{
    return !strcmp(keys[0], key) || !strcmp(keys[1], key);
}

/* A key of ours, or one that differs from it by a letter or two. */
static void check_key(struct ocv_lint *lint, const char *key, long entry)
{
    const char *const *here = entry < 0 ? index_keys : entry_keys;
    const char *const *there = entry < 0 ? entry_keys : index_keys;
    bool ranks = !strncmp(key, OCV_ANNOTATION_STATIC, strlen(OCV_ANNOTATION_STATIC));
    struct ocv_nearest nearest = {.wanted = key};
    if (is_one(here, key) || (ranks && entry < 0))
        return;
    for (size_t i = 0; i < 2; i++)
        ocv_nearest_offer(&nearest, here[i]);
    bool own = !strncmp(key, OWN_PREFIX, strlen(OWN_PREFIX)),
         misplaced = is_one(there, key) || ranks;
    const char *meant = misplaced ? NULL : ocv_nearest_meant(&nearest);
    if (!own && (!meant || nearest.distance > 2))
        return;
    if (entry < 0)
        ocv_lint_index_at(lint, OCV_LINT_ANNOTATION_KEY_UNKNOWN, "/annotations",
                          "nothing reads the annotation %.200s of an index", key);
    else
        ocv_lint_entry_at(lint, OCV_LINT_ANNOTATION_KEY_UNKNOWN, (size_t)entry, "/annotations",
                          "nothing reads the annotation %.200s of an entry", key);
    if (meant)
        ocv_lint_hint(lint, "did you mean %s?", meant);
    else if (misplaced)
        ocv_lint_hint(lint, "it belongs on %s", entry < 0 ? "an entry" : "the index");
}

static void check_texts(struct ocv_lint *lint, const json_t *annotations, long entry)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)annotations, key, value)
    {
        check_key(lint, key, entry);
        if (json_is_string(value))
            continue;
        if (entry < 0)
            ocv_lint_index_at(lint, OCV_LINT_ANNOTATION_NOT_TEXT, "/annotations",
                              "the annotation %.200s is not a string", key);
        else
            ocv_lint_entry_at(lint, OCV_LINT_ANNOTATION_NOT_TEXT, (size_t)entry, "/annotations",
                              "the annotation %.200s is not a string", key);
    }
}

void ocv_lint_check_annotations(struct ocv_lint *lint)
{
    const json_t *annotations = json_object_get(lint->root, "annotations");
    const char *key;
    json_t *value;
    check_texts(lint, annotations, -1);
    for (size_t i = 0; i < ocv_index_count(lint->index); i++)
        check_texts(lint, json_object_get(ocv_lint_entry_json(lint, i), "annotations"), (long)i);
    if (!ocv_index_has_variants(lint->index))
        return;
    const json_t *schema = json_object_get(annotations, OCV_ANNOTATION_SCHEMA);
    const char *text = json_string_value(schema);
    if (!schema) {
        ocv_lint_index_at(lint, OCV_LINT_SCHEMA_MISSING, "/annotations", "%s is missing",
                          OCV_ANNOTATION_SCHEMA);
        ocv_lint_hint(lint, "--fix adds it");
    } else if (!text || strcmp(text, "1") != 0) {
        ocv_lint_index_at(lint, OCV_LINT_SCHEMA_UNKNOWN, "/annotations/" OCV_ANNOTATION_SCHEMA,
                          "%s is '%.60s', known is 1", OCV_ANNOTATION_SCHEMA, text ? text : "");
    }
    check_namespaces(lint);
    check_listed(lint);
    json_object_foreach((json_t *)annotations, key, value)
    {
        if (!strncmp(key, OCV_ANNOTATION_STATIC, strlen(OCV_ANNOTATION_STATIC)))
            check_static(lint, key);
    }
    for (size_t i = 0; i < ocv_index_count(lint->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        for (size_t k = 0; k < entry->n_properties; k++) {
            const struct ocv_lint_static *known = &lint->statics[entry->properties[k]];
            struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
            /* of a list that is malformed as a whole, one finding is enough */
            if (!known->is_static || known->malformed || known->value >= 0)
                continue;
            ocv_lint_entry_at(lint, OCV_LINT_STATIC_VALUE_MISSING, i,
                              "/annotations/" OCV_ANNOTATION_PROPERTIES,
                              "%s :: %s is not in %s%s: no host has it", p.feature, p.value,
                              OCV_ANNOTATION_STATIC, p.ns);
        }
    }
}
