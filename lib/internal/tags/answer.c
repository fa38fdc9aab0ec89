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

/* Does the family ask for it where a tag says less? Otherwise its defaults need not be the version
 * that the image has: the documentation may ask for a newer driver. */
static bool family_asks(const struct ocv_tag_family *family, const char *of)
{
    bool found = false;
    for (size_t i = 0; i < family->n_defaults && !found; i++)
        found = family->defaults[i].config && strcmp(family->defaults[i].config, of) == 0;
    return found;
}

/* The value that is said for the feature of a part, or NULL. */
static const char *said_value(const struct ocv_tag *tag, const struct ocv_tag_answer_part *part)
{
    bool spoken = tag->words && strstr(tag->words, part->feature);
    if (!spoken && !family_asks(tag->family, part->of))
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

static bool is_asked(const struct ocv_tag *tag, const char *of)
{
    for (size_t i = 0; i < tag->n_asks; i++)
        if (strcmp(tag->asks[i], of) == 0)
            return true;
    return false;
}

/* "12" leaves open what 12.8 is. */
static bool contradicts_version(const char *said, const char *version)
{
    size_t n = strlen(said);
    return strcmp(said, version) != 0 &&
           (strncmp(said, version, n) != 0 || version[n] != '.' || strchr(said, '.'));
}

struct answer_collector {
    const struct ocv_tag *tag;
    struct ocv_tag_answers answers;
    struct ocv_buffer heard, contradiction;
    struct ocv_error *err;
};

/* A CPU build may stand on a base image with CUDA: facts on which the tag is silent are not used.
 */
static int hear_version(struct answer_collector *h, const struct ocv_image_version *version)
{
    struct ocv_tag_answer_part *part = &h->answers.list[h->answers.n];
    bool nomem = false;
    bool found = ocv_tag_answer_part(h->tag->family, version->of, version->version, part, &nomem);
    const char *said = found ? said_value(h->tag, part) : NULL;
    if (nomem)
        return ocv_error_nomem(h->err);
    if (!found || (!said && !is_asked(h->tag, version->of)))
        return OCV_OK;
    h->answers.n++;
    OCV_TRY(ocv_buffer_printf(&h->heard, h->err, "%s%s=%s", h->heard.len ? ", " : "",
                              version->source, version->text));
    if (said && contradicts_version(said, version->version))
        OCV_TRY(ocv_buffer_printf(&h->contradiction, h->err, "%s%s%s, its configuration %s=%s",
                                  h->contradiction.len ? "; " : "the tag says ", part->feature,
                                  said, version->source, version->text));
    return OCV_OK;
}

/* The best source of each fact. */
static int hear_all(struct answer_collector *h, const struct ocv_image_config *config)
{
    struct ocv_image_version version;
    for (size_t i = 0; config && ocv_image_config_version(config, i, &version); i++) {
        bool heard = h->answers.n == OCV_TAG_ASKS_MAX;
        for (size_t k = 0; k < h->answers.n && !heard; k++)
            heard = strcmp(h->answers.list[k].of, version.of) == 0;
        if (!heard)
            OCV_TRY(hear_version(h, &version));
    }
    return OCV_OK;
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
    struct answer_collector h = {.tag = tag, .err = err};
    struct ocv_tag *again = NULL;
    ocv_buffer_init(&h.heard, OCV_TAG_TEXT_MAX);
    ocv_buffer_init(&h.contradiction, 2 * OCV_TAG_TEXT_MAX);
    int status = tag->family ? hear_all(&h, config) : OCV_OK;
    if (status == OCV_OK)
        status = ocv_tag_read(tag->family, tag->repository, tag->reference, tag->tag, &h.answers,
                              &again, err);
    if (status == OCV_OK)
        status = keep_text(again, &h.heard, &again->heard, err);
    if (status == OCV_OK)
        status = keep_text(again, &h.contradiction, &again->contradiction, err);
    ocv_buffer_free(&h.heard);
    ocv_buffer_free(&h.contradiction);
    if (status < 0)
        ocv_tag_free(again);
    else
        *out = again;
    return status;
}

const char *ocv_tag_asks(const struct ocv_tag *tag, size_t i)
{
    return i < tag->n_asks ? tag->asks[i] : NULL;
}

const char *ocv_tag_heard(const struct ocv_tag *tag)
{
    return tag->heard;
}

const char *ocv_tag_contradiction(const struct ocv_tag *tag)
{
    return tag->contradiction;
}
