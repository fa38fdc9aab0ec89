/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* An image as one tar stream in two formats at once, as `docker save` writes since 25:
 * manifest.json names config and layers for `docker load`, `podman load` and skopeo's
 * docker-archive; oci-layout and index.json make it an OCI archive, from which containerd imports
 * the manifest unchanged, so that its digest stays. Layers are stored as they are (readers detect
 * gzip); zstd is refused, since engines before 2022 cannot read it and nothing is recompressed
 * here. */
#include "lib/base/text.h"
#include "lib/layout/layout_internal.h"
#include "ocivariant/manifest.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES (256u * 1024)
#define MEDIA_TYPE_DOCKER_CONFIG "application/vnd.docker.container.image.v1+json"
#define MEMBER_MAX (OCV_DIGEST_MAX + 16) /* "blobs/ALGORITHM/HEX" */

struct archive {
    const struct ocv_layout *layout;
    const struct ocv_manifest *manifest;
    struct ocv_descriptor top; /* of the manifest */
    int fd;
};

static int write_bytes(const struct archive *archive, const void *data, size_t len,
                       struct ocv_error *err)
{
    const char *at = data;
    while (len) {
        ssize_t n = write(archive->fd, at, len);
        if (n < 0 && errno == EAGAIN) { /* a caller's non-blocking pipe */
            struct pollfd wait = {.fd = archive->fd, .events = POLLOUT};
            (void)poll(&wait, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ocv_file_fail(err, "image archive", NULL, "write");
        at += n;
        len -= (size_t)n;
    }
    return OCV_OK;
}

static int put_header(const struct archive *archive, const char *name, int64_t size,
                      struct ocv_error *err)
{
    unsigned char header[OCV_TAR_BLOCK];
    OCV_TRY(ocv_tar_header(header, name, NULL, 0644, size, OCV_TAR_FILE, err));
    return write_bytes(archive, header, sizeof(header), err);
}

static int put_padding(const struct archive *archive, int64_t size, struct ocv_error *err)
{
    static const char zeros[OCV_TAR_BLOCK];
    return write_bytes(archive, zeros, ocv_tar_padding(size), err);
}

static void member_name(const struct ocv_descriptor *blob, char name[MEMBER_MAX])
{
    const char *hex = strchr(blob->digest, ':');
    snprintf(name, MEMBER_MAX, "blobs/%.*s/%s", (int)(hex - blob->digest), blob->digest, hex + 1);
}

static int put_blob(const struct archive *archive, const struct ocv_descriptor *blob,
                    struct ocv_error *err)
{
    char name[MEMBER_MAX];
    member_name(blob, name);
    ocv_auto_fd int fd = -1;
    ocv_auto(ocv_hasher) hasher = NULL;
    OCV_TRY(ocv_layout_open_blob(archive->layout, blob->digest, &fd, NULL, err));
    OCV_TRY(ocv_hasher_new(blob->digest, &hasher, err));
    OCV_TRY(put_header(archive, name, blob->size, err));
    ocv_auto_free char *bytes = malloc(COPY_BYTES);
    if (!bytes)
        return ocv_error_nomem(err);
    for (int64_t left = blob->size; left > 0;) { /* exactly `size` bytes */
        size_t want = left < (int64_t)COPY_BYTES ? (size_t)left : COPY_BYTES;
        ssize_t n = read(fd, bytes, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ocv_file_fail(err, archive->layout->path, blob->digest, "read");
        if (n == 0)
            return ocv_error_set(err, OCV_ERR_MISMATCH, "blob %s was truncated", blob->digest);
        left -= n;
        OCV_TRY(ocv_hasher_update(hasher, bytes, (size_t)n, err));
        OCV_TRY(write_bytes(archive, bytes, (size_t)n, err));
    }
    char digest[OCV_DIGEST_MAX];
    OCV_TRY(ocv_hasher_final(hasher, digest, err));
    if (strcmp(digest, blob->digest) != 0)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "%s: blob %s has digest %s",
                             archive->layout->path, blob->digest, digest);
    return put_padding(archive, blob->size, err);
}

/* A sha512 name does not fit a ustar header. */
static int check_name(const struct ocv_descriptor *blob, struct ocv_error *err)
{
    unsigned char header[OCV_TAR_BLOCK];
    char name[MEMBER_MAX];
    member_name(blob, name);
    return ocv_tar_header(header, name, NULL, 0644, blob->size, OCV_TAR_FILE, err);
}

static int check_blob(const struct archive *archive, const struct ocv_descriptor *blob, bool layer,
                      struct ocv_error *err)
{
    ocv_auto_fd int fd = -1;
    int64_t size;
    OCV_TRY(ocv_layout_open_blob(archive->layout, blob->digest, &fd, &size, err));
    OCV_TRY(check_name(blob, err));
    if (size != blob->size)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "%s: blob %s has %lld bytes, not %lld",
                             archive->layout->path, blob->digest, (long long)size,
                             (long long)blob->size);
    static const unsigned char zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
    unsigned char start[sizeof(zstd)];
    if (!layer || (!ocv_text_ends(blob->media_type, "zstd") &&
                   (pread(fd, start, sizeof(start), 0) != (ssize_t)sizeof(start) ||
                    memcmp(start, zstd, sizeof(zstd)) != 0)))
        return OCV_OK;
    ocv_error_set(err, OCV_ERR_UNSUPPORTED, "layer %s is zstd, a docker-archive cannot hold it",
                  blob->digest);
    ocv_error_hint(err, "write an OCI layout instead, or pull with an engine");
    return OCV_ERR_UNSUPPORTED;
}

static int format_manifest(const struct archive *archive, const char *const *names, size_t n,
                           struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *tags = n ? json_array() : json_null();
    ocv_auto_json *layers = json_array();
    char member[MEMBER_MAX];
    bool ok = tags && layers;
    for (size_t i = 0; ok && i < n; i++)
        ok = json_array_append_new(tags, json_string(names[i])) == 0;
    for (size_t i = 0; ok && i < ocv_manifest_layer_count(archive->manifest); i++) {
        member_name(ocv_manifest_layer(archive->manifest, i), member);
        ok = json_array_append_new(layers, json_string(member)) == 0;
    }
    member_name(ocv_manifest_config(archive->manifest), member);
    ocv_auto_json *root =
        ok ? json_pack("[{s:s, s:O, s:O}]", "Config", member, "RepoTags", tags, "Layers", layers)
           : NULL;
    if (!root)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "cannot write manifest.json of the archive: "
                             "a name is not UTF-8, or out of memory");
    return ocv_json_append(root, JSON_COMPACT, out, err);
}

/* index.json: the manifest under each name, as containerd and skopeo look names up. */
static int format_index(const struct archive *archive, const char *const *names, size_t n,
                        struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto_json *manifests = json_array();
    bool ok = manifests != NULL;
    for (size_t i = 0; ok && i < (n ? n : 1); i++) {
        const char *name = n ? names[i] : NULL, *tag = name ? strrchr(name, ':') : NULL;
        json_t *entry = json_pack("{s:s, s:s, s:I}", "mediaType", archive->top.media_type, "digest",
                                  archive->top.digest, "size", (json_int_t)archive->top.size);
        if (name)
            ok = json_object_set_new(entry, "annotations",
                                     json_pack("{s:s, s:s}", OCV_ANNOTATION_IMAGE_NAME, name,
                                               OCV_ANNOTATION_REF_NAME, tag ? tag + 1 : name)) == 0;
        ok = json_array_append_new(manifests, entry) == 0 && ok;
    }
    ocv_auto_json *root = ok ? json_pack("{s:i, s:s, s:O}", "schemaVersion", 2, "mediaType",
                                         OCV_MEDIA_TYPE_INDEX, "manifests", manifests)
                             : NULL;
    if (!root)
        return ocv_error_set(err, OCV_ERR_INVALID,
                             "cannot write index.json of the archive: "
                             "a name is not UTF-8, or out of memory");
    return ocv_json_append(root, JSON_COMPACT, out, err);
}

static int put_text(const struct archive *archive, const char *name, const void *text, size_t len,
                    struct ocv_error *err)
{
    OCV_TRY(put_header(archive, name, (int64_t)len, err));
    OCV_TRY(write_bytes(archive, text, len, err));
    return put_padding(archive, (int64_t)len, err);
}

int ocv_layout_write_archive(const struct ocv_layout *layout, const char *manifest_digest,
                             const char *const *names, size_t n, int fd, struct ocv_error *err)
{
    static const char version[] = "{\"imageLayoutVersion\":\"1.0.0\"}";
    static const char end[2 * OCV_TAR_BLOCK];
    const char *type = NULL;
    ocv_auto_json *root = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_MANIFEST_MAX);
    ocv_auto(ocv_manifest) manifest = NULL;
    OCV_TRY(ocv_layout_read_blob(layout, manifest_digest, &text, err));
    OCV_TRY(ocv_manifest_parse(text.data, text.len, NULL, &manifest, err));
    struct archive archive = {.layout = layout, .manifest = manifest, .fd = fd};
    struct ocv_descriptor *top = &archive.top;
    OCV_TRY(ocv_json_load_counted("manifest", text.data, text.len, OCV_MANIFEST_MAX,
                                  OCV_JSON_VALUES_MAX, &root, err));
    /* it may be in the body alone, or missing */
    OCV_TRY(ocv_json_string(root, "manifest", "mediaType", &type, err));
    snprintf(top->media_type, sizeof(top->media_type), "%s", type ? type : OCV_MEDIA_TYPE_MANIFEST);
    snprintf(top->digest, sizeof(top->digest), "%s", manifest_digest);
    top->size = (int64_t)text.len;
    /* Everything that can be known beforehand, so that a reader is not left with half a stream. */
    const struct ocv_descriptor *config = ocv_manifest_config(manifest);
    if (strcmp(config->media_type, OCV_MEDIA_TYPE_CONFIG) != 0 &&
        strcmp(config->media_type, MEDIA_TYPE_DOCKER_CONFIG) != 0)
        return ocv_error_set(err, OCV_ERR_UNSUPPORTED, "not a container image: config is %s",
                             config->media_type);
    OCV_TRY(check_name(top, err));
    OCV_TRY(check_blob(&archive, config, false, err));
    for (size_t i = 0; i < ocv_manifest_layer_count(manifest); i++)
        OCV_TRY(check_blob(&archive, ocv_manifest_layer(manifest, i), true, err));

    /* The small files first: readers that stream learn at once what the rest is. */
    ocv_auto_buffer index_json;
    ocv_buffer_init(&index_json, OCV_MANIFEST_MAX);
    ocv_auto_buffer manifest_json;
    ocv_buffer_init(&manifest_json, OCV_MANIFEST_MAX);
    OCV_TRY(format_index(&archive, names, n, &index_json, err));
    OCV_TRY(format_manifest(&archive, names, n, &manifest_json, err));
    OCV_TRY(put_text(&archive, "oci-layout", version, sizeof(version) - 1, err));
    OCV_TRY(put_text(&archive, "index.json", index_json.data, index_json.len, err));
    OCV_TRY(put_text(&archive, "manifest.json", manifest_json.data, manifest_json.len, err));

    OCV_TRY(put_blob(&archive, top, err));
    OCV_TRY(put_blob(&archive, config, err));
    for (size_t i = 0; i < ocv_manifest_layer_count(manifest); i++) {
        const struct ocv_descriptor *layer = ocv_manifest_layer(manifest, i);
        size_t first = 0; /* one that is in the image twice is in the archive once */
        while (strcmp(ocv_manifest_layer(manifest, first)->digest, layer->digest) != 0)
            first++;
        if (first == i)
            OCV_TRY(put_blob(&archive, layer, err));
    }
    return write_bytes(&archive, end, sizeof(end), err);
}
