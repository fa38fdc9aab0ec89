/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/log.h"

#include "lib/base/text.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* longer lines are cut: clients choose some of the text */

/* Written once by log_setup, before threads start. */
static struct {
    bool json, verbose, access, journal, timed;
} settings;

void log_setup(bool json, bool verbose, bool access)
{
    settings.json = json;
    settings.verbose = verbose;
    settings.access = access;
    /* A program started by a service inherits JOURNAL_STREAM, so compare the stream that it names
     * (systemd.exec(5)) with stderr. */
    const char *stream = getenv("JOURNAL_STREAM");
    char own[64] = "";
    struct stat st;
    if (fstat(STDERR_FILENO, &st) == 0)
        snprintf(own, sizeof(own), "%llu:%llu", (unsigned long long)st.st_dev,
                 (unsigned long long)st.st_ino);
    settings.journal = stream && *own && strcmp(stream, own) == 0;
    settings.timed = true;
}

bool log_wants_requests(void)
{
    return settings.access;
}

static void format_timestamp(char out[40])
{
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!gmtime_r(&now.tv_sec, &tm) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm)) {
        out[0] = '\0';
        return;
    }
    size_t len = strlen(out);
    snprintf(out + len, 40 - len, ".%03ldZ", now.tv_nsec / 1000000);
}

/* Takes over `object`. As elsewhere here, a write that fails is not a reason to stop serving. */
static void write_json(json_t *object)
{
    char *text =
        object ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12))
               : NULL;
    json_decref(object);
    size_t len = text ? strlen(text) : 0;
    if (text) {
        text[len] = '\n'; /* replaces the final NUL */
        (void)!write(STDERR_FILENO, text, len + 1);
    }
    free(text);
}

void log_line(enum log_level level, const char *format, ...)
{
    static const char *const levels[] = {[LOG_LEVEL_ERROR] = "error",
                                         [LOG_LEVEL_WARNING] = "warning",
                                         [LOG_LEVEL_INFO] = "info",
                                         [LOG_LEVEL_DEBUG] = "debug"};
    char text[LINE_MAX_BYTES], now[40] = "";
    va_list args;
    if (level == LOG_LEVEL_DEBUG && !settings.verbose)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ocv_text_clean(text); /* JSON cannot hold bytes that are not UTF-8 */
    if (settings.timed)
        format_timestamp(now);
    if (settings.json)
        write_json(json_pack("{s:s, s:s, s:s%}", "time", now, "level", levels[level], "message",
                             text, strlen(text)));
    else {
        char line[LINE_MAX_BYTES + 64];
        const char *space = *now ? " " : "";
        const char *prefix = level == LOG_LEVEL_WARNING ? "warning: " : "";
        int len =
            settings.journal
                ? snprintf(line, sizeof(line), "<%d>%s%s%s\n", (int)level, now, space, text)
                : snprintf(line, sizeof(line), "%s%svariantd: %s%s\n", now, space, prefix, text);
        if (len > 0)
            (void)!write(STDERR_FILENO, line,
                         (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
    }
}

/* The value of a quoted field: client text without quotes, backslashes and control characters, in
 * UTF-8. A line that cannot be encoded as JSON would be missing from the log. */
static const char *clean_field(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (const char *p = text ? text : "-"; *p && n + 1 < size; p++)
        out[n++] = *p == '"' || *p == '\\' ? '?' : *p;
    out[n] = '\0';
    ocv_text_clean(out);
    return out;
}

void log_request(const struct log_request *r)
{
    char now[40], url[1024], agent[256], method[32], line[LINE_MAX_BYTES];
    /* a kubelet asks every few seconds whether the mirror answers, which would fill the log */
    static const char probe[] = "kube-probe/";
    if (!settings.access || (r->outcome == OUTCOME_BASE && r->user_agent &&
                             strncmp(r->user_agent, probe, sizeof(probe) - 1) == 0))
        return;
    format_timestamp(now);
    clean_field(r->url, url, sizeof(url));
    clean_field(r->user_agent, agent, sizeof(agent));
    clean_field(r->method, method, sizeof(method));
    if (settings.json) {
        write_json(json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s?, s:I, s:f, s:s}", "time",
                             now, "level", "info", "peer", r->peer, "method", method, "url", url,
                             "status", (int)r->status, "outcome", metrics_outcome_name(r->outcome),
                             "label", r->label, "bytes", (json_int_t)r->bytes, "ms",
                             (double)r->us / 1000.0, "agent", agent));
        return;
    }
    int len =
        snprintf(line, sizeof(line), "%s %s \"%s %s\" %u %s %s %lld %.3fms \"%s\"\n", now, r->peer,
                 method, url, r->status, metrics_outcome_name(r->outcome),
                 r->label ? r->label : "-", (long long)r->bytes, (double)r->us / 1000.0, agent);
    if (len > 0)
        (void)!write(STDERR_FILENO, line,
                     (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
}
