/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the snapshotter makes of verdicts, and of what it remembers of chains, when things fail. */
#include "snapshotter_util.h"

#include "meta.h"

#define CHAIN "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define DIGEST "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
#define PARENT "k8s.io/7/" CHAIN

static struct world w;
static char config[96], daemon_path[96];
static int daemon_fd;
static pthread_t daemon_thread;
static const char *answer; /* JSON; set before the question */

/* The node's daemon: the same answer to everybody. */
static void *answer_all(void *data)
{
    char request[32768], head[128];
    int fd;
    (void)data;
    while ((fd = accept(daemon_fd, NULL, NULL)) >= 0) {
        ssize_t got = read(fd, request, sizeof(request));
        int len = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
                           strlen(answer));
        if (got > 0 && write(fd, head, (size_t)len) == len)
            got = write(fd, answer, strlen(answer));
        close(fd);
    }
    return NULL;
}

static void with_policy(const char *policy)
{
    char text[256];
    struct ocv_error err = {0};
    const struct snap_judge_options options = {.config_file = config};
    snprintf(text, sizeof(text), "%s\nsocket: %s\n", policy, daemon_path);
    put_file(w.root, "config.yaml", text);
    snap_judge_free(w.service.judge);
    ck_assert_msg(snap_judge_new(&options, w.service.meta, &w.service.judge, &err) == OCV_OK, "%s",
                  err.message);
}

static void opened(void)
{
    world_open(&w);
    snprintf(config, sizeof(config), "%s/config.yaml", w.root);
    snprintf(daemon_path, sizeof(daemon_path), "%s/daemon", w.root);
    daemon_fd = world_listen(daemon_path);
    ck_assert_int_eq(pthread_create(&daemon_thread, NULL, answer_all, NULL), 0);
}

static void closed(void)
{
    shutdown(daemon_fd, SHUT_RDWR);
    pthread_join(daemon_thread, NULL);
    close(daemon_fd);
    world_close(&w);
}

/* An image whose top layer is PARENT, unpacked under `warn`. */
static void unpack(void)
{
    ck_assert_int_eq(prepare(&w, "k8s.io/6/extract", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, PARENT, "k8s.io/6/extract", NULL), GRPC_OK);
}

static void remember_misfit(void)
{
    const struct snap_variant variant = {.ns = (char *)(uintptr_t) "k8s.io",
                                         .chain = (char *)(uintptr_t)CHAIN,
                                         .label = (char *)(uintptr_t) "rocm7.1",
                                         .digest = (char *)(uintptr_t)DIGEST};
    ck_assert_int_eq(snap_meta_variant_add(w.service.meta, &variant, NULL), GRPC_OK);
}

/* Layers that cannot go are known as before. */
START_TEST(test_kept)
{
    answer = "{\"verdict\":\"misfit\",\"label\":\"rocm7.1\",\"reason\":\"no card\"}";
    with_policy("policy: enforce");
    unpack();
    remember_misfit();
    ck_assert_int_eq(prepare(&w, "one", PARENT, NULL), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(create(&w, "View", "seen", PARENT, NULL, NULL, 0), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, PARENT), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(prepare(&w, "two", PARENT, NULL), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(remove_snapshot(&w, "seen"), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, PARENT), GRPC_OK);
    unpack();
    ck_assert_int_eq(prepare(&w, "three", PARENT, NULL), GRPC_OK);
}
END_TEST

/* What is known and cannot be read follows the fail policy. */
START_TEST(test_unreadable)
{
    static const struct {
        const char *policy;
        enum grpc_code code;
    } cases[] = {{"policy: enforce", GRPC_OK},
                 {"policy: enforce\nfail: closed", GRPC_FAILED_PRECONDITION},
                 {"policy: warn\nfail: closed", GRPC_OK},
                 {"policy: off\nfail: closed", GRPC_OK}};
    answer = "{\"verdict\":\"fits\"}";
    with_policy("policy: warn");
    unpack();
    ck_assert_int_eq(sqlite3_exec(w.service.meta->db, "DROP TABLE variants", NULL, NULL, NULL),
                     SQLITE_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char key[16];
        snprintf(key, sizeof(key), "key-%zu", i);
        with_policy(cases[i].policy);
        ck_assert_msg(prepare(&w, key, PARENT, NULL) == cases[i].code, "%s", cases[i].policy);
    }
}
END_TEST

int main(void)
{
    if (geteuid() != 0) {
        puts("skipped: folders of layers need root");
        return 0;
    }
    Suite *suite = suite_create("snapshotter_judge");
    TCase *tcase = tcase_create("judge");
    tcase_add_checked_fixture(tcase, opened, closed);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_kept);
    tcase_add_test(tcase, test_unreadable);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
