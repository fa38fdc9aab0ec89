/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is on this node: the images and running containers of engines and layouts. One file for each
 * kind of engine, one table. */
#ifndef OCV_ENGINES_H
#define OCV_ENGINES_H

#include "cmd/common/cli.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <jansson.h>

/** One image under one of its names. Borrowed during the call. */
struct local_image {
    const char *where; /**< "docker", "podman", "containerd:k8s.io", "cri:SOCKET", "oci:DIR" */
    const char *name;  /**< as the engine shows it; its id where it has no name; or NULL */
    const char *tag;   /**< of a layout's image; or NULL */
    /** All digests by which the engine knows it, its manifest's first; none if unknown. Each has
     *  the repository from which it came, or NULL if only the image's name shows that. */
    const char *const *digests;
    const char *const *repositories;
    size_t n_digests;
    const char *label; /**< config labels of DESIGN's two keys, or NULL */
    const char *properties;
    const json_t *config; /**< the image's configuration, {"config": {"Env": ...}} at least, or NULL
                             where its place does not tell by itself */
    const char *given;    /**< of a container: its devices (lib/internal/records/records.h),
                             or NULL */
    const struct ocv_index *index; /**< a layout's image index, with variants, or NULL */
};
typedef int (*local_image_visit)(void *data, const struct local_image *image);

/** Visit the images of one place, once for each of their names: "docker", "podman", "containerd"
 *  (all its namespaces), "cri" or "cri:SOCKET" (what kubelet has), "oci:DIR", where of an index
 *  without variants the image for the profile's platform is meant. OCV_ERR_NOT_FOUND: its client is
 *  not installed, or the engine does not answer. OCV_ERR_ENGINE: some images could not be read, the
 *  others have been visited. Messages quote the client. A status below 0 of `visit` stops the
 *  iteration and is returned. */
int local_images(const char *where, const struct ocv_profile *profile, local_image_visit visit,
                 void *data, struct ocv_error *err) OCV_WARN_UNUSED;
/** Visit the images of running containers at the same places, each with the container's devices;
 *  `where` is "PLACE, container NAME". A layout and CRI have none. Containers that cannot be read
 *  are skipped. */
int local_containers(const char *where, local_image_visit visit, void *data,
                     struct ocv_error *err) OCV_WARN_UNUSED;

/** The places that were named, or every engine. */
struct local_walk {
    const struct ocv_option_list *named;
    int (*look)(void *data, const char *where, struct ocv_error *err); /**< as local_images */
    /** At a place that did not list all its images: OCV_ERR_ENGINE, or, where nobody named it, any
     *  error. A status below 0 ends the walk. */
    int (*missed)(void *data, const char *where, const struct ocv_error *why);
    void *data;
};
/** Look at each. A named place has to answer. */
int local_walk(const struct local_walk *walk, struct ocv_error *err) OCV_WARN_UNUSED;

/** Hook of struct cli_command for PLACE. */
bool local_images_complete(struct ocv_completion *c, const char *kind);

/** The socket of "cri" and "cri:SOCKET"; NULL: another place. */
const char *local_images_socket(const char *where);

/* The kinds of engines. */

/** A place, and who visits what is there. */
struct engine_walk {
    const char *where; /**< "docker", "containerd:NAMESPACE", "cri:SOCKET", "oci:DIR" */
    const struct ocv_profile *profile; /**< for layouts */
    local_image_visit visit;
    void *data;
    bool once;     /**< not for each name of an image */
    size_t unread; /**< images on which the engine did not report */
    struct ocv_error why;
};

struct engine {
    const char *name;     /**< as in --from */
    const char *argument; /**< what has to stand after "NAME:", or may if it is a path; or NULL */
    bool always;          /**< looked at where nobody names a place */
    int (*images)(struct engine_walk *walk, struct ocv_error *err); /**< as local_images */
    /** As local_containers; NULL: it has none. */
    int (*containers)(struct engine_walk *walk, struct ocv_error *err);
};
extern const struct engine engine_docker, engine_podman, engine_containerd, engine_cri,
    engine_layout;

/** Visit each image of a list as `docker image inspect` prints it. A status below 0 of `visit`
 * stops it and is returned. */
int engine_visit_inspected(const struct engine_walk *walk, const json_t *list) OCV_WARN_UNUSED;
/** The message where an engine did not report on all its images: how many, and why the first. */
#define ENGINE_UNREAD_FORM "%zu of its images cannot be read: %s"

/** A running container. Borrowed. */
struct engine_container {
    const char *place; /**< "docker", "containerd:NAMESPACE" */
    const char *name;
    const char *id;    /**< the engine's name for its image; NULL: unknown */
    const char *image; /**< the image's name as it was asked for, or NULL */
    bool asked;        /**< `--gpus` chose its devices: the word "all" counts */
    const json_t *spec;
    /** Visits the one image of `id`. */
    int (*look)(struct engine_walk *walk, const char *id, struct ocv_error *err);
};
/** Visit its image with its devices. OCV_OK without a visit if either is not known. */
int engine_visit_container(const struct engine_walk *walk, const struct engine_container *container,
                           struct ocv_error *err) OCV_WARN_UNUSED;

/* An engine's own client, which knows contexts, rootless sockets and remote hosts. */

#define CRI_HELPER "cri-images" /**< asks a kubelet's runtime (plugins/cri-images) */
#define CONTAINERD_SOCKET "/run/containerd/containerd.sock"
#define CLIENT_OUTPUT_MAX (64u * 1024 * 1024)      /**< bytes that a client may print */
#define CLIENT_VALUES_MAX (CLIENT_OUTPUT_MAX / 32) /**< of JSON; 200 images have some 100,000 */

/** Append the command's standard output to `out`, even if it fails. OCV_ERR_NOT_FOUND: the program
 *  is not installed. OCV_ERR_ENGINE: it failed; the message is the last line of its errors. */
int client_capture(const char *const argv[], struct ocv_buffer *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** The same for the first command to an engine. OCV_ERR_NOT_FOUND also if it fails, because the
 *  engine does not answer. */
int client_capture_first(const char *const argv[], struct ocv_buffer *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** Visit a line, which may be modified. A status below 0 stops the iteration. */
typedef int (*client_visit)(void *data, char *line, struct ocv_error *err);
/** Run the command, then visit each output line up to the first empty one. Returns the status of
 *  client_capture or `visit`. */
int client_each_line(const char *const argv[], client_visit visit, void *data,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** What the command prints, owned by the caller; NULL if that is no JSON, or the command fails. */
json_t *client_json(const char *const argv[]);

/** The next line of a text, which is modified; initialise `*rest` to its beginning. NULL at the end
 *  or at an empty line. */
char *client_next_line(char **rest);

#endif
