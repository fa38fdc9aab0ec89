/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/mirror/route.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static struct upstream upstreams[] = {{.name = "docker.io", .segment = "docker.io"},
                                      {.name = "registry:5000", .segment = "registry--5000"},
                                      {.name = "localhost", .segment = "localhost"}};
static struct settings settings;

static void set_up(void)
{
    settings = (struct settings){
        .upstreams = upstreams, .n_upstreams = 3, .default_upstream = &upstreams[0]};
}

/* "VIEW KIND HOST/REPOSITORY[:TAG][@DIGEST]" */
static const char *route(const char *url, const char *ns)
{
    static const char *const views[] = {"resolver", "proxy", "raw"};
    static const char *const kinds[] = {"base",      "tag",     "digest", "blob",    "tags",
                                        "referrers", "no-such", "bad",    "unknown", "memory"};
    static char out[1024];
    struct route r;
    route_parse(&settings, url, ns, &r);
    const struct ocv_reference *ref = r.reference;
    snprintf(out, sizeof(out), "%s %s%s%s%s%s%s%s", views[r.view], kinds[r.kind], ref ? " " : "",
             ref ? ref->name : "", ref && ref->tag ? ":" : "", ref && ref->tag ? ref->tag : "",
             ref && ref->digest ? "@" : "", ref && ref->digest ? ref->digest : "");
    if (ref)
        ck_assert_str_eq(r.upstream->name, ref->host);
    route_clear(&r);
    return out;
}

static const struct {
    const char *url, *ns, *wanted;
} cases[] = {
    {"/v2/", NULL, "proxy base"},
    {"/v2", NULL, "proxy base"},
    {"/v2/", "docker.io", "resolver base"},
    {"/resolver/v2/", NULL, "resolver base"},
    {"/raw/v2/", "docker.io", "raw base"},
    {"/v2/library/alpine/manifests/latest", NULL, "proxy tag docker.io/library/alpine:latest"},
    {"/v2/alpine/manifests/3", NULL, "proxy tag docker.io/library/alpine:3"},
    {"/v2/alpine/manifests/3", "docker.io", "resolver tag docker.io/library/alpine:3"},
    {"/v2/alpine/manifests/3", "registry-1.docker.io", "resolver tag docker.io/library/alpine:3"},
    {"/v2/alpine/manifests/3", "index.docker.io", "resolver tag docker.io/library/alpine:3"},
    {"/v2/docker.io/alpine/manifests/3", NULL, "proxy tag docker.io/library/alpine:3"},
    {"/v2/registry--5000/a/b/manifests/3", NULL, "proxy tag registry:5000/a/b:3"},
    {"/v2/a/b/manifests/3", "registry:5000", "resolver tag registry:5000/a/b:3"},
    /* ns decides alone: the path is the repository */
    {"/v2/registry--5000/b/manifests/3", "docker.io", "resolver tag docker.io/registry--5000/b:3"},
    {"/v2/localhost/b/manifests/3", NULL, "proxy tag localhost/b:3"},
    {"/proxy/v2/a/b/manifests/3", "registry:5000", "proxy tag registry:5000/a/b:3"},
    {"/raw/v2/a/b/manifests/3", "registry:5000", "raw tag registry:5000/a/b:3"},
    {"/v2/a/b/manifests/" DIGEST, NULL, "proxy digest docker.io/a/b@" DIGEST},
    {"/v2/a/b/blobs/" DIGEST, NULL, "proxy blob docker.io/a/b@" DIGEST},
    {"/v2/a/b/referrers/" DIGEST, NULL, "proxy referrers docker.io/a/b@" DIGEST},
    {"/v2/a/b/tags/list", NULL, "proxy tags docker.io/a/b:latest"},
    {"/v2/a/manifests/b/manifests/c", NULL, "proxy tag docker.io/a/manifests/b:c"},
    {"/v2/a/tags/manifests/list", NULL, "proxy tag docker.io/a/tags:list"},
    /* not configured: never guessed, never contacted */
    {"/v2/a/manifests/b", "evil.example", "resolver unknown"},
    {"/v2/a/manifests/b", "", "resolver unknown"},
    {"/v2/a/manifests/b", "DOCKER.IO", "resolver unknown"},
    {"/v2/a/manifests/b", "docker.io:443", "resolver unknown"},
    {"/v2/a/manifests/b", "docker.io/x", "resolver unknown"},
    {"/v2/registry:5000/a/manifests/b", NULL, "proxy bad"},
    {"/v2/evil.example/a/manifests/b", NULL, "proxy tag docker.io/evil.example/a:b"},
    /* malformed */
    {"/v2/a/../b/manifests/c", NULL, "proxy bad"},
    {"/v2/../a/manifests/c", NULL, "proxy bad"},
    {"/v2//manifests/c", NULL, "proxy no-such"},
    {"/v2/manifests/c", NULL, "proxy no-such"},
    {"/v2/a//manifests/c", NULL, "proxy bad"},
    {"/v2/A/manifests/c", NULL, "proxy bad"},
    {"/v2/a%2fb/manifests/c", NULL, "proxy bad"},
    {"/v2/a/manifests/", NULL, "proxy bad"},
    {"/v2/a/manifests/-c", NULL, "proxy bad"},
    {"/v2/a/manifests/c?ns=x", NULL, "proxy bad"},
    {"/v2/a/manifests/sha256:zz!", NULL, "proxy bad"},
    {"/v2/a@" DIGEST "/manifests/c", NULL, "proxy bad"},
    {"/v2/a:b/manifests/c", NULL, "proxy bad"},
    {"/v2/a b/manifests/c", NULL, "proxy bad"},
    {"/v2/a/blobs/latest", NULL, "proxy bad"},
    {"/v2/a/blobs/uploads/", NULL, "proxy no-such"},
    {"/v2/_catalog", NULL, "proxy no-such"},
    {"/v2/a/manifests", NULL, "proxy no-such"},
    {"/v1/a/manifests/b", NULL, "proxy no-such"},
    {"/", NULL, "proxy no-such"},
    {"", NULL, "proxy no-such"},
    {"/resolver", NULL, "proxy no-such"},
    {"/resolverv2/", NULL, "proxy no-such"},
    {"/v22/", NULL, "proxy no-such"},
    {"/raw/raw/v2/", NULL, "raw no-such"},
    {"/proxy/resolver/v2/", NULL, "proxy no-such"},
};

START_TEST(table)
{
    ck_assert_str_eq(route(cases[_i].url, cases[_i].ns), cases[_i].wanted);
}
END_TEST

START_TEST(mode_decides_bare_paths)
{
    settings.mode = MODE_RESOLVER;
    ck_assert_str_eq(route("/v2/", NULL), "resolver base");
    ck_assert_str_eq(route("/proxy/v2/", NULL), "proxy base");
    settings.mode = MODE_PROXY;
    ck_assert_str_eq(route("/v2/", "docker.io"), "proxy base");
    ck_assert_str_eq(route("/resolver/v2/", "docker.io"), "resolver base");
}
END_TEST

START_TEST(no_default)
{
    settings.default_upstream = NULL;
    ck_assert_str_eq(route("/v2/a/b/manifests/c", NULL), "proxy unknown");
    ck_assert_str_eq(route("/v2/docker.io/a/manifests/c", NULL), "proxy tag docker.io/library/a:c");
}
END_TEST

START_TEST(longest_name)
{
    char url[2048];
    int fits = 255 - (int)strlen("docker.io/a/");
    char name[300];
    memset(name, 'n', sizeof(name));
    snprintf(url, sizeof(url), "/v2/a/%.*s/manifests/t", fits, name);
    ck_assert_ptr_nonnull(strstr(route(url, NULL), "proxy tag docker.io/a/nnn"));
    snprintf(url, sizeof(url), "/v2/a/%.*s/manifests/t", fits + 1, name);
    ck_assert_str_eq(route(url, NULL), "proxy bad");
    memset(url, 'n', sizeof(url) - 1);
    memcpy(url, "/v2/", 4);
    memcpy(url + sizeof(url) - 13, "/manifests/t", 13);
    ck_assert_str_eq(route(url, NULL), "proxy bad");
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd route");
    TCase *tcase = tcase_create("route");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_loop_test(tcase, table, 0, sizeof(cases) / sizeof(*cases));
    tcase_add_test(tcase, mode_decides_bare_paths);
    tcase_add_test(tcase, no_default);
    tcase_add_test(tcase, longest_name);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
