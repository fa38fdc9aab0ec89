/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a program of a probe is started: its limits, its environment and its pipes. */
#include "lib/probe/host/child.h"

#include "lib/base/cleanup.h"
#include "lib/base/system/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIBRARY_PATH_MAX (16 * 1024)

/* Of this end only: the program must not meet a pipe that does not block. */
static int open_pipe(int *read_end, int *write_end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *read_end = ends[0];
    *write_end = ends[1];
    return fcntl(*read_end, F_SETFL, O_NONBLOCK);
}

static void add_limit(struct ocv_spawn_program *program, int resource, uint64_t value)
{
    program->limits[program->n_limits].resource = resource;
    program->limits[program->n_limits++].value = value;
}

static void set_limits(struct ocv_spawn_program *program, const struct ocv_child_limits *limits)
{
#ifndef OCV_SANITIZED /* their shadow memory alone takes terabytes of addresses */
    add_limit(program, RLIMIT_DATA, limits->memory_max); /* all private memory, since Linux 4.7 */
    if (!limits->wide)
        add_limit(program, RLIMIT_AS, limits->memory_max);
#endif
    /* a second more than the deadline, which has the better message */
    add_limit(program, RLIMIT_CPU, limits->timeout_ms / 1000 + 2);
    add_limit(program, RLIMIT_FSIZE, OCV_CHILD_FILE_MAX);
    add_limit(program, RLIMIT_NOFILE, OCV_CHILD_FILES_MAX);
    add_limit(program, RLIMIT_CORE, 0);
}

static bool is_unusable(int code)
{
    return code == ENOENT || code == ENOTDIR || code == EACCES || code == ENOEXEC ||
           code == ELOOP || code == EISDIR;
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
    ocv_auto_fd int out = -1, errors = -1, out_write = -1, errors_write = -1;
    if (library_path && strlen(library_path) < sizeof(libraries) - sizeof("LD_LIBRARY_PATH=")) {
        snprintf(libraries, sizeof(libraries), "LD_LIBRARY_PATH=%s", library_path);
        environment[3] = libraries;
    }
    *process = (struct ocv_child_process){.pid = -1, .out = -1, .err = -1};
    int code = open_pipe(&out, &out_write) < 0 || open_pipe(&errors, &errors_write) < 0 ? errno : 0;
    struct ocv_spawn_program program = {.path = path,
                                        .argv = argv,
                                        .environment = environment,
                                        .in = -1,
                                        .out = out_write,
                                        .errors = errors_write,
                                        .confined = true,
                                        .trusted = limits->trusted};
    set_limits(&program, limits);
    if (code == 0)
        code = ocv_spawn_start(&program, &process->pid);
    if (is_unusable(code))
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "cannot be run: %s", strerror(code));
    if (code)
        return ocv_error_set(err, OCV_ERR_IO, "cannot start a program: %s", strerror(code));
    process->out = ocv_fd_steal(&out);
    process->err = ocv_fd_steal(&errors);
    return OCV_OK;
}
