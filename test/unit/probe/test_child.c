/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that crash, hang, flood, or are none: each is reported with its reason, and nothing of
 * it stays. The programs are shell scripts written here. */
#include "lib/probe/host/host.h"
#include "test/unit/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[] = "/tmp/ocv-child.XXXXXX";

static void make_directory(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_directory(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

static const char *path_of(const char *name)
{
    static _Thread_local char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

/* Write a program. A shell forks it into being, so that no test program that forks meanwhile holds
 * it open for writing ("text file busy"). */
static const char *script(const char *name, const char *text, mode_t mode)
{
    const char *path = path_of(name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
    return path;
}

static const char *program(const char *name, const char *text)
{
    char all[4096];
    snprintf(all, sizeof(all), "#!/bin/sh\n%s\n", text);
    return script(name, all, 0755);
}

struct answer {
    int status;
    struct ocv_buffer out;
    struct ocv_error err;
};

/* Without limits: patient, as the machine may be busy. */
static struct answer run(const char *path, const struct ocv_child_limits *limits)
{
    static const struct ocv_child_limits patient = {.timeout_ms = 60000};
    struct answer a = {0};
    ocv_buffer_init(&a.out, 64u << 20);
    const char *argv[] = {path, "one", "two words", NULL};
    a.status = ocv_child_run(path, argv, limits ? limits : &patient, &a.out, &a.err);
    if (!a.out.data)
        a.out.data = calloc(1, 1);
    return a;
}

static const struct ocv_child_limits brief = {.timeout_ms = 300};
/* long enough for a shell to say who it is */
static const struct ocv_child_limits two_seconds = {0};

static size_t open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;
    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void expect_nobody_left(void)
{
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* neither running nor a zombie */
}

/* True once the process whose number is in that file has ended. */
static bool gone(const char *file)
{
    FILE *f = fopen(path_of(file), "r");
    int pid = 0;
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%d", &pid), 1);
    fclose(f);
    for (int i = 0; i < 2000; i++) {
        char stat[64], state = 'Z';
        snprintf(stat, sizeof(stat), "/proc/%d/stat", pid);
        f = fopen(stat, "r");
        if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1 || state == 'Z') {
            if (f)
                fclose(f);
            return true; /* whoever adopts orphans here may be slow to reap */
        }
        fclose(f);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

START_TEST(answer_and_arguments)
{
    struct answer a = run(program("p", "echo \"$#|$1|$2\"; echo noise >&2; cat"), NULL);
    ck_assert_int_eq(a.status, OCV_OK);
    ck_assert_str_eq(a.out.data, "2|one|two words\n");
    ocv_buffer_free(&a.out);
    ocv_buffer_init(&a.out, 100);
    ck_assert_int_eq(ocv_buffer_append(&a.out, "before,", 7, NULL), OCV_OK);
    const char *argv[] = {"p", NULL};
    ck_assert_int_eq(ocv_child_run(program("p", "echo after"), argv, NULL, &a.out, NULL), OCV_OK);
    ck_assert_str_eq(a.out.data, "before,after\n");
    /* what fails leaves the buffer as it was */
    ck_assert_int_eq(ocv_child_run(program("p", "echo after; exit 1"), argv, NULL, &a.out, NULL),
                     OCV_ERR_IO);
    ck_assert_str_eq(a.out.data, "before,after\n");
    ocv_buffer_free(&a.out);
    expect_nobody_left();
}
END_TEST

START_TEST(silence_is_an_answer)
{
    struct answer a = run(program("p", ":"), NULL);
    ck_assert_int_eq(a.status, OCV_OK);
    ck_assert_uint_eq(a.out.len, 0);
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(closed_output_is_not_the_end)
{
    struct answer a = run(program("p", "echo all; exec >&- 2>&-; sleep 0.05; exit 4"), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_IO);
    ck_assert_str_eq(a.err.message, "exit status 4");
    ocv_buffer_free(&a.out);
    a = run(program("p", "exec >&- 2>&-; sleep 60"), &brief);
    ck_assert_str_eq(a.err.message, "did not answer within 300 ms");
    ocv_buffer_free(&a.out);
    expect_nobody_left();
}
END_TEST

START_TEST(crash)
{
    struct answer a = run(program("p", "echo half; echo last words >&2; kill -SEGV $$"), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_IO);
    ck_assert_str_eq(a.err.message, "killed by signal 11 (Segmentation fault): last words");
    ck_assert_str_eq(a.out.data, "");
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(exit_status)
{
    struct answer a =
        run(program("p", "echo x; echo; printf 'no \\033[31m card\\nmore\\n' >&2; exit 3"), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_IO);
    ck_assert_str_eq(a.err.message, "exit status 3: no ?[31m card");
    ocv_buffer_free(&a.out);
    a = run(program("p", "exit 7"), NULL);
    ck_assert_str_eq(a.err.message, "exit status 7");
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(hang)
{
    /* the shell is replaced, so that the number is the sleeper's */
    struct answer a = run(
        program("p", "trap '' TERM INT HUP; echo $$ >\"${0%/*}/pid\"; while :; do sleep 9; done"),
        &two_seconds);
    ck_assert_int_eq(a.status, OCV_ERR_IO);
    ck_assert_str_eq(a.err.message, "did not answer within 2 s");
    ck_assert(gone("pid"));
    expect_nobody_left();
    ocv_buffer_free(&a.out);
    a = run(program("p", "sleep 60"), &(struct ocv_child_limits){.timeout_ms = 1000});
    ck_assert_str_eq(a.err.message, "did not answer within 1 s");
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(grandchild_holds_the_pipe)
{
    /* its parent has answered: the answer counts, and the one left behind is killed */
    struct answer a = run(
        program("p", "echo answer; (trap '' TERM; sleep 60) & echo $! >\"${0%/*}/pid\"; exit 0"),
        &(struct ocv_child_limits){.timeout_ms = 30000});
    ck_assert_int_eq(a.status, OCV_OK);
    ck_assert_str_eq(a.out.data, "answer\n");
    ck_assert(gone("pid"));
    ocv_buffer_free(&a.out);
    /* late together: both are killed */
    a = run(program("p", "sleep 60 & echo $! >\"${0%/*}/pid\"; wait"), &two_seconds);
    ck_assert_str_eq(a.err.message, "did not answer within 2 s");
    ck_assert(gone("pid"));
    ocv_buffer_free(&a.out);
    expect_nobody_left();
}
END_TEST

START_TEST(own_session_is_not_waited_for)
{
    unlink(path_of("pid")); /* another test's would be taken for this one's */
    struct answer a = run(
        program("p", "setsid sh -c 'echo $$ >\"$0\"; exec sleep 60' \"${0%/*}/pid\" & "
                     "while ! [ -s \"${0%/*}/pid\" ]; do sleep 0.01; done; echo answer; exit 0"),
        &(struct ocv_child_limits){.timeout_ms = 30000});
    ck_assert_int_eq(a.status, OCV_OK);
    ck_assert_str_eq(a.out.data, "answer\n");
    FILE *f = fopen(path_of("pid"), "r");
    int pid = 0;
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%d", &pid), 1);
    fclose(f);
    kill(pid, SIGKILL);
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(too_much_output)
{
    struct answer a = run(program("p", "exec head -c 100000000 /dev/zero"), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_IO);
    ck_assert_str_eq(a.err.message, "printed more than 1048576 bytes");
    ck_assert_uint_eq(a.out.len, 0);
    ck_assert_uint_le(a.out.cap, 2u << 20); /* never held in memory */
    ocv_buffer_free(&a.out);
    a = run(program("p", "exec head -c 1048576 /dev/zero"), NULL); /* the limit itself */
    ck_assert_int_eq(a.status, OCV_OK);
    ck_assert_uint_eq(a.out.len, 1048576);
    ocv_buffer_free(&a.out);
    a = run(program("p", "exec head -c 1048577 /dev/zero"), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_IO);
    ocv_buffer_free(&a.out);
    a = run(program("p", "exec yes"), &(struct ocv_child_limits){.output_max = 10});
    ck_assert_str_eq(a.err.message, "printed more than 10 bytes");
    ocv_buffer_free(&a.out);
    /* the buffer's own limit holds as well */
    struct ocv_buffer small;
    ocv_buffer_init(&small, 5);
    const char *argv[] = {"p", NULL};
    ck_assert_int_eq(ocv_child_run(program("p", "exec yes"), argv, NULL, &small, NULL),
                     OCV_ERR_DATA);
    ocv_buffer_free(&small);
    expect_nobody_left();
}
END_TEST

START_TEST(too_much_of_stderr)
{
    struct answer a = run(program("p", "head -c 5000000 /dev/zero | tr '\\0' x >&2; echo fine"),
                          &(struct ocv_child_limits){.timeout_ms = 30000});
    ck_assert_int_eq(a.status, OCV_OK);
    ck_assert_str_eq(a.out.data, "fine\n");
    ocv_buffer_free(&a.out);
    a = run(program("p", "exec yes >&2"), &brief);
    ck_assert_str_eq(a.err.message, "did not answer within 300 ms");
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(not_a_program)
{
    struct answer a = run(path_of("missing"), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_NOT_FOUND);
    ck_assert_str_eq(a.err.message, "cannot be run: No such file or directory");
    ocv_buffer_free(&a.out);
    a = run(script("plain", "#!/bin/sh\n", 0644), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_NOT_FOUND);
    ck_assert_str_eq(a.err.message, "cannot be run: Permission denied");
    ocv_buffer_free(&a.out);
    a = run(script("garbage", "\x01\x02\x03 no program", 0755), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_NOT_FOUND);
    ck_assert_str_eq(a.err.message, "cannot be run: Exec format error");
    ocv_buffer_free(&a.out);
    a = run(script("lost", "#!/no/such/interpreter\n", 0755), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_NOT_FOUND);
    ocv_buffer_free(&a.out);
    a = run(directory, NULL);
    ck_assert_int_eq(a.status, OCV_ERR_NOT_FOUND);
    ocv_buffer_free(&a.out);
    expect_nobody_left();
}
END_TEST

START_TEST(environment)
{
    setenv("OCV_SECRET", "1", 1);
    setenv("LD_LIBRARY_PATH", "/nonexistent/vendor", 1);
    setenv("LANG", "de_DE.UTF-8", 1);
    struct answer a = run("/usr/bin/env", NULL);
    ck_assert_int_ne(a.status, OCV_OK); /* "one" is not a program */
    ocv_buffer_free(&a.out);
    a = run(program("p", "env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD= | sort"), NULL);
    ck_assert_str_eq(a.out.data,
                     "LANG=C\nLC_ALL=C\nLD_LIBRARY_PATH=/nonexistent/vendor\n"
                     "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
    ocv_buffer_free(&a.out);
    unsetenv("LD_LIBRARY_PATH");
    a = run(program("p", "echo \"${LD_LIBRARY_PATH-none}\""), NULL);
    ck_assert_str_eq(a.out.data, "none\n");
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(confinement)
{
    signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* without O_CLOEXEC, as another library may have it; the shell's own ones are below 20 */
    int leak = fcntl(0, F_DUPFD, 20);
    ck_assert_int_ge(leak, 20);
    struct answer a =
        run(program("p", "grep -E '^(NoNewPrivs|SigBlk|SigIgn):' /proc/self/status | tr -d ' \\t'\n"
                         "ulimit -c; ulimit -f; ulimit -n; ulimit -t\n"
                         "echo leaked $(ls /proc/$$/fd | grep -c '^2[0-9]')\n"
                         "[ \"$(cut -d' ' -f5 /proc/$$/stat)\" = $$ ] && echo own group\n"
                         "readlink /proc/$$/fd/0"),
            &two_seconds);
    ck_assert_str_eq(a.out.data, "SigBlk:0000000000000000\nSigIgn:0000000000000000\nNoNewPrivs:1\n"
                                 "0\n2048\n256\n4\nleaked 0\nown group\n/dev/null\n");
    ck_assert_int_eq(a.status, OCV_OK);
    ocv_buffer_free(&a.out);
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    ck_assert_int_eq(sigismember(&now, SIGTERM), 1); /* ours is as it was */
    close(leak);
}
END_TEST

START_TEST(limits_bite)
{
    struct answer a =
        run(program("p", "head -c 3000000 /dev/zero >\"${0%/*}/big\" || exit 5"), NULL);
    ck_assert_int_eq(a.status, OCV_ERR_IO);
    struct stat st;
    ck_assert_int_eq(stat(path_of("big"), &st), 0);
    ck_assert_int_le(st.st_size, OCV_CHILD_FILE_MAX);
    ocv_buffer_free(&a.out);
#ifndef OCV_SANITIZED
    /* a line of 64 MB has to be held by whoever reads lines */
    a = run(program("p", "head -c 64000000 /dev/zero | tr '\\0' x | sort | wc -c"),
            &(struct ocv_child_limits){.timeout_ms = 30000, .memory_max = 32u << 20});
    ck_assert_str_ne(a.out.data, "64000001\n");
    ocv_buffer_free(&a.out);
    a = run(program("p", "head -c 64000000 /dev/zero | tr '\\0' x | sort -S 1M | wc -c"),
            &(struct ocv_child_limits){.timeout_ms = 60000});
    ck_assert_str_eq(a.out.data, "64000001\n");
    ocv_buffer_free(&a.out);
    /* memory is limited as well where addresses are not */
    a = run(program("p", "head -c 64000000 /dev/zero | tr '\\0' x | sort | wc -c"),
            &(struct ocv_child_limits){.timeout_ms = 30000, .memory_max = 32u << 20, .wide = true});
    ck_assert_str_ne(a.out.data, "64000001\n");
    ocv_buffer_free(&a.out);
    a = run(program("p", "ulimit -v; ulimit -d"),
            &(struct ocv_child_limits){.memory_max = 64u << 20, .wide = true});
    ck_assert_str_eq(a.out.data, "unlimited\n65536\n");
    ocv_buffer_free(&a.out);
    a = run(program("p", "ulimit -v; ulimit -d"), NULL);
    ck_assert_str_eq(a.out.data, "4194304\n4194304\n");
    ocv_buffer_free(&a.out);
#endif
}
END_TEST

START_TEST(without_standard_descriptors)
{
    close(0);
    close(1);
    close(2);
    struct answer a = run(program("p", "cat; echo out; echo err >&2; exit 6"), NULL);
    ck_assert_str_eq(a.err.message, "exit status 6: err");
    ocv_buffer_free(&a.out);
    a = run(program("p", "cat; echo out"), NULL);
    ck_assert_str_eq(a.out.data, "out\n");
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(caller_ignores_children)
{
    signal(SIGCHLD, SIG_IGN); /* the kernel reaps, the exit status is lost */
    struct answer a = run(program("p", "echo fine"), NULL);
    ck_assert_int_eq(a.status, OCV_OK);
    ck_assert_str_eq(a.out.data, "fine\n");
    ocv_buffer_free(&a.out);
    a = run(program("p", "sleep 60"), &brief);
    ck_assert_str_eq(a.err.message, "did not answer within 300 ms");
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(no_descriptors_left_to_use)
{
    struct rlimit few = {.rlim_cur = 8, .rlim_max = 8};
    const char *path = program("p", "echo fine");
    char copy[128];
    snprintf(copy, sizeof(copy), "%s", path);
    size_t before = open_descriptors();
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct answer a = run(copy, NULL);
    ck_assert_int_eq(a.status, OCV_ERR_IO);
    ck_assert_str_eq(a.err.message, "cannot start a program: Too many open files");
    ck_assert_uint_eq(open_descriptors(), before);
    ocv_buffer_free(&a.out);
}
END_TEST

START_TEST(nothing_stays)
{
    const char *const texts[] = {"echo fine", "exit 1", "kill -SEGV $$", "sleep 60 & echo answer",
                                 "head -c 2000000 /dev/zero"};
    enum { KINDS = sizeof(texts) / sizeof(*texts) };
    char names[KINDS][8];
    for (size_t i = 0; i < KINDS; i++) {
        snprintf(names[i], sizeof(names[i]), "p%zu", i);
        program(names[i], texts[i]);
    }
    size_t before = open_descriptors();
    for (size_t i = 0; i < 200; i++) {
        struct answer a = run(i % 50 == 49 ? path_of("missing") : path_of(names[i % KINDS]),
                              &(struct ocv_child_limits){.timeout_ms = 30000});
        ck_assert_int_eq(a.status, i % 50 == 49                       ? OCV_ERR_NOT_FOUND
                                   : i % KINDS == 0 || i % KINDS == 3 ? OCV_OK
                                                                      : OCV_ERR_IO);
        ocv_buffer_free(&a.out);
    }
    ck_assert_uint_eq(open_descriptors(), before);
    expect_nobody_left();
}
END_TEST

START_TEST(several_at_once)
{
    const char *const texts[] = {"sleep 60", "sleep 60", "echo fine", "exit 2", "sleep 60"};
    enum { N = sizeof(texts) / sizeof(*texts) + 1 };
    struct ocv_child children[N] = {0};
    struct ocv_buffer out[N];
    char paths[N][128];
    const char *const argv[] = {"p", NULL};
    for (size_t i = 0; i < N; i++) {
        char name[8];
        snprintf(name, sizeof(name), "p%zu", i);
        snprintf(paths[i], sizeof(paths[i]), "%s",
                 i < N - 1 ? program(name, texts[i]) : path_of("missing"));
        ocv_buffer_init(&out[i], 1000);
        children[i] = (struct ocv_child){
            .path = paths[i], .argv = argv, .limits = &two_seconds, .out = &out[i]};
    }
    ocv_child_run_all(children, N);
    ck_assert_str_eq(children[0].error.message, "did not answer within 2 s");
    ck_assert_str_eq(children[1].error.message, "did not answer within 2 s");
    ck_assert_int_eq(children[2].status, OCV_OK);
    ck_assert_str_eq(out[2].data, "fine\n");
    ck_assert_str_eq(children[3].error.message, "exit status 2");
    ck_assert_str_eq(children[4].error.message, "did not answer within 2 s");
    ck_assert_int_eq(children[5].status, OCV_ERR_NOT_FOUND);
    for (size_t i = 0; i < N; i++)
        ocv_buffer_free(&out[i]);
    ocv_child_run_all(NULL, 0);
    expect_nobody_left();
}
END_TEST

struct worker {
    pthread_t thread;
    char path[128];
    size_t good;
};

static void *work(void *data)
{
    struct worker *w = data;
    const char *const argv[] = {w->path, NULL};
    for (int i = 0; i < 20; i++) {
        struct ocv_buffer out;
        struct ocv_error err = {0};
        ocv_buffer_init(&out, 1000);
        int status = ocv_child_run(w->path, argv, &(struct ocv_child_limits){.timeout_ms = 60000},
                                   &out, &err);
        if (status == OCV_OK && out.len == strlen(w->path) + 1 &&
            memcmp(out.data, w->path, out.len - 1) == 0)
            w->good++;
        ocv_buffer_free(&out);
    }
    return NULL;
}

START_TEST(from_threads)
{
    struct worker workers[6] = {0};
    size_t before = open_descriptors();
    for (size_t i = 0; i < 6; i++) {
        char name[8];
        snprintf(name, sizeof(name), "t%zu", i);
        snprintf(workers[i].path, sizeof(workers[i].path), "%s", program(name, "echo \"$0\""));
    }
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (size_t i = 0; i < 6; i++) {
        pthread_join(workers[i].thread, NULL);
        ck_assert_uint_eq(workers[i].good, 20);
    }
    ck_assert_uint_eq(open_descriptors(), before);
    expect_nobody_left();
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("child");
    TCase *tc = tcase_create("child");
    tcase_add_unchecked_fixture(tc, make_directory, remove_directory);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, answer_and_arguments);
    tcase_add_test(tc, silence_is_an_answer);
    tcase_add_test(tc, closed_output_is_not_the_end);
    tcase_add_test(tc, crash);
    tcase_add_test(tc, exit_status);
    tcase_add_test(tc, hang);
    tcase_add_test(tc, grandchild_holds_the_pipe);
    tcase_add_test(tc, own_session_is_not_waited_for);
    tcase_add_test(tc, too_much_output);
    tcase_add_test(tc, too_much_of_stderr);
    tcase_add_test(tc, not_a_program);
    tcase_add_test(tc, environment);
    tcase_add_test(tc, confinement);
    tcase_add_test(tc, limits_bite);
    tcase_add_test(tc, without_standard_descriptors);
    tcase_add_test(tc, caller_ignores_children);
    tcase_add_test(tc, no_descriptors_left_to_use);
    tcase_add_test(tc, nothing_stays);
    tcase_add_test(tc, several_at_once);
    tcase_add_test(tc, from_threads);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
