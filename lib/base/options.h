/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What getopt_long leaves to be said of options: the one that was meant, and which value is wanted.
 * Like getopt_long, these use its variables: for the thread that reads the command line. */
#ifndef OCV_OPTIONS_H
#define OCV_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#define OCV_OPTION_TEXT_MAX 512u

/** The options of a command, and the help that has a line "  --name VALUE  ..." for each. */
struct ocv_options {
    const struct option *list;
    const char *help;
    const char *more; /**< lines of options that have their help elsewhere, or NULL */
};

/** Is the value that getopt_long has just given the next option ("--insecure --to oci:x")? What
 *  stands behind "=" and a lone "-" are values. */
bool ocv_option_swallows(char *const *argv);
/** Is what getopt_long has just taken for the long option `name` the beginning of it only? */
bool ocv_option_shortened(char *const *argv, const char *name);
/** What is wrong with the option that getopt_long has just returned: unknown ('?'), without its
 *  value (':') or, for any other `value`, with a wrong one. One line; a second one names the option
 *  or value that was meant. No newline at the end. Returns `out`. */
const char *ocv_option_wrong(const struct ocv_options *options, char *const *argv, int value,
                             char out[OCV_OPTION_TEXT_MAX]);

#endif
