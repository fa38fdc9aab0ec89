/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the set-up of this node's engine has reported (--setup-report): plugins/kubernetes writes
 * it. */
#ifndef VARIANTD_SETUP_REPORT_H
#define VARIANTD_SETUP_REPORT_H

#include "cmd/variantd/common/metrics.h"

/** Read the report (NULL: there is none), log what is wrong and count it. One line of text:
 *  "configured", or why the engine does not ask the mirror. A file that is not there, or is
 * anything else, is a warning, and the engine counts as not configured. */
void setup_report_read(const char *path, struct metrics *metrics);

#endif
