/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fleets for tests, and placements as text. */
#ifndef FLEET_UTIL_H
#define FLEET_UTIL_H

#include "lib/match/match_internal.h"
#include "test/unit/core_util.h"

struct dice {
    uint64_t state;
};

UNUSED static unsigned roll(struct dice *r, unsigned n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(r->state >> 33) % n;
}

UNUSED static struct ocv_fleet *new_fleet(void)
{
    struct ocv_error err = {0};
    struct ocv_fleet *fleet = NULL;
    ck_assert_int_eq(ocv_fleet_new(&fleet, &err), OCV_OK);
    return fleet;
}

/* A few kinds of hosts, so that many are alike; some with devices that differ. */
UNUSED static json_t *random_profile(struct dice *r)
{
    static const char *const arch[] = {"[s,s]", "[s]"};
    json_t *list = json_array(), *features = json_array();
    const char *best = roll(r, 2) ? "a2" : "a1";
    json_t *values = json_pack(arch[roll(r, 2)], best, "a0");
    if (json_array_size(values) == 0) { /* "[s]" with two arguments */
        json_decref(values);
        values = json_pack("[s]", best);
    }
    json_array_append_new(features, json_pack("{s:s, s:O}", "name", "arch", "values", values));
    if (roll(r, 2))
        json_array_append_new(features, json_pack("{s:s, s:[s,s]}", "name", "rt", "values",
                                                  roll(r, 2) ? "2" : "3", "1"));
    json_t *ns = json_pack("{s:s, s:o}", "namespace", "accel", "features", features);
    if (roll(r, 3) == 0) {
        json_t *device = json_pack("{s:s, s:[{s:s, s:[s]}]}", "id", "d1", "features", "name",
                                   "arch", "values", roll(r, 2) ? "a0" : "a1");
        json_t *other = json_pack("{s:s, s:[{s:s, s:O}]}", "id", "d0", "features", "name", "arch",
                                  "values", values);
        json_object_set_new(ns, "devices", json_pack("[o, o]", other, device));
    }
    json_decref(values);
    if (roll(r, 6))
        json_array_append_new(list, ns);
    else
        json_decref(ns);
    json_array_append_new(list,
                          json_pack("{s:s, s:[{s:s, s:[s]}]}", "namespace", "x86_64", "features",
                                    "name", "level", "values", roll(r, 2) ? "v3" : "v2"));
    return json_pack("{s:i, s:{s:s, s:s}, s:o}", "generated", (int)roll(r, 1000), "platform", "os",
                     "linux", "architecture", roll(r, 5) ? "amd64" : "arm64", "namespaces", list);
}

UNUSED static struct ocv_index *random_index(struct dice *r)
{
    json_t *index = index_json("accel, x86_64");
    unsigned n = 2 + roll(r, 6);
    if (roll(r, 2))
        add_entry(index, "linux/amd64", NULL, NULL);
    for (unsigned i = 0; i < n; i++) {
        char label[16], properties[256];
        snprintf(label, sizeof(label), "v%u", i);
        snprintf(properties, sizeof(properties), "accel :: arch :: a%u%s%s", roll(r, 3),
                 roll(r, 2) ? ", accel :: rt :: 2" : "",
                 roll(r, 3) ? "" : ", x86_64 :: level :: v3");
        add_entry(index, roll(r, 4) ? "linux/amd64" : "linux/arm64", label, properties);
    }
    return index_from(index);
}

/* NAME1 to NAMEn; without `archs` they have no accelerator. */
UNUSED static void add_nodes(struct ocv_fleet *fleet, const char *name, unsigned n,
                             const char *architecture, const char *archs, const char *runtimes)
{
    struct ocv_error err = {0};
    char *rt = quoted(",{'name':'rt','values':[%s]}", runtimes ? runtimes : "");
    char *ns = quoted("{'namespace':'accel','features':[{'name':'arch','values':[%s]}%s]}",
                      archs ? archs : "", runtimes ? rt : "");
    char *text = quoted("{'platform':{'os':'linux','architecture':'%s'},'namespaces':[%s]}",
                        architecture, archs ? ns : "");
    ocv_auto(ocv_profile) profile = parse_profile(text);
    for (unsigned i = 1; i <= n; i++) {
        char full[32];
        snprintf(full, sizeof(full), "%s%u", name, i);
        struct ocv_node node = {.name = full, .slots = 1};
        ck_assert_msg(ocv_fleet_add(fleet, &node, profile, &err) == OCV_OK, "%s", err.message);
    }
    free(rt);
    free(ns);
    free(text);
}

struct asked {
    enum ocv_match_policy policy;
    struct ocv_match_role roles[4];
    size_t n_roles;
    const char *nodes, *pin;
};

static char fleet_text[8192];
static size_t fleet_text_len;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n =
        vsnprintf(fleet_text + fleet_text_len, sizeof(fleet_text) - fleet_text_len, format, args);
    va_end(args);
    ck_assert_int_ge(n, 0);
    fleet_text_len += (size_t)n;
    ck_assert_uint_lt(fleet_text_len, sizeof(fleet_text));
}

static void tell_entry(const struct ocv_entry *e)
{
    if (e->label)
        tell("%s", e->label);
    else
        tell("#%zu", e->position);
}

static void tell_members(const struct ocv_fleet *fleet, const struct ocv_placement *p)
{
    size_t role = SIZE_MAX;
    for (size_t i = 0; i < ocv_placement_count(p); i++) {
        struct ocv_member m = ocv_placement_member(p, i);
        const struct ocv_entry *e = ocv_placement_entry(p, m.role);
        if (m.role != role && e) {
            tell("%s", i ? " | " : "");
            tell_entry(e);
            tell("%s:", ocv_placement_pin_needed(p, m.role) ? "(pin)" : "");
        }
        role = m.role;
        tell("%s%s%s", fleet_text_len ? " " : "", ocv_fleet_node(fleet, m.node, NULL).name,
             m.own ? "" : "*");
        if (!e) {
            tell("=");
            tell_entry(m.entry);
        }
    }
}

static void tell_lacks(const struct ocv_placement *p)
{
    tell("none");
    for (size_t i = 0; i < ocv_placement_lack_count(p); i++) {
        struct ocv_lack l = ocv_placement_lack(p, i);
        tell("; ");
        if (!l.entry) {
            tell("together");
            continue;
        }
        tell_entry(l.entry);
        tell(" %zu+%zu %zu %s%s%s%s%s", l.room, l.missing, l.cost,
             l.cost ? ocv_reject_name(l.code) : "none", l.ns ? " " : "", l.ns ? l.ns : "",
             l.ns ? " :: " : "", l.ns ? l.feature : "");
    }
}

/* "ENTRY(pin): NODE NODE* | ...": * would choose another; "NODE=ENTRY ..." under best; "none; ENTRY
 * ROOM+MISSING COST REASON; ..." Static memory. */
UNUSED static const char *ask_match(const struct ocv_fleet *fleet, const struct ocv_match *match,
                                    const struct asked *asked)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_placement) p = NULL;
    const char *nodes[64];
    char *copy = strdup(asked->nodes ? asked->nodes : ""), *rest = copy, *name;
    size_t n = 0;
    while ((name = strsep(&rest, " ")) != NULL)
        nodes[n++] = name;
    struct ocv_match_request q = {.policy = asked->policy,
                                  .roles = asked->roles,
                                  .n_roles = asked->n_roles,
                                  .nodes = asked->nodes ? nodes : NULL,
                                  .n_nodes = asked->nodes ? n : 0,
                                  .pin = asked->pin};
    fleet_text_len = 0;
    fleet_text[0] = '\0';
    int status = ocv_match_place(match, &q, &p, &err);
    if (status < 0)
        tell("error %d: %s", status, err.message);
    else if (ocv_placement_found(p))
        tell_members(fleet, p);
    else
        tell_lacks(p);
    free(copy);
    return fleet_text;
}

UNUSED static const char *ask(struct ocv_fleet *fleet, const struct ocv_index *index,
                              const struct asked *asked)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_match) match = NULL;
    ck_assert_msg(ocv_match_new(fleet, index, NULL, &match, &err) == OCV_OK, "%s", err.message);
    return ask_match(fleet, match, asked);
}

UNUSED static const char *placed_by(struct ocv_fleet *fleet, const struct ocv_match *match,
                                    enum ocv_match_policy policy, size_t count)
{
    struct asked q = {.policy = policy, .roles = {{.count = count}}, .n_roles = 1};
    return ask_match(fleet, match, &q);
}

UNUSED static const char *placed(struct ocv_fleet *fleet, const struct ocv_index *index,
                                 enum ocv_match_policy policy, size_t count)
{
    struct asked q = {.policy = policy, .roles = {{.count = count}}, .n_roles = 1};
    return ask(fleet, index, &q);
}

#endif
