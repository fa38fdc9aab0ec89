/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd, through ctr. */
#include "cmd/variantctl/engines/engines.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "REF TYPE DIGEST SIZE ...": ctr has no other format; its first three columns have never changed.
 */
static int visit_row(void *data, char *line, struct ocv_error *err)
{
    (void)err;
    const struct engine_walk *walk = data;
    char *save = NULL, *ref = strtok_r(line, " \t", &save), *type = strtok_r(NULL, " \t", &save);
    const char *digest = type ? strtok_r(NULL, " \t", &save) : NULL;
    if (!digest || !ocv_digest_wellformed(digest))
        return OCV_OK; /* the table's header */
    const struct local_image found = {
        .where = walk->where, .name = ref, .digests = &digest, .n_digests = 1};
    return walk->visit(walk->data, &found);
}

/* Run ctr in the namespace of "containerd:NAMESPACE" and visit its lines. */
static int ctr(struct engine_walk *walk, const char *const words[3], client_visit visit,
               struct ocv_error *err)
{
    const char *ns = walk->where + strlen("containerd:");
    const char *const argv[] = {"ctr", "--namespace", ns, words[0], words[1], words[2], NULL};
    return client_each_line(argv, visit, walk, err);
}

static int look_at_image(struct engine_walk *walk, const char *name, struct ocv_error *err)
{
    char filter[1100];
    const char *const words[3] = {"images", "ls", filter};
    if (snprintf(filter, sizeof(filter), "name==%s", name) >= (int)sizeof(filter))
        return OCV_OK;
    return ctr(walk, words, visit_row, err);
}

static int visit_task(void *data, char *id, struct ocv_error *err)
{
    const struct engine_walk *walk = data;
    const char *ns = walk->where + strlen("containerd:");
    const char *const argv[] = {"ctr", "--namespace", ns, "containers", "info", id, NULL};
    ocv_auto_json *info = client_json(argv);
    const json_t *spec = json_object_get(info, "Spec");
    const char *image = ocv_json_text(info, "Image");
    const char *asked =
        ocv_json_text(json_object_get(spec, "annotations"), "io.kubernetes.cri.image-name");
    const struct engine_container one = {.place = walk->where,
                                         .name = id,
                                         .id = image,
                                         .image = asked ? asked : image,
                                         .spec = spec,
                                         .look = look_at_image};
    return image && *image ? engine_visit_container(walk, &one, err) : OCV_OK;
}

static int each_namespace(const struct engine_walk *walk, const char *const words[3],
                          client_visit visit, struct ocv_error *err)
{
    const char *const argv[] = {"ctr", "namespaces", "ls", "-q", NULL};
    /* ctr waits ten seconds for a socket that does not exist. */
    const char *address = getenv("CONTAINERD_ADDRESS");
    const char *socket = address && *address ? address : CONTAINERD_SOCKET;
    if (access(socket, F_OK) < 0)
        return ocv_error_set(err, OCV_ERR_NOT_FOUND, "%s: %s", socket, strerror(errno));
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    OCV_TRY(client_capture_first(argv, &text, err));
    char *rest = text.len ? text.data : NULL, *ns;
    while ((ns = client_next_line(&rest))) {
        char place[300];
        struct engine_walk one = *walk;
        snprintf(place, sizeof(place), "containerd:%.250s", ns);
        one.where = place;
        OCV_TRY(ctr(&one, words, visit, err));
    }
    return OCV_OK;
}

static int containerd_images(struct engine_walk *walk, struct ocv_error *err)
{
    return each_namespace(walk, (const char *const[3]){"images", "ls"}, visit_row, err);
}

static int containerd_containers(struct engine_walk *walk, struct ocv_error *err)
{
    return each_namespace(walk, (const char *const[3]){"tasks", "ls", "-q"}, visit_task, err);
}

const struct engine engine_containerd = {.name = "containerd",
                                         .always = true,
                                         .images = containerd_images,
                                         .containers = containerd_containers};
