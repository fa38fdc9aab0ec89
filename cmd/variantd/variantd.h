/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon as a whole: what it was told, and what of it runs. main.c has the order of things. */
#ifndef VARIANTD_H
#define VARIANTD_H

#include "cmd/common/cli.h"
#include "cmd/variantd/common/settings_make.h"
#include "cmd/variantd/server.h"

#include <signal.h>

/** What the service manager calls the socket that it keeps for us. */
#define MIRROR_SOCKET "mirror"

struct daemon {
    struct cli cli;
    struct ocv_option_list registries, layouts;
    char records[4096];
    struct settings_flags flags;
    bool check;                       /* --check */
    const char *report;               /* --setup-report */
    bool announce;                    /* --announce kubernetes */
    struct announcer *announcer;      /* or NULL */
    const struct instance *announced; /* what was told last */
    uint64_t announced_generation;
    struct metrics *metrics;
    struct server *server;
    int64_t watchdog_ms, watchdog_due;
    bool foreign;                    /* another program answers in our place */
    const struct instance *verified; /* the records were checked for this one */
    uint64_t verified_generation;
};

/* ---- command_line.c -------------------------------------------------------------------------- */

/** Returns an exit code, or -1 to go on. */
int daemon_read_options(struct daemon *d, int argc, char **argv);
/** Configuration files and flags, read again. */
int daemon_read_settings(struct daemon *d, struct settings **out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- start.c --------------------------------------------------------------------------------- */

/** Everything up to a server that answers. */
int daemon_start(struct daemon *d, struct ocv_error *err) OCV_WARN_UNUSED;
/** A node that serves no variants says so. */
void daemon_log_choose(const struct ocv_config *config);

/* ---- check.c --------------------------------------------------------------------------------- */

/** What a start would read, and no socket: as `nginx -t`. Returns the exit code. */
int daemon_check(struct daemon *d);

/* ---- serve.c --------------------------------------------------------------------------------- */

/** Until a signal ends it; `signals` are blocked. Returns the exit code. */
int daemon_serve(struct daemon *d, const sigset_t *signals);

#endif
