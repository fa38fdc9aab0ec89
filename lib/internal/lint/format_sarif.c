/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* SARIF 2.1.0 (OASIS): one run, every rule described, one result for each finding. */
#include "lib/base/cleanup.h"
#include "lib/internal/lint/lint_internal.h"

#include "lib/base/format/encodings.h"

#include <ctype.h>
#include <string.h>

#define SCHEMA \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

/* SARIF's levels are ours, and "none" for what is off. */
static const char *sarif_level(enum ocv_lint_level level)
{
    return level == OCV_LINT_OFF ? "none" : ocv_lint_level_name(level);
}

static json_t *result_json(const struct ocv_lint_finding *f, struct ocv_error *err)
{
    char name[2200], text[2 * OCV_ERROR_MESSAGE_MAX + 8], print[OCV_DIGEST_MAX];
    ocv_auto_buffer printed;
    ocv_auto_buffer uri;
    ocv_buffer_init(&printed, 64u * 1024);
    ocv_buffer_init(&uri, 64u * 1024);
    snprintf(text, sizeof(text), "%s%s%s", f->message, f->hint ? ". Hint: " : "",
             f->hint ? f->hint : "");
    snprintf(name, sizeof(name), "%s%s%s", f->input, *f->where ? ": " : "", f->where);
    /* A finding keeps its fingerprint in the next run, also when lines were moved. */
    if (ocv_buffer_printf(&printed, err, "%s\n%s\n%s\n%s", f->rule->id, f->input, f->where,
                          f->message) < 0 ||
        ocv_digest_bytes(printed.data, printed.len, print, err) < 0)
        return NULL;
    /* What is not a file is named in the same way: code scanning services take no result without an
     * artifact, and scanners of images do so, too. */
    if (ocv_url_escape(f->input, OCV_URL_UNRESERVED "/@+", &uri, err) < 0)
        return NULL;
    json_t *result = json_pack(
        "{s:s, s:I, s:s, s:{s:s}, s:[{s:{s:{s:s}, s:{s:I, s:I}}, s:[{s:s, s:s}]}], s:{s:s}}",
        "ruleId", f->rule->id, "ruleIndex", (json_int_t)(f->rule - ocv_lint_rule(0)), "level",
        sarif_level(f->level), "message", "text", text, "locations", "physicalLocation",
        "artifactLocation", "uri", uri.data, "region", "startLine",
        (json_int_t)(f->line ? f->line : 1), "startColumn", (json_int_t)(f->column ? f->column : 1),
        "logicalLocations", "fullyQualifiedName", name, "kind", "member", "partialFingerprints",
        "ocivariant/v1", print);
    if (result && f->allowed &&
        json_object_set_new(result, "suppressions",
                            json_pack("[{s:s, s:s, s:s}]", "kind", "external", "status", "accepted",
                                      "justification", f->allowed)) < 0) {
        json_decref(result);
        return NULL;
    }
    return result;
}

int ocv_lint_format_sarif(const struct ocv_lint_report *report,
                          const struct ocv_lint_failure *failures, size_t n_failures,
                          struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *results = json_array();
    ocv_auto_json *rules = json_array();
    ocv_auto_json *notes = json_array();
    for (size_t i = 0; i < report->n; i++)
        if (json_array_append_new(results, result_json(&report->findings[i], err)) < 0)
            return ocv_error_nomem(err);
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        static const char *const remedies[] = {
            [OCV_LINT_FIX_NO] = "Correct it where the index or the image is made.",
            [OCV_LINT_FIX_COMMAND] = "The finding says what to run or change.",
            [OCV_LINT_FIX_WRITE] = "'variantctl lint --fix' corrects it."};
        const struct ocv_lint_rule *rule = ocv_lint_rule(i);
        char id[16] = "";
        for (size_t k = 0; rule->id[k] && k + 1 < sizeof(id); k++)
            id[k] = (char)tolower((unsigned char)rule->id[k]);
        json_t *text =
            json_sprintf("%s %s\n\n%s\n\n'variantctl lint --explain %s' shows an example.",
                         rule->what, rule->why, remedies[rule->fix], rule->id);
        /* the page of all rules has a heading "ID NAME" for each */
        json_t *uri = report->page ? json_sprintf("%s#%s-%s", report->page, id, rule->name) : NULL;
        json_t *json =
            json_pack("{s:s, s:s, s:o*, s:{s:s}, s:{s:s}, s:{s:o}, s:{s:s}}", "id", rule->id,
                      "name", rule->name, "helpUri", uri, "shortDescription", "text", rule->what,
                      "fullDescription", "text", rule->why, "help", "text", text,
                      "defaultConfiguration", "level", sarif_level(rule->level));
        if (json_array_append_new(rules, json) < 0)
            return ocv_error_nomem(err);
    }
    for (size_t i = 0; i < n_failures; i++)
        if (json_array_append_new(notes, json_pack("{s:s, s:{s:s}}", "level", "error", "message",
                                                   "text", failures[i].message)) < 0)
            return ocv_error_nomem(err);
    ocv_auto_json *root = json_pack(
        "{s:s, s:s, s:[{s:{s:{s:s, s:s, s:s, s:O}}, s:[{s:b, s:O}], s:s, s:O}]}", "$schema", SCHEMA,
        "version", "2.1.0", "runs", "tool", "driver", "name", "variantctl lint", "version",
        ocv_version(), "semanticVersion", ocv_version(), "rules", rules, "invocations",
        "executionSuccessful", n_failures == 0, "toolExecutionNotifications", notes, "columnKind",
        "unicodeCodePoints", "results", results);
    if (!root)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_json_append(root, JSON_INDENT(1), out, err));
    return ocv_buffer_append(out, "\n", 1, err);
}
