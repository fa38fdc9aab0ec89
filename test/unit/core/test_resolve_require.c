/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must be used, what was missed, and which line of a configuration decided. */
#include "test/unit/core_util.h"

static const char profile_text[] =
    "{'platform':{'os':'linux','architecture':'amd64'},'namespaces':["
    "{'namespace':'nvidia','driver':'535.161','features':["
    "{'name':'cuda_version_lower_bound','values':['12.6','12.5','12.0']},"
    "{'name':'sm_arch','values':['90_real','75_real']}],'devices':["
    "{'id':'d0','index':0,'features':[{'name':'sm_arch','values':['90_real']}]},"
    "{'id':'d1','index':1,'features':[{'name':'sm_arch','values':['75_real']}]}]},"
    "{'namespace':'x86_64','features':[{'name':'level','values':['v3','v2']}]}]}";

static struct ocv_profile *host(void)
{
    char *text = quoted("%s", profile_text);
    struct ocv_profile *p = parse_profile(text);
    free(text);
    return p;
}

static struct ocv_index *builds(void)
{
    json_t *json = index_json("nvidia, amd, x86_64");
    add_entry(json, "linux/amd64", "null", "");
    add_entry(json, "linux/amd64", "cuda12.6", "nvidia :: cuda_version_lower_bound :: 12.6");
    add_entry(json, "linux/amd64", "cuda12.8", "nvidia :: cuda_version_lower_bound :: 12.8");
    add_entry(json, "linux/amd64", "cuda12.10", "nvidia :: cuda_version_lower_bound :: 12.10");
    add_entry(json, "linux/amd64", "rocm", "amd :: gfx_arch :: gfx942");
    add_entry(json, "linux/amd64", "cpu.v3", "x86_64 :: level :: v3");
    return index_from(json);
}

static struct ocv_decision *decide(const struct ocv_index *index, const struct ocv_profile *profile,
                                   const struct ocv_config *config, const char *label)
{
    const struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config),
                                                .label = label};
    return resolve(index, profile, &options);
}

static const char *selected(const struct ocv_decision *d)
{
    return ocv_decision_selected(d) ? ocv_decision_selected(d)->label : "(none)";
}

/* required, device policy, disabled; what is chosen */
static const struct {
    const char *required, *policy, *disable, *chosen;
} cases[] = {
    {"nvidia", NULL, NULL, "cuda12.6"},
    {"nvidia::cuda_version_lower_bound", NULL, NULL, "cuda12.6"},
    {"nvidia::cuda_version_lower_bound::12.6", NULL, NULL, "cuda12.6"},
    {"nvidia::cuda_version_lower_bound::12.0", NULL, NULL, "cuda12.6"}, /* the devices have it */
    {"nvidia::cuda_version_lower_bound::12.8", NULL, NULL, "(none)"},
    {"nvidia::sm_arch", NULL, NULL, "(none)"},
    {"nvidia::sm_arch::90_real", NULL, NULL, "(none)"}, /* not both devices */
    {"nvidia::sm_arch::90_real", "nvidia=any", NULL, "cuda12.6"},
    {"nvidia::sm_arch::90_real", "nvidia=first", NULL, "cuda12.6"},
    {"nvidia::sm_arch::75_real", "nvidia=first", NULL, "(none)"},
    {"x86_64", NULL, NULL, "cpu.v3"},
    {"x86_64::level::v2", NULL, NULL, "(none)"},
    {"nvidia, x86_64", NULL, NULL, "(none)"},
    {"nvidia, nvidia::cuda_version_lower_bound", NULL, NULL, "cuda12.6"},
    {"amd", NULL, NULL, "(none)"},
    {"nvid", NULL, NULL, "(none)"},
    {"nvidia", NULL, "nvidia", "(none)"},
    {"", NULL, NULL, "cuda12.6"},
};

START_TEST(what_must_be_used)
{
    ocv_auto(ocv_index) index = builds();
    ocv_auto(ocv_profile) profile = host();
    ocv_auto(ocv_config) config = new_config();
    set_config(config, "require", cases[_i].required);
    if (cases[_i].policy)
        set_config(config, "device_policy", cases[_i].policy);
    if (cases[_i].disable)
        set_config(config, "disable", cases[_i].disable);
    ocv_auto(ocv_decision) d = decide(index, profile, config, NULL);
    ck_assert_msg(!strcmp(selected(d), cases[_i].chosen), "--require %s: %s", cases[_i].required,
                  selected(d));
}
END_TEST

/* Without variants, an ordinary image uses nothing. */
START_TEST(an_ordinary_image_uses_nothing)
{
    json_t *json = index_json(NULL);
    add_entry(json, "linux/amd64", NULL, NULL);
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_profile) profile = host();
    ocv_auto(ocv_config) config = new_config();
    set_config(config, "require", "nvidia");
    ocv_auto(ocv_decision) d = decide(index, profile, config, NULL);
    ck_assert_ptr_null(ocv_decision_selected(d));
    ck_assert_int_eq(ocv_decision_rejected(d, 0).code, OCV_REJECT_REQUIREMENT);
}
END_TEST

static const struct ocv_rejection *rejection(const struct ocv_decision *d, const char *label,
                                             struct ocv_rejection *out, size_t *place)
{
    for (*place = 0; *place < ocv_decision_rejected_count(d); (*place)++) {
        *out = ocv_decision_rejected(d, *place);
        if (out->entry->label && !strcmp(out->entry->label, label))
            return out;
    }
    return NULL;
}

/* The sentence outlives the configuration, and names the line. */
START_TEST(which_line_decided)
{
    static const char text[] = "repositories:\n  r.example/a:\n    require: [nvidia]\n"
                               "    label: cuda12.6\n    disable:\n      - x86_64::level::v3\n"
                               "devices: {nvidia: []}\n";
    ocv_auto(ocv_index) index = builds();
    ocv_auto(ocv_profile) profile = host();
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto_buffer reason;
    struct ocv_rejection r;
    size_t place;
    struct ocv_config *config = new_config();
    ocv_buffer_init(&reason, 4096);
    ck_assert_int_eq(ocv_config_merge_yaml(config, "f.yaml", text, strlen(text), NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/a", &reference, NULL), OCV_OK);
    ocv_auto(ocv_decision) d =
        decide(index, profile, ocv_config_for_reference(config, reference), NULL);
    ocv_config_free(config);
    ck_assert_ptr_nonnull(rejection(d, "null", &r, &place));
    ck_assert_int_eq(r.code, OCV_REJECT_REQUIREMENT);
    ck_assert_str_eq(r.required, "nvidia");
    ck_assert_str_eq(r.origin, "f.yaml:3");
    ck_assert_int_eq(ocv_decision_reason(d, place, &reason, NULL), OCV_OK);
    ck_assert_str_eq(reason.data, "fits, but does not use nvidia, which is required (f.yaml:3)");
    ck_assert_ptr_nonnull(rejection(d, "cpu.v3", &r, &place));
    ck_assert_int_eq(r.code, OCV_REJECT_DISABLED);
    ck_assert_str_eq(r.origin, "f.yaml:6");
    ck_assert_ptr_nonnull(rejection(d, "cuda12.6", &r, &place));
    ck_assert_int_eq(r.code, OCV_REJECT_NO_DEVICE);
    ck_assert_str_eq(r.origin, "f.yaml:7");
}
END_TEST

START_TEST(a_repository_has_its_label)
{
    static const char text[] = "repositories: {r.example/a: {label: cuda12.6}}\n";
    ocv_auto(ocv_index) index = builds();
    ocv_auto(ocv_profile) profile = host();
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_config) config = new_config();
    struct ocv_rejection r;
    size_t place;
    ck_assert_int_eq(ocv_config_merge_yaml(config, "f.yaml", text, strlen(text), NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/a", &reference, NULL), OCV_OK);
    const struct ocv_config *own = ocv_config_for_reference(config, reference);
    ocv_auto(ocv_decision) by_config = decide(index, profile, own, NULL);
    ck_assert_str_eq(selected(by_config), "cuda12.6");
    ck_assert_ptr_nonnull(rejection(by_config, "null", &r, &place));
    ck_assert_int_eq(r.code, OCV_REJECT_NOT_REQUESTED);
    ck_assert_str_eq(r.origin, "f.yaml:1");
    ocv_auto(ocv_decision) by_flag = decide(index, profile, own, "cpu.v3");
    ck_assert_str_eq(selected(by_flag), "cpu.v3");
}
END_TEST

/* What is never taken; the image; what is chosen. */
static const struct {
    const char *deny, *image, *chosen;
} denials[] = {
    {"cuda12.6", "r.example/a:1", "cpu.v3"},
    {"cuda12.6, cpu.v3", "r.example/a:1", "null"},
    {"'cuda*', cpu.v3", "r.example/a:1", "null"},
    {"cuda12.6, cpu.v3, 'null'", "r.example/a:1", "(none)"},
    {"'*'", "r.example/a:1", "(none)"},
    {"cuda12", "r.example/a:1", "cuda12.6"}, /* of the whole label */
    {"'uda*'", "r.example/a:1", "cuda12.6"},
    {"CUDA12.6", "r.example/a:1", "cuda12.6"},
    {"", "r.example/a:1", "cuda12.6"},
    {"'1.*'", "r.example/a:1.2", "(none)"}, /* the tag that was asked for */
    {"'1.*'", "r.example/a:2.1", "cuda12.6"},
    {"latest", "r.example/a", "(none)"},
    {"'*'", "r.example/b:1", "cuda12.6"}, /* of another repository */
};

START_TEST(what_is_never_taken)
{
    char text[256];
    ocv_auto(ocv_index) index = builds();
    ocv_auto(ocv_profile) profile = host();
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_config) config = new_config();
    snprintf(text, sizeof(text), "repositories: {r.example/a: {deny: [%s]}}", denials[_i].deny);
    ck_assert_int_eq(ocv_config_merge_yaml(config, "f.yaml", text, strlen(text), NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse(denials[_i].image, &reference, NULL), OCV_OK);
    struct ocv_resolve_options options = {.preferences =
                                              ocv_config_preferences_for(config, reference)};
    ocv_auto(ocv_decision) d = resolve(index, profile, &options);
    ck_assert_msg(!strcmp(selected(d), denials[_i].chosen), "%s: %s", denials[_i].deny,
                  selected(d));
    /* nor by force */
    options.label = "cuda12.6";
    options.unchecked = true;
    ocv_auto(ocv_decision) forced = resolve(index, profile, &options);
    bool taken = ocv_decision_selected(forced) != NULL;
    ck_assert_int_eq(taken, !strcmp(denials[_i].chosen, "cuda12.6"));
}
END_TEST

/* One variant without its index is judged by the same lines. */
START_TEST(what_is_never_taken_alone)
{
    static const char text[] =
        "repositories:\n  r.example/a:\n    deny: [cuda12.6, cuda12.10, \"bad*\"]\n";
    ocv_auto(ocv_index) index = builds();
    ocv_auto(ocv_profile) profile = host();
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_config) config = new_config();
    ocv_auto_buffer reason, line;
    struct ocv_rejection r;
    size_t place;
    bool fits;
    ocv_buffer_init(&reason, 4096);
    ocv_buffer_init(&line, 4096);
    ck_assert_int_eq(ocv_config_merge_yaml(config, "f.yaml", text, strlen(text), NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/a:1", &reference, NULL), OCV_OK);
    struct ocv_resolve_options options = {.preferences =
                                              ocv_config_preferences_for(config, reference)};
    ocv_auto(ocv_decision) d = resolve(index, profile, &options);
    ck_assert_ptr_nonnull(rejection(d, "cuda12.6", &r, &place));
    ck_assert_int_eq(r.code, OCV_REJECT_DENIED);
    ck_assert_str_eq(ocv_reject_name(r.code), "denied");
    ck_assert_int_eq(ocv_decision_reason(d, place, &line, NULL), OCV_OK);
    /* what keeps an entry away anyway is its reason */
    ck_assert_ptr_nonnull(rejection(d, "cuda12.10", &r, &place));
    ck_assert_int_eq(r.code, OCV_REJECT_VALUE_UNSUPPORTED);
    ck_assert_str_eq(line.data, "never taken here: deny has 'cuda12.6' (f.yaml:3)");
    ck_assert_int_eq(ocv_fit_check("cuda12.6", "nvidia :: cuda_version_lower_bound :: 12.6", NULL,
                                   profile, &options, &fits, &reason, NULL),
                     OCV_OK);
    ck_assert(!fits);
    ck_assert_str_eq(reason.data, line.data);
    ck_assert_int_eq(ocv_fit_check("cuda12.5", "nvidia :: cuda_version_lower_bound :: 12.5", NULL,
                                   profile, &options, &fits, &reason, NULL),
                     OCV_OK);
    ck_assert(fits);
    options.preferences.tag = "bad-1";
    ck_assert_int_eq(ocv_fit_check("null", "", NULL, profile, &options, &fits, &reason, NULL),
                     OCV_OK);
    ck_assert(!fits);
}
END_TEST

/* What is never taken; what is known of a build: label, tag of which a rule made it. */
static const struct {
    const char *deny, *label, *made_of;
    bool fits;
} made[] = {
    {"'*-cu130'", "v0.14.1_cu130", NULL, false}, /* the label that such a tag has */
    {"'*-cu130'", "null", "v0.14.1-cu130", false},
    {"'*-cu130'", "v0.14.1_cu130_base", "v0.14.1-cu130", false},
    {"'*_cu130'", "v0.14.1_cu130", "v0.14.1-cu130", false},
    {"'*_cu130'", "null", "v0.14.1-cu130", true}, /* a tag is read as it is */
    {"'*-cu130'", "v0.14.1", "v0.14.1", true},
    {"'null'", NULL, NULL, false}, /* the default has no label, or this one */
    {"'null'", "", NULL, false},
    {"'*'", "null", NULL, false},
    {"'v1'", NULL, "v1", false},
    {"'v1'", NULL, NULL, true},
};

START_TEST(a_build_has_one_name_for_all)
{
    char text[256];
    ocv_auto(ocv_profile) profile = host();
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_config) config = new_config();
    ocv_auto_buffer reason;
    bool fits;
    ocv_buffer_init(&reason, 4096);
    snprintf(text, sizeof(text), "repositories: {r.example/a: {deny: [%s]}}", made[_i].deny);
    ck_assert_int_eq(ocv_config_merge_yaml(config, "f.yaml", text, strlen(text), NULL), OCV_OK);
    ck_assert_int_eq(ocv_reference_parse("r.example/a:1", &reference, NULL), OCV_OK);
    const struct ocv_resolve_options options = {
        .preferences = ocv_config_preferences_for(config, reference), .made_of = made[_i].made_of};
    ck_assert_int_eq(
        ocv_fit_check(made[_i].label, "", NULL, profile, &options, &fits, &reason, NULL), OCV_OK);
    ck_assert_msg(fits == made[_i].fits, "%s: %s", made[_i].deny, reason.data);
    /* of properties alone nothing is known */
    struct ocv_resolve_options alone = {.preferences = options.preferences};
    alone.preferences.tag = NULL;
    ck_assert_int_eq(ocv_fit_check(NULL, "nvidia :: cuda_version_lower_bound :: 12.6", NULL,
                                   profile, &alone, &fits, &reason, NULL),
                     OCV_OK);
    ck_assert(fits);
}
END_TEST

/* What the host has, as an override of two features; what is chosen, what was missed. */
static const struct {
    const char *override, *disable, *chosen, *missed;
} missed[] = {
    {"nvidia::cuda_version_lower_bound=11.8", NULL, "cpu.v3", "cuda12.10"},
    {"nvidia::cuda_version_lower_bound=11.8", "x86_64", "null", "cuda12.10"},
    {"nvidia::cuda_version_lower_bound=12.6", NULL, "cuda12.6", "cuda12.10"},
    {"nvidia::cuda_version_lower_bound=12.8,12.6", NULL, "cuda12.8", "cuda12.10"},
    {"nvidia::cuda_version_lower_bound=12.10,12.8,12.6", NULL, "cuda12.10", NULL},
    {"x86_64::level=v2;nvidia::cuda_version_lower_bound=12.10", NULL, "cuda12.10", NULL},
    {"nvidia::sm_arch=90_real", "nvidia", "cpu.v3", NULL}, /* switched off */
};

START_TEST(what_was_missed)
{
    ocv_auto(ocv_index) index = builds();
    ocv_auto(ocv_profile) plain = host();
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_config) config = new_config();
    set_config(config, "override", missed[_i].override);
    if (missed[_i].disable)
        set_config(config, "disable", missed[_i].disable);
    ck_assert_int_eq(ocv_config_override_profile(config, plain, &profile, NULL), OCV_OK);
    ocv_auto(ocv_decision) d = decide(index, profile, config, NULL);
    ck_assert_str_eq(selected(d), missed[_i].chosen);
    size_t i = ocv_decision_missed(d), n = ocv_decision_rejected_count(d);
    const char *label = i < n ? ocv_decision_rejected(d, i).entry->label : NULL;
    ck_assert_msg(missed[_i].missed ? label && !strcmp(label, missed[_i].missed) : !label, "%s: %s",
                  missed[_i].override, label ? label : "(none)");
}
END_TEST

/* A host without such a device has missed nothing, and nothing chosen is not a lesser choice. */
START_TEST(nothing_was_missed)
{
    ocv_auto(ocv_index) index = builds();
    ocv_auto(ocv_profile) profile = profile_from(
        json_pack("{s:{s:s, s:s}, s:[{s:s, s:[]}]}", "platform", "os", "linux", "architecture",
                  "amd64", "namespaces", "namespace", "nvidia", "features"));
    ocv_auto(ocv_decision) d = decide(index, profile, NULL, NULL);
    ck_assert_str_eq(selected(d), "null");
    ck_assert_uint_eq(ocv_decision_missed(d), ocv_decision_rejected_count(d));
    ocv_auto(ocv_decision) none = decide(index, profile, NULL, "cuda12.8");
    ck_assert_uint_eq(ocv_decision_missed(none), ocv_decision_rejected_count(none));
}
END_TEST

/* An image without its index is checked against the same wishes. */
START_TEST(judged_alone)
{
    static const struct {
        const char *require, *label, *properties;
        bool fits;
    } images[] = {
        {"nvidia", "null", "", false},
        {"nvidia", "", "", false},
        {"nvidia", "cuda12.6", "nvidia :: cuda_version_lower_bound :: 12.6", true},
        {"nvidia", "cpu.v3", "x86_64 :: level :: v3", false},
        {"", "null", "", true},
    };
    ocv_auto(ocv_profile) profile = host();
    for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++) {
        ocv_auto(ocv_config) config = new_config();
        ocv_auto_buffer reason;
        ocv_buffer_init(&reason, 4096);
        bool fits = false;
        set_config(config, "require", images[i].require);
        const struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config)};
        ck_assert_int_eq(ocv_fit_check(images[i].label, images[i].properties, NULL, profile,
                                       &options, &fits, &reason, NULL),
                         OCV_OK);
        ck_assert_int_eq(fits, images[i].fits);
        if (!fits)
            ck_assert_ptr_nonnull(strstr(reason.data, "does not use nvidia, which is required"));
    }
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(*list))

TEST_FILE
{
    Suite *suite = suite_create("resolve_require");
    TCase *tcase = tcase_create("resolve_require");
    tcase_add_loop_test(tcase, what_must_be_used, 0, N(cases));
    tcase_add_test(tcase, an_ordinary_image_uses_nothing);
    tcase_add_test(tcase, which_line_decided);
    tcase_add_test(tcase, a_repository_has_its_label);
    tcase_add_loop_test(tcase, what_is_never_taken, 0, (int)(sizeof(denials) / sizeof(*denials)));
    tcase_add_test(tcase, what_is_never_taken_alone);
    tcase_add_loop_test(tcase, a_build_has_one_name_for_all, 0, N(made));
    tcase_add_loop_test(tcase, what_was_missed, 0, N(missed));
    tcase_add_test(tcase, nothing_was_missed);
    tcase_add_test(tcase, judged_alone);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
