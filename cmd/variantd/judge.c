/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In the order of what is nearest: the properties that were given, the node's own record of the
 * digest, the index at the reference. A registry is asked only where the first two say nothing, or
 * to tell what would fit instead. */
#include "judge.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX (64u * 1024)
#define REASON_MAX 1024u

struct answer {
    const char *verdict;
    char label[64], fit[64], reason[REASON_MAX];
};

static int judge_properties(const struct instance *instance, const char *label,
                            const char *properties, const char *statics, struct answer *out)
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

/* The node's record of a digest: true if there is one. */
static bool judge_recorded(const struct instance *instance, const char *digest, struct answer *out,
                           char *reference, size_t size)
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
    json_decref(record);
    return known;
}

static void judge_in_index(const struct instance *instance, const struct judge_question *q,
                           const char *reference, struct answer *out)
{
    struct mirror_entry entry = {0};
    struct ocv_error err = {0};
    ocv_buffer_init(&entry.properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&entry.statics, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = mirror_find(instance->mirror, reference, q->digest, q->trusted, &entry, &err);
    if (out->verdict) { /* decided already: only what would fit was wanted */
        if (status == OCV_OK && strcmp(entry.fit, out->label) != 0)
            snprintf(out->fit, sizeof(out->fit), "%s", entry.fit);
    } else if (status < 0) {
        out->verdict = "unknown";
        snprintf(out->reason, sizeof(out->reason), "%s", err.message);
    } else if (!entry.variants) {
        out->verdict = "none";
    } else if (entry.is_index) {
        out->verdict = "index";
        snprintf(out->fit, sizeof(out->fit), "%s", entry.fit);
        snprintf(out->reason, sizeof(out->reason),
                 "an index with variants, in which nobody has chosen");
    } else if (!entry.found) {
        out->verdict = "unknown";
        snprintf(out->reason, sizeof(out->reason), "%s is not in the index at %s", q->digest,
                 reference);
    } else {
        snprintf(out->fit, sizeof(out->fit), "%s", entry.fit);
        judge_properties(instance, entry.label, entry.properties.data ? entry.properties.data : "",
                         entry.statics.data, out);
    }
    ocv_buffer_free(&entry.properties);
    ocv_buffer_free(&entry.statics);
}

/* REPO@DIGEST of the reference, to look at what the digest itself is. */
static bool pinned(const char *text, const char *digest, char *out, size_t size)
{
    ocv_auto(ocv_reference) reference = NULL;
    return ocv_reference_parse(text, &reference, NULL) == OCV_OK &&
           snprintf(out, size, "%s@%s", reference->name, digest) < (int)size;
}

int judge(const struct instance *instance, const struct judge_question *q, struct ocv_buffer *json,
          struct ocv_error *err)
{
    struct answer answer = {0};
    char recorded[1024] = "", pin[1024];
    const char *reference = q->reference;
    if (q->digest && !ocv_digest_wellformed(q->digest))
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not a digest", q->digest);
    if (q->properties)
        judge_properties(instance, q->label, q->properties, NULL, &answer);
    else if (q->digest)
        judge_recorded(instance, q->digest, &answer, recorded, sizeof(recorded));
    if (!reference && recorded[0])
        reference = recorded;
    bool misfit = answer.verdict && strcmp(answer.verdict, "misfit") == 0;
    if (reference && (!answer.verdict || misfit))
        judge_in_index(instance, q, reference, &answer);
    /* pinned, or under a tag of its own: where it was resolved stands what would fit */
    if (misfit && !answer.fit[0] && recorded[0] && reference != recorded)
        judge_in_index(instance, q, recorded, &answer);
    /* a digest that the tag does not lead to any more, or that is an index of its own */
    if (reference && q->digest && answer.verdict && !strcmp(answer.verdict, "unknown") &&
        pinned(reference, q->digest, pin, sizeof(pin))) {
        struct answer again = {0};
        judge_in_index(instance, q, pin, &again);
        if (again.verdict && !strcmp(again.verdict, "index"))
            answer = again;
    }
    if (!answer.verdict) {
        answer.verdict = "unknown";
        snprintf(answer.reason, sizeof(answer.reason), "nothing is known of this image here");
    }
    json_t *root = json_pack("{s:s, s:s, s:s, s:s}", "verdict", answer.verdict, "label",
                             answer.label, "fit", answer.fit, "reason", answer.reason);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    int status = text ? ocv_buffer_printf(json, err, "%s\n", text) : ocv_error_nomem(err);
    free(text);
    return status;
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

void judge_record(const struct settings *settings, const struct ocv_reference *reference,
                  const struct ocv_index *index, const struct ocv_entry *entry)
{
    static atomic_bool told; /* one folder, one reason */
    char name[1024];
    struct ocv_error err = {0};
    ocv_auto_buffer properties, statics;
    ocv_buffer_init(&properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&statics, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    if (!entry->label)
        return;
    snprintf(name, sizeof(name), "%s%s%s", reference->name, reference->tag ? ":" : "",
             reference->tag ? reference->tag : "");
    int status = judge_describe(index, entry, &properties, &statics, &err);
    const struct ocv_record record = {.child = entry->digest,
                                      .index = ocv_index_digest(index),
                                      .label = entry->label,
                                      .properties = properties.data ? properties.data : "",
                                      .statics = statics.data,
                                      .reference = name};
    if (status == OCV_OK)
        status = ocv_record_write(settings->records, &record, &err);
    if (status < 0 && !atomic_exchange(&told, true))
        log_line(LOG_LEVEL_WARNING, "what is chosen is not recorded: %s", err.message);
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
        !judge_recorded(instance, digest, &answer, reference, sizeof(reference)) ||
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
