/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a registry's challenge and a file of credentials say, and base64. */
#include "lib/base/format/encodings.h"
#include "lib/registry/auth/credentials.h"
#include "lib/registry/registry_internal.h"
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

/* A value fits whole, or the challenge is dropped. */
START_TEST(challenge_values_at_their_limits)
{
    struct ocv_challenge *c = calloc(1, sizeof(*c)); /* on the heap: one byte too many is seen */
    const struct {
        const char *name;
        char *value;
        size_t size;
    } values[] = {{"error", c->error, sizeof(c->error)},
                  {"service", c->service, sizeof(c->service)},
                  {"scope", c->scope, sizeof(c->scope)}};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        for (int quoted = 0; quoted < 2; quoted++)
            for (size_t n = values[i].size - 2; n < values[i].size + 2; n++) {
                char text[4096];
                const char *quote = quoted ? "\"" : "";
                int begin = snprintf(text, sizeof(text), "Bearer %s=%s", values[i].name, quote);
                memset(text + begin, 'a', n);
                snprintf(text + begin + n, sizeof(text) - (size_t)begin - n, "%s", quote);
                size_t found = ocv_challenge_parse(text, strlen(text), c, 1);
                ck_assert_uint_eq(found, n < values[i].size);
                if (found)
                    ck_assert_uint_eq(strlen(values[i].value), n);
            }
    free(c);
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

/* What each of them writes, for the host h.example:5000 and the repository ns/app; u = user:pass.
 */
#define U "dXNlcjpwYXNz"
#define S "dXNlcjpzdGFsZQ==" /* user:stale */
static const struct {
    const char *writer, *text, *user, *password, *identity, *registry_token, *helper;
} written[] = {
    {"docker login", "{\"auths\":{\"h.example:5000\":{\"auth\":\"" U "\"}}}", "user", "pass", 0, 0,
     ""},
    {"docker login, before 1.7",
     "{\"https://h.example:5000/v1/\":{\"auth\":\"" U "\",\"email\":\"e@example\"}}", "user",
     "pass", 0, 0, ""},
    {"docker login with a store",
     "{\"auths\":{\"h.example:5000\":{}},\"credsStore\":"
     "\"desktop.exe\"}",
     0, 0, 0, 0, "desktop.exe"},
    {"docker login to a registry that gives identity tokens",
     "{\"auths\":{\"h.example:5000\":{"
     "\"auth\":\"dXNlcjo=\",\"identitytoken\":\"it\"}}}",
     "user", 0, "it", 0, ""},
    {"docker, by hand: an empty helper is the file",
     "{\"auths\":{\"h.example:5000\":{\"auth\":\"" U
     "\"}},\"credsStore\":\"pass\",\"credHelpers\":{\"h.example:5000\":\"\"}}",
     "user", "pass", 0, 0, ""},
    {"docker logout", "{\"auths\":{},\"HttpHeaders\":{\"User-Agent\":\"Docker-Client/19\"}}", 0, 0,
     0, 0, ""},
    {"Go's encoder: empty sections", "{\"auths\":null,\"credHelpers\":null,\"credsStore\":null}", 0,
     0, 0, 0, ""},
    {"Go's encoder: empty members",
     "{\"auths\":{\"h.example:5000\":{\"auth\":\"\",\"username\":"
     "null,\"identitytoken\":\"\"}}}",
     0, 0, 0, 0, ""},
    {"an empty entry of another spelling",
     "{\"auths\":{\"https://h.example:5000\":{},"
     "\"h.example:5000\":{\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"a colon and no more",
     "{\"auths\":{\"h.example:5000\":{\"auth\":\"Og==\"},"
     "\"https://h.example:5000\":{\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"docker of old and docker of today",
     "{\"auths\":{\"https://h.example:5000/v1/\":{\"auth\":\"" S
     "\"},\"h.example:5000\":{\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"the other way round",
     "{\"auths\":{\"h.example:5000\":{\"auth\":\"" U
     "\"},\"https://h.example:5000/v1/\":{\"auth\":\"" S "\"}}}",
     "user", "pass", 0, 0, ""},
    {"a slash, then without",
     "{\"auths\":{\"h.example:5000/\":{\"auth\":\"" S "\"},\"h.example:5000\":{\"auth\":\"" U
     "\"}}}",
     "user", "pass", 0, 0, ""},
    {"http and https",
     "{\"auths\":{\"http://h.example:5000\":{\"auth\":\"" S
     "\"},\"https://h.example:5000\":{\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"podman login REGISTRY/NAMESPACE",
     "{\"auths\":{\"h.example:5000/ns\":{\"auth\":\"" U "\"},\"h.example:5000\":{\"auth\":\"" S
     "\"}}}",
     "user", "pass", 0, 0, ""},
    {"podman login to the repository, too",
     "{\"auths\":{\"h.example:5000/ns\":{\"auth\":\"" S
     "\"},\"h.example:5000/ns/app\":{\"auth\":\"" U "\"},\"h.example:5000/ns/apple\":{\"auth\":\"" S
     "\"}}}",
     "user", "pass", 0, 0, ""},
    {"podman logout REGISTRY/NAMESPACE",
     "{\"auths\":{\"h.example:5000/ns\":{},"
     "\"h.example:5000\":{\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"crane auth login",
     "{\n\t\"auths\": {\n\t\t\"h.example:5000\": {\n\t\t\t\"auth\": \"" U "\"\n\t\t}\n\t}\n}\n",
     "user", "pass", 0, 0, ""},
    {"go-containerregistry: a registry's own token",
     "{\"auths\":{\"h.example:5000\":{"
     "\"registrytoken\":\"rt\"}}}",
     0, 0, 0, "rt", ""},
    {"go-containerregistry: without padding",
     "{\"auths\":{\"h.example:5000\":{\"auth\":"
     "\"dXNlcjpwYXNzMQ\"}}}",
     "user", "pass1", 0, 0, ""},
    {"kubectl create secret docker-registry",
     "{\"auths\":{\"h.example:5000\":{\"username\":\"user\","
     "\"password\":\"pass\",\"email\":\"e@example\",\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"kubernetes.io/dockercfg",
     "{\"h.example:5000\":{\"username\":\"user\",\"password\":\"pass\","
     "\"auth\":\"" U "\"}}",
     "user", "pass", 0, 0, ""},
    {"kubelet: a star in the host", "{\"auths\":{\"*.example:5000\":{\"auth\":\"" U "\"}}}", "user",
     "pass", 0, 0, ""},
    {"kubelet: the host before the star",
     "{\"auths\":{\"*.example:5000\":{\"auth\":\"" S "\"},\"h.example:5000\":{\"auth\":\"" U
     "\"}}}",
     "user", "pass", 0, 0, ""},
    {"kubelet: https://*.example:5000",
     "{\"auths\":{\"https://*.example:5000\":{\"auth\":\"" U "\"}}}", "user", "pass", 0, 0, ""},
    {"kubelet: http://*.example:5000",
     "{\"auths\":{\"http://*.example:5000\":{\"auth\":\"" U "\"}}}", "user", "pass", 0, 0, ""},
    {"kubelet: https://*.example:5000/",
     "{\"auths\":{\"https://*.example:5000/\":{\"auth\":\"" U "\"}}}", "user", "pass", 0, 0, ""},
    {"kubelet: https://*.example:5000/v1/",
     "{\"auths\":{\"https://*.example:5000/v1/\":{\"auth\":\"" U "\"}}}", "user", "pass", 0, 0, ""},
    {"kubelet: https://*.example:5000/v2/",
     "{\"auths\":{\"https://*.example:5000/v2/\":{\"auth\":\"" U "\"}}}", "user", "pass", 0, 0, ""},
    {"kubelet: *.example:5000/v2/", "{\"auths\":{\"*.example:5000/v2/\":{\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"kubelet: https://h.*:5000", "{\"auths\":{\"https://h.*:5000\":{\"auth\":\"" U "\"}}}", "user",
     "pass", 0, 0, ""},
    {"kubelet: https://*.example:5000/v2/ns",
     "{\"auths\":{\"https://*.example:5000/v2/ns\":{\"auth\":\"" U "\"}}}", "user", "pass", 0, 0,
     ""},
    {"kubelet: https://*.example:5000/ns/app",
     "{\"auths\":{\"https://*.example:5000/ns/app\":{\"auth\":\"" U "\"}}}", "user", "pass", 0, 0,
     ""},
    {"kubelet: *.example:5000/n", "{\"auths\":{\"*.example:5000/n\":{\"auth\":\"" U "\"}}}", "user",
     "pass", 0, 0, ""},
    {"kubelet: https://*.example:5000/v2/other",
     "{\"auths\":{\"https://*.example:5000/v2/other\":{\"auth\":\"" U "\"}}}", 0, 0, 0, 0, ""},
    {"kubelet: https://*.example:5000/v1",
     "{\"auths\":{\"https://*.example:5000/v1\":{\"auth\":\"" U "\"}}}", 0, 0, 0, 0, ""},
    {"kubelet: https://*.example", "{\"auths\":{\"https://*.example\":{\"auth\":\"" U "\"}}}", 0, 0,
     0, 0, ""},
    {"kubelet: https://*.*.example:5000",
     "{\"auths\":{\"https://*.*.example:5000\":{\"auth\":\"" U "\"}}}", 0, 0, 0, 0, ""},
    {"kubelet: https://*", "{\"auths\":{\"https://*\":{\"auth\":\"" U "\"}}}", 0, 0, 0, 0, ""},
    {"kubelet: a longer path before a shorter one",
     "{\"auths\":{\"https://*.example:5000/v1/\":{\"auth\":\"" S
     "\"},\"https://*.example:5000/ns\":{\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"kubelet: the host before a star with a path",
     "{\"auths\":{\"https://*.example:5000/ns/app\":{\"auth\":\"" S
     "\"},\"h.example:5000\":{\"auth\":\"" U "\"}}}",
     "user", "pass", 0, 0, ""},
    {"base64 -w 8, by hand",
     "{\"auths\":{\"h.example:5000\":{\"auth\":\"dXNlcjpw\\r\\nYXNz\\n\"}}}", "user", "pass", 0, 0,
     ""},
    {"NULs after the password", "{\"auths\":{\"h.example:5000\":{\"auth\":\"dXNlcjpwYXNzAAA=\"}}}",
     "user", "pass", 0, 0, ""},
    {"a touched file", "\n", 0, 0, 0, 0, ""},
};

static void expect_text(const char *writer, const char *got, const char *wanted)
{
    ck_assert_msg(!got == !wanted && (!got || !strcmp(got, wanted)), "%s: %s instead of %s", writer,
                  got ? got : "nothing", wanted ? wanted : "nothing");
}

START_TEST(config_as_written)
{
    const char *writer = written[_i].writer;
    char helper[OCV_HELPER_NAME_MAX];
    struct ocv_credentials c;
    ck_assert_msg(ocv_docker_config_find(written[_i].text, strlen(written[_i].text),
                                         "h.example:5000", "ns/app", helper, &c, &err) == 0,
                  "%s: %s", writer, err.message);
    expect_text(writer, c.username, written[_i].user);
    expect_text(writer, c.password, written[_i].password);
    expect_text(writer, c.identity_token, written[_i].identity);
    expect_text(writer, c.registry_token, written[_i].registry_token);
    expect_text(writer, helper, written[_i].helper);
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

static const struct {
    const char *answer, *token; /* NULL: refused */
    int64_t life_s;
} tokens[] = {
    {"{\"token\":\"abc.def-_~=\"}", "abc.def-_~=", 60},
    {"{\"access_token\":\"b\",\"expires_in\":300}", "b", 300},
    {"{\"access_token\":\"b\",\"token\":\"a\",\"expires_in\":59}", "a", 60},
    {"{\"token\":null,\"access_token\":\"b\",\"expires_in\":60}", "b", 60},
    {"{\"token\":\"!\",\"expires_in\":9223372036854775807}", "!", 24 * 3600},
    {"{\"token\":\"a b\"}", NULL, 0},
    {"{\"token\":\"a\\r\\nX: y\"}", NULL, 0},
    {"{\"token\":\"a\x7f\"}", NULL, 0},
    {"{\"token\":\"a\xc3\xa9\"}", NULL, 0},
    {"{\"token\":\"\"}", NULL, 0},
    {"{\"token\":7}", NULL, 0},
    {"[\"token\"]", NULL, 0},
    {"{\"token\":\"a\"", NULL, 0},
};

START_TEST(token_answers)
{
    struct ocv_token_answer answer;
    const char *text = tokens[_i].answer;
    int status = ocv_token_read(text, strlen(text), &answer, NULL);
    if (tokens[_i].token) {
        ck_assert_int_eq(status, OCV_OK);
        ck_assert_str_eq(answer.token ? answer.token : answer.access_token, tokens[_i].token);
        ck_assert_int_eq((int)answer.life_s, (int)tokens[_i].life_s);
    } else {
        ck_assert_int_eq(status, OCV_ERR_DATA);
    }
    ocv_token_forget(&answer);
    ck_assert_ptr_null(answer.token);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("auth parsers");
    TCase *p = tcase_create("parsers");
    tcase_add_test(p, challenge_bearer);
    tcase_add_test(p, challenge_several);
    tcase_add_test(p, challenge_malformed);
    tcase_add_test(p, challenge_values_at_their_limits);
    tcase_add_loop_test(p, config_lookup, 0, (int)(sizeof(lookups) / sizeof(*lookups)));
    tcase_add_loop_test(p, config_as_written, 0, (int)(sizeof(written) / sizeof(*written)));
    tcase_add_test(p, config_helpers);
    tcase_add_test(p, config_malformed);
    tcase_add_loop_test(p, token_answers, 0, (int)(sizeof(tokens) / sizeof(*tokens)));
    tcase_add_test(p, base64);
    suite_add_tcase(suite, p);
    return run_suite(suite);
}
