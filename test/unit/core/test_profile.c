/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles: what is read, what is refused, and that writing keeps what is not understood. */
#include "lib/core/core_internal.h"
#include "test/unit/core_util.h"

static int parse(const char *text, size_t len, struct ocv_error *err)
{
    ocv_auto(ocv_profile) profile = NULL;
    int status = ocv_profile_parse(text, len, &profile, err);
    ck_assert(status == OCV_OK || profile == NULL);
    return status;
}

#define NS(members) "{'namespaces':[{'namespace':'n'," members "}]}"

static const struct {
    const char *text;
    int status;
} documents[] = {
    {"{'namespaces':[]}", OCV_OK},
    {"{'schema':'dev.ocivariant.profile/v1','namespaces':[]}", OCV_OK},
    {"{'schema':'dev.ocivariant.profile/v2','namespaces':[]}", OCV_ERR_DATA},
    {"{'schema':1,'namespaces':[]}", OCV_ERR_DATA},
    {"{}", OCV_ERR_DATA},
    {"[]", OCV_ERR_DATA},
    {"", OCV_ERR_DATA},
    {"{'namespaces':{}}", OCV_ERR_DATA},
    {"{'namespaces':[7]}", OCV_ERR_DATA},
    {"{'namespaces':[{}]}", OCV_ERR_DATA},
    {"{'namespaces':[{'namespace':'N'}]}", OCV_ERR_DATA},
    {"{'namespaces':[{'namespace':'n'}]}", OCV_OK},
    {"{'namespaces':[{'namespace':'n'},{'namespace':'n'}]}", OCV_ERR_DATA},
    {"{'namespaces':[],'namespaces':[]}", OCV_ERR_DATA},
    {"{'namespaces':[],'unknown':{'a':[1]}}", OCV_OK},
    {"{'namespaces':[],'platform':7}", OCV_ERR_DATA},
    {"{'namespaces':[],'platform':{'os':7}}", OCV_ERR_DATA},
    {"{'namespaces':[],'platform':{'os.features':[7]}}", OCV_ERR_DATA},
    {NS("'features':7"), OCV_ERR_DATA},
    {NS("'features':[7]"), OCV_ERR_DATA},
    {NS("'features':[{'name':'f'}]"), OCV_OK},
    {NS("'features':[{'values':[]}]"), OCV_ERR_DATA},
    {NS("'features':[{'name':'f.g','values':[]}]"), OCV_ERR_DATA},
    {NS("'features':[{'name':'f','values':'1'}]"), OCV_ERR_DATA},
    {NS("'features':[{'name':'f','values':[1]}]"), OCV_ERR_DATA},
    {NS("'features':[{'name':'f','values':['A']}]"), OCV_ERR_DATA},
    {NS("'features':[{'name':'f','values':['']}]"), OCV_ERR_DATA},
    {NS("'features':[{'name':'f','values':['1','1']}]"), OCV_OK},
    {NS("'features':[{'name':'f'},{'name':'f'}]"), OCV_ERR_DATA},
    {NS("'features':[{'name':'f'}],'devices':[{'features':[{'name':'f'}]}]"), OCV_OK},
    {NS("'devices':7"), OCV_ERR_DATA},
    {NS("'devices':[7]"), OCV_ERR_DATA},
    {NS("'devices':[{'id':7}]"), OCV_ERR_DATA},
    {NS("'devices':[{'uuid':7}]"), OCV_ERR_DATA},
    {NS("'devices':[{}]"), OCV_OK},
    {NS("'devices':[{'index':-1,'secondary':'yes'}]"), OCV_OK},
    {NS("'devices':[{'features':[{'name':'f'},{'name':'f'}]}]"), OCV_ERR_DATA},
    {NS("'status':'failed','error':'x','driver':'1'"), OCV_OK},
};

START_TEST(test_documents)
{
    struct ocv_error err = {0};
    char *text = quoted("%s", documents[_i].text);
    int status = parse(text, strlen(text), &err);
    ck_assert_msg(status == documents[_i].status, "%s: %d %s", text, status, err.message);
    ck_assert(status == OCV_OK || err.message[0]);
    free(text);
}
END_TEST

START_TEST(test_keeps_everything)
{
    char *text = quoted("{'schema':'dev.ocivariant.profile/v1','boot_id':'b','zeta':1,'alpha':[{}],"
                        "'platform':{'os':'linux','architecture':'arm64','variant':'v8.2'},"
                        "'namespaces':[{'namespace':'n','guess':true,'features':[{'name':'f',"
                        "'values':['2','1'],'note':'x'}]}]}");
    ocv_auto(ocv_profile) profile = parse_profile(text);
    json_t *before = json_loads(text, 0, NULL);
    free(text);
    char *after = json_dumps(profile->root, 0);
    ck_assert(json_equal(before, profile->root));
    ck_assert(strstr(after, "boot_id") < strstr(after, "zeta"));
    ck_assert(strstr(after, "zeta") < strstr(after, "alpha"));
    json_decref(before);
    free(after);
    struct ocv_platform p = ocv_profile_platform(profile);
    ck_assert_str_eq(p.architecture, "arm64");
    ck_assert_str_eq(p.variant, "v8.2");
    ck_assert(ocv_profile_supports(profile, (struct ocv_property){"n", "f", "1"}));
    ck_assert(!ocv_profile_supports(profile, (struct ocv_property){"n", "f", "3"}));
    ck_assert(!ocv_profile_supports(profile, (struct ocv_property){"n", "g", "1"}));
    ck_assert(!ocv_profile_supports(profile, (struct ocv_property){"m", "f", "1"}));
}
END_TEST

START_TEST(test_no_platform)
{
    ocv_auto(ocv_profile) profile = parse_profile("{\"namespaces\":[]}");
    ck_assert_ptr_null(ocv_profile_platform(profile).os);
    ck_assert_ptr_null(ocv_profile_platform(profile).architecture);
}
END_TEST

START_TEST(test_bytes_limit)
{
    static const char head[] = "{\"namespaces\":[]";
    char *text = malloc(OCV_PROFILE_MAX + 2);
    struct ocv_error err = {0};
    memset(text, ' ', OCV_PROFILE_MAX + 2);
    memcpy(text, head, sizeof(head) - 1);
    text[OCV_PROFILE_MAX - 1] = '}';
    ck_assert_int_eq(parse(text, OCV_PROFILE_MAX, &err), OCV_OK);
    ck_assert_int_eq(parse(text, OCV_PROFILE_MAX + 1, &err), OCV_ERR_DATA);
    free(text);
}
END_TEST

/* `n` members of one list: namespaces, features, values, devices. */
static int count_status(int what, unsigned n)
{
    struct ocv_error err = {0};
    json_t *list = json_array(), *root;
    for (unsigned i = 0; i < n; i++) {
        json_t *name = json_sprintf("x%u", i);
        if (what == 2)
            json_array_append_new(list, name);
        else
            json_array_append_new(list, json_pack("{s:o}",
                                                  what == 0   ? "namespace"
                                                  : what == 1 ? "name"
                                                              : "id",
                                                  name));
    }
    if (what == 0)
        root = json_pack("{s:o}", "namespaces", list);
    else if (what == 2)
        root = json_pack("{s:[{s:s, s:[{s:s, s:o}]}]}", "namespaces", "namespace", "n", "features",
                         "name", "f", "values", list);
    else
        root = json_pack("{s:[{s:s, s:o}]}", "namespaces", "namespace", "n",
                         what == 1 ? "features" : "devices", list);
    char *text = json_dumps(root, JSON_COMPACT);
    int status = parse(text, strlen(text), &err);
    free(text);
    json_decref(root);
    return status;
}

START_TEST(test_counts)
{
    static const unsigned max[] = {256, 4096, 65536, 1024};
    ck_assert_int_eq(count_status(_i, max[_i]), OCV_OK);
    ck_assert_int_eq(count_status(_i, max[_i] + 1), OCV_ERR_DATA);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("profile");
    TCase *tcase = tcase_create("profile");
    tcase_add_loop_test(tcase, test_documents, 0, sizeof(documents) / sizeof(*documents));
    tcase_add_test(tcase, test_keeps_everything);
    tcase_add_test(tcase, test_no_platform);
    tcase_add_test(tcase, test_bytes_limit);
    tcase_add_loop_test(tcase, test_counts, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
