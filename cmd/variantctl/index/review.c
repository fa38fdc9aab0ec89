/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks an index before it is written and anything is pushed. Faults that existed before an edit
 * do not prevent it. */
#include "cmd/variantctl/index/index_verbs.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/core/resolve/resolve_internal.h"

#include <stdlib.h>
#include <string.h>

static bool same_machine(const struct ocv_entry *a, const struct ocv_entry *b)
{
    return a->platform.os && b->platform.os && a->platform.architecture &&
           b->platform.architecture && !strcmp(a->platform.os, b->platform.os) &&
           !strcmp(a->platform.architecture, b->platform.architecture);
}

/* True if `index` has an entry for the platform of `e` that every client takes. */
static bool has_default(const struct ocv_index *index, const struct ocv_entry *e)
{
    for (size_t k = 0; k < ocv_index_count(index); k++) {
        const struct ocv_entry *other = ocv_index_entry(index, k);
        if (other->code == OCV_REJECT_NONE && same_machine(e, other) &&
            ocv_entry_is_default(other) && !ocv_platform_is_hidden(other->platform.variant))
            return true;
    }
    return false;
}

/* Refuse an edit that removes the entry that everyone else pulls. */
static int refuse_loss(const struct build *b, const struct ocv_index *index,
                       const struct ocv_entry *e, struct ocv_error *err)
{
    /* Clients that know nothing of variants would see the first one for the platform. */
    const struct ocv_entry *seen = NULL;
    for (size_t k = 0; k < ocv_index_count(index) && !seen; k++) {
        const struct ocv_entry *other = ocv_index_entry(index, k);
        if (other->code == OCV_REJECT_NONE && same_machine(e, other) &&
            !ocv_platform_is_hidden(other->platform.variant))
            seen = other;
    }
    char machine[100], get[300];
    snprintf(machine, sizeof(machine), "%.40s/%.40s", e->platform.os, e->platform.architecture);
    if (seen)
        snprintf(get, sizeof(get), "pull %.100s on every machine", seen->label);
    else
        snprintf(get, sizeof(get), "find no image");
    ocv_error_set(
        err, OCV_ERR_DATA,
        "%s:%s would have no default for %s: docker, podman and other clients "
        "that know nothing of variants would %s there, and hosts that no variant fits would "
        "get none: nothing was written",
        b->to.name, b->to.tag, machine, get);
    ocv_error_hint(err,
                   "'index add --replace %s:%s null=REF' replaces it by another build; --no-lint "
                   "does it anyway",
                   b->to.name, b->to.tag);
    return OCV_ERR_DATA;
}

#define ACCELERATORS_MAX 64u

struct accelerator_list {
    const char *list[ACCELERATORS_MAX];
    size_t n;
};

static void add_accelerator(const struct build *b, struct accelerator_list *names, const char *ns)
{
    char key[160];
    snprintf(key, sizeof(key), OCV_ANNOTATION_STATIC "%.100s", ns);
    bool known = ocv_vocabulary_is_cpu(ns) || ocv_edit_annotation(b->document, key);
    for (size_t i = 0; i < names->n; i++)
        known = known || !strcmp(names->list[i], ns);
    if (!known && names->n < ACCELERATORS_MAX)
        names->list[names->n++] = ns;
}

static void add_all(const struct build *b, struct accelerator_list *names,
                    const struct ocv_index *index)
{
    const char *const *list;
    size_t n = index ? ocv_index_namespaces(index, &list, NULL) : 0;
    for (size_t i = 0; i < n; i++)
        add_accelerator(b, names, list[i]);
}

/* The known namespace that an unknown one was probably meant to be; false: none. */
static bool was_meant(const char *ns, char meant[OCV_WORD_MAX])
{
    meant[0] = '\0';
    return ocv_vocabulary_check(ns, NULL, NULL, meant) == OCV_WORD_NAMESPACE && *meant;
}

/* `meant`: with corrected names, each once. */
static int join_names(const struct accelerator_list *names, bool meant, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    struct accelerator_list said = {0};
    char words[ACCELERATORS_MAX][OCV_WORD_MAX];
    for (size_t i = 0; i < names->n; i++) {
        const char *ns = meant && was_meant(names->list[i], words[i]) ? words[i] : names->list[i];
        bool told = false;
        for (size_t k = 0; k < said.n; k++)
            told = told || !strcmp(said.list[k], ns);
        if (told)
            continue;
        OCV_TRY(ocv_buffer_printf(out, err, "%s%s", said.n ? ", " : "", ns));
        said.list[said.n++] = ns;
    }
    return OCV_OK;
}

/* No priority was given, and alphabetical order is meaningless. Suggest the order in which the
 * namespaces were given. */
int build_check_order(const struct build *b, const struct ocv_index *index, struct ocv_error *err)
{
    struct accelerator_list names = {0};
    const char *const *unused;
    bool declared = false;
    if (b->options.no_lint || (b->edited && !index))
        return OCV_OK;
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
    ocv_auto_buffer right;
    char count[24], word[OCV_WORD_MAX], meant[OCV_WORD_MAX + 24] = "";
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&right, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    OCV_TRY(join_names(&names, false, &list, err));
    OCV_TRY(join_names(&names, true, &right, err));
    snprintf(count, sizeof(count), "%zu", names.n);
    ocv_error_set(err, OCV_ERR_DATA, "%s accelerators without an order: %s",
                  names.n == 2 ? "two" : count, list.data);
    for (size_t i = 0; i < names.n && !*meant; i++)
        if (was_meant(names.list[i], word))
            snprintf(meant, sizeof(meant), "did you mean %s? Then ", word);
    /* the suggested list has the corrected name */
    if (*meant && !strchr(right.data, ','))
        ocv_error_hint(err, "%.*s", (int)strcspn(meant, "?") + 1, meant);
    else if (b->from)
        ocv_error_hint(err, "%slist them in %s, most important first: 'namespaces: [%s]'", meant,
                       b->from, right.data);
    else
        ocv_error_hint(err, "%slist them, most important first: --namespaces '%s'", meant,
                       right.data);
    return OCV_ERR_DATA;
}

static bool is_rule(const struct ocv_lint_finding *f, const char *id)
{
    return !strcmp(f->rule->id, id);
}

static bool is_among(const struct ocv_lint_finding *list, size_t n,
                     const struct ocv_lint_finding *f)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].rule == f->rule && !strcmp(list[i].message, f->message))
            return true;
    return false;
}

#define WHERE_MAX 4200u

static void report_finding(const struct build *b, const struct ocv_lint_finding *f, bool refused)
{
    char line[WHERE_MAX];
    const char *where = f->line ? line : NULL;
    if (f->line) /* of the file itself */
        snprintf(line, sizeof(line), "%.4000s:%zu", f->input, f->line);
    /* Else where its author wrote it: a line of --from, or a tag of --from-tags. */
    for (size_t i = 0; !where && f->label && i < b->n_items; i++) {
        const struct item *item = &b->items[i];
        if (!item->label || !item->where || strcmp(item->label, f->label) != 0)
            continue;
        where = item->source ? line : item->where;
        if (item->source)
            snprintf(line, sizeof(line), "%s:%zu", b->from,
                     f->property
                         ? ocv_edit_source_line(item->source, item->source_image, f->property)
                         : ocv_edit_source_image(item->source, item->source_image).line);
    }
    const char *kind = refused ? "error" : f->level == OCV_LINT_NOTE ? "note" : "warning";
    fprintf(stderr, "%s: %s: %s%s%s%s%s [%s %s]\n", b->cli->program, kind, where ? where : "",
            where ? ": " : "", f->where, *f->where ? ": " : "", f->message, f->rule->id,
            f->rule->name);
    if (f->hint)
        fprintf(stderr, "hint: %s\n", f->hint);
}

/* Lint the new index and, for an edit, the one that the tag names. */
static int lint_both(const struct build *b, const struct ocv_index *index,
                     const struct ocv_lint_options *how, const struct ocv_buffer *bytes,
                     struct ocv_lint_report *report, struct ocv_lint_report *before,
                     struct ocv_error *err)
{
    char name[600];
    snprintf(name, sizeof(name), "%s:%s", b->to.name, b->to.tag);
    size_t n = ocv_index_count(index);
    ocv_auto_free struct ocv_lint_child *children = calloc(n + 1, sizeof(*children));
    if (!children)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) { /* the images that were read just now */
        const struct index_image *job = build_job_of(b, ocv_index_entry(index, i));
        if (job && job->manifest && job->config_json)
            children[i] = (struct ocv_lint_child){.state = OCV_LINT_STATE_READ,
                                                  .manifest = job->manifest,
                                                  .config = job->config_json,
                                                  .content = job->content};
    }
    const struct ocv_lint_input input = {.name = name,
                                         .draft = true,
                                         .yaml = b->from,
                                         .bytes = bytes->data,
                                         .len = bytes->len,
                                         .children = children,
                                         .n_children = n};
    OCV_TRY(ocv_lint_run(&input, how, report, err));
    if (!b->edited)
        return OCV_OK;
    const struct image *image = &b->images[0]; /* the tag: an edit reads it first */
    const struct ocv_lint_input old = {
        .name = image->text, .draft = true, .bytes = image->body.data, .len = image->body.len};
    return ocv_lint_run(&old, how, before, err);
}

static int refuse(const struct build *b, const char *name, size_t n, struct ocv_error *err)
{
    ocv_error_set(err, OCV_ERR_DATA, "%s: lint finds %zu error%s: nothing was written", name, n,
                  n == 1 ? "" : "s");
    if (b->from)
        ocv_error_hint(err, "correct %.200s, or allow it in " OCV_LINT_CONFIG_FILE, b->from);
    else
        ocv_error_hint(err, "--no-lint writes it anyway");
    return OCV_ERR_DATA;
}

/* Two accelerators without an order, of which lint only warns, are refused here. */
int build_review_source(struct build *b, const struct ocv_edit_source *source,
                        struct ocv_error *err)
{
    struct ocv_lint_config *settings = NULL;
    size_t refused = 0;
    int status = lint_settings_read(b->cli, NULL, &settings, err);
    const struct ocv_lint_options how = {.config = settings};
    if (status == OCV_OK)
        status = ocv_lint_run_source(b->from, source, &how, &b->told, err);
    for (size_t i = 0; i < b->told.n && status == OCV_OK; i++) {
        const struct ocv_lint_finding *f = &b->told.findings[i];
        bool error = f->level == OCV_LINT_ERROR || is_rule(f, "OCV103");
        if (f->allowed)
            continue;
        report_finding(b, f, error && !b->options.no_lint);
        refused += error && !b->options.no_lint;
    }
    ocv_lint_config_free(settings);
    return refused ? refuse(b, b->from, refused, err) : status;
}

int build_review(const struct build *b, const struct ocv_index *index,
                 const struct ocv_buffer *bytes, struct ocv_error *err)
{
    OCV_TRY(build_check_order(b, index, err));
    for (size_t i = 0; b->edited && !b->options.no_lint && i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        if (e->code == OCV_REJECT_NONE && e->has_platform && !has_default(index, e) &&
            has_default(b->edited, e))
            return refuse_loss(b, index, e, err);
    }

    struct ocv_lint_report report = {0}, before = {0};
    struct ocv_lint_config *settings = NULL;
    size_t refused = 0;
    char name[600];
    int status = lint_settings_read(b->cli, NULL, &settings, err);
    const struct ocv_lint_options how = {.config = settings};
    if (status == OCV_OK)
        status = lint_both(b, index, &how, bytes, &report, &before, err);
    for (size_t i = 0; i < report.n && status == OCV_OK; i++) {
        const struct ocv_lint_finding *f = &report.findings[i];
        bool error = f->level == OCV_LINT_ERROR;
        bool new = error && !b->options.no_lint && !is_among(before.findings, before.n, f);
        /* What was said of the file of --from is not said again; of a missing default that does not
         * know the platform. One of several platforms of a build speaks for all. */
        bool told = is_among(b->told.findings, b->told.n, f) || is_among(report.findings, i, f);
        for (size_t k = 0; k < b->told.n && is_rule(f, "OCV501"); k++)
            told = told || is_rule(&b->told.findings[k], "OCV501");
        if (f->allowed || told)
            continue;
        /* Worth a line though it refuses nothing: what lint warns of, unless an edit found it
         * there; and always an unknown word, and properties that the files contradict. */
        bool always =
            is_rule(f, "OCV204") || is_rule(f, "OCV205") || !strncmp(f->rule->id, "OCV7", 4);
        bool unused = is_rule(f, "OCV106") && !b->options.quiet; /* its last build is gone */
        bool warns =
            (f->level >= OCV_LINT_WARNING || unused) && !is_among(before.findings, before.n, f);
        if (error || always || warns)
            report_finding(b, f, new);
        refused += new;
    }
    ocv_lint_report_free(&report);
    ocv_lint_report_free(&before);
    ocv_lint_config_free(settings);
    snprintf(name, sizeof(name), "%s:%s", b->to.name, b->to.tag);
    return refused ? refuse(b, name, refused, err) : status;
}
