/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The devices of a container's specification, on a machine of files. */
#include "lib/internal/records/records.h"
#include "test/unit/core_util.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/ocv-devices-XXXXXX";

static void run_line(const char *line)
{
    ck_assert_int_eq(system(line), 0);
}

/* Two cards linked from sysfs (a DRM GPU, an NPU), a file that is not a PCI device's, and two of
 * the driver with a list of its own. */
static void set_up(void)
{
    char line[2048];
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(line, sizeof(line),
             "cd %s && mkdir -p sys/dev/char/226:128 sys/dev/char/508:0 sys/dev/char/10:229 "
             "proc/driver/nvidia/gpus/0000:3b:00.0 proc/driver/nvidia/gpus/0000:af:00.0 "
             "proc/driver/nvidia/gpus/nonsense && "
             "ln -s ../../../0000:c1:00.0 sys/dev/char/226:128/device && "
             "ln -s ../../../0000:0a:00.1 sys/dev/char/508:0/device && "
             "ln -s ../../misc sys/dev/char/10:229/device && "
             "printf 'Model: \\t A\\nDevice Minor: \\t 0\\n' >proc/driver/nvidia/gpus/0000:af:00.0/"
             "information && printf 'Device Minor: 1\\n' >proc/driver/nvidia/gpus/0000:3b:00.0/"
             "information",
             root);
    run_line(line);
}

static void tear_down(void)
{
    char line[64];
    snprintf(line, sizeof(line), "rm -rf %s", root);
    run_line(line);
}

#define FILES(list) "{'linux':{'devices':[" list "]}}"
#define FILE(major, minor) "{'path':'/dev/x','type':'c','major':" major ",'minor':" minor "}"
#define ENV(list) "{'process':{'env':[" list "]}}"

static const struct {
    const char *spec;
    bool all;
    const char *devices;
} cases[] = {
    {"{'annotations':{'cdi.k8s.io/a':'nvidia.com/gpu=0, nvidia.com/gpu=GPU-1'}}", false,
     "nvidia.com/gpu=0,nvidia.com/gpu=GPU-1"},
    {"{'annotations':{'cdi.k8s.io/a':'amd.com/gpu=0','cdi.k8s.io/b':'amd.com/gpu=0'}}", false,
     "amd.com/gpu=0"},
    {"{'annotations':{'cdi.k8s.io/a':'nonsense,,','other':'nvidia.com/gpu=0','cdi.k8s.io/c':5}}",
     false, NULL},
    {"{'annotations':{'cdi.k8s.io/a':'nvidia.com/gpu=0&given=x'}}", false, NULL},
    {FILES(FILE("226", "128") "," FILE("10", "229") "," FILE("1", "3")), false, "0000:c1:00.0"},
    {FILES(FILE("508", "0") "," FILE("508", "0")), false, "0000:0a:00.1"},
    {FILES(FILE("195", "0")), false, "0000:af:00.0"},
    {FILES(FILE("195", "1") "," FILE("195", "255")), false, "0000:3b:00.0"},
    {FILES(FILE("195", "7")), false, NULL},
    {FILES("{'type':'b','major':226,'minor':128}"), false, NULL},
    {FILES("{'type':'c','major':-1,'minor':128}"), false, NULL},
    {FILES("{'type':'c','major':226,'minor':4294967424}"), false, NULL},
    {FILES("5,'x',null,{}"), false, NULL},
    {ENV("'NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-2'"), false,
     "nvidia/visible=GPU-1,nvidia/visible=GPU-2"},
    {ENV("'NVIDI#_VISIBLE_DEVICES=GPU-1'"), false, NULL},
    {ENV("'ASCEND_VISIBLE_DEVICES=3'"), false, "ascend/visible=3"},
    /* images inherit this one */
    {ENV("'NVIDIA_VISIBLE_DEVICES=all'"), false, NULL},
    {ENV("'NVIDIA_VISIBLE_DEVICES=all'"), true, "nvidia/visible=all"},
    {ENV("'NVIDIA_VISIBLE_DEVICES=void'"), true, NULL},
    {ENV("'NVIDIA_VISIBLE_DEVICES=none'"), true, NULL},
    {ENV("'NVIDIA_VISIBLE_DEVICES='"), true, NULL},
    {ENV("'_VISIBLE_DEVICES=0','VISIBLE_DEVICES=0','X_VISIBLE_DEVICES_2=0'"), true, NULL},
    /* what is there counts, not what is said of it */
    {"{'annotations':{'cdi.k8s.io/a':'nvidia.com/gpu=0'},'process':{'env':["
     "'NVIDIA_VISIBLE_DEVICES=GPU-9']}}",
     true, "nvidia.com/gpu=0"},
    {"{'mounts':[{'source':'/dev/null'},{'source':'/etc/passwd'},{'source':5}]}", false, NULL},
    {"{}", true, NULL},
    {"{'annotations':[],'linux':5,'mounts':{},'process':'x'}", true, NULL},
};

START_TEST(test_cases)
{
    char *text = quoted("%s", cases[_i].spec);
    json_t *spec = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(spec);
    char *devices = ocv_container_devices(spec, cases[_i].all, root);
    ck_assert_str_eq(devices ? devices : "-", cases[_i].devices ? cases[_i].devices : "-");
    free(devices);
    json_decref(spec);
    free(text);
}
END_TEST

START_TEST(test_too_many)
{
    json_t *spec = json_object(), *all = json_object();
    char *list = calloc(1, OCV_CONTAINER_DEVICES_MAX * 2);
    size_t n = 0;
    for (unsigned i = 0; n < OCV_CONTAINER_DEVICES_MAX + 100; i++)
        n += (size_t)snprintf(list + n, 32, "nvidia.com/gpu=%u,", i);
    json_object_set_new(all, "cdi.k8s.io/x", json_string(list));
    json_object_set_new(spec, "annotations", all);
    ck_assert_ptr_null(ocv_container_devices(spec, true, root));
    ck_assert_ptr_null(ocv_container_devices(NULL, true, root));
    json_decref(spec);
    free(list);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("container devices");
    TCase *tc = tcase_create("container devices");
    tcase_add_unchecked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, test_cases, 0, (int)(sizeof(cases) / sizeof(*cases)));
    tcase_add_test(tc, test_too_many);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
