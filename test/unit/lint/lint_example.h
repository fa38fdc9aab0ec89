/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The short notation of schema/lint-rules.yaml's examples, as input for lint. */
#ifndef LINT_EXAMPLE_H
#define LINT_EXAMPLE_H

#include "lib/internal/lint/lint.h"
#include "test/unit/core_util.h"

#define EXAMPLE_MAX 64

struct example {
    json_t *index;
    char *bytes;
    struct ocv_lint_child children[EXAMPLE_MAX];
    struct ocv_content contents[EXAMPLE_MAX];
    size_t n;
    struct ocv_lint_tag tags[EXAMPLE_MAX];
    struct ocv_reference *references[EXAMPLE_MAX];
    char tag_digests[EXAMPLE_MAX][OCV_DIGEST_MAX];
    size_t n_tags;
    int signed_entries[EXAMPLE_MAX]; /* -1: the index */
    size_t n_signed;
    char digests[EXAMPLE_MAX][OCV_DIGEST_MAX]; /* of what is signed */
    const char *signatures[EXAMPLE_MAX];
    char namespaces[1024];
    bool own_schema, own_namespaces, has_variants;
    size_t fill;
    struct ocv_lint_input input;
};

/* "KEY=VALUE" into an object. */
static void put_pair(json_t *object, const char *text)
{
    const char *equals = strchr(text, '=');
    ck_assert_msg(equals != NULL, "no '=' in '%s'", text);
    char key[256];
    snprintf(key, sizeof(key), "%.*s", (int)(equals - text), text);
    json_object_set_new(object, key, json_string(equals + 1));
}

static json_t *child_object(json_t *object, const char *key)
{
    if (!json_object_get(object, key))
        json_object_set_new(object, key, json_object());
    return json_object_get(object, key);
}

static json_t *top_layer(struct ocv_lint_child *child)
{
    return child_object(json_array_get(json_object_get(child->manifest, "layers"), 0),
                        "annotations");
}

static void fill_text(json_t *object, const char *key, size_t len, const char *unit)
{
    char *text = calloc(1, len + 1);
    for (size_t i = 0; i < len; i++)
        text[i] = unit[i % strlen(unit)];
    json_object_set_new(object, key, json_string(text));
    free(text);
}

/* The namespaces of a property list, in order of appearance. */
static void note_namespaces(struct example *e, const char *properties)
{
    ocv_auto(ocv_properties) set = NULL;
    if (ocv_properties_parse(properties, strlen(properties), &set, NULL) < 0)
        return;
    for (size_t i = 0; i < ocv_properties_count(set); i++) {
        const char *ns = ocv_properties_get(set, i).ns;
        char padded[sizeof(e->namespaces) + 8], wanted[128];
        snprintf(padded, sizeof(padded), ", %s, ", e->namespaces);
        snprintf(wanted, sizeof(wanted), ", %s, ", ns);
        if (strstr(padded, wanted))
            continue;
        size_t at = strlen(e->namespaces);
        snprintf(e->namespaces + at, sizeof(e->namespaces) - at, "%s%s", at ? ", " : "", ns);
    }
}

/* "PLATFORM LABEL PROPERTIES" */
static void add_line(struct example *e, char *line)
{
    char *platform = line, *label = strchr(line, ' '), *properties = NULL, digest[OCV_DIGEST_MAX];
    ck_assert_msg(label != NULL && e->n < EXAMPLE_MAX, "no entry: '%s'", line);
    *label++ = '\0';
    properties = strchr(label, ' ');
    if (properties)
        *properties++ = '\0';
    bool annotated = strcmp(label, "-") != 0;
    json_t *entry =
        entry_json((unsigned)e->n, strcmp(platform, "-") ? platform : NULL,
                   annotated ? label : NULL, annotated ? (properties ? properties : "") : NULL);
    json_array_append_new(json_object_get(e->index, "manifests"), entry);
    if (annotated)
        note_namespaces(e, properties ? properties : "");
    e->has_variants = e->has_variants || annotated;
    struct ocv_lint_child *child = &e->children[e->n++];
    fake_digest(digest, 9000);
    child->state = OCV_LINT_STATE_READ;
    child->manifest = json_pack("{s:i, s:[{s:s, s:i}]}", "schemaVersion", 2, "layers", "digest",
                                digest, "size", 1);
    const json_t *p = json_object_get(entry, "platform");
    child->config = json_pack("{s:{s:[], s:{}}}", "config", "Env", "Labels");
    if (p) {
        json_object_set(child->config, "os", json_object_get(p, "os"));
        json_object_set(child->config, "architecture", json_object_get(p, "architecture"));
    }
}

static void attest(struct example *e, json_t *entry, unsigned subject)
{
    char digest[OCV_DIGEST_MAX];
    json_t *annotations = child_object(entry, "annotations");
    fake_digest(digest, subject);
    json_object_set_new(annotations, "vnd.docker.reference.type",
                        json_string("attestation-manifest"));
    json_object_set_new(annotations, "vnd.docker.reference.digest", json_string(digest));
    json_object_del(e->children[e->n - 1].config, "os");
    json_object_del(e->children[e->n - 1].config, "architecture");
}

/* "PATH FACT VALUE": what a file of the image says. */
static void add_code(struct ocv_content *content, const char *text)
{
    char path[128], fact[32], value[64];
    struct ocv_content_facts facts = {0};
    ck_assert_int_eq(sscanf(text, "%127s %31s %63s", path, fact, value), 3);
    ck_assert_int_ne(ocv_content_fact_find(fact), OCV_CONTENT_FACTS);
    struct ocv_content_facts *into = &facts;
    for (size_t i = 0; i < content->report.n_files; i++)
        if (!strcmp(content->report.files[i].path, path))
            into = &content->report.files[i].facts;
    ck_assert_int_eq(ocv_content_facts_add(into, ocv_content_fact_find(fact), value, 64, 1, NULL),
                     OCV_OK);
    if (into != &facts)
        return;
    ck_assert_int_eq(ocv_content_report_file(&content->report, path, 1000, &facts, NULL), OCV_OK);
    ocv_content_facts_free(&facts);
}

/* An indented line changes the entry above it. */
static void change(struct example *e, const char *word, const char *rest)
{
    ck_assert_uint_gt(e->n, 0);
    json_t *entry = json_array_get(json_object_get(e->index, "manifests"), e->n - 1);
    struct ocv_lint_child *child = &e->children[e->n - 1];
    json_t *annotations = child_object(entry, "annotations");
    json_t *inner = json_object_get(child->config, "config");
    unsigned number = (unsigned)strtoul(rest, NULL, 10);
    char digest[OCV_DIGEST_MAX];
    if (!strcmp(word, "annotation"))
        put_pair(annotations, rest);
    else if (!strcmp(word, "number-annotation"))
        json_object_set_new(annotations, rest, json_integer(7));
    else if (!strcmp(word, "no"))
        json_object_del(annotations, rest);
    else if (!strcmp(word, "set"))
        put_pair(entry, rest);
    else if (!strcmp(word, "null"))
        json_object_set_new(entry, rest, json_null());
    else if (!strcmp(word, "platform"))
        put_pair(json_object_get(entry, "platform"), rest);
    else if (!strcmp(word, "config"))
        put_pair(child->config, rest);
    else if (!strcmp(word, "label"))
        put_pair(json_object_get(inner, "Labels"), rest);
    else if (!strcmp(word, "layer"))
        put_pair(top_layer(child), rest);
    else if (!strcmp(word, "env"))
        json_array_append_new(json_object_get(inner, "Env"), json_string(rest));
    else if (!strcmp(word, "user"))
        json_object_set_new(inner, "User", json_string(rest));
    else if (!strcmp(word, "code"))
        add_code(&e->contents[e->n - 1], rest);
    else if (!strcmp(word, "os-feature"))
        json_object_set_new(json_object_get(entry, "platform"), "os.features",
                            json_pack("[s]", rest));
    else if (!strcmp(word, "long-layer"))
        fill_text(top_layer(child), "containerd.io/snapshot/dev.ocivariant.note", number, "x");
    else if (!strcmp(word, "long-properties"))
        fill_text(annotations, OCV_ANNOTATION_PROPERTIES, number, "x86_64 :: level :: v3, ");
    else if (!strcmp(word, "attests"))
        attest(e, entry, number);
    else if (!strcmp(word, "child"))
        child->state = strcmp(rest, "broken") ? OCV_LINT_STATE_MISSING : OCV_LINT_STATE_BROKEN;
    else if (!strcmp(word, "digest-of")) {
        fake_digest(digest, number);
        json_object_set_new(entry, "digest", json_string(digest));
    } else
        ck_abort_msg("what is '%s'?", word);
    if (json_object_size(annotations) == 0)
        json_object_del(entry, "annotations");
}

/* "REPO:TAG [= N]" */
static void add_tag(struct example *e, char *rest)
{
    char *equals = strstr(rest, " = ");
    struct ocv_lint_tag *tag = &e->tags[e->n_tags];
    if (equals) {
        *equals = '\0';
        fake_digest(e->tag_digests[e->n_tags], (unsigned)strtoul(equals + 3, NULL, 10));
        tag->digest = e->tag_digests[e->n_tags];
    }
    ck_assert_int_eq(ocv_reference_parse(rest, &e->references[e->n_tags], NULL), OCV_OK);
    tag->reference = e->references[e->n_tags];
    tag->line = e->n_tags + 1;
    e->n_tags++;
}

static void read_line(struct example *e, char *line)
{
    json_t *annotations = json_object_get(e->index, "annotations");
    char *rest = line + strspn(line, " ");
    bool indented = rest != line;
    if (indented || *line == '@' || !strncmp(line, "tag ", 4) || !strncmp(line, "signed ", 7) ||
        !strncmp(line, "media-type ", 11) || !strncmp(line, "fill ", 5)) {
        char *word = strsep(&rest, " ");
        rest = rest ? rest : "";
        if (indented)
            change(e, word, rest);
        else if (!strcmp(word, "tag"))
            add_tag(e, rest);
        else if (!strcmp(word, "signed"))
            e->signed_entries[e->n_signed++] =
                strcmp(rest, "index") ? (int)strtol(rest, NULL, 10) : -1;
        else if (!strcmp(word, "fill"))
            e->fill = strtoul(rest, NULL, 10);
        else if (!strcmp(word, "media-type") && !strcmp(rest, "-"))
            json_object_del(e->index, "mediaType");
        else if (!strcmp(word, "media-type"))
            json_object_set_new(e->index, "mediaType", json_string(rest));
        else {
            char key[128];
            snprintf(key, sizeof(key), "dev.ocivariant.%s", word + 1);
            e->own_schema = e->own_schema || !strcmp(word, "@schema");
            e->own_namespaces = e->own_namespaces || !strcmp(word, "@namespaces");
            if (strcmp(rest, "-") != 0)
                json_object_set_new(annotations, key, json_string(rest));
            else
                json_object_del(annotations, key);
        }
        return;
    }
    add_line(e, line);
}

static void finish(struct example *e)
{
    json_t *annotations = json_object_get(e->index, "annotations");
    if (!e->own_schema && !e->has_variants)
        json_object_del(annotations, OCV_ANNOTATION_SCHEMA);
    if (!e->own_namespaces && e->namespaces[0])
        json_object_set_new(annotations, OCV_ANNOTATION_NAMESPACES, json_string(e->namespaces));
    if (e->fill)
        fill_text(annotations, "org.example.notes", e->fill, "x");
    e->bytes = json_dumps(e->index, JSON_INDENT(2));
    for (size_t i = 0; i < e->n; i++)
        if (e->contents[i].report.n_files) {
            ck_assert_int_eq(
                ocv_content_derive(&e->contents[i].report, NULL, &e->contents[i].derived, NULL),
                OCV_OK);
            e->children[i].content = &e->contents[i];
        }
    for (size_t i = 0; i < e->n_signed; i++) {
        if (e->signed_entries[i] < 0)
            ck_assert_int_eq(ocv_digest_bytes(e->bytes, strlen(e->bytes), e->digests[i], NULL), 0);
        else
            fake_digest(e->digests[i], (unsigned)e->signed_entries[i]);
        e->signatures[i] = e->digests[i];
    }
    e->input = (struct ocv_lint_input){.name = "index.json",
                                       .file = true,
                                       .bytes = e->n ? e->bytes : NULL,
                                       .len = e->n ? strlen(e->bytes) : 0,
                                       .children = e->children,
                                       .n_children = e->n,
                                       .tags = e->tags,
                                       .n_tags = e->n_tags,
                                       .signatures = e->n_signed ? e->signatures : NULL,
                                       .n_signatures = e->n_signed};
}

UNUSED static struct example *example_read(const char *text)
{
    struct example *e = calloc(1, sizeof(*e));
    char *copy = strdup(text), *rest = copy, *line;
    e->index = index_json(NULL);
    while ((line = strsep(&rest, "\n")))
        if (*line)
            read_line(e, line);
    free(copy);
    finish(e);
    return e;
}

UNUSED static void example_free(struct example *e)
{
    for (size_t i = 0; i < e->n; i++) {
        ocv_content_free(&e->contents[i]);
        json_decref(e->children[i].manifest);
        json_decref(e->children[i].config);
    }
    for (size_t i = 0; i < e->n_tags; i++)
        ocv_reference_free(e->references[i]);
    json_decref(e->index);
    free(e->bytes);
    free(e);
}

#endif
