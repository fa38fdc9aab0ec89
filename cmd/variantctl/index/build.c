/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/internal/edit/edit.h"

#include <stdlib.h>
#include <string.h>

#define ARGUMENT_MAX (4096u + OCV_ENTRY_PROPERTIES_BYTES_MAX)

int build_open(struct build *b, const char *text, size_t *out, struct ocv_error *err)
{
    for (size_t i = 0; i < b->n_images; i++)
        if (!strcmp(b->images[i].text, text)) {
            *out = i;
            return OCV_OK;
        }
    struct image *added = ocv_array_grow(&b->images, b->n_images);
    if (!added)
        return ocv_error_nomem(err);
    *out = b->n_images;
    int status = image_open(b->cli, text, added, err);
    if (status < 0)
        image_close(added); /* a later request would fail in the same way */
    else
        b->n_images++;
    return status;
}

int build_begin(struct build *b, const char *target, bool edit, struct ocv_error *err)
{
    size_t i;
    if (edit)
        OCV_TRY(cli_load(b->cli, err));
    OCV_TRY(place_open(b->cli, target, &b->to, err));
    OCV_TRY(publication_begin(&b->publication, &b->to, &b->options, err));
    if (!edit)
        return ocv_edit_new(b->options.layout, &b->document, err);
    int status = build_open(b, target, &i, err);
    if (status == OCV_ERR_NOT_FOUND && err && !*b->publication.before)
        ocv_error_hint(err, "variantctl index create %s LABEL=REF,PROPERTY... makes it", target);
    if (status < 0)
        return status;
    const struct image *image = &b->images[i];
    if (image->kind != OCV_DOCUMENT_INDEX) {
        ocv_error_set(err, OCV_ERR_DATA, "%s is a single image, not an index", target);
        ocv_error_hint(
            err, "variantctl index create %s null=%s LABEL=REF,PROPERTY... makes an index of it",
            target, target);
        return OCV_ERR_DATA;
    }
    b->edited = image->index;
    OCV_TRY(publication_based_on(&b->publication, image->top.digest, err));
    status = ocv_edit_open(image->body.data, image->body.len,
                           image->top.media_type[0] ? image->top.media_type : NULL,
                           b->options.layout, &b->document, err);
    return status < 0 ? ocv_error_prefix(err, "%s", target) : OCV_OK;
}

void build_free(struct build *b)
{
    for (size_t i = 0; i < b->n_jobs; i++) {
        child_free(&b->jobs[i].child);
        ocv_buffer_free(&b->jobs[i].config);
        json_decref(b->jobs[i].manifest);
        json_decref(b->jobs[i].config_json);
        free(b->jobs[i].label);
        ocv_properties_free(b->jobs[i].properties);
        if (b->jobs[i].content && !b->jobs[i].shares_content) {
            ocv_content_free(b->jobs[i].content);
            free(b->jobs[i].content);
        }
    }
    for (size_t i = 0; i < b->n_images; i++)
        image_close(&b->images[i]);
    for (size_t i = 0; i < b->n_items; i++) {
        free(b->items[i].label);
        free(b->items[i].reference);
        free(b->items[i].where);
        ocv_platform_free(b->items[i].platform);
        ocv_properties_free(b->items[i].properties);
        ocv_properties_free(b->items[i].assumed);
    }
    free(b->jobs);
    free(b->images);
    free(b->items);
    ocv_lint_report_free(&b->told);
    ocv_edit_free(b->document);
    place_close(&b->to);
}

int build_item(struct build *b, const char *label, const char *reference,
               struct ocv_properties *properties, const char *where, struct ocv_error *err)
{
    struct item *item = ocv_array_grow(&b->items, b->n_items);
    if (!item) {
        ocv_properties_free(properties);
        return ocv_error_nomem(err);
    }
    b->n_items++;
    *item = (struct item){.properties = properties, .reference = strdup(reference)};
    if (!item->reference || (label && !(item->label = strdup(label))) ||
        (where && !(item->where = strdup(where))))
        return ocv_error_nomem(err);
    return OCV_OK;
}

int build_argument(struct build *b, const char *text, struct ocv_error *err)
{
    if (strlen(text) > ARGUMENT_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.60s...' is too long", text);
    ocv_auto(ocv_properties) properties = NULL;
    ocv_auto_free char *copy = strdup(text);
    if (!copy)
        return ocv_error_nomem(err);
    char *equals = strchr(copy, '=');
    if (!equals || equals == copy || !equals[1] || equals[1] == ',')
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not LABEL=REF[,PROPERTY...]", text);
    *equals = '\0';
    char *comma = strchr(equals + 1, ',');
    if (comma)
        *comma = '\0';
    if (strstr(equals + 1, "::")) {
        ocv_error_set(err, OCV_ERR_INVALID, "'%.100s' is not LABEL=REF[,PROPERTY...]", text);
        ocv_error_hint(err, "separate the image from its properties by a comma");
        return OCV_ERR_INVALID;
    }
    if (!ocv_label_valid(copy, strlen(copy))) {
        ocv_error_set(err, OCV_ERR_DATA, "'%.100s' is not a label", copy);
        ocv_error_hint(err, "a-z 0-9 with single . or _ between them, at most 48 characters");
        return OCV_ERR_DATA;
    }
    if (comma && ocv_properties_parse(comma + 1, strlen(comma + 1), &properties, err) < 0)
        return ocv_error_prefix(err, "%s", copy);
    return build_item(b, copy, equals + 1, ocv_steal(&properties), NULL, err);
}

/* Hint at the tag that was probably meant: one with a similar name, or with a longer one
 * ("1.0-rocm6.4" for "1.0-rocm"). Without a list of tags there is no hint. */
static void hint_near(struct build *b, const struct item *item, struct ocv_error *err)
{
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto_tags tags = {0};
    if (err->hint[0] || b->tags_listed || !b->cli->registry ||
        !strncmp(item->reference, "oci:", 4) ||
        ocv_reference_parse(item->reference, &reference, NULL) < 0 || reference->digest)
        return;
    b->tags_listed = true; /* only once: some lists are long */
    if (rules_list_tags(b->cli, reference, &tags, NULL) < 0)
        return;
    struct ocv_nearest nearest = {.wanted = reference->tag};
    for (size_t i = 0; i < tags.n; i++)
        ocv_nearest_offer(&nearest, tags.list[i]);
    const char *meant = ocv_nearest_meant(&nearest);
    for (size_t i = 0; i < tags.n && !meant; i++)
        if (!strncmp(tags.list[i], reference->tag, strlen(reference->tag)))
            meant = tags.list[i];
    if (meant)
        ocv_error_hint(err, "did you mean %s:%s?", reference->familiar, meant);
}

/* `own`: read only items that mean the tag itself, which come last; else only the other items. */
static int read_item(struct build *b, const struct item *item, bool own, struct ocv_error *err)
{
    size_t image;
    OCV_TRY(build_open(b, item->reference, &image, err));
    const struct image *from = &b->images[image];
    const char *tag = from->reference ? from->reference->tag : from->layout_tag;
    bool varied = ocv_index_has_variants(from->index);
    /* `null=TAG`, if TAG is the tag being written: an index written by an earlier run of the same
     * command then supplies its default. */
    bool former = !b->edited && item_is_default(item) && !item_picks(item) && varied &&
                  place_holds(&b->to, from) && tag && !strcmp(tag, b->to.tag) &&
                  !(from->reference && from->reference->digest);
    if (former != own)
        return OCV_OK;
    if (varied && !own && !item_picks(item)) {
        ocv_error_set(err, OCV_ERR_INVALID, "%s has variants itself", item->reference);
        ocv_error_hint(err, "name one build of it: REPO@DIGEST, see 'variantctl index show'");
        return OCV_ERR_INVALID;
    }
    if (from->kind == OCV_DOCUMENT_INDEX)
        return build_add_index(b, item, image, own, err);
    return build_add_image(b, item, image, &from->top, NULL, err);
}

/* Report every missing image; the last one is the error that is returned. */
static int read_items(struct build *b, bool own, struct ocv_error *err)
{
    struct ocv_error missing = {0};
    for (size_t i = 0; i < b->n_items; i++) {
        const struct item *item = &b->items[i];
        int status = read_item(b, item, own, err);
        if (status == OCV_OK)
            continue;
        if (status == OCV_ERR_NOT_FOUND)
            hint_near(b, item, err);
        /* Add the build's name, and where it was given, to the error. */
        ocv_error_prefix(err, "%s",
                         item->label    ? item->label
                         : item->source ? "defaults"
                                        : "--default");
        if (item->source && status != OCV_ERR_DATA) /* about the image, not its properties */
            ocv_error_prefix(err, "%s:%zu", b->from,
                             ocv_edit_source_image(item->source, item->source_image).image_line);
        else if (item->where)
            ocv_error_prefix(err, "%s", item->where);
        if ((item->source || item->where) && status == OCV_ERR_INVALID)
            err->status = OCV_ERR_DATA;
        cli_keep_failure(b->cli, &missing, err);
        if (status != OCV_ERR_NOT_FOUND)
            return err->status;
    }
    if (missing.status)
        *err = missing;
    return missing.status;
}

int build_read(struct build *b, struct ocv_error *err)
{
    OCV_TRY(build_check_order(b, NULL, err));
    OCV_TRY(read_items(b, false, err));
    OCV_TRY(read_items(b, true, err));
    build_warn_left_out(b);
    return OCV_OK;
}
