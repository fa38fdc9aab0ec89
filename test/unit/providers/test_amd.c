/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/providers/amd, gpu.c: recorded KFD topologies and trees made here. */
#include "test/unit/providers/amd_util.h"

static void check_recording(const char *name)
{
    char path[512], joined[256] = "";
    snprintf(path, sizeof(path), "%s/kfd/%s/expected.json", fixtures_dir(), name);
    json_t *expected = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(expected);
    restore("kfd", name);
    json_t *ns = amd(), *wanted = json_object_get(expected, "devices");
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(text_of(json_object_get(ns, "provider"), "source"), "kfd");
    const char *have = values_of(ns, "gfx_arch");
    json_t *gfx = json_object_get(expected, "gfx");
    for (size_t i = 0; i < json_array_size(gfx); i++)
        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s", i ? " " : "",
                 json_string_value(json_array_get(gfx, i)));
    ck_assert_msg(strncmp(have, joined, strlen(joined)) == 0, "%s: %s", name, have);
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), json_array_size(wanted));
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        json_t *want = json_array_get(wanted, i);
        json_t *device = item_named(json_object_get(ns, "devices"), "id", text_of(want, "pci"));
        ck_assert_msg(device != NULL, "%s: %s", name, text_of(want, "pci"));
        const char *values = values_of(device, "gfx_arch");
        size_t len = strlen(text_of(want, "gfx"));
        ck_assert_msg(strncmp(values, text_of(want, "gfx"), len) == 0, "%s: %s", name, values);
        size_t nodes = json_array_size(json_object_get(want, "nodes"));
        unsigned long partitions = strtoul(attribute_of(device, "partitions"), NULL, 10);
        ck_assert_uint_eq(partitions ? partitions : 1, nodes);
    }
    json_decref(ns);
    json_decref(expected);
}

START_TEST(recorded_topologies)
{
    static const char *const names[] = {"mi210-8gpu", "mi300x-cpx", "rx7900xtx-1node"};
    if (have_fixture("kfd", names[_i]))
        check_recording(names[_i]);
}
END_TEST

START_TEST(recorded_features)
{
    if (!have_fixture("kfd", "mi300x-cpx"))
        return;
    restore("kfd", "mi300x-cpx");
    write_text("sys/module/amdgpu/parameters/noretry", "-1\n");
    write_text("sys/module/amdgpu/version", "6.14.14\n");
    json_t *ns = amd();
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx942 gfx9_4_generic");
    ck_assert_str_eq(values_of(ns, "sramecc"), "on");
    ck_assert_str_eq(values_of(ns, "xnack"), "off");
    ck_assert(!flag_of(ns, "guess"));
    ck_assert_str_eq(text_of(nth_device(ns, 0), "uuid"), "GPU-e3aa140f9a5f9e31");
    json_decref(ns);
}
END_TEST

/* 1002:6758 is of 2011: ROCm never ran on it. */
START_TEST(recorded_card_before_rocm)
{
    if (!have_fixture("pci", "ghw-linux-amd64-amd-ryzen-1600"))
        return;
    restore("pci", "ghw-linux-amd64-amd-ryzen-1600");
    json_t *ns = amd();
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_ptr_nonnull(strstr(note_of(ns), "GPU 0000:0a:00.0: its PCI id 1002:6758 is too old"));
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "features")), 0);
    ck_assert_str_eq(values_of(nth_device(ns, 0), "gfx_arch"), "-");
    json_decref(ns);
}
END_TEST

START_TEST(partitions_are_one_device)
{
    add_processor();
    add_pci("0000:05:00.0", "1002:74a1", "120000", "amdgpu");
    pci_file("0000:05:00.0", "current_compute_partition", "CPX\n");
    pci_file("0000:05:00.0", "current_memory_partition", "NPS4\n");
    pci_file("0000:05:00.0", "product_name", "AMD Instinct MI300X OAM\n");
    for (unsigned i = 0; i < 8; i++) {
        add_node(i + 1, (struct node){90402, 0x74a1, 0x500 + i, 0, 0, ECC, 0xabc});
        add_bank(i + 1, 0, 1, "25753026560");
    }
    write_text("sys/module/amdgpu/version", "6.12.12\n");
    json_t *ns = amd(), *device = nth_device(ns, 0);
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(text_of(ns, "driver"), "6.12.12");
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 1);
    ck_assert_str_eq(text_of(device, "id"), "0000:05:00.0");
    ck_assert_str_eq(text_of(device, "name"), "AMD Instinct MI300X OAM");
    ck_assert_str_eq(text_of(device, "uuid"), "GPU-0000000000000abc");
    ck_assert_str_eq(attribute_of(device, "partitions"), "8");
    ck_assert_str_eq(attribute_of(device, "compute_partition"), "CPX");
    ck_assert_str_eq(attribute_of(device, "memory_partition"), "NPS4");
    ck_assert_str_eq(attribute_of(device, "memory"), "206024212480");
    json_decref(ns);
}
END_TEST

START_TEST(functions_that_are_devices)
{
    add_processor();
    add_pci("0000:03:02.1", "1002:7410", "038000", "amdgpu");
    add_pci("0000:03:02.2", "1002:7410", "038000", "amdgpu");
    make_virtual("0000:03:02.1", "0000:03:00.0");
    make_virtual("0000:03:02.2", "0000:03:00.0");
    add_node(1, (struct node){.target = 90010, .device = 0x7410, .location = 0x311});
    add_node(2, (struct node){.target = 90010, .device = 0x7410, .location = 0x312});
    json_t *ns = amd();
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 2);
    ck_assert_str_eq(text_of(nth_device(ns, 1), "id"), "0000:03:02.2");
    ck_assert_str_eq(attribute_of(nth_device(ns, 0), "partitions"), "");
    json_decref(ns);
}
END_TEST

START_TEST(integrated_beside_a_card)
{
    add_processor();
    add_pci("0000:03:00.0", "1002:744c", "030000", "amdgpu");
    add_pci("0000:03:00.1", "1002:ab30", "040300", "snd_hda_intel");
    add_pci("0000:01:00.0", "1002:164e", "030000", "amdgpu");
    pci_file("0000:03:00.0", "mem_info_vram_total", "25753026560\n");
    add_node(1, (struct node){.target = 110000, .device = 0x744c, .location = 0x300});
    add_node(2, (struct node){.target = 100306, .device = 0x164e, .location = 0x100});
    json_t *ns = amd(), *card = nth_device(ns, 0), *chip = nth_device(ns, 1);
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx1100 gfx1036 gfx11_generic gfx10_3_generic");
    ck_assert_str_eq(text_of(card, "id"), "0000:03:00.0");
    ck_assert_int_eq(json_integer_value(json_object_get(card, "index")), 1);
    ck_assert_str_eq(values_of(card, "gfx_arch"), "gfx1100 gfx11_generic");
    ck_assert_str_eq(attribute_of(card, "memory"), "25753026560");
    ck_assert(!flag_of(card, "secondary"));
    ck_assert(flag_of(chip, "secondary"));
    ck_assert_str_eq(values_of(chip, "gfx_arch"), "gfx1036 gfx10_3_generic");
    json_decref(ns);
}
END_TEST

START_TEST(integrated_alone_counts)
{
    /* an older kernel puts processor and GPU into one node */
    add_node(0, (struct node){.target = 90002, .device = 0x15dd, .location = 0x800, .cores = 8});
    json_t *ns = amd();
    ck_assert(!flag_of(nth_device(ns, 0), "secondary"));
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx902 gfx9_generic");
    json_decref(ns);
}
END_TEST

START_TEST(compute_first)
{
    add_processor();
    add_node(1, (struct node){.target = 120001, .device = 0x7550, .location = 0x100});
    add_node(2, (struct node){.target = 90010, .device = 0x740f, .location = 0x200});
    add_node(3, (struct node){.target = 90402, .device = 0x74a1, .location = 0x300});
    json_t *ns = amd();
    ck_assert_str_eq(values_of(ns, "gfx_arch"),
                     "gfx942 gfx90a gfx1201 gfx9_4_generic gfx12_generic");
    ck_assert_str_eq(text_of(nth_device(ns, 0), "id"), "0000:03:00.0");
    json_decref(ns);
}
END_TEST

START_TEST(domains)
{
    add_processor();
    add_node(1, (struct node){90402, 0x74a1, 0xffff, 0x10000, 0, 0, 0});
    json_t *ns = amd();
    ck_assert_str_eq(text_of(nth_device(ns, 0), "id"), "10000:ff:1f.0");
    json_decref(ns);
}
END_TEST

static void check_useless(const char *words)
{
    json_t *ns = amd();
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_msg(strstr(note_of(ns), words) != NULL, "%s", note_of(ns));
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "features")), 0);
    ck_assert(flag_of(nth_device(ns, 0), "secondary"));
    ck_assert_str_eq(values_of(nth_device(ns, 0), "gfx_arch"), "-");
    ck_assert_str_eq(values_of(nth_device(ns, 0), "sramecc"), "-");
    json_decref(ns);
}

START_TEST(driver_missing)
{
    add_pci("0000:05:00.0", "1002:74a1", "120000", NULL);
    add_pci("0000:06:00.0", "1002:74a1", "120000", NULL);
    write_text("opt/rocm/.info/version", "6.4.1-83\n");
    check_useless("GPU 0000:05:00.0 (and 1 more): the driver 'amdgpu' is not loaded for it");
}
END_TEST

START_TEST(given_to_a_guest)
{
    add_pci("0000:05:00.0", "1002:740f", "038000", "vfio-pci");
    check_useless("GPU 0000:05:00.0: it is given to a virtual machine");
}
END_TEST

START_TEST(another_driver)
{
    add_pci("0000:05:00.0", "1002:67b1", "030000", "radeon");
    check_useless("driver 'radeon' is bound");
}
END_TEST

START_TEST(refused_by_kfd)
{
    add_processor();
    add_pci("0000:05:00.0", "1002:67df", "030000", "amdgpu");
    check_useless("GPU 0000:05:00.0: amdgpu offers no compute on it");
}
END_TEST

START_TEST(kept_from_this_container)
{
    add_processor();
    add_pci("0000:05:00.0", "1002:74a1", "120000", "amdgpu");
    ck_assert_int_eq(mkdir(place(NODES "/1/properties"), 0700), 0); /* read: an error */
    check_useless("GPU 0000:05:00.0: it is not given to this container or user");
}
END_TEST

/* A daemon in a container of its own, as Kubernetes runs it, has none of the node's device files.
 */
START_TEST(kept_from_the_daemon_alone)
{
    const struct ocv_probe_options options = {
        .sysroot = root, .datadir = root, .providers = root, .whole_node = true};
    add_processor();
    add_pci("0000:05:00.0", "1002:74a1", "120000", "amdgpu");
    add_pci("0000:06:00.0", "1002:74a1", "120000", "vfio-pci");
    ck_assert_int_eq(mkdir(place(NODES "/1/properties"), 0700), 0);
    json_t *ns = namespace_by(&options, "amd");
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx942 gfx9_4_generic");
    ck_assert_str_eq(values_of(nth_device(ns, 0), "gfx_arch"), "gfx942 gfx9_4_generic");
    ck_assert_str_eq(values_of(nth_device(ns, 1), "gfx_arch"), "-");
    json_decref(ns);
}
END_TEST

/* A device that KFD shows but the container lacks is no more usable for the node than for the
 * container. */
START_TEST(refused_by_kfd_on_the_node)
{
    const struct ocv_probe_options options = {
        .sysroot = root, .datadir = root, .providers = root, .whole_node = true};
    add_processor();
    add_pci("0000:05:00.0", "1002:67df", "030000", "amdgpu");
    json_t *ns = namespace_by(&options, "amd");
    ck_assert_ptr_nonnull(strstr(note_of(ns), "amdgpu offers no compute on it"));
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "features")), 0);
    json_decref(ns);
}
END_TEST

START_TEST(one_of_two_serves)
{
    add_processor();
    add_pci("0000:05:00.0", "1002:744c", "030000", "vfio-pci");
    add_pci("0000:06:00.0", "1002:744c", "030000", "amdgpu");
    add_node(1, (struct node){.target = 110000, .device = 0x744c, .location = 0x600});
    json_t *ns = amd();
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_ptr_nonnull(strstr(note_of(ns), "0000:05:00.0"));
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx1100 gfx11_generic");
    ck_assert_str_eq(text_of(nth_device(ns, 0), "id"), "0000:06:00.0");
    ck_assert(!flag_of(nth_device(ns, 0), "secondary"));
    ck_assert(flag_of(nth_device(ns, 1), "secondary"));
    json_decref(ns);
}
END_TEST

START_TEST(nothing_there)
{
    ck_assert_ptr_null(amd());
    add_processor(); /* KFD on a machine with a processor only */
    write_text("sys/module/amdgpu/version", "6.12.12\n");
    write_text("opt/rocm/.info/version", "6.4.1\n");
    add_pci("0000:05:00.1", "1002:ab30", "040300", "snd_hda_intel");
    add_pci("0000:06:00.0", "1022:17f0", "118000", "amdxdna");
    ck_assert_ptr_null(amd());
}
END_TEST

START_TEST(virtual_functions_of_the_host)
{
    add_processor();
    add_pci("0000:05:00.0", "1002:740f", "038000", "amdgpu");
    add_pci("0000:05:02.0", "1002:7410", "038000", "vfio-pci");
    add_pci("0000:05:02.1", "1002:7410", "038000", NULL);
    make_virtual("0000:05:02.0", "0000:05:00.0");
    make_virtual("0000:05:02.1", "0000:05:00.0");
    add_node(1, (struct node){.target = 90010, .device = 0x740f, .location = 0x500});
    json_t *ns = amd();
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 1);
    json_decref(ns);
}
END_TEST

START_TEST(virtual_function_in_a_guest)
{
    add_processor();
    add_pci("0000:00:05.0", "1002:74b5", "120000", "amdgpu");
    add_node(1, (struct node){90402, 0x74b5, 0x28, 0, 0, ECC, 7});
    json_t *ns = amd();
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(text_of(nth_device(ns, 0), "id"), "0000:00:05.0");
    ck_assert_str_eq(values_of(ns, "gfx_arch"), "gfx942 gfx9_4_generic");
    json_decref(ns);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("amd");
    TCase *tcase = tcase_create("amd");
    tcase_add_checked_fixture(tcase, make_root, remove_root);
    tcase_set_timeout(tcase, 60);
    unsetenv("ROCM_PATH");
    tcase_add_loop_test(tcase, recorded_topologies, 0, 3);
    tcase_add_test(tcase, recorded_features);
    tcase_add_test(tcase, recorded_card_before_rocm);
    tcase_add_test(tcase, partitions_are_one_device);
    tcase_add_test(tcase, functions_that_are_devices);
    tcase_add_test(tcase, integrated_beside_a_card);
    tcase_add_test(tcase, integrated_alone_counts);
    tcase_add_test(tcase, compute_first);
    tcase_add_test(tcase, domains);
    tcase_add_test(tcase, driver_missing);
    tcase_add_test(tcase, given_to_a_guest);
    tcase_add_test(tcase, another_driver);
    tcase_add_test(tcase, refused_by_kfd);
    tcase_add_test(tcase, kept_from_this_container);
    tcase_add_test(tcase, kept_from_the_daemon_alone);
    tcase_add_test(tcase, refused_by_kfd_on_the_node);
    tcase_add_test(tcase, one_of_two_serves);
    tcase_add_test(tcase, nothing_there);
    tcase_add_test(tcase, virtual_functions_of_the_host);
    tcase_add_test(tcase, virtual_function_in_a_guest);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
