/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The meaning of a reference by its family's rules. The tag is read from left to right: the first
 * item that matches up to a separator takes its part, and what no item takes is unknown up to the
 * next separator. Nothing is guessed: a thing said twice is ambiguous. */
#include "lib/base/cleanup.h"
#include "lib/core/core_internal.h"
#include "lib/internal/tags/tags_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OCV_TAG_REFERENCE_MAX (64u * 1024) /* bytes; callers hand over texts of any length */

struct parser {
    struct ocv_tag *tag;
    const struct ocv_tag_family *family;
    struct ocv_buffer properties; /* comma-separated */
    struct ocv_tag_assumption assumptions[OCV_TAG_ASSUMPTIONS_MAX];
    size_t n_assumptions;
    const char *said_by[OCV_TAG_ITEMS_MAX]; /* by kind */
    bool in_tag;                            /* what is read now */
    bool nomem;                             /* a pattern could not be tried */
    const struct ocv_tag_answers *answers;  /* or NULL: its configuration was not read */
    struct ocv_error *err;
};

static int remember_text(struct parser *p, const char ***list, size_t *n, const char *text)
{
    /* as many as a tag can have parts */
    if (!*list)
        *list = ocv_arena_alloc(&p->tag->arena, OCV_TAG_TEXT_MAX, sizeof(**list));
    const char *copy = ocv_arena_text(&p->tag->arena, text);
    if (!*list || !copy)
        return ocv_error_nomem(p->err);
    if (*n < OCV_TAG_TEXT_MAX)
        (*list)[(*n)++] = copy;
    return OCV_OK;
}

static int fail_ambiguous(struct parser *p, const char *format, ...) OCV_PRINTF(2, 3);
static int fail_ambiguous(struct parser *p, const char *format, ...)
{
    char text[OCV_TAG_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return remember_text(p, &p->tag->ambiguous, &p->tag->n_ambiguous, text);
}

static size_t kind_index(const struct ocv_tag_family *f, const char *kind)
{
    size_t i = 0;
    while (i < f->n_kinds && strcmp(f->kinds[i], kind) != 0)
        i++;
    return i;
}

static bool kind_said(const struct parser *p, const char *kind)
{
    size_t i = kind_index(p->family, kind);
    return i < p->family->n_kinds && p->said_by[i];
}

/* Does the configuration say it instead? */
static bool is_answered(const struct parser *p, const char *property)
{
    for (size_t i = 0; p->answers && i < p->answers->n; i++)
        if (strncmp(property, p->answers->list[i].feature, strlen(p->answers->list[i].feature)) ==
            0)
            return true;
    return false;
}

static int add_properties(struct parser *p, const struct ocv_tag_pair *gives, size_t n,
                          const char *text, const regmatch_t *captures)
{
    char filled[OCV_TAG_TEXT_MAX];
    for (size_t i = 0; i < n; i++) {
        if (is_answered(p, gives[i].text))
            continue;
        ocv_auto(ocv_properties) one = NULL;
        int status = ocv_tag_template(gives[i].text, text, captures, true, filled);
        if (status == OCV_OK)
            status = ocv_properties_parse(filled, strlen(filled), &one, NULL);
        if (status == OCV_ERR_NOMEM)
            return ocv_error_nomem(p->err);
        if (status < 0 || ocv_properties_count(one) != 1)
            return fail_ambiguous(p, "%s is not a property", gives[i].text);
        OCV_TRY(ocv_buffer_printf(&p->properties, p->err, "%s%s", p->properties.len ? ", " : "",
                                  filled));
    }
    return OCV_OK;
}

/* Those beyond the limit are dropped: no tag has as many. */
static void assume_pairs(struct parser *p, const struct ocv_tag_pair *list, size_t n)
{
    if (n && p->n_assumptions < OCV_TAG_ASSUMPTIONS_MAX)
        p->assumptions[p->n_assumptions++] = (struct ocv_tag_assumption){list, n};
}

static int add_groups(struct parser *p, const struct ocv_tag_pair *groups, size_t n,
                      const char *text, const regmatch_t *captures)
{
    struct ocv_tag *tag = p->tag;
    char filled[OCV_TAG_TEXT_MAX];
    for (size_t i = 0; i < n; i++) {
        if (ocv_tag_template(groups[i].text, text, captures, false, filled) != OCV_OK || !*filled)
            continue;
        const char *key = groups[i].key, *old = ocv_tag_group_value(tag, key);
        if (old && strcmp(old, filled) != 0)
            OCV_TRY(fail_ambiguous(p, "%s is %s and %s", key, old, filled));
        if (old)
            continue;
        if (!tag->groups)
            tag->groups = ocv_arena_alloc(&tag->arena, OCV_TAG_ITEMS_MAX, sizeof(*tag->groups));
        const char *copy = ocv_arena_text(&tag->arena, filled);
        if (!tag->groups || !copy)
            return ocv_error_nomem(p->err);
        size_t at = tag->n_groups;
        if (at == OCV_TAG_ITEMS_MAX)
            continue;
        for (; at > 0 && strcmp(tag->groups[at - 1].key, key) > 0; at--)
            tag->groups[at] = tag->groups[at - 1];
        tag->groups[at] = (struct ocv_tag_group){key, copy, p->in_tag};
        tag->n_groups++;
    }
    return OCV_OK;
}

/* What the part leaves to the image's configuration, which was read or will be. Is it said there?
 */
static bool ask_config(struct parser *p, const char *of, const char *part)
{
    struct ocv_tag *tag = p->tag;
    for (size_t i = 0; of && p->answers && i < p->answers->n; i++)
        if (strcmp(p->answers->list[i].of, of) == 0)
            return true;
    bool known = !of || p->answers;
    for (size_t i = 0; i < tag->n_asks && !known; i++)
        known = strcmp(tag->asks[i], of) == 0;
    if (!known && tag->n_asks < OCV_TAG_ASKS_MAX) {
        const char *copy = ocv_arena_text(&tag->arena, part);
        p->nomem = p->nomem || !copy;
        tag->asked_by[tag->n_asks] = copy ? copy : "";
        tag->asks[tag->n_asks++] = of;
    }
    return false;
}

/* The first reason counts; the tag stays open while all of them may be lifted. */
static void refuse_tag(struct parser *p, const char *reason, const char *config)
{
    struct ocv_tag *tag = p->tag;
    bool may = config && !p->answers;
    if (!tag->refused || (tag->open && !may))
        tag->refused = reason;
    else
        may = may && tag->open;
    tag->open = may;
}

static int set_platform(struct parser *p, const char *platform)
{
    struct ocv_tag *tag = p->tag;
    if (platform && tag->platform && strcmp(tag->platform, platform) != 0)
        return fail_ambiguous(p, "%s after %s", platform, tag->platform);
    if (platform)
        tag->platform = platform;
    return OCV_OK;
}

static int take_item(struct parser *p, const struct ocv_tag_item *item, const char *text,
                     const regmatch_t *captures)
{
    struct ocv_tag *tag = p->tag;
    char part[OCV_TAG_TEXT_MAX], label[OCV_TAG_TEXT_MAX];
    if (ocv_tag_template("\\0", text, captures, false, part) < 0)
        return ocv_error_set(p->err, OCV_ERR_DATA, "%s: too long", tag->reference);
    const char **by = item->kind ? &p->said_by[kind_index(p->family, item->kind)] : NULL;
    if (by && *by && !item->repeat && strcmp(*by, part) != 0)
        OCV_TRY(fail_ambiguous(p, "%s after %s", part, *by));
    else if (by && !(*by = ocv_arena_text(&tag->arena, part)))
        return ocv_error_nomem(p->err);
    bool said = ask_config(p, item->config, part), answered = false;
    OCV_TRY(add_properties(p, item->gives, item->n_gives, text, captures));
    for (size_t i = 0; i < item->n_gives; i++)
        answered = answered || is_answered(p, item->gives[i].text);
    if (!answered)
        assume_pairs(p, item->assumes, item->n_assumes);
    OCV_TRY(add_groups(p, item->groups, item->n_groups, text, captures));
    /* "cuda12.8", and with a second part "cuda12.8_py312" */
    if (item->label && ocv_tag_template(item->label, text, captures, true, label) == OCV_OK &&
        *label) {
        tag->label = ocv_arena_printf(&tag->arena, "%s%s%s", tag->label ? tag->label : "",
                                      tag->label ? "_" : "", label);
        if (!tag->label)
            return ocv_error_nomem(p->err);
    }
    if (item->ignore)
        OCV_TRY(remember_text(p, &tag->ignored, &tag->n_ignored, part));
    if (p->in_tag && (!item->n_groups || item->n_gives || item->ignore || item->platform))
        tag->plain = false;
    if (item->refuse && !said)
        refuse_tag(p, item->refuse, item->config);
    return set_platform(p, item->platform);
}

static int parse_tag(struct parser *p, const char *text)
{
    const struct ocv_tag_family *f = p->family;
    regmatch_t captures[OCV_TAG_CAPTURES];
    bool first = true, end = false;
    p->in_tag = p->tag->plain = true;
    while (!end) {
        size_t i = 0;
        while (i < f->n_items && ((f->items[i].first && !first) ||
                                  !ocv_tag_match(&f->items[i].regex, text, captures, &p->nomem)))
            i++;
        size_t len;
        if (i < f->n_items) {
            len = (size_t)captures[1].rm_eo;
            OCV_TRY(take_item(p, &f->items[i], text, captures));
        } else {
            char part[OCV_TAG_TEXT_MAX];
            len = strcspn(text, f->separators);
            snprintf(part, sizeof(part), "%.*s", (int)len, text);
            OCV_TRY(remember_text(p, &p->tag->unknown, &p->tag->n_unknown, part));
        }
        end = text[len] == '\0';
        text += len + (end ? 0 : 1);
        first = false;
    }
    p->in_tag = false;
    return OCV_OK;
}

bool ocv_tag_where_holds(const struct ocv_tag *tag, const struct ocv_tag_where *where, bool *nomem)
{
    regmatch_t captures[OCV_TAG_CAPTURES];
    for (size_t i = 0; i < where->n; i++) {
        const char *value = ocv_tag_group_value(tag, where->list[i].key);
        if (!value || !ocv_tag_match(&where->regexes[i], value, captures, nomem))
            return false;
    }
    return true;
}

static bool default_applies(struct parser *p, const struct ocv_tag_default *d)
{
    for (size_t i = 0; i < d->n_missing; i++)
        if (kind_said(p, d->missing[i]))
            return false;
    if (d->said && !kind_said(p, d->said))
        return false;
    return ocv_tag_where_holds(p->tag, &d->where, &p->nomem);
}

/* Of the defaults that ask for the same kinds, the first that applies is used. */
static int parse_defaults(struct parser *p)
{
    const struct ocv_tag_family *f = p->family;
    regmatch_t none[OCV_TAG_CAPTURES];
    for (size_t i = 0; i < OCV_TAG_CAPTURES; i++)
        none[i] = (regmatch_t){-1, -1};
    for (size_t i = 0; i < f->n_defaults; i++) {
        const struct ocv_tag_default *d = &f->defaults[i];
        bool done = false;
        for (size_t k = 0; k < i && !done; k++) {
            const struct ocv_tag_default *earlier = &f->defaults[k];
            bool same = earlier->n_missing == d->n_missing;
            for (size_t m = 0; same && m < d->n_missing; m++)
                same = strcmp(earlier->missing[m], d->missing[m]) == 0;
            done = same && default_applies(p, earlier);
        }
        if (done || !default_applies(p, d))
            continue;
        /* a part that is not understood may be the one that is missed */
        if (!d->n_missing || !p->tag->n_unknown) {
            OCV_TRY(add_properties(p, d->gives, d->n_gives, "", none));
            assume_pairs(p, d->assumes, d->n_assumes);
        }
        OCV_TRY(add_groups(p, d->groups, d->n_groups, "", none));
        if (!p->tag->platform)
            OCV_TRY(set_platform(p, d->platform));
        bool said = ask_config(p, d->config, "");
        if (d->refuse && !said) {
            p->tag->by_default = !p->tag->refused || p->tag->by_default;
            refuse_tag(p, d->refuse, d->config);
        }
    }
    return OCV_OK;
}

static int parse_text(struct parser *p, const char *text)
{
    struct ocv_tag *tag = p->tag;
    if (p->family) {
        regmatch_t captures[OCV_TAG_CAPTURES];
        for (size_t i = 0; i < p->family->n_repositories; i++) {
            const struct ocv_tag_item *item = &p->family->repositories[i];
            bool known = item->compiled
                             ? ocv_tag_match(&item->regex, tag->repository, captures, &p->nomem)
                             : ocv_tag_glob(item->match, tag->repository);
            if (known && item->compiled)
                OCV_TRY(take_item(p, item, tag->repository, captures));
            if (known)
                break;
        }
        OCV_TRY(parse_tag(p, text));
        if (p->properties.len) {
            tag->words = ocv_arena_copy(&tag->arena, p->properties.data, p->properties.len);
            p->nomem = p->nomem || !tag->words;
        }
        /* what the configuration says, as if a part said it; but the tag's own name stays */
        const struct ocv_tag_answers *answers = p->answers;
        p->answers = NULL; /* these are not to be left out */
        for (size_t i = 0; answers && i < answers->n; i++) {
            const struct ocv_tag_answer_part *a = &answers->list[i];
            size_t kind = a->item->kind ? kind_index(p->family, a->item->kind) : p->family->n_kinds;
            if (kind < p->family->n_kinds)
                p->said_by[kind] = a->text;
            OCV_TRY(add_properties(p, a->item->gives, a->item->n_gives, a->text, a->captures));
            assume_pairs(p, a->item->assumes, a->item->n_assumes);
        }
        p->answers = answers;
        OCV_TRY(parse_defaults(p));
        const char *none = NULL;
        size_t before = p->properties.len;
        OCV_TRY(ocv_tag_assume(p->assumptions, p->n_assumptions, &p->properties, &none, p->err));
        if (p->properties.len > before) {
            const char *added = p->properties.data + before;
            added += strspn(added, ", ");
            tag->assumed = ocv_arena_text(&tag->arena, added);
            p->nomem = p->nomem || !tag->assumed;
        }
        if (none)
            OCV_TRY(
                fail_ambiguous(p, "of what is assumed, '%s' and others exclude each other", none));
    }
    if (p->nomem)
        return ocv_error_nomem(p->err);
    bool doubt = tag->n_ambiguous > 0; /* of two things said, neither is taken */
    return ocv_properties_parse(doubt || !p->properties.len ? "" : p->properties.data,
                                doubt ? 0 : p->properties.len, &tag->said, p->err);
}

int ocv_tag_read(const struct ocv_tag_family *family, const char *repository, const char *reference,
                 const char *text, const struct ocv_tag_answers *answers, struct ocv_tag **out,
                 struct ocv_error *err)
{
    ocv_auto(ocv_tag) tag = calloc(1, sizeof(*tag));
    if (!tag)
        return ocv_error_nomem(err);
    struct parser p = {.tag = tag, .family = family, .answers = answers, .err = err};
    ocv_buffer_init(&p.properties, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    tag->family = family;
    tag->repository = ocv_arena_text(&tag->arena, repository);
    tag->reference = ocv_arena_text(&tag->arena, reference);
    tag->tag = ocv_arena_text(&tag->arena, text);
    int status =
        tag->repository && tag->reference && tag->tag ? parse_text(&p, text) : ocv_error_nomem(err);
    ocv_buffer_free(&p.properties);
    if (status < 0)
        return status;
    OCV_TRY(ocv_tag_claims(tag, NULL, NULL, &tag->properties, &tag->base, err));
    *out = ocv_steal(&tag);
    return OCV_OK;
}

int ocv_tag_parse(const struct ocv_tag_rules *rules, const struct ocv_reference *reference,
                  const char *text, struct ocv_tag **out, struct ocv_error *err)
{
    char known[OCV_TAG_TEXT_MAX];
    bool nomem = false;
    ocv_auto_buffer full;
    ocv_buffer_init(&full, OCV_TAG_REFERENCE_MAX);
    if (!text)
        text = reference->tag ? reference->tag : "latest";
    const char *name = ocv_tag_rules_name(rules, reference, known);
    const struct ocv_tag_family *family = ocv_tag_rules_find(rules, name, &nomem);
    if (nomem)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_buffer_printf(&full, err, "%s:%s", reference->name, text));
    return ocv_tag_read(family, name, full.data, text, NULL, out, err);
}

void ocv_tag_free(struct ocv_tag *tag)
{
    if (!tag)
        return;
    ocv_properties_free(tag->said);
    ocv_properties_free(tag->properties);
    ocv_properties_free(tag->base);
    ocv_arena_free(&tag->arena);
    free(tag);
}
