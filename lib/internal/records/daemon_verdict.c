/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/internal/records/daemon.h"

#include "lib/base/format/encodings.h"
#include "lib/base/format/json.h"

#include <stdio.h>
#include <string.h>

#define ANSWER_MAX (64u * 1024)
#define TARGET_MAX 24000u /* properties of 4,000 bytes, escaped, names, and devices */

static const char *const names[] = {
    [OCV_VERDICT_FITS] = "fits",       [OCV_VERDICT_MISFIT] = "misfit",
    [OCV_VERDICT_NONE] = "none",       [OCV_VERDICT_INDEX] = "index",
    [OCV_VERDICT_UNKNOWN] = "unknown", [OCV_VERDICT_LESSER] = "lesser",
    [OCV_VERDICT_WARNING] = "warning",
};

const char *ocv_verdict_name(enum ocv_verdict verdict)
{
    return names[verdict];
}

const char *ocv_verdict_fit_words(const char *fit)
{
    return strcmp(fit, "null") == 0 ? "null (the default)" : fit;
}

static void copy_text(const json_t *root, const char *key, char *out, size_t size)
{
    const char *text = ocv_json_text(root, key);
    snprintf(out, size, "%s", text ? text : "");
}

int ocv_verdict_parse(const void *bytes, size_t len, struct ocv_verdict_answer *out,
                      struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    *out = (struct ocv_verdict_answer){.verdict = OCV_VERDICT_UNKNOWN};
    OCV_TRY(ocv_json_load("answer of variantd", bytes, len, ANSWER_MAX, &root, err));
    const char *source = ocv_json_text(root, "source"), *word = ocv_json_text(root, "verdict");
    for (size_t i = 0; word && i <= OCV_VERDICT_LESSER; i++)
        if (strcmp(names[i], word) == 0)
            out->verdict = (enum ocv_verdict)i;
    out->labels_only = source && strcmp(source, "labels") == 0;
    out->required = json_is_string(json_object_get(root, "required"));
    copy_text(root, "label", out->label, sizeof(out->label));
    copy_text(root, "fit", out->fit, sizeof(out->fit));
    copy_text(root, "choose", out->choose, sizeof(out->choose));
    copy_text(root, "reason", out->reason, sizeof(out->reason));
    const json_t *config = json_object_get(root, "config");
    const char *fit = ocv_json_text(config, "verdict");
    out->config = !fit                          ? OCV_VERDICT_CONFIG_NONE
                  : strcmp(fit, "misfit") == 0  ? OCV_VERDICT_CONFIG_MISFIT
                  : strcmp(fit, "warning") == 0 ? OCV_VERDICT_CONFIG_WARNING
                                                : OCV_VERDICT_CONFIG_NONE;
    copy_text(config, "reason", out->config_reason, sizeof(out->config_reason));
    const json_t *trust = json_object_get(root, "trust");
    if (trust)
        out->trust = !strcmp(ocv_json_text_or(trust, "verdict", ""), "good")
                         ? OCV_VERDICT_TRUST_GOOD
                         : OCV_VERDICT_TRUST_BAD;
    copy_text(trust, "reason", out->trust_reason, sizeof(out->trust_reason));
    return OCV_OK;
}

int ocv_verdict_ask(const char *path, const struct ocv_verdict_question *question,
                    unsigned timeout_ms, struct ocv_verdict_answer *out, struct ocv_error *err)
{
    const struct {
        const char *name, *value;
    } arguments[] = {{"held", question->held ? "1" : NULL}, {"ref", question->reference},
                     {"digest", question->digest},          {"label", question->label},
                     {"properties", question->properties},  {"config", question->config},
                     {"devices", question->devices},        {"given", question->given}};
    ocv_auto_buffer target;
    ocv_auto_buffer body;
    char before = '?';
    long http = 0;
    ocv_buffer_init(&target, TARGET_MAX);
    ocv_buffer_init(&body, ANSWER_MAX);
    *out = (struct ocv_verdict_answer){.verdict = OCV_VERDICT_UNKNOWN};
    int status = ocv_buffer_printf(&target, err, "/v1/verdict");
    for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments) && status == OCV_OK; i++) {
        if (!arguments[i].value)
            continue;
        status = ocv_buffer_printf(&target, err, "%c%s=", before, arguments[i].name);
        if (status == OCV_OK)
            status = ocv_url_escape(arguments[i].value, OCV_URL_UNRESERVED ":/@", &target, err);
        before = '&';
    }
    if (status == OCV_ERR_DATA)
        return ocv_error_set(err, OCV_ERR_INVALID, "the request is too long");
    if (status < 0)
        return status;
    status = ocv_daemon_get(path, target.data, timeout_ms, &http, &body, err);
    if (status < 0) {
        ocv_error_prefix(err, "variantd cannot be asked");
        return status;
    }
    if (http != 200)
        return ocv_error_set(err, OCV_ERR_DATA, "variantd answers HTTP %ld", http);
    return ocv_verdict_parse(body.data ? body.data : "", body.len, out, err);
}
