/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds a container's image: by the container's annotations (dev.ocivariant.properties and .label,
 * if they were copied), else by the manifest digest in the engine's storage, else by the engine's
 * own annotations. */
#include "plugins/oci-hook/hook.h"

#include "lib/base/file.h"
#include "lib/base/format/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Annotations in which engines write the image's name. org.opencontainers.image.base.*, which
 * podman copies, do not qualify: they name the base image. */
static const char *const name_keys[] = {
    "io.kubernetes.cri-o.ImageName", "io.kubernetes.cri.image-name",
    "io.podman.annotations.image-name", "org.opencontainers.image.ref.name"};

json_t *state_parse(int fd)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, STATE_MAX);
    if (ocv_fd_read(fd, "state", &text, NULL) < 0)
        return NULL;
    return ocv_json_load_any(text.data, text.len, OCV_JSON_VALUES_MAX, JSON_DISABLE_EOF_CHECK,
                             NULL);
}

/* podman keeps annotations in the bundle's config.json; the state has only some of them. `*unread`:
 * the file exists but cannot be read. */
static json_t *read_bundle(const json_t *state, bool *unread)
{
    char path[4096];
    const char *bundle = ocv_json_some_text(state, "bundle");
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
    *unread = !json_is_object(config);
    return config;
}

/* CRI-O's bundles are in its run root. Its image directory is the ROOT in the container's mount
 * point, "ROOT/DRIVER/LAYER/merged". */
static bool find_graph_root(const json_t *annotations, char *out, size_t size)
{
    const char *mount = ocv_json_some_text(annotations, "io.kubernetes.cri-o.MountPoint");
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

/* The digest of "REPO@DIGEST" or "DIGEST"; NULL for anything else, such as an image id. */
static const char *find_digest(const char *text)
{
    const char *at = text ? strrchr(text, '@') : NULL;
    const char *digest = at ? at + 1 : text;
    return digest && ocv_digest_wellformed(digest) ? digest : NULL;
}

bool state_read(const json_t *json, struct container_state *out)
{
    char root[4096] = "";
    *out = (struct container_state){0};
    json_t *config = read_bundle(json, &out->unread);
    /* the state's annotations take precedence over the bundle's */
    json_t *own = json_object_get(json, "annotations");
    json_t *kept = json_object_get(config, "annotations");
    out->annotations = json_object();
    if (out->annotations && json_is_object(kept))
        json_object_update(out->annotations, kept);
    if (out->annotations && json_is_object(own))
        json_object_update(out->annotations, own);
    struct ocv_verdict_question *q = &out->question;
    q->config = out->config = container_config(config);
    q->devices = out->devices = out->config ? container_devices(config) : NULL;
    q->given = out->given = container_given(config);
    json_decref(config);
    const json_t *annotations = out->annotations;
    for (size_t i = 0; i < sizeof(name_keys) / sizeof(*name_keys) && !q->reference; i++)
        q->reference = ocv_json_some_text(annotations, name_keys[i]);
    q->digest = find_digest(ocv_json_some_text(annotations, "dev.ocivariant.digest"));
    q->label = ocv_json_some_text(annotations, OCV_ANNOTATION_LABEL);
    q->properties = ocv_json_some_text(annotations, OCV_ANNOTATION_PROPERTIES);
    if (q->digest || q->properties)
        return true;
    const char *bundle = ocv_json_some_text(json, "bundle");
    bool other = find_graph_root(annotations, root, sizeof(root));
    if (bundle && storage_find(bundle, other ? root : NULL, &out->image))
        q->digest = out->image.digest;
    else /* the requested digest, which may be an index's */
        q->digest = find_digest(ocv_json_some_text(annotations, "io.kubernetes.cri-o.ImageRef"));
    if (!q->digest && q->reference && strchr(q->reference, '@'))
        q->digest = find_digest(q->reference);
    if (!q->digest)
        return q->config && !out->image.lost; /* otherwise there is nothing to ask about */
    if (!q->reference && out->image.name[0])
        q->reference = out->image.name;
    return true;
}

void state_free(struct container_state *state)
{
    free(state->config);
    free(state->devices);
    free(state->given);
    json_decref(state->annotations);
    state->annotations = NULL;
}
