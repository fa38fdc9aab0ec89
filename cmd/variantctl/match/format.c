/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A placement as a table and as JSON. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/match/match_verb.h"
#include "cmd/variantctl/verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

/* "ns :: feature :: value or value" of the entry. */
int match_lack_what(const struct match_result *m, const struct ocv_lack *lack,
                    struct ocv_buffer *out, struct ocv_error *err)
{
    size_t n = 0;
    if (!lack->ns)
        return ocv_buffer_printf(out, err, "%s", ocv_reject_name(lack->code));
    for (size_t i = 0; i < lack->entry->n_properties; i++) {
        struct ocv_property p = ocv_index_property(m->image.index, lack->entry->properties[i]);
        if (strcmp(p.ns, lack->ns) != 0 || strcmp(p.feature, lack->feature) != 0)
            continue;
        OCV_TRY(n++ ? ocv_buffer_printf(out, err, " or %s", p.value)
                    : ocv_buffer_printf(out, err, "%s :: %s :: %s", p.ns, p.feature, p.value));
    }
    return OCV_OK;
}

static int put_entry(const struct match_request *r, const struct match_result *m, size_t role,
                     const struct ocv_entry *entry, struct ocv_buffer *out, struct ocv_error *err)
{
    char reference[MATCH_REFERENCE_MAX], name[80];
    size_t all = ocv_placement_count(m->placement);
    size_t members = 0, foreign = 0, n = 0, last = SIZE_MAX;
    ocv_auto_free const char **names = calloc(all + 1, sizeof(*names));
    if (!names)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < all; i++) {
        struct ocv_member member = ocv_placement_member(m->placement, i);
        if (member.role != role || member.entry != entry)
            continue;
        members++;
        foreign += !member.own;
        if (member.node != last) /* each once: equal nodes are adjacent */
            names[n++] = ocv_fleet_node(m->fleet, member.node, NULL).name;
        last = member.node;
    }
    OCV_TRY(ocv_buffer_printf(out, err, "\n%s  %zu  %s\n  image  %s\n  nodes  ",
                              match_role_name(r, role), members,
                              explain_choice(m->image.index, entry, name, sizeof(name)),
                              match_reference(m, entry, reference, sizeof(reference))));
    OCV_TRY(match_fold_names(names, n, out, err));
    if (foreign)
        OCV_TRY(ocv_buffer_printf(out, err,
                                  "\n  pin    needed: left alone, %zu of them would take another "
                                  "entry",
                                  foreign));
    return ocv_buffer_append(out, "\n", 1, err);
}

int match_format_text(const struct match_request *r, const struct match_result *m,
                      struct ocv_buffer *out, struct ocv_error *err)
{
    const struct ocv_placement *p = m->placement;
    size_t roles = r->n_roles ? r->n_roles : 1, lacks = ocv_placement_lack_count(p);
    OCV_TRY(ocv_buffer_printf(out, err,
                              "Image   %s\nIndex   %s\nFleet   %zu nodes, %zu "
                              "classes",
                              m->image.text ? m->image.text : r->index_file,
                              ocv_index_digest(m->image.index), ocv_fleet_count(m->fleet),
                              ocv_fleet_class_count(m->fleet)));
    if (m->skipped)
        OCV_TRY(ocv_buffer_printf(out, err, ", %zu bad ones left out", m->skipped));
    OCV_TRY(ocv_buffer_printf(out, err, "\nPolicy  %s\n", match_policy_name(r->policy)));
    ocv_auto_free bool *done = calloc(ocv_index_count(m->image.index) + 1, sizeof(*done));
    if (!done)
        return ocv_error_nomem(err);
    for (size_t role = 0; role < roles; role++) {
        memset(done, 0, ocv_index_count(m->image.index) * sizeof(*done));
        for (size_t i = 0; i < ocv_placement_count(p); i++) {
            /* entries of the role, in the order of their first members */
            struct ocv_member member = ocv_placement_member(p, i);
            if (member.role != role || done[member.entry->position])
                continue;
            done[member.entry->position] = true;
            OCV_TRY(put_entry(r, m, role, member.entry, out, err));
        }
    }
    for (size_t i = 0; i < lacks; i++) {
        struct ocv_lack lack = ocv_placement_lack(p, i);
        char name[80], platform[128];
        if (!lack.entry) {
            OCV_TRY(ocv_buffer_printf(out, err, "\nthe roles fit one by one, not together\n"));
            continue;
        }
        bool bare = lack.entry->kind != OCV_ENTRY_VARIANT && lack.entry->has_platform;
        OCV_TRY(ocv_buffer_printf(
            out, err, "\n%s  %s%s%s  room for %zu, %zu too few\n", match_role_name(r, lack.role),
            explain_choice(m->image.index, lack.entry, name, sizeof(name)), bare ? "  " : "",
            bare ? ocv_platform_format(&lack.entry->platform, platform, sizeof(platform)) : "",
            lack.room, lack.missing));
        if (!lack.cost)
            continue;
        OCV_TRY(ocv_buffer_printf(out, err, "  %zu node%s ", lack.cost,
                                  lack.cost > 1 ? "s lack" : " lacks"));
        OCV_TRY(match_lack_what(m, &lack, out, err));
        OCV_TRY(ocv_buffer_append(out, "\n", 1, err));
    }
    return OCV_OK;
}

int match_format_reference(const struct match_request *r, const struct match_result *m,
                           struct ocv_buffer *out, struct ocv_error *err)
{
    char reference[MATCH_REFERENCE_MAX];
    bool best = r->policy == OCV_MATCH_BEST;
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < ocv_placement_count(m->placement); i++) {
        struct ocv_member member = ocv_placement_member(m->placement, i);
        size_t what = best ? member.node : member.role;
        if (what == last)
            continue;
        last = what;
        match_reference(m, member.entry, reference, sizeof(reference));
        if (best)
            OCV_TRY(ocv_buffer_printf(out, err, "%s %s\n",
                                      ocv_fleet_node(m->fleet, member.node, NULL).name, reference));
        else if (r->n_roles > 1)
            OCV_TRY(
                ocv_buffer_printf(out, err, "%s %s\n", match_role_name(r, member.role), reference));
        else
            OCV_TRY(ocv_buffer_printf(out, err, "%s\n", reference));
    }
    return OCV_OK;
}

static json_t *entry_json(const struct match_result *m, const struct ocv_entry *entry)
{
    static const char *const kinds[] = {"variant", "null", "non-variant"};
    char platform[128], reference[MATCH_REFERENCE_MAX];
    json_t *p = entry->has_platform
                    ? json_string(ocv_platform_format(&entry->platform, platform, sizeof(platform)))
                    : json_null();
    return json_pack("{s:s?, s:s, s:s, s:o, s:s}", "label", entry->label, "kind",
                     kinds[entry->kind], "digest", entry->digest, "platform", p, "reference",
                     match_reference(m, entry, reference, sizeof(reference)));
}

static json_t *role_json(const struct match_request *r, const struct match_result *m, size_t role)
{
    const struct ocv_placement *p = m->placement;
    const struct ocv_entry *entry = ocv_placement_entry(p, role);
    const char *architecture = role < r->n_roles ? r->roles[role].architecture : NULL;
    json_t *members = json_array();
    for (size_t i = 0; i < ocv_placement_count(p); i++) {
        size_t k;
        struct ocv_member member = ocv_placement_member(p, i);
        if (member.role != role)
            continue;
        struct ocv_node node = ocv_fleet_node(m->fleet, member.node, &k);
        json_t *one = json_pack("{s:s, s:s, s:b}", "node", node.name, "class",
                                ocv_fleet_class(m->fleet, k), "own", member.own);
        if (!entry)
            json_object_set_new(one, "entry", entry_json(m, member.entry));
        json_array_append_new(members, one);
    }
    json_t *json =
        json_pack("{s:s, s:s?}", "name", match_role_name(r, role), "architecture", architecture);
    json_object_set_new(
        json, "count",
        json_integer((json_int_t)(role < r->n_roles ? r->roles[role].count : m->n_nodes)));
    json_object_set_new(json, "entry", entry ? entry_json(m, entry) : json_null());
    json_object_set_new(json, "pinNeeded", json_boolean(ocv_placement_pin_needed(p, role)));
    json_object_set_new(json, "members", members);
    return json;
}

int match_format_json(const struct match_request *r, const struct match_result *m,
                      struct ocv_buffer *out, struct ocv_error *err)
{
    const struct ocv_placement *p = m->placement;
    size_t roles = r->n_roles ? r->n_roles : 1;
    json_t *list = json_array(), *lacks = json_array();
    for (size_t i = 0; i < roles; i++)
        json_array_append_new(list, role_json(r, m, i));
    for (size_t i = 0; i < ocv_placement_lack_count(p); i++) {
        struct ocv_lack lack = ocv_placement_lack(p, i);
        json_t *one =
            lack.entry
                ? json_pack("{s:s, s:o, s:I, s:I, s:I}", "role", match_role_name(r, lack.role),
                            "entry", entry_json(m, lack.entry), "room", (json_int_t)lack.room,
                            "missing", (json_int_t)lack.missing, "cost", (json_int_t)lack.cost)
                : json_pack("{s:n, s:n}", "role", "entry");
        ocv_auto_buffer what;
        ocv_buffer_init(&what, 1u << 16);
        if (lack.entry && lack.cost && match_lack_what(m, &lack, &what, NULL) == OCV_OK) {
            json_object_set_new(one, "code", json_string(ocv_reject_name(lack.code)));
            if (lack.ns)
                json_object_set_new(one, "property", json_string(what.data));
        }
        json_array_append_new(lacks, one);
    }
    return format_document(json_pack("{s:s, s:s?, s:s, s:s, s:b, s:{s:I, s:I, s:I}, s:o, s:o}",
                                     "schema", "dev.ocivariant.match/v1", "image", m->image.text,
                                     "index", ocv_index_digest(m->image.index), "policy",
                                     match_policy_name(r->policy), "placed", ocv_placement_found(p),
                                     "fleet", "nodes", (json_int_t)ocv_fleet_count(m->fleet),
                                     "classes", (json_int_t)ocv_fleet_class_count(m->fleet),
                                     "skipped", (json_int_t)m->skipped, "roles", list, "nearest",
                                     lacks),
                           out, err);
}
