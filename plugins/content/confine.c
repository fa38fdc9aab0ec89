/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process reads what a publisher made, by libraries that were not made for that. What it may do
 * is listed here; whatever else it tries fails with EPERM. */
#include "plugins/content/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/landlock.h>) /* Linux 5.13 */
#include <linux/landlock.h>
#endif

#define NOBODY 65534

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#if defined(LANDLOCK_ACCESS_FS_MAKE_SYM) && defined(SYS_landlock_create_ruleset)
/* Every access to files that the first version of Landlock knows. */
#define ACCESS_ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define ACCESS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

static void restrict_files(enum scan_rights rights)
{
    const struct landlock_ruleset_attr none = {
        .handled_access_fs = rights == SCAN_TREE ? ACCESS_ALL & ~ACCESS_READ : ACCESS_ALL};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &none, sizeof(none.handled_access_fs), 0);
    if (rules < 0)
        return;
    (void)!syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}
#else
static void restrict_files(enum scan_rights rights)
{
    (void)rights;
}
#endif

#if defined(OWN_ARCH) && !defined(OCV_SANITIZED)
#define ALLOW(call)                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void restrict_calls(enum scan_rights rights)
{
    static const struct sock_filter all[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read),
        ALLOW(readv),
        ALLOW(pread64),
        ALLOW(write),
        ALLOW(writev),
        ALLOW(lseek),
        ALLOW(close),
        ALLOW(fstat),
        ALLOW(newfstatat), /* fstat(3) of glibc */
        ALLOW(mmap),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(mprotect),
        ALLOW(madvise),
        ALLOW(brk),
        ALLOW(futex),
        ALLOW(getrandom),
        ALLOW(clock_gettime),
        ALLOW(restart_syscall),
        ALLOW(rt_sigreturn),
        ALLOW(rt_sigprocmask),
        ALLOW(gettid),
        ALLOW(getpid),
        ALLOW(tgkill), /* abort(3) */
        ALLOW(exit),
        ALLOW(exit_group),
    };
    static const struct sock_filter files[] = {ALLOW(pwrite64), ALLOW(ftruncate), ALLOW(fallocate)};
    static const struct sock_filter tree[] = {
        ALLOW(getdents64),
        ALLOW(fcntl),
        ALLOW(fstatfs),
        ALLOW(fchdir),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3), /* only to read */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter filter[sizeof(all) / sizeof(*all) + sizeof(tree) / sizeof(*tree) + 1];
    const struct sock_filter *more = rights == SCAN_TREE ? tree : files;
    size_t n = sizeof(all) / sizeof(*all);
    size_t n_more = rights == SCAN_TREE    ? sizeof(tree) / sizeof(*tree)
                    : rights == SCAN_FILES ? sizeof(files) / sizeof(*files)
                                           : 0;
    memcpy(filter, all, sizeof(all));
    memcpy(filter + n, more, n_more * sizeof(*more));
    n += n_more;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const struct sock_fprog program = {(unsigned short)n, filter};
    (void)!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
#else
static void restrict_calls(enum scan_rights rights)
{
    (void)rights;
}
#endif

/* A directory may be readable for root alone: of root's rights, reading stays. In a container root
 * often has only the one that writing needs, too, which the rest of the confinement refuses. */
static void drop_user(bool reads_all)
{
    struct __user_cap_header_struct self = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct rights[2] = {{0}}, has[2] = {{0}};
    uint32_t reads = 1u << CAP_DAC_READ_SEARCH;
    if (syscall(SYS_capget, &self, has) == 0 && !(has[0].permitted & reads))
        reads = 1u << CAP_DAC_OVERRIDE;
    prctl(PR_SET_KEEPCAPS, reads_all, 0, 0, 0);
    (void)!(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
            setresuid(NOBODY, NOBODY, NOBODY) == 0);
    if (reads_all)
        rights[0].effective = rights[0].permitted = reads;
    if (syscall(SYS_capset, &self, rights) == 0)
        return;
    memset(rights, 0, sizeof(rights)); /* root had neither */
    (void)!syscall(SYS_capset, &self, rights);
}

void scan_confine(enum scan_rights rights)
{
    if (geteuid() == 0)
        drop_user(rights == SCAN_TREE);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a change of user has cleared it */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return;
    restrict_files(rights);
    restrict_calls(rights);
}
