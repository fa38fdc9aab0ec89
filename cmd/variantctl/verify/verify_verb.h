/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs an engine's own client. */
#ifndef OCV_VERIFY_VERB_H
#define OCV_VERIFY_VERB_H

#include "cmd/common/cli.h"
#include "lib/internal/fit/fit.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <jansson.h>

#define CRI_HELPER "cri-images"               /**< asks a kubelet's runtime (plugins/cri-images) */
#define CLIENT_OUTPUT_MAX (64u * 1024 * 1024) /**< bytes that a client may print */
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
/** Visit the names of containerd's namespaces. OCV_ERR_NOT_FOUND: ctr is not installed, or
 *  containerd does not answer. */
int client_each_namespace(client_visit visit, void *data, struct ocv_error *err) OCV_WARN_UNUSED;

/** The next line of a text, which is modified; initialise `*rest` to its beginning. NULL at the end
 *  or at an empty line. */
char *client_next_line(char **rest);

/* The images on this node, as listed by engines and layouts. */

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
 * without variants the image for the profile's platform is meant. OCV_ERR_NOT_FOUND: its client is
 * not installed, or the engine does not answer. OCV_ERR_ENGINE: some images could not be read, the
 * others have been visited. Messages quote the client. A status below 0 of `visit` stops the
 * iteration and is returned. */
int local_images(const char *where, const struct ocv_profile *profile, local_image_visit visit,
                 void *data, struct ocv_error *err) OCV_WARN_UNUSED;

/** The socket of "cri" and "cri:SOCKET"; NULL: another place. */
const char *local_images_socket(const char *where);
/** Visit one image of an engine once, under one of its names. `name` is its id in docker and
 *  podman, and a name in "containerd:NS", a namespace of ctr. */
int local_images_named(const char *where, const char *name, local_image_visit visit, void *data,
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

/** Visit the images of running containers at the same places, each with the container's devices;
 *  `where` is "PLACE, container NAME". A layout and CRI have none. Containers that cannot be read
 * are skipped. */
int local_containers(const char *where, local_image_visit visit, void *data,
                     struct ocv_error *err) OCV_WARN_UNUSED;

/** Hook of struct cli_command for PLACE. */
bool local_images_complete(struct ocv_completion *c, const char *kind);

/* What the node knows about a local image. */

/** What is known of an image, and from where. */
struct known_image {
    const char *by; /**< "record", "index", "labels", "config", "daemon", or NULL */
    const char *digest;
    char *repository;   /**< HOST/REPOSITORY, or NULL */
    struct ocv_fit fit; /**< by what is known here */
};

/** Look in the records and kept indexes of the directory, else in the image's own labels. */
void known_find(const struct ocv_fit_host *host, const struct local_image *image,
                struct known_image *out, struct ocv_error *err);
/** Set its label; without memory it keeps the old one. */
void known_set_label(struct known_image *known, const char *label);
/** What the kept index says: LESSER where another entry fits better, which `reason` (may be NULL)
 *  gets; MISFIT where none fits this machine; else OPEN. */
enum ocv_verdict known_best(const struct ocv_fit_host *host, const struct known_image *known,
                            const struct ocv_resolve_options *choose, struct ocv_buffer *reason);
/** Ask variantd, which may ask a registry, and which counts the images it is asked about: FITS,
 *  LESSER, MISFIT or NONE; OPEN if that is not known. `*answers` false: there is no daemon. */
enum ocv_verdict known_ask(const struct ocv_config *config, struct known_image *known,
                           const struct local_image *image, struct ocv_buffer *reason,
                           bool *answers);

/* Signatures, by the node's records. */

/** REPOSITORY@DIGEST -> [{"key": its digest, "named": the signature names the repository}]. The
 * caller owns `*out`, also after an error. */
int signed_read(const char *records, json_t **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** By which keys one of the image's digests was verified, as above. `reference`: its name's. The
 *  caller owns the result; NULL: no memory. */
json_t *signed_by(const json_t *all, const struct local_image *image,
                  const struct ocv_reference *reference);
/** Where a rule stands that asks for another key than these; NULL: no rule does. */
const char *signed_wanting(const struct ocv_config *config, const struct ocv_reference *reference,
                           const json_t *by);

/* Checks whether a local image fits this machine, and how to fix it. For `verify` and `images`. */

struct image_checker {
    struct cli *cli;
    char records[4096];
    bool ask;              /**< the daemon's profile is this machine's */
    bool configs;          /**< check images without variants by their own configuration */
    json_t *signed_images; /**< what signed_read found */
};

/** Read configuration and profile, and the records of signatures. image_checker_end in any case. */
int image_checker_begin(struct image_checker *checker, struct cli *cli,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void image_checker_end(struct image_checker *checker);

struct image_result {
    struct known_image known;
    enum ocv_verdict verdict;
    const char *reason;  /**< or NULL */
    char *remedy;        /**< the command that pulls the right image, or NULL */
    const char *key;     /**< digest of the key that it was verified by here, or NULL; borrowed */
    const char *wanting; /**< where a rule of `trust` stands that asks for another; or NULL */
    struct ocv_error err;
};

/** Check an ordinary image's configuration against this machine, under `config_policy`. True if it
 *  decides. */
bool image_check_config(const struct image_checker *checker, const struct ocv_fit_host *host,
                        const struct local_image *image, enum ocv_verdict *verdict,
                        struct ocv_buffer *reason);
/** Never fails: an image that cannot be checked is "unknown". */
void image_check(struct image_checker *checker, const struct local_image *image,
                 struct image_result *out);
void image_result_free(struct image_result *checked);

#define VERIFY_TOLD_NOBODY 100 /**< exit status of a round without variantd */
/** Start rounds, one each `every_ms`, and sooner after one that failed. True in each round's own
 *  process, whose exit status is 0, VERIFY_TOLD_NOBODY or an error's. False at SIGTERM and SIGINT,
 *  and after three failures: `*status` is what to end with. */
bool verify_is_round(struct cli *cli, int64_t every_ms, int *status);
/** Does variantd serve? A kubelet's runtime gets what it chooses, and without it the default. */
bool verify_has_chooser(const struct cli *cli);
/** Run the remedies of what does not fit or could be better, each once; `results` as `verify
 *  --format json` has them. What vpull says goes to standard error. Returns how many succeeded;
 *  `*failed`: one did not. */
size_t verify_repair(struct cli *cli, const json_t *results, bool *failed);

#endif
