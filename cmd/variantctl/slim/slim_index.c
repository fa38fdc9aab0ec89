/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index that slim writes: FROM's entries as they are, FROM again as `fat`, and the variants. */
#include "cmd/variantctl/slim/slim_verb.h"
#include "gen/toolkits.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <string.h>

const char *slim_label(const struct slim_source *source, const struct ocv_slim_target *target,
                       char out[OCV_SLIM_LABEL_MAX])
{
    char name[OCV_SLIM_LABEL_MAX] = SLIM_FAT;
    bool named = source->label && strcmp(source->label, SLIM_FAT) != 0;
    if (target)
        ocv_slim_target_label(target, name, sizeof(name));
    snprintf(out, OCV_SLIM_LABEL_MAX, "%.64s%s%.1500s", named ? source->label : "",
             named ? "." : "", name);
    return out;
}

bool slim_was_made(const struct ocv_index *index, const struct slim_source *source,
                   const struct ocv_slim_target *target)
{
    char label[OCV_SLIM_LABEL_MAX];
    slim_label(source, target, label);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(index, i);
        const char *architecture = entry->platform.architecture;
        if (entry->label && !strcmp(entry->label, label) &&
            (!*source->architecture ||
             (architecture && !strcmp(architecture, source->architecture))))
            return true;
    }
    return false;
}

bool slim_is_slim(const struct ocv_index *index, const struct ocv_entry *entry)
{
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(index, entry->properties[i]);
        if ((!strcmp(p.ns, BUILD_PRIORITY) || !strcmp(p.ns, SLIM_PRIORITY)) &&
            !strcmp(p.feature, "order") && !strcmp(p.value, "slim"))
            return true;
    }
    return false;
}

void slim_choose_order(struct slim *s, const struct ocv_index *index)
{
    s->varied = ocv_index_has_variants(index);
    s->priority = BUILD_PRIORITY;
    for (uint32_t i = 0; s->varied && i < ocv_index_property_count(index); i++) {
        struct ocv_property p = ocv_index_property(index, i);
        if (!strcmp(p.ns, BUILD_PRIORITY) && strcmp(p.value, "slim") != 0 &&
            strcmp(p.value, SLIM_FAT) != 0)
            s->priority = SLIM_PRIORITY; /* FROM has an order of its own, which comes first */
    }
}

/* FROM as it is, and the variants in the stage. */
static int add_items(struct slim *s, const struct image *image, struct ocv_error *err)
{
    struct build *b = &s->build;
    char from[4400], text[4400];
    snprintf(from, sizeof(from), "%s", image->text);
    if (image->reference && !image->reference->digest)
        snprintf(from, sizeof(from), "%s/%s@%s", image->reference->host,
                 image->reference->repository, image->top.digest);
    if (!s->varied)
        OCV_TRY(build_item(b, "null", from, NULL, NULL, err));
    for (size_t i = 0; i < s->n_variants; i++) {
        const struct slim_variant *v = &s->variants[i];
        struct ocv_properties *set = NULL;
        if (!v->cut)
            continue;
        OCV_TRY(slim_copy_properties(v->properties, &set, err));
        snprintf(text, sizeof(text), "oci:%s:%s", s->stage_dir, v->tag);
        OCV_TRY(build_item(b, v->label, text, set, NULL, err));
    }
    OCV_TRY(build_read(b, err));
    size_t opened;
    OCV_TRY(build_open(b, from, &opened, err));
    for (size_t i = 0; i < s->n_originals; i++) {
        const struct slim_original *o = &s->originals[i];
        const struct item item = {
            .label = (char *)(uintptr_t)o->label, .reference = from, .properties = o->properties};
        OCV_TRY(build_add_image(b, &item, opened, &o->source.descriptor, o->source.entry, err));
    }
    return OCV_OK;
}

/* Is it the label of an original, or of its entry for older drivers? */
static bool is_fat(const struct slim *s, const char *label)
{
    for (size_t i = 0; i < s->n_originals; i++) {
        size_t n = strlen(s->originals[i].label);
        if (!strncmp(label, s->originals[i].label, n) &&
            (!label[n] || !strcmp(label + n, OCV_TOOLKIT_MINOR_LABEL)))
            return true;
    }
    return false;
}

/* Where a slim variant and `fat` rank alike, the slim one is taken: its namespace comes last. */
static int rank_variants(const struct slim *s, struct ocv_error *err)
{
    const struct build *b = &s->build;
    char key[64];
    OCV_TRY(build_append_namespace(b, s->priority, err));
    snprintf(key, sizeof(key), OCV_ANNOTATION_STATIC "%s", s->priority);
    OCV_TRY(ocv_edit_set(b->document, key, "order :: slim, order :: fat", err));
    for (size_t i = 0; i < b->n_jobs; i++) {
        ocv_auto(ocv_properties) set = NULL;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        const char *label = b->jobs[i].label;
        if (!label || !b->jobs[i].properties)
            continue;
        OCV_TRY(ocv_properties_format(b->jobs[i].properties, &text, err));
        OCV_TRY(ocv_buffer_printf(&text, err, ", %s :: order :: %s", s->priority,
                                  is_fat(s, label) ? SLIM_FAT : "slim"));
        OCV_TRY(ocv_properties_parse(text.data, text.len, &set, err));
        OCV_TRY(ocv_edit_annotate(b->document, label, NULL, NULL, set, err));
    }
    return OCV_OK;
}

/* What was removed, beside each variant. */
static int attach_reports(struct slim *s, struct ocv_error *err)
{
    for (size_t i = 0; i < s->n_variants; i++) {
        ocv_auto_buffer text;
        char digest[OCV_DIGEST_MAX];
        if (!s->variants[i].cut)
            continue;
        ocv_buffer_init(&text, SLIM_REPORT_MAX);
        ocv_auto_json *report = slim_variant_json(&s->variants[i]);
        OCV_TRY(report ? ocv_json_append(report, JSON_COMPACT, &text, err) : ocv_error_nomem(err));
        OCV_TRY(attach_document(&s->build.to, &s->variants[i].descriptor, SLIM_MEDIA_TYPE, &text,
                                digest, err));
    }
    return OCV_OK;
}

int slim_index_write(struct slim *s, const struct image *image, struct ocv_error *err)
{
    struct build *b = &s->build;
    b->derive = true;
    if (s->varied) {
        /* an edit of FROM, whose images have to be at the target */
        ocv_edit_free(b->document);
        b->document = NULL;
        OCV_TRY(ocv_edit_open(image->body.data, image->body.len,
                              image->top.media_type[0] ? image->top.media_type : NULL,
                              b->options.layout, &b->document, err));
    }
    OCV_TRY(add_items(s, image, err));
    OCV_TRY(rank_variants(s, err));
    if (s->varied && !place_holds(&b->to, image)) {
        ocv_auto_copier copier = {0};
        OCV_TRY(copier_open(b->cli, &b->to, write_progress(b->cli, &b->options), &copier, err));
        OCV_TRY(copier_tree(&copier, image, &image->top, 0, err));
    }
    OCV_TRY(build_finish(b, err));
    return attach_reports(s, err);
}
