/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include "lib/base/cleanup.h"
#include "lib/internal/config/config.h"
#include "lib/internal/config/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MAX 400u /* bytes of the labels in a message */

static int join_lists(const struct ocv_strings *a, const struct ocv_strings *b,
                      struct ocv_strings *out, struct ocv_error *err)
{
    size_t n = a->count + b->count;
    *out = (struct ocv_strings){calloc(n + 1, sizeof(char *)), calloc(n + 1, sizeof(char *)), n};
    if (!out->list || !out->origins)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct ocv_strings *from = i < a->count ? a : b;
        out->list[i] = from->list[i < a->count ? i : i - a->count];
        out->origins[i] = from->origins[i < a->count ? i : i - a->count];
    }
    return OCV_OK;
}

/* `wishes` NULL: without them. */
static int resolve_entry(const struct choose_question *q, const struct workload_wishes *wishes,
                         struct ocv_decision **out, struct ocv_error *err)
{
    static const struct ocv_strings none = {0};
    const struct ocv_config *own = wishes ? wishes->config : NULL;
    const struct ocv_preferences base = ocv_config_preferences(q->config);
    struct ocv_resolve_options options = {.preferences = base};
    struct ocv_workload_input devices = {0};
    struct ocv_preferences *p = &options.preferences;
    p->tag = q->tag;
    p->disable = p->require = none; /* then owned here; their members are borrowed */
    int status = join_lists(&base.disable, own ? &own->disable : &none, &p->disable, err);
    if (status == OCV_OK)
        status = join_lists(&base.require, own ? &own->require : &none, &p->require, err);
    if (wishes && *wishes->label)
        options.label = wishes->label;
    if (status == OCV_OK && strcmp(q->devices, DEVICES_NODE) != 0)
        status = ocv_workload_devices(strcmp(q->devices, DEVICES_CPU) == 0 ? "" : q->devices,
                                      q->profile, &devices, p, err);
    if (status == OCV_OK)
        status = ocv_resolve(q->index, q->profile, &options, out, err);
    free(p->disable.list);
    free(p->disable.origins);
    free(p->require.list);
    free(p->require.origins);
    ocv_workload_input_free(&devices);
    return status;
}

static const char *label_of(const struct ocv_entry *entry)
{
    if (entry->code != OCV_REJECT_NONE)
        return NULL;
    return entry->kind == OCV_ENTRY_VARIANT ? entry->label : "null";
}

/* One of the first `n` entries has that label. */
static bool has_label(const struct ocv_index *index, size_t n, const char *label)
{
    for (size_t i = 0; i < n; i++) {
        const char *other = label_of(ocv_index_entry(index, i));
        if (other && strcmp(label, other) == 0)
            return true;
    }
    return false;
}

static int refuse_pull(const struct choose_question *q, const char *why, struct ocv_error *err)
{
    static const char *const order[] = {"label", "require", "devices", "disable"};
    char value[120] = "", labels[LABELS_MAX] = "";
    const char *name = NULL;
    /* The annotation to name, and its value as it was read. */
    for (size_t i = 0; !name && i < sizeof(order) / sizeof(*order); i++) {
        size_t n = strlen(order[i]);
        for (const char *line = q->wishes->text; !name && *line; line += strcspn(line, "\n") + 1)
            if (strncmp(line, order[i], n) == 0 && line[n] == '=') {
                snprintf(value, sizeof(value), "%.*s", (int)strcspn(line + n + 1, "\n"),
                         line + n + 1);
                name = order[i];
            }
    }
    /* "a, b, null": each label once, in the index's order. */
    size_t at = 0;
    for (size_t i = 0; i < ocv_index_count(q->index); i++) {
        const char *label = label_of(ocv_index_entry(q->index, i));
        if (!label || has_label(q->index, i, label))
            continue;
        if (at + strlen(label) + 8 > LABELS_MAX) {
            snprintf(labels + at, LABELS_MAX - at, ", ...");
            break;
        }
        at += (size_t)snprintf(labels + at, LABELS_MAX - at, "%s%s", at ? ", " : "", label);
    }
    return ocv_error_set(err, OCV_ERR_INVALID,
                         "annotation dev.ocivariant/%s: \"%s\": %s; %.250s has: %s", name, value,
                         why, q->name, *labels ? labels : "no variants");
}

static int take_unknown(void *data, const struct ocv_unknown_name *name)
{
    if (name->kind == OCV_UNKNOWN_NOTE)
        return 0;
    return ocv_error_set(data, OCV_ERR_INVALID, "annotation dev.ocivariant/%s: %s", name->key,
                         name->message);
}

int choose_entry(const struct choose_question *q, const struct ocv_entry **out,
                 struct ocv_error *err)
{
    ocv_auto(ocv_decision) decision = NULL;
    struct ocv_error local;
    const struct ocv_name_sources sources = {.profile = q->profile, .index = q->index};
    const char *own = ocv_config_get(q->config, "label");
    if (own && *own && *q->wishes->label && strcmp(own, q->wishes->label) != 0)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "annotation dev.ocivariant/label: \"%s\": the node's configuration "
                             "allows %s alone for %.250s",
                             q->wishes->label, own, q->name);
    /* A misspelt name must not count as something that this node lacks. */
    OCV_TRY(ocv_config_check_names(q->wishes->config, &sources, take_unknown, err ? err : &local));
    OCV_TRY(resolve_entry(q, q->wishes, &decision, err));
    *out = ocv_decision_selected(decision);
    if (*out)
        return OCV_OK;

    /* Nothing was chosen with the wishes. */
    const char *label = q->wishes->label;
    ocv_auto(ocv_decision) without = NULL;
    OCV_TRY(resolve_entry(q, NULL, &without, err));
    if (!*q->wishes->text || (!*label && !ocv_decision_selected(without)))
        return ocv_error_set(err, OCV_ERR_NO_MATCH, "%.250s: no entry fits this node", q->name);
    if (*label && !has_label(q->index, ocv_index_count(q->index), label))
        return refuse_pull(q, "there is no such variant", err);
    ocv_auto_buffer why;
    ocv_buffer_init(&why, 4096);
    for (size_t i = 0; *label && i < ocv_decision_rejected_count(decision); i++) {
        const char *other = label_of(ocv_decision_rejected(decision, i).entry);
        if (other && strcmp(other, label) == 0 &&
            ocv_decision_reason(decision, i, &why, NULL) == OCV_OK)
            break;
    }
    return refuse_pull(q, why.len ? why.data : "no variant of that kind fits", err);
}

int choose_possible(const struct ocv_index *index, const struct ocv_profile *profile,
                    const struct ocv_entry **out, size_t max, size_t *n, struct ocv_error *err)
{
    /* Rejections that wishes or a set of devices can change; any other stays. */
    static const bool may_change[] = {
        [OCV_REJECT_VALUE_UNSUPPORTED] = true, /* another device may have it */
        [OCV_REJECT_FEATURE_UNSUPPORTED] = true, [OCV_REJECT_DEVICE] = true,
        [OCV_REJECT_NO_DEVICE] = true,           [OCV_REJECT_DISABLED] = true,
        [OCV_REJECT_NOT_REQUESTED] = true,       [OCV_REJECT_REQUIREMENT] = true};
    ocv_auto(ocv_decision) decision = NULL;
    int status = ocv_resolve(index, profile, NULL, &decision, err);
    *n = 0;
    for (size_t i = 0; status == OCV_OK && i < ocv_index_count(index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(index, i);
        bool out_of_it = entry->code != OCV_REJECT_NONE;
        for (size_t k = 0; k < ocv_decision_rejected_count(decision) && !out_of_it; k++) {
            struct ocv_rejection r = ocv_decision_rejected(decision, k);
            out_of_it =
                r.entry == entry && ((size_t)r.code >= sizeof(may_change) || !may_change[r.code]);
        }
        if (out_of_it)
            continue;
        if (*n == max)
            return ocv_error_set(err, OCV_ERR_DATA, "more than %zu variants", max);
        out[(*n)++] = entry;
    }
    return status;
}
