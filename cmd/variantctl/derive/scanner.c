/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/derive/derive_verb.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/system/spawn.h"
#include "lib/base/text.h"
#include "lib/internal/content/content.h"
#include "lib/internal/slim/slim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PROGRAM "content-scan"
#define CPU_FREE_S 60
#define CPU_MIB 4                      /* of a layer, for each second more */
#define CPU_TREE_S 3600                /* for a directory */
#define MEMORY_MAX (UINT64_C(4) << 30) /* address space; it uses about 20 MB */

int scanner_start(const struct cli *cli, const struct scanner_job *job, struct scanner *out,
                  struct ocv_error *err)
{
    static const char *const environment[] = {NULL};
    char program[4096];
    const char *argv[8] = {program};
    int pair[2] = {-1, -1};
    *out = (struct scanner){.in = -1,
                            .out = job->out < 0 ? memfd_create("content", MFD_CLOEXEC) : -1,
                            .errors = memfd_create("messages", MFD_CLOEXEC)};
    if (!cli_helper(PROGRAM, cli_datadir(cli), program, sizeof(program)))
        return ocv_error_set(err, OCV_ERR_CONFIG, PROGRAM ": its path is too long");
    if ((job->out < 0 && out->out < 0) || out->errors < 0 ||
        (job->fed && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0))
        return ocv_error_set(err, OCV_ERR_IO, PROGRAM ": %s", strerror(errno));
    memcpy(argv + 1, job->arguments, sizeof(job->arguments));
    struct ocv_spawn_program start = {
        .path = program,
        .argv = argv,
        .in = job->fed ? pair[1] : job->in,
        .out = job->out < 0 ? out->out : job->out,
        .errors = out->errors,
        .confined = true,
        .environment = environment,
        .n_limits = 3,
        .limits = {{RLIMIT_CORE, 0},
                   /* a layer of 1 GB takes about half a minute */
                   {RLIMIT_CPU, job->size < 0 ? CPU_TREE_S
                                              : CPU_FREE_S + (uint64_t)(job->size >> 20) / CPU_MIB},
                   {RLIMIT_AS, MEMORY_MAX}}};
    if (job->memory) {
        start.limits[2].resource = RLIMIT_DATA; /* files that it maps are not its own memory */
        start.limits[2].value = job->memory;
    }
#ifdef OCV_SANITIZED
    start.n_limits = 2; /* not with a sanitizer, whose shadow memory is larger */
#endif
    int failed = ocv_spawn_start(&start, &out->pid);
    if (pair[1] >= 0)
        close(pair[1]);
    out->in = pair[0];
    return failed ? ocv_error_set(err, OCV_ERR_CONFIG, "%s: %s", program, strerror(failed))
                  : OCV_OK;
}

bool scanner_write(struct scanner *scanner, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = send(scanner->in, p, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

int scanner_finish(struct scanner *scanner, struct ocv_buffer *out, struct ocv_buffer *said,
                   struct ocv_error *err)
{
    int wait_status = 0;
    if (scanner->in >= 0)
        close(scanner->in);
    scanner->in = -1;
    while (waitpid(scanner->pid, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    scanner->pid = 0;
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        /* The first line of its stderr, as an error; the second is a hint. */
        ocv_auto_buffer message;
        ocv_buffer_init(&message, 4096);
        lseek(scanner->errors, 0, SEEK_SET);
        if (ocv_fd_read(scanner->errors, PROGRAM, &message, NULL) < 0 || !message.len)
            return WIFSIGNALED(wait_status)
                       ? ocv_error_set(err, OCV_ERR_IO, PROGRAM " was ended by signal %d",
                                       WTERMSIG(wait_status))
                       : ocv_error_set(err, OCV_ERR_IO, PROGRAM " failed");
        char *rest = message.data;
        const char *text = strsep(&rest, "\n"), *hint = strsep(&rest, "\n");
        if (!strncmp(text, PROGRAM ": ", strlen(PROGRAM) + 2))
            text += strlen(PROGRAM) + 2;
        int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0;
        int status = ocv_error_set(err,
                                   code == 4                         ? OCV_ERR_DATA
                                   : code == OCV_SLIM_EXIT_NO_MEMORY ? OCV_ERR_NOMEM
                                                                     : OCV_ERR_IO,
                                   "%s", text);
        if (hint && *hint)
            ocv_error_hint(err, "%s", hint);
        return status;
    }
    if ((out && lseek(scanner->out, 0, SEEK_SET) < 0) ||
        (said && lseek(scanner->errors, 0, SEEK_SET) < 0))
        return ocv_error_set(err, OCV_ERR_IO, PROGRAM ": %s", strerror(errno));
    if (said)
        OCV_TRY(ocv_fd_read(scanner->errors, PROGRAM, said, err));
    return out ? ocv_fd_read(scanner->out, PROGRAM, out, err) : OCV_OK;
}

void scanner_drop(struct scanner *scanner)
{
    if (scanner->pid > 0) {
        kill(scanner->pid, SIGKILL);
        while (waitpid(scanner->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    scanner->pid = 0;
    ocv_fd_close(&scanner->in);
    ocv_fd_close(&scanner->out);
    ocv_fd_close(&scanner->errors);
    scanner->in = scanner->out = scanner->errors = -1;
}
