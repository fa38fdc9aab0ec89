/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A full disk: what is there stays, what is asked for is refused, and what is removed makes room.
 */
#include "test/unit/snapshotter/snapshotter_util.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

static struct world w;

/* A small file system of this process's own, which ends with it. */
static bool small_disk(const char *place)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", place, "tmpfs", 0, "size=4m,nr_inodes=1m") == 0;
}

/* To the last byte. */
static void fill(void)
{
    static const char bytes[4096];
    char path[80];
    snprintf(path, sizeof(path), "%s/filling", w.root);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_ge(fd, 0);
    while (write(fd, bytes, sizeof(bytes)) > 0)
        ;
    ck_assert_int_eq(errno, ENOSPC);
    close(fd);
}

static int store_open(void)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/metadata.db", w.root);
    struct ocv_error err = {0};
    int status = snap_meta_open(path, &w.service.meta, &err);
    if (status == OCV_OK)
        status = snap_overlay_open(w.root, false, w.service.meta, NULL, &w.service.overlay, &err);
    return status;
}

static void store_close(void)
{
    snap_overlay_free(w.service.overlay);
    snap_meta_close(w.service.meta);
}

static enum grpc_code make(size_t i)
{
    char key[32];
    struct snap_mount mount = {0};
    ocv_auto_buffer labels;
    snap_labels_init(&labels);
    snprintf(key, sizeof(key), "key-%zu", i);
    enum grpc_code code =
        snap_overlay_create(w.service.overlay, SNAP_ACTIVE, key, "", &labels, &mount, NULL);
    snap_mount_free(&mount);
    return code;
}

static enum grpc_code drop(size_t i)
{
    char key[32];
    snprintf(key, sizeof(key), "key-%zu", i);
    return snap_overlay_remove(w.service.overlay, key, NULL);
}

static size_t make_until_full(void)
{
    size_t n = 0;
    enum grpc_code code;
    while ((code = make(n)) == GRPC_OK)
        ck_assert_uint_lt(++n, 1000000);
    ck_assert_int_eq(code, GRPC_RESOURCE_EXHAUSTED);
    return n;
}

START_TEST(test_remove)
{
    ck_assert_int_eq(store_open(), OCV_OK);
    size_t n = make_until_full();
    fill();
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(drop(i), GRPC_OK);
    ck_assert_int_eq(snap_overlay_cleanup(w.service.overlay, NULL), GRPC_OK);
    store_close();
}
END_TEST

/* Also after a restart, and again when it is full once more. */
START_TEST(test_start)
{
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(store_open(), OCV_OK);
        for (size_t i = 0; i < 100; i++)
            ck_assert_int_eq(make(i), GRPC_OK);
        store_close();
        fill();
        ck_assert_int_eq(store_open(), OCV_OK);
        for (size_t i = 0; i < 100; i++)
            ck_assert_int_eq(drop(i), GRPC_OK);
        ck_assert_int_eq(snap_overlay_cleanup(w.service.overlay, NULL), GRPC_OK);
        store_close();
        char path[80];
        snprintf(path, sizeof(path), "%s/filling", w.root);
        ck_assert_int_eq(unlink(path), 0);
    }
}
END_TEST

static void opened(void)
{
    world_directory(&w);
    ck_assert(small_disk(w.root));
}

static void closed(void)
{
    ck_assert_int_eq(umount2(w.root, MNT_DETACH), 0);
    ck_assert_int_eq(rmdir(w.root), 0);
}

static bool can_mount(void)
{
    int code = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(small_disk("/tmp") ? 0 : 1);
    return pid > 0 && waitpid(pid, &code, 0) == pid && code == 0;
}

TEST_FILE
{
    if (!can_mount()) {
        puts("skipped: a small file system needs the right to mount");
        return 0;
    }
    Suite *suite = suite_create("snapshotter_full");
    TCase *tcase = tcase_create("full");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, opened, closed);
    tcase_add_test(tcase, test_remove);
    tcase_add_test(tcase, test_start);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
