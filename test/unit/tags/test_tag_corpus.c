/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the shipped tag rules say of a list of tags read by hand (test/data/tags/spot.jsonl), of
 * every toolkit, and, where the fixtures are, of every tag of the corpus. */
#include "test/unit/tags/shipped_rules.h"

#define SPOT_LINES 120u     /* at least */
#define DOUBTFUL_PERCENT 3u /* of the lines of the corpus may have an unknown or ambiguous part */

static void check_properties(const struct ocv_tag *tag)
{
    for (size_t i = 0; i < ocv_properties_count(ocv_tag_properties(tag)); i++) {
        struct ocv_property p = ocv_properties_get(ocv_tag_properties(tag), i);
        check_listed(ocv_tag_reference(tag), p.ns, p.feature, p.value);
    }
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

TEST_FILE
{
    Suite *suite = suite_create("tag_corpus");
    TCase *tcase = tcase_create("tag_corpus");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_spot);
    tcase_add_test(tcase, test_toolkits);
    tcase_add_test(tcase, test_corpus);
    tcase_add_test(tcase, test_runner);
    tcase_add_test(tcase, test_what_is_left_to_configurations);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
