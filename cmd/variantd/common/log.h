/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Log lines on stderr. As text each line has the time, or a syslog priority prefix if stderr is the
 * journal; as JSON each line is an object. One write(2) per line, so threads never mix lines. */
#ifndef VARIANTD_LOG_H
#define VARIANTD_LOG_H

#include "cmd/variantd/common/metrics.h"

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

/** Call once before threads start. Earlier lines have no time: they go to the user at the
 *  terminal. */
void log_setup(bool json, bool verbose, bool access);
void log_line(enum log_level level, const char *format, ...) OCV_PRINTF(2, 3);

/** One request, for the access log. Strings from clients are escaped. */
struct log_request {
    const char *peer;   /**< "127.0.0.1" or "unix" */
    const char *method; /**< as sent */
    const char *url;    /**< has no secrets in its query */
    const char *user_agent;
    unsigned status;
    enum outcome outcome;
    const char *label; /**< chosen variant, or NULL */
    int64_t bytes, us;
};
void log_request(const struct log_request *request);
/** True if there is an access log; without one a request need not be filled in. */
bool log_wants_requests(void);

#endif
