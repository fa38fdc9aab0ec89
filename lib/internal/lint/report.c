/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Findings: their places, levels and what the repository's settings say of them. */
#include "lib/internal/lint/lint_internal.h"

#include "lib/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ocv_lint_report_free(struct ocv_lint_report *report)
{
    free(report->findings);
    ocv_arena_free(&report->arena);
    *report = (struct ocv_lint_report){0};
}

/* Make one clean line of a text that may quote anything. */
static const char *keep_text(struct ocv_lint *lint, const char *text)
{
    struct ocv_error line = {0};
    ocv_error_set(&line, OCV_ERR_CHECK, "%s", text);
    char *copy = ocv_arena_text(&lint->report->arena, line.message);
    if (!copy)
        lint->status = ocv_error_nomem(lint->err);
    return copy ? copy : "";
}

/* The place within an entry, from where it begins: the text before it is scanned once for all
 * findings. */
static void locate_finding(const struct ocv_lint *lint, const char *pointer,
                           struct ocv_lint_finding *out)
{
    static const char entries[] = "/manifests/";
    const struct ocv_lint_input *input = lint->input;
    const char *text = input->bytes;
    struct ocv_lint_position from = {0, 1, 1};
    if (input->source) {
        bool entry = !strncmp(pointer, entries, sizeof(entries) - 1);
        size_t i = entry ? strtoul(pointer + sizeof(entries) - 1, NULL, 10) : 0;
        out->line = entry ? ocv_edit_source_image(input->source, input->images[i]).line : 1;
        out->column = 1;
        return;
    }
    if (lint->places && !strncmp(pointer, entries, sizeof(entries) - 1)) {
        char *end;
        from = lint->places[strtoul(pointer + sizeof(entries) - 1, &end, 10)];
        pointer = end;
    }
    ocv_lint_locate(text + from.offset, input->len - from.offset, pointer, &out->line,
                    &out->column);
    out->column += out->line == 1 ? from.column - 1 : 0;
    out->line += from.line - 1;
}

/* Count it even if there is no room to keep it: a truncated report must not pass. */
static void add_finding(struct ocv_lint *lint, enum ocv_lint_id id, const char *pointer,
                        const char *where, const char *label, const struct ocv_lint_tag *tag,
                        const char *message)
{
    struct ocv_lint_report *report = lint->report;
    const struct ocv_lint_rule *rule = ocv_lint_rule(id);
    enum ocv_lint_level level = ocv_lint_config_level(lint->options->config, rule);
    lint->last = NULL;
    if (lint->status < 0 || level == OCV_LINT_OFF)
        return;
    const char *allowed =
        ocv_lint_config_allowed(lint->options->config, rule, lint->input->name, label);
    if (allowed)
        report->allowed++;
    else
        report->counts[level]++;
    if (report->n == OCV_LINT_FINDINGS_MAX) {
        report->dropped++;
        return;
    }
    struct ocv_lint_finding *finding = ocv_array_grow(&report->findings, report->n);
    if (!finding) {
        lint->status = ocv_error_nomem(lint->err);
        return;
    }
    report->n++;
    *finding = (struct ocv_lint_finding){.rule = rule,
                                         .level = level,
                                         .input = keep_text(lint, lint->input->name),
                                         .file = lint->input->file,
                                         .where = keep_text(lint, where),
                                         .message = keep_text(lint, message),
                                         .line = tag ? tag->line : 0,
                                         .column = tag && tag->line ? 1 : 0};
    if (pointer && !lint->input->source)
        finding->pointer = keep_text(lint, pointer);
    if (label && !tag)
        finding->label = keep_text(lint, label);
    if (pointer && lint->input->file && lint->input->bytes)
        locate_finding(lint, pointer, finding);
    if (allowed)
        finding->allowed = keep_text(lint, allowed);
    lint->last = finding;
}

void ocv_lint_index_at(struct ocv_lint *lint, enum ocv_lint_id id, const char *pointer,
                       const char *format, ...)
{
    char message[OCV_ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    add_finding(lint, id, pointer, "", NULL, NULL, message);
}

void ocv_lint_entry_at(struct ocv_lint *lint, enum ocv_lint_id id, size_t entry, const char *member,
                       const char *format, ...)
{
    char message[OCV_ERROR_MESSAGE_MAX], pointer[256], where[160];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const char *label = ocv_lint_label(lint, entry);
    const char *name = ocv_lint_name(lint, entry);
    snprintf(pointer, sizeof(pointer), "/manifests/%zu%s", entry, member);
    if (lint->input->draft && *name)
        snprintf(where, sizeof(where), "%.64s", name);
    else
        snprintf(where, sizeof(where), "manifests[%zu]%s%.64s%s", entry, *name ? " (" : "", name,
                 *name ? ")" : "");
    add_finding(lint, id, pointer, where, *label ? label : NULL, NULL, message);
}

void ocv_lint_property(struct ocv_lint *lint, size_t entry, struct ocv_property p)
{
    char text[OCV_ERROR_MESSAGE_MAX];
    if (lint->status < 0 || !lint->last)
        return;
    snprintf(text, sizeof(text), "%s :: %s :: %s", p.ns, p.feature, p.value);
    lint->last->property = keep_text(lint, text);
    if (lint->input->source)
        lint->last->line =
            ocv_edit_source_line(lint->input->source, lint->input->images[entry], text);
}

void ocv_lint_tag_at(struct ocv_lint *lint, enum ocv_lint_id id, size_t tag, const char *format,
                     ...)
{
    char message[OCV_ERROR_MESSAGE_MAX], where[640];
    const struct ocv_lint_tag *t = &lint->input->tags[tag];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    snprintf(where, sizeof(where), "%.480s:%.128s", t->reference->familiar,
             t->reference->tag ? t->reference->tag : "");
    add_finding(lint, id, NULL, where, t->reference->tag, t, message);
}

void ocv_lint_hint(struct ocv_lint *lint, const char *format, ...)
{
    char hint[OCV_ERROR_MESSAGE_MAX];
    if (lint->status < 0 || !lint->last)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(hint, sizeof(hint), format, args);
    va_end(args);
    /* What is not written yet is corrected where it comes from: no command is named. */
    char *command = lint->input->draft ? strstr(hint, "variantctl index ") : NULL;
    if (command && !strstr(command, "index create")) {
        while (command > hint && strchr(" :,", command[-1]))
            command--;
        *command = '\0';
    }
    if (*hint)
        lint->last->hint = keep_text(lint, hint);
}

const char *ocv_lint_target(const struct ocv_lint *lint)
{
    return lint->input->file ? "REPO:TAG" : lint->input->name;
}
