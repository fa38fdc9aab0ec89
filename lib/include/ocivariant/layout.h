/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file layout.h
 * OCI image layouts on disk (image-spec image-layout.md). Does I/O.
 *
 * Ownership: the caller owns a layout and frees it after its writers; a writer ends with commit or
 * close. Thread safety: several threads may use one layout, one thread at a time each writer.
 * Between processes, writers of one blob and of index.json wait for each other (flock).
 */
#ifndef OCIVARIANT_LAYOUT_H
#define OCIVARIANT_LAYOUT_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/error.h"
#include "ocivariant/platform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ocv_layout;
/** Flags of ocv_layout_open, joined by `|`. */
enum { OCV_LAYOUT_READ = 0, OCV_LAYOUT_CREATE = 1, OCV_LAYOUT_NOSYNC = 2, OCV_LAYOUT_VERIFY = 4 };

/** Open a layout directory; OCV_LAYOUT_CREATE makes what is missing and allows writing. With
 * OCV_LAYOUT_NOSYNC as well, streamed blobs are not synced, since they are read again at once and
 * need not survive a power cut. With OCV_LAYOUT_VERIFY a blob that is already there is always
 * read and checked before it is reused, even if the same file (inode, time of change, size) was
 * found correct before. Holds no lock. Not a layout: OCV_ERR_DATA; missing: OCV_ERR_NOT_FOUND. */
OCV_API int ocv_layout_open(const char *dir, int flags, struct ocv_layout **out,
                            struct ocv_error *err) OCV_WARN_UNUSED;
OCV_API void ocv_layout_free(struct ocv_layout *layout);
/** The directory as it was given to ocv_layout_open. */
OCV_API const char *ocv_layout_path(const struct ocv_layout *layout);
/** True if a blob of that digest and size is there (size -1: any). By name and size; content is
 *  verified when it is written, when it is read, and when it would be written again. */
OCV_API bool ocv_layout_has_blob(const struct ocv_layout *layout, const char *digest, int64_t size);
/** Read a whole blob of at most out->max bytes and verify its digest. */
OCV_API int ocv_layout_read_blob(const struct ocv_layout *layout, const char *digest,
                                 struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Open a blob for reading; the caller closes `*fd`. Content is not verified. */
OCV_API int ocv_layout_open_blob(const struct ocv_layout *layout, const char *digest, int *fd,
                                 int64_t *size, struct ocv_error *err) OCV_WARN_UNUSED;
/** Write bytes as a blob (checked, fsynced, renamed). `digest`: expected, or empty to be filled
 * with the sha256 digest. */
OCV_API int ocv_layout_write_blob(struct ocv_layout *layout, const void *data, size_t len,
                                  char digest[OCV_DIGEST_MAX],
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Tag -> descriptor: `tag` is matched with org.opencontainers.image.ref.name, then with
 *  io.containerd.image.name. NULL takes the only entry. OCV_ERR_NOT_FOUND names what is there. */
OCV_API int ocv_layout_resolve(const struct ocv_layout *layout, const char *tag,
                               struct ocv_descriptor *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Point a tag at a blob that is there; other entries are kept. `image_name` (may be NULL) becomes
 * io.containerd.image.name; `platform` (may be NULL) is written into the entry. index.json appears
 * by rename, under the layout's lock. */
OCV_API int ocv_layout_tag(struct ocv_layout *layout, const char *tag, const char *image_name,
                           const struct ocv_descriptor *descriptor,
                           const struct ocv_platform *platform,
                           struct ocv_error *err) OCV_WARN_UNUSED;
/** The same, only if the tag names `before` (empty: nothing) at that moment. Else nothing is
 *  written, `now` gets what it names (empty: nothing), and the status is OCV_ERR_DENIED. */
OCV_API int ocv_layout_retag(struct ocv_layout *layout, const char *tag, const char *before,
                             const struct ocv_descriptor *descriptor, char now[OCV_DIGEST_MAX],
                             struct ocv_error *err) OCV_WARN_UNUSED;

/** Streaming writer of one blob. Bytes go to a partial file beside the blobs that survives a crash
 *  and is resumed; an flock makes a second writer of the same blob wait until the first is done. */
struct ocv_blob_writer;
/** `*offset`: bytes that are already there and hashed (ask the registry for the rest). `*present`:
 *  the blob is complete, no writer is made and *out is NULL. Waits while another process writes the
 *  same blob; a signal ends the wait with OCV_ERR_INTERRUPTED. `*offset` may equal `size`: commit
 * then. The layout must outlive the writer. */
OCV_API int ocv_blob_writer_open(struct ocv_layout *layout, const char *digest, int64_t size,
                                 struct ocv_blob_writer **out, int64_t *offset, bool *present,
                                 struct ocv_error *err) OCV_WARN_UNUSED;
/** Append. More bytes than announced: OCV_ERR_MISMATCH. */
OCV_API int ocv_blob_writer_write(struct ocv_blob_writer *writer, const void *data, size_t len,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Discard what was written (the server did not honour a Range, or digest trouble). */
OCV_API int ocv_blob_writer_reset(struct ocv_blob_writer *writer,
                                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Bytes written so far, the resumed ones included. */
OCV_API int64_t ocv_blob_writer_offset(const struct ocv_blob_writer *writer);
/** Check size and digest, fsync, rename into place. On OCV_ERR_MISMATCH the partial is removed.
 *  The writer is freed in every case. */
OCV_API int ocv_blob_writer_commit(struct ocv_blob_writer *writer,
                                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Close, keeping the partial for a later resume. */
OCV_API void ocv_blob_writer_close(struct ocv_blob_writer *writer);
/** Like open, but never waits: `*busy` and *out NULL while another writer (also of this process)
 * has the blob. A thread that writes several blobs must use this and try again later; two such
 * processes could wait for each other forever otherwise. */
OCV_API int ocv_blob_writer_try_open(struct ocv_layout *layout, const char *digest, int64_t size,
                                     struct ocv_blob_writer **out, int64_t *offset, bool *present,
                                     bool *busy, struct ocv_error *err) OCV_WARN_UNUSED;
/** No more bytes will come: the rest is hashed and fsynced in the background, then `done` (may be
 *  NULL) is called from the writer's thread; commit does not block for long from then on. Optional,
 *  for event loops; only commit and close may follow. */
OCV_API void ocv_blob_writer_finish(struct ocv_blob_writer *writer, void (*done)(void *data),
                                    void *data);

/** Called for each entry of index.json; `tag` and `image_name` are NULL where absent. Strings are
 *  borrowed for the call. A non-zero result ends the walk and is returned. */
typedef int (*ocv_layout_visit)(void *data, const char *tag, const char *image_name,
                                const struct ocv_descriptor *descriptor);
/** Walk index.json in its order. Malformed entries are skipped. */
OCV_API int ocv_layout_list(const struct ocv_layout *layout, ocv_layout_visit visit, void *data,
                            struct ocv_error *err) OCV_WARN_UNUSED;

/** Write an image of the layout to `fd` as a docker-archive that is an OCI archive too (`docker
 * load`, `podman load`, `ctr images import`): a ustar stream of manifest.json, index.json,
 * manifest, config and layers as they are, each verified on the way. `names` become its names
 * ("host/name:tag"). Needs no seeking. zstd layers, artifacts, foreign layers that are not there:
 * OCV_ERR_UNSUPPORTED or OCV_ERR_NOT_FOUND before the first byte. */
OCV_API int ocv_layout_write_archive(const struct ocv_layout *layout, const char *manifest_digest,
                                     const char *const *names, size_t n, int fd,
                                     struct ocv_error *err) OCV_WARN_UNUSED;

OCV_DEFINE_CLEANUP(ocv_layout)

#ifdef __cplusplus
}
#endif
#endif
