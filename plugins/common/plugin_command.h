/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of a plugin that takes long options and no arguments. */
#ifndef OCV_PLUGIN_COMMAND_H
#define OCV_PLUGIN_COMMAND_H

#include "lib/base/options.h"

struct plugin_command {
    const char *program;
    const char *usage;                /**< the help up to "Options:\n" */
    const struct ocv_option *options; /**< its rows, except --help and --version */
    const char *end;                  /**< the help after the options */
};

/** Read the options into the structure that the rows refer to. Errors are printed. Returns an exit
 *  status, or -1 to go on. */
int plugin_read(const struct plugin_command *command, void *into, int argc, char **argv);

/** The exit status of a run that only printed (--help): 0, or 1 with a message on standard error if
 *  standard output could not be written. */
int output_end(const char *program);

#endif
