/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kubernetes objects: the claim template, and templates of pods that use it. */
#include "cmd/variantctl/claim/claim_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST "accel" /* the claim's only request */
#define ANNOTATION_INDEX "dev.ocivariant/index"
#define ANNOTATION_SUBREQUESTS "dev.ocivariant/subrequests"
#define LABEL_CLASS "dev.ocivariant/class"
#define NAME_SIZE (CLAIM_NAME_MAX + 32u)

static json_t *annotations_json(const struct claim_manifest *m)
{
    ocv_auto_json *map = json_object(); /* {"cu128-sm90": ["cu128_sm90"], ...} */
    for (size_t i = 0; i < m->claim->n_alternatives; i++) {
        const struct ocv_claim_alternative *a = &m->claim->alternatives[i];
        json_t *labels = json_array();
        for (size_t k = 0; k < a->n_labels; k++)
            json_array_append_new(labels, json_string(a->labels[k]));
        json_object_set_new(map, a->name, labels);
    }
    ocv_auto_free char *text = json_dumps(map, JSON_COMPACT);
    return json_pack("{s:s*, s:o}", ANNOTATION_INDEX, m->index, ANNOTATION_SUBREQUESTS,
                     text ? json_string(text) : NULL);
}

static json_t *claim_template(const struct claim_manifest *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < m->claim->n_alternatives; i++) {
        const struct ocv_claim_alternative *a = &m->claim->alternatives[i];
        json_t *one = json_pack("{s:s, s:s}", "name", a->name, "deviceClassName", a->driver);
        if (a->expression)
            json_object_set_new(one, "selectors",
                                json_pack("[{s:{s:s}}]", "cel", "expression", a->expression));
        if (m->count > 1)
            json_object_set_new(one, "count", json_integer(m->count));
        json_array_append_new(list, one);
    }
    return json_pack("{s:s, s:s, s:{s:s, s:o}, s:{s:{s:o}, s:{s:{s:[{s:s, s:o}]}}}}", "apiVersion",
                     "resource.k8s.io/v1", "kind", "ResourceClaimTemplate", "metadata", "name",
                     m->name, "annotations", annotations_json(m), "spec", "metadata", "annotations",
                     annotations_json(m), "spec", "devices", "requests", "name", REQUEST,
                     "firstAvailable", list);
}

static json_t *expression_json(const char *key, json_t *values)
{
    return json_pack("{s:s, s:s, s:o}", "key", key, "operator", "In", "values", values);
}

/* One term for architectures without a level, and one for each with a level. */
static json_t *node_terms(const struct ocv_claim_places *places, const char *label,
                          const char *const *values, size_t n_values)
{
    json_t *terms = json_array(), *any = NULL;
    for (size_t i = 0; i < places->n; i++) {
        const struct ocv_claim_place *place = &places->list[i];
        if (!place->level && any) {
            json_array_append_new(any, json_string(place->architecture));
            continue;
        }
        json_t *architectures = json_pack("[s]", place->architecture), *list = json_array();
        json_array_append_new(list, expression_json("kubernetes.io/arch", architectures));
        if (place->level) {
            json_array_append_new(list, expression_json(place->level, json_pack("[s]", "true")));
        } else {
            any = architectures;
        }
        if (label) {
            json_t *wanted = json_array();
            for (size_t k = 0; k < n_values; k++)
                json_array_append_new(wanted, json_string(values[k]));
            json_array_append_new(list, expression_json(label, wanted));
        }
        json_array_append_new(terms, json_pack("{s:o}", "matchExpressions", list));
    }
    return terms;
}

static json_t *pod_template(const struct claim_manifest *m, const char *suffix, json_t *terms,
                            bool claims)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof(name), "%s%s", m->name, suffix);
    json_t *container = json_pack("{s:s, s:s}", "name", "main", "image", m->image);
    json_t *spec = json_pack("{s:{s:{s:{s:o}}}, s:[O]}", "affinity", "nodeAffinity",
                             "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms",
                             terms, "containers", container);
    if (claims) {
        json_object_set_new(container, "resources",
                            json_pack("{s:[{s:s}]}", "claims", "name", REQUEST));
        json_object_set_new(
            spec, "resourceClaims",
            json_pack("[{s:s, s:s}]", "name", REQUEST, "resourceClaimTemplateName", m->name));
    }
    json_decref(container);
    return json_pack("{s:s, s:s, s:{s:s}, s:{s:o}}", "apiVersion", "v1", "kind", "PodTemplate",
                     "metadata", "name", name, "template", "spec", spec);
}

/* For known nodes (`classes`) one build: at most one claim, and one kind of pod. */
json_t *claim_manifest_make(const struct claim_manifest *m)
{
    const struct ocv_claim *claim = m->claim;
    bool claims = claim->n_alternatives > 0, any = !m->classes;
    json_t *list = json_array();
    int bad = claims ? json_array_append_new(list, claim_template(m)) : 0;
    if (m->classes) {
        /* by the label for the node's class, as variantctl export nfd sets it */
        json_t *values = json_array();
        for (size_t i = 0; i < m->n_classes; i++)
            json_array_append_new(values, json_string(m->classes[i]));
        json_t *terms =
            json_pack("[{s:[o]}]", "matchExpressions", expression_json(LABEL_CLASS, values));
        bad |= json_array_append_new(list, pod_template(m, "", terms, claims));
    } else if (claims)
        bad |= json_array_append_new(
            list, pod_template(m, "", node_terms(&claim->places, NULL, NULL, 0), true));
    for (size_t i = 0; any && i < claim->n_nodes; i++) {
        const struct ocv_claim_nodes *nodes = &claim->nodes[i];
        char suffix[32];
        snprintf(suffix, sizeof(suffix), "-%.*s", (int)strcspn(nodes->label, "."), nodes->label);
        bad |= json_array_append_new(list, pod_template(m, suffix,
                                                        node_terms(&nodes->places, nodes->label,
                                                                   nodes->values, nodes->n_values),
                                                        false));
    }
    if (any && claim->plain)
        bad |= json_array_append_new(
            list, pod_template(m, "-cpu", node_terms(&claim->plain_places, NULL, NULL, 0), false));
    if (bad) {
        json_decref(list);
        return NULL;
    }
    return list;
}
