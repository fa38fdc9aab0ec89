/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of a family's CUDA builds a host gets by the shipped rules: by its driver, by CUDA's
 * minor-version compatibility, and by the devices that a build holds code for. */
#include "lib/core/core_internal.h"
#include "lib/internal/tags/tags.h"
#include "lib/internal/tags/tags_internal.h"

#include "test/unit/core_util.h"

#define TAGS_MAX 8

static struct ocv_tag_rules *rules;

static void setup(void)
{
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, &err), OCV_OK);
    ck_assert_msg(ocv_tag_rules_load(rules, "plugins/tags.d", NULL, &err) == OCV_OK, "%s",
                  err.message);
}

static void teardown(void)
{
    ocv_tag_rules_free(rules);
}

__attribute__((format(printf, 2, 3))) static void append(struct ocv_buffer *out, const char *format,
                                                         ...)
{
    char value[32];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    ck_assert_int_eq(ocv_buffer_printf(out, NULL, "%s'%s'", out->len ? "," : "", value), OCV_OK);
}

/* "12.8" to "10", as the provider has it. */
static void list_versions(const char *cuda, struct ocv_buffer *out)
{
    unsigned major, minor;
    ck_assert_int_eq(sscanf(cuda, "%u.%u", &major, &minor), 2);
    for (; major >= 10; major--, minor = 20) {
        for (unsigned m = minor + 1; m-- > 0;)
            append(out, "%u.%u", major, m);
        append(out, "%u", major);
    }
}

/* The driver branches of those versions, as a GPU has them that is not for data centres. */
static void list_branches(const char *cuda, struct ocv_buffer *out)
{
    unsigned major, minor;
    ck_assert_int_eq(sscanf(cuda, "%u.%u", &major, &minor), 2);
    for (size_t i = 0; i < sizeof(ocv_drivers) / sizeof(*ocv_drivers); i++)
        if (ocv_drivers[i].major < major ||
            (ocv_drivers[i].major == major && ocv_drivers[i].minor <= minor))
            append(out, "%u", ocv_drivers[i].branch);
}

/* Machine code of the same major, the chip's own first; then PTX. */
static void list_devices(unsigned sm, struct ocv_buffer *out)
{
    static const unsigned known[] = {121, 120, 110, 103, 100, 90, 89, 86, 80,
                                     75,  72,  70,  62,  61,  60, 52, 50};
    if (sm >= 90)
        append(out, "%ua_real", sm);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i] <= sm && known[i] / 10 == sm / 10)
            append(out, "%u_real", known[i]);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i] <= sm)
            append(out, "%u_virtual", known[i]);
}

static struct ocv_profile *host(const char *cuda, unsigned sm)
{
    struct ocv_buffer versions, devices, branches;
    ocv_buffer_init(&branches, 8192);
    list_branches(cuda, &branches);
    ocv_buffer_init(&versions, 8192);
    ocv_buffer_init(&devices, 8192);
    list_versions(cuda, &versions);
    list_devices(sm, &devices);
    char *text = quoted(
        "{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux','architecture':'amd64'},"
        "'namespaces':[{'namespace':'nvidia','driver':'1.2','features':[{'name':"
        "'cuda_version_lower_bound','values':[%s]},{'name':'sm_arch','values':[%s]},"
        "{'name':'forward_compatibility','values':[%s]}]}]}",
        versions.data, devices.data, branches.data);
    struct ocv_profile *profile = parse_profile(text);
    free(text);
    ocv_buffer_free(&versions);
    ocv_buffer_free(&devices);
    ocv_buffer_free(&branches);
    return profile;
}

static struct ocv_tag_plan *plan_of(const char *name, const char *list)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_reference) reference = NULL;
    struct ocv_tag_plan *plan = NULL;
    char text[512], *rest = text;
    const char *tags[TAGS_MAX];
    size_t n = 0;
    snprintf(text, sizeof(text), "%s", list);
    while (rest && n < TAGS_MAX)
        tags[n++] = strsep(&rest, " ");
    ck_assert_int_eq(ocv_reference_parse(name, &reference, &err), OCV_OK);
    ck_assert_msg(ocv_tag_plan_new(rules, reference, reference->tag, tags, n, &plan, &err) ==
                      OCV_OK,
                  "%s", err.message);
    ck_assert_msg(ocv_tag_plan_sets(plan) == 1, "%s: no set", name);
    return plan;
}

static struct ocv_index *index_for(const struct ocv_tag_plan *plan, const char *platform)
{
    struct ocv_tag_candidate list[TAGS_MAX] = {0};
    size_t n = ocv_tag_plan_members(plan, 0);
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    for (size_t i = 0; i < n; i++) {
        list[i].tag = ocv_tag_plan_member(plan, 0, i, &list[i].label);
        list[i].platform = platform;
        list[i].descriptor.size = 2;
        snprintf(list[i].descriptor.media_type, sizeof(list[i].descriptor.media_type), "%s",
                 OCV_MEDIA_TYPE_MANIFEST);
        fake_digest(list[i].descriptor.digest, (unsigned)i + 1);
    }
    ck_assert_msg(ocv_tag_index(list, n, OCV_TAG_UNREAD_OUT, NULL, &text, &err) == OCV_OK, "%s",
                  err.message);
    return parse_index(text.data);
}

static struct ocv_index *index_of(const struct ocv_tag_plan *plan)
{
    return index_for(plan, "linux/amd64");
}

/* The tag of the entry's image. */
static const char *tag_of(const struct ocv_tag_plan *plan, const struct ocv_entry *entry)
{
    for (size_t i = 0; entry && i < ocv_tag_plan_members(plan, 0); i++) {
        char digest[OCV_DIGEST_MAX];
        fake_digest(digest, (unsigned)i + 1);
        if (strcmp(entry->digest, digest) == 0)
            return ocv_tag_text(ocv_tag_plan_member(plan, 0, i, NULL));
    }
    return "";
}

#define TORCH28                                                                             \
    "pytorch/pytorch:2.8.0", "2.8.0-cuda12.6-cudnn9-runtime 2.8.0-cuda12.8-cudnn9-runtime " \
                             "2.8.0-cuda12.9-cudnn9-runtime"
#define TORCH29                                                                             \
    "pytorch/pytorch:2.9.1", "2.9.1-cuda12.6-cudnn9-runtime 2.9.1-cuda12.8-cudnn9-runtime " \
                             "2.9.1-cuda13.0-cudnn9-runtime"
#define TORCH211                                                \
    "pytorch/pytorch:2.11.0", "2.11.0-cuda12.8-cudnn9-runtime " \
                              "2.11.0-cuda13.0-cudnn9-runtime"
#define VLLM "vllm/vllm-openai:v0.14.1", "v0.14.1 v0.14.1-cu126"
#define SGLANG "lmsysorg/sglang:v0.5.15", "v0.5.15 v0.5.15-cu129"
#define LLAMA "ghcr.io/ggml-org/llama.cpp:server", "server server-cuda12"

static const struct {
    const char *name, *tags, *cuda;
    unsigned sm;
    const char *wanted;
} choices[] = {
    /* native where the driver has it, else the best that runs, else the oldest */
    {TORCH28, "12.7", 90, "2.8.0-cuda12.6-cudnn9-runtime"},
    {TORCH28, "12.8", 90, "2.8.0-cuda12.8-cudnn9-runtime"},
    {TORCH28, "12.9", 90, "2.8.0-cuda12.9-cudnn9-runtime"},
    {TORCH28, "13.1", 90, "2.8.0-cuda12.9-cudnn9-runtime"},
    {TORCH28, "12.5", 90, "2.8.0-cuda12.6-cudnn9-runtime"},
    {TORCH28, "12.0", 80, "2.8.0-cuda12.6-cudnn9-runtime"},
    {TORCH28, "11.8", 80, ""},
    {TORCH29, "12.4", 90, "2.9.1-cuda12.6-cudnn9-runtime"},
    {TORCH29, "12.9", 90, "2.9.1-cuda12.8-cudnn9-runtime"},
    {TORCH29, "13.0", 90, "2.9.1-cuda13.0-cudnn9-runtime"},
    /* for which devices it is built */
    {TORCH29, "12.8", 100, "2.9.1-cuda12.8-cudnn9-runtime"},
    {TORCH29, "13.0", 70, "2.9.1-cuda12.8-cudnn9-runtime"},
    {TORCH29, "13.0", 61, "2.9.1-cuda12.6-cudnn9-runtime"},
    {TORCH29, "12.8", 52, "2.9.1-cuda12.6-cudnn9-runtime"},
    /* a tag without a word for CUDA sorts before the others, and is the newest */
    {VLLM, "12.0", 90, "v0.14.1-cu126"},
    {VLLM, "12.0", 89, "v0.14.1-cu126"},
    {VLLM, "12.0", 80, "v0.14.1-cu126"},
    {VLLM, "12.8", 90, "v0.14.1-cu126"},
    {VLLM, "12.9", 90, "v0.14.1"},
    {VLLM, "12.8", 100, "v0.14.1"},
    {"vllm/vllm-openai:v0.14.1", "v0.14.1 v0.14.1-cu130", "12.8", 90, "v0.14.1"},
    {"vllm/vllm-openai:v0.14.1", "v0.14.1 v0.14.1-cu130", "13.0", 90, "v0.14.1-cu130"},
    {"vllm/vllm-openai:v0.14.1", "v0.14.1 v0.14.1-cu130", "12.8", 61, ""},
    /* versions are not text */
    {"pytorch/pytorch:3.0", "3.0-cuda12.10-runtime 3.0-cuda12.6-runtime", "12.0", 90,
     "3.0-cuda12.6-runtime"},
    {"pytorch/pytorch:3.0", "3.0-cuda12.10-runtime 3.0-cuda12.6-runtime", "12.10", 90,
     "3.0-cuda12.10-runtime"},
    {"pytorch/pytorch:1.9.0", "1.9.0-cuda11.1-runtime 1.9.0-cuda10.2-runtime", "11.0", 80,
     "1.9.0-cuda11.1-runtime"},
    {"pytorch/pytorch:1.9.0", "1.9.0-cuda11.1-runtime 1.9.0-cuda10.2-runtime", "10.1", 70, ""},
    /* machine code for some devices, PTX for the others */
    {LLAMA, "12.6", 86, "server-cuda12"},
    {LLAMA, "12.6", 89, "server-cuda12"},
    {LLAMA, "12.4", 86, "server-cuda12"},
    {LLAMA, "12.3", 86, "server"}, /* compressed with zstd */
    {LLAMA, "12.2", 89, "server"},
    {LLAMA, "12.6", 80, "server"},
    {LLAMA, "12.6", 90, "server"},
    {LLAMA, "12.8", 80, "server-cuda12"},
    {LLAMA, "12.8", 100, "server-cuda12"},
    {LLAMA, "12.8", 120, "server-cuda12"},
    {"vllm/vllm-openai:v0.9.0", "v0.9.0 v0.9.0-cu130", "12.6", 90, "v0.9.0"},
    {"vllm/vllm-openai:v0.9.0", "v0.9.0 v0.9.0-cu130", "12.8", 120, "v0.9.0"},
    /* a chip's own code */
    {SGLANG, "12.4", 80, "v0.5.15-cu129"},
    {SGLANG, "12.9", 100, "v0.5.15-cu129"},
    {SGLANG, "12.9", 103, ""},
    {SGLANG, "13.0", 103, "v0.5.15"},
    {SGLANG, "13.0", 75, ""},
    /* of whom nothing is known: the version itself */
    {"rayproject/ray:2.49.2", "2.49.2-cpu 2.49.2-cu128", "12.6", 90, "2.49.2-cpu"},
    {"rayproject/ray:2.49.2", "2.49.2-cpu 2.49.2-cu128", "12.8", 90, "2.49.2-cu128"},
    {"rayproject/ray:2.49.2", "2.49.2-cpu 2.49.2-cu126", "12.8", 100, "2.49.2-cpu"},
    {"rayproject/ray:2.49.2", "2.49.2-cpu 2.49.2-cu12", "12.8", 100, "2.49.2-cu12"},
    {"rayproject/ray:2.49.2", "2.49.2-cpu 2.49.2-cu130", "13.0", 70, "2.49.2-cpu"},
    {"tensorflow/tensorflow:2.18.0", "2.18.0 2.18.0-gpu", "12.8", 120, "2.18.0-gpu"},
    {"tensorflow/tensorflow:2.18.0", "2.18.0 2.18.0-gpu", "12.4", 90, "2.18.0"},
    {"tensorflow/tensorflow:2.18.0", "2.18.0 2.18.0-gpu", "12.2", 75, "2.18.0-gpu"},
    /* torch's own lists, not the toolkit's */
    {TORCH211, "12.2", 60, ""},
    {TORCH211, "13.0", 70, ""},
    {TORCH211, "12.2", 75, "2.11.0-cuda12.8-cudnn9-runtime"},
    {"pytorch/pytorch:2.12.1", "2.12.1-cuda12.9-cudnn9-runtime 2.12.1-cuda13.0-cudnn9-runtime",
     "13.0", 61, ""},
    {"vllm/vllm-openai:v0.30.0", "v0.30.0-cu129 v0.30.0-cu130", "13.0", 70, ""},
    {"vllm/vllm-openai:v0.30.0", "v0.30.0-cu129 v0.30.0-cu130", "12.9", 75, "v0.30.0-cu129"},
    {"vllm/vllm-openai:v0.17.0", "v0.17.0-cu129 v0.17.0-cu130", "13.0", 70, "v0.17.0-cu129"},
    /* compared with the chip when it starts */
    {"ghcr.io/huggingface/text-embeddings-inference:1.9", "100-1.9 120-1.9", "13.0", 103, ""},
    {"ghcr.io/huggingface/text-embeddings-inference:1.9", "100-1.9 120-1.9", "13.0", 100,
     "100-1.9"},
    {"ghcr.io/huggingface/text-embeddings-inference:1.9", "100-1.9 120-1.9", "13.0", 121,
     "120-1.9"},
    /* PTX of 12.9 with its compatibility libraries; older releases need 12.2 */
    {"ghcr.io/huggingface/text-embeddings-inference:1.9", "86-1.9 cpu-1.9", "12.8", 86, "cpu-1.9"},
    {"ghcr.io/huggingface/text-embeddings-inference:1.9", "86-1.9 cpu-1.9", "12.9", 86, "86-1.9"},
    {"ghcr.io/huggingface/text-embeddings-inference:1.7", "86-1.7 cpu-1.7", "12.2", 86, "86-1.7"},
    {"ghcr.io/huggingface/text-generation-inference:3.3.4", "3.3.4 3.3.4-intel-cpu", "12.8", 100,
     "3.3.4"},
};

START_TEST(test_choice)
{
    ocv_auto(ocv_tag_plan) plan = plan_of(choices[_i].name, choices[_i].tags);
    ocv_auto(ocv_index) index = index_of(plan);
    ocv_auto(ocv_profile) profile = host(choices[_i].cuda, choices[_i].sm);
    ocv_auto(ocv_decision) decision = NULL;
    struct ocv_error err = {0};
    ck_assert_msg(ocv_resolve(index, profile, NULL, &decision, &err) == OCV_OK, "%s", err.message);
    const char *got = tag_of(plan, ocv_decision_selected(decision));
    ck_assert_msg(strcmp(got, choices[_i].wanted) == 0, "%s, CUDA %s, %u: %s, wanted %s",
                  choices[_i].name, choices[_i].cuda, choices[_i].sm, got, choices[_i].wanted);
}
END_TEST

static const char *annotation(const struct ocv_index *index, const char *key, char out[512])
{
    const json_t *all = json_object_get(index->root, "annotations");
    const char *text = json_string_value(json_object_get(all, key));
    snprintf(out, 512, "%s", text ? text : "");
    return out;
}

/* The order is a namespace of the set's own, after those of hosts. */
START_TEST(test_order)
{
    char text[512];
    ocv_auto(ocv_tag_plan) plan = plan_of(
        "pytorch/pytorch:3.0", "3.0-cuda12.10-runtime 3.0-cuda12.6-runtime 3.0-cuda9.2-runtime");
    ocv_auto(ocv_index) index = index_of(plan);
    ck_assert_str_eq(annotation(index, OCV_ANNOTATION_STATIC "priority", text),
                     "order :: 9.2, order :: 12.6, order :: 12.10");
    ck_assert_str_eq(annotation(index, OCV_ANNOTATION_NAMESPACES, text), "nvidia, priority");
    ocv_auto(ocv_tag_plan) one = plan_of("rayproject/ray:2.49.2", "2.49.2-cpu 2.49.2-cu128");
    ocv_auto(ocv_index) alone = index_of(one);
    ck_assert_str_eq(annotation(alone, OCV_ANNOTATION_STATIC "priority", text), "");
    ck_assert_str_eq(annotation(alone, OCV_ANNOTATION_NAMESPACES, text), "");
}
END_TEST

/* However much the tags of a set say together. */
START_TEST(test_many_properties)
{
    char text[512];
    ocv_auto_buffer rule;
    struct ocv_error err = {0};
    ocv_buffer_init(&rule, 16384);
    int status = ocv_buffer_printf(&rule, &err, "%s",
                                   "schema: dev.ocivariant.tags/v1\nfamily: many\n"
                                   "repositories: [r.example/many]\nparts:\n  - {use: cuda}\n"
                                   "  - {match: '[0-9.]+', first: true, group: version}\n"
                                   "  - {match: 'gpu([0-9])', gives: [");
    for (unsigned i = 0; i < 60 && status == OCV_OK; i++)
        status =
            ocv_buffer_printf(&rule, &err, "%s'amd :: gfx_arch :: gfx\\1%02u'", i ? ", " : "", i);
    if (status == OCV_OK)
        status = ocv_buffer_printf(&rule, &err, "]}\ngroup_tags: ['{version}']\n");
    if (status == OCV_OK)
        status = ocv_tag_rules_add(rules, "many.yaml", rule.data, rule.len, NULL, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ocv_auto(ocv_tag_plan) plan =
        plan_of("r.example/many:1.0", "1.0-cuda12.6 1.0-cuda12.8 1.0-gpu1 1.0-gpu2 1.0-gpu3 "
                                      "1.0-gpu4 1.0-gpu5 1.0-gpu6");
    ocv_auto(ocv_index) index = index_of(plan);
    ck_assert_str_eq(annotation(index, OCV_ANNOTATION_NAMESPACES, text), "amd, nvidia, priority");
}
END_TEST

static bool needs(const struct ocv_index *index, const char *label, const char *feature,
                  const char *value)
{
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(index, i);
        for (size_t k = 0; strcmp(entry->label, label) == 0 && k < entry->n_properties; k++) {
            struct ocv_property p = ocv_index_property(index, entry->properties[k]);
            if (strcmp(p.feature, feature) == 0 && strcmp(p.value, value) == 0)
                return true;
        }
    }
    return false;
}

/* Machine code and PTX in one image: it stands there twice, under two labels. */
START_TEST(test_twice)
{
    ocv_auto(ocv_tag_plan) plan = plan_of(LLAMA);
    ocv_auto(ocv_index) index = index_of(plan);
    ck_assert_uint_eq(ocv_index_count(index), 3);
    ck_assert(needs(index, "server_cuda12", "cuda_version_lower_bound", "12.8"));
    ck_assert(!needs(index, "server_cuda12", "cuda_version_lower_bound", "12.0"));
    ck_assert(needs(index, "server_cuda12", "sm_arch", "80_virtual"));
    ck_assert(needs(index, "server_cuda12", "sm_arch", "86_real"));
    ck_assert(needs(index, "server_cuda12_minor", "cuda_version_lower_bound", "12.4"));
    ck_assert(!needs(index, "server_cuda12_minor", "cuda_version_lower_bound", "12.8"));
    ck_assert(!needs(index, "server_cuda12_minor", "sm_arch", "80_virtual"));
    ck_assert(needs(index, "server_cuda12_minor", "sm_arch", "86_real"));
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(ocv_index_entry(index, i)->code, OCV_REJECT_NONE);
}
END_TEST

/* A label has room for the second one's suffix. */
START_TEST(test_long_label)
{
    ocv_auto(ocv_tag_plan) plan =
        plan_of("vllm/vllm-openai:v0.9.0-rc1-ubuntu22.04",
                "v0.9.0-rc1-cu128-x86_64-ubuntu22.04 v0.9.0-rc1-cu130-ubuntu22.04");
    ocv_auto(ocv_index) index = index_of(plan);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const char *label = ocv_index_entry(index, i)->label;
        ck_assert_msg(ocv_label_valid(label, strlen(label)), "%s", label);
    }
}
END_TEST

/* What a build holds may differ by its platform. */
START_TEST(test_platform)
{
    ocv_auto(ocv_tag_plan) plan = plan_of(SGLANG);
    ocv_auto(ocv_index) amd64 = index_of(plan);
    ocv_auto(ocv_index) arm64 = index_for(plan, "linux/arm64");
    ck_assert(needs(amd64, "v0.5.15", "sm_arch", "80_real"));
    ck_assert(!needs(amd64, "v0.5.15", "sm_arch", "121a_real"));
    ck_assert(!needs(arm64, "v0.5.15", "sm_arch", "80_real"));
    ck_assert(needs(arm64, "v0.5.15", "sm_arch", "121a_real"));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("tag_cuda");
    TCase *tcase = tcase_create("tag_cuda");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, test_choice, 0, sizeof(choices) / sizeof(*choices));
    tcase_add_test(tcase, test_order);
    tcase_add_test(tcase, test_many_properties);
    tcase_add_test(tcase, test_twice);
    tcase_add_test(tcase, test_long_label);
    tcase_add_test(tcase, test_platform);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
