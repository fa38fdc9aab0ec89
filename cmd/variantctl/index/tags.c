/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --from-tags: an index of published tags, by the tag rules. What the rules do not decide is
 * reported, never guessed. */
#include "lib/internal/tags/tags.h"
#include "cmd/common/image/image.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/base/cleanup.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* The set to use: the one named like the target's tag, else the only one. */
static int choose_set(const struct ocv_tag_plan *plan, const struct build *b, const char *glob,
                      bool authoring, size_t *out, struct ocv_error *err)
{
    size_t n = ocv_tag_plan_sets(plan);
    char names[400] = "";
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(ocv_tag_plan_name(plan, i), b->to.tag)) {
            *out = i;
            return OCV_OK;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                 ocv_tag_plan_name(plan, i));
    }
    *out = 0;
    if (n == 1)
        return OCV_OK;
    const char *reason = NULL;
    const struct ocv_tag *tag =
        ocv_tag_plan_left_out(plan) ? ocv_tag_plan_left(plan, 0, &reason) : NULL;
    if (n > 1) {
        ocv_error_set(err, OCV_ERR_DATA, "--from-tags %s: tags of several sets: %s", glob, names);
        ocv_error_hint(err, "name the target like the set that is meant, or narrow the pattern");
    } else if (!authoring || !tag) {
        ocv_error_set(err, OCV_ERR_DATA, "--from-tags %s: no tag rule makes a set of these tags",
                      glob);
        ocv_error_hint(err, "'variantctl tags plan' shows why; --rules adds your own rules");
    } else {
        ocv_error_set(err, OCV_ERR_DATA, "--from-tags %s: these tags make no set: %s: %s", glob,
                      ocv_tag_text(tag), reason);
        ocv_error_hint(err, "tags are read as VERSION-cpu, -cuNNN, -rocmN.N, -gfxNNN, -gaudiN or "
                            "-arm64; --rules adds your own rules");
    }
    return OCV_ERR_DATA;
}

#define TOLD_MAX 10u /* tags listed by name; of others only the number */

/* For messages about tags that match the pattern but are not added to the index. */
struct skipped_tags {
    const struct build *build;
    const struct ocv_reference *reference; /* repository of the tags */
    size_t n;
    const char *first;
};

static void report_skipped(struct skipped_tags *t, const struct ocv_tag *tag, const char *reason)
{
    const struct build *b = t->build;
    const char *text = ocv_tag_text(tag), *name = t->reference->name;
    /* Not worth a message: the tag being written, and tags that an argument names. */
    bool expected =
        b->to.reference && !strcmp(b->to.reference->name, name) && !strcmp(b->to.tag, text);
    for (size_t i = 0; i < b->n_items && !expected; i++) {
        ocv_auto(ocv_reference) r = NULL;
        expected = ocv_reference_parse(b->items[i].reference, &r, NULL) == OCV_OK && !r->digest &&
                   !strcmp(r->name, name) && !strcmp(r->tag, text);
    }
    if (expected)
        return;
    if (t->n < TOLD_MAX)
        cli_warn(b->cli, "%s is left out: %s", text, reason);
    else
        cli_log(b->cli, "%s is left out: %s", text, reason);
    t->first = t->n++ ? t->first : text;
}

static bool is_member(const struct ocv_tag_plan *plan, size_t set, const struct ocv_tag *tag)
{
    for (size_t i = 0; i < ocv_tag_plan_members(plan, set); i++)
        if (ocv_tag_plan_member(plan, set, i, NULL) == tag)
            return true;
    return false;
}

/* Reported on each run: otherwise users are the first to notice a missing build. */
static void report_plan(const struct build *b, const struct ocv_reference *reference,
                        const struct ocv_tag_plan *plan, size_t set)
{
    struct skipped_tags t = {.build = b, .reference = reference};
    for (size_t i = 0; i < ocv_tag_plan_left_out(plan); i++) {
        const char *reason;
        const struct ocv_tag *tag = ocv_tag_plan_left(plan, i, &reason);
        report_skipped(&t, tag, reason);
    }
    /* Members of another set only; each is named once, for the first such set. */
    for (size_t k = 0; k < ocv_tag_plan_sets(plan); k++)
        for (size_t i = 0; k != set && i < ocv_tag_plan_members(plan, k); i++) {
            const struct ocv_tag *tag = ocv_tag_plan_member(plan, k, i, NULL);
            char reason[400];
            bool told = is_member(plan, set, tag);
            for (size_t m = 0; m < k && !told; m++)
                told = is_member(plan, m, tag);
            snprintf(reason, sizeof(reason), "it is of the set %s", ocv_tag_plan_name(plan, k));
            if (!told)
                report_skipped(&t, tag, reason);
        }
    if (t.n > TOLD_MAX && !b->cli->verbose)
        cli_warn(b->cli, "%zu more are left out (--verbose lists them)", t.n - TOLD_MAX);
    if (t.n)
        fprintf(stderr,
                "hint: name such a build itself ('LABEL=%s:%s,PROPERTY'), add tag rules (--rules), "
                "or narrow the pattern\n",
                reference->familiar, t.first);
}

/* The command line takes precedence. */
static int set_missing(struct build *b, const char *key, const struct ocv_buffer *text,
                       struct ocv_error *err)
{
    if (text->len == 0 || ocv_edit_annotation(b->document, key))
        return OCV_OK;
    return ocv_edit_set(b->document, key, text->data, err);
}

bool build_lists_name(const char *list, const char *name)
{
    size_t n = strlen(name);
    const char *at = strstr(list, name);
    while (at && ((at > list && !strchr(" ,", at[-1])) || (at[n] && !strchr(" ,", at[n]))))
        at = strstr(at + 1, name);
    return at != NULL;
}

/* Put a namespace after the given ones, unless they include it. */
int build_append_namespace(const struct build *b, const char *name, struct ocv_error *err)
{
    const char *given = ocv_edit_annotation(b->document, OCV_ANNOTATION_NAMESPACES);
    ocv_auto_buffer list;
    ocv_buffer_init(&list, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    if (!given || build_lists_name(given, name))
        return OCV_OK;
    OCV_TRY(ocv_buffer_printf(&list, err, "%s, %s", given, name));
    return ocv_edit_set(b->document, OCV_ANNOTATION_NAMESPACES, list.data, err);
}

static int add_members(struct build *b, const struct ocv_reference *reference,
                       const struct ocv_tag_plan *plan, size_t set, struct ocv_error *err)
{
    ocv_auto_buffer namespaces, order;
    ocv_buffer_init(&namespaces, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&order, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    for (size_t i = 0; i < ocv_tag_plan_members(plan, set); i++) {
        struct ocv_tag_entry entries[2];
        size_t n;
        char ref[1024];
        const struct ocv_tag *tag = ocv_tag_plan_member(plan, set, i, NULL);
        snprintf(ref, sizeof(ref), "%s:%s", reference->name, ocv_tag_text(tag));
        int status = ocv_tag_plan_entries(plan, set, i, entries, &n, err);
        for (size_t k = 0; k < n; k++) {
            if (status == OCV_OK)
                status = build_item(b, entries[k].label, ref, entries[k].properties, ref, err);
            else
                ocv_properties_free(entries[k].properties);
            if (status == OCV_OK)
                status = ocv_tag_assumed(tag, &b->items[b->n_items - 1].assumed, err);
        }
        if (status < 0)
            return status;
    }
    OCV_TRY(ocv_tag_plan_order(plan, set, &namespaces, &order, err));
    size_t accelerators = 0; /* of the names in "amd, nvidia, priority" */
    for (const char *at = namespaces.data; at && *at; at += strspn(at, ", ")) {
        char name[OCV_WORD_MAX];
        size_t len = strcspn(at, ", ");
        snprintf(name, sizeof(name), "%.*s", (int)len, at);
        accelerators += !ocv_vocabulary_is_cpu(name) && strcmp(name, BUILD_PRIORITY) != 0;
        at += len;
    }
    bool asks = !ocv_tag_plan_is_ordered(plan, set) && accelerators > 1;
    if (order.len)
        OCV_TRY(build_append_namespace(b, BUILD_PRIORITY, err));
    if (!asks || b->options.no_lint)
        OCV_TRY(set_missing(b, OCV_ANNOTATION_NAMESPACES, &namespaces, err));
    return set_missing(b, OCV_ANNOTATION_STATIC BUILD_PRIORITY, &order, err);
}

int build_from_tags(struct build *b, const char *text, const char *rules_path,
                    struct ocv_error *err)
{
    ocv_auto(ocv_reference) own = NULL;
    ocv_auto_tags all = {0};
    ocv_auto_tags tags = {0};
    const char *glob = text, *colon = strrchr(text, ':');
    if (colon && !strchr(colon, '/')) { /* REPO:GLOB: a tag has no '/' */
        glob = colon + 1;
        ocv_auto_free char *name = strndup(text, (size_t)(colon - text));
        OCV_TRY(name ? ocv_reference_parse(name, &own, err) : ocv_error_nomem(err));
    }
    const struct ocv_reference *reference = own ? own : b->to.reference;
    if (!reference)
        return ocv_error_set(err, OCV_ERR_INVALID, "--from-tags: give REPO:GLOB");
    OCV_TRY(image_bind_credentials(b->cli, reference, err));
    OCV_TRY(cli_registry(b->cli, err));
    OCV_TRY(rules_list_tags(b->cli, reference, &all, err));
    for (size_t i = 0; i < all.n; i++)
        if (fnmatch(glob, all.list[i], 0) == 0)
            OCV_TRY(rules_tags_add(&tags, all.list[i], err));

    ocv_auto(ocv_tag_rules) rules = NULL;
    ocv_auto(ocv_tag_plan) plan = NULL;
    size_t set = 0;
    bool authoring = false;
    const char *const *doubts;
    if (tags.n == 0)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: no tag like %s", reference->name, glob);
    OCV_TRY(rules_load_more(b->cli, rules_path, reference, &rules, err));
    OCV_TRY(rules_load_authoring(rules, reference, &authoring, err));
    OCV_TRY(ocv_tag_plan_new(rules, reference, NULL, (const char *const *)tags.list, tags.n, &plan,
                             err));
    OCV_TRY(choose_set(plan, b, glob, authoring, &set, err));
    if (ocv_tag_plan_doubts(plan, set, &doubts) != 0)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: %s", ocv_tag_plan_name(plan, set), doubts[0]);

    /* Where a tag leaves a requirement open, read the image's config. */
    struct rules_source data;
    const struct ocv_tag_source source = rules_source(b->cli, reference, &data);
    OCV_TRY(ocv_tag_plan_ask(plan, set, &source, err));
    for (size_t i = 0; i < ocv_tag_plan_members(plan, set); i++) {
        const struct ocv_tag *tag = ocv_tag_plan_member(plan, set, i, NULL);
        const char *wrong, *heard = ocv_tag_heard(tag, &wrong);
        if (wrong)
            cli_warn(b->cli, "%s: %s; the configuration counts", ocv_tag_text(tag), wrong);
        else if (heard)
            cli_log(b->cli, "%s: %s, as its configuration says", ocv_tag_text(tag), heard);
    }
    report_plan(b, reference, plan, set);
    return add_members(b, reference, plan, set, err);
}
