/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/derive/derive_verb.h"

#include "cmd/common/image/document_cache.h"
#include "lib/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)256 << 10)
/* Reports before the second version do not say which code is compressed with zstd, those before the
 * third nothing of kpack and of drivers, those before the fourth nothing of static libraries, those
 * before the fifth nothing of code beside the sections for it. */
#define KIND "content-5"

/* State of feeding a layer to the scanner. */
struct layer_feed {
    struct scanner *scanner;
    const struct layer_reader *reader;
    bool *refused;
    int64_t done;
};

static int feed_bytes(void *data, const char *bytes, size_t len)
{
    struct layer_feed *feed = data;
    *feed->refused = !scanner_write(feed->scanner, bytes, len);
    feed->done += (int64_t)len;
    if (feed->reader->progress)
        feed->reader->progress(feed->reader->data, feed->done);
    return *feed->refused;
}

int layer_feed(struct layer_reader *reader, const struct ocv_descriptor *layer,
               struct scanner *scanner, bool *refused, struct ocv_error *err)
{
    struct layer_feed feed = {.scanner = scanner, .reader = reader, .refused = refused};
    *refused = false;
    if (!reader->image->layout) {
        struct ocv_stream stream = {.kind = OCV_STREAM_BLOB,
                                    .reference = reader->image->reference,
                                    .object = layer->digest,
                                    .most = layer->size,
                                    .buffer = (long)CHUNK,
                                    .body = feed_bytes,
                                    .data = &feed};
        if (!reader->registry)
            OCV_TRY(cli_registry_new(reader->cli, reader->stop, &reader->registry, err));
        return ocv_registry_stream(reader->registry, &stream, err);
    }
    /* A layout's bytes are verified here, because the cached report is stored under the digest. */
    char digest[OCV_DIGEST_MAX];
    int64_t size = 0;
    ocv_auto(ocv_hasher) hasher = NULL;
    ocv_auto_fd int fd = -1;
    ocv_auto_free char *chunk = malloc(CHUNK);
    if (!chunk)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_layout_open_blob(reader->image->layout, layer->digest, &fd, &size, err));
    OCV_TRY(ocv_hasher_new(layer->digest, &hasher, err));
    for (ssize_t n; (n = read(fd, chunk, CHUNK)) != 0;) {
        if (n < 0 && errno != EINTR)
            return ocv_error_set(err, OCV_ERR_IO, "reading a layer: %s", strerror(errno));
        if (reader->stop && __atomic_load_n(reader->stop, __ATOMIC_RELAXED))
            return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
        if (n < 0)
            continue;
        OCV_TRY(ocv_hasher_update(hasher, chunk, (size_t)n, err));
        if (feed_bytes(&feed, chunk, (size_t)n))
            return OCV_OK;
    }
    OCV_TRY(ocv_hasher_final(hasher, digest, err));
    return strcmp(digest, layer->digest) == 0
               ? OCV_OK
               : ocv_error_set(err, OCV_ERR_MISMATCH, "the content is %s", digest);
}

static int parse_report(const struct layer_reader *reader, const struct ocv_buffer *bytes,
                        struct ocv_content_report *out, struct ocv_error *err)
{
    if (reader->parsing)
        pthread_mutex_lock(reader->parsing);
    int status = ocv_content_report_read(bytes->data, bytes->len, out, err);
    if (reader->parsing)
        pthread_mutex_unlock(reader->parsing);
    return status;
}

bool layer_is_known(const char *digest)
{
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_CONTENT_REPORT_MAX);
    return digest_cache_read(KIND, digest, &bytes);
}

int layer_read(struct layer_reader *reader, const struct ocv_descriptor *layer,
               struct ocv_content_report *out, struct ocv_error *err)
{
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_CONTENT_REPORT_MAX);
    if (digest_cache_read(KIND, layer->digest, &bytes) &&
        parse_report(reader, &bytes, out, NULL) >= 0) {
        cli_log(reader->cli, "layer %s: read before", layer->digest);
        return OCV_OK;
    }
    bytes.len = 0;
    struct scanner scanner;
    bool refused = false;
    const struct scanner_job job = {.arguments = {"--layer"},
                                    .fed = true,
                                    .out = -1,
                                    .size = layer->size > 0 ? layer->size : 0};
    int status = scanner_start(reader->cli, &job, &scanner, err);
    if (status >= 0)
        status = layer_feed(reader, layer, &scanner, &refused, err);
    int finished = status >= 0 || refused ? scanner_finish(&scanner, &bytes, NULL, err) : OCV_OK;
    if (finished < 0)
        status = finished;
    else if (refused && status >= 0)
        status = ocv_error_set(err, OCV_ERR_IO, "the read ended early");
    scanner_drop(&scanner);
    if (status >= 0)
        status = parse_report(reader, &bytes, out, err);
    if (status >= 0)
        digest_cache_write(KIND, layer->digest, &bytes);
    return status < 0 ? ocv_error_prefix(err, "layer %s", layer->digest) : OCV_OK;
}
