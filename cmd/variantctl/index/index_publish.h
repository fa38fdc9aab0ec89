/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last step of every verb that writes: compare, put, read back, tell. */
#ifndef OCV_INDEX_PUBLISH_H
#define OCV_INDEX_PUBLISH_H

#include "cmd/variantctl/index/index_copy.h"
#include "lib/edit/edit.h"

#include <jansson.h>

/** Options of every verb that writes. */
struct write_options {
    bool dry_run, quiet, json, referrers;
    bool no_lint;       /**< publish what lint calls an error, too */
    const char *expect; /**< --expect: the digest that the tag has to have, or "none" */
    enum ocv_edit_layout layout;
    bool has_layout;
};

/** Rows of every verb that writes, of one that lays out an index, of one that checks it before: for
 *  a `struct write_options`. */
extern const struct ocv_option write_rows[], layout_rows[], lint_rows[];

/** What bars are shown: only to people. */
enum progress_mode write_progress(const struct cli *cli, const struct write_options *options);

/** A document that gets a name. */
struct publication {
    struct place *to;
    const struct write_options *options;
    struct ocv_descriptor descriptor;
    const struct ocv_buffer *bytes;
    char before[OCV_DIGEST_MAX];  /**< what the tag named at first; empty: nothing */
    const struct ocv_buffer *old; /**< its document where an edit has read it, else NULL */
    bool unchanged;               /**< it names these bytes already */
};

/** Look at what the tag names; with --expect refuse another. Needed before anything is read that
 *  the new document is made of. */
int publication_begin(struct publication *p, struct place *to, const struct write_options *options,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The tag was read for an edit and named this. */
int publication_based_on(struct publication *p, const char *digest,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** Refuse when the tag moved since; write; read back. Nothing with --dry-run. */
int publication_write(struct publication *p, const char *media_type, const struct ocv_buffer *bytes,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** The result on standard output. `extra` (may be NULL) is merged into the JSON and freed. `copier`
 * may be NULL. */
int publication_print(const struct publication *p, const struct copier *copier, json_t *extra,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
