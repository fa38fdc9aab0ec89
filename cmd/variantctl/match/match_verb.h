/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job, the fleet it is placed on, and the result. */
#ifndef OCV_MATCH_VERB_H
#define OCV_MATCH_VERB_H

#include "cmd/common/image/image.h"

#define MATCH_OUTPUT_MAX (256u * 1024 * 1024)

#define MATCH_ROLE_NAME_MAX 63u

/** The command line. */
struct match_request {
    struct cli *cli;
    const char *index_file, *image, *fleet, *nodes, *exclude, *pin, *label;
    struct ocv_match_role roles[OCV_MATCH_ROLES_MAX];
    char *texts[OCV_MATCH_ROLES_MAX]; /* owned: names and architectures of the roles */
    size_t n_roles;
    enum ocv_match_policy policy;
    bool strict, json, print_ref;
};

/** The result, and its input. */
struct match_result {
    struct image image;
    struct ocv_fleet *fleet;
    struct ocv_match *match;
    struct ocv_placement *placement;
    struct ocv_buffer names, excluded; /* of --nodes and --exclude, each name with its NUL */
    const char **nodes;
    size_t n_nodes, skipped;
};

/** Compute and print it. Returns the exit code. */
int match_run(struct match_request *request);
/** "homogeneous", "best", "common" or "unpinned". */
const char *match_policy_name(enum ocv_match_policy policy);
/** A role's name, or "member". */
const char *match_role_name(const struct match_request *request, size_t role);
/** How an engine names the entry: REPOSITORY@DIGEST, oci:DIR@DIGEST in a layout, or the digest
 *  alone for a bare index. Returns `out`. */
const char *match_reference(const struct match_result *result, const struct ocv_entry *entry,
                            char *out, size_t size);
#define MATCH_REFERENCE_MAX 4608u

/** Append the entry's property that a node lacks, or the name of the reason. */
int match_lack_what(const struct match_result *result, const struct ocv_lack *lack,
                    struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append a table for people. */
int match_format_text(const struct match_request *request, const struct match_result *result,
                      struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the same as JSON (dev.ocivariant.match/v1). */
int match_format_json(const struct match_request *request, const struct match_result *result,
                      struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Append only the reference: a line "ROLE REFERENCE" for each of several roles, or "NODE
 *  REFERENCE" under `best`. */
int match_format_reference(const struct match_request *request, const struct match_result *result,
                           struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Sort names by their numbers and append them folded as in Slurm: "n[1-4,7]". */
int match_fold_names(const char **names, size_t n, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;

#endif
