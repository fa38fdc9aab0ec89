/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/edit: indexes that are made and edited. */
#include "lib/edit/edit.h"
#include "test/unit/core_util.h"

static struct ocv_error err;

#define ANNOTATIONS                                                      \
    "  \"annotations\" : {\"dev.ocivariant.schema\":\"1\", \"k\":\"v\"," \
    " \"dev.ocivariant.namespaces\":\"nvidia, x86_64\"},\n"
#define PLAIN                                                                        \
    "{ \"size\":5, \"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\n"  \
    "      \"digest\":\"sha256:" ZERO63 "1\", \"unknown\": [1, {\"a\":\"]}\\\"\"}]," \
    " \"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"} }"
#define ZERO63 "000000000000000000000000000000000000000000000000000000000000000"
#define CUDA                                                                                \
    "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"size\":5,"             \
    "\"digest\":\"sha256:" ZERO63 "2\",\"platform\":{\"architecture\":\"amd64\",\"os\":"    \
    "\"linux\",\"variant\":\"x-cuda\"},\"annotations\":{\"dev.ocivariant.label\":\"cuda\"," \
    "\"dev.ocivariant.properties\":\"nvidia :: sm_arch :: 90_real\"}}"
#define ATTESTATION                                                                         \
    "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"size\":5,"             \
    "\"digest\":\"sha256:" ZERO63 "3\",\"platform\":{\"architecture\":\"unknown\",\"os\":"  \
    "\"unknown\"},\"annotations\":{\"vnd.docker.reference.type\":\"attestation-manifest\"," \
    "\"vnd.docker.reference.digest\":\"sha256:" ZERO63 "2\"}}"
/* as no tool of ours would write it */
#define PRETTY                                                                          \
    "\n{ \"schemaVersion\": 2,\n" ANNOTATIONS "  \"mediaType\":\"" OCV_MEDIA_TYPE_INDEX \
    "\",\n  \"manifests\" : [\n    " PLAIN ",\n    " CUDA ",\n    " ATTESTATION         \
    "\n  ], \"other\": null }\n"

static struct ocv_edit *open_author(const char *text)
{
    struct ocv_edit *edit = NULL;
    int status = ocv_edit_open(text, strlen(text), NULL, OCV_EDIT_HIDDEN, &edit, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return edit;
}

static struct ocv_edit *new_author(enum ocv_edit_layout layout)
{
    struct ocv_edit *edit = NULL;
    ck_assert_int_eq(ocv_edit_new(layout, &edit, &err), OCV_OK);
    return edit;
}

/* Freed by the caller. */
static char *format(struct ocv_edit *edit)
{
    struct ocv_buffer out;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    int status = ocv_edit_format(edit, &out, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return out.data;
}

static int add(struct ocv_edit *edit, unsigned n, const char *platform, const char *label,
               const char *properties)
{
    ocv_auto(ocv_properties) set = NULL;
    ocv_auto(ocv_platform) p = NULL;
    ck_assert_int_eq(ocv_platform_parse(platform, &p, &err), OCV_OK);
    if (properties)
        ck_assert_int_eq(ocv_properties_parse(properties, strlen(properties), &set, &err), OCV_OK);
    struct ocv_edit_image image = {.label = label,
                                   .properties = set,
                                   .descriptor = {.media_type = OCV_MEDIA_TYPE_MANIFEST, .size = 5},
                                   .platform = *p};
    fake_digest(image.descriptor.digest, n);
    return ocv_edit_add(edit, &image, &err);
}

static void must_add(struct ocv_edit *edit, unsigned n, const char *platform, const char *label,
                     const char *properties)
{
    int status = add(edit, n, platform, label, properties);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
}

/* "LABEL/VARIANT ..." of all entries, '-' for nothing. Freed by the caller. */
static char *outline(struct ocv_edit *edit)
{
    char *text = format(edit), *out = NULL;
    struct ocv_index *index = parse_index(text);
    size_t size;
    FILE *stream = open_memstream(&out, &size);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        fprintf(stream, "%s%s/%s", i ? " " : "",
                e->code == OCV_REJECT_ATTESTATION ? "att"
                : e->label                        ? e->label
                                                  : "-",
                e->platform.variant ? e->platform.variant : "-");
    }
    fclose(stream);
    ocv_index_free(index);
    free(text);
    return out;
}

static void assert_outline(struct ocv_edit *edit, const char *expected)
{
    char *text = outline(edit);
    ck_assert_str_eq(text, expected);
    free(text);
}

static void assert_text(struct ocv_edit *edit, const char *expected)
{
    char *text = format(edit);
    ck_assert_str_eq(text, expected);
    free(text);
}

/* ---- bytes -------------------------------------------------------------------------------------
 */

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

/* ---- platforms ---------------------------------------------------------------------------------
 */

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

/* ---- the default entry -------------------------------------------------------------------------
 */

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
    ck_assert_str_eq(err.message, "the second default image for linux/arm/v7");
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
    edit = annotated_null(); /* beside an ordinary image it is the default no more */
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
    assert_outline(edit, "-/-"); /* the annotated one goes first */
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

/* ---- twins in other formats --------------------------------------------------------------------
 */

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

/* ---- refusals ----------------------------------------------------------------------------------
 */

START_TEST(refuses_what_readers_would)
{
    static const struct {
        const char *label, *properties, *message;
    } bad[] = {
        {"A", "n :: f :: v", "'A' is not a label"},
        {"a..b", "n :: f :: v", "'a..b' is not a label"},
        {"a1234567890123456789012345678901234567890123456789", "n :: f :: v", "is not a label"},
        {"null", "n :: f :: v", "the label null is for no property"},
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
    /* "nvidia, x86_64" is no rule's word for an index that uses nvidia alone */
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

int main(void)
{
    Suite *suite = suite_create("edit");
    TCase *tcase = tcase_create("edit");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, unchanged_is_as_it_was);
    tcase_add_test(tcase, add_and_remove_give_the_bytes_back);
    tcase_add_test(tcase, attestations_go_with_their_image);
    tcase_add_test(tcase, attestations_stand_as_their_images_do);
    tcase_add_test(tcase, annotations_keep_their_order);
    tcase_add_test(tcase, order_of_adding_does_not_matter);
    tcase_add_test(tcase, layouts);
    tcase_add_test(tcase, relayout_of_what_another_tool_made);
    tcase_add_test(tcase, null_becomes_an_entry_without_annotations);
    tcase_add_test(tcase, an_annotated_null_stays_until_it_is_laid_out_anew);
    tcase_add_test(tcase, null_names_the_default_entry);
    tcase_add_test(tcase, annotate_moves_and_renames);
    tcase_add_test(tcase, twins_stand_behind_the_plain_entry);
    tcase_add_test(tcase, refuses_what_readers_would);
    tcase_add_test(tcase, refuses_bad_annotations);
    tcase_add_test(tcase, namespaces_follow_only_where_nobody_chose_them);
    tcase_add_test(tcase, what_was_wrong_before_does_not_forbid_an_edit);
    tcase_add_test(tcase, opens_only_indexes);
    tcase_add_test(tcase, at_most_4096_entries);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
