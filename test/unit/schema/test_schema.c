/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schema/: the JSON Schemas list what the library knows, and the documentation's example is valid.
 */
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *schema(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(json != NULL, "%s:%d: %s", path, error.line, error.text);
    return json;
}

/* Follow keys, the last one NULL. */
static json_t *at(json_t *json, const char *const *path)
{
    for (; *path && json; path++)
        json = json_object_get(json, *path);
    ck_assert_ptr_nonnull(json);
    return json;
}

static bool lists(const json_t *array, const char *text)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (strcmp(json_string_value(json_array_get(array, i)), text) == 0)
            return true;
    return false;
}

START_TEST(every_code_is_in_the_schema)
{
    json_t *root = schema("schema/decision.schema.json");
    json_t *codes =
        at(root, (const char *const[]){"$defs", "rejected", "properties", "code", "enum", NULL});
    for (int code = OCV_REJECT_NONE + 1; code < OCV_REJECT_MAX; code++)
        ck_assert_msg(lists(codes, ocv_reject_name((enum ocv_reject)code)), "%s",
                      ocv_reject_name((enum ocv_reject)code));
    ck_assert_uint_eq(json_array_size(codes), OCV_REJECT_MAX - 1);
    json_decref(root);
}
END_TEST

START_TEST(profile_schema_is_json)
{
    json_t *root = schema("schema/profile.schema.json");
    ck_assert_str_eq(
        json_string_value(at(root, (const char *const[]){"properties", "schema", "const", NULL})),
        "dev.ocivariant.profile/v1");
    json_decref(root);
}
END_TEST

/* The example of annotations.md: two variants, nothing malformed, no warning. */
START_TEST(documented_example)
{
    static char text[64 * 1024];
    struct ocv_error err = {0};
    ocv_auto(ocv_index) index = NULL;
    FILE *file = fopen("schema/annotations.md", "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    const char *start = strstr(text, "```json\n");
    ck_assert_ptr_nonnull(start);
    start += strlen("```json\n");
    const char *end = strstr(start, "```");
    ck_assert_ptr_nonnull(end);
    ck_assert_msg(
        ocv_index_parse(start, (size_t)(end - start), OCV_MEDIA_TYPE_INDEX, &index, &err) == 0,
        "%s", err.message);
    ck_assert_uint_eq(ocv_index_count(index), 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(ocv_index_entry(index, i)->code, OCV_REJECT_NONE);
    ck_assert_int_eq(ocv_index_entry(index, 0)->kind, OCV_ENTRY_NON_VARIANT);
    ck_assert_str_eq(ocv_index_entry(index, 1)->label, "cu128");
    const char *const *warnings;
    ck_assert_uint_eq(ocv_index_warnings(index, &warnings), 0);
}
END_TEST

RUN_TESTS("schema", every_code_is_in_the_schema, profile_schema_is_json, documented_example)
