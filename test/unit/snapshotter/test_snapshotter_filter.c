/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The snapshotter's filters: containerd's answers, but for regular expressions. */
#include "plugins/containerd/snapshotter/service/service_internal.h"
#include "test/unit/suite.h"

#include <stdlib.h>
#include <string.h>

static struct snap_info info_of(const char *name, const char *parent, enum snap_kind kind)
{
    struct snap_info info = {
        .name = (char *)(uintptr_t)name, .parent = (char *)(uintptr_t)parent, .kind = kind};
    snap_labels_init(&info.labels);
    return info;
}

static void label(struct snap_info *info, const char *key, const char *value)
{
    ck_assert_int_eq(snap_labels_set(&info->labels, key, value, NULL), GRPC_OK);
}

START_TEST(test_filters)
{
    static const struct {
        const char *text;
        const char *expected; /* which of the snapshots, or "!" for an error */
    } cases[] = {
        {"", "abc"},
        {"name", "abc"},
        {"name==a", "a"},
        {"name!=a", "bc"},
        {"kind==active", "a"},
        {"kind==committed", "c"},
        {"kind!=committed", "ab"},
        {"parent", "abc"},
        {"parent==c", "a"},
        {"parent==\"\"", "bc"},
        {"labels", ""},
        {"labels.foo", "ac"},
        {"labels.foo==true", "a"},
        {"labels.foo!=true", "bc"},
        {"labels.foo==omg_asdf.asdf-qwer", "c"},
        {"labels.\"foo\"==true,name==a", "a"},
        {"labels.\"containerd.io/snapshot.ref\"==sha256:0123,parent==\"c\"", "a"},
        {"labels.\"containerd.io/snapshot.ref\"", "a"},
        {"labels.containerd.\"io/x\"", "b"},
        {"labels.\"q \\\\ and \\\"\".post==present", "b"},
        {"labels.\"q \\\\ and \\\"\"", ""},
        {"labels.u==\"\\u00e9\\x41\\101\"", "b"},
        {" name == a", "a"},
        {"nothing", ""},
        {"nothing!=x", "abc"},
        {"name==foo,", "!"},
        {"labels.", "!"},
        {"image~=,id?=?fbaq", "!"},
        {"labels.|foo|==x", "!"},
        {"labels.?\"x\"", "!"},
        {"labels.fo-o==x", "!"}, /* to be quoted, as for containerd */
        {"-", "!"},
        {"name=a", "!"},
        {"name===a", "!"},
        {"name==", "!"},
        {"name==a b", "!"},
        {"name==\"a", "!"},
        {"name==\"a\\q\"", "!"},
        {"name==\"\\x4\"", "!"},
        {"name==\"\\000\"", "!"},
        {",", "!"},
        {"==a", "!"},
        {"name==/a/", "!"},
        {"name==|a|", "!"},
        {"/name/==a", "!"},
        {"name!!a", "!"},
        {"name~~a", "!"},
        {"name~=a", "!"},
        {"kind==view,name~=/^[ab]$/", "!"},
    };
    struct snap_info list[] = {info_of("a", "c", SNAP_ACTIVE), info_of("b", "", SNAP_VIEW),
                               info_of("c", "", SNAP_COMMITTED)};
    label(&list[0], "foo", "true");
    label(&list[0], "containerd.io/snapshot.ref", "sha256:0123");
    label(&list[1], "containerd.io/x", "1");
    label(&list[1], "q \\ and \".post", "present");
    label(&list[1], "u",
          "\xc3\xa9"
          "AA");
    label(&list[2], "foo", "omg_asdf.asdf-qwer");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct snap_filter *filter = NULL;
        struct ocv_error err = {0};
        char got[8] = "";
        size_t n = 0;
        char *text = (char *)(uintptr_t)cases[i].text;
        enum grpc_code code = snap_filter_new(&text, 1, &filter, &err);
        ck_assert_msg((code == GRPC_INVALID_ARGUMENT) == (cases[i].expected[0] == '!'), "%s: %d %s",
                      text, (int)code, err.message);
        for (size_t j = 0; filter && j < 3; j++)
            if (snap_filter_match(filter, &list[j]))
                got[n++] = list[j].name[0];
        if (filter)
            ck_assert_msg(strcmp(got, cases[i].expected) == 0, "%s: '%s'", text, got);
        snap_filter_free(filter);
    }
    for (size_t j = 0; j < 3; j++)
        ocv_buffer_free(&list[j].labels);
}
END_TEST

START_TEST(test_several)
{
    char *texts[SNAP_FILTERS_MAX + 1];
    struct snap_filter *filter = NULL;
    struct snap_info a = info_of("a", "", SNAP_ACTIVE);
    ck_assert_int_eq(snap_filter_new(NULL, 0, &filter, NULL), GRPC_OK);
    ck_assert(snap_filter_match(filter, &a));
    snap_filter_free(filter);
    for (size_t i = 0; i <= SNAP_FILTERS_MAX; i++)
        texts[i] = (char *)(uintptr_t)(i == 7 ? "name==a" : "name==b");
    ck_assert_int_eq(snap_filter_new(texts, SNAP_FILTERS_MAX, &filter, NULL), GRPC_OK);
    ck_assert(snap_filter_match(filter, &a)); /* any of them */
    snap_filter_free(filter);
    ck_assert_int_eq(snap_filter_new(texts, SNAP_FILTERS_MAX + 1, &filter, NULL),
                     GRPC_INVALID_ARGUMENT);
}
END_TEST

/* A regular expression is not a syntax error: the message says that it is not supported. */
START_TEST(test_regular_expression)
{
    char text[] = "name~=/^a/";
    struct snap_filter *filter = NULL;
    struct ocv_error err = {0};
    char *texts[] = {text};
    ck_assert_int_eq(snap_filter_new(texts, 1, &filter, &err), GRPC_INVALID_ARGUMENT);
    ck_assert_ptr_null(filter);
    ck_assert_msg(strstr(err.message, "regular expressions (~=) are not supported"), "%s",
                  err.message);
}
END_TEST

START_TEST(test_labels)
{
    struct ocv_buffer labels;
    char big[SNAP_LABEL_MAX + 1];
    const char *key, *value;
    size_t at = 0;
    snap_labels_init(&labels);
    ck_assert_int_eq(snap_labels_set(&labels, "b", "2", NULL), GRPC_OK);
    ck_assert_int_eq(snap_labels_set(&labels, "a", "1", NULL), GRPC_OK);
    ck_assert_int_eq(snap_labels_set(&labels, "c", "3", NULL), GRPC_OK);
    ck_assert_int_eq(snap_labels_set(&labels, "b", "twenty", NULL), GRPC_OK);
    ck_assert_int_eq(snap_labels_set(&labels, "a", "", NULL), GRPC_OK);
    ck_assert(snap_labels_next(&labels, &at, &key, &value));
    ck_assert_str_eq(key, "b");
    ck_assert_str_eq(value, "twenty");
    ck_assert(snap_labels_next(&labels, &at, &key, &value));
    ck_assert_str_eq(key, "c");
    ck_assert(!snap_labels_next(&labels, &at, &key, &value));
    ck_assert_ptr_null(snap_labels_get(&labels, "a"));
    memset(big, 'x', sizeof(big));
    big[SNAP_LABEL_MAX - 1] = '\0';
    ck_assert_int_eq(snap_labels_set(&labels, "k", big, NULL), GRPC_OK); /* at the limit */
    ck_assert_int_eq(snap_labels_set(&labels, "kk", big, NULL), GRPC_INVALID_ARGUMENT);
    ocv_buffer_free(&labels);
}
END_TEST

RUN_TESTS("snapshotter_filter", test_filters, test_several, test_regular_expression, test_labels)
