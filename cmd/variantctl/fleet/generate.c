/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl fleet generate: many nodes from a few profiles, with variations such as older drivers.
 * The same seed gives the same bytes on every machine. */
#include "cmd/variantctl/fleet/fleet_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES_MAX 100000u
#define PROFILES_MAX 256u
#define LINE_BYTES_MAX ((size_t)OCV_PROFILE_MAX * 2)

struct generate_options {
    unsigned seed, nodes, classes;
    bool seeded;
};

static int take_seed(const struct ocv_option_given *given, struct ocv_error *err)
{
    struct generate_options *r = given->into;
    const struct ocv_option_given seed = {given->option, given->value, &r->seed};
    r->seeded = true;
    return ocv_option_number(&seed, err);
}

static const struct ocv_option options[] = {
    {.name = "seed",
     .value = "N",
     .help = "seed of the random numbers",
     OCV_OPTION_CALL(take_seed),
     .least = 0,
     .most = UINT32_MAX},
    {.name = "nodes",
     .value = "N",
     .help = "how many nodes (1000)",
     OCV_OPTION_NUMBER(struct generate_options, nodes, 1, OCV_FLEET_NODES_MAX)},
    {.name = "classes",
     .value = "N",
     .help = "how many classes of equal ones (40)",
     OCV_OPTION_NUMBER(struct generate_options, classes, 1, CLASSES_MAX)},
    OCV_OPTIONS_END};

static const struct cli_command command = {
    .usage = "Usage: variantctl fleet generate --seed N [OPTIONS] PROFILE...\n"
             "\n"
             "Write the profiles of a fleet for tests and measurements, as JSON Lines: the\n"
             "PROFILEs, and copies of them with older drivers, up to the number of classes.\n"
             "The same seed gives the same bytes.\n",
    .options = options,
    .arguments = {"from one to 256 PROFILEs", 1, PROFILES_MAX, 0, NULL},
    .end = "\n"
           "Examples:\n"
           "  variantctl fleet generate --seed 7 h100.json >fleet.jsonl\n"
           "  variantctl fleet generate --seed 7 --nodes 9 fleet/*.json >fleet.jsonl\n"
           "  variantctl fleet generate --seed 7 --nodes 10000 --classes 400 h100.json \\\n"
           "      >fleet.jsonl\n"};

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static json_t *feature_of(const json_t *features, const char *name)
{
    size_t i;
    json_t *feature;
    json_array_foreach(features, i, feature)
    {
        const char *own = ocv_json_text(feature, "name");
        if (own && name && !strcmp(own, name))
            return feature;
    }
    return NULL;
}

/* Removes up to half of the values of each feature, the best ones first, also from the devices. A
 * namespace that no image uses makes the classes differ. */
static json_t *make_class(const json_t *base, unsigned number, uint64_t *state)
{
    size_t i, k, m;
    json_t *ns, *feature, *device, *root = json_deep_copy(base);
    json_t *namespaces = json_object_get(root, "namespaces");
    json_array_foreach(namespaces, i, ns)
    {
        const json_t *features = json_object_get(ns, "features");
        json_array_foreach(features, k, feature)
        {
            json_t *values = json_object_get(feature, "values");
            uint32_t half = (uint32_t)json_array_size(values) / 2;
            for (uint32_t lost = next_random(state) % (half ? half : 1); lost; lost--)
                json_array_remove(values, 0);
        }
        json_array_foreach(json_object_get(ns, "devices"), k, device)
        {
            json_array_foreach(json_object_get(device, "features"), m, feature)
            {
                json_t *common = feature_of(features, ocv_json_text(feature, "name"));
                if (common)
                    json_object_set(feature, "values", json_object_get(common, "values"));
            }
        }
    }
    json_t *mark = json_sprintf("c%u", number);
    json_t *own = json_pack("{s:s, s:[{s:s, s:[o]}]}", "namespace", "generated", "features", "name",
                            "class", "values", mark);
    if (!own || json_array_append_new(namespaces, own) != 0) {
        json_decref(root);
        return NULL;
    }
    return root;
}

int cmd_fleet_generate(struct cli *cli, int argc, char **argv)
{
    struct ocv_error *err = &cli->err;
    struct generate_options r = {.nodes = 1000, .classes = 40};
    int code = cli_read(cli, &command, &r, argc, argv);
    if (code >= 0)
        return code;
    size_t n = cli->n_arguments;
    if (!r.seeded || !n)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: give --seed", cli->verb);
    if (r.classes > r.nodes)
        r.classes = r.nodes;
    uint64_t state = r.seed;
    ocv_auto_json *classes = json_array();
    ocv_auto_json *bases = json_array();
    if (!classes || !bases)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const char *path = cli->arguments[i];
        json_t *base = NULL;
        ocv_auto_buffer text;
        ocv_auto(ocv_profile) profile = NULL;
        ocv_buffer_init(&text, OCV_PROFILE_MAX);
        OCV_TRY(cli_read_file(path, &text, err));
        if (ocv_profile_parse(text.data ? text.data : "", text.len, &profile, err) < 0 ||
            ocv_json_load("profile", text.data, text.len, OCV_PROFILE_MAX, &base, err) < 0)
            return ocv_error_prefix(err, "%s", path);
        if (json_array_append_new(bases, base) != 0)
            return ocv_error_nomem(err);
    }
    for (unsigned i = 0; i < r.classes; i++)
        if (json_array_append_new(classes, make_class(json_array_get(bases, i % n), i, &state)) !=
            0)
            return ocv_error_nomem(err);
    for (unsigned i = 0; i < r.nodes; i++) {
        /* every class has a node */
        size_t at = i < r.classes ? i : next_random(&state) % (r.classes ? r.classes : 1);
        json_t *class = json_array_get(classes, at), *name = json_sprintf("node-%06u", i);
        ocv_auto_buffer line;
        ocv_buffer_init(&line, LINE_BYTES_MAX);
        if (!name || json_object_set_new(class, "hostname", name) != 0)
            return ocv_error_nomem(err);
        OCV_TRY(ocv_json_append(class, JSON_COMPACT, &line, err));
        OCV_TRY(ocv_buffer_append(&line, "\n", 1, err));
        OCV_TRY(cli_print(line.data, line.len, err));
    }
    return OCV_OK;
}
