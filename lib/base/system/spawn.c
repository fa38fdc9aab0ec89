/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* posix_spawn(3) can set neither limits nor a signal at the parent's death, and between fork(2) and
 * exec a copy of a threaded process may find every lock taken. So the child borrows our memory
 * until it execs, as posix_spawn does it: this thread waits, every signal is blocked, and the child
 * makes bare system calls only. Nothing that libc or a sanitizer intercepts may be called there: it
 * would change the parent's own state. */
#include "lib/base/system/spawn.h"
#include "lib/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
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
#define REPORT_FD 3               /* where the child says why it cannot exec */
#define PROGRAM_FD 4              /* what it execs, where that was opened before */

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

extern char **environ;

/* Everything the child needs, made before it exists. */
struct plan {
    const char *path;
    const char *const *argv;
    const char *const *environment;
    int in, out, errors, report; /* all above PROGRAM_FD */
    int program;                 /* likewise, or -1: by its path */
    bool kept;                   /* `program` stays open for its interpreter */
    pid_t parent;
    bool confined;
    uint64_t ignored; /* signals that stay ignored, a bit each */
    struct {
        int resource;
        struct rlimit64 limit; /* the kernel's form, on 32 bits, too */
    } limits[OCV_SPAWN_LIMITS_MAX];
    size_t n_limits;
    rlim64_t open_files; /* the caller's limit on descriptors */
};

UNWATCHED static bool arrange_files(const struct plan *plan)
{
    if (syscall(SYS_dup3, plan->in, 0, 0) < 0 || syscall(SYS_dup3, plan->out, 1, 0) < 0 ||
        syscall(SYS_dup3, plan->errors, 2, 0) < 0 ||
        syscall(SYS_dup3, plan->report, REPORT_FD, O_CLOEXEC) < 0)
        return false;
    if (plan->program < 0)
        syscall(SYS_close, PROGRAM_FD);
    else if (syscall(SYS_dup3, plan->program, PROGRAM_FD, plan->kept ? 0 : O_CLOEXEC) < 0)
        return false;
    if (syscall(SYS_close_range, PROGRAM_FD + 1, ~0u, 0) < 0) /* Linux before 5.9, qemu-user */
        for (unsigned fd = PROGRAM_FD + 1; fd < plan->open_files && fd < OLD_KERNEL_FDS; fd++)
            syscall(SYS_close, fd);
    return true;
}

UNWATCHED static bool confine_child(const struct plan *plan)
{
    if (plan->confined && (syscall(SYS_setpgid, 0, 0) < 0 ||
                           syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                           syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0))
        return false;
    if (plan->confined && syscall(SYS_getppid) != plan->parent)
        return false; /* it died before it could be noticed */
    for (size_t i = 0; i < plan->n_limits; i++)
        if (syscall(SYS_prlimit64, 0, plan->limits[i].resource, &plan->limits[i].limit, NULL) < 0)
            return false;
    return true;
}

UNWATCHED static int child_main(void *data)
{
    const struct plan *plan = data;
    if (arrange_files(plan) && confine_child(plan)) {
        /* ignored signals stay so, unless the program is confined; a handler of ours must not run
         * in it. All zero is SIG_DFL without flags in every architecture's struct. */
        unsigned long nothing[16];
        for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
            nothing[i] = 0;
        for (int signal = 1; signal <= SIGNALS; signal++)
            if (!(plan->ignored >> (signal - 1) & 1))
                syscall(SYS_rt_sigaction, signal, nothing, NULL, SIGNALS / 8);
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, nothing, NULL, SIGNALS / 8);
        if (plan->program < 0)
            syscall(SYS_execve, plan->path, plan->argv, plan->environment);
        else
            syscall(SYS_execveat, PROGRAM_FD, "", plan->argv, plan->environment, AT_EMPTY_PATH);
    }
    int code = errno;
    syscall(SYS_write, REPORT_FD, &code, sizeof(code));
    syscall(SYS_exit_group, 127);
    return 127;
}

bool ocv_spawn_find(const char *name, char *path, size_t size)
{
    const char *directories = getenv("PATH");
    if (strchr(name, '/'))
        return (size_t)snprintf(path, size, "%s", name) < size;
    for (const char *at = directories ? directories : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        size_t n = strcspn(at, ":");
        int len = snprintf(path, size, "%.*s/%s", (int)n, at, name);
        if (n && len > 0 && (size_t)len < size && access(path, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

/* A copy above the numbers that the child is about to use; it is closed by exec. */
static int lift_fd(int fd)
{
    ocv_auto_fd int null = fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    return fd < 0 && null < 0 ? -1 : fcntl(fd < 0 ? null : fd, F_DUPFD_CLOEXEC, PROGRAM_FD + 1);
}

static void plan_limits(struct plan *plan, const struct ocv_spawn_program *program)
{
    struct rlimit64 now;
    plan->open_files = getrlimit64(RLIMIT_NOFILE, &now) < 0 ? OLD_KERNEL_FDS : now.rlim_cur;
    for (size_t i = 0; i < program->n_limits; i++) {
        rlim64_t value = program->limits[i].value;
        int resource = program->limits[i].resource;
        if (getrlimit64((__rlimit_resource_t)resource, &now) < 0)
            continue;
        if (now.rlim_max != RLIM64_INFINITY && value > now.rlim_max)
            value = now.rlim_max;
        plan->limits[plan->n_limits].resource = resource;
        plan->limits[plan->n_limits++].limit = (struct rlimit64){value, value};
    }
}

static uint64_t ignored_signals(void)
{
    uint64_t ignored = 0;
    struct sigaction now;
    for (int signal = 1; signal <= SIGNALS; signal++)
        if (signal != SIGPIPE && sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            ignored |= UINT64_C(1) << (signal - 1);
    return ignored;
}

/* Run child_main in our memory and return its pid once it has become another program or gone. */
static pid_t clone_child(struct plan *plan)
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

int ocv_spawn_start(const struct ocv_spawn_program *program, pid_t *pid)
{
    char path[PATH_MAX];
    int ends[2];
    struct plan plan = {.path = program->path ? program->path : path,
                        .argv = program->argv,
                        .environment = program->environment ? program->environment
                                                            : (const char *const *)environ,
                        .confined = program->confined,
                        .ignored = program->confined ? 0 : ignored_signals(),
                        .parent = getpid()};
    if (!program->path && !ocv_spawn_find(program->argv[0], path, sizeof(path)))
        return ENOENT;
    ocv_auto_fd int opened = -1;
    bool script = false;
    int trust = program->trusted ? ocv_trusted_program(plan.path, &opened, &script, NULL) : OCV_OK;
    if (trust < 0)
        return trust == OCV_ERR_NOT_FOUND ? ENOENT : EACCES;
    /* The kernel gives an interpreter the name /dev/fd/N (execveat(2), "NOTES"). Where there is
     * none, as in a chroot without /proc, a script is run by its path. */
    bool by_path = opened < 0 || (script && access("/dev/fd", F_OK) < 0);
    ocv_auto_fd int executed = by_path ? -1 : lift_fd(opened);
    if (!by_path && executed < 0)
        return errno;
    plan.program = executed;
    plan.kept = script;
    plan_limits(&plan, program);
    ocv_auto_fd int in = lift_fd(program->in);
    ocv_auto_fd int out = in < 0 ? -1 : lift_fd(program->out);
    ocv_auto_fd int errors = out < 0 ? -1 : lift_fd(program->errors);
    if (errors < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    ocv_auto_fd int report = ends[0];
    ocv_auto_fd int written = ends[1];
    ocv_auto_fd int lifted = lift_fd(written);
    if (lifted < 0)
        return errno;
    plan.in = in;
    plan.out = out;
    plan.errors = errors;
    plan.report = lifted;
    pid_t started = clone_child(&plan);
    if (started < 0)
        return errno;
    ocv_fd_close(&lifted);
    ocv_fd_close(&written);
    lifted = written = -1;
    /* what the child wrote before it gave up: an errno, nothing if it execed */
    int code = 0;
    ssize_t n;
    do
        n = read(report, &code, sizeof(code));
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(code))
        code = 0;
    if (code == 0)
        *pid = started;
    else
        while (waitpid(started, NULL, 0) < 0 && errno == EINTR)
            ;
    return code;
}

int ocv_spawn(const char *const *argv, int in, int out, int errors, pid_t *pid)
{
    const struct ocv_spawn_program program = {.argv = argv, .in = in, .out = out, .errors = errors};
    return ocv_spawn_start(&program, pid);
}

bool ocv_processors_others(cpu_set_t *out)
{
    int here = sched_getcpu();
    if (sched_getaffinity(0, sizeof(*out), out) < 0)
        return false;
    if (here >= 0 && here < CPU_SETSIZE)
        CPU_CLR((size_t)here, out);
    return CPU_COUNT(out) > 0;
}
