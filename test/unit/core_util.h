/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small helpers of the core's unit tests: documents as text in, objects out. */
#ifndef CORE_UTIL_H
#define CORE_UTIL_H

#include "lib/internal/config/config.h"
#include "ocivariant.h"
#include "test/unit/suite.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

UNUSED static struct ocv_index *parse_index(const char *text)
{
    struct ocv_error err = {0};
    struct ocv_index *index = NULL;
    int status = ocv_index_parse(text, strlen(text), NULL, &index, &err);
    ck_assert_msg(status == OCV_OK, "index: %s\n%.2000s", err.message, text);
    return index;
}

UNUSED static struct ocv_profile *parse_profile(const char *text)
{
    struct ocv_error err = {0};
    struct ocv_profile *profile = NULL;
    int status = ocv_profile_parse(text, strlen(text), &profile, &err);
    ck_assert_msg(status == OCV_OK, "profile: %s\n%.2000s", err.message, text);
    return profile;
}

/* JSON text written with ' for ", as C strings read better that way. Freed by the caller. */
UNUSED __attribute__((format(printf, 1, 2))) static char *quoted(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    ck_assert_int_ge(vasprintf(&text, format, args), 0);
    va_end(args);
    for (char *s = text; *s; s++)
        if (*s == '\'')
            *s = '"';
    return text;
}

/* A digest that differs with `n`. */
UNUSED static void fake_digest(char out[OCV_DIGEST_MAX], unsigned n)
{
    snprintf(out, OCV_DIGEST_MAX, "sha256:%064x", n);
}

/* An index entry; `variant`, `label` and `properties` may be NULL. */
UNUSED static json_t *entry_json(unsigned n, const char *platform, const char *label,
                                 const char *properties)
{
    char digest[OCV_DIGEST_MAX], os[32] = "linux", arch[32] = "", variant[64] = "";
    fake_digest(digest, n);
    json_t *e = json_pack("{s:s, s:s, s:i}", "mediaType", OCV_MEDIA_TYPE_MANIFEST, "digest", digest,
                          "size", 1000 + (int)n);
    if (platform && sscanf(platform, "%31[^/]/%31[^/]/%63s", os, arch, variant) >= 2) {
        json_t *p = json_pack("{s:s, s:s}", "os", os, "architecture", arch);
        if (*variant)
            json_object_set_new(p, "variant", json_string(variant));
        json_object_set_new(e, "platform", p);
    }
    json_t *annotations = json_object();
    if (label)
        json_object_set_new(annotations, OCV_ANNOTATION_LABEL, json_string(label));
    if (properties)
        json_object_set_new(annotations, OCV_ANNOTATION_PROPERTIES, json_string(properties));
    if (label || properties)
        json_object_set(e, "annotations", annotations);
    json_decref(annotations);
    return e;
}

UNUSED static json_t *index_json(const char *namespaces)
{
    json_t *index =
        json_pack("{s:i, s:s, s:[], s:{s:s}}", "schemaVersion", 2, "mediaType",
                  OCV_MEDIA_TYPE_INDEX, "manifests", "annotations", OCV_ANNOTATION_SCHEMA, "1");
    if (namespaces)
        json_object_set_new(json_object_get(index, "annotations"), OCV_ANNOTATION_NAMESPACES,
                            json_string(namespaces));
    return index;
}

UNUSED static void add_entry(json_t *index, const char *platform, const char *label,
                             const char *properties)
{
    json_t *list = json_object_get(index, "manifests");
    json_array_append_new(list,
                          entry_json((unsigned)json_array_size(list), platform, label, properties));
}

/* Parse and release. */
UNUSED static struct ocv_index *index_from(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    struct ocv_index *index = parse_index(text);
    free(text);
    json_decref(json);
    return index;
}

UNUSED static struct ocv_profile *profile_from(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    struct ocv_profile *profile = parse_profile(text);
    free(text);
    json_decref(json);
    return profile;
}

UNUSED static struct ocv_config *new_config(void)
{
    struct ocv_error err = {0};
    struct ocv_config *config = NULL;
    ck_assert_int_eq(ocv_config_new(&config, &err), OCV_OK);
    return config;
}

UNUSED static void set_config(struct ocv_config *config, const char *key, const char *text)
{
    struct ocv_error err = {0};
    int status = ocv_config_set(config, "test", key, text, true, &err);
    ck_assert_msg(status == OCV_OK, "%s=%s: %s", key, text, err.message);
}

UNUSED static struct ocv_decision *resolve(const struct ocv_index *index,
                                           const struct ocv_profile *profile,
                                           const struct ocv_resolve_options *options)
{
    struct ocv_error err = {0};
    struct ocv_decision *d = NULL;
    int status = ocv_resolve(index, profile, options, &d, &err);
    ck_assert_msg(status == OCV_OK, "resolve: %s", err.message);
    return d;
}

/* Make entry `i` a twin in another format: `features` separated by commas. */
UNUSED static void add_features(json_t *index, size_t i, const char *features)
{
    json_t *entry = json_array_get(json_object_get(index, "manifests"), i), *list = json_array();
    for (const char *at = features; *at;) {
        size_t n = strcspn(at, ",");
        json_array_append_new(list, json_stringn(at, n));
        at += n + (at[n] == ',');
        at += strspn(at, " ");
    }
    json_object_set_new(json_object_get(entry, "platform"), "os.features", list);
}

/* Labels of the order joined by a blank, "LABEL+FEATURE" of a twin in another format; a non-variant
 * shows as "#POSITION". Static memory. */
UNUSED static const char *order_text(const struct ocv_decision *d)
{
    static char text[8192];
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < ocv_decision_order_count(d); i++) {
        const struct ocv_entry *e = ocv_decision_order(d, i);
        int n = e->label
                    ? snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "", e->label)
                    : snprintf(text + at, sizeof(text) - at, "%s#%zu", at ? " " : "", e->position);
        at += (size_t)n;
        for (size_t k = 0; k < e->platform.n_os_features; k++)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "+%s", e->platform.os_features[k]);
        ck_assert_uint_lt(at, sizeof(text));
    }
    return text;
}

/* The rejection of the entry at a position; fails the test if it is not rejected. */
UNUSED static struct ocv_rejection rejection_of(const struct ocv_decision *d, size_t position)
{
    for (size_t i = 0; i < ocv_decision_rejected_count(d); i++) {
        struct ocv_rejection r = ocv_decision_rejected(d, i);
        if (r.entry->position == position)
            return r;
    }
    ck_abort_msg("entry %zu is not rejected", position);
    return (struct ocv_rejection){0};
}

UNUSED static const char *fixtures_dir(void)
{
    const char *dir = getenv("OCV_FIXTURES");
    return dir ? dir : "../shared/fixtures";
}

#endif
