/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of every verb that makes or edits an index: check, warn, show or copy, publish. */
#include "cmd/common/explain.h"
#include "cmd/common/format.h"
#include "cmd/variantctl/index/index_build.h"
#include "lib/core/resolve/default.h"
#include "lib/edit/edit.h"
#include "lib/lint/lint.h"

#include <string.h>

/* ---- warnings ----------------------------------------------------------------------------------
 */

static bool same_machine(const struct ocv_entry *a, const struct ocv_entry *b)
{
    return a->platform.os && b->platform.os && a->platform.architecture &&
           b->platform.architecture && !strcmp(a->platform.os, b->platform.os) &&
           !strcmp(a->platform.architecture, b->platform.architecture);
}

static void warn_defaults(const struct cli *cli, const struct ocv_index *index)
{
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        bool has_default = false, first = true;
        for (size_t k = 0; k < ocv_index_count(index); k++) {
            const struct ocv_entry *other = ocv_index_entry(index, k);
            if (other->code != OCV_REJECT_NONE || !same_machine(e, other))
                continue;
            has_default = has_default || (ocv_entry_is_default(other) &&
                                          !ocv_platform_is_hidden(other->platform.variant));
            first = first && k >= i;
        }
        if (e->code == OCV_REJECT_NONE && e->has_platform && !has_default && first)
            cli_warn(cli,
                     "no default entry for %s/%s: clients without variants, and hosts that none "
                     "fits, find nothing (add --default REF)",
                     e->platform.os, e->platform.architecture);
    }
}

static void warn_namespaces(const struct build *b, const struct ocv_index *index)
{
    const char *const *names;
    size_t n = ocv_index_namespaces(index, &names, NULL);
    for (size_t i = 0; i < n; i++) {
        char key[160];
        snprintf(key, sizeof(key), OCV_ANNOTATION_STATIC "%.100s", names[i]);
        if (!ocv_vocabulary_owns(names[i]) && !ocv_edit_annotation(b->document, key))
            cli_warn(b->cli,
                     "no provider that comes with this program gives the namespace '%s': only "
                     "hosts with a provider for it can use its variants",
                     names[i]);
    }
}

/* Words that the vocabulary does not have are the mistakes that nobody sees: the build is
 * published, and no host ever gets it. They may also be newer than this program, so they are no
 * error. */
static void warn_words(const struct cli *cli, const struct ocv_lint_report *report)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct ocv_lint_finding *f = &report->findings[i];
        const char *id = f->rule->id;
        bool word = !strcmp(id, "OCV204") || !strcmp(id, "OCV205"), told = false;
        if (!word && strcmp(id, "OCV203") != 0) /* warn_namespaces tells that */
            continue;
        for (size_t k = 0; k < i; k++) /* of another platform of the same build */
            told = told || !strcmp(report->findings[k].message, f->message);
        if (word && !told)
            cli_warn(cli, "%s: %s", f->where, f->message);
        if (f->hint && !told)
            fprintf(stderr, "hint: %s\n", f->hint);
    }
}

static void warn_vocabulary(const struct build *b, const struct ocv_buffer *bytes)
{
    char name[600];
    struct ocv_lint_report report = {0};
    snprintf(name, sizeof(name), "%s:%s", b->to.name, b->to.tag);
    const struct ocv_lint_input input = {.name = name, .bytes = bytes->data, .len = bytes->len};
    if (ocv_lint_run(&input, NULL, &report, NULL) == OCV_OK)
        warn_words(b->cli, &report);
    ocv_lint_report_free(&report);
}

/* ---- finishing ---------------------------------------------------------------------------------
 */

/* One image may be the build of several labels. */
static const struct job *job_of(const struct build *b, const struct ocv_entry *e)
{
    const struct job *found = NULL;
    for (size_t i = 0; i < b->n_jobs; i++) {
        const struct job *job = &b->jobs[i];
        if (strcmp(job->child.descriptor.digest, e->digest) != 0)
            continue;
        if (e->label && job->label && !strcmp(e->label, job->label))
            return job;
        found = found ? found : job;
    }
    return found;
}

static bool to_copy(const struct build *b, const struct job *job)
{
    return job->relabelled_from[0] || !place_holds(&b->to, &b->images[job->image]);
}

static void print_plan(const struct build *b, const struct ocv_index *index)
{
    int64_t bytes = 0;
    size_t n = 0;
    char text[FORMAT_NUMBER_MAX];
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        const struct job *job = job_of(b, e);
        char name[80], platform[128];
        printf("%4zu  %-20s  %-24s  %s%s%s\n", i,
               e->code == OCV_REJECT_ATTESTATION ? "attestation"
                                                 : explain_name(index, e, name, sizeof(name)),
               e->has_platform ? ocv_platform_format(&e->platform, platform, sizeof(platform))
                               : "-",
               e->digest, job ? "  from " : "", job ? b->images[job->image].text : "");
    }
    for (size_t i = 0; i < b->n_jobs; i++)
        if (to_copy(b, &b->jobs[i])) {
            bytes += child_bytes(&b->jobs[i].child);
            n++;
        }
    printf("to copy: %zu manifest%s with %s, less what is there or can be mounted\n", n,
           n == 1 ? "" : "s", format_bytes(bytes, text));
}

static json_t *relabelled_json(const struct build *b)
{
    json_t *list = json_array();
    for (size_t i = 0; i < b->n_jobs; i++)
        if (b->jobs[i].relabelled_from[0])
            json_array_append_new(list, json_pack("{s:s?, s:s, s:s}", "label", b->jobs[i].label,
                                                  "from", b->jobs[i].relabelled_from, "to",
                                                  b->jobs[i].child.descriptor.digest));
    return json_pack("{s:o}", "relabelled", list);
}

static void print_relabelled(const struct build *b)
{
    for (size_t i = 0; i < b->n_jobs && !b->options.quiet && !b->options.json; i++)
        if (b->jobs[i].relabelled_from[0])
            printf("%s: %s is now %s\n", b->jobs[i].label, b->jobs[i].relabelled_from,
                   b->jobs[i].child.descriptor.digest);
}

static int copy_jobs(struct build *b, struct copier *copier, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < b->n_jobs && status == OCV_OK; i++) {
        struct job *job = &b->jobs[i];
        const struct image *image = &b->images[job->image];
        if (!to_copy(b, job))
            continue;
        status = copier_child(copier, image, &job->child,
                              job->relabelled_from[0] ? &job->config : NULL, err);
        if (status == OCV_OK && b->options.referrers && !job->relabelled_from[0])
            status = copy_referrers(copier, image, job->child.descriptor.digest, err);
        if (status < 0 && job->label)
            ocv_error_prefix(err, "%s", job->label);
    }
    return status;
}

static int write_all(struct build *b, struct copier *copier, const struct ocv_buffer *bytes,
                     struct ocv_error *err)
{
    int status = OCV_OK;
    if (!b->options.dry_run) {
        status = place_prepare(&b->to, err);
        if (status == OCV_OK)
            status = copy_jobs(b, copier, err);
    }
    if (status == OCV_OK)
        status = publication_write(&b->publication, OCV_MEDIA_TYPE_INDEX, bytes, err);
    progress_finish(copier->progress);
    if (status < 0)
        return status;
    print_relabelled(b);
    return publication_print(&b->publication, copier, relabelled_json(b), err);
}

static bool has_image(const struct ocv_index *index)
{
    for (size_t i = 0; i < ocv_index_count(index); i++)
        if (ocv_index_entry(index, i)->code == OCV_REJECT_NONE)
            return true;
    return false;
}

int build_finish(struct build *b, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_MANIFEST_MAX);
    int status = ocv_edit_format(b->document, &bytes, err);
    if (status == OCV_OK)
        status = ocv_index_parse(bytes.data, bytes.len, NULL, &index, err);
    if (status == OCV_OK && !has_image(index))
        status = ocv_error_set(err, OCV_ERR_INVALID, "%s:%s: no image would be left", b->to.name,
                               b->to.tag);
    if (status < 0)
        return b->from ? ocv_error_prefix(err, "%s", b->from) : status;
    warn_defaults(b->cli, index);
    warn_namespaces(b, index);
    warn_vocabulary(b, &bytes);
    if (b->options.dry_run && !b->options.quiet && !b->options.json)
        print_plan(b, index);
    struct copier copier;
    status = copier_open(b->cli, &b->to, write_progress(b->cli, &b->options), &copier, err);
    if (status == OCV_OK)
        status = write_all(b, &copier, &bytes, err);
    copier_close(&copier);
    return status;
}
