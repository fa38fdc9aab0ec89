/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/image.h"
#include "cmd/common/names.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/core/resolve/resolve_internal.h"

#include <string.h>

#define MATCHED_SHOWN 6u
#define NAME_WIDTH 48 /* of the columns, at most */
#define PLATFORM_WIDTH 32
#define TEXT_MAX (256u * 1024)

const char *explain_name(const struct ocv_index *index, const struct ocv_entry *entry, char *out,
                         size_t size)
{
    if (entry->label)
        snprintf(out, size, "%s", entry->label);
    else if (ocv_index_shows_default(index, entry))
        snprintf(out, size, "the default");
    else
        snprintf(out, size, "(entry %zu)", entry->position);
    /* Twins in another format: "cuda12.8+nydus.remoteimage.v1". */
    char clean[128];
    for (size_t i = 0; i < entry->platform.n_os_features; i++) {
        size_t n = strlen(out);
        if (entry->platform.os && strcmp(entry->platform.os, "windows") != 0)
            snprintf(out + n, size - n, "+%s",
                     cli_text(entry->platform.os_features[i], clean, sizeof(clean)));
    }
    return out;
}

const char *explain_choice(const struct ocv_index *index, const struct ocv_entry *entry, char *out,
                           size_t size)
{
    if (entry->label || ocv_index_has_variants(index))
        return explain_name(index, entry, out, size);
    snprintf(out, size, "an image without variants");
    return out;
}

int explain_matched(const struct image *image, const struct ocv_decision *decision,
                    const struct ocv_entry *entry, size_t max, struct ocv_buffer *out,
                    struct ocv_error *err)
{
    uint32_t ids[OCV_ENTRY_PROPERTIES_MAX];
    size_t n = ocv_decision_matched(decision, entry, ids, OCV_ENTRY_PROPERTIES_MAX);
    for (size_t i = 0; i < n && i < max; i++) {
        struct ocv_property p = ocv_index_property(image->index, ids[i]);
        OCV_TRY(ocv_buffer_printf(out, err, "%s%s :: %s :: %s", i ? ", " : "", p.ns, p.feature,
                                  p.value));
    }
    return n > max ? ocv_buffer_printf(out, err, " and %zu more", n - max) : OCV_OK;
}

int explain_brief(const struct image *image, const struct ocv_decision *decision,
                  const struct ocv_entry *entry, size_t max, struct ocv_buffer *out,
                  struct ocv_error *err)
{
    uint32_t ids[OCV_ENTRY_PROPERTIES_MAX];
    size_t n = ocv_decision_matched(decision, entry, ids, OCV_ENTRY_PROPERTIES_MAX), told = 0;
    const char *last = NULL;
    ocv_auto_buffer properties, own;
    ocv_buffer_init(&properties, TEXT_MAX);
    ocv_buffer_init(&own, TEXT_MAX);
    OCV_TRY(ocv_index_describe(image->index, entry, &properties, &own, err));
    for (size_t i = 0; i < n; i++) {
        struct ocv_property p = ocv_index_property(image->index, ids[i]);
        if (ocv_text_listed(own.data, p.ns) || told++ >= max)
            continue;
        if (told > 1)
            OCV_TRY(ocv_buffer_printf(out, err, ", "));
        /* The words of the vocabulary for it, or its own: its namespace `last` need not be told
         * again. */
        const struct vocabulary_namespace *ns = vocabulary_namespace_find(p.ns);
        const struct vocabulary_feature *feature =
            ns ? vocabulary_feature_find(ns, p.feature) : NULL;
        const char *brief = feature ? feature->brief : NULL;
        if (!brief) {
            bool again = last && !strcmp(last, p.ns);
            last = p.ns;
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s%s %s", again ? "" : p.ns, again ? "" : " ",
                                      p.feature, p.value));
            continue;
        }
        const char *end = strchr(brief, '}');
        bool cut = end && end[-1] == '_';
        size_t value = cut ? strcspn(p.value, "_") : strlen(p.value);
        OCV_TRY(ocv_buffer_printf(out, err, "%.*s%.*s%s", (int)strcspn(brief, "{"), brief,
                                  (int)value, p.value, end ? end + 1 : ""));
    }
    /* it is all that there is to tell */
    if (told == 0)
        return explain_matched(image, decision, entry, max, out, err);
    return told > max ? ocv_buffer_printf(out, err, " and %zu more", told - max) : OCV_OK;
}

static int format_head(const struct cli *cli, const struct image *image,
                       const struct ocv_decision *decision, struct ocv_buffer *out,
                       struct ocv_error *err)
{
    char platform[128], name[80];
    const struct ocv_platform *asked = cli->platform;
    struct ocv_platform host = ocv_profile_platform(cli->profile);
    const char *origin;
    const char *glob =
        ocv_config_repository(ocv_config_for_reference(cli->config, image->reference), &origin);
    const struct ocv_entry *selected = ocv_decision_selected(decision);
    OCV_TRY(ocv_buffer_printf(out, err, "Image   %s\n", image->text));
    if (image->choice)
        OCV_TRY(ocv_buffer_printf(out, err, "Rule    %s, for the tags that stand for %s\n",
                                  ocv_tag_choice_family(image->choice),
                                  ocv_tag_choice_group(image->choice)));
    OCV_TRY(ocv_buffer_printf(out, err, "%s  %s\n",
                              image->kind == OCV_DOCUMENT_INDEX ? "Index " : "Digest",
                              image->top.digest));
    OCV_TRY(ocv_buffer_printf(out, err, "Host    %s\n",
                              host.architecture
                                  ? ocv_platform_format(&host, platform, sizeof(platform))
                                  : "(no platform in the profile)"));
    if (glob)
        OCV_TRY(ocv_buffer_printf(out, err, "Config  repositories: %s (%s)\n", glob, origin));
    if (asked)
        OCV_TRY(ocv_buffer_printf(out, err, "For     %s\n",
                                  ocv_platform_format(asked, platform, sizeof(platform))));
    if (!selected)
        return ocv_buffer_printf(out, err, "Chosen  nothing, for the reasons below\n");
    const char *tag = image_tag(image, selected);
    return ocv_buffer_printf(out, err, "Chosen  %s  %s%s%s\n",
                             explain_choice(image->index, selected, name, sizeof(name)),
                             selected->digest, tag ? "  tag " : "", tag ? tag : "");
}

static const char *platform_text(const struct ocv_entry *entry, char *out, size_t size)
{
    return entry->has_platform ? ocv_platform_format(&entry->platform, out, size) : "any platform";
}

static int format_fitting(const struct image *image, const struct ocv_decision *decision, size_t i,
                          int width, int platform_width, struct ocv_buffer *out,
                          struct ocv_error *err)
{
    char name[80], platform[128];
    const struct ocv_entry *entry = ocv_decision_order(decision, i);
    OCV_TRY(ocv_buffer_printf(out, err, "%4zu  %-*s  %-*s  ", i + 1, width,
                              explain_name(image->index, entry, name, sizeof(name)), platform_width,
                              platform_text(entry, platform, sizeof(platform))));
    if (entry->kind == OCV_ENTRY_VARIANT)
        OCV_TRY(explain_matched(image, decision, entry, MATCHED_SHOWN, out, err));
    else
        OCV_TRY(ocv_buffer_printf(
            out, err, "%s",
            entry->kind == OCV_ENTRY_NULL || ocv_index_shows_default(image->index, entry)
                ? "needs nothing special"
            : ocv_index_has_variants(image->index) ? "no annotations, after all variants"
                                                   : "an image without variants"));
    size_t before = out->len;
    OCV_TRY(ocv_buffer_printf(out, err, "\n      %-*s  note: ", width, ""));
    size_t mark = out->len;
    OCV_TRY(ocv_decision_note(decision, entry, out, err));
    /* nothing to say */
    if (out->len == mark)
        out->data[out->len = before] = '\0';
    return ocv_buffer_append(out, "\n", 1, err);
}

static int format_rejected(const struct image *image, const struct ocv_decision *decision, size_t i,
                           int width, struct ocv_buffer *out, struct ocv_error *err)
{
    char name[80];
    struct ocv_rejection r = ocv_decision_rejected(decision, i);
    OCV_TRY(ocv_buffer_printf(out, err, "   -  %-*s  ", width,
                              explain_name(image->index, r.entry, name, sizeof(name))));
    OCV_TRY(ocv_decision_reason(decision, i, out, err));
    size_t before = out->len;
    OCV_TRY(ocv_buffer_printf(out, err, "\n      %-*s  hint: ", width, ""));
    size_t mark = out->len;
    OCV_TRY(ocv_decision_hint(decision, i, out, err));
    /* nothing to say */
    if (out->len == mark)
        out->data[out->len = before] = '\0';
    return ocv_buffer_append(out, "\n", 1, err);
}

/* How to take the second best of those that fit. */
static int format_second(const struct cli *cli, const struct image *image,
                         const struct ocv_decision *decision, struct ocv_buffer *out,
                         struct ocv_error *err)
{
    const struct ocv_entry *first = ocv_decision_order(decision, 0);
    const struct ocv_entry *second = ocv_decision_order(decision, 1);
    bool named = image->reference || image->layout;
    if (!second || cli->label || !named)
        return OCV_OK;
    const char *label = second->kind == OCV_ENTRY_VARIANT ? second->label : "null";
    if (!label || (first->label && !strcmp(first->label, label)))
        return OCV_OK;
    return ocv_buffer_printf(out, err, "      to take the second best: vpull %s%s%s--label %s %s\n",
                             cli->profile_file ? "--profile " : "",
                             cli->profile_file ? cli->profile_file : "",
                             cli->profile_file ? " " : "", label, image->text);
}

int explain_format(const struct cli *cli, const struct image *image,
                   const struct ocv_decision *decision, struct ocv_buffer *out,
                   struct ocv_error *err)
{
    size_t fitting = ocv_decision_order_count(decision);
    size_t rejected = ocv_decision_rejected_count(decision);
    char text[128];
    int name = 5, platform = 5; /* widths of the table's columns */
    for (size_t i = 0; i < ocv_index_count(image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        int n = (int)strlen(explain_name(image->index, entry, text, sizeof(text)));
        name = n > name ? n : name;
    }
    for (size_t i = 0; i < fitting; i++) {
        int n = (int)strlen(platform_text(ocv_decision_order(decision, i), text, sizeof(text)));
        platform = n > platform ? n : platform;
    }
    name = name > NAME_WIDTH ? NAME_WIDTH : name;
    platform = platform > PLATFORM_WIDTH ? PLATFORM_WIDTH : platform;
    OCV_TRY(format_head(cli, image, decision, out, err));
    if (fitting)
        OCV_TRY(ocv_buffer_printf(out, err, "\nFits, best first\n"));
    for (size_t i = 0; i < fitting; i++)
        OCV_TRY(format_fitting(image, decision, i, name, platform, out, err));
    if (fitting)
        OCV_TRY(format_second(cli, image, decision, out, err));
    if (rejected)
        OCV_TRY(ocv_buffer_printf(out, err, "\nDoes not fit\n"));
    for (size_t i = 0; i < rejected; i++)
        OCV_TRY(format_rejected(image, decision, i, name, out, err));

    /* notes of configurations that were read where tags leave something open */
    struct ocv_tag_note note;
    for (size_t i = 0; image->choice && ocv_tag_choice_note(image->choice, i, &note); i++) {
        char clean[128];
        if (i == 0)
            OCV_TRY(ocv_buffer_printf(out, err, "\nRead of their configurations\n"));
        OCV_TRY(ocv_buffer_printf(out, err, "      %s  %s%s%s\n", note.tag,
                                  note.contradiction ? note.contradiction
                                  : note.heard       ? cli_text(note.heard, clean, sizeof(clean))
                                  : note.refused     ? note.refused
                                  : *note.digest
                                      ? "nothing"
                                      : "not asked: another one fits better, or none, in any case",
                                  note.refused && !note.contradiction ? ", nor does it say so" : "",
                                  note.contradiction ? "; the configuration counts" : ""));
    }
    return OCV_OK;
}
