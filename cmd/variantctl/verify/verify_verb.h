/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `verify` and `images` share. */
#ifndef OCV_VERIFY_VERB_H
#define OCV_VERIFY_VERB_H

#include "cmd/variantctl/engines/engines.h"
#include "lib/internal/fit/fit.h"

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
