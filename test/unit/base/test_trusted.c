/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/base/system/trusted.c, spawn.c: programs that another user could have put in place do not
 * run, however they are reached. As root, since another user is needed. */
#include "lib/base/system/spawn.h"
#include "lib/base/system/trusted.c"

#include "test/unit/core_util.h"
#include "test/unit/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static char base[64];
static struct ocv_error err;

static const char *in(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, 256, "%s/%s", base, name);
    return path;
}

static void make_dir(const char *name, mode_t mode, uid_t owner)
{
    ck_assert_int_eq(mkdir(in(name), 0700), 0);
    ck_assert_int_eq(chown(in(name), owner, owner), 0);
    ck_assert_int_eq(chmod(in(name), mode), 0);
}

static void make_script(const char *name, const char *text)
{
    int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, 0755), 0);
    close(fd);
}

static void make_link(const char *target, const char *name, uid_t owner)
{
    ck_assert_int_eq(symlink(target, in(name)), 0);
    ck_assert_int_eq(lchown(in(name), owner, owner), 0);
}

/* Its exit status, or minus the errno of the start. */
static int run(const char *path)
{
    const char *argv[] = {path, "x", NULL};
    const struct ocv_spawn_program program = {.path = path,
                                              .argv = argv,
                                              .in = -1,
                                              .out = -1,
                                              .errors = -1,
                                              .confined = true,
                                              .trusted = true};
    pid_t pid;
    int status, code = ocv_spawn_start(&program, &pid);
    if (code)
        return -code;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void check_refused(const char *name, const char *why)
{
    int fd;
    bool script;
    ck_assert_msg(ocv_trusted_program(in(name), &fd, &script, &err) == OCV_ERR_CONFIG, "%s", name);
    ck_assert_msg(strstr(err.message, why) != NULL, "%s: %s", name, err.message);
    ck_assert_int_eq(run(in(name)), -EACCES);
}

static void setup(void)
{
    snprintf(base, sizeof(base), "/tmp/ocv-trusted-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    ck_assert_int_eq(chmod(base, 0755), 0);
    make_dir("good", 0755, 0);
    make_script("good/seven", "#!/bin/sh\n[ \"$1\" = x ] && exit 7\n"); /* /bin may be a link */
}

static void teardown(void)
{
    const char *argv[] = {"rm", "-rf", base, NULL};
    pid_t pid;
    ck_assert_int_eq(ocv_spawn(argv, -1, -1, -1, &pid), 0);
    waitpid(pid, NULL, 0);
}

START_TEST(ours_runs)
{
    ck_assert_int_eq(run(in("good/seven")), 7);
    ck_assert_int_eq(run("/bin/true"), 0);
    make_dir("shared", 01777, 0); /* like /tmp: what is in it cannot be exchanged by others */
    make_dir("shared/mine", 0755, 0);
    make_link("../../good/../good/./seven", "shared/mine/relative", 0);
    make_link(in("good/seven"), "shared/absolute", 0);
    ck_assert_int_eq(run(in("shared/mine/relative")), 7);
    ck_assert_int_eq(run(in("shared/absolute")), 7);
    ck_assert_int_eq(chdir(in("good")), 0);
    ck_assert_int_eq(run("./seven"), 7);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* A script is read from the descriptor that was checked; of a missing one the errno says so. */
START_TEST(a_script_runs_by_its_descriptor)
{
    make_script("good/where", "#!/bin/sh\ncase $0 in /dev/fd/*) exit 9;; esac\nexit 1\n");
    ck_assert_int_eq(run(in("good/where")), 9);
    make_script("good/env", "#!/usr/bin/env sh\nexit 8\n");
    ck_assert_int_eq(run(in("good/env")), 8);
    ck_assert_int_eq(run(in("good/none")), -ENOENT);
    ck_assert_int_eq(run(in("none/where")), -ENOENT);
    make_script("good/lost", "#!/none/sh\n"); /* the script is there: not ENOENT */
    check_refused("good/lost", strerror(ENOENT));
    make_dir("closed", 0700, 0);
    make_dir("closed/bin", 0755, 0);
    make_script("closed/bin/a", "#!/bin/sh\n");
    pid_t other = fork();
    ck_assert_int_ge(other, 0);
    if (other == 0) {
        int fd = -1;
        bool script, told = setuid(NOBODY) == 0;
        told = told && ocv_trusted_program(in("closed/bin/a"), &fd, &script, &err) < 0 &&
               strstr(err.message, strerror(EACCES)) &&
               ocv_trusted_program(in("good/none"), &fd, &script, &err) == OCV_ERR_NOT_FOUND &&
               strstr(err.message, strerror(ENOENT));
        _exit(told ? 0 : 1);
    }
    int code = -1;
    ck_assert_int_eq(waitpid(other, &code, 0), other);
    ck_assert_int_eq(code, 0);
}
END_TEST

/* What is neither ELF nor a script is given to programs of binfmt_misc: here a directory like it.
 */
START_TEST(who_reads_other_formats_is_looked_at)
{
    char text[512];
    make_dir("formats", 0755, 0);
    make_dir("theirs", 0755, NOBODY);
    make_script("theirs/reader", "");
    make_script("formats/register", "enabled\ninterpreter /nowhere\n");
    make_script("formats/status", "enabled");
    make_script("formats/good", "enabled\ninterpreter /bin/sh\nflags: OC\noffset 0\nmagic 4d5a\n");
    ck_assert_int_eq(check_formats(in("formats"), 0, &err), OCV_OK);
    ck_assert_int_eq(check_formats(in("none"), 0, &err), OCV_OK);
    static const struct {
        const char *head, *tail;
        bool refused;
    } entries[] = {{"enabled", "flags: \n", true},
                   {"enabled", "flags: OCF\n", false},
                   {"disabled", "flags: \n", false},
                   {"enabled", "flags: P\nextension .F\n", true}};
    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
        snprintf(text, sizeof(text), "%s\ninterpreter %s\n%s", entries[i].head, in("theirs/reader"),
                 entries[i].tail);
        make_script("formats/bad", text);
        int status = check_formats(in("formats"), 0, &err);
        ck_assert_msg((status < 0) == entries[i].refused, "%zu", i);
    }
    make_script("good/other", "MZ neither\n"); /* the kernel knows no such format here */
    int code = run(in("good/other"));
    ck_assert_msg(code == -ENOEXEC || code == -EACCES, "%d", code);
}
END_TEST

START_TEST(what_another_could_have_put_there_does_not)
{
    int fd;
    make_dir("theirs", 0755, NOBODY);
    make_dir("theirs/bin", 0755, 0);
    make_script("theirs/bin/a", "#!/bin/sh\n");
    check_refused("theirs/bin/a", "/theirs: does not belong to root");
    make_dir("open", 0777, 0);
    make_dir("open/bin", 0755, 0);
    make_script("open/bin/a", "#!/bin/sh\n");
    check_refused("open/bin/a", "/open: its group may write to it");
    make_dir("sticky", 01777, 0);
    make_script("sticky/a", "#!/bin/sh\n");
    check_refused("sticky/a", "/sticky: its group may write to it");
    make_link(in("good/seven"), "theirs/link", 0);
    check_refused("theirs/link", "/theirs: ");
    make_link(in("good/seven"), "good/link", NOBODY);
    check_refused("good/link", "/good/link: does not belong to root");
    make_link(in("theirs/link"), "good/through", 0);
    check_refused("good/through", "/theirs: ");
    make_link(in("theirs/bin"), "good/bin", 0);
    check_refused("good/bin/a", "/theirs: ");
    char text[128];
    snprintf(text, sizeof(text), "#! %s\n", in("theirs/bin/a"));
    make_script("good/interpreted", text);
    check_refused("good/interpreted", "/theirs: ");
    make_script("good/relative", "#!sh\n");
    check_refused("good/relative", "its interpreter");
    make_link("loop", "good/loop", 0);
    check_refused("good/loop", strerror(ELOOP));
    check_refused("good", "file type");
    ck_assert_int_eq(chmod(in("good/seven"), 0644), 0);
    check_refused("good/seven", strerror(EACCES));
    ck_assert_int_eq(ocv_trusted_open(in("good/none"), S_IFREG, &fd, &err), OCV_ERR_NOT_FOUND);
    ck_assert_int_eq(ocv_trusted_open(in("theirs/bin"), S_IFDIR, &fd, &err), OCV_ERR_CONFIG);
    ck_assert_int_eq(ocv_trusted_open(in("good"), S_IFDIR, &fd, &err), OCV_OK);
    close(fd);
}
END_TEST

static unsigned rounds_of_exchange(void)
{
    return tenth() == 1 ? 10000 : 500;
}

/* The directory's own directory is another user's, who exchanges it all the time. */
START_TEST(what_is_exchanged_does_not_run)
{
    char good[256], bad[256];
    unsigned rounds = rounds_of_exchange();
    make_dir("theirs", 0755, NOBODY);
    make_dir("theirs/bin", 0755, 0);
    make_script("theirs/bin/a", "#!/bin/sh\nexit 1\n");
    make_dir("theirs/other", 0755, NOBODY);
    make_script("theirs/other/a", "#!/bin/sh\nexit 66\n");
    make_link(in("theirs/bin/a"), "good/link", 0);
    snprintf(good, sizeof(good), "%s", in("theirs/bin"));
    snprintf(bad, sizeof(bad), "%s", in("theirs/other"));
    pid_t other = fork();
    ck_assert_int_ge(other, 0);
    if (other == 0) {
        if (setuid(NOBODY) < 0)
            _exit(1);
        for (;;)
            syscall(SYS_renameat2, AT_FDCWD, good, AT_FDCWD, bad, 2 /* RENAME_EXCHANGE */);
    }
    for (unsigned i = 0; i < rounds; i++)
        ck_assert_int_eq(run(in(i % 2 ? "theirs/bin/a" : "good/link")), -EACCES);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}
END_TEST

/* The directory is open to all for moments, in which another user exchanges the program; what was
 * checked before such a moment is what runs after it. */
START_TEST(what_is_exchanged_after_the_check_does_not_run)
{
    char good[256], bad[256];
    unsigned ran = 0, rounds = rounds_of_exchange();
    make_dir("open", 0755, 0);
    make_script("open/a", "#!/bin/sh\nexit 7\n");
    make_dir("theirs", 0755, NOBODY);
    make_script("theirs/a", "#!/bin/sh\nexit 66\n");
    ck_assert_int_eq(chown(in("theirs/a"), NOBODY, NOBODY), 0);
    snprintf(good, sizeof(good), "%s", in("open/a"));
    snprintf(bad, sizeof(bad), "%s", in("theirs/a"));
    pid_t opener = fork();
    if (opener == 0)
        for (;;) {
            (void)!chmod(in("open"), 0777);
            (void)!chmod(in("open"), 0755);
        }
    pid_t other = fork();
    if (other == 0) {
        if (setuid(NOBODY) < 0)
            _exit(1);
        for (;;)
            syscall(SYS_renameat2, AT_FDCWD, good, AT_FDCWD, bad, 2 /* RENAME_EXCHANGE */);
    }
    ck_assert(opener > 0 && other > 0);
    for (unsigned i = 0; i < rounds || (ran == 0 && i < 100 * rounds); i++) {
        int code = run(good);
        /* ENOENT: looked for in the middle of an exchange */
        ck_assert_msg(code == 7 || code == -EACCES || code == -ENOENT, "%d", code);
        ran += code == 7;
    }
    kill(opener, SIGKILL);
    kill(other, SIGKILL);
    waitpid(opener, NULL, 0);
    waitpid(other, NULL, 0);
    ck_assert_uint_gt(ran, 0);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("trusted");
    TCase *tcase = tcase_create("trusted");
    if (geteuid() != 0)
        puts("skipped: only root can make another user's files");
    else
        tcase_add_checked_fixture(tcase, setup, teardown);
    static const TTest *const *const tests[] = {&ours_runs,
                                                &a_script_runs_by_its_descriptor,
                                                &who_reads_other_formats_is_looked_at,
                                                &what_another_could_have_put_there_does_not,
                                                &what_is_exchanged_does_not_run,
                                                &what_is_exchanged_after_the_check_does_not_run};
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests) && geteuid() == 0; i++)
        tcase_add_test(tcase, *tests[i]);
    tcase_set_timeout(tcase, 120);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
