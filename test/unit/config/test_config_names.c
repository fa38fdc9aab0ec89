/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names by which a configuration selects: which are known, by whom, and what is said of the others.
 */
#include "test/unit/core_util.h"

static const char profile_text[] =
    "{'platform':{'os':'linux','architecture':'amd64'},'namespaces':["
    "{'namespace':'nvidia','features':[{'name':'sm_arch','values':['90_real']}],'devices':["
    "{'id':'0000:3b:00.0','uuid':'GPU-1','index':0},{'id':'0000:3c:00.0','index':1},"
    "{'id':'0000:5b:00.0','index':2}]},"
    "{'namespace':'lab','features':[{'name':'chip','values':['c1','c2']}]},"
    "{'namespace':'silent','status':'absent','features':[]},"
    "{'namespace':'amd','devices':[{'index':0},{'index':4}]}]}";

struct found {
    char messages[8][512], origins[8][64];
    enum ocv_unknown_kind kinds[8];
    size_t n;
};

static int keep(void *data, const struct ocv_unknown_name *name)
{
    struct found *f = data;
    ck_assert_uint_lt(f->n, 8);
    snprintf(f->messages[f->n], 512, "%s", name->message);
    snprintf(f->origins[f->n], 64, "%s", name->origin);
    f->kinds[f->n++] = name->kind;
    return OCV_OK;
}

static void check(const struct ocv_config *config, bool with_index, struct found *found)
{
    static const char *const providers[] = {"installed"};
    char *text = quoted("%s", profile_text);
    ocv_auto(ocv_profile) profile = parse_profile(text);
    json_t *json = index_json("priority, ours");
    free(text);
    json_object_set_new(json_object_get(json, "annotations"), OCV_ANNOTATION_STATIC "priority",
                        json_string("order :: 1, order :: 2"));
    add_entry(json, "linux/amd64", "a", "ours :: speed :: 9, priority :: order :: 1");
    ocv_auto(ocv_index) index = index_from(json);
    const struct ocv_name_sources sources = {.profile = profile,
                                             .index = with_index ? index : NULL,
                                             .providers = providers,
                                             .n_providers = 1};
    *found = (struct found){0};
    ck_assert_int_eq(ocv_config_check_all_names(config, &sources, keep, found), OCV_OK);
}

/* key, text, what is said (NULL: nothing) */
static const struct {
    const char *key, *text, *message;
    enum ocv_unknown_kind kind;
} cases[] = {
    {"disable", "nvida", "no namespace 'nvida'; did you mean 'nvidia'?", OCV_UNKNOWN_NAME},
    {"disable", "nvidia::sm_arc", "nvidia has no feature 'sm_arc'; did you mean 'sm_arch'?",
     OCV_UNKNOWN_NAME},
    {"disable", "nvidia::sm_arch::sm_90",
     "nvidia :: sm_arch has no value 'sm_90'; did you mean '90_real'?", OCV_UNKNOWN_NAME},
    {"disable", "x86_64::level::v5", "x86_64 :: level has no value 'v5'; did you mean 'v4'?",
     OCV_UNKNOWN_NAME},
    {"disable", "nvidia::cuda_version",
     "nvidia has no feature 'cuda_version'; did you mean 'cuda_version_lower_bound'?",
     OCV_UNKNOWN_NAME},
    {"disable", "wholly_own", "no namespace 'wholly_own'", OCV_UNKNOWN_NAME},
    {"disable", "nvidia", NULL, 0},
    {"disable", "intel", NULL, 0},
    {"disable", "nvidia::sm_arch::100_real", NULL, 0},
    {"disable", "lab", NULL, 0},
    {"disable", "lab::chip::c3", NULL, 0},
    {"disable", "lab::chp", "lab has no feature 'chp'; did you mean 'chip'?", OCV_UNKNOWN_NAME},
    {"disable", "lap", "no namespace 'lap'; did you mean 'lab'?", OCV_UNKNOWN_NAME},
    {"disable", "silent::anything", NULL, 0},
    {"disable", "ours::speed::9", NULL, 0},
    {"disable", "ours::sped", "ours has no feature 'sped'; did you mean 'speed'?",
     OCV_UNKNOWN_NAME},
    {"disable", "priority::order", NULL, 0},
    {"disable", "installed::anything::at_all", NULL, 0},
    {"require", "nvida", "no namespace 'nvida'; did you mean 'nvidia'?", OCV_UNKNOWN_NAME},
    {"require", "nvidia::sm_arch::90_real", NULL, 0},
    {"device_policy", "nvida=any", "no namespace 'nvida'; did you mean 'nvidia'?",
     OCV_UNKNOWN_NAME},
    {"device_policy", "nvidia=any", NULL, 0},
    {"namespace_priority", "nvida", "no namespace 'nvida'; did you mean 'nvidia'?",
     OCV_UNKNOWN_NAME},
    {"namespace_priority", "wholly_own", "no namespace 'wholly_own'", OCV_UNKNOWN_NOTE},
    {"override", "nvida::sm_arch=90_real", "no namespace 'nvida'; did you mean 'nvidia'?",
     OCV_UNKNOWN_NAME},
    {"override", "nvidia::sm_arch=", NULL, 0},
    {"override", "nvidia::cuda_version_lower_bound=128",
     "nvidia :: cuda_version_lower_bound has no value '128'; did you mean '12.8'?",
     OCV_UNKNOWN_NAME},
    {"devices", "nvida=0", "no namespace 'nvida'; did you mean 'nvidia'?", OCV_UNKNOWN_NAME},
    {"devices", "nvidia=0,2", NULL, 0},
    {"devices", "nvidia=0000:3c:00.0,GPU-1", NULL, 0},
    {"devices", "nvidia=", NULL, 0},
    {"devices", "nvidia=99", "no device '99': this host has nvidia 0-2", OCV_UNKNOWN_HOST},
    {"devices", "amd=1", "no device '1': this host has amd 0, 4", OCV_UNKNOWN_HOST},
    {"devices", "intel=0", "no device '0': this host has no intel device", OCV_UNKNOWN_HOST},
};

START_TEST(what_is_known)
{
    ocv_auto(ocv_config) config = new_config();
    struct found found;
    set_config(config, cases[_i].key, cases[_i].text);
    check(config, true, &found);
    ck_assert_uint_eq(found.n, cases[_i].message ? 1 : 0);
    if (!cases[_i].message)
        return;
    ck_assert_str_eq(found.messages[0], cases[_i].message);
    ck_assert_str_eq(found.origins[0], "test");
    ck_assert_int_eq(found.kinds[0], cases[_i].kind);
}
END_TEST

/* What only the index knows is known only with it; known_namespaces always. */
START_TEST(who_makes_a_name_known)
{
    ocv_auto(ocv_config) config = new_config();
    struct found found;
    set_config(config, "disable", "ours, wholly_own");
    check(config, true, &found);
    ck_assert_uint_eq(found.n, 1);
    check(config, false, &found);
    ck_assert_uint_eq(found.n, 2);
    set_config(config, "known_namespaces", "ours, wholly_own");
    check(config, false, &found);
    ck_assert_uint_eq(found.n, 0);
}
END_TEST

/* Each name with its line; a repository's own with the others. */
START_TEST(every_name_has_its_line)
{
    static const char text[] = "disable:\n  - amd\n  - nvida\n"
                               "repositories:\n"
                               "  r.example/**:\n"
                               "    require: [nvidai]\n"
                               "    device_policy: {habna: any}\n"
                               "    label: anything\n"
                               "devices: {nvidia: [0, 7]}\n";
    ocv_auto(ocv_config) config = new_config();
    struct found found;
    ck_assert_int_eq(ocv_config_merge_yaml(config, "f.yaml", text, strlen(text), NULL), OCV_OK);
    check(config, true, &found);
    ck_assert_uint_eq(found.n, 4);
    ck_assert_str_eq(found.origins[0], "f.yaml:3");
    ck_assert_str_eq(found.origins[1], "f.yaml:9");
    ck_assert_int_eq(found.kinds[1], OCV_UNKNOWN_HOST);
    ck_assert_str_eq(found.origins[2], "f.yaml:6");
    ck_assert_str_eq(found.origins[3], "f.yaml:7");
}
END_TEST

static int stop(void *data, const struct ocv_unknown_name *name)
{
    (void)name;
    return ++*(int *)data == 2 ? OCV_ERR_CHECK : OCV_OK;
}

START_TEST(a_visit_may_end_the_walk)
{
    ocv_auto(ocv_config) config = new_config();
    const struct ocv_name_sources nothing = {0};
    int seen = 0;
    set_config(config, "disable", "aaaa, bbbb, cccc");
    set_config(config, "devices", "nvidia=0"); /* of no host: nothing to hold it against */
    ck_assert_int_eq(ocv_config_check_names(config, &nothing, stop, &seen), OCV_ERR_CHECK);
    ck_assert_int_eq(seen, 2);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("config_names");
    TCase *tcase = tcase_create("config_names");
    tcase_add_loop_test(tcase, what_is_known, 0, (int)(sizeof(cases) / sizeof(*cases)));
    tcase_add_test(tcase, who_makes_a_name_known);
    tcase_add_test(tcase, every_name_has_its_line);
    tcase_add_test(tcase, a_visit_may_end_the_walk);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
