/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Index documents: limits at and one past each, what is an error and what costs one entry only. */
#include "lib/core/core_internal.h"
#include "lib/core/resolve/resolve_internal.h"
#include "test/unit/core_util.h"

static int parse(const char *text, size_t len, const char *type, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    int status = ocv_index_parse(text, len, type, &index, err);
    ck_assert(status == OCV_OK || index == NULL);
    return status;
}

#define D "'digest':'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'"
#define T "'mediaType':'" OCV_MEDIA_TYPE_MANIFEST "'"
#define ENTRY(members) "{'schemaVersion':2,'manifests':[{" members "}]}"

static const struct {
    const char *text, *type;
    int status;
} documents[] = {
    {ENTRY(T "," D ",'size':0"), NULL, OCV_OK},
    {ENTRY(T "," D ",'size':9223372036854775807"), NULL, OCV_OK},
    {"{'manifests':[]}", NULL, OCV_OK},
    {"{'manifests':[],'x':{'a':[1,2,{}]}}", NULL, OCV_OK},
    {"{'manifests':[],'annotations':null}", NULL, OCV_OK},
    {"{'manifests':[]}", OCV_MEDIA_TYPE_INDEX, OCV_OK},
    {"{'manifests':[]}", OCV_MEDIA_TYPE_DOCKER_LIST "; charset=utf-8", OCV_OK},
    {"{'manifests':[]}", "application/json", OCV_OK},
    {"{'mediaType':'" OCV_MEDIA_TYPE_INDEX "','manifests':[]}", OCV_MEDIA_TYPE_INDEX, OCV_OK},
    {"{'mediaType':'" OCV_MEDIA_TYPE_INDEX "','manifests':[]}", OCV_MEDIA_TYPE_MANIFEST,
     OCV_ERR_DATA},
    {"{'mediaType':'" OCV_MEDIA_TYPE_MANIFEST "','manifests':[]}", NULL, OCV_ERR_DATA},
    {"{'mediaType':'" OCV_MEDIA_TYPE_DOCKER_LIST "','manifests':[]}", OCV_MEDIA_TYPE_INDEX,
     OCV_ERR_DATA},
    {"{'mediaType':7,'manifests':[]}", NULL, OCV_ERR_DATA},
    {"{'manifests':[],'layers':[]}", NULL, OCV_ERR_DATA},
    {"{'layers':[]}", NULL, OCV_ERR_DATA},
    {"{}", NULL, OCV_ERR_DATA},
    {"[]", NULL, OCV_ERR_DATA},
    {"", NULL, OCV_ERR_DATA},
    {"{'manifests':{}}", NULL, OCV_ERR_DATA},
    {"{'manifests':[],'annotations':[]}", NULL, OCV_ERR_DATA},
    {"{'manifests':[]} x", NULL, OCV_ERR_DATA},
    {"{'manifests':[],'manifests':[]}", NULL, OCV_ERR_DATA},
    {ENTRY(T "," D ",'size':1,'size':1"), NULL, OCV_ERR_DATA},
    {ENTRY(T "," D ",'size':1,'annotations':{'a':'1','a':'1'}"), NULL, OCV_ERR_DATA},
    {"{'mediaType':'" OCV_MEDIA_TYPE_INDEX "'}", NULL, OCV_OK},
    {"{'mediaType':'" OCV_MEDIA_TYPE_INDEX "','manifests':null}", NULL, OCV_OK},
    {"{'manifests':null}", OCV_MEDIA_TYPE_INDEX, OCV_OK},
    {"{'manifests':null}", NULL, OCV_ERR_DATA},
    {"{'manifests':[],'layers':null}", NULL, OCV_OK},
    {"{'mediaType':null,'manifests':[]}", NULL, OCV_OK},
    {ENTRY(T "," D ",'size':1,'platform':null"), NULL, OCV_OK},
    {ENTRY(T "," D ",'size':1,'annotations':{'x':7}"), NULL, OCV_OK},
    {ENTRY(T "," D ",'size':1,'x':'\xff'"), NULL, OCV_ERR_DATA},
    {ENTRY(T "," D ",'size':1,'x':'\xed\xa0\x80'"), NULL, OCV_ERR_DATA},
    {ENTRY(T "," D ",'size':1,'x':'\\u0000'"), NULL, OCV_ERR_DATA},
};

START_TEST(test_documents)
{
    struct ocv_error err = {0};
    char *text = quoted("%s", documents[_i].text);
    int status = parse(text, strlen(text), documents[_i].type, &err);
    ck_assert_msg(status == documents[_i].status, "%s: %d %s", text, status, err.message);
    ck_assert(status == OCV_OK || err.message[0]);
    free(text);
}
END_TEST

/* A malformed entry loses itself: the good one beside it is read. */
static const char *const malformed[] = {
    "7",
    "null",
    "{}",
    "{" T "," D ",'size':-1}",
    "{" T "," D ",'size':1.0}",
    "{" T "," D ",'size':'1'}",
    "{" T "," D "}",
    "{" T "," D ",'size':null}",
    "{" T ",'size':1}",
    "{" D ",'size':1}",
    "{" T ",'digest':'sha256:abc','size':1}",
    "{" T ",'digest':'../x','size':1}",
    "{" T ",'digest':7,'size':1}",
    "{" T "," D ",'size':1,'platform':7}",
    "{" T "," D ",'size':1,'platform':{'os':7}}",
    "{" T "," D ",'size':1,'platform':{'os.features':'x'}}",
    "{" T "," D ",'size':1,'platform':{'os.features':[7]}}",
    "{" T "," D ",'size':1,'annotations':7}",
};

START_TEST(test_malformed_entry)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_index) index = NULL;
    char *text = quoted("{'manifests':[%s,{" T "," D ",'size':3}]}", malformed[_i]);
    ck_assert_msg(ocv_index_parse(text, strlen(text), NULL, &index, &err) == 0, "%s: %s", text,
                  err.message);
    const struct ocv_entry *bad = ocv_index_entry(index, 0), *good = ocv_index_entry(index, 1);
    ck_assert_msg(bad->code == OCV_REJECT_MALFORMED && bad->detail, "%s: %s", text,
                  ocv_reject_name(bad->code));
    ck_assert_str_eq(bad->digest, "");
    ck_assert_str_eq(bad->media_type, "");
    ck_assert_int_eq(good->code, OCV_REJECT_NONE);
    ck_assert_int_eq(good->size, 3);
    free(text);
}
END_TEST

/* As Go writes empty lists and pointers: as if it were not there. */
static const char *const nulls[] = {
    "'annotations':null",
    "'artifactType':null",
    "'urls':null",
    "'data':null",
    ("'platform':{'os':'linux','architecture':'amd64','variant':null,'os.version':null,"
     "'os.features':null}"),
    "'annotations':{'dev.ocivariant.label':null,'dev.ocivariant.properties':null}",
    "'annotations':{'vnd.docker.reference.type':null}",
};

START_TEST(test_null_member)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_index) index = NULL;
    char *text = quoted("{'manifests':[{" T "," D ",'size':3,%s}],'annotations':null,"
                        "'subject':null}",
                        nulls[_i]);
    ck_assert_msg(ocv_index_parse(text, strlen(text), NULL, &index, &err) == 0, "%s: %s", text,
                  err.message);
    const struct ocv_entry *entry = ocv_index_entry(index, 0);
    ck_assert_msg(entry->code == OCV_REJECT_NONE && entry->kind == OCV_ENTRY_NON_VARIANT, "%s: %s",
                  text, ocv_reject_name(entry->code));
    ck_assert_ptr_null(entry->platform.variant);
    ck_assert_ptr_null(entry->platform.os_version);
    ck_assert_uint_eq(entry->platform.n_os_features, 0);
    free(text);
}
END_TEST

START_TEST(test_entries_limit)
{
    for (unsigned past = 0; past < 2; past++) {
        struct ocv_error err = {0};
        json_t *json = index_json(NULL);
        for (unsigned i = 0; i < OCV_INDEX_ENTRIES_MAX + past; i++)
            add_entry(json, "linux/amd64", NULL, NULL);
        char *text = json_dumps(json, JSON_COMPACT);
        ck_assert_int_eq(parse(text, strlen(text), NULL, &err), past ? OCV_ERR_DATA : OCV_OK);
        free(text);
        json_decref(json);
    }
}
END_TEST

START_TEST(test_bytes_limit)
{
    static const char head[] = "{\"manifests\":[]";
    char *text = malloc(OCV_MANIFEST_MAX + 2);
    struct ocv_error err = {0};
    memset(text, ' ', OCV_MANIFEST_MAX + 2);
    memcpy(text, head, sizeof(head) - 1);
    text[OCV_MANIFEST_MAX - 1] = '}';
    ck_assert_int_eq(parse(text, OCV_MANIFEST_MAX, NULL, &err), OCV_OK);
    ck_assert_int_eq(parse(text, OCV_MANIFEST_MAX + 1, NULL, &err), OCV_ERR_DATA);
    free(text);
}
END_TEST

/* 4,000 bytes of properties are read; one more costs the entry, not the index. */
/* A tree of small values takes many times its bytes of memory. */
START_TEST(test_values_limit)
{
    static const char head[] = "{\"schemaVersion\":2,\"manifests\":[],\"a,[{\\\"\":[0";
    struct ocv_error err = {0};
    size_t n = OCV_JSON_VALUES_MAX - 8; /* the object counts three times */
    char *text = malloc(sizeof(head) + 2 * (n + 1) + 2);
    ck_assert_ptr_nonnull(text);
    memcpy(text, head, sizeof(head) - 1);
    for (size_t more = 0; more < 2; more++) {
        char *p = text + sizeof(head) - 1;
        for (size_t i = 0; i < n + more; i++, p += 2)
            memcpy(p, ",0", 2);
        memcpy(p, "]}", 2);
        ck_assert_int_eq(parse(text, (size_t)(p + 2 - text), NULL, &err),
                         more ? OCV_ERR_DATA : OCV_OK);
    }
    ck_assert_str_eq(err.message, "index has more than 262144 values");
    free(text);
}
END_TEST

START_TEST(test_properties_bytes)
{
    char list[OCV_ENTRY_PROPERTIES_BYTES_MAX + 2] = "n::f::1";
    memset(list + 7, ' ', sizeof(list) - 8);
    list[sizeof(list) - 1] = '\0';
    for (unsigned past = 0; past < 2; past++) {
        list[OCV_ENTRY_PROPERTIES_BYTES_MAX + past] = '\0';
        json_t *json = index_json(NULL);
        add_entry(json, "linux/amd64", "x", list);
        ocv_auto(ocv_index) index = index_from(json);
        ck_assert_int_eq(ocv_index_entry(index, 0)->code,
                         past ? OCV_REJECT_TOO_LONG : OCV_REJECT_NONE);
        list[OCV_ENTRY_PROPERTIES_BYTES_MAX] = ' ';
    }
}
END_TEST

/* The count is looked at before the bytes: it makes the index malformed, the bytes only the entry.
 */
START_TEST(test_properties_count_and_bytes)
{
    struct ocv_error err = {0};
    struct ocv_buffer list;
    ocv_buffer_init(&list, 65536);
    for (int i = 0; i <= (int)OCV_ENTRY_PROPERTIES_MAX; i++)
        ck_assert_int_eq(ocv_buffer_printf(&list, NULL, "%sn :: f :: %d", i ? ", " : "", i),
                         OCV_OK);
    json_t *json = index_json(NULL);
    add_entry(json, "linux/amd64", "x", list.data);
    char *text = json_dumps(json, 0);
    ck_assert_int_eq(parse(text, strlen(text), NULL, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "512"));
    free(text);
    json_decref(json);
    ocv_buffer_free(&list);
}
END_TEST

/* 512 properties of 7 bytes and a comma are 4,095 bytes: only shorter pieces reach the count. */
START_TEST(test_properties_count)
{
    char list[OCV_ENTRY_PROPERTIES_BYTES_MAX] = "n::f::1";
    struct ocv_error err = {0};
    memset(list + 7, ',', OCV_ENTRY_PROPERTIES_MAX);
    json_t *json = index_json(NULL);
    add_entry(json, "linux/amd64", "x", list);
    char *text = json_dumps(json, 0);
    ck_assert_int_eq(parse(text, strlen(text), NULL, &err), OCV_ERR_DATA);
    ck_assert_ptr_nonnull(strstr(err.message, "512"));
    free(text);
    json_decref(json);
}
END_TEST

START_TEST(test_nesting)
{
    size_t n = 1u << 20;
    char *text = malloc(n + 1);
    struct ocv_error err = {0};
    memset(text, '[', n);
    memcpy(text, "{\"x\":", 5);
    ck_assert_int_eq(parse(text, n, NULL, &err), OCV_ERR_DATA);
    for (size_t i = 5; i + 5 <= n; i += 5)
        memcpy(text + i, "{\"x\":", 5);
    ck_assert_int_eq(parse(text, n, NULL, &err), OCV_ERR_DATA);
    free(text);
}
END_TEST

/* More namespaces than anyone ranks would make resolution quadratic. */
START_TEST(test_namespaces_limit)
{
    for (unsigned past = 0; past < 2; past++) {
        struct ocv_error err = {0};
        json_t *json = index_json(NULL);
        unsigned ns = 0, all = 1024 + past;
        for (unsigned label = 0; ns < all; label++) {
            char list[4000] = "", name[8];
            for (unsigned k = 0; k < 256 && ns < all; k++, ns++)
                snprintf(list + strlen(list), sizeof(list) - strlen(list), "%sn%u::f::1",
                         *list ? "," : "", ns);
            snprintf(name, sizeof(name), "l%u", label);
            add_entry(json, "linux/amd64", name, list);
        }
        char *text = json_dumps(json, JSON_COMPACT);
        ck_assert_int_eq(parse(text, strlen(text), NULL, &err), past ? OCV_ERR_DATA : OCV_OK);
        free(text);
        json_decref(json);
    }
}
END_TEST

START_TEST(test_entry)
{
    char *text = quoted(
        "{'manifests':[{" T "," D ",'size':7,'urls':['http://x'],'data':'AA==','platform':{'os':"
        "'linux','architecture':'arm64','variant':'v8','os.version':'1','os.features':['a','b']},"
        "'annotations':{'dev.ocivariant.label':'x.y','dev.ocivariant.properties':"
        "' b::c::2, a :: b :: 1 ,b::c::1, b::c::2 '}}]}");
    ocv_auto(ocv_index) index = parse_index(text);
    char digest[OCV_DIGEST_MAX];
    ck_assert_int_eq(ocv_digest_bytes(text, strlen(text), digest, NULL), OCV_OK);
    free(text); /* the bytes may go */
    ck_assert_str_eq(ocv_index_digest(index), digest);
    ck_assert(ocv_index_has_variants(index));
    ck_assert_uint_eq(ocv_index_count(index), 1);
    ck_assert_ptr_null(ocv_index_entry(index, 1));
    const struct ocv_entry *e = ocv_index_entry(index, 0);
    ck_assert_int_eq(e->kind, OCV_ENTRY_VARIANT);
    ck_assert_str_eq(e->label, "x.y");
    ck_assert_int_eq(e->size, 7);
    ck_assert_str_eq(e->platform.variant, "v8");
    ck_assert_str_eq(e->platform.os_version, "1");
    ck_assert_uint_eq(e->platform.n_os_features, 2);
    ck_assert_uint_eq(e->n_properties, 3);
    ck_assert_uint_eq(ocv_index_property_count(index), 3);
    ck_assert_str_eq(ocv_index_property(index, e->properties[0]).ns, "a");
    ck_assert_str_eq(ocv_index_property(index, e->properties[2]).value, "2");
    ck_assert_ptr_eq(ocv_index_find_digest(index, e->digest), e);
    ck_assert_ptr_null(ocv_index_find_digest(index, "sha256:0"));
}
END_TEST

static const struct {
    const char *host;
    const char *entries[4];
    bool levels;
} levels[] = {
    {"linux/amd64/v3", {"linux/amd64/v2", "linux/amd64/v3"}, true},
    {"linux/amd64", {"linux/amd64", "linux/arm64", "linux/amd64/v3"}, true},
    {"linux/amd64/v3", {"linux/amd64", "linux/amd64/v1"}, false}, /* two names of one */
    {"linux/amd64/v3", {"linux/amd64/v3", "linux/amd64/v3"}, false},
    {"linux/amd64/v3", {"linux/amd64", "linux/amd64/x-cuda"}, false},
    {"linux/amd64/v3", {"linux/amd64", "linux/arm/v6", "linux/arm/v7"}, false},
    {"linux/amd64/v3", {"linux/amd64", "windows/amd64/v3"}, false},
    {"linux/arm/v7", {"linux/amd64", "linux/arm/v6", "linux/arm/v7"}, true},
    {"linux/arm64", {"linux/arm64", "linux/arm64/v8"}, false},
    {"linux/arm64", {"linux/arm64/v8", "linux/arm64/v9"}, true},
    {"linux/amd64/v3", {"linux/amd64", "", "linux/riscv64"}, false}, /* one without platform */
};

START_TEST(test_levels)
{
    struct ocv_platform *host = NULL;
    json_t *json = index_json(NULL);
    for (size_t i = 0; i < 4 && levels[_i].entries[i]; i++)
        add_entry(json, levels[_i].entries[i], NULL, NULL);
    ocv_auto(ocv_index) index = index_from(json);
    ck_assert_int_eq(ocv_platform_parse(levels[_i].host, &host, NULL), OCV_OK);
    ck_assert(ocv_index_has_levels(index, host) == levels[_i].levels);
    ocv_platform_free(host);
}
END_TEST

/* The same label on two platforms is one variant; twice on one platform, both are out. */
START_TEST(test_duplicate_labels)
{
    json_t *json = index_json(NULL);
    add_entry(json, "linux/amd64", "x", "n::f::1");
    add_entry(json, "linux/arm64", "x", "n::f::1");
    add_entry(json, "linux/amd64", "y", "n::f::1");
    add_entry(json, "linux/amd64/x-y", "y", "n::f::2");
    add_entry(json, "linux/amd64", "null", "");
    add_entry(json, "linux/arm64", "null", "");
    ocv_auto(ocv_index) index = index_from(json);
    static const enum ocv_reject codes[] = {
        OCV_REJECT_NONE, OCV_REJECT_NONE, OCV_REJECT_DUPLICATE_LABEL, OCV_REJECT_DUPLICATE_LABEL,
        OCV_REJECT_NONE, OCV_REJECT_NONE};
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(ocv_index_entry(index, i)->code, codes[i]);
    ck_assert_int_eq(ocv_index_entry(index, 4)->kind, OCV_ENTRY_NULL);
}
END_TEST

START_TEST(test_statics)
{
    static const struct {
        const char *key, *text;
        size_t warnings;
    } cases[] = {
        {"priority", "order :: 1, order :: 2", 0},
        {"priority", "", 0},
        {"priority", "order", 1},
        {"priority", "order :: 1,", 0},
        {"priority", "a :: b :: c", 1},
        {"Bad", "order :: 1", 1},
        {"nvidia", "sm_arch :: 90_real", 1},
        {"", "order :: 1", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char key[100];
        const char *const *warnings;
        json_t *json = index_json(NULL);
        snprintf(key, sizeof(key), OCV_ANNOTATION_STATIC "%s", cases[i].key);
        json_object_set_new(json_object_get(json, "annotations"), key, json_string(cases[i].text));
        ocv_auto(ocv_index) index = index_from(json);
        ck_assert_msg(ocv_index_warnings(index, &warnings) == cases[i].warnings, "%s", key);
    }
}
END_TEST

START_TEST(test_declared_namespaces)
{
    json_t *json = index_json(" b ,a, b, C,x86_64");
    ocv_auto(ocv_index) index = index_from(json);
    const char *const *list, *const *warnings;
    bool declared = false;
    ck_assert_uint_eq(ocv_index_namespaces(index, &list, &declared), 3);
    ck_assert(declared);
    ck_assert_str_eq(list[0], "b");
    ck_assert_str_eq(list[2], "x86_64");
    ck_assert_uint_eq(ocv_index_warnings(index, &warnings), 2);
}
END_TEST

START_TEST(test_lone_manifest)
{
    struct ocv_descriptor d = {.media_type = OCV_MEDIA_TYPE_MANIFEST, .size = 9};
    fake_digest(d.digest, 5);
    ocv_auto(ocv_index) index = NULL;
    ck_assert_int_eq(ocv_index_of_manifest(&d, &index, NULL), OCV_OK);
    ck_assert_str_eq(ocv_index_digest(index), d.digest);
    ck_assert_uint_eq(ocv_index_count(index), 1);
    ck_assert_int_eq(ocv_index_entry(index, 0)->kind, OCV_ENTRY_NON_VARIANT);
    ck_assert(!ocv_index_entry(index, 0)->has_platform);
    ck_assert(!ocv_index_has_variants(index));
}
END_TEST

/* Which entries are defaults, are called so, and what older clients take. */
START_TEST(test_defaults)
{
    static const struct {
        const char *platform, *label, *features;
        bool is_default, shown, unfinished;
    } entries[] = {
        {"linux/amd64", NULL, NULL, true, true, false},
        {"linux/amd64", "null", NULL, true, false, false},
        {"linux/arm64/x-null", "null", NULL, true, false, false},
        {"linux/amd64/x-a", "a", NULL, false, false, false},
        {"linux/arm64/x-b", NULL, NULL, false, false, true},
        {"linux/arm64", NULL, "nydus.remoteimage.v1", false, true, false},
        {"windows/amd64", NULL, "win32k", true, true, false},
    };
    const size_t n = sizeof(entries) / sizeof(*entries);
    json_t *json = index_json("a"), *ordinary = index_json(NULL);
    for (size_t i = 0; i < n; i++) {
        const char *label = entries[i].label;
        add_entry(json, entries[i].platform, label,
                  !label                  ? NULL
                  : strcmp(label, "null") ? "a :: f :: 1"
                                          : "");
        if (entries[i].features)
            add_features(json, i, entries[i].features);
    }
    ocv_auto(ocv_index) index = index_from(json);
    for (size_t i = 0; i < n; i++) {
        const struct ocv_entry *e = ocv_index_entry(index, i);
        ck_assert_msg(e->code == OCV_REJECT_NONE, "%zu: %s", i, e->detail);
        ck_assert_msg(ocv_entry_is_default(e) == entries[i].is_default, "%zu", i);
        ck_assert_msg(ocv_index_shows_default(index, e) == entries[i].shown, "%zu", i);
        ck_assert_msg(ocv_entry_is_unfinished(e) == entries[i].unfinished, "%zu", i);
    }
    const struct ocv_platform arm = {.os = "linux", .architecture = "arm64"};
    ck_assert_ptr_null(ocv_index_older_choice(index, &arm, false));
    ck_assert_ptr_eq(ocv_index_older_choice(index, &arm, true), ocv_index_entry(index, 5));
    add_entry(ordinary, "linux/amd64", NULL, NULL);
    ocv_auto(ocv_index) alone = index_from(ordinary);
    ck_assert(ocv_entry_is_default(ocv_index_entry(alone, 0)));
    ck_assert(!ocv_index_shows_default(alone, ocv_index_entry(alone, 0)));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("index");
    TCase *tcase = tcase_create("index");
    tcase_add_loop_test(tcase, test_documents, 0, sizeof(documents) / sizeof(*documents));
    tcase_add_loop_test(tcase, test_malformed_entry, 0,
                        (int)(sizeof(malformed) / sizeof(*malformed)));
    tcase_add_loop_test(tcase, test_null_member, 0, (int)(sizeof(nulls) / sizeof(*nulls)));
    tcase_add_test(tcase, test_entries_limit);
    tcase_add_test(tcase, test_bytes_limit);
    tcase_add_test(tcase, test_values_limit);
    tcase_add_test(tcase, test_properties_bytes);
    tcase_add_test(tcase, test_properties_count);
    tcase_add_test(tcase, test_properties_count_and_bytes);
    tcase_add_test(tcase, test_nesting);
    tcase_add_test(tcase, test_namespaces_limit);
    tcase_add_test(tcase, test_entry);
    tcase_add_test(tcase, test_duplicate_labels);
    tcase_add_test(tcase, test_statics);
    tcase_add_test(tcase, test_declared_namespaces);
    tcase_add_test(tcase, test_lone_manifest);
    tcase_add_test(tcase, test_defaults);
    tcase_add_loop_test(tcase, test_levels, 0, sizeof(levels) / sizeof(*levels));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
