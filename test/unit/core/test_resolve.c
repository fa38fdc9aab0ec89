/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resolution: devices, namespaces, platforms, wishes of the user. The
 * order itself: test_conformance.c and test_resolve_order.c; reasons: test_decision.c. */
#include "lib/core/core_internal.h"
#include "test/unit/core_util.h"

#define PROFILE(namespaces)                                                                   \
    "{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux','architecture':'amd64'}," \
    "'namespaces':[" namespaces "]}"

#define H100_LIST "'90_real','90_virtual','80_virtual','75_virtual'"
#define T4_LIST "'75_real','75_virtual'"
#define H100_ID "0000:3b:00.0"
#define T4_ID "0000:af:00.0"
#define H100_DEVICE   \
    "{'id':'" H100_ID \
    "','index':1,'uuid':'GPU-aaaa','features':[{'name':'sm_arch','values':[" H100_LIST "]}]%s}"
#define T4_DEVICE   \
    "{'id':'" T4_ID \
    "','index':0,'uuid':'GPU-bbbb','features':[{'name':'sm_arch','values':[" T4_LIST "]}]%s}"

/* A node with an H100 and a T4; the namespace's own list is the H100's. */
static struct ocv_profile *gpu_profile(const char *h100_extra, const char *t4_extra)
{
    char *text = quoted(PROFILE("{'namespace':'nvidia','features':["
                                "{'name':'cuda_version_lower_bound','values':['12.8','12.0']},"
                                "{'name':'sm_arch','values':[" H100_LIST "]}],"
                                "'devices':[" H100_DEVICE "," T4_DEVICE "]}"),
                        h100_extra, t4_extra);
    struct ocv_profile *profile = parse_profile(text);
    free(text);
    return profile;
}

static struct ocv_index *gpu_index(void)
{
    json_t *index = index_json("nvidia");
    add_entry(index, "linux/amd64", "null", "");
    add_entry(index, "linux/amd64", "sm75", "nvidia :: sm_arch :: 75_real");
    add_entry(index, "linux/amd64", "sm90", "nvidia :: sm_arch :: 90_real");
    add_entry(index, "linux/amd64", "both",
              "nvidia :: sm_arch :: 75_real, nvidia :: sm_arch :: 90_real");
    add_entry(index, "linux/amd64", "ptx", "nvidia :: sm_arch :: 75_virtual");
    add_entry(index, "linux/amd64", "cuda", "nvidia :: cuda_version_lower_bound :: 12.0");
    return index_from(index);
}

/* policy, devices, JSON added to the H100 and the T4, the order */
static const struct {
    const char *policy, *devices, *h100, *t4, *order;
} device_cases[] = {
    {NULL, NULL, "", "", "cuda both ptx null"},
    {"nvidia=all", NULL, "", "", "cuda both ptx null"},
    {"nvidia=any", NULL, "", "", "cuda both sm75 sm90 ptx null"},
    {"nvidia=first", NULL, "", "", "cuda both sm90 ptx null"},
    {NULL, "nvidia=1", "", "", "cuda both sm90 ptx null"},
    {NULL, "nvidia=0", "", "", "cuda both sm75 ptx null"},
    {NULL, "nvidia=0,1", "", "", "cuda both ptx null"},
    {NULL, "nvidia=" H100_ID, "", "", "cuda both sm90 ptx null"},
    {NULL, "nvidia=0000:AF:00.0", "", "", "cuda both sm75 ptx null"},
    {NULL, "nvidia=af:00.0", "", "", "cuda both sm75 ptx null"},
    {NULL, "nvidia=00000000:AF:00.0", "", "", "cuda both sm75 ptx null"},
    {NULL, "nvidia=GPU-aaaa", "", "", "cuda both sm90 ptx null"},
    {NULL, "nvidia=gpu-BBBB", "", "", "cuda both sm75 ptx null"},
    {NULL, "nvidia=7", "", "", "null"},
    {NULL, NULL, "", ",'secondary':true", "cuda both sm90 ptx null"},
    {"nvidia=first", NULL, ",'secondary':true", "", "cuda both sm75 ptx null"},
    {"nvidia=any", NULL, "", ",'secondary':true", "cuda both sm75 sm90 ptx null"},
    {NULL, NULL, ",'secondary':true", ",'secondary':true", "null"},
    {NULL, "nvidia=0", "", ",'secondary':true", "null"},
    {NULL, NULL, ",'secondary':false", ",'secondary':false", "cuda both ptx null"},
};

START_TEST(test_devices)
{
    ocv_auto(ocv_index) index = gpu_index();
    ocv_auto(ocv_profile) profile = gpu_profile(device_cases[_i].h100, device_cases[_i].t4);
    ocv_auto(ocv_config) config = new_config();
    if (device_cases[_i].policy)
        set_config(config, "device_policy", device_cases[_i].policy);
    if (device_cases[_i].devices)
        set_config(config, "devices", device_cases[_i].devices);
    struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config)};
    ocv_auto(ocv_decision) d = resolve(index, profile, &options);
    ck_assert_str_eq(order_text(d), device_cases[_i].order);
}
END_TEST

START_TEST(test_device_is_named)
{
    ocv_auto(ocv_index) index = gpu_index();
    ocv_auto(ocv_profile) profile = gpu_profile("", "");
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    struct ocv_rejection r = rejection_of(d, 1);
    ck_assert_int_eq(r.code, OCV_REJECT_DEVICE);
    ck_assert_str_eq(r.device, H100_ID);
    ck_assert_str_eq(rejection_of(d, 2).device, T4_ID);
    ck_assert_str_eq(rejection_of(d, 2).feature, "sm_arch");
}
END_TEST

/* Groups: H100, T4, T4, H100 give three components; the first group decides first. */
START_TEST(test_groups)
{
    char *text = quoted(PROFILE("{'namespace':'n','features':[{'name':'f','values':['b','a']}],"
                                "'devices':["
                                "{'features':[{'name':'f','values':['b','a']}]},"
                                "{'features':[{'name':'f','values':['a','c','b']}]},"
                                "{'features':[{'name':'f','values':['a','c','b']}]},"
                                "{'features':[{'name':'f','values':['b','a']}]}]}"));
    ocv_auto(ocv_profile) profile = parse_profile(text);
    free(text);
    json_t *json = index_json("n");
    add_entry(json, "linux/amd64", "a", "n :: f :: a");
    add_entry(json, "linux/amd64", "b", "n :: f :: b");
    add_entry(json, "linux/amd64", "bc", "n :: f :: b, n :: f :: c");
    add_entry(json, "linux/amd64", "ab", "n :: f :: a, n :: f :: b");
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    ck_assert_str_eq(order_text(d), "ab bc b a");
}
END_TEST

/* Features that only devices have count in the order in which the devices list them. */
START_TEST(test_features_of_devices_alone)
{
    static const char *const orders[][3] = {{"f", "g", "b a"}, {"g", "f", "a b"}};
    char *text = quoted(PROFILE("{'namespace':'n','features':[],'devices':[{'features':["
                                "{'name':'%s','values':['1']},{'name':'%s','values':['1']}]}]}"),
                        orders[_i][0], orders[_i][1]);
    ocv_auto(ocv_profile) profile = parse_profile(text);
    free(text);
    json_t *json = index_json("n");
    add_entry(json, "linux/amd64", "a", "n :: g :: 1");
    add_entry(json, "linux/amd64", "b", "n :: f :: 1");
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    ck_assert_str_eq(order_text(d), orders[_i][2]);
}
END_TEST

/* Under `any` two features that fit on different devices only do not make a fit. Where several
 * devices fit, the one counts that likes an entry best: `also` is as good as `one`, by its label.
 */
START_TEST(test_any_is_one_device)
{
    char *text = quoted(PROFILE(
        "{'namespace':'n','features':[],'devices':["
        "{'id':'d0','features':[{'name':'f','values':['1','2']},{'name':'g','values':['1']}]},"
        "{'id':'d1','features':[{'name':'f','values':['2']},{'name':'g','values':['2']}]}]}"));
    ocv_auto(ocv_profile) profile = parse_profile(text);
    free(text);
    json_t *json = index_json("n");
    add_entry(json, "linux/amd64", "mixed", "n :: f :: 1, n :: g :: 2");
    add_entry(json, "linux/amd64", "second", "n :: f :: 2, n :: g :: 2");
    add_entry(json, "linux/amd64", "first", "n :: f :: 1, n :: g :: 1");
    add_entry(json, "linux/amd64", "one", "n :: f :: 1");
    add_entry(json, "linux/amd64", "also", "n :: f :: 2");
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_config) config = new_config();
    set_config(config, "device_policy", "n=any");
    struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config)};
    ocv_auto(ocv_decision) d = resolve(index, profile, &options);
    ck_assert_str_eq(order_text(d), "first second also one");
    ck_assert_int_eq(rejection_of(d, 0).code, OCV_REJECT_DEVICE);
    ck_assert_str_eq(rejection_of(d, 0).ns, "n");
}
END_TEST

static json_t *torch_index(void)
{
    json_t *index = index_json("nvidia, priority");
    json_object_set_new(json_object_get(index, "annotations"), OCV_ANNOTATION_STATIC "priority",
                        json_string("order :: 1, order :: 2, order :: 3"));
    add_entry(index, "linux/amd64", "cuda12.6",
              "nvidia :: cuda_version_lower_bound :: 12.0, priority :: order :: 3");
    add_entry(index, "linux/amd64", "cuda12.8",
              "nvidia :: cuda_version_lower_bound :: 12.0, priority :: order :: 2");
    return index;
}

START_TEST(test_static_namespace)
{
    ocv_auto(ocv_index) index = index_from(torch_index());
    ocv_auto(ocv_profile) profile = gpu_profile("", "");
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    ck_assert_str_eq(order_text(d), "cuda12.8 cuda12.6");
    const char *const *warnings;
    ck_assert_uint_eq(ocv_index_warnings(index, &warnings), 0);
}
END_TEST

START_TEST(test_static_of_an_owned_namespace)
{
    json_t *json = torch_index();
    json_object_set_new(json_object_get(json, "annotations"), OCV_ANNOTATION_STATIC "nvidia",
                        json_string("cuda_version_lower_bound :: 99.0"));
    add_entry(json, "linux/amd64", "forged", "nvidia :: cuda_version_lower_bound :: 99.0");
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_profile) profile = gpu_profile("", "");
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    ck_assert_str_eq(order_text(d), "cuda12.8 cuda12.6");
    const char *const *warnings;
    ck_assert_uint_eq(ocv_index_warnings(index, &warnings), 1);
    ck_assert_ptr_nonnull(strstr(warnings[0], "nvidia"));
}
END_TEST

/* For this index the static list is the namespace, whatever the profile says. */
START_TEST(test_static_replaces_the_profile)
{
    ocv_auto(ocv_index) index = index_from(torch_index());
    char *text = quoted(
        PROFILE("{'namespace':'priority','features':[{'name':'order','values':['3','2','1']}]},"
                "{'namespace':'nvidia','features':[{'name':'cuda_version_lower_bound','values':['"
                "12.0']}]}"));
    ocv_auto(ocv_profile) profile = parse_profile(text);
    free(text);
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    ck_assert_str_eq(order_text(d), "cuda12.8 cuda12.6");
}
END_TEST

START_TEST(test_default_namespaces)
{
    json_t *json = index_json(NULL);
    add_entry(json, "linux/amd64", "cpu", "x86_64 :: level :: v3");
    add_entry(json, "linux/amd64", "zz", "zz :: f :: 1");
    add_entry(json, "linux/amd64", "gpu", "nvidia :: sm_arch :: 90_real");
    ocv_auto(ocv_index) index = index_from(json);
    const char *const *list;
    bool declared = true;
    ck_assert_uint_eq(ocv_index_namespaces(index, &list, &declared), 3);
    ck_assert(!declared);
    ck_assert_str_eq(list[0], "nvidia");
    ck_assert_str_eq(list[1], "zz");
    ck_assert_str_eq(list[2], "x86_64");
}
END_TEST

#define TWO_NAMESPACES                                                        \
    PROFILE("{'namespace':'a','features':[{'name':'f','values':['2','1']}]}," \
            "{'namespace':'b','features':[{'name':'f','values':['1']}]}")

static struct ocv_index *two_index(void)
{
    json_t *json = index_json("a, b");
    add_entry(json, "linux/amd64", "a1", "a :: f :: 1");
    add_entry(json, "linux/amd64", "a2", "a :: f :: 2");
    add_entry(json, "linux/amd64", "b1", "b :: f :: 1");
    add_entry(json, "linux/amd64", "null", "");
    add_entry(json, "linux/amd64", NULL, NULL);
    return index_from(json);
}

static const struct {
    const char *key, *text, *order;
} wishes[] = {
    {"namespace_priority", "a", "a2 a1 b1 null #4"},
    {"namespace_priority", "b", "b1 a2 a1 null #4"},
    {"namespace_priority", "zz, b, a", "b1 a2 a1 null #4"},
    {"disable", "a", "b1 null #4"},
    {"disable", "a::f", "b1 null #4"},
    {"disable", "a::f::2", "a1 b1 null #4"},
    {"disable", "a :: f :: 2, b", "a1 null #4"},
    {"disable", "a::g", "a2 a1 b1 null #4"},
    {"disable", "a::f::22", "a2 a1 b1 null #4"},
    {"override", "a::f=1,2", "a1 a2 b1 null #4"},
    {"override", "a::f=9", "b1 null #4"},
    {"override", "b::f=", "a2 a1 null #4"},
    {"override", "c::f=1", "a2 a1 b1 null #4"},
};

START_TEST(test_wishes)
{
    char *text = quoted(TWO_NAMESPACES);
    ocv_auto(ocv_profile) plain = parse_profile(text);
    free(text);
    ocv_auto(ocv_index) index = two_index();
    ocv_auto(ocv_config) config = new_config();
    set_config(config, wishes[_i].key, wishes[_i].text);
    struct ocv_error err = {0};
    ocv_auto(ocv_profile) profile = NULL;
    ck_assert_int_eq(ocv_config_override_profile(config, plain, &profile, &err), OCV_OK);
    struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config)};
    ocv_auto(ocv_decision) d = resolve(index, profile, &options);
    ck_assert_str_eq(order_text(d), wishes[_i].order);
}
END_TEST

/* An override replaces every device's list as well. */
START_TEST(test_override_devices)
{
    ocv_auto(ocv_profile) plain = gpu_profile("", "");
    ocv_auto(ocv_index) index = gpu_index();
    ocv_auto(ocv_config) config = new_config();
    set_config(config, "override", "nvidia::sm_arch=75_real");
    struct ocv_error err = {0};
    ocv_auto(ocv_profile) profile = NULL;
    ck_assert_int_eq(ocv_config_override_profile(config, plain, &profile, &err), OCV_OK);
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    ck_assert_str_eq(order_text(d), "cuda both sm75 null");
    ocv_auto(ocv_decision) before = resolve(index, plain, NULL);
    ck_assert_str_eq(order_text(before), "cuda both ptx null");
}
END_TEST

/* A lower bound stands for what a machine of that version reports; its newest value is enough.
 * What is no version, and any other feature, is taken as it is. */
static const struct {
    const char *text, *first, *last;
    size_t count;
} bounds[] = {
    {"a::v_lower_bound=12.9", "12.9", "1", 11 + 11 * 22},
    {"a::v_lower_bound=12.4,12.9", "12.9", "1", 11 + 11 * 22},
    {"a::v_lower_bound=2", "2.0", "1", 2 + 22},
    {"a::v_lower_bound=new,1.1", "new", "1", 4},
    {"a::v_lower_bound=100", "100", "100", 1},
    {"a::v_lower_bound=12.100", "12.100", "12.100", 1},
    {"a::v_lower_bound=", NULL, NULL, 0},
    {"a::v_upper_bound=12.9", "12.9", "12.9", 1},
};

START_TEST(test_override_bounds)
{
    char *text = quoted(TWO_NAMESPACES);
    ocv_auto(ocv_profile) plain = parse_profile(text);
    free(text);
    ocv_auto(ocv_config) config = new_config();
    set_config(config, "override", bounds[_i].text);
    struct ocv_error err = {0};
    ocv_auto(ocv_profile) profile = NULL;
    ck_assert_int_eq(ocv_config_override_profile(config, plain, &profile, &err), OCV_OK);
    const struct ocv_namespace *ns = ocv_profile_namespace(profile, "a");
    const struct ocv_feature *f = &ns->features[ns->n_features - 1];
    ck_assert_uint_eq(f->n_values, bounds[_i].count);
    if (bounds[_i].count == 0)
        return;
    ck_assert_str_eq(f->values[0], bounds[_i].first);
    ck_assert_str_eq(f->values[f->n_values - 1], bounds[_i].last);
}
END_TEST

/* Where no device counts, the override stands for them; a device that counts speaks for itself. */
START_TEST(test_override_where_nothing_counts)
{
    static const char device[] = ",'secondary':true";
    ocv_auto(ocv_index) index = two_index();
    ocv_auto(ocv_config) config = new_config();
    set_config(config, "override", "a::f=2");
    for (int counts = 0; counts < 2; counts++) {
        char *text = quoted(PROFILE("{'namespace':'a','features':[],'devices':[{'id':'0'%s},"
                                    "{'id':'1','secondary':true,'features':"
                                    "[{'name':'f','values':[]}]}]}"),
                            counts ? "" : device);
        ocv_auto(ocv_profile) plain = parse_profile(text);
        free(text);
        struct ocv_error err = {0};
        ocv_auto(ocv_profile) profile = NULL;
        ck_assert_int_eq(ocv_config_override_profile(config, plain, &profile, &err), OCV_OK);
        ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
        ck_assert_str_eq(order_text(d), "a2 null #4");
        char *written = json_dumps(profile->root, 0);
        ck_assert(!strstr(written, "devices") == !counts);
        free(written);
    }
}
END_TEST

START_TEST(test_label)
{
    char *text = quoted(TWO_NAMESPACES);
    ocv_auto(ocv_profile) profile = parse_profile(text);
    free(text);
    json_t *json = index_json("a, b");
    add_entry(json, "linux/amd64", "a1", "a :: f :: 1");
    add_entry(json, "linux/amd64", "no", "a :: f :: 9");
    add_entry(json, "linux/arm64", "a1", "a :: f :: 1");
    add_entry(json, "linux/arm64", "arm", "a :: f :: 1");
    ocv_auto(ocv_index) index = index_from(json);
    struct ocv_resolve_options options = {.label = "a1"};
    ocv_auto(ocv_decision) d = resolve(index, profile, &options);
    ck_assert_str_eq(order_text(d), "a1");
    options.label = "no";
    ocv_auto(ocv_decision) no = resolve(index, profile, &options);
    ck_assert_ptr_null(ocv_decision_selected(no));
    ck_assert_int_eq(rejection_of(no, 0).code, OCV_REJECT_NOT_REQUESTED);
    ck_assert_int_eq(rejection_of(no, 1).code, OCV_REJECT_VALUE_UNSUPPORTED);
    options.unchecked = true;
    ocv_auto(ocv_decision) forced = resolve(index, profile, &options);
    ck_assert_str_eq(order_text(forced), "no");
    options.label = "a1";
    ocv_auto(ocv_decision) own = resolve(index, profile, &options);
    ck_assert_uint_eq(ocv_decision_selected(own)->position, 0);
    options.label = "arm";
    ocv_auto(ocv_decision) arm = resolve(index, profile, &options);
    ck_assert_uint_eq(ocv_decision_selected(arm)->position, 3);
    options.label = NULL; /* unchecked without a label means nothing */
    ocv_auto(ocv_decision) plain = resolve(index, profile, &options);
    ck_assert_str_eq(order_text(plain), "a1");
}
END_TEST

/* The default is named null, with or without that annotation. */
START_TEST(test_label_null)
{
    char *text = quoted(TWO_NAMESPACES);
    ocv_auto(ocv_profile) profile = parse_profile(text);
    free(text);
    struct ocv_resolve_options options = {.label = "null"};
    for (int annotated = 0; annotated < 2; annotated++) {
        json_t *json = index_json("a, b");
        add_entry(json, "linux/amd64/x-rocm", NULL, NULL); /* not annotated yet: comes last */
        add_entry(json, "linux/arm64", NULL, NULL);
        add_entry(json, "linux/amd64", NULL, NULL);
        add_entry(json, "linux/amd64/x-a1", "a1", "a :: f :: 1");
        add_entry(json, "linux/arm64", annotated ? "null" : "arm", annotated ? "" : "a :: f :: 1");
        if (annotated)
            add_entry(json, "linux/amd64/x-null", "null", "");
        ocv_auto(ocv_index) index = index_from(json);
        ocv_auto(ocv_decision) d = resolve(index, profile, &options);
        ck_assert_str_eq(order_text(d), annotated ? "null" : "#2");
        ck_assert_int_eq(rejection_of(d, 0).code, OCV_REJECT_NOT_REQUESTED);
        ck_assert_int_eq(rejection_of(d, 3).code, OCV_REJECT_NOT_REQUESTED);
        ocv_auto(ocv_decision) any = resolve(index, profile, NULL);
        ck_assert_str_eq(order_text(any), annotated ? "a1 null #2 #0" : "a1 #2 #0");
        struct ocv_resolve_options forced = {.label = "null", .unchecked = true};
        ocv_auto(ocv_decision) unchecked = resolve(index, profile, &forced);
        ck_assert_str_eq(order_text(unchecked), annotated ? "null null" : "#2 #1");
    }
}
END_TEST

static struct ocv_index *platform_index(void)
{
    json_t *json = index_json("n");
    add_entry(json, "linux/amd64", NULL, NULL);
    add_entry(json, "linux/amd64", "null", "");
    add_entry(json, "linux/arm64", "null", "");
    add_entry(json, "linux/amd64/x-v1", "v1", "n :: f :: 1");
    add_entry(json, "linux/arm64/x-v1", "v1", "n :: f :: 1");
    add_entry(json, "linux/amd64/v3", NULL, NULL);
    add_entry(json, NULL, "bare", "n :: f :: 2");
    add_entry(json, NULL, NULL, NULL);
    add_entry(json, "linux/386", NULL, NULL);
    add_entry(json, "linux/386", "old", "n :: f :: 2");
    return index_from(json);
}

static const struct {
    const char *profile, *asked, *order, *fallback;
} platform_cases[] = {
    {"'linux','architecture':'amd64','variant':'v3'", NULL, "bare v1 null #5 #0 old #8 #7", "#0"},
    {"'linux','architecture':'amd64'", NULL, "bare v1 null #0 old #8 #7", "#0"},
    {"'linux','architecture':'arm64'", NULL, "bare v1 null #7", "null"},
    {"'linux','architecture':'riscv64'", NULL, "bare #7", ""},
    {"'windows','architecture':'amd64'", NULL, "bare #7", ""},
    {"'linux','architecture':'amd64','variant':'v3'", "linux/arm64", "null #7", "null"},
    {"'linux','architecture':'amd64','variant':'v3'", "linux/amd64", "bare v1 null #5 #0 old #8 #7",
     "#0"},
    {"'linux','architecture':'amd64','variant':'v4'", "linux/amd64/v2", "bare v1 null #0 old #8 #7",
     "#0"},
    {"'linux','architecture':'amd64','variant':'v2'", "linux/amd64/v4", "bare v1 null #0 old #8 #7",
     "#0"},
    {"'linux','architecture':'amd64'", "linux/386", "#8 #7", "#8"},
    {"'linux'", "linux/arm64", "bare v1 null #7", "null"},
    {"'linux','architecture':'x86_64','variant':'v3'", NULL, "bare v1 null #5 #0 old #8 #7", "#0"},
};

START_TEST(test_platforms)
{
    char *text = quoted("{'schema':'dev.ocivariant.profile/v1','platform':{'os':%s},'namespaces':["
                        "{'namespace':'n','features':[{'name':'f','values':['2','1']}]}]}",
                        platform_cases[_i].profile);
    ocv_auto(ocv_profile) profile = parse_profile(text);
    free(text);
    ocv_auto(ocv_index) index = platform_index();
    ocv_auto(ocv_platform) asked = NULL;
    struct ocv_error err = {0};
    if (platform_cases[_i].asked)
        ck_assert_int_eq(ocv_platform_parse(platform_cases[_i].asked, &asked, &err), OCV_OK);
    struct ocv_resolve_options options = {.platform = asked};
    ocv_auto(ocv_decision) d = resolve(index, profile, &options);
    ck_assert_str_eq(order_text(d), platform_cases[_i].order);
    const struct ocv_entry *f = ocv_decision_default(d);
    char got[80] = "";
    if (f)
        snprintf(got, sizeof(got), f->label ? "%s" : "#%s", f->label ? f->label : "");
    if (f && !f->label)
        snprintf(got, sizeof(got), "#%zu", f->position);
    ck_assert_str_eq(got, platform_cases[_i].fallback);
}
END_TEST

START_TEST(test_no_platform)
{
    ocv_auto(ocv_profile) profile = parse_profile("{\"namespaces\":[]}");
    ocv_auto(ocv_index) index = platform_index();
    struct ocv_error err = {0};
    struct ocv_decision *d = NULL;
    ck_assert_int_eq(ocv_resolve(index, profile, NULL, &d, &err), OCV_ERR_INVALID);
    ck_assert_ptr_null(d);
    ck_assert_str_ne(err.message, "");
}
END_TEST

/* A profile by hand: the level in the x86_64 namespace stands in for platform.variant. */
START_TEST(test_level_from_the_list)
{
    char *text = quoted(
        PROFILE("{'namespace':'x86_64','features':[{'name':'level','values':['v3','v2','v1']}]}"));
    ocv_auto(ocv_profile) profile = parse_profile(text);
    free(text);
    json_t *json = index_json(NULL);
    add_entry(json, "linux/amd64/v4", NULL, NULL);
    add_entry(json, "linux/amd64/v2", NULL, NULL);
    add_entry(json, "linux/amd64/v3", NULL, NULL);
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    ck_assert_str_eq(order_text(d), "#2 #1");
    ck_assert_int_eq(rejection_of(d, 0).code, OCV_REJECT_PLATFORM_VARIANT);
    ck_assert_ptr_null(ocv_decision_default(d)); /* a client that detects no level takes none */
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("resolve");
    TCase *tcase = tcase_create("resolve");
    tcase_add_loop_test(tcase, test_devices, 0, sizeof(device_cases) / sizeof(*device_cases));
    tcase_add_test(tcase, test_device_is_named);
    tcase_add_test(tcase, test_groups);
    tcase_add_loop_test(tcase, test_features_of_devices_alone, 0, 2);
    tcase_add_test(tcase, test_any_is_one_device);
    tcase_add_test(tcase, test_static_namespace);
    tcase_add_test(tcase, test_static_of_an_owned_namespace);
    tcase_add_test(tcase, test_static_replaces_the_profile);
    tcase_add_test(tcase, test_default_namespaces);
    tcase_add_loop_test(tcase, test_wishes, 0, sizeof(wishes) / sizeof(*wishes));
    tcase_add_test(tcase, test_override_devices);
    tcase_add_loop_test(tcase, test_override_bounds, 0, sizeof(bounds) / sizeof(*bounds));
    tcase_add_test(tcase, test_override_where_nothing_counts);
    tcase_add_test(tcase, test_label);
    tcase_add_test(tcase, test_label_null);
    tcase_add_loop_test(tcase, test_platforms, 0, sizeof(platform_cases) / sizeof(*platform_cases));
    tcase_add_test(tcase, test_no_platform);
    tcase_add_test(tcase, test_level_from_the_list);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
