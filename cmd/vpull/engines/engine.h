/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file engine.h
 * Shared by the engine destinations: requests to an HTTP API, credentials, small encodings.
 */
#ifndef VPULL_ENGINE_H
#define VPULL_ENGINE_H

#include "cmd/vpull/engines/destination.h"

/** Where an engine's API is. */
struct endpoint {
    char socket[512];            /**< unix socket, or empty */
    char base[512];              /**< "http://localhost", "https://host:port" */
    const char *ca, *cert, *key; /**< TLS files of a remote engine; NULL: none */
    char tls_dir[3][600];        /**< storage for them */
};

/** Read unix://PATH, tcp://HOST:PORT, http(s)://. Others: OCV_ERR_UNSUPPORTED. */
int endpoint_parse(const char *text, bool tls, struct endpoint *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;

struct engine_call {
    const char *method, *path; /**< path with query, from "/" */
    const char *header;        /**< one more header, or NULL */
    int upload_fd;             /**< body, if `upload` is set */
    bool upload;
    unsigned timeout_ms;
    /** Called for each line of a streamed answer with status 200; NULL: the body goes to
     *  `answer`. */
    int (*line)(void *data, const char *text);
    void *data;
    struct ocv_buffer *answer; /**< body of an error, or the whole answer; may be NULL */
};
/** Perform it. A status of 400 or more becomes OCV_ERR_ENGINE with the engine's message. */
int engine_call(struct cli *cli, const struct endpoint *endpoint, const struct engine_call *call,
                struct ocv_error *err) OCV_WARN_UNUSED;

/** Base64 with - and _ of `len` bytes; NULL without memory. The caller frees it. */
char *engine_base64_url(const void *data, size_t len);
/** An archive of the chosen image in an unlinked temporary file, for engines that cannot reach its
 *  source. The caller closes `*fd`. */
int engine_archive(struct pull *pull, int *fd, struct ocv_error *err) OCV_WARN_UNUSED;
/** Fetch, then run a client and write such an archive to its standard input, without a file
 *  between. `line` gets `pull` and each line of the client's output. `name`: the engine's, for
 *  messages. */
int engine_feed(struct pull *pull, const char *name, const char *const *argv,
                void (*line)(void *data, const char *text), struct ocv_error *err) OCV_WARN_UNUSED;

#endif
