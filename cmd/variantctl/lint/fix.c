/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl lint --fix: writes the corrected index where the input came from. */
#include "cmd/variantctl/index/index_verbs.h"
#include "cmd/variantctl/lint/lint_verb.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

/* Write the corrected index to its destination. */
static int write_fixed(struct cli *cli, const struct lint_source *s, const char *output,
                       bool dry_run, struct ocv_error *err)
{
    const char *path = output ? output : s->name;
    if (!strcmp(path, "-") || !strcmp(path, "<stdin>"))
        return cli_print(s->fixed.data, s->fixed.len, err);
    if (output || !s->is_image)
        return dry_run ? OCV_OK : ocv_file_write(path, s->fixed.data, s->fixed.len, err);

    /* Compare, put, read back, like every verb that writes a tag. */
    struct write_options options = {.dry_run = dry_run};
    __attribute__((cleanup(place_close))) struct place place = {0};
    struct publication p;
    const struct ocv_reference *reference = s->image.reference;
    if (reference && !reference->tag) {
        ocv_error_set(err, OCV_ERR_INVALID, "%s: a digest cannot name other bytes", s->name);
        ocv_error_hint(err, "name a tag, or write a file with --output");
        return OCV_ERR_INVALID;
    }
    OCV_TRY(place_open(cli, s->name, &place, err));
    OCV_TRY(place_prepare(&place, err));
    OCV_TRY(publication_begin(&p, &place, &options, err));
    OCV_TRY(publication_based_on(&p, s->image.top.digest, err));
    OCV_TRY(publication_write(&p, s->image.top.media_type, &s->fixed, err));
    fprintf(stderr, "%s: %s\n    was %s\n    %s %s\n", s->name,
            dry_run ? "would be corrected" : "corrected", p.before, dry_run ? "would be" : "now",
            p.descriptor.digest);
    if (!dry_run && place.reference) /* signatures apply to the old bytes */
        fprintf(stderr, "sign again: cosign sign --recursive %s@%s\n", place.name,
                p.descriptor.digest);
    else if (!dry_run)
        fprintf(stderr, "sign again where it is published: signatures are for the old digest\n");
    return OCV_OK;
}

/* Check the corrected index from now on: its entries may have moved, the images are the same. */
static int take_fixed(struct lint_source *s, const struct ocv_index *before,
                      const struct ocv_index *after, struct ocv_error *err)
{
    size_t n = ocv_index_count(after), was = ocv_index_count(before);
    s->fixed_children = calloc(n + 1, sizeof(*s->fixed_children));
    if (!s->fixed_children)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const char *digest = ocv_index_entry(after, i)->digest;
        size_t k = 0;
        while (k < s->n_children && k < was &&
               strcmp(ocv_index_entry(before, k)->digest, digest) != 0)
            k++;
        if (k < s->n_children && k < was)
            s->fixed_children[i] = s->children[k];
    }
    s->input.children = s->n_children ? s->fixed_children : NULL;
    s->input.n_children = s->n_children ? n : 0;
    s->input.bytes = s->fixed.data;
    s->input.len = s->fixed.len;
    return OCV_OK;
}

int lint_fix(const struct lint_request *r, struct lint_source *s, struct ocv_error *err)
{
    size_t changes = 0;
    ocv_auto_buffer said, moved;
    ocv_buffer_init(&said, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    bool bare = s->is_image && s->image.kind == OCV_DOCUMENT_MANIFEST;
    if (s->source)
        fprintf(stderr, "%s: --fix writes indexes, not YAML: correct it by hand\n", s->name);
    if (!s->input.bytes || s->input.len > OCV_MANIFEST_MAX || bare || s->source)
        return OCV_OK; /* not an index: nothing to write */
    ocv_buffer_init(&s->fixed, OCV_LINT_INDEX_MAX);
    if (ocv_lint_fix(s->input.bytes, s->input.len, r->change_default, &s->fixed, &changes, &said,
                     &moved, err) < 0)
        return ocv_error_prefix(err, "%s", s->name);
    /* A line for each group of clients that get, or would get, another image. */
    const char *verb = !r->change_default || r->dry_run ? "would get" : "get";
    for (const char *line = moved.data; line && *line;) {
        size_t n = strcspn(line, "\n"), cut = (size_t)(strstr(line, ": ") - line);
        fprintf(stderr, "%s: %sclients that know nothing of variants on %.*s %s%.*s\n", s->name,
                r->change_default ? "" : "not corrected: ", (int)cut, line, verb,
                (int)(n - cut - 1), line + cut + 1);
        line += n + (line[n] == '\n');
    }
    if (moved.len && !r->change_default)
        fprintf(stderr, "hint: --change-default corrects platforms and order anyway\n");
    if (changes == 0)
        return OCV_OK;
    OCV_TRY(write_fixed(r->cli, s, r->output, r->dry_run, err));
    for (const char *line = said.data; line && *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(stderr, "%s: %s %.*s\n", s->name, r->dry_run ? "would fix" : "fixed", (int)n, line);
        line += n + (line[n] == '\n');
    }
    ocv_auto(ocv_index) before = NULL;
    ocv_auto(ocv_index) after = NULL;
    OCV_TRY(ocv_index_parse(s->input.bytes, s->input.len, s->input.media_type, &before, err));
    OCV_TRY(ocv_index_parse(s->fixed.data, s->fixed.len, NULL, &after, err));
    if (!r->dry_run)
        return take_fixed(s, before, after, err);
    /* What would be another index, as `index diff` tells it. */
    const struct ocv_buffer body = {.data = (char *)(uintptr_t)s->input.bytes, .len = s->input.len};
    const struct changes_side old = {before, &body, ocv_index_digest(before)},
                              new = {after, &s->fixed, ocv_index_digest(after)};
    ocv_auto_json *between = changes_between(&old, &new);
    if (between)
        changes_print(between, stderr);
    return OCV_OK;
}
