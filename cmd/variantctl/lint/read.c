/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Input of variantctl lint: files, layouts, registries. */
#include "cmd/common/image/image.h"
#include "cmd/variantctl/derive/derive_verb.h"
#include "cmd/variantctl/lint/lint_verb.h"
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MANIFEST_LEVELS 64u /* that are looked at for null */
#define CONFIG_LEVELS 1u    /* docker build always writes null below */

void lint_source_close(struct lint_source *s)
{
    for (size_t i = 0; i < s->n_children; i++) {
        json_decref(s->children[i].manifest);
        json_decref(s->children[i].config);
        free(s->texts[i].problem);
        free(s->texts[i].null_manifest);
        free(s->texts[i].null_config);
        if (s->contents)
            ocv_content_free(&s->contents[i]);
    }
    for (size_t i = 0; i < s->n_tags; i++) {
        ocv_reference_free(s->references[i]);
        free(s->digests[i]);
    }
    for (size_t i = 0; i < s->n_signatures; i++)
        free(s->signatures[i]);
    free(s->children);
    free(s->texts);
    free(s->contents);
    free(s->tags);
    free(s->references);
    free(s->digests);
    free(s->signatures);
    free(s->name);
    free(s->fixed_children);
    ocv_edit_source_free(s->source);
    ocv_buffer_free(&s->fixed);
    ocv_buffer_free(&s->text);
    if (s->is_image)
        image_close(&s->image);
    *s = (struct lint_source){0};
}

int lint_source_tag(struct lint_source *s, struct ocv_reference *reference, const char *digest,
                    size_t line, struct ocv_error *err)
{
    struct ocv_lint_tag *tag = ocv_array_grow(&s->tags, s->n_tags);
    struct ocv_reference **kept = ocv_array_grow(&s->references, s->n_tags);
    char **copy = ocv_array_grow(&s->digests, s->n_tags);
    if (!tag || !kept || !copy || (digest && !(*copy = strdup(digest)))) {
        ocv_reference_free(reference);
        return ocv_error_nomem(err);
    }
    *kept = reference;
    *tag = (struct ocv_lint_tag){.reference = reference, .digest = *copy, .line = line};
    s->n_tags++;
    return OCV_OK;
}

bool lint_is_source(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"));
}

int lint_source_file(const char *path, struct lint_source *s, struct ocv_error *err)
{
    ocv_buffer_init(&s->text, OCV_LINT_INDEX_MAX);
    s->name = strdup(!strcmp(path, "-") ? "<stdin>" : path);
    int status = s->name ? cli_read_file(path, &s->text, err) : ocv_error_nomem(err);
    if (status < 0)
        return status;
    s->input = (struct ocv_lint_input){.name = s->name, .file = true};
    if (s->text.len && memchr(s->text.data, '\0', s->text.len))
        return ocv_error_set(err, OCV_ERR_DATA, "%s: not text", s->name);
    if (lint_is_source(path))
        return ocv_edit_source_parse(s->name, s->text.data ? s->text.data : "", s->text.len,
                                     &s->source, err);
    size_t len = strlen(path), blank = s->text.data ? strspn(s->text.data, " \t\r\n") : 0;
    if ((len > 5 && !strcmp(path + len - 5, ".json")) || s->text.len == blank ||
        s->text.data[blank] == '{' || s->text.data[blank] == '[') {
        s->input.bytes = s->text.data ? s->text.data : "";
        s->input.len = s->text.len;
        return OCV_OK;
    }
    /* One reference per line; blank lines and lines beginning with '#' are ignored. */
    char *at = s->text.data;
    for (size_t line = 1; at && *at; line++) {
        size_t n = strcspn(at, "\n");
        char *next = at[n] ? at + n + 1 : NULL;
        at[n] = '\0';
        at += strspn(at, " \t\r");
        for (len = strlen(at); len && strchr(" \t\r", at[len - 1]);)
            at[--len] = '\0';
        ocv_auto(ocv_reference) reference = NULL;
        status = *at && *at != '#' ? ocv_reference_parse(at, &reference, err) : OCV_OK;
        if (status == OCV_OK && s->n_tags == OCV_LINT_TAGS_MAX)
            status = ocv_error_set(err, OCV_ERR_DATA, "more than %u tags", OCV_LINT_TAGS_MAX);
        if (status < 0) {
            ocv_error_prefix(err, "%s:%zu", s->name, line);
            return ocv_error_set(err, OCV_ERR_DATA, "%s", err ? err->message : "");
        }
        if (reference)
            OCV_TRY(lint_source_tag(s, ocv_steal(&reference), NULL, line, err));
        at = next;
    }
    if (!s->n_tags)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: neither an index nor a list of tags", s->name);
    s->input.tags = s->tags;
    s->input.n_tags = s->n_tags;
    return OCV_OK;
}

/* `content` NULL: without --deep. `*there`: the manifest was read. */
static int read_parts(struct cli *cli, const struct image *image,
                      const struct ocv_descriptor *descriptor, struct ocv_lint_child *out,
                      struct lint_child_text *text, struct ocv_content *content, bool *there,
                      struct ocv_error *err)
{
    ocv_auto_child child = {0};
    ocv_auto_buffer config;
    ocv_buffer_init(&config, OCV_MANIFEST_MAX);
    OCV_TRY(child_read(cli, image, descriptor, &child, err));
    *there = true;
    OCV_TRY(ocv_json_load_counted("manifest", child.body.data, child.body.len, OCV_MANIFEST_MAX,
                                  OCV_JSON_VALUES_MAX, &out->manifest, err));
    OCV_TRY(ocv_lint_null_member(child.body.data, child.body.len, MANIFEST_LEVELS,
                                 &text->null_manifest, err));
    out->null_manifest = text->null_manifest;
    const char *type = ocv_manifest_config(child.manifest)->media_type;
    if (!strcmp(type, OCV_MEDIA_TYPE_CONFIG) ||
        !strcmp(type, "application/vnd.docker.container.image.v1+json")) {
        OCV_TRY(child_config(cli, image, &child, &config, err));
        OCV_TRY(ocv_json_load_counted("image configuration", config.data, config.len,
                                      OCV_MANIFEST_MAX, OCV_JSON_VALUES_MAX, &out->config, err));
        OCV_TRY(
            ocv_lint_null_member(config.data, config.len, CONFIG_LEVELS, &text->null_config, err));
        out->null_config = text->null_config;
    }
    /* A layout shows immediately which layers are missing; a registry would have to be asked for
     * each. */
    for (size_t i = 0; image->layout && i < ocv_manifest_layer_count(child.manifest); i++) {
        const struct ocv_descriptor *layer = ocv_manifest_layer(child.manifest, i);
        if (!ocv_layout_has_blob(image->layout, layer->digest, layer->size))
            return ocv_error_set(err, OCV_ERR_NOT_FOUND, "layer %zu, %s, is not there", i,
                                 layer->digest);
    }
    if (content && out->config) {
        OCV_TRY(derive_read_content(cli, image, &child, NULL, NULL, content, err));
        out->content = content;
    }
    return OCV_OK;
}

/* Entries that are not manifests are checked only as part of the index. */
static int read_children(struct cli *cli, struct lint_source *s, bool deep, struct ocv_error *err)
{
    size_t n = ocv_index_count(s->image.index);
    s->children = calloc(n + 1, sizeof(*s->children));
    s->texts = calloc(n + 1, sizeof(*s->texts));
    s->contents = deep ? calloc(n + 1, sizeof(*s->contents)) : NULL;
    if (!s->children || !s->texts || (deep && !s->contents))
        return ocv_error_nomem(err);
    s->n_children = n;
    s->input.children = s->children;
    s->input.n_children = n;
    for (size_t i = 0; i < n; i++) {
        const struct ocv_entry *entry = ocv_index_entry(s->image.index, i);
        struct ocv_descriptor descriptor;
        if (entry->code == OCV_REJECT_NESTED || entry->code == OCV_REJECT_MEDIA_TYPE ||
            entry->code == OCV_REJECT_DIGEST_ALGORITHM || entry->code == OCV_REJECT_MALFORMED)
            continue;
        OCV_TRY(child_descriptor(entry, &descriptor, err));
        /* Faults of the image are findings; failures to read it are errors. */
        struct ocv_lint_child *out = &s->children[i];
        struct ocv_error local = {0};
        bool there = false;
        int status = read_parts(cli, &s->image, &descriptor, out, &s->texts[i],
                                deep ? &s->contents[i] : NULL, &there, &local);
        out->state = OCV_LINT_STATE_READ;
        if (status == OCV_OK)
            continue;
        if (status != OCV_ERR_DATA && status != OCV_ERR_MISMATCH && status != OCV_ERR_NOT_FOUND &&
            status != OCV_ERR_UNSUPPORTED) {
            if (err)
                *err = local;
            return status;
        }
        bool missing = !there && status == OCV_ERR_NOT_FOUND;
        out->state = missing ? OCV_LINT_STATE_MISSING : OCV_LINT_STATE_BROKEN;
        out->problem = s->texts[i].problem = strdup(local.message);
        if (!out->problem)
            return ocv_error_nomem(err);
    }
    return OCV_OK;
}

/* An index larger than the limit for readers is a finding, not a failure. */
static bool too_large(struct cli *cli, struct lint_source *s, const struct ocv_error *failure)
{
    struct ocv_descriptor top = {0};
    struct ocv_error ignored = {0};
    int status = OCV_ERR_INVALID;
    if (failure->status != OCV_ERR_DATA)
        return false;
    if (s->image.layout)
        status = ocv_layout_resolve(s->image.layout, s->image.layout_tag, &top, &ignored);
    else if (s->image.reference && cli->registry)
        status = ocv_registry_head(cli->registry, s->image.reference, &top, &ignored);
    if (status < 0 || top.size <= (int64_t)OCV_MANIFEST_MAX)
        return false;
    s->input.len = (size_t)top.size;
    return true;
}

int lint_source_image(struct cli *cli, const char *text, const struct lint_options *options,
                      struct lint_source *s, struct ocv_error *err)
{
    struct ocv_error local = {0};
    ocv_buffer_init(&s->text, OCV_MANIFEST_MAX);
    s->name = strdup(text);
    if (!s->name)
        return ocv_error_nomem(err);
    s->input = (struct ocv_lint_input){.name = s->name};
    s->is_image = true;
    int status = image_open(cli, s->name, &s->image, &local);
    if (status < 0) {
        if (too_large(cli, s, &local))
            return OCV_OK;
        const char *slash = strrchr(text, '/');
        bool tagged = strpbrk(slash ? slash : text, ":@") != NULL;
        if (status == OCV_ERR_NOT_FOUND && s->image.reference && !tagged && !local.hint[0])
            ocv_error_hint(&local,
                           "no tag given, latest assumed: name a tag; 'variantctl tags plan "
                           "%.200s' lists them",
                           text);
        if (err)
            *err = local;
        return status;
    }
    const struct ocv_descriptor *top = &s->image.top;
    if (s->image.kind == OCV_DOCUMENT_MANIFEST) {
        /* an index for the bare manifest, with the platform from its configuration */
        bool docker = !strcmp(top->media_type, OCV_MEDIA_TYPE_DOCKER_MANIFEST);
        OCV_TRY(read_children(cli, s, options->deep, err));
        const json_t *config = s->children[0].config;
        const char *os = ocv_json_text(config, "os");
        const char *architecture = ocv_json_text(config, "architecture");
        ocv_auto_json *root = json_pack(
            "{s:i, s:s, s:[{s:s, s:s, s:I, s:{s:s, s:s}}]}", "schemaVersion", 2, "mediaType",
            docker ? OCV_MEDIA_TYPE_DOCKER_LIST : OCV_MEDIA_TYPE_INDEX, "manifests", "mediaType",
            top->media_type, "digest", top->digest, "size", (json_int_t)top->size, "platform", "os",
            os ? os : "linux", "architecture", architecture ? architecture : "amd64");
        if (!root)
            return ocv_error_nomem(err);
        status = ocv_json_append(root, JSON_COMPACT, &s->text, err);
        s->input.bytes = s->text.data;
        s->input.len = s->text.len;
        return status;
    }
    s->input.bytes = s->image.body.data;
    s->input.len = s->image.body.len;
    s->input.media_type = top->media_type[0] ? top->media_type : NULL;
    if (!options->no_children)
        OCV_TRY(read_children(cli, s, options->deep, err));
    return lint_source_tags(cli, options, s, err);
}
