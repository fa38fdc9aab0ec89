/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Blobs that are passed on, whole or in part. A whole one is hashed on the way. A broken transfer
 * goes on where it broke off, as long as what the server sends then is the rest of what it promised
 * first: a part by its Content-Range, byte for byte. */
#include "lib/base/cleanup.h"
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RECEIVED_AT_ONCE (128L * 1024) /* fits in the cache of a processor */
#define RECEIVED_TO_GATHER (256L * 1024)

static int64_t most_bytes(const struct ocv_streaming *s)
{
    return s->request->most > 0 ? s->request->most : OCV_STREAM_BLOB_MAX;
}

static int too_large(const struct ocv_streaming *s, struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_MISMATCH, "exceeds the expected %lld bytes",
                         (long long)most_bytes(s));
}

static int another_part(struct ocv_error *err)
{
    return ocv_error_set(err, OCV_ERR_NETWORK, "not the part that was requested");
}

/* Digits, at most 18 of them; -1: none. */
static int64_t read_place(const char **p)
{
    const char *start = *p;
    int64_t n = 0;
    while (**p >= '0' && **p <= '9' && *p - start < 18)
        n = n * 10 + *(*p)++ - '0';
    return *p > start ? n : -1;
}

/* Is it what "bytes=FIRST-LAST", "bytes=FIRST-" or "bytes=-LENGTH" asked for? A blob that ends
 * earlier shortens it. */
static bool is_asked_part(const char *range, const struct ocv_response *r)
{
    if (strncasecmp(range, "bytes=", 6) != 0 || r->range_start < 0)
        return false;
    const char *p = range + 6;
    int64_t first = read_place(&p);
    if (*p++ != '-')
        return false;
    int64_t last = read_place(&p), end = r->range_total - 1;
    if (first < 0) /* the end of it */
        return last > 0 && r->range_end - r->range_start < last &&
               (r->range_total < 0 ||
                (r->range_end == end && r->range_start == (end < last ? 0 : end + 1 - last)));
    if (r->range_start != first)
        return false;
    if (r->range_total < 0)
        return last < 0 || r->range_end <= last;
    return r->range_end == (last < 0 || last > end ? end : last);
}

static int begin_blob(void *data, struct ocv_exchange *x)
{
    struct ocv_streaming *s = data;
    const struct ocv_response *r = &x->transfer.response;
    struct ocv_stream_head head;
    if (r->encoded)
        return ocv_error_set(&x->error, OCV_ERR_DATA, "compressed, which was not requested");
    if (s->told && s->part) { /* is it the rest of what was promised first? */
        bool rest = r->status == 206 && r->range_start == s->first + s->offset &&
                    r->range_end == s->first + s->size - 1 &&
                    (s->total < 0 || r->range_total < 0 || r->range_total == s->total) &&
                    (r->content_length < 0 || r->content_length == s->size - s->offset);
        return rest ? OCV_OK : another_part(&x->error);
    }
    if (s->told) { /* a whole one may begin again */
        bool same = s->size < 0 || r->range_total < 0 || r->range_total == s->size;
        s->skip = 0; /* of an answer that began again and broke off, too */
        if (s->offset && r->status == 206 && r->range_start == s->offset && same)
            return OCV_OK;
        if (r->status == 206)
            return another_part(&x->error);
        if (s->size >= 0 && r->content_length >= 0 && r->content_length != s->size)
            return ocv_error_set(&x->error, OCV_ERR_MISMATCH, "has another size than before");
        s->skip = s->offset;
        return OCV_OK;
    }
    if (r->status == 206 && !s->request->range)
        return ocv_error_set(&x->error, OCV_ERR_NETWORK,
                             "a part was sent though the whole was requested");
    if (r->status == 206) {
        if (!is_asked_part(s->request->range, r))
            return another_part(&x->error);
        s->part = true;
        s->first = r->range_start;
        s->total = r->range_total;
        s->size = r->range_end - r->range_start + 1;
        if (r->content_length >= 0 && r->content_length != s->size)
            return ocv_error_set(&x->error, OCV_ERR_DATA,
                                 "a part of %lld bytes with %lld bytes of body", (long long)s->size,
                                 (long long)r->content_length);
        x->range_from = x->mark = s->first;
        x->range_end = r->range_end + 1;
    } else {
        s->size = r->content_length; /* of a server that knows no parts, too */
    }
    x->range = NULL; /* from now on it is the rest that is asked for */
    if (s->request->most > 0 && (s->size > most_bytes(s) || s->total > most_bytes(s)))
        return too_large(s, &x->error);
    if (!s->part && !s->request->head_only)
        OCV_TRY(ocv_hasher_new(s->request->object, &s->hasher, &x->error));
    ocv_stream_fill(&head, r);
    head.status = s->part ? 206 : 200; /* a 203 is a whole one, too */
    if (s->part)
        head.size = s->size;
    x->registry->deadline = 0; /* the rest takes as long as it takes */
    OCV_TRY(ocv_stream_give_head(s, &head, &x->error));
    if (s->request->buffer > 0 && !(s->block = malloc((size_t)s->request->buffer)))
        return ocv_error_nomem(&x->error);
    return OCV_OK;
}

/* The caller sends them, and the kernel still does so while they are hashed here. */
static int give(struct ocv_streaming *s, const char *bytes, size_t len, struct ocv_error *err)
{
    const struct ocv_stream *q = s->request;
    if (q->body && q->body(q->data, bytes, len))
        return ocv_stream_stopped(err);
    return s->hasher ? ocv_hasher_update(s->hasher, bytes, len, err) : OCV_OK;
}

static int give_gathered(struct ocv_streaming *s, struct ocv_error *err)
{
    size_t len = s->gathered;
    s->gathered = 0;
    return len ? give(s, s->block, len, err) : OCV_OK;
}

/* Nothing more has come yet, or ever will: what is here goes on now. */
static int give_rest(void *data, struct ocv_error *err)
{
    struct ocv_streaming *s = data;
    int status = give_gathered(s, err);
    if (status < 0)
        (void)ocv_error_prefix(err, "%s", s->what);
    return status;
}

static int pass_bytes(void *data, const char *bytes, size_t len, struct ocv_error *err)
{
    struct ocv_streaming *s = data;
    size_t again = (int64_t)len < s->skip ? len : (size_t)s->skip;
    s->skip -= (int64_t)again;
    bytes += again;
    len -= again;
    if (!len)
        return OCV_OK;
    if (s->size >= 0 && (int64_t)len > s->size - s->offset)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "exceeds the announced %lld bytes",
                             (long long)s->size);
    if (s->size < 0 && (int64_t)len > most_bytes(s) - s->offset) /* it may be endless */
        return too_large(s, err);
    s->offset += (int64_t)len;
    s->exchange.range_from += (int64_t)len;
    if (!s->block)
        return give(s, bytes, len, err);
    size_t max = (size_t)s->request->buffer;
    while (len) {
        size_t n = len < max - s->gathered ? len : max - s->gathered;
        memcpy(s->block + s->gathered, bytes, n);
        s->gathered += n;
        bytes += n;
        len -= n;
        if (s->gathered == max)
            OCV_TRY(give_gathered(s, err));
    }
    return OCV_OK;
}

int ocv_stream_blob(struct ocv_streaming *s, struct ocv_error *err)
{
    struct ocv_exchange *x = &s->exchange;
    bool get = !s->request->head_only;
    x->begin = begin_blob;
    x->data = s;
    if (get) {
        x->sink = pass_bytes;
        x->pause = give_rest;
        x->buffer_size = s->request->buffer > 0 ? RECEIVED_TO_GATHER : RECEIVED_AT_ONCE;
    }
    for (;;) {
        OCV_TRY(ocv_exchange_run(x, err));
        OCV_TRY(give_rest(s, err));
        if (!get || s->size < 0 || s->offset >= s->size)
            break;
        if (x->attempts++ >= x->registry->retries) /* a body without length that simply ended */
            return ocv_error_set(err, OCV_ERR_NETWORK, "%s: ends after %lld of %lld bytes", s->what,
                                 (long long)s->offset, (long long)s->size);
        x->state = OCV_EXCHANGE_READY;
    }
    char digest[OCV_DIGEST_MAX];
    if (!s->hasher)
        return OCV_OK;
    OCV_TRY(ocv_hasher_final(s->hasher, digest, err));
    if (strcmp(digest, s->request->object))
        return ocv_error_set(err, OCV_ERR_MISMATCH, "%s: the bytes have digest %s", s->what,
                             digest);
    return OCV_OK;
}
