/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting programs: what they inherit, and what is said of those that cannot be started. The
 * limits of confined ones: test_child.c. */
#include "lib/base/system/spawn.h"

#include "lib/base/file.h"
#include "test/unit/core_util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char printed[4096];

/* Start it with its output in a pipe, and wait for its end. */
static int run(struct ocv_spawn_program *program)
{
    int ends[2], wait_status = 0;
    pid_t pid = -1;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, sizeof(printed) - 1);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    program->out = ends[1];
    int code = ocv_spawn_start(program, &pid);
    close(ends[1]);
    if (code == 0) {
        ck_assert_int_eq(ocv_fd_read(ends[0], "pipe", &text, NULL), OCV_OK);
        ck_assert_int_eq(waitpid(pid, &wait_status, 0), pid);
    }
    close(ends[0]);
    snprintf(printed, sizeof(printed), "%s", text.data ? text.data : "");
    return code ? -code : WEXITSTATUS(wait_status);
}

static int run_words(const char *const *argv)
{
    struct ocv_spawn_program program = {.argv = argv, .in = -1, .errors = -1};
    return run(&program);
}

START_TEST(test_output)
{
    const char *const echo[] = {"echo", "a  b", "c", NULL}, *const fails[] = {"false", NULL};
    const char *const shell[] = {"/bin/sh", "-c", "cat; echo $OCV_TEST", NULL};
    ck_assert_int_eq(run_words(echo), 0);
    ck_assert_str_eq(printed, "a  b c\n");
    ck_assert_int_eq(run_words(fails), 1);
    setenv("OCV_TEST", "inherited", 1);
    ck_assert_int_eq(run_words(shell), 0);
    ck_assert_str_eq(printed, "inherited\n"); /* and nothing stood on its input */
    const char *const environment[] = {"OCV_TEST=given", NULL};
    struct ocv_spawn_program program = {
        .argv = shell, .environment = environment, .in = -1, .errors = -1};
    ck_assert_int_eq(run(&program), 0);
    ck_assert_str_eq(printed, "given\n");
}
END_TEST

START_TEST(test_errors)
{
    char script[] = "/tmp/ocv-spawn-XXXXXX";
    const char *const missing[] = {"ocv-no-such-program", NULL};
    const char *const nowhere[] = {"/nonexistent/program", NULL}, *const file[] = {script, NULL};
    char path[64];
    ck_assert_int_eq(run_words(missing), -ENOENT);
    ck_assert_int_eq(run_words(nowhere), -ENOENT);
    int fd = mkstemp(script);
    ck_assert(ocv_fd_write(fd, "no program", 10));
    close(fd);
    ck_assert_int_eq(run_words(file), -EACCES);
    ck_assert_int_eq(chmod(script, 0700), 0);
    ck_assert_int_eq(run_words(file), -ENOEXEC);
    unlink(script);
    ck_assert(!ocv_spawn_find(missing[0], path, sizeof(path)));
    ck_assert(!ocv_spawn_find("sh", path, 4)); /* too long for that */
    ck_assert(ocv_spawn_find("sh", path, sizeof(path)));
    ck_assert_int_eq(access(path, X_OK), 0);
    setenv("PATH", "/nonexistent::/", 1);
    ck_assert(!ocv_spawn_find("sh", path, sizeof(path)));
}
END_TEST

/* No signal is blocked, SIGPIPE ends it, and others that are ignored stay so: nohup(1). */
START_TEST(test_signals)
{
    const char *const argv[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
    struct ocv_spawn_program program = {.argv = argv, .in = -1, .errors = -1, .confined = true};
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(run_words(argv), 0);
    ck_assert_str_eq(printed, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n");
    ck_assert_int_eq(run(&program), 0);
    ck_assert_str_eq(printed, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}
END_TEST

/* None but the three, also those that exec would leave open, and the numbers 0 to 3 of ours. */
START_TEST(test_descriptors)
{
    const char *const argv[] = {"ls", "/proc/self/fd", NULL};
    int ours = open("/dev/null", O_RDONLY);
    ck_assert_int_ge(dup2(ours, 3), 0);
    ck_assert_int_ge(dup2(ours, 100), 0);
    close(0);
    ck_assert_int_eq(run_words(argv), 0);
    ck_assert_str_eq(printed, "0\n1\n2\n3\n"); /* 3: the directory that it lists */
}
END_TEST

START_TEST(test_limits)
{
    const char *const argv[] = {"/bin/sh", "-c", "ulimit -n; ulimit -Hn; ulimit -f", NULL};
    struct ocv_spawn_program program = {.argv = argv,
                                        .in = -1,
                                        .errors = -1,
                                        .limits = {{RLIMIT_NOFILE, 77}, {RLIMIT_FSIZE, UINT64_MAX}},
                                        .n_limits = 2};
    const struct rlimit files = {.rlim_cur = 1024 * 1024, .rlim_max = 1024 * 1024};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &files), 0);
    ck_assert_int_eq(run(&program), 0);
    ck_assert_str_eq(printed, "77\n77\n2048\n"); /* no higher than ours: blocks of 512 bytes */
}
END_TEST

/* Run it to its end, with 16 bytes of room. */
static int run_to_end(const char *script, const char *input, unsigned timeout_ms, int *code,
                      char why[64])
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const struct ocv_run program = {
        .argv = argv, .input = input, .timeout_ms = timeout_ms, .why = why, .why_size = 64};
    ocv_auto_buffer text;
    struct ocv_error err = {0};
    ocv_buffer_init(&text, 16);
    int status = ocv_run(&program, &text, code, &err);
    snprintf(printed, sizeof(printed), "%s", status < 0 ? err.message : text.len ? text.data : "");
    return status;
}

START_TEST(test_run)
{
    int code = -1;
    char why[64] = "";
    ck_assert_int_eq(run_to_end("cat; exit 3", "asked", 10000, &code, why), OCV_OK);
    ck_assert_str_eq(printed, "asked");
    ck_assert_int_eq(code, 3);
    ck_assert_str_eq(why, "");
    /* the last line of its errors, of a long text its end */
    ck_assert_int_eq(run_to_end("seq 9999 >&2; echo 'it failed ' >&2; echo >&2; exit 1", NULL,
                                10000, &code, why),
                     OCV_OK);
    ck_assert_int_eq(code, 1);
    ck_assert_str_eq(why, "it failed");
    ck_assert_int_eq(run_to_end("kill -TERM $$", NULL, 10000, &code, why), OCV_OK);
    ck_assert_int_eq(code, 128 + SIGTERM);
    /* neither one that prints too much nor one that is silent is waited for */
    ck_assert_int_eq(run_to_end("yes", NULL, 10000, &code, why), OCV_ERR_DATA);
    ck_assert_str_eq(printed, "it printed more than 16 bytes");
    ck_assert_int_eq(run_to_end("exec sleep 1000", NULL, 1000, &code, why), OCV_ERR_NETWORK);
    ck_assert_str_eq(printed, "no answer after 1 s");
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);

    const char *const none[] = {"/nowhere/program", NULL}, *const fails[] = {"false", NULL};
    ck_assert_int_eq(ocv_run_wait(none, -1, -1, -1, &code), ENOENT);
    ck_assert_int_eq(ocv_run_wait(fails, -1, -1, -1, &code), 0);
    ck_assert_int_eq(code, 1);
}
END_TEST

RUN_TESTS("spawn", test_output, test_errors, test_signals, test_descriptors, test_limits, test_run)
