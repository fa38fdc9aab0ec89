/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/exit_code.h"
#include "lib/base/file.h"
#include "lib/base/system/spawn.h"
#include "plugins/kubernetes/node_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "variantctl"
#define ANSWER_MAX (256u * 1024) /* limit of its output: a line per file */
#define ARGUMENTS_MAX (2 * ENGINE_REGISTRIES_MAX + 16)

/* Returns the exit status, or -1. If the program cannot be started, `answer` has the reason. */
static int run_command(const char *const *argv, struct ocv_buffer *answer)
{
    int ends[2], result = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    int why = ocv_spawn(argv, -1, ends[1], ends[1], &pid);
    close(ends[1]);
    int status = why ? ocv_buffer_printf(answer, NULL, PROGRAM ": %s\n", strerror(why))
                     : ocv_fd_read(ends[0], PROGRAM, answer, NULL);
    close(ends[0]); /* a program that prints more ends by SIGPIPE */
    while (!why && waitpid(pid, &result, 0) < 0 && errno == EINTR)
        continue;
    return why || status < 0 || !WIFEXITED(result) ? -1 : WEXITSTATUS(result);
}

enum node_state engine_set_up(const struct engine_setup *setup, char reason[static REASON_MAX])
{
    const char *argv[ARGUMENTS_MAX];
    ocv_auto_buffer answer;
    ocv_buffer_init(&answer, ANSWER_MAX);
    size_t n = 0;
    argv[n++] = PROGRAM;
    argv[n++] = "setup";
    argv[n++] = "containerd";
    argv[n++] = "--root";
    argv[n++] = setup->root;
    if (setup->remove) {
        argv[n++] = "--uninstall";
    } else {
        argv[n++] = "--config";
        argv[n++] = setup->config_file;
    }
    if (!setup->remove && !setup->edit_config)
        argv[n++] = "--hosts-only";
    if (setup->engine_config && !setup->remove) {
        argv[n++] = "--engine-config";
        argv[n++] = setup->engine_config;
    }
    for (size_t i = 0; i < setup->n_registries && !setup->remove; i++) {
        argv[n++] = "--registry";
        argv[n++] = setup->registries[i];
    }
    argv[n] = NULL;
    int code = run_command(argv, &answer);
    const char *text = answer.data ? answer.data : "";
    fputs(text, stdout);
    fflush(stdout);
    reason[0] = '\0';
    if (code == 0)
        return NODE_CONFIGURED;
    /* The reason of a failure is the last line that begins with the program's name. */
    static const char name[] = PROGRAM ": ";
    snprintf(reason, REASON_MAX, "%s", PROGRAM " setup failed");
    for (const char *line = text; line && *line;) {
        size_t len = strcspn(line, "\n");
        if (strncmp(line, name, sizeof(name) - 1) == 0)
            snprintf(reason, REASON_MAX, "%.*s", (int)(len - (sizeof(name) - 1)),
                     line + sizeof(name) - 1);
        line = line[len] ? line + len + 1 : NULL;
    }
    return code == ocv_error_exit_code(OCV_ERR_CHECK) ? NODE_NOT_CONFIGURED : NODE_FAILED;
}
