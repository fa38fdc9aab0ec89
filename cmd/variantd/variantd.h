/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The daemon's state: its options and its running parts. main.c has the order of operations. */
#ifndef VARIANTD_H
#define VARIANTD_H

#include "cmd/common/cli.h"
#include "cmd/variantd/common/settings_make.h"
#include "cmd/variantd/server.h"

#include <signal.h>

/** Name of the stored mirror socket at the service manager. */
#define MIRROR_SOCKET "mirror"

struct daemon {
    struct cli cli;
    struct ocv_option_list registries, layouts;
    char records[4096], profile[PATH_MAX];
    struct settings_flags flags;
    bool check;                       /* --check */
    const char *report;               /* --setup-report */
    bool announce;                    /* --announce kubernetes */
    struct announcer *announcer;      /* or NULL */
    const struct instance *announced; /* the last one announced */
    uint64_t announced_generation;
    struct metrics *metrics;
    struct server *server;
    int64_t watchdog_ms, watchdog_due;
    bool foreign;                    /* another program answers at our address */
    const struct instance *verified; /* the instance for which records were checked last */
    uint64_t verified_generation;
};

/** Returns an exit code, or -1 to go on. */
int daemon_read_options(struct daemon *d, int argc, char **argv);
/** Read configuration files and flags again. */
int daemon_read_settings(struct daemon *d, struct settings **out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** Start everything, up to a server that answers. */
int daemon_start(struct daemon *d, struct ocv_error *err) OCV_WARN_UNUSED;
/** Log it if this node serves no variants. */
void daemon_log_choose(const struct ocv_config *config);

/** Read everything that a start would read, without opening a socket, like `nginx -t`. Returns the
 *  exit code. */
int daemon_check(struct daemon *d);

/** Serve until a signal ends it; `signals` are blocked. Returns the exit code. */
int daemon_serve(struct daemon *d, const sigset_t *signals);

#endif
