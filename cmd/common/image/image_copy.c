/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/image.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_CHUNK (1024u * 1024)

int child_descriptor(const struct ocv_entry *entry, struct ocv_descriptor *out,
                     struct ocv_error *err)
{
    int type = snprintf(out->media_type, sizeof(out->media_type), "%s", entry->media_type);
    int digest = snprintf(out->digest, sizeof(out->digest), "%s", entry->digest);
    out->size = entry->size;
    if (type < 0 || (size_t)type >= sizeof(out->media_type) || digest < 0 ||
        (size_t)digest >= sizeof(out->digest))
        return ocv_error_set(err, OCV_ERR_DATA, "entry %zu: media type or digest too long",
                             entry->position);
    return OCV_OK;
}

int child_read(struct cli *cli, const struct image *image, const struct ocv_descriptor *descriptor,
               struct manifest_doc *out, struct ocv_error *err)
{
    *out = (struct manifest_doc){.descriptor = *descriptor};
    ocv_buffer_init(&out->body, OCV_MANIFEST_MAX);
    struct ocv_descriptor seen;
    bool top = !strcmp(descriptor->digest, image->top.digest);
    int status;
    if (top)
        status = ocv_buffer_append(&out->body, image->body.data, image->body.len, err);
    else if (image->layout)
        status = ocv_layout_read_blob(image->layout, descriptor->digest, &out->body, err);
    else
        status = ocv_registry_get(cli->registry, image->reference, descriptor->digest, &out->body,
                                  &seen, err);
    if (status < 0 && !top && !image->layout)
        return status; /* the registry library names the image itself */
    if (status == OCV_OK && descriptor->size >= 0 && (uint64_t)descriptor->size != out->body.len)
        status = ocv_error_set(err, OCV_ERR_MISMATCH, "manifest %s has %zu bytes, expected %lld",
                               descriptor->digest, out->body.len, (long long)descriptor->size);
    if (status == OCV_OK)
        status = ocv_manifest_parse(out->body.data, out->body.len, descriptor->media_type,
                                    &out->manifest, err);
    return status < 0 ? ocv_error_prefix(err, "%s", image->text) : OCV_OK;
}

void child_free(struct manifest_doc *child)
{
    ocv_buffer_free(&child->body);
    ocv_manifest_free(child->manifest);
    child->manifest = NULL;
}

/* The i-th blob: 0 is the config, then the layers. */
static const struct ocv_descriptor *blob_at(const struct manifest_doc *child, size_t i)
{
    return i == 0 ? ocv_manifest_config(child->manifest)
                  : ocv_manifest_layer(child->manifest, i - 1);
}

/* Each blob once. */
int64_t child_bytes(const struct manifest_doc *child)
{
    int64_t sum = 0;
    for (size_t i = 0; i <= ocv_manifest_layer_count(child->manifest); i++) {
        size_t k = 0;
        while (k < i && strcmp(blob_at(child, k)->digest, blob_at(child, i)->digest) != 0)
            k++;
        if (k == i && __builtin_add_overflow(sum, blob_at(child, i)->size, &sum))
            return INT64_MAX;
    }
    return sum;
}

static int copy_bytes(const struct cli *cli, int fd, struct ocv_blob_writer *writer, char *chunk,
                      size_t i, ocv_fetch_progress progress, void *data, struct ocv_error *err)
{
    while (true) {
        ssize_t n = read(fd, chunk, COPY_CHUNK);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return ocv_error_set(err, OCV_ERR_IO, "reading a blob: %s", strerror(errno));
        if (cli_interrupted(cli))
            return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
        if (n > 0)
            OCV_TRY(ocv_blob_writer_write(writer, chunk, (size_t)n, err));
        if (progress)
            progress(data, i, ocv_blob_writer_offset(writer), false, false);
    }
    return OCV_OK;
}

static int copy_blob(const struct cli *cli, const struct ocv_layout *from, struct ocv_layout *to,
                     const struct ocv_descriptor *blob, size_t i, ocv_fetch_progress progress,
                     void *data, struct ocv_error *err)
{
    struct ocv_blob_writer *writer = NULL;
    int64_t offset = 0, size = 0;
    bool present = false;
    int fd = -1;
    int status =
        ocv_blob_writer_open(to, blob->digest, blob->size, &writer, &offset, &present, err);
    if (status < 0 || present) {
        if (present && progress)
            progress(data, i, blob->size, true, true);
        return status;
    }
    if (progress)
        progress(data, i, offset, false, false);
    char *chunk = malloc(COPY_CHUNK);
    status =
        chunk ? ocv_layout_open_blob(from, blob->digest, &fd, &size, err) : ocv_error_nomem(err);
    if (status == OCV_OK && lseek(fd, (off_t)offset, SEEK_SET) < 0)
        status = ocv_error_set(err, OCV_ERR_IO, "seeking in a blob: %s", strerror(errno));
    if (status == OCV_OK)
        status = copy_bytes(cli, fd, writer, chunk, i, progress, data, err);
    free(chunk);
    if (fd >= 0)
        close(fd);
    if (status < 0) {
        ocv_blob_writer_close(writer);
        return status;
    }
    status = ocv_blob_writer_commit(writer, err);
    if (status == OCV_OK && progress)
        progress(data, i, blob->size, true, false);
    return status;
}

int child_transfer(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                   struct ocv_layout *to, unsigned jobs, ocv_fetch_progress progress, void *data,
                   struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    size_t n = ocv_manifest_layer_count(child->manifest) + 1;
    if (image->layout) {
        for (size_t i = 0; i < n; i++)
            if (copy_blob(cli, image->layout, to, blob_at(child, i), i, progress, data, err) < 0)
                return ocv_error_prefix(err, "%s", image->text);
    } else {
        ocv_auto_free struct ocv_fetch *list = calloc(n, sizeof(*list));
        if (!list)
            return ocv_error_nomem(err);
        for (size_t i = 0; i < n; i++)
            list[i].descriptor = *blob_at(child, i);
        OCV_TRY(ocv_registry_fetch(cli->registry, image->reference, to, list, n, jobs, progress,
                                   data, err));
    }
    memcpy(digest, child->descriptor.digest, sizeof(digest));
    return ocv_layout_write_blob(to, child->body.data, child->body.len, digest, err);
}

int child_config(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                 struct ocv_buffer *config, struct ocv_error *err)
{
    const struct ocv_descriptor *descriptor = ocv_manifest_config(child->manifest);
    if (image->layout)
        return ocv_layout_read_blob(image->layout, descriptor->digest, config, err);
    return ocv_registry_get_blob(cli->registry, image->reference, descriptor, config, err);
}
