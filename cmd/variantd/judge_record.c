/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this node remembers of its decisions, and what it makes of it on another day. */
#include "judge.h"
#include "judge_internal.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX (64u * 1024)

int judge_properties(const struct instance *instance, const char *label, const char *properties,
                     const char *statics, struct answer *out)
{
    ocv_auto_buffer reason;
    struct ocv_error err = {0};
    bool fits = false;
    ocv_buffer_init(&reason, REASON_MAX * 4);
    const struct snapshot *snapshot = node_get(instance->node);
    const struct ocv_resolve_options options = {.config = instance->settings->config};
    int status =
        ocv_judge(label, properties, statics, snapshot->profile, &options, &fits, &reason, &err);
    node_put(snapshot);
    out->verdict = status < 0 ? "unknown" : fits ? "fits" : "misfit";
    snprintf(out->label, sizeof(out->label), "%s", label ? label : "");
    snprintf(out->reason, sizeof(out->reason), "%s",
             status < 0    ? err.message
             : reason.data ? reason.data
                           : "");
    return status;
}

bool judge_recorded(const struct instance *instance, const char *digest, bool trusted,
                    struct answer *out, char *reference, size_t size)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, RECORD_MAX);
    if (ocv_record_read(instance->settings->records, digest, &text, NULL) < 0)
        return false;
    json_t *record = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    const char *properties = json_string_value(json_object_get(record, "properties"));
    const char *of = json_string_value(json_object_get(record, "reference"));
    bool known =
        properties &&
        judge_properties(instance, json_string_value(json_object_get(record, "label")), properties,
                         json_string_value(json_object_get(record, "static")), out) == OCV_OK;
    snprintf(reference, size, "%s", of ? of : "");
    if (!trusted && json_is_true(json_object_get(record, "secret")))
        out->label[0] = out->reason[0] = reference[0] = '\0';
    json_decref(record);
    return known;
}

int judge_describe(const struct ocv_index *index, const struct ocv_entry *entry,
                   struct ocv_buffer *properties, struct ocv_buffer *statics, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; status == OCV_OK && i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(index, entry->properties[i]);
        status = ocv_buffer_printf(properties, err, "%s%s :: %s :: %s", i ? ", " : "", p.ns,
                                   p.feature, p.value);
        if (status == OCV_OK && ocv_index_namespace_static(index, p.ns))
            status = ocv_buffer_printf(statics, err, "%s%s", statics->len ? ", " : "", p.ns);
    }
    return status;
}

static void complain(int status, const struct ocv_error *err)
{
    static atomic_bool told; /* one folder, one reason */
    if (status < 0 && !atomic_exchange(&told, true))
        log_line(LOG_LEVEL_WARNING, "what is chosen is not recorded: %s", err->message);
}

void judge_record(const struct settings *settings, const struct ocv_reference *reference,
                  const struct ocv_index *index, const struct ocv_entry *entry, bool daemon)
{
    char name[1024];
    bool secret = daemon && !settings->serve_private;
    struct ocv_error err = {0};
    ocv_auto_buffer properties, statics;
    ocv_buffer_init(&properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&statics, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    snprintf(name, sizeof(name), "%s%s%s", reference->name, reference->tag ? ":" : "",
             reference->tag ? reference->tag : "");
    complain(ocv_record_index(settings->records, index, name, secret, &err), &err);
    if (!entry || !entry->label)
        return;
    int status = judge_describe(index, entry, &properties, &statics, &err);
    const struct ocv_record record = {.child = entry->digest,
                                      .index = ocv_index_digest(index),
                                      .label = entry->label,
                                      .properties = properties.data ? properties.data : "",
                                      .statics = statics.data,
                                      .reference = name,
                                      .secret = secret};
    if (status == OCV_OK)
        status = ocv_record_write(settings->records, &record, &err);
    complain(status, &err);
}

/* One file of the folder, by its own name: "sha256-HEX.json". */
static bool misfit(const struct instance *instance, const char *file)
{
    struct answer answer = {0};
    char digest[OCV_DIGEST_MAX], reference[1024] = "";
    const char *dash = strchr(file, '-'), *dot = strrchr(file, '.');
    if (!dash || !dot || dot < dash || strcmp(dot, ".json") != 0 ||
        snprintf(digest, sizeof(digest), "%.*s:%.*s", (int)(dash - file), file,
                 (int)(dot - dash - 1), dash + 1) >= (int)sizeof(digest) ||
        !judge_recorded(instance, digest, true, &answer, reference, sizeof(reference)) ||
        strcmp(answer.verdict, "misfit") != 0)
        return false;
    log_line(LOG_LEVEL_WARNING, "%s (%s) no longer fits this node: %s",
             reference[0] ? reference : digest, answer.label, answer.reason);
    return true;
}

void judge_records(const struct instance *instance, struct metrics *metrics)
{
    DIR *dir = opendir(instance->settings->records);
    const struct dirent *entry;
    uint64_t n = 0;
    while (dir && (entry = readdir(dir)))
        n += misfit(instance, entry->d_name) ? 1 : 0;
    if (dir)
        closedir(dir);
    metrics_misfits(metrics, n);
}
