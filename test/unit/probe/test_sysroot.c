/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/files/sysroot.c: kinds of files, and limits of the way without openat2(2). Escapes:
 * test_probe_tree.c and sysroot.bats. */
#include "lib/probe/files/sysroot.h"
#include "test/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[] = "/tmp/ocv-sysroot.XXXXXX";
static int root = -1;

static void make_tree(void)
{
    ck_assert_ptr_nonnull(mkdtemp(top));
    ck_assert_int_eq(ocv_sysroot_open(top, &root, NULL), OCV_OK);
    int fd = openat(root, "plain", O_WRONLY | O_CREAT, 0644);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "inside\n", 7), 7);
    close(fd);
}

static void remove_tree(void)
{
    char command[64];
    close(root);
    snprintf(command, sizeof(command), "rm -rf %s", top);
    ck_assert_int_eq(system(command), 0);
}

static void expect_plain(void)
{
    char line[16];
    int fd = ocv_sysroot_file(root, "plain");
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(read(fd, line, sizeof(line)), 7);
    close(fd);
    ck_assert(ocv_sysroot_line(root, "plain", line, sizeof(line)));
    ck_assert_str_eq(line, "inside");
}

/* Make one of each kind; false if this user may not. */
static bool make_kind(const char *name)
{
    if (strcmp(name, "fifo") == 0)
        return mkfifoat(root, name, 0666) == 0;
    if (strcmp(name, "directory") == 0)
        return mkdirat(root, name, 0755) == 0;
    if (strcmp(name, "device") == 0)
        return mknodat(root, name, S_IFCHR | 0666, makedev(1, 5)) == 0;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", top, name);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool made = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return made;
}

START_TEST(only_regular_files_are_opened)
{
    static const char *const kinds[] = {"fifo", "directory", "device", "socket"};
    char events[4096], path[128];
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 100);
    expect_plain();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (!make_kind(kinds[i])) {
            printf("skipped: %s cannot be made here\n", kinds[i]);
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", top, kinds[i]);
        int watch = inotify_init1(IN_NONBLOCK);
        ck_assert_int_ge(inotify_add_watch(watch, path, IN_OPEN), 0);
        ck_assert_int_eq(ocv_sysroot_file(root, kinds[i]), -1);
        ck_assert_int_eq(errno, EBADFD);
        ck_assert_int_eq(ocv_sysroot_read(root, kinds[i], &text, &err), OCV_ERR_IO);
        ck_assert_ptr_nonnull(strstr(err.message, "not a regular file"));
        ck_assert_int_eq(read(watch, events, sizeof(events)), -1); /* not even opened */
        close(watch);
    }
    ck_assert_int_eq(ocv_sysroot_file(root, "none"), -1);
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* As in a container whose /proc was not mounted. */
START_TEST(without_proc)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) < 0) {
        printf("skipped: /proc cannot be hidden from this test: %s\n", strerror(errno));
        return;
    }
    expect_plain();
    ck_assert(make_kind("fifo"));
    ck_assert_int_eq(ocv_sysroot_file(root, "fifo"), -1);
    ck_assert_int_eq(errno, EBADFD);
    ck_assert_int_eq(umount2("/proc", MNT_DETACH), 0); /* LeakSanitizer asks it at the end */
}
END_TEST

START_TEST(no_descriptor_stays)
{
    ck_assert(make_kind("fifo"));
    int before = dup(root);
    close(before);
    for (int i = 0; i < 100; i++) {
        expect_plain();
        ck_assert_int_eq(ocv_sysroot_file(root, "fifo"), -1);
        ck_assert_int_eq(ocv_sysroot_file(root, "none"), -1);
        ck_assert_int_eq(ocv_sysroot_walk(root, "plain/below", O_PATH), -1);
    }
    int after = dup(root);
    close(after);
    ck_assert_int_eq(after, before);
}
END_TEST

/* A rename or a mount anywhere on the machine leaves the kernel unsure whether ".." left the root:
 * where containers come and go it is so all the time. */
START_TEST(while_others_rename)
{
    ck_assert_int_eq(mkdirat(root, "devices", 0700), 0);
    ck_assert_int_eq(mkdirat(root, "bus", 0700), 0);
    ck_assert_int_eq(symlinkat("../bus/../bus/../bus/../plain", root, "bus/link"), 0);
    pid_t child = fork();
    while (child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) {
        (void)renameat(root, "devices", root, "gadgets");
        (void)renameat(root, "gadgets", root, "devices");
    }
    ck_assert_int_gt(child, 0);
    for (int i = 0; i < 20000; i++) {
        int fd = ocv_sysroot_openat(root, "bus/link", O_RDONLY);
        ck_assert_msg(fd >= 0, "%d: %s", i, strerror(errno));
        close(fd);
    }
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

static void expect_walk(const char *path, bool found, int why)
{
    int fd = ocv_sysroot_walk(root, path, O_PATH);
    ck_assert_msg((fd >= 0) == found, "%.40s...: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    else
        ck_assert_int_eq(errno, why);
}

START_TEST(links_in_a_row)
{
    char from[16], to[16] = "plain";
    for (unsigned i = 1; i <= OCV_SYSROOT_LINKS_MAX + 1; i++) {
        snprintf(from, sizeof(from), "l%u", i);
        ck_assert_int_eq(symlinkat(to, root, from), 0);
        memcpy(to, from, sizeof(to));
        expect_walk(from, i <= OCV_SYSROOT_LINKS_MAX, ELOOP);
    }
}
END_TEST

START_TEST(directories_in_each_other)
{
    char path[4 * OCV_SYSROOT_DEPTH_MAX] = "";
    size_t len = 0;
    for (unsigned i = 0; i <= OCV_SYSROOT_DEPTH_MAX; i++) {
        path[len++] = 'd';
        path[len] = '\0';
        ck_assert_int_eq(mkdirat(root, path, 0755), 0);
        path[len++] = '/';
        path[len] = 'f';
        path[len + 1] = '\0';
        close(openat(root, path, O_WRONLY | O_CREAT, 0644));
        expect_walk(path, i < OCV_SYSROOT_DEPTH_MAX, ENAMETOOLONG);
    }
}
END_TEST

START_TEST(long_names)
{
    char name[NAME_MAX + 2], path[PATH_MAX + 1];
    memset(name, 'n', sizeof(name));
    name[NAME_MAX] = '\0';
    close(openat(root, name, O_WRONLY | O_CREAT, 0644));
    expect_walk(name, true, 0);
    name[NAME_MAX] = 'n';
    name[NAME_MAX + 1] = '\0';
    expect_walk(name, false, ENAMETOOLONG);
    memset(path, '/', sizeof(path));
    memcpy(path + PATH_MAX - 6, "plain", 6);
    expect_walk(path, true, 0); /* PATH_MAX with the final NUL, as the kernel counts */
    memset(path, '/', sizeof(path));
    memcpy(path + PATH_MAX - 5, "plain", 6);
    expect_walk(path, false, ENAMETOOLONG);
}
END_TEST

RUN_TESTS_IN("sysroot", make_tree, remove_tree, only_regular_files_are_opened, without_proc,
             no_descriptor_stays, while_others_rename, links_in_a_row, directories_in_each_other,
             long_names)
