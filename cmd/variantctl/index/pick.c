/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects the entries that an item means when its image is an index. */
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/text.h"
#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/edit/edit.h"

#include <string.h>

bool item_is_default(const struct item *item)
{
    return !item->label || !strcmp(item->label, "null");
}

/* Of the tag's own index (`own`) only the former default is taken, unless another one was given. In
 * one build for several platforms the entry must have the item's platform. */
bool build_wants(const struct build *b, const struct item *item, const struct ocv_entry *entry,
                 bool own)
{
    char hidden[OCV_PLATFORM_HIDDEN_MAX];
    const struct ocv_platform *wanted = item->platform, *p = &entry->platform;
    bool former = ocv_entry_is_default(entry) && !ocv_platform_is_hidden(p->variant);
    if (entry->code != OCV_REJECT_NONE ||
        (own && (!former || ocv_edit_has_default(b->document, p))))
        return false;
    if (wanted)
        return ocv_text_same(wanted->os, p->os) &&
               ocv_text_same(wanted->architecture, p->architecture) &&
               ocv_text_same(wanted->variant, p->variant);
    if (!item->by_label)
        return true;
    if (item_is_default(item))
        return !ocv_platform_is_hidden(p->variant);
    ocv_platform_hide(item->label, hidden);
    return ocv_text_same(hidden, p->variant);
}

bool item_picks(const struct item *item)
{
    return item->platform || item->by_label;
}

#define PLATFORMS_SHOWN 400u

int item_missing(const struct item *item, const struct image *image, struct ocv_error *err)
{
    char have[PLATFORMS_SHOWN] = "", name[128];
    for (size_t i = 0; i < ocv_index_count(image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        size_t at = strlen(have);
        if (entry->code == OCV_REJECT_NONE && entry->has_platform)
            snprintf(have + at, sizeof(have) - at, "%s%s", at ? ", " : "",
                     ocv_platform_format(&entry->platform, name, sizeof(name)));
    }
    if (!item_picks(item))
        return ocv_error_set(err, OCV_ERR_DATA, "%s names no image", image->text);
    if (item->platform)
        ocv_platform_format(item->platform, name, sizeof(name));
    else if (item_is_default(item))
        snprintf(name, sizeof(name), "a plain platform");
    else
        ocv_platform_hide(item->label, name);
    ocv_error_set(err, OCV_ERR_DATA, "%s has no image for %s", image->text, name);
    ocv_error_hint(err, "it has %s", *have ? have : "none");
    return OCV_ERR_DATA;
}

/* Entries of a build that no item uses would silently be lost. */
static void warn_left(const struct build *b, const struct image *image)
{
    char name[128];
    for (size_t i = 0; i < ocv_index_count(image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        bool taken = entry->code != OCV_REJECT_NONE;
        for (size_t k = 0; k < b->n_jobs && !taken; k++)
            taken = !strcmp(b->jobs[k].relabelled_from[0] ? b->jobs[k].relabelled_from
                                                          : b->jobs[k].child.descriptor.digest,
                            entry->digest);
        if (!taken)
            cli_warn(b->cli, "%s: %s is left out: no variant uses it", image->text,
                     entry->has_platform ? ocv_platform_format(&entry->platform, name, sizeof(name))
                                         : entry->digest);
    }
}

void build_warn_left_out(const struct build *b)
{
    for (size_t i = 0; i < b->n_items; i++) {
        bool told = !item_picks(&b->items[i]);
        for (size_t k = 0; k < i && !told; k++)
            told =
                item_picks(&b->items[k]) && !strcmp(b->items[k].reference, b->items[i].reference);
        for (size_t k = 0; k < b->n_images && !told; k++)
            if (!strcmp(b->images[k].text, b->items[i].reference))
                warn_left(b, &b->images[k]);
    }
}
