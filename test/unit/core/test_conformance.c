/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ordering vectors: our own in test/data/conformance, and the shared fixtures where they are. One
 * JSON object a line; see test/data/conformance/README. */
#include "test/unit/core_util.h"

#include <unistd.h>

static void fail_case(const json_t *c, const char *what, const char *got)
{
    ck_abort_msg("%s: %s, got: %s", json_string_value(json_object_get(c, "id")), what, got);
}

static void append_joined(char *out, size_t size, const json_t *list)
{
    size_t i;
    json_t *item;
    out[0] = '\0';
    json_array_foreach(list, i, item)
    {
        size_t at = strlen(out);
        ck_assert_uint_lt(at + strlen(json_string_value(item)) + 2, size);
        snprintf(out + at, size - at, "%s%s", i ? ", " : "", json_string_value(item));
    }
}

/* The vector's variants as an index; entries stand in the order of the object. */
static struct ocv_index *case_index(const json_t *c)
{
    char text[16384];
    const char *label;
    json_t *properties;
    append_joined(text, sizeof(text), json_object_get(c, "namespaces"));
    json_t *index = index_json(text);
    json_object_foreach(json_object_get(c, "variants"), label, properties)
    {
        append_joined(text, sizeof(text), properties);
        add_entry(index, "linux/amd64", label, text);
    }
    size_t i;
    json_array_foreach(json_object_get(c, "twins"), i, properties)
    {
        label = json_string_value(json_object_get(properties, "label"));
        append_joined(text, sizeof(text), json_object_get(json_object_get(c, "variants"), label));
        add_entry(index, "linux/amd64", label, text);
        append_joined(text, sizeof(text), json_object_get(properties, "os_features"));
        add_features(index, json_object_size(json_object_get(c, "variants")) + i, text);
    }
    return index_from(index);
}

static struct ocv_profile *host_profile(const json_t *namespaces)
{
    return profile_from(json_pack("{s:s, s:{s:s, s:s}, s:O}", "schema", "dev.ocivariant.profile/v1",
                                  "platform", "os", "linux", "architecture", "amd64", "namespaces",
                                  namespaces));
}

static void compare_order(const json_t *c, const struct ocv_decision *d)
{
    char expected[8192] = "";
    size_t i;
    json_t *label;
    json_array_foreach(json_object_get(c, "order"), i, label)
    {
        strncat(expected, i ? " " : "", sizeof(expected) - strlen(expected) - 1);
        strncat(expected, json_string_value(label), sizeof(expected) - strlen(expected) - 1);
    }
    if (strcmp(expected, order_text(d)) != 0)
        fail_case(c, expected, order_text(d));
}

static void compare_rejected(const json_t *c, const struct ocv_decision *d)
{
    const json_t *expected = json_object_get(c, "rejected");
    if (json_object_size(expected) != ocv_decision_rejected_count(d))
        fail_case(c, "number of rejected variants differs", order_text(d));
    for (size_t i = 0; i < ocv_decision_rejected_count(d); i++) {
        struct ocv_rejection r = ocv_decision_rejected(d, i);
        char property[256];
        snprintf(property, sizeof(property), "%s :: %s", r.ns ? r.ns : "",
                 r.feature ? r.feature : "");
        char name[256];
        size_t n = (size_t)snprintf(name, sizeof(name), "%s", r.entry->label);
        for (size_t k = 0; k < r.entry->platform.n_os_features; k++)
            n += (size_t)snprintf(name + n, sizeof(name) - n, "+%s",
                                  r.entry->platform.os_features[k]);
        if (r.code == OCV_REJECT_OS_FEATURES)
            snprintf(property, sizeof(property), "os.features");
        const char *want = json_string_value(json_object_get(expected, name));
        if (!want || strcmp(want, property) != 0)
            fail_case(c, want ? want : "not rejected", property);
    }
}

static void check_vector(const json_t *c)
{
    ocv_auto(ocv_index) index = case_index(c);
    ocv_auto(ocv_profile) probed = host_profile(json_object_get(c, "host"));
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_config) config = new_config();
    char user[8192];
    append_joined(user, sizeof(user), json_object_get(c, "host_os_features"));
    if (*user)
        set_config(config, "os_features", user);
    ck_assert_int_eq(ocv_config_override_profile(config, probed, &profile, NULL), OCV_OK);
    append_joined(user, sizeof(user), json_object_get(c, "user_namespaces"));
    if (*user)
        set_config(config, "namespace_priority", user);
    struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config)};
    ocv_auto(ocv_decision) d = resolve(index, profile, &options);
    compare_order(c, d);
    compare_rejected(c, d);
}

/* Calls `check` for every line of a file; returns the number of lines, -1 without the file. */
static int each_line(const char *path, void (*check)(const json_t *))
{
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    char *line = NULL;
    size_t cap = 0;
    int n = 0;
    while (getline(&line, &cap, file) > 0) {
        json_error_t e;
        json_t *c = json_loads(line, JSON_REJECT_DUPLICATES, &e);
        ck_assert_msg(c != NULL, "%s:%d: %s", path, n + 1, e.text);
        check(c);
        json_decref(c);
        n++;
    }
    free(line);
    fclose(file);
    return n;
}

static void check_fixture(const char *name, int expected, void (*check)(const json_t *))
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", fixtures_dir(), name);
    int n = each_line(path, check);
    if (n < 0)
        printf("skipped: no %s\n", path);
    else
        ck_assert_int_ge(n, expected);
}

START_TEST(test_resolve_vectors)
{
    check_fixture("conformance/resolve.jsonl", 2000, check_vector);
}
END_TEST

START_TEST(test_ties_vectors)
{
    check_fixture("conformance/ties.jsonl", 300, check_vector);
}
END_TEST

START_TEST(test_worked_vectors)
{
    check_fixture("conformance/worked.jsonl", 21, check_vector);
}
END_TEST

static char *read_text(const char *path, size_t *len)
{
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    char *text = malloc(OCV_MANIFEST_MAX + 1);
    *len = fread(text, 1, OCV_MANIFEST_MAX, file);
    text[*len] = '\0';
    fclose(file);
    return text;
}

/* A published index against one of the synthetic hosts. */
static void check_published(const json_t *c)
{
    char path[4096];
    size_t len;
    struct ocv_error err = {0};
    snprintf(path, sizeof(path), "%s/index/hosts.json", fixtures_dir());
    json_t *hosts = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(hosts);
    const char *host = json_string_value(json_object_get(c, "host"));
    ocv_auto(ocv_profile) profile = host_profile(json_object_get(hosts, host));
    json_decref(hosts);
    snprintf(path, sizeof(path), "%s/index/%s/index.json", fixtures_dir(),
             json_string_value(json_object_get(c, "index")));
    char *text = read_text(path, &len);
    ocv_auto(ocv_index) index = NULL;
    int status = ocv_index_parse(text, len, OCV_MEDIA_TYPE_INDEX, &index, &err);
    free(text);
    ck_assert_msg(status == OCV_OK, "%s: %s", path, err.message);
    ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
    compare_order(c, d);
    compare_rejected(c, d);
}

START_TEST(test_published_indexes)
{
    check_fixture("index/expected.jsonl", 240, check_published);
}
END_TEST

/* Our own vectors lie beside the sources; the tests run in the repository's root. */
START_TEST(test_own_vectors)
{
    ck_assert_int_ge(each_line("test/data/conformance/rules.jsonl", check_vector), 30);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("conformance");
    TCase *tcase = tcase_create("conformance");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_own_vectors);
    tcase_add_test(tcase, test_worked_vectors);
    tcase_add_test(tcase, test_ties_vectors);
    tcase_add_test(tcase, test_resolve_vectors);
    tcase_add_test(tcase, test_published_indexes);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
