/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include "lib/base/cleanup.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool users_recall(struct users *u, const char *digest, char out[OCV_IMAGE_USER_MAX])
{
    bool found = false;
    pthread_mutex_lock(&u->lock);
    for (size_t i = 0; i < u->n && !found; i++)
        if (strcmp(u->list[i].digest, digest) == 0) {
            memcpy(out, u->list[i].user, OCV_IMAGE_USER_MAX);
            found = true;
        }
    pthread_mutex_unlock(&u->lock);
    return found;
}

int users_same(struct users *u, struct ocv_registry *registry,
               const struct ocv_reference *reference, const char *name,
               const struct ocv_entry *const *entries, size_t n, char out[OCV_IMAGE_USER_MAX],
               struct ocv_error *err)
{
    char user[OCV_IMAGE_USER_MAX] = "";
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (!users_recall(u, entries[i]->digest, user)) {
            struct ocv_descriptor found;
            ocv_auto(ocv_manifest) manifest = NULL;
            ocv_auto_buffer body;
            ocv_auto_buffer config;
            ocv_buffer_init(&body, OCV_MANIFEST_MAX);
            ocv_buffer_init(&config, OCV_IMAGE_USER_CONFIG_MAX);
            OCV_TRY(ocv_registry_get(registry, reference, entries[i]->digest, &body, &found, err));
            OCV_TRY(ocv_manifest_parse(body.data, body.len, found.media_type, &manifest, err));
            OCV_TRY(ocv_registry_get_blob(registry, reference, ocv_manifest_config(manifest),
                                          &config, err));
            OCV_TRY(ocv_image_user(config.data ? config.data : "", config.len, user, err));
            pthread_mutex_lock(&u->lock);
            struct known_user *k = &u->list[u->next];
            snprintf(k->digest, sizeof(k->digest), "%s", entries[i]->digest);
            snprintf(k->user, sizeof(k->user), "%s", user);
            u->next = (u->next + 1) % USERS_CACHE_MAX;
            u->n += u->n < USERS_CACHE_MAX;
            pthread_mutex_unlock(&u->lock);
        }
        if (i > 0 && strcmp(user, out) != 0)
            return ocv_error_set(
                err, OCV_ERR_CHECK, "variants of %s run as different users (%s, %s)", name,
                strcmp(user, out) < 0 ? user : out, strcmp(user, out) < 0 ? out : user);
        snprintf(out, OCV_IMAGE_USER_MAX, "%s", user);
    }
    return OCV_OK;
}
