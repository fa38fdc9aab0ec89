/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tags leave open and configurations say (lib/internal/tags/answer.c, needed_configs.c), and
 * which configurations a choice reads for it (choose.c, choice_config.c): a repository in memory
 * that counts what it is asked for. */
#include "lib/internal/content/image_config.h"
#include "lib/internal/tags/tags.h"
#include "test/unit/core_util.h"
#include "test/unit/suite.h"

static const char rules_text[] =
    "schema: dev.ocivariant.tags/v1\n"
    "family: demo\n"
    "repositories: [docker.io/demo/app]\n"
    "parts:\n"
    "  - {match: 'cuda?-?([0-9]+)', kind: device, gives: ['nvidia :: cuda_version_lower_bound :: "
    "\\1'], config: cuda}\n"
    "  - {match: 'cuda?-?([0-9]+)\\.([0-9]+)', kind: device, gives: ['nvidia :: "
    "cuda_version_lower_bound :: \\1.\\2']}\n"
    "  - {match: 'rocm([0-9]+)\\.([0-9]+)', kind: device, gives: ['amd :: rocm_user_space :: "
    "\\1.\\2'], assumes: ['amd :: gfx_arch :: gfx942']}\n"
    "  - {match: 'rocm', kind: any_rocm, config: rocm, refuse: 'which ROCm it has is not stated'}\n"
    "  - {match: 'cpu', kind: device}\n"
    "  - {match: 'driver', kind: device, refuse: 'a driver'}\n"
    "  - {match: 'arm64', platform: linux/arm64}\n"
    "  - {match: '[0-9]+\\.[0-9]+', group: version}\n"
    "defaults:\n"
    "  - {missing: [device, any_rocm], where: {version: '1\\.0'}, gives: ['nvidia :: "
    "cuda_version_lower_bound :: 11.8']}\n"
    "  - {missing: [device, any_rocm], config: cuda, refuse: 'which CUDA it needs is not stated'}\n"
    "cuda: minor\n"
    "group_tags: ['{version}']\n"
    "prefer: {tag: shortest}\n";

struct image {
    const char *tag, *config;
    char config_digest[OCV_DIGEST_MAX], digest[OCV_DIGEST_MAX], body[2048];
};

static struct repository {
    struct image images[24];
    size_t n, gets, blobs, kept;
    char cache[24][OCV_DIGEST_MAX], essence[24][512];
} repository;

static struct ocv_tag_rules *rules;
static struct ocv_tag_source source;

static void add(const char *tag, const char *environment)
{
    struct image *image = &repository.images[repository.n++];
    char digest[OCV_DIGEST_MAX], body[sizeof(image->body)];
    image->tag = tag;
    image->config =
        quoted("{'architecture':'amd64','os':'linux','config':{'Env':[%s]}}", environment);
    ck_assert_int_eq(ocv_digest_bytes(image->config, strlen(image->config), digest, NULL), OCV_OK);
    memcpy(image->config_digest, digest, sizeof(digest));
    snprintf(
        body, sizeof(body),
        "{\"schemaVersion\":2,\"mediaType\":\"%s\",\"config\":{\"mediaType\":\"%s\",\"digest\":"
        "\"%s\",\"size\":%zu},\"layers\":[],\"annotations\":{\"is\":\"%s\"}}",
        OCV_MEDIA_TYPE_MANIFEST, OCV_MEDIA_TYPE_CONFIG, digest, strlen(image->config), tag);
    memcpy(image->body, body, sizeof(body));
    ck_assert_int_eq(ocv_digest_bytes(body, strlen(body), digest, NULL), OCV_OK);
    memcpy(image->digest, digest, sizeof(digest));
}

static int list_tags(void *data, int (*visit)(void *, const char *), void *visit_data,
                     struct ocv_error *err)
{
    (void)data, (void)err;
    for (size_t i = 0; i < repository.n; i++)
        if (visit(visit_data, repository.images[i].tag))
            return OCV_ERR_INTERRUPTED;
    return OCV_OK;
}

static const struct image *find(const char *digest, const char *tag)
{
    for (size_t i = 0; i < repository.n; i++)
        if (!strcmp(tag ? repository.images[i].tag : repository.images[i].digest,
                    tag ? tag : digest))
            return &repository.images[i];
    return NULL;
}

static void describe(const struct image *image, struct ocv_descriptor *out)
{
    snprintf(out->media_type, sizeof(out->media_type), "%s", OCV_MEDIA_TYPE_MANIFEST);
    snprintf(out->digest, sizeof(out->digest), "%s", image->digest);
    out->size = (int64_t)strlen(image->body);
}

static int head(void *data, const char *tag, struct ocv_descriptor *out, struct ocv_error *err)
{
    (void)data;
    const struct image *image = find(NULL, tag);
    if (!image)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: not found", tag);
    describe(image, out);
    return OCV_OK;
}

static int get(void *data, const char *digest, struct ocv_buffer *body, struct ocv_descriptor *out,
               struct ocv_error *err)
{
    (void)data;
    repository.gets++;
    const struct image *image = find(digest, NULL);
    describe(image, out);
    return ocv_buffer_append(body, image->body, strlen(image->body), err);
}

static int blob(void *data, const struct ocv_descriptor *wanted, struct ocv_buffer *body,
                struct ocv_error *err)
{
    (void)data;
    repository.blobs++;
    for (size_t i = 0; i < repository.n; i++)
        if (!strcmp(repository.images[i].config_digest, wanted->digest))
            return ocv_buffer_append(body, repository.images[i].config,
                                     strlen(repository.images[i].config), err);
    return ocv_error_set(err, OCV_ERR_NOT_FOUND, "not found");
}

static bool recall(void *data, const char *digest, struct ocv_buffer *essence)
{
    (void)data;
    for (size_t i = 0; i < repository.kept; i++)
        if (!strcmp(repository.cache[i], digest))
            return ocv_buffer_append(essence, repository.essence[i], strlen(repository.essence[i]),
                                     NULL) == OCV_OK;
    return false;
}

static void keep(void *data, const char *digest, const struct ocv_buffer *essence)
{
    (void)data;
    size_t i = repository.kept++;
    snprintf(repository.cache[i], OCV_DIGEST_MAX, "%s", digest);
    snprintf(repository.essence[i], 512, "%s", essence->data);
}

static void setup(void)
{
    memset(&repository, 0, sizeof(repository));
    source = (struct ocv_tag_source){.data = &repository,
                                     .tags = list_tags,
                                     .head = head,
                                     .get = get,
                                     .blob = blob,
                                     .recall = recall,
                                     .keep = keep};
    ck_assert_int_eq(ocv_tag_rules_new(&rules, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_rules_add(rules, "r.yaml", rules_text, strlen(rules_text), NULL, NULL),
                     OCV_OK);
}

static void teardown(void)
{
    for (size_t i = 0; i < repository.n; i++)
        free((void *)(uintptr_t)repository.images[i].config);
    ocv_tag_rules_free(rules);
}

static const struct {
    const char *tag, *environment, *properties, *heard, *refused, *contradiction;
} answers[] = {
    {"2.0", "'CUDA_VERSION=12.8.1'", "12.8", "CUDA_VERSION=12.8.1", NULL, NULL},
    {"2.0", "", NULL, NULL, "which CUDA it needs is not stated", NULL},
    {"2.0-cuda12", "'CUDA_VERSION=12.8.1'", "12.8", "CUDA_VERSION=12.8.1", NULL, NULL},
    {"2.0-cuda12", "", "12.0", NULL, NULL, NULL},
    {"2.0-cuda12", "'CUDA_VERSION=13.0'", "13.0", "CUDA_VERSION=13.0", NULL,
     "the tag says nvidia :: cuda_version_lower_bound :: 12, its configuration CUDA_VERSION=13.0"},
    {"2.0-cuda1", "'CUDA_VERSION=12.8'", "12.8", "CUDA_VERSION=12.8", NULL,
     "the tag says nvidia :: cuda_version_lower_bound :: 1, its configuration CUDA_VERSION=12.8"},
    {"2.0-cuda12.6", "'CUDA_VERSION=12.8.1'", "12.8", "CUDA_VERSION=12.8.1", NULL,
     "the tag says nvidia :: cuda_version_lower_bound :: 12.6, its configuration "
     "CUDA_VERSION=12.8.1"},
    {"2.0-cuda12.8", "'CUDA_VERSION=12.8.1'", "12.8", "CUDA_VERSION=12.8.1", NULL, NULL},
    /* a default of a family that asks for it elsewhere */
    {"1.0", "'CUDA_VERSION=12.1'", "12.1", "CUDA_VERSION=12.1", NULL,
     "the tag says nvidia :: cuda_version_lower_bound :: 11.8, its configuration "
     "CUDA_VERSION=12.1"},
    /* of what the tag does not speak, nothing is taken */
    {"2.0-cpu", "'CUDA_VERSION=12.8.1'", "", NULL, NULL, NULL},
    {"2.0-driver", "'CUDA_VERSION=12.8.1'", NULL, NULL, "a driver", NULL},
    {"2.0-rocm", "'CUDA_VERSION=12.8.1'", NULL, NULL, "which ROCm it has is not stated", NULL},
};

static const char *value_of(const struct ocv_tag *tag, const char *feature, size_t skip)
{
    const struct ocv_properties *all = ocv_tag_properties(tag);
    const char *found = NULL;
    for (size_t i = ocv_properties_count(all); i-- > 0;)
        if (!strcmp(ocv_properties_get(all, i).feature, feature) && !found && !skip--)
            found = ocv_properties_get(all, i).value;
    return found;
}

static void check_text(const char *is, const char *wanted)
{
    ck_assert_msg((is == NULL) == (wanted == NULL), "%s", is ? is : wanted);
    if (is)
        ck_assert_str_eq(is, wanted);
}

static void answer(const char *tag, const char *environment, struct ocv_tag **out)
{
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag) first = NULL;
    ocv_auto(ocv_image_config) config = NULL;
    struct ocv_error err = {0};
    char *json = quoted("{'config':{'Env':[%s]}}", environment);
    ck_assert_int_eq(ocv_reference_parse("demo/app", &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_image_config_parse(json, strlen(json), &config, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_parse(rules, reference, tag, &first, NULL), OCV_OK);
    ck_assert_msg(ocv_tag_answer(first, config, out, &err) == OCV_OK, "%s", err.message);
    ck_assert_ptr_null(ocv_tag_asks(*out, 0));
    ck_assert_str_eq(ocv_tag_reference(*out), ocv_tag_reference(first));
    free(json);
}

START_TEST(test_answer)
{
    ocv_auto(ocv_tag) tag = NULL;
    const char *contradiction;
    answer(answers[_i].tag, answers[_i].environment, &tag);
    check_text(ocv_tag_heard(tag, &contradiction), answers[_i].heard);
    check_text(ocv_tag_refused(tag), answers[_i].refused);
    check_text(contradiction, answers[_i].contradiction);
    if (answers[_i].properties) {
        const char *value = value_of(tag, "cuda_version_lower_bound", 0);
        ck_assert_str_eq(value ? value : "", answers[_i].properties);
        /* minor: the major's first version, too */
        bool second = value && !strstr(value, ".0");
        check_text(value_of(tag, "cuda_version_lower_bound", 1), !second ? NULL
                                                                 : !strncmp(value, "11", 2)
                                                                     ? "11.0"
                                                                     : "12.0");
    }
}
END_TEST

/* What follows of the version follows as if the tag said it. */
START_TEST(test_assumptions_follow)
{
    ocv_auto(ocv_tag) tag = NULL;
    answer("2.0-rocm", "'ROCM_VERSION=6.4.1'", &tag);
    ck_assert_ptr_null(ocv_tag_refused(tag));
    ck_assert_str_eq(value_of(tag, "rocm_user_space", 0), "6.4");
    ck_assert_str_eq(value_of(tag, "gfx_arch", 0), "gfx942");
}
END_TEST

START_TEST(test_asks)
{
    ocv_auto(ocv_reference) reference = NULL;
    static const struct {
        const char *tag, *asks;
    } cases[] = {{"2.0", "cuda"}, {"2.0-cuda12", "cuda"}, {"2.0-cuda12.8", NULL}, {"2.0-cpu", NULL},
                 {"1.0", NULL},   {"2.0-rocm", "rocm"},   {"2.0-driver", NULL}};
    ck_assert_int_eq(ocv_reference_parse("demo/app", &reference, NULL), OCV_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ocv_auto(ocv_tag) tag = NULL;
        ck_assert_int_eq(ocv_tag_parse(rules, reference, cases[i].tag, &tag, NULL), OCV_OK);
        check_text(ocv_tag_asks(tag, 0), cases[i].asks);
        ck_assert_ptr_null(ocv_tag_asks(tag, 1));
    }
}
END_TEST

START_TEST(test_rules_are_checked)
{
    static const char bad[] = "schema: dev.ocivariant.tags/v1\nfamily: bad\nrepositories: "
                              "[docker.io/demo/bad]\nparts:\n  - {match: 'gpu', config: cuda, "
                              "refuse: 'not said'}\n";
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_tag_rules_add(rules, "b.yaml", bad, strlen(bad), NULL, &err),
                     OCV_ERR_DATA);
    ck_assert_str_eq(err.message, "b.yaml:1: config: no part reads 'cuda12.8' as a property");
}
END_TEST

static struct ocv_profile *host(const char *cuda)
{
    char *text = quoted("{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux',"
                        "'architecture':'amd64'},'namespaces':[%s%s%s]}",
                        cuda ? "{'namespace':'nvidia','features':[{'name':"
                               "'cuda_version_lower_bound','values':["
                             : "",
                        cuda ? cuda : "",
                        cuda ? "]},{'name':'sm_arch','values':['90_real','90_virtual']}]}" : "");
    struct ocv_profile *profile = parse_profile(text);
    free(text);
    return profile;
}

/* What is hoped or not known stays inside of the choice. */
static void check_all_known(const struct ocv_index *index)
{
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(index, i);
        for (size_t k = 0; k < entry->n_properties; k++)
            ck_assert_str_ne(ocv_index_property(index, entry->properties[k]).value, "unread");
    }
}

/* The tag that such a host gets, "" for none, "-" where the tag is taken as it is; with the
 * requests made. */
static void check_choice(const char *name, const char *cuda, const char *wanted, size_t gets)
{
    struct ocv_error err = {0};
    char text[64];
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag_choice) choice = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    ocv_auto(ocv_profile) profile = host(cuda);
    struct ocv_resolve_options options = {0};
    repository.gets = repository.blobs = 0;
    snprintf(text, sizeof(text), "demo/app:%s", name);
    ck_assert_int_eq(ocv_reference_parse(text, &reference, NULL), OCV_OK);
    ck_assert_msg(ocv_tag_choice_new(rules, reference, &source, &choice, &err) == OCV_OK, "%s",
                  err.message);
    ck_assert_msg((choice == NULL) == (strcmp(wanted, "-") == 0), "%s", wanted);
    if (choice) {
        ck_assert_msg(ocv_tag_choice_resolve(choice, &source, profile, &options, &decision, &err) ==
                          OCV_OK,
                      "%s", err.message);
        const struct ocv_entry *entry = ocv_decision_selected(decision);
        ck_assert_str_eq(entry ? ocv_tag_choice_tag(choice, entry, NULL) : "", wanted);
        check_all_known(ocv_tag_choice_index(choice));
    }
    ck_assert_uint_eq(repository.gets, gets);
    ck_assert_uint_eq(repository.blobs, gets);
}

#define CUDA_13_0 "'13.0','12.9','12.8','12.7','12.6','12.5','12.4','12.3','12.2','12.1','12.0'"
#define CUDA_12_4 "'12.4','12.3','12.2','12.1','12.0'"

/* Where tags say all, no configuration is asked for what they say. */
START_TEST(test_no_need)
{
    add("2.0-cuda12.8", "'CUDA_VERSION=12.8.1'");
    add("2.0-cuda13.0", "'CUDA_VERSION=13.0.1'");
    add("2.0-cpu", "");
    check_choice("2.0", CUDA_13_0, "2.0-cuda13.0", 1); /* for its platform, as ever */
    check_choice("2.0", CUDA_13_0, "2.0-cuda13.0", 0); /* which was kept */
}
END_TEST

START_TEST(test_configuration_decides)
{
    add("2.0-cpu", "");
    add("2.0", "'CUDA_VERSION=13.0.1'");
    add("2.0-cuda12", "'CUDA_VERSION=12.4.1'");
    check_choice("2.0", CUDA_13_0, "2.0", 1);
    check_choice("2.0", CUDA_13_0, "2.0", 0);
    /* nothing of CUDA 13 runs; the other one has to be asked, too */
    check_choice("2.0", CUDA_12_4, "2.0-cuda12", 1);
    check_choice("2.0", CUDA_12_4, "2.0-cuda12", 0);
}
END_TEST

/* A host without such devices asks none but the tag that was named. */
START_TEST(test_only_what_could_win)
{
    add("2.0-cpu", "");
    add("2.0-cuda12", "'CUDA_VERSION=12.4.1'");
    add("2.0-cuda13", "'CUDA_VERSION=13.0.1'");
    check_choice("2.0", NULL, "2.0-cpu", 1); /* its platform */
    check_choice("2.0", "'11.8'", "2.0-cpu", 2);
}
END_TEST

START_TEST(test_equal_at_best)
{
    add("2.0-cuda13.0-arm64", "");
    add("2.0-cuda12.8", "");
    add("2.0-cuda12", "'CUDA_VERSION=12.4.1'");
    /* 12.8 is native: nothing of CUDA 12 is better, and the other need not be asked */
    check_choice("2.0", "'12.8','12.7','12.6','12.5','12.4','12.3','12.2','12.1','12.0'",
                 "2.0-cuda12.8", 1);
}
END_TEST

/* Not even the configuration says it: the tag is what was asked for, as in any repository. */
START_TEST(test_silent)
{
    add("2.0-cpu", "");
    add("2.0", "'PATH=/bin'");
    check_choice("2.0", CUDA_13_0, "-", 1);
    check_choice("2.0", CUDA_13_0, "-", 0);
}
END_TEST

/* Of a set in which nothing says anything, nothing is asked. */
START_TEST(test_nothing_to_choose)
{
    add("2.0", "'CUDA_VERSION=13.0.1'");
    add("2.0-arm64", "'CUDA_VERSION=13.0.1'");
    check_choice("2.0", CUDA_13_0, "-", 0);
}
END_TEST

START_TEST(test_limit)
{
    char names[20][32];
    add("2.0-cpu", "");
    for (int i = 0; i < 20; i++) {
        snprintf(names[i], sizeof(names[i]), "2.0-cuda%d", 100 + i);
        add(names[i], "");
    }
    check_choice("2.0", CUDA_13_0, "2.0-cpu",
                 OCV_TAG_CONFIGS_MAX + 1); /* and one for its platform */
}
END_TEST

START_TEST(test_notes)
{
    struct ocv_tag_note note;
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_tag_choice) choice = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    ocv_auto(ocv_profile) profile = host(CUDA_13_0);
    struct ocv_resolve_options options = {0};
    add("2.0-cpu", "");
    add("2.0-cuda12", "'CUDA_VERSION=12.4.1'");
    add("2.0-cuda13", "'CUDA_VERSION=12.8.1'");
    ck_assert_int_eq(ocv_reference_parse("demo/app:2.0", &reference, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_choice_new(rules, reference, &source, &choice, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_choice_resolve(choice, &source, profile, &options, &decision, NULL),
                     OCV_OK);
    ck_assert(ocv_tag_choice_note(choice, 0, &note));
    ck_assert_str_eq(note.tag, "2.0-cuda12");
    ck_assert_str_eq(note.heard, "CUDA_VERSION=12.4.1");
    ck_assert_ptr_null(note.contradiction);
    ck_assert(ocv_tag_choice_note(choice, 1, &note));
    ck_assert_str_eq(note.contradiction,
                     "the tag says nvidia :: cuda_version_lower_bound :: 13, its "
                     "configuration CUDA_VERSION=12.8.1");
    ck_assert(!ocv_tag_choice_note(choice, 2, &note));
    ck_assert_str_eq(ocv_tag_choice_tag(choice, ocv_decision_selected(decision), NULL),
                     "2.0-cuda13");
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("tag answer");
    TCase *tc = tcase_create("tag answer");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_answer, 0, (int)(sizeof(answers) / sizeof(*answers)));
    tcase_add_test(tc, test_assumptions_follow);
    tcase_add_test(tc, test_asks);
    tcase_add_test(tc, test_rules_are_checked);
    tcase_add_test(tc, test_no_need);
    tcase_add_test(tc, test_configuration_decides);
    tcase_add_test(tc, test_only_what_could_win);
    tcase_add_test(tc, test_equal_at_best);
    tcase_add_test(tc, test_silent);
    tcase_add_test(tc, test_nothing_to_choose);
    tcase_add_test(tc, test_limit);
    tcase_add_test(tc, test_notes);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
