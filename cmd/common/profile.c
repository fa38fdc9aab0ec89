/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this machine supports: read from a file, asked from the node's daemon, or probed. */
#include "cmd/common/cli.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/system/spawn.h"
#include "lib/internal/records/daemon.h"
#include "ocivariant-probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define INTERRUPT_MS 100        /* a signal may come between the look at the flag and the wait */
#define DAEMON_TIMEOUT_MS 1000u /* a daemon that hangs must not hang a pull */

/* Header of a probe's report; the profile's bytes follow. */
struct probe_report {
    int status;
    struct ocv_error err;
    char note[256]; /* where it comes from, for -v */
};

/* A probe that runs while the program waits for something else. It is a process, not a thread:
 * memory mapping by the probe and by the registry client would block each other in one process. */
struct cli_probe {
    pid_t pid;
    int fd; /* struct probe_report, then the profile */
};

/* The node's daemon has probed already, and more deeply than there is time for here. If it is not
 * running or its answer is not a profile, this program probes by itself. */
static void find_profile(const struct cli *cli, struct probe_report *found, struct ocv_buffer *json)
{
    const struct ocv_probe_options options = {.datadir = getenv("OCV_DATADIR"),
                                              .libexecdir = getenv("OCV_LIBEXECDIR")};
    const char *path = ocv_config_get(cli->config, "socket");
    ocv_auto(ocv_profile) profile = NULL;
    struct ocv_error err = {0};
    long http = 0;
    *found = (struct probe_report){0};
    ocv_buffer_init(json, OCV_PROFILE_MAX);
    if (!path || !*path)
        path = OCV_PATH_SOCKET;
    int status = ocv_daemon_get(path, "/v1/profile", DAEMON_TIMEOUT_MS, &http, json, &err);
    if (status == OCV_OK && http != 200)
        status = ocv_error_set(&err, OCV_ERR_DATA, "%s: HTTP %ld", path, http);
    if (status == OCV_OK) {
        status = ocv_profile_parse(json->data ? json->data : "", json->len, &profile, &err);
        if (status < 0)
            ocv_error_prefix(&err, "%s", path);
    }
    if (status == OCV_OK) {
        snprintf(found->note, sizeof(found->note), "profile from variantd at %s", path);
        return;
    }
    if (status == OCV_ERR_NOT_FOUND)
        snprintf(found->note, sizeof(found->note), "no variantd at %s: probing this machine", path);
    else
        snprintf(found->note, sizeof(found->note),
                 "probing this machine, since variantd cannot be asked: %s", err.message);
    ocv_buffer_free(json);
    found->status = ocv_probe(&options, json, &found->err);
}

void cli_profile_begin(struct cli *cli)
{
    int fds[2];
    cpu_set_t processors;
    if (cli->profile || cli->profile_file || cli->probe)
        return;
    struct cli_probe *probe = malloc(sizeof(*probe));
    if (!probe || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        free(probe);
        return; /* cli_profile then probes, and reports the error */
    }
    if (sched_getaffinity(0, sizeof(processors), &processors) < 0)
        CPU_ZERO(&processors); /* more of them than the set has room for */
    *probe = (struct cli_probe){.pid = fork(), .fd = fds[0]};
    if (probe->pid == 0) {
        struct probe_report found;
        struct ocv_buffer json;
        close(fds[0]);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        char start;
        while (read(fds[1], &start, 1) < 0 && errno == EINTR)
            continue;
        if (CPU_COUNT(&processors) > 0)
            (void)sched_setaffinity(0, sizeof(processors), &processors);
        find_profile(cli, &found, &json);
        if (ocv_fd_write(fds[1], &found, sizeof(found)))
            (void)!ocv_fd_write(fds[1], json.data, json.len);
        _exit(0);
    }
    close(fds[1]);
    cli->probe = probe;
    if (probe->pid < 0) {
        cli_profile_drop(cli);
        return;
    }
    /* It may have all processors but this process's own, and then begins; from then on it may run
     * wherever this process may. */
    cpu_set_t others;
    if (ocv_processors_others(&others))
        (void)sched_setaffinity(probe->pid, sizeof(others), &others);
    (void)!send(probe->fd, "", 1, MSG_NOSIGNAL); /* without it the probe sees the end, and begins,
                                                  * too */
}

void cli_profile_drop(struct cli *cli)
{
    struct cli_probe *probe = cli->probe;
    cli->probe = NULL;
    if (!probe)
        return;
    close(probe->fd);
    if (probe->pid > 0)
        kill(probe->pid, SIGKILL); /* its own children go with it */
    while (probe->pid > 0 && waitpid(probe->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    free(probe);
}

/* Reads the report of the probe that was started early, or probes now. */
static int probe_machine(struct cli *cli, struct ocv_buffer *json, struct ocv_error *err)
{
    struct probe_report found;
    bool known = false;
    if (cli->probe) {
        struct pollfd probe = {.fd = cli->probe->fd, .events = POLLIN};
        while (!cli_interrupted(cli) && poll(&probe, 1, INTERRUPT_MS) <= 0)
            ;
        /* else the probe ended early, or its output is incomplete */
        struct ocv_error why;
        ocv_auto_buffer bytes;
        ocv_buffer_init(&bytes, sizeof(found) + OCV_PROFILE_MAX);
        known = !cli_interrupted(cli) &&
                ocv_fd_read(cli->probe->fd, "probe", &bytes, &why) == OCV_OK &&
                bytes.len >= sizeof(found);
        ocv_buffer_init(json, OCV_PROFILE_MAX);
        if (known) {
            memcpy(&found, bytes.data, sizeof(found));
            known = ocv_buffer_append(json, bytes.data + sizeof(found), bytes.len - sizeof(found),
                                      &why) == OCV_OK;
        }
    }
    cli_profile_drop(cli);
    if (!known && cli_interrupted(cli))
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    if (!known)
        find_profile(cli, &found, json);
    cli_log(cli, "%s", found.note);
    if (found.status < 0 && err)
        *err = found.err;
    return found.status;
}

void cli_forget_host(struct cli *cli)
{
    const char *key = ocv_config_forget_host(cli->config);
    if (key)
        cli_warn(cli,
                 "`%s` of the configuration is about this machine, and not applied to others: "
                 "flags are",
                 key);
}

int cli_profile(struct cli *cli, struct ocv_error *err)
{
    if (cli->profile)
        return OCV_OK;
    if (cli->profile_file)
        cli_forget_host(cli);
    ocv_auto_buffer json;
    ocv_buffer_init(&json, OCV_PROFILE_MAX);
    int status = cli->profile_file ? cli_read_profile(cli->profile_file, &json, err)
                                   : probe_machine(cli, &json, err);
    if (status < 0)
        return status; /* names the file itself */
    status = ocv_profile_parse(json.data, json.len, &cli->plain, err);
    if (status < 0)
        return cli->profile_file && status == OCV_ERR_DATA
                   ? ocv_error_prefix(err, "%s", cli->profile_file)
                   : status;
    status = ocv_config_override_profile(cli->config, cli->plain, &cli->profile, err);
    return status < 0 ? status : cli_set_devices(cli, err);
}
