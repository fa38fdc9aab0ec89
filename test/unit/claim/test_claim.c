/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims: for a host with certain devices, the first alternative that they satisfy is the
 * resolver's choice. Tested for a grid of devices and drivers, on indexes of all kinds. */
#define OCV_DEVICE_TABLES
#include "gen/device-drivers.h"
#include "gen/vocabulary.h"
#include "lib/base/file.h"
#include "lib/internal/claim/claim.h"
#include "lib/internal/claim/claim_internal.h"
#include "lib/probe/providers/nvidia/nvidia.h"
#include "test/unit/claim/cel_util.h"

static const unsigned capabilities[] = {50, 52, 53, 60, 61, 62,  70,  72,  75,  80,
                                        86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
#define N_CAPABILITIES (sizeof(capabilities) / sizeof(*capabilities))

struct variant {
    const char *label, *properties;
};

static struct ocv_index *index_of(const char *namespaces, const struct variant *list, size_t n)
{
    json_t *manifests = json_array();
    struct ocv_error err = {0};
    struct ocv_index *index = NULL;
    json_array_append_new(manifests, entry_json(0, "linux/amd64", NULL, NULL));
    for (unsigned i = 0; i < n; i++)
        json_array_append_new(manifests,
                              entry_json(i + 1, "linux/amd64", list[i].label, list[i].properties));
    json_t *root =
        json_pack("{s:i, s:s, s:o, s:{s:s, s:s, s:s}}", "schemaVersion", 2, "mediaType",
                  "application/vnd.oci.image.index.v1+json", "manifests", manifests, "annotations",
                  OCV_ANNOTATION_SCHEMA, "1", OCV_ANNOTATION_NAMESPACES, namespaces,
                  OCV_ANNOTATION_STATIC "rank", "order :: 1, order :: 2, order :: 3");
    char *text = json_dumps(root, 0);
    ck_assert_msg(ocv_index_parse(text, strlen(text), NULL, &index, &err) == OCV_OK, "%s",
                  err.message);
    free(text);
    json_decref(root);
    return index;
}

static struct ocv_claim *claim_of(const struct ocv_index *index)
{
    struct ocv_claim *claim = NULL;
    struct ocv_error err = {0};
    ck_assert_msg(ocv_claim_new(index, NULL, &claim, &err) == OCV_OK, "%s", err.message);
    ck_assert_uint_le(claim->n_alternatives, OCV_CLAIM_ALTERNATIVES_MAX);
    return claim;
}

static struct ocv_profile *host_of(unsigned sm, unsigned major, unsigned minor)
{
    struct ocv_result result = {.features = json_array(), .devices = json_array()};
    struct ocv_error err = {0};
    struct ocv_profile *profile = NULL;
    ck_assert_int_eq(ocv_nvidia_add_cuda(&result, (struct ocv_cuda_version){major, minor}, &err),
                     0);
    ck_assert_int_eq(ocv_nvidia_add_sm(&result, NULL, sm, false, &err), 0);
    json_t *root =
        json_pack("{s:s, s:{s:s, s:s, s:s}, s:[{s:s, s:o}, {s:s, s:[{s:s, s:[s, s]}]}]}", "schema",
                  "dev.ocivariant.profile/v1", "platform", "os", "linux", "architecture", "amd64",
                  "variant", "v2", "namespaces", "namespace", "nvidia", "features", result.features,
                  "namespace", "x86_64", "features", "name", "level", "values", "v2", "v1");
    char *text = json_dumps(root, 0);
    ck_assert_msg(ocv_profile_parse(text, strlen(text), &profile, &err) == OCV_OK, "%s",
                  err.message);
    free(text);
    json_decref(root);
    json_decref(result.devices);
    return profile;
}

static const struct ocv_claim_alternative *first_of(const struct ocv_claim *claim,
                                                    const struct cel_device *device)
{
    for (size_t i = 0; i < claim->n_alternatives; i++)
        if (!strcmp(claim->alternatives[i].driver, device->driver) &&
            cel_holds(claim->alternatives[i].expression, device))
            return &claim->alternatives[i];
    return NULL;
}

static bool has_label(const struct ocv_claim_alternative *a, const char *label)
{
    for (size_t i = 0; i < a->n_labels; i++)
        if (!strcmp(a->labels[i], label))
            return true;
    return false;
}

/* One kind of device and driver: does the claim say what its host chooses? */
static void compare_one(const struct ocv_index *index, const struct ocv_claim *claim, unsigned sm,
                        unsigned major, unsigned minor)
{
    const struct cel_attribute attributes[] = {
        {"cudaComputeCapability", NULL, sm / 10 * 1000 + sm % 10},
        {"cudaDriverVersion", NULL, major * 1000 + minor},
    };
    const struct cel_device device = {"gpu.nvidia.com", attributes, 2};
    ocv_auto(ocv_profile) profile = host_of(sm, major, minor);
    ocv_auto(ocv_decision) decision = NULL;
    ck_assert_int_eq(ocv_resolve(index, profile, NULL, &decision, NULL), OCV_OK);
    const struct ocv_entry *chosen = ocv_decision_selected(decision);
    const struct ocv_claim_alternative *first = first_of(claim, &device);
    const char *label = chosen && chosen->n_properties ? chosen->label : NULL;
    ck_assert_msg(!first == !label, "capability %u, CUDA %u.%u: claim %s, host %s", sm, major,
                  minor, first ? first->name : "nothing", label ? label : "nothing");
    if (first)
        ck_assert_msg(has_label(first, label), "capability %u, CUDA %u.%u: claim %s, host %s", sm,
                      major, minor, first->name, label);
}

static void compare_all(const struct ocv_index *index)
{
    static const unsigned versions[][2] = {{11, 8}, {12, 0}, {12, 2}, {12, 6},
                                           {12, 8}, {12, 9}, {13, 0}, {13, 2}};
    ocv_auto(ocv_claim) claim = claim_of(index);
    for (size_t i = 0; i < N_CAPABILITIES; i++)
        for (size_t k = 0; k < 8; k++)
            compare_one(index, claim, capabilities[i], versions[k][0], versions[k][1]);
}

START_TEST(test_code_runs_where_the_provider_says)
{
    static const char *const forms[] = {"_real", "a_real", "f_real", "_virtual"};
    for (size_t host = 0; host < N_CAPABILITIES; host++) {
        ocv_auto(ocv_profile) profile = host_of(capabilities[host], 13, 0);
        for (size_t i = 0; i < N_CAPABILITIES * 4; i++) {
            char value[32];
            struct ocv_capability code;
            snprintf(value, sizeof(value), "%u%s", capabilities[i / 4], forms[i % 4]);
            /* older chips have no alternative: no build names them */
            if (i % 4 && i % 4 < 3 && capabilities[i / 4] < (i % 4 == 1 ? 90u : 100u))
                continue;
            ck_assert(ocv_capability_parse(value, &code));
            ck_assert_msg(ocv_capability_fits(&code, capabilities[host]) ==
                              ocv_profile_supports(
                                  profile, (struct ocv_property){"nvidia", "sm_arch", value}),
                          "%s on %u", value, capabilities[host]);
        }
    }
    static const char *const none[] = {
        "", "9_real", "90", "90_", "90b_real", "90a_virtual", "90_real_", "999_real", "1234_real"};
    struct ocv_capability code;
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        ck_assert_msg(!ocv_capability_parse(none[i], &code), "%s", none[i]);
}
END_TEST

#define LB "nvidia :: cuda_version_lower_bound :: "
#define UB "nvidia :: cuda_version_upper_bound :: "
#define SM "nvidia :: sm_arch :: "
#define FAT                                                                                        \
    SM "75_real, " SM "80_real, " SM "86_real, " SM "90_real, " SM "100_real, " SM "120_real, " SM \
       "120_virtual"

static const struct {
    const char *namespaces;
    struct variant list[12];
} worked[] = {
    {"nvidia",
     {{"cu130_sm90", LB "13.0, " SM "90_real"},
      {"cu128_sm90", LB "12.8, " SM "90_real"},
      {"cu126_sm80", LB "12.6, " SM "80_real"}}},
    {"nvidia",
     {{"cu129", LB "12.9, " LB "12.0, " SM "80_real, " SM "90_real"},
      {"cu126", LB "12.6, " LB "12.0, " SM "80_real, " SM "90_real, " SM "70_real"}}},
    {"nvidia",
     {{"cu130", LB "13.0, " FAT},
      {"cu128", LB "12.8, " LB "12.0, " FAT},
      {"cu126",
       LB "12.6, " LB "12, " SM "50_real, " SM "70_real, " SM "90_real, " SM "90_virtual"}}},
    {"rank, nvidia",
     {{"cu130", "rank :: order :: 1, " LB "13.0, " FAT},
      {"cu129", "rank :: order :: 2, " LB "12.9, " LB "12.0, " FAT},
      {"cu126", "rank :: order :: 3, " LB "12.6, " LB "12.0, " SM "70_real, " FAT}}},
    {"nvidia",
     {{"sm75", SM "75_real"},
      {"sm80", SM "80_real"},
      {"sm86", SM "86_real"},
      {"sm89", SM "89_real"},
      {"sm90", SM "90_real"},
      {"sm90a", SM "90a_real"},
      {"sm100", SM "100_real"},
      {"sm100f", SM "100f_real"},
      {"sm120", SM "120_real"},
      {"sm121", SM "121_real"},
      {"tegra", SM "87_real, " SM "72_real"},
      {"ptx", SM "50_virtual"}}},
    {"nvidia",
     {{"old", LB "11.8, " UB "12.9, " SM "50_virtual"},
      {"new", LB "12.8, " SM "50_virtual"},
      {"any", SM "80_real, " SM "90_virtual"}}},
    {"nvidia",
     {{"crossed_a", SM "90_real, " SM "80_virtual"},
      {"crossed_b", SM "80_real, " SM "90_virtual"}}},
};

START_TEST(test_hosts_choose_what_the_claim_says)
{
    for (size_t i = 0; i < sizeof(worked) / sizeof(*worked); i++) {
        size_t n = 0;
        while (n < 12 && worked[i].list[n].label)
            n++;
        ocv_auto(ocv_index) index = index_of(worked[i].namespaces, worked[i].list, n);
        compare_all(index);
    }
}
END_TEST

static unsigned roll(uint64_t *state, unsigned n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % n;
}

__attribute__((format(printf, 2, 3))) static void add(char text[600], const char *format, ...)
{
    size_t at = strlen(text);
    va_list args;
    va_start(args, format);
    at += (size_t)snprintf(text + at, 600 - at, "%s", at ? ", " : "");
    vsnprintf(text + at, 600 - at, format, args);
    va_end(args);
}

static void random_variant(uint64_t *state, char text[600])
{
    static const char *const bounds[] = {"11.8", "12.0", "12.6", "12.8",
                                         "12.9", "13.0", "12",   "13"};
    static const char *const forms[] = {"_real", "_real", "_virtual", "a_real"};
    text[0] = '\0';
    for (unsigned k = roll(state, 3); k; k--)
        add(text, LB "%s", bounds[roll(state, 8)]);
    if (!roll(state, 4))
        add(text, UB "%s", bounds[roll(state, 8)]);
    for (unsigned k = *text ? roll(state, 5) : 1 + roll(state, 4); k; k--) {
        unsigned form = roll(state, 4), sm = capabilities[roll(state, N_CAPABILITIES)];
        add(text, SM "%u%s", form == 3 ? 90 : sm, forms[form]);
    }
}

/* Whatever variants name, and however many there are. */
START_TEST(test_hosts_choose_what_any_claim_says)
{
    for (uint64_t seed = 1; seed <= 60; seed += (uint64_t)tenth()) {
        struct variant list[6];
        char texts[6][600], labels[6][8];
        uint64_t state = seed * 7919;
        size_t n = 1 + roll(&state, 6);
        for (size_t i = 0; i < n; i++) {
            snprintf(labels[i], sizeof(labels[i]), "v%zu", i);
            random_variant(&state, texts[i]);
            list[i] = (struct variant){labels[i], texts[i]};
        }
        ocv_auto(ocv_index) index = index_of("nvidia", list, n);
        compare_all(index);
    }
}
END_TEST

/* The names that the documentation promises. */
START_TEST(test_names)
{
    static const struct variant list[] = {
        {"cu129", LB "12.9, " LB "12.0, " SM "80_real"},
        {"cu_12.6", LB "12.6, " LB "12.0, " SM "80_real, " SM "90_real"},
        {"cpu", "x86_64 :: level :: v3, " SM "70_real"},
        {"gpu", SM "70_real"},
        {"_x", SM "60_real"},
        {"a123456789b123456789c123456789d123456789e123456789f123456789_12", SM "50_real"},
    };
    ocv_auto(ocv_index) index = index_of("nvidia, x86_64", list, 6);
    ocv_auto(ocv_claim) claim = claim_of(index);
    static const char *const names[] = {"cu129", "cu--12-6", "v3-", "v4-", "v5-", "v6-", "v7-"};
    for (size_t i = 0; i < claim->n_alternatives; i++)
        ck_assert_msg(!strncmp(claim->alternatives[i].name, names[i], strlen(names[i])), "%zu: %s",
                      i, claim->alternatives[i].name);
    ck_assert_uint_eq(claim->n_alternatives, 7);
    ck_assert_ptr_null(claim->alternatives[0].bound);
    ck_assert_str_eq(claim->alternatives[2].bound, LB "12.0");
    ck_assert_str_eq(claim->alternatives[2].name, "v3-9572b172");
    ck_assert_uint_eq(claim->alternatives[4].n_labels, 2);
}
END_TEST

#define DATA "test/data/claim/"

static size_t attributes_of(const json_t *device, struct cel_attribute *out)
{
    const char *key;
    json_t *value;
    size_t n = 0;
    json_object_foreach(json_object_get(device, "attributes"), key, value)
    {
        const char *version = json_string_value(json_object_get(value, "version"));
        unsigned major = 0, minor = 0;
        out[n] = (struct cel_attribute){
            .name = key, .text = json_string_value(json_object_get(value, "string"))};
        if (version && sscanf(version, "%u.%u.", &major, &minor) == 2)
            out[n].version = major * 1000 + minor;
        n += out[n].text || version;
    }
    return n;
}

/* Devices as drivers published them and what Kubernetes' scheduler allocated there, for a claim
 * that said the same. */
START_TEST(test_recorded_devices)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1u << 20);
    ck_assert_int_eq(ocv_file_read(DATA "app.json", OCV_FILE_REGULAR, &text, NULL), OCV_OK);
    ocv_auto(ocv_index) index = parse_index(text.data);
    ocv_auto(ocv_claim) claim = claim_of(index);
    json_t *devices = json_load_file(DATA "devices.json", 0, NULL), *device;
    size_t i;
    ck_assert_uint_eq(json_array_size(devices), 7);
    json_array_foreach(devices, i, device)
    {
        struct cel_attribute attributes[32];
        const struct cel_device is = {json_string_value(json_object_get(device, "driver")),
                                      attributes, attributes_of(device, attributes)};
        const char *request = json_string_value(json_object_get(device, "request"));
        const struct ocv_claim_alternative *first = first_of(claim, &is);
        ck_assert_str_eq(first ? first->name : "none", request ? request : "none");
    }
    json_decref(devices);
}
END_TEST

/* Its driver's devices (tenstorrent/tt-dra-driver, docs/single-card.md). */
START_TEST(test_tenstorrent)
{
    static const struct variant list[] = {{"bh", "tenstorrent :: arch :: blackhole"},
                                          {"wh", "tenstorrent :: arch :: wormhole"}};
    static const char *const arch[] = {"blackhole", "wormhole", "quasar"};
    static const char *const wanted[] = {"bh", "wh", "none"};
    ocv_auto(ocv_index) index = index_of("tenstorrent", list, 2);
    ocv_auto(ocv_claim) claim = claim_of(index);
    ck_assert_uint_eq(claim->n_alternatives, 2);
    for (size_t i = 0; i < 3; i++) {
        struct cel_attribute attributes[] = {{.name = "vendor", .text = "tenstorrent.com"},
                                             {.name = "chipArch", .text = arch[i]},
                                             {.name = "boardName", .text = "n300"}};
        const struct cel_device device = {"tenstorrent.com", attributes, 3};
        const struct ocv_claim_alternative *first = first_of(claim, &device);
        ck_assert_str_eq(first ? first->name : "none", wanted[i]);
    }
}
END_TEST

/* Every feature of a driver's namespace, in the order in which hosts list them, and no other word.
 */
START_TEST(test_the_table_has_the_words_of_the_vocabulary)
{
    const size_t n_known = sizeof(ocv_vocabulary_features) / sizeof(*ocv_vocabulary_features);
    const size_t n = sizeof(ocv_device_features) / sizeof(*ocv_device_features);
    size_t at = 0;
    for (size_t i = 0; i < n_known; i++) {
        const struct ocv_vocabulary_feature *known = &ocv_vocabulary_features[i];
        size_t driver = 0;
        while (driver < sizeof(ocv_device_drivers) / sizeof(*ocv_device_drivers) &&
               strcmp(ocv_device_drivers[driver].ns, known->ns) != 0)
            driver++;
        if (driver == sizeof(ocv_device_drivers) / sizeof(*ocv_device_drivers))
            continue;
        ck_assert_uint_lt(at, n);
        const struct ocv_device_feature *has = &ocv_device_features[at++];
        ck_assert_uint_eq(has->driver, driver);
        ck_assert_str_eq(has->name, known->name);
        for (size_t k = 0; k < has->n; k++)
            ck_assert_int_eq(ocv_vocabulary_check(known->ns, known->name,
                                                  ocv_device_words[has->first + k].value, NULL),
                             OCV_WORD_KNOWN);
    }
    ck_assert_uint_eq(at, n);
}
END_TEST

static bool warns(const struct ocv_claim *claim, const char *text)
{
    for (size_t i = 0; i < claim->n_warnings; i++)
        if (strstr(claim->warnings[i], text))
            return true;
    return false;
}

START_TEST(test_what_is_left_out_is_said)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1u << 20);
    ck_assert_int_eq(ocv_file_read(DATA "mix.json", OCV_FILE_REGULAR, &text, NULL), OCV_OK);
    ocv_auto(ocv_index) index = parse_index(text.data);
    ocv_auto(ocv_claim) claim = claim_of(index);
    static const char *const said[] = {"both is left out", "ascend is left out", "gfx1100",
                                       "arm64 is left out: it has no xpu",
                                       "furiosa.ai/npu.product"};
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
        ck_assert_msg(warns(claim, said[i]), "%s", said[i]);
    ck_assert_uint_eq(claim->n_warnings, 5);
    ck_assert_uint_eq(claim->places.n, 1);
    ck_assert_str_eq(claim->places.list[0].architecture, "amd64");
    ck_assert_ptr_null(claim->places.list[0].level);
    ck_assert_uint_eq(claim->n_nodes, 1);
    ck_assert_str_eq(claim->nodes[0].values[0], "rngd");
    ck_assert(claim->plain);
    ck_assert_uint_eq(claim->plain_places.n, 2);
}
END_TEST

/* The level that every build needs. */
START_TEST(test_the_lowest_level_is_asked_of_nodes)
{
    static const struct variant list[] = {
        {"a", SM "90_real, x86_64 :: level :: v4"},
        {"b", SM "90_real, x86_64 :: level :: v3"},
        {"c", SM "80_real, x86_64 :: level :: v3, x86_64 :: level :: v4"},
    };
    ocv_auto(ocv_index) index = index_of("nvidia, x86_64", list, 3);
    ocv_auto(ocv_claim) claim = claim_of(index);
    ck_assert_str_eq(claim->places.list[0].level, "feature.node.kubernetes.io/cpu-cpuid.X86_64_V3");
    ck_assert_uint_eq(claim->n_alternatives, 2);
    ck_assert_uint_eq(claim->alternatives[0].n_labels, 2);
    ck_assert_uint_eq(claim->n_warnings, 0);
}
END_TEST

/* Its devices can be on a node that takes another: that is said. */
START_TEST(test_a_higher_level_than_that_is_warned_of)
{
    static const struct variant list[] = {
        {"a", LB "12.8, " SM "90_real, x86_64 :: level :: v4"},
        {"b", LB "12.6, " SM "90_real, x86_64 :: level :: v3"},
    };
    ocv_auto(ocv_index) index = index_of("nvidia, x86_64", list, 2);
    ocv_auto(ocv_claim) claim = claim_of(index);
    ck_assert_str_eq(claim->places.list[0].level, "feature.node.kubernetes.io/cpu-cpuid.X86_64_V3");
    ck_assert_uint_eq(claim->n_warnings, 1);
    ck_assert_str_eq(claim->warnings[0], "a needs x86-64-v4, which not all nodes of the pods have: "
                                         "there they take another build");
}
END_TEST

START_TEST(test_too_many_values)
{
    char text[4000] = "";
    size_t at = 0;
    for (unsigned i = 10; i < 80; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, LB "%u, ", i);
    for (unsigned i = 30; i < 60; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s" SM "%u_real", i > 30 ? ", " : "",
                               i);
    ck_assert_uint_lt(at, sizeof(text));
    struct variant list[] = {{"a", text}, {"b", text}, {"c", text}};
    ocv_auto(ocv_index) index = index_of("nvidia", list, 3);
    struct ocv_claim *claim = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_claim_new(index, NULL, &claim, &err), OCV_ERR_DATA);
    ck_assert_msg(strstr(err.message, "4096 combinations"), "%s", err.message);
}
END_TEST

RUN_TESTS("claim", test_code_runs_where_the_provider_says, test_hosts_choose_what_the_claim_says,
          test_hosts_choose_what_any_claim_says, test_names, test_recorded_devices,
          test_tenstorrent, test_the_table_has_the_words_of_the_vocabulary,
          test_what_is_left_out_is_said, test_the_lowest_level_is_asked_of_nodes,
          test_a_higher_level_than_that_is_warned_of, test_too_many_values)
