/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `variantctl slim`: variants of an image for single targets, made from it.
 *
 * Each target's image is written into a layout of this user first, the stage. Then an index is made
 * of the original and of these, as `index create` makes it. */
#ifndef OCV_SLIM_VERB_H
#define OCV_SLIM_VERB_H

#include "cmd/variantctl/derive/derive_verb.h"
#include "cmd/variantctl/index/index_verbs.h"
#include "lib/internal/slim/slim.h"

#define SLIM_VARIANTS_MAX 64u
#define SLIM_FAT "fat"           /* the label of the original, with properties */
#define SLIM_UNFINISHED "layer." /* begin of the names of files in the stage */
#define SLIM_MEDIA_TYPE "application/vnd.dev.ocivariant.slim.v1+json"
#define SLIM_REPORT_MAX ((size_t)64 << 20)
#define SLIM_PRIORITY "slim" /* the namespace of the order, where FROM has one of its own */

/** What becomes of a layer for a target. */
struct slim_layer {
    struct ocv_descriptor descriptor; /**< of the new one */
    char diff_id[OCV_DIGEST_MAX];
    bool rewritten; /**< else the original stays */
    json_t *files;  /**< what became of each file: an array of what content-scan said */
};

/** One variant of one image of FROM. */
struct slim_variant {
    struct ocv_slim_target target; /**< as it was asked for */
    struct ocv_slim_target serves; /**< every GPU that its properties let take it */
    char label[OCV_SLIM_LABEL_MAX];
    char tag[OCV_SLIM_LABEL_MAX + 64]; /**< of it in the stage */
    char base[OCV_DIGEST_MAX];         /**< what it is made of */
    struct ocv_properties *described;  /**< the architectures that it is for */
    struct ocv_properties *properties; /**< these, and what its files show */
    struct slim_layer *layers;         /**< as many as the image has */
    size_t n_layers;
    bool cut;                         /**< a layer is another one; else there is no such variant */
    struct ocv_descriptor descriptor; /**< of its manifest in the stage */
    int64_t before, after;            /**< bytes that are pulled; with --dry-run estimated */
};

/** An image of FROM. Borrowed from the image, but `given`, which lives as long as it is slimmed. */
struct slim_source {
    struct ocv_descriptor descriptor;
    const struct ocv_entry *entry;      /**< in the index; NULL: FROM is no index */
    const char *architecture;           /**< "amd64"; empty: FROM is no index */
    const char *label;                  /**< NULL: it is no variant */
    bool fat;                           /**< slim made the entry of an original */
    const struct ocv_properties *given; /**< of a variant; else NULL */
};

/** An image of FROM that has slim variants: its entry with properties. */
struct slim_original {
    char label[OCV_SLIM_LABEL_MAX];
    struct slim_source source;
    struct ocv_properties *properties;
};

struct slim {
    struct build build; /**< first: its options are the verb's */
    const char *wanted, *profiles, *to, *compression;
    bool keep_ptx, vendor_files;
    struct ocv_slim_target targets[SLIM_VARIANTS_MAX];
    bool found[SLIM_VARIANTS_MAX]; /**< an image of FROM has code for it */
    size_t n_targets;
    size_t n_made;        /**< variants that FROM has already */
    bool varied;          /**< FROM has variants itself */
    bool edits;           /**< FROM is an index, whose entries stay as they are */
    const char *priority; /**< the namespace that ranks slim variants */
    struct slim_variant *variants;
    size_t n_variants;
    struct slim_original *originals;
    size_t n_originals;
    size_t n_vendors;      /**< files that may not be changed */
    int64_t vendors_bytes; /**< of these */
    char stage_dir[4096];
    bool keeps_stage; /**< what is in it is needed when the command is run again */
    int lock;         /**< its directory, locked; or -1 */
    struct ocv_layout *stage;
    pthread_mutex_t asking; /**< of the build's client, which layers ask for what the target has */
    struct progress *progress;
};

/** Files of a layer that are to be cut. */
struct slim_list {
    const struct ocv_content_file **files; /**< sorted by path; borrowed from a report */
    size_t n;
    bool *covers;  /**< of each: a lower layer has a file of that path */
    int64_t bytes; /**< of all files of the layer */
};

/** Make the layer for a target, or find it: in the stage, at the target, or as one that is not
 *  changed. */
int slim_layer_make(struct slim *slim, struct layer_reader *reader,
                    const struct ocv_descriptor *layer, const struct slim_list *list,
                    const struct ocv_slim_target *target, struct slim_layer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The same without the layer's bytes: what files would become, as far as what was read of them
 *  tells, and no layer. */
int slim_layer_estimate(const struct ocv_descriptor *layer, const struct slim_list *list,
                        const struct ocv_slim_target *target, struct slim_layer *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void slim_layer_free(struct slim_layer *layer);

/** Make the image of a target and write it into the stage; with --dry-run only its numbers.
 *  `variant` has its target, its label and its properties. */
int slim_image_make(struct slim *slim, const struct image *from, const struct manifest_doc *child,
                    const struct ocv_buffer *config, const struct slim_list *lists,
                    struct slim_variant *variant, struct ocv_error *err) OCV_WARN_UNUSED;

/** The best architecture of FROM's machine code that a GPU runs; 0: there is none. */
unsigned slim_best_code(const struct ocv_content_derived *derived, unsigned sm);
/** Read the targets: those that are named, or those of a fleet's machines. Needs cli_load. */
int slim_read_targets(struct slim *slim, struct ocv_error *err) OCV_WARN_UNUSED;
/** Has FROM machine code for each of the target's GPUs? */
bool slim_has_code(const struct ocv_content_derived *derived, const struct ocv_slim_target *target);
/** The properties that say what a variant is for, as text; `given`: those of FROM's variant, of
 * which the architectures are replaced, or NULL. */
int slim_describe_variant(const struct ocv_content_derived *derived,
                          const struct ocv_properties *given, const struct ocv_slim_target *target,
                          struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Every GPU that takes the variant by these properties. With code for 80 and 86 in FROM, and 80
 *  asked for: 80 to 85, since from 86 on `fat` comes first. */
void slim_find_served(const struct ocv_content_derived *derived,
                      const struct ocv_slim_target *target, struct ocv_slim_target *out);
/** The properties of the original: those given, derived ones, and each architecture that else a
 * slim variant of a lower one would serve. */
int slim_describe_fat(const struct slim *slim, const struct ocv_content *content,
                      const struct ocv_properties *given, enum ocv_content_fact fact,
                      struct ocv_properties **out, struct ocv_error *err) OCV_WARN_UNUSED;
/** May a variant with these properties (NULL: none are given) become one for the target: do they
 * name devices of its maker, and its architecture if any? */
bool slim_may_take(const struct ocv_properties *given, const struct ocv_slim_target *target);
/** Has it an architecture that none of the variants from `first` on is for? */
bool slim_fat_is_reached(const struct slim *slim, size_t first, const struct ocv_properties *fat);
bool slim_same_properties(const struct ocv_properties *a, const struct ocv_properties *b);
int slim_copy_properties(const struct ocv_properties *set, struct ocv_properties **out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** "sm80", and "cuda12.sm80" of FROM's variant cuda12; `target` NULL: "fat", "cuda12.fat". Returns
 *  `out`. */
const char *slim_label(const struct slim_source *source, const struct ocv_slim_target *target,
                       char out[OCV_SLIM_LABEL_MAX]);
/** Is it what slim ranks its variants by? */
bool slim_is_order(const struct slim *slim, struct ocv_property property);
/** Was the entry made by slim, as "slim", for a target, or as "fat"? */
bool slim_is(const struct slim *slim, const struct ocv_index *index, const struct ocv_entry *entry,
             const char *rank);
/** Has FROM an entry of that label, for the source's architecture? */
bool slim_has_entry(const struct ocv_index *index, const struct slim_source *source,
                    const char *label);
/** Has FROM that variant already? */
bool slim_was_made(const struct slim *slim, const struct ocv_index *index,
                   const struct slim_source *source, const struct ocv_slim_target *target);
/** Look what FROM is, and choose the namespace that ranks slim variants. */
void slim_choose_order(struct slim *slim, const struct image *from);
/** Write the index: all variants are in the stage. */
int slim_index_write(struct slim *slim, const struct image *from,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** What became of the variant's files, dev.ocivariant.slim/v1; NULL without memory. */
json_t *slim_variant_json(const struct slim_variant *variant);
/** Print what was cut and what was left, for each variant. */
int slim_table_print(const struct slim *slim, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
