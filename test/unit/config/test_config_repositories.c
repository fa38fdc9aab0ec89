/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `repositories` of the configuration: which glob names an image, which of several counts, and what
 * holds then. */
#include "lib/internal/config/config.h"
#include "lib/internal/config/config_internal.h"
#include "test/unit/config/config_util.h"
#include "test/unit/core_util.h"

static struct ocv_config *config_of(const char *text)
{
    struct ocv_config *c = new_config();
    struct ocv_error err = {0};
    ck_assert_msg(ocv_config_merge_yaml(c, "f.yaml", text, strlen(text), &err) == OCV_OK, "%s",
                  err.message);
    return c;
}

/* glob, image, is it named? */
static const struct {
    const char *glob, *image;
    bool named;
} globs[] = {
    {"docker.io/tensorflow/**", "tensorflow/tensorflow:2", true},
    {"docker.io/tensorflow/**", "tensorflow/a/b/c", true},
    {"docker.io/tensorflow/**", "tensorflows/a", false},
    {"docker.io/tensorflow/*", "tensorflow/a", true},
    {"docker.io/tensorflow/*", "tensorflow/a/b", false},
    {"docker.io/tensorflow/tensor*", "tensorflow/tensorflow", true},
    {"docker.io/tensorflow/tensorflow*", "tensorflow/tensorflow", true},
    {"docker.io/tensorflow/*board*", "tensorflow/tensorboard2", true},
    {"docker.io/tensorflow/*board*", "tensorflow/tensorflow", false},
    {"docker.io/alpine", "alpine", true},
    {"index.docker.io/alpine", "docker.io/library/alpine:3", true},
    {"docker.io/*", "alpine", true},
    {"docker.io/*", "a/b", false},
    {"docker.io/**", "a/b", true},
    {"docker.io/**", "alpine", true},
    {"docker.io/**", "quay.io/a/b", false},
    {"Registry.Example/**", "registry.example/a", true},
    {"localhost:5000/a", "localhost:5000/a:1", true},
    {"localhost:5000/a", "localhost:5001/a:1", false},
    {"[::1]:5000/a", "[::1]:5000/a", true},
    {"r.example/**/app", "r.example/app", true},
    {"r.example/**/app", "r.example/x/y/app", true},
    {"r.example/**/app", "r.example/x/myapp", false},
    {"r.example/**/a/**", "r.example/x/a/y", true},
    {"r.example/**/a/**", "r.example/a", false},
    {"r.example/**/**", "r.example/a", true},
    {"r.example/team/**", "r.example/team", false},
    {"**", "anything", true},
    {"**/app", "r.example/x/app", true},
    {"**/app", "r.example/x/app2", false},
    {"*/team/app", "r.example/team/app", true},
    {"*/team/app", "r.example/x/team/app", false},
    {"*.example/**", "r.example/team/app", true},
    {"*.example/**", "r.other/team/app", false},
};

/* Keys that only a repository has. */
START_TEST(workload)
{
    ocv_auto(ocv_reference) one = NULL;
    ocv_auto(ocv_reference) two = NULL;
    ocv_auto(ocv_reference) three = NULL;
    ck_assert_int_eq(ocv_reference_parse("r.example/one:1", &one, NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/two:1", &two, NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/three:1", &three, NULL), OCV_OK);
    struct ocv_config *c = config_of("repositories:\n"
                                     "  r.example/one: {workload: annotations, label: a}\n"
                                     "  r.example/two: {workload: devices, no_device: cpu}\n"
                                     "  r.example/three: {workload: devices, choose: shadow}\n"
                                     "workload_annotations: [label, require]\n");
    const struct ocv_config *own = ocv_config_for_reference(c, one);
    ck_assert_int_eq(ocv_config_workload(own), OCV_WORKLOAD_ANNOTATIONS);
    ck_assert_str_eq(ocv_config_get(own, "label"), "a");
    ck_assert_ptr_null(ocv_config_get(own, "no_device"));
    own = ocv_config_for_reference(c, two);
    ck_assert_int_eq(ocv_config_workload(own), OCV_WORKLOAD_DEVICES);
    ck_assert_str_eq(ocv_config_get(own, "no_device"), "cpu");
    ck_assert_ptr_null(ocv_config_get(own, "label"));
    ck_assert_int_eq(ocv_config_workload(ocv_config_for_reference(c, three)), OCV_WORKLOAD_OFF);
    ck_assert_int_eq(ocv_config_workload(c), OCV_WORKLOAD_OFF);
    ck_assert_uint_eq(ocv_config_list(own, "workload_annotations", NULL), 2);
    struct ocv_config *other =
        config_of("repositories:\n"
                  "  r.example/one: {workload: devices, label: a}\n"
                  "  r.example/two: {workload: devices, no_device: cpu}\n"
                  "  r.example/three: {workload: devices, choose: shadow}\n");
    ck_assert(ocv_config_differs(c, other, "repositories"));
    ck_assert(ocv_config_differs(c, other, "workload_annotations"));
    ocv_config_free(other);
    ocv_config_free(c);
}
END_TEST

static const char *const workload_slips[] = {
    "workload: annotations\n",
    "repositories: {r.example/a: {workload: on}}\n",
    "repositories: {r.example/a: {no_device: gpu}}\n",
    "workload_annotations: [labels]\n",
    "repositories: {r.example/a: {workload_annotations: [label]}}\n",
    "deny: [a]\n",
    "repositories: {r.example/a: {deny: ['a:1']}}\n",
    "repositories: {r.example/a: {deny: ['']}}\n",
    "repositories: {r.example/a: {deny: ['a?']}}\n",
    "repositories: {r.example/a: {deny: "
    "['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']}}\n"};

/* A file that changes them is another configuration. */
START_TEST(deny)
{
    ocv_auto(ocv_reference) one = NULL;
    ck_assert_int_eq(ocv_reference_parse("r.example/one:1", &one, NULL), OCV_OK);
    ocv_auto(ocv_config) c = config_of("repositories: {r.example/one: {deny: [a, 'B-1.*']}}\n");
    ocv_auto(ocv_config) same = config_of("repositories: {r.example/one: {deny: [a, 'B-1.*']}}\n");
    ocv_auto(ocv_config) other = config_of("repositories: {r.example/one: {deny: [a]}}\n");
    struct ocv_preferences own = ocv_config_preferences_for(c, one);
    ck_assert_uint_eq(own.deny.count, 2);
    ck_assert_str_eq(own.deny.list[1], "B-1.*");
    ck_assert_str_eq(own.deny.origins[1], "f.yaml:1");
    ck_assert_str_eq(own.tag, "1");
    ck_assert_uint_eq(ocv_config_preferences_for(c, NULL).deny.count, 0);
    ck_assert(!ocv_config_differs(c, same, "repositories"));
    ck_assert(ocv_config_differs(c, other, "repositories"));
}
END_TEST

START_TEST(workload_slip)
{
    struct ocv_config *c = new_config();
    struct ocv_error err = {0};
    const char *text = workload_slips[_i];
    ck_assert_int_eq(ocv_config_merge_yaml(c, "f.yaml", text, strlen(text), &err), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "f.yaml:1"));
    ocv_config_free(c);
}
END_TEST

START_TEST(which_images_a_glob_names)
{
    char text[256];
    snprintf(text, sizeof(text), "repositories: {'%s': {label: here}}", globs[_i].glob);
    ocv_auto(ocv_config) c = config_of(text);
    ocv_auto(ocv_reference) r = NULL;
    ck_assert_int_eq(ocv_reference_parse(globs[_i].image, &r, NULL), OCV_OK);
    const struct ocv_config *own = ocv_config_for_reference(c, r);
    ck_assert_msg((own != c) == globs[_i].named, "%s %s", globs[_i].glob, globs[_i].image);
    if (globs[_i].named)
        ck_assert_str_eq(ocv_config_get(own, "label"), "here");
    else
        ck_assert_ptr_null(ocv_config_get(own, "label"));
}
END_TEST

/* Of two globs the first is the more specific one; none is where both are alike. */
static const struct {
    const char *more, *less;
} specific[] = {
    {"r.example/a", "r.example/*"},          {"r.example/a", "r.example/**"},
    {"r.example/*", "r.example/**"},         {"r.example/team/**", "r.example/t*"},
    {"r.example/team/*", "r.example/**/ab"}, {"r.example/a*", "r.example/a*c*"},
    {"r.example/**", "**/team/application"}, {"**/app", "**/*app"},
    {"r.example/app", "r.example/app*"},     {"localhost/*", "*.example/a"},
};

START_TEST(which_glob_counts)
{
    ck_assert(ocv_glob_more_specific(specific[_i].more, specific[_i].less));
    ck_assert(!ocv_glob_more_specific(specific[_i].less, specific[_i].more));
}
END_TEST

START_TEST(of_two_alike_the_first_counts)
{
    ocv_auto(ocv_config) c =
        config_of("repositories:\n  r.example/a*b: {label: one}\n  r.example/a*: {label: two}\n");
    ocv_auto(ocv_reference) r = NULL;
    ck_assert_int_eq(ocv_reference_parse("r.example/ab", &r, NULL), OCV_OK);
    ck_assert_str_eq(ocv_config_get(ocv_config_for_reference(c, r), "label"), "one");
}
END_TEST

static const char *const wrong[] = {
    "",
    "alpine",
    "team/app",
    "docker.io",
    "docker.io/",
    "docker.io//a",
    "r.example/a:1",
    "r.example/a@sha256",
    "r.example/A",
    "r.example/a**",
    "r.example/***",
    "**b/a",
    "r.example/a?",
    "https://r.example/a",
    "r.example/[ab]",
    "r.example:x/a",
    "-r.example/a",
};

START_TEST(no_glob)
{
    char *canonical = NULL;
    struct ocv_error err = {0};
    ck_assert_msg(ocv_glob_canonical(wrong[_i], &canonical, &err) == OCV_ERR_CONFIG, "%s",
                  wrong[_i]);
    ck_assert_ptr_null(canonical);
    ck_assert_ptr_nonnull(strchr(err.message, '\''));
}
END_TEST

START_TEST(longest_glob)
{
    char glob[257] = "docker.io/", *canonical = NULL;
    memset(glob + 10, 'a', 246);
    ck_assert_int_eq(ocv_glob_canonical(glob, &canonical, NULL), OCV_ERR_CONFIG);
    glob[255] = '\0';
    ck_assert_int_eq(ocv_glob_canonical(glob, &canonical, NULL), OCV_OK);
    ck_assert_int_eq(strncmp(canonical, "docker.io/library/aaa", 21), 0);
    ck_assert(ocv_glob_match(canonical, canonical));
    free(canonical);
    memset(glob + 10, '*', 245); /* as hard as it gets: every other character a wildcard */
    for (size_t i = 11; i < 255; i += 2)
        glob[i] = 'a';
    glob[254] = 'b';
    ck_assert_int_eq(ocv_glob_canonical(glob, &canonical, NULL), OCV_OK);
    char name[512] = "docker.io/library/";
    memset(name + 18, 'a', 400);
    ck_assert(!ocv_glob_match(canonical, name));
    free(canonical);
}
END_TEST

static const char layers[] = "disable: [amd]\n"
                             "device_policy: {nvidia: any}\n"
                             "tag_rules: off\n"
                             "override: {nvidia: {x: [a]}}\n"
                             "registries: {r.example: {insecure: true}}\n"
                             "repositories:\n"
                             "  r.example/**:\n"
                             "    disable: [nvidia]\n"
                             "    cpu_levels: on\n"
                             "    choose: shadow\n"
                             "    require: []\n"
                             "  r.example/b:\n"
                             "    label: cuda12.6\n"
                             "    device_policy: {nvidia: first}\n";

/* What a repository says counts for it, the rest is as for all; a more specific one does not read
 * the less specific. */
START_TEST(what_holds_for_a_repository)
{
    ocv_auto(ocv_config) c = config_of(layers);
    ocv_auto(ocv_reference) a = NULL;
    ocv_auto(ocv_reference) b = NULL;
    ocv_auto(ocv_reference) other = NULL;
    ck_assert_int_eq(ocv_reference_parse("r.example/a", &a, NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/b", &b, NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("other.example/b", &other, NULL), OCV_OK);
    const struct ocv_config *own = ocv_config_for_reference(c, a);
    ck_assert(disabled(own, "nvidia", NULL, NULL));
    ck_assert(!disabled(own, "amd", NULL, NULL));
    ck_assert_int_eq(policy(own, "nvidia"), OCV_POLICY_ANY);
    ck_assert_str_eq(ocv_config_get(own, "tag_rules"), "off");
    ck_assert_str_eq(ocv_config_origin(own, "tag_rules"), "f.yaml:3");
    ck_assert_str_eq(ocv_config_get(own, "cpu_levels"), "on");
    ck_assert_str_eq(ocv_config_origin(own, "cpu_levels"), "f.yaml:9");
    ck_assert_str_eq(ocv_config_get(own, "choose"), "shadow");
    ck_assert_ptr_null(ocv_config_origin(own, "to"));
    ck_assert(ocv_config_find_registry(own, "r.example").insecure);
    const struct ocv_registry_config *list;
    ck_assert_uint_eq(ocv_config_registries(own, &list), 1);
    own = ocv_config_for_reference(c, b);
    ck_assert(disabled(own, "amd", NULL, NULL));
    ck_assert_int_eq(policy(own, "nvidia"), OCV_POLICY_FIRST);
    ck_assert_str_eq(ocv_config_get(own, "label"), "cuda12.6");
    ck_assert_ptr_eq(ocv_config_for_reference(c, other), c);
    ck_assert_ptr_eq(ocv_config_for_reference(c, NULL), c);
    ck_assert_ptr_null(ocv_config_for_reference(NULL, a));
}
END_TEST

/* Variables and flags stand over both. */
START_TEST(a_flag_counts_more)
{
    ocv_auto(ocv_config) c = config_of(layers);
    ocv_auto(ocv_reference) a = NULL;
    ck_assert_int_eq(ocv_reference_parse("r.example/a", &a, NULL), OCV_OK);
    ck_assert_int_eq(ocv_config_set(c, "--disable", "disable", "intel", false, NULL), OCV_OK);
    ck_assert_int_eq(ocv_config_set(c, "OCV_REQUIRE", "require", "amd", false, NULL), OCV_OK);
    const struct ocv_config *own = ocv_config_for_reference(c, a);
    ck_assert_ptr_ne(own, c);
    ck_assert(disabled(own, "intel", NULL, NULL));
    ck_assert(!disabled(own, "nvidia", NULL, NULL));
    ck_assert_uint_eq(ocv_config_list(own, "require", NULL), 1);
    ck_assert_str_eq(ocv_config_get(own, "cpu_levels"), "on");
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(*list))

TEST_FILE
{
    Suite *suite = suite_create("config_repositories");
    TCase *tcase = tcase_create("config_repositories");
    tcase_add_loop_test(tcase, which_images_a_glob_names, 0, N(globs));
    tcase_add_loop_test(tcase, which_glob_counts, 0, N(specific));
    tcase_add_test(tcase, of_two_alike_the_first_counts);
    tcase_add_loop_test(tcase, no_glob, 0, N(wrong));
    tcase_add_test(tcase, longest_glob);
    tcase_add_test(tcase, what_holds_for_a_repository);
    tcase_add_test(tcase, a_flag_counts_more);
    tcase_add_test(tcase, workload);
    tcase_add_test(tcase, deny);
    tcase_add_loop_test(tcase, workload_slip, 0, N(workload_slips));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
