/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a tag leaves open and its image's configuration says: "CUDA_VERSION=12.8.1" is read as if
 * the tag had a part "cuda12.8". So a family's own rules say what follows of it, as they do for
 * tags that say it themselves. What the image says of itself wins over its name. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/tags/tags_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ocv_tag_answer_part(const struct ocv_tag_family *family, const char *of, const char *version,
                         struct ocv_tag_answer_part *out, bool *nomem)
{
    *out = (struct ocv_tag_answer_part){.of = of};
    if (snprintf(out->text, sizeof(out->text), "%s%s", of, version) >= (int)sizeof(out->text))
        return false;
    for (size_t i = 0; i < family->n_items; i++) {
        const struct ocv_tag_item *item = &family->items[i];
        if (!item->n_gives || !ocv_tag_match(&item->regex, out->text, out->captures, nomem) ||
            out->text[out->captures[1].rm_eo] != '\0')
            continue;
        const char *value = strstr(strstr(item->gives[0].text, " :: ") + 4, " :: ") + 4;
        snprintf(out->feature, sizeof(out->feature), "%.*s", (int)(value - item->gives[0].text),
                 item->gives[0].text);
        out->item = item;
        return true;
    }
    return false;
}

/* The value that is said for the feature of a part, or NULL. */
static const char *said_value(const struct ocv_tag *tag, const struct ocv_tag_answer_part *part)
{
    bool spoken = tag->words && strstr(tag->words, part->feature);
    /* Does the family ask for it where a tag says less? Otherwise its defaults need not be the
     * version that the image has: the documentation may ask for a newer driver. */
    for (size_t i = 0; i < tag->family->n_defaults && !spoken; i++)
        spoken = tag->family->defaults[i].config &&
                 strcmp(tag->family->defaults[i].config, part->of) == 0;
    if (!spoken)
        return NULL;
    for (size_t i = 0; i < ocv_properties_count(tag->said); i++) {
        struct ocv_property p = ocv_properties_get(tag->said, i);
        size_t ns = strlen(p.ns), feature = strlen(p.feature);
        if (strlen(part->feature) == ns + 4 + feature + 4 && memcmp(part->feature, p.ns, ns) == 0 &&
            memcmp(part->feature + ns + 4, p.feature, feature) == 0)
            return p.value;
    }
    return NULL;
}

static int keep_text(struct ocv_tag *tag, const struct ocv_buffer *text, const char **out,
                     struct ocv_error *err)
{
    if (!text->len)
        return OCV_OK;
    *out = ocv_arena_copy(&tag->arena, text->data, text->len);
    return *out ? OCV_OK : ocv_error_nomem(err);
}

int ocv_tag_answer(const struct ocv_tag *tag, const struct ocv_image_config *config,
                   struct ocv_tag **out, struct ocv_error *err)
{
    ocv_auto(ocv_tag) again = NULL;
    ocv_auto_buffer heard;
    ocv_auto_buffer contradiction;
    struct ocv_tag_answers answers = {0};
    struct ocv_image_version version;
    ocv_buffer_init(&heard, OCV_TAG_TEXT_MAX);
    ocv_buffer_init(&contradiction, 2 * OCV_TAG_TEXT_MAX);
    for (size_t i = 0; tag->family && config && ocv_image_config_version(config, i, &version);
         i++) {
        /* The best source of each fact. */
        bool known = answers.n == OCV_TAG_ASKS_MAX;
        for (size_t k = 0; k < answers.n && !known; k++)
            known = strcmp(answers.list[k].of, version.of) == 0;
        if (known)
            continue;
        struct ocv_tag_answer_part *part = &answers.list[answers.n];
        bool nomem = false, asked = false;
        bool found = ocv_tag_answer_part(tag->family, version.of, version.version, part, &nomem);
        const char *said = found ? said_value(tag, part) : NULL;
        if (nomem)
            return ocv_error_nomem(err);
        for (size_t k = 0; k < tag->n_asks; k++)
            asked = asked || strcmp(tag->asks[k], version.of) == 0;
        /* A CPU build may stand on a base image with CUDA: facts on which the tag is silent are
         * not used. */
        if (!found || (!said && !asked))
            continue;
        answers.n++;
        OCV_TRY(ocv_buffer_printf(&heard, err, "%s%s=%s", heard.len ? ", " : "", version.source,
                                  version.text));
        /* "12" leaves open what 12.8 is */
        size_t n = said ? strlen(said) : 0;
        bool open = said && !strchr(said, '.') && strncmp(said, version.version, n) == 0 &&
                    version.version[n] == '.';
        if (said && !open && strcmp(said, version.version) != 0)
            OCV_TRY(ocv_buffer_printf(&contradiction, err, "%s%s%s, its configuration %s=%s",
                                      contradiction.len ? "; " : "the tag says ", part->feature,
                                      said, version.source, version.text));
    }
    OCV_TRY(ocv_tag_read(tag->family, tag->repository, tag->reference, tag->tag, &answers, &again,
                         err));
    OCV_TRY(keep_text(again, &heard, &again->heard, err));
    OCV_TRY(keep_text(again, &contradiction, &again->contradiction, err));
    *out = ocv_steal(&again);
    return OCV_OK;
}

const char *ocv_tag_asks(const struct ocv_tag *tag, size_t i)
{
    return i < tag->n_asks ? tag->asks[i] : NULL;
}

const char *ocv_tag_heard(const struct ocv_tag *tag, const char **contradiction)
{
    *contradiction = tag->contradiction;
    return tag->heard;
}
