/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The edits of setup on each kind of file: what is put in, and what is left when it is taken out
 * again from a file that others have changed. */
#include "cmd/variantctl/setup/setup.h"

#include "test/unit/core_util.h"

#include <sys/mman.h>
#include <unistd.h>

#define URL "http://127.0.0.1:5050"
#define OURS SETUP_HOSTS_COMMENT "\n[host.\"" URL "\"]\n  capabilities = [\"pull\", \"resolve\"]\n"

static void buffer_of(struct ocv_buffer *buffer, const char *text)
{
    ocv_buffer_init(buffer, SETUP_FILE_MAX);
    ck_assert_int_eq(ocv_buffer_append(buffer, text, strlen(text), NULL), OCV_OK);
}

static const struct {
    const char *from, *to, *back; /* back NULL: from */
} hosts[] = {
    {"", OURS, NULL},
    {"server = \"https://a\"\n", "server = \"https://a\"\n\n" OURS, "server = \"https://a\"\n\n"},
    {"server = \"https://a\"", "server = \"https://a\"\n\n" OURS, "server = \"https://a\"\n\n"},
    {"[host.\"https://b\"]\n  ca = \"x\"\n", OURS "\n[host.\"https://b\"]\n  ca = \"x\"\n", NULL},
    {"# of b\n  # too\n[host.'https://b']\n", OURS "\n# of b\n  # too\n[host.'https://b']\n", NULL},
    {"[header]\n  x = 'y'\n\n[host.\"b\".header]\n",
     "[header]\n  x = 'y'\n\n" OURS "\n[host.\"b\".header]\n", NULL},
};

START_TEST(our_host_comes_first_and_goes_again)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    buffer_of(&text, hosts[_i].from);
    ck_assert_int_eq(setup_hosts_edit("f", &text, URL, false, false, &err), OCV_OK);
    ck_assert_str_eq(text.data, hosts[_i].to);
    ck_assert_int_eq(setup_hosts_edit("f", &text, URL, false, false, &err), OCV_OK);
    ck_assert_str_eq(text.data, hosts[_i].to);
    ck_assert_int_eq(setup_hosts_remove("f", &text, URL, &err), OCV_OK);
    ck_assert_str_eq(text.data, hosts[_i].back ? hosts[_i].back : hosts[_i].from);
}
END_TEST

START_TEST(line_ends_and_dial_timeout)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    buffer_of(&text, "server = 'https://a'\r\n[host.b]\r\n");
    ck_assert_int_eq(setup_hosts_edit("f", &text, URL, false, true, &err), OCV_OK);
    ck_assert_ptr_nonnull(strstr(text.data, "  dial_timeout = \"1s\"\r\n\r\n[host.b]\r\n"));
    for (const char *at = text.data; (at = strchr(at, '\n')) != NULL; at++)
        ck_assert_int_eq(at[-1], '\r');
    ck_assert_int_eq(setup_hosts_remove("f", &text, URL, &err), OCV_OK);
    ck_assert_str_eq(text.data, "server = 'https://a'\r\n[host.b]\r\n");
}
END_TEST

START_TEST(fail_closed_needs_both_forms_and_no_way_round)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    buffer_of(&text, "");
    ck_assert_int_eq(setup_hosts_edit("f", &text, URL "/proxy", true, false, &err), OCV_OK);
    ck_assert_ptr_eq(strstr(text.data, "server = \"" URL "/proxy\"\n"), text.data);
    ck_assert_ptr_nonnull(strstr(text.data, "[host.\"" URL "/proxy\"]\n"));
    static const char *const bad[] = {"server = 'https://a'\n", "[host.a]\n"};
    for (size_t i = 0; i < 2; i++) {
        ocv_auto_buffer other;
        buffer_of(&other, bad[i]);
        ck_assert_int_eq(setup_hosts_edit("f", &other, URL "/proxy", true, false, &err),
                         OCV_ERR_CONFIG);
        ck_assert_str_eq(other.data, bad[i]);
    }
}
END_TEST

START_TEST(hosts_that_cannot_be_edited_are_refused)
{
    static const char *const bad[] = {"host = {}\n", "host.'a'.ca = 'x'\n", "[host\n",
                                      "[host]\na = {}\n"};
    for (size_t i = 0; i < 4; i++) {
        struct ocv_error err = {0};
        ocv_auto_buffer text;
        buffer_of(&text, bad[i]);
        ck_assert_int_lt(setup_hosts_edit("f", &text, URL, false, false, &err), 0);
        ck_assert_str_eq(text.data, bad[i]);
    }
}
END_TEST

static const struct {
    const char *from, *to, *back; /* back NULL: from */
} documents[] = {
    {"", "{\n  \"m\": [\"v\"]\n}\n", "{}\n"},
    {" \n", "{\n  \"m\": [\"v\"]\n}\n", "{}\n"},
    {"{}", "{\n  \"m\": [\"v\"]\n}", NULL},
    {"{\"a\":1}", "{\"a\":1, \"m\": [\"v\"]}", NULL},
    {"{ \"a\": [ ] }\n", "{ \"a\": [ ], \"m\": [\"v\"] }\n", NULL},
    {"{\n\t\"a\": {\"m\": []}\n}\n", "{\n\t\"a\": {\"m\": []},\n\t\"m\": [\"v\"]\n}\n", NULL},
    {"{\r\n  \"a\": \"}\\\",\"\r\n}", "{\r\n  \"a\": \"}\\\",\",\r\n  \"m\": [\"v\"]\r\n}", NULL},
    {"{\"m\": [], \"b\": 2}", "{\"m\": [\"v\"], \"b\": 2}", NULL},
    {"{\"m\": [ \"x\" ]}", "{\"m\": [ \"v\", \"x\" ]}", NULL},
    {"{\"m\": [\n    \"x\",\n    \"y\"\n  ]}", "{\"m\": [\n    \"v\",\n    \"x\",\n    \"y\"\n  ]}",
     NULL},
};

START_TEST(a_string_goes_into_json_and_out_again)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    bool made, again;
    buffer_of(&text, documents[_i].from);
    ck_assert_msg(setup_json_add("f", &text, "m", "v", &made, &err) == OCV_OK, "%s", err.message);
    ck_assert_str_eq(text.data, documents[_i].to);
    ck_assert_int_eq(setup_json_add("f", &text, "m", "v", &again, &err), OCV_OK);
    ck_assert_str_eq(text.data, documents[_i].to);
    ck_assert_int_eq(setup_json_remove("f", &text, "m", "v", made, &err), OCV_OK);
    /* an object that was empty inside may come back with other blanks: the same document */
    const char *back = documents[_i].back ? documents[_i].back : documents[_i].from;
    ck_assert_str_eq(text.data, back);
}
END_TEST

START_TEST(json_of_others_is_kept_around_ours)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    buffer_of(&text, "{\"z\":0,\"m\":[\"x\",\"v\"],\"a\":[\"v\"]}");
    ck_assert_int_eq(setup_json_remove("f", &text, "m", "v", true, &err), OCV_OK);
    ck_assert_str_eq(text.data, "{\"z\":0,\"m\":[\"x\"],\"a\":[\"v\"]}");
    ck_assert_int_eq(setup_json_remove("f", &text, "m", "v", true, &err), OCV_OK);
    ck_assert_str_eq(text.data, "{\"z\":0,\"m\":[\"x\"],\"a\":[\"v\"]}");
    ck_assert_int_eq(setup_json_remove("f", &text, "m", "x", true, &err), OCV_OK);
    ck_assert_str_eq(text.data, "{\"z\":0,\"a\":[\"v\"]}");
}
END_TEST

START_TEST(json_that_cannot_be_edited_is_refused)
{
    static const char *const bad[] = {
        "[]",
        "{",
        "{\"m\": \"v\"}",
        "{\"m\": [1]}",
        "{\"m\": null}",
        "{\"a\": 1, \"a\": 2}",
        "{} x",
        "{\"\\u006d\": [\"x\"]}",
        "\xef\xbb\xbf{}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ocv_error err = {0};
        ocv_auto_buffer text;
        bool made;
        buffer_of(&text, bad[i]);
        ck_assert_msg(setup_json_add("f", &text, "m", "v", &made, &err) < 0, "edited: %s", bad[i]);
        ck_assert_str_eq(text.data, bad[i]);
    }
}
END_TEST

START_TEST(a_nul_byte_is_no_json)
{
    static const char text[] = "{\"b\": [1\0, \"}\"]}";
    struct ocv_error err = {0};
    ocv_auto_buffer buffer;
    bool made;
    ocv_buffer_init(&buffer, SETUP_FILE_MAX);
    ck_assert_int_eq(ocv_buffer_append(&buffer, text, sizeof(text) - 1, &err), OCV_OK);
    ck_assert_int_eq(setup_json_add("f", &buffer, "m", "v", &made, &err), OCV_ERR_DATA);
}
END_TEST

START_TEST(a_string_goes_out_of_a_toml_list)
{
    static const struct {
        const char *with, *without;
        bool made;
    } cases[] = {
        {"[t.\"a.b\"]\n  m = [\"v\"]\n", "", true},
        {"[t.'a.b']\nm = [\"v\"]", "[t.'a.b']\nm = []", false},
        {"[t.'a.b']\nm = [ \"v\", 'x', ] # c\n", "[t.'a.b']\nm = [ 'x', ] # c\n", false},
        {"[t.'a.b']\nm = [ # c\n  \"v\",\n  'x', # x\n]\n", "[t.'a.b']\nm = [ # c\n  'x', # x\n]\n",
         false},
        {"[t.'a.b']\nm = ['x']\n", "[t.'a.b']\nm = ['x']\n", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ocv_error err = {0};
        ocv_auto_buffer text;
        buffer_of(&text, cases[i].with);
        ck_assert_int_eq(setup_toml_remove_item("f", &text, "t" TOML_DOT "a.b", "m", "v",
                                                cases[i].made, true, &err),
                         OCV_OK);
        ck_assert_str_eq(text.data, cases[i].without);
    }
}
END_TEST

START_TEST(lists_of_other_things_are_refused)
{
    static const char *const bad[] = {"[t]\nm = 'v'\n", "[t]\nm = [f\n#\"c\", \"w\"\n]\n",
                                      "[t]\nm = ['x', 1]\n", "[t]\nm = [['x']]\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ocv_error err = {0};
        ocv_auto_buffer text;
        buffer_of(&text, bad[i]);
        ck_assert_int_eq(setup_toml_remove_item("f", &text, "t", "m", "v", true, true, &err),
                         OCV_ERR_UNSUPPORTED);
        ck_assert_str_eq(text.data, bad[i]);
    }
}
END_TEST

START_TEST(only_our_registry_is_taken_out)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    buffer_of(&text, "[[registry]]\nprefix = \"a\"\nlocation = \"a\"\n\n"
                     "[[registry]]\nprefix = \"b\"\nlocation = \"b\"\n\n"
                     "[[registry.mirror]]\nlocation = \"m/b\"\n\n"
                     "[[registry]]\nprefix = \"c\"\n[[registry.mirror]]\nlocation = \"m/b\"\n");
    ck_assert_int_eq(setup_registry_remove("f", &text, "a", "m/a", NULL, &err), OCV_OK);
    ck_assert_int_eq(setup_registry_remove("f", &text, "b", "m/b", NULL, &err), OCV_OK);
    ck_assert_str_eq(text.data, "[[registry]]\nprefix = \"a\"\nlocation = \"a\"\n\n"
                                "[[registry]]\nprefix = \"c\"\n[[registry.mirror]]\nlocation = "
                                "\"m/b\"\n");
}
END_TEST

START_TEST(a_mirror_that_others_added_stays)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    buffer_of(&text, "[[registry]]\nprefix = \"a\"\n[[registry.mirror]]\nlocation = \"m/a\"\n"
                     "[[registry.mirror]]\nlocation = \"near\"\n");
    struct ocv_buffer same;
    buffer_of(&same, text.data);
    ck_assert_int_eq(setup_registry_remove("f", &text, "a", "m/a", "location = 'far'", &err),
                     OCV_OK);
    ck_assert_str_eq(text.data, "[[registry]]\nprefix = \"a\"\n"
                                "[[registry.mirror]]\nlocation = \"near\"\n");
    ck_assert_int_eq(setup_registry_remove("f", &same, "a", "m/a", "location = 'near'", &err),
                     OCV_OK);
    ck_assert_str_eq(same.data, "");
    ocv_buffer_free(&same);
}
END_TEST

START_TEST(a_key_that_others_changed_is_theirs)
{
    struct ocv_error err = {0};
    char table[] = "t", key[] = "k", value[] = "\"v\"", previous[] = "'old'";
    struct setup_own own = {SETUP_OWN_TOML_KEY, table, key, value, previous};
    ocv_auto_buffer text;
    buffer_of(&text, "[t]\nk = \"v\" # c\n");
    ck_assert_int_eq(setup_own_remove(&own, "f", &text, &err), OCV_OK);
    ck_assert_str_eq(text.data, "[t]\nk = 'old' # c\n");
    ck_assert_int_eq(setup_own_remove(&own, "f", &text, &err), OCV_OK);
    ck_assert_str_eq(text.data, "[t]\nk = 'old' # c\n");
    own.kind = (enum setup_own_kind)99;
    ck_assert_int_eq(setup_own_remove(&own, "f", &text, &err), OCV_ERR_DATA);
}
END_TEST

START_TEST(versions_as_programs_tell_them)
{
    static const struct {
        const char *text, *version;
        unsigned major, minor;
    } cases[] = {
        {"containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1", "1.6.20~ds1", 1, 6},
        {"containerd github.com/containerd/containerd/v2 v2.1.9 abc", "2.1.9", 2, 1},
        {"containerd containerd.io 1.7.27 05044ec0", "1.7.27", 1, 7},
        {"Docker version 20.10.24+dfsg1, build 5d6db84\n", "20.10.24+dfsg1", 20, 10},
        {"podman version 4.3.1", "4.3.1", 4, 3},
        {"crio version 1.29.0\nGitCommit: 1.2", "1.29.0", 1, 29},
        {"2.1", "2.1", 2, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct setup_version version = {0};
        ck_assert(setup_parse_version(cases[i].text, &version));
        ck_assert_str_eq(version.text, cases[i].version);
        ck_assert_uint_eq(version.major, cases[i].major);
        ck_assert_uint_eq(version.minor, cases[i].minor);
        ck_assert(setup_version_at_least(&version, cases[i].major, cases[i].minor));
        ck_assert(!setup_version_at_least(&version, cases[i].major, cases[i].minor + 1));
        ck_assert(!setup_version_at_least(&version, cases[i].major + 1, 0));
    }
    struct setup_version version = {0};
    ck_assert(!setup_parse_version("", &version));
    ck_assert(!setup_parse_version("docker v2 build", &version));
    ck_assert(!setup_parse_version("99999999999999999999.1", &version));
    ck_assert(!setup_version_at_least(&version, 0, 0));
}
END_TEST

static void content_of(struct setup_content *content, const char *text)
{
    *content = (struct setup_content){.there = text != NULL};
    buffer_of(&content->text, text ? text : "");
}

/* What is printed while standard output is a file. Returns the status. */
static int print_diff(const char *from_text, const char *to_text, char out[1024])
{
    struct ocv_error err = {0};
    struct setup_content from, to;
    int fd = memfd_create("out", 0), old = dup(STDOUT_FILENO);
    content_of(&from, from_text);
    content_of(&to, to_text);
    fflush(stdout);
    ck_assert(fd >= 0 && old >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
    int status = setup_print_diff("/f", &from, &to, &err);
    dup2(old, STDOUT_FILENO);
    ck_assert_msg(status == OCV_OK || status == OCV_ERR_UNSUPPORTED, "%s", err.message);
    ssize_t n = pread(fd, out, 1023, 0);
    ck_assert_int_ge((int)n, 0);
    out[n] = '\0';
    close(old);
    close(fd);
    ocv_buffer_free(&from.text);
    ocv_buffer_free(&to.text);
    return status;
}

static const struct {
    const char *from, *to, *diff;
} diffs[] = {
    {NULL, "a\n", "@@ -0,0 +1 @@\n+a\n"},
    {"a\n", NULL, "@@ -1 +0,0 @@\n-a\n"},
    {"a\nb", "b", "@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file\n"},
    {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\nx\n3\n4\n5\n6\n7\n8\n9\n10\ny\n",
     "@@ -1,5 +1,5 @@\n 1\n-2\n+x\n 3\n 4\n 5\n@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+y\n"},
    {"a\n", "a\n", ""}, /* other rights */
    {NULL, "", ""},
};

START_TEST(diffs_that_patch_takes)
{
    char want[1024], got[1024];
    const char *old = diffs[_i].from ? "a/f" : "/dev/null",
               *new = diffs[_i].to ? "b/f" : "/dev/null";
    snprintf(want, sizeof(want), "--- %s\n+++ %s\n%s", old, new, diffs[_i].diff);
    ck_assert_int_eq(print_diff(diffs[_i].from, diffs[_i].to, got), OCV_OK);
    ck_assert_str_eq(got, want);
    ck_assert_int_eq(setenv("PATH", "/nonexistent", 1), 0); /* where diff is not installed */
    ck_assert_int_eq(print_diff(diffs[_i].from, diffs[_i].to, got),
                     *diffs[_i].diff ? OCV_ERR_UNSUPPORTED : OCV_OK);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("setup_edit");
    TCase *tcase = tcase_create("edit");
    tcase_add_loop_test(tcase, our_host_comes_first_and_goes_again, 0,
                        (int)(sizeof(hosts) / sizeof(*hosts)));
    tcase_add_test(tcase, line_ends_and_dial_timeout);
    tcase_add_test(tcase, fail_closed_needs_both_forms_and_no_way_round);
    tcase_add_test(tcase, hosts_that_cannot_be_edited_are_refused);
    tcase_add_loop_test(tcase, a_string_goes_into_json_and_out_again, 0,
                        (int)(sizeof(documents) / sizeof(*documents)));
    tcase_add_test(tcase, json_of_others_is_kept_around_ours);
    tcase_add_test(tcase, a_nul_byte_is_no_json);
    tcase_add_test(tcase, json_that_cannot_be_edited_is_refused);
    tcase_add_test(tcase, a_string_goes_out_of_a_toml_list);
    tcase_add_test(tcase, lists_of_other_things_are_refused);
    tcase_add_test(tcase, only_our_registry_is_taken_out);
    tcase_add_test(tcase, a_mirror_that_others_added_stays);
    tcase_add_test(tcase, a_key_that_others_changed_is_theirs);
    tcase_add_test(tcase, versions_as_programs_tell_them);
    tcase_add_loop_test(tcase, diffs_that_patch_takes, 0, (int)(sizeof(diffs) / sizeof(*diffs)));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
