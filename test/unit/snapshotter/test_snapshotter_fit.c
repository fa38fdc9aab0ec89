/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the snapshotter makes of verdicts, and of what it remembers of chains, when things fail. */
#include "test/unit/snapshotter/snapshotter_util.h"

#include "plugins/containerd/snapshotter/meta/meta_internal.h"

#include <ctype.h>

#define CHAIN "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define DIGEST "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
#define PARENT "k8s.io/7/" CHAIN

static struct world w;
static char config[96], daemon_path[96];
static int daemon_fd;
static pthread_t daemon_thread;
static char answer[2048];   /* JSON */
static const char *fitting; /* a question with this in it is told that the image fits */
static pthread_mutex_t answer_lock = PTHREAD_MUTEX_INITIALIZER;

static void set_answers(const char *text, const char *fits)
{
    pthread_mutex_lock(&answer_lock);
    fitting = fits;
    snprintf(answer, sizeof(answer), "%s", text);
    pthread_mutex_unlock(&answer_lock);
}

static void set_answer(const char *text)
{
    set_answers(text, NULL);
}

/* The node's daemon: the same answer to everybody. */
static void *answer_all(void *data)
{
    char request[32768], head[128];
    int fd;
    (void)data;
    while ((fd = accept(daemon_fd, NULL, NULL)) >= 0) {
        ssize_t got = read(fd, request, sizeof(request) - 1);
        request[got > 0 ? got : 0] = '\0';
        pthread_mutex_lock(&answer_lock);
        const char *text = fitting && strstr(request, fitting) ? "{\"verdict\":\"fits\"}" : answer;
        int len = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
                           strlen(text));
        if (got > 0 && write(fd, head, (size_t)len) == len)
            got = write(fd, text, strlen(text));
        pthread_mutex_unlock(&answer_lock);
        close(fd);
    }
    return NULL;
}

static void with_records(const char *policy, const char *records)
{
    char text[256];
    struct ocv_error err = {0};
    const struct snap_fit_options options = {.config_file = config, .records = records};
    snprintf(text, sizeof(text), "%s\nsocket: %s\nstate_dir: %s/state\n", policy, daemon_path,
             w.root);
    put_file(w.root, "config.yaml", text);
    snap_fit_free(w.service.fit);
    ck_assert_msg(snap_fit_new(&options, w.service.meta, &w.service.fit, &err) == OCV_OK, "%s",
                  err.message);
}

static void with_policy(const char *policy)
{
    with_records(policy, NULL);
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
static void unpack(const char *labels)
{
    ck_assert_int_eq(prepare(&w, "k8s.io/6/extract", "", labels), GRPC_OK);
    ck_assert_int_eq(commit(&w, PARENT, "k8s.io/6/extract", NULL), GRPC_OK);
}

static const char image[] =
    "containerd.io/snapshot.ref=" CHAIN " containerd.io/snapshot/cri.image-ref=r.example/app:1"
    " containerd.io/snapshot/cri.manifest-digest=" DIGEST
    " containerd.io/snapshot/cri.image-layers=" DIGEST;

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
    set_answer("{\"verdict\":\"misfit\",\"label\":\"rocm7.1\",\"reason\":\"no card\"}");
    with_policy("policy: enforce");
    unpack("");
    remember_misfit();
    ck_assert_int_eq(prepare(&w, "one", PARENT, NULL), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(create(&w, "View", "seen", PARENT, NULL, NULL, 0), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, PARENT), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(prepare(&w, "two", PARENT, NULL), GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(remove_snapshot(&w, "seen"), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, PARENT), GRPC_OK);
    unpack("");
    ck_assert_int_eq(prepare(&w, "three", PARENT, NULL), GRPC_OK);
}
END_TEST

/* The same layers twice: what was removed while nobody took it away, and what was pulled again. */
START_TEST(test_twice)
{
    set_answer("{\"verdict\":\"misfit\",\"label\":\"rocm7.1\",\"reason\":\"no card\"}");
    with_policy("policy: enforce");
    unpack("");
    ck_assert_int_eq(prepare(&w, "k8s.io/8/extract", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "k8s.io/9/" CHAIN, "k8s.io/8/extract", NULL), GRPC_OK);
    remember_misfit();
    ck_assert_int_eq(remove_snapshot(&w, PARENT), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "one", "k8s.io/9/" CHAIN, NULL), GRPC_FAILED_PRECONDITION);
    /* being unpacked: containerd's name of that has the chain in it */
    ck_assert_int_eq(prepare(&w, "k8s.io/10/extract-1-x " CHAIN, "", NULL), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, "k8s.io/9/" CHAIN), GRPC_OK);
    ck_assert_int_eq(commit(&w, "k8s.io/11/" CHAIN, "k8s.io/10/extract-1-x " CHAIN, NULL), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "two", "k8s.io/11/" CHAIN, NULL), GRPC_FAILED_PRECONDITION);
    /* those of another namespace do not make it known */
    ck_assert_int_eq(prepare(&w, "k8s.io2/1/extract", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "k8s.io2/2/" CHAIN, "k8s.io2/1/extract", NULL), GRPC_OK);
    ck_assert_int_eq(remove_snapshot(&w, "k8s.io/11/" CHAIN), GRPC_OK);
    unpack("");
    ck_assert_int_eq(prepare(&w, "three", PARENT, NULL), GRPC_OK);
}
END_TEST

/* Images share layers: whichever of a chain's variants fits allows it, and another namespace's say
 * nothing of it. */
START_TEST(test_any)
{
    static const char *const labels[] = {"a", "m", "z"};
    static const char misfit[] = "{\"verdict\":\"misfit\",\"reason\":\"no card\"}";
    char key[16], question[16];
    with_policy("policy: enforce");
    unpack("");
    for (size_t i = 0; i < 3; i++) {
        const struct snap_variant variant = {.ns = (char *)(uintptr_t) "k8s.io",
                                             .chain = (char *)(uintptr_t)CHAIN,
                                             .label = (char *)(uintptr_t)labels[i],
                                             .digest = (char *)(uintptr_t)DIGEST};
        ck_assert_int_eq(snap_meta_variant_add(w.service.meta, &variant, NULL), GRPC_OK);
    }
    set_answer(misfit);
    ck_assert_int_eq(prepare(&w, "none", PARENT, NULL), GRPC_FAILED_PRECONDITION);
    for (size_t i = 0; i < 3; i++) {
        snprintf(key, sizeof(key), "one-%zu", i);
        snprintf(question, sizeof(question), "label=%s", labels[i]);
        set_answers(misfit, question);
        ck_assert_msg(prepare(&w, key, PARENT, NULL) == GRPC_OK, "%s", question);
    }
    set_answer(misfit);
    ck_assert_int_eq(prepare(&w, "default/2/extract", "", NULL), GRPC_OK);
    ck_assert_int_eq(commit(&w, "default/3/" CHAIN, "default/2/extract", NULL), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "elsewhere", "default/3/" CHAIN, NULL), GRPC_OK);
}
END_TEST

/* What an author wrote on the top layer without a label is known of its chain, too. */
START_TEST(test_properties)
{
    set_answer("{\"verdict\":\"misfit\",\"reason\":\"no card\"}");
    with_policy("policy: warn");
    ck_assert_int_eq(prepare(&w, "default/6/extract", "",
                             "containerd.io/snapshot.ref=" CHAIN
                             " containerd.io/snapshot/dev.ocivariant.properties=amd::arch::gfx942"),
                     GRPC_OK);
    ck_assert_int_eq(commit(&w, "default/7/" CHAIN, "default/6/extract", NULL), GRPC_OK);
    with_policy("policy: enforce");
    ck_assert_int_eq(prepare(&w, "one", "default/7/" CHAIN, NULL), GRPC_FAILED_PRECONDITION);
    set_answers("{\"verdict\":\"misfit\"}", "properties=amd");
    ck_assert_int_eq(prepare(&w, "two", "default/7/" CHAIN, NULL), GRPC_OK);
}
END_TEST

/* A label that this node has never seen, when the image came, may be known when it is started. */
START_TEST(test_known_later)
{
    set_answer("{\"verdict\":\"unknown\",\"reason\":\"never seen\"}");
    with_policy("policy: enforce");
    ck_assert_int_eq(prepare(&w, "default/6/extract", "",
                             "containerd.io/snapshot.ref=" CHAIN
                             " containerd.io/snapshot/dev.ocivariant.label=rocm"),
                     GRPC_OK);
    ck_assert_int_eq(commit(&w, "default/7/" CHAIN, "default/6/extract", NULL), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "one", "default/7/" CHAIN, NULL), GRPC_OK);
    set_answer("{\"verdict\":\"fits\"}");
    ck_assert_int_eq(prepare(&w, "two", "default/7/" CHAIN, NULL), GRPC_OK);
    set_answer("{\"verdict\":\"misfit\",\"reason\":\"no card\"}");
    ck_assert_int_eq(prepare(&w, "three", "default/7/" CHAIN, NULL), GRPC_FAILED_PRECONDITION);
}
END_TEST

/* What was said under the old policy is not what the new one says; one that cannot be read is none.
 */
START_TEST(test_reload)
{
    set_answer("{\"verdict\":\"misfit\",\"label\":\"rocm7.1\",\"reason\":\"no card\"}");
    with_policy("policy: warn");
    ck_assert_int_eq(prepare(&w, "k8s.io/1/extract", "", image), GRPC_OK);
    put_file(w.root, "config.yaml", "policy: [");
    snap_fit_reload(w.service.fit);
    ck_assert_int_eq(prepare(&w, "k8s.io/2/extract", "", image), GRPC_OK);
    char text[256];
    snprintf(text, sizeof(text), "policy: enforce\nsocket: %s\n", daemon_path);
    put_file(w.root, "config.yaml", text);
    ck_assert_int_eq(prepare(&w, "k8s.io/3/extract", "", image), GRPC_OK); /* not told yet */
    snap_fit_reload(w.service.fit);
    ck_assert_int_eq(prepare(&w, "k8s.io/4/extract", "", image), GRPC_FAILED_PRECONDITION);
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
    set_answer("{\"verdict\":\"fits\"}");
    with_policy("policy: warn");
    unpack("");
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

/* Labels are texts that containerd can read, wherever a limit has cut them. */
START_TEST(test_cut)
{
    static char text[2048], labels[1024], found[4096];
    for (size_t shift = 0; shift < 3; shift++) {
        size_t n = (size_t)snprintf(text, sizeof(text),
                                    "{\"verdict\":\"misfit\",\"label\":\"rocm\",\"reason\":\"%.*s",
                                    (int)shift, "xxx");
        for (size_t i = 0; i < 300; i++) /* one of three bytes */
            n += (size_t)snprintf(text + n, sizeof(text) - n, "\xe2\x82\xac");
        snprintf(text + n, sizeof(text) - n, "\\n\"}");
        set_answer(text);
        with_policy("policy: warn");
        snprintf(labels, sizeof(labels), "%s", image);
        unpack(labels);
        ck_assert_int_eq(stat_snapshot(&w, PARENT, found, sizeof(found)), GRPC_OK);
        const char *reason = strstr(found, "dev.ocivariant.reason=");
        ck_assert_msg(reason && strstr(reason, "\xe2\x82\xac"), "%s", found);
        for (const char *p = reason; (p = strchr(p, '\xe2')); p++)
            ck_assert_msg(strncmp(p, "\xe2\x82\xac", 3) == 0, "%s", reason);
        for (const unsigned char *p = (const unsigned char *)reason; *p; p++)
            ck_assert(*p >= 0x80 || isprint(*p));
        ck_assert_int_eq(remove_snapshot(&w, PARENT), GRPC_OK);
    }
}
END_TEST

/* A lesser build runs, unless it lacks what is required; and it is told of as what it is. */
START_TEST(test_lesser)
{
    set_answer(
        "{\"verdict\":\"lesser\",\"fit\":\"cuda12.8\",\"reason\":\"cuda12.8 fits it better\"}");
    with_policy("policy: enforce");
    ck_assert_int_eq(prepare(&w, "k8s.io/1/extract", "", image), GRPC_OK);
    set_answer("{\"verdict\":\"lesser\",\"fit\":\"cuda12.8\",\"required\":\"nvidia\","
               "\"reason\":\"cuda12.8 fits it better, and nvidia is required\"}");
    with_policy("policy: enforce\nfail: closed");
    ck_assert_int_eq(prepare(&w, "k8s.io/2/extract", "", image), GRPC_FAILED_PRECONDITION);
    with_policy("policy: warn");
    ck_assert_int_eq(prepare(&w, "k8s.io/3/extract", "", image), GRPC_OK);
    with_policy("policy: off");
    ck_assert_int_eq(prepare(&w, "k8s.io/4/extract", "", image), GRPC_OK);
}
END_TEST

/* Records that cannot be read say nothing: the image is as unknown as one that nobody can check. */
START_TEST(test_unreadable_records)
{
    static const char labelled[] =
        "containerd.io/snapshot.ref=" CHAIN " containerd.io/snapshot/dev.ocivariant.label=rocm";
    char records[96];
    snprintf(records, sizeof(records), "%s/loop", w.root);
    set_answer("{\"verdict\":\"none\"}");
    with_records("policy: enforce\nfail: closed", records);
    ck_assert_int_eq(prepare(&w, "k8s.io/1/extract", "", labelled), GRPC_OK);
    ck_assert_int_eq(symlink("loop", records), 0);
    with_records("policy: enforce\nfail: closed", records);
    ck_assert_int_eq(prepare(&w, "k8s.io/2/extract", "", labelled), GRPC_FAILED_PRECONDITION);
    with_records("policy: enforce", records);
    ck_assert_int_eq(prepare(&w, "k8s.io/3/extract", "", labelled), GRPC_OK);
}
END_TEST

/* Records are where the daemon puts them: below `state_dir` of the configuration. */
START_TEST(test_records_as_configured)
{
    static const char labelled[] =
        "containerd.io/snapshot.ref=" CHAIN " containerd.io/snapshot/dev.ocivariant.label=rocm";
    char state[96], records[128];
    snprintf(state, sizeof(state), "%s/state", w.root);
    snprintf(records, sizeof(records), "%s/resolved", state);
    set_answer("{\"verdict\":\"none\"}");
    with_policy("policy: enforce\nfail: closed");
    ck_assert_int_eq(prepare(&w, "k8s.io/1/extract", "", labelled), GRPC_OK);
    ck_assert_int_eq(mkdir(state, 0755), 0);
    ck_assert_int_eq(symlink("resolved", records), 0); /* so that reading there fails */
    with_policy("policy: enforce\nfail: closed");
    ck_assert_int_eq(prepare(&w, "k8s.io/2/extract", "", labelled), GRPC_FAILED_PRECONDITION);
}
END_TEST

TEST_FILE
{
    if (geteuid() != 0) {
        puts("skipped: directories of layers need root");
        return 0;
    }
    Suite *suite = suite_create("snapshotter_fit");
    TCase *tcase = tcase_create("fit");
    tcase_add_checked_fixture(tcase, opened, closed);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_kept);
    tcase_add_test(tcase, test_twice);
    tcase_add_test(tcase, test_any);
    tcase_add_test(tcase, test_lesser);
    tcase_add_test(tcase, test_properties);
    tcase_add_test(tcase, test_known_later);
    tcase_add_test(tcase, test_reload);
    tcase_add_test(tcase, test_unreadable);
    tcase_add_test(tcase, test_unreadable_records);
    tcase_add_test(tcase, test_records_as_configured);
    tcase_add_test(tcase, test_cut);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
