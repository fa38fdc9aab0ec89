/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Log lines on stderr, one write(2) each. */
#ifndef CRI_PROXY_LOG_H
#define CRI_PROXY_LOG_H

#include "ocivariant.h"

/** Call once before threads start. `verbose`: log_debug prints too. */
void log_setup(bool verbose);
void log_line(const char *format, ...) OCV_PRINTF(1, 2);
void log_debug(const char *format, ...) OCV_PRINTF(1, 2);

#endif
