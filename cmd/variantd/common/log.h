/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines on stderr, for journald: plain text, each with the time, with a syslog level prefix where
 * stderr is the journal, or one JSON object a line. One write(2) a line, so that threads never mix.
 */
#ifndef VARIANTD_LOG_H
#define VARIANTD_LOG_H

#include "cmd/variantd/common/metrics.h"

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

/** Set once before threads start. Lines before have no time: they go to the terminal of whoever
 * started the program. */
void log_setup(bool json, bool verbose, bool access);
/** Control characters of a text from outside must not make lines or move a terminal's cursor, nor
 *  bytes that are not UTF-8 become '?'. */
void log_clean(char *text);
void log_line(enum log_level level, const char *format, ...) OCV_PRINTF(2, 3);

/** One request, for the access log. Strings from clients are escaped. */
struct log_request {
    const char *peer;   /**< "127.0.0.1" or "unix" */
    const char *method; /**< as sent */
    const char *url;    /**< without query secrets: nothing of ours carries one */
    const char *user_agent;
    unsigned status;
    enum outcome outcome;
    const char *label; /**< chosen variant, or NULL */
    int64_t bytes, us;
};
void log_request(const struct log_request *request);
/** Is there an access log? Saves the work of filling a request. */
bool log_wants_requests(void);

#endif
