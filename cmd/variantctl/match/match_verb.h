/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job, the fleet it is placed on, and the answer. */
#ifndef OCV_MATCH_VERB_H
#define OCV_MATCH_VERB_H

#include "cmd/common/image/image.h"

#define MATCH_OUTPUT_MAX (256u * 1024 * 1024)

#define MATCH_ROLE_NAME_MAX 63u

/** What was asked. */
struct match_request {
    struct cli *cli;
    const char *index_file, *image, *fleet, *nodes, *exclude, *pin, *label;
    struct ocv_match_role roles[OCV_MATCH_ROLES_MAX];
    char *texts[OCV_MATCH_ROLES_MAX]; /* owned: names and architectures of the roles */
    size_t n_roles;
    enum ocv_match_policy policy;
    bool skip_bad, json, print_ref;
};

/** The answer, and what it was made of. */
struct match_result {
    struct image image;
    struct ocv_fleet *fleet;
    struct ocv_match *match;
    struct ocv_placement *placement;
    struct ocv_buffer names, excluded; /* of --nodes and --exclude, each with its NUL */
    const char **nodes;
    size_t n_nodes, skipped;
};

/** Answer it. Returns the exit code. */
int match_run(struct match_request *request);
/** "homogeneous", "best", "common" or "unpinned". */
const char *match_policy_name(enum ocv_match_policy policy);
/** What a role is called: its name, or "member". */
const char *match_role_name(const struct match_request *request, size_t role);
/** How the entry is named to an engine: REPOSITORY@DIGEST, of a layout oci:DIR@DIGEST, of an index
 *  alone the digest. Returns `out`. */
const char *match_reference(const struct match_result *result, const struct ocv_entry *entry,
                            char *out, size_t size);
#define MATCH_REFERENCE_MAX 4608u

/** Append the property of the entry that a lack is about, or the reason's name. */
int match_lack_what(const struct match_result *result, const struct ocv_lack *lack,
                    struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append a table for people. */
int match_format_text(const struct match_request *request, const struct match_result *result,
                      struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the same as JSON (dev.ocivariant.match/v1). */
int match_format_json(const struct match_request *request, const struct match_result *result,
                      struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the reference alone: with several roles a line "ROLE REFERENCE" for each, under `best`
 *  "NODE REFERENCE". */
int match_format_reference(const struct match_request *request, const struct match_result *result,
                           struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Sort names by their numbers, and append them folded as Slurm does: "n[1-4,7]". */
int match_fold_names(const char **names, size_t n, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;

#endif
