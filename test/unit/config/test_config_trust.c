/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `trust`: which rules an image has, however its name is spelt. */
#include "test/unit/config/config_util.h"
#include "test/unit/suite.h"

#include <string.h>

static struct ocv_config *config_of(const char *yaml)
{
    struct ocv_error err = {0};
    struct ocv_config *config = NULL;
    ck_assert_int_eq(ocv_config_new(&config, &err), OCV_OK);
    int status = ocv_config_merge_yaml(config, "f", yaml, strlen(yaml), &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return config;
}

static const char rules[] = "registries: {mirror.example: {mirror_of: docker.io}, "
                            "'harbor.example/hub': {mirror_of: docker.io},\n"
                            "  'Upper.example:443': {mirror_of: quay.io}}\n"
                            "trust:\n"
                            "  'registry.example/**': {keys: [/all.pub]}\n"
                            "  'registry.example/team/*': {keys: [/team.pub], repository: match}\n"
                            "  'registry.example/open/**': {require: false}\n"
                            "  'Spelt.example:443/**': {keys: [/spelt.pub]}\n"
                            "  'docker.io/library/*': {keys: [/hub.pub]}\n"
                            "  'mirror.example/library/redis': {keys: [/redis.pub]}\n"
                            "  'quay.io/**': {keys: [/quay.pub]}\n"
                            "  'port.example:5000/**': {keys: [/port.pub]}\n";

static const struct {
    const char *reference, *first,
        *second; /* the rules' keys; "-": none, but a rule; NULL: no rule */
} images[] = {
    {"registry.example/a:1", "/all.pub", NULL},
    {"registry.example/a/b@sha256:6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f",
     "/all.pub", NULL},
    {"registry.example/team/app", "/team.pub", NULL},
    {"registry.example/team/app/x", "/all.pub", NULL},
    {"registry.example/open/app", "-", NULL},
    {"REGISTRY.example/a", "/all.pub", NULL},
    {"registry.example:443/a", "/all.pub", NULL},
    {"Registry.Example:443/team/app", "/team.pub", NULL},
    {"registry.example:80/a", "/all.pub", NULL},
    {"registry.example:5000/a", NULL, NULL},
    {"spelt.example/a", "/spelt.pub", NULL},
    {"spelt.example:443/a", "/spelt.pub", NULL},
    {"redis", "/hub.pub", NULL},
    {"docker.io/redis", "/hub.pub", NULL},
    {"registry-1.docker.io/library/redis", "/hub.pub", NULL},
    {"docker.io:443/redis", "/hub.pub", NULL},
    {"docker.io/team/redis", NULL, NULL},
    {"mirror.example/library/nginx", "/hub.pub", NULL},
    {"MIRROR.example:443/library/nginx", "/hub.pub", NULL},
    {"mirror.example/library/redis", "/redis.pub", "/hub.pub"},
    {"harbor.example/hub/library/nginx", "/hub.pub", NULL},
    {"Harbor.example/hub/nginx", "/hub.pub", NULL},
    {"harbor.example/other/nginx", NULL, NULL},
    {"upper.example/team/app", "/quay.pub", NULL},
    {"port.example:5000/a", "/port.pub", NULL},
    {"PORT.example:5000/a", "/port.pub", NULL},
    {"port.example/a", NULL, NULL},
};

START_TEST(test_rules_of_an_image)
{
    ocv_auto(ocv_config) c = config_of(rules);
    ocv_auto(ocv_reference) reference = NULL;
    struct ocv_trust_rule found[2];
    ck_assert_int_eq(ocv_reference_parse(images[_i].reference, &reference, NULL), OCV_OK);
    size_t n = ocv_config_trust(c, reference, found);
    const char *wanted[] = {images[_i].first, images[_i].second};
    ck_assert_msg(n == (size_t)(wanted[0] != NULL) + (wanted[1] != NULL), "%s: %zu rules",
                  images[_i].reference, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(!strcmp(found[i].n_keys ? found[i].keys[0] : "-", wanted[i]), "%s: %s",
                      images[_i].reference, found[i].n_keys ? found[i].keys[0] : "-");
    ck_assert_int_eq(ocv_config_trust_required(c, reference),
                     wanted[0] && strcmp(wanted[0], "-") != 0);
}
END_TEST

START_TEST(test_what_rules_say)
{
    ocv_auto(ocv_config) c = config_of(rules);
    ocv_auto(ocv_config) none = config_of("choose: on\n");
    ocv_auto(ocv_config) open = config_of("trust: {'r.example/**': {require: false}}\n");
    struct ocv_trust_rule rule;
    ck_assert_uint_eq(ocv_config_trust_rules(c, 1, &rule), 8);
    ck_assert(rule.require && rule.match);
    ck_assert_uint_eq(rule.place, 1);
    ck_assert_str_eq(rule.glob, "registry.example/team/*");
    ck_assert(ocv_config_trust_anywhere(c));
    ck_assert(!ocv_config_trust_anywhere(none) && !ocv_config_trust_anywhere(open));
    ck_assert(ocv_config_differs(c, none, "trust") && !ocv_config_differs(c, c, "trust"));
}
END_TEST

static const struct {
    const char *yaml, *message;
} wrong[] = {
    {"trust: {'r.example/**': {}}\n", "keys are missing"},
    {"trust: {'r.example/**': {keys: []}}\n", "keys"},
    {"trust: {'r.example/**': {keys: [k.pub]}}\n", "the absolute path of a file"},
    {"trust: {'r.example/**': {keys: [/k], repository: yes}}\n", "repository"},
    {"trust: {'r.example/a:1': {keys: [/k]}}\n", "without tag or digest"},
    {"trust: {'r.example': {keys: [/k]}}\n", "its repositories are HOST/**"},
    {"trust: [a]\n", "trust"},
};

START_TEST(test_wrong_rules)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_config) c = NULL;
    ck_assert_int_eq(ocv_config_new(&c, &err), OCV_OK);
    const char *yaml = wrong[_i].yaml;
    ck_assert_int_eq(ocv_config_merge_yaml(c, "f", yaml, strlen(yaml), &err), OCV_ERR_CONFIG);
    ck_assert_msg(strstr(err.message, wrong[_i].message) && !strncmp(err.message, "f:1", 3), "%s",
                  err.message);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("config_trust");
    TCase *c = tcase_create("config_trust");
    tcase_add_loop_test(c, test_rules_of_an_image, 0, (int)(sizeof(images) / sizeof(*images)));
    tcase_add_test(c, test_what_rules_say);
    tcase_add_loop_test(c, test_wrong_rules, 0, (int)(sizeof(wrong) / sizeof(*wrong)));
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
