/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last step of every verb that writes: compare, put, read back, report. */
#ifndef OCV_INDEX_PUBLISH_H
#define OCV_INDEX_PUBLISH_H

#include "cmd/variantctl/index/index_copy.h"
#include "lib/internal/edit/edit.h"

#include <jansson.h>

/** Options of every verb that writes. */
struct write_options {
    bool dry_run, quiet, json, referrers;
    bool no_lint;       /**< publish despite lint errors */
    const char *expect; /**< --expect: the digest that the tag must have, or "none" */
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

#endif
