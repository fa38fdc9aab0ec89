/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two sides of a pass share: the worker that asks upstream, and the request. */
#ifndef VARIANTD_PASSTHROUGH_H
#define VARIANTD_PASSTHROUGH_H

#include "cmd/variantd/mirror/mirror_internal.h"
#include "cmd/variantd/upstream/stream.h"

#define ACCEPT_MAX 4096u /* of all Accept headers together, passed on */
#define RANGE_MAX 64u
#define QUERY_VALUE_MAX 128u /* a longer one is left out */
#define QUERY_MAX 1024u      /* two of them, escaped, with their names */

struct passthrough {
    struct refcounted item;
    struct job job;
    struct mirror *mirror;
    struct passthrough *next, **link; /* in mirror->passes, under its lock, while a worker has it */
    struct mirror_request *request;   /* under the lock; NULL when it has left */
    bool slow;                        /* under the lock: its reader, at the last look */
    /* the question */
    enum route_kind kind;
    enum identity identity;
    const struct upstream *upstream;
    struct ocv_reference *reference;
    bool no_body;        /* the request is a HEAD; */
    bool head_only;      /* so is what upstream is asked */
    bool chunks;         /* as the request's */
    struct bounds known; /* of its size; zeros: nothing */
    int64_t until_ms;
    char accept[ACCEPT_MAX], range[RANGE_MAX];
    struct ocv_buffer query;
    /* the answer: the worker's until `arrived`, the request's afterwards */
    bool arrived;
    struct lookup_result *no; /* why not, or NULL */
    struct ocv_stream_head head;
    char *list_link;
    struct ocv_buffer body;
    struct stream *stream;
    size_t held; /* bytes that are counted for it */
    int fd;
    int64_t from, size; /* of the part of a file */
};

/** A blob that is given, not only its head. */
bool passthrough_streams(const struct passthrough *pass);
/** Ask upstream and answer; for workers. */
void passthrough_run(struct job *job);

#endif
