/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/index/index_verbs.h"

#include "cmd/common/progress/progress.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 4u /* nested indexes */

int copier_open(struct cli *cli, struct place *to, enum progress_mode mode, struct copier *out,
                struct ocv_error *err)
{
    *out = (struct copier){.cli = cli, .to = to};
    OCV_TRY(progress_new(mode, stderr, NULL, &out->progress, err));
    if (mode != PROGRESS_QUIET)
        progress_attach(out->progress, cli);
    return OCV_OK;
}

void copier_close(struct copier *copier)
{
    if (copier->progress) {
        progress_finish(copier->progress);
        progress_detach(copier->cli);
    }
    progress_free(copier->progress);
    ocv_layout_free(copier->staging);
    if (copier->staging_dir[0])
        ocv_directory_remove(copier->staging_dir);
    *copier = (struct copier){0};
}

struct progress_row {
    struct copier *copier;
    size_t i;
    int64_t size;
};

static void on_sent(void *data, int64_t sent)
{
    struct progress_row *row = data;
    progress_set(row->copier->progress, row->i, LAYER_UPLOADING, sent, row->size);
}

static void on_fetched(void *data, size_t i, int64_t done, bool finished, bool cached)
{
    struct progress_row *row = data;
    (void)i;
    (void)finished;
    (void)cached;
    progress_set(row->copier->progress, row->i, LAYER_DOWNLOADING, done, row->size);
}

/* If a registry refuses a file's bytes, check first whether the file matches its digest. */
static int blame_file(int fd, const char *digest, const struct ocv_layout *layout,
                      struct ocv_error *err)
{
    ocv_auto(ocv_hasher) hasher = NULL;
    char bytes[65536], now[OCV_DIGEST_MAX];
    ssize_t n = -1;
    off_t at = 0;
    int status = ocv_hasher_new(digest, &hasher, NULL);
    while (status == OCV_OK && (n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
        status = ocv_hasher_update(hasher, bytes, (size_t)n, NULL);
        at += n;
    }
    if (status == OCV_OK && n == 0 && ocv_hasher_final(hasher, now, NULL) == OCV_OK &&
        strcmp(now, digest) != 0)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "%s: blob %s: the bytes have digest %s",
                             ocv_layout_path(layout), digest, now);
    return OCV_OK;
}

static int push_file(struct copier *c, const struct ocv_layout *layout, struct ocv_push *push,
                     enum ocv_pushed *how, struct ocv_error *err)
{
    int64_t size;
    int status = ocv_layout_open_blob(layout, push->descriptor.digest, &push->fd, &size, err);
    if (status == OCV_OK && size != push->descriptor.size)
        status = ocv_error_set(err, OCV_ERR_MISMATCH, "%s has %lld bytes, expected %lld",
                               push->descriptor.digest, (long long)size,
                               (long long)push->descriptor.size);
    else if (status == OCV_OK)
        status = ocv_registry_push(c->cli->registry, c->to->reference, push, how, err);
    if (status < 0 && err && err->http_status == 400 &&
        blame_file(push->fd, push->descriptor.digest, layout, err) < 0)
        status = OCV_ERR_MISMATCH;
    if (push->fd >= 0)
        close(push->fd);
    push->fd = -1;
    return status;
}

/* Copy through a local file: from another registry, or one that does not mount. */
static int push_through(struct copier *c, const struct image *from, struct ocv_push *push,
                        enum ocv_pushed *how, struct ocv_error *err)
{
    struct ocv_fetch fetch = {.descriptor = push->descriptor};
    char path[PATH_MAX];
    push->from = NULL;
    if (!c->staging) {
        const char *base = getenv("TMPDIR");
        base = base && *base ? base : "/var/tmp";
        int n = snprintf(c->staging_dir, sizeof(c->staging_dir), "%s/variantctl.XXXXXX", base);
        if (n < 0 || (size_t)n >= sizeof(c->staging_dir) || !mkdtemp(c->staging_dir)) {
            c->staging_dir[0] = '\0';
            return ocv_error_set(err, OCV_ERR_IO, "cannot make a directory in %s", base);
        }
        OCV_TRY(ocv_layout_open(c->staging_dir, OCV_LAYOUT_CREATE | OCV_LAYOUT_NOSYNC, &c->staging,
                                err));
    }
    int status = ocv_registry_fetch(c->cli->registry, from->reference, c->staging, &fetch, 1, 1,
                                    on_fetched, push->data, err);
    if (status == OCV_OK)
        status = push_file(c, c->staging, push, how, err);
    const char *digest = push->descriptor.digest, *colon = strchr(digest, ':');
    snprintf(path, sizeof(path), "%s/blobs/%.*s/%s", c->staging_dir, (int)(colon - digest), digest,
             colon + 1);
    unlink(path);
    return status;
}

/* A layer whose distribution its publisher forbids; registries rarely have it. */
static bool is_foreign(const struct ocv_descriptor *d)
{
    return strstr(d->media_type, ".foreign.") || strstr(d->media_type, "nondistributable");
}

static int push_blob(struct copier *c, const struct image *from, const struct ocv_descriptor *d,
                     const struct ocv_buffer *bytes, struct ocv_error *err)
{
    struct ocv_error local = {0};
    struct progress_row row = {.copier = c, .i = progress_add(c->progress, d->digest, d->size)};
    row.size = d->size;
    struct ocv_push push = {.descriptor = *d, .fd = -1, .progress = on_sent, .data = &row};
    enum ocv_pushed how = OCV_PUSHED_PRESENT;
    bool same_host = from->reference && !strcmp(from->reference->host, c->to->reference->host);
    int status;
    if (cli_interrupted(c->cli))
        return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
    if (same_host && strcmp(from->reference->repository, c->to->reference->repository) != 0)
        push.from = from->reference->repository;
    if (bytes) {
        push.bytes = bytes->data;
        status = ocv_registry_push(c->cli->registry, c->to->reference, &push, &how, &local);
    } else if (from->layout) {
        /* one that is not in the layout may be at its target, where another image has it */
        bool here = ocv_layout_has_blob(from->layout, d->digest, d->size);
        int there = here ? 0
                         : ocv_registry_has_blob(c->cli->registry, c->to->reference, d->digest,
                                                 d->size, &local);
        status = there > 0 || (!there && !here && is_foreign(d)) ? OCV_OK
                 : there < 0                                     ? there
                             : push_file(c, from->layout, &push, &how, &local);
    } else {
        status = ocv_registry_push(c->cli->registry, c->to->reference, &push, &how, &local);
        if (status == OCV_ERR_NOT_FOUND && !is_foreign(d))
            status = push_through(c, from, &push, &how, &local);
        else if (status == OCV_ERR_NOT_FOUND)
            status = OCV_OK;
    }
    if (status < 0) {
        if (err)
            *err = local;
        return status;
    }
    int64_t *sums[] = {[OCV_PUSHED_PRESENT] = &c->bytes_present,
                       [OCV_PUSHED_MOUNTED] = &c->bytes_mounted,
                       [OCV_PUSHED_SENT] = &c->bytes_sent};
    *sums[how] += d->size;
    progress_set(c->progress, row.i, how == OCV_PUSHED_SENT ? LAYER_DONE : LAYER_CACHED, d->size,
                 d->size);
    return OCV_OK;
}

int copier_child(struct copier *c, const struct image *from, const struct manifest_doc *child,
                 const struct ocv_buffer *config, struct ocv_error *err)
{
    const struct ocv_descriptor *d = &child->descriptor;
    if (!c->to->reference) {
        int64_t size = child_bytes(child);
        size_t row = progress_add(c->progress, d->digest, size);
        char digest[OCV_DIGEST_MAX];
        if (config) {
            memcpy(digest, ocv_manifest_config(child->manifest)->digest, sizeof(digest));
            OCV_TRY(ocv_layout_write_blob(c->to->layout, config->data, config->len, digest, err));
        }
        OCV_TRY(child_transfer(c->cli, from, child, c->to->layout, 0, NULL, NULL, err));
        c->manifests++;
        c->bytes_sent += size;
        progress_set(c->progress, row, LAYER_DONE, size, size);
        return OCV_OK;
    }
    /* A registry only accepts a manifest when everything it names is there. */
    struct ocv_descriptor seen;
    if (place_head(c->to, d->digest, &seen, NULL) == OCV_OK && seen.size == d->size) {
        c->bytes_present += child_bytes(child);
        return OCV_OK;
    }
    cli_log(c->cli, "writing %s@%s", c->to->name, d->digest);
    size_t n = ocv_manifest_layer_count(child->manifest);
    for (size_t i = 0; i < n; i++)
        OCV_TRY(push_blob(c, from, ocv_manifest_layer(child->manifest, i), NULL, err));
    OCV_TRY(push_blob(c, from, ocv_manifest_config(child->manifest), config, err));
    OCV_TRY(place_put(c->to, NULL, d, child->body.data, child->body.len, err));
    c->manifests++;
    return OCV_OK;
}

int copier_tree(struct copier *c, const struct image *from, const struct ocv_descriptor *d,
                unsigned depth, struct ocv_error *err)
{
    enum ocv_document_kind kind = OCV_DOCUMENT_MANIFEST;
    ocv_auto_child child = {.descriptor = *d};
    struct ocv_buffer *body = &child.body;
    struct ocv_descriptor seen;
    ocv_buffer_init(body, OCV_MANIFEST_MAX);
    bool top = !strcmp(d->digest, from->top.digest); /* it was read already */
    int status = top            ? ocv_buffer_append(body, from->body.data, from->body.len, err)
                 : from->layout ? ocv_layout_read_blob(from->layout, d->digest, body, err)
                                : ocv_registry_get(c->cli->registry, from->reference, d->digest,
                                                   body, &seen, err);
    if (!top && status == OCV_OK && d->size >= 0 && (size_t)d->size != body->len)
        status = ocv_error_set(err, OCV_ERR_MISMATCH, "%s has %zu bytes, expected %lld", d->digest,
                               body->len, (long long)d->size);
    if (status < 0)
        return !top && from->layout ? ocv_error_prefix(err, "%s", from->text) : status;
    status = ocv_document_kind(body->data, body->len, d->media_type, &kind, err);
    if (status == OCV_OK && kind == OCV_DOCUMENT_MANIFEST)
        status = ocv_manifest_parse(body->data, body->len, d->media_type, &child.manifest, err);
    if (status < 0)
        return ocv_error_prefix(err, "%s: %s", from->text, d->digest);
    if (kind == OCV_DOCUMENT_MANIFEST)
        return copier_child(c, from, &child, NULL, err);

    ocv_auto(ocv_index) index = NULL;
    if (ocv_index_parse(body->data, body->len, d->media_type, &index, err) < 0)
        return ocv_error_prefix(err, "%s", from->text);
    if (depth == DEPTH_MAX)
        return ocv_error_set(err, OCV_ERR_DATA, "%s: indexes nested more than %u deep", from->text,
                             DEPTH_MAX);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        struct ocv_descriptor below;
        if (top && c->keep && !c->keep[i])
            continue;
        OCV_TRY(child_descriptor(ocv_index_entry(index, i), &below, err));
        OCV_TRY(copier_tree(c, from, &below, depth + 1, err));
    }
    if (depth == 0) /* the topmost document gets its tag at the very end */
        return OCV_OK;
    return place_put(c->to, NULL, d, body->data, body->len, err);
}
