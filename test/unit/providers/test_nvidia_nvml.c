/* SPDX-License-Identifier: GPL-3.0-or-later */
/* providers/nvidia/nvml.c, merge.c and driven.c: what nvml-query answers, laid over
 * what files show. The program itself is tested with a stand-in library by integration/nvidia.bats.
 */
#include "lib/probe/providers/nvidia/nvidia.h"
#include "test/unit/core_util.h"

#define SCHEMA "\"schema\": \"dev.ocivariant.nvml-query/v1\""

static struct ocv_nvidia_machine machine;
static struct ocv_nvml_answer answer;

static void make_machine(void)
{
    machine = (struct ocv_nvidia_machine){.source = "sysfs"};
    machine.gpus = calloc(OCV_NVIDIA_GPUS_MAX, sizeof(*machine.gpus));
    ck_assert_ptr_nonnull(machine.gpus);
}

static void free_machine(void)
{
    free(machine.gpus);
    ocv_nvml_free(&answer);
}

static void use_driver(const char *version, unsigned major, unsigned minor)
{
    snprintf(machine.driver, sizeof(machine.driver), "%s", version);
    machine.loaded = true;
    machine.cuda = (struct ocv_cuda_version){major, minor};
}

static struct ocv_nvidia_gpu *on_bus(const char *id, unsigned sm)
{
    struct ocv_nvidia_gpu *gpu = ocv_nvidia_add_gpu(&machine, id);
    gpu->sm = sm;
    return gpu;
}

static struct ocv_nvidia_gpu *by_id(const char *id)
{
    for (size_t i = 0; i < machine.n; i++)
        if (strcmp(machine.gpus[i].id, id) == 0)
            return &machine.gpus[i];
    ck_abort_msg("no %s", id);
}

static void merge(const char *json)
{
    struct ocv_error err = {0};
    ck_assert_msg(ocv_nvml_parse(json, strlen(json), &answer, &err) == OCV_OK, "%s", err.message);
    ocv_nvidia_merge(&machine, &answer);
}

static struct ocv_result check(void)
{
    struct ocv_result result = {.status = OCV_RESULT_ABSENT};
    ocv_nvidia_rank(&machine);
    ocv_nvidia_set_status(&machine, &result);
    return result;
}

START_TEST(not_an_answer)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{",
                                      "{}",
                                      "{\"schema\": \"dev.ocivariant.nvml-query/v2\"}",
                                      "{" SCHEMA "} {}",
                                      "{" SCHEMA ", " SCHEMA "}",
                                      "Segmentation fault"};
    struct ocv_error err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_msg(ocv_nvml_parse(bad[i], strlen(bad[i]), &answer, &err) == OCV_ERR_DATA, "%s",
                      bad[i]);
    ck_assert_int_eq(ocv_nvml_parse(NULL, 0, &answer, &err), OCV_ERR_DATA);
}
END_TEST

START_TEST(answer_at_its_limit)
{
    static const char head[] = "{" SCHEMA ", \"driver\": \"1.2\"";
    struct ocv_error err;
    for (size_t more = 0; more < 2; more++) {
        size_t len = OCV_NVML_OUTPUT_MAX + more;
        char *text = malloc(len);
        ck_assert_ptr_nonnull(text);
        memset(text, ' ', len);
        memcpy(text, head, sizeof(head) - 1);
        text[len - 1] = '}';
        ck_assert_int_eq(ocv_nvml_parse(text, len, &answer, &err), more ? OCV_ERR_DATA : OCV_OK);
        free(text);
    }
}
END_TEST

/* {"devices": [{...} * n]} */
static void parse_devices(size_t n, const char *device)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_NVML_OUTPUT_MAX);
    ck_assert_int_eq(ocv_buffer_printf(&text, &err, "{" SCHEMA ", \"devices\": ["), OCV_OK);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(ocv_buffer_printf(&text, &err, "%s%s", i ? "," : "", device), OCV_OK);
    ck_assert_int_eq(ocv_buffer_printf(&text, &err, "]}"), OCV_OK);
    ocv_nvml_free(&answer);
    ck_assert_msg(ocv_nvml_parse(text.data, text.len, &answer, &err) == OCV_OK, "%s", err.message);
}

START_TEST(devices_at_their_limit)
{
    parse_devices(OCV_NVML_DEVICES_MAX, "{\"capability\": [9, 0]}");
    ck_assert_uint_eq(answer.n, OCV_NVML_DEVICES_MAX);
    parse_devices(OCV_NVML_DEVICES_MAX + 1, "{\"capability\": [9, 0]}");
    ck_assert_uint_eq(answer.n, OCV_NVML_DEVICES_MAX);
    ocv_nvidia_merge(&machine, &answer);
    ck_assert_uint_eq(machine.n, OCV_NVIDIA_GPUS_MAX);
}
END_TEST

START_TEST(instances_at_their_limit)
{
    char text[1024] = "{\"mig\": true, \"mig_devices\": [";
    for (size_t i = 0; i < OCV_NVML_MIG_MAX + 1; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s{\"uuid\": \"MIG-%zu\"}",
                 i ? "," : "", i);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "]}");
    parse_devices(1, text);
    ck_assert_uint_eq(answer.devices[0].gpu.mig_instances, OCV_NVML_MIG_MAX);
    ck_assert_ptr_nonnull(strstr(answer.devices[0].gpu.mig_uuids, "MIG-0, MIG-1, "));
    ck_assert_ptr_null(strstr(answer.devices[0].gpu.mig_uuids, "MIG-16"));
}
END_TEST

START_TEST(texts_and_numbers_out_of_range)
{
    char text[512], name[128];
    memset(name, 'n', sizeof(name));
    for (int more = 0; more < 2; more++) {
        snprintf(text, sizeof(text), "{\"name\": \"%.*s\"}", (int)OCV_NVIDIA_TEXT_MAX - 1 + more,
                 name);
        parse_devices(1, text);
        ck_assert_uint_eq(strlen(answer.devices[0].gpu.name), more ? 0 : OCV_NVIDIA_TEXT_MAX - 1);
    }
    parse_devices(1, "{\"name\": \"a\\u001bb\", \"uuid\": 7, \"memory\": -1, \"mig\": 1}");
    ck_assert_str_eq(answer.devices[0].gpu.name, "");
    ck_assert_str_eq(answer.devices[0].gpu.uuid, "");
    ck_assert_uint_eq(answer.devices[0].gpu.memory, 0);
    ck_assert_int_eq(answer.devices[0].gpu.mig, -1);
    static const char *const capabilities[] = {"[100, 0]", "[0, 0]", "[9, 10]",
                                               "[9, -1]",  "9",      "[\"9\", \"0\"]"};
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
        snprintf(text, sizeof(text), "{\"capability\": %s}", capabilities[i]);
        parse_devices(1, text);
        ck_assert_msg(answer.devices[0].gpu.sm == 0, "%s", capabilities[i]);
    }
    static const char *const addresses[][2] = {
        {"00000000:3B:00.0", "0000:3b:00.0"},  {"0001:3B:00.0", "0001:3b:00.0"},
        {"00010000:3B:00.0", "10000:3b:00.0"}, {"3B:00.0", ""},
        {"000100000000:3B:00.0", ""},          {"../../etc:00.0", ""}};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
        snprintf(text, sizeof(text), "{\"bus_id\": \"%s\"}", addresses[i][0]);
        parse_devices(1, text);
        ck_assert_str_eq(answer.devices[0].gpu.id, addresses[i][1]);
    }
}
END_TEST

START_TEST(library_corrects_the_files)
{
    use_driver("570.124.06", 12, 8);
    on_bus("0000:3b:00.0", 120)->guess = true;
    merge("{" SCHEMA ", \"library\": \"nvml\", \"driver\": \"570.124.06\", \"cuda\": 12090,"
          " \"count\": 1, \"devices\": [{\"bus_id\": \"00000000:3B:00.0\", \"capability\": [10, 3],"
          " \"name\": \"NVIDIA B300\", \"uuid\": \"GPU-1\", \"memory\": 1024, \"mig\": false}]}");
    const struct ocv_nvidia_gpu *gpu = by_id("0000:3b:00.0");
    ck_assert_uint_eq(machine.n, 1);
    ck_assert_uint_eq(gpu->sm, 103);
    ck_assert(!gpu->guess);
    ck_assert_str_eq(gpu->uuid, "GPU-1");
    ck_assert_uint_eq(gpu->memory, 1024);
    ck_assert(machine.cuda.major == 12 && machine.cuda.minor == 9);
    ck_assert_str_eq(machine.source, "nvml");
    ck_assert_int_eq(check().status, OCV_RESULT_OK);
}
END_TEST

START_TEST(forward_compatibility_is_not_the_driver)
{
    use_driver("570.124.06", 12, 8);
    merge("{" SCHEMA ", \"library\": \"nvml\", \"cuda\": 13000,"
          " \"cuda_library\": \"/usr/local/cuda-13.0/compat/libcuda.so.580.65.06\"}");
    ck_assert(machine.cuda.major == 12 && machine.cuda.minor == 8);
    ocv_nvml_free(&answer);
    machine.cuda = (struct ocv_cuda_version){0, 0}; /* better than nothing */
    merge("{" SCHEMA ", \"library\": \"nvml\", \"cuda\": 13000,"
          " \"cuda_library\": \"/usr/local/cuda-13.0/compat/libcuda.so.580.65.06\"}");
    ck_assert_uint_eq(machine.cuda.major, 13);
}
END_TEST

START_TEST(mismatch_leaves_nothing)
{
    use_driver("550.144.03", 12, 4);
    on_bus("0000:3b:00.0", 90);
    merge("{" SCHEMA ", \"library\": \"nvml\", \"errors\": [{\"call\": \"nvmlInitWithFlags\","
          " \"code\": 18, \"name\": \"LIB_RM_VERSION_MISMATCH\"}]}");
    struct ocv_result result = check();
    ck_assert_int_eq(result.status, OCV_RESULT_PARTIAL);
    ck_assert_str_eq(result.note, "the driver's libraries are of another version than its loaded "
                                  "module, 550.144.03 (NVML: driver/library version mismatch): "
                                  "reboot or reload the module");
    ck_assert_uint_eq(machine.cuda.minor, 4);
    ck_assert(ocv_nvidia_barred(&machine.gpus[0]) && machine.gpus[0].secondary);
}
END_TEST

/* Files of another version lie about, but the libraries that programs find work. */
START_TEST(library_that_answers_is_no_mismatch)
{
    use_driver("550.144.03", 12, 4);
    snprintf(machine.library, sizeof(machine.library), "570.133.20");
    on_bus("0000:3b:00.0", 90);
    ck_assert_int_eq(check().status, OCV_RESULT_PARTIAL);
    ck_assert_int_eq(machine.gpus[0].state, OCV_NVIDIA_MISMATCH);
    merge("{" SCHEMA ", \"library\": \"nvml\", \"cuda\": 12040, \"count\": 1, \"devices\":"
          " [{\"bus_id\": \"00000000:3B:00.0\", \"capability\": [9, 0]}]}");
    ck_assert_int_eq(check().status, OCV_RESULT_OK);
    ck_assert_int_eq(machine.gpus[0].state, OCV_NVIDIA_USABLE);
}
END_TEST

/* What the library shows runs, whatever tables say; what it does not show does not. */
START_TEST(library_knows_better_than_tables)
{
    use_driver("560.35.05", 12, 6);
    on_bus("0000:3b:00.0", 120)->driven = false;
    on_bus("0000:86:00.0", 120);
    check();
    ck_assert_int_eq(by_id("0000:3b:00.0")->state, OCV_NVIDIA_GPU_TOO_NEW);
    merge("{" SCHEMA ", \"library\": \"nvml\", \"cuda\": 12080, \"count\": 1, \"devices\":"
          " [{\"bus_id\": \"00000000:3B:00.0\", \"capability\": [12, 0]}]}");
    check();
    ck_assert_int_eq(by_id("0000:3b:00.0")->state, OCV_NVIDIA_USABLE);
    ck_assert(ocv_nvidia_barred(by_id("0000:86:00.0")));
}
END_TEST

/* What the environment says of the driver, and of what code runs, is not asked of the machine. */
START_TEST(forced_is_not_checked)
{
    use_driver("390.157", 9, 1);
    on_bus("0000:3b:00.0", 61);
    on_bus("0000:86:00.0", 61)->driven = false;
    check();
    ck_assert_int_eq(by_id("0000:3b:00.0")->state, OCV_NVIDIA_DRIVER_TOO_OLD);
    machine.force_driver = true;
    check();
    ck_assert_int_eq(by_id("0000:3b:00.0")->state, OCV_NVIDIA_USABLE);
    ck_assert_int_eq(by_id("0000:86:00.0")->state, OCV_NVIDIA_UNBOUND);
    machine.force_code = true;
    check();
    ck_assert(!by_id("0000:86:00.0")->secondary);
}
END_TEST

/* The first and the last driver branch of each capability, and those on the other side. */
START_TEST(branches_by_capability)
{
    static const struct {
        unsigned sm, first, last;
    } known[] = {{21, 0, 390},  {30, 0, 470},  {37, 0, 470},  {50, 0, 580},  {61, 0, 580},
                 {70, 0, 580},  {75, 0, 0},    {80, 450, 0},  {86, 455, 0},  {89, 520, 0},
                 {90, 520, 0},  {100, 570, 0}, {103, 580, 0}, {107, 615, 0}, {110, 580, 0},
                 {120, 570, 0}, {121, 580, 0}, {130, 0, 0}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        unsigned first, last;
        ocv_nvidia_branches(known[i].sm, &first, &last);
        ck_assert_msg(first == known[i].first && last == known[i].last, "%u: %u to %u", known[i].sm,
                      first, last);
    }
}
END_TEST

START_TEST(what_the_library_hides_does_not_count)
{
    use_driver("570.124.06", 12, 8);
    on_bus("0000:3b:00.0", 90);
    on_bus("0000:86:00.0", 90);
    merge("{" SCHEMA ", \"library\": \"nvml\", \"cuda\": 12080, \"count\": 1, \"devices\":"
          " [{\"bus_id\": \"00000000:86:00.0\", \"capability\": [9, 0]}]}");
    ck_assert_int_eq(check().status, OCV_RESULT_OK);
    ck_assert_str_eq(machine.gpus[0].id, "0000:86:00.0");
    ck_assert(!by_id("0000:86:00.0")->secondary && by_id("0000:3b:00.0")->secondary);
    ck_assert_uint_eq(by_id("0000:86:00.0")->index, 1);
}
END_TEST

/* The one without a handle is the one that no handle was for. */
START_TEST(lost_gpu_does_not_count)
{
    use_driver("570.124.06", 12, 8);
    on_bus("0000:3b:00.0", 90);
    on_bus("0000:86:00.0", 90);
    merge("{" SCHEMA ", \"library\": \"nvml\", \"cuda\": 12080, \"count\": 2, \"devices\":"
          " [{\"bus_id\": \"00000000:3B:00.0\", \"capability\": [9, 0]}, {\"errors\": [{\"call\":"
          " \"nvmlDeviceGetHandleByIndex_v2\", \"code\": 15, \"name\": \"GPU_IS_LOST\"}]}]}");
    struct ocv_result result = check();
    ck_assert_str_eq(result.note, "GPU 0000:86:00.0: it does not answer on the bus");
    ck_assert(!by_id("0000:3b:00.0")->secondary && by_id("0000:86:00.0")->secondary);
}
END_TEST

START_TEST(hang_hides_nothing)
{
    use_driver("570.124.06", 12, 8);
    on_bus("0000:3b:00.0", 90);
    on_bus("0000:86:00.0", 90);
    merge("{" SCHEMA ", \"library\": \"nvml\", \"cuda\": 12080, \"count\": 2, \"devices\":"
          " [{\"bus_id\": \"00000000:3B:00.0\", \"capability\": [9, 0]}],"
          " \"hung\": \"nvmlDeviceGetHandleByIndex_v2\"}");
    ck_assert_int_eq(check().status, OCV_RESULT_PARTIAL);
    ck_assert(!by_id("0000:86:00.0")->secondary);
}
END_TEST

START_TEST(tegra_is_the_integrated_one)
{
    machine.tegra = machine.loaded = true;
    machine.source = "device-tree";
    machine.cuda = (struct ocv_cuda_version){12, 2};
    on_bus("tegra", 87)->integrated = true;
    merge("{" SCHEMA ", \"library\": \"libcuda\", \"cuda\": 12060, \"count\": 1, \"devices\":"
          " [{\"bus_id\": \"0000:00:00.0\", \"capability\": [8, 7], \"integrated\": true,"
          " \"name\": \"Orin\"}]}");
    ck_assert_uint_eq(machine.n, 1);
    ck_assert_str_eq(by_id("tegra")->name, "Orin");
    ck_assert_uint_eq(machine.cuda.minor, 6);
    ck_assert_str_eq(machine.source, "libcuda");
    ck_assert_int_eq(check().status, OCV_RESULT_OK);
}
END_TEST

/* In a container, where the bus shows nothing: a card and a GPU of the processor's chip. */
START_TEST(integrated_beside_a_card)
{
    merge("{" SCHEMA ", \"library\": \"nvml\", \"driver\": \"580.95.05\", \"cuda\": 13000,"
          " \"count\": 3, \"devices\": [{\"capability\": [12, 1], \"name\": \"NVIDIA GB10\"},"
          " {\"capability\": [8, 9], \"name\": \"NVIDIA L40S\"},"
          " {\"capability\": [9, 0], \"name\": \"Future (nvgpu)\"}]}");
    ck_assert_int_eq(check().status, OCV_RESULT_OK);
    ck_assert(by_id("gpu0")->secondary && by_id("gpu2")->secondary);
    ck_assert_str_eq(machine.gpus[0].id, "gpu1");
    ck_assert(!machine.gpus[0].secondary);
}
END_TEST

START_TEST(wsl_without_libraries)
{
    machine.wsl = true;
    merge("{" SCHEMA "}");
    ck_assert_ptr_nonnull(strstr(check().note, "libraries are not installed"));
}
END_TEST

START_TEST(libraries_missing)
{
    use_driver("570.124.06", 12, 8);
    on_bus("0000:3b:00.0", 90);
    merge("{" SCHEMA "}");
    ck_assert_str_eq(check().note,
                     "NVIDIA's libraries are not installed (libnvidia-ml.so.1, libcuda.so.1)");
    ck_assert_uint_eq(machine.cuda.major, 12);
}
END_TEST

START_TEST(driver_newer_than_known)
{
    use_driver("625.1", 0, 0);
    machine.cuda = ocv_nvidia_cuda(625, &machine.newer);
    on_bus("0000:3b:00.0", 90);
    struct ocv_result result = check();
    ck_assert(result.guess);
    ck_assert_str_eq(result.note,
                     "driver 625.1 is newer than this program knows: CUDA 13.5 at least");
    merge("{" SCHEMA ", \"library\": \"nvml\", \"cuda\": 13060, \"count\": 1, \"devices\":"
          " [{\"bus_id\": \"00000000:3B:00.0\", \"capability\": [9, 0]}]}");
    result = check();
    ck_assert(!result.guess);
    ck_assert_int_eq(result.status, OCV_RESULT_OK);
}
END_TEST

/* Ids of recorded and well-known GPUs, blocks for what is newer, neighbours that are none. */
START_TEST(capabilities_by_id)
{
    static const struct {
        uint16_t id;
        unsigned sm;
        bool guess;
    } known[] = {
        {0x15f8, 60, false},  {0x1db6, 70, false},  {0x1eb8, 75, false},  {0x20b0, 80, false},
        {0x2236, 86, false},  {0x26b5, 89, false},  {0x2330, 90, false},  {0x2342, 90, false},
        {0x2901, 100, false}, {0x2941, 100, false}, {0x3182, 103, false}, {0x31c2, 103, false},
        {0x2b00, 110, false}, {0x2bb5, 120, false}, {0x2e12, 121, false}, {0x102d, 37, false},
        {0x0ffd, 30, false},  {0x2910, 100, true},  {0x2bfe, 120, true},  {0x2e2f, 121, true},
        {0x3181, 103, true},  {0x23ff, 90, true},   {0x9999, 0, false},   {0x2300, 90, true},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        bool guess;
        unsigned sm = ocv_nvidia_sm(known[i].id, &guess);
        ck_assert_msg(sm == known[i].sm && guess == known[i].guess, "%04x: %u%s", known[i].id, sm,
                      guess ? ", a guess" : "");
    }
}
END_TEST

RUN_TESTS_IN("nvidia_nvml", make_machine, free_machine, not_an_answer, answer_at_its_limit,
             devices_at_their_limit, instances_at_their_limit, texts_and_numbers_out_of_range,
             library_corrects_the_files, forward_compatibility_is_not_the_driver,
             mismatch_leaves_nothing, library_that_answers_is_no_mismatch,
             library_knows_better_than_tables, forced_is_not_checked, branches_by_capability,
             what_the_library_hides_does_not_count, lost_gpu_does_not_count, hang_hides_nothing,
             tegra_is_the_integrated_one, integrated_beside_a_card, wsl_without_libraries,
             libraries_missing, driver_newer_than_known, capabilities_by_id)
