/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tags of torch's images beside what torch itself publishes and documents, where the fixtures are.
 */
#include "test/unit/tags/shipped_rules.h"

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

TEST_FILE
{
    Suite *suite = suite_create("tag_torch");
    TCase *tcase = tcase_create("tag_torch");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_torch);
    tcase_add_test(tcase, test_torch_corpus);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
