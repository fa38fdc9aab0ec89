/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantd: the node's profile service and resolving registry mirror. The main thread starts
 * everything, then handles signals, idle connections and the watchdog. */
#include "cmd/variantd/common/log.h"
#include "cmd/variantd/node/node.h"
#include "cmd/variantd/variantd.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#define END_S 5 /* after the deadline, requests that were cut end within this time */

/* A registry that floods us keeps a thread inside libcurl, where it cannot be interrupted. Exiting
 * loses no more than a kill would. */
static void *end_anyway(void *code)
{
    sleep(END_S);
    log_line(LOG_LEVEL_WARNING, "requests that still run are cut off");
    _exit((int)(intptr_t)code);
}

int main(int argc, char **argv)
{
    struct daemon d = {0};
    struct ocv_error err = {0};
    sigset_t signals;
    /* blocked before threads start: only the main thread receives them */
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    restart_begin(&d.restart);
    cli_init(&d.cli, "variantd");
    d.cli.no_environment = true;
    int code = daemon_read_options(&d, argc, argv);
    if (code >= 0) {
        restart_free(&d.restart);
        return cli_quit(&d.cli, code);
    }
    signal(SIGPIPE, SIG_IGN);
    /* Ten thousand idle clients must not use up all descriptors. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    /* Keep memory use low after a burst of blobs: what many threads took from few heaps can be
     * returned, which the last of them does. Buffers of blobs come from the heaps, too: in mappings
     * of their own each blob would pay for new pages. */
    (void)mallopt(M_ARENA_MAX, 2);
    (void)mallopt(M_MMAP_THRESHOLD, 2 * 1024 * 1024);
    if (d.check)
        code = daemon_check(&d);
    else
        code = daemon_start(&d, &err) < 0 ? cli_fail(&d.cli, &err) : daemon_serve(&d, &signals);
    restart_free(&d.restart);
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_anyway, (void *)(intptr_t)code) == 0)
        pthread_detach(thread);
    announcer_free(d.announcer);
    taint_remover_free(d.taints);
    server_free(d.server);
    metrics_free(d.metrics);
    cli_free(&d.cli);
    return code;
}
