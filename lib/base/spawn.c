/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <unistd.h>

extern char **environ;

static int add_dup(posix_spawn_file_actions_t *actions, int fd, int as)
{
    return fd >= 0 ? posix_spawn_file_actions_adddup2(actions, fd, as)
                   : posix_spawn_file_actions_addopen(actions, as, "/dev/null",
                                                      as == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
}

static int fresh_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, ignored;
    sigemptyset(&none);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    int code = posix_spawnattr_setsigmask(attributes, &none);
    if (code == 0)
        code = posix_spawnattr_setsigdefault(attributes, &ignored);
    return code ? code
                : posix_spawnattr_setflags(attributes,
                                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

int ocv_spawn(const char *const *argv, int in, int out, int errors, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code)
        return code;
    code = posix_spawnattr_init(&attributes);
    if (code) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    code = fresh_signals(&attributes);
    if (code == 0)
        code = add_dup(&actions, in, STDIN_FILENO);
    if (code == 0)
        code = add_dup(&actions, out, STDOUT_FILENO);
    if (code == 0)
        code = add_dup(&actions, errors, STDERR_FILENO);
#if __GLIBC_PREREQ(2, 34) /* libraries open descriptors that exec does not close */
    if (code == 0)
        code = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
    if (code == 0)
        code = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                            environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}
