/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Features of nodes, read back into profiles. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/base/format/span.h"
#include "lib/internal/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#define FEATURE_MAX 4096u /* bytes of one */
#define CPUS 6

struct node_reader {
    struct ocv_slurm_nodes *nodes;
    const char *architecture;
    struct ocv_error *err;
    size_t line;
    uint32_t *ids; /* of the line */
    size_t n_ids, n_shorts;
};

static const char *name_of(const void *data, size_t place)
{
    return ((const struct ocv_slurm_nodes *)data)->features[place];
}

void ocv_slurm_nodes_free(struct ocv_slurm_nodes *nodes)
{
    if (!nodes)
        return;
    ocv_names_free(&nodes->by_name);
    free(nodes->features);
    free(nodes->kinds);
    ocv_fleet_free(nodes->fleet);
    ocv_arena_free(&nodes->arena);
    free(nodes);
}

size_t ocv_slurm_nodes_count(const struct ocv_slurm_nodes *nodes)
{
    return ocv_fleet_class_count(nodes->fleet);
}

const struct ocv_profile *ocv_slurm_nodes_profile(const struct ocv_slurm_nodes *nodes, size_t i)
{
    return ocv_fleet_class_profile(nodes->fleet, i);
}

/* The list at `key`, made where it is new; NULL without memory. */
static json_t *get_member(json_t *object, const char *key, json_t *(*make)(void))
{
    json_t *found = json_object_get(object, key);
    if (!found && json_object_set_new(object, key, make()) == 0)
        found = json_object_get(object, key);
    return found;
}

/* `tree`: namespace -> feature -> values. Duplicate values count once. */
static int add_property(struct node_reader *r, json_t *tree, const char *text, size_t len)
{
    struct ocv_slurm_nodes *nodes = r->nodes;
    char parts[FEATURE_MAX + 1]; /* "ns::feature::value" */
    memcpy(parts, text, len);
    parts[len] = '\0';
    char *feature = strstr(parts, "::"), *value = feature ? strstr(feature + 2, "::") : NULL;
    if (!value)
        return OCV_OK;
    *feature = *value = '\0';
    const struct ocv_property p = {parts, feature + 2, value + 2};
    if (!ocv_property_name_valid(p.ns, strlen(p.ns)) ||
        !ocv_property_name_valid(p.feature, strlen(p.feature)) ||
        !ocv_property_value_valid(p.value, strlen(p.value)))
        return OCV_OK;
    if (r->n_ids == OCV_SLURM_FEATURES_MAX)
        return ocv_error_set(r->err, OCV_ERR_DATA, "line %zu: more than %u features", r->line,
                             OCV_SLURM_FEATURES_MAX);
    char *name = ocv_arena_copy(&nodes->arena, text, len);
    if (!name)
        return ocv_error_nomem(r->err);
    size_t at = ocv_names_find(&nodes->by_name, nodes, name);
    if (at == SIZE_MAX) {
        const char **added = ocv_array_grow(&nodes->features, nodes->n_features);
        if (!added)
            return ocv_error_nomem(r->err);
        *added = name;
        at = nodes->n_features++;
        OCV_TRY(ocv_names_add(&nodes->by_name, nodes, at, r->err));
    }
    uint32_t id = (uint32_t)at;
    for (size_t i = 0; i < r->n_ids; i++)
        if (r->ids[i] == id)
            return OCV_OK;
    r->ids[r->n_ids++] = id;
    json_t *values = get_member(get_member(tree, p.ns, json_object), p.feature, json_array);
    return values && json_array_append_new(values, json_string(p.value)) == 0
               ? OCV_OK
               : ocv_error_nomem(r->err);
}

static int read_line(struct node_reader *r, struct ocv_span line)
{
    struct ocv_span piece;
    ocv_auto_json *tree = json_object();
    struct ocv_slurm_nodes *nodes = r->nodes;
    size_t kinds = ocv_slurm_nodes_count(nodes);
    if (!tree)
        return ocv_error_nomem(r->err);
    r->n_ids = r->n_shorts = 0;
    while (ocv_span_split(&line, ',', &piece)) {
        if (piece.len > FEATURE_MAX || memchr(piece.data, '\0', piece.len))
            return ocv_error_set(r->err, OCV_ERR_DATA, "line %zu: not a feature", r->line);
        bool is_short = piece.len == OCV_SLURM_SHORT_MAX - 1 && piece.data[0] == 'v';
        for (size_t i = 1; i < piece.len && is_short; i++)
            is_short = strchr("0123456789abcdef", piece.data[i]);
        r->n_shorts += is_short;
        OCV_TRY(add_property(r, tree, piece.data, piece.len));
    }

    /* the line as a profile; the architecture is that of its CPU properties */
    static const char *const cpus[CPUS][2] = {{"x86_64", "amd64"},    {"aarch64", "arm64"},
                                              {"riscv64", "riscv64"}, {"ppc64le", "ppc64le"},
                                              {"s390x", "s390x"},     {"loongarch64", "loong64"}};
    const char *architecture = r->architecture;
    for (size_t i = CPUS; i-- > 0;)
        if (json_object_get(tree, cpus[i][0]))
            architecture = cpus[i][1];
    const char *ns, *feature;
    json_t *features, *values, *namespaces = json_array();
    bool whole = true;
    json_object_foreach(tree, ns, features)
    {
        json_t *list = json_array();
        json_object_foreach(features, feature, values)
        {
            json_t *one = json_pack("{s:s, s:O}", "name", feature, "values", values);
            whole = json_array_append_new(list, one) == 0 && whole;
        }
        json_t *one = json_pack("{s:s, s:o}", "namespace", ns, "features", list);
        whole = json_array_append_new(namespaces, one) == 0 && whole;
    }
    ocv_auto_json *json =
        json_pack("{s:s, s:{s:s, s:s}, s:o}", "schema", "dev.ocivariant.profile/v1", "platform",
                  "os", "linux", "architecture", architecture, "namespaces", namespaces);
    if (!json || !whole)
        return ocv_error_nomem(r->err);
    char name[32];
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    struct ocv_node node = {.name = name, .slots = 1};
    snprintf(name, sizeof(name), "line-%zu", r->line);
    OCV_TRY(ocv_json_append(json, JSON_COMPACT, &text, r->err));
    OCV_TRY(ocv_profile_parse(text.data, text.len, &profile, r->err));
    OCV_TRY(ocv_fleet_add(nodes->fleet, &node, profile, r->err));
    if (ocv_slurm_nodes_count(nodes) == kinds)
        return OCV_OK;
    struct slurm_kind *kind = ocv_array_grow(&nodes->kinds, kinds);
    uint32_t *ids = ocv_arena_alloc(&nodes->arena, r->n_ids + 1, sizeof(*ids));
    if (!kind || !ids)
        return ocv_error_nomem(r->err);
    memcpy(ids, r->ids, r->n_ids * sizeof(*ids));
    *kind = (struct slurm_kind){
        .features = ids, .n_features = r->n_ids, .has_short = r->n_shorts >= r->n_ids};
    return OCV_OK;
}

int ocv_slurm_nodes_read(const char *text, size_t len, const char *architecture,
                         struct ocv_slurm_nodes **out, struct ocv_error *err)
{
    ocv_auto(ocv_slurm_nodes) nodes = calloc(1, sizeof(*nodes));
    ocv_auto_free uint32_t *ids = calloc(OCV_SLURM_FEATURES_MAX, sizeof(*ids));
    if (!nodes || !ids)
        return ocv_error_nomem(err);
    nodes->by_name.name_of = name_of;
    struct node_reader r = {.nodes = nodes, .architecture = architecture, .err = err, .ids = ids};
    if (len > OCV_SLURM_TEXT_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "features of nodes: more than %zu bytes",
                             OCV_SLURM_TEXT_MAX);
    OCV_TRY(ocv_fleet_new(&nodes->fleet, err));
    for (size_t at = 0, n; at < len; at += n + 1) {
        const char *end = memchr(text + at, '\n', len - at);
        n = end ? (size_t)(end - text) - at : len - at;
        struct ocv_span line = ocv_span_trim((struct ocv_span){text + at, n});
        if (r.line++ == OCV_SLURM_KINDS_MAX)
            return ocv_error_set(r.err, OCV_ERR_DATA, "more than %u lines of features",
                                 OCV_SLURM_KINDS_MAX);
        if (line.len)
            OCV_TRY(read_line(&r, line));
    }
    size_t words = nodes->n_features / 64 + 1;
    for (size_t k = 0; k < ocv_slurm_nodes_count(nodes); k++) {
        struct slurm_kind *kind = &nodes->kinds[k];
        kind->has = ocv_arena_alloc(&nodes->arena, words, sizeof(*kind->has));
        if (!kind->has)
            return ocv_error_nomem(err);
        for (size_t i = 0; i < kind->n_features; i++)
            kind->has[kind->features[i] / 64] |= (uint64_t)1 << (kind->features[i] % 64);
    }
    *out = ocv_steal(&nodes);
    return OCV_OK;
}
