/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Configurations of a choice's candidates: a manifest and a small blob each, or what was kept of
 * them. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/internal/tags/tags_internal.h"
#include "ocivariant/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A document that may not be a manifest of known size is read: an index gives its images. */
int ocv_tag_read_document(const struct ocv_tag_source *source, struct ocv_tag_fixed *f,
                          struct ocv_error *err)
{
    struct ocv_descriptor *d = &f->candidate.descriptor, seen;
    enum ocv_document_kind kind = OCV_DOCUMENT_MANIFEST;
    if (d->size >= 0 && ocv_media_type_is_manifest(d->media_type))
        return OCV_OK;
    int status = source->get(source->data, d->digest, &f->body, &seen, err);
    if (status == OCV_OK)
        status = ocv_document_kind(f->body.data, f->body.len,
                                   seen.media_type[0] ? seen.media_type : NULL, &kind, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s", ocv_tag_text(f->candidate.tag));
    d->size = (int64_t)f->body.len;
    snprintf(d->media_type, sizeof(d->media_type), "%s",
             seen.media_type[0]           ? seen.media_type
             : kind == OCV_DOCUMENT_INDEX ? OCV_MEDIA_TYPE_INDEX
                                          : OCV_MEDIA_TYPE_MANIFEST);
    if (kind == OCV_DOCUMENT_MANIFEST)
        return OCV_OK;
    f->candidate.body = f->body.data;
    f->candidate.body_len = f->body.len;
    return OCV_OK;
}

void ocv_tag_fixed_clear(struct ocv_tag_fixed *fixed)
{
    for (size_t i = 0; i < fixed->n_answered; i++)
        ocv_tag_free(fixed->answered[i].tag);
    free(fixed->answered);
    ocv_buffer_free(&fixed->body);
}

/* Recall it, or read it and keep what counts of it. */
static int find_config(const struct ocv_tag_source *source, const char *digest,
                       struct ocv_image_config **out, struct ocv_error *err)
{
    ocv_auto(ocv_manifest) manifest = NULL;
    ocv_auto_buffer kept, body, config, essence;
    struct ocv_descriptor seen = {0};
    ocv_buffer_init(&kept, OCV_IMAGE_CONFIG_MAX);
    ocv_buffer_init(&body, OCV_MANIFEST_MAX);
    ocv_buffer_init(&config, OCV_IMAGE_CONFIG_MAX);
    ocv_buffer_init(&essence, OCV_IMAGE_CONFIG_MAX);
    /* a damaged file in the cache counts as missing */
    if (source->recall && source->recall(source->data, digest, &kept) &&
        ocv_image_config_parse(kept.data ? kept.data : "", kept.len, out, NULL) == OCV_OK)
        return OCV_OK;
    OCV_TRY(source->get(source->data, digest, &body, &seen, err));
    OCV_TRY(ocv_manifest_parse(body.data ? body.data : "", body.len,
                               seen.media_type[0] ? seen.media_type : NULL, &manifest, err));
    OCV_TRY(source->blob(source->data, ocv_manifest_config(manifest), &config, err));
    OCV_TRY(ocv_image_config_parse(config.data ? config.data : "", config.len, out, err));
    if (source->keep && ocv_image_config_essence(*out, &essence, NULL) == OCV_OK)
        source->keep(source->data, digest, &essence);
    return OCV_OK;
}

static int answer_by_config(const struct ocv_tag_source *source, struct ocv_tag_fixed *fixed,
                            const char *digest, struct ocv_error *err)
{
    ocv_auto(ocv_image_config) config = NULL;
    ocv_auto(ocv_platform) platform = NULL;
    bool placed = fixed->candidate.body || ocv_tag_platform(fixed->candidate.tag);
    int status = find_config(source, digest, &config, err);
    if (status < 0 && (status != OCV_ERR_DATA || !placed))
        return status; /* for the others anything but a configuration gives no facts */
    if (!placed) {     /* a manifest that stands alone: one that an index lists has a platform */
        if (!ocv_image_config_platform(config, fixed->platform, sizeof(fixed->platform)))
            return ocv_error_set(err, OCV_ERR_DATA, "its configuration names no platform");
        fixed->candidate.platform = fixed->platform;
        OCV_TRY(ocv_platform_parse(fixed->platform, &platform, err));
    }
    struct ocv_tag_answered *one = ocv_array_grow(&fixed->answered, fixed->n_answered);
    if (!one)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_tag_answer(fixed->candidate.tag, config, &one->tag, err));
    snprintf(one->digest, sizeof(one->digest), "%s", digest);
    fixed->n_answered++;
    return OCV_OK;
}

int ocv_tag_read_config(const struct ocv_tag_source *source, struct ocv_tag_fixed *fixed,
                        const char *digest, struct ocv_error *err)
{
    if (answer_by_config(source, fixed, digest, err) < 0)
        return ocv_error_prefix(err, "%s", ocv_tag_text(fixed->candidate.tag));
    return OCV_OK;
}

int ocv_tag_first_image(const struct ocv_tag_fixed *fixed, char digest[OCV_DIGEST_MAX],
                        struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    const struct ocv_tag_candidate *c = &fixed->candidate;
    *digest = '\0';
    if (!c->body) {
        snprintf(digest, OCV_DIGEST_MAX, "%s", c->descriptor.digest);
        return OCV_OK;
    }
    OCV_TRY(ocv_index_parse(c->body, c->body_len, c->descriptor.media_type, &index, err));
    for (size_t i = 0; !*digest && i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        if (e->code == OCV_REJECT_NONE && e->has_platform)
            snprintf(digest, OCV_DIGEST_MAX, "%s", e->digest);
    }
    return OCV_OK;
}

bool ocv_tag_choice_note(const struct ocv_tag_choice *choice, size_t i, struct ocv_tag_note *out)
{
    for (size_t k = 0; k < choice->n; k++) {
        const struct ocv_tag_fixed *f = &choice->fixed[k];
        bool asks = f->candidate.tag->n_asks > 0;
        *out = (struct ocv_tag_note){.tag = ocv_tag_text(f->candidate.tag), .digest = ""};
        for (size_t n = 0; n < f->n_answered; n++) {
            const struct ocv_tag *tag = f->answered[n].tag;
            if ((asks || tag->contradiction) && !i--) {
                out->digest = f->answered[n].digest;
                out->heard = tag->heard;
                out->refused = tag->refused;
                out->contradiction = tag->contradiction;
                return true;
            }
        }
        if (asks && !f->n_answered && !i--)
            return true;
    }
    return false;
}

int ocv_tag_ask(const struct ocv_tag *tag, const struct ocv_tag_source *source,
                struct ocv_tag **out, struct ocv_error *err)
{
    struct ocv_tag_fixed f = {.candidate = {.tag = tag}};
    char digest[OCV_DIGEST_MAX];
    ocv_buffer_init(&f.body, OCV_MANIFEST_MAX);
    int status = source->head(source->data, ocv_tag_text(tag), &f.candidate.descriptor, err);
    if (status == OCV_OK)
        status = ocv_tag_read_document(source, &f, err);
    if (status == OCV_OK)
        status = ocv_tag_first_image(&f, digest, err);
    if (status == OCV_OK && *digest)
        status = ocv_tag_read_config(source, &f, digest, err);
    else if (status == OCV_OK)
        status = ocv_tag_answer(tag, NULL, out, err);
    if (status == OCV_OK && f.n_answered)
        *out = f.answered[--f.n_answered].tag;
    ocv_tag_fixed_clear(&f);
    return status;
}
