/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What an image needs, as alternatives of features.
 *
 * An entry is checked on every kind of nodes. Where it fits, one value of each of its features is
 * the best that the kind has: these values are an alternative. Where other kinds have them, too,
 * but cannot run the entry (another architecture), features are added that tell the kinds apart. An
 * alternative whose nodes an earlier one has already is left out: Slurm tries that first. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/internal/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#define ALTERNATIVES_MAX 65536u
#define COMBINATION_MAX 512u /* features of an alternative */

struct constraint_build {
    const struct ocv_slurm_nodes *nodes;
    const struct ocv_index *index;
    const struct ocv_match *match;
    struct ocv_slurm_how *how;
    struct ocv_error *err;
    struct ocv_arena arena;
    uint32_t *id_of; /* of the index's properties; UINT32_MAX: no node has it */
    size_t *order;   /* by entry: its place among all */
    uint64_t **runs; /* by entry: a bit for each kind that it fits */
    const struct ocv_candidate ***places; /* by entry and kind: place in the order */
    size_t words, n_kinds;
    struct slurm_alternative *list;
    size_t n;
};

static bool has_bit(const uint64_t *set, size_t i)
{
    return set[i / 64] >> (i % 64) & 1;
}

static void set_bit(uint64_t *set, size_t i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

/* The best values that the kind has of what the entry names. Returns how many, SIZE_MAX: a feature
 * has none. */
static size_t best_values(const struct constraint_build *m, const struct ocv_entry *entry,
                          const struct slurm_kind *kind, uint32_t *out)
{
    size_t n = 0, best = SIZE_MAX;
    for (size_t i = 0; i < entry->n_properties; i++) {
        const struct ocv_property *p = &m->index->properties[entry->properties[i]];
        const struct ocv_property *next =
            i + 1 < entry->n_properties ? &m->index->properties[entry->properties[i + 1]] : NULL;
        uint32_t id = m->id_of[entry->properties[i]];
        bool own = false; /* the index itself says what a host has of it */
        for (size_t k = 0; k < m->index->n_statics; k++)
            own = own || !strcmp(m->index->statics[k].name, p->ns);
        if (own)
            continue;
        size_t place = SIZE_MAX; /* of the feature; the kind lacks it */
        for (size_t k = 0; id != UINT32_MAX && slurm_has(kind, id) && k < kind->n_features; k++)
            if (kind->features[k] == id && place == SIZE_MAX)
                place = k;
        if (place < best) {
            best = place;
            out[n] = id;
        }
        if (next && next->ns == p->ns && next->feature == p->feature)
            continue;
        if (best == SIZE_MAX || ++n == COMBINATION_MAX)
            return SIZE_MAX;
        best = SIZE_MAX;
    }
    return n;
}

/* Features that only kinds of nodes have which run the entry. Returns their number, SIZE_MAX if
 * there are none. */
static size_t separate_kinds(const struct constraint_build *m, const struct ocv_entry *entry,
                             const struct slurm_kind *kind, uint32_t *features, size_t n,
                             uint64_t *covers)
{
    const uint64_t *runs = m->runs[entry->position];
    for (;;) {
        bool wrong = false; /* they cover kinds that do not run it */
        memset(covers, 0, m->words * sizeof(*covers));
        for (size_t k = 0; k < m->n_kinds; k++) {
            size_t i = 0;
            while (i < n && slurm_has(&m->nodes->kinds[k], features[i]))
                i++;
            if (i == n)
                set_bit(covers, k);
        }
        for (size_t w = 0; w < m->words; w++)
            wrong = wrong || (covers[w] & ~runs[w]);
        if (n > 0 && !wrong)
            return n;
        /* The feature that best separates kinds that can run the entry from those that cannot: it
         * keeps most of the former, then excludes most of the latter. It need not exclude one where
         * none is wrong. */
        size_t found = SIZE_MAX, most_kept = 0, most_shut = 0;
        for (size_t i = 0; i < kind->n_features; i++) {
            size_t kept = 0, shut = 0;
            for (size_t k = 0; k < m->n_kinds; k++) {
                bool has = slurm_has(&m->nodes->kinds[k], kind->features[i]);
                kept += has_bit(covers, k) && has_bit(runs, k) && has;
                shut += has_bit(covers, k) && !has_bit(runs, k) && !has;
            }
            if ((shut || !wrong) && (kept > most_kept || (kept == most_kept && shut > most_shut))) {
                found = i;
                most_kept = kept;
                most_shut = shut;
            }
        }
        if (found == SIZE_MAX || n == COMBINATION_MAX)
            return SIZE_MAX;
        features[n++] = kind->features[found];
    }
}

static int add_alternative(struct constraint_build *m, const struct ocv_entry *entry, size_t k)
{
    uint32_t features[COMBINATION_MAX + 1];
    const struct slurm_kind *kind = &m->nodes->kinds[k];
    const struct ocv_candidate *place = m->places[entry->position][k];
    size_t n = best_values(m, entry, kind, features), n_values = n;
    struct slurm_alternative *a = NULL;
    for (size_t i = 0; i < m->n && !a; i++) /* n_values is never SIZE_MAX */
        if (m->list[i].entry == entry && m->list[i].n_values == n &&
            has_bit(m->list[i].covers, k) &&
            !memcmp(m->list[i].features, features, n * sizeof(*features)))
            a = &m->list[i];
    if (a) { /* of the same values that the kind has */
        a->place = ocv_match_compare_places(place, a->place) < 0 ? place : a->place;
        return OCV_OK;
    }
    uint64_t *covers = ocv_arena_alloc(&m->arena, m->words, sizeof(*covers));
    if (!covers)
        return ocv_error_nomem(m->err);
    if (n != SIZE_MAX)
        n = separate_kinds(m, entry, kind, features, n, covers);
    if (n == SIZE_MAX) {
        m->how->left_out++;
        return OCV_OK;
    }
    if (m->n == ALTERNATIVES_MAX)
        return ocv_error_set(m->err, OCV_ERR_DATA, "more than %u alternatives", ALTERNATIVES_MAX);
    a = ocv_array_grow(&m->list, m->n);
    uint32_t *copy = ocv_arena_alloc(&m->arena, n, sizeof(*copy));
    if (!a || !copy)
        return ocv_error_nomem(m->err);
    memcpy(copy, features, n * sizeof(*copy));
    *a = (struct slurm_alternative){.entry = entry,
                                    .features = copy,
                                    .n_features = n,
                                    .n_values = n_values,
                                    .place = place,
                                    .order = m->order[entry->position],
                                    .covers = covers};
    m->n++;
    for (size_t i = 0; i < m->n_kinds; i++)
        a->n_covers += has_bit(covers, i);
    ocv_auto_buffer text;
    char brief[OCV_SLURM_SHORT_MAX];
    ocv_buffer_init(&text, (size_t)COMBINATION_MAX * 1024);
    for (size_t i = 0; i < a->n_features; i++) {
        const char *feature = m->nodes->features[a->features[i]];
        if (m->how->use_short)
            OCV_TRY(ocv_slurm_short(feature, brief, m->err));
        OCV_TRY(ocv_buffer_printf(&text, m->err, "%s%s", i ? "&" : "",
                                  m->how->use_short ? brief : feature));
    }
    a->text = ocv_arena_copy((struct ocv_arena *)&m->arena, text.data, text.len);
    return a->text ? OCV_OK : ocv_error_nomem(m->err);
}

static int compare_alternatives(const void *pa, const void *pb)
{
    const struct slurm_alternative *a = pa, *b = pb;
    if (a->order != b->order) /* what nodes that run both prefer, and the index's own order */
        return a->order < b->order ? -1 : 1;
    int order = ocv_match_compare_places(a->place, b->place);
    if (order)
        return order;
    if (a->n_covers != b->n_covers)
        return a->n_covers > b->n_covers ? -1 : 1;
    if (a->entry != b->entry && a->entry->label && b->entry->label &&
        strcmp(a->entry->label, b->entry->label) != 0)
        return strcmp(a->entry->label, b->entry->label);
    if (a->entry->position != b->entry->position)
        return a->entry->position < b->entry->position ? -1 : 1;
    return strcmp(a->text, b->text);
}

static int put_constraint(const struct constraint_build *m, struct ocv_buffer *out)
{
    size_t before = out->len;
    if (m->n == 0)
        return ocv_error_set(m->err, OCV_ERR_NO_MATCH, "no entry fits the features of any node");
    if (m->n > OCV_SLURM_ALTERNATIVES_MAX) {
        ocv_error_set(m->err, OCV_ERR_DATA, "%zu alternatives, Slurm takes %u", m->n,
                      OCV_SLURM_ALTERNATIVES_MAX);
        ocv_error_hint(m->err, "--require or --disable leave out entries");
        return OCV_ERR_DATA;
    }
    if (m->n == 1)
        OCV_TRY(ocv_buffer_printf(out, m->err, "%s", m->list->text));
    /* in 22.05 a single feature behind a parenthesis is never satisfied; twice it is */
    for (size_t i = 0; m->n > 1 && i < m->n; i++)
        OCV_TRY(ocv_buffer_printf(out, m->err, "%s(%s%s%s)%s", i ? "|" : "[", m->list[i].text,
                                  m->list[i].n_features == 1 ? "&" : "",
                                  m->list[i].n_features == 1 ? m->list[i].text : "",
                                  i + 1 < m->n ? "" : "]"));
    if (out->len - before <= OCV_SLURM_CONSTRAINT_MAX)
        return OCV_OK;
    ocv_error_set(m->err, OCV_ERR_DATA, "the constraint has %zu bytes, Slurm takes %u",
                  out->len - before, OCV_SLURM_CONSTRAINT_MAX);
    if (!m->how->use_short)
        ocv_error_hint(m->err, "--short, where nodes have the features of "
                               "`variantctl export slurm --short`");
    out->len = before;
    return OCV_ERR_DATA;
}

static int make_constraint(struct constraint_build *m, struct ocv_buffer *out)
{
    for (size_t k = 0; m->how->use_short && k < m->n_kinds; k++)
        if (!m->nodes->kinds[k].has_short)
            return ocv_error_set(m->err, OCV_ERR_DATA, "not all nodes have short features");
    char text[1024];
    m->id_of = ocv_arena_alloc(&m->arena, m->index->n_properties + 1, sizeof(*m->id_of));
    if (!m->id_of)
        return ocv_error_nomem(m->err);
    for (size_t i = 0; i < m->index->n_properties; i++) {
        const struct ocv_property *p = &m->index->properties[i];
        snprintf(text, sizeof(text), "%s::%s::%s", p->ns, p->feature, p->value);
        m->id_of[i] = (uint32_t)ocv_names_find(&m->nodes->by_name, m->nodes, text);
    }
    size_t n = m->index->n_entries;
    m->order = ocv_arena_alloc(&m->arena, n + 1, sizeof(*m->order));
    if (!m->order)
        return ocv_error_nomem(m->err);
    OCV_TRY(ocv_match_order(m->match, m->order, m->err));
    m->runs = ocv_arena_alloc(&m->arena, n + 1, sizeof(*m->runs));
    m->places = ocv_arena_alloc(&m->arena, n + 1, sizeof(*m->places));
    if (!m->runs || !m->places)
        return ocv_error_nomem(m->err);
    for (size_t e = 0; e < n; e++) {
        m->runs[e] = ocv_arena_alloc(&m->arena, m->words, sizeof(uint64_t));
        m->places[e] = ocv_arena_alloc(&m->arena, m->n_kinds + 1, sizeof(**m->places));
        if (!m->runs[e] || !m->places[e])
            return ocv_error_nomem(m->err);
    }
    for (size_t k = 0; k < m->n_kinds; k++) {
        const struct ocv_decision *d = ocv_match_decision(m->match, k);
        for (size_t i = 0; i < d->n_candidates && !ocv_match_undecided(m->match, k); i++) {
            size_t e = d->candidates[i].entry->position;
            set_bit(m->runs[e], k);
            m->places[e][k] = &d->candidates[i];
        }
    }

    for (size_t e = 0; e < n; e++)
        for (size_t k = 0; k < m->n_kinds; k++)
            if (has_bit(m->runs[e], k))
                OCV_TRY(add_alternative(m, &m->index->entries[e], k));
    if (m->n)
        qsort(m->list, m->n, sizeof(*m->list), compare_alternatives);
    size_t kept = 0;
    for (size_t i = 0; i < m->n; i++) {
        bool covered = false; /* has an earlier one all its nodes? */
        for (size_t k = 0; k < kept && !covered; k++) {
            size_t w = 0;
            while (w < m->words && !(m->list[i].covers[w] & ~m->list[k].covers[w]))
                w++;
            covered = w == m->words;
        }
        if (!covered)
            m->list[kept++] = m->list[i];
    }
    m->n = kept;
    OCV_TRY(put_constraint(m, out));
    for (size_t i = 0; m->how->visit && i < m->n; i++)
        m->how->visit(m->how->data, m->list[i].entry, m->list[i].text);
    return OCV_OK;
}

int ocv_slurm_constraint(const struct ocv_slurm_nodes *nodes, const struct ocv_index *index,
                         struct ocv_slurm_how *how, struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_match) match = NULL;
    struct constraint_build m = {.nodes = nodes, .index = index, .how = how, .err = err};
    m.n_kinds = ocv_slurm_nodes_count(nodes);
    m.words = m.n_kinds / 64 + 1;
    how->left_out = 0;
    int status = ocv_match_new(nodes->fleet, index, how->options, &match, err);
    m.match = match;
    if (status == OCV_OK)
        status = make_constraint(&m, out);
    free(m.list);
    ocv_arena_free(&m.arena);
    return status;
}
