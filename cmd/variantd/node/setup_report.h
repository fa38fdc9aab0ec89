/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of setting up this node's engine (--setup-report), as plugins/kubernetes writes it. */
#ifndef VARIANTD_SETUP_REPORT_H
#define VARIANTD_SETUP_REPORT_H

#include "cmd/variantd/common/metrics.h"

/** Read the report (NULL: none), log a failure and count it. It is one line of text: "configured",
 *  or the reason why the engine does not ask the mirror. A file that is missing, or is anything
 *  else, gives a warning, and the engine counts as not configured. */
void setup_report_read(const char *path, struct metrics *metrics);

#endif
