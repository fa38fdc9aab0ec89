/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test/unit/layout/store_util.h"

#define D "sha256:" ZEROS
#define DESCRIPTOR "{\"mediaType\":\"a/b\",\"digest\":\"" D "\",\"size\":7}"
#define MANIFEST(members) "{\"schemaVersion\":2," members "}"
#define GOOD                                                                        \
    MANIFEST("\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"config\":" DESCRIPTOR \
             ",\"layers\":[" DESCRIPTOR ",{\"mediaType\":\"c/d\",\"digest\":\"" D   \
             "\",\"size\":9223372036854775807,\"urls\":[\"http://x\"]}]")

static int parse(const char *text, const char *type, struct ocv_manifest **out)
{
    *out = NULL;
    return ocv_manifest_parse(text, strlen(text), type, out, &err);
}

START_TEST(reads_descriptors)
{
    struct ocv_manifest *manifest;
    need(parse(GOOD, OCV_MEDIA_TYPE_MANIFEST "; charset=utf-8", &manifest));
    ck_assert_str_eq(ocv_manifest_config(manifest)->media_type, "a/b");
    ck_assert_uint_eq(ocv_manifest_layer_count(manifest), 2);
    ck_assert_int_eq(ocv_manifest_layer(manifest, 0)->size, 7);
    ck_assert_str_eq(ocv_manifest_layer(manifest, 1)->media_type, "c/d");
    ck_assert_str_eq(ocv_manifest_layer(manifest, 1)->digest, D);
    ck_assert_int_eq(ocv_manifest_layer(manifest, 1)->size, INT64_MAX);
    ck_assert_ptr_null(ocv_manifest_layer(manifest, 2));
    ocv_manifest_free(manifest);
    ocv_manifest_free(NULL);
}
END_TEST

START_TEST(names_the_bad_layer)
{
    struct ocv_manifest *manifest;
    refuses(
        parse(MANIFEST("\"config\":" DESCRIPTOR ",\"layers\":[" DESCRIPTOR ",7]"), NULL, &manifest),
        OCV_ERR_DATA);
    ck_assert_msg(strstr(err.message, "layer 1"), "%s", err.message);
}
END_TEST

START_TEST(refuses_malformed)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "{}",
        MANIFEST("\"layers\":[]"), /* no config */
        MANIFEST("\"config\":" DESCRIPTOR),
        MANIFEST("\"config\":" DESCRIPTOR ",\"layers\":{}"),
        MANIFEST("\"config\":" DESCRIPTOR ",\"layers\":[7]"),
        MANIFEST("\"config\":" DESCRIPTOR ",\"layers\":[],\"layers\":[]"),
        MANIFEST("\"config\":" DESCRIPTOR ",\"layers\":[],\"manifests\":[]"),
        MANIFEST("\"manifests\":[]"), /* an index */
        "{\"schemaVersion\":1,\"config\":" DESCRIPTOR ",\"layers\":[]}",
        "{\"schemaVersion\":1,\"fsLayers\":[]}",
        MANIFEST("\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX "\",\"config\":" DESCRIPTOR
                 ",\"layers\":[]"),
        MANIFEST("\"mediaType\":5,\"config\":" DESCRIPTOR ",\"layers\":[]"),
        MANIFEST("\"config\":{\"mediaType\":\"a/b\",\"digest\":\"" D "\",\"size\":-1},"
                 "\"layers\":[]"),
        MANIFEST("\"config\":{\"mediaType\":\"a/b\",\"digest\":\"" D "\",\"size\":1.5},"
                 "\"layers\":[]"),
        MANIFEST("\"config\":{\"mediaType\":\"a/b\",\"digest\":\"" D
                 "\",\"size\":9223372036854775808},\"layers\":[]"),
        MANIFEST("\"config\":{\"mediaType\":\"a/b\",\"digest\":\"sha256:../../x\",\"size\":1},"
                 "\"layers\":[]"),
        MANIFEST("\"config\":{\"mediaType\":\"a/b\",\"digest\":\"sha256:00\",\"size\":1},"
                 "\"layers\":[]"),
        MANIFEST("\"config\":{\"mediaType\":\"\xff\",\"digest\":\"" D "\",\"size\":1},"
                 "\"layers\":[]"),
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct ocv_manifest *manifest;
        err.message[0] = '\0';
        ck_assert_msg(parse(bad[i], NULL, &manifest) == OCV_ERR_DATA, "accepted: %s", bad[i]);
        ck_assert_str_ne(err.message, "");
        ck_assert_ptr_null(manifest);
    }
}
END_TEST

/* `n` layers, and `pad` blanks behind. */
static struct ocv_buffer many_layers(size_t n, size_t len)
{
    struct ocv_buffer text;
    ocv_buffer_init(&text, 64u * 1024 * 1024);
    need(ocv_buffer_printf(&text, &err,
                           "{\"schemaVersion\":2,\"config\":" DESCRIPTOR ",\"layers\":["));
    int status = OCV_OK;
    for (size_t i = 0; status == OCV_OK && i < n; i++)
        status = ocv_buffer_printf(&text, &err, "%s" DESCRIPTOR, i ? "," : "");
    need(status);
    need(ocv_buffer_printf(&text, &err, "]}"));
    static char blanks[OCV_MANIFEST_MAX + 1];
    memset(blanks, ' ', sizeof(blanks));
    if (text.len < len)
        need(ocv_buffer_append(&text, blanks, len - text.len, &err));
    return text;
}

START_TEST(limits)
{
    struct ocv_manifest *manifest;
    struct ocv_buffer text = many_layers(1000, 0);
    need(ocv_manifest_parse(text.data, text.len, NULL, &manifest, &err));
    ck_assert_uint_eq(ocv_manifest_layer_count(manifest), 1000);
    ocv_manifest_free(manifest);
    ocv_buffer_free(&text);
    text = many_layers(1001, 0);
    refuses(ocv_manifest_parse(text.data, text.len, NULL, &manifest, &err), OCV_ERR_DATA);
    ocv_buffer_free(&text);
    text = many_layers(1, OCV_MANIFEST_MAX);
    need(ocv_manifest_parse(text.data, text.len, NULL, &manifest, &err));
    ocv_manifest_free(manifest);
    ocv_buffer_free(&text);
    text = many_layers(1, OCV_MANIFEST_MAX + 1);
    refuses(ocv_manifest_parse(text.data, text.len, NULL, &manifest, &err), OCV_ERR_DATA);
    ocv_buffer_free(&text);
}
END_TEST

START_TEST(media_type_length)
{
    char text[1024];
    char type[300];
    struct ocv_manifest *manifest;
    for (size_t len = 255; len <= 256; len++) {
        memset(type, 'a', len);
        type[len] = '\0';
        snprintf(text, sizeof(text),
                 "{\"schemaVersion\":2,\"layers\":[],\"config\":{\"mediaType\":\"%s\","
                 "\"digest\":\"" D "\",\"size\":1}}",
                 type);
        if (len == 255) {
            need(parse(text, NULL, &manifest));
            ck_assert_str_eq(ocv_manifest_config(manifest)->media_type, type);
            ocv_manifest_free(manifest);
        } else {
            refuses(parse(text, NULL, &manifest), OCV_ERR_DATA);
        }
    }
}
END_TEST

START_TEST(kinds)
{
    static const struct {
        const char *text;
        const char *type;
        int kind; /* -1: refused */
    } cases[] = {
        {"{\"manifests\":[]}", NULL, OCV_DOCUMENT_INDEX},
        {"{\"manifests\":[]}", OCV_MEDIA_TYPE_INDEX, OCV_DOCUMENT_INDEX},
        {"{\"manifests\":[]}", OCV_MEDIA_TYPE_DOCKER_LIST, OCV_DOCUMENT_INDEX},
        {"{\"manifests\":[]}", " " OCV_MEDIA_TYPE_INDEX " ; a=b", OCV_DOCUMENT_INDEX},
        {"{\"manifests\":[]}", "application/json", OCV_DOCUMENT_INDEX},
        {"{\"manifests\":[]}", "", OCV_DOCUMENT_INDEX},
        {"{\"manifests\":[]}", OCV_MEDIA_TYPE_MANIFEST, -1},
        {"{\"layers\":[]}", NULL, OCV_DOCUMENT_MANIFEST},
        {"{\"layers\":[]}", OCV_MEDIA_TYPE_DOCKER_MANIFEST, OCV_DOCUMENT_MANIFEST},
        {"{\"layers\":[]}", OCV_MEDIA_TYPE_INDEX, -1},
        {"{\"layers\":[],\"manifests\":[]}", NULL, -1},
        {"{\"config\":{}}", NULL, -1},
        {"{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"manifests\":[]}", NULL, -1},
        {"{\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX "\",\"layers\":[]}", NULL, -1},
        {"{\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX "\",\"manifests\":[]}",
         OCV_MEDIA_TYPE_DOCKER_LIST, -1},
        {"{\"mediaType\":\"" OCV_MEDIA_TYPE_INDEX "\",\"manifests\":[]}", OCV_MEDIA_TYPE_INDEX,
         OCV_DOCUMENT_INDEX},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        enum ocv_document_kind kind;
        int status =
            ocv_document_kind(cases[i].text, strlen(cases[i].text), cases[i].type, &kind, &err);
        if (cases[i].kind < 0)
            ck_assert_msg(status == OCV_ERR_DATA, "accepted: case %zu", i);
        else
            ck_assert_msg(status == OCV_OK && (int)kind == cases[i].kind, "case %zu: %s", i,
                          err.message);
    }
}
END_TEST

RUN_SUITE("manifest", reads_descriptors, names_the_bad_layer, refuses_malformed, limits,
          media_type_length, kinds)
