/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/edit/source.c: the YAML that an index is made of; every mistake names its line. */
#include "lib/internal/edit/edit.h"
#include "test/unit/core_util.h"

static struct ocv_error err;

static int parse(const char *text, struct ocv_edit_source **out)
{
    *out = NULL;
    err = (struct ocv_error){0};
    return ocv_edit_source_parse("s.yaml", text, strlen(text), out, &err);
}

START_TEST(reads_everything)
{
    struct ocv_edit_source *s;
    int status = parse("schema: dev.ocivariant.index-source/v1\n"
                       "target: r.example/app:1\n"
                       "layout: same-platform\n"
                       "namespaces: [nvidia, x86_64]\n"
                       "static: {priority: ['order :: 1', 'order :: 2']}\n"
                       "annotations: {org.example: yes}\n"
                       "defaults: r.example/app:plain\n"
                       "variants:\n"
                       "- {label: null, image: a}\n"
                       "- label: cuda12.8\n"
                       "  image: b\n"
                       "  properties:\n"
                       "    nvidia: {sm_arch: [90_real, 80_real], cuda_version_lower_bound: 12.8}\n"
                       "- {label: v3, image: c, properties: ['x86_64::level::v3']}\n",
                       &s);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ck_assert_str_eq(ocv_edit_source_target(s), "r.example/app:1");
    ck_assert_int_eq(ocv_edit_source_layout(s, OCV_EDIT_HIDDEN), OCV_EDIT_SAME_PLATFORM);
    ck_assert_uint_eq(ocv_edit_source_count(s), 4);
    struct ocv_edit_source_image image = ocv_edit_source_image(s, 0);
    ck_assert_ptr_null(image.label);
    ck_assert_str_eq(image.reference, "r.example/app:plain");
    image = ocv_edit_source_image(s, 1);
    ck_assert_str_eq(image.label, "null");
    image = ocv_edit_source_image(s, 2);
    ck_assert_uint_eq(image.line, 10);
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 4000);
    ck_assert_int_eq(ocv_properties_format(image.properties, &text, &err), OCV_OK);
    ck_assert_str_eq(text.data, "nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: sm_arch :: "
                                "80_real, nvidia :: sm_arch :: 90_real");
    const char *key, *value;
    ck_assert(ocv_edit_source_annotation(s, 1, &key, &value));
    ck_assert_str_eq(key, "dev.ocivariant.static.priority");
    ck_assert_str_eq(value, "order :: 1, order :: 2");
    ck_assert(!ocv_edit_source_annotation(s, 3, &key, &value));
    ocv_edit_source_free(s);
}
END_TEST

/* One build for all: its entries are named by label, or by platform. */
START_TEST(names_entries_of_one_image)
{
    struct ocv_edit_source *s;
    int status = parse("image: oci:images:app\n"
                       "variants:\n"
                       "- {label: null}\n"
                       "- {label: a, properties: ['n::f::v']}\n"
                       "- {label: b, platform: linux/amd64/x-b2, properties: ['n::f::w']}\n"
                       "- {label: c, image: other, properties: ['n::f::x']}\n",
                       &s);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(ocv_edit_source_image(s, i).reference, "oci:images:app");
        ck_assert(ocv_edit_source_image(s, i).shared);
    }
    ck_assert_ptr_null(ocv_edit_source_image(s, 1).platform);
    ck_assert_str_eq(ocv_edit_source_image(s, 2).platform, "linux/amd64/x-b2");
    ck_assert_str_eq(ocv_edit_source_image(s, 3).reference, "other");
    ck_assert(!ocv_edit_source_image(s, 3).shared);
    ocv_edit_source_free(s);
}
END_TEST

static const char *const bad[][2] = {
    {"variants:\n- {label: null, image: b, platform: nonsense/of/all/sorts}\n",
     "s.yaml:2: 'platform' is not OS/ARCHITECTURE[/VARIANT]"},
    {"", "s.yaml:1: "},
    {"- a\n", "s.yaml:1: the file must be a mapping"},
    {"target: x\n", "s.yaml:1: no variant and no default"},
    {"variants: []\n\ncolour: red\n", "s.yaml:3: unknown key 'colour'"},
    {"variants:\n- {label: a, image: b, properties: ['n::f::v']}\n- {label: a..b, image: c}\n",
     "s.yaml:3: invalid value 'a..b' for label: a label: "},
    {"variants:\n- {label: a, image: b}\n", "s.yaml:2: a has no property"},
    {"variants:\n- {label: null, image: b, properties: ['n::f::v']}\n",
     "s.yaml:2: the label null cannot have properties"},
    {"variants:\n- label: a\n  image: b\n  properties:\n  - n::f::v\n  - n:f\n", "s.yaml:6: "},
    {"variants:\n- label: a\n  image: b\n  properties:\n    n:\n      f: V\n", "s.yaml:6: "},
    {"variants:\n- label: a\n  image: b\n  properties:\n    n:\n      f: []\n",
     "s.yaml:6: 'f' must be a text, or a list of at least 1"},
    {"variants:\n- {image: b}\n", "s.yaml:2: a variant lacks 'label'"},
    {"variants:\n- {label: a}\n", "s.yaml:2: a variant lacks 'image'"},
    {"variants:\n- {label: a, image: b, size: 3}\n", "s.yaml:2: unknown key 'size'"},
    {"variants:\n- {label: a, image: [b]}\n", "s.yaml:2: 'image' must be a text"},
    {"variants: a\n", "s.yaml:1: 'variants' must be a list"},
    {"defaults: a\nlayout: x\n", "s.yaml:2: invalid value 'x' for layout: hidden or same-platform"},
    {"defaults: a\nschema: x\n", "s.yaml:2: invalid value 'x' for schema: "},
    {"defaults: a\nnamespaces:\n- nvidia\n- AMD\n", "s.yaml:4: 'AMD' must be a namespace"},
    {"defaults: a\nstatic:\n  nvidia: ['a :: b']\n", "s.yaml:3: nvidia is probed on the host"},
    {"defaults: a\nannotations:\n  dev.ocivariant.label: x\n", "s.yaml:3: dev.ocivariant.label"},
    {"defaults: a\ndefaults: b\n", "s.yaml:2: "},
    {"defaults: a\n\tb: c\n", "s.yaml:2: "},
    {"defaults: &a b\nvariants: *a\n", "s.yaml:2: "},
    {"variants:\n- {label: a, image: b, properties: ['n::f::v']}\n"
     "- {label: a, image: b, properties: ['n::f::v']}\n",
     "s.yaml:3: the label 'a' was given to this image in line 2"},
};

START_TEST(names_the_line)
{
    struct ocv_edit_source *s;
    ck_assert_int_eq(parse(bad[_i][0], &s), OCV_ERR_DATA);
    ck_assert_msg(!strncmp(err.message, bad[_i][1], strlen(bad[_i][1])), "%s\ninstead of %s",
                  err.message, bad[_i][1]);
}
END_TEST

START_TEST(unquoted_properties_get_a_hint)
{
    struct ocv_edit_source *s;
    static const char *const lists[] = {"  - n :: f :: v\n", "  - n :: f\n"};
    for (size_t i = 0; i < 2; i++) {
        char *text = NULL;
        ck_assert_int_gt(
            asprintf(&text, "variants:\n- label: a\n  image: b\n  properties:\n%s", lists[i]), 0);
        ck_assert_int_eq(parse(text, &s), OCV_ERR_DATA);
        ck_assert_msg(strstr(err.hint, "in quotes"), "%s: %s", err.message, err.hint);
        free(text);
    }
}
END_TEST

START_TEST(too_many_properties_name_the_line)
{
    struct ocv_edit_source *s;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs("variants:\n- label: a\n  image: b\n  properties:\n", out);
    for (unsigned i = 0; i < 300; i++)
        fprintf(out, "  - namespace :: feature :: value%u\n", i);
    fclose(out);
    ck_assert_int_eq(parse(text, &s), OCV_ERR_DATA);
    ck_assert_msg(!strncmp(err.message, "s.yaml:", 7), "%s", err.message);
    free(text);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("edit_source");
    TCase *tcase = tcase_create("source");
    tcase_add_test(tcase, reads_everything);
    tcase_add_test(tcase, names_entries_of_one_image);
    tcase_add_loop_test(tcase, names_the_line, 0, (int)(sizeof(bad) / sizeof(*bad)));
    tcase_add_test(tcase, unquoted_properties_get_a_hint);
    tcase_add_test(tcase, too_many_properties_name_the_line);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
