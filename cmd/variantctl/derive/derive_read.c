/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantctl/derive/derive_read.h"
#include "cmd/common/image/digest_cache.h"

#include "cmd/variantctl/derive/scanner.h"
#include "lib/base/file.h"
#include "lib/content/image_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)256 << 10)

int derive_read_path(struct cli *cli, const char *path, struct ocv_content_report *out,
                     struct ocv_error *err)
{
    struct scanner scanner;
    ocv_auto_buffer answer;
    ocv_buffer_init(&answer, OCV_CONTENT_REPORT_MAX);
    int status = scanner_start(cli, path, &scanner, err);
    if (status >= 0)
        status = scanner_finish(&scanner, &answer, err);
    scanner_drop(&scanner);
    return status < 0 ? status : ocv_content_report_read(answer.data, answer.len, out, err);
}

/* State of feeding a layer to the scanner. */
struct layer_feed {
    struct scanner *scanner;
    bool refused;
};

static int feed_bytes(void *data, const char *bytes, size_t len)
{
    struct layer_feed *feed = data;
    feed->refused = !scanner_write(feed->scanner, bytes, len);
    return feed->refused;
}

static int stream_layer(struct cli *cli, const struct image *image,
                        const struct ocv_descriptor *layer, struct layer_feed *feed,
                        struct ocv_error *err)
{
    struct ocv_stream stream = {.kind = OCV_STREAM_BLOB,
                                .reference = image->reference,
                                .object = layer->digest,
                                .most = layer->size,
                                .buffer = (long)CHUNK,
                                .body = feed_bytes,
                                .data = feed};
    return ocv_registry_stream(cli->registry, &stream, err);
}

/* A layout's bytes are verified here, because the cached report is stored under the digest. */
static int copy_layer(const struct cli *cli, const struct image *image,
                      const struct ocv_descriptor *layer, struct layer_feed *feed,
                      struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    int64_t size = 0;
    ocv_auto(ocv_hasher) hasher = NULL;
    ocv_auto_fd int fd = -1;
    ocv_auto_free char *chunk = malloc(CHUNK);
    int status = chunk ? ocv_layout_open_blob(image->layout, layer->digest, &fd, &size, err)
                       : ocv_error_nomem(err);
    if (status >= 0)
        status = ocv_hasher_new(layer->digest, &hasher, err);
    while (status >= 0 && !feed->refused) {
        ssize_t n = read(fd, chunk, CHUNK);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return ocv_error_set(err, OCV_ERR_IO, "reading a layer: %s", strerror(errno));
        if (cli->interrupted && *cli->interrupted)
            return ocv_error_set(err, OCV_ERR_INTERRUPTED, "interrupted");
        if (n > 0)
            status = ocv_hasher_update(hasher, chunk, (size_t)n, err);
        if (n > 0 && status >= 0)
            feed_bytes(feed, chunk, (size_t)n);
    }
    if (status >= 0 && !feed->refused)
        status = ocv_hasher_final(hasher, digest, err);
    if (status >= 0 && !feed->refused && strcmp(digest, layer->digest) != 0)
        status = ocv_error_set(err, OCV_ERR_MISMATCH, "the content is %s", digest);
    return status;
}

static int read_layer(struct cli *cli, const struct image *image,
                      const struct ocv_descriptor *layer, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    struct scanner scanner;
    struct layer_feed feed = {.scanner = &scanner};
    int status = scanner_start(cli, NULL, &scanner, err);
    if (status >= 0)
        status = image->layout ? copy_layer(cli, image, layer, &feed, err)
                               : stream_layer(cli, image, layer, &feed, err);
    int finished = status >= 0 || feed.refused ? scanner_finish(&scanner, out, err) : OCV_OK;
    if (finished < 0)
        status = finished;
    else if (feed.refused && status >= 0)
        status = ocv_error_set(err, OCV_ERR_IO, "the read ended early");
    scanner_drop(&scanner);
    return status;
}

/* A layer's report, from the cache or by reading the layer. */
static int layer_report(struct cli *cli, const struct image *image,
                        const struct ocv_descriptor *layer, struct ocv_content_report *out,
                        struct ocv_error *err)
{
    ocv_auto_buffer bytes;
    ocv_buffer_init(&bytes, OCV_CONTENT_REPORT_MAX);
    if (digest_cache_read("content", layer->digest, &bytes) &&
        ocv_content_report_read(bytes.data, bytes.len, out, NULL) >= 0) {
        cli_log(cli, "layer %s: read before", layer->digest);
        return OCV_OK;
    }
    bytes.len = 0;
    int status = read_layer(cli, image, layer, &bytes, err);
    if (status >= 0)
        status = ocv_content_report_read(bytes.data, bytes.len, out, err);
    if (status >= 0)
        digest_cache_write("content", layer->digest, &bytes);
    return status < 0 ? ocv_error_prefix(err, "layer %s", layer->digest) : OCV_OK;
}

int derive_read_image(struct cli *cli, const struct image *image, const struct manifest_doc *child,
                      struct ocv_content_report *out, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < ocv_manifest_layer_count(child->manifest) && status >= 0; i++) {
        struct ocv_content_report layer = {0};
        status = layer_report(cli, image, ocv_manifest_layer(child->manifest, i), &layer, err);
        if (status >= 0)
            status = ocv_content_report_stack(out, &layer, err);
        ocv_content_report_free(&layer);
    }
    return status;
}

/* A configuration that cannot be read states nothing here; the command that lists the image reports
 * it. */
static int read_stated(const struct ocv_buffer *config, struct ocv_image_version *version,
                       const char **out, struct ocv_error *err)
{
    ocv_auto(ocv_image_config) parsed = NULL;
    *out = NULL;
    if (!config)
        return OCV_OK;
    int status =
        ocv_image_config_parse(config->data ? config->data : "", config->len, &parsed, err);
    if (status == OCV_OK && ocv_image_config_version_of(parsed, "cuda", version))
        *out = version->version;
    return status == OCV_ERR_NOMEM ? status : OCV_OK;
}

static int list_given(const struct ocv_properties *given, struct ocv_property **out,
                      struct ocv_error *err)
{
    size_t n = given ? ocv_properties_count(given) : 0;
    *out = calloc(n + 1, sizeof(**out));
    for (size_t i = 0; *out && i < n; i++)
        (*out)[i] = ocv_properties_get(given, i);
    return *out ? OCV_OK : ocv_error_nomem(err);
}

int derive_read_content(struct cli *cli, const struct image *image,
                        const struct manifest_doc *child, const struct ocv_buffer *config,
                        const struct ocv_properties *given, struct ocv_content *out,
                        struct ocv_error *err)
{
    struct ocv_image_version version;
    struct ocv_property *list = NULL;
    struct ocv_content_told told = {.n_given = given ? ocv_properties_count(given) : 0};
    int status = derive_read_image(cli, image, child, &out->report, err);
    if (status >= 0)
        status = read_stated(config, &version, &told.cuda, err);
    if (status >= 0)
        status = list_given(given, &list, err);
    told.given = list;
    if (status >= 0)
        status = ocv_content_derive(&out->report, &told, &out->derived, err);
    free(list);
    return status;
}
