/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The installed version of an engine, as the program itself reports it. */
#include "cmd/variantctl/setup/setup_internal.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/system/spawn.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX 4096u         /* bytes of a program's answer */
#define PROCESSES_MAX 64u        /* with one name */
#define ANSWER_MILLISECONDS 5000 /* a program that is silent for so long is killed */

bool setup_parse_version(const char *text, struct setup_version *out)
{
    for (const char *at = text; *at; at++) {
        bool start = at == text || at[-1] == ' ' || at[-1] == '\t' || at[-1] == '\n' ||
                     (at[-1] == 'v' && (at - 1 == text || at[-2] == ' '));
        if (!start || !isdigit((unsigned char)*at))
            continue;
        char *end;
        unsigned long major = strtoul(at, &end, 10);
        if (*end != '.' || !isdigit((unsigned char)end[1]))
            continue;
        unsigned long minor = strtoul(end + 1, &end, 10);
        if (major > 10000 || minor > 10000)
            return false;
        out->major = (unsigned)major;
        out->minor = (unsigned)minor;
        out->known = true;
        size_t n = strcspn(at, " ,\t\r\n");
        snprintf(out->text, sizeof(out->text), "%.*s", (int)n, at);
        return true;
    }
    return false;
}

bool setup_version_at_least(const struct setup_version *version, unsigned major, unsigned minor)
{
    return version->known &&
           (version->major > major || (version->major == major && version->minor >= minor));
}

bool setup_ask(const char *const *argv, char *out, size_t size)
{
    int code;
    ocv_auto_buffer text;
    const struct ocv_run program = {.argv = argv, .timeout_ms = ANSWER_MILLISECONDS};
    ocv_buffer_init(&text, size - 1);
    int status = ocv_run(&program, &text, &code, NULL);
    (void)status; /* what it has printed by then is its answer */
    snprintf(out, size, "%s", text.len ? text.data : "");
    return out[0];
}

void setup_find_version(const struct setup *setup, const char *program, struct setup_version *out)
{
    char answer[ANSWER_MAX];
    const char *argv[] = {program, "--version", NULL};
    *out = (struct setup_version){0};
    if (setup->engine_version) {
        setup_parse_version(setup->engine_version, out);
        return;
    }
    /* a program below --root may not run here, and this machine's may be another version */
    if (!*setup->root && setup_ask(argv, answer, sizeof(answer)))
        setup_parse_version(answer, out);
}

int setup_list_processes(const struct setup *setup, const char *name, struct setup_names *pids,
                         struct ocv_error *err)
{
    const struct dirent *entry;
    ocv_auto_dir DIR *dir = opendir("/proc");
    *pids = (struct setup_names){0};
    while (dir && pids->n < PROCESSES_MAX && (entry = readdir(dir)) != NULL) {
        char path[64];
        ocv_auto_buffer comm;
        ocv_buffer_init(&comm, ANSWER_MAX);
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%.20s/comm", entry->d_name);
        if (setup_read_file(setup, path, &comm, NULL) < 0 || comm.len != strlen(name) + 1 ||
            strncmp(comm.data, name, strlen(name)) != 0)
            continue;
        char **pid = ocv_array_grow(&pids->list, pids->n);
        if (!pid || !(*pid = strdup(entry->d_name)))
            return ocv_error_nomem(err);
        pids->n++;
    }
    return OCV_OK;
}
