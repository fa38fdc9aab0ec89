/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a registry's challenge and a file of credentials say, and base64. */
#include "lib/base/format/base64.h"
#include "lib/registry/auth/challenge.h"
#include "lib/registry/auth/credentials.h"
#include "test/unit/registry/registry_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(challenge_bearer)
{
    struct ocv_challenge c[2];
    const char *text =
        "Bearer realm=\"https://auth.example/token\",service=\"a, b\", "
        "scope=\"repository:a\\\"b:pull repository:c:pull\",error=insufficient_scope";
    ck_assert_uint_eq((unsigned)ocv_challenge_parse(text, strlen(text), c, 2), 1);
    ck_assert_str_eq(c[0].scheme, "bearer");
    ck_assert_str_eq(c[0].realm, "https://auth.example/token");
    ck_assert_str_eq(c[0].service, "a, b");
    ck_assert_str_eq(c[0].scope, "repository:a\"b:pull repository:c:pull");
    ck_assert_str_eq(c[0].error, "insufficient_scope");
}
END_TEST

START_TEST(challenge_several)
{
    struct ocv_challenge c[4];
    const char *text = "Negotiate YWJj==, BASIC realm=\"x\" , Bearer realm = \"y\"";
    ck_assert_uint_eq((unsigned)ocv_challenge_parse(text, strlen(text), c, 4), 3);
    ck_assert_str_eq(c[0].scheme, "negotiate");
    ck_assert_str_eq(c[1].scheme, "basic");
    ck_assert_str_eq(c[1].realm, "x");
    ck_assert_str_eq(c[2].scheme, "bearer");
    ck_assert_str_eq(c[2].realm, "y");
    ck_assert_uint_eq((unsigned)ocv_challenge_parse(text, strlen(text), c, 1), 1);
}
END_TEST

START_TEST(challenge_malformed)
{
    struct ocv_challenge c[2];
    const char *open = "Bearer realm=\"https://auth";
    ck_assert_uint_eq((unsigned)ocv_challenge_parse(open, strlen(open), c, 2), 0);
    ck_assert_uint_eq((unsigned)ocv_challenge_parse("", 0, c, 2), 0);
    ck_assert_uint_eq((unsigned)ocv_challenge_parse(",,,=\"", 5, c, 2), 0);
    char text[4096] = "Bearer realm=\"";
    size_t start = strlen(text), room = sizeof(c[0].realm) - 1;
    memset(text + start, 'a', room);
    snprintf(text + start + room, 2, "\"");
    ck_assert_uint_eq((unsigned)ocv_challenge_parse(text, strlen(text), c, 2), 1);
    memset(text + start, 'a', room + 1);
    snprintf(text + start + room + 1, 2, "\"");
    ck_assert_uint_eq((unsigned)ocv_challenge_parse(text, strlen(text), c, 2), 0);
}
END_TEST

static const struct {
    const char *host, *repository, *user;
} lookups[] = {
    {"docker.io", "library/alpine", "hub"}, {"reg.example", "a", "plain"},
    {"reg.example", "team/app", "team"},    {"reg.example", "team/app/deep", "team"},
    {"reg.example", "teamwork", "plain"},   {"REG.example", NULL, "plain"},
    {"old.example:5000", "a", "old"},       {"old.example", "a", NULL},
    {"fields.example", "a", "fields"},
};

START_TEST(config_lookup)
{
    /* aHViOnB3 = hub:pw, cGxhaW46cHc6cHc= = plain:pw:pw, dGVhbTpwdw== = team:pw, b2xkOnB3 = old:pw
     */
    const char *text = "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"aHViOnB3\"},"
                       "\"reg.example\":{\"auth\":\"cGxhaW46cHc6cHc=\"},"
                       "\"reg.example/team\":{\"auth\":\"dGVhbTpwdw==\"},"
                       "\"https://old.example:5000/v2/\":{\"auth\":\"b2xkOnB3\"},"
                       "\"fields.example\":{\"username\":\"fields\",\"password\":\"pw\"}}}";
    char helper[OCV_HELPER_NAME_MAX];
    struct ocv_credentials c;
    ck_assert_int_eq(ocv_docker_config_find(text, strlen(text), lookups[_i].host,
                                            lookups[_i].repository, helper, &c, &err),
                     0);
    if (!lookups[_i].user) {
        ck_assert(ocv_credentials_empty(&c));
        return;
    }
    ck_assert_str_eq(c.username, lookups[_i].user);
    ck_assert_str_eq(c.password, strcmp(c.username, "plain") ? "pw" : "pw:pw");
    ck_assert_str_eq(helper, "");
    ocv_credentials_free(&c);
}
END_TEST

START_TEST(config_helpers)
{
    const char *text = "{\"credsStore\":\"store\",\"credHelpers\":{\"gcr.io\":\"gcloud\","
                       "\"evil.io\":\"../../bin/sh\"}}";
    char helper[OCV_HELPER_NAME_MAX];
    struct ocv_credentials c;
    ck_assert_int_eq(ocv_docker_config_find(text, strlen(text), "gcr.io", NULL, helper, &c, &err),
                     0);
    ck_assert_str_eq(helper, "gcloud");
    ck_assert_int_eq(ocv_docker_config_find(text, strlen(text), "other.io", NULL, helper, &c, &err),
                     0);
    ck_assert_str_eq(helper, "store");
    ck_assert_int_eq(ocv_docker_config_find(text, strlen(text), "evil.io", NULL, helper, &c, &err),
                     0);
    ck_assert_str_eq(helper, "");
}
END_TEST

START_TEST(config_malformed)
{
    char helper[OCV_HELPER_NAME_MAX];
    struct ocv_credentials c;
    expect_error(ocv_docker_config_find("{\n\n]", 4, "a", NULL, helper, &c, &err), OCV_ERR_CONFIG,
                 "line 3");
    const char *text = "{\"auths\":{\"a\":{\"auth\":\"%%%\"}}}";
    expect_error(ocv_docker_config_find(text, strlen(text), "a", NULL, helper, &c, &err),
                 OCV_ERR_CONFIG, "auths: a");
    ck_assert(ocv_credentials_empty(&c));
}
END_TEST

START_TEST(base64)
{
    const char *plain[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar"};
    const char *coded[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t i = 0; i < 7; i++) {
        size_t len = 0;
        char *text = ocv_base64_encode(plain[i], strlen(plain[i]));
        ck_assert_str_eq(text, coded[i]);
        char *back = ocv_base64_decode(text, &len);
        ck_assert_str_eq(back, plain[i]);
        ck_assert_uint_eq((unsigned)len, (unsigned)strlen(plain[i]));
        free(text);
        free(back);
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("auth parsers");
    TCase *p = tcase_create("parsers");
    tcase_add_test(p, challenge_bearer);
    tcase_add_test(p, challenge_several);
    tcase_add_test(p, challenge_malformed);
    tcase_add_loop_test(p, config_lookup, 0, (int)(sizeof(lookups) / sizeof(*lookups)));
    tcase_add_test(p, config_helpers);
    tcase_add_test(p, config_malformed);
    tcase_add_test(p, base64);
    suite_add_tcase(suite, p);
    return run_suite(suite);
}
