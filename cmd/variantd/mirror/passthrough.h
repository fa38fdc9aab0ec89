/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the two sides of a pass: the request, and the worker that asks upstream. */
#ifndef VARIANTD_PASSTHROUGH_H
#define VARIANTD_PASSTHROUGH_H

#include "cmd/variantd/mirror/mirror_internal.h"
#include "cmd/variantd/upstream/stream.h"

#define ACCEPT_MAX 4096u /* all Accept headers together, as passed on */
#define RANGE_MAX 64u
#define QUERY_VALUE_MAX 128u /* longer values are dropped */
#define QUERY_MAX 1024u      /* two such arguments, escaped, with their names */

struct passthrough {
    struct refcounted item;
    struct job job;
    struct mirror *mirror;
    struct passthrough *next, **link; /* in mirror->passes, under its lock, while a worker has it */
    struct mirror_request *request;   /* under the lock; NULL after the request has left */
    bool slow;                        /* under the lock: the reader was slow at the last check */
    /* the question */
    enum route_kind kind;
    enum identity identity;
    const struct upstream *upstream;
    struct ocv_reference *reference;
    bool no_body;        /* the request is a HEAD; */
    bool head_only;      /* so is what upstream is asked */
    bool chunks;         /* the request's */
    struct bounds known; /* what is known of its size */
    int64_t until_ms;
    char accept[ACCEPT_MAX], range[RANGE_MAX];
    struct ocv_buffer query;
    /* the answer: the worker's until `arrived`, the request's afterwards */
    bool arrived;
    struct lookup_result *no; /* the reason of a failure, or NULL */
    struct ocv_stream_head head;
    char *list_next;
    struct ocv_buffer body;
    struct stream *stream;
    struct ocv_stream *question; /* while a registry is asked, else NULL */
    size_t full;                 /* bytes that come at once as long as there are more */
    size_t held;                 /* bytes reserved for it in the budget */
    int fd;
    int64_t from, size; /* the part of a file to send */
};

/** True for a blob whose bytes are sent, not only its head. */
bool passthrough_streams(const struct passthrough *pass);
/** Ask upstream and answer; for workers. */
void passthrough_run(struct job *job);

#endif
