/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl match: which nodes of a fleet run the members of a job, with which entry of an index.
 */
#include "cmd/variantctl/match/match_verb.h"

#include "cmd/common/names.h"
#include "cmd/variantctl/fleet/fleet_verbs.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX ((size_t)256 * 1024 * 1024)

/* The names of an option, which must exist in the fleet. */
static int read_nodes(const struct ocv_fleet *fleet, const char *option, const char *text,
                      struct ocv_buffer *names, size_t *count, struct ocv_error *err)
{
    if (ocv_node_list_expand(text, strlen(text), names, count, err) < 0)
        return ocv_error_prefix(err, "%s", option);
    if (*count == 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: no node", option);
    const char *at = names->data;
    for (size_t i = 0; i < *count; i++, at += strlen(at) + 1) {
        char question[OCV_NEAREST_QUESTION_MAX];
        struct ocv_nearest nearest = {.wanted = at};
        if (ocv_fleet_find(fleet, at) != ocv_fleet_count(fleet))
            continue;
        for (size_t k = 0; k < ocv_fleet_count(fleet); k++)
            ocv_nearest_offer(&nearest, ocv_fleet_node(fleet, k, NULL).name);
        return ocv_error_set(err, OCV_ERR_INVALID, "%s: the fleet has no node '%.253s'%s", option,
                             at, ocv_nearest_question(ocv_nearest_meant(&nearest), question));
    }
    return OCV_OK;
}

static int read_fleet(const struct match_request *r, struct match_result *m, struct ocv_error *err)
{
    size_t n = 0;
    OCV_TRY(ocv_fleet_new(&m->fleet, err));
    OCV_TRY(fleet_read(r->cli, r->fleet, r->strict, m->fleet, &m->skipped, err));
    if (r->nodes) {
        OCV_TRY(read_nodes(m->fleet, "--nodes", r->nodes, &m->names, &n, err));
        ocv_auto_free bool *listed = calloc(ocv_fleet_count(m->fleet) + 1, sizeof(*listed));
        m->nodes = calloc(n + 1, sizeof(*m->nodes));
        if (!m->nodes || !listed)
            return ocv_error_nomem(err);
        const char *at = m->names.data;
        for (size_t i = 0; i < n; i++, at += strlen(at) + 1) {
            bool *before = &listed[ocv_fleet_find(m->fleet, at)];
            if (!*before) /* a node named twice counts once */
                m->nodes[m->n_nodes++] = at;
            *before = true;
        }
    }
    n = 0;
    if (r->exclude)
        OCV_TRY(read_nodes(m->fleet, "--exclude", r->exclude, &m->excluded, &n, err));
    const char *at = m->excluded.data;
    for (size_t i = 0; i < n; i++, at += strlen(at) + 1) {
        struct ocv_node node = ocv_fleet_node(m->fleet, ocv_fleet_find(m->fleet, at), NULL);
        node.excluded = true;
        OCV_TRY(ocv_fleet_change(m->fleet, &node, NULL, err));
    }
    return OCV_OK;
}

/* --pin without a number asks for every node that runs the entry. */
static int pin_all(struct match_request *r, const struct match_result *m, struct ocv_error *err)
{
    const struct ocv_entry *pinned = ocv_index_find_digest(m->image.index, r->pin);
    size_t n = ocv_fleet_count(m->fleet), room = 0, k;
    ocv_auto_free bool *listed = calloc(n + 1, sizeof(*listed));
    if (!listed)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < m->n_nodes; i++)
        listed[ocv_fleet_find(m->fleet, m->nodes[i])] = true;
    for (size_t i = 0; pinned && i < n; i++) {
        struct ocv_node node = ocv_fleet_node(m->fleet, i, &k);
        if ((m->nodes && !listed[i]) || node.excluded || ocv_match_undecided(m->match, k))
            continue;
        const struct ocv_decision *decision = ocv_match_decision(m->match, k);
        bool alone = r->policy == OCV_MATCH_UNPINNED; /* it takes its own best */
        bool runs = alone && ocv_decision_selected(decision) == pinned;
        for (size_t o = 0; !alone && !runs && o < ocv_decision_order_count(decision); o++)
            runs = ocv_decision_order(decision, o) == pinned;
        room += runs ? node.slots : 0;
    }
    if (room > OCV_FLEET_NODES_MAX)
        return ocv_error_set(err, OCV_ERR_DATA,
                             "--pin: the nodes that run it have slots for %zu members, more than "
                             "%u: give --replicas",
                             room, OCV_FLEET_NODES_MAX);
    r->roles[0].count = room ? room : 1;
    r->n_roles = 1;
    return OCV_OK;
}

static int place_job(struct match_request *r, struct match_result *m, struct ocv_error *err)
{
    struct cli *cli = r->cli;
    struct ocv_resolve_options how = {
        .preferences = ocv_config_preferences_for(cli->config, m->image.reference),
        .label = names_label(m->image.index, r->label)};
    OCV_TRY(ocv_match_new(m->fleet, m->image.index, &how, &m->match, err));
    /* Nodes that nothing is placed on, since tag rules do not decide for them. */
    struct fleet_skipped undecided = {0};
    for (size_t i = 0, k; i < ocv_fleet_count(m->fleet); i++) {
        struct ocv_node node = ocv_fleet_node(m->fleet, i, &k);
        const char *message = ocv_match_undecided(m->match, k);
        char why[OCV_ERROR_MESSAGE_MAX];
        if (!message || node.excluded)
            continue;
        snprintf(why, sizeof(why), "%.253s: %.700s", node.name, message);
        if (r->strict)
            return ocv_error_set(err, OCV_ERR_DATA, "%s", why);
        fleet_skip(&undecided, 1, why, "");
    }
    fleet_warn_skipped(r->cli, "undecided", &undecided);

    if (r->pin && !r->n_roles && r->policy != OCV_MATCH_COMMON)
        OCV_TRY(pin_all(r, m, err));
    struct ocv_match_request request = {.policy = r->policy,
                                        .roles = r->roles,
                                        .n_roles = r->n_roles,
                                        .nodes = m->nodes,
                                        .n_nodes = m->n_nodes,
                                        .pin = r->pin};
    int status = ocv_match_place(m->match, &request, &m->placement, err);
    if (status == OCV_ERR_NOT_FOUND && err) /* the pin, a name from the command line */
        err->status = status = OCV_ERR_INVALID;
    return status;
}

/* The architecture of a role if no node of the fleet has it, else NULL. */
static const char *strange_architecture(const struct match_request *r, const struct match_result *m,
                                        size_t role)
{
    ocv_auto(ocv_platform) platform = NULL;
    const char *wanted = role < r->n_roles ? r->roles[role].architecture : NULL;
    char text[80];
    snprintf(text, sizeof(text), "linux/%.40s", wanted ? wanted : "");
    if (!wanted || ocv_platform_parse(text, &platform, NULL) < 0)
        return wanted;
    for (size_t k = 0; k < ocv_fleet_class_count(m->fleet); k++) {
        struct ocv_platform own = ocv_profile_platform(ocv_fleet_class_profile(m->fleet, k));
        if (own.architecture && !strcmp(own.architecture, platform->architecture))
            return NULL;
    }
    return wanted;
}

static int match_fleet(struct match_request *r, struct match_result *m, struct ocv_error *err)
{
    ocv_auto_buffer out;
    ocv_buffer_init(&out, MATCH_OUTPUT_MAX);
    OCV_TRY(cli_load(r->cli, err));
    OCV_TRY(read_fleet(r, m, err));
    OCV_TRY(image_open_either(r->cli, r->index_file, r->image, &m->image, true, err));
    /* A name is correct if any of the classes knows it. */
    const struct ocv_config *config = ocv_config_for_reference(r->cli->config, m->image.reference);
    int known = OCV_OK;
    for (size_t i = 0; i < ocv_fleet_class_count(m->fleet); i++) {
        known =
            names_check(r->cli, config, ocv_fleet_class_profile(m->fleet, i), m->image.index, err);
        if (known == OCV_OK)
            break;
    }
    if (known < 0)
        return known;
    OCV_TRY(image_finish(r->cli, &m->image, err));
    const char *image = m->image.text ? m->image.text : r->index_file;
    OCV_TRY(names_check_label(image, m->image.index, r->label, err));
    OCV_TRY(place_job(r, m, err));
    OCV_TRY(r->print_ref ? match_format_reference(r, m, &out, err)
            : r->json    ? match_format_json(r, m, &out, err)
                         : match_format_text(r, m, &out, err));
    if (out.len)
        OCV_TRY(cli_print(out.data, out.len, err));
    if (ocv_placement_found(m->placement))
        return OCV_OK;
    /* Explain the nearest placement in a sentence. */
    ocv_auto_buffer what;
    ocv_buffer_init(&what, 1u << 16);
    struct ocv_lack lack = {0};
    if (ocv_placement_lack_count(m->placement))
        lack = ocv_placement_lack(m->placement, 0);
    if (!lack.entry)
        return ocv_error_set(err, OCV_ERR_NO_MATCH, "%s: no placement: %s", image,
                             r->n_roles > 1 ? "the roles fit one by one, not together"
                                            : "the index has no image");
    const char *strange = strange_architecture(r, m, lack.role);
    if (strange)
        return ocv_error_set(err, OCV_ERR_NO_MATCH, "%s: no placement for %s: no node is %.40s",
                             image, match_role_name(r, lack.role), strange);
    OCV_TRY(match_lack_what(m, &lack, &what, err));
    ocv_error_set(err, OCV_ERR_NO_MATCH,
                  "%s: no placement for %s: the nearest entry, %s, has room for %zu, %zu too few",
                  image, match_role_name(r, lack.role),
                  lack.entry->label ? lack.entry->label : "the default", lack.room, lack.missing);
    if (lack.cost)
        ocv_error_hint(err, "%s, which %zu node%s, costs most", what.data, lack.cost,
                       lack.cost > 1 ? "s lack" : " lacks");
    return OCV_ERR_NO_MATCH;
}

int match_run(struct match_request *r)
{
    struct ocv_error err = {0};
    struct match_result m = {0};
    ocv_buffer_init(&m.names, NAMES_MAX);
    ocv_buffer_init(&m.excluded, NAMES_MAX);
    int status = match_fleet(r, &m, &err);
    int code = status < 0 ? cli_fail(r->cli, &err) : 0;
    ocv_placement_free(m.placement);
    ocv_match_free(m.match);
    ocv_fleet_free(m.fleet);
    image_close(&m.image);
    ocv_buffer_free(&m.names);
    ocv_buffer_free(&m.excluded);
    free(m.nodes);
    return code;
}
