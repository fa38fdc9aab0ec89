/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Start another program, from any thread of any process. */
#ifndef OCV_SPAWN_H
#define OCV_SPAWN_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define OCV_SPAWN_LIMITS_MAX 8u

/** What is started, and how. */
struct ocv_spawn_program {
    const char *path;               /**< NULL: argv[0], found by PATH */
    const char *const *argv;        /**< NULL at the end */
    const char *const *environment; /**< NULL: this program's */
    int in, out, errors;            /**< its standard input, output and error; -1: /dev/null */
    struct {
        int resource;   /**< RLIMIT_... */
        uint64_t value; /**< soft and hard; at most this program's own hard limit */
    } limits[OCV_SPAWN_LIMITS_MAX];
    size_t n_limits;
    /** In a process group of its own, without new privileges, with every signal as it was at the
     *  start of the system, and killed when the thread that started it ends. */
    bool confined;
    /** Only if ocv_trusted_program takes the path, else EACCES; ENOENT where it does not exist.
     * What that opened is executed. An interpreter reads a script as /dev/fd/4, which is its $0; by
     * its path, where there is no /dev/fd. */
    bool trusted;
};

/** Start it. Descriptors above 2 are closed, no signal is blocked, and SIGPIPE has its default
 * action, whatever this program has set. Returns 0, or the errno of what failed: the program's own
 * are ENOENT, EACCES, ENOEXEC and the others of execve(2). */
int ocv_spawn_start(const struct ocv_spawn_program *program, pid_t *pid);
/** The same with what most need. */
int ocv_spawn(const char *const *argv, int in, int out, int errors, pid_t *pid);
/** Find a program by PATH; a name with a slash is a path already. False: there is none, or its path
 *  is too long. */
bool ocv_spawn_find(const char *name, char *path, size_t size);

/* Running a program to its end. */

/** What is run, without a shell and with limits on its time. Zero-initialise. */
struct ocv_run {
    const char *path;               /**< NULL: argv[0], found by PATH */
    const char *const *argv;        /**< NULL at the end */
    const char *const *environment; /**< NULL: this program's */
    const char *input;              /**< NULL: none */
    unsigned timeout_ms;
    char *why; /**< receives the last line of its standard error; NULL: that goes nowhere */
    size_t why_size;
    bool confined;                   /**< as above, with limits on what it uses */
    bool trusted;                    /**< as above */
    const volatile int *interrupted; /**< non-zero: stop; may be NULL */
};
/** Run it and append what it prints, at most out->max bytes. `*code`: its exit status, above 127
 *  where a signal ended it, -1 where it is not known. OCV_ERR_NOT_FOUND, OCV_ERR_CONFIG: it cannot
 *  be started; OCV_ERR_NETWORK: it did not end in time; OCV_ERR_DATA: it printed too much;
 *  OCV_ERR_INTERRUPTED. No process of it is left then. Where it prints secrets the caller wipes
 *  them. */
int ocv_run(const struct ocv_run *program, struct ocv_buffer *out, int *code,
            struct ocv_error *err) OCV_WARN_UNUSED;
/** ocv_spawn, and wait for its end: 0, or the errno of what failed. `*code` as above. */
int ocv_run_wait(const char *const *argv, int in, int out, int errors, int *code);

/* Where work that may run beside the caller's is put. The kernel often starts it on the processor
 * of who started it, and looks for another one only when one of them has waited for its turn. */

/** The processors that the caller may use, without the one that it runs on. False: there are none,
 *  or more than the set has room for. */
bool ocv_processors_others(cpu_set_t *out);

/* Programs that nobody but root and this user could have put where they are. The path is walked
 * once, each component in the directory before it, so that nothing is looked up twice. */

/** Open a file or directory (`type`: S_IFREG, S_IFDIR). Each directory on the way, each link and
 *  the directory that it lies in must belong to root or to this user, and no other may write there;
 *  on the way, a directory may have the sticky bit (/tmp). Without right to read it, `*fd` can only
 *  be executed. OCV_ERR_NOT_FOUND; OCV_ERR_CONFIG names what is not trusted, and why. */
int ocv_trusted_open(const char *path, mode_t type, int *fd, struct ocv_error *err) OCV_WARN_UNUSED;
/** The same of a program, and of what reads it: the interpreter that its first line names, or,
 * where it is neither ELF nor a script, every program that is registered for such files
 * (binfmt_misc). What an interpreter finds by itself (env) is not looked at. `*script`: another
 * program reads it, and needs the descriptor to stay open. */
int ocv_trusted_program(const char *path, int *fd, bool *script,
                        struct ocv_error *err) OCV_WARN_UNUSED;

#endif
