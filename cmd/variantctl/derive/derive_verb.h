/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of `variantctl derive` for an image, a directory or a file. */
#ifndef OCV_DERIVE_H
#define OCV_DERIVE_H

#include "cmd/common/cli.h"
#include "cmd/common/image/image.h"
#include "lib/internal/content/content.h"
#include "lib/internal/content/derived.h"
#include "ocivariant/digest.h"

#include <jansson.h>
#include <pthread.h>
#include <sys/types.h>

/** Result of one input. */
struct derive_result {
    const char *name;   /**< as given; for an entry of an index its label is appended */
    const char *config; /**< the image's configuration (JSON), or NULL */
    size_t config_len;
    struct ocv_content content;
    char attached[OCV_DIGEST_MAX]; /**< digest of the referrer written, or empty */
};

/** A table in text form. */
int derive_format_text(const struct derive_result *result, struct ocv_buffer *out,
                       struct ocv_error *err);
/** The same as a value of schema/derive.schema.json; NULL without memory. */
json_t *derive_format_json(const struct derive_result *result);
/** A self-contained page with all results. */
int derive_format_page(const struct derive_result *results, size_t n, struct ocv_buffer *out,
                       struct ocv_error *err);

/** Call `visit` for each statement of the configuration or a framework about itself:
 *  "CUDA_VERSION=12.8.1", "torch: cuda 12.8". */
void derive_words(const struct derive_result *result,
                  void (*visit)(void *data, const char *source, const char *words), void *data);
/** The same for a fact that gives no property (OCV_CONTENT_UNSEEN: what was not examined): each
 *  value once, between `before` and `after`, with the first file. */
void derive_told(const struct derive_result *result, enum ocv_content_fact fact, const char *before,
                 const char *after,
                 void (*visit)(void *data, const char *source, const char *words), void *data);
/** True if everything was examined. */
bool derive_all_seen(const struct derive_result *result);
/** What to say of a result without properties, a sentence. */
const char *derive_no_property(const struct derive_result *result);
/** Percentage of the image's bytes that a build for `target` alone would save. */
int derive_saving(const struct derive_result *result, const struct ocv_content_target *target);
/** "machine code", "PTX", ... */
const char *derive_kind(enum ocv_content_fact fact);

/* Reads the content of a file, a directory or an image with content-scan. Each runs in a process of
 * its own, because archives are untrusted. Reports on layers are cached per user and digest. */

/** A file or a directory on this machine. */
int derive_read_path(struct cli *cli, const char *path, struct ocv_content_report *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** An image's layers, combined with its configuration and the properties given by hand; both may be
 *  NULL. */
int derive_read_content(struct cli *cli, const struct image *image,
                        const struct manifest_doc *child, const struct ocv_buffer *config,
                        const struct ocv_properties *given, struct ocv_content *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** The first namespace of a maker's devices in the set, other than `other` (or NULL); NULL: none.
 */
const char *derive_maker(const struct ocv_properties *set, const char *other);
/** True where the files have code for devices of two makers, which no machine has both. */
bool derive_has_two_makers(const struct ocv_content_derived *derived);
/** The properties given by hand, and derived ones for features without a given one. May be empty.
 *  `*base`: the same for the second entry of ocv_content_derive, or NULL. */
int derive_properties(const struct ocv_content *content, const struct ocv_properties *given,
                      struct ocv_properties **out, struct ocv_properties **base,
                      struct ocv_error *err) OCV_WARN_UNUSED;

/* An image's manifest and configuration, kept in the user's cache, so that a second run asks the
 * registry only for the tag. */

/** Like child_read. */
int derive_manifest(struct cli *cli, const struct image *image,
                    const struct ocv_descriptor *descriptor, struct manifest_doc *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Like child_config. */
int derive_config(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_buffer *config, struct ocv_error *err) OCV_WARN_UNUSED;

/* A running content-scan. */

struct scanner {
    pid_t pid;
    int in;     /**< takes the layer, or -1 */
    int out;    /**< receives the answer; a file in memory, or the caller's */
    int errors; /**< receives stderr; a file in memory */
};

/** What it is started for. */
struct scanner_job {
    const char *arguments[5]; /**< NULL at the end */
    bool fed;                 /**< with scanner_write; else it reads `in` */
    int in, out;              /**< -1: nothing, and a file in memory; closed by nobody here */
    int64_t size;             /**< bytes of the layer, which limit its time; -1: not known */
    uint64_t memory;          /**< of its own, in bytes; 0: all of its address space is limited */
};
int scanner_start(const struct cli *cli, const struct scanner_job *job, struct scanner *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Pass on bytes of the layer. False: the scanner has ended; scanner_finish gives the reason. */
bool scanner_write(struct scanner *scanner, const void *data, size_t len);
/** End of input: wait for it, and append what it wrote into memory; what it said on its standard
 *  error, too (NULL: neither). */
int scanner_finish(struct scanner *scanner, struct ocv_buffer *out, struct ocv_buffer *said,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Kill it. May be called after scanner_finish. */
void scanner_drop(struct scanner *scanner);

/* Reads one layer of an image with content-scan. */

/** Reads layers, one at a time; several may work at the same time, each in its own thread. */
struct layer_reader {
    struct cli *cli;
    const struct image *image;
    struct ocv_registry *registry; /**< its own client, made for the first layer; the owner frees */
    const volatile int *stop;      /**< non-zero: give up with OCV_ERR_INTERRUPTED; or NULL */
    pthread_mutex_t *parsing;      /**< held while a report is parsed; or NULL */
    void (*progress)(void *data, int64_t done); /**< bytes that were read, or NULL */
    void *data;
};

/** The layer's report, from the cache or by reading the layer, which is then cached. Two readers
 * may read the same layer at once, if an image has it twice. */
int layer_read(struct layer_reader *reader, const struct ocv_descriptor *layer,
               struct ocv_content_report *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** Is the layer's report in the cache? */
bool layer_is_known(const char *digest);
/** Pass a layer's bytes to a scanner that is fed. *refused: it takes no more of them, and
 *  scanner_finish gives the reason. */
int layer_feed(struct layer_reader *reader, const struct ocv_descriptor *layer,
               struct scanner *scanner, bool *refused, struct ocv_error *err) OCV_WARN_UNUSED;

/* All layers of an image, several at once. */

/** The report on an image's layers, from the base up. Layers in a registry are streamed; nothing is
 *  unpacked. Of several layers that cannot be read, one is reported. */
int layers_read(struct cli *cli, const struct image *image, const struct ocv_manifest *manifest,
                struct ocv_content_report *out, struct ocv_error *err) OCV_WARN_UNUSED;

/* Writes the findings as a referrer, an artifact attached to the image, for other tools. No command
 * here reads it: findings always come from the files themselves. */

/** Write the report on `child`, its subject, into the image's repository or layout. Equal findings
 *  give equal artifacts. `digest` receives the artifact's digest. */
int derive_attach(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                  struct ocv_content_report *report, char digest[OCV_DIGEST_MAX],
                  struct ocv_error *err) OCV_WARN_UNUSED;

#endif
