/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/internal/edit: indexes that are made and edited. */
#include "test/unit/edit/edit_util.h"

START_TEST(unchanged_is_as_it_was)
{
    static const char *const texts[] = {PRETTY, "{\"schemaVersion\":2,\"manifests\":[]}",
                                        "{\"manifests\":[ ]}",
                                        "{\"manifests\":[" CUDA "],\"annotations\":null}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct ocv_edit *edit = open_author(texts[i]);
        assert_text(edit, texts[i]);
        ocv_edit_free(edit);
    }
}
END_TEST

START_TEST(add_and_remove_give_the_bytes_back)
{
    struct ocv_edit *edit = open_author(PRETTY);
    must_add(edit, 9, "linux/amd64", "v3", "x86_64 :: level :: v3");
    char *text = format(edit);
    ck_assert_ptr_nonnull(strstr(text, PLAIN ",\n    " CUDA ",\n    {\"annotations\":"));
    ck_assert_ptr_nonnull(strstr(text, "},\n    " ATTESTATION "\n  ], \"other\": null }\n"));
    free(text);
    ck_assert_int_eq(ocv_edit_remove(edit, "v3", NULL, &err), OCV_OK);
    assert_text(edit, PRETTY);
    ocv_edit_free(edit);
}
END_TEST

START_TEST(attestations_go_with_their_image)
{
    struct ocv_edit *edit = open_author(PRETTY);
    assert_outline(edit, "-/- cuda/x-cuda att/-");
    ck_assert_int_eq(ocv_edit_remove(edit, "cuda", NULL, &err), OCV_OK);
    assert_outline(edit, "-/-");
    ck_assert_int_eq(ocv_edit_remove(edit, "cuda", NULL, &err), OCV_ERR_NOT_FOUND);
    ocv_edit_free(edit);
    /* not while another entry has the same image */
    edit = open_author(PRETTY);
    must_add(edit, 2, "linux/amd64", "again", "nvidia :: sm_arch :: 80_real");
    ck_assert_int_eq(ocv_edit_remove(edit, "cuda", NULL, &err), OCV_OK);
    assert_outline(edit, "-/- again/x-again att/-");
    ocv_edit_free(edit);
}
END_TEST

START_TEST(what_is_made_again_takes_the_place)
{
    ocv_auto(ocv_properties) lent = NULL;
    struct ocv_edit *edit = open_author(PRETTY);
    ck_assert_int_eq(ocv_edit_properties(edit, "cuda", &lent, &err), OCV_OK);
    ck_assert_uint_eq(ocv_properties_count(lent), 1);
    ck_assert_str_eq(ocv_properties_get(lent, 0).value, "90_real");
    ocv_properties_free(lent);
    lent = NULL;
    ck_assert_int_eq(ocv_edit_properties(edit, "rocm", &lent, &err), OCV_ERR_NOT_FOUND);
    ck_assert_ptr_null(lent);
    replace = true;
    must_add(edit, 7, "linux/amd64", "cuda", "nvidia :: sm_arch :: 80_real");
    assert_outline(edit, "-/- cuda/x-cuda"); /* the old image's attestation is removed with it */
    must_add(edit, 8, "linux/amd64", NULL, NULL);
    must_add(edit, 9, "linux/arm64", "cuda", "nvidia :: sm_arch :: 80_real");
    assert_outline(edit, "-/- cuda/x-cuda cuda/x-cuda");
    /* of two that are added here none is the old one */
    ck_assert_int_eq(add(edit, 6, "linux/amd64", "cuda", "nvidia :: sm_arch :: 80_real"),
                     OCV_ERR_DATA);
    ck_assert_str_eq(err.hint, "");
    replace = false;
    ocv_edit_free(edit);
    edit = open_author(PRETTY);
    ck_assert_int_eq(add(edit, 7, "linux/amd64", "cuda", "nvidia :: sm_arch :: 90_real"),
                     OCV_ERR_DATA);
    ck_assert_str_eq(err.hint, "to replace that one: index add --replace");
    ocv_edit_free(edit);
}
END_TEST

/* They stand in the order of their images, whichever came first, and each once. */
START_TEST(attestations_stand_as_their_images_do)
{
    static const char first[] =
        "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"size\":5,"
        "\"digest\":\"sha256:" ZERO63 "4\",\"platform\":{\"architecture\":\"unknown\",\"os\":"
        "\"unknown\"},\"annotations\":{\"vnd.docker.reference.type\":\"attestation-manifest\","
        "\"vnd.docker.reference.digest\":\"sha256:" ZERO63 "1\"}}";
    struct ocv_edit *edit = open_author(PRETTY);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(ocv_edit_add_raw(edit, first, strlen(first), &err), OCV_OK);
    char *text = format(edit);
    ck_assert_ptr_nonnull(strstr(text, CUDA ",\n    "));
    const char *a = strstr(text, first), *b = strstr(text, ATTESTATION);
    ck_assert_msg(a && b && a < b && !strstr(a + 1, first), "%s", text);
    free(text);
    ocv_edit_free(edit);
}
END_TEST

START_TEST(annotations_keep_their_order)
{
    struct ocv_edit *edit = open_author(PRETTY);
    ck_assert_int_eq(ocv_edit_set(edit, "k", "w", &err), OCV_OK);
    char *text = format(edit);
    ck_assert_ptr_nonnull(
        strstr(text, "\"annotations\" : {\"dev.ocivariant.schema\":\"1\",\"k\":\"w\","
                     "\"dev.ocivariant.namespaces\":\"nvidia, x86_64\"},\n  \"mediaType\""));
    free(text);
    ck_assert_int_eq(ocv_edit_set(edit, "k", NULL, &err), OCV_OK);
    ck_assert_ptr_null(ocv_edit_annotation(edit, "k"));
    ocv_edit_free(edit);
    /* where there are none */
    edit = open_author("{\"manifests\":[" CUDA "] }");
    ck_assert_int_eq(ocv_edit_set(edit, "k", "w", &err), OCV_OK);
    assert_text(edit, "{\"manifests\":[" CUDA "],\"annotations\":{\"k\":\"w\"} }");
    ocv_edit_free(edit);
}
END_TEST

START_TEST(order_of_adding_does_not_matter)
{
    static const struct {
        const char *platform, *label, *properties;
    } all[] = {
        {"linux/amd64", "null", NULL},
        {"linux/arm64/v8", "null", NULL},
        {"linux/amd64", "cuda12.8", "nvidia :: sm_arch :: 90_real, nvidia :: sm_arch :: 80_real"},
        {"linux/arm64/v8", "cuda12.8", "nvidia::sm_arch::80_real,nvidia::sm_arch::90_real"},
        {"linux/amd64/v3", "v3", "x86_64 :: level :: v3"},
        {"linux/s390x", NULL, NULL},
    };
    char *first = NULL;
    for (size_t start = 0; start < 6; start++)
        for (size_t step = 1; step < 6; step += 4) {
            struct ocv_edit *edit = new_author(OCV_EDIT_HIDDEN);
            for (size_t i = 0, k = start; i < 6; i++, k = (k + step) % 6)
                must_add(edit, (unsigned)k + 1, all[k].platform, all[k].label, all[k].properties);
            char *text = format(edit);
            if (first)
                ck_assert_str_eq(text, first);
            else
                first = strdup(text);
            free(text);
            assert_outline(edit, "-/- -/v8 -/- cuda12.8/x-cuda12-8 v3/x-v3 cuda12.8/x-cuda12-8");
            ocv_edit_free(edit);
        }
    ck_assert_ptr_nonnull(strstr(first, "\"dev.ocivariant.namespaces\":\"nvidia, x86_64\""));
    free(first);
}
END_TEST

START_TEST(layouts)
{
    struct ocv_edit *edit = new_author(OCV_EDIT_SAME_PLATFORM);
    must_add(edit, 1, "linux/arm64/v8", "cuda", "nvidia :: sm_arch :: 90_real");
    must_add(edit, 2, "linux/arm64/v8", "null", NULL);
    assert_outline(edit, "-/v8 cuda/v8");
    char *text = format(edit);
    ocv_edit_free(edit);
    edit = open_author(text);
    ck_assert_int_eq(ocv_edit_relayout(edit, &err), OCV_OK);
    assert_outline(edit, "-/v8 cuda/x-cuda");
    free(text);
    text = format(edit);
    ocv_edit_free(edit);
    edit = open_author(text);
    ck_assert_int_eq(ocv_edit_relayout(edit, &err), OCV_OK);
    assert_text(edit, text); /* nothing to do */
    free(text);
    ocv_edit_free(edit);
}
END_TEST

START_TEST(relayout_of_what_another_tool_made)
{
    /* wrong order, amd64 v1, true platforms */
    char *text = quoted(
        "{'schemaVersion':2,'mediaType':'" OCV_MEDIA_TYPE_INDEX "','manifests':["
        "{'mediaType':'" OCV_MEDIA_TYPE_MANIFEST "','digest':'sha256:" ZERO63 "1','size':5,"
        "'platform':{'os':'linux','architecture':'amd64'},'annotations':{'dev.ocivariant.label':"
        "'v3','dev.ocivariant.properties':'x86_64 :: level :: v3'}},"
        "{'mediaType':'" OCV_MEDIA_TYPE_MANIFEST "','digest':'sha256:" ZERO63 "2','size':5,"
        "'platform':{'os':'linux','architecture':'amd64','variant':'v1'},'annotations':"
        "{'dev.ocivariant.label':'null','dev.ocivariant.properties':''}}]}");
    struct ocv_edit *edit = open_author(text);
    ck_assert_int_eq(ocv_edit_relayout(edit, &err), OCV_OK);
    assert_outline(edit, "-/- v3/x-v3");
    free(text);
    text = format(edit); /* with the annotations that the other tool could not write */
    ck_assert_ptr_nonnull(strstr(text, "\"dev.ocivariant.schema\":\"1\""));
    ck_assert_ptr_nonnull(strstr(text, "\"dev.ocivariant.namespaces\":\"x86_64\""));
    ocv_edit_free(edit);
    free(text);
    /* an index without variants needs none */
    text = quoted("{'schemaVersion':2,'mediaType':'" OCV_MEDIA_TYPE_INDEX "','manifests':["
                  "{'mediaType':'" OCV_MEDIA_TYPE_MANIFEST "','digest':'sha256:" ZERO63
                  "1','size':5,'platform':{'os':'linux','architecture':'amd64'}}]}");
    edit = open_author(text);
    ck_assert_int_eq(ocv_edit_relayout(edit, &err), OCV_OK);
    assert_text(edit, text);
    ocv_edit_free(edit);
    free(text);
}
END_TEST

#define NULL_ENTRY(digit, platform)                                                           \
    "{'mediaType':'" OCV_MEDIA_TYPE_MANIFEST "','digest':'sha256:" ZERO63 digit "','size':5," \
    "'platform':{'os':'linux','architecture':'amd64'" platform "},'annotations':{"            \
    "'dev.ocivariant.label':'null','dev.ocivariant.properties':''}}"

static struct ocv_edit *annotated_null(void)
{
    char *text = quoted("{'schemaVersion':2,'manifests':[" NULL_ENTRY("1", "") "]}");
    struct ocv_edit *edit = open_author(text);
    free(text);
    return edit;
}

START_TEST(null_becomes_an_entry_without_annotations)
{
    struct ocv_edit *edit = new_author(OCV_EDIT_HIDDEN), *other;
    must_add(edit, 1, "linux/arm/v6", "null", NULL);
    must_add(edit, 2, "linux/arm/v7", "null", NULL);
    must_add(edit, 3, "linux/arm/v5", NULL, NULL);
    must_add(edit, 4, "linux/arm/v7", "cuda", "nvidia :: sm_arch :: 90_real");
    assert_outline(edit, "-/v7 -/v6 -/v5 cuda/x-cuda");
    ck_assert_ptr_null(strstr(ocv_edit_entry(edit, 0), "annotations"));
    ck_assert_int_eq(add(edit, 5, "linux/arm/v7", "null", NULL), OCV_ERR_DATA);
    ck_assert_str_eq(err.message, "the second default for linux/arm/v7");
    ck_assert_int_eq(add(edit, 5, "linux/arm/v7", NULL, NULL), OCV_ERR_INVALID);
    ck_assert_msg(strstr(err.message, "null= and --default"), "%s", err.message);
    ocv_edit_free(edit);
    /* byte for byte what an ordinary image gives */
    edit = new_author(OCV_EDIT_HIDDEN);
    other = new_author(OCV_EDIT_HIDDEN);
    must_add(edit, 1, "linux/arm64/v8", "null", NULL);
    must_add(other, 1, "linux/arm64/v8", NULL, NULL);
    char *text = format(other);
    assert_text(edit, text);
    free(text);
    ocv_edit_free(edit);
    ocv_edit_free(other);
}
END_TEST

START_TEST(an_annotated_null_stays_until_it_is_laid_out_anew)
{
    struct ocv_edit *edit = annotated_null();
    must_add(edit, 2, "linux/amd64", "v3", "x86_64 :: level :: v3");
    must_add(edit, 3, "linux/arm64", "null", NULL);
    assert_outline(edit, "null/- -/- v3/x-v3");
    ck_assert_int_eq(add(edit, 4, "linux/amd64", "null", NULL), OCV_ERR_DATA);
    ocv_edit_free(edit);
    edit = annotated_null(); /* beside an ordinary image it is no longer the default */
    must_add(edit, 2, "linux/amd64", NULL, NULL);
    assert_outline(edit, "-/- null/x-null");
    ck_assert_int_eq(ocv_edit_relayout(edit, &err), OCV_OK);
    assert_outline(edit, "-/- null/x-null");
    ocv_edit_free(edit);
    edit = annotated_null();
    ck_assert_int_eq(ocv_edit_relayout(edit, &err), OCV_OK);
    assert_outline(edit, "-/-");
    ck_assert_ptr_null(strstr(ocv_edit_entry(edit, 0), "annotations"));
    ocv_edit_free(edit);
}
END_TEST

START_TEST(null_names_the_default_entry)
{
    struct ocv_edit *edit = annotated_null();
    must_add(edit, 2, "linux/arm64", "null", NULL);
    ck_assert_int_eq(ocv_edit_remove(edit, "null", NULL, &err), OCV_OK);
    assert_outline(edit, "-/-"); /* the annotated one is removed first */
    ck_assert_int_eq(ocv_edit_remove(edit, "null", NULL, &err), OCV_OK);
    assert_outline(edit, "");
    ck_assert_int_eq(ocv_edit_remove(edit, "null", NULL, &err), OCV_ERR_NOT_FOUND);
    ocv_edit_free(edit);
    /* and becomes it */
    edit = open_author(PRETTY);
    ck_assert_int_eq(ocv_edit_remove(edit, NULL, NULL, &err), OCV_OK);
    ck_assert_int_eq(ocv_edit_annotate(edit, "cuda", NULL, "null", NULL, &err), OCV_ERR_DATA);
    ocv_edit_free(edit);
    edit = open_author(PRETTY);
    ocv_auto(ocv_properties) none = NULL;
    ck_assert_int_eq(ocv_properties_parse("", 0, &none, &err), OCV_OK);
    ck_assert_int_eq(ocv_edit_remove(edit, NULL, NULL, &err), OCV_OK);
    ck_assert_int_eq(ocv_edit_annotate(edit, "cuda", NULL, "null", none, &err), OCV_OK);
    assert_outline(edit, "-/- att/-");
    ocv_edit_free(edit);
}
END_TEST

START_TEST(annotate_moves_and_renames)
{
    ocv_auto(ocv_properties) set = NULL;
    struct ocv_edit *edit = new_author(OCV_EDIT_HIDDEN);
    must_add(edit, 1, "linux/amd64", NULL, NULL);
    must_add(edit, 2, "linux/arm64", NULL, NULL);
    ck_assert_int_eq(ocv_properties_parse("x86_64 :: level :: v3", 21, &set, &err), OCV_OK);
    ck_assert_int_eq(ocv_edit_annotate(edit, "sha256:" ZERO63 "1", NULL, "v3", set, &err), OCV_OK);
    assert_outline(edit, "-/- v3/x-v3");
    ck_assert_int_eq(ocv_edit_annotate(edit, "v3", NULL, "a.b", NULL, &err), OCV_OK);
    assert_outline(edit, "-/- a.b/x-a-b");
    ck_assert_int_eq(ocv_edit_annotate(edit, "gone", NULL, "x", NULL, &err), OCV_ERR_NOT_FOUND);
    ocv_edit_free(edit);
}
END_TEST

static int add_twin(struct ocv_edit *edit, unsigned n, const char *label, const char *text,
                    const char *feature)
{
    ocv_auto(ocv_properties) set = NULL;
    if (text)
        ck_assert_int_eq(ocv_properties_parse(text, strlen(text), &set, &err), OCV_OK);
    struct ocv_edit_image image = {.label = label,
                                   .properties = set,
                                   .descriptor = {.media_type = OCV_MEDIA_TYPE_MANIFEST, .size = 5},
                                   .platform = {.os = "linux",
                                                .architecture = "amd64",
                                                .os_features = &feature,
                                                .n_os_features = feature ? 1 : 0}};
    fake_digest(image.descriptor.digest, n);
    return ocv_edit_add(edit, &image, &err);
}

START_TEST(twins_stand_behind_the_plain_entry)
{
    static const char sm90[] = "nvidia :: sm_arch :: 90_real";
    static const char nydus[] = "nydus.remoteimage.v1";
    ocv_auto(ocv_properties) set = NULL;
    struct ocv_edit *edit = new_author(OCV_EDIT_HIDDEN);
    ck_assert_int_eq(add_twin(edit, 1, "cuda", sm90, nydus), OCV_OK);
    ck_assert_int_eq(add_twin(edit, 2, NULL, NULL, nydus), OCV_OK);
    ck_assert_int_eq(add_twin(edit, 3, "cuda", sm90, NULL), OCV_OK);
    ck_assert_int_eq(add_twin(edit, 4, "null", NULL, NULL), OCV_OK);
    assert_outline(edit, "-/- -/- cuda/x-cuda cuda/x-cuda");
    ck_assert_ptr_null(strstr(ocv_edit_entry(edit, 0), nydus));
    ck_assert_ptr_nonnull(strstr(ocv_edit_entry(edit, 1), nydus));
    ck_assert_ptr_null(strstr(ocv_edit_entry(edit, 2), nydus));
    ck_assert_ptr_nonnull(strstr(ocv_edit_entry(edit, 3), nydus));
    ck_assert_int_eq(add_twin(edit, 5, "cuda", sm90, nydus), OCV_ERR_DATA);
    ck_assert_int_eq(add_twin(edit, 5, NULL, NULL, nydus), OCV_ERR_DATA);
    ck_assert_int_eq(add_twin(edit, 5, "cuda", "nvidia :: sm_arch :: 80_real", "erofs"),
                     OCV_ERR_DATA);
    ck_assert_msg(strstr(err.message, "the same properties"), "%s", err.message);
    /* a label is all of them */
    ck_assert_int_eq(ocv_properties_parse("nvidia :: sm_arch :: 80_real", 28, &set, &err), OCV_OK);
    ck_assert_int_eq(ocv_edit_annotate(edit, "cuda", NULL, "sm80", set, &err), OCV_OK);
    assert_outline(edit, "-/- -/- sm80/x-sm80 sm80/x-sm80");
    ck_assert_int_eq(ocv_edit_relayout(edit, &err), OCV_OK);
    assert_outline(edit, "-/- -/- sm80/x-sm80 sm80/x-sm80");
    ck_assert_int_eq(ocv_edit_remove(edit, "sm80", NULL, &err), OCV_OK);
    assert_outline(edit, "-/- -/-");
    ocv_edit_free(edit);
}
END_TEST

RUN_TESTS("edit", unchanged_is_as_it_was, add_and_remove_give_the_bytes_back,
          attestations_go_with_their_image, what_is_made_again_takes_the_place,
          attestations_stand_as_their_images_do, annotations_keep_their_order,
          order_of_adding_does_not_matter, layouts, relayout_of_what_another_tool_made,
          null_becomes_an_entry_without_annotations,
          an_annotated_null_stays_until_it_is_laid_out_anew, null_names_the_default_entry,
          annotate_moves_and_renames, twins_stand_behind_the_plain_entry)
