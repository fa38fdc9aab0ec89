/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kubelet's credential provider plug-ins: its globs, its configuration, and what they print. */
#include "lib/registry/auth/providers_internal.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define V1 "credentialprovider.kubelet.k8s.io/v1"

static struct ocv_error err;

static const struct {
    const char *glob, *image;
    bool fits;
} globs[] = {
    {"*.registry.io", "gcr.registry.io/app", true},
    {"*.registry.io", "registry.io/app", false},
    {"*.registry.io", "a.b.registry.io/app", false},
    {"registry.*.io", "registry.k8s.io/app", true},
    {"*.dkr.ecr.*.amazonaws.com", "123456789.dkr.ecr.us-east-1.amazonaws.com/team/app", true},
    {"*.dkr.ecr.*.amazonaws.com", "123456789.dkr.ecr.us-east-1.amazonaws.com.cn/app", false},
    {"app*.k8s.io", "app1.k8s.io/x", true},
    {"app*.k8s.io", "1app.k8s.io/x", false},
    {"*a*b*.io", "xaxxb.io/x", true},
    {"*a*b*.io", "xbxa.io/x", false},
    {"registry.io:8080", "registry.io:8080/app", true},
    {"registry.io:8080", "registry.io/app", false},
    {"registry.io:8080", "registry.io:8081/app", false},
    {"registry.io:8080", "registry.io:808/app", false},
    {"registry.io", "registry.io:8080/app", false},
    {"*.registry.io:8080/path", "foo.registry.io:8080/path/app", true},
    {"registry.io/path", "registry.io/path/app", true},
    {"registry.io/path", "registry.io/pathology", true}, /* a prefix, as in kubelet */
    {"registry.io/path", "registry.io/other", false},
    {"registry.io/*", "registry.io/app", false}, /* no wildcard in a path */
    {"registry.io:*", "registry.io:80/app", false},
    {"[::1]:5000", "[::1]:5000/app", true},
    {"[::1]", "[::1]/app", true},
    {"[::1]:5000", "[::1]:5001/app", false},
    {"[::1]", "[::1]:5000/app", false},
    {"::1", "::1/app", true}, /* no brackets: no port */
    {"*", "localhost/app", true},
    {"*", "a.b/app", false},
    {"", "a/app", false},
    {"https://registry.io", "registry.io/app", false},
};

START_TEST(glob_fits)
{
    ck_assert_msg(ocv_image_glob_match(globs[_i].glob, globs[_i].image) == globs[_i].fits,
                  "%s on %s", globs[_i].glob, globs[_i].image);
}
END_TEST

START_TEST(glob_covers_a_host)
{
    ck_assert(ocv_image_glob_covers("*.registry.io/path", "a.registry.io"));
    ck_assert(ocv_image_glob_covers("registry.io:5000/path", "registry.io:5000"));
    ck_assert(!ocv_image_glob_covers("registry.io:5000", "registry.io"));
    ck_assert(!ocv_image_glob_covers("*.registry.io", "registry.io"));
}
END_TEST

static const struct {
    const char *text;
    int64_t ms; /* INT64_MIN: refused */
} durations[] = {
    {"0", 0},
    {"12h", 43200000},
    {"12h0m0s", 43200000},
    {"1h30m", 5400000},
    {"1.5h", 5400000},
    {".5s", 500},
    {"1.s", 1000},
    {"-1m", -60000},
    {"+1m", 60000},
    {"250ms", 250},
    {"999us", 0},
    {"2000\xc2\xb5s", 2},
    {"5000000ns", 5},
    {"876000h", INT64_C(3153600000000)},
    {"876001h", INT64_MIN},
    {"99999999999999999999999999999999999h", INT64_MIN},
    {"", INT64_MIN},
    {"-", INT64_MIN},
    {"1", INT64_MIN},
    {"h", INT64_MIN},
    {".s", INT64_MIN},
    {"1.2.3s", INT64_MIN},
    {"1d", INT64_MIN},
    {"1h ", INT64_MIN},
    {"1h-1m", INT64_MIN},
};

START_TEST(duration_of_go)
{
    int64_t ms = 7;
    bool good = ocv_go_duration_parse(durations[_i].text, &ms);
    ck_assert_msg(good == (durations[_i].ms != INT64_MIN), "%s", durations[_i].text);
    if (good)
        ck_assert_int_eq(ms, durations[_i].ms);
}
END_TEST

#define HEAD "{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":\"" V1 "\""

static int parse(const char *text, struct ocv_provider_answer *out)
{
    err = (struct ocv_error){0};
    return ocv_provider_answer_parse(text, strlen(text), V1, out, &err);
}

static const struct {
    const char *text, *message; /* NULL: it is good */
} answers[] = {
    {HEAD ",\"cacheKeyType\":\"Image\"}", NULL},
    {HEAD ",\"cacheKeyType\":\"Image\",\"auth\":null,\"cacheDuration\":null,\"new\":1}", NULL},
    {HEAD ",\"cacheKeyType\":\"image\"}", "cacheKeyType"},
    {HEAD "}", "cacheKeyType"},
    {HEAD ",\"cacheKeyType\":\"Image\",\"cacheDuration\":30}", "cacheDuration"},
    {HEAD ",\"cacheKeyType\":\"Image\",\"cacheDuration\":\"soon\"}", "cacheDuration"},
    {HEAD ",\"cacheKeyType\":\"Image\",\"auth\":[]}", "auth"},
    {HEAD ",\"cacheKeyType\":\"Image\",\"auth\":{\"a.io\":\"s3cret\"}}", "auth"},
    {HEAD ",\"cacheKeyType\":\"Image\",\"auth\":{\"a.io\":{\"password\":1}}}", "auth"},
    {"{\"kind\":\"Other\",\"apiVersion\":\"" V1 "\"}", "CredentialProviderResponse"},
    {"{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":\"v2\"}", "apiVersion"},
    {"", "CredentialProviderResponse"},
    {"[]", "CredentialProviderResponse"},
    {"password s3cret", "CredentialProviderResponse"},
    {HEAD HEAD, "CredentialProviderResponse"},
    {HEAD ",\"kind\":\"CredentialProviderResponse\"}", "CredentialProviderResponse"},
};

START_TEST(answer_is_checked)
{
    struct ocv_provider_answer answer;
    int status = parse(answers[_i].text, &answer);
    if (!answers[_i].message) {
        ck_assert_msg(status == OCV_OK, "%s: %s", answers[_i].text, err.message);
        ck_assert_int_eq(answer.keep_ms, -1);
        ck_assert_uint_eq(answer.n, 0);
        ocv_provider_answer_free(&answer);
        return;
    }
    ck_assert_int_eq(status, OCV_ERR_DATA);
    ck_assert_msg(strstr(err.message, answers[_i].message), "%s", err.message);
    ck_assert_msg(!strstr(err.message, "s3cret"), "%s", err.message);
}
END_TEST

/* `n` credentials, the last one with a key of `key_len` bytes. */
static char *many(unsigned n, unsigned key_len)
{
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(file);
    fputs(HEAD ",\"cacheKeyType\":\"Global\",\"auth\":{", file);
    for (unsigned i = 1; i < n; i++)
        fprintf(file, "\"%u.io\":{\"username\":\"u\",\"password\":\"p\"},", i);
    fprintf(file, "\"%0*d\":{\"username\":\"u\",\"password\":\"p\"}}}", (int)key_len, 0);
    ck_assert_int_eq(fclose(file), 0);
    return text;
}

START_TEST(answer_has_limits)
{
    struct ocv_provider_answer answer;
    char *text = many(OCV_PROVIDER_AUTHS_MAX, OCV_PROVIDER_KEY_MAX);
    ck_assert_int_eq(parse(text, &answer), OCV_OK);
    ck_assert_uint_eq(answer.n, OCV_PROVIDER_AUTHS_MAX);
    ck_assert_int_eq(answer.scope, OCV_SCOPE_GLOBAL);
    ocv_provider_answer_free(&answer);
    free(text);
    text = many(OCV_PROVIDER_AUTHS_MAX + 1, 1);
    ck_assert_int_eq(parse(text, &answer), OCV_ERR_DATA);
    free(text);
    text = many(1, OCV_PROVIDER_KEY_MAX + 1);
    ck_assert_int_eq(parse(text, &answer), OCV_ERR_DATA);
    free(text);
    text = malloc(OCV_PROVIDER_ANSWER_MAX + 1);
    memset(text, ' ', OCV_PROVIDER_ANSWER_MAX + 1);
    const char *small = HEAD ",\"cacheKeyType\":\"Image\"}";
    memcpy(text, small, strlen(small));
    ck_assert_int_eq(ocv_provider_answer_parse(text, OCV_PROVIDER_ANSWER_MAX, V1, &answer, &err),
                     OCV_OK);
    ocv_provider_answer_free(&answer);
    ck_assert_int_eq(
        ocv_provider_answer_parse(text, OCV_PROVIDER_ANSWER_MAX + 1, V1, &answer, &err),
        OCV_ERR_DATA);
    free(text);
}
END_TEST

static const struct {
    const char *image, *user;
} lookups[] = {
    {"reg.example/other", "host"},       {"reg.example/team/app", "team"},
    {"reg.example/team/app/x", "app"},   {"reg.example:5000/team", "port"},
    {"a.wild.example/app", "wild"},      {"b.wild.example/app", "exact"},
    {"docker.io/library/alpine", "hub"}, {"url.example/app", "url"},
    {"url.example/deep/app", "deep"},    {"none.example/app", NULL},
    {"empty.example/app", NULL},         {"reg.example", "host"},
};

START_TEST(answer_is_found_as_kubelet_finds_it)
{
    const char *text = HEAD
        ",\"cacheKeyType\":\"Registry\",\"cacheDuration\":\"10m\",\"auth\":{"
        "\"reg.example\":{\"username\":\"host\"},\"reg.example/team\":{\"username\":\"team\"},"
        "\"reg.example/team/app/\":{\"username\":\"app\"},"
        "\"reg.example:5000\":{\"username\":\"port\"},\"*.wild.example\":{\"username\":\"wild\"},"
        "\"b.wild.example\":{\"username\":\"exact\"},"
        "\"https://index.docker.io/v1/\":{\"username\":\"hub\"},"
        "\"https://url.example/v2/\":{\"username\":\"url\"},"
        "\"http://url.example/v2/deep\":{\"username\":\"deep\"},"
        "\"empty.example\":{}}}";
    struct ocv_provider_answer answer;
    struct ocv_credentials c;
    ck_assert_int_eq(parse(text, &answer), OCV_OK);
    ck_assert_int_eq(answer.keep_ms, 600000);
    ck_assert_int_eq(answer.scope, OCV_SCOPE_REGISTRY);
    ck_assert_int_eq(ocv_provider_answer_find(&answer, lookups[_i].image, &c, &err), OCV_OK);
    if (lookups[_i].user)
        ck_assert_str_eq(c.username, lookups[_i].user);
    else
        ck_assert_msg(ocv_credentials_empty(&c), "%s", lookups[_i].image);
    ocv_credentials_free(&c);
    ocv_provider_answer_free(&answer);
}
END_TEST

#define CONFIG                               \
    "apiVersion: kubelet.config.k8s.io/v1\n" \
    "kind: CredentialProviderConfig\n"       \
    "providers:\n"
#define PROVIDER                                                           \
    "- name: ecr\n"                                                        \
    "  matchImages: [\"*.dkr.ecr.*.amazonaws.com\", \"public.ecr.aws\"]\n" \
    "  defaultCacheDuration: \"12h\"\n"                                    \
    "  apiVersion: " V1 "\n"

static int read_config(const char *text, struct ocv_provider_config *out)
{
    err = (struct ocv_error){0};
    return ocv_provider_config_read("file.yaml", text, strlen(text), out, &err);
}

START_TEST(config_as_kubelet_has_it)
{
    struct ocv_provider_config config;
    ck_assert_msg(read_config(CONFIG PROVIDER "  args: [get-credentials]\n"
                                              "  env:\n"
                                              "  - {name: AWS_PROFILE, value: node}\n"
                                              "  - name: EMPTY\n"
                                              "- name: pods-only\n"
                                              "  matchImages:\n"
                                              "  - \"*.example\"\n"
                                              "  defaultCacheDuration: 0s\n"
                                              "  apiVersion: " V1 "\n"
                                              "  tokenAttributes:\n"
                                              "    serviceAccountTokenAudience: a\n"
                                              "    cacheType: Token\n"
                                              "    requireServiceAccount: true\n",
                              &config) == OCV_OK,
                  "%s", err.message);
    ck_assert_uint_eq(config.n, 2);
    const struct ocv_provider *p = &config.providers[0];
    ck_assert_str_eq(p->name, "ecr");
    ck_assert_int_eq(p->keep_ms, 43200000);
    ck_assert_str_eq(p->argv[0], "ecr");
    ck_assert_str_eq(p->argv[1], "get-credentials");
    ck_assert_ptr_null(p->argv[2]);
    ck_assert_str_eq(p->variables[0], "AWS_PROFILE=node");
    ck_assert_str_eq(p->variables[1], "EMPTY=");
    ck_assert_ptr_null(p->variables[2]);
    ck_assert(ocv_provider_serves(p, "public.ecr.aws/x/y"));
    ck_assert(ocv_provider_serves(p, "1.dkr.ecr.eu-west-1.amazonaws.com/y"));
    ck_assert(!ocv_provider_serves(p, "docker.io/library/alpine"));
    ck_assert(!ocv_provider_serves(&config.providers[1], "a.example/y")); /* no pod is known */
    ocv_provider_config_free(&config);
}
END_TEST

static const struct {
    const char *text, *message;
} bad_configs[] = {
    {"", "file.yaml: is empty"},
    {"kind: CredentialProviderConfig\n", "lacks 'apiVersion'"},
    {"apiVersion: kubelet.config.k8s.io/v2\nkind: CredentialProviderConfig\nproviders: []\n",
     "file.yaml:1: invalid value 'kubelet.config.k8s.io/v2' for apiVersion"},
    {CONFIG, "file.yaml:3: 'providers'"},
    {CONFIG PROVIDER PROVIDER, "given twice"},
    {CONFIG PROVIDER "  extra: 1\n", "file.yaml:8: unknown key 'extra'"},
    {CONFIG "- {name: ../../bin/sh, matchImages: [a], defaultCacheDuration: 1s, apiVersion: " V1
            "}\n",
     "file.yaml:4: invalid value '../../bin/sh' for name"},
    {CONFIG "- {name: .., matchImages: [a], defaultCacheDuration: 1s, apiVersion: " V1 "}\n",
     "file.yaml:4: invalid value '..' for name"},
    {CONFIG "- {name: a, matchImages: [], defaultCacheDuration: 1s, apiVersion: " V1 "}\n",
     "'matchImages'"},
    {CONFIG "- {name: a, matchImages: [b], defaultCacheDuration: -1s, apiVersion: " V1 "}\n",
     "for defaultCacheDuration"},
    {CONFIG "- {name: a, matchImages: [b], defaultCacheDuration: 1s, apiVersion: v1}\n",
     "for apiVersion"},
    {CONFIG "- {name: a, matchImages: [b], apiVersion: " V1 "}\n", "lacks 'defaultCacheDuration'"},
    {CONFIG PROVIDER "  env: [{name: \"A=B\", value: c}]\n", "for name"},
    {CONFIG PROVIDER "  tokenAttributes: {cacheType: Token}\n", "lacks 'requireServiceAccount'"},
};

START_TEST(config_is_checked)
{
    struct ocv_provider_config config;
    ck_assert_int_eq(read_config(bad_configs[_i].text, &config), OCV_ERR_CONFIG);
    ck_assert_msg(strstr(err.message, bad_configs[_i].message), "%s", err.message);
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(*(list)))

TEST_FILE
{
    Suite *suite = suite_create("credential_provider_files");
    TCase *parsers = tcase_create("parsers");
    tcase_add_loop_test(parsers, glob_fits, 0, N(globs));
    tcase_add_test(parsers, glob_covers_a_host);
    tcase_add_loop_test(parsers, duration_of_go, 0, N(durations));
    tcase_add_loop_test(parsers, answer_is_checked, 0, N(answers));
    tcase_add_test(parsers, answer_has_limits);
    tcase_add_loop_test(parsers, answer_is_found_as_kubelet_finds_it, 0, N(lookups));
    tcase_add_test(parsers, config_as_kubelet_has_it);
    tcase_add_loop_test(parsers, config_is_checked, 0, N(bad_configs));
    suite_add_tcase(suite, parsers);
    return run_suite(suite);
}
