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
#define ROUND_MS \
    (2LL * 60 * 60 * 1000) /* a round takes so long, or ROUND_TIMES as long as they come */
#define ROUND_TIMES 6

struct rounds {
    struct cli *cli;
    int64_t every_ms;
    int64_t pause; /* after the failures that were last; 0: there was none */
    unsigned failures;
    pid_t runs;    /* 0: none does */
    int64_t next;  /* when the next one begins */
    int64_t began; /* when the one that runs did */
    bool told;     /* it was told to end */
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

/* One that stands still, as a registry may that sends a byte now and then, is no round. */
static void end_late(struct rounds *r)
{
    int64_t most = ROUND_TIMES * r->every_ms;
    if (!r->runs || ocv_clock_ms() - r->began <= (most > ROUND_MS ? most : ROUND_MS))
        return;
    if (!r->told)
        cli_warn(r->cli, "a round does not end, and is told to");
    kill(-r->runs, r->told ? SIGKILL : SIGTERM);
    r->told = true;
}

/* The round that runs, and what it has started. */
static void end_now(struct rounds *r)
{
    const struct timespec moment = {.tv_nsec = 50000000};
    int64_t until = ocv_clock_ms() + SOON_MS;
    kill(-r->runs, SIGTERM);
    while (waitpid(r->runs, NULL, WNOHANG) == 0) {
        if (ocv_clock_ms() > until)
            kill(-r->runs, SIGKILL);
        nanosleep(&moment, NULL);
    }
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
            r.began = ocv_clock_ms();
            r.told = false;
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
                end_now(&r);
            if (got == SIGINT)
                *status = ocv_error_set(&cli->err, OCV_ERR_INTERRUPTED, "interrupted");
            return false;
        }
        end_late(&r);
        for (pid_t ended; (ended = waitpid(-1, &end, WNOHANG)) > 0;)
            if (ended == r.runs && !go_on(&r, end, status))
                return false;
    }
}
