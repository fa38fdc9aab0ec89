/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugins/content/confine.c: a process that is confined as content-scan is tries what that may not
 * do. */
#include "plugins/content/scan.h"
#include "test/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[sizeof("/tmp/ocv-confine-XXXXXX")], own[64], new[64];

static void set_up(void)
{
    snprintf(dir, sizeof(dir), "/tmp/ocv-confine-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir)); /* for its owner alone, like the file */
    snprintf(own, sizeof(own), "%s/own", dir);
    snprintf(new, sizeof(new), "%s/new", dir);
    int fd = open(own, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "text", 4), 4);
    close(fd);
}

static void tear_down(void)
{
    unlink(own);
    unlink(new);
    rmdir(dir);
}

/* What is tried, and how it ends: an errno, or 0. */
enum {
    READ,
    OPEN,
    OVERWRITE,
    CREATE,
    DELETE,
    SOCKET,
    EXECUTE,
    SIGNAL,
    CONTROL,
    FORK,
    SHORTEN,
    TRIED
};

static int ends(long result)
{
    return result < 0 ? errno : 0;
}

/* By the system calls themselves, where libc has several ways. */
static void try_all(int fd, int out[TRIED])
{
    static char *const none[] = {NULL};
    char byte;
    out[READ] = ends(read(fd, &byte, 1));
    out[OPEN] = ends(openat(AT_FDCWD, own, O_RDONLY));
    out[OVERWRITE] = ends(openat(AT_FDCWD, own, O_WRONLY));
    out[CREATE] = ends(openat(AT_FDCWD, new, O_RDONLY | O_CREAT, 0600));
    out[DELETE] = ends(syscall(SYS_unlinkat, AT_FDCWD, own, 0));
    out[SOCKET] = ends(socket(AF_INET, SOCK_STREAM, 0));
    out[EXECUTE] = ends(syscall(SYS_execve, "/proc/self/exe", none, none));
    out[SIGNAL] = ends(kill(getppid(), 0));
    out[CONTROL] = ends(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    out[FORK] = ends(child);
    out[SHORTEN] = ends(ftruncate(fd, 0)); /* opened to read: EINVAL where it may be tried */
}

static pid_t start_confined(enum scan_rights rights, int *out, int said[2])
{
    int fd = open(own, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, said), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        char byte = 0;
        close(said[0]);
        scan_confine(rights);
        try_all(fd, out);
        /* until the parent has looked at it */
        _exit(write(said[1], &byte, 1) == 1 && read(said[1], &byte, 1) == 1 ? 0 : 1);
    }
    close(fd);
    close(said[1]);
    return pid;
}

/* The lines of /proc/PID/status that say who it is. */
static void read_status(pid_t pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* Has this process CAP_DAC_READ_SEARCH? Root of a container often has CAP_DAC_OVERRIDE only. */
static bool may_read_all(void)
{
    char status[8192];
    read_status(getpid(), status, sizeof(status));
    const char *line = strstr(status, "\nCapPrm:\t");
    ck_assert_ptr_nonnull(line);
    return strtoull(line + strlen("\nCapPrm:\t"), NULL, 16) & 4;
}

START_TEST(what_it_may_do)
{
    static const char *const names[TRIED] = {"read",    "open",   "overwrite", "create",
                                             "delete",  "socket", "execute",   "signal",
                                             "control", "fork",   "shorten"};
    bool tree = _i == SCAN_TREE;
    int said[2], wait_status;
    char byte = 0, status[8192];
    int *out = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(out, MAP_FAILED);
    pid_t pid = start_confined((enum scan_rights)_i, out, said);
    ck_assert_int_eq(read(said[0], &byte, 1), 1);
    read_status(pid, status, sizeof(status));
    ck_assert_int_eq(write(said[0], &byte, 1), 1);
    ck_assert_int_eq(waitpid(pid, &wait_status, 0), pid);
    ck_assert_int_eq(wait_status, 0);
    close(said[0]);

    ck_assert_ptr_nonnull(strstr(status, "\nNoNewPrivs:\t1\n"));
    if (geteuid() == 0) {
        ck_assert_ptr_nonnull(strstr(status, "\nUid:\t65534\t65534\t65534\t65534\n"));
        ck_assert_ptr_nonnull(strstr(status, "\nGid:\t65534\t65534\t65534\t65534\n"));
        ck_assert_ptr_nonnull(strstr(status, "\nGroups:\t \n"));
        /* of root's rights, a directory needs CAP_DAC_READ_SEARCH */
        const char *rights = !tree ? "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                             : may_read_all()
                                 ? "CapPrm:\t0000000000000004\nCapEff:\t0000000000000004\n"
                                 : "CapPrm:\t0000000000000002\nCapEff:\t0000000000000002\n";
        ck_assert_msg(strstr(status, rights), "%s", status);
    }
    ck_assert_int_eq(out[READ], 0);
    if (tree)
        ck_assert_msg(out[OPEN] == 0, "a file of the directory: %s", strerror(out[OPEN]));
#ifndef OCV_SANITIZED /* its runtime needs more calls */
    if (strstr(status, "\nSeccomp:\t")) {
        ck_assert_ptr_nonnull(strstr(status, "\nSeccomp:\t2\n"));
        for (int i = tree ? OVERWRITE : OPEN; i < TRIED; i++)
            ck_assert_msg(out[i] == (i == SHORTEN && _i == SCAN_FILES ? EINVAL : EPERM), "%s: %s",
                          names[i], strerror(out[i]));
    }
#endif
    (void)names;
    munmap(out, 4096);
    ck_assert_int_eq(access(own, F_OK), 0);
    ck_assert_int_ne(access(new, F_OK), 0);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("confine");
    TCase *tcase = tcase_create("confine");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, what_it_may_do, 0, 3);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
