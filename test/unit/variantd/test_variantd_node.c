/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/variantd/node/diff.c, uevent.c, metrics.c, cmd/common/notify.c: what a log and a manager are
 * told. */
#include "cmd/common/daemons.h"
#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/node/node.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ocv_buffer text_of(const char *text)
{
    struct ocv_buffer buffer;
    ocv_buffer_init(&buffer, 1 << 20);
    ck_assert_int_eq(ocv_buffer_append(&buffer, text, strlen(text), NULL), OCV_OK);
    return buffer;
}

#define PROFILE(time, namespaces)                                     \
    "{\"schema\":\"dev.ocivariant.profile/v1\",\"generated\":\"" time \
    "\",\"namespaces\":[" namespaces "]}"
#define GPU(driver, values, devices)                                                        \
    "{\"namespace\":\"nvidia\",\"status\":\"ok\",\"driver\":\"" driver "\",\"features\":[{" \
    "\"name\":\"cuda_version_lower_bound\",\"values\":[" values "]}],\"devices\":[" devices "]}"
#define DEVICE(id) "{\"id\":\"" id "\",\"name\":\"NVIDIA H100\"}"

static const struct {
    const char *before, *after, *lines;
} diffs[] = {
    {PROFILE("1", GPU("570.1", "\"12.8\"", "")), PROFILE("2", GPU("570.1", "\"12.8\"", "")), NULL},
    {PROFILE("1", GPU("570.1", "\"12.8\",\"12.7\",\"12.6\"", "")),
     PROFILE("2", GPU("535.9", "\"12.6\"", "")),
     "nvidia: driver 570.1 -> 535.9\nnvidia: cuda_version_lower_bound -12.8 -12.7\n"},
    {PROFILE("1", ""), PROFILE("1", GPU("570.1", "\"12.8\"", DEVICE("0000:3b:00.0"))),
     "nvidia: status none -> ok\nnvidia: driver none -> 570.1\n"
     "nvidia: cuda_version_lower_bound +12.8\nnvidia: new device 0000:3b:00.0 NVIDIA H100\n"},
    {PROFILE("1", GPU("1", "\"a\"", DEVICE("x") "," DEVICE("y"))),
     PROFILE("1", GPU("1", "\"a\"", DEVICE("y"))), "nvidia: device x gone\n"},
    {PROFILE("1", GPU("1", "\"a\",\"b\"", "")), PROFILE("1", GPU("1", "\"b\",\"a\"", "")),
     "nvidia: cuda_version_lower_bound in another order\n"},
};

START_TEST(test_diff)
{
    struct ocv_buffer before = text_of(diffs[_i].before), after = text_of(diffs[_i].after), out;
    ocv_buffer_init(&out, 4096);
    ck_assert(node_diff(&before, &after, &out) == (diffs[_i].lines != NULL));
    ck_assert_str_eq(out.data ? out.data : "", diffs[_i].lines ? diffs[_i].lines : "");
    ocv_buffer_free(&before);
    ocv_buffer_free(&after);
    ocv_buffer_free(&out);
}
END_TEST

static const struct {
    const char *message;
    size_t len;
    const char *why; /* NULL: of no interest */
} events[] = {
#define EVENT(text, why)        \
    {                           \
        text, sizeof(text), why \
    }
    EVENT("add@/module/nvidia\0ACTION=add\0DEVPATH=/module/nvidia\0SUBSYSTEM=module",
          "uevent: add module nvidia"),
    EVENT("bind@/devices/pci/0000:3b:00.0\0ACTION=bind\0DEVPATH=/devices/pci/0000:3b:00.0\0"
          "SUBSYSTEM=pci",
          "uevent: bind pci 0000:3b:00.0"),
    EVENT("add@/devices/virtual/net/veth1\0ACTION=add\0DEVPATH=/x\0SUBSYSTEM=net", NULL),
    EVENT("add@/x\0ACTION=add\0DEVPATH=/x", NULL),
    EVENT("libudev\0\xfe\xed\xca\xfe", NULL),
    {"no terminator", 5, NULL},
    {"", 0, NULL},
};

START_TEST(test_uevent)
{
    char why[128] = "";
    bool matters = uevent_matters(events[_i].message, events[_i].len, why, sizeof(why));
    ck_assert(matters == (events[_i].why != NULL));
    if (matters)
        ck_assert_str_eq(why, events[_i].why);
}
END_TEST

START_TEST(test_metrics)
{
    struct metrics *m = NULL;
    struct ocv_buffer out;
    char label[32];
    ocv_buffer_init(&out, 1 << 20);
    ck_assert_int_eq(metrics_new(&m, NULL), OCV_OK);
    metrics_request(m, OUTCOME_VARIANT, 90, 10);
    metrics_request(m, OUTCOME_TIMEOUT, 3000000, 0);
    for (int i = 0; i < 400; i++) { /* somebody invents labels */
        snprintf(label, sizeof(label), "label%d", i);
        metrics_raise(m, METRICS_CHOSEN, label, NULL, 1);
    }
    metrics_raise(m, METRICS_CHOSEN, "label0", NULL, 1);
    metrics_raise(m, METRICS_ERRORS, "r.example:5000", "odd \"kind\"\n", 1);
    metrics_probe(m, 500, 40, false);
    metrics_probe(m, 1000, 250, true);
    metrics_raise(m, METRICS_FAILURES, "nvidia", NULL, 1);
    ck_assert_int_eq(metrics_format(m, 3500, &out, NULL), OCV_OK);
    ck_assert_ptr_nonnull(strstr(out.data, "variantd_probe_age_seconds 2.500\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "variantd_probe_duration_seconds 0.250\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "variantd_probes_total 2\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "variantd_profile_changes_total 1\n"));
    ck_assert_ptr_nonnull(
        strstr(out.data, "variantd_provider_failures_total{provider=\"nvidia\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "variantd_requests_total{outcome=\"variant\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "_bucket{le=\"0.0001\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "_bucket{le=\"3\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "_bucket{le=\"+Inf\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "variantd_chosen_total{label=\"label0\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(out.data, "variantd_chosen_total{label=\"other\"} 144\n"));
    ck_assert_ptr_nonnull(
        strstr(out.data, "{registry=\"r.example:5000\",kind=\"odd \\\"kind\\\"\\n\"} 1\n"));
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        ck_assert_ptr_nonnull(metrics_outcome_name((enum outcome)i));
    ocv_buffer_free(&out);
    metrics_free(m);
}
END_TEST

START_TEST(test_notify)
{
    char path[] = "/tmp/ocv-notify-XXXXXX", name[64], got[64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(name, sizeof(name), "%s/s", path);
    memcpy(address.sun_path, name, strlen(name) + 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    notify_send("READY=1");
    ssize_t len = recv(fd, got, sizeof(got), MSG_DONTWAIT);
    ck_assert_int_eq(len, 7);
    ck_assert_mem_eq(got, "READY=1", 7);
    close(fd);
    unlink(name);
    rmdir(path);
    notify_send("READY=1"); /* the manager is gone: nothing happens */
}
END_TEST

START_TEST(test_watchdog_and_sockets)
{
    struct ocv_error err = {0};
    char pid[32];
    int fd = 0;
    unsetenv("WATCHDOG_USEC");
    ck_assert_int_eq(notify_watchdog_ms(), 0);
    setenv("WATCHDOG_USEC", "6000000", 1);
    ck_assert_int_eq(notify_watchdog_ms(), 3000);
    setenv("WATCHDOG_PID", "1", 1);
    ck_assert_int_eq(notify_watchdog_ms(), 0);
    setenv("WATCHDOG_USEC", "soon", 1);
    ck_assert_int_eq(notify_watchdog_ms(), 0);
    unsetenv("LISTEN_FDS");
    ck_assert_int_eq(notify_listen_socket(&fd, &err), OCV_OK);
    ck_assert_int_eq(fd, -1);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "2", 1);
    ck_assert_int_eq(notify_listen_socket(&fd, &err), OCV_ERR_CONFIG);
    setenv("LISTEN_FDS", "1", 1);
    pid_t child = fork(); /* descriptor 3 is this process's own */
    if (child == 0) {
        int tcp = socket(AF_INET, SOCK_STREAM, 0);
        snprintf(pid, sizeof(pid), "%d", (int)getpid());
        setenv("LISTEN_PID", pid, 1);
        bool refused = dup2(tcp, 3) == 3 && notify_listen_socket(&fd, &err) == OCV_ERR_CONFIG &&
                       strstr(err.message, "cannot be socket-activated");
        _exit(refused ? 0 : 1);
    }
    int code = 1;
    ck_assert_int_eq(waitpid(child, &code, 0), child);
    ck_assert_int_eq(code, 0);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("variantd_node");
    TCase *tcase = tcase_create("node");
    tcase_add_loop_test(tcase, test_diff, 0, sizeof(diffs) / sizeof(*diffs));
    tcase_add_loop_test(tcase, test_uevent, 0, sizeof(events) / sizeof(*events));
    tcase_add_test(tcase, test_metrics);
    tcase_add_test(tcase, test_notify);
    tcase_add_test(tcase, test_watchdog_and_sockets);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
