/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What the blob writer and its thread share. */
#ifndef OCV_BLOB_WRITER_H
#define OCV_BLOB_WRITER_H

#include "lib/layout/layout_internal.h"

#include <pthread.h>

/* 1 MiB for each writer: chunks that fit a core's cache, and enough of them to ride out a stall. */
#define OCV_WRITER_CHUNK (256u * 1024)
#define OCV_WRITER_CHUNKS 4u
#define OCV_WRITER_ALIGN 4096u /* of what is written past the page cache: memory, place, length */

enum ocv_blob_writer_end {
    OCV_WRITER_GOES_ON,
    OCV_WRITER_FINISH,  /**< write and hash what is queued, then fsync */
    OCV_WRITER_KEEP,    /**< write what is queued, for a resume; the hash is no longer needed */
    OCV_WRITER_DISCARD, /**< stop at once */
};

struct ocv_blob_writer {
    const struct ocv_layout *layout;
    char digest[OCV_DIGEST_MAX];
    char algorithm[8];
    const char *hex; /* in digest */
    char partial[OCV_LAYOUT_NAME_MAX];
    int private; /* DIR/.ocivariant */
    int fd;      /* the partial, with the lock */
    int64_t size;

    /* the caller's side */
    int64_t offset; /* bytes accepted */
    size_t filled;  /* bytes in the chunk at `head`, which is the caller's until handed over */
    bool spoilt;    /* what was received cannot be a prefix of the blob */
    bool running;

    /* the thread's side */
    pthread_t thread;
    struct ocv_hasher *hasher;
    int64_t resumed; /* bytes of the partial to hash before anything else */
    int64_t written;
    int64_t flushed; /* bytes whose writeback was started */
    bool direct;     /* the file is open for writing past the page cache */
    bool cached;     /* small, or its file system refuses that */

    /* shared; all but the chunks' bytes under the mutex. Chunks [tail, head) are queued. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned head;
    unsigned tail;
    unsigned char *chunks[OCV_WRITER_CHUNKS];
    size_t lengths[OCV_WRITER_CHUNKS];
    enum ocv_blob_writer_end end;
    struct ocv_error failure;
    void (*done)(void *data);
    void *done_data;
};

/** The thread; argument: the writer. */
void *ocv_blob_writer_run(void *writer);

#endif
