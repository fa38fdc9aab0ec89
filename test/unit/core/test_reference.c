/* SPDX-License-Identifier: GPL-3.0-or-later */
/* References: distribution/reference's grammar with Docker's defaults. */
#include "test/unit/core_util.h"

#define D "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HEX64 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct {
    const char *text, *host, *repository, *tag, *digest, *familiar;
} good[] = {
    {"alpine", "docker.io", "library/alpine", "latest", NULL, "alpine"},
    {"alpine:3.20", "docker.io", "library/alpine", "3.20", NULL, "alpine"},
    {"library/alpine", "docker.io", "library/alpine", "latest", NULL, "alpine"},
    {"docker.io/alpine", "docker.io", "library/alpine", "latest", NULL, "alpine"},
    {"docker.io/library/alpine:x", "docker.io", "library/alpine", "x", NULL, "alpine"},
    {"index.docker.io/alpine", "docker.io", "library/alpine", "latest", NULL, "alpine"},
    {"registry-1.docker.io/a/b", "docker.io", "a/b", "latest", NULL, "a/b"},
    {"user/app", "docker.io", "user/app", "latest", NULL, "user/app"},
    {"library/a/b", "docker.io", "library/a/b", "latest", NULL, "library/a/b"},
    {"a/b/c", "docker.io", "a/b/c", "latest", NULL, "a/b/c"},
    {"alpine@" D, "docker.io", "library/alpine", NULL, D, "alpine"},
    {"alpine:3@" D, "docker.io", "library/alpine", "3", D, "alpine"},
    {"localhost/x", "localhost", "x", "latest", NULL, "localhost/x"},
    {"localhost:5000/x:t", "localhost:5000", "x", "t", NULL, "localhost:5000/x"},
    {"host:5000", "docker.io", "library/host", "5000", NULL, "host"},
    {"host:5000/x", "host:5000", "x", "latest", NULL, "host:5000/x"},
    {"r.example/x", "r.example", "x", "latest", NULL, "r.example/x"},
    {"r.example:65535/a/b@" D, "r.example:65535", "a/b", NULL, D, "r.example:65535/a/b"},
    {"127.0.0.1:5000/x", "127.0.0.1:5000", "x", "latest", NULL, "127.0.0.1:5000/x"},
    {"[::1]/x", "[::1]", "x", "latest", NULL, "[::1]/x"},
    {"[2001:DB8::1]:5000/x:t", "[2001:DB8::1]:5000", "x", "t", NULL, "[2001:DB8::1]:5000/x"},
    {"Upper/x", "Upper", "x", "latest", NULL, "Upper/x"},
    {"R.Example/x", "R.Example", "x", "latest", NULL, "R.Example/x"},
    {"a.b", "docker.io", "library/a.b", "latest", NULL, "a.b"},
    {"a/b__c--d.e_f", "docker.io", "a/b__c--d.e_f", "latest", NULL, "a/b__c--d.e_f"},
    {"x:A_b.C-9", "docker.io", "library/x", "A_b.C-9", NULL, "x"},
    {"x@blake3:ab", "docker.io", "library/x", NULL, "blake3:ab", "x"},
    {"docker.io", "docker.io", "library/docker.io", "latest", NULL, "docker.io"},
    {"docker.io/localhost/x", "docker.io", "localhost/x", "latest", NULL, "docker.io/localhost/x"},
    {"docker.io/r.example/x", "docker.io", "r.example/x", "latest", NULL, "docker.io/r.example/x"},
    {"docker.io/" HEX64, "docker.io", "library/" HEX64, "latest", NULL, "docker.io/" HEX64},
    {"docker.io/library/r.example", "docker.io", "library/r.example", "latest", NULL, "r.example"},
    {"r.example/library/x", "r.example", "library/x", "latest", NULL, "r.example/library/x"},
    {"nvcr.io/nvidia/pytorch:25.01-py3", "nvcr.io", "nvidia/pytorch", "25.01-py3", NULL,
     "nvcr.io/nvidia/pytorch"},
    {HEX64 "/x", "docker.io", HEX64 "/x", "latest", NULL, HEX64 "/x"},
    {HEX64 "0", "docker.io", "library/" HEX64 "0", "latest", NULL, HEX64 "0"},
};

static void same(const char *got, const char *want)
{
    ck_assert_str_eq(got ? got : "(null)", want ? want : "(null)");
}

START_TEST(test_good)
{
    ocv_auto(ocv_reference) ref = NULL;
    struct ocv_error err = {0};
    int status = ocv_reference_parse(good[_i].text, &ref, &err);
    ck_assert_msg(status == OCV_OK, "%s: %s", good[_i].text, err.message);
    char name[600];
    snprintf(name, sizeof(name), "%s/%s", good[_i].host, good[_i].repository);
    same(ref->host, good[_i].host);
    same(ref->repository, good[_i].repository);
    same(ref->tag, good[_i].tag);
    same(ref->digest, good[_i].digest);
    same(ref->familiar, good[_i].familiar);
    same(ref->name, name);
}
END_TEST

static const char *const bad[] = {
    "",
    NULL,
    "/x",
    "x/",
    "a//b",
    ":tag",
    "@" D,
    "x:",
    "x@",
    "x@sha256:abc",
    "x@" D "0",
    "x@" D "@" D,
    "x:-t",
    "x:.t",
    "x:a:b",
    "x:t/y:u/",
    "Alpine",
    "user/App",
    "r.example/App",
    "-x",
    "x-",
    "x.",
    ".x",
    "_x",
    "x___y",
    "x..y",
    "x._y",
    "a/../b",
    "a/./b",
    "../x",
    "x y",
    " x",
    "x\n",
    "x\xc3\xa9",
    "r.example:/x",
    "r.example:port/x",
    "r.example:123456/x",
    "r.example:65536/x",
    "[::1]:65536/x",
    "-r.example/x",
    "r-.example/x",
    "r..example/x",
    ".example/x",
    "r.example./x",
    "r_r.example/x",
    "user@r.example/x",
    "[::1/x",
    "[]/x",
    "[::g]/x",
    "[zz]/x",
    "[:]/x",
    "[::1]x/y",
    "[::1]:/y",
    "https://r.example/x",
    "docker://alpine",
    HEX64,
};

START_TEST(test_bad)
{
    struct ocv_reference *ref = NULL;
    struct ocv_error err = {0};
    ck_assert_msg(ocv_reference_parse(bad[_i], &ref, &err) == OCV_ERR_INVALID, "%s", bad[_i]);
    ck_assert_ptr_null(ref);
    ck_assert_str_ne(err.message, "");
}
END_TEST

START_TEST(test_upper_case_is_said)
{
    static const char *const names[] = {"A", "r.example/Z", "r.example/x/aMz:1"};
    struct ocv_reference *ref = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_reference_parse(names[_i], &ref, &err), OCV_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "lower case"));
}
END_TEST

START_TEST(test_scheme_hint)
{
    struct ocv_reference *ref = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_reference_parse("https://r.example/x", &ref, &err), OCV_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.hint, "https://"));
}
END_TEST

/* The whole name, host included, has at most 255 characters; a tag 128. */
START_TEST(test_limits)
{
    char text[2000] = "r.example/", *end = text + 10;
    struct ocv_reference *ref = NULL;
    memset(end, 'a', 245);
    ck_assert_int_eq(ocv_reference_parse(text, &ref, NULL), OCV_OK);
    ocv_reference_free(ref);
    ref = NULL;
    end[245] = 'a';
    ck_assert_int_eq(ocv_reference_parse(text, &ref, NULL), OCV_ERR_INVALID);
    memset(text, 0, sizeof(text));
    text[0] = 'x';
    text[1] = ':';
    memset(text + 2, 't', 128);
    ck_assert_int_eq(ocv_reference_parse(text, &ref, NULL), OCV_OK);
    ocv_reference_free(ref);
    ref = NULL;
    text[130] = 't';
    ck_assert_int_eq(ocv_reference_parse(text, &ref, NULL), OCV_ERR_INVALID);
    struct ocv_error err = {0};
    memset(text, 'a', sizeof(text) - 1);
    ck_assert_int_eq(ocv_reference_parse(text, &ref, &err), OCV_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "too long"));
}
END_TEST

/* A name that only begins like an address of this machine belongs to somebody else. */
START_TEST(test_loopback)
{
    static const char *const here[] = {
        "localhost", "LocalHost:5000", "127.0.0.1:5000", "127.9.8.7", "[::1]:5000", "[::1]", "::1"};
    static const char *const elsewhere[] = {"",
                                            "docker.io",
                                            "localhost.example:5000",
                                            "127.example:5000",
                                            "127.0.0.1.example",
                                            "128.0.0.1",
                                            "0.0.0.0",
                                            "[::2]:5000",
                                            "[::10]"};
    for (size_t i = 0; i < sizeof(here) / sizeof(*here); i++)
        ck_assert_msg(ocv_reference_host_is_loopback(here[i]), "%s", here[i]);
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++)
        ck_assert_msg(!ocv_reference_host_is_loopback(elsewhere[i]), "%s", elsewhere[i]);
}
END_TEST

START_TEST(test_tags)
{
    char tag[130];
    memset(tag, 'a', sizeof(tag));
    tag[128] = '\0';
    ck_assert(ocv_reference_tag_valid(tag));
    tag[128] = 'a';
    tag[129] = '\0';
    ck_assert(!ocv_reference_tag_valid(tag));
    ck_assert(ocv_reference_tag_valid("_"));
    ck_assert(ocv_reference_tag_valid("A.b-C_9"));
    ck_assert(!ocv_reference_tag_valid(""));
    ck_assert(!ocv_reference_tag_valid("-a"));
    ck_assert(!ocv_reference_tag_valid(".a"));
    ck_assert(!ocv_reference_tag_valid("a/b"));
    ck_assert(!ocv_reference_tag_valid("a+b"));
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(*list))

TEST_FILE
{
    Suite *suite = suite_create("reference");
    TCase *tcase = tcase_create("reference");
    tcase_add_loop_test(tcase, test_good, 0, N(good));
    tcase_add_loop_test(tcase, test_bad, 0, N(bad));
    tcase_add_loop_test(tcase, test_upper_case_is_said, 0, 3);
    tcase_add_test(tcase, test_scheme_hint);
    tcase_add_test(tcase, test_limits);
    tcase_add_test(tcase, test_loopback);
    tcase_add_test(tcase, test_tags);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
