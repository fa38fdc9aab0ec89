/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shipped tag rules: what they may say is in the vocabulary, what they do say of a list of tags
 * read by hand (test/data/tags/spot.jsonl), and, where the fixtures are, of every tag of the
 * corpus.
 */
#include "lib/tags/tags_internal.h"

#include "test/unit/core_util.h"

#include <dirent.h>

#define SPOT_LINES 120u     /* at least */
#define DOUBTFUL_PERCENT 3u /* of the lines of the corpus may have an unknown or ambiguous part */

static struct ocv_tag_rules *rules;
static struct ocv_yaml *vocabulary;
static json_t *toolkits; /* by version, from test/data/tags/toolkits.json */

static void setup(void)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1024 * 1024);
    char block[16384];
    FILE *file = fopen("schema/vocabulary.yaml", "rb");
    ck_assert_ptr_nonnull(file);
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;)
        ck_assert_int_eq(ocv_buffer_append(&text, block, n, &err), 0);
    fclose(file);
    ck_assert_int_eq(ocv_yaml_read("vocabulary.yaml", text.data, text.len, &vocabulary, &err), 0);
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    ck_assert_msg(ocv_tag_rules_load(rules, "plugins/tags.d", NULL, &err) == OCV_OK, "%s",
                  err.message);
    toolkits = json_load_file("test/data/tags/toolkits.json", 0, NULL);
    ck_assert_ptr_nonnull(toolkits);
}

static void teardown(void)
{
    ocv_tag_rules_free(rules);
    ocv_yaml_free(vocabulary);
    json_decref(toolkits);
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

static const struct ocv_yaml *named(const struct ocv_yaml *list, const char *key, const char *name)
{
    const struct ocv_yaml *m = list ? list->first : NULL;
    while (m && strcmp(ocv_yaml_text(m, key), name) != 0)
        m = m->next;
    return m;
}

static bool is_listed(const struct ocv_yaml *feature, const char *value)
{
    const struct ocv_yaml *values = ocv_yaml_get(feature, "values");
    const char *pattern = ocv_yaml_text(feature, "pattern");
    regex_t regex;
    if (values)
        return ocv_yaml_find(values, value) >= 0;
    ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool match = regexec(&regex, value, 0, NULL, 0) == 0;
    regfree(&regex);
    return match;
}

/* `value` NULL: only namespace and feature are known. */
static void check_listed(const char *where, const char *ns, const char *feature, const char *value)
{
    const struct ocv_yaml *space = named(ocv_yaml_get(vocabulary, "namespaces"), "namespace", ns);
    ck_assert_msg(space != NULL, "%s: no namespace %s", where, ns);
    const struct ocv_yaml *f = named(ocv_yaml_get(space, "features"), "feature", feature);
    ck_assert_msg(f != NULL, "%s: no %s :: %s", where, ns, feature);
    ck_assert_msg(!value || is_listed(f, value), "%s: no %s :: %s :: %s", where, ns, feature,
                  value);
}

static size_t check_gives(const char *where, const struct ocv_tag_pair *gives, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char ns[64], feature[64], value[64];
        ck_assert_int_eq(sscanf(gives[i].text, "%63s :: %63s :: %63s", ns, feature, value), 3);
        check_listed(where, ns, feature, strchr(value, '\\') ? NULL : value);
    }
    return n;
}

START_TEST(test_constants)
{
    size_t n = 0;
    for (size_t i = 0; i < rules->n; i++) {
        const struct ocv_tag_family *f = rules->families[i];
        for (size_t k = 0; k < f->n_items; k++)
            n += check_gives(f->name, f->items[k].gives, f->items[k].n_gives) +
                 check_gives(f->name, f->items[k].assumes, f->items[k].n_assumes);
        for (size_t k = 0; k < f->n_repositories; k++)
            n += check_gives(f->name, f->repositories[k].gives, f->repositories[k].n_gives) +
                 check_gives(f->name, f->repositories[k].assumes, f->repositories[k].n_assumes);
        for (size_t k = 0; k < f->n_defaults; k++)
            n += check_gives(f->name, f->defaults[k].gives, f->defaults[k].n_gives) +
                 check_gives(f->name, f->defaults[k].assumes, f->defaults[k].n_assumes);
        for (size_t k = 0; k < f->n_cudas; k++)
            for (size_t m = 0; m < f->cudas[k].n_sm_arch; m++)
                check_listed(f->name, "nvidia", "sm_arch", f->cudas[k].sm_arch[m]);
    }
    ck_assert_uint_gt(n, 200);
}
END_TEST

/* A family can be found by its file's name, and says what it is. */
START_TEST(test_files)
{
    DIR *dir = opendir("plugins/tags.d");
    size_t n = 0;
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *d; (d = readdir(dir));) {
        char name[256];
        if (!strstr(d->d_name, ".yaml") || strncmp(d->d_name, "00-", 3) == 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(strlen(d->d_name) - 5), d->d_name);
        size_t i = 0;
        while (i < rules->n && strcmp(rules->families[i]->name, name) != 0)
            i++;
        ck_assert_msg(i < rules->n, "%s: its family is not called %s", d->d_name, name);
        ck_assert_ptr_nonnull(rules->families[i]->description);
        n++;
    }
    closedir(dir);
    ck_assert_uint_eq(n, rules->n);
}
END_TEST

/* ---- tags ------------------------------------------------------------------------------------ */

static struct ocv_tag *parse(const char *text)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_reference) reference = NULL;
    struct ocv_tag *tag = NULL;
    ck_assert_msg(ocv_reference_parse(text, &reference, &err) == OCV_OK, "%s", err.message);
    ck_assert_msg(ocv_tag_parse(rules, reference, NULL, &tag, &err) == OCV_OK, "%s", err.message);
    return tag;
}

static void check_properties(const struct ocv_tag *tag)
{
    for (size_t i = 0; i < ocv_properties_count(ocv_tag_properties(tag)); i++) {
        struct ocv_property p = ocv_properties_get(ocv_tag_properties(tag), i);
        check_listed(ocv_tag_reference(tag), p.ns, p.feature, p.value);
    }
}

static bool says_devices(const struct ocv_tag *tag)
{
    for (size_t i = 0; i < ocv_properties_count(ocv_tag_said(tag)); i++)
        if (strcmp(ocv_properties_get(ocv_tag_said(tag), i).feature, "sm_arch") == 0)
            return true;
    return false;
}

static bool is_device(const struct ocv_tag *tag, struct ocv_property p)
{
    return strcmp(p.feature, "sm_arch") == 0 && !says_devices(tag);
}

/* What the tag is found to need, without the devices that its family or toolkit adds. */
static void format_without_devices(const struct ocv_tag *tag, struct ocv_buffer *out)
{
    for (size_t i = 0; i < ocv_properties_count(ocv_tag_properties(tag)); i++) {
        struct ocv_property p = ocv_properties_get(ocv_tag_properties(tag), i);
        if (!is_device(tag, p))
            ck_assert_int_eq(ocv_buffer_printf(out, NULL, "%s%s :: %s :: %s", out->len ? ", " : "",
                                               p.ns, p.feature, p.value),
                             OCV_OK);
    }
}

/* The devices that were added: those of the list, or all of the toolkit `wanted` names. */
static void check_devices(const struct ocv_tag *tag, const json_t *wanted)
{
    const char *toolkit = json_string_value(wanted);
    const json_t *list = toolkit ? json_object_get(toolkits, toolkit) : wanted;
    size_t n = 0;
    ck_assert_msg(!toolkit || list, "no toolkit %s", toolkit);
    for (size_t i = 0; i < ocv_properties_count(ocv_tag_properties(tag)); i++) {
        struct ocv_property p = ocv_properties_get(ocv_tag_properties(tag), i);
        bool found = false;
        if (!is_device(tag, p))
            continue;
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *one = json_array_get(list, k);
            char value[32];
            snprintf(value, sizeof(value), "%d_real", (int)json_integer_value(one));
            found = found || strcmp(toolkit ? value : json_string_value(one), p.value) == 0;
        }
        ck_assert_msg(found, "%s: the rules give sm_arch %s, spot.jsonl does not",
                      ocv_tag_reference(tag), p.value);
        n++;
    }
    ck_assert_msg(n == json_array_size(list), "%s: the rules give %zu of %zu sm_arch",
                  ocv_tag_reference(tag), n, json_array_size(list));
}

static void check_spot(const json_t *line)
{
    const char *reference = json_string_value(json_object_get(line, "reference"));
    const char *platform = json_string_value(json_object_get(line, "platform"));
    const json_t *wanted = json_object_get(line, "properties");
    ocv_auto(ocv_tag) tag = parse(reference);
    const struct ocv_properties *got = ocv_tag_properties(tag);
    check_properties(tag);
    ck_assert_msg(ocv_tag_family(tag) != NULL, "%s", reference);
    size_t n = 0;
    for (size_t i = 0; i < ocv_properties_count(got); i++) {
        struct ocv_property p = ocv_properties_get(got, i);
        char text[256];
        bool found = false;
        if (is_device(tag, p))
            continue;
        snprintf(text, sizeof(text), "%s :: %s :: %s", p.ns, p.feature, p.value);
        for (size_t k = 0; k < json_array_size(wanted); k++)
            found = found || strcmp(json_string_value(json_array_get(wanted, k)), text) == 0;
        ck_assert_msg(found, "%s: %s", reference, text);
        n++;
    }
    ck_assert_msg(n == json_array_size(wanted), "%s: %zu properties", reference, n);
    check_devices(tag, json_object_get(line, "sm_arch"));
    const char *has = ocv_tag_platform(tag);
    ck_assert_msg(strcmp(has ? has : "", platform ? platform : "") == 0, "%s: platform %s",
                  reference, has ? has : "none");
    ck_assert_msg((ocv_tag_refused(tag) != NULL) == json_is_true(json_object_get(line, "refused")),
                  "%s: %s", reference, ocv_tag_refused(tag) ? ocv_tag_refused(tag) : "not refused");
    ck_assert_msg(ocv_tag_list(tag, OCV_TAG_UNKNOWN, NULL) == 0, "%s", reference);
}

START_TEST(test_spot)
{
    char text[1024];
    size_t n = 0;
    FILE *file = fopen("test/data/tags/spot.jsonl", "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(text, sizeof(text), file)) {
        json_t *line = json_loads(text, 0, NULL);
        ck_assert_msg(line != NULL, "%s", text);
        check_spot(line);
        json_decref(line);
        n++;
    }
    fclose(file);
    ck_assert_uint_ge(n, SPOT_LINES);
}
END_TEST

/* Every toolkit, in tags of a family without statements of its own. */
START_TEST(test_toolkits)
{
    const char *version;
    json_t *list;
    size_t n = 0;
    json_object_foreach(toolkits, version, list)
    {
        char text[128];
        if (!json_is_array(list))
            continue;
        snprintf(text, sizeof(text), "rayproject/ray:2.49.2-cuda%s", version);
        ocv_auto(ocv_tag) tag = parse(text);
        json_t *name = json_string(version);
        check_devices(tag, name);
        json_decref(name);
        n++;
    }
    ck_assert_uint_ge(n, 26);
    ocv_auto(ocv_tag) old = parse("rayproject/ray:2.49.2-cuda10.2");
    check_devices(old, NULL);
    ocv_auto(ocv_tag) later = parse("rayproject/ray:2.49.2-cuda15.1");
    check_devices(later, NULL);
}
END_TEST

static const char *group_of(const struct ocv_tag *tag, const char *wanted)
{
    const char *key, *value;
    for (size_t i = 0; ocv_tag_group(tag, i, &key, &value); i++)
        if (strcmp(key, wanted) == 0)
            return value;
    return "";
}

#define CUDA(version) "nvidia :: cuda_version_lower_bound :: " version
#define GFX(arch) "amd :: gfx_arch :: " arch
#define AMD(arch) GFX(arch) ", amd :: rocm_user_space :: 7.0"
#define NPU(type) "ascend :: npu_type :: " type

/* What is written in several ways is one thing: the shared notations, in tags of families that use
 * them. */
static const struct {
    const char *reference, *properties, *key, *value;
} written[] = {
    {"rayproject/ray:2.49.2-py312-cuda13", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-py3.12-cuda13.0", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-cp312-cu130", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-python3.12-cuda-13", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-py-3.12.4-cuda13.0.2", CUDA("13.0"), "python", "3.12"},
    {"rayproject/ray:2.49.2-py3-cu13", CUDA("13.0"), "python", "3"},
    {"rayproject/ray:2.49.2-py27-cuda-12", CUDA("12.0"), "python", "2.7"},
    {"rayproject/ray:2.49.2-cuda121", CUDA("12.1"), "version", "2.49.2"},
    {"rayproject/ray:2.49.2-cuda92", CUDA("9.2"), "version", "2.49.2"},
    {"rayproject/ray:2.49.2-cu92", CUDA("9.2"), "version", "2.49.2"},
    {"rayproject/ray:2.49.2-cuda-9", CUDA("9.0"), "version", "2.49.2"},
    {"vllm/vllm-openai:v0.14.1-cu130-ubuntu22.04", CUDA("13.0"), "os", "ubuntu22.04"},
    {"vllm/vllm-openai:v0.14.1-cu130-ubuntu2204", CUDA("13.0"), "os", "ubuntu22.04"},
    {"vllm/vllm-openai:v0.14.1-cu130-22.04", CUDA("13.0"), "os", "ubuntu22.04"},
    {"lmsysorg/sglang:v0.5.18-rocm700-mi30x", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm7.0-mi300", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm-7.0-mi300x", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm7.0.2-mi325", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-gfx94X-dcgpu", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-gfx942", AMD("gfx942"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-mi35x", AMD("gfx950"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-mi355x", AMD("gfx950"), "version", "v0.5.18"},
    {"lmsysorg/sglang:v0.5.18-rocm700-gfx950-dcgpu", AMD("gfx950"), "version", "v0.5.18"},
    {"rocm/vllm:rocm7.0_gfx90X-dcgpu_vllm_0.16.0", GFX("gfx908") ", " AMD("gfx90a"), "vllm",
     "0.16.0"},
    {"rocm/vllm:rocm7.0_gfx110X-dgpu_vllm_0.16.0",
     GFX("gfx1100") ", " GFX("gfx1101") ", " AMD("gfx1102"), "vllm", "0.16.0"},
    {"rocm/vllm:rocm7.0_gfx110X-all_vllm_0.16.0",
     GFX("gfx1100") ", " GFX("gfx1101") ", " GFX("gfx1102") ", " AMD("gfx1103"), "vllm", "0.16.0"},
    {"rocm/vllm:rocm7.0_gfx120X-all_vllm_0.16.0", GFX("gfx1200") ", " AMD("gfx1201"), "vllm",
     "0.16.0"},
    {"lmsysorg/sglang:v0.5.18-mi300x", GFX("gfx942"), "version", "v0.5.18"},
    {"quay.io/ascend/cann:9.0.0-910B-ubuntu22.04-py3.12", NPU("910b"), "python", "3.12"},
    {"quay.io/ascend/cann:9.0.0-800I-A2-ubuntu2204-cp312", NPU("910b"), "os", "ubuntu22.04"},
    {"quay.io/ascend/cann:9.0.0-310P-openeuler24.03", NPU("310p"), "os", "openeuler24.03"},
    {"quay.io/ascend/cann:9.0.0-300I-Duo-openEuler2403-lts", NPU("310p"), "version", "9.0.0"},
    {"quay.io/ascend/cann:9.0.0-A3-py312", NPU("a3"), "python", "3.12"},
    {"quay.io/ascend/cann:9.0.0-800I-A3-py312", NPU("a3"), "python", "3.12"},
    {"quay.io/ascend/cann:9.0.0-910c-py312", NPU("a3"), "python", "3.12"},
};

START_TEST(test_notations)
{
    ocv_auto(ocv_tag) tag = parse(written[_i].reference);
    ocv_auto_buffer got;
    ocv_buffer_init(&got, 4096);
    format_without_devices(tag, &got);
    ck_assert_msg(strcmp(got.data ? got.data : "", written[_i].properties) == 0, "%s: %s",
                  written[_i].reference, got.data);
    ck_assert_msg(strcmp(group_of(tag, written[_i].key), written[_i].value) == 0, "%s: %s",
                  written[_i].reference, group_of(tag, written[_i].key));
    ck_assert_msg(ocv_tag_list(tag, OCV_TAG_UNKNOWN, NULL) == 0, "%s", written[_i].reference);
}
END_TEST

/* ---- the corpus ------------------------------------------------------------------------------ */

/* Of the fixtures; false where they are not. */
static bool corpus_file(const char *name, char path[4096])
{
    const char *directory = getenv("OCV_FIXTURES");
    snprintf(path, 4096, "%s/tags/%s", directory ? directory : "../shared/fixtures", name);
    FILE *file = fopen(path, "r");
    if (file)
        fclose(file);
    else
        printf("skipped: no %s in OCV_FIXTURES\n", name);
    return file != NULL;
}

START_TEST(test_corpus)
{
    char path[4096], text[1024];
    size_t n = 0, doubtful = 0;
    if (!corpus_file("real_tags.txt", path))
        return;
    FILE *file = fopen(path, "r");
    while (fgets(text, sizeof(text), file)) {
        text[strcspn(text, "\n")] = '\0';
        ocv_auto(ocv_tag) tag = parse(text);
        ck_assert_msg(ocv_tag_family(tag) != NULL, "%s: no family", text);
        check_properties(tag);
        doubtful +=
            ocv_tag_list(tag, OCV_TAG_UNKNOWN, NULL) || ocv_tag_list(tag, OCV_TAG_AMBIGUOUS, NULL);
        n++;
    }
    fclose(file);
    ck_assert_uint_gt(n, 900);
    ck_assert_msg(doubtful * 100 <= n * DOUBTFUL_PERCENT, "%zu of %zu", doubtful, n);
}
END_TEST

static const char *string_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* An image of the catalogue that states its own meaning. */
static void check_runner(const json_t *image)
{
    const char *name = string_at(image, "image"), *backend = string_at(image, "backend");
    const char *variant = string_at(image, "backend_variant"), *service;
    ocv_auto(ocv_tag) tag = parse(name);
    json_t *version;
    char wanted[128] = "";
    ck_assert_str_eq(group_of(tag, "backend"), backend);
    ck_assert_msg(!strcmp(group_of(tag, "backend_version"), string_at(image, "backend_version")),
                  "%s", name);
    json_object_foreach(json_object_get(image, "services"), service, version)
    {
        ck_assert_str_eq(group_of(tag, "service"), service);
        ck_assert_msg(!strcmp(group_of(tag, "service_version"), json_string_value(version)), "%s",
                      name);
    }
    if (strcmp(backend, "cuda") == 0)
        snprintf(wanted, sizeof(wanted), "nvidia :: cuda_version_lower_bound :: %s",
                 string_at(image, "backend_version"));
    else if (strcmp(backend, "rocm") == 0)
        snprintf(wanted, sizeof(wanted), "amd :: rocm_user_space :: %s",
                 string_at(image, "backend_version"));
    else if (strcmp(backend, "cann") == 0)
        snprintf(wanted, sizeof(wanted), "ascend :: npu_type :: %s", variant);
    ocv_auto_buffer got;
    ocv_buffer_init(&got, 4096);
    format_without_devices(tag, &got);
    const char *said = got.data ? got.data : "";
    const char *version_alone = strcmp(backend, "rocm") == 0 ? strstr(said, "amd :: rocm") : said;
    ck_assert_msg(version_alone && strcmp(version_alone, wanted) == 0, "%s: %s", name, said);
    ck_assert_msg((ocv_tag_refused(tag) == NULL) == (*wanted != '\0'), "%s", name);
}

START_TEST(test_runner)
{
    char path[4096];
    json_error_t error;
    json_t *image;
    size_t i;
    if (!corpus_file("gpustack_runner.json", path))
        return;
    json_t *list = json_load_file(path, 0, &error);
    ck_assert_msg(list != NULL, "%s", error.text);
    ck_assert_uint_gt(json_array_size(list), 100);
    json_array_foreach(list, i, image) check_runner(image);
    json_decref(list);
}
END_TEST

/* ---- torch's own word ------------------------------------------------------------------------ */

static const char *lowest_bound(const struct ocv_properties *set)
{
    const char *found = NULL;
    for (size_t i = 0; i < ocv_properties_count(set); i++) {
        struct ocv_property p = ocv_properties_get(set, i);
        if (strcmp(p.feature, "cuda_version_lower_bound") == 0 &&
            (!found || ocv_tag_version_compare(p.value, found) < 0))
            found = p.value;
    }
    return found ? found : "";
}

/* A variant that torch publishes, as its image's tag: the lowest bound and the devices are its own.
 */
static size_t check_published(const json_t *entry)
{
    const json_t *annotations = json_object_get(entry, "annotations");
    const char *label = string_at(annotations, OCV_ANNOTATION_LABEL);
    const char *properties = string_at(annotations, OCV_ANNOTATION_PROPERTIES);
    ocv_auto(ocv_properties) set = NULL;
    char text[256];
    if (strncmp(label, "cuda", 4) != 0)
        return 0;
    snprintf(text, sizeof(text), "pytorch/pytorch:2.10.0-%s-cudnn9-runtime", label);
    ocv_auto(ocv_tag) tag = parse(text);
    ck_assert_int_eq(ocv_properties_parse(properties, strlen(properties), &set, NULL), OCV_OK);
    ck_assert_str_eq(lowest_bound(ocv_tag_properties(tag)), lowest_bound(set));
    json_t *devices = json_array();
    for (size_t i = 0; i < ocv_properties_count(set); i++)
        if (strcmp(ocv_properties_get(set, i).feature, "sm_arch") == 0)
            json_array_append_new(devices, json_string(ocv_properties_get(set, i).value));
    check_devices(tag, devices);
    json_decref(devices);
    return 1;
}

START_TEST(test_torch)
{
    const char *directory = getenv("OCV_FIXTURES");
    char path[4096];
    size_t i, n = 0;
    json_t *entry;
    snprintf(path, sizeof(path), "%s/index/torch-2.10.0.bfe86e59/index.json",
             directory ? directory : "../shared/fixtures");
    json_t *index = json_load_file(path, 0, NULL);
    if (!index) {
        printf("skipped: no index/torch-2.10.0.bfe86e59 in OCV_FIXTURES\n");
        return;
    }
    json_array_foreach(json_object_get(index, "manifests"), i, entry) n += check_published(entry);
    ck_assert_uint_eq(n, 3);
    json_decref(index);
}
END_TEST

/* Every torch image of the corpus runs from the first version of its major on, as torch documents
 * for its builds; CUDA before 11 makes no such promise. */
START_TEST(test_torch_corpus)
{
    char path[4096], text[1024];
    size_t n = 0;
    if (!corpus_file("real_tags.txt", path))
        return;
    FILE *file = fopen(path, "r");
    while (fgets(text, sizeof(text), file)) {
        text[strcspn(text, "\n")] = '\0';
        ocv_auto(ocv_tag) tag = parse(text);
        const char *lowest = lowest_bound(ocv_tag_properties(tag));
        const char *built = lowest_bound(ocv_tag_said(tag));
        char wanted[32];
        if (!ocv_tag_family(tag) || strcmp(ocv_tag_family(tag), "pytorch") != 0 || !*built)
            continue;
        bool promised = strtol(built, NULL, 10) >= 11;
        snprintf(wanted, sizeof(wanted), "%.*s.0", (int)strcspn(built, "."), built);
        ck_assert_msg(strcmp(lowest, promised ? wanted : built) == 0, "%s: %s", text, lowest);
        n++;
    }
    fclose(file);
    ck_assert_uint_gt(n, 10);
}
END_TEST

/* What tags leave open, and their configurations may say: of families that publish one build with
 * the version in its tag and one without, and of many more. */
START_TEST(test_what_is_left_to_configurations)
{
    static const char *const families[] = {"vllm", "sglang", "localai", "rocm"};
    char path[4096], text[1024];
    size_t n = 0, seen[4] = {0};
    if (!corpus_file("real_tags.txt", path))
        return;
    FILE *file = fopen(path, "r");
    while (fgets(text, sizeof(text), file)) {
        text[strcspn(text, "\n")] = '\0';
        ocv_auto(ocv_tag) tag = parse(text);
        const char *asked = ocv_tag_asks(tag, 0);
        if (!asked)
            continue;
        ck_assert_msg(!strcmp(asked, "cuda") || !strcmp(asked, "rocm"), "%s: %s", text, asked);
        for (size_t i = 0; i < 4; i++)
            seen[i] += strcmp(ocv_tag_family(tag), families[i]) == 0;
        n++;
    }
    fclose(file);
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(seen[i], "no tag of %s asks", families[i]);
    ck_assert_uint_ge(n, 64);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tag_corpus");
    TCase *tcase = tcase_create("tag_corpus");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_constants);
    tcase_add_test(tcase, test_files);
    tcase_add_test(tcase, test_spot);
    tcase_add_test(tcase, test_toolkits);
    tcase_add_loop_test(tcase, test_notations, 0, sizeof(written) / sizeof(*written));
    tcase_add_test(tcase, test_corpus);
    tcase_add_test(tcase, test_runner);
    tcase_add_test(tcase, test_torch);
    tcase_add_test(tcase, test_torch_corpus);
    tcase_add_test(tcase, test_what_is_left_to_configurations);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
