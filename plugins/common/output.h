/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OCV_PLUGIN_OUTPUT_H
#define OCV_PLUGIN_OUTPUT_H

/** The exit status of a run that only printed (--help): 0, or 1 with a message on standard error if
 *  standard output could not be written. */
int output_end(const char *program);

#endif
