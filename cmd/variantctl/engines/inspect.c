/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Images as `docker image inspect` prints them, which podman and our CRI client do, too; and
 * containers with the devices in their specification. */
#include "cmd/variantctl/engines/engines.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"
#include "lib/internal/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGESTS_MAX 32u /* per image: two for each name under which it was pulled */

/* An image's identities in an engine. */
struct known_by {
    const char *digests[DIGESTS_MAX], *repositories[DIGESTS_MAX];
    char *owned[DIGESTS_MAX]; /* owned text of the repositories */
    size_t n;
};

static void add_digest(struct known_by *k, const char *digest, char *repository)
{
    if (k->n == DIGESTS_MAX) {
        free(repository);
        return;
    }
    k->digests[k->n] = digest;
    k->owned[k->n] = repository;
    k->repositories[k->n++] = repository;
}

static int visit_inspected(const struct engine_walk *w, const json_t *image)
{
    const json_t *labels = json_object_get(json_object_get(image, "Config"), "Labels");
    const json_t *tags = json_object_get(image, "RepoTags");
    size_t n = w->once || json_array_size(tags) == 0 ? 1 : json_array_size(tags);
    if (!json_is_object(labels))
        labels = json_object_get(image, "Labels");

    /* An image pulled by an index has the digests of the index and of its manifest; one also
     * loaded from an archive has another. podman's own digest comes first, then those of
     * "repo@sha256:...". A digest that only one repository has belongs to that repository. */
    struct known_by by = {0};
    const char *own = ocv_json_text(image, "Digest");
    size_t k;
    const json_t *given;
    if (own && *own)
        add_digest(&by, own, NULL);
    json_array_foreach(json_object_get(image, "RepoDigests"), k, given)
    {
        const char *text = json_string_value(given), *at = text ? strchr(text, '@') : NULL;
        char *repository = at ? strndup(text, (size_t)(at - text)) : NULL;
        if (repository && own && strcmp(own, at + 1) == 0 && !by.repositories[0])
            by.repositories[0] = by.owned[0] = repository;
        else if (repository)
            add_digest(&by, at + 1, repository);
    }

    json_t *environment = json_object_get(json_object_get(image, "Config"), "Env");
    ocv_auto_json *config = json_pack("{s:{s:O?}}", "config", "Env", environment);
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++) {
        const char *name = json_string_value(json_array_get(tags, i));
        const struct local_image found = {.where = w->where,
                                          .name = name ? name : ocv_json_text(image, "Id"),
                                          .digests = by.digests,
                                          .repositories = by.repositories,
                                          .n_digests = by.n,
                                          .label = ocv_json_text(labels, OCV_ANNOTATION_LABEL),
                                          .properties =
                                              ocv_json_text(labels, OCV_ANNOTATION_PROPERTIES),
                                          .config = config};
        status = w->visit(w->data, &found);
    }
    for (size_t i = 0; i < by.n; i++)
        free(by.owned[i]);
    return status;
}

int engine_visit_inspected(const struct engine_walk *walk, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        OCV_TRY(visit_inspected(walk, json_array_get(list, i)));
    return OCV_OK;
}

struct container_walk {
    const struct engine_walk *walk;
    const struct engine_container *container;
    const char *devices;
};

static int visit_container(void *data, const struct local_image *image)
{
    const struct container_walk *w = data;
    const struct engine_container *c = w->container;
    char where[600];
    struct local_image one = *image;
    snprintf(where, sizeof(where), "%.300s, container %.250s", c->place, c->name);
    one.where = where;
    one.given = w->devices;
    if (c->image && strpbrk(c->image, "/:"))
        one.name = c->image;
    return w->walk->visit(w->walk->data, &one);
}

int engine_visit_container(const struct engine_walk *walk, const struct engine_container *container,
                           struct ocv_error *err)
{
    ocv_auto_free char *devices = ocv_container_devices(container->spec, container->asked, "");
    struct container_walk w = {walk, container, devices};
    struct engine_walk image = {
        .where = container->place, .visit = visit_container, .data = &w, .once = true};
    return devices && container->id ? container->look(&image, container->id, err) : OCV_OK;
}
