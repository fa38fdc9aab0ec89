/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/variantd/common/settings.c: what is a sensible daemon and what is not. */
#include "cmd/variantd/common/settings.h"
#include "test/unit/suite.h"

#include <string.h>

static int make(const char *yaml, const char *const *registries, size_t n, struct settings **out,
                struct ocv_error *err)
{
    struct ocv_config *config = NULL;
    const struct settings_flags flags = {.registries = registries, .n_registries = n};
    ck_assert_int_eq(ocv_config_new(&config, err), OCV_OK);
    int status = ocv_config_merge_yaml(config, "f.yaml", yaml, strlen(yaml), err);
    if (status < 0) {
        ocv_config_free(config);
        return status;
    }
    return settings_make(config, &flags, out, err);
}

START_TEST(test_defaults)
{
    struct settings *s = NULL;
    struct ocv_error err = {0};
    ck_assert_msg(make("", NULL, 0, &s, &err) == OCV_OK, "%s", err.message);
    ck_assert_str_eq(s->listen_address, "127.0.0.1:340");
    ck_assert_str_eq(s->socket_path, "/run/ocivariant/variantd.sock");
    ck_assert_int_eq(s->mode, MODE_AUTO);
    ck_assert(!s->serve_private && !s->tag_rules && !s->log_json && s->access_log);
    ck_assert_int_eq(s->tag_ttl_ms, 0);
    ck_assert_int_eq(s->probe_interval_ms, 600000);
    ck_assert_uint_eq(s->n_upstreams, 0);
    ck_assert_ptr_null(s->default_upstream);
    ck_assert_ptr_null(s->authfile);
    settings_free(s);
}
END_TEST

START_TEST(test_registries)
{
    static const char *const list[] = {"index.docker.io", "r.example:5000=http://127.0.0.1:5999",
                                       "localhost"};
    struct settings *s = NULL;
    struct ocv_error err = {0};
    ck_assert_msg(make("registries: {quay.io: {}}\ntag_ttl: 90\nmode: proxy\nlog: json\n", list, 3,
                       &s, &err) == OCV_OK,
                  "%s", err.message);
    ck_assert_uint_eq(s->n_upstreams, 4);
    ck_assert_int_eq(s->tag_ttl_ms, 90000);
    ck_assert_int_eq(s->mode, MODE_PROXY);
    ck_assert(s->log_json);
    ck_assert_ptr_nonnull(settings_upstream(s, "docker.io"));
    ck_assert_ptr_eq(settings_upstream(s, "registry-1.docker.io"),
                     settings_upstream(s, "docker.io"));
    ck_assert_ptr_eq(s->default_upstream, settings_upstream(s, "docker.io"));
    ck_assert_ptr_nonnull(settings_upstream(s, "quay.io"));
    ck_assert_ptr_null(settings_upstream(s, "quay.io:443"));
    ck_assert_ptr_null(settings_upstream(s, "r.example"));
    ck_assert_ptr_eq(settings_segment(s, "r.example--5000", 15),
                     settings_upstream(s, "r.example:5000"));
    ck_assert_ptr_null(settings_segment(s, "r.example--5000", 14));
    ck_assert_str_eq(ocv_config_find_registry(s->config, "r.example:5000").url,
                     "http://127.0.0.1:5999");
    settings_free(s);
}
END_TEST

static const struct {
    const char *yaml, *registry, *message;
} wrong[] = {
    {"listen: 0.0.0.0:5050\n", NULL, "not a loopback"},
    {"listen: '[::]:5050'\n", NULL, "not a loopback"},
    {"listen: 127.0.0.1\n", NULL, "listen"},
    {"listen: 127.0.0.1:70000\n", NULL, "listen"},
    {"listen: node.example:5050\n", NULL, "listen"},
    {"socket: relative\n", NULL, "absolute"},
    {"tag_ttl: soon\n", NULL, "tag_ttl"},
    {"probe_interval: -1s\n", NULL, "probe_interval"},
    {"credentials: auth.json\n", NULL, "absolute"},
    {"credentials: /nowhere/auth.json\n", NULL, "/nowhere/auth.json: No such file"},
    {"", "UPPER CASE", "not a registry"},
    {"", "host/path", "not a registry"},
    {"", "alpine", "not a registry"},
    {"", "=http://x", "HOST[=URL]"},
    {"", "r.example=ftp://x", "not a URL"},
    {"", "r.example=http://x\", insecure: true}", "not a URL"},
};

START_TEST(test_wrong)
{
    struct settings *s = NULL;
    struct ocv_error err = {0};
    const char *const list[] = {wrong[_i].registry};
    int status = make(wrong[_i].yaml, list, wrong[_i].registry ? 1 : 0, &s, &err);
    ck_assert_msg(status == OCV_ERR_CONFIG, "%s%s: %d %s", wrong[_i].yaml,
                  wrong[_i].registry ? wrong[_i].registry : "", status, err.message);
    ck_assert_msg(strstr(err.message, wrong[_i].message) != NULL, "%s", err.message);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd_settings");
    TCase *tcase = tcase_create("settings");
    tcase_add_test(tcase, test_defaults);
    tcase_add_test(tcase, test_registries);
    tcase_add_loop_test(tcase, test_wrong, 0, sizeof(wrong) / sizeof(*wrong));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
