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

/* Ends a round, and what it has started. */
static void end_round(pid_t round)
{
    kill(-round, SIGTERM);
    while (waitpid(round, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* How a round ended. `*next`: when the one after it begins; false: there is none, and `*status` is
 * this program's. */
static bool follow_round(struct cli *cli, int64_t every_ms, int end, unsigned *failures,
                         int64_t *pause, int64_t *next, int *status)
{
    int code = WIFEXITED(end) ? WEXITSTATUS(end) : 1;
    if (WIFSIGNALED(end))
        cli_warn(cli, "a round was ended by signal %d", WTERMSIG(end));
    *failures = code && code != VERIFY_TOLD_NOBODY ? *failures + 1 : 0;
    if (code == 2 || *failures == FAILURES_MAX) { /* it has said why */
        *status = code;
        return false;
    }
    if (!code)
        *pause = 0;
    else if (!*pause)
        *pause = SOON_MS;
    else
        *pause *= 2;
    *next = ocv_clock_ms() + (*pause && *pause < every_ms ? *pause : every_ms);
    *pause = *pause < every_ms ? *pause : every_ms;
    return true;
}

bool verify_is_round(struct cli *cli, int64_t every_ms, int *status)
{
    sigset_t signals, before;
    unsigned failures = 0;
    int64_t pause = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, &before); /* as the first process of a container, too */
    signal(SIGCHLD, SIG_DFL);                  /* whoever started it may ignore it */
    for (*status = 0;;) {
        pid_t round = fork(), ended;
        if (round < 0) {
            *status = ocv_error_set(&cli->err, OCV_ERR_IO, "--every: %s", strerror(errno));
            return false;
        }
        if (round == 0) {
            setpgid(0, 0);
            sigprocmask(SIG_SETMASK, &before, NULL);
            return true;
        }
        setpgid(round, round); /* before anybody is told to stop */
        for (int64_t next = INT64_MAX, now; (now = ocv_clock_ms()) < next;) {
            int64_t left = next == INT64_MAX ? SOON_MS : next - now;
            const struct timespec until = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
            int got = sigtimedwait(&signals, NULL, &until), end = 0;
            if (got == SIGTERM || got == SIGINT) {
                if (next == INT64_MAX)
                    end_round(round);
                if (got == SIGINT)
                    *status = ocv_error_set(&cli->err, OCV_ERR_INTERRUPTED, "interrupted");
                return false;
            }
            while ((ended = waitpid(-1, &end, WNOHANG)) > 0)
                if (ended == round &&
                    !follow_round(cli, every_ms, end, &failures, &pause, &next, status))
                    return false;
        }
    }
}
