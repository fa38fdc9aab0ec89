/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Indexes in an index: order, platforms, what counts once, and each limit. */
#include "cmd/common/image/nested_index.h"
#include "ocivariant/digest.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENTS_MAX 96
#define LINUX(arch) ",\"platform\":{\"os\":\"linux\",\"architecture\":\"" arch "\"}"

static struct {
    char digest[OCV_DIGEST_MAX];
    char *text;
} documents[DOCUMENTS_MAX];
static size_t n_documents, n_read;

static const char *add_document(char *text)
{
    ck_assert_uint_lt(n_documents, DOCUMENTS_MAX);
    documents[n_documents].text = text;
    ck_assert_int_eq(ocv_digest_bytes(text, strlen(text), documents[n_documents].digest, NULL), 0);
    return documents[n_documents++].digest;
}

static char *index_of(const char *entries)
{
    char *text = NULL;
    ck_assert_int_gt(asprintf(&text, "{\"manifests\":[%s]}", entries), 0);
    return text;
}

/* An entry: an image (its digest is that of its name), or an index. */
static char *image(const char *name, const char *more)
{
    char digest[OCV_DIGEST_MAX], *text = NULL;
    ck_assert_int_eq(ocv_digest_bytes(name, strlen(name), digest, NULL), 0);
    ck_assert_int_gt(asprintf(&text,
                              "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":1%s,"
                              "\"annotations\":{\"name\":\"%s\"}}",
                              OCV_MEDIA_TYPE_MANIFEST, digest, more, name),
                     0);
    return text;
}

/* One and the same image, with other words about it. */
static char *plain_image(const char *more)
{
    char digest[OCV_DIGEST_MAX], *text = NULL;
    ck_assert_int_eq(ocv_digest_bytes("image", 5, digest, NULL), 0);
    ck_assert_int_gt(asprintf(&text, "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":1%s}",
                              OCV_MEDIA_TYPE_MANIFEST, digest, more),
                     0);
    return text;
}

static char *nested(const char *digest, const char *more)
{
    char *text = NULL;
    ck_assert_int_gt(asprintf(&text, "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":1%s}",
                              OCV_MEDIA_TYPE_INDEX, digest, more),
                     0);
    return text;
}

static char *join(char *a, char *b)
{
    char *text = NULL;
    ck_assert_int_gt(asprintf(&text, "%s,%s", a, b), 0);
    free(a);
    free(b);
    return text;
}

static int get(void *data, const struct ocv_descriptor *wanted, struct ocv_buffer *body,
               struct ocv_error *err)
{
    (void)data;
    n_read++;
    for (size_t i = 0; i < n_documents; i++)
        if (!strcmp(documents[i].digest, wanted->digest))
            return ocv_buffer_append(body, documents[i].text, strlen(documents[i].text), err);
    return ocv_error_set(err, OCV_ERR_NOT_FOUND, "not there");
}

static int get_config(void *data, const struct ocv_descriptor *wanted, struct ocv_buffer *body,
                      struct ocv_error *err)
{
    static const char text[] =
        "{\"os\":\"linux\",\"architecture\":\"arm64\",\"variant\":\"v8\",\"config\":null}";
    (void)data, (void)wanted;
    n_read++;
    return ocv_buffer_append(body, text, strlen(text), err);
}

static int flatten(char *entries, struct ocv_index **out, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    const struct nested_source source = {.get = get, .config = get_config};
    char *text = index_of(entries);
    n_read = 0;
    *out = NULL;
    ck_assert_int_eq(ocv_index_parse(text, strlen(text), NULL, &index, NULL), 0);
    ck_assert(nested_index_is(index, false));
    int status = nested_index_flatten(index, &source, out, err);
    if (status == OCV_OK)
        ck_assert_str_eq(ocv_index_digest(*out), ocv_index_digest(index));
    free(text);
    free(entries);
    return status;
}

/* That is all that is said of the index; NULL: nothing is. */
static void check_warning(const struct ocv_index *flat, const char *wanted)
{
    const char *const *warnings;
    ck_assert_uint_eq(ocv_index_warnings(flat, &warnings), wanted ? 1 : 0);
    if (wanted)
        ck_assert_str_eq(warnings[0], wanted);
}

static void forget_documents(void)
{
    while (n_documents)
        free(documents[--n_documents].text);
}

START_TEST(in_their_place_with_their_platform)
{
    ocv_auto(ocv_index) flat = NULL;
    struct ocv_error err = {0};
    char *one = join(image("a", ""), image("b", LINUX("riscv64")));
    char *inner = nested(add_document(index_of(one)), LINUX("arm64"));
    free(one);
    ck_assert_int_eq(
        flatten(join(join(image("first", LINUX("amd64")), inner), image("last", LINUX("amd64"))),
                &flat, &err),
        0);
    const char *wanted[] = {"amd64", "arm64", "riscv64", "amd64"};
    ck_assert_uint_eq(ocv_index_count(flat), 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(ocv_index_entry(flat, i)->platform.architecture, wanted[i]);
    ck_assert_uint_eq(n_read, 1);
}
END_TEST

START_TEST(each_index_counts_once)
{
    ocv_auto(ocv_index) flat = NULL;
    struct ocv_error err = {0};
    char *one = image("a", LINUX("amd64"));
    const char *digest = add_document(index_of(one));
    free(one);
    ck_assert_int_eq(flatten(join(nested(digest, ""), nested(digest, "")), &flat, &err), 0);
    ck_assert_uint_eq(ocv_index_count(flat), 1);
    ck_assert_uint_eq(n_read, 1);
}
END_TEST

/* Two indexes with other bytes list the same variant, which stays one; the same image without a
 * label, or with another one, is another choice. One label with other properties is a mistake. */
START_TEST(each_image_counts_once)
{
#define VARIANT(label, properties)                              \
    LINUX("amd64")                                              \
    ",\"annotations\":{\"dev.ocivariant.label\":\"" label "\"," \
    "\"dev.ocivariant.properties\":\"x86_64 :: level :: " properties "\"}"
    static const struct {
        const char *second;
        size_t entries, usable;
    } cases[] = {{VARIANT("a", "v3"), 1, 1},
                 {LINUX("amd64"), 2, 2},
                 {VARIANT("b", "v3"), 2, 2},
                 {VARIANT("a", "v2"), 2, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        ocv_auto(ocv_index) flat = NULL;
        struct ocv_error err = {0};
        char *one = plain_image(VARIANT("a", "v3")), *two = plain_image(cases[i].second);
        char *first = nested(add_document(index_of(one)), "");
        two = join(two, image("other", LINUX("arm64")));
        char *second = nested(add_document(index_of(two)), "");
        free(two);
        ck_assert_int_eq(flatten(join(join(first, second), one), &flat, &err), 0);
        size_t usable = 0;
        for (size_t k = 0; k < ocv_index_count(flat); k++)
            usable += ocv_index_entry(flat, k)->code == OCV_REJECT_NONE;
        ck_assert_uint_eq(ocv_index_count(flat), cases[i].entries + 1);
        ck_assert_uint_eq(usable, cases[i].usable + 1);
        forget_documents();
    }
}
END_TEST

START_TEST(what_is_not_there_stays_nested)
{
    ocv_auto(ocv_index) flat = NULL;
    struct ocv_error err = {0};
    char gone[OCV_DIGEST_MAX];
    ck_assert_int_eq(ocv_digest_bytes("gone", 4, gone, NULL), 0);
    ck_assert_int_eq(flatten(join(nested(gone, ""), image("a", LINUX("amd64"))), &flat, &err), 0);
    ck_assert_uint_eq(ocv_index_count(flat), 2);
    ck_assert_int_eq(ocv_index_entry(flat, 0)->code, OCV_REJECT_NESTED);
}
END_TEST

/* One level past the limit stays a nested index. */
START_TEST(depth)
{
    for (unsigned past = 0; past < 2; past++) {
        ocv_auto(ocv_index) flat = NULL;
        struct ocv_error err = {0};
        char *entries = image("deep", LINUX("amd64"));
        for (unsigned i = 0; i < NESTED_DEPTH_MAX + past; i++) {
            char *outer = nested(add_document(index_of(entries)), "");
            free(entries);
            entries = outer;
        }
        ck_assert_int_eq(flatten(entries, &flat, &err), 0);
        ck_assert_uint_eq(ocv_index_count(flat), 1);
        ck_assert_int_eq(ocv_index_entry(flat, 0)->code,
                         past ? OCV_REJECT_NESTED : OCV_REJECT_NONE);
        check_warning(flat, past ? "indexes in the index: more than 4 levels, left out" : NULL);
        forget_documents();
    }
}
END_TEST

START_TEST(number_of_indexes)
{
    ocv_auto(ocv_index) flat = NULL;
    struct ocv_error err = {0};
    char *entries = image("x", LINUX("amd64"));
    for (unsigned i = 0; i <= NESTED_INDEXES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "i%u", i);
        char *one = image(name, LINUX("amd64"));
        entries = join(entries, nested(add_document(index_of(one)), ""));
        free(one);
    }
    ck_assert_int_eq(flatten(entries, &flat, &err), 0);
    ck_assert_uint_eq(n_read, NESTED_INDEXES_MAX);
    ck_assert_uint_eq(ocv_index_count(flat), NESTED_INDEXES_MAX + 2);
    check_warning(flat, "indexes in the index: 64 are read, 1 left out");
}
END_TEST

START_TEST(number_of_entries)
{
    for (unsigned past = 0; past < 2; past++) {
        ocv_auto(ocv_index) flat = NULL;
        struct ocv_error err = {0};
        char *entries = NULL;
        for (size_t half = 0; half < 2; half++) {
            char *all = NULL;
            size_t len = 0;
            FILE *out = open_memstream(&all, &len);
            for (size_t i = half; i < OCV_INDEX_ENTRIES_MAX; i += 2) {
                char name[16];
                snprintf(name, sizeof(name), "a%zu", i);
                char *one = image(name, LINUX("amd64"));
                fprintf(out, "%s%s", i > half ? "," : "", one);
                free(one);
            }
            ck_assert_int_eq(fclose(out), 0);
            char *entry = nested(add_document(index_of(all)), "");
            entries = entries ? join(entries, entry) : entry;
            free(all);
        }
        if (past)
            entries = join(entries, image("past", LINUX("amd64")));
        ck_assert_int_eq(flatten(entries, &flat, &err), past ? OCV_ERR_DATA : OCV_OK);
        forget_documents();
    }
}
END_TEST

/* The platforms of the first ones stand in their configurations; the others stay without. */
START_TEST(number_of_configurations)
{
    ocv_auto(ocv_index) flat = NULL;
    struct ocv_error err = {0};
    char *entries = image("x", "");
    for (unsigned i = 0; i < NESTED_CONFIGS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "c%u", i);
        entries = join(entries, image(name, ""));
    }
    ck_assert_int_eq(flatten(entries, &flat, &err), 0);
    ck_assert_uint_eq(n_read, NESTED_CONFIGS_MAX);
    check_warning(flat, "images without a platform: the configurations of 16 are read, 1 left out");
    for (size_t i = 0; i <= NESTED_CONFIGS_MAX; i++) {
        const struct ocv_entry *entry = ocv_index_entry(flat, i);
        ck_assert(entry->has_platform == (i < NESTED_CONFIGS_MAX));
        if (entry->has_platform)
            ck_assert_str_eq(entry->platform.variant, "v8");
    }
}
END_TEST

/* What the entry says counts, the configuration (linux/arm64/v8) says the rest. */
START_TEST(platforms_with_a_member_missing)
{
    static const struct {
        const char *more, *os, *architecture, *variant;
    } partial[] = {
        {",\"platform\":{\"os\":\"linux\"}", "linux", "arm64", "v8"},
        {",\"platform\":{\"architecture\":\"arm64\"}", "linux", "arm64", "v8"},
        {",\"platform\":{\"architecture\":\"amd64\"}", "linux", "amd64", NULL},
        {",\"platform\":{\"os\":\"windows\",\"architecture\":\"\"}", "windows", "arm64", "v8"},
        {",\"platform\":{\"os\":\"\",\"architecture\":\"arm64\",\"variant\":\"v9\"}", "linux",
         "arm64", "v9"},
    };
    for (size_t i = 0; i < sizeof(partial) / sizeof(*partial); i++) {
        ocv_auto(ocv_index) flat = NULL;
        struct ocv_error err = {0};
        ck_assert_int_eq(flatten(image("alone", partial[i].more), &flat, &err), 0);
        const struct ocv_entry *entry = ocv_index_entry(flat, 0);
        ck_assert_str_eq(entry->platform.os, partial[i].os);
        ck_assert_str_eq(entry->platform.architecture, partial[i].architecture);
        ck_assert_pstr_eq(entry->platform.variant, partial[i].variant);
    }
}
END_TEST

START_TEST(annotations_of_the_first_count)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_index) flat = NULL;
    const struct nested_source source = {.get = get};
    struct ocv_error err = {0};
    char *one = image("a", LINUX("amd64")), *inner = NULL, *top = NULL;
    ck_assert_int_gt(asprintf(&inner,
                              "{\"manifests\":[%s],\"annotations\":{\"dev.ocivariant.namespaces\":"
                              "\"nvidia\"}}",
                              one),
                     0);
    char *entry = nested(add_document(inner), "");
    ck_assert_int_gt(asprintf(&top, "{\"manifests\":[%s]}", entry), 0);
    ck_assert_int_eq(ocv_index_parse(top, strlen(top), NULL, &index, &err), 0);
    ck_assert_int_eq(nested_index_flatten(index, &source, &flat, &err), 0);
    const char *const *namespaces;
    bool declared = false;
    ck_assert_uint_eq(ocv_index_namespaces(flat, &namespaces, &declared), 1);
    ck_assert(declared);
    free(one);
    free(entry);
    free(top);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("nested index");
    TCase *tc = tcase_create("nested index");
    tcase_add_checked_fixture(tc, NULL, forget_documents);
    tcase_add_test(tc, in_their_place_with_their_platform);
    tcase_add_test(tc, each_index_counts_once);
    tcase_add_test(tc, each_image_counts_once);
    tcase_add_test(tc, what_is_not_there_stays_nested);
    tcase_add_test(tc, depth);
    tcase_add_test(tc, number_of_indexes);
    tcase_add_test(tc, number_of_entries);
    tcase_add_test(tc, number_of_configurations);
    tcase_add_test(tc, platforms_with_a_member_missing);
    tcase_add_test(tc, annotations_of_the_first_count);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
