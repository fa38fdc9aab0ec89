/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file fit.h
 * Does an image fit a machine: by what is said of a variant, by what is recorded of its digest, by
 * an index, or by its own configuration? variantd adds what registries say, and who may learn what;
 * `verify` adds the remedy. Reads the node's records.
 */
#ifndef OCV_FIT_H
#define OCV_FIT_H

#include "lib/internal/config/config.h"
#include "lib/internal/content/image_config.h"
#include "lib/internal/records/daemon.h"
#include "lib/internal/records/records.h"
#include "lib/internal/tags/tags.h"
#include "ocivariant/resolve.h"

/** By what images are judged. Borrowed. */
struct ocv_fit_host {
    const struct ocv_profile *profile;
    const struct ocv_config *config;     /**< of all repositories */
    const char *records;                 /**< directory of what the node has chosen */
    const struct ocv_platform *platform; /**< that was asked for, or NULL */
    bool any_use;                        /**< leave the configuration's `require` aside */
    bool no_secrets; /**< indexes that were learnt with credentials say nothing */
};
/** The one image. Borrowed; NULL where it is not known. */
struct ocv_fit_image {
    const char *reference; /**< whose repository's configuration counts */
    const char *tag;       /**< under which it is here, which `deny` may name */
    const char *given;     /**< a container's devices, for `workload: devices` */
};

/** What was found. Zeros before, ocv_fit_free afterwards. */
struct ocv_fit {
    enum ocv_verdict verdict; /**< FITS, MISFIT, UNKNOWN: it is malformed; OPEN: nothing is known */
    struct ocv_record said;   /**< of the variant; the first, where several are recorded */
    struct ocv_buffer reason; /**< may be empty */
    bool differ;              /**< repositories do not agree about it */
};
void ocv_fit_free(struct ocv_fit *fit);
/** `ocv_auto_fit one = {0};` is freed on leaving the scope. */
#define ocv_auto_fit __attribute__((cleanup(ocv_fit_free))) struct ocv_fit

/** The options of a choice in the repository of `image->reference`. `*by` (OCV_GIVEN_FOUND_MAX
 *  bytes, or NULL) becomes the container's devices that count. Freed with ocv_workload_input_free,
 *  also after an error. */
int ocv_fit_options(const struct ocv_fit_host *host, const struct ocv_fit_image *image,
                    struct ocv_workload_input *input, struct ocv_resolve_options *out, char *by,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** By what is said of a variant: label, properties, statics, tag. Malformed properties are UNKNOWN
 *  and a status below 0. `said` is copied. */
int ocv_fit_said(const struct ocv_fit_host *host, const struct ocv_fit_image *image,
                 const struct ocv_record *said, struct ocv_fit *out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** By the node's records of a digest in a repository, or by the indexes that it kept, even if
 *  another entry was chosen; each by the configuration for its repository. With an unknown
 *  repository (NULL) all that know the digest have to agree, and with records the kept indexes,
 *  too: anyone may list another publisher's digest. Indexes alone have to say the same of it. What
 *  is malformed is skipped. OPEN: nothing is known, or they do not agree. */
int ocv_fit_recorded(const struct ocv_fit_host *host, const struct ocv_fit_image *image,
                     const char *repository, const char *digest, bool by_indexes,
                     struct ocv_fit *out) OCV_WARN_UNUSED;

/** What an index says of one digest. */
struct ocv_fit_place {
    bool variants;          /**< the index carries variants */
    bool is_index;          /**< the digest is its own */
    bool alone;             /**< there is an image without an index */
    bool listed;            /**< the digest is an entry of it */
    bool found;             /**< one without a fault, described by `said` */
    struct ocv_record said; /**< to be freed with ocv_record_free */
    char fit[64]; /**< label of what the machine would get, "null" for the default; empty: nothing,
                     or no index with variants */
    /* digests of the entries that the machine would get, and that an engine takes by itself; or
     * empty */
    char fit_digest[OCV_DIGEST_MAX], default_digest[OCV_DIGEST_MAX];
};
/** `own`: the digest of the index. `digest` may be NULL. */
int ocv_fit_in_index(const struct ocv_index *index, const char *own, const char *digest,
                     const struct ocv_profile *profile, const struct ocv_resolve_options *options,
                     struct ocv_fit_place *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Would the machine get another entry than this one? Which: its label or "the default"; or NULL.
 */
const char *ocv_fit_better(const struct ocv_fit_place *place, const char *digest);

/** An ordinary image, by the requirements of its configuration. An unmet one that is a warning is a
 *  misfit if the rules (or NULL) know that builds of the tag's family need at least the driver that
 *  they were made for. Without memory: OCV_CONFIG_NO_WORD. */
void ocv_fit_ordinary(const struct ocv_fit_host *host, const struct ocv_image_config *config,
                      const struct ocv_gpu_host *gpus, const struct ocv_tag_rules *rules,
                      const char *reference, struct ocv_config_finding *out);

#endif
