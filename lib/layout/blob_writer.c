/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Streaming writer of one blob: the caller copies bytes into a small ring, the writer's own thread
 * writes and hashes them. So one thread that receives several blobs is never held up by a disk or a
 * hash, and the hash finds its bytes in the cache.
 *
 * The partial file is DIR/.ocivariant/ALGORITHM-HEX.partial. Whoever holds its flock, and finds
 * that the name still leads to the file that was locked, is the blob's only writer. The partial
 * holds a prefix of what was received, in order, so a killed writer's successor hashes it and goes
 * on. */
#include "lib/layout/blob_writer.h"
#include "lib/core/core_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static int fail_writer(const struct ocv_blob_writer *writer, const char *what,
                       struct ocv_error *err)
{
    char name[sizeof(OCV_LAYOUT_PRIVATE) + sizeof(writer->partial)];
    snprintf(name, sizeof(name), OCV_LAYOUT_PRIVATE "/%s", writer->partial);
    return ocv_file_fail(err, writer->layout->path, name, what);
}

/* Find out how much is there and start the thread. A file with two names could be one from outside:
 * not touched. */
static int start_writer(struct ocv_blob_writer *writer, struct ocv_error *err)
{
    struct stat st;
    if (fstat(writer->fd, &st) < 0)
        return fail_writer(writer, "examine", err);
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return ocv_error_set(err, OCV_ERR_DATA, "%s/" OCV_LAYOUT_PRIVATE "/%s: not a plain file",
                             writer->layout->path, writer->partial);
    if (st.st_size > writer->size) { /* of another announcement: useless */
        if (ftruncate(writer->fd, 0) < 0)
            return fail_writer(writer, "truncate", err);
        st.st_size = 0;
    }
    writer->resumed = writer->offset = st.st_size;
    if (lseek(writer->fd, st.st_size, SEEK_SET) < 0)
        return fail_writer(writer, "seek", err);
    sigset_t all;
    sigset_t before;
    sigfillset(&all); /* signals belong to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&writer->thread, NULL, ocv_blob_writer_run, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return ocv_error_set(err, OCV_ERR_NOMEM, "cannot start a thread: error %d", rc);
    writer->running = true;
    return OCV_OK;
}

/* Hand over what is in the current chunk and end the thread. `discard` skips what is queued,
 * `unhashed` writes it without hashing; failures stay in writer->failure. */
static void stop_thread(struct ocv_blob_writer *writer, enum ocv_blob_writer_end end)
{
    if (!writer->running)
        return;
    pthread_mutex_lock(&writer->mutex);
    if (writer->end == OCV_WRITER_GOES_ON) {
        if (writer->filled)
            writer->head++;
        writer->filled = 0;
    }
    writer->end = end;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    pthread_join(writer->thread, NULL);
    writer->running = false;
}

static void free_writer(struct ocv_blob_writer *writer)
{
    stop_thread(writer, OCV_WRITER_DISCARD);
    if (writer->fd >= 0)
        flock(writer->fd, LOCK_UN); /* close is not enough while a forked child has a copy */
    ocv_fd_close(&writer->fd);
    ocv_fd_close(&writer->private);
    ocv_hasher_free(writer->hasher);
    for (size_t i = 0; i < OCV_WRITER_CHUNKS; i++)
        free(writer->chunks[i]);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    free(writer);
}

/* Open and lock the partial and start, unless the blob turns out to be there or taken. `*busy`:
 * another writer has it (only when `wait` is false). */
static int lock_and_start(struct ocv_blob_writer *writer, bool wait, bool *present, bool *busy,
                          struct ocv_error *err)
{
    struct stat by_name, by_fd;
    for (;;) {
        writer->fd = openat(writer->private, writer->partial,
                            O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
        if (writer->fd < 0)
            return fail_writer(writer, "open", err);
        if (flock(writer->fd, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0) {
            *busy = errno == EWOULDBLOCK;
            if (*busy)
                return OCV_OK;
            if (errno == EINTR)
                return ocv_error_set(err, OCV_ERR_INTERRUPTED,
                                     "interrupted while another process writes %s", writer->digest);
            return fail_writer(writer, "lock", err);
        }
        if (fstatat(writer->private, writer->partial, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
            fstat(writer->fd, &by_fd) == 0 && by_name.st_dev == by_fd.st_dev &&
            by_name.st_ino == by_fd.st_ino)
            break;
        close(writer->fd); /* completed or removed while we waited for it */
        writer->fd = -1;
    }
    OCV_TRY(ocv_layout_find_blob(writer->layout, writer->digest, writer->size, present, err));
    if (*present) { /* finished by the one we waited for: the partial is a new one, ours */
        unlinkat(writer->private, writer->partial, 0);
        return OCV_OK;
    }
    return start_writer(writer, err);
}

static int open_writer(struct ocv_layout *layout, const char *digest, int64_t size, bool wait,
                       struct ocv_blob_writer **out, int64_t *offset, bool *present, bool *busy,
                       struct ocv_error *err)
{
    char algorithm[8];
    const char *hex;
    OCV_TRY(ocv_digest_split(digest, algorithm, &hex, err));
    OCV_TRY(ocv_layout_check_writable(layout, err));
    if (size < 0)
        return ocv_error_set(err, OCV_ERR_INVALID, "blob %s: negative size", digest);
    *out = NULL;
    *busy = false;
    *offset = 0;
    OCV_TRY(ocv_layout_find_blob(layout, digest, size, present, err));
    if (*present)
        return OCV_OK;
    struct ocv_blob_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return ocv_error_nomem(err);
    writer->layout = layout;
    writer->fd = writer->private = -1;
    writer->size = size;
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    memcpy(writer->digest, digest, strlen(digest) + 1);
    memcpy(writer->algorithm, algorithm, sizeof(algorithm));
    writer->hex = strchr(writer->digest, ':') + 1;
    snprintf(writer->partial, sizeof(writer->partial), "%s-%s.partial", writer->algorithm,
             writer->hex);
    int status = ocv_directory_open(layout->fd, layout->path, OCV_LAYOUT_PRIVATE, true,
                                    &writer->private, err);
    if (status == OCV_OK)
        status = ocv_hasher_new(digest, &writer->hasher, err);
    if (status == OCV_OK)
        status = lock_and_start(writer, wait, present, busy, err);
    if (status < 0 || *busy || *present) {
        free_writer(writer);
        return status;
    }
    *offset = writer->offset;
    *out = writer;
    return OCV_OK;
}

int ocv_blob_writer_open(struct ocv_layout *layout, const char *digest, int64_t size,
                         struct ocv_blob_writer **out, int64_t *offset, bool *present,
                         struct ocv_error *err)
{
    bool busy;
    return open_writer(layout, digest, size, true, out, offset, present, &busy, err);
}

int ocv_blob_writer_try_open(struct ocv_layout *layout, const char *digest, int64_t size,
                             struct ocv_blob_writer **out, int64_t *offset, bool *present,
                             bool *busy, struct ocv_error *err)
{
    return open_writer(layout, digest, size, false, out, offset, present, busy, err);
}

int ocv_blob_writer_write(struct ocv_blob_writer *writer, const void *data, size_t len,
                          struct ocv_error *err)
{
    if (writer->end != OCV_WRITER_GOES_ON)
        return ocv_error_set(err, OCV_ERR_INVALID, "blob %s: already finished", writer->digest);
    if ((uint64_t)len > (uint64_t)(writer->size - writer->offset)) {
        writer->spoilt = true;
        return ocv_error_set(err, OCV_ERR_MISMATCH, "blob %s: exceeds the announced %lld bytes",
                             writer->digest, (long long)writer->size);
    }
    const unsigned char *at = data;
    while (len) {
        if (!writer->filled) {
            /* wait for a free chunk; the failure of the thread, if any, is reported here */
            pthread_mutex_lock(&writer->mutex);
            while (writer->failure.status == OCV_OK &&
                   writer->head - writer->tail == OCV_WRITER_CHUNKS)
                pthread_cond_wait(&writer->changed, &writer->mutex);
            int status = writer->failure.status;
            if (status < 0 && err)
                *err = writer->failure;
            pthread_mutex_unlock(&writer->mutex);
            unsigned char **chunk = &writer->chunks[writer->head % OCV_WRITER_CHUNKS];
            if (status == OCV_OK && !*chunk &&
                !(*chunk = aligned_alloc(OCV_WRITER_ALIGN, OCV_WRITER_CHUNK)))
                status = ocv_error_nomem(err);
            OCV_TRY(status);
        }
        size_t slot = writer->head % OCV_WRITER_CHUNKS;
        /* the first chunk after a resume ends where the others can be aligned in the file */
        uint64_t start = (uint64_t)writer->offset - writer->filled;
        size_t whole = OCV_WRITER_CHUNK - start % OCV_WRITER_ALIGN, n = whole - writer->filled;
        n = n < len ? n : len;
        memcpy(writer->chunks[slot] + writer->filled, at, n);
        writer->filled += n;
        writer->lengths[slot] = writer->filled;
        writer->offset += (int64_t)n;
        at += n;
        len -= n;
        if (writer->filled < whole)
            continue;
        pthread_mutex_lock(&writer->mutex);
        writer->head++;
        writer->filled = 0;
        pthread_cond_broadcast(&writer->changed);
        pthread_mutex_unlock(&writer->mutex);
    }
    return OCV_OK;
}

int ocv_blob_writer_reset(struct ocv_blob_writer *writer, struct ocv_error *err)
{
    stop_thread(writer, OCV_WRITER_DISCARD);
    writer->head = writer->tail = 0;
    writer->filled = 0;
    writer->end = OCV_WRITER_GOES_ON;
    writer->spoilt = false;
    writer->failure = (struct ocv_error){.status = OCV_OK};
    writer->done = NULL;
    ocv_hasher_free(writer->hasher);
    writer->hasher = NULL;
    OCV_TRY(ocv_hasher_new(writer->digest, &writer->hasher, err));
    if (ftruncate(writer->fd, 0) < 0)
        return fail_writer(writer, "truncate", err);
    return start_writer(writer, err);
}

int64_t ocv_blob_writer_offset(const struct ocv_blob_writer *writer)
{
    return writer->offset;
}

void ocv_blob_writer_finish(struct ocv_blob_writer *writer, void (*done)(void *data), void *data)
{
    pthread_mutex_lock(&writer->mutex);
    if (writer->end == OCV_WRITER_GOES_ON) {
        if (writer->filled)
            writer->head++;
        writer->filled = 0;
        writer->done = done;
        writer->done_data = data;
        writer->end = OCV_WRITER_FINISH;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
}

static int check_digest(struct ocv_blob_writer *writer, struct ocv_error *err)
{
    if (writer->failure.status < 0) {
        if (err)
            *err = writer->failure;
        return writer->failure.status;
    }
    if (writer->spoilt || writer->offset != writer->size)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "blob %s: %s%lld bytes, expected %lld",
                             writer->digest, writer->spoilt ? "more than " : "",
                             (long long)writer->offset, (long long)writer->size);
    char digest[OCV_DIGEST_MAX];
    OCV_TRY(ocv_hasher_final(writer->hasher, digest, err));
    if (strcmp(digest, writer->digest) != 0)
        return ocv_error_set(err, OCV_ERR_MISMATCH, "blob %s: the bytes have digest %s",
                             writer->digest, digest);
    return OCV_OK;
}

static int publish_blob(const struct ocv_blob_writer *writer, struct ocv_error *err)
{
    ocv_auto_fd int blobs = -1;
    OCV_TRY(ocv_layout_open_blobs(writer->layout, writer->algorithm, &blobs, err));
    if (renameat(writer->private, writer->partial, blobs, writer->hex) < 0)
        return fail_writer(writer, "rename", err);
    ocv_layout_remember_blob(writer->layout, writer->digest, writer->fd);
    if (!writer->layout->nosync && fsync(blobs) < 0)
        return ocv_file_fail(err, writer->layout->path, "blobs", "sync");
    return OCV_OK;
}

int ocv_blob_writer_commit(struct ocv_blob_writer *writer, struct ocv_error *err)
{
    ocv_blob_writer_finish(writer, NULL, NULL);
    stop_thread(writer, OCV_WRITER_FINISH);
    int status = check_digest(writer, err);
    if (status == OCV_ERR_MISMATCH)
        unlinkat(writer->private, writer->partial, 0);
    if (status == OCV_OK)
        status = publish_blob(writer, err);
    free_writer(writer);
    return status;
}

void ocv_blob_writer_close(struct ocv_blob_writer *writer)
{
    if (!writer)
        return;
    stop_thread(writer, OCV_WRITER_KEEP);
    if (writer->spoilt || writer->offset == 0)
        unlinkat(writer->private, writer->partial, 0);
    free_writer(writer);
}
