/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/edit: what no index may become, and what may stay. */
#include "test/unit/edit/edit_util.h"

START_TEST(refuses_what_readers_would)
{
    static const struct {
        const char *label, *properties, *message;
    } bad[] = {
        {"A", "n :: f :: v", "'A' is not a label"},
        {"a..b", "n :: f :: v", "'a..b' is not a label"},
        {"a1234567890123456789012345678901234567890123456789", "n :: f :: v", "is not a label"},
        {"null", "n :: f :: v", "the label null cannot have properties"},
        {"a", NULL, "it has no property"},
        {"cuda", "nvidia :: sm_arch :: 90_real", "the second image for linux/amd64"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ocv_edit *edit = open_author(PRETTY);
        ck_assert_int_eq(add(edit, 9, "linux/amd64", bad[i].label, bad[i].properties),
                         OCV_ERR_DATA);
        ck_assert_msg(strstr(err.message, bad[i].message), "%s", err.message);
        ocv_edit_free(edit);
    }
    struct ocv_edit *edit = open_author(PRETTY);
    ck_assert_int_eq(add(edit, 9, "linux/arm64", "cuda", "nvidia :: sm_arch :: 80_real"),
                     OCV_ERR_DATA);
    ck_assert_str_eq(err.message, "a label means the same properties on every platform");
    ocv_edit_free(edit);
}
END_TEST

START_TEST(refuses_bad_annotations)
{
    static const struct {
        const char *key, *value;
        int status;
    } bad[] = {
        {"dev.ocivariant.static.nvidia", "sm_arch :: 90_real", OCV_ERR_DATA},
        {"dev.ocivariant.static.A", "a :: b", OCV_ERR_DATA},
        {"dev.ocivariant.namespaces", "a, B", OCV_ERR_DATA},
        {"dev.ocivariant.label", "x", OCV_ERR_INVALID},
        {"", "x", OCV_ERR_INVALID},
        {"k", "\xff", OCV_ERR_DATA},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ocv_edit *edit = open_author(PRETTY);
        ck_assert_int_eq(ocv_edit_set(edit, bad[i].key, bad[i].value, &err), bad[i].status);
        ocv_edit_free(edit);
    }
}
END_TEST

START_TEST(namespaces_follow_only_where_nobody_chose_them)
{
    struct ocv_buffer out;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    /* no rule has "nvidia, x86_64" for an index that uses only nvidia */
    struct ocv_edit *edit = open_author(PRETTY);
    must_add(edit, 9, "linux/amd64", "rocm", "amd :: gfx_arch :: gfx942");
    ck_assert_int_eq(ocv_edit_format(edit, &out, &err), OCV_ERR_DATA);
    ck_assert_str_eq(err.message, "the namespaces of the index leave out 'amd'");
    ck_assert_msg(strstr(err.hint, "--namespaces 'nvidia, x86_64, amd'"), "%s", err.hint);
    ck_assert_int_eq(ocv_edit_set(edit, OCV_ANNOTATION_NAMESPACES, "nvidia,amd", &err), OCV_OK);
    ck_assert_int_eq(ocv_edit_format(edit, &out, &err), OCV_OK);
    ocv_edit_free(edit);
    edit = new_author(OCV_EDIT_HIDDEN);
    must_add(edit, 1, "linux/amd64", "rocm", "amd :: gfx_arch :: gfx942");
    char *text = format(edit);
    ocv_edit_free(edit);
    edit = open_author(text);
    must_add(edit, 2, "linux/amd64", "v3", "x86_64 :: level :: v3");
    must_add(edit, 3, "linux/amd64", "cuda", "nvidia :: sm_arch :: 90_real");
    free(format(edit));
    ck_assert_str_eq(ocv_edit_annotation(edit, OCV_ANNOTATION_NAMESPACES), "amd, nvidia, x86_64");
    free(text);
    ocv_edit_free(edit);
    ocv_buffer_free(&out);
}
END_TEST

START_TEST(what_was_wrong_before_does_not_forbid_an_edit)
{
    char *text = quoted("{'schemaVersion':2,'manifests':[{'mediaType':'" OCV_MEDIA_TYPE_MANIFEST
                        "','digest':'sha256:" ZERO63 "1','size':5,'annotations':"
                        "{'dev.ocivariant.label':'b a d','dev.ocivariant.properties':'x'}}]}");
    struct ocv_edit *edit = open_author(text);
    must_add(edit, 2, "linux/amd64", "null", NULL);
    free(format(edit));
    ocv_edit_free(edit);
    free(text);
}
END_TEST

START_TEST(opens_only_indexes)
{
    static const struct {
        const char *text;
        int status;
    } bad[] = {
        {"{}", OCV_ERR_DATA},
        {"{\"manifests\":{}}", OCV_ERR_DATA},
        {"{\"manifests\":[1]}", OCV_ERR_DATA},
        {"{\"schemaVersion\":2,\"layers\":[],\"config\":{}}", OCV_ERR_DATA},
        {"{\"m\\u0061nifests\":[]}", OCV_ERR_UNSUPPORTED},
        {"{\"mediaType\":\"" OCV_MEDIA_TYPE_DOCKER_LIST "\",\"manifests\":[]}",
         OCV_ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ocv_edit *edit = NULL;
        ck_assert_int_eq(
            ocv_edit_open(bad[i].text, strlen(bad[i].text), NULL, OCV_EDIT_HIDDEN, &edit, &err),
            bad[i].status);
    }
}
END_TEST

START_TEST(at_most_4096_entries)
{
    struct ocv_edit *edit = new_author(OCV_EDIT_HIDDEN);
    char label[32];
    for (unsigned i = 0; i < OCV_INDEX_ENTRIES_MAX; i++) {
        snprintf(label, sizeof(label), "v%u", i);
        must_add(edit, i, "linux/amd64", label, "x86_64 :: level :: v3");
    }
    ck_assert_int_eq(add(edit, 5000, "linux/amd64", "more", "x86_64 :: level :: v3"), OCV_ERR_DATA);
    ck_assert_str_eq(err.message, "more than 4096 entries");
    ocv_edit_free(edit);
}
END_TEST

RUN_TESTS("edit_refusals", refuses_what_readers_would, refuses_bad_annotations,
          namespaces_follow_only_where_nobody_chose_them,
          what_was_wrong_before_does_not_forbid_an_edit, opens_only_indexes, at_most_4096_entries)
