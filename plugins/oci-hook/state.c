/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What image it is: annotations of the container (dev.ocivariant.properties and .label, where
 * somebody copied them), else the manifest digest in the engine's storage or its annotations. */
#include "plugins/oci-hook/state.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where engines write the name and the digest of a container's image. What an image says of its
 * base (org.opencontainers.image.base.*, which podman copies) is another image's. */
static const char *const name_keys[] = {
    "io.kubernetes.cri-o.ImageName", "io.kubernetes.cri.image-name",
    "io.podman.annotations.image-name", "org.opencontainers.image.ref.name"};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && *text ? text : NULL;
}

static const char *first_of(const json_t *annotations, const char *const *keys, size_t n)
{
    const char *found = NULL;
    for (size_t i = 0; i < n && !found; i++)
        found = text_of(annotations, keys[i]);
    return found;
}

json_t *state_parse(int fd)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, STATE_MAX);
    if (ocv_fd_read(fd, "state", &text, NULL) < 0)
        return NULL;
    return json_loadb(text.data ? text.data : "", text.len, JSON_DISABLE_EOF_CHECK, NULL);
}

/* podman keeps annotations in the bundle's config.json, of which the state has some only.
 * `*unread`: it is there, and nobody can tell what it says. */
static json_t *bundle_annotations(const json_t *state, bool *unread)
{
    char path[4096];
    const char *bundle = text_of(state, "bundle");
    if (!bundle)
        return NULL;
    *unread = true;
    if (snprintf(path, sizeof(path), "%s/config.json", bundle) >= (int)sizeof(path))
        return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        *unread = errno != ENOENT && errno != ENOTDIR;
        return NULL;
    }
    json_t *config = state_parse(fd);
    close(fd);
    json_t *annotations = json_incref(json_object_get(config, "annotations"));
    *unread = !json_is_object(config);
    json_decref(config);
    return annotations;
}

/* What the runtime tells goes before what stands in the bundle. */
static json_t *annotations_of(const json_t *state, bool *unread)
{
    json_t *own = json_object_get(state, "annotations"), *all = json_object();
    json_t *bundle = bundle_annotations(state, unread);
    if (all && bundle)
        json_object_update(all, bundle);
    if (all && json_is_object(own))
        json_object_update(all, own);
    json_decref(bundle);
    return all;
}

/* CRI-O's bundles lie in its run root; where its images are, the root of the container says:
 * "ROOT/DRIVER/LAYER/merged". */
static bool graph_root(const json_t *annotations, char *out, size_t size)
{
    const char *mount = text_of(annotations, "io.kubernetes.cri-o.MountPoint");
    if (!mount || snprintf(out, size, "%s", mount) >= (int)size)
        return false;
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(out, '/');
        if (!slash || slash == out)
            return false;
        *slash = '\0';
    }
    return true;
}

/* "REPO@DIGEST" or "DIGEST"; an image id alone is no manifest's digest. */
static const char *digest_in(const char *text)
{
    const char *at = text ? strrchr(text, '@') : NULL;
    const char *digest = at ? at + 1 : text;
    return digest && ocv_digest_wellformed(digest) ? digest : NULL;
}

bool state_read(const json_t *json, struct state *out)
{
    char root[4096] = "";
    *out = (struct state){0};
    out->annotations = annotations_of(json, &out->unread);
    const json_t *annotations = out->annotations;
    struct verdict_question *q = &out->question;
    q->reference = first_of(annotations, name_keys, sizeof(name_keys) / sizeof(*name_keys));
    q->digest = digest_in(text_of(annotations, "dev.ocivariant.digest"));
    q->label = text_of(annotations, OCV_ANNOTATION_LABEL);
    q->properties = text_of(annotations, OCV_ANNOTATION_PROPERTIES);
    if (q->digest || q->properties)
        return true;
    const char *bundle = text_of(json, "bundle");
    bool other = graph_root(annotations, root, sizeof(root));
    if (bundle && storage_find(bundle, other ? root : NULL, &out->image))
        q->digest = out->image.digest;
    else /* as it was asked for: it may be an index's */
        q->digest = digest_in(text_of(annotations, "io.kubernetes.cri-o.ImageRef"));
    if (!q->digest && q->reference && strchr(q->reference, '@'))
        q->digest = digest_in(q->reference);
    if (!q->digest)
        return false; /* not ours to judge */
    if (!q->reference && out->image.name[0])
        q->reference = out->image.name;
    return true;
}

void state_free(struct state *state)
{
    json_decref(state->annotations);
    state->annotations = NULL;
}
