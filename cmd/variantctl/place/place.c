/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/place/place.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int place_open(struct cli *cli, const char *text, struct place *out, struct ocv_error *err)
{
    *out = (struct place){.cli = cli};
    if (!image_split_layout(text, &out->dir, &out->tag)) {
        if (image_is_path(text)) {
            ocv_error_set(err, OCV_ERR_INVALID, "%s: a path, not an image", text);
            ocv_error_hint(err, "an OCI layout in that directory is oci:%.200s", text);
            return OCV_ERR_INVALID;
        }
        OCV_TRY(ocv_reference_parse(text, &out->reference, err));
        if (out->reference->digest)
            return ocv_error_set(err, OCV_ERR_INVALID, "%s: give a tag and no digest to write to",
                                 text);
        OCV_TRY(image_bind_credentials(out->cli, out->reference, err));
        OCV_TRY(cli_registry(out->cli, err));
        out->tag = strdup(out->reference->tag);
        out->name = strdup(out->reference->name);
        if (!out->tag || !out->name)
            return ocv_error_nomem(err);
        /* Docker's default is right for pulling; when writing, the tag may have been forgotten. */
        const char *slash = strrchr(text, '/');
        if (!strchr(slash ? slash : text, ':'))
            cli_warn(cli, "%s has no tag: using %s:%s", text, out->name, out->tag);
        return OCV_OK;
    }
    if (!out->dir || asprintf(&out->name, "oci:%s", out->dir) < 0) {
        out->name = NULL;
        return ocv_error_nomem(err);
    }
    if (!out->tag || !ocv_reference_tag_valid(out->tag))
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.200s' is not oci:DIR:TAG", text);
    int status = ocv_layout_open(out->dir, OCV_LAYOUT_READ, &out->layout, err);
    return status == OCV_ERR_NOT_FOUND ? OCV_OK : status;
}

void place_close(struct place *place)
{
    ocv_reference_free(place->reference);
    ocv_layout_free(place->layout);
    free(place->dir);
    free(place->tag);
    free(place->name);
    *place = (struct place){0};
}

int place_prepare(struct place *place, struct ocv_error *err)
{
    if (!place->dir)
        return OCV_OK;
    ocv_layout_free(place->layout);
    place->layout = NULL;
    return ocv_layout_open(place->dir, OCV_LAYOUT_CREATE, &place->layout, err);
}

int place_check(const struct place *place, struct ocv_error *err)
{
    char path[PATH_MAX];
    if (!place->dir)
        return OCV_OK;
    snprintf(path, sizeof(path), "%s", place->dir);
    /* what is missing is made in the nearest directory that is there */
    while (access(path, F_OK) < 0 && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash)
            memcpy(path, ".", sizeof("."));
        else
            slash[slash == path] = '\0';
    }
    return access(path, W_OK) < 0 ? ocv_error_set(err, OCV_ERR_IO, "cannot write to %s: %s",
                                                  place->dir, strerror(errno))
                                  : OCV_OK;
}

bool place_holds(const struct place *place, const struct image *image)
{
    char own[PATH_MAX], other[PATH_MAX];
    if (place->reference)
        return image->reference && !strcmp(place->reference->name, image->reference->name);
    return image->layout && realpath(place->dir, own) &&
           realpath(ocv_layout_path(image->layout), other) && !strcmp(own, other);
}

/* A reference to another tag or digest in the place's repository. */
static struct ocv_reference object_of(const struct place *place, const char *object)
{
    struct ocv_reference r = *place->reference;
    bool digest = strchr(object, ':');
    r.tag = digest ? NULL : (char *)object;
    r.digest = digest ? (char *)object : NULL;
    return r;
}

static int no_layout(const struct place *place, const char *object, struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s:%s: not found", place->name, object);
}

int place_head(struct place *place, const char *tag, struct ocv_descriptor *out,
               struct ocv_error *err)
{
    if (place->reference) {
        struct ocv_reference r = object_of(place, tag);
        return ocv_registry_head(place->cli->registry, &r, out, err);
    }
    return place->layout ? ocv_layout_resolve(place->layout, tag, out, err)
                         : no_layout(place, tag, err);
}

int place_get(struct place *place, const char *object, struct ocv_buffer *body,
              struct ocv_descriptor *out, struct ocv_error *err)
{
    if (place->reference) {
        struct ocv_reference r = object_of(place, object);
        return ocv_registry_get(place->cli->registry, &r, NULL, body, out, err);
    }
    *out = (struct ocv_descriptor){0};
    if (!place->layout)
        return no_layout(place, object, err);
    if (strchr(object, ':'))
        snprintf(out->digest, sizeof(out->digest), "%s", object);
    else
        OCV_TRY(ocv_layout_resolve(place->layout, object, out, err));
    int status = ocv_layout_read_blob(place->layout, out->digest, body, err);
    out->size = (int64_t)body->len;
    return status;
}

static int put_in_registry(struct place *place, const char *object, const char *before,
                           const struct ocv_descriptor *descriptor, const void *bytes, size_t len,
                           struct ocv_error *err)
{
    struct ocv_reference r = object_of(place, object);
    return ocv_registry_put(place->cli->registry, &r, descriptor->media_type, bytes, len, before,
                            NULL, err);
}

static int put_in_layout(struct place *place, const struct ocv_descriptor *descriptor,
                         const void *bytes, size_t len, struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    memcpy(digest, descriptor->digest, sizeof(digest));
    return ocv_layout_write_blob(place->layout, bytes, len, digest, err);
}

int place_put(struct place *place, const char *tag, const struct ocv_descriptor *descriptor,
              const void *bytes, size_t len, struct ocv_error *err)
{
    if (place->reference)
        return put_in_registry(place, tag ? tag : descriptor->digest, NULL, descriptor, bytes, len,
                               err);
    OCV_TRY(put_in_layout(place, descriptor, bytes, len, err));
    return tag ? ocv_layout_tag(place->layout, tag, NULL, descriptor, NULL, err) : OCV_OK;
}

int place_move(struct place *place, const char *before, const struct ocv_descriptor *descriptor,
               const void *bytes, size_t len, bool *moved, struct ocv_error *err)
{
    struct ocv_error local = {0};
    char now[OCV_DIGEST_MAX];
    int status;
    if (place->reference) {
        status = put_in_registry(place, place->tag, *before ? before : NULL, descriptor, bytes, len,
                                 &local);
        *moved = status < 0 && local.http_status == 412;
    } else {
        status = put_in_layout(place, descriptor, bytes, len, &local);
        if (status == OCV_OK)
            status = ocv_layout_retag(place->layout, place->tag, before, descriptor, now, &local);
        *moved = status == OCV_ERR_DENIED;
    }
    if (status < 0 && err)
        *err = local;
    return status;
}
