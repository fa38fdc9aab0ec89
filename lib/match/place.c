/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Entries for roles, nodes for members. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/match/match_internal.h"

#include <stdlib.h>
#include <string.h>

#define TRIALS_MAX 10000u /* combinations of the roles' candidates */

struct placement_search {
    const struct ocv_match *match;
    const struct ocv_match_request *request;
    struct ocv_match_role *all; /* of the policy common: every node of the list */
    struct room room;
    size_t pin;
    struct candidate *candidates[OCV_MATCH_ROLES_MAX];
    size_t n_candidates[OCV_MATCH_ROLES_MAX];
    size_t chosen[OCV_MATCH_ROLES_MAX]; /* among the candidates; SIZE_MAX: any of them */
    unsigned trials;
    struct ocv_placement *out;
};

void ocv_placement_free(struct ocv_placement *placement)
{
    if (!placement)
        return;
    free(placement->members);
    free(placement->lacks);
    free(placement);
}

static bool role_fits(const struct placement_search *s, size_t role, size_t class_place)
{
    size_t at = s->chosen[role];
    if (!ocv_role_takes(s->match, &s->request->roles[role], class_place))
        return false;
    if (at != SIZE_MAX && s->candidates[role])
        return class_runs(s->match, &s->room, class_place, s->candidates[role][at].entry);
    if (s->pin != SIZE_MAX)
        return class_runs(s->match, &s->room, class_place, s->pin);
    return ocv_decision_selected(s->match->decisions[class_place]) &&
           !ocv_match_undecided(s->match, class_place);
}

static unsigned count_takers(const struct placement_search *s, size_t class_place)
{
    unsigned mask = 0;
    for (size_t r = 0; r < s->request->n_roles; r++)
        mask |= role_fits(s, r, class_place) ? 1u << r : 0;
    return mask;
}

/* Is there room for all members? `*share`: whose, and which roles want it. */
static bool is_feasible(const struct placement_search *s, struct share *share)
{
    *share = (struct share){.n_roles = s->request->n_roles};
    for (size_t r = 0; r < share->n_roles; r++)
        share->want[r] = s->request->roles[r].count;
    for (size_t k = 0; k < s->match->n_classes; k++)
        if (s->room.of_class[k])
            share->room[count_takers(s, k)] += s->room.of_class[k];
    return ocv_share_suffices(share);
}

/* The first combination, by the order of the first role's candidates, then the second's. */
static bool choose_from(struct placement_search *s, size_t role)
{
    struct share share;
    if (role == s->request->n_roles)
        return true;
    for (size_t i = 0; i < s->n_candidates[role] && s->trials < TRIALS_MAX; i++) {
        if (s->candidates[role][i].room < s->request->roles[role].count)
            continue;
        s->chosen[role] = i;
        s->trials++;
        if (is_feasible(s, &share) && choose_from(s, role + 1))
            return true;
    }
    s->chosen[role] = SIZE_MAX;
    return false;
}

/* Give the node's free slots to the role, as far as the others can do without them. */
static int take_node(struct placement_search *s, size_t role, size_t node, struct share *share,
                     struct ocv_error *err)
{
    struct ocv_placement *p = s->out;
    size_t k = s->match->fleet->nodes[node].class_place;
    const struct ocv_entry *own = s->match->decisions[k]->candidates[0].entry;
    unsigned mask = count_takers(s, k);
    while (s->room.of_node[node] && share->want[role]) {
        share->room[mask]--;
        share->want[role]--;
        if (!ocv_share_suffices(share)) {
            share->room[mask]++;
            share->want[role]++;
            return OCV_OK;
        }
        s->room.of_node[node]--;
        s->room.of_class[k]--;
        struct ocv_member *member = ocv_array_grow(&p->members, p->n_members);
        if (!member)
            return ocv_error_nomem(err);
        *member = (struct ocv_member){.role = role, .node = node, .entry = own};
        if (p->entries[role])
            member->entry = p->entries[role];
        member->own = member->entry == own;
        p->pin_needed[role] = p->pin_needed[role] || !member->own;
        p->n_members++;
    }
    return OCV_OK;
}

static int take_nodes(struct placement_search *s, size_t role, struct share *share,
                      struct ocv_error *err)
{
    const struct ocv_fleet *fleet = s->match->fleet;
    ocv_auto_free size_t *preferences = calloc(s->match->n_classes + 1, sizeof(*preferences));
    const struct candidate *candidates = s->candidates[role];
    if (!preferences)
        return ocv_error_nomem(err);
    /* classes by how much the role wants their nodes, 0 first; SIZE_MAX: not at all. Under `best`
     * that is the place of the class's own choice among all choices. */
    for (size_t k = 0; k < s->match->n_classes; k++) {
        preferences[k] = SIZE_MAX;
        if (!s->room.of_class[k] || !role_fits(s, role, k))
            continue;
        size_t own = s->match->decisions[k]->candidates[0].entry->position, i = 0;
        size_t n = candidates ? s->n_candidates[role] : 0;
        while (i < n && candidates[i].entry != own)
            i++;
        if (candidates && s->chosen[role] != SIZE_MAX)
            preferences[k] = own == candidates[s->chosen[role]].entry ? 0 : 1;
        else if (i < n)
            preferences[k] = i;
    }
    for (size_t i = 0, end; i < fleet->n_nodes; i = end) {
        uint32_t weight = fleet->nodes[fleet->order[i]].weight;
        for (end = i + 1; end < fleet->n_nodes && fleet->nodes[fleet->order[end]].weight == weight;
             end++)
            ;
        /* of one weight those preferred first */
        for (size_t level = 0; share->want[role] && level != SIZE_MAX;) {
            size_t next = SIZE_MAX;
            for (size_t k = i; k < end && share->want[role]; k++) {
                size_t node = fleet->order[k], wish = preferences[fleet->nodes[node].class_place];
                if (wish == level)
                    OCV_TRY(take_node(s, role, node, share, err));
                else if (wish > level && wish < next)
                    next = wish;
            }
            level = next;
        }
    }
    return OCV_OK;
}

static int check_request(struct placement_search *s, struct ocv_error *err)
{
    const struct ocv_match_request *q = s->request;
    if (q->n_roles == 0 || q->n_roles > OCV_MATCH_ROLES_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "%zu roles: from 1 to %u", q->n_roles,
                             OCV_MATCH_ROLES_MAX);
    if (q->policy == OCV_MATCH_COMMON && (q->n_roles > 1 || !q->nodes || !q->n_nodes))
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "the policy common takes one role and the "
                             "nodes that the job has");
    for (size_t i = 0; i < q->n_roles; i++)
        if (q->policy != OCV_MATCH_COMMON && (!q->roles[i].count || q->roles[i].count > UINT32_MAX))
            return ocv_error_set(err, OCV_ERR_INVALID, "a role of %zu members", q->roles[i].count);
    if (!q->pin)
        return OCV_OK;
    if (q->policy == OCV_MATCH_BEST)
        return ocv_error_set(err, OCV_ERR_INVALID, "a pin is one entry, the policy best is any");
    const struct ocv_entry *pinned = ocv_index_find_digest(s->match->index, q->pin);
    if (!pinned)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "the index has no entry %.100s", q->pin);
    s->pin = pinned->position;
    return OCV_OK;
}

static int place_members(struct placement_search *s, struct ocv_error *err)
{
    OCV_TRY(check_request(s, err));
    const struct ocv_fleet *fleet = s->match->fleet;
    s->room.of_node = calloc(fleet->n_nodes + 1, sizeof(*s->room.of_node));
    s->room.of_class = calloc(s->match->n_classes + 1, sizeof(*s->room.of_class));
    if (!s->room.of_node || !s->room.of_class)
        return ocv_error_nomem(err);
    const char *const *listed = s->request->nodes;
    for (size_t i = 0; i < (listed ? s->request->n_nodes : fleet->n_nodes); i++) {
        size_t at = listed ? ocv_fleet_find(fleet, listed[i]) : i;
        if (at == fleet->n_nodes)
            return ocv_error_set(err, OCV_ERR_NOT_FOUND, "the fleet has no node '%.253s'",
                                 listed[i]);
        const struct fleet_node *node = &fleet->nodes[at];
        if (s->request->policy == OCV_MATCH_COMMON)
            s->room.of_node[at] = 1; /* the allocation owns the node, regardless of other jobs */
        else
            s->room.of_node[at] = node->excluded ? 0 : node->slots;
    }
    for (size_t i = 0; i < fleet->n_nodes; i++)
        s->room.of_class[fleet->nodes[i].class_place] += s->room.of_node[i];

    for (size_t k = 0; s->all && k < s->match->n_classes; k++)
        s->all->count += (size_t)s->room.of_class[k];
    for (size_t r = 0; r < s->request->n_roles; r++) {
        s->candidates[r] = calloc(s->match->n_entries + 1, sizeof(**s->candidates));
        if (!s->candidates[r])
            return ocv_error_nomem(err);
        OCV_TRY(ocv_candidates(s->match, &s->request->roles[r], &s->room, s->pin, s->candidates[r],
                               &s->n_candidates[r], err));
        s->chosen[r] = SIZE_MAX;
    }
    struct share share;
    if ((s->request->policy == OCV_MATCH_BEST || choose_from(s, 0)) && is_feasible(s, &share)) {
        for (size_t r = 0; r < s->request->n_roles; r++)
            if (s->candidates[r] && s->chosen[r] != SIZE_MAX)
                s->out->entries[r] =
                    &s->match->index->entries[s->candidates[r][s->chosen[r]].entry];
        for (size_t r = 0; r < s->request->n_roles; r++)
            OCV_TRY(take_nodes(s, r, &share, err));
        s->out->found = true;
        return OCV_OK;
    }
    if (s->trials == TRIALS_MAX)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED,
                             "too many combinations of entries: name fewer roles");
    for (size_t r = 0; r < s->request->n_roles; r++) {
        bool alone = false;
        uint64_t any = 0;
        for (size_t i = 0; i < s->n_candidates[r] && s->request->policy != OCV_MATCH_BEST; i++)
            alone = alone || s->candidates[r][i].room >= s->request->roles[r].count;
        for (size_t k = 0; k < s->match->n_classes; k++)
            any += role_fits(s, r, k) ? s->room.of_class[k] : 0;
        if (!alone && (s->request->policy != OCV_MATCH_BEST || any < s->request->roles[r].count))
            OCV_TRY(ocv_placement_explain(s->out, r, &s->request->roles[r], &s->room, s->pin, err));
    }
    if (s->out->n_lacks)
        return OCV_OK;
    s->out->lacks = calloc(1, sizeof(*s->out->lacks)); /* one by one, not together */
    s->out->n_lacks = s->out->lacks != NULL;
    return s->out->lacks ? OCV_OK : ocv_error_nomem(err);
}

int ocv_match_place(const struct ocv_match *match, const struct ocv_match_request *request,
                    struct ocv_placement **out, struct ocv_error *err)
{
    struct ocv_match_request q = *request;
    struct ocv_match_role all = {0};
    bool common = q.policy == OCV_MATCH_COMMON && q.n_roles < 2;
    if (common && q.n_roles)
        all = (struct ocv_match_role){.name = q.roles->name, .architecture = q.roles->architecture};
    if (common) {
        q.roles = &all;
        q.n_roles = 1;
    }
    ocv_auto(ocv_placement) placement = calloc(1, sizeof(*placement));
    if (!placement)
        return ocv_error_nomem(err);
    placement->match = match;
    placement->n_roles = q.n_roles;
    struct placement_search s = {.match = match,
                                 .request = &q,
                                 .all = common ? &all : NULL,
                                 .room.unpinned = q.policy == OCV_MATCH_UNPINNED,
                                 .pin = SIZE_MAX,
                                 .out = placement};
    int status = place_members(&s, err);
    for (size_t r = 0; r < OCV_MATCH_ROLES_MAX; r++)
        free(s.candidates[r]);
    free(s.room.of_node);
    free(s.room.of_class);
    if (status == OCV_OK)
        *out = ocv_steal(&placement);
    return status;
}

bool ocv_placement_found(const struct ocv_placement *placement)
{
    return placement->found;
}

size_t ocv_placement_count(const struct ocv_placement *placement)
{
    return placement->n_members;
}

struct ocv_member ocv_placement_member(const struct ocv_placement *placement, size_t i)
{
    return placement->members[i];
}

const struct ocv_entry *ocv_placement_entry(const struct ocv_placement *placement, size_t role)
{
    return placement->entries[role];
}

bool ocv_placement_pin_needed(const struct ocv_placement *placement, size_t role)
{
    return placement->pin_needed[role];
}

size_t ocv_placement_lack_count(const struct ocv_placement *placement)
{
    return placement->n_lacks;
}

struct ocv_lack ocv_placement_lack(const struct ocv_placement *placement, size_t i)
{
    return placement->lacks[i];
}

/* Hall: the members of any set of roles have room on the nodes that any of the set could take. */
bool ocv_share_suffices(const struct share *share)
{
    unsigned all = 1u << share->n_roles;
    for (unsigned set = 1; set < all; set++) {
        uint64_t want = 0, room = 0;
        for (size_t r = 0; r < share->n_roles; r++)
            want += set >> r & 1 ? share->want[r] : 0;
        for (unsigned m = 1; m < all && room < want; m++)
            room += m & set ? share->room[m] : 0;
        if (room < want)
            return false;
    }
    return true;
}
