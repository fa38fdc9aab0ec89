/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --derive: the order of builds that hosts cannot tell apart. Of such builds the one of the oldest
 * toolkit asks least of a driver, so it comes first, as in an index made of tags. */
#include "cmd/variantctl/index/index_verbs.h"
#include "gen/toolkits.h"
#include "lib/base/cleanup.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/edit/edit.h"
#include "ocivariant/vocabulary.h"

#include <stdlib.h>
#include <string.h>

/* The newest toolkit that its properties name, or NULL. */
static const char *toolkit_in(const struct ocv_properties *set)
{
    const char *newest = NULL;
    for (size_t i = 0; set && i < ocv_properties_count(set); i++) {
        struct ocv_property p = ocv_properties_get(set, i);
        if (!strcmp(p.ns, OCV_TOOLKIT_NAMESPACE) && !strcmp(p.feature, OCV_TOOLKIT_VERSION) &&
            (!newest || ocv_version_compare(p.value, newest) > 0))
            newest = p.value;
    }
    return newest;
}

/* An image's entry for older drivers is built with the image's toolkit. */
static const char *toolkit_of(const struct build *b, const struct index_image *job)
{
    for (size_t i = 0; job->shares_content && i < b->n_jobs; i++)
        if (b->jobs[i].content == job->content && !b->jobs[i].shares_content)
            return toolkit_in(b->jobs[i].properties);
    return toolkit_in(job->properties);
}

/* Does lint say that only labels rank some? Of builds that somebody ranked nothing is changed. */
static int find_ties(const struct build *b, const struct ocv_buffer *bytes, bool *found,
                     struct ocv_error *err)
{
    struct ocv_lint_report report = {0};
    const struct ocv_lint_input input = {
        .name = b->to.tag, .draft = true, .bytes = bytes->data, .len = bytes->len};
    bool ranked = ocv_edit_annotation(b->document, OCV_ANNOTATION_STATIC BUILD_PRIORITY);
    for (size_t i = 0; i < b->n_jobs; i++) {
        const struct ocv_properties *set = b->jobs[i].properties;
        for (size_t k = 0; set && k < ocv_properties_count(set); k++)
            ranked = ranked || !strcmp(ocv_properties_get(set, k).ns, BUILD_PRIORITY);
    }
    *found = false;
    int status = ranked ? OCV_OK : ocv_lint_run(&input, NULL, &report, err);
    for (size_t i = 0; i < report.n; i++)
        *found = *found || !strcmp(report.findings[i].rule->id, "OCV120") ||
                 !strcmp(report.findings[i].rule->id, "OCV119");
    ocv_lint_report_free(&report);
    return status;
}

static int compare_versions(const void *a, const void *b)
{
    return ocv_version_compare(*(const char *const *)a, *(const char *const *)b);
}

int build_rank(struct build *b, const struct ocv_index *index, const struct ocv_buffer *bytes,
               bool *ranked, struct ocv_error *err)
{
    ocv_auto_buffer order;
    ocv_buffer_init(&order, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    const char *const *names;
    size_t n = ocv_index_namespaces(index, &names, NULL), accelerators = 0;
    *ranked = false;
    if (!b->derive || b->relabel) /* relabelled images hold their own */
        return OCV_OK;
    /* Accelerators without an order are refused later: a list would seem to be one. */
    for (size_t i = 0; i < n; i++)
        accelerators += !ocv_vocabulary_is_cpu(names[i]);
    if (accelerators > 1 && ocv_edit_namespaces_derived(b->document))
        return OCV_OK;
    OCV_TRY(find_ties(b, bytes, ranked, err));
    if (!*ranked)
        return OCV_OK;
    /* "order :: 12.6, order :: 12.8", where there are two toolkits */
    ocv_auto_free const char **all = calloc(b->n_jobs + 1, sizeof(*all));
    size_t n_all = 0, kept = 0;
    if (!all)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < b->n_jobs; i++)
        if (b->jobs[i].label && toolkit_of(b, &b->jobs[i]))
            all[n_all++] = toolkit_of(b, &b->jobs[i]);
    qsort(all, n_all, sizeof(*all), compare_versions);
    for (size_t i = 0; i < n_all; i++)
        if (kept == 0 || strcmp(all[kept - 1], all[i]) != 0)
            all[kept++] = all[i];
    *ranked = kept > 1;
    if (!*ranked)
        return OCV_OK;
    for (size_t i = 0; i < kept; i++)
        OCV_TRY(ocv_buffer_printf(&order, err, "%sorder :: %s", i ? ", " : "", all[i]));
    OCV_TRY(build_append_namespace(b, BUILD_PRIORITY, err));
    OCV_TRY(ocv_edit_set(b->document, OCV_ANNOTATION_STATIC BUILD_PRIORITY, order.data, err));
    for (size_t i = 0; i < b->n_jobs; i++) {
        const char *label = b->jobs[i].label;
        const char *toolkit = label ? toolkit_of(b, &b->jobs[i]) : NULL;
        bool done = false; /* all entries of a label together, whatever their platforms */
        for (size_t k = 0; label && k < i; k++)
            done = done || (b->jobs[k].label && !strcmp(b->jobs[k].label, label));
        if (!toolkit || done)
            continue;
        ocv_auto(ocv_properties) set = NULL;
        ocv_auto_buffer text;
        ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
        OCV_TRY(ocv_properties_format(b->jobs[i].properties, &text, err));
        OCV_TRY(ocv_buffer_printf(&text, err, ", " BUILD_PRIORITY " :: order :: %s", toolkit));
        OCV_TRY(ocv_properties_parse(text.data, text.len, &set, err));
        OCV_TRY(ocv_edit_annotate(b->document, label, NULL, NULL, set, err));
    }
    return OCV_OK;
}
