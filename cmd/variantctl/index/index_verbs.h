/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the verbs of `variantctl index` that make or edit an index. */
#ifndef OCV_INDEX_VERBS_H
#define OCV_INDEX_VERBS_H

#include "cmd/common/image/image.h"
#include "cmd/common/progress/progress.h"
#include "cmd/variantctl/place/place.h"
#include "cmd/variantctl/verbs.h"
#include "lib/internal/content/derived.h"
#include "lib/internal/edit/edit.h"
#include "lib/internal/lint/lint.h"
#include "ocivariant/buffer.h"
#include "ocivariant/index.h"

#include <jansson.h>
#include <stdio.h>

struct build;
struct copier;

/* The last step of every verb that writes: compare, put, read back, report. */

/** Options of every verb that writes. */
struct write_options {
    bool dry_run, quiet, json, referrers;
    bool no_lint;       /**< publish despite lint errors */
    const char *expect; /**< --expect: the digest that the tag must have, or "none" */
    const char *signer; /**< --sign-with: said with the digest, never run; NULL: cosign */
    enum ocv_edit_layout layout;
    bool has_layout;
};

/** Option rows for verbs that write, that lay out an index, and that lint it first. Their structure
 *  is struct write_options. */
extern const struct ocv_option write_rows[], layout_rows[], lint_rows[];

/** Progress mode: bars only in text output. */
enum progress_mode write_progress(const struct cli *cli, const struct write_options *options);

/** A document to be published under a name. */
struct publication {
    struct place *to;
    const struct write_options *options;
    struct ocv_descriptor descriptor;
    const struct ocv_buffer *bytes;
    char before[OCV_DIGEST_MAX];  /**< what the tag named at first; empty: nothing */
    const struct ocv_buffer *old; /**< its document, if an edit has read it */
    bool unchanged;               /**< the tag already names these bytes */
};

/** Read what the tag names; with --expect, refuse anything else. Call before reading any input of
 *  the new document. */
int publication_begin(struct publication *p, struct place *to, const struct write_options *options,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The document is an edit of this digest, which the tag named when it was read. */
int publication_based_on(struct publication *p, const char *digest,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** Write the document and read it back; refuses if the tag has moved. Does nothing with
 *  --dry-run. */
int publication_write(struct publication *p, const char *media_type, const struct ocv_buffer *bytes,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Print the result. `extra` (may be NULL) is merged into the JSON and freed. `copier` may be
 *  NULL. */
int publication_print(const struct publication *p, const struct copier *copier, json_t *extra,
                      struct ocv_error *err) OCV_WARN_UNUSED;

struct copier;

/* An index that is made or edited. All input is read and checked first, then copied; the tag
 * changes last. */

/** Something to add, and where it was requested. */
struct item {
    char *label;     /**< NULL: an ordinary image, the default */
    char *reference; /**< what to open */
    struct ocv_properties *properties;
    struct ocv_properties *assumed; /**< those that nobody stated; or NULL */
    struct ocv_platform *platform;  /**< only the entry of this platform; NULL: all */
    bool by_label; /**< choose entries of a multi-platform index by platform: x-LABEL, or plain for
                      a default */
    char *where;   /**< "FILE:LINE", or a tag; NULL if the label suffices */
    const struct ocv_edit_source *source; /**< the file, for line numbers, or NULL */
    size_t source_image;                  /**< index of the image in that file */
};

/** A manifest to copy: an image, or its attestation. */
struct index_image {
    size_t image; /**< index of the opened image */
    struct manifest_doc child;
    struct ocv_buffer config;             /**< of a relabelled child; else empty */
    json_t *manifest, *config_json;       /**< parsed for lint; NULL: not read */
    char relabelled_from[OCV_DIGEST_MAX]; /**< empty: not relabelled */
    char *label;
    struct ocv_properties *properties; /**< with --derive: given and derived; else NULL */
    struct ocv_content *content;       /**< with --derive: findings in its files */
    bool shares_content;               /**< `content` belongs to an earlier image */
};

struct build {
    struct cli *cli;
    struct write_options options;
    bool relabel;
    bool tags_listed; /* for suggestions when a tag does not exist */
    bool replace;     /* a build replaces the one with its label */
    bool derive;      /* properties are also derived from the images' files */
    struct place to;
    struct publication publication;
    struct ocv_edit *document;
    const struct ocv_index *edited; /* for an edit: the tag's document; borrowed from its image */
    const char *from;               /* the file that the document is made from, or NULL */
    struct item *items;
    size_t n_items;
    struct image *images;
    size_t n_images;
    struct index_image *jobs;
    size_t n_jobs;
    struct ocv_lint_report told; /* what was said of that file already */
};

/** Read the target tag and begin a new document; with `edit`, cli_load, and begin with the tag's
 *  bytes. */
int build_begin(struct build *build, const char *target, bool edit,
                struct ocv_error *err) OCV_WARN_UNUSED;
void build_free(struct build *build);
/** Open an image, once: its place among the build's images. */
int build_open(struct build *build, const char *text, size_t *out,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** Add an item; copies the strings and takes over the properties, even on failure. */
int build_item(struct build *build, const char *label, const char *reference,
               struct ocv_properties *properties, const char *where,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** An item as written on a command line: LABEL=REF[,PROPERTY...]. */
int build_argument(struct build *build, const char *text, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read all items' images and add them to the document. */
int build_read(struct build *build, struct ocv_error *err) OCV_WARN_UNUSED;
/** Check, copy, publish, print. */
int build_finish(struct build *build, struct ocv_error *err) OCV_WARN_UNUSED;

/** The image read for an entry, or NULL. */
const struct index_image *build_job_of(const struct build *build, const struct ocv_entry *entry);

/** Read the image's manifest and configuration, with --derive its files, too, and add its entry;
 *  `image`: index of the opened image. `listed`: its entry in a multi-platform index, or NULL. */
int build_add_image(struct build *build, const struct item *item, size_t image,
                    const struct ocv_descriptor *descriptor, const struct ocv_entry *listed,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** The same for each image of a multi-platform index that the item means, with its attestations.
 *  `own` as for build_wants. */
int build_add_index(struct build *build, const struct item *item, size_t image, bool own,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/** True for an item without requirements: label null, or no label. */
bool item_is_default(const struct item *item);
/** True if the item means only some entries of an index. */
bool item_picks(const struct item *item);
/** True if the item means the entry. `own`: the index is the one that the tag names now, and only
 *  its former default is meant, unless another default was given. */
bool build_wants(const struct build *build, const struct item *item, const struct ocv_entry *entry,
                 bool own);
/** No entry of the image is meant: OCV_ERR_DATA, with a list of its entries. */
int item_missing(const struct item *item, const struct image *image, struct ocv_error *err);
/** Warn of entries that belong to one build and that no item uses. */
void build_warn_left_out(const struct build *build);

/** Print what `lint` finds in the file of --from. OCV_ERR_DATA for errors, unless --no-lint. */
int build_review_source(struct build *build, const struct ocv_edit_source *source,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** OCV_ERR_DATA if accelerators have no order, unless --no-lint. `index` NULL: checked for a new
 *  index before any image is requested. */
int build_check_order(const struct build *build, const struct ocv_index *index,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Lint the index before it is written, and print warnings. OCV_ERR_DATA for lint errors and for
 *  accelerators without an order, unless --no-lint. */
int build_review(const struct build *build, const struct ocv_index *index,
                 const struct ocv_buffer *bytes, struct ocv_error *err) OCV_WARN_UNUSED;

/** With --derive: give builds that only their labels rank (OCV119, OCV120) the order of their
 * toolkits, as
 *  --from-tags does, in a namespace `priority` of the index. `index` is the document now; `*ranked`
 *  tells whether the document was changed. */
int build_rank(struct build *build, const struct ocv_index *index, const struct ocv_buffer *bytes,
               bool *ranked, struct ocv_error *err) OCV_WARN_UNUSED;

/** Add the items, annotations and layout of --from; `path` names the file in messages. */
int build_from_source(struct build *build, const char *path, const struct ocv_edit_source *source,
                      struct ocv_error *err) OCV_WARN_UNUSED;

/** Make items from tags, [REPO:]GLOB, by the rules of the data directories and of `rules` (a file
 *  or directory, or NULL). */
int build_from_tags(struct build *build, const char *glob, const char *rules,
                    struct ocv_error *err) OCV_WARN_UNUSED;

#define BUILD_PRIORITY "priority" /**< the namespace that ranks builds by their toolkits */
/** Append a namespace to those that are listed, unless it is one of them. */
int build_append_namespace(const struct build *build, const char *name,
                           struct ocv_error *err) OCV_WARN_UNUSED;

/** Append the properties that an image may say of itself: not those of static namespaces, which the
 *  index defines and no machine has. `document`: the index, or NULL. */
int relabel_properties(const struct ocv_edit *document, const struct ocv_properties *properties,
                       struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write label and properties into the image's config, and the label into its top layer's
 *  annotations. This changes the child's manifest and digest; `config` receives the new config's
 *  bytes. */
int relabel_child(struct manifest_doc *child, const struct ocv_buffer *old_config,
                  const char *label, const char *properties, struct ocv_buffer *config,
                  struct ocv_error *err) OCV_WARN_UNUSED;

/** Copy the referrers of a manifest in the image's repository: by the referrers API or its fallback
 *  tag, and by cosign's older tags. */
int copy_referrers(struct copier *copier, const struct image *from, const char *digest,
                   struct ocv_error *err) OCV_WARN_UNUSED;

/* A sparse copy: of an index only what machines of a fleet get. */

struct sparse_options {
    struct ocv_option_list fleet; /**< --for: as for coverage */
    bool sparse, prune, all_ranks, update;
};
/** Zero-initialise. */
struct sparse {
    bool *keep;      /**< of each entry: is it copied? */
    json_t *root;    /**< the index */
    size_t machines; /**< of the fleet */
};
/** Choose entries: what a machine gets (`all_ranks`: could run), defaults, and attestations of
 *  these. */
int sparse_choose(struct cli *cli, const struct sparse_options *options, struct image *image,
                  struct sparse *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Say what is copied and what is left out, with its bytes. */
int sparse_tell(struct cli *cli, const struct image *image, const struct sparse *sparse, bool quiet,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** The index without the entries that are left out: another digest. Once. */
int sparse_prune(const struct image *image, struct sparse *sparse, struct ocv_buffer *out,
                 struct ocv_error *err) OCV_WARN_UNUSED;
void sparse_free(struct sparse *sparse);

#define EDIT_ANNOTATIONS_MAX 256u

/** State of such a verb. Zero-initialise. */
struct edit {
    struct build build;
    struct ocv_option_list defaults;
    const char *from, *tags, *rules;
    struct ocv_option_list labels; /**< --label WHICH=LABEL */
    struct edit_annotations {
        struct {
            const char *option, *text;
        } list[EDIT_ANNOTATIONS_MAX];
        size_t n;
    } annotations; /**< --namespaces, --static, --annotation, in the given order */
    struct ocv_platform *platform;
    bool ordinary, relayout;
};

/** Rows for annotations of the index; --relabel; --platform. */
extern const struct ocv_option edit_annotation_rows[], edit_relabel_rows[], edit_platform_rows[];
/** Option callback: a `const char *` that may be given once, because a second value would silently
 *  replace the first. */
int edit_take_once(const struct ocv_option_given *given, struct ocv_error *err) OCV_WARN_UNUSED;
/** Rows appended to a verb's own. */
#define EDIT_ANNOTATION_ROWS                                                        \
    {                                                                               \
        .group = edit_annotation_rows, .offset = offsetof(struct edit, annotations) \
    }
#define EDIT_WRITE_ROWS(rows)                                           \
    {                                                                   \
        .group = (rows), .offset = offsetof(struct edit, build.options) \
    }

/** Add the builds that --default and arguments (ending with NULL) name. */
int edit_items(struct edit *edit, char **arguments, struct ocv_error *err) OCV_WARN_UNUSED;
/** Does the text, names with commas between them, have that one? */
bool build_lists_name(const char *list, const char *name);
/** True if `set` (may be NULL) has the property. */
bool edit_has_property(const struct ocv_properties *set, struct ocv_property p);
/** Set the requested annotations. */
int edit_annotations(struct edit *edit, struct ocv_error *err) OCV_WARN_UNUSED;
void edit_free(struct edit *edit);

/** `add`, `remove` and `annotate`, by argv[0]. */
int cmd_index_edit(struct cli *cli, int argc, char **argv);
int cmd_index_copy(struct cli *cli, int argc, char **argv);
int cmd_index_diff(struct cli *cli, int argc, char **argv);

/* Differences between two indexes, for `index diff` and for verbs that write an index. */

/** One of the two indexes, and its document. */
struct changes_side {
    const struct ocv_index *index;
    const struct ocv_buffer *body;
    const char *digest;
};

/** The differences, as `index diff --format json` prints them; NULL without memory. */
json_t *changes_between(const struct changes_side *old, const struct changes_side *new);
/** Print them as text, a line for each change. */
void changes_print(const json_t *changes, FILE *out);
/** The builds missing from the new index, as "cuda12.8 (linux/amd64), ..." cut to `size`; empty if
 *  none is. Returns `out`. */
const char *changes_gone(const json_t *changes, char *out, size_t size);

/* Copies manifests and everything they name to another place. No tag is written here, so a failed
 * copy changes no name. */

struct copier {
    struct cli *cli;
    struct place *to;
    struct progress *progress;
    struct ocv_layout *staging; /**< blobs that pass from one registry to another */
    char staging_dir[256];
    const bool *keep; /**< which entries of the image's index are copied; NULL: all */
    size_t manifests; /**< written */
    int64_t bytes_sent, bytes_mounted, bytes_present; /**< of blobs */
};

/** `mode`: PROGRESS_QUIET or another. */
int copier_open(struct cli *cli, struct place *to, enum progress_mode mode, struct copier *out,
                struct ocv_error *err) OCV_WARN_UNUSED;
void copier_close(struct copier *copier);
#define ocv_auto_copier __attribute__((cleanup(copier_close))) struct copier
/** Copy an image manifest after its blobs. `config` (may be NULL): bytes of a config that is not
 *  stored anywhere yet. */
int copier_child(struct copier *copier, const struct image *from, const struct manifest_doc *child,
                 const struct ocv_buffer *config, struct ocv_error *err) OCV_WARN_UNUSED;
/** Copy a manifest or index of the image's repository by digest, with everything below it. `depth`
 *  0: an index itself is left to the caller; 1: it is copied, too. */
int copier_tree(struct copier *copier, const struct image *from, const struct ocv_descriptor *d,
                unsigned depth, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
