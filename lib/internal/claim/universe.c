/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A host that has every property of an index. A feature's values are in the order in which hosts
 * list them; two values of a feature are in the same order on every host. */
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/claim/claim_internal.h"

#include <stdlib.h>
#include <string.h>

#define PROFILE_MAX (4u * 1024 * 1024)

struct value {
    const char *text;
    const struct ocv_fact *fact;
};

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    int order = ocv_fact_order(x->fact, x->text, y->text);
    return order ? order : strcmp(x->text, y->text);
}

/* Properties from `first` on that are of its feature: `{"name", "values"}`. */
static json_t *make_feature(const struct ocv_claim_work *work, uint32_t first, uint32_t *end)
{
    size_t n = ocv_index_property_count(work->index);
    struct ocv_property p = ocv_index_property(work->index, first);
    ocv_auto_free struct value *list = calloc(n - first, sizeof(*list));
    uint32_t i = first;
    if (!list)
        return NULL;
    for (; i < n; i++) {
        struct ocv_property q = ocv_index_property(work->index, i);
        if (strcmp(p.ns, q.ns) != 0 || strcmp(p.feature, q.feature) != 0)
            break;
        list[i - first] = (struct value){q.value, &work->facts[i]};
    }
    *end = i;
    qsort(list, i - first, sizeof(*list), compare_values);
    json_t *values = json_array();
    for (uint32_t k = 0; k < i - first; k++)
        if (json_array_append_new(values, json_string(list[k].text)) < 0) {
            json_decref(values);
            return NULL;
        }
    return json_pack("{s:s, s:o}", "name", p.feature, "values", values);
}

static json_t *make_namespaces(const struct ocv_claim_work *work)
{
    ocv_auto_json *namespaces = json_array(), *places = NULL;
    json_t *features = NULL; /* of the namespace, which owns them */
    const char *ns = NULL;
    size_t n = ocv_index_property_count(work->index);
    for (uint32_t i = 0, end = 0; i < n; i = end) {
        struct ocv_property p = ocv_index_property(work->index, i);
        if (!ns || strcmp(ns, p.ns) != 0) {
            ns = p.ns;
            json_decref(places);
            places = json_array();
            features = json_array();
            json_t *one = json_pack("{s:s, s:o}", "namespace", ns, "features", features);
            if (json_array_append_new(namespaces, one) < 0)
                return NULL;
        }
        json_t *feature = make_feature(work, i, &end);
        size_t place = ocv_fact_place(&work->facts[i]), at = 0;
        while (at < json_array_size(places) &&
               (size_t)json_integer_value(json_array_get(places, at)) <= place)
            at++;
        if (json_array_insert_new(features, at, feature) < 0 ||
            json_array_insert_new(places, at, json_integer((json_int_t)place)) < 0)
            return NULL;
    }
    return ocv_steal(&namespaces);
}

int ocv_universe_make(const struct ocv_claim_work *work, const struct ocv_platform *platform,
                      const struct ocv_resolve_options *options, struct ocv_universe *out,
                      struct ocv_error *err)
{
    *out = (struct ocv_universe){0};
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, PROFILE_MAX);
    ocv_auto_json *json =
        json_pack("{s:s, s:{s:s, s:s, s:s?}, s:o}", "schema", "dev.ocivariant.profile/v1",
                  "platform", "os", platform->os, "architecture", platform->architecture, "variant",
                  platform->variant, "namespaces", make_namespaces(work));
    if (!json)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_append(json, 0, &text, err));
    OCV_TRY(ocv_profile_parse(text.data, text.len, &profile, err));
    struct ocv_resolve_options mine = options ? *options : (struct ocv_resolve_options){0};
    mine.platform = platform;
    mine.unchecked = false;
    mine.preferences.n_devices = 0; /* they are those of one host */
    mine.preferences.n_policies = 0;
    OCV_TRY(ocv_resolve(work->index, profile, &mine, &out->decision, err));
    out->profile = ocv_steal(&profile);
    return OCV_OK;
}

void ocv_universe_free(struct ocv_universe *universe)
{
    ocv_decision_free(universe->decision);
    ocv_profile_free(universe->profile);
    *universe = (struct ocv_universe){0};
}
