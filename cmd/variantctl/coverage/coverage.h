/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The matrix of an index's variants and a fleet's hosts. */
#ifndef OCV_COVERAGE_H
#define OCV_COVERAGE_H

#include "cmd/common/image/image.h"
#include "ocivariant.h"

#define COVERAGE_SOURCES_MAX 64u
#define COVERAGE_HOSTS_MAX 10000u
#define COVERAGE_OUTPUT_MAX (256u * 1024 * 1024)

/** The command line. */
struct coverage_request {
    struct cli *cli;
    const char *index_file;
    const char *const *images;
    size_t n_images;
    const char *before, *after; /**< data directories; NULL: the installed one */
    const char *profiles[COVERAGE_SOURCES_MAX];
    size_t n_profiles;
    const char *report; /**< the page, or NULL */
    bool json;
    bool strict; /**< a profile that cannot be read is an error, not left out */
    bool fail_on_nothing, fail_on_default; /**< exit 5 if a host gets no more than that */
};

struct coverage_host {
    char *path, *name; /**< a profile's file or a recorded machine's directory, and its name */
    struct ocv_profile *profile;
    bool in_fleet; /**< the profile is that of a class of the fleet */
    size_t nodes;  /**< machines of that class; 1: it is one */
    struct ocv_decision *decision;
    char *undecided; /**< why there is no decision for it, or NULL */
    size_t alike;    /**< hosts that share its column, itself included; 0: it has none */
    size_t of;       /**< the host whose column it shares */
    size_t sharing;  /**< machines in its column */
};

struct coverage {
    const struct image *image;
    struct coverage_host *hosts;
    size_t n;
    struct ocv_fleet *fleet; /**< what documents said; NULL: none was named */
};

/** Read the request's fleet: profiles, directories of profiles, and recorded machines, which are
 *  probed. Malformed profiles are left out, counted and warned of, unless the request is strict. */
int coverage_read_hosts(const struct coverage_request *request, struct coverage *c,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** Resolve an image for all hosts. A tag rule may replace its index, and may not decide for a host:
 *  that is said of the host. */
int coverage_decide(struct cli *cli, struct image *image, struct coverage *c,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Drop the decisions; call before closing their image. */
void coverage_forget(struct coverage *c);
void coverage_free(struct coverage *c);
/** Write the page of the request: the fleet's classes and its images. */
int coverage_report(const struct coverage_request *request, struct coverage *c,
                    struct ocv_error *err) OCV_WARN_UNUSED;
#define COVERAGE_NAME_MAX 320u
/** "n0001", or "n0001+2499" of a class. Returns `out`. */
const char *coverage_name(const struct coverage_host *host, char out[COVERAGE_NAME_MAX]);
/** Machines of all hosts for which `wanted` is true; NULL: of all. */
size_t coverage_count(const struct coverage *c, bool (*wanted)(const struct coverage_host *));
/** Print the changes from one data directory to the other; returns the exit code. */
int coverage_compare(const struct coverage_request *request);

/** What the host gets, or NULL. */
const struct ocv_entry *coverage_gets(const struct coverage_host *host);
/** True if the host gets nothing; coverage_gets_default: true if it gets only the default. */
bool coverage_gets_nothing(const struct coverage_host *host);
bool coverage_gets_default(const struct coverage_host *host);

enum coverage_cell { COVERAGE_UNDECIDED, COVERAGE_NOT_FIT, COVERAGE_FITS, COVERAGE_CHOSEN };
/** What a host gets of an entry. */
enum coverage_cell coverage_cell(const struct coverage_host *host, const struct ocv_entry *entry);
/** False for entries that are not images (mostly attestations), which no host gets. */
bool coverage_candidate(const struct ocv_entry *entry);
/** Let equal hosts share the column of the first. Fails with OCV_ERR_NOMEM only. */
int coverage_share_columns(struct coverage *coverage, struct ocv_error *err) OCV_WARN_UNUSED;

/** Append a table: a row for each entry that hosts may get, a column for each host. If that is too
 *  wide to read, equal hosts share a column. */
int coverage_format(struct coverage *coverage, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the same as JSON. */
int coverage_format_json(const struct coverage *coverage, struct ocv_buffer *out,
                         struct ocv_error *err) OCV_WARN_UNUSED;

/* Changes in a fleet's choices with another data directory. */

/** A machine's choice for an image. */
struct coverage_choice {
    char digest[OCV_DIGEST_MAX]; /**< empty: nothing */
    char name[160];              /**< the tag that a rule chose, else the label */
    char problem[256];           /**< why the image cannot be resolved at all, or empty */
};

struct coverage_change {
    char *image, *host, *profile;
    struct coverage_choice before, after;
};

struct coverage_changes {
    const char *before, *after; /**< data directories */
    size_t images, hosts;
    struct coverage_change *list; /**< by image, then by host */
    size_t n;
};

int coverage_changes_format(const struct coverage_changes *changes, struct ocv_buffer *out,
                            struct ocv_error *err) OCV_WARN_UNUSED;
int coverage_changes_format_json(const struct coverage_changes *changes, struct ocv_buffer *out,
                                 struct ocv_error *err) OCV_WARN_UNUSED;

#endif
