/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is printed before the first byte is fetched: the choice, the reason, and its size. */
#include "cmd/common/image/image.h"
#include "cmd/vpull/vpull.h"

#include "lib/base/cleanup.h"

#include <string.h>

#define MATCHED_SHOWN 4u
#define TEXT_MAX (64u * 1024)

/* About the choice: why it fits, what is odd about it, what was passed over. Empty: nothing. */
struct choice_texts {
    const char *matched, *note, *missed;
};

static void announce_text(struct pull *pull, const struct choice_texts *said, int64_t bytes,
                          int64_t others)
{
    char size[FORMAT_NUMBER_MAX], other[FORMAT_NUMBER_MAX], name[80];
    size_t layers = ocv_manifest_layer_count(pull->child.manifest);
    const struct ocv_entry *entry = pull->entry;
    bool variant = entry->kind == OCV_ENTRY_VARIANT;
    bool unchecked = variant && (!*said->matched || pull->cli->unchecked);
    bool full = variant && !unchecked && pull->cli->verbose;
    const char *why = unchecked                                   ? " (not checked)"
                      : full                                      ? " (matched "
                      : variant                                   ? ": "
                      : ocv_index_has_variants(pull->image.index) ? ": needs nothing special"
                                                                  : "";
    progress_hold(pull->progress);
    progress_message(pull->progress, "%s%s%s%s%s%s", pull->options->many ? pull->image.text : "",
                     pull->options->many ? ": " : "",
                     entry->label || !pull_label(pull)
                         ? explain_choice(pull->image.index, entry, name, sizeof(name))
                         : pull_label(pull),
                     why, variant && !unchecked ? said->matched : "", full ? ")" : "");
    if (*said->note)
        progress_message(pull->progress, "%s", said->note);
    if (*said->missed)
        progress_message(pull->progress, "note: %s", said->missed);
    if (*pull->signature.key)
        progress_message(pull->progress, "signed by the key %s", pull->signature.key);
    progress_message(pull->progress, "%s in %zu layer%s%s%s", format_bytes(bytes, size), layers,
                     layers == 1 ? "" : "s", others >= 0 ? "; the default is " : "",
                     others >= 0 ? format_bytes(others, other) : "");
    progress_release(pull->progress);
}

static json_t *decision_event(const struct pull *pull, const struct choice_texts *said,
                              int64_t bytes, int64_t others)
{
    json_t *matched = json_array();
    uint32_t ids[OCV_ENTRY_PROPERTIES_MAX];
    size_t n = ocv_decision_matched(pull->decision, pull->entry, ids, OCV_ENTRY_PROPERTIES_MAX);
    for (size_t i = 0; i < n; i++) {
        struct ocv_property p = ocv_index_property(pull->image.index, ids[i]);
        json_array_append_new(matched, json_sprintf("%s :: %s :: %s", p.ns, p.feature, p.value));
    }
    json_t *event = json_pack("{s:s, s:s, s:s?, s:s, s:o, s:I, s:o}", "image", pull->image.text,
                              "index", pull->image.top.digest, "label", pull_label(pull), "digest",
                              pull->entry->digest, "matched", matched, "bytes", (json_int_t)bytes,
                              "default_bytes", others >= 0 ? json_integer(others) : json_null());
    if (event && pull->image.choice) {
        json_object_set_new(event, "rule", json_string(ocv_tag_choice_family(pull->image.choice)));
        json_object_set_new(event, "tag", json_string(image_tag(&pull->image, pull->entry)));
    }
    if (event && *said->note)
        json_object_set_new(event, "note", json_string(said->note));
    if (event && *said->missed)
        json_object_set_new(event, "missed", json_string(said->missed));
    if (event && *pull->signature.key)
        json_object_set_new(event, "signature",
                            json_pack("{s:s, s:s}", "key", pull->signature.key, "digest",
                                      pull->signature.document));
    return event;
}

int pull_announce(struct pull *pull, struct ocv_error *err)
{
    ocv_auto_buffer matched, note, missed;
    ocv_buffer_init(&matched, TEXT_MAX);
    ocv_buffer_init(&note, TEXT_MAX);
    ocv_buffer_init(&missed, TEXT_MAX);
    if (pull->options->quiet && !pull->options->dry_run)
        return OCV_OK;
    /* what a client that knows nothing of variants would fetch; -1 if it is the same or unknown */
    int64_t bytes = child_bytes(&pull->child), others = -1;
    const struct ocv_entry *other = ocv_decision_default(pull->decision);
    struct ocv_descriptor descriptor;
    ocv_auto_child child = {0};
    if (other && strcmp(other->digest, pull->entry->digest) != 0 &&
        child_descriptor(other, &descriptor, NULL) == OCV_OK &&
        child_read(pull->cli, &pull->image, &descriptor, &child, NULL) == OCV_OK)
        others = child_bytes(&child);
    OCV_TRY(pull->cli->verbose ? explain_matched(&pull->image, pull->decision, pull->entry,
                                                 SIZE_MAX, &matched, err)
                               : explain_brief(&pull->image, pull->decision, pull->entry,
                                               MATCHED_SHOWN, &matched, err));
    OCV_TRY(ocv_decision_note(pull->decision, pull->entry, &note, err));
    /* If the machine has hardware that the chosen build does not use, say so: users should not have
     * to find out from its speed. */
    size_t i = ocv_decision_missed(pull->decision);
    if (i != ocv_decision_rejected_count(pull->decision) && !pull->cli->label) {
        char name[80];
        struct ocv_rejection r = ocv_decision_rejected(pull->decision, i);
        OCV_TRY(ocv_buffer_printf(&missed, err, "this machine has %s, but %s does not fit: ", r.ns,
                                  explain_name(pull->image.index, r.entry, name, sizeof(name))));
        size_t before = missed.len;
        OCV_TRY(ocv_decision_hint(pull->decision, i, &missed, err));
        if (missed.len == before)
            OCV_TRY(ocv_decision_reason(pull->decision, i, &missed, err));
    }
    progress_status_end(pull->progress);
    const struct choice_texts said = {matched.data ? matched.data : "", note.data ? note.data : "",
                                      missed.data ? missed.data : ""};
    if (progress_is_json(pull->progress)) {
        progress_event(pull->progress, "decision", decision_event(pull, &said, bytes, others));
        return OCV_OK;
    }
    announce_text(pull, &said, bytes, others);
    return pull->options->dry_run
               ? ocv_buffer_printf(pull->prints, err, "%s\n", pull->entry->digest)
               : OCV_OK;
}
