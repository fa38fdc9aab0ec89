/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/providers/amd, gpu.c: recorded KFD topologies and trees made here. */
#include "lib/probe/providers/amd/amd.h"
#include "test/unit/sysroot_util.h"

#define NODES "sys/class/kfd/kfd/topology/nodes"
#define ECC 0x04000000u

/* A node's properties as the kernel writes them; 0 for what the node lacks. */
struct node {
    unsigned target, device, location, domain, cores, capability;
    unsigned long long unique_id;
};

static void add_node(unsigned number, struct node node)
{
    char path[128], text[1024];
    snprintf(path, sizeof(path), NODES "/%u/properties", number);
    snprintf(text, sizeof(text),
             "cpu_cores_count %u\nsimd_count %u\nmem_banks_count 1\ncapability %u\n"
             "gfx_target_version %u\nvendor_id %u\ndevice_id %u\nlocation_id %u\ndomain %u\n"
             "unique_id %llu\n",
             node.cores, node.device ? 64u : 0u, node.capability, node.target,
             node.device ? 4098u : 0u, node.device, node.location, node.domain, node.unique_id);
    write_text(path, text);
}

static void add_bank(unsigned number, unsigned bank, unsigned heap, const char *size)
{
    char path[128], text[128];
    snprintf(path, sizeof(path), NODES "/%u/mem_banks/%u/properties", number, bank);
    snprintf(text, sizeof(text), "heap_type %u\nsize_in_bytes %s\nflags 0\nwidth 8192\n", heap,
             size);
    write_text(path, text);
}

static void add_processor(void)
{
    add_node(0, (struct node){.cores = 32});
}

static json_t *amd(void)
{
    return namespace_of(root, "amd");
}

static const char *note_of(json_t *ns)
{
    return text_of(ns, "error");
}

/* ---- recordings ------------------------------------------------------------------------------ */

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

/* ---- machines made here ---------------------------------------------------------------------- */

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

/* ---- GPUs that serve nothing ----------------------------------------------------------------- */

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
    check_useless("GPU 0000:05:00.0: amdgpu offers no computing on it");
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

/* ---- virtual functions ----------------------------------------------------------------------- */

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

/* ---- targets --------------------------------------------------------------------------------- */

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
               {0x0000, 0, false},      {0xffff, 0, false}};
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

/* ---- XNACK, SRAM ECC --------------------------------------------------------------------------
 */

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

/* ---- broken topologies ------------------------------------------------------------------------
 */

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
    ck_assert_str_eq(note_of(ns), "8 KFD nodes make no sense and are left out");
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

/* ---- ROCm --------------------------------------------------------------------------------------
 */

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

/* ---- the machine that this runs on --------------------------------------------------------------
 */

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

/* ---- user spaces of containers ----------------------------------------------------------------
 */

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

static TCase *new_case(Suite *suite, const char *name)
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, make_root, remove_root);
    tcase_set_timeout(c, 60);
    suite_add_tcase(suite, c);
    return c;
}

static void add_machines(TCase *c)
{
    tcase_add_loop_test(c, recorded_topologies, 0, 3);
    tcase_add_test(c, recorded_features);
    tcase_add_test(c, recorded_card_before_rocm);
    tcase_add_test(c, partitions_are_one_device);
    tcase_add_test(c, functions_that_are_devices);
    tcase_add_test(c, integrated_beside_a_card);
    tcase_add_test(c, integrated_alone_counts);
    tcase_add_test(c, compute_first);
    tcase_add_test(c, domains);
    tcase_add_test(c, driver_missing);
    tcase_add_test(c, given_to_a_guest);
    tcase_add_test(c, another_driver);
    tcase_add_test(c, refused_by_kfd);
    tcase_add_test(c, kept_from_this_container);
    tcase_add_test(c, one_of_two_serves);
    tcase_add_test(c, nothing_there);
    tcase_add_test(c, virtual_functions_of_the_host);
    tcase_add_test(c, virtual_function_in_a_guest);
}

static void add_details(TCase *c)
{
    tcase_add_test(c, discovery_without_kfd);
    tcase_add_test(c, ids_without_discovery);
    tcase_add_test(c, kernel_without_target_version);
    tcase_add_test(c, other_makers_topology);
    tcase_add_test(c, targets_of_tables);
    tcase_add_test(c, names_of_targets);
    tcase_add_test(c, xnack);
    tcase_add_test(c, xnack_of_a_mixed_machine);
    tcase_add_test(c, xnack_without_the_parameter_is_a_guess);
    tcase_add_test(c, sramecc);
    tcase_add_test(c, broken_nodes_cost_themselves);
    tcase_add_test(c, files_that_are_none);
    tcase_add_test(c, limits);
    tcase_add_test(c, rocm_tree);
    tcase_add_test(c, rocm_newest_tree);
    tcase_add_test(c, rocm_links_stay_inside);
    tcase_add_test(c, rocm_versions);
    tcase_add_test(c, user_spaces_of_drivers);
    tcase_add_test(c, user_spaces_that_fail);
    tcase_add_test(c, published_variables);
    tcase_add_test(c, published_variable_without_driver);
    tcase_add_test(c, wrong_variables);
    tcase_add_test(c, rocm_path);
    tcase_add_test(c, device_nodes);
    tcase_add_test(c, no_permission);
    tcase_add_test(c, text_of_another_machine);
    tcase_add_test(c, driver_of_the_kernel);
}

int main(void)
{
    Suite *suite = suite_create("amd");
    unsetenv("ROCM_PATH");
    add_machines(new_case(suite, "machines"));
    add_details(new_case(suite, "details"));
    return run_suite(suite);
}
