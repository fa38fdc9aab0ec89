/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Sets of tags: which tags join, which of several that say the same is taken, and their labels. */
#include "lib/base/cleanup.h"
#include "lib/internal/tags/plan/plan.h"

#include "lib/base/arena.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why a tag joins no set; NULL where it may. */
const char *ocv_tag_unfit(struct ocv_arena *arena, const struct ocv_tag *tag)
{
    if (!tag->family)
        return "no rule knows this repository";
    if (tag->refused && !tag->open && tag->by_default && tag->n_unknown)
        return ocv_arena_printf(arena, "%s, and '%s' is not known", tag->refused, tag->unknown[0]);
    if (tag->refused && !tag->open)
        return tag->refused;
    if (tag->n_unknown)
        return ocv_arena_printf(arena, "unknown part '%s'", tag->unknown[0]);
    if (tag->n_ambiguous)
        return ocv_arena_printf(arena, "ambiguous: %s", tag->ambiguous[0]);
    return NULL;
}

/* What the template leaves open must be absent, or the family must say which value is preferred:
 * "86-1.9-grpc" is not a member of "1.9". */
bool ocv_tag_joins(const struct ocv_tag *tag, const char *format)
{
    const struct ocv_tag_family *f = tag->family;
    for (size_t i = 0; i < tag->n_groups; i++) {
        bool known = !tag->groups[i].in_tag || ocv_tag_group_in(format, tag->groups[i].key);
        for (size_t k = 0; k < f->n_prefers && !known; k++)
            known = strcmp(f->prefers[k].key, tag->groups[i].key) == 0;
        if (!known)
            return false;
    }
    return true;
}

/* The tag, or what its parts make of it, in a label's characters; a long or doubtful one keeps its
 * start and gets a hash. */
static int make_label(const struct ocv_tag *tag, bool plain, char out[OCV_TAG_LABEL_MAX + 1],
                      struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX] = "";
    size_t room = OCV_TAG_LABEL_MAX - (tag->base ? strlen(OCV_TAG_BASE_SUFFIX) : 0);
    size_t n = 0, most = plain ? room : room - 9;
    bool whole = true;
    for (const char *p = tag->label ? tag->label : tag->tag; *p; p++) {
        char c = (char)tolower((unsigned char)*p);
        bool word = isalnum((unsigned char)c);
        if (!word && (n == 0 || !isalnum((unsigned char)out[n - 1])))
            continue;
        if (n == most) {
            whole = false;
            break;
        }
        out[n++] = word || c == '.' ? c : '_';
    }
    while (n > 0 && !isalnum((unsigned char)out[n - 1]))
        n--;
    out[n] = '\0';
    if (plain && whole && n > 0 && strcmp(out, "null") != 0)
        return OCV_OK;
    if (plain)
        return make_label(tag, false, out, err);
    OCV_TRY(ocv_digest_bytes(tag->tag, strlen(tag->tag), digest, err));
    snprintf(out + n, OCV_TAG_LABEL_MAX + 1 - n, "%s%.8s", n ? "_" : "", strchr(digest, ':') + 1);
    return OCV_OK;
}

int ocv_tag_set_add(struct ocv_tag_plan *plan, const char *name, const char *format,
                    struct ocv_tag *tag, struct ocv_error *err)
{
    struct ocv_tag_set *set = NULL;
    for (size_t i = 0; i < plan->n_sets && !set; i++)
        if (strcmp(plan->sets[i].name, name) == 0)
            set = &plan->sets[i];
    if (set && strcmp(set->format, format) != 0)
        return OCV_OK; /* two templates make the same name: the first one of the rule counts */
    if (!set) {
        set = ocv_array_grow(&plan->sets, plan->n_sets);
        if (!set || !(set->name = ocv_arena_text(&plan->arena, name)))
            return ocv_error_nomem(err);
        set->format = format;
        plan->n_sets++;
    }
    ocv_auto_buffer text; /* what a host can tell apart */
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX + 2 * OCV_TAG_TEXT_MAX);
    int status = ocv_buffer_printf(&text, NULL, "%s|", tag->platform ? tag->platform : "");
    for (size_t i = 0; i < tag->n_asks && status == OCV_OK; i++)
        status = ocv_buffer_printf(&text, NULL, "%.64s?%.64s ", tag->asks[i], tag->asked_by[i]);
    if (status == OCV_OK)
        status = ocv_properties_format(tag->properties, &text, NULL);
    struct ocv_tag_member *member = ocv_array_grow(&set->members, set->n);
    if (!member || status < 0 ||
        !(member->identity = ocv_arena_copy(&plan->arena, text.data, text.len)))
        return ocv_error_nomem(err);
    member->tag = tag;
    set->n++;
    tag->candidate = true;
    return OCV_OK;
}

/* Below 0: `a` is preferred. */
static int compare_preference(const struct ocv_tag *a, const struct ocv_tag *b)
{
    const struct ocv_tag_family *f = a->family;
    for (size_t i = 0; i < f->n_prefers; i++) {
        const struct ocv_tag_prefer *p = &f->prefers[i];
        const char *va = ocv_tag_group_value(a, p->key), *vb = ocv_tag_group_value(b, p->key);
        int order = 0;
        if (p->shortest) {
            size_t na = strlen(a->tag), nb = strlen(b->tag);
            order = na < nb ? -1 : na > nb ? 1 : 0;
        } else if (p->direction) {
            order = va && vb ? ocv_tag_version_compare(vb, va) * p->direction
                             : (va ? 1 : 0) - (vb ? 1 : 0);
        } else {
            size_t ia = 0, ib = 0;
            while (ia < p->n && strcmp(p->values[ia], va ? va : "") != 0)
                ia++;
            while (ib < p->n && strcmp(p->values[ib], vb ? vb : "") != 0)
                ib++;
            order = ia < ib ? -1 : ia > ib ? 1 : 0;
        }
        if (order != 0)
            return order;
    }
    return 0;
}

static int by_identity(const void *a, const void *b)
{
    const struct ocv_tag_member *x = a, *y = b;
    int order = strcmp(x->identity, y->identity);
    if (order == 0)
        order = compare_preference(x->tag, y->tag);
    return order ? order : strcmp(x->tag->tag, y->tag->tag);
}

/* Is the tag itself what the set is called? */
static bool is_name(const struct ocv_tag_set *set, const struct ocv_tag_member *m)
{
    char text[OCV_TAG_TEXT_MAX];
    const char *name = ocv_tag_group_name(m->tag, text);
    return name && strcmp(name, set->name) == 0;
}

/* Keep one tag for each identity. The tag that is the set's own name needs no preference: it was
 * asked for by name. */
static int settle_set(struct ocv_tag_plan *plan, struct ocv_tag_set *set, struct ocv_error *err)
{
    size_t kept = 0;
    qsort(set->members, set->n, sizeof(*set->members), by_identity);
    for (size_t i = 0, next; i < set->n; i = next) {
        const struct ocv_tag_member *best = &set->members[i];
        bool named = is_name(set, best);
        size_t tied = 1;
        for (next = i + 1;
             next < set->n && strcmp(set->members[next].identity, best->identity) == 0; next++)
            if (!named && (named = is_name(set, &set->members[next])))
                best = &set->members[next];
        while (!named && i + tied < next &&
               compare_preference(best->tag, set->members[i + tied].tag) == 0)
            tied++;
        if (tied == 1) {
            for (size_t k = i; k < next; k++)
                if (&set->members[k] != best)
                    set->members[k].tag->better = best->tag;
            set->members[kept++] = *best;
            continue;
        }
        /* several that say the same, none of which is preferred */
        for (size_t k = i; k < next; k++)
            set->members[k].tag->placed = true;
        char **text = ocv_array_grow(&set->doubts, set->n_doubts);
        struct ocv_tag_doubt *doubt = ocv_array_grow(&set->doubtful, set->n_doubts);
        if (!text || !doubt)
            return ocv_error_nomem(err);
        *text = ocv_arena_printf(&plan->arena, "%s and %s say the same", best[0].tag->tag,
                                 best[1].tag->tag);
        *doubt = (struct ocv_tag_doubt){.member = *best, .n = tied};
        doubt->names = ocv_arena_alloc(&plan->arena, tied, sizeof(*doubt->names));
        for (size_t k = 0; doubt->names && k < tied; k++) {
            const char *tag = best[k].tag->tag;
            if (!(doubt->names[k] = ocv_arena_text(&plan->arena, tag)))
                return ocv_error_nomem(err);
        }
        set->n_doubts++;
        if (!*text || !doubt->names)
            return ocv_error_nomem(err);
    }
    set->n = kept;
    return OCV_OK;
}

/* One label on two platforms is one build, if it says the same. */
static bool same_build(const struct ocv_tag *a, const struct ocv_tag *b)
{
    bool same = a->label && !a->n_asks && !b->n_asks &&
                ocv_properties_count(a->properties) == ocv_properties_count(b->properties);
    for (size_t i = 0; same && i < ocv_properties_count(a->properties); i++) {
        struct ocv_property p = ocv_properties_get(a->properties, i);
        struct ocv_property q = ocv_properties_get(b->properties, i);
        same = !strcmp(p.ns, q.ns) && !strcmp(p.feature, q.feature) && !strcmp(p.value, q.value);
    }
    return same;
}

/* A doubt is labelled like a member, after all of them. */
static struct ocv_tag_member *nth_member(const struct ocv_tag_set *set, size_t i)
{
    return i < set->n ? &set->members[i] : &set->doubtful[i - set->n].member;
}

static int label_members(const struct ocv_tag_set *set, struct ocv_error *err)
{
    for (size_t i = 0; i < set->n + set->n_doubts; i++) {
        struct ocv_tag_member *m = nth_member(set, i);
        if (ocv_properties_count(m->tag->properties) == 0 && !m->tag->open) {
            memcpy(m->label, "null", 5);
            continue;
        }
        OCV_TRY(make_label(m->tag, true, m->label, err));
        for (size_t k = 0; k < i; k++)
            if (strcmp(nth_member(set, k)->label, m->label) == 0 &&
                !same_build(nth_member(set, k)->tag, m->tag))
                OCV_TRY(make_label(m->tag, false, m->label, err));
    }
    return OCV_OK;
}

/* Is there anything to choose? Not among members that say nothing and leave the same open, as the
 * images of a build for several platforms do. */
static bool has_variants(const struct ocv_tag_set *set)
{
    const char *first = set->n ? strchr(set->members[0].identity, '|') : NULL;
    size_t with = 0;
    bool alike = true;
    for (size_t i = 0; i < set->n; i++) {
        const struct ocv_tag_member *m = &set->members[i];
        bool says = ocv_properties_count(m->tag->properties) > 0;
        with += says || m->tag->open;
        alike = alike && m->tag->open && !says && !strcmp(strchr(m->identity, '|'), first);
    }
    return (with > 0 && set->n > 1 && !alike) || set->n_doubts > 0;
}

void ocv_tag_set_clear(struct ocv_tag_set *set)
{
    free(set->members);
    free(set->doubts);
    free(set->doubtful);
}

int ocv_tag_sets_settle(struct ocv_tag_plan *plan, struct ocv_error *err)
{
    size_t kept = 0;
    int status = OCV_OK;
    for (size_t i = 0; i < plan->n_sets; i++) {
        struct ocv_tag_set *set = &plan->sets[i];
        if (status == OCV_OK)
            status = settle_set(plan, set, err);
        if (status == OCV_OK && has_variants(set)) {
            status = label_members(set, err);
            for (size_t k = 0; k < set->n; k++)
                set->members[k].tag->placed = true;
            plan->sets[kept++] = *set;
        } else {
            ocv_tag_set_clear(set);
        }
    }
    plan->n_sets = kept;
    return status;
}
