/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/pci and lib/probe/providers/nvidia: recorded PCI trees, the published provider's lists,
 * and trees made here. */
#include "lib/probe/providers/nvidia/nvidia.h"
#include "test/unit/core_util.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/ocv-nvidia.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

static void write_text(const char *path, const char *content)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    fclose(file);
}

static void write_device(const char *address, const char *vendor, const char *device,
                         const char *class_code)
{
    const char *const files[][2] = {{"vendor", vendor}, {"device", device}, {"class", class_code}};
    for (size_t i = 0; i < 3; i++) {
        char path[256];
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", address, files[i][0]);
        write_text(path, files[i][1]);
    }
}

/* The nvidia namespace of a tree; NULL if absent. */
static json_t *nvidia_of(const char *tree)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    struct ocv_probe_options options = {.sysroot = tree};
    ck_assert_msg(ocv_probe(&options, &text, &err) == OCV_OK, "%s", err.message);
    json_t *profile = json_loads(text.data, 0, NULL), *ns, *found = NULL;
    size_t i;
    ck_assert_ptr_nonnull(profile);
    json_array_foreach(json_object_get(profile, "namespaces"), i,
                       ns) if (strcmp(json_string_value(json_object_get(ns, "namespace")),
                                      "nvidia") == 0) found = json_incref(ns);
    json_decref(profile);
    return found;
}

static json_t *values(json_t *holder, const char *feature)
{
    json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(holder, "features"), i,
                       entry) if (strcmp(json_string_value(json_object_get(entry, "name")),
                                         feature) == 0) return json_object_get(entry, "values");
    return NULL;
}

static const char *nth(json_t *list, size_t i)
{
    const char *value = json_string_value(json_array_get(list, i));
    return value ? value : "";
}

static const char *text_of(json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

START_TEST(server_with_two_kinds)
{
    write_device("0000:81:00.0", "0x10de\n", "0x2330\n", "0x030200\n");
    write_device("0000:01:00.0", "0x10de\n", "0x1eb8\n", "0x030200\n");
    write_device("0000:02:00.0", "0x10de\n", "0x0fc6\n", "0x030000\n"); /* Kepler display card */
    write_device("0000:81:00.1", "0x10de\n", "0x22a3\n", "0x068000\n"); /* NVSwitch */
    write_device("0000:02:00.1", "0x10de\n", "0x22e8\n", "0x040300\n"); /* audio */
    write_device("junk", "0x10de\n", "0x2330\n", "0x030200\n");         /* no address */
    write_text("sys/bus/pci/devices/0000:90:00.0/class", "0x030200\n"); /* no vendor */
    write_text("sys/module/nvidia/version", "570.124.06\n");
    write_text("proc/driver/nvidia/gpus/0000:81:00.0/information",
               "Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-1\n");
    json_t *ns = nvidia_of(root), *devices = json_object_get(ns, "devices");
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(text_of(ns, "driver"), "570.124.06");
    ck_assert_str_eq(nth(values(ns, "cuda_version_lower_bound"), 0), "12.8");
    ck_assert_str_eq(nth(values(ns, "sm_arch"), 0), "90a_real");
    /* branches whose user spaces run: the driver's, older ones, and on data-centre GPUs newer ones
     */
    ck_assert_str_eq(nth(values(ns, "forward_compatibility"), 0), "570");
    ck_assert_str_eq(nth(values(ns, "forward_compatibility"), 1), "565");
    size_t branches = json_array_size(values(ns, "forward_compatibility"));
    ck_assert_str_eq(nth(values(ns, "forward_compatibility"), branches - 1), "595");
    ck_assert_uint_eq(json_array_size(devices), 3);
    json_t *first = json_array_get(devices, 0), *last = json_array_get(devices, 2);
    ck_assert_str_eq(text_of(first, "id"), "0000:81:00.0");
    ck_assert_str_eq(text_of(first, "name"), "NVIDIA H100 80GB HBM3");
    ck_assert_str_eq(text_of(first, "uuid"), "GPU-1");
    ck_assert_int_eq(json_integer_value(json_object_get(first, "index")), 2);
    ck_assert_str_eq(nth(values(json_array_get(devices, 1), "sm_arch"), 0), "75_real");
    ck_assert(json_is_true(json_object_get(last, "secondary")));
    json_decref(ns);
}
END_TEST

#define ONES "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
/* Its driver is still bound, and every read of its configuration gives ones. */
START_TEST(lost_gpu_does_not_count)
{
    write_device("0000:3b:00.0", "0x10de\n", "0x2330\n", "0x030200\n");
    write_device("0000:5e:00.0", "0x10de\n", "0x20b5\n", "0x030200\n");
    write_device("0000:86:00.0", "0x10de\n", "0x20b5\n", "0x030200\n");
    write_text("sys/bus/pci/devices/0000:3b:00.0/config", "\xde\x10\x30\x23\7\4\x10 \xa1 \2\3    ");
    write_text("sys/bus/pci/devices/0000:5e:00.0/config", ONES);
    write_text("sys/bus/pci/devices/0000:86:00.0/config", ONES);
    write_text("sys/bus/pci/devices/0000:86:00.0/power/runtime_status", "suspended\n"); /* sleeps */
    write_text("sys/module/nvidia/version", "570.124.06\n");
    json_t *ns = nvidia_of(root), *devices = json_object_get(ns, "devices");
    json_t *last = json_array_get(devices, 2);
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_str_eq(text_of(ns, "error"), "GPU 0000:5e:00.0: it does not answer on the bus");
    ck_assert_str_eq(nth(values(ns, "sm_arch"), 0), "90a_real");
    ck_assert_str_eq(text_of(json_array_get(devices, 1), "id"), "0000:86:00.0");
    ck_assert_str_eq(text_of(last, "id"), "0000:5e:00.0");
    ck_assert(json_is_true(json_object_get(last, "secondary")));
    ck_assert_uint_eq(json_array_size(values(last, "sm_arch")), 0);
    ck_assert_str_eq(text_of(json_object_get(last, "attributes"), "reason"),
                     "it does not answer on the bus");
    json_decref(ns);
}
END_TEST

/* No device has a link to its driver, and the driver lists none. */
START_TEST(loaded_driver_that_bound_nothing)
{
    write_device("0000:01:00.0", "0x10de\n", "0x2330\n", "0x030200\n");
    write_text("sys/module/nvidia/version", "570.124.06\n");
    write_text("proc/driver/nvidia/gpus/.empty", "");
    json_t *ns = nvidia_of(root);
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_ptr_nonnull(strstr(text_of(ns, "error"), "no driver is bound to it"));
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "features")), 0);
    json_decref(ns);
}
END_TEST

START_TEST(driver_missing)
{
    write_device("0000:01:00.0", "0x10de\n", "0x2901\n", "0x030200\n");
    json_t *ns = nvidia_of(root);
    ck_assert_str_eq(text_of(ns, "status"), "partial");
    ck_assert_ptr_nonnull(strstr(text_of(ns, "error"), "not loaded"));
    /* what no driver runs must not be chosen */
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "features")), 0);
    json_t *device = json_array_get(json_object_get(ns, "devices"), 0);
    ck_assert(json_is_true(json_object_get(device, "secondary")));
    ck_assert_uint_eq(json_array_size(json_object_get(device, "features")), 4);
    ck_assert_uint_eq(json_array_size(values(device, "forward_compatibility")), 0);
    ck_assert_uint_eq(json_array_size(values(device, "cuda_version_lower_bound")), 0);
    ck_assert_uint_eq(json_array_size(values(device, "sm_arch")), 0);
    ck_assert_str_eq(text_of(json_object_get(device, "attributes"), "compute_capability"), "10.0");
    json_decref(ns);
}
END_TEST

START_TEST(banner_of_the_open_module)
{
    write_device("0000:01:00.0", "0x10de\n", "0x2e12\n", "0x030200\n");
    write_text("proc/driver/nvidia/version",
               "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.126.09  Release\n"
               "GCC version:  gcc version 13.3.0\n");
    json_t *ns = nvidia_of(root);
    ck_assert_str_eq(text_of(ns, "driver"), "580.126.09");
    ck_assert_str_eq(nth(values(ns, "cuda_version_lower_bound"), 0), "13.0");
    ck_assert_str_eq(nth(values(ns, "sm_arch"), 0), "121a_real");
    json_decref(ns);
}
END_TEST

START_TEST(tegra_goes_by_its_release)
{
    write_text("proc/device-tree/compatible", "nvidia,tegra234");
    write_text("etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 1\n");
    write_text("sys/module/nvidia/version", "540.4.0\n");
    json_t *ns = nvidia_of(root);
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(nth(values(ns, "cuda_version_lower_bound"), 0), "12.6");
    ck_assert_str_eq(nth(values(ns, "sm_arch"), 0), "87_real");
    json_decref(ns);
    write_text("etc/nv_tegra_release",
               "# R39 (release), REVISION: 2.0, GCID: 1\n"); /* JetPack 7.2 */
    ns = nvidia_of(root);
    ck_assert_str_eq(text_of(ns, "status"), "ok");
    ck_assert_str_eq(nth(values(ns, "cuda_version_lower_bound"), 0), "13.2");
    json_decref(ns);
}
END_TEST

START_TEST(nothing_there)
{
    ck_assert_ptr_null(nvidia_of(root));
    write_device("0000:01:00.0", "0x10de\n", "0x22a3\n", "0x068000\n");
    ck_assert_ptr_null(nvidia_of(root));
}
END_TEST

/* Every value of `want` stands in `have`, in the same order. */
static bool ordered_subsequence(json_t *want, json_t *have)
{
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(have) && at < json_array_size(want); i++)
        at += json_equal(json_array_get(have, i), json_array_get(want, at)) ? 1 : 0;
    return at == json_array_size(want);
}

/* The published provider lists a Tegra's older machine code too, which does not run there. */
static bool runs(unsigned sm, const char *value)
{
    char own[16];
    snprintf(own, sizeof(own), "%u_real", sm);
    bool tegra = sm == 53 || sm == 62 || sm == 72 || sm == 87;
    return !tegra || !strstr(value, "_real") || strcmp(value, own) == 0;
}

static json_t *that_run(unsigned sm, json_t *list)
{
    size_t i;
    json_t *value, *out = json_array();
    json_array_foreach(list, i, value)
    {
        if (runs(sm, json_string_value(value)))
            json_array_append(out, value);
    }
    return out;
}

static void check_case(json_t *c)
{
    const char *id = text_of(c, "id");
    json_t *expected = json_object_get(c, "expected"), *feature;
    json_t *capability = json_object_get(expected, "compute_capability");
    struct ocv_result result = {.features = json_array(), .devices = json_array()};
    struct ocv_cuda_version cuda;
    size_t i;
    ck_assert_msg(ocv_nvidia_force_cuda(text_of(expected, "cuda_version"), &cuda), "%s", id);
    unsigned sm = (unsigned)(json_integer_value(json_array_get(capability, 0)) * 10 +
                             json_integer_value(json_array_get(capability, 1)));
    ck_assert_int_eq(ocv_nvidia_add_cuda(&result, cuda, NULL), OCV_OK);
    ck_assert_int_eq(ocv_nvidia_add_sm(&result, NULL, sm, false, NULL), OCV_OK);
    json_t *mine = json_pack("{s:o}", "features", result.features);
    json_t *features = json_object_get(expected, "features");
    ck_assert_msg(json_array_size(features) == json_array_size(result.features), "%s", id);
    json_array_foreach(features, i, feature)
    {
        const char *name = text_of(feature, "name");
        json_t *want = json_object_get(feature, "values"), *have = values(mine, name);
        ck_assert_msg(strcmp(text_of(json_array_get(result.features, i), "name"), name) == 0,
                      "%s: %s", id, name);
        /* machine code for one chip or family and older PTX are ours: schema/vocabulary.yaml */
        json_t *running = that_run(sm, want);
        ck_assert_msg(strcmp(name, "sm_arch") == 0 ? ordered_subsequence(running, have)
                                                   : json_equal(want, have),
                      "%s: %s", id, name);
        json_decref(running);
    }
    json_decref(mine);
    json_decref(result.devices);
}

START_TEST(published_lists)
{
    char path[512], *line = NULL;
    size_t size = 0, n = 0;
    snprintf(path, sizeof(path), "%s/nvml/cases.jsonl", fixtures_dir());
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("skipped: no %s\n", path);
        return;
    }
    while (getline(&line, &size, file) > 0) {
        json_t *c = json_loads(line, 0, NULL);
        json_t *features = json_object_get(json_object_get(c, "expected"), "features");
        if (json_is_array(features) && json_array_size(features)) {
            check_case(c);
            n++;
        }
        json_decref(c);
    }
    free(line);
    fclose(file);
    ck_assert_uint_ge(n, 20);
}
END_TEST

/* Source: schema/vocabulary.yaml, forward_compatibility; a 0 ends the newer ones. */
static const struct {
    uint16_t device;
    unsigned sm, branch;
    uint16_t newer[8];
} user_spaces[] = {
    {0x2330, 90, 580, {590, 595, 610, 615, 620}}, /* H100 */
    {0x2330, 90, 535, {545, 550, 555, 560, 570, 575, 580, 590}},
    {0x2236, 86, 535, {545, 550, 555, 560, 570, 575, 580, 590}}, /* A10 */
    {0x2bb5, 120, 580, {590, 595, 610, 615, 620}},               /* RTX PRO 6000 Server Edition */
    {0x2b85, 120, 580, {0}},                                     /* RTX 5090 */
    {0x2204, 86, 535, {0}},                                      /* RTX 3090 */
    {0x1d81, 70, 535, {0}},                                      /* TITAN V, the chip of a V100 */
    {0x2330, 90, 545, {0}}, /* a branch that nothing newer is made for */
};

START_TEST(user_spaces_of_newer_drivers)
{
    for (size_t i = 0; i < sizeof(user_spaces) / sizeof(*user_spaces); i++) {
        bool centre = ocv_nvidia_data_centre(user_spaces[i].device, user_spaces[i].sm);
        unsigned branch = user_spaces[i].branch, found;
        size_t n = 0, k = 0;
        ck_assert_uint_eq(ocv_nvidia_user_space(branch, centre, 0), branch);
        for (; (found = ocv_nvidia_user_space(branch, centre, n)) != 0; n++)
            if (found > branch && k < 8)
                ck_assert_msg(found == user_spaces[i].newer[k++], "row %zu: %u", i, found);
        ck_assert_msg(k == 8 || user_spaces[i].newer[k] == 0, "row %zu: %zu", i, k);
    }
    /* by its version, by what it supports, and one that is newer than the table */
    const struct ocv_cuda_version cuda = {12, 9}, none = {0, 0};
    ck_assert_uint_eq(ocv_nvidia_branch(581, cuda), 580);
    ck_assert_uint_eq(ocv_nvidia_branch(0, cuda), 575);
    ck_assert_uint_eq(ocv_nvidia_branch(0, none), 0);
    ck_assert_uint_eq(ocv_nvidia_branch(701, cuda), 701);
    ck_assert_uint_eq(ocv_nvidia_user_space(701, true, 1), 620);
}
END_TEST

START_TEST(overrides)
{
    static const char *const bad_sm[] = {"8", "8.9.1", "8.bad", "8.-1", "-1.2", "", "8.10"};
    struct ocv_cuda_version cuda;
    unsigned sm;
    for (size_t i = 0; i < sizeof(bad_sm) / sizeof(*bad_sm); i++)
        ck_assert_msg(!ocv_nvidia_force_sm(bad_sm[i], &sm), "%s", bad_sm[i]);
    ck_assert(ocv_nvidia_force_sm("12.1", &sm) && sm == 121);
    ck_assert(!ocv_nvidia_force_cuda("invalid", &cuda));
    ck_assert(!ocv_nvidia_force_cuda("100.0", &cuda));
    ck_assert(ocv_nvidia_force_cuda("12.7rc1", &cuda) && cuda.major == 12 && cuda.minor == 7);
    /* as PEP 440 has it: a "v", zeroes; an epoch counts otherwise */
    ck_assert(ocv_nvidia_force_cuda("v12.07", &cuda) && cuda.major == 12 && cuda.minor == 7);
    ck_assert(ocv_nvidia_force_cuda("012.007", &cuda) && cuda.major == 12 && cuda.minor == 7);
    ck_assert(!ocv_nvidia_force_cuda("1!12.7", &cuda));
    ck_assert(!ocv_nvidia_force_cuda("v", &cuda));
    ck_assert(!ocv_nvidia_force_cuda("vv12.7", &cuda));
}
END_TEST

START_TEST(environment_speaks_of_this_machine_only)
{
    struct ocv_probe_host host = {.live = true};
    ck_assert_int_eq(setenv("NV_VARIANT_PROVIDER_FORCE_SM_ARCH", "9.0", 1), 0);
    ck_assert_str_eq(ocv_probe_host_variable(&host, "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"), "9.0");
    host.no_environment = true;
    ck_assert_ptr_null(ocv_probe_host_variable(&host, "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"));
    host = (struct ocv_probe_host){.live = false};
    ck_assert_ptr_null(ocv_probe_host_variable(&host, "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"));
    ck_assert_int_eq(setenv("NV_VARIANT_PROVIDER_FORCE_SM_ARCH", "", 1), 0);
    host.live = true;
    ck_assert_ptr_null(ocv_probe_host_variable(&host, "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"));
}
END_TEST

/* Copy a recording to `root`/NAME. Its links may have become files that hold their target. */
static void restore(const char *name)
{
    char command[2048];
    snprintf(command, sizeof(command),
             "cp -r '%s/pci/%s' '%s/%s' && cd '%s/%s' && chmod -R u+w . && "
             "grep -rlE '^[.][.]/' --include=driver --include='*:*' sys 2>/dev/null |"
             "while IFS= read -r f; do t=$(cat \"$f\"); rm \"$f\"; ln -s \"$t\" \"$f\"; done; :",
             fixtures_dir(), name, root, name, root, name);
    ck_assert_int_eq(system(command), 0);
}

static void check_recording(const char *name)
{
    char path[512];
    struct ocv_error err = {0};
    struct ocv_probe_host host;
    snprintf(path, sizeof(path), "%s/pci/%s/expected.json", fixtures_dir(), name);
    json_t *expected = json_load_file(path, 0, NULL), *want;
    ck_assert_ptr_nonnull(expected);
    restore(name);
    snprintf(path, sizeof(path), "%s/%s", root, name);
    struct ocv_probe_options options = {.sysroot = path};
    ck_assert_msg(ocv_probe_host_open(&options, &host, &err) == OCV_OK, "%s", err.message);
    ck_assert_int_eq(host.pci_error.status, OCV_OK);
    json_int_t count = json_integer_value(json_object_get(expected, "device_count"));
    ck_assert_msg((json_int_t)(host.pci.n + host.pci.broken) == count, "%s", name);
    ck_assert_uint_eq(host.pci.broken, json_array_size(json_object_get(expected, "broken")));
    size_t i, k;
    json_array_foreach(json_object_get(expected, "accelerators"), i, want)
    {
        char id[32];
        if (json_is_null(json_object_get(want, "vendor")))
            continue;
        for (k = 0; k < host.pci.n; k++)
            if (strcmp(host.pci.devices[k].address, text_of(want, "address")) == 0)
                break;
        ck_assert_msg(k < host.pci.n, "%s: %s", name, text_of(want, "address"));
        const struct ocv_pci_device *have = &host.pci.devices[k];
        snprintf(id, sizeof(id), "%04x %04x %06x", have->vendor, have->device, have->class_code);
        char other[32];
        snprintf(other, sizeof(other), "%s %s %s", text_of(want, "vendor"), text_of(want, "device"),
                 text_of(want, "class"));
        ck_assert_str_eq(id, other);
        ck_assert_str_eq(have->driver, text_of(want, "driver"));
        if (*text_of(want, "revision"))
            ck_assert_uint_eq(have->revision, strtoul(text_of(want, "revision"), NULL, 16));
        if (*text_of(want, "subsystem")) {
            snprintf(id, sizeof(id), "%04x:%04x", have->subsystem_vendor, have->subsystem_device);
            ck_assert_str_eq(id, text_of(want, "subsystem"));
        }
    }
    ocv_probe_host_close(&host);
    json_decref(expected);
}

START_TEST(recorded_pci)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/pci", fixtures_dir());
    DIR *dir = opendir(path);
    if (!dir) {
        printf("skipped: no %s\n", path);
        return;
    }
    struct dirent *entry;
    for (int i = 0; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && i++ % tenth() == 0)
            check_recording(entry->d_name);
    closedir(dir);
}
END_TEST

/* The GPUs that the recordings are known to have, and what can be said without a driver's version.
 */
START_TEST(recorded_gpus)
{
    static const struct {
        const char *name, *sm;
        size_t n;
    } known[] = {{"ghw-linux-amd64-accel-nvidia", "60_real", 1}, /* bound to the driver */
                 {"hwloc-power9-nvidia-numa", "", 6},            /* only procfs names them */
                 {"hwloc-dgx-gb10", NULL, 0}};                   /* no bus, and no Tegra */
    char path[512];
    snprintf(path, sizeof(path), "%s/pci", fixtures_dir());
    if (access(path, R_OK) != 0) {
        printf("skipped: no %s\n", path);
        return;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        restore(known[i].name);
        snprintf(path, sizeof(path), "%s/%s", root, known[i].name);
        json_t *ns = nvidia_of(path);
        ck_assert_msg((ns != NULL) == (known[i].sm != NULL), "%s", known[i].name);
        if (!ns)
            continue;
        ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), known[i].n);
        ck_assert_str_eq(nth(values(ns, "sm_arch"), 0), known[i].sm);
        ck_assert_str_eq(text_of(ns, "status"), "partial");
        ck_assert_str_eq(text_of(ns, "error"),
                         "the driver's version is not shown: the CUDA version is unknown");
        json_decref(ns);
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("nvidia");
    TCase *c = tcase_create("nvidia");
    tcase_set_timeout(c, 60); /* recordings are copied, on machines that do other things as well */
    tcase_add_checked_fixture(c, make_root, remove_root);
    tcase_add_test(c, server_with_two_kinds);
    tcase_add_test(c, driver_missing);
    tcase_add_test(c, lost_gpu_does_not_count);
    tcase_add_test(c, loaded_driver_that_bound_nothing);
    tcase_add_test(c, banner_of_the_open_module);
    tcase_add_test(c, tegra_goes_by_its_release);
    tcase_add_test(c, nothing_there);
    tcase_add_test(c, published_lists);
    tcase_add_test(c, overrides);
    tcase_add_test(c, user_spaces_of_newer_drivers);
    tcase_add_test(c, environment_speaks_of_this_machine_only);
    tcase_add_test(c, recorded_pci);
    tcase_add_test(c, recorded_gpus);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
