/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Platforms as containerd/platforms v1.0.0-rc.5 parses and orders them (Only, Match, Less). */
#include "test/unit/core_util.h"

static struct ocv_platform *parse(const char *text)
{
    struct ocv_platform *p = NULL;
    struct ocv_error err = {0};
    ck_assert_msg(ocv_platform_parse(text, &p, &err) == OCV_OK, "%s: %s", text, err.message);
    return p;
}

static const struct {
    const char *text, *canonical;
} parsed[] = {
    {"linux/amd64", "linux/amd64"},
    {"amd64", "linux/amd64"},
    {"x86_64", "linux/amd64"},
    {"x86-64", "linux/amd64"},
    {"linux/x86_64", "linux/amd64"},
    {"LINUX/AMD64", "linux/amd64"},
    {"linux/amd64/v3", "linux/amd64/v3"},
    {"amd64/v3", "linux/amd64/v3"},
    {"aarch64", "linux/arm64"},
    {"linux/aarch64/v8", "linux/arm64/v8"},
    {"armhf", "linux/arm/v7"},
    {"armel", "linux/arm/v6"},
    {"linux/armhf", "linux/arm/v7"},
    {"arm/v6", "linux/arm/v6"},
    {"i386", "linux/386"},
    {"i686", "linux/386"},
    {"loongarch64", "linux/loong64"},
    {"linux/riscv64", "linux/riscv64"},
    {"s390x", "linux/s390x"},
    {"windows/amd64", "windows/amd64"},
    {"darwin/arm64", "darwin/arm64"},
    {"linux/amd64/x-cuda12-8", "linux/amd64/x-cuda12-8"},
    {"unknown/unknown", "unknown/unknown"},
    {"wasi/wasm", "wasi/wasm"}, /* any system, unless the first part is an architecture */
    {"aix/ppc64", "aix/ppc64"},
    {"arm/7", "linux/arm/7"},
    {"riscv64/rva23u64", "linux/riscv64/rva23u64"},
};

START_TEST(test_parse)
{
    char text[128];
    ocv_auto(ocv_platform) p = parse(parsed[_i].text);
    ck_assert_str_eq(ocv_platform_format(p, text, sizeof(text)), parsed[_i].canonical);
    ck_assert_int_ge(ocv_platform_match(p, p, NULL), 0);
}
END_TEST

static const char *const bad[] = {
    "",         "/",         "linux/",       "/amd64",   "linux",
    "a/b/c/d",  "linux//v1", "linux/amd 64", "li\nux/x", "linux/amd64/",
    "a/b/c/d/e"};

START_TEST(test_bad)
{
    struct ocv_platform *p = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_platform_parse(bad[_i], &p, &err), OCV_ERR_INVALID);
    ck_assert_ptr_null(p);
}
END_TEST

START_TEST(test_long)
{
    char text[300];
    struct ocv_platform *p = NULL;
    memset(text, 'a', sizeof(text));
    text[199] = '\0';
    ck_assert_int_eq(ocv_platform_parse(text, &p, NULL), OCV_OK);
    ocv_platform_free(p);
    text[199] = 'a';
    text[200] = '\0';
    ck_assert_int_eq(ocv_platform_parse(text, &p, NULL), OCV_ERR_INVALID);
}
END_TEST

/* The host's vector, best first; "|" ends it, what follows does not match. */
static const struct {
    const char *host, *vector;
} orders[] = {
    {"amd64", "amd64 386 | amd64/v2 arm64 arm"},
    {"amd64/v1", "amd64/v1 386 | amd64/v2"},
    {"amd64/v2", "amd64/v2 amd64/v1 386 | amd64/v3 amd64/v4"},
    {"amd64/v4", "amd64/v4 amd64/v3 amd64/v2 amd64 386 | amd64/v5 amd64/zz"},
    {"386", "386 | amd64"},
    {"arm/v5", "arm/v5 | arm/v6 arm"},
    {"arm/v6", "arm/v6 arm/v5 | arm/v7 arm"},
    {"arm", "arm/v7 arm/v6 arm/v5 | arm/v8 arm64"},
    {"arm/v8", "arm/v8 arm/v7 arm/v6 arm/v5 | arm64"},
    {"arm64", "arm64/v8 arm/v8 arm/v7 arm/v6 arm/v5 | arm64/v8.1 arm64/v9 amd64"},
    {"arm64/v8.2",
     "arm64/v8.2 arm64/v8.1 arm64 arm/v8 arm/v7 | arm64/v8.3 arm64/v9 arm64/v7 arm64/x8"},
    {"arm64/v9",
     "arm64/v9 arm64/v8.5 arm64/v8.4 arm64/v8.3 arm64/v8.2 arm64/v8.1 arm64/v8 arm/v8 | arm64/v9.1 "
     "arm64/v8.6"},
    {"arm64/v9.0", "arm64/v9.0 arm64/v8.5 arm64 | arm64/v8.6"},
    {"arm64/v9.2",
     "arm64/v9.2 arm64/v9.1 arm64/v9 arm64/v8.7 arm64/v8.6 arm64/v8.5 arm64/v8 arm | arm64/v8.8"},
    {"riscv64", "riscv64 | riscv64/rva20u64 arm64"},
    {"riscv64/rva22u64", "riscv64/rva22u64 riscv64 | riscv64/rva20u64"},
    {"ppc64le/power9", "ppc64le/power9 ppc64le | ppc64le/power8"},
    {"arm64/odd", "arm64/odd arm64 arm/v8 | arm64/v8.1"},
};

START_TEST(test_order)
{
    ocv_auto(ocv_platform) host = parse(orders[_i].host);
    char list[512];
    snprintf(list, sizeof(list), "%s", orders[_i].vector);
    int before = -1;
    bool out = false;
    char *save = NULL;
    for (char *text = strtok_r(list, " ", &save); text; text = strtok_r(NULL, " ", &save)) {
        if (!strcmp(text, "|")) {
            out = true;
            continue;
        }
        ocv_auto(ocv_platform) entry = parse(text);
        const char *why = NULL;
        int place = ocv_platform_match(host, entry, &why);
        if (out)
            ck_assert_msg(place == -1, "%s on %s: %d", text, orders[_i].host, place);
        else
            ck_assert_msg(place > before, "%s on %s: %d after %d", text, orders[_i].host, place,
                          before);
        if (out)
            ck_assert_str_eq(why, strcmp(host->architecture, entry->architecture) &&
                                          !(!strcmp(host->architecture, "arm64") &&
                                            !strcmp(entry->architecture, "arm"))
                                      ? "architecture"
                                      : "variant");
        before = place;
    }
}
END_TEST

/* Two spellings of one thing. */
static const char *const same[][3] = {
    {"amd64/v1", "amd64", "amd64"},
    {"arm64/v8", "arm64", "arm64"},
    {"arm64/8", "arm64", "arm64"},
    {"arm64/v8.0", "arm64/v8", "arm64"},
    {"arm", "arm/v7", "arm/v8"},
    {"arm/7", "arm/v7", "arm64"},
    {"arm64/9", "arm64/v9.0", "arm64/v9.1"},
    {"amd64/x-foo", "amd64", "amd64/v3"},
    {"arm64/x-foo", "arm64", "arm64/v9"},
};

START_TEST(test_same)
{
    ocv_auto(ocv_platform) a = parse(same[_i][0]);
    ocv_auto(ocv_platform) b = parse(same[_i][1]);
    ocv_auto(ocv_platform) host = parse(same[_i][2]);
    ck_assert_int_ge(ocv_platform_match(host, a, NULL), 0);
    ck_assert_int_eq(ocv_platform_match(host, a, NULL), ocv_platform_match(host, b, NULL));
    ck_assert_int_eq(ocv_platform_match(a, b, NULL), 0);
}
END_TEST

START_TEST(test_os)
{
    static const char *const one[] = {"erofs"}, *const two[] = {"x", "erofs"};
    struct ocv_platform host = {.os = "linux", .architecture = "amd64"}, entry = host;
    const char *why;
    entry.os = "windows";
    ck_assert_int_eq(ocv_platform_match(&host, &entry, &why), -1);
    ck_assert_str_eq(why, "os");
    entry.os = NULL;
    ck_assert_int_eq(ocv_platform_match(&host, &entry, &why), -1);
    entry.os = "linux";
    entry.os_features = one;
    entry.n_os_features = 1;
    ck_assert_int_eq(ocv_platform_match(&host, &entry, &why), -1);
    ck_assert_str_eq(why, "os.features");
    host.os_features = two;
    host.n_os_features = 2;
    ck_assert_int_eq(ocv_platform_match(&host, &entry, &why), 0);
    entry.architecture = NULL;
    ck_assert_int_eq(ocv_platform_match(&host, &entry, &why), -1);
}
END_TEST

START_TEST(test_format)
{
    char text[8];
    struct ocv_platform p = {.os = "linux", .architecture = "amd64"};
    ck_assert_str_eq(ocv_platform_format(&p, text, sizeof(text)), "linux/a");
    p = (struct ocv_platform){0};
    char whole[64];
    ck_assert_str_eq(ocv_platform_format(&p, whole, sizeof(whole)), "unknown/unknown");
}
END_TEST

START_TEST(test_hidden)
{
    char variant[OCV_PLATFORM_HIDDEN_MAX], label[100];
    ocv_platform_hide("cuda12.8.1", variant);
    ck_assert_str_eq(variant, "x-cuda12-8-1");
    ck_assert(ocv_platform_is_hidden(variant));
    ck_assert(!ocv_platform_is_hidden(NULL));
    ck_assert(!ocv_platform_is_hidden("x"));
    ck_assert(!ocv_platform_is_hidden("v8"));
    memset(label, 'a', sizeof(label) - 1);
    label[sizeof(label) - 1] = '\0';
    ocv_platform_hide(label, variant);
    ck_assert_uint_eq(strlen(variant), OCV_PLATFORM_HIDDEN_MAX - 1);
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(*list))

TEST_FILE
{
    Suite *suite = suite_create("platform");
    TCase *tcase = tcase_create("platform");
    tcase_add_loop_test(tcase, test_parse, 0, N(parsed));
    tcase_add_loop_test(tcase, test_bad, 0, N(bad));
    tcase_add_test(tcase, test_long);
    tcase_add_loop_test(tcase, test_order, 0, N(orders));
    tcase_add_loop_test(tcase, test_same, 0, N(same));
    tcase_add_test(tcase, test_os);
    tcase_add_test(tcase, test_format);
    tcase_add_test(tcase, test_hidden);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
