/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index that slim writes: FROM's entries as they are, FROM again as `fat`, and the variants. */
#include "cmd/variantctl/slim/slim_verb.h"
#include "gen/toolkits.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

const char *slim_label(const struct slim_source *source, const struct ocv_slim_target *target,
                       char out[OCV_SLIM_LABEL_MAX])
{
    char name[OCV_SLIM_LABEL_MAX] = SLIM_FAT;
    const char *of = source->label ? source->label : "";
    int n = (int)strlen(of);
    for (const char *at = of; source->fat && (at = strstr(at, SLIM_FAT)); at++)
        if (at == of || at[-1] == '.')
            n = (int)(at - of); /* what comes before ".fat", ".fat.rocm" */
    if (target)
        ocv_slim_target_label(target, name, sizeof(name));
    bool dot = n && of[n - 1] != '.';
    snprintf(out, OCV_SLIM_LABEL_MAX, "%.*s%s%.1500s", n < 64 ? n : 64, of, dot ? "." : "", name);
    return out;
}

bool slim_is_order(const struct slim *s, struct ocv_property p)
{
    return !strcmp(p.ns, s->priority) && !strcmp(p.feature, "order") &&
           (!strcmp(p.value, "slim") || !strcmp(p.value, SLIM_FAT));
}

bool slim_is(const struct slim *s, const struct ocv_index *index, const struct ocv_entry *entry,
             const char *rank)
{
    for (size_t i = 0; i < entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(index, entry->properties[i]);
        if (slim_is_order(s, p) && !strcmp(p.value, rank))
            return true;
    }
    return false;
}

bool slim_has_entry(const struct ocv_index *index, const struct slim_source *source,
                    const char *label)
{
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

bool slim_was_made(const struct slim *s, const struct ocv_index *index,
                   const struct slim_source *source, const struct ocv_slim_target *target)
{
    char label[OCV_SLIM_LABEL_MAX], own[2 * OCV_SLIM_LABEL_MAX];
    slim_label(source, target, label);
    /* with its architecture, where that of another platform has other properties */
    snprintf(own, sizeof(own), "%s.%s", label, source->architecture);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(index, i);
        if (entry->label && (!strcmp(entry->label, label) || !strcmp(entry->label, own)) &&
            slim_is(s, index, entry, "slim") && slim_has_entry(index, source, entry->label))
            return true;
    }
    return false;
}

void slim_choose_order(struct slim *s, const struct image *image)
{
    const struct ocv_index *index = image->index;
    s->varied = ocv_index_has_variants(index);
    s->edits = s->varied || (image->kind == OCV_DOCUMENT_INDEX &&
                             !strcmp(image->top.media_type, OCV_MEDIA_TYPE_INDEX));
    s->priority = BUILD_PRIORITY;
    for (uint32_t i = 0; s->varied && i < ocv_index_property_count(index); i++) {
        struct ocv_property p = ocv_index_property(index, i);
        if (!strcmp(p.ns, BUILD_PRIORITY) && !slim_is_order(s, p)) {
            s->priority = SLIM_PRIORITY; /* FROM has an order of its own, which comes first */
            return;
        }
    }
}

static int list_namespaces(const struct ocv_properties *set, struct ocv_buffer *list,
                           struct ocv_error *err)
{
    for (size_t i = 0; i < ocv_properties_count(set); i++) {
        const char *ns = ocv_properties_get(set, i).ns;
        if (!list->len || !build_lists_name(list->data, ns))
            OCV_TRY(ocv_buffer_printf(list, err, "%s%s", list->len ? ", " : "", ns));
    }
    return OCV_OK;
}

/* An image with code of two makers: a machine that has GPUs of both needs an order, CUDA's first.
 */
static int order_makers(const struct slim *s, struct ocv_error *err)
{
    ocv_auto_buffer list;
    bool cuda = false, rocm = false;
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < s->n_variants; i++) {
            const struct slim_variant *v = &s->variants[i];
            cuda = cuda || v->target.n;
            rocm = rocm || v->target.n_gfx;
            /* makers first: what variants are described by */
            if (v->cut && (pass || v->target.n))
                OCV_TRY(list_namespaces(v->described, &list, err));
        }
    for (size_t i = 0; i < s->n_variants; i++)
        OCV_TRY(list_namespaces(s->variants[i].properties, &list, err));
    for (size_t i = 0; i < s->n_originals; i++)
        OCV_TRY(list_namespaces(s->originals[i].properties, &list, err));
    return cuda && rocm && ocv_edit_namespaces_derived(s->build.document)
               ? ocv_edit_set(s->build.document, OCV_ANNOTATION_NAMESPACES, list.data, err)
               : OCV_OK;
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
    if (!s->edits)
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
        bool fat = false; /* the label of an original, or of its entry for older drivers */
        for (size_t k = 0; k < s->n_originals && !fat; k++) {
            size_t n = strlen(s->originals[k].label);
            fat = !strncmp(label, s->originals[k].label, n) &&
                  (!label[n] || !strcmp(label + n, OCV_TOOLKIT_MINOR_LABEL));
        }
        OCV_TRY(ocv_properties_format(b->jobs[i].properties, &text, err));
        OCV_TRY(ocv_buffer_printf(&text, err, ", %s :: order :: %s", s->priority,
                                  fat ? SLIM_FAT : "slim"));
        OCV_TRY(ocv_properties_parse(text.data, text.len, &set, err));
        OCV_TRY(ocv_edit_annotate(b->document, label, NULL, NULL, set, err));
    }
    return OCV_OK;
}

static int check_choice(const struct slim *s, const struct ocv_index *old,
                        const struct ocv_index *new, const char *name, struct ocv_error *err)
{
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_decision) before = NULL;
    ocv_auto(ocv_decision) after = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    OCV_TRY(cli_read_profile(name, &text, err));
    OCV_TRY(ocv_profile_parse(text.data ? text.data : "", text.len, &profile, err));
    OCV_TRY(ocv_resolve(old, profile, NULL, &before, err));
    OCV_TRY(ocv_resolve(new, profile, NULL, &after, err));
    const struct ocv_entry *was = ocv_decision_selected(before), *is = ocv_decision_selected(after);
    const char *base = is ? is->digest : ""; /* what it is made of */
    for (size_t i = 0; is && i < s->n_variants; i++)
        if (s->variants[i].cut && !strcmp(s->variants[i].descriptor.digest, is->digest)) {
            base = s->variants[i].base;
            break;
        }
    if (!strcmp(base, was ? was->digest : ""))
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_DATA,
                  "a machine like %s gets %s, and would get %s, of another image", name,
                  !was         ? "nothing"
                  : was->label ? was->label
                               : "the default",
                  is && is->label ? is->label : "the default");
    ocv_error_hint(err, "say for which architectures FROM's variants are ('variantctl index "
                        "annotate'), or slim one of them alone");
    return OCV_ERR_DATA;
}

/* Where FROM has variants, every kind of machine has to get what is made of what it got before. */
static int check_choices(const struct slim *s, const struct image *from, struct ocv_error *err)
{
    ocv_auto(ocv_index) new = NULL;
    ocv_auto_buffer bytes;
    struct dirent **names = NULL;
    ocv_buffer_init(&bytes, OCV_MANIFEST_MAX);
    OCV_TRY(ocv_edit_format(s->build.document, &bytes, err));
    OCV_TRY(ocv_index_parse(bytes.data, bytes.len, NULL, &new, err));
    int status = OCV_OK, n = cli_profile_names(&names);
    if (n < 0)
        cli_warn(s->build.cli,
                 "the profiles of common machines are not installed: nobody has checked that each "
                 "machine gets what is made of the image that it got");
    for (int i = 0; i < n; i++) {
        if (status >= 0)
            status = check_choice(s, from->index, new, names[i]->d_name, err);
        free(names[i]);
    }
    free(names);
    return status;
}

int slim_index_write(struct slim *s, const struct image *image, struct ocv_error *err)
{
    struct build *b = &s->build;
    b->derive = true;
    if (s->edits) {
        /* an edit of FROM, whose images have to be at the target */
        ocv_edit_free(b->document);
        b->document = NULL;
        OCV_TRY(ocv_edit_open(image->body.data, image->body.len,
                              image->top.media_type[0] ? image->top.media_type : NULL,
                              b->options.layout, &b->document, err));
    }
    OCV_TRY(order_makers(s, err));
    OCV_TRY(add_items(s, image, err));
    OCV_TRY(rank_variants(s, err));
    if (s->varied && !b->options.no_lint)
        OCV_TRY(check_choices(s, image, err));
    if (s->edits && !place_holds(&b->to, image)) {
        ocv_auto_copier copier = {0};
        OCV_TRY(place_prepare(&b->to, err));
        OCV_TRY(copier_open(b->cli, &b->to, write_progress(b->cli, &b->options), &copier, err));
        OCV_TRY(copier_tree(&copier, image, &image->top, 0, err));
    }
    OCV_TRY(build_finish(b, err));
    /* What was removed, beside each variant. */
    for (size_t i = 0; i < s->n_variants; i++) {
        ocv_auto_buffer text;
        char digest[OCV_DIGEST_MAX];
        ocv_buffer_init(&text, SLIM_REPORT_MAX);
        if (!s->variants[i].cut)
            continue;
        ocv_auto_json *report = slim_variant_json(&s->variants[i]);
        OCV_TRY(report ? ocv_json_append(report, JSON_COMPACT, &text, err) : ocv_error_nomem(err));
        OCV_TRY(attach_document(&b->to, &s->variants[i].descriptor, SLIM_MEDIA_TYPE, &text, digest,
                                err));
    }
    return OCV_OK;
}
