/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/providers/intel: a recorded machine and trees made here. */
#include "lib/probe/providers/intel/intel.h"
#include "test/unit/probe/sysroot_util.h"

#define GPU "030000"
#define DISPLAY "038000"
#define NPU "120000"

static json_t *intel(void)
{
    return namespace_of(root, "intel");
}

static void check_useless(json_t *ns, const char *feature, const char *words)
{
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_msg(strstr(text_of(ns, "error"), words) != NULL, "%s", text_of(ns, "error"));
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "features")), 0);
    ck_assert(flag_of(nth_device(ns, 0), "secondary"));
    ck_assert_str_eq(values_of(nth_device(ns, 0), feature), "-");
    json_decref(ns);
}

START_TEST(recorded_laptop)
{
    if (!have_fixture("pci", "ghw-linux-amd64-intel-i7-1270P"))
        return;
    restore("pci", "ghw-linux-amd64-intel-i7-1270P");
    json_t *ns = intel();
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(values_of(ns, "device_ip"), "12.3.0");
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 1);
    ck_assert_str_eq(text_of(nth_device(ns, 0), "id"), "0000:00:02.0");
    ck_assert_str_eq(attribute_of(nth_device(ns, 0), "driver"), "i915");
    ck_assert(!flag_of(nth_device(ns, 0), "secondary"));
    json_decref(ns);
}
END_TEST

/* A Xeon Phi is of the same vendor, and no GPU; a server's display chip is of another. */
START_TEST(recorded_server_without_gpu)
{
    if (!have_fixture("pci", "hwloc-xeonphi-mic"))
        return;
    restore("pci", "hwloc-xeonphi-mic");
    ck_assert_ptr_null(intel());
}
END_TEST

START_TEST(integrated_beside_a_card)
{
    add_pci("0000:00:02.0", "8086:a780", GPU, "i915");
    add_pci("0000:03:00.0", "8086:56a5", GPU, "i915");
    add_pci("0000:04:00.0", "8086:56a0", GPU, "xe");
    pci_file("0000:03:00.0", "drm/card1/lmem_total_bytes", "6442450944\n");
    pci_file("0000:03:00.0", "drm/renderD129/dev", "226:129\n");
    pci_file("0000:04:00.0", "tile0/physical_vram_size_bytes", "17179869184\n");
    json_t *ns = intel(), *first = nth_device(ns, 0), *last = nth_device(ns, 2);
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(values_of(ns, "device_ip"), "12.56.5 12.55.8 12.2.0");
    ck_assert_str_eq(text_of(first, "id"), "0000:03:00.0");
    ck_assert_str_eq(attribute_of(first, "family"), "DG2-G11");
    ck_assert_str_eq(values_of(first, "device_ip"), "12.56.5 12.55.8");
    ck_assert_str_eq(attribute_of(first, "memory"), "6442450944");
    ck_assert_int_eq(json_integer_value(json_object_get(first, "index")), 1);
    ck_assert_str_eq(values_of(nth_device(ns, 1), "device_ip"), "12.55.8");
    ck_assert_str_eq(attribute_of(nth_device(ns, 1), "memory"), "17179869184");
    ck_assert(!flag_of(nth_device(ns, 1), "secondary"));
    ck_assert_str_eq(text_of(last, "id"), "0000:00:02.0");
    ck_assert(flag_of(last, "secondary"));
    ck_assert_str_eq(values_of(last, "device_ip"), "12.2.0");
    json_decref(ns);
}
END_TEST

START_TEST(data_center_gpu)
{
    add_pci("0000:29:00.0", "8086:0bda", DISPLAY, "xe");
    pci_file("0000:29:00.0", "tile0/physical_vram_size_bytes", "68719476736\n");
    pci_file("0000:29:00.0", "tile1/physical_vram_size_bytes", "68719476736\n");
    write_text("sys/module/xe/version", "1.2.3\n");
    json_t *ns = intel();
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(text_of(ns, "driver"), "1.2.3");
    ck_assert_str_eq(values_of(ns, "device_ip"), "12.60.7");
    ck_assert_str_eq(attribute_of(nth_device(ns, 0), "family"), "PVC-XT");
    ck_assert_str_eq(attribute_of(nth_device(ns, 0), "memory"), "137438953472");
    json_decref(ns);
}
END_TEST

START_TEST(npu_only)
{
    add_pci("0000:00:0b.0", "8086:7d1d", NPU, "intel_vpu");
    json_t *ns = intel();
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(values_of(ns, "npu_arch"), "37xx");
    ck_assert_str_eq(values_of(ns, "device_ip"), "");
    json_decref(ns);
}
END_TEST

/* Each has its own feature and takes nothing from the other. */
START_TEST(gpu_and_npu)
{
    add_pci("0000:00:02.0", "8086:64a0", GPU, "xe");
    add_pci("0000:00:0b.0", "8086:643e", NPU, "intel_vpu");
    json_t *ns = intel();
    ck_assert_str_eq(values_of(ns, "device_ip"), "20.4.4 20.1.0");
    ck_assert_str_eq(values_of(ns, "npu_arch"), "40xx");
    ck_assert_str_eq(values_of(nth_device(ns, 0), "npu_arch"), "");
    ck_assert_str_eq(values_of(nth_device(ns, 1), "device_ip"), "");
    ck_assert(!flag_of(nth_device(ns, 0), "secondary"));
    ck_assert(!flag_of(nth_device(ns, 1), "secondary"));
    json_decref(ns);
}
END_TEST

/* The class is shared by vendors; the device's own directory says that this entry is its. */
START_TEST(class_accel_is_shared)
{
    add_pci("0000:00:0b.0", "8086:b03e", NPU, NULL);
    add_pci("0000:19:00.0", "1da3:1020", NPU, "habanalabs");
    pci_file("0000:19:00.0", "accel/accel0/dev", "261:0\n");
    write_link("sys/class/accel/accel0", "../../bus/pci/devices/0000:19:00.0/accel/accel0");
    check_useless(intel(), "npu_arch", "NPU 0000:00:0b.0: the driver 'intel_vpu' is not loaded");
    pci_file("0000:00:0b.0", "accel/accel1/dev", "261:1\n");
    json_t *ns = intel();
    ck_assert_str_eq(values_of(ns, "npu_arch"), "50xx");
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 1);
    json_decref(ns);
}
END_TEST

START_TEST(unknown_gpu)
{
    add_pci("0000:00:02.0", "8086:5916", GPU, "i915");
    check_useless(intel(), "device_ip", "GPU 0000:00:02.0: its PCI id 8086:5916 is older than");
}
END_TEST

START_TEST(unknown_npu)
{
    add_pci("0000:00:0b.0", "8086:7fff", NPU, "intel_vpu");
    check_useless(intel(), "npu_arch", "NPU 0000:00:0b.0: its PCI id 8086:7fff is newer than");
}
END_TEST

START_TEST(unknown_beside_known)
{
    add_pci("0000:00:02.0", "8086:5916", GPU, "i915");
    add_pci("0000:03:00.0", "8086:e20b", GPU, "xe");
    json_t *ns = intel();
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_str_eq(values_of(ns, "device_ip"), "20.1.0");
    ck_assert_str_eq(text_of(nth_device(ns, 0), "id"), "0000:03:00.0");
    ck_assert(flag_of(nth_device(ns, 1), "secondary"));
    ck_assert_str_eq(values_of(nth_device(ns, 1), "device_ip"), "-");
    json_decref(ns);
}
END_TEST

START_TEST(driver_missing)
{
    add_pci("0000:03:00.0", "8086:e20b", GPU, NULL);
    check_useless(intel(), "device_ip",
                  "GPU 0000:03:00.0: neither 'xe' nor 'i915' is loaded for it");
}
END_TEST

START_TEST(given_to_a_guest)
{
    add_pci("0000:03:00.0", "8086:56c0", DISPLAY, "vfio-pci");
    add_pci("0000:04:00.0", "8086:56c0", DISPLAY, "vfio-pci");
    check_useless(intel(), "device_ip", "GPU 0000:03:00.0 (and 1 more): it is given to a virtual");
}
END_TEST

START_TEST(another_driver)
{
    add_pci("0000:03:00.0", "8086:56c0", DISPLAY, "uio_pci");
    check_useless(intel(), "device_ip", "driver 'uio_pci' is bound");
}
END_TEST

START_TEST(nothing_there)
{
    ck_assert_ptr_null(intel());
    add_pci("0000:00:1f.0", "8086:7a84", "060100", NULL);
    add_pci("0000:6b:00.0", "8086:4940", "0b4000", "4xxx"); /* QuickAssist */
    add_pci("0000:6c:00.0", "8086:1234", NPU, "other");     /* an accelerator of another kind */
    add_pci("0000:08:00.0", "1a03:2000", GPU, "ast");
    ck_assert_ptr_null(intel());
}
END_TEST

START_TEST(virtual_functions)
{
    add_pci("0000:4d:00.0", "8086:56c0", DISPLAY, "i915");
    add_pci("0000:4d:00.1", "8086:56c0", DISPLAY, "i915"); /* used by this host */
    add_pci("0000:4d:00.2", "8086:56c0", DISPLAY, "vfio-pci");
    add_pci("0000:4d:00.3", "8086:56c0", DISPLAY, NULL);
    make_virtual("0000:4d:00.1", "0000:4d:00.0");
    make_virtual("0000:4d:00.2", "0000:4d:00.0");
    make_virtual("0000:4d:00.3", "0000:4d:00.0");
    json_t *ns = intel();
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 2);
    ck_assert_str_eq(text_of(nth_device(ns, 1), "id"), "0000:4d:00.1");
    json_decref(ns);
}
END_TEST

START_TEST(ids)
{
    static const struct {
        uint16_t device;
        const char *ip, *base;
        bool integrated;
    } all[] = {{0x9a40, "12.0.0", "", true},          {0xa7ad, "12.3.0", "", true},
               {0x4905, "12.10.0", "", false},        {0x56c0, "12.55.8", "", false},
               {0x56c1, "12.56.5", "12.55.8", false}, {0x56b3, "12.57.0", "12.55.8", false},
               {0x0bd0, "12.60.1", "", false},        {0x0bd4, "12.61.7", "", false},
               {0x0bdb, "12.60.7", "", false},        {0x7d55, "12.71.4", "12.70.4", true},
               {0x7d51, "12.74.4", "", true},         {0xe221, "20.2.0", "20.1.0", false},
               {0xb0b0, "30.0.4", "", true},          {0xfd81, "30.3.1", "30.0.4", true},
               {0xd745, "30.5.4", "30.0.4", true},    {0xd75f, "35.10.4", "", true},
               {0x6750, "35.11.0", "", false},        {0x46a2, "12.3.0", "", true},
               {0x9ac9, "12.0.0", "", true}};
    static const uint16_t none[] = {0, 0x5916, 0x225c, 0x46a4, 0x674b, 0x6751, 0xd74a, 0xffff};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct ocv_intel_gpu *gpu = ocv_intel_gpu_find(all[i].device);
        ck_assert_msg(gpu != NULL, "%04x", all[i].device);
        ck_assert_str_eq(gpu->ip, all[i].ip);
        ck_assert_str_eq(gpu->base ? gpu->base : "", all[i].base);
        ck_assert(gpu->integrated == all[i].integrated);
    }
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        ck_assert_msg(ocv_intel_gpu_find(none[i]) == NULL, "%04x", none[i]);
    ck_assert_str_eq(ocv_intel_npu_find(0xfd3e), "50xx");
    ck_assert_str_eq(ocv_intel_npu_find(0xd71d), "60xx");
    ck_assert_ptr_null(ocv_intel_npu_find(0x7d1c));
}
END_TEST

START_TEST(published_variable)
{
    static const char *const bad[] = {"12.60", "12.60.7.1", "12..7", "12.60.7a", ".12.60", "x"};
    struct ocv_error err = {0};
    struct ocv_result result;
    add_pci("0000:03:00.0", "8086:e220", GPU, "xe");
    setenv("INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP", "30.1.0", 1);
    ck_assert_int_eq(ask_live(&ocv_provider_intel, &result, &err), OCV_OK);
    ck_assert_str_eq(result.source, "environment");
    json_t *lists = features_of(&result);
    ck_assert_str_eq(values_of(lists, "device_ip"), "30.1.0"); /* without a base, as published */
    json_decref(lists);
    json_t *ns = intel(); /* another machine's tree: not meant */
    ck_assert_str_eq(values_of(ns, "device_ip"), "20.2.0 20.1.0");
    json_decref(ns);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        setenv("INTEL_VARIANT_PROVIDER_FORCE_DEVICE_IP", bad[i], 1);
        ck_assert_msg(ask_live(&ocv_provider_intel, &result, &err) == OCV_ERR_CONFIG, "%s", bad[i]);
        json_decref(features_of(&result));
    }
}
END_TEST

START_TEST(device_nodes)
{
    struct ocv_error err = {0};
    struct ocv_result result;
    add_pci("0000:03:00.0", "8086:e20b", GPU, "xe");
    pci_file("0000:03:00.0", "drm/renderD128/dev", "226:128\n");
    add_pci("0000:00:0b.0", "8086:643e", NPU, "intel_vpu");
    pci_file("0000:00:0b.0", "accel/accel0/dev", "261:0\n");
    ck_assert_int_eq(ask_live(&ocv_provider_intel, &result, &err), OCV_OK);
    ck_assert_ptr_nonnull(strstr(result.note, "/dev/dri/renderD128 is missing here"));
    json_decref(features_of(&result));
    write_text("dev/dri/renderD128", "");
    ck_assert_int_eq(ask_live(&ocv_provider_intel, &result, &err), OCV_OK);
    ck_assert_ptr_nonnull(strstr(result.note, "/dev/accel/accel0 is missing here"));
    json_decref(features_of(&result));
    write_text("dev/accel/accel0", "");
    ck_assert_int_eq(ask_live(&ocv_provider_intel, &result, &err), OCV_OK);
    ck_assert_int_eq(result.status, OCV_RESULT_OK);
    json_decref(features_of(&result));
}
END_TEST

RUN_TESTS_IN("intel", make_root, remove_root, recorded_laptop, recorded_server_without_gpu,
             integrated_beside_a_card, data_center_gpu, npu_only, gpu_and_npu,
             class_accel_is_shared, unknown_gpu, unknown_npu, unknown_beside_known, driver_missing,
             given_to_a_guest, another_driver, nothing_there, virtual_functions, ids,
             published_variable, device_nodes)
