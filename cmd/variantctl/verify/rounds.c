/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl verify --every: each check is a process of its own, which reads configuration, profile
 * and records as they are then. */
#include "cmd/variantctl/verify/verify_verb.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SOON_MS 10000  /* until a round that failed is tried again; then twice as long */
#define FAILURES_MAX 3 /* of rounds, one after the other */

struct rounds {
    struct cli *cli;
    int64_t every_ms;
    int64_t pause; /* after the failures that were last; 0: there was none */
    unsigned failures;
    pid_t runs;   /* 0: none does */
    int64_t next; /* when the next one begins */
};

/* After a round: go on, or `*status` is what to end with. */
static bool go_on(struct rounds *r, int end, int *status)
{
    int code = WIFEXITED(end) ? WEXITSTATUS(end) : 1;
    if (WIFSIGNALED(end))
        cli_warn(r->cli, "a round was ended by signal %d", WTERMSIG(end));
    r->runs = 0;
    r->failures = code && code != VERIFY_TOLD_NOBODY ? r->failures + 1 : 0;
    if (code == 2 || r->failures == FAILURES_MAX) { /* it has said why */
        *status = code;
        return false;
    }
    r->pause = !code ? 0 : r->pause ? 2 * r->pause : SOON_MS;
    if (r->pause > r->every_ms)
        r->pause = r->every_ms;
    r->next = ocv_clock_ms() + (r->pause ? r->pause : r->every_ms);
    return true;
}

bool verify_is_round(struct cli *cli, int64_t every_ms, int *status)
{
    struct rounds r = {.cli = cli, .every_ms = every_ms};
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before); /* as the first process of a container, too */
    signal(SIGCHLD, SIG_DFL);                  /* whoever started it may ignore it */
    *status = 0;
    for (;;) {
        int64_t left = r.runs ? SOON_MS : r.next - ocv_clock_ms();
        if (left <= 0) {
            r.runs = fork();
            if (r.runs < 0) {
                *status = ocv_error_set(&cli->err, OCV_ERR_IO, "--every: %s", strerror(errno));
                return false;
            }
            setpgid(r.runs, r.runs); /* in both, before anybody is told to stop */
            if (r.runs == 0) {
                sigprocmask(SIG_SETMASK, &before, NULL);
                return true;
            }
            continue;
        }
        const struct timespec most = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
        int got = sigtimedwait(&signals, NULL, &most), end = 0;
        if (got == SIGTERM || got == SIGINT) {
            if (r.runs)
                kill(-r.runs, SIGTERM); /* and what it has started */
            while (r.runs && waitpid(r.runs, NULL, 0) < 0 && errno == EINTR)
                continue;
            if (got == SIGINT)
                *status = ocv_error_set(&cli->err, OCV_ERR_INTERRUPTED, "interrupted");
            return false;
        }
        for (pid_t ended; (ended = waitpid(-1, &end, WNOHANG)) > 0;)
            if (ended == r.runs && !go_on(&r, end, status))
                return false;
    }
}
