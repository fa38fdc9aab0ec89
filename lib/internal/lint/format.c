/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The report as text for people, as JSON, and as GitHub's workflow commands. */
#include "lib/base/cleanup.h"
#include "lib/internal/lint/lint_internal.h"

#include <string.h>

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static int format_text(const struct ocv_lint_report *report, size_t n_failures,
                       struct ocv_buffer *out, struct ocv_error *err)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct ocv_lint_finding *f = &report->findings[i];
        if (f->allowed)
            continue;
        /* "FILE:LINE:COLUMN" where there is a line, else "NAME". */
        OCV_TRY(ocv_buffer_printf(out, err, "%s", f->input));
        if (f->line)
            OCV_TRY(ocv_buffer_printf(out, err, ":%zu", f->line));
        if (f->line && f->pointer)
            OCV_TRY(ocv_buffer_printf(out, err, ":%zu", f->column));
        OCV_TRY(ocv_buffer_printf(out, err, ": %s: %s%s%s [%s %s]\n", ocv_lint_level_name(f->level),
                                  f->where, *f->where ? ": " : "", f->message, f->rule->id,
                                  f->rule->name));
        if (f->hint)
            OCV_TRY(ocv_buffer_printf(out, err, "    hint: %s\n", f->hint));
    }
    size_t errors = report->counts[OCV_LINT_ERROR] + n_failures,
           warnings = report->counts[OCV_LINT_WARNING];
    size_t notes = report->counts[OCV_LINT_NOTE];
    char unread[48] = "";
    if (errors == 1 && n_failures) /* silence would pass for a clean bill */
        snprintf(unread, sizeof(unread), " (unreadable)");
    else if (n_failures)
        snprintf(unread, sizeof(unread), " (%zu unreadable)", n_failures);
    OCV_TRY(ocv_buffer_printf(out, err, "%zu error%s%s, %zu warning%s, %zu note%s", errors,
                              plural(errors), unread, warnings, plural(warnings), notes,
                              plural(notes)));
    if (report->allowed)
        OCV_TRY(ocv_buffer_printf(out, err, ", %zu allowed", report->allowed));
    if (report->dropped)
        OCV_TRY(ocv_buffer_printf(out, err, "; %zu more are not shown", report->dropped));
    return ocv_buffer_append(out, "\n", 1, err);
}

static int format_json(const struct ocv_lint_report *report,
                       const struct ocv_lint_failure *failures, size_t n_failures,
                       struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *findings = json_array();
    ocv_auto_json *unread = json_array();
    for (size_t i = 0; i < report->n; i++) {
        const struct ocv_lint_finding *f = &report->findings[i];
        json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "rule", f->rule->id, "name",
                                 f->rule->name, "level", ocv_lint_level_name(f->level), "input",
                                 f->input, "message", f->message, "where", f->where);
        const struct {
            const char *key, *text;
        } texts[] = {{"pointer", f->pointer}, {"hint", f->hint}, {"allowed", f->allowed}};
        for (size_t k = 0; json && k < OCV_LINT_COUNT(texts); k++)
            if (texts[k].text &&
                json_object_set_new(json, texts[k].key, json_string(texts[k].text)))
                break; /* a missing member is acceptable; a missing report is not */
        if (json && f->line) {
            json_object_set_new(json, "line", json_integer((json_int_t)f->line));
            json_object_set_new(json, "column", json_integer((json_int_t)f->column));
        }
        if (json_array_append_new(findings, json) < 0)
            return ocv_error_nomem(err);
    }
    for (size_t i = 0; i < n_failures; i++)
        if (json_array_append_new(unread, json_pack("{s:s, s:s}", "input", failures[i].input,
                                                    "message", failures[i].message)) < 0)
            return ocv_error_nomem(err);
    ocv_auto_json *root = json_pack(
        "{s:s, s:s, s:{s:I, s:I, s:I, s:I, s:I}, s:O, s:O}", "schema", "dev.ocivariant.lint/v1",
        "version", ocv_version(), "summary", "errors", (json_int_t)report->counts[OCV_LINT_ERROR],
        "warnings", (json_int_t)report->counts[OCV_LINT_WARNING], "notes",
        (json_int_t)report->counts[OCV_LINT_NOTE], "allowed", (json_int_t)report->allowed,
        "not_shown", (json_int_t)report->dropped, "findings", findings, "unreadable", unread);
    if (!root)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_append(root, JSON_INDENT(2), out, err));
    return ocv_buffer_append(out, "\n", 1, err);
}

static int put_escaped(const char *text, bool property, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    for (; *text; text++) {
        bool escape = strchr("%\r\n", *text) || (property && strchr(":,", *text));
        OCV_TRY(escape ? ocv_buffer_printf(out, err, "%%%02X", (unsigned char)*text)
                       : ocv_buffer_append(out, text, 1, err));
    }
    return OCV_OK;
}

static int format_github(const struct ocv_lint_report *report,
                         const struct ocv_lint_failure *failures, size_t n_failures,
                         struct ocv_buffer *out, struct ocv_error *err)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct ocv_lint_finding *f = &report->findings[i];
        if (f->allowed)
            continue;
        OCV_TRY(ocv_buffer_printf(out, err, "::%s ",
                                  f->level == OCV_LINT_NOTE ? "notice"
                                                            : ocv_lint_level_name(f->level)));
        if (f->file) {
            OCV_TRY(ocv_buffer_printf(out, err, "file="));
            OCV_TRY(put_escaped(f->input, true, out, err));
            if (f->line)
                OCV_TRY(ocv_buffer_printf(out, err, ",line=%zu,col=%zu", f->line, f->column));
            OCV_TRY(ocv_buffer_printf(out, err, ","));
        }
        OCV_TRY(ocv_buffer_printf(out, err, "title=%s %s::", f->rule->id, f->rule->name));
        const char *const parts[] = {
            f->file ? "" : f->input, f->file ? "" : ": ", f->where,
            *f->where ? ": " : "",   f->message,          f->hint ? "; " : "",
            f->hint ? f->hint : ""};
        for (size_t k = 0; k < OCV_LINT_COUNT(parts); k++)
            OCV_TRY(put_escaped(parts[k], false, out, err));
        OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    }
    for (size_t i = 0; i < n_failures; i++) {
        OCV_TRY(ocv_buffer_printf(out, err, "::error title=unreadable::"));
        OCV_TRY(put_escaped(failures[i].message, false, out, err));
        OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    }
    return OCV_OK;
}

int ocv_lint_format(const struct ocv_lint_report *report, enum ocv_lint_format format,
                    const struct ocv_lint_failure *failures, size_t n_failures,
                    struct ocv_buffer *out, struct ocv_error *err)
{
    switch (format) {
    case OCV_LINT_FORMAT_JSON:
        return format_json(report, failures, n_failures, out, err);
    case OCV_LINT_FORMAT_SARIF:
        return ocv_lint_format_sarif(report, failures, n_failures, out, err);
    case OCV_LINT_FORMAT_GITHUB:
        return format_github(report, failures, n_failures, out, err);
    default:
        return format_text(report, n_failures, out, err);
    }
}
