/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fleet documents, the packed form, node lists. */
#include "test/unit/match/fleet_util.h"

#define H100                                                                                \
    "{'platform':{'os':'linux','architecture':'amd64'},'namespaces':[{'namespace':'accel'," \
    "'features':[{'name':'arch','values':['a2','a1']}]}]}"
#define NAMED(name)                                                            \
    "{'hostname':'" name "','platform':{'os':'linux','architecture':'amd64'}," \
    "'namespaces':[]}"

/* Reads it, then "NAME=CLASS[:weight][:slots][:x] ..." or the error. Static memory. */
static const char *read_text(const char *text, struct ocv_fleet_reading *how)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_fleet) fleet = new_fleet();
    fleet_text_len = 0;
    fleet_text[0] = '\0';
    if (ocv_fleet_read(fleet, text, strlen(text), how, &err) < 0) {
        tell("error %d: %s", err.status, err.message);
        return fleet_text;
    }
    for (size_t i = 0; i < ocv_fleet_count(fleet); i++) {
        size_t k;
        struct ocv_node node = ocv_fleet_node(fleet, i, &k);
        tell("%s%s=%zu", i ? " " : "", node.name, k);
        if (node.weight)
            tell(":w%u", node.weight);
        if (node.slots != 1)
            tell(":s%u", node.slots);
        if (node.excluded)
            tell(":x");
    }
    return fleet_text;
}

static const char *read_quoted(const char *text, struct ocv_fleet_reading *how)
{
    char *json = quoted("%s", text);
    const char *told = read_text(json, how);
    free(json);
    return told;
}

START_TEST(test_documents)
{
    struct ocv_fleet_reading how = {.source = "f"}, named = {.source = "f", .name = "file"};
    ck_assert_str_eq(read_quoted(NAMED("n1"), &how), "n1=0");
    ck_assert_str_eq(read_quoted(NAMED("n1"), &named), "file=0");
    ck_assert_str_eq(read_quoted(NAMED("n1") "\n\n" NAMED("n2") "\r\n", &how), "n1=0 n2=0");
    ck_assert_str_eq(read_quoted("{'name':'n1','weight':3,'slots':2,'excluded':true,'profile':" H100
                                 "}\n{'name':'n2','profile':" H100 "}\n" NAMED("n3"),
                                 &how),
                     "n1=0:w3:s2:x n2=0 n3=1");
    /* as `kubectl get nodes -o json` writes it: the profile is text in the text */
    ck_assert_str_eq(
        read_text("{\n  \"kind\": \"List\", \"items\": [\n"
                  "{\"metadata\":{\"name\":\"k1\",\"annotations\":{\"dev.ocivariant/profile\":"
                  "\"{\\\"platform\\\":{\\\"architecture\\\":\\\"amd64\\\"},"
                  "\\\"namespaces\\\":[]}\"}},\"spec\":{\"unschedulable\":true}},\n"
                  "{\"metadata\":{\"name\":\"k2\"}}]}\n",
                  &how),
        "k1=0:x");
    ck_assert_uint_eq(how.without_profile, 1);
}
END_TEST

START_TEST(test_bad_documents)
{
    struct ocv_fleet_reading how = {.source = "f"};
    const struct {
        const char *text, *error;
    } bad[] = {
        {"", "error -4: f: the fleet is not valid JSON: line 1: '[' or '{' expected near end of "
             "file"},
        {NAMED("n1") "\nnothing\n", "error -4: f: line 2: the node is not valid JSON: line 1: '[' "
                                    "or '{' expected near 'nothing'"},
        {NAMED("n1") "\n" NAMED("n2") "\n" NAMED("n1"), "error -4: f: line 3: duplicate node 'n1'"},
        {NAMED("n 1"),
         "error -4: f: 'n 1' is not a valid node name: 1 to 253 of A-Z a-z 0-9 . _ : @ + "
         "-"},
        {"{'namespaces':[]}", "error -4: f: the profile has no 'hostname' to call the node by"},
        {"{'namespaces':7,'hostname':'x'}",
         "error -4: f: profile: 'namespaces' is missing or not a "
         "list"},
        {"{'name':'n1'}", "error -4: f: a node has neither 'profile' nor 'class'"},
        {"{'name':'n1','class':'0'}", "error -4: f: no line before this one has the class '0'"},
        {"{'name':'n1','slots':-1,'profile':" H100 "}", "error -4: f: 'slots' is not a number from "
                                                        "0 to 4294967295"},
        {"{'a':1}", "error -4: f: neither a profile, nor a node, nor a list of nodes"},
        {"{'items':3}", "error -4: f: 'items' is not a list"},
        {"{'items':[{'metadata':{'name':'k','annotations':{'dev.ocivariant/profile':'[]'}}}]}",
         "error -4: f: items[0]: node k: dev.ocivariant/profile is not a JSON object"},
        {"{'schema':'dev.ocivariant.fleet/v1','classes':0,'nodes':2}\n" NAMED("n1"),
         "error -4: f: not complete: 0 classes and 1 nodes where the header says 0 and 2"},
        {"{'class':'000000000000','profile':" H100 "}", "error -4: f: the class is f10e2d707e60, "
                                                        "not '000000000000'"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert_str_eq(read_quoted(bad[i].text, &how), bad[i].error);
}
END_TEST

START_TEST(test_bad_nodes_are_skipped)
{
    struct ocv_fleet_reading how = {.source = "f", .skip_bad = true};
    ck_assert_str_eq(read_quoted("{\n" NAMED("n1") "\n{'name':'b'}\n" NAMED("n2"), &how),
                     ""); /* no JSON Lines: one document, which is bad */
    ck_assert_uint_eq(how.skipped, 1);
    ck_assert_str_eq(read_quoted(NAMED("n1") "\n{'name':'b'}\nxx\n" NAMED("n2"), &how),
                     "n1=0 n2=0");
    ck_assert_uint_eq(how.skipped, 2);
    ck_assert_str_eq(how.first.message, "line 2: a node has neither 'profile' nor 'class'");
    ck_assert_str_eq(read_quoted(NAMED("n1") "\n" NAMED("n1"), &how),
                     "error -4: f: line 2: duplicate node 'n1'");
}
END_TEST

START_TEST(test_packed_is_the_same)
{
    struct ocv_error err = {0};
    struct dice r = {3};
    ocv_auto(ocv_fleet) fleet = new_fleet();
    ocv_auto_buffer first, second;
    ocv_buffer_init(&first, 1u << 20);
    ocv_buffer_init(&second, 1u << 20);
    for (unsigned i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%u", (i * 37) % 100);
        ocv_auto(ocv_profile) profile = profile_from(random_profile(&r));
        struct ocv_node node = {
            .name = name, .slots = roll(&r, 3), .weight = roll(&r, 2), .excluded = roll(&r, 2)};
        ck_assert_int_eq(ocv_fleet_add(fleet, &node, profile, &err), OCV_OK);
    }
    ck_assert_int_eq(ocv_fleet_pack(fleet, &first, &err), OCV_OK);
    ocv_auto(ocv_fleet) again = new_fleet();
    struct ocv_fleet_reading how = {.source = "packed"};
    ck_assert_msg(ocv_fleet_read(again, first.data, first.len, &how, &err) == OCV_OK, "%s",
                  err.message);
    ck_assert_uint_eq(ocv_fleet_count(again), 100);
    ck_assert_uint_eq(ocv_fleet_class_count(again), ocv_fleet_class_count(fleet));
    ck_assert_int_eq(ocv_fleet_pack(again, &second, &err), OCV_OK);
    ck_assert_str_eq(first.data, second.data);
    /* a fleet without its last node is not a valid, smaller fleet */
    size_t cut = (size_t)((char *)memrchr(first.data, '\n', first.len - 1) - first.data) + 1;
    ocv_auto(ocv_fleet) less = new_fleet();
    ck_assert_int_eq(ocv_fleet_read(less, first.data, cut, &how, &err), OCV_ERR_DATA);
}
END_TEST

static const char *expand_text(const char *text)
{
    struct ocv_error err = {0};
    size_t count;
    ocv_auto_buffer out;
    ocv_buffer_init(&out, 1u << 26);
    fleet_text_len = 0;
    fleet_text[0] = '\0';
    if (ocv_node_list_expand(text, strlen(text), &out, &count, &err) < 0) {
        tell("error %d: %s", err.status, err.message);
        return fleet_text;
    }
    const char *at = out.data;
    for (size_t i = 0; i < count && i < 20; i++, at += strlen(at) + 1)
        tell("%s%s", i ? " " : "", at);
    if (count > 20)
        tell(" ... %zu", count);
    return fleet_text;
}

START_TEST(test_node_lists)
{
    const struct {
        const char *text, *names;
    } lists[] = {
        {"", ""},
        {"n1", "n1"},
        {"n1,n2 n3\nn4", "n1 n2 n3 n4"},
        {"n[1-4,7],login", "n1 n2 n3 n4 n7 login"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"r[1-2]c[01-02]x", "r1c01x r1c02x r2c01x r2c02x"},
        {"[1-2]", "1 2"},
        {"n[0-999999]", "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15 n16 n17 n18 n19 "
                        "... 1000000"},
        {"n[0-1000000]", "error -2: node list: '0-1000000': a range of too many"},
        {"n[0-999999],x", "error -2: node list: more than 1000000 names"},
        {"n[1", "error -2: node list: '[1': ']' is missing"},
        {"n]", "error -2: node list: ']': ']' without '['"},
        {"n[]", "error -2: node list: '[]': nothing in the brackets"},
        {"n[2-1]", "error -2: node list: '2-1': not a number, or a range of numbers"},
        {"n[a]", "error -2: node list: 'a': not a number, or a range of numbers"},
        {"n[1-]", "error -2: node list: '1-': not a number, or a range of numbers"},
        {"n[1-2-3]", "error -2: node list: '1-2-3': not a number, or a range of numbers"},
        {"n[[1]]", "error -2: node list: '[1': not a number, or a range of numbers"},
        {"n[1234567890]", "error -2: node list: '1234567890': not a number, or a range of numbers"},
        {"[1][1][1][1]", "1111"},
        {"[1][1][1][1][1]", "error -2: node list: '[1]': too many brackets"},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        ck_assert_str_eq(expand_text(lists[i].text), lists[i].names);
    char longest[OCV_NODE_NAME_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[OCV_NODE_NAME_MAX + 1] = '\0';
    ck_assert_int_eq(strncmp(expand_text(longest), "error -2", 8), 0);
    longest[OCV_NODE_NAME_MAX] = '\0';
    ck_assert_str_eq(expand_text(longest), longest);
}
END_TEST

RUN_TESTS("fleet", test_documents, test_bad_documents, test_bad_nodes_are_skipped,
          test_packed_is_the_same, test_node_lists)
