/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An index that is made or edited: what goes into it is read and checked first, then copied, and
 * only then does the tag change. */
#ifndef OCV_INDEX_BUILD_H
#define OCV_INDEX_BUILD_H

#include "cmd/variantctl/index/index_publish.h"
#include "lib/content/derived.h"
#include "lib/edit/edit.h"

/** Something to add, with where it was asked for. */
struct item {
    char *label;     /**< NULL: an ordinary image, the default */
    char *reference; /**< what to open */
    struct ocv_properties *properties;
    struct ocv_properties *assumed; /**< those of them that no one wrote down; NULL: none */
    struct ocv_platform *platform;  /**< only the entry of this platform; NULL: all */
    bool by_label; /**< of an index of several platforms: x-LABEL, of a default the plain ones */
    char *where;   /**< "FILE:LINE", or a tag, or NULL: the label is enough */
    const struct ocv_edit_source *source; /**< the file, for the lines of its parts, or NULL */
    size_t source_image;                  /**< which of its images it is */
};

/** A manifest to copy: an image, or what attests to one. */
struct index_image {
    size_t image; /**< which of the opened ones */
    struct manifest_doc child;
    struct ocv_buffer config;             /**< of a relabelled child; else empty */
    json_t *manifest, *config_json;       /**< the same as lint reads them; NULL: unread */
    char relabelled_from[OCV_DIGEST_MAX]; /**< empty: as it was */
    char *label;
    struct ocv_properties *properties; /**< with --derive: given and derived; else NULL */
    struct ocv_content *content;       /**< the same: what its files say */
    bool shares_content;               /**< it is that of an earlier one */
};

struct build {
    struct cli *cli;
    struct write_options options;
    bool relabel;
    bool tags_listed; /* for what was meant by one that is not there */
    bool replace;     /* a build takes the place of the one with its label */
    bool derive;      /* properties are read from the images' files, too */
    struct place to;
    struct publication publication;
    struct ocv_edit *document;
    const struct ocv_index *edited; /* what the tag named, of an edit; borrowed from its image */
    const char *from;               /* the file that the document is made of, or NULL */
    struct item *items;
    size_t n_items;
    struct image *images;
    size_t n_images;
    struct index_image *jobs;
    size_t n_jobs;
};

/** Read what the tag names and begin a new document, or, with `edit`, one with the tag's bytes. */
int build_begin(struct build *build, const char *target, bool edit,
                struct ocv_error *err) OCV_WARN_UNUSED;
void build_free(struct build *build);
/** Add an item; the strings are copied, the properties are taken over, in case of failure too. */
int build_item(struct build *build, const char *label, const char *reference,
               struct ocv_properties *properties, const char *where,
               struct ocv_error *err) OCV_WARN_UNUSED;
/** The item that was added last means one entry of an index: of `platform` (NULL: the one that goes
 *  by its label). */
int build_item_platform(struct build *build, const char *platform,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** An item as written on a command line: LABEL=REF[,PROPERTY...]. */
int build_argument(struct build *build, const char *text, struct ocv_error *err) OCV_WARN_UNUSED;
/** Read every item's images and add them to the document. */
int build_read(struct build *build, struct ocv_error *err) OCV_WARN_UNUSED;
/** Check, copy, publish, print. */
int build_finish(struct build *build, struct ocv_error *err) OCV_WARN_UNUSED;

/** The image that was read for an entry, or NULL. */
const struct index_image *build_job_of(const struct build *build, const struct ocv_entry *entry);

/* ---- pick.c ---------------------------------------------------------------------------- */

/** Is it what needs nothing: null, or no label? */
bool item_is_default(const struct item *item);
/** Does it mean only some entries of an index? */
bool item_picks(const struct item *item);
/** Is the entry meant? `own`: the index is what the tag names now, and only what was its default is
 *  meant, where no other was given. */
bool build_wants(const struct build *build, const struct item *item, const struct ocv_entry *entry,
                 bool own);
/** No entry of the image is: OCV_ERR_DATA, with what there is. */
int item_missing(const struct item *item, const struct image *image, struct ocv_error *err);
/** Warn of entries that one build made and no item means. */
void build_warn_left_out(const struct build *build);

/* ---- review.c -------------------------------------------------------------------------- */

/** Accelerators without an order are OCV_ERR_DATA, but with --no-lint: told of a new index before
 * any image is asked for. */
int build_check_order(const struct build *build, struct ocv_error *err) OCV_WARN_UNUSED;
/** Lint what is about to be written, and warn: what lint calls an error is OCV_ERR_DATA, but with
 *  --no-lint, and so are accelerators without an order. */
int build_review(const struct build *build, const struct ocv_index *index,
                 const struct ocv_buffer *bytes, struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- source.c -------------------------------------------------------------------------- */

/** Read what --from FILE says. */
int build_from_file(const char *path, struct ocv_edit_source **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Its items, annotations and layout; `path` names it in messages. */
int build_from_source(struct build *build, const char *path, const struct ocv_edit_source *source,
                      struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- tags.c ---------------------------------------------------------------------------- */

/** Items from tags: [REPO:]GLOB, by the rules of the directories that are used and of `rules` (a
 * file or directory, or NULL). */
int build_from_tags(struct build *build, const char *glob, const char *rules,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- relabel.c ------------------------------------------------------------------------- */

/** Write label and properties into the image's config, and the label onto its top layer. The child
 *  then has another manifest and digest; `config` gets the new config's bytes. */
int relabel_child(struct manifest_doc *child, const struct ocv_buffer *old_config,
                  const char *label, const struct ocv_properties *properties,
                  struct ocv_buffer *config, struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- referrers.c ----------------------------------------------------------------------- */

/** Copy what refers to a manifest of the image's repository: by the referrers API or its fallback
 *  tag, and cosign's older tags. */
int copy_referrers(struct copier *copier, const struct image *from, const char *digest,
                   struct ocv_error *err) OCV_WARN_UNUSED;

#endif
