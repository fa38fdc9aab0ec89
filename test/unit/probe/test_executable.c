/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executable providers: which of them run, and who answers for a namespace. What they may print:
 * test_executable_answer.c. */
#include "lib/base/file.h"
#include "lib/probe/executable/executable.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(trust)
{
    static const struct {
        uid_t owner;
        mode_t mode;
        uid_t self;
        const char *why;
    } cases[] = {
        {0, 0755, 0, NULL},
        {0, 0755, 1000, NULL},
        {1000, 0755, 1000, NULL},
        {1000, 0755, 0, "does not belong to root"},
        {1000, 0755, 1001, "belongs neither to root nor to this user"},
        {0, 0775, 0, "its group may write to it"},
        {0, 0757, 0, "any user may write to it"},
        {1000, 0777, 1000, "its group may write to it"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct stat st = {.st_uid = cases[i].owner, .st_mode = S_IFREG | cases[i].mode};
        const char *why = ocv_file_distrust(&st, cases[i].self);
        if (cases[i].why)
            ck_assert_pstr_eq(why, cases[i].why);
        else
            ck_assert_ptr_null(why);
    }
}
END_TEST

START_TEST(names)
{
    static const struct {
        const char *file, *name;
    } cases[] = {
        {"mychip", "mychip"},       {"mychip.py", "mychip"}, {"My-Chip.v2.sh", "my_chip"},
        {"10-vendor", "10_vendor"}, {"\xc3\xa9\x7f", "___"},
    };
    char name[OCV_EXECUTABLE_NAME_MAX + 1];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ocv_executable_name(cases[i].file, name);
        ck_assert_str_eq(name, cases[i].name);
    }
    char longest[256];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ocv_executable_name(longest, name);
    ck_assert_uint_eq(strlen(name), OCV_EXECUTABLE_NAME_MAX);
}
END_TEST

static char top[] = "/tmp/ocv-executable.XXXXXX";

static void make_top(void)
{
    char path[64];
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(path, sizeof(path), "%s/providers", top);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/root", top);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/files", top);
    ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void remove_top(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ck_assert_int_eq(system(command), 0);
}

static const char *at(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(at(name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(at(name), mode), 0);
}

/* A program that prints this. */
static void put_answer(const char *name, const char *json)
{
    char text[1024];
    snprintf(text, sizeof(text), "#!/bin/sh\ncat <<'EOF'\n%s\nEOF\n", json);
    put(name, text, 0755);
}

static int probe_with(struct ocv_probe_options options, json_t **profile, struct ocv_error *err)
{
    char root[64], files[64];
    snprintf(root, sizeof(root), "%s/root", top);
    snprintf(files, sizeof(files), "%s/files", top);
    options.sysroot = root;
    options.providers = files;
    options.datadir = "/nonexistent";
    options.libexecdir = top;
    options.timeout_ms = 60000; /* the machine may be busy */
    struct ocv_buffer json;
    ocv_buffer_init(&json, OCV_PROFILE_MAX);
    int status = ocv_probe(&options, &json, err);
    *profile = status == OCV_OK ? json_loadb(json.data, json.len, 0, NULL) : NULL;
    ocv_buffer_free(&json);
    return status;
}

static json_t *probe(void)
{
    json_t *profile;
    struct ocv_error err = {0};
    int status = probe_with((struct ocv_probe_options){0}, &profile, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return profile;
}

static const json_t *namespace_in(const json_t *profile, const char *name)
{
    const json_t *list = json_object_get(profile, "namespaces");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(json_string_value(json_object_get(json_array_get(list, i), "namespace")), name))
            return json_array_get(list, i);
    return NULL;
}

static const char *text_in(const json_t *profile, const char *ns, const char *key)
{
    const char *text = json_string_value(json_object_get(namespace_in(profile, ns), key));
    return text ? text : "(none)";
}

static const char *provider_of(const json_t *profile, const char *ns)
{
    const json_t *provider = json_object_get(namespace_in(profile, ns), "provider");
    return json_string_value(json_object_get(provider, "name"));
}

START_TEST(programs_answer)
{
    put("providers/echo",
        "#!/bin/sh\necho \"{\\\"namespace\\\":\\\"words\\\",\\\"driver\\\":\\\"$#: $1 $2 "
        "$3\\\"}\"\n",
        0755);
    put_answer("providers/.hidden", "{\"namespace\":\"hidden\"}");
    put_answer("providers/zchip.sh", "{\"namespace\":\"zchip\",\"features\":[{\"name\":\"arch\","
                                     "\"values\":[\"two\",\"one\"]}]}");
    put_answer("providers/wrong", "{\"namespace\":\"Wrong\"}");
    json_t *profile = probe();
    char want[128];
    snprintf(want, sizeof(want), "2: --sysroot %s/root ", top);
    ck_assert_str_eq(text_in(profile, "words", "driver"), want);
    ck_assert_str_eq(text_in(profile, "zchip", "status"), "ok");
    ck_assert_str_eq(provider_of(profile, "zchip"), "zchip");
    ck_assert_str_eq(text_in(profile, "wrong", "status"), "failed");
    ck_assert_ptr_nonnull(strstr(text_in(profile, "wrong", "error"),
                                 "/providers/wrong: what it printed is not a namespace"));
    ck_assert_ptr_null(namespace_in(profile, "hidden"));
    json_decref(profile);
    struct ocv_error err = {0};
    ck_assert_int_eq(probe_with((struct ocv_probe_options){.deep = true}, &profile, &err), OCV_OK);
    snprintf(want, sizeof(want), "3: --sysroot %s/root --deep", top);
    ck_assert_str_eq(text_in(profile, "words", "driver"), want);
    json_decref(profile);
}
END_TEST

START_TEST(untrusted_files_stay_where_they_are)
{
    put_answer("providers/grp", "{\"namespace\":\"grp\"}");
    ck_assert_int_eq(chmod(at("providers/grp"), 0775), 0);
    put_answer("providers/all", "{\"namespace\":\"all\"}");
    ck_assert_int_eq(chmod(at("providers/all"), 0757), 0);
    put_answer("providers/plain", "{\"namespace\":\"plain\"}");
    ck_assert_int_eq(chmod(at("providers/plain"), 0644), 0);
    ck_assert_int_eq(symlink("grp", at("providers/link")), 0);
    ck_assert_int_eq(mkdir(at("providers/directory"), 0755), 0);
    ck_assert_int_eq(mkfifo(at("providers/fifo"), 0755), 0);
    put_answer("providers/theirs", "{\"namespace\":\"theirs\"}");
    bool root = geteuid() == 0;
    if (root)
        ck_assert_int_eq(chown(at("providers/theirs"), 4711, 4711), 0);
    put_answer("providers/good", "{\"namespace\":\"good\"}");
    json_t *profile = probe();
    static const char *const reasons[][2] = {
        {"grp", "not run: its group may write to it"},
        {"all", "not run: any user may write to it"},
        {"plain", "not run: it is not executable"},
        {"link", "not run: it is a symbolic link"},
        {"directory", "not run: it is not a regular"},
        {"fifo", "not run: it is not a regular file"},
    };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        ck_assert_str_eq(text_in(profile, reasons[i][0], "status"), "failed");
        ck_assert_ptr_nonnull(strstr(text_in(profile, reasons[i][0], "error"), reasons[i][1]));
    }
    if (root)
        ck_assert_ptr_nonnull(strstr(text_in(profile, "theirs", "error"),
                                     "/providers/theirs: not run: does not belong to root"));
    ck_assert_str_eq(text_in(profile, "good", "status"), "ok");
    json_decref(profile);
    /* nothing of a directory that others write to */
    ck_assert_int_eq(chmod(at("providers"), 0777), 0);
    profile = probe();
    ck_assert_ptr_nonnull(strstr(text_in(profile, "good", "error"), "its group may write to it"));
    json_decref(profile);
}
END_TEST

START_TEST(no_directory_no_program)
{
    ck_assert_int_eq(rmdir(at("providers")), 0);
    json_t *profile = probe();
    json_decref(profile);
    put("providers", "a file", 0644);
    struct ocv_error err = {0};
    ck_assert_int_eq(probe_with((struct ocv_probe_options){0}, &profile, &err), OCV_ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "/providers: Not a directory"));
}
END_TEST

START_TEST(too_many_programs)
{
    char name[32];
    for (unsigned i = 0; i < OCV_EXECUTABLES_MAX; i++) {
        snprintf(name, sizeof(name), "providers/p%u", i);
        put(name, "not run", 0644);
    }
    json_decref(probe());
    put("providers/one_more", "not run", 0644);
    struct ocv_error err = {0};
    json_t *profile;
    ck_assert_int_eq(probe_with((struct ocv_probe_options){0}, &profile, &err), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "more than 64 providers"));
}
END_TEST

/* The profile has room for some of them; it is complete without the others. */
START_TEST(together_they_fill_the_profile)
{
    char name[32], text[512];
    for (unsigned i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "providers/p%u", i);
        snprintf(
            text, sizeof(text),
            "#!/bin/sh\nawk 'BEGIN { printf \"{\\\"namespace\\\":\\\"p%u\\\",\\\"features\\\":[\"; "
            "for (f = 0; f < 100; f++) { printf "
            "\"%%s{\\\"name\\\":\\\"f%%d\\\",\\\"values\\\":[\\\"0\\\"\", "
            "f ? \",\" : \"\", f; for (v = 1; v < 800; v++) printf \",\\\"%%d\\\"\", v; printf "
            "\"]}\" } "
            "printf \"]}\" }'\n",
            i);
        put(name, text, 0755);
    }
    json_t *profile = probe();
    ck_assert_str_eq(text_in(profile, "p0", "status"), "ok");
    ck_assert_str_eq(text_in(profile, "p3", "status"), "failed");
    ck_assert_ptr_nonnull(strstr(text_in(profile, "p3", "error"),
                                 "takes the programs' part of the profile over 2097152 bytes"));
    json_decref(profile);
}
END_TEST

static void expect_conflict(const char *words, const char *hint)
{
    struct ocv_error err = {0};
    json_t *profile;
    int status = probe_with((struct ocv_probe_options){0}, &profile, &err);
    ck_assert_int_eq(status, OCV_ERR_CONFIG);
    ck_assert_msg(strstr(err.message, words) != NULL, "'%s' is not in '%s'", words, err.message);
    ck_assert_msg(strstr(err.hint, hint) != NULL, "'%s' is not in '%s'", hint, err.hint);
}

static const char declared[] = "schema: dev.ocivariant.provider/v1\n"
                               "namespace: mychip\nname: shipped\n"
                               "features: [{feature: arch, values: [one]}]\n"
                               "devices: [{pci: {vendor: \"1234\"}, set: {arch: one}}]\n";

START_TEST(one_provider_for_a_namespace)
{
    /* two programs */
    put_answer("providers/a", "{\"namespace\":\"mychip\",\"driver\":\"a\"}");
    put_answer("providers/b", "{\"namespace\":\"mychip\",\"driver\":\"b\"}");
    expect_conflict("/providers/b: namespace 'mychip' has a provider already: 'a'",
                    "\"replaces\": \"a\"");
    put_answer("providers/b", "{\"namespace\":\"mychip\",\"driver\":\"b\",\"replaces\":\"a\"}");
    json_t *profile = probe();
    ck_assert_str_eq(text_in(profile, "mychip", "driver"), "b");
    json_decref(profile);
    put_answer("providers/b", "{\"namespace\":\"mychip\",\"driver\":\"b\",\"replaces\":\"c\"}");
    expect_conflict("it replaces 'c', but namespace 'mychip' has the provider 'a'", "");
    /* a file's */
    ck_assert_int_eq(unlink(at("providers/b")), 0);
    put("files/mychip.yaml", declared, 0644);
    expect_conflict("/providers/a: namespace 'mychip' has a provider already: 'shipped'",
                    "\"replaces\": \"shipped\"");
    put_answer("providers/a",
               "{\"namespace\":\"mychip\",\"driver\":\"a\",\"replaces\":\"shipped\"}");
    profile = probe();
    ck_assert_str_eq(provider_of(profile, "mychip"), "a");
    json_decref(profile);
    ck_assert_int_eq(unlink(at("files/mychip.yaml")), 0);
    expect_conflict("it replaces 'shipped', but namespace 'mychip' has no provider", "");
    /* a built-in one, even one of another architecture */
    put_answer("providers/a", "{\"namespace\":\"s390x\"}");
    expect_conflict("namespace 's390x' has a provider already: 's390x'", "");
    put_answer("providers/a", "{\"namespace\":\"s390x\",\"driver\":\"a\",\"replaces\":\"s390x\"}");
    profile = probe();
    ck_assert_str_eq(provider_of(profile, "s390x"), "a");
    json_decref(profile);
}
END_TEST

/* What was to be replaced stands, with a remark. */
START_TEST(a_failed_replacement)
{
    char line[256];
    ck_assert_int_eq(mkdir(at("root/proc"), 0755), 0);
    put("root/proc/cpuinfo", "vendor_id : IBM/S390\nfeatures : esan3 zarch vx\n", 0644);
    put("providers/s390x", "#!/bin/sh\nexit 9\n", 0755);
    put("providers/s390x.again", "#!/bin/sh\necho no card >&2\nexit 8\n", 0755);
    json_t *profile = probe();
    ck_assert_str_eq(provider_of(profile, "s390x"), "s390x");
    ck_assert_str_eq(text_in(profile, "s390x", "status"), "partial");
    snprintf(line, sizeof(line),
             "%s/providers/s390x: exit status 9; %s/providers/s390x.again: exit status 8: no card",
             top, top);
    ck_assert_str_eq(text_in(profile, "s390x", "error"), line);
    ck_assert_uint_gt(json_array_size(json_object_get(namespace_in(profile, "s390x"), "features")),
                      0);
    json_decref(profile);
}
END_TEST

START_TEST(a_file_looked_at_alone)
{
    struct ocv_error err = {0};
    json_t *profile;
    char file[64];
    put_answer("providers/a", "{\"namespace\":\"mychip\"}");
    put("files/mychip.yaml", declared, 0644);
    snprintf(file, sizeof(file), "%s/files/mychip.yaml", top);
    int status = probe_with((struct ocv_probe_options){.check = file}, &profile, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ck_assert_str_eq(provider_of(profile, "mychip"), "shipped");
    json_decref(profile);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("executable");
    TCase *tc = tcase_create("files");
    tcase_add_test(tc, trust);
    tcase_add_test(tc, names);
    suite_add_tcase(suite, tc);
    tc = tcase_create("probe");
    tcase_add_checked_fixture(tc, make_top, remove_top);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, programs_answer);
    tcase_add_test(tc, untrusted_files_stay_where_they_are);
    tcase_add_test(tc, no_directory_no_program);
    tcase_add_test(tc, too_many_programs);
    tcase_add_test(tc, together_they_fill_the_profile);
    tcase_add_test(tc, one_provider_for_a_namespace);
    tcase_add_test(tc, a_failed_replacement);
    tcase_add_test(tc, a_file_looked_at_alone);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
