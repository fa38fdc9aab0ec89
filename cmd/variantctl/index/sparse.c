/* SPDX-License-Identifier: GPL-3.0-or-later */
/* variantctl index copy --sparse: a mirror of what a fleet's machines get. The index stays as it
 * is, byte for byte, so that its digest and signatures stay valid; of its images those are copied
 * that a machine of the fleet gets, and the default. Without a fleet: those that FROM has, which
 * may be such a copy itself. */
#include "cmd/variantctl/index/index_verbs.h"

#include "cmd/variantctl/coverage/coverage.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <stdlib.h>
#include <string.h>

/* Names of what is kept, or left out, for the last lines. */
static int put_names(const struct image *image, const bool *keep, bool kept, struct ocv_buffer *out,
                     struct ocv_error *err)
{
    size_t n = 0;
    char name[80];
    for (size_t i = 0; i < ocv_index_count(image->index); i++) {
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        if (coverage_candidate(entry) && keep[i] == kept)
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s", n++ ? ", " : "",
                                      explain_name(image->index, entry, name, sizeof(name))));
    }
    return n ? OCV_OK : ocv_buffer_printf(out, err, "none");
}

int sparse_choose(struct cli *cli, const struct sparse_options *options, struct image *image,
                  struct sparse *out, struct ocv_error *err)
{
    struct coverage_request request = {.cli = cli};
    __attribute__((cleanup(coverage_free))) struct coverage fleet = {0};
    enum coverage_cell least = options->all_ranks ? COVERAGE_FITS : COVERAGE_CHOSEN;
    if (image->kind != OCV_DOCUMENT_INDEX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s is no index: there is nothing to leave out",
                             image->text);
    for (size_t i = 0; i < options->fleet.n; i++) {
        if (request.n_profiles == COVERAGE_SOURCES_MAX)
            return ocv_error_set(err, OCV_ERR_INVALID, "more than %u --for", COVERAGE_SOURCES_MAX);
        request.profiles[request.n_profiles++] = options->fleet.texts[i];
    }
    size_t n = ocv_index_count(image->index);
    out->keep = calloc(n + 1, sizeof(*out->keep));
    if (!out->keep)
        return ocv_error_nomem(err);
    if (options->fleet.n) {
        OCV_TRY(coverage_read_hosts(&request, &fleet, err));
        OCV_TRY(coverage_decide(cli, image, &fleet, err));
    }
    for (size_t i = 0; !options->fleet.n && i < n; i++) { /* which images does FROM have? */
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        struct ocv_descriptor d;
        ocv_auto_child child = {0};
        if (!coverage_candidate(entry))
            continue;
        OCV_TRY(child_descriptor(entry, &d, err));
        int status = child_read(cli, image, &d, &child, err);
        if (status != OCV_ERR_NOT_FOUND)
            OCV_TRY(status);
        out->keep[i] = status == OCV_OK;
    }
    for (size_t i = 0; options->fleet.n && i < n; i++) {
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        out->keep[i] = coverage_candidate(entry) && entry->kind != OCV_ENTRY_VARIANT;
        for (size_t k = 0; k < fleet.n && !out->keep[i] && coverage_candidate(entry); k++)
            out->keep[i] = coverage_cell(&fleet.hosts[k], entry) >= least;
    }
    out->root = ocv_json_load_any(image->body.data, image->body.len, OCV_JSON_VALUES_MAX,
                                  JSON_REJECT_DUPLICATES, NULL);
    if (!out->root)
        return ocv_error_set(err, OCV_ERR_DATA, "%s cannot be read", image->text);
    /* What speaks of an image that is kept (its provenance): buildkit's attestations. */
    const json_t *manifests = json_object_get(out->root, "manifests");
    for (size_t i = 0; i < n; i++) {
        const struct ocv_entry *entry = ocv_index_entry(image->index, i);
        const json_t *json = json_array_get(manifests, entry->position);
        const char *of =
            ocv_json_text(json_object_get(json, "annotations"), "vnd.docker.reference.digest");
        if (coverage_candidate(entry) || !of)
            continue;
        for (size_t k = 0; k < n && !out->keep[i]; k++)
            out->keep[i] = out->keep[k] && !strcmp(ocv_index_entry(image->index, k)->digest, of);
    }
    out->machines = options->fleet.n ? coverage_count(&fleet, NULL) : 0;
    return OCV_OK;
}

int sparse_tell(struct cli *cli, const struct image *image, const struct sparse *s, bool quiet,
                struct ocv_error *err)
{
    char bytes[FORMAT_NUMBER_MAX];
    int64_t left = 0;
    ocv_auto_buffer kept, gone;
    ocv_buffer_init(&kept, 65536);
    ocv_buffer_init(&gone, 65536);
    /* Bytes of the images that are left out, but of blobs that those kept have, too. */
    ocv_auto_json *blobs = json_object();
    for (int pass = 1; pass >= 0; pass--)
        for (size_t i = 0; i < ocv_index_count(image->index); i++) {
            ocv_auto_child child = {0};
            struct ocv_descriptor d;
            const struct ocv_entry *entry = ocv_index_entry(image->index, i);
            if (!coverage_candidate(entry) || s->keep[i] != pass)
                continue;
            OCV_TRY(child_descriptor(entry, &d, err));
            int status = child_read(cli, image, &d, &child, err);
            if (status == OCV_ERR_NOT_FOUND && !pass) /* FROM lacks it, too */
                continue;
            OCV_TRY(status);
            for (size_t k = 0; k < ocv_manifest_layer_count(child.manifest); k++) {
                const struct ocv_descriptor *layer = ocv_manifest_layer(child.manifest, k);
                bool known = json_object_get(blobs, layer->digest);
                if (!known && json_object_set_new(blobs, layer->digest, json_true()) < 0)
                    return ocv_error_nomem(err);
                left += !known && !pass ? layer->size : 0;
            }
        }
    OCV_TRY(put_names(image, s->keep, true, &kept, err));
    OCV_TRY(put_names(image, s->keep, false, &gone, err));
    if (!quiet && s->machines)
        fprintf(stderr, "for %zu machine%s: %s\nleft out: %s (%s)\n", s->machines,
                s->machines == 1 ? "" : "s", kept.data, gone.data, format_bytes(left, bytes));
    else if (!quiet)
        fprintf(stderr, "%s has %s\nnot there: %s\n", image->text, kept.data, gone.data);
    return OCV_OK;
}

int sparse_prune(const struct image *image, struct sparse *s, struct ocv_buffer *out,
                 struct ocv_error *err)
{
    json_t *manifests = json_object_get(s->root, "manifests");
    for (size_t i = ocv_index_count(image->index); i-- > 0;)
        if (!s->keep[i] &&
            json_array_remove(manifests, ocv_index_entry(image->index, i)->position) < 0)
            return ocv_error_set(err, OCV_ERR_DATA, "%s cannot be read", image->text);
    return ocv_json_append(s->root, JSON_COMPACT, out, err);
}

void sparse_free(struct sparse *s)
{
    free(s->keep);
    json_decref(s->root);
}
