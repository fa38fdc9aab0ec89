/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last step of every verb that makes or edits an index: check, review, show or copy, publish.
 */
#include "cmd/common/image/image.h"
#include "cmd/common/progress/progress_internal.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/edit/edit.h"

#include <string.h>

/* An image may be the build of several labels. */
const struct index_image *build_job_of(const struct build *b, const struct ocv_entry *e)
{
    const struct index_image *found = NULL;
    for (size_t i = 0; i < b->n_jobs; i++) {
        const struct index_image *job = &b->jobs[i];
        if (strcmp(job->child.descriptor.digest, e->digest) != 0)
            continue;
        if (e->label && job->label && !strcmp(e->label, job->label))
            return job;
        found = found ? found : job;
    }
    return found;
}

static bool to_copy(const struct build *b, const struct index_image *job)
{
    return job->relabelled_from[0] || !place_holds(&b->to, &b->images[job->image]);
}

bool edit_has_property(const struct ocv_properties *set, struct ocv_property p)
{
    for (size_t i = 0; set && i < ocv_properties_count(set); i++) {
        struct ocv_property q = ocv_properties_get(set, i);
        if (!strcmp(p.ns, q.ns) && !strcmp(p.feature, q.feature) && !strcmp(p.value, q.value))
            return true;
    }
    return false;
}

/* 90_real before 120_real, gfx90a before gfx1201: the newer name is the longer one. */
static int compare_models(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    return na == nb ? strcmp(a, b) : na < nb ? -1 : 1;
}

static void print_assumed(const struct build *b)
{
    const struct item *first = NULL;
    for (size_t i = 0; i < b->n_items; i++) {
        const struct item *item = &b->items[i];
        if (!item->assumed || ocv_properties_count(item->assumed) == 0)
            continue;
        printf("devices assumed of %s (%s): ", item->label, item->reference);
        /* "nvidia :: sm_arch, 16 values from 50_real to 120_real" for each feature. */
        size_t n = ocv_properties_count(item->assumed);
        for (size_t from = 0, next; from < n; from = next) {
            struct ocv_property p = ocv_properties_get(item->assumed, from), q = p;
            const char *least = p.value, *most = p.value;
            for (next = from + 1; next < n; next++) {
                q = ocv_properties_get(item->assumed, next);
                if (strcmp(p.ns, q.ns) != 0 || strcmp(p.feature, q.feature) != 0)
                    break;
                least = compare_models(q.value, least) < 0 ? q.value : least;
                most = compare_models(q.value, most) > 0 ? q.value : most;
            }
            printf("%s%s :: %s, ", from ? "; " : "", p.ns, p.feature);
            if (next == from + 1)
                printf("%s", p.value);
            else
                printf("%zu values from %s to %s", next - from, least, most);
        }
        puts("");
        first = first ? first : item;
    }
    if (first) {
        /* Hint for the first such build: the line that states its actual properties. */
        fflush(stdout);
        fprintf(stderr,
                "hint: where a build holds fewer, say which: variantctl index annotate %s:%s '%s=",
                b->to.name, b->to.tag, first->label);
        for (size_t i = 0; i < ocv_properties_count(first->properties); i++) {
            struct ocv_property p = ocv_properties_get(first->properties, i);
            if (!edit_has_property(first->assumed, p))
                fprintf(stderr, "%s :: %s :: %s,", p.ns, p.feature, p.value);
        }
        struct ocv_property p = ocv_properties_get(first->assumed, 0);
        fprintf(stderr, "%s :: %s :: VALUE,...'\n", p.ns, p.feature);
    }
}

static void print_plan(const struct build *b, const struct ocv_index *index)
{
    int64_t bytes = 0;
    size_t n = 0;
    char text[FORMAT_NUMBER_MAX];
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        const struct index_image *job = build_job_of(b, e);
        char name[80], platform[128];
        printf("%4zu  %-20s  %-24s  %s%s%s\n", i,
               e->code == OCV_REJECT_ATTESTATION ? "attestation"
                                                 : explain_name(index, e, name, sizeof(name)),
               e->has_platform ? ocv_platform_format(&e->platform, platform, sizeof(platform))
                               : "-",
               e->digest, job ? "  from " : "", job ? b->images[job->image].text : "");
        for (size_t k = 0; k < e->n_properties; k++) {
            struct ocv_property p = ocv_index_property(index, e->properties[k]);
            bool assumed = false;
            for (size_t m = 0; e->label && m < b->n_items && !assumed; m++)
                assumed = b->items[m].label && !strcmp(b->items[m].label, e->label) &&
                          edit_has_property(b->items[m].assumed, p);
            printf("        %s :: %s :: %s%s\n", p.ns, p.feature, p.value,
                   assumed ? "  (assumed)" : "");
        }
    }
    for (size_t i = 0; i < b->n_jobs; i++) {
        const struct index_image *job = &b->jobs[i];
        bool counts = to_copy(b, job);
        for (size_t k = 0; k < i && counts; k++) /* two entries may name one image */
            counts = !to_copy(b, &b->jobs[k]) ||
                     strcmp(b->jobs[k].child.descriptor.digest, job->child.descriptor.digest) != 0;
        bytes += counts ? child_bytes(&job->child) : 0;
        n += counts;
    }
    printf("to copy: %zu manifest%s with %s, except what is there already or can be mounted\n", n,
           n == 1 ? "" : "s", format_bytes(bytes, text));
}

/* The document's bytes, and what readers see in them. */
static int format_index(struct build *b, struct ocv_buffer *bytes, struct ocv_index **index,
                        struct ocv_error *err)
{
    ocv_index_free(*index);
    *index = NULL;
    OCV_TRY(ocv_edit_format(b->document, bytes, err));
    return ocv_index_parse(bytes->data, bytes->len, NULL, index, err);
}

/* The document in its final order. */
static int finish_document(struct build *b, struct ocv_buffer *bytes, struct ocv_index **index,
                           struct ocv_error *err)
{
    bool ranked = false;
    OCV_TRY(format_index(b, bytes, index, err));
    OCV_TRY(build_rank(b, *index, bytes, &ranked, err));
    if (ranked)
        OCV_TRY(format_index(b, bytes, index, err));
    for (size_t i = 0; i < ocv_index_count(*index); i++)
        if (ocv_index_entry(*index, i)->code == OCV_REJECT_NONE)
            return OCV_OK;
    return ocv_error_set(err, OCV_ERR_INVALID, "%s:%s: no image would be left", b->to.name,
                         b->to.tag);
}

int build_finish(struct build *b, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_MANIFEST_MAX);
    int status = finish_document(b, &bytes, &index, err);
    if (status < 0)
        return b->from ? ocv_error_prefix(err, "%s", b->from) : status;
    OCV_TRY(build_review(b, index, &bytes, err));
    bool told = !b->options.quiet && !b->options.json;
    if (b->options.dry_run && told)
        print_plan(b, index);
    ocv_auto_copier copier = {0};
    OCV_TRY(copier_open(b->cli, &b->to, write_progress(b->cli, &b->options), &copier, err));
    if (!b->options.dry_run)
        OCV_TRY(place_prepare(&b->to, err));
    for (size_t i = 0; i < b->n_jobs && !b->options.dry_run; i++) {
        struct index_image *job = &b->jobs[i];
        const struct image *image = &b->images[job->image];
        bool relabelled = job->relabelled_from[0];
        if (!to_copy(b, job))
            continue;
        status = copier_child(&copier, image, &job->child, relabelled ? &job->config : NULL, err);
        if (status == OCV_OK && b->options.referrers && !relabelled)
            status = copy_referrers(&copier, image, job->child.descriptor.digest, err);
        if (status < 0)
            return job->label ? ocv_error_prefix(err, "%s", job->label) : status;
    }
    OCV_TRY(publication_write(&b->publication, OCV_MEDIA_TYPE_INDEX, &bytes, err));
    progress_finish(copier.progress);
    json_t *relabelled = json_array();
    for (size_t i = 0; i < b->n_jobs; i++) {
        const struct index_image *job = &b->jobs[i];
        const char *was = job->relabelled_from, *now = job->child.descriptor.digest;
        if (!*was)
            continue;
        if (told)
            printf("%s: %s is now %s\n", job->label, was, now);
        json_array_append_new(
            relabelled, json_pack("{s:s?, s:s, s:s}", "label", job->label, "from", was, "to", now));
    }
    b->publication.old = b->edited ? &b->images[0].body : NULL; /* the tag, read first */
    OCV_TRY(publication_print(&b->publication, &copier,
                              json_pack("{s:o}", "relabelled", relabelled), err));
    if (!told)
        return OCV_OK;
    print_assumed(b);
    return cli_print("", 0, err);
}
