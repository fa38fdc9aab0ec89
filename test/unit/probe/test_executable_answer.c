/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What executable providers may print, and what becomes of it. */
#include "lib/probe/executable/executable.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *accept_as(const char *name, const char *text, char *replaces)
{
    struct ocv_error err = {0};
    json_t *out = NULL;
    int status = ocv_executable_answer(name, text, strlen(text), &out, replaces, &err);
    ck_assert_msg(status == OCV_OK, "%s: %s", text, err.message);
    /* whatever is accepted is read back by every command */
    json_t *profile = json_pack("{s:[O]}", "namespaces", out);
    char *json = json_dumps(profile, 0);
    struct ocv_profile *parsed = NULL;
    status = ocv_profile_parse(json, strlen(json), &parsed, &err);
    ck_assert_msg(status == OCV_OK, "%s: %s", json, err.message);
    ocv_profile_free(parsed);
    free(json);
    json_decref(profile);
    return out;
}

static void expect_text(const char *text, const char *want)
{
    char replaces[OCV_EXECUTABLE_NAME_MAX + 1];
    json_t *out = accept_as("prog", text, replaces);
    char *json = json_dumps(out, JSON_COMPACT);
    ck_assert_str_eq(json, want);
    free(json);
    json_decref(out);
}

static void refuse(const char *text, const char *why)
{
    char replaces[OCV_EXECUTABLE_NAME_MAX + 1];
    struct ocv_error err = {0};
    json_t *out = NULL;
    int status = ocv_executable_answer("prog", text, strlen(text), &out, replaces, &err);
    ck_assert_msg(status == OCV_ERR_DATA, "%.200s: accepted, expected: %s", text, why);
    ck_assert_msg(strstr(err.message, why) != NULL, "'%s' is not in '%s'", why, err.message);
    ck_assert_ptr_null(out);
}

START_TEST(answers)
{
    expect_text("{\"namespace\":\"c\"}",
                "{\"namespace\":\"c\",\"provider\":{\"name\":\"prog\",\"kind\":\"executable\"},"
                "\"status\":\"ok\",\"features\":[]}");
    /* in the order of a profile, with our name, numbered */
    expect_text(
        "\n{\"devices\":[{\"id\":\"a\"},{\"id\":\"b\",\"secondary\":true}],\"guess\":true,"
        "\"features\":[{\"values\":[\"2.0\",\"1\"],\"name\":\"arch\"}],\"driver\":\"5\","
        "\"error\":\"half\",\"status\":\"partial\",\"provider\":{\"name\":\"nvidia\","
        "\"kind\":\"builtin\",\"version\":\"7\",\"source\":\"sysfs\"},\"namespace\":\"c\"}\n",
        "{\"namespace\":\"c\",\"provider\":{\"name\":\"prog\",\"kind\":\"executable\","
        "\"source\":\"sysfs\",\"version\":\"7\"},\"status\":\"partial\",\"error\":\"half\","
        "\"driver\":\"5\",\"guess\":true,\"features\":[{\"values\":[\"2.0\",\"1\"],"
        "\"name\":\"arch\"}],\"devices\":[{\"id\":\"a\",\"index\":0},"
        "{\"id\":\"b\",\"secondary\":true,\"index\":1}]}");
    expect_text("{\"namespace\":\"c\",\"status\":\"absent\",\"guess\":false,\"devices\":[],"
                "\"features\":[]}",
                "{\"namespace\":\"c\",\"provider\":{\"name\":\"prog\",\"kind\":\"executable\"},"
                "\"status\":\"absent\",\"features\":[]}");
    char replaces[OCV_EXECUTABLE_NAME_MAX + 1] = "old";
    json_decref(accept_as("p", "{\"namespace\":\"c\"}", replaces));
    ck_assert_str_eq(replaces, "");
    json_t *out = accept_as("p", "{\"namespace\":\"c\",\"replaces\":\"other\"}", replaces);
    ck_assert_str_eq(replaces, "other");
    ck_assert_ptr_null(json_object_get(out, "replaces"));
    json_decref(out);
}
END_TEST

START_TEST(wrong_answers)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "it printed nothing"},
        {"garbage", "not valid JSON: line 1"},
        {"{\"namespace\":\"c\"", "not valid JSON"},
        {"{\"namespace\":\"c\"} {}", "not valid JSON"},
        {"{\"namespace\":\"c\",\"namespace\":\"d\"}", "not valid JSON"},
        {"{\"namespace\":\"c\",\"driver\":\"a\\u0000b\"}", "not valid JSON"},
        {"{\"namespace\":\"\xff\"}", "not valid JSON"},
        {"[]", "not a JSON object"},
        {"{}", "'namespace' is missing"},
        {"{\"namespace\":5}", "'namespace' is missing or not of"},
        {"{\"namespace\":\"\"}", "'namespace' is missing or not of"},
        {"{\"namespace\":\"My-Chip\"}", "'namespace' is missing or not of"},
        {"{\"namespace\":\"c\",\"feature\":[]}", "'feature' is an unknown key"},
        {"{\"namespace\":\"c\",\"status\":\"fine\"}", "'status' is not one of"},
        {"{\"namespace\":\"c\",\"status\":1}", "'status' is not one of"},
        {"{\"namespace\":\"c\",\"status\":\"failed\"}", "no 'error' says why"},
        {"{\"namespace\":\"c\",\"status\":\"partial\"}", "no 'error' says why"},
        {"{\"namespace\":\"c\",\"status\":\"absent\",\"devices\":[{\"id\":\"a\"}]}",
         "'status' is 'absent', yet"},
        {"{\"namespace\":\"c\",\"status\":\"failed\",\"error\":\"e\",\"features\":[{\"name\":\"a\","
         "\"values\":[]}]}",
         "'status' is 'failed', yet"},
        {"{\"namespace\":\"c\",\"error\":\"\"}", "'error' is not a text or is empty"},
        {"{\"namespace\":\"c\",\"error\":\"\\u001b[31m\"}", "'error' has control characters"},
        {"{\"namespace\":\"c\",\"error\":\"\\u009b31m\"}", "'error' has control characters"},
        {"{\"namespace\":\"c\",\"error\":\"two\\nlines\"}", "'error' has control characters"},
        {"{\"namespace\":\"c\",\"driver\":5}", "'driver' is not a text"},
        {"{\"namespace\":\"c\",\"guess\":\"yes\"}", "'guess' is not true or false"},
        {"{\"namespace\":\"c\",\"replaces\":[\"x\"]}", "'replaces' is not a text"},
        {"{\"namespace\":\"c\",\"provider\":\"me\"}", "provider: not an object"},
        {"{\"namespace\":\"c\",\"provider\":{\"nam\":\"x\"}}", "provider: 'nam' is an unknown key"},
        {"{\"namespace\":\"c\",\"features\":{}}", "'features' is not a list"},
        {"{\"namespace\":\"c\",\"features\":[1]}", "features[0]: not an object"},
        {"{\"namespace\":\"c\",\"features\":[{\"name\":\"a\"}]}",
         "features[0]: 'values' is missing"},
        {"{\"namespace\":\"c\",\"features\":[{\"name\":\"A\",\"values\":[]}]}",
         "features[0]: 'name' is missing or not of"},
        {"{\"namespace\":\"c\",\"features\":[{\"name\":\"a\",\"values\":\"x\"}]}",
         "features[0]: 'values' is not a list"},
        {"{\"namespace\":\"c\",\"features\":[{\"name\":\"a\",\"values\":[\"x\",\"a b\"]}]}",
         "features[0]: values[1] is not a text of"},
        {"{\"namespace\":\"c\",\"features\":[{\"name\":\"a\",\"values\":[1]}]}",
         "features[0]: values[0] is not a text of"},
        {"{\"namespace\":\"c\",\"features\":[{\"name\":\"a\",\"values\":[]},"
         "{\"name\":\"a\",\"values\":[]}]}",
         "features[1]: a feature of this name is listed already"},
        {"{\"namespace\":\"c\",\"devices\":5}", "'devices' is not a list"},
        {"{\"namespace\":\"c\",\"devices\":[{}]}", "devices[0]: 'id' is missing"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":7}]}", "devices[0]: 'id' is not a text"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\"},{\"id\":\"a\"}]}",
         "devices[1]: its id or index is that of an earlier device"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"index\":3},{\"id\":\"b\",\"index\":3}]"
         "}",
         "devices[1]: its id or index"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\"},{\"id\":\"b\",\"index\":0}]}",
         "either every device has an 'index' or none"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"index\":-1}]}",
         "'index' is not a whole"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"index\":2147483647}]}",
         "'index' is not a whole"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"index\":\"0\"}]}",
         "'index' is not a whole"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"secondary\":1}]}",
         "'secondary' is not true"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"bus\":\"1\"}]}",
         "'bus' is an unknown key"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"attributes\":[]}]}",
         "'attributes' is not an object"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"attributes\":{\"Big\":\"1\"}}]}",
         "name of an attribute"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"attributes\":{\"memory\":1}}]}",
         "devices[0]: 'memory' is not a text"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"a\",\"features\":[{\"name\":\"a\","
         "\"values\":[\"-\"]}]}]}",
         "devices[0].features[0]: values[0] is not"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        refuse(cases[i].text, cases[i].why);
    /* deeper than anybody reads */
    char deep[8192] = "{\"namespace\":\"c\",\"features\":";
    size_t n = strlen(deep);
    memset(deep + n, '[', 5000);
    deep[n + 5000] = '\0';
    refuse(deep, "not valid JSON");
}
END_TEST

/* A text made of a head, `n` times a member with its number, and a tail. */
static char *repeat(const char *head, const char *member, size_t n, const char *tail)
{
    struct ocv_buffer b;
    ocv_buffer_init(&b, 64u << 20);
    ck_assert_int_eq(ocv_buffer_append(&b, head, strlen(head), NULL), OCV_OK);
    const char *mark = strchr(member, '#');
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(mark ? ocv_buffer_printf(&b, NULL, "%s%.*s%zu%s", i ? "," : "",
                                                  (int)(mark - member), member, i, mark + 1)
                              : ocv_buffer_printf(&b, NULL, "%s", member),
                         OCV_OK);
    ck_assert_int_eq(ocv_buffer_append(&b, tail, strlen(tail) + 1, NULL), OCV_OK);
    return b.data;
}

START_TEST(limits)
{
    static const struct {
        const char *head, *member, *tail;
        size_t max;
        const char *why;
    } cases[] = {
        {"{\"namespace\":\"c\",\"features\":[", "{\"name\":\"f#\",\"values\":[]}", "]}",
         OCV_EXECUTABLE_FEATURES_MAX, "'features' has more than 256 members"},
        {"{\"namespace\":\"c\",\"features\":[{\"name\":\"a\",\"values\":[", "\"#\"", "]}]}",
         OCV_EXECUTABLE_VALUES_MAX, "'values' has more than 4096 members"},
        {"{\"namespace\":\"c\",\"devices\":[", "{\"id\":\"d#\"}", "]}", OCV_EXECUTABLE_DEVICES_MAX,
         "'devices' has more than 1024 members"},
        {"{\"namespace\":\"c\",\"devices\":[{\"id\":\"d\",\"attributes\":{", "\"a#\":\"1\"", "}}]}",
         OCV_EXECUTABLE_ATTRIBUTES_MAX, "more than 64 attributes"},
        {"{\"namespace\":\"", "n", "\"}", OCV_EXECUTABLE_NAME_MAX, "longer than 64 characters"},
        {"{\"namespace\":\"c\",\"replaces\":\"", "n", "\"}", OCV_EXECUTABLE_NAME_MAX,
         "longer than 64 bytes"},
        {"{\"namespace\":\"c\",\"features\":[{\"name\":\"a\",\"values\":[\"", "v", "\"]}]}",
         OCV_EXECUTABLE_VALUE_MAX, "longer than 128 characters"},
        {"{\"namespace\":\"c\",\"error\":\"", "e", "\"}", OCV_EXECUTABLE_TEXT_MAX,
         "longer than 1024 bytes"},
        {"{\"namespace\":\"c\",\"driver\":\"", "1", "\"}", OCV_EXECUTABLE_DRIVER_MAX,
         "longer than 63 bytes"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char replaces[OCV_EXECUTABLE_NAME_MAX + 1];
        char *text = repeat(cases[i].head, cases[i].member, cases[i].max, cases[i].tail);
        json_decref(accept_as("prog", text, replaces));
        free(text);
        text = repeat(cases[i].head, cases[i].member, cases[i].max + 1, cases[i].tail);
        refuse(text, cases[i].why);
        free(text);
    }
}
END_TEST

RUN_TESTS("executable answer", answers, wrong_answers, limits)
