/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starting a program from any thread of any process. posix_spawn(3) cannot set limits, and between
 * fork(2) and exec a copy of a threaded process may find every lock taken. So the child borrows our
 * memory until it execs, as posix_spawn does it: this thread stands still meanwhile, every signal
 * is blocked, and the child makes bare system calls only. Nothing that libc or a sanitizer
 * intercepts may be called there: it would change what the parent remembers of itself. */
#include "lib/probe/host/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SIZE (64u * 1024)
#define SIGNALS 64                /* SIGRTMAX; the kernel's sets have this many bits */
#define OLD_KERNEL_FDS (1u << 20) /* closed one by one where close_range(2) is missing */
#define LIBRARY_PATH_MAX (16 * 1024)
#define REPORT_FD 3 /* where the child says why it cannot exec */

#if defined(__clang__) || defined(__GNUC__)
#define UNWATCHED __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define UNWATCHED
#endif

#ifdef OCV_SANITIZED
/* TSan takes a call of clone() for a fork that happens to share memory, and changes that memory. */
extern int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);
#define clone __clone
#endif

/* Everything the child needs, made before it exists. */
struct plan {
    const char *path;
    const char *const *argv;
    const char *const *environment;
    int in, out, err, report; /* all above REPORT_FD */
    pid_t parent;
    struct {
        int resource;
        struct rlimit64 limit; /* the kernel's form, on 32 bits, too */
    } limits[6];
    size_t n_limits;
    rlim64_t open_files; /* the caller's limit on descriptors */
};

/* ---- in the child, with the parent's memory ---------------------------------------------------
 */

UNWATCHED static void reset_signals(void)
{
    /* all zero is SIG_DFL without flags in every architecture's struct */
    unsigned long nothing[16];
    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
        nothing[i] = 0;
    for (int signal = 1; signal <= SIGNALS; signal++)
        syscall(SYS_rt_sigaction, signal, nothing, NULL, SIGNALS / 8);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, nothing, NULL, SIGNALS / 8);
}

UNWATCHED static bool arrange_files(const struct plan *plan)
{
    if (syscall(SYS_dup3, plan->in, 0, 0) < 0 || syscall(SYS_dup3, plan->out, 1, 0) < 0 ||
        syscall(SYS_dup3, plan->err, 2, 0) < 0 ||
        syscall(SYS_dup3, plan->report, REPORT_FD, O_CLOEXEC) < 0)
        return false;
    if (syscall(SYS_close_range, REPORT_FD + 1, ~0u, 0) < 0) /* Linux before 5.9, qemu-user */
        for (unsigned fd = REPORT_FD + 1; fd < plan->open_files && fd < OLD_KERNEL_FDS; fd++)
            syscall(SYS_close, fd);
    return true;
}

UNWATCHED static bool confine(const struct plan *plan)
{
    if (syscall(SYS_setpgid, 0, 0) < 0 || syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return false;
    if (syscall(SYS_getppid) != plan->parent)
        return false; /* it died before it could be noticed */
    for (size_t i = 0; i < plan->n_limits; i++)
        if (syscall(SYS_prlimit64, 0, plan->limits[i].resource, &plan->limits[i].limit, NULL) < 0)
            return false;
    return true;
}

UNWATCHED static int child_main(void *data)
{
    const struct plan *plan = data;
    if (arrange_files(plan) && confine(plan)) {
        reset_signals();
        syscall(SYS_execve, plan->path, plan->argv, plan->environment);
    }
    int code = errno;
    syscall(SYS_write, REPORT_FD, &code, sizeof(code));
    syscall(SYS_exit_group, 127);
    return 127;
}

/* ---- in the parent ----------------------------------------------------------------------------
 */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* A caller without stdin, stdout or stderr gets low numbers, which the child is about to use. */
static int lift(int *fd)
{
    if (*fd > REPORT_FD)
        return 0;
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, REPORT_FD + 1);
    if (high < 0)
        return -1;
    close(*fd);
    *fd = high;
    return 0;
}

static int open_pipe(int *read_end, int *write_end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *read_end = ends[0];
    *write_end = ends[1];
    /* of this end only: the program must not meet a pipe that does not block */
    return fcntl(*read_end, F_SETFL, O_NONBLOCK) < 0 ? -1 : lift(write_end);
}

static void add_limit(struct plan *plan, int resource, rlim64_t value)
{
    struct rlimit64 now;
    if (getrlimit64((__rlimit_resource_t)resource, &now) < 0)
        return;
    if (now.rlim_max != RLIM64_INFINITY && value > now.rlim_max)
        value = now.rlim_max;
    plan->limits[plan->n_limits].resource = resource;
    plan->limits[plan->n_limits++].limit = (struct rlimit64){value, value};
}

static void plan_limits(struct plan *plan, const struct ocv_child_limits *limits)
{
    struct rlimit64 files;
    plan->open_files = getrlimit64(RLIMIT_NOFILE, &files) < 0 ? OLD_KERNEL_FDS : files.rlim_cur;
#ifndef OCV_SANITIZED /* their shadow memory alone takes terabytes of addresses */
    add_limit(plan, RLIMIT_DATA, limits->memory_max); /* all private memory, since Linux 4.7 */
    if (!limits->wide)
        add_limit(plan, RLIMIT_AS, limits->memory_max);
#endif
    /* a second more than the deadline, which has the better message */
    add_limit(plan, RLIMIT_CPU, limits->timeout_ms / 1000 + 2);
    add_limit(plan, RLIMIT_FSIZE, OCV_CHILD_FILE_MAX);
    add_limit(plan, RLIMIT_NOFILE, OCV_CHILD_FILES_MAX);
    add_limit(plan, RLIMIT_CORE, 0);
}

/* Run child_main in our memory and return its pid once it has become another program or gone. */
static pid_t start(struct plan *plan)
{
    sigset_t all, before;
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = clone(child_main, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, plan);
    int code = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, STACK_SIZE);
    errno = code;
    return pid;
}

/* What the child wrote before it gave up: an errno, 0 if it execed. */
static int read_report(int fd)
{
    int code = 0;
    ssize_t n;
    do
        n = read(fd, &code, sizeof(code));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(code) ? code : 0;
}

static bool unusable(int code)
{
    return code == ENOENT || code == ENOTDIR || code == EACCES || code == ENOEXEC ||
           code == ELOOP || code == EISDIR;
}

static int launch(struct plan *plan, struct ocv_child_process *process, int *report,
                  struct ocv_error *err)
{
    plan->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t pid = -1;
    if (plan->in >= 0 && lift(&plan->in) == 0 && open_pipe(&process->out, &plan->out) == 0 &&
        open_pipe(&process->err, &plan->err) == 0 && open_pipe(report, &plan->report) == 0)
        pid = start(plan);
    if (pid < 0)
        return ocv_error_set(err, OCV_ERR_IO, "cannot start a program: %s", strerror(errno));
    close_fd(&plan->report);
    int code = read_report(*report);
    if (code == 0) {
        process->pid = pid;
        return OCV_OK;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return ocv_error_set(err, unusable(code) ? OCV_ERR_NOT_FOUND : OCV_ERR_IO, "cannot be run: %s",
                         strerror(code));
}

int ocv_child_spawn(const char *path, const char *const argv[],
                    const struct ocv_child_limits *limits, struct ocv_child_process *process,
                    struct ocv_error *err)
{
    const char *library_path = getenv("LD_LIBRARY_PATH");
    char libraries[LIBRARY_PATH_MAX];
    const char *environment[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C", "LC_ALL=C",
        NULL, NULL};
    struct plan plan = {.path = path,
                        .argv = argv,
                        .environment = environment,
                        .in = -1,
                        .out = -1,
                        .err = -1,
                        .report = -1,
                        .parent = getpid()};
    int report = -1;
    if (library_path && strlen(library_path) < sizeof(libraries) - sizeof("LD_LIBRARY_PATH=")) {
        snprintf(libraries, sizeof(libraries), "LD_LIBRARY_PATH=%s", library_path);
        environment[3] = libraries;
    }
    *process = (struct ocv_child_process){.pid = -1, .out = -1, .err = -1};
    plan_limits(&plan, limits);
    int status = launch(&plan, process, &report, err);
    close_fd(&report);
    close_fd(&plan.in);
    close_fd(&plan.out);
    close_fd(&plan.err);
    close_fd(&plan.report);
    if (status < 0) {
        close_fd(&process->out);
        close_fd(&process->err);
    }
    return status;
}
