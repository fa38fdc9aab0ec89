/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/providers/amd: ROCm, the user spaces that a driver serves, device nodes. */
#include "test/unit/providers/amd_util.h"

static void add_card(void)
{
    add_node(1, (struct node){.target = 110000, .device = 0x744c, .location = 0x300});
}

START_TEST(rocm_tree)
{
    add_card();
    write_text("opt/rocm/.info/version", "6.2.4-120\n");
    write_text("opt/rocm-7.1.0/.info/version", "7.1.0\n"); /* not the one in use */
    json_t *ns = amd();
    ck_assert_str_eq(values_of(ns, "rocm_version"), "6.2");
    ck_assert_str_eq(values_of(ns, "rocm_version_lower_bound"),
                     "6.2 6.1 6.0 6 5.7 5.6 5.5 5.4 5.3 5.2 5.1 5.0 5 4.5 4.4 4.3 4.2 4.1 4.0 4");
    json_decref(ns);
}
END_TEST

START_TEST(rocm_newest_tree)
{
    add_card();
    write_text("opt/rocm-6.4.1/.info/version", "6.4.1-83");
    write_text("opt/rocm-7.10.0/.info/version", "7.10.0\n");
    write_text("opt/rocm-7.9.0/.info/version", "7.9.0\n");
    write_text("opt/rocm-9/.info/version", "newest\n");
    json_t *ns = amd();
    ck_assert_str_eq(values_of(ns, "rocm_version"), "7.10");
    ck_assert_int_eq(strncmp(values_of(ns, "rocm_version_lower_bound"), "7.10 7.9 7.8", 12), 0);
    ck_assert_ptr_nonnull(strstr(values_of(ns, "rocm_version_lower_bound"), " 7.0 7 6.4 6.3 "));
    json_decref(ns);
}
END_TEST

START_TEST(rocm_links_stay_inside)
{
    add_card();
    write_link("opt/rocm", "/etc/alternatives/rocm");
    write_link("etc/alternatives/rocm", "../../../../../../opt/rocm-6.3.0");
    write_text("opt/rocm-6.3.0/.info/version", "6.3.0-39\n");
    json_t *ns = amd();
    ck_assert_str_eq(values_of(ns, "rocm_version"), "6.3");
    json_decref(ns);
}
END_TEST

START_TEST(rocm_versions)
{
    static const char *const bad[] = {"", "6", "6.", ".4", "x", "0.1", "100.0", "6.100", "-6.4"};
    struct ocv_rocm_version version;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!ocv_rocm_parse(bad[i], &version), "%s", bad[i]);
    ck_assert(ocv_rocm_parse("99.99rc", &version) && version.major == 99 && version.minor == 99);
    ck_assert(ocv_rocm_parse("3.10", &version));
    struct ocv_result result = {.features = json_array(), .devices = json_array()};
    ck_assert_int_eq(ocv_rocm_add(&result, version, NULL), OCV_OK);
    json_t *lists = features_of(&result);
    ck_assert_str_eq(values_of(lists, "rocm_version_lower_bound"),
                     "3.10 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 3");
    json_decref(lists);
}
END_TEST

START_TEST(published_variables)
{
    struct ocv_error err = {0};
    struct ocv_result result;
    add_card();
    write_text("dev/kfd", "");
    setenv("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", "gfx90a, gfx942;gfx90a", 1);
    setenv("AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION", "7.1.1", 1);
    ck_assert_int_eq(ask_live(&ocv_provider_amd, &result, &err), OCV_OK);
    ck_assert_str_eq(result.source, "environment");
    ck_assert_str_eq(values_of(json_array_get(result.devices, 0), "gfx_arch"), "");
    json_t *lists = features_of(&result);
    ck_assert_str_eq(values_of(lists, "gfx_arch"), "gfx90a gfx942");
    ck_assert_str_eq(values_of(lists, "rocm_version"), "7.1");
    json_decref(lists);
    json_t *ns = amd(); /* another machine's tree: not meant */
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx1100 gfx11_generic");
    json_decref(ns);
}
END_TEST

START_TEST(published_variable_without_driver)
{
    struct ocv_error err = {0};
    struct ocv_result result;
    add_pci("0000:03:00.0", "1002:744c", "030000", NULL);
    setenv("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", "gfx942", 1);
    ck_assert_int_eq(ask_live(&ocv_provider_amd, &result, &err), OCV_OK);
    ck_assert_uint_eq(json_array_size(result.devices), 0);
    json_t *lists = features_of(&result);
    ck_assert_str_eq(values_of(lists, "gfx_arch"), "gfx942");
    json_decref(lists);
}
END_TEST

START_TEST(wrong_variables)
{
    static const char *const bad[] = {"gfx90A", "sm_90", "gfx942:xnack-", "gfx9-4-generic"};
    struct ocv_error err = {0};
    struct ocv_result result;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        setenv("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", bad[i], 1);
        ck_assert_int_eq(ask_live(&ocv_provider_amd, &result, &err), OCV_ERR_CONFIG);
        ck_assert_ptr_nonnull(strstr(err.message, bad[i]));
        json_decref(features_of(&result));
    }
    setenv("AMD_VARIANT_PROVIDER_FORCE_GFX_ARCH", "gfx942", 1);
    setenv("AMD_VARIANT_PROVIDER_FORCE_ROCM_VERSION", "latest", 1);
    ck_assert_int_eq(ask_live(&ocv_provider_amd, &result, &err), OCV_ERR_CONFIG);
    json_decref(features_of(&result));
}
END_TEST

START_TEST(rocm_path)
{
    struct ocv_error err = {0};
    struct ocv_result result;
    add_card();
    write_text("srv/rocm/.info/version", "6.1.0\n");
    write_text("opt/rocm/.info/version", "7.0.0\n");
    setenv("ROCM_PATH", "/srv/rocm", 1);
    ck_assert_int_eq(ask_live(&ocv_provider_amd, &result, &err), OCV_OK);
    json_t *lists = features_of(&result);
    ck_assert_str_eq(values_of(lists, "rocm_version"), "6.1");
    json_decref(lists);
}
END_TEST

static const char *user_spaces(const char *version, unsigned target)
{
    static char text[2048];
    struct ocv_rocm_version all[OCV_AMD_USER_SPACES_MAX];
    const struct ocv_amd_driver driver = ocv_amd_driver_of(version);
    size_t n = ocv_amd_user_spaces(&driver, target, all);
    ck_assert_uint_lt(n, OCV_AMD_USER_SPACES_MAX);
    text[0] = ' ';
    text[1] = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u.%u ", all[i].major,
                 all[i].minor);
    return text;
}

START_TEST(user_spaces_of_drivers)
{
    /* what it begins with: tested, newest first, down to the firm end, and the nearest newer one */
    static const struct {
        const char *version, *release, *list;
        bool guess;
    } all[] = {
        {"6.3.6", "ROCm 6.0", " 6.2 6.1 6.0 5.7 5.6 6.3 6.4 7.0 ", false},
        {"6.7.0", "ROCm 6.1", " 6.4 6.3 6.2 6.1 6.0 5.7 7.0 7.1 ", false},
        {"6.8.5", "ROCm 6.2", " 7.0 6.4 6.3 6.2 6.1 6.0 7.1 7.2 ", false},
        {"6.10.5", "ROCm 6.3", " 7.0 6.4 6.3 6.2 6.1 7.1 ", false},
        {"6.10.6", "ROCm 6.3", " 7.0 6.4 6.3 6.2 6.1 7.1 ", true},
        {"6.12.12", "ROCm 6.4", " 7.0 6.4 6.3 6.2 6.1 7.1 ", false},
        {"6.14.14", "30.10",
         " 7.14 7.13 7.12 7.11 7.10 7.9 7.8 7.7 7.6 7.5 7.4 7.3 7.2 7.1 7.0 6.4 "
         "6.3 6.2 7.15 7.16 7.17 7.18 7.19 7.20 10.0 10.1 ",
         false},
        {"6.16.6", "30.20", " 7.14 ", false},
        {"6.16.13", "30.30", " 7.14 ", false},
        {"6.18.4", "31.10", " 7.14 ", false},
        {"6.20.1", "31.10", " 10.0 7.20 ", true}, /* newer than the table */
        {"5.18.13", NULL, " 6.2 6.1 6.0 5.7 5.6 5.5 5.4 5.3 5.2 5.1 5.0 4.5 ", true},
        {NULL, NULL, " 10.0 7.20 ", true},
        {"6.17.0-35", NULL, " 10.0 7.20 ", true}, /* a kernel's version, no driver's */
        {"6.14", NULL, " 10.0 7.20 ", true},
        {"6.14.14.1", NULL, " 10.0 7.20 ", true},
        {"", NULL, " 10.0 7.20 ", true},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct ocv_amd_driver driver = ocv_amd_driver_of(all[i].version);
        const char *list = user_spaces(all[i].version, 0);
        ck_assert_msg(strncmp(list, all[i].list, strlen(all[i].list)) == 0, "%s:%s",
                      all[i].version ? all[i].version : "(none)", list);
        ck_assert_pstr_eq(driver.release, all[i].release);
        ck_assert(driver.guess == all[i].guess);
        ck_assert_msg(strstr(list, " 12.20 "), "%s", list); /* newer is never refused */
    }
    ck_assert_ptr_null(strstr(user_spaces("6.16.13", 0), " 6.2 "));
    ck_assert_ptr_nonnull(strstr(user_spaces("6.16.13", 0), " 6.3 "));
    ck_assert_ptr_null(strstr(user_spaces("6.14.14", 0), " 6.1 "));
}
END_TEST

START_TEST(user_spaces_that_fail)
{
    const char *list = user_spaces(NULL, 110501);
    ck_assert_ptr_null(strstr(list, " 7.1 "));
    ck_assert_ptr_null(strstr(list, " 6.4 "));
    ck_assert_ptr_null(strstr(list, " 7.9 "));
    ck_assert_ptr_null(strstr(list, " 7.10 "));
    ck_assert_ptr_nonnull(strstr(list, " 7.2 "));
    ck_assert_ptr_nonnull(strstr(list, " 7.11 "));
    ck_assert_ptr_nonnull(strstr(list, " 10.0 "));
    ck_assert_ptr_nonnull(strstr(user_spaces(NULL, 110500), " 7.1 "));
    ck_assert_ptr_nonnull(strstr(user_spaces("6.14.14", 110501), " 7.1 "));
}
END_TEST

START_TEST(device_nodes)
{
    struct ocv_error err = {0};
    struct ocv_result result;
    add_card();
    add_pci("0000:03:00.0", "1002:744c", "030000", "amdgpu");
    pci_file("0000:03:00.0", "drm/renderD128/dev", "226:128\n");
    ck_assert_int_eq(ask_live(&ocv_provider_amd, &result, &err), OCV_OK);
    ck_assert_ptr_nonnull(strstr(result.note, "/dev/kfd is missing"));
    ck_assert_int_eq(result.status, OCV_RESULT_PARTIAL);
    json_decref(features_of(&result));
    write_text("dev/kfd", "");
    ck_assert_int_eq(ask_live(&ocv_provider_amd, &result, &err), OCV_OK);
    ck_assert_ptr_nonnull(strstr(result.note, "/dev/dri/renderD128 is missing"));
    json_decref(features_of(&result));
    write_text("dev/dri/renderD128", "");
    ck_assert_int_eq(ask_live(&ocv_provider_amd, &result, &err), OCV_OK);
    ck_assert_int_eq(result.status, OCV_RESULT_OK);
    json_decref(features_of(&result));
}
END_TEST

START_TEST(no_permission)
{
    struct ocv_error err = {0};
    struct ocv_result result;
    add_card();
    write_text("dev/kfd", "");
    ck_assert_int_eq(chmod(place("dev/kfd"), 0), 0);
    if (geteuid() == 0) { /* who may everything becomes somebody else */
        char command[128];
        snprintf(command, sizeof(command), "chmod -R a+rX '%s' && chmod 0 '%s/dev/kfd'", root,
                 root);
        ck_assert_int_eq(system(command), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    int status = ask_live(&ocv_provider_amd, &result, &err);
    if (getuid() == 0)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(status, OCV_OK);
    ck_assert_ptr_nonnull(strstr(result.note, "this user may not open /dev/kfd (group render)"));
    json_t *lists = features_of(&result);
    ck_assert_str_eq(values_of(lists, "gfx_arch"), "gfx1100 gfx11_generic");
    json_decref(lists);
}
END_TEST

/* A text of another machine's PCI devices: KFD and ROCm of this one do not belong to it. */
START_TEST(text_of_another_machine)
{
    struct ocv_error err = {0};
    struct ocv_probe_host host;
    struct ocv_result result = {.features = json_array(), .devices = json_array()};
    char path[128];
    add_card();
    write_text("opt/rocm/.info/version", "7.0.0\n");
    write_text("dump", "05:00.0 1200: 1002:74a1\n\tKernel driver in use: amdgpu\n"
                       "00: 02 10 a1 74 00 00 00 00 00 00 00 12 00 00 00 00\n"
                       "10: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
                       "20: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n"
                       "30: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n");
    snprintf(path, sizeof(path), "%s", place("dump"));
    struct ocv_probe_options options = {.pci_dump = path};
    ck_assert_msg(ocv_probe_host_open(&options, &host, &err) == OCV_OK, "%s", err.message);
    ck_assert_int_eq(ocv_provider_amd.probe(&host, &result, &err), OCV_OK);
    ck_assert_int_eq(result.status, OCV_RESULT_OK);
    ck_assert_uint_eq(json_array_size(result.devices), 1);
    json_t *lists = features_of(&result);
    ck_assert_str_eq(values_of(lists, "gfx_arch"), "gfx942 gfx9_4_generic");
    ck_assert_str_eq(values_of(lists, "rocm_version"), "");
    json_decref(lists);
    ocv_probe_host_close(&host);
}
END_TEST

START_TEST(driver_of_the_kernel)
{
    add_card();
    write_text("proc/sys/kernel/osrelease", "6.8.0-49-generic\n");
    json_t *ns = amd();
    ck_assert_str_eq(text_of(ns, "driver"), "in-tree, Linux 6.8.0-49-generic");
    json_decref(ns);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("amd user space");
    TCase *tcase = tcase_create("amd user space");
    tcase_add_checked_fixture(tcase, make_root, remove_root);
    tcase_set_timeout(tcase, 60);
    unsetenv("ROCM_PATH");
    tcase_add_test(tcase, rocm_tree);
    tcase_add_test(tcase, rocm_newest_tree);
    tcase_add_test(tcase, rocm_links_stay_inside);
    tcase_add_test(tcase, rocm_versions);
    tcase_add_test(tcase, user_spaces_of_drivers);
    tcase_add_test(tcase, user_spaces_that_fail);
    tcase_add_test(tcase, published_variables);
    tcase_add_test(tcase, published_variable_without_driver);
    tcase_add_test(tcase, wrong_variables);
    tcase_add_test(tcase, rocm_path);
    tcase_add_test(tcase, device_nodes);
    tcase_add_test(tcase, no_permission);
    tcase_add_test(tcase, text_of_another_machine);
    tcase_add_test(tcase, driver_of_the_kernel);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
