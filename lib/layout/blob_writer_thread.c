/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The blob writer's thread: hash what a resumed partial holds, then write and hash what is queued.
 *
 * Large blobs go past the page cache: everything must be on disk at the end anyway, and copying
 * gigabytes into pages that are not read again costs more than hashing them. Where that is not
 * possible, writeback is started early, so that the fsync at the end finds little left to wait for.
 */
#include "lib/layout/blob_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>

#define FLUSH_STEP (8 * 1024 * 1024)
#define DIRECT_MIN (4 * 1024 * 1024) /* smaller blobs gain nothing */

/* Hash the resumed bytes; given up when the caller no longer needs the hash. */
static int hash_resumed(struct ocv_blob_writer *writer, struct ocv_error *err)
{
    ocv_auto_free unsigned char *bytes = malloc(OCV_WRITER_CHUNK);
    if (!bytes)
        return ocv_error_nomem(err);
    for (int64_t at = 0; at < writer->resumed;) {
        pthread_mutex_lock(&writer->mutex);
        bool needed = writer->end < OCV_WRITER_KEEP;
        pthread_mutex_unlock(&writer->mutex);
        if (!needed)
            break;
        int64_t left = writer->resumed - at;
        size_t want = left < (int64_t)OCV_WRITER_CHUNK ? (size_t)left : OCV_WRITER_CHUNK;
        ssize_t n = pread(writer->fd, bytes, want, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ocv_file_fail(err, writer->layout->path, writer->digest, "read the partial of");
        if (n == 0)
            return ocv_error_set(err, OCV_ERR_IO,
                                 "%s/%s: partial file was truncated by another process",
                                 writer->layout->path, writer->digest);
        OCV_TRY(ocv_hasher_update(writer->hasher, bytes, (size_t)n, err));
        at += n;
    }
    return OCV_OK;
}

static void set_direct(struct ocv_blob_writer *writer, bool direct)
{
    if (writer->direct == direct || (direct && writer->cached))
        return;
    if (fcntl(writer->fd, F_SETFL, direct ? O_DIRECT : 0) == 0)
        writer->direct = direct;
    else
        writer->cached = true;
}

/* Write and hash chunks [tail, tail + n). */
static int store_chunks(struct ocv_blob_writer *writer, unsigned n, bool hash,
                        struct ocv_error *err)
{
    struct iovec parts[OCV_WRITER_CHUNKS];
    bool aligned = (writer->resumed + writer->written) % OCV_WRITER_ALIGN == 0;
    for (unsigned i = 0; i < n; i++) {
        size_t slot = (writer->tail + i) % OCV_WRITER_CHUNKS;
        parts[i] = (struct iovec){writer->chunks[slot], writer->lengths[slot]};
        aligned = aligned && writer->lengths[slot] % OCV_WRITER_ALIGN == 0;
    }
    set_direct(writer, aligned);
    struct iovec *part = parts;
    for (int left = (int)n; left;) {
        ssize_t got = writev(writer->fd, part, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EINVAL && writer->direct) { /* it wants another alignment */
            writer->cached = true;
            set_direct(writer, false);
            if (!writer->direct)
                continue;
        }
        if (got < 0)
            return ocv_file_fail(err, writer->layout->path, writer->digest, "write");
        writer->written += got;
        for (; left && (size_t)got >= part->iov_len; left--, part++)
            got -= (ssize_t)part->iov_len;
        if (left) {
            part->iov_base = (char *)part->iov_base + got;
            part->iov_len -= (size_t)got;
        }
    }
    if (!writer->direct && !writer->layout->nosync &&
        writer->written - writer->flushed >= FLUSH_STEP) {
        /* advice only: a file system without it loses nothing but time */
        (void)sync_file_range(writer->fd, writer->resumed + writer->flushed,
                              writer->written - writer->flushed, SYNC_FILE_RANGE_WRITE);
        writer->flushed = writer->written;
    }
    for (unsigned i = 0; i < n && hash; i++) {
        size_t slot = (writer->tail + i) % OCV_WRITER_CHUNKS;
        OCV_TRY(
            ocv_hasher_update(writer->hasher, writer->chunks[slot], writer->lengths[slot], err));
    }
    return OCV_OK;
}

static void report_failure(struct ocv_blob_writer *writer, const struct ocv_error *failure)
{
    pthread_mutex_lock(&writer->mutex);
    if (writer->failure.status == OCV_OK)
        writer->failure = *failure;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
}

void *ocv_blob_writer_run(void *data)
{
    struct ocv_blob_writer *writer = data;
    struct ocv_error failure = {.status = OCV_OK};
    writer->written = writer->flushed = 0;
    writer->direct = false;
    writer->cached = writer->size < DIRECT_MIN || writer->layout->nosync;
    int status = hash_resumed(writer, &failure);
    if (status < 0)
        report_failure(writer, &failure);
    enum ocv_blob_writer_end end;
    for (;;) {
        /* wait for chunks: as many as one write can take, so a short last one alone */
        pthread_mutex_lock(&writer->mutex);
        while (writer->head == writer->tail && writer->end == OCV_WRITER_GOES_ON)
            pthread_cond_wait(&writer->changed, &writer->mutex);
        end = writer->end;
        unsigned n = end == OCV_WRITER_DISCARD ? 0 : writer->head - writer->tail;
        for (unsigned i = 1; i < n; i++)
            if (writer->lengths[(writer->tail + i) % OCV_WRITER_CHUNKS] % OCV_WRITER_ALIGN)
                n = i;
        pthread_mutex_unlock(&writer->mutex);
        if (n == 0)
            break;              /* all were written, and no more will come */
        if (status == OCV_OK) { /* after a failure the queue is only emptied */
            status = store_chunks(writer, n, end < OCV_WRITER_KEEP, &failure);
            if (status < 0)
                report_failure(writer, &failure);
        }
        pthread_mutex_lock(&writer->mutex);
        writer->tail += n;
        pthread_cond_broadcast(&writer->changed);
        pthread_mutex_unlock(&writer->mutex);
    }
    bool sync = end == OCV_WRITER_FINISH && status == OCV_OK && !writer->layout->nosync;
    if (sync && fsync(writer->fd) < 0) {
        ocv_file_fail(&failure, writer->layout->path, writer->digest, "sync");
        report_failure(writer, &failure);
    }
    if (writer->done)
        writer->done(writer->done_data);
    return NULL;
}
