/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a request that is passed on remembers while it runs. */
#ifndef OCV_REGISTRY_STREAM_INTERNAL_H
#define OCV_REGISTRY_STREAM_INTERNAL_H

#include "lib/registry/registry_internal.h"

struct ocv_streaming {
    struct ocv_exchange exchange;
    const struct ocv_stream *request;
    char *path, *what;
    bool told; /* the head was given to the caller */
    /* of a blob */
    struct ocv_hasher *hasher; /* of a whole one */
    bool part;                 /* the answer is a part of it */
    int64_t size;              /* bytes that were promised, -1 while unknown */
    int64_t first, total;      /* of a part: where it begins, -1 if not told; size of the blob */
    int64_t offset;            /* bytes received, all but `gathered` given to the caller */
    char *block;               /* request->buffer bytes, or NULL */
    size_t gathered;           /* bytes in it */
    int64_t skip;              /* bytes to skip, from a server without Range */
};

/** Give the head to the caller. */
int ocv_stream_give_head(struct ocv_streaming *s, const struct ocv_stream_head *head,
                         struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_stream_fill(struct ocv_stream_head *head, const struct ocv_response *response);
/** OCV_ERR_INTERRUPTED: the caller wants no more. */
int ocv_stream_stopped(struct ocv_error *err);
int ocv_stream_blob(struct ocv_streaming *s, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
