/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file command_line.h  vpull's command line. */
#ifndef VPULL_COMMAND_LINE_H
#define VPULL_COMMAND_LINE_H

#include "cmd/vpull/engines/chosen.h"

struct vpull_settings {
    struct cli *cli;
    struct pull_options pull;
    enum progress_mode mode;
    const char *lock_file, *lock_profile;
};

extern const struct cli_command vpull_command;
/** Read the options; errors are printed. Returns the exit code, or -1 to go on. */
int settings_read(struct cli *cli, struct vpull_settings *s, int argc, char **argv);

#endif
