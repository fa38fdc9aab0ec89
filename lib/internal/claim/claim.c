/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/internal/claim/claim_internal.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define VIEWS_MAX 16u /* architectures of an index */

/* An architecture, and what its nodes choose. */
struct view {
    struct ocv_platform platform;
    struct ocv_universe universe;
    size_t n_device; /* variants that a driver's device serves */
};

struct view_list {
    struct view list[VIEWS_MAX];
    size_t n;
    const struct view *main; /* the one with most variants for devices */
};

int ocv_claim_add_text(struct ocv_arena *arena, const char ***list, size_t *n, size_t *max,
                       const char *text, struct ocv_error *err)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp((*list)[i], text))
            return OCV_OK;
    if (*n == *max) {
        size_t more = *max ? *max * 2 : 4;
        const char **bigger = ocv_arena_alloc(arena, more, sizeof(*bigger));
        if (!bigger)
            return ocv_error_nomem(err);
        if (*n)
            memcpy(bigger, *list, *n * sizeof(*bigger));
        *list = bigger;
        *max = more;
    }
    const char *copy = ocv_arena_text(arena, text);
    if (!copy)
        return ocv_error_nomem(err);
    (*list)[(*n)++] = copy;
    return OCV_OK;
}

int ocv_claim_warn(struct ocv_claim_work *work, struct ocv_error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    struct ocv_claim *claim = work->claim;
    return ocv_claim_add_text(&claim->arena, &claim->warnings, &claim->n_warnings,
                              &work->max_warnings, text, err);
}

static int add_view(struct ocv_claim_work *work, const char *architecture,
                    const struct ocv_resolve_options *options, struct view_list *views,
                    struct ocv_error *err)
{
    struct view *view = &views->list[views->n];
    for (size_t i = 0; i < views->n; i++)
        if (!strcmp(views->list[i].platform.architecture, architecture))
            return OCV_OK;
    if (views->n == VIEWS_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "more than %u architectures", VIEWS_MAX);
    /* the platform variant that runs builds for every level of an architecture */
    static const char *const newest[][2] = {{"amd64", "v4"}, {"arm64", "v9.7"}, {"arm", "v8"}};
    *view = (struct view){.platform = {.os = "linux", .architecture = architecture}};
    for (size_t i = 0; i < sizeof(newest) / sizeof(*newest); i++)
        if (!strcmp(newest[i][0], architecture))
            view->platform.variant = newest[i][1];
    OCV_TRY(ocv_universe_make(work, &view->platform, options, &view->universe, err));
    views->n++;
    const struct ocv_entry *entry;
    for (size_t i = 0; (entry = ocv_decision_order(view->universe.decision, i)); i++) {
        const struct ocv_device_driver *driver = NULL;
        bool plain;
        if (entry->kind == OCV_ENTRY_VARIANT)
            OCV_TRY(ocv_claim_driver(work, entry, &driver, &plain, err));
        view->n_device += driver && driver->name;
    }
    return OCV_OK;
}

/* Variants of which one is enough. */
struct label_set {
    const char *const *list;
    size_t n;
};

static bool has_label(const struct label_set *sets, size_t n, const char *label)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sets[i].n; k++)
            if (!strcmp(sets[i].list[k], label))
                return true;
    return false;
}

static const struct ocv_entry *find_label(const struct view *view, const char *label)
{
    const struct ocv_entry *entry;
    for (size_t i = 0; (entry = ocv_decision_order(view->universe.decision, i)); i++)
        if (entry->label && !strcmp(entry->label, label))
            return entry;
    return NULL;
}

/* A label of `set` that an architecture lacks and ought to have: not one of several that differ in
 * what they ask of `main`'s processor. */
static const char *missing_label(const struct ocv_claim_work *work, const struct view *main,
                                 const struct view *view, const struct label_set *set)
{
    const char *missing = NULL;
    bool some = false;
    for (size_t i = 0; i < set->n; i++) {
        const char *label = set->list[i];
        if (find_label(view, label)) {
            some = true;
            continue;
        }
        const struct ocv_entry *entry = find_label(main, label);
        bool cpu = false;
        for (size_t k = 0; set->n > 1 && k < entry->n_properties; k++)
            cpu = cpu ||
                  ocv_vocabulary_is_cpu(ocv_index_property(work->index, entry->properties[k]).ns);
        if (!cpu)
            return label;
        missing = label;
    }
    return some ? NULL : missing;
}

/* The architectures that have all of the sets, or those with a build that needs no device. */
static int find_places(struct ocv_claim_work *work, const struct view_list *views,
                       const struct label_set *sets, size_t n_sets, struct ocv_claim_places *to,
                       struct ocv_error *err)
{
    for (size_t i = 0; i < views->n; i++) {
        const struct view *view = &views->list[i];
        const char *missing = NULL, *architecture = view->platform.architecture;
        const struct ocv_entry *entry;
        unsigned level = UINT_MAX; /* what all the builds that count need */
        for (size_t k = 0; (entry = ocv_decision_order(view->universe.decision, k)); k++) {
            const struct ocv_device_driver *driver = NULL;
            bool plain = true;
            if (entry->kind == OCV_ENTRY_VARIANT)
                OCV_TRY(ocv_claim_driver(work, entry, &driver, &plain, err));
            if (sets ? !driver || !has_label(sets, n_sets, entry->label) : !plain)
                continue;
            unsigned needs = ocv_claim_level(work, entry);
            level = needs < level ? needs : level;
        }
        if (level == UINT_MAX)
            continue;
        for (size_t k = 0; k < n_sets && !missing; k++)
            missing = missing_label(work, views->main, view, &sets[k]);
        if (missing) {
            OCV_TRY(ocv_claim_warn(work, err,
                                   "%s is left out: it has no %s; --platform linux/%s makes a "
                                   "claim of its own",
                                   architecture, missing, architecture));
            continue;
        }
        struct ocv_claim_place *list = (struct ocv_claim_place *)to->list;
        struct ocv_arena *arena = &work->claim->arena;
        if (!list)
            to->list = list = ocv_arena_alloc(arena, VIEWS_MAX, sizeof(*list));
        char *copy = ocv_arena_text(arena, architecture);
        char *label = level > 1 ? ocv_arena_printf(arena, OCV_LEVEL_LABEL "%u", level) : NULL;
        if (!list || !copy || (level > 1 && !label))
            return ocv_error_nomem(err);
        list[to->n++] = (struct ocv_claim_place){copy, label};
        /* The pods ask nodes for the level that every alternative needs. Where one needs more, its
         * devices can be on a node that takes a later one. */
        for (size_t s = 0; s < n_sets; s++) {
            unsigned lowest = UINT_MAX;
            for (size_t k = 0; k < sets[s].n; k++) {
                entry = find_label(view, sets[s].list[k]);
                unsigned needs = entry ? ocv_claim_level(work, entry) : UINT_MAX;
                lowest = needs < lowest ? needs : lowest;
            }
            if (lowest > level && lowest > 1 && lowest != UINT_MAX)
                OCV_TRY(ocv_claim_warn(work, err,
                                       "%s needs x86-64-v%u, which not all nodes of the pods "
                                       "have: there they take another build",
                                       sets[s].list[0], lowest));
        }
    }
    return OCV_OK;
}

/* In the order in which hosts choose. */
static int compare_choices(const void *a, const void *b)
{
    const struct ocv_claim_choice *x = a, *y = b;
    int order = ocv_key_compare(x->key, x->n_key, y->key, y->n_key);
    return order ? order : strcmp(x->entry->label, y->entry->label);
}

/* Variants for devices that no driver claims: one label of the nodes. */
static int make_nodes(struct ocv_claim_work *work, const struct view_list *views,
                      const struct ocv_device_driver *driver, struct ocv_claim_nodes *out,
                      struct ocv_error *err)
{
    const struct ocv_decision *decision = views->main->universe.decision;
    struct ocv_arena *arena = &work->claim->arena;
    const char **values = NULL, **labels = NULL;
    size_t n_values = 0, max_values = 0, n_labels = 0, max_labels = 0;
    const struct ocv_entry *entry;
    for (size_t i = 0; (entry = ocv_decision_order(decision, i)); i++) {
        const struct ocv_device_driver *needs = NULL;
        bool plain;
        if (entry->kind == OCV_ENTRY_VARIANT)
            OCV_TRY(ocv_claim_driver(work, entry, &needs, &plain, err));
        if (needs != driver)
            continue;
        size_t before = n_values;
        for (size_t k = 0; k < entry->n_properties; k++)
            for (const char *w = work->facts[entry->properties[k]].words; w && *w;) {
                size_t len = strcspn(w, " ");
                char *word = ocv_arena_copy(arena, w, len);
                OCV_TRY(word ? ocv_claim_add_text(arena, &values, &n_values, &max_values, word, err)
                             : ocv_error_nomem(err));
                w += len + strspn(w + len, " ");
            }
        if (n_values > before)
            OCV_TRY(ocv_claim_add_text(arena, &labels, &n_labels, &max_labels, entry->label, err));
    }
    *out = (struct ocv_claim_nodes){.label = driver->label,
                                    .values = values,
                                    .n_values = n_values,
                                    .labels = labels,
                                    .n_labels = n_labels};
    if (n_labels == 0)
        return OCV_OK;
    OCV_TRY(ocv_claim_warn(work, err,
                           "devices of %s have no public driver: nodes are selected by the label "
                           "%s, and no device is claimed",
                           driver->ns, driver->label));
    return find_places(work, views, &(struct label_set){labels, n_labels}, 1, &out->places, err);
}

static int make_claim(struct ocv_claim_work *work, const struct ocv_resolve_options *options,
                      struct view_list *views, struct ocv_error *err)
{
    struct ocv_claim *claim = work->claim;
    struct ocv_fact *facts = NULL;
    OCV_TRY(ocv_facts_make(&claim->arena, work->index, &facts, err));
    work->facts = facts;
    const char *only = options && options->platform ? options->platform->architecture : NULL;
    const struct ocv_entry *entry;
    if (only)
        OCV_TRY(add_view(work, only, options, views, err));
    for (size_t i = 0; !only && (entry = ocv_index_entry(work->index, i)); i++)
        if (entry->code == OCV_REJECT_NONE && entry->has_platform && entry->platform.os &&
            entry->platform.architecture && !strcmp(entry->platform.os, "linux"))
            OCV_TRY(add_view(work, entry->platform.architecture, options, views, err));
    if (views->n == 0)
        return OCV_OK;
    views->main = &views->list[0];
    for (size_t i = 1; i < views->n; i++)
        if (views->list[i].n_device > views->main->n_device)
            views->main = &views->list[i];

    /* alternatives of devices that a driver claims */
    const struct ocv_device_driver *driver;
    const struct ocv_decision *decision = views->main->universe.decision;
    ocv_auto_free struct ocv_claim_choice *all = calloc(OCV_CLAIM_CHOICES_MAX, sizeof(*all));
    struct ocv_claim_choices choices = {.list = all};
    if (!all)
        return ocv_error_nomem(err);
    for (size_t i = 0; (entry = ocv_decision_order(decision, i)); i++) {
        bool plain;
        driver = NULL;
        if (entry->kind == OCV_ENTRY_VARIANT)
            OCV_TRY(ocv_claim_driver(work, entry, &driver, &plain, err));
        if (driver && driver->name)
            OCV_TRY(ocv_claim_split(work, decision, entry, driver, &choices, err));
    }
    if (choices.n)
        qsort(choices.list, choices.n, sizeof(*choices.list), compare_choices);
    struct ocv_claim_groups groups = {0};
    OCV_TRY(ocv_claim_group(work, &choices, &groups, err));
    OCV_TRY(ocv_claim_name(work, &groups, err));
    struct label_set sets[OCV_CLAIM_ALTERNATIVES_MAX] = {{0}};
    for (size_t i = 0; i < groups.n; i++)
        sets[i] = (struct label_set){groups.list[i].labels, groups.list[i].n_labels};
    if (groups.n)
        OCV_TRY(find_places(work, views, sets, groups.n, &claim->places, err));

    /* nodes with devices that no driver claims */
    size_t n = 0;
    while (ocv_device_driver_at(n))
        n++;
    struct ocv_claim_nodes *list = ocv_arena_alloc(&claim->arena, n, sizeof(*list));
    if (!list)
        return ocv_error_nomem(err);
    claim->nodes = list;
    for (size_t i = 0; (driver = ocv_device_driver_at(i)); i++) {
        if (driver->name)
            continue;
        struct ocv_claim_nodes *to = &list[claim->n_nodes];
        OCV_TRY(make_nodes(work, views, driver, to, err));
        claim->n_nodes += to->n_labels > 0;
    }

    OCV_TRY(find_places(work, views, NULL, 0, &claim->plain_places, err));
    claim->plain = claim->plain_places.n > 0;
    return OCV_OK;
}

int ocv_claim_new(const struct ocv_index *index, const struct ocv_resolve_options *options,
                  struct ocv_claim **out, struct ocv_error *err)
{
    ocv_auto(ocv_claim) claim = calloc(1, sizeof(*claim));
    if (!claim)
        return ocv_error_nomem(err);
    struct ocv_claim_work work = {.claim = claim, .index = index};
    struct view_list views = {.n = 0};
    int status = make_claim(&work, options, &views, err);
    for (size_t i = 0; i < views.n; i++)
        ocv_universe_free(&views.list[i].universe);
    if (status < 0)
        return status;
    *out = ocv_steal(&claim);
    return OCV_OK;
}

void ocv_claim_free(struct ocv_claim *claim)
{
    if (!claim)
        return;
    ocv_arena_free(&claim->arena);
    free(claim);
}
