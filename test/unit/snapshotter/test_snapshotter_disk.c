/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the snapshotter does on the disk: usage, cleaning up, deep chains, users, many calls at
 * once. */
#include "test/unit/snapshotter/snapshotter_calls.h"

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/snapshotter/meta/meta_internal.h"
#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

START_TEST(test_usage)
{
    char path[256], other[256], mount[1024];
    struct answers a = {.type = &snapshots__usage_response__descriptor};
    ck_assert_int_eq(create(&w, "Prepare", "a", "", NULL, mount, sizeof(mount)), GRPC_OK);
    snprintf(path, sizeof(path), "%s/snapshots/1/fs", w.root);
    put_file(path, "one", "some text");
    snprintf(path, sizeof(path), "%s/snapshots/1/fs/one", w.root);
    snprintf(other, sizeof(other), "%s/snapshots/1/fs/two", w.root);
    ck_assert_int_eq(link(path, other), 0); /* counts once */
    struct stat one, directory;
    ck_assert_int_eq(stat(path, &one), 0);
    snprintf(path, sizeof(path), "%s/snapshots/1/fs", w.root);
    ck_assert_int_eq(stat(path, &directory), 0);
    int64_t size = 512 * (int64_t)(one.st_blocks + directory.st_blocks);
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(by_key(&w, "Usage", turn ? "c" : "a", &a), GRPC_OK);
        const Snapshots__UsageResponse *usage = a.list[0];
        ck_assert_int_eq(usage->inodes, 2);
        ck_assert_int_eq(usage->size, size);
        answers_free(&a);
        if (!turn)
            ck_assert_int_eq(commit(&w, "c", "a", NULL), GRPC_OK);
    }
}
END_TEST

static int exchanging; /* atomic; 0 stops the thread */

static void *exchange(void *data)
{
    char *const *names = data;
    while (__atomic_load_n(&exchanging, __ATOMIC_ACQUIRE))
        ck_assert_int_eq(renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE), 0);
    return NULL;
}

/* A container may replace a directory by a link: the host's files are not counted. */
START_TEST(test_usage_exchanged)
{
    char command[512], a[128], b[128], top[96], *names[] = {a, b};
    struct snap_usage usage;
    pthread_t thread;
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    snprintf(top, sizeof(top), "%s/snapshots/1/fs", w.root);
    snprintf(a, sizeof(a), "%s/a", top);
    snprintf(b, sizeof(b), "%s/b", top);
    snprintf(command, sizeof(command),
             "mkdir %s/host %s && ln -s %s/host %s && cd %s/host && seq 1000 | xargs touch", w.root,
             a, w.root, b, w.root);
    ck_assert_int_eq(system(command), 0);
    __atomic_store_n(&exchanging, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(pthread_create(&thread, NULL, exchange, names), 0);
    for (int turn = 0; turn < 600; turn++) {
        ck_assert_int_eq(snap_tree_usage(top, NULL, &usage, NULL), GRPC_OK);
        ck_assert_int_lt(usage.inodes, 10);
    }
    __atomic_store_n(&exchanging, 0, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(test_cleanup)
{
    char path[512];
    struct answers a = {.type = &snapshots__empty__descriptor};
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    snprintf(path, sizeof(path),
             "mkdir -p %s/snapshots/77/fs/x/y %s/snapshots/new-1 "
             "%s/snapshots/rm-5/a && touch %s/snapshots/77/fs/x/f; "
             "touch %s/snapshots/78",
             w.root, w.root, w.root, w.root, w.root);
    ck_assert_int_eq(system(path), 0);
    ck_assert_uint_eq(directories(), 5);
    ck_assert_int_eq(by_key(&w, "Cleanup", "", &a), GRPC_OK);
    answers_free(&a);
    ck_assert_uint_eq(directories(), 1);
    expect("a", "a  2");
}
END_TEST

/* A directory that stands where the next snapshot's comes is another's. */
START_TEST(test_in_the_way)
{
    char path[256];
    snprintf(path, sizeof(path), "mkdir -p %s/snapshots/1/fs/old", w.root);
    ck_assert_int_eq(system(path), 0);
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    snprintf(path, sizeof(path), "%s/snapshots/1/fs/old", w.root);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* Deeper than the kernel takes as one path, which containers can make. */
START_TEST(test_deep)
{
    char path[256], name[201];
    ck_assert_int_eq(prepare(&w, "a", "", NULL), GRPC_OK);
    snprintf(path, sizeof(path), "%s/snapshots/1/fs", w.root);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    memset(name, 'd', 200);
    name[200] = '\0';
    for (int i = 0; i < 300; i++) {
        ck_assert_int_eq(mkdirat(fd, name, 0700), 0);
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY);
        ck_assert_int_ge(next, 0);
        close(fd);
        fd = next;
    }
    close(fd);
    ck_assert_int_eq(remove_snapshot(&w, "a"), GRPC_OK);
    ck_assert_uint_eq(directories(), 0);
}
END_TEST

/* Names that a removal which was killed has used before. */
START_TEST(test_deep_again)
{
    char path[512];
    snprintf(path, sizeof(path),
             "cd %s/snapshots && mkdir -p rm-5/$(printf 'd/%%.0s' $(seq 40)) rm-rm-5-0/x rm-rm-5-1 "
             "&& touch rm-5/f rm-rm-5-0/f",
             w.root);
    ck_assert_int_eq(system(path), 0);
    snprintf(path, sizeof(path), "%s/snapshots", w.root);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(snap_tree_remove(fd, "rm-5"), 0);
    close(fd);
    ck_assert_uint_eq(directories(), 0);
}
END_TEST

static void *many(void *data)
{
    char key[64], name[64], parent[64] = "";
    int self = *(int *)data;
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "t%d-%d", self, i);
        snprintf(name, sizeof(name), "c%d-%d", self, i);
        ck_assert_int_eq(prepare(&w, key, parent, NULL), GRPC_OK);
        ck_assert_int_eq(commit(&w, name, key, "a=b"), GRPC_OK);
        snprintf(parent, sizeof(parent), "%s", name);
        struct answers a = {.type = &snapshots__empty__descriptor};
        ck_assert_int_eq(by_key(&w, "Cleanup", "", &a), GRPC_OK);
        answers_free(&a);
    }
    for (int i = 19; i >= 0; i--) {
        snprintf(name, sizeof(name), "c%d-%d", self, i);
        ck_assert_int_eq(remove_snapshot(&w, name), GRPC_OK);
    }
    return NULL;
}

START_TEST(test_threads)
{
    pthread_t threads[8];
    int numbers[8];
    for (int i = 0; i < 8; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, many, &numbers[i]), 0);
    }
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(directories(), 0);
}
END_TEST

/* What is on disk serves the next process. */
START_TEST(test_again)
{
    char path[80];
    struct ocv_error err = {0};
    ck_assert_int_eq(prepare(&w, "a", "", "x=1"), GRPC_OK);
    ck_assert_int_eq(commit(&w, "c", "a", "y=2"), GRPC_OK);
    ck_assert_int_eq(prepare(&w, "b", "c", NULL), GRPC_OK);
    snap_overlay_free(w.service.overlay);
    snap_meta_close(w.service.meta);
    snprintf(path, sizeof(path), "rm -r %s/snapshots/2", w.root); /* a power cut's doing */
    ck_assert_int_eq(system(path), 0);
    snprintf(path, sizeof(path), "%s/metadata.db", w.root);
    ck_assert_int_eq(snap_meta_open(path, &w.service.meta, &err), OCV_OK);
    ck_assert_int_eq(
        snap_overlay_open(w.root, false, w.service.meta, NULL, &w.service.overlay, &err), OCV_OK);
    expect("c", "c  3 y=2");
    expect("b", "b c 2");
    ck_assert_uint_eq(directories(), 2);
}
END_TEST

static int setting(const char *pragma)
{
    sqlite3_stmt *row = NULL;
    ck_assert_int_eq(sqlite3_prepare_v2(w.service.meta->db, pragma, -1, &row, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(row), SQLITE_ROW);
    int value = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    return value;
}

/* What containerd was told of is on the disk, as with its own database. */
START_TEST(test_durable)
{
    ck_assert_int_eq(setting("PRAGMA synchronous"), 2); /* FULL */
    ck_assert_int_eq(setting("PRAGMA foreign_keys"), 1);
}
END_TEST

/* In a user namespace, as its root. 0 or 1: whether user.* attributes are asked for; 2: there is no
 * such namespace for us. */
static int asks_for_userxattr(void)
{
    const char *options[4];
    if (unshare(CLONE_NEWUSER) < 0)
        return 2;
    FILE *map = fopen("/proc/self/uid_map", "w");
    if (!map || fputs("0 0 1", map) < 0 || fclose(map) != 0)
        return 2;
    int found = 0;
    for (size_t i = snap_overlay_options(w.root, options); i > 0; i--)
        found |= strcmp(options[i - 1], "userxattr") == 0;
    return found;
}

/* As containerd's overlayfs: where trusted.* attributes cannot be written, and user.* ones can. */
START_TEST(test_userxattr)
{
    struct statfs fs;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(asks_for_userxattr());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) {
        puts("skipped: no user namespaces here");
        return;
    }
    ck_assert_int_eq(statfs(w.root, &fs), 0);
    ck_assert_int_eq(WEXITSTATUS(status), fs.f_type != TMPFS_MAGIC);
}
END_TEST

START_TEST(test_remapped)
{
    char path[80], got[4096];
    struct stat st;
    struct ocv_error err = {0};
    const char *labels = "containerd.io/snapshot/gidmapping=0:888:1000 "
                         "containerd.io/snapshot/uidmapping=0:666:1000,1000:6666:64536";
    snap_overlay_free(w.service.overlay);
    ck_assert_int_eq(
        snap_overlay_open(w.root, true, w.service.meta, NULL, &w.service.overlay, &err), OCV_OK);
    ck_assert_int_eq(create(&w, "Prepare", "a", "", labels, got, sizeof(got)), GRPC_OK);
    ck_assert(strstr(got, " uidmap=0:666:1000,1000:6666:64536 gidmap=0:888:1000 rw rbind"));
    snprintf(path, sizeof(path), "%s/snapshots/1/fs", w.root);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert(st.st_uid == 666 && st.st_gid == 888);
}
END_TEST

TEST_FILE
{
    if (geteuid() != 0) {
        puts("skipped: directories of other users need root");
        return 0;
    }
    Suite *suite = suite_create("snapshotter_disk");
    TCase *tcase = tcase_create("disk");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, opened, closed);
    tcase_add_test(tcase, test_usage);
    tcase_add_test(tcase, test_usage_exchanged);
    tcase_add_test(tcase, test_cleanup);
    tcase_add_test(tcase, test_in_the_way);
    tcase_add_test(tcase, test_deep);
    tcase_add_test(tcase, test_deep_again);
    tcase_add_test(tcase, test_threads);
    tcase_add_test(tcase, test_again);
    tcase_add_test(tcase, test_durable);
    tcase_add_test(tcase, test_userxattr);
    tcase_add_test(tcase, test_remapped);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
