/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placing jobs on fleets: classes, order, pins, roles, what is missing. */
#include "test/unit/match/fleet_util.h"

START_TEST(test_class_is_what_resolution_reads)
{
    char same[OCV_CLASS_MAX], other[OCV_CLASS_MAX];
    struct ocv_error err = {0};
    const char *const equal[] = {
        "{'namespaces':[{'namespace':'accel','features':[{'name':'arch','values':['a1']}]},"
        "{'namespace':'site','features':[]}],'platform':{'os':'linux','architecture':'amd64'}}",
        "{'hostname':'n1','generated':'2026-11-21T01:17:00Z','boot_id':'x','namespaces':["
        "{'namespace':'site','features':[],'error':'odd','status':'failed'},"
        "{'namespace':'accel','driver':'1.2','provider':{'name':'p'},'features':[{'name':'arch',"
        "'values':['a1']}]}],'platform':{'architecture':'amd64','os':'linux'}}",
    };
    const char *const unequal[] = {
        "{'namespaces':[{'namespace':'accel','features':[{'name':'arch','values':['a1','a0']}]},"
        "{'namespace':'site','features':[]}],'platform':{'os':'linux','architecture':'amd64'}}",
        "{'namespaces':[{'namespace':'accel','features':[{'name':'arch','values':['a1']}],"
        "'devices':[{'id':'d','features':[]}]},{'namespace':'site','features':[]}],"
        "'platform':{'os':'linux','architecture':'amd64'}}",
        "{'namespaces':[{'namespace':'accel','features':[{'name':'arch','values':['a1']}]},"
        "{'namespace':'site','features':[]}],'platform':{'os':'linux','architecture':'arm64'}}",
    };
    for (size_t i = 0; i < 2; i++) {
        char *text = quoted("%s", equal[i]);
        ocv_auto(ocv_profile) profile = parse_profile(text);
        ck_assert_int_eq(ocv_profile_class(profile, i ? other : same, &err), OCV_OK);
        free(text);
    }
    ck_assert_str_eq(same, other);
    ck_assert_uint_eq(strspn(same, "0123456789abcdef"), OCV_CLASS_MAX - 1);
    for (size_t i = 0; i < 3; i++) {
        char *text = quoted("%s", unequal[i]);
        ocv_auto(ocv_profile) profile = parse_profile(text);
        ck_assert_int_eq(ocv_profile_class(profile, other, &err), OCV_OK);
        ck_assert_str_ne(same, other);
        free(text);
    }
}
END_TEST

/* The name is a contract: other software keeps it. */
START_TEST(test_class_never_changes)
{
    char class[OCV_CLASS_MAX];
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1u << 16);
    char *json = quoted(
        "{'namespaces':[{'namespace':'accel','features':[{'name':'arch','values':['a1','a0']}],"
        "'devices':[{'id':'d\\u0001\\'0','features':[]},{'secondary':true}]}],"
        "'platform':{'architecture':'amd64','variant':'v3','os.features':['x.1']}}");
    ocv_auto(ocv_profile) profile = parse_profile(json);
    ck_assert_int_eq(ocv_profile_essence(profile, &text, &err), OCV_OK);
    ck_assert_str_eq(text.data,
                     "{\"schema\":\"dev.ocivariant.profile/v1\",\"platform\":{\"os\":\"linux\","
                     "\"architecture\":\"amd64\",\"variant\":\"v3\",\"os.features\":[\"x.1\"]},"
                     "\"namespaces\":[{\"namespace\":\"accel\",\"features\":[{\"name\":\"arch\","
                     "\"values\":[\"a1\",\"a0\"]}],\"devices\":[{\"id\":\"d\\u0001\\u00220\","
                     "\"index\":0,\"features\":[]},{\"id\":\"1\",\"index\":1,\"secondary\":true,"
                     "\"features\":[]}]}]}");
    ck_assert_int_eq(ocv_profile_class(profile, class, &err), OCV_OK);
    ck_assert_str_eq(class, "c6051c5735eb");
    free(json);
}
END_TEST

/* All that a decision says, reasons included. */
static char *told(const struct ocv_decision *d)
{
    struct ocv_error err = {0};
    struct ocv_buffer text;
    ocv_buffer_init(&text, 1u << 20);
    int status = ocv_buffer_printf(&text, &err, "%s\n", order_text(d));
    for (size_t i = 0; i < ocv_decision_rejected_count(d) && status == OCV_OK; i++) {
        struct ocv_rejection r = ocv_decision_rejected(d, i);
        status =
            ocv_buffer_printf(&text, &err, "%zu %s ", r.entry->position, ocv_reject_name(r.code));
        if (status == OCV_OK)
            status = ocv_decision_reason(d, i, &text, &err);
        if (status == OCV_OK)
            status = ocv_buffer_append(&text, "\n", 1, &err);
    }
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return text.data;
}

START_TEST(test_every_node_as_resolve)
{
    struct dice r = {2026};
    for (int round = 0; round < 60; round++) {
        struct ocv_error err = {0};
        json_t *lines[40];
        ocv_auto(ocv_index) index = random_index(&r);
        ocv_auto(ocv_fleet) fleet = new_fleet();
        ocv_auto(ocv_match) match = NULL;
        for (int i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof(name), "n%d", i);
            lines[i] = random_profile(&r);
            ocv_auto(ocv_profile) profile = profile_from(json_incref(lines[i]));
            struct ocv_node node = {.name = name, .slots = 1};
            ck_assert_int_eq(ocv_fleet_add(fleet, &node, profile, &err), OCV_OK);
        }
        ck_assert_msg(ocv_match_new(fleet, index, NULL, &match, &err) == OCV_OK, "%s", err.message);
        ck_assert_uint_lt(ocv_fleet_class_count(fleet), 40);
        for (size_t i = 0; i < 40; i++) {
            size_t class_place;
            ocv_fleet_node(fleet, i, &class_place);
            ocv_auto(ocv_profile) profile = profile_from(lines[i]);
            ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
            char *expected = told(d), *have = told(ocv_match_decision(match, class_place));
            ck_assert_str_eq(have, expected);
            free(expected);
            free(have);
        }
    }
}
END_TEST

static struct ocv_index *gang_index(void)
{
    json_t *index = index_json("accel, x86_64");
    add_entry(index, "linux/amd64", NULL, NULL);
    add_entry(index, "linux/amd64", "new", "accel :: arch :: a2, accel :: rt :: 12.8");
    add_entry(index, "linux/amd64", "old", "accel :: arch :: a1, accel :: rt :: 12.4");
    add_entry(index, "linux/arm64", "arm", "accel :: arch :: a3");
    return index_from(index);
}

static void gang_fleet(struct ocv_fleet *fleet, unsigned h, unsigned a, unsigned plain)
{
    add_nodes(fleet, "h", h, "amd64", "'a2','a1'", "'12.8','12.6','12.4'");
    add_nodes(fleet, "a", a, "amd64", "'a1'", "'12.6','12.4'");
    add_nodes(fleet, "c", plain, "amd64", NULL, NULL);
}

START_TEST(test_one_build_for_all)
{
    ocv_auto(ocv_index) index = gang_index();
    ocv_auto(ocv_fleet) fleet = new_fleet();
    gang_fleet(fleet, 16, 16, 3);
    ck_assert_uint_eq(ocv_fleet_class_count(fleet), 3);
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_HOMOGENEOUS, 3), "new: h1 h2 h3");
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_HOMOGENEOUS, 16),
                     "new: h1 h2 h3 h4 h5 h6 h7 h8 h9 h10 h11 h12 h13 h14 h15 h16");
    /* more than there are of the best: the next best, on nodes that take it anyway first */
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_HOMOGENEOUS, 18),
                     "old(pin): a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 h1* h2*");
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_HOMOGENEOUS, 33),
                     "#0(pin): c1 c2 c3 a1* a2* a3* a4* a5* a6* a7* a8* a9* a10* a11* a12* a13* "
                     "a14* a15* a16* h1* h2* h3* h4* h5* h6* h7* h8* h9* h10* h11* h12* h13* "
                     "h14*");
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_HOMOGENEOUS, 36),
                     "none; #0 35+1 0 none; old 32+4 3 namespace-unsupported accel :: arch; "
                     "new 16+20 19 value-unsupported accel :: arch");
}
END_TEST

/* An engine that cannot name the digest: only nodes that take the entry by themselves. */
START_TEST(test_one_build_without_pin)
{
    ocv_auto(ocv_index) index = gang_index();
    ocv_auto(ocv_fleet) fleet = new_fleet();
    gang_fleet(fleet, 3, 4, 1);
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_UNPINNED, 3), "new: h1 h2 h3");
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_UNPINNED, 4), "old: a1 a2 a3 a4");
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_UNPINNED, 5),
                     "none; old 4+1 1 namespace-unsupported accel :: arch; "
                     "new 3+2 5 value-unsupported accel :: arch; #0 1+4 0 none");
    struct asked pin = {.policy = OCV_MATCH_UNPINNED,
                        .pin = ocv_index_entry(index, 2)->digest,
                        .nodes = "a1 a2 h1",
                        .roles = {{.count = 2}},
                        .n_roles = 1};
    ck_assert_str_eq(ask(fleet, index, &pin), "old: a1 a2");
    pin.roles[0].count = 3;
    ck_assert_str_eq(ask(fleet, index, &pin), "none; old 2+1 0 none");
    struct asked roles = {
        .policy = OCV_MATCH_UNPINNED, .roles = {{.count = 2}, {.count = 3}}, .n_roles = 2};
    ck_assert_str_eq(ask(fleet, index, &roles), "new: h1 h2 | old: a1 a2 a3");
}
END_TEST

START_TEST(test_best_and_weight)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_index) index = gang_index();
    ocv_auto(ocv_fleet) fleet = new_fleet();
    gang_fleet(fleet, 2, 2, 2);
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_BEST, 5), "h1=new h2=new a1=old a2=old c1=#0");
    struct ocv_node cheap = {.name = "a2", .slots = 1},
                    dear = {.name = "h1", .slots = 1, .weight = 9};
    struct ocv_node gone = {.name = "c1", .slots = 1, .excluded = true};
    struct ocv_node wide = {.name = "h2", .slots = 3};
    ck_assert_int_eq(ocv_fleet_change(fleet, &cheap, NULL, &err), OCV_OK);
    ck_assert_int_eq(ocv_fleet_change(fleet, &dear, NULL, &err), OCV_OK);
    ck_assert_int_eq(ocv_fleet_change(fleet, &gone, NULL, &err), OCV_OK);
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_BEST, 5), "h2=new a1=old a2=old c2=#0 h1=new");
    ck_assert_int_eq(ocv_fleet_change(fleet, &wide, NULL, &err), OCV_OK);
    ck_assert_str_eq(placed(fleet, index, OCV_MATCH_HOMOGENEOUS, 4), "new: h2 h2 h2 h1");
    struct ocv_node none = {.name = "nobody", .slots = 1};
    ck_assert_int_eq(ocv_fleet_change(fleet, &none, NULL, &err), OCV_ERR_NOT_FOUND);
}
END_TEST

START_TEST(test_common_and_pin)
{
    ocv_auto(ocv_index) index = gang_index();
    ocv_auto(ocv_fleet) fleet = new_fleet();
    gang_fleet(fleet, 2, 2, 2);
    struct asked q = {.policy = OCV_MATCH_COMMON, .nodes = "h1 h2 h1"};
    ck_assert_str_eq(ask(fleet, index, &q), "new: h1 h2");
    q.nodes = "a1 h1";
    ck_assert_str_eq(ask(fleet, index, &q), "old(pin): a1 h1*");
    q.nodes = "a1 h1 c1";
    ck_assert_str_eq(ask(fleet, index, &q), "#0(pin): c1 a1* h1*");
    q.nodes = "a1 b1";
    ck_assert_str_eq(ask(fleet, index, &q), "error -8: the fleet has no node 'b1'");
    struct asked p = {.policy = OCV_MATCH_HOMOGENEOUS,
                      .pin = ocv_index_entry(index, 2)->digest,
                      .roles = {{.count = 3}},
                      .n_roles = 1};
    ck_assert_str_eq(ask(fleet, index, &p), "old(pin): a1 a2 h1*");
    p.nodes = "h1 h2 c1";
    ck_assert_str_eq(ask(fleet, index, &p), "none; old 2+1 1 namespace-unsupported accel :: arch");
    p.pin = "sha256:0000000000000000000000000000000000000000000000000000000000000009";
    ck_assert_int_eq(strncmp(ask(fleet, index, &p), "error -8", 8), 0);
}
END_TEST

/* The second role can live on h alone: the first leaves it to it. */
START_TEST(test_roles_share)
{
    ocv_auto(ocv_index) index = gang_index();
    ocv_auto(ocv_fleet) fleet = new_fleet();
    gang_fleet(fleet, 2, 2, 1);
    add_nodes(fleet, "r", 2, "arm64", "'a3'", NULL);
    struct asked q = {
        .policy = OCV_MATCH_HOMOGENEOUS,
        .roles = {{.count = 4, .architecture = "x86_64"}, {.count = 2, .architecture = "arm64"}},
        .n_roles = 2};
    ck_assert_str_eq(ask(fleet, index, &q), "old(pin): a1 a2 h1* h2* | arm: r1 r2");
    q.roles[1].count = 3;
    ck_assert_str_eq(ask(fleet, index, &q),
                     "none; arm 2+1 0 none; #0 0+3 2 platform; new 0+3 2 platform");
    struct asked three = {.policy = OCV_MATCH_HOMOGENEOUS,
                          .roles = {{.count = 2}, {.count = 2}, {.count = 1}},
                          .n_roles = 3};
    ck_assert_str_eq(ask(fleet, index, &three), "new: h1 h2 | old: a1 a2 | arm: r1");
    struct asked all = {
        .policy = OCV_MATCH_HOMOGENEOUS,
        .roles = {{.count = 4, .architecture = "amd64"}, {.count = 4, .architecture = "amd64"}},
        .n_roles = 2};
    ck_assert_str_eq(ask(fleet, index, &all), "none; together");
}
END_TEST

START_TEST(test_a_changed_node)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_index) index = gang_index();
    ocv_auto(ocv_fleet) fleet = new_fleet();
    ocv_auto(ocv_match) match = NULL;
    gang_fleet(fleet, 1, 1, 0);
    ck_assert_int_eq(ocv_match_new(fleet, index, NULL, &match, &err), OCV_OK);
    char *text = quoted("{'platform':{'os':'linux','architecture':'amd64'},'namespaces':[{"
                        "'namespace':'accel','features':[{'name':'rt','values':['12.8','12.4']},"
                        "{'name':'arch','values':['a2','a1']}]}]}");
    ocv_auto(ocv_profile) profile = parse_profile(text);
    struct ocv_node node = {.name = "a1", .slots = 1};
    ck_assert_int_eq(ocv_fleet_change(fleet, &node, profile, &err), OCV_OK);
    ck_assert_int_eq(ocv_match_update(match, &err), OCV_OK);
    ck_assert_str_eq(placed_by(fleet, match, OCV_MATCH_HOMOGENEOUS, 2), "new: a1 h1");
    free(text);
}
END_TEST

START_TEST(test_wrong_requests)
{
    ocv_auto(ocv_index) index = gang_index();
    ocv_auto(ocv_fleet) fleet = new_fleet();
    gang_fleet(fleet, 1, 0, 0);
    struct asked none = {.policy = OCV_MATCH_HOMOGENEOUS};
    struct asked empty = {.policy = OCV_MATCH_HOMOGENEOUS, .roles = {{.count = 0}}, .n_roles = 1};
    struct asked nodes = {.policy = OCV_MATCH_COMMON, .roles = {{.count = 1}}, .n_roles = 1};
    struct asked best = {.policy = OCV_MATCH_BEST,
                         .roles = {{.count = 1}},
                         .n_roles = 1,
                         .pin = ocv_index_entry(index, 0)->digest};
    ck_assert_int_eq(strncmp(ask(fleet, index, &none), "error -2", 8), 0);
    ck_assert_int_eq(strncmp(ask(fleet, index, &empty), "error -2", 8), 0);
    ck_assert_int_eq(strncmp(ask(fleet, index, &nodes), "error -2", 8), 0);
    ck_assert_int_eq(strncmp(ask(fleet, index, &best), "error -2", 8), 0);
}
END_TEST

/* Two roles on a few nodes: a placement is found exactly where trying everything finds one. */
static bool serves(const struct ocv_match *m, size_t node, const struct ocv_entry *e)
{
    size_t k;
    (void)ocv_fleet_node(m->fleet, node, &k);
    const struct ocv_decision *d = ocv_match_decision(m, k);
    for (size_t i = 0; i < ocv_decision_order_count(d); i++)
        if (ocv_decision_order(d, i) == e)
            return true;
    return false;
}

static bool possible(const struct ocv_match *m, size_t n, const size_t want[2])
{
    for (size_t a = 0; a < m->n_entries; a++)
        for (size_t b = 0; b < m->n_entries; b++) {
            size_t only_a = 0, only_b = 0, both = 0;
            for (size_t i = 0; i < n; i++) {
                bool x = serves(m, i, ocv_index_entry(m->index, a));
                bool y = serves(m, i, ocv_index_entry(m->index, b));
                only_a += x && !y;
                only_b += y && !x;
                both += x && y;
            }
            size_t lack = (want[0] > only_a ? want[0] - only_a : 0) +
                          (want[1] > only_b ? want[1] - only_b : 0);
            if (lack <= both)
                return true;
        }
    return false;
}

START_TEST(test_found_where_there_is_one)
{
    struct dice r = {7};
    size_t found = 0;
    for (int round = 0; round < 200; round++) {
        struct ocv_error err = {0};
        ocv_auto(ocv_index) index = random_index(&r);
        ocv_auto(ocv_fleet) fleet = new_fleet();
        ocv_auto(ocv_match) match = NULL;
        ocv_auto(ocv_placement) placement = NULL;
        for (int i = 0; i < 6; i++) {
            char name[16];
            snprintf(name, sizeof(name), "n%d", i);
            ocv_auto(ocv_profile) profile = profile_from(random_profile(&r));
            struct ocv_node node = {.name = name, .slots = 1};
            ck_assert_int_eq(ocv_fleet_add(fleet, &node, profile, &err), OCV_OK);
        }
        size_t want[2] = {1 + roll(&r, 3), 1 + roll(&r, 3)};
        struct ocv_match_role roles[2] = {{.count = want[0]}, {.count = want[1]}};
        struct ocv_match_request q = {.roles = roles, .n_roles = 2};
        ck_assert_int_eq(ocv_match_new(fleet, index, NULL, &match, &err), OCV_OK);
        ck_assert_int_eq(ocv_match_place(match, &q, &placement, &err), OCV_OK);
        ck_assert_int_eq(ocv_placement_found(placement), possible(match, 6, want));
        if (!ocv_placement_found(placement)) {
            ck_assert_uint_gt(ocv_placement_lack_count(placement), 0);
            continue;
        }
        found++;
        size_t have[2] = {0}, used[6] = {0};
        for (size_t i = 0; i < ocv_placement_count(placement); i++) {
            struct ocv_member m = ocv_placement_member(placement, i);
            ck_assert_ptr_eq(m.entry, ocv_placement_entry(placement, m.role));
            ck_assert(serves(match, m.node, m.entry));
            ck_assert_uint_eq(used[m.node]++, 0);
            have[m.role]++;
        }
        ck_assert_uint_eq(have[0], want[0]);
        ck_assert_uint_eq(have[1], want[1]);
    }
    ck_assert_uint_gt(found, 40);
    ck_assert_uint_lt(found, 190);
}
END_TEST

/* The better build wins, however few nodes run it: what nodes that run both prefer, and where none
 * does, the index. */
START_TEST(test_the_better_build_wins)
{
    json_t *two = index_json("accel");
    add_entry(two, "linux/amd64", NULL, NULL);
    add_entry(two, "linux/amd64", "hopper", "accel :: arch :: a2");
    add_entry(two, "linux/amd64", "ampere", "accel :: arch :: a1");
    ocv_auto(ocv_index) chips = index_from(two);
    ocv_auto(ocv_fleet) fleet = new_fleet();
    add_nodes(fleet, "a", 3, "amd64", "'a1'", "'12.8'"); /* no node runs both */
    add_nodes(fleet, "h", 2, "amd64", "'a2'", "'12.8'");
    ck_assert_str_eq(placed(fleet, chips, OCV_MATCH_HOMOGENEOUS, 2), "hopper: h1 h2");
    ck_assert_str_eq(placed(fleet, chips, OCV_MATCH_HOMOGENEOUS, 1), "hopper: h1");
    ck_assert_str_eq(placed(fleet, chips, OCV_MATCH_HOMOGENEOUS, 3), "ampere: a1 a2 a3");
    ck_assert_str_eq(placed(fleet, chips, OCV_MATCH_BEST, 3), "h1=hopper h2=hopper a1=ampere");

    json_t *drivers = index_json("accel");
    add_entry(drivers, "linux/amd64", "old", "accel :: rt :: 12.4"); /* though it stands first */
    add_entry(drivers, "linux/amd64", "new", "accel :: rt :: 12.8");
    ocv_auto(ocv_index) versions = index_from(drivers);
    ocv_auto(ocv_fleet) mixed = new_fleet();
    add_nodes(mixed, "n", 2, "amd64", "'a1'", "'12.8','12.4'");
    add_nodes(mixed, "o", 5, "amd64", "'a1'", "'12.4'");
    ck_assert_str_eq(placed(mixed, versions, OCV_MATCH_HOMOGENEOUS, 2), "new: n1 n2");
}
END_TEST

/* The same nodes in any order, and any number of each kind: one order of the entries. */
START_TEST(test_order_of_entries_is_one)
{
    struct dice r = {11};
    for (int round = 0; round < 100; round++) {
        struct ocv_error err = {0};
        json_t *kinds[8];
        size_t first[16], places[16];
        ocv_auto(ocv_index) index = random_index(&r);
        for (size_t i = 0; i < 8; i++)
            kinds[i] = random_profile(&r);
        for (int shuffle = 0; shuffle < 100; shuffle++) {
            ocv_auto(ocv_fleet) fleet = new_fleet();
            ocv_auto(ocv_match) match = NULL;
            unsigned start = roll(&r, 8), step = 2 * roll(&r, 4) + 1, n = 0;
            for (unsigned i = 0; i < 8; i++)
                for (unsigned k = 1 + roll(&r, 3); k; k--) {
                    char name[16];
                    snprintf(name, sizeof(name), "n%u", n++);
                    ocv_auto(ocv_profile) profile =
                        profile_from(json_incref(kinds[(start + i * step) % 8]));
                    struct ocv_node node = {.name = name, .slots = 1};
                    ck_assert_int_eq(ocv_fleet_add(fleet, &node, profile, &err), OCV_OK);
                }
            ck_assert_int_eq(ocv_match_new(fleet, index, NULL, &match, &err), OCV_OK);
            ck_assert_int_eq(ocv_match_order(match, shuffle ? places : first, &err), OCV_OK);
            if (shuffle)
                ck_assert_mem_eq(places, first, ocv_index_count(index) * sizeof(*places));
        }
        for (size_t i = 0; i < 8; i++)
            json_decref(kinds[i]);
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("match");
    TCase *tcase = tcase_create("match");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_the_better_build_wins);
    tcase_add_test(tcase, test_order_of_entries_is_one);
    tcase_add_test(tcase, test_class_is_what_resolution_reads);
    tcase_add_test(tcase, test_class_never_changes);
    tcase_add_test(tcase, test_every_node_as_resolve);
    tcase_add_test(tcase, test_one_build_for_all);
    tcase_add_test(tcase, test_one_build_without_pin);
    tcase_add_test(tcase, test_best_and_weight);
    tcase_add_test(tcase, test_common_and_pin);
    tcase_add_test(tcase, test_roles_share);
    tcase_add_test(tcase, test_a_changed_node);
    tcase_add_test(tcase, test_wrong_requests);
    tcase_add_test(tcase, test_found_where_there_is_one);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
