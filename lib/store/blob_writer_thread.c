/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The blob writer's thread: hash what a resumed partial holds, then write and hash chunk by chunk.
 * Writeback is started early, so that the fsync at the end finds little left to wait for. */
#include "blob_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define FLUSH_STEP (8 * 1024 * 1024)

static int io_failure(const struct ocv_blob_writer *writer, const char *what, struct ocv_error *err)
{
    return ocv_store_fail(err, writer->layout->path, writer->digest, what);
}

static enum ocv_blob_writer_end current_end(struct ocv_blob_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    enum ocv_blob_writer_end end = writer->end;
    pthread_mutex_unlock(&writer->mutex);
    return end;
}

/* Hash the resumed bytes; given up when the caller no longer needs the hash. */
static int hash_resumed(struct ocv_blob_writer *writer, struct ocv_error *err)
{
    unsigned char *bytes = malloc(OCV_WRITER_CHUNK);
    if (!bytes)
        return ocv_error_nomem(err);
    int status = OCV_OK;
    int64_t at = 0;
    while (status == OCV_OK && at < writer->resumed && current_end(writer) < OCV_WRITER_KEEP) {
        int64_t left = writer->resumed - at;
        size_t want = left < (int64_t)OCV_WRITER_CHUNK ? (size_t)left : OCV_WRITER_CHUNK;
        ssize_t n = pread(writer->fd, bytes, want, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = io_failure(writer, "read the partial of", err);
        else if (n == 0)
            status = ocv_error_set(err, OCV_ERR_IO, "%s/%s: partial was shortened by another",
                                   writer->layout->path, writer->digest);
        else
            status = ocv_hasher_update(writer->hasher, bytes, (size_t)n, err);
        at += n;
    }
    free(bytes);
    return status;
}

static int store_chunk(struct ocv_blob_writer *writer, const unsigned char *bytes, size_t len,
                       bool hash, struct ocv_error *err)
{
    if (ocv_store_write_all(writer->fd, bytes, len) < 0)
        return io_failure(writer, "write", err);
    writer->written += (int64_t)len;
    if (writer->written - writer->flushed >= FLUSH_STEP) {
        /* advice only: a file system without it loses nothing but time */
        (void)sync_file_range(writer->fd, writer->resumed + writer->flushed,
                              writer->written - writer->flushed, SYNC_FILE_RANGE_WRITE);
        writer->flushed = writer->written;
    }
    return hash ? ocv_hasher_update(writer->hasher, bytes, len, err) : OCV_OK;
}

static void report(struct ocv_blob_writer *writer, const struct ocv_error *failure)
{
    pthread_mutex_lock(&writer->mutex);
    if (writer->failure.status == OCV_OK)
        writer->failure = *failure;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
}

/* Wait for a chunk. False: there is none left and none will come. */
static bool next_chunk(struct ocv_blob_writer *writer, size_t *slot, enum ocv_blob_writer_end *end)
{
    pthread_mutex_lock(&writer->mutex);
    while (writer->head == writer->tail && writer->end == OCV_WRITER_GOES_ON)
        pthread_cond_wait(&writer->changed, &writer->mutex);
    *end = writer->end;
    *slot = writer->tail % OCV_WRITER_CHUNKS;
    bool more = writer->head != writer->tail && writer->end != OCV_WRITER_DISCARD;
    pthread_mutex_unlock(&writer->mutex);
    return more;
}

void *ocv_blob_writer_run(void *data)
{
    struct ocv_blob_writer *writer = data;
    struct ocv_error failure = {.status = OCV_OK};
    writer->written = writer->flushed = 0;
    int status = hash_resumed(writer, &failure);
    if (status < 0)
        report(writer, &failure);
    size_t slot;
    enum ocv_blob_writer_end end;
    while (next_chunk(writer, &slot, &end)) {
        if (status == OCV_OK) { /* after a failure the queue is only emptied */
            status = store_chunk(writer, writer->chunks[slot], writer->lengths[slot],
                                 end < OCV_WRITER_KEEP, &failure);
            if (status < 0)
                report(writer, &failure);
        }
        pthread_mutex_lock(&writer->mutex);
        writer->tail++;
        pthread_cond_broadcast(&writer->changed);
        pthread_mutex_unlock(&writer->mutex);
    }
    if (end == OCV_WRITER_FINISH && status == OCV_OK && fsync(writer->fd) < 0) {
        io_failure(writer, "sync", &failure);
        report(writer, &failure);
    }
    if (writer->done)
        writer->done(writer->done_data);
    return NULL;
}
