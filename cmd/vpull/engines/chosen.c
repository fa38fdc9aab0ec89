/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/engines/chosen.h"

#include <stdio.h>
#include <stdlib.h>

char *pull_digest_reference(const struct pull *pull)
{
    char *text = NULL;
    const struct image *image = &pull->image;
    int n = image->reference
                ? asprintf(&text, "%s@%s", image->reference->name, pull->entry->digest)
                : asprintf(&text, "oci:%s@%s", ocv_layout_path(image->layout), pull->entry->digest);
    return n < 0 ? NULL : text;
}

struct transfer {
    struct pull *pull;
    size_t *rows; /* blob -> progress row; SIZE_MAX: not shown (the config) */
    bool *begun;  /* blob -> its progress has been reported */
    bool fetched;
};

static void show_blob(void *data, size_t i, int64_t done, bool finished, bool cached)
{
    struct transfer *t = data;
    t->fetched = t->fetched || !cached;
    if (!t->begun[i] && !finished && done > 0 && t->rows[i] != SIZE_MAX)
        progress_resumed(t->pull->progress, t->rows[i], done);
    t->begun[i] = true;
    enum layer_state finally = t->pull->staged ? LAYER_DOWNLOADED : LAYER_DONE;
    enum layer_state state = cached ? LAYER_CACHED : finished ? finally : LAYER_DOWNLOADING;
    progress_set(t->pull->progress, t->rows[i], state, done, -1);
}

int pull_to_layout(struct pull *pull, struct ocv_layout *layout, struct ocv_error *err)
{
    size_t n = ocv_manifest_layer_count(pull->child.manifest);
    struct transfer t = {
        .pull = pull, .rows = calloc(n + 1, sizeof(size_t)), .begun = calloc(n + 1, sizeof(bool))};
    if (!t.rows || !t.begun) {
        free(t.rows);
        free(t.begun);
        return ocv_error_nomem(err);
    }
    t.rows[0] = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct ocv_descriptor *layer = ocv_manifest_layer(pull->child.manifest, i);
        t.rows[i + 1] = progress_add(pull->progress, layer->digest, layer->size);
    }
    int status = child_transfer(pull->cli, &pull->image, &pull->child, layout, pull->options->jobs,
                                show_blob, &t, err);
    pull->cached = status == OCV_OK && !t.fetched;
    free(t.rows);
    free(t.begun);
    return status;
}
