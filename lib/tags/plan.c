/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which tags of a repository stand for one name, and under which labels. Tags that say the same
 * count once, by the family's `prefer`; where that does not decide, none of them is taken and the
 * plan says so. */
#include "tags.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    const struct ocv_tag *tag;
    char *identity; /* platform and properties: what a host can tell apart */
    char label[OCV_TAG_LABEL_MAX + 1];
};

struct set {
    char *name;
    const char *format; /* the group_tags entry that makes the name */
    struct member *members;
    size_t n;
    char **doubts; /* why some tags are not among them */
    size_t n_doubts;
};

struct left_out {
    const struct ocv_tag *tag;
    const char *reason;
};

struct ocv_tag_plan {
    struct ocv_arena arena;
    struct ocv_tag **tags;
    size_t n_tags;
    struct set *sets;
    size_t n_sets;
    struct left_out *out;
    size_t n_out;
};

/* ---- one tag ------------------------------------------------------------------------------------
 */

/* Why a tag joins no set; NULL where it may. */
static const char *unfit(struct ocv_arena *arena, const struct ocv_tag *tag)
{
    if (!tag->family)
        return "no rule knows this repository";
    if (tag->refused)
        return tag->refused;
    if (tag->n_unknown)
        return ocv_arena_printf(arena, "unknown part '%s'", tag->unknown[0]);
    if (tag->n_ambiguous)
        return ocv_arena_printf(arena, "ambiguous: %s", tag->ambiguous[0]);
    return NULL;
}

bool ocv_tag_names_group(const struct ocv_tag *tag)
{
    char text[OCV_TAG_TEXT_MAX];
    return ocv_tag_group_name(tag, text) != NULL;
}

/* What the template leaves open must be absent, or the family must say which value is preferred:
 * "86-1.9-grpc" is no member of "1.9". */
static bool joins(const struct ocv_tag *tag, const char *format)
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

static char *identity_of(struct ocv_arena *arena, const struct ocv_tag *tag)
{
    struct ocv_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX + OCV_TAG_TEXT_MAX);
    char *copy = NULL;
    if (ocv_buffer_printf(&text, NULL, "%s|", tag->platform ? tag->platform : "") == OCV_OK &&
        ocv_properties_format(tag->properties, &text, NULL) == OCV_OK)
        copy = ocv_arena_copy(arena, text.data, text.len);
    ocv_buffer_free(&text);
    return copy;
}

/* The tag in a label's characters; a long or doubtful one keeps its start and gets a hash. */
static void make_label(const struct ocv_tag *tag, bool plain, char out[OCV_TAG_LABEL_MAX + 1])
{
    char digest[OCV_DIGEST_MAX] = "";
    size_t n = 0, most = plain ? OCV_TAG_LABEL_MAX : OCV_TAG_LABEL_MAX - 9;
    bool whole = true;
    for (const char *p = tag->tag; *p; p++) {
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
        return;
    if (plain) {
        make_label(tag, false, out);
        return;
    }
    if (ocv_digest_bytes(tag->tag, strlen(tag->tag), digest, NULL) == OCV_OK)
        snprintf(out + n, OCV_TAG_LABEL_MAX + 1 - n, "%s%.8s", n ? "_" : "",
                 strchr(digest, ':') + 1);
}

/* ---- sets ---------------------------------------------------------------------------------------
 */

static struct set *set_of(struct ocv_tag_plan *plan, const char *name, const char *format)
{
    for (size_t i = 0; i < plan->n_sets; i++)
        if (strcmp(plan->sets[i].name, name) == 0)
            return strcmp(plan->sets[i].format, format) == 0 ? &plan->sets[i] : NULL;
    struct set *list = realloc(plan->sets, (plan->n_sets + 1) * sizeof(*list));
    if (!list)
        return NULL;
    plan->sets = list;
    list[plan->n_sets] =
        (struct set){.name = ocv_arena_copy(&plan->arena, name, strlen(name)), .format = format};
    return list[plan->n_sets].name ? &list[plan->n_sets++] : NULL;
}

static int add_member(struct ocv_tag_plan *plan, const char *name, const char *format,
                      const struct ocv_tag *tag, struct ocv_error *err)
{
    struct set *set = set_of(plan, name, format);
    if (!set) /* two templates make the same name: the first one of the rule counts */
        return OCV_OK;
    struct member *list = realloc(set->members, (set->n + 1) * sizeof(*list));
    if (!list)
        return ocv_error_nomem(err);
    set->members = list;
    list[set->n] = (struct member){.tag = tag, .identity = identity_of(&plan->arena, tag)};
    if (!list[set->n].identity)
        return ocv_error_nomem(err);
    set->n++;
    return OCV_OK;
}

static int leave_out(struct ocv_tag_plan *plan, const struct ocv_tag *tag, const char *reason,
                     struct ocv_error *err)
{
    struct left_out *list = realloc(plan->out, (plan->n_out + 1) * sizeof(*list));
    if (!list)
        return ocv_error_nomem(err);
    plan->out = list;
    list[plan->n_out++] = (struct left_out){tag, reason};
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

static int doubt(struct ocv_tag_plan *plan, struct set *set, const struct ocv_tag *a,
                 const struct ocv_tag *b, struct ocv_error *err)
{
    char **list = realloc(set->doubts, (set->n_doubts + 1) * sizeof(*list));
    if (!list)
        return ocv_error_nomem(err);
    set->doubts = list;
    list[set->n_doubts] = ocv_arena_printf(&plan->arena, "%s and %s say the same", a->tag, b->tag);
    if (!list[set->n_doubts])
        return ocv_error_nomem(err);
    set->n_doubts++;
    return OCV_OK;
}

static int by_identity(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->identity, y->identity);
    if (order == 0)
        order = compare_preference(x->tag, y->tag);
    return order ? order : strcmp(x->tag->tag, y->tag->tag);
}

/* Is the tag itself what the set is called? */
static bool is_name(const struct set *set, const struct member *m)
{
    char text[OCV_TAG_TEXT_MAX];
    const char *name = ocv_tag_group_name(m->tag, text);
    return name && strcmp(name, set->name) == 0;
}

/* Keep one tag for each identity. The tag that is the set's own name needs no preference: it was
 * asked for by name. */
static int settle(struct ocv_tag_plan *plan, struct set *set, struct ocv_error *err)
{
    size_t kept = 0;
    int status = OCV_OK;
    qsort(set->members, set->n, sizeof(*set->members), by_identity);
    for (size_t i = 0, next; status == OCV_OK && i < set->n; i = next) {
        const struct member *best = &set->members[i];
        bool named = is_name(set, best), tie = false;
        for (next = i + 1;
             next < set->n && strcmp(set->members[next].identity, best->identity) == 0; next++)
            if (!named && (named = is_name(set, &set->members[next])))
                best = &set->members[next];
        if (next > i + 1 && !named)
            tie = compare_preference(best->tag, set->members[i + 1].tag) == 0;
        if (tie)
            status = doubt(plan, set, best->tag, set->members[i + 1].tag, err);
        else
            set->members[kept++] = *best;
    }
    set->n = kept;
    return status;
}

static void label_members(struct set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        struct member *m = &set->members[i];
        if (ocv_properties_count(m->tag->properties) == 0) {
            memcpy(m->label, "null", 5);
            continue;
        }
        make_label(m->tag, true, m->label);
        for (size_t k = 0; k < i; k++)
            if (strcmp(set->members[k].label, m->label) == 0)
                make_label(m->tag, false, m->label);
    }
}

/* Is there anything to choose? */
static bool has_variants(const struct set *set)
{
    size_t with = 0;
    for (size_t i = 0; i < set->n; i++)
        with += ocv_properties_count(set->members[i].tag->properties) > 0;
    return (with > 0 && set->n > 1) || set->n_doubts > 0;
}

static void set_clear(struct set *set)
{
    free(set->members);
    free(set->doubts);
}

static int settle_all(struct ocv_tag_plan *plan, struct ocv_error *err)
{
    size_t kept = 0;
    int status = OCV_OK;
    for (size_t i = 0; i < plan->n_sets; i++) {
        struct set *set = &plan->sets[i];
        if (status == OCV_OK)
            status = settle(plan, set, err);
        if (status == OCV_OK && has_variants(set)) {
            label_members(set);
            plan->sets[kept++] = *set;
        } else {
            set_clear(set);
        }
    }
    plan->n_sets = kept;
    return status;
}

/* ---- the plan -----------------------------------------------------------------------------------
 */

static int add_tag(struct ocv_tag_plan *plan, const struct ocv_tag *tag, const char *wanted,
                   struct ocv_error *err)
{
    char name[OCV_TAG_TEXT_MAX];
    const char *reason = unfit(&plan->arena, tag);
    int status = OCV_OK;
    bool any = false;
    if (reason)
        return leave_out(plan, tag, reason, err);
    for (size_t i = 0; status == OCV_OK && i < tag->family->n_group_tags; i++) {
        const char *format = tag->family->group_tags[i];
        if (!ocv_tag_group_format(tag, format, name) || !joins(tag, format))
            continue;
        any = true;
        if (!wanted || strcmp(wanted, name) == 0)
            status = add_member(plan, name, format, tag, err);
    }
    if (status == OCV_OK && !any)
        status = leave_out(plan, tag, "the rule names no group for it", err);
    return status;
}

/* "1.9-py312" and "1.9-py3.12" want the same set. */
static int name_wanted(struct ocv_tag_plan *plan, const struct ocv_tag_rules *rules,
                       const struct ocv_reference *reference, const char **wanted,
                       struct ocv_error *err)
{
    char text[OCV_TAG_TEXT_MAX];
    ocv_auto(ocv_tag) tag = NULL;
    if (!*wanted)
        return OCV_OK;
    int status = ocv_tag_parse(rules, reference, *wanted, &tag, err);
    const char *name = status == OCV_OK ? ocv_tag_group_name(tag, text) : NULL;
    if (name && !(*wanted = ocv_arena_copy(&plan->arena, name, strlen(name))))
        return ocv_error_nomem(err);
    return status;
}

int ocv_tag_plan_new(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                     const char *wanted, const char *const *tags, size_t n,
                     struct ocv_tag_plan **out, struct ocv_error *err)
{
    struct ocv_tag_plan *plan = calloc(1, sizeof(*plan));
    if (plan)
        plan->tags = calloc(n + 1, sizeof(*plan->tags));
    if (!plan || !plan->tags) {
        free(plan);
        return ocv_error_nomem(err);
    }
    int status = name_wanted(plan, rules, reference, &wanted, err);
    for (size_t i = 0; status == OCV_OK && i < n; i++) {
        status = ocv_tag_parse(rules, reference, tags[i], &plan->tags[plan->n_tags], err);
        if (status == OCV_OK)
            status = add_tag(plan, plan->tags[plan->n_tags++], wanted, err);
    }
    if (status == OCV_OK)
        status = settle_all(plan, err);
    if (status < 0) {
        ocv_tag_plan_free(plan);
        return status;
    }
    *out = plan;
    return OCV_OK;
}

void ocv_tag_plan_free(struct ocv_tag_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_sets; i++)
        set_clear(&plan->sets[i]);
    for (size_t i = 0; i < plan->n_tags; i++)
        ocv_tag_free(plan->tags[i]);
    free(plan->sets);
    free(plan->tags);
    free(plan->out);
    ocv_arena_free(&plan->arena);
    free(plan);
}

size_t ocv_tag_plan_sets(const struct ocv_tag_plan *plan)
{
    return plan->n_sets;
}

const char *ocv_tag_plan_name(const struct ocv_tag_plan *plan, size_t set)
{
    return plan->sets[set].name;
}

size_t ocv_tag_plan_members(const struct ocv_tag_plan *plan, size_t set)
{
    return plan->sets[set].n;
}

const struct ocv_tag *ocv_tag_plan_member(const struct ocv_tag_plan *plan, size_t set, size_t i,
                                          const char **label)
{
    const struct member *m = &plan->sets[set].members[i];
    if (label)
        *label = m->label;
    return m->tag;
}

size_t ocv_tag_plan_doubts(const struct ocv_tag_plan *plan, size_t set, const char *const **out)
{
    if (out)
        *out = (const char *const *)plan->sets[set].doubts;
    return plan->sets[set].n_doubts;
}

size_t ocv_tag_plan_left_out(const struct ocv_tag_plan *plan)
{
    return plan->n_out;
}

const struct ocv_tag *ocv_tag_plan_left(const struct ocv_tag_plan *plan, size_t i,
                                        const char **reason)
{
    *reason = plan->out[i].reason;
    return plan->out[i].tag;
}
