/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OCV_PLUGIN_OUTPUT_H
#define OCV_PLUGIN_OUTPUT_H

/** The exit status of a run that only printed (--help): 0, or 1 with a line on standard error where
 *  standard output did not take all of it. */
int output_end(const char *program);

#endif
