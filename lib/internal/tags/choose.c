/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The choice among the tags of one name. Their digests are fixed once, before the choice: what is
 * pulled is what was shown, even if a tag is moved meanwhile. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/internal/tags/tags_internal.h"
#include "ocivariant/manifest.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_SHOWN 8u /* of tags that cannot be told apart */

#define PARSED (16u * 1024) /* bytes of a parsed tag: its arena has one block */
#define LISTED_MAX (16u * OCV_TAG_CANDIDATES_MAX) /* of one group, before it is put in order */

/* Of a list, only what may be of the group is kept: whoever publishes in the repository decides how
 * many tags there are, and each that is parsed takes 16 KiB. */
struct tag_list {
    const struct ocv_tag_rules *rules;
    const struct ocv_reference *reference;
    char name[OCV_TAG_TEXT_MAX]; /* of the group */
    char **list;
    size_t n;
    int status;
    struct ocv_error *err;
};

static int add_tag(void *data, const char *tag)
{
    struct tag_list *tags = data;
    bool may = false;
    tags->status = ocv_tag_may_join(tags->rules, tags->reference, tags->name, tag, &may, tags->err);
    if (tags->status < 0 || !may)
        return tags->status;
    if (tags->n == LISTED_MAX)
        return tags->status =
                   ocv_error_set(tags->err, OCV_ERR_DATA, "%s:%s: more than %u tags stand for it",
                                 tags->reference->familiar, tags->reference->tag, LISTED_MAX);
    char **copy = ocv_array_grow(&tags->list, tags->n);
    if (!copy || !(*copy = strdup(tag)))
        return tags->status = ocv_error_nomem(tags->err);
    tags->n++;
    return OCV_OK;
}

static int make_plan(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const struct ocv_tag_source *source, struct ocv_tag_plan **out,
                     struct ocv_error *err)
{
    struct tag_list tags = {.rules = rules, .reference = reference, .err = err};
    struct ocv_error failure = {0};
    OCV_TRY(ocv_tag_set_name(rules, reference, reference->tag, tags.name, err));
    int status = source->tags(source->data, add_tag, &tags, &failure);
    /* A registry without lists of tags is treated like one that refuses this list. */
    if (status < 0 && (failure.http_status == 405 || failure.http_status == 501))
        status = failure.status = OCV_ERR_NOT_FOUND;
    if (tags.status < 0)
        status = tags.status;
    else if (status < 0 && err)
        *err = failure;
    if (source->parse)
        source->parse(source->data, true);
    if (status == OCV_OK)
        status = ocv_tag_plan_new(rules, reference, reference->tag, (const char *const *)tags.list,
                                  tags.n, out, err);
    if (status == OCV_OK) {
        ocv_tag_plan_trim(*out);
        size_t members = ocv_tag_plan_sets(*out)
                             ? ocv_tag_plan_members(*out, 0) + ocv_tag_plan_doubts(*out, 0, NULL)
                             : 0;
        status = source->pay ? source->pay(source->data, members * PARSED, err) : OCV_OK;
    }
    if (source->parse)
        source->parse(source->data, false);
    for (size_t i = 0; i < tags.n; i++)
        free(tags.list[i]);
    free(tags.list);
    return status;
}

/* The plan's members, then the first tag of each doubt. */
static int nth_candidate(struct ocv_tag_choice *choice, const struct ocv_reference *reference,
                         size_t i, struct ocv_tag_fixed *out, struct ocv_error *err)
{
    size_t members = ocv_tag_plan_members(choice->plan, 0), n;
    const char *const *names, *const *doubts;
    out->candidate = (struct ocv_tag_candidate){0};
    out->doubt = (struct ocv_index_doubt){0};
    if (i < members) {
        out->candidate.tag = ocv_tag_plan_member(choice->plan, 0, i, &out->candidate.label);
        return OCV_OK;
    }
    /* Between such tags the rules do not decide: that stops the choice where one would win. */
    out->candidate.tag =
        ocv_tag_plan_doubt(choice->plan, 0, i - members, &out->candidate.label, &names, &n);
    ocv_auto_buffer list;
    ocv_buffer_init(&list, NAMES_SHOWN * OCV_ERROR_HINT_MAX);
    for (size_t k = 0; k < n && k < NAMES_SHOWN; k++)
        OCV_TRY(
            ocv_buffer_printf(&list, err, "%s%s:%s", k ? ", " : "", reference->familiar, names[k]));
    ocv_tag_plan_doubts(choice->plan, 0, &doubts);
    out->doubt.message = ocv_arena_printf(&choice->arena, "%s:%s: the tag rules cannot decide: %s",
                                          reference->familiar, reference->tag, doubts[i - members]);
    out->doubt.hint = ocv_arena_printf(&choice->arena, "name one of them: %s", list.data);
    return out->doubt.message && out->doubt.hint ? OCV_OK : ocv_error_nomem(err);
}

/* A tag that was deleted since it was listed is not a candidate. */
static int fix_digests(struct ocv_tag_choice *choice, const struct ocv_reference *reference,
                       const struct ocv_tag_source *source, struct ocv_error *err)
{
    size_t members =
        ocv_tag_plan_members(choice->plan, 0) + ocv_tag_plan_doubts(choice->plan, 0, NULL);
    size_t bodies = 0; /* they share a limit */
    if (members > OCV_TAG_CANDIDATES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: more than %u tags stand for it",
                             ocv_tag_plan_name(choice->plan, 0), OCV_TAG_CANDIDATES_MAX);
    choice->fixed = calloc(members + 1, sizeof(*choice->fixed));
    if (!choice->fixed)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < members; i++) {
        struct ocv_tag_fixed *f = &choice->fixed[choice->n];
        struct ocv_error failure = {0};
        ocv_buffer_init(&f->body, OCV_MANIFEST_MAX);
        OCV_TRY(nth_candidate(choice, reference, i, f, err));
        int status = source->head(source->data, ocv_tag_text(f->candidate.tag),
                                  &f->candidate.descriptor, &failure);
        if (status == OCV_ERR_NOT_FOUND)
            continue;
        choice->n++;
        f->body.max = OCV_MANIFEST_MAX - bodies;
        if (status == OCV_OK)
            status = ocv_tag_read_document(source, f, &failure);
        bodies += f->body.len;
        if (status == OCV_OK && source->pay)
            status = source->pay(source->data, f->body.len, &failure);
        if (status < 0) {
            if (err)
                *err = failure;
            return status;
        }
    }
    return OCV_OK;
}

/* The candidate of an entry. */
static struct ocv_tag_fixed *fixed_in(const struct ocv_tag_choice *choice,
                                      const struct ocv_index *index, const struct ocv_entry *entry)
{
    const char *tag = ocv_entry_tag(index, entry);
    for (size_t i = 0; tag && i < choice->n; i++)
        if (strcmp(ocv_tag_text(choice->fixed[i].candidate.tag), tag) == 0)
            return &choice->fixed[i];
    return NULL;
}

/* The previous one is kept until there is another. */
static int make_index(struct ocv_tag_choice *choice, enum ocv_tag_unread unread,
                      const struct ocv_profile *profile, struct ocv_error *err)
{
    ocv_auto_free struct ocv_tag_candidate *list = calloc(choice->n + 1, sizeof(*list));
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    if (!list)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < choice->n; i++) {
        const struct ocv_tag_fixed *f = &choice->fixed[i];
        list[i] = f->candidate;
        list[i].answered = f->answered;
        list[i].n_answered = f->n_answered;
    }
    OCV_TRY(ocv_tag_index(list, choice->n, unread, profile, &text, err));
    OCV_TRY(ocv_index_parse(text.data, text.len, OCV_MEDIA_TYPE_INDEX, &index, err));
    index->rule = ocv_arena_text(&index->arena, ocv_tag_choice_family(choice));
    index->group = ocv_arena_text(&index->arena, ocv_tag_choice_group(choice));
    if (!index->rule || !index->group)
        return ocv_error_nomem(err);
    /* Which entries stand for several tags. */
    size_t n = ocv_tag_plan_doubts(choice->plan, 0, NULL) ? ocv_index_count(index) : 0;
    struct ocv_index_doubt *doubts =
        n ? ocv_arena_alloc(&index->arena, n + 1, sizeof(*doubts)) : NULL;
    if (n && !doubts)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct ocv_tag_fixed *f = fixed_in(choice, index, ocv_index_entry(index, i));
        if (!f || !f->doubt.message)
            continue;
        doubts[i].message = ocv_arena_text(&index->arena, f->doubt.message);
        doubts[i].hint = ocv_arena_text(&index->arena, f->doubt.hint);
        if (!doubts[i].message || !doubts[i].hint)
            return ocv_error_nomem(err);
    }
    index->doubts = doubts;
    ocv_index_free(choice->index);
    choice->index = ocv_steal(&index);
    return OCV_OK;
}

int ocv_tag_choice_new(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                       const struct ocv_tag_source *source, struct ocv_tag_choice **out,
                       struct ocv_error *err)
{
    ocv_auto(ocv_tag) tag = NULL;
    *out = NULL;
    if (!reference->tag || reference->digest)
        return OCV_OK;
    OCV_TRY(ocv_tag_parse(rules, reference, NULL, &tag, err));
    if (!ocv_tag_names_group(tag))
        return OCV_OK;
    /* A tag whose parts do not say what it needs is the name of a set, not a member of it. If such
     * a tag exists, it is what was asked for, unless its configuration may say what it needs. */
    if (tag->refused && !tag->open) {
        struct ocv_descriptor seen;
        struct ocv_error failure = {0};
        int status = source->head(source->data, ocv_tag_text(tag), &seen, &failure);
        if (status < 0 && status != OCV_ERR_NOT_FOUND && err)
            *err = failure;
        if (status != OCV_ERR_NOT_FOUND)
            return status;
    }
    bool silent = false;
    ocv_auto(ocv_tag_choice) choice = calloc(1, sizeof(*choice));
    if (!choice)
        return ocv_error_nomem(err);
    OCV_TRY(make_plan(rules, reference, source, &choice->plan, err));
    if (ocv_tag_plan_sets(choice->plan) == 0)
        return OCV_OK;
    OCV_TRY(fix_digests(choice, reference, source, err));
    /* If the tag that was asked for exists, and not even its configuration says what it needs, it
     * is what was asked for, as in a repository without rules. */
    for (size_t i = 0; i < choice->n; i++) {
        struct ocv_tag_fixed *f = &choice->fixed[i];
        const struct ocv_tag *own = f->candidate.tag;
        char digest[OCV_DIGEST_MAX];
        if (!own || !own->open || strcmp(ocv_tag_text(own), reference->tag) != 0)
            continue;
        OCV_TRY(ocv_tag_first_image(f, digest, err));
        if (*digest)
            OCV_TRY(ocv_tag_read_config(source, f, digest, err));
        silent = f->n_answered > 0 && f->answered[0].tag->refused;
        break;
    }
    if (!choice->n || silent)
        return OCV_OK;
    OCV_TRY(make_index(choice, OCV_TAG_UNREAD_NEVER, NULL, err));
    *out = ocv_steal(&choice);
    return OCV_OK;
}

void ocv_tag_choice_free(struct ocv_tag_choice *choice)
{
    if (!choice)
        return;
    ocv_index_free(choice->index);
    for (size_t i = 0; i < choice->n; i++)
        ocv_tag_fixed_clear(&choice->fixed[i]);
    free(choice->fixed);
    ocv_tag_plan_free(choice->plan);
    ocv_arena_free(&choice->arena);
    free(choice);
}

int ocv_tag_choice_resolve(struct ocv_tag_choice *choice, const struct ocv_tag_source *source,
                           const struct ocv_profile *profile,
                           const struct ocv_resolve_options *options, struct ocv_decision **out,
                           struct ocv_error *err)
{
    enum ocv_tag_unread unread = OCV_TAG_UNREAD_HOPE;
    size_t asked = 0;
    bool open = false;
    for (size_t i = 0; i < choice->n; i++)
        open = open || choice->fixed[i].candidate.tag->n_asks;
    choice->stale = open; /* each host hopes for something else */
    /* each round reads one configuration more, so it ends */
    for (;;) {
        ocv_auto(ocv_decision) decision = NULL;
        bool stale = choice->stale;
        choice->stale = false;
        if (stale)
            OCV_TRY(make_index(choice, unread, profile, err));
        /* as far as the configurations that were read tell: a doubt counts only in the end */
        const struct ocv_index_doubt *doubts = choice->index->doubts;
        choice->index->doubts = NULL;
        int status = ocv_resolve(choice->index, profile, options, &decision, err);
        choice->index->doubts = doubts;
        if (status < 0)
            return status;
        const struct ocv_entry *winner = ocv_decision_selected(decision);
        /* the candidate whose configuration has to be read before its victory counts, or NULL */
        struct ocv_tag_fixed *f = winner ? fixed_in(choice, choice->index, winner) : NULL;
        bool asks = f && f->candidate.tag->n_asks, is_read = false;
        for (size_t i = 0; f && i < f->n_answered; i++)
            is_read = is_read || strcmp(f->answered[i].digest, winner->digest) == 0;
        if (f && (is_read || (winner->has_platform && (!asks || unread != OCV_TAG_UNREAD_HOPE))))
            f = NULL;
        if (!f && (!open || unread == OCV_TAG_UNREAD_OUT)) {
            OCV_TRY(ocv_index_check_doubt(choice->index, winner, err));
            *out = ocv_steal(&decision);
            return OCV_OK;
        }
        if (!f || (asks && asked == OCV_TAG_CONFIGS_MAX)) {
            unread = OCV_TAG_UNREAD_OUT; /* none of the rest would win, or may be asked */
        } else {
            char digest[OCV_DIGEST_MAX];
            snprintf(digest, sizeof(digest), "%s", winner->digest);
            OCV_TRY(ocv_tag_read_config(source, f, digest, err));
            asked += asks;
        }
        choice->stale = true;
        ocv_decision_free(decision); /* it borrows the index that is freed now */
        decision = NULL;
    }
}

const struct ocv_index *ocv_tag_choice_index(const struct ocv_tag_choice *choice)
{
    return choice->index;
}

struct ocv_index *ocv_tag_choice_take(struct ocv_tag_choice *choice)
{
    struct ocv_index *index = choice->index;
    choice->index = NULL;
    ocv_tag_choice_free(choice);
    return index;
}

const char *ocv_tag_choice_candidate(const struct ocv_tag_choice *choice, size_t i,
                                     const struct ocv_descriptor **descriptor)
{
    if (i >= choice->n)
        return NULL;
    *descriptor = &choice->fixed[i].candidate.descriptor;
    return ocv_tag_text(choice->fixed[i].candidate.tag);
}

const char *ocv_tag_choice_family(const struct ocv_tag_choice *choice)
{
    return ocv_tag_family(choice->fixed[0].candidate.tag);
}

const char *ocv_tag_choice_group(const struct ocv_tag_choice *choice)
{
    return ocv_tag_plan_name(choice->plan, 0);
}

const char *ocv_tag_choice_tag(const struct ocv_tag_choice *choice, const struct ocv_entry *entry,
                               const struct ocv_descriptor **descriptor)
{
    const struct ocv_tag_fixed *f = fixed_in(choice, choice->index, entry);
    if (f && descriptor)
        *descriptor = &f->candidate.descriptor;
    return f ? ocv_tag_text(f->candidate.tag) : NULL;
}
