/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/providers/amd: the targets of GPUs, XNACK and SRAM ECC, broken topologies. */
#include "test/unit/providers/amd_util.h"

static void write_discovery(const char *major, const char *minor, const char *revision)
{
    pci_file("0000:05:00.0", "ip_discovery/die/0/GC/0/major", major);
    pci_file("0000:05:00.0", "ip_discovery/die/0/GC/0/minor", minor);
    pci_file("0000:05:00.0", "ip_discovery/die/0/GC/0/revision", revision);
}

START_TEST(discovery_without_kfd)
{
    add_pci("0000:05:00.0", "1002:7482", "030000", "amdgpu"); /* its id is only a guess */
    write_discovery("11\n", "0\n", "2\n");
    json_t *ns = amd();
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_ptr_nonnull(strstr(note_of(ns), "no KFD"));
    ck_assert_str_eq(text_of(json_object_get(ns, "provider"), "source"), "sysfs");
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx1102 gfx11_generic");
    ck_assert_str_eq(values_of(ns, "sramecc"), "");
    ck_assert(!flag_of(nth_device(ns, 0), "guess"));
    json_decref(ns);
}
END_TEST

START_TEST(ids_without_discovery)
{
    add_pci("0000:05:00.0", "1002:7482", "030000", "amdgpu");
    write_discovery("11\n", "77\n", "2\n"); /* newer than the table */
    json_t *ns = amd();
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx1102 gfx11_generic");
    ck_assert(flag_of(ns, "guess"));
    ck_assert(flag_of(nth_device(ns, 0), "guess"));
    json_decref(ns);
}
END_TEST

START_TEST(kernel_without_target_version)
{
    add_processor();
    write_text(NODES "/1/properties", "simd_count 256\nvendor_id 4098\ndevice_id 26720\n"
                                      "location_id 768\n");
    json_t *ns = amd(); /* 6860 */
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx900 gfx9_generic");
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    json_decref(ns);
}
END_TEST

START_TEST(other_makers_topology)
{
    write_text(NODES "/1/properties", "simd_count 256\nvendor_id 7572\ndevice_id 25105\n"
                                      "gfx_target_version 90006\nlocation_id 768\n");
    ck_assert_ptr_null(amd());
}
END_TEST

START_TEST(targets_of_tables)
{
    static const struct {
        unsigned ip[3], target;
    } cores[] = {{{9, 4, 3}, 90402},   {{9, 3, 0}, 90012},   {{11, 0, 3}, 110001},
                 {{11, 0, 2}, 110002}, {{12, 1, 0}, 120500}, {{10, 1, 10}, 100100},
                 {{11, 5, 4}, 110504}, {{11, 5, 6}, 110504}, {{11, 7, 0}, 110700},
                 {{11, 7, 1}, 110701}, {{11, 5, 5}, 0},      {{9, 9, 9}, 0},
                 {{11, 0, 300}, 0}};
    static const struct {
        uint16_t device;
        unsigned target;
        bool guess;
    } ids[] = {{0x67df, 80003, false},  {0x73bf, 100300, false}, {0x73f0, 110002, true},
               {0x73ff, 100302, false}, {0x744c, 110000, false}, {0x745e, 110000, false},
               {0x740f, 90010, false},  {0x74a1, 90402, false},  {0x75a3, 90500, false},
               {0x164e, 100306, false}, {0x9874, 80001, false},  {0x6758, 0, false},
               {0x1304, 70000, false},  {0x1308, 0, false},      {0x1313, 70000, false},
               {0x1314, 0, false},      {0x131d, 70000, false},  {0x693b, 80002, false},
               {0x13db, 100103, false}, {0x13f3, 100103, false}, {0x1435, 100303, false},
               {0x74b6, 90402, false},  {0x7461, 110001, false}, {0x1902, 110503, false},
               {0x74a8, 90402, false},  {0x74bc, 90402, false},  {0x75a1, 90500, false},
               {0x75a8, 90500, false},  {0x75b0, 90500, false},  {0x75b3, 90500, false},
               {0x75b8, 90500, false},  {0x75c1, 120500, false}, {0x73a8, 110000, false},
               {0x73c4, 110001, false}, {0x73c5, 110001, false}, {0x73c8, 110001, false},
               {0x73c6, 100301, false}, {0x15d9, 90002, false},  {0x0000, 0, false},
               {0xffff, 0, false}};
    bool guess;
    for (size_t i = 0; i < sizeof(cores) / sizeof(*cores); i++)
        ck_assert_uint_eq(ocv_amd_of_ip(cores[i].ip[0], cores[i].ip[1], cores[i].ip[2]),
                          cores[i].target);
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        ck_assert_uint_eq(ocv_amd_of_device(ids[i].device, &guess), ids[i].target);
        ck_assert_msg(guess == ids[i].guess, "%04x", ids[i].device);
    }
}
END_TEST

START_TEST(names_of_targets)
{
    static const struct {
        unsigned target;
        const char *name, *generic;
    } all[] = {{90402, "gfx942", "gfx9_4_generic"},
               {90010, "gfx90a", NULL},
               {90012, "gfx90c", "gfx9_generic"},
               {90008, "gfx908", NULL},
               {100103, "gfx1013", "gfx10_1_generic"},
               {100306, "gfx1036", "gfx10_3_generic"},
               {110003, "gfx1103", "gfx11_generic"},
               {110503, "gfx1153", "gfx11_generic"},
               {110504, "gfx1154", "gfx11_generic"},
               {110700, "gfx1170", "gfx11_7_generic"},
               {120001, "gfx1201", "gfx12_generic"},
               {120500, "gfx1250", "gfx12_5_generic"},
               {130000, "gfx1300", NULL},
               {80003, "gfx803", NULL}};
    static const unsigned bad[] = {0,       5,         59999, 91600, 90016, 99 * 10000 + 1600,
                                   1000000, UINT32_MAX};
    char name[16];
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        ck_assert(ocv_amd_name(all[i].target, name, sizeof(name)));
        ck_assert_str_eq(name, all[i].name);
        const char *generic = ocv_amd_generic(all[i].target);
        ck_assert_str_eq(generic ? generic : "", all[i].generic ? all[i].generic : "");
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(!ocv_amd_name(bad[i], name, sizeof(name)), "%u", bad[i]);
}
END_TEST

START_TEST(xnack)
{
    /* amdgpu's noretry: -1, 0, 1 */
    static const struct {
        unsigned target;
        const char *xnack[3];
    } all[] = {{90402, {"off", "on", "off"}},   {90010, {"off", "on", "off"}},
               {90002, {"on", "on", "off"}},    {90012, {"", "on", "off"}},
               {100100, {"off", "off", "off"}}, {100300, {"", "", ""}},
               {110000, {"", "", ""}},          {80001, {"on", "on", "on"}},
               {120500, {"", "on", "off"}}};
    static const char *const noretry[] = {"-1\n", "0\n", "1\n"};
    write_text("sys/module/amdgpu/version", "6.14.14\n");
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        for (size_t k = 0; k < 3; k++) {
            add_node(1, (struct node){.target = all[i].target, .device = 1, .location = 0x300});
            write_text("sys/module/amdgpu/parameters/noretry", noretry[k]);
            json_t *ns = amd();
            const char *have = values_of(ns, "xnack");
            ck_assert_msg(strcmp(have, all[i].xnack[k]) == 0, "%u noretry=%s: '%s'", all[i].target,
                          noretry[k], have);
            ck_assert(!flag_of(ns, "guess"));
            json_decref(ns);
        }
}
END_TEST

/* A program has one mode for all its GPUs, and those of RDNA never retry. */
START_TEST(xnack_of_a_mixed_machine)
{
    static const struct {
        unsigned beside;
        const char *xnack;
    } all[] = {{90010, "on"}, {80003, "on"}, {110000, "off"}, {130000, "off"}};
    write_text("sys/module/amdgpu/parameters/noretry", "0\n");
    add_node(1, (struct node){.target = 90402, .device = 0x74a1, .location = 0x300});
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        add_node(2, (struct node){.target = all[i].beside, .device = 1, .location = 0x400});
        json_t *ns = amd();
        ck_assert_msg(strcmp(values_of(ns, "xnack"), all[i].xnack) == 0, "%u: %s", all[i].beside,
                      values_of(ns, "xnack"));
        ck_assert_str_eq(values_of(nth_device(ns, 0), "xnack"), all[i].xnack);
        json_decref(ns);
    }
}
END_TEST

START_TEST(xnack_without_the_parameter_is_a_guess)
{
    write_text("sys/module/amdgpu/version", "6.14.14\n");
    add_node(1, (struct node){.target = 90402, .device = 0x74a1, .location = 0x300});
    json_t *ns = amd();
    ck_assert_str_eq(values_of(ns, "xnack"), "off");
    ck_assert(flag_of(ns, "guess"));
    json_decref(ns);
}
END_TEST

START_TEST(sramecc)
{
    static const struct {
        unsigned target, capability;
        const char *sramecc;
    } all[] = {{90010, ECC, "on"},
               {90010, ~ECC, "off"},
               {90006, 0, "off"},
               {90000, ECC, ""},
               {110000, ECC, ""}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        add_node(1, (struct node){all[i].target, 1, 0x300, 0, 0, all[i].capability, 0});
        json_t *ns = amd();
        ck_assert_str_eq(values_of(ns, "sramecc"), all[i].sramecc);
        json_decref(ns);
    }
}
END_TEST

START_TEST(broken_nodes_cost_themselves)
{
    static char large[1024 * 1024];
    memset(large, 'a', sizeof(large));
    add_processor();
    add_node(1, (struct node){.target = 90402, .device = 0x74a1, .location = 0x500});
    write_bytes(NODES "/2/properties", large, sizeof(large));
    write_text(NODES "/3/properties", "");
    write_text(NODES "/4/properties", "simd_count 99999999999999999999999999\n");
    write_text(NODES "/5/properties", "simd_count 4\ngfx_target_version 4294967295\n");
    write_text(NODES "/6/properties", "simd_count 4\nvendor_id 4098\nlocation_id 65536\n"
                                      "device_id 29857\n");
    write_text(NODES "/7/properties", "simd_count -4\n");
    write_text(NODES "/8/name", "no properties\n");
    write_text(NODES "/99999999/properties", "simd_count 4\n"); /* no node's name */
    write_text(NODES "/x/properties", "simd_count 4\n");
    write_bytes(NODES "/9/properties", "simd_count 4\0gfx_target_version 90402\n", 39);
    json_t *ns = amd();
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_str_eq(note_of(ns), "8 KFD nodes are malformed and left out");
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 1);
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx942 gfx9_4_generic");
    json_decref(ns);
}
END_TEST

START_TEST(files_that_are_none)
{
    add_processor();
    add_node(1, (struct node){.target = 90402, .device = 0x74a1, .location = 0x500});
    ck_assert_int_eq(mkfifo(place(NODES "/2/properties"), 0600), 0);
    write_link(NODES "/3/properties", "/dev/zero");
    write_link(NODES "/4/properties", "../../../../../../../../../../../../etc/passwd");
    add_bank(1, 0, 1, "18446744073709551615");
    add_bank(1, 1, 2, "1");
    add_bank(1, 2, 0, "12");
    json_t *ns = amd();
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 1);
    ck_assert_ptr_nonnull(strstr(note_of(ns), "1 KFD nodes may not be read"));
    ck_assert_str_eq(attribute_of(nth_device(ns, 0), "memory"), "18446744073709551615");
    json_decref(ns);
}
END_TEST

START_TEST(limits)
{
    struct ocv_kfd_node node;
    static char text[OCV_KFD_PROPERTIES_MAX + 1];
    static const char good[] = "simd_count 4\nvendor_id 4098\ndevice_id 29857\n";
    memset(text, '\n', sizeof(text));
    memcpy(text, good, sizeof(good) - 1);
    ck_assert_int_eq(ocv_kfd_parse(text, OCV_KFD_PROPERTIES_MAX, &node), 1);
    ck_assert_uint_eq(node.device, 0x74a1);
    ck_assert_int_eq(ocv_kfd_parse(text, OCV_KFD_PROPERTIES_MAX + 1, &node), -1);
    ck_assert_int_eq(
        ocv_kfd_parse("unique_id 18446744073709551615\nsimd_count 1\ndevice_id 1", 55, &node), 1);
    ck_assert_uint_eq(node.unique_id, UINT64_MAX);
    ck_assert_int_eq(ocv_kfd_parse("unique_id 18446744073709551616\n", 31, &node), -1);
    ck_assert_int_eq(ocv_kfd_parse("simd_count\nsimd_count 0\n", 24, &node), 0);
    for (unsigned i = 0; i < OCV_KFD_NODES_MAX + 8; i++)
        add_node(i, (struct node){.target = 90402, .device = 0x74a1, .location = (i & 0xff) << 8});
    json_t *ns = amd();
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), OCV_AMD_GPUS_MAX);
    json_decref(ns);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("amd targets");
    TCase *tcase = tcase_create("amd targets");
    tcase_add_checked_fixture(tcase, make_root, remove_root);
    tcase_set_timeout(tcase, 60);
    unsetenv("ROCM_PATH");
    tcase_add_test(tcase, discovery_without_kfd);
    tcase_add_test(tcase, ids_without_discovery);
    tcase_add_test(tcase, kernel_without_target_version);
    tcase_add_test(tcase, other_makers_topology);
    tcase_add_test(tcase, targets_of_tables);
    tcase_add_test(tcase, names_of_targets);
    tcase_add_test(tcase, xnack);
    tcase_add_test(tcase, xnack_of_a_mixed_machine);
    tcase_add_test(tcase, xnack_without_the_parameter_is_a_guess);
    tcase_add_test(tcase, sramecc);
    tcase_add_test(tcase, broken_nodes_cost_themselves);
    tcase_add_test(tcase, files_that_are_none);
    tcase_add_test(tcase, limits);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
