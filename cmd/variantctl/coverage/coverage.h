/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix of an index's variants and a fleet's hosts. */
#ifndef OCV_COVERAGE_H
#define OCV_COVERAGE_H

#include "cmd/common/image/image.h"

#define COVERAGE_SOURCES_MAX 64u
#define COVERAGE_HOSTS_MAX 10000u
#define COVERAGE_OUTPUT_MAX (256u * 1024 * 1024)

/** What was asked. */
struct coverage_request {
    struct cli *cli;
    const char *index_file;
    const char *const *images;
    size_t n_images;
    const char *before, *after; /**< data directories; NULL: the installed one */
    const char *profiles[COVERAGE_SOURCES_MAX];
    size_t n_profiles;
    bool json;
    bool fail_on_nothing, fail_on_default; /**< exit 5 where a host gets no more */
};

struct coverage_host {
    char *path, *name; /**< the profile's file, or a recorded machine's directory, and its name */
    struct ocv_profile *profile;
    struct ocv_decision *decision;
    size_t
        alike; /**< hosts that share its column in the table, itself among them; 0: in another's */
    size_t of; /**< whose column it shares */
};

struct coverage {
    const struct image *image;
    struct coverage_host *hosts;
    size_t n;
};

/** Read the fleet: profiles, directories of them, and recorded machines, which are probed. */
int coverage_read_hosts(struct cli *cli, const char *const *paths, size_t n, struct coverage *c,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** Resolve an image for all of them. By a rule, its index may be another one afterwards. */
int coverage_decide(struct cli *cli, struct image *image, struct coverage *c,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Drop the decisions, before their image is closed. */
void coverage_forget(struct coverage *c);
void coverage_free(struct coverage *c);
/** Show what changes from one data directory to the other: the exit code. */
int coverage_compare(const struct coverage_request *request);

/** Does the host get nothing at all, or no more than what everybody gets? */
bool coverage_gets_nothing(const struct coverage_host *host);
bool coverage_gets_default(const struct coverage_host *host);

enum coverage_cell { COVERAGE_NOT_FIT, COVERAGE_FITS, COVERAGE_CHOSEN };
/** What an entry is to a host. */
enum coverage_cell coverage_cell(const struct coverage_host *host, const struct ocv_entry *entry);
/** Not counted: entries that are not images (attestations above all), which no host gets. */
bool coverage_candidate(const struct ocv_entry *entry);
/** Hosts that are alike share the column of the first one. OCV_ERR_NOMEM only. */
int coverage_share_columns(struct coverage *coverage, struct ocv_error *err) OCV_WARN_UNUSED;

/** Append a table for people: a row for each entry that hosts may get, a column for each host;
 * where that is too wide to be read, one for all hosts that are alike in it. */
int coverage_format(struct coverage *coverage, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the same as JSON. */
int coverage_format_json(const struct coverage *coverage, struct ocv_buffer *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

#endif
