/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong with an index that is about to be written: told before anything is pushed. What was
 * wrong before an edit does not forbid it. */
#include "cmd/variantctl/index/index_build.h"
#include "cmd/variantctl/lint_settings.h"
#include "lib/core/resolve/default.h"

#include <stdlib.h>
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

/* ---- the order of accelerators -----------------------------------------------------------------
 */

#define ACCELERATORS_MAX 64u

struct names {
    const char *list[ACCELERATORS_MAX];
    size_t n;
};

static void add_accelerator(const struct build *b, struct names *names, const char *ns)
{
    char key[160];
    snprintf(key, sizeof(key), OCV_ANNOTATION_STATIC "%.100s", ns);
    bool known = ocv_vocabulary_is_cpu(ns) || ocv_edit_annotation(b->document, key);
    for (size_t i = 0; i < names->n; i++)
        known = known || !strcmp(names->list[i], ns);
    if (!known && names->n < ACCELERATORS_MAX)
        names->list[names->n++] = ns;
}

static void add_all(const struct build *b, struct names *names, const struct ocv_index *index)
{
    const char *const *list;
    size_t n = index ? ocv_index_namespaces(index, &list, NULL) : 0;
    for (size_t i = 0; i < n; i++)
        add_accelerator(b, names, list[i]);
}

static int join(const struct names *names, struct ocv_buffer *out, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < names->n && status == OCV_OK; i++)
        status = ocv_buffer_printf(out, err, "%s%s", i ? ", " : "", names->list[i]);
    return status;
}

/* Nobody said which accelerator counts more, and the alphabet does not know. Offered is the order
 * in which they came. */
static int check_order(const struct build *b, const struct ocv_index *index, struct ocv_error *err)
{
    struct names names = {0};
    const char *const *unused;
    bool declared = false;
    if (b->edited)
        ocv_index_namespaces(b->edited, &unused, &declared);
    add_all(b, &names, declared ? b->edited : NULL);
    size_t before = names.n;
    for (size_t i = 0; i < b->n_items; i++)
        for (size_t k = 0;
             b->items[i].properties && k < ocv_properties_count(b->items[i].properties); k++)
            add_accelerator(b, &names, ocv_properties_get(b->items[i].properties, k).ns);
    add_all(b, &names, index);
    if (!ocv_edit_namespaces_derived(b->document) || names.n < 2 || names.n == before)
        return OCV_OK;
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    int status = join(&names, &list, err);
    if (status < 0)
        return status;
    char count[24];
    snprintf(count, sizeof(count), "%zu", names.n);
    ocv_error_set(err, OCV_ERR_DATA, "%s accelerators and no order: %s",
                  names.n == 2 ? "two" : count, list.data);
    if (b->from)
        ocv_error_hint(err, "say which counts more: 'namespaces: [%s]' in %s, most important first",
                       list.data, b->from);
    else
        ocv_error_hint(err, "say which counts more: --namespaces '%s', most important first",
                       list.data);
    return OCV_ERR_DATA;
}

/* ---- lint --------------------------------------------------------------------------------------
 */

static bool was_there(const struct ocv_lint_report *before, const struct ocv_lint_finding *f)
{
    for (size_t i = 0; i < before->n; i++)
        if (before->findings[i].rule == f->rule && !strcmp(before->findings[i].message, f->message))
            return true;
    return false;
}

/* Of another platform of the same build. */
static bool was_told(const struct ocv_lint_report *report, const struct ocv_lint_finding *f)
{
    for (const struct ocv_lint_finding *g = report->findings; g < f; g++)
        if (g->rule == f->rule && !strcmp(g->message, f->message))
            return true;
    return false;
}

/* Where its author wrote it: a line of --from, a tag of --from-tags; else what the label says. */
static const char *origin(const struct build *b, const struct ocv_lint_finding *f)
{
    for (size_t i = 0; f->label && i < b->n_items; i++)
        if (b->items[i].label && b->items[i].where && !strcmp(b->items[i].label, f->label))
            return b->items[i].where;
    return NULL;
}

static void tell(const struct build *b, const struct ocv_lint_finding *f, bool refused)
{
    const char *where = origin(b, f);
    fprintf(stderr, "%s: %s: %s%s%s%s%s [%s %s]\n", b->cli->program, refused ? "error" : "warning",
            where ? where : "", where ? ": " : "", f->where, *f->where ? ": " : "", f->message,
            f->rule->id, f->rule->name);
    if (f->hint)
        fprintf(stderr, "hint: %s\n", f->hint);
}

/* The namespaces that nobody owns are told of elsewhere, but for what was meant. */
static size_t tell_findings(const struct build *b, const struct ocv_lint_report *report,
                            const struct ocv_lint_report *before)
{
    size_t refused = 0;
    for (size_t i = 0; i < report->n; i++) {
        const struct ocv_lint_finding *f = &report->findings[i];
        bool word = !strcmp(f->rule->id, "OCV204") || !strcmp(f->rule->id, "OCV205");
        bool error = f->level == OCV_LINT_ERROR;
        bool new = error && !b->options.no_lint && !was_there(before, f);
        if (f->allowed || was_told(report, f))
            continue;
        if (error || word)
            tell(b, f, new);
        else if (!strcmp(f->rule->id, "OCV203") && f->hint)
            fprintf(stderr, "hint: %s\n", f->hint);
        refused += new;
    }
    return refused;
}

/* What is known of the images: those that were read just now. */
static struct ocv_lint_child *children_of(const struct build *b, const struct ocv_index *index,
                                          struct ocv_error *err)
{
    size_t n = ocv_index_count(index);
    struct ocv_lint_child *list = calloc(n + 1, sizeof(*list));
    if (!list)
        ocv_error_nomem(err);
    for (size_t i = 0; list && i < n; i++) {
        const struct job *job = build_job_of(b, ocv_index_entry(index, i));
        if (job && job->manifest && job->config_json)
            list[i] = (struct ocv_lint_child){.state = OCV_LINT_STATE_READ,
                                              .manifest = job->manifest,
                                              .config = job->config_json};
    }
    return list;
}

static int lint_before(const struct build *b, const struct ocv_lint_options *how,
                       struct ocv_lint_report *out, struct ocv_error *err)
{
    if (!b->edited)
        return OCV_OK;
    const struct image *image = &b->images[0]; /* the tag, which an edit reads first */
    const struct ocv_lint_input input = {
        .name = image->text, .draft = true, .bytes = image->body.data, .len = image->body.len};
    return ocv_lint_run(&input, how, out, err);
}

static int lint_both(const struct build *b, const struct ocv_index *index,
                     const struct ocv_lint_options *how, const struct ocv_buffer *bytes,
                     struct ocv_lint_report *report, struct ocv_lint_report *before,
                     struct ocv_error *err)
{
    char name[600];
    snprintf(name, sizeof(name), "%s:%s", b->to.name, b->to.tag);
    struct ocv_lint_child *children = children_of(b, index, err);
    if (!children)
        return OCV_ERR_NOMEM;
    const struct ocv_lint_input input = {.name = name,
                                         .draft = true,
                                         .bytes = bytes->data,
                                         .len = bytes->len,
                                         .children = children,
                                         .n_children = ocv_index_count(index)};
    int status = ocv_lint_run(&input, how, report, err);
    if (status == OCV_OK)
        status = lint_before(b, how, before, err);
    free(children);
    return status;
}

static int lint(const struct build *b, const struct ocv_index *index,
                const struct ocv_buffer *bytes, struct ocv_error *err)
{
    struct ocv_lint_report report = {0}, before = {0};
    struct ocv_lint_config *settings = NULL;
    size_t refused = 0;
    int status = lint_settings_read(b->cli, NULL, &settings, err);
    const struct ocv_lint_options how = {.config = settings};
    if (status == OCV_OK)
        status = lint_both(b, index, &how, bytes, &report, &before, err);
    if (status == OCV_OK)
        refused = tell_findings(b, &report, &before);
    ocv_lint_report_free(&report);
    ocv_lint_report_free(&before);
    ocv_lint_config_free(settings);
    if (refused == 0)
        return status;
    ocv_error_set(err, OCV_ERR_DATA, "%s:%s: lint finds %zu error%s: nothing was written",
                  b->to.name, b->to.tag, refused, refused == 1 ? "" : "s");
    ocv_error_hint(err, "--no-lint writes it all the same");
    return OCV_ERR_DATA;
}

int build_review(const struct build *b, const struct ocv_index *index,
                 const struct ocv_buffer *bytes, struct ocv_error *err)
{
    int status = b->options.no_lint ? OCV_OK : check_order(b, index, err);
    if (status < 0)
        return status;
    warn_defaults(b->cli, index);
    warn_namespaces(b, index);
    return lint(b, index, bytes, err);
}
