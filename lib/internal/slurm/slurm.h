/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Output for Slurm: the features of a node, and the constraint of an image.
 *
 * A property is a feature unchanged, "ns::feature::value"; a node has those of its profile, best
 * first. What `sinfo -ho %f` prints is read back into kinds of nodes, for which ocv_resolve checks
 * an index. The constraint's alternatives are what the entries need on those kinds, best first;
 * Slurm tries them in that order and gives all nodes of a job the same one.
 *
 * Ownership: callers own what they get. Thread safety: as for a fleet that is not changed. */
#ifndef OCV_SLURM_H
#define OCV_SLURM_H

#include "ocivariant/match.h"

/** Longest constraint, without NUL: Slurm 22.05 refuses more than 1,024 bytes. */
#define OCV_SLURM_CONSTRAINT_MAX 1020u
/** Alternatives of a constraint, at most: slurmctld 22.05 crashes at 66. */
#define OCV_SLURM_ALTERNATIVES_MAX 64u
/** Features of nodes, at most: bytes, kinds of nodes, features of one of them. */
#define OCV_SLURM_TEXT_MAX ((size_t)64 * 1024 * 1024)
#define OCV_SLURM_KINDS_MAX 65536u
#define OCV_SLURM_FEATURES_MAX 8192u
/** A short feature with NUL: "v" and the first 8 hexadecimal digits of the SHA-256 of the long one.
 */
#define OCV_SLURM_SHORT_MAX 10

/** Told of a property that a node has. A status other than OCV_OK ends the walk. */
typedef int (*ocv_slurm_property)(void *data, struct ocv_property property, struct ocv_error *err);
/** Visit the properties that are true of a node as a whole, as schedulers have to take it: those of
 *  its profile, best first, of values that belong to devices those that all devices that count
 * have. Returns OCV_OK or the status of `visit`. */
int ocv_slurm_properties(const struct ocv_profile *profile, ocv_slurm_property visit, void *data,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/** The short feature that stands for a property. */
int ocv_slurm_short(const char *feature, char out[OCV_SLURM_SHORT_MAX],
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the features of a node, separated by commas: its properties, as ocv_slurm_properties
 * gives them. `with_short`: the short ones behind them. */
int ocv_slurm_features(const struct ocv_profile *profile, bool with_short, struct ocv_buffer *out,
                       struct ocv_error *err) OCV_WARN_UNUSED;

/** Kinds of nodes by their features. */
struct ocv_slurm_nodes;
/** Read features as `sinfo -ho %f` prints them: a line for each kind of nodes, features separated
 * by commas; features that are not properties are ignored. A line without CPU properties counts
 * as nodes of `architecture`. Over a limit: OCV_ERR_DATA. */
int ocv_slurm_nodes_read(const char *text, size_t len, const char *architecture,
                         struct ocv_slurm_nodes **out, struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_slurm_nodes_free(struct ocv_slurm_nodes *nodes);
/** Number of kinds that differ in what a choice reads. */
size_t ocv_slurm_nodes_count(const struct ocv_slurm_nodes *nodes);
/** The profile of a kind. */
const struct ocv_profile *ocv_slurm_nodes_profile(const struct ocv_slurm_nodes *nodes, size_t i);

/** Told of each alternative in order: the entry, and its features joined by "&". */
typedef void (*ocv_slurm_visit)(void *data, const struct ocv_entry *entry, const char *features);
/** How a constraint is written. Zero-initialise. */
struct ocv_slurm_how {
    const struct ocv_resolve_options *options; /**< as for ocv_resolve, or NULL */
    bool use_short;                            /**< short features: every kind has to have them */
    ocv_slurm_visit visit;                     /**< or NULL */
    void *data;                                /**< of `visit` */
    size_t left_out; /**< out: alternatives that no features tell from nodes that cannot run them */
};
/** Append the constraint: "a&b", or where there are several alternatives "[(a&b)|(c&c)]". No entry
 *  fits a kind: OCV_ERR_NO_MATCH. Over a limit, or a kind lacks the short features: OCV_ERR_DATA.
 */
int ocv_slurm_constraint(const struct ocv_slurm_nodes *nodes, const struct ocv_index *index,
                         struct ocv_slurm_how *how, struct ocv_buffer *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

OCV_DEFINE_CLEANUP(ocv_slurm_nodes)

#endif
