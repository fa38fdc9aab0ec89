/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --to docker: the engine pulls by digest itself (Engine API images/create), then vpull tags the
 * result. Images that the engine cannot reach (oci:DIR) are loaded as an archive. */
#include "cmd/vpull/engines/engine.h"

#include "lib/base/cleanup.h"
#include "lib/base/format/encodings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API "/v1.24"     /* oldest version with all calls used here (Docker 1.12) */
#define API_NEW "/v1.44" /* oldest version that Docker 29 and later accept */
#define PING_MS 3000u

static int ping_daemon(struct cli *cli, const struct endpoint *endpoint, struct ocv_error *err)
{
    struct engine_call call = {.method = "GET", .path = "/_ping", .timeout_ms = PING_MS};
    OCV_TRY(cli_registry(cli, err));
    return engine_call(cli, endpoint, &call, err);
}

static bool is_available(struct cli *cli, const struct pull_options *options)
{
    struct endpoint endpoint;
    struct ocv_error err = {0};
    return docker_endpoint(&options->docker, &endpoint, &err) == OCV_OK &&
           (!endpoint.socket[0] || access(endpoint.socket, R_OK | W_OK) == 0) &&
           ping_daemon(cli, &endpoint, &err) == OCV_OK;
}

struct docker_stream {
    struct pull *pull;
    char failure[sizeof(((struct docker_line *)NULL)->failure)];
    bool fetched;
};

static int stream_line(void *data, const char *text)
{
    struct docker_stream *s = data;
    struct docker_line line;
    docker_line_parse(text, &line);
    if (line.failure[0])
        memcpy(s->failure, line.failure, sizeof(s->failure));
    if (!line.id[0])
        return 0;
    s->fetched = s->fetched || line.state == LAYER_DOWNLOADING || line.state == LAYER_DONE;
    progress_set(s->pull->progress, progress_add(s->pull->progress, line.id, -1), line.state,
                 line.done, line.total);
    return 0;
}

static int stream_call(struct pull *pull, const struct endpoint *endpoint,
                       const struct engine_call *plain, const char *path, struct ocv_error *err)
{
    struct docker_stream stream = {.pull = pull};
    struct engine_call call = *plain;
    const char *failure = stream.failure;
    call.line = stream_line;
    call.data = &stream;
    /* docker shortens layer digests the same way, but reports their sizes late */
    for (size_t i = 0; i < ocv_manifest_layer_count(pull->child.manifest) && !call.upload; i++) {
        const struct ocv_descriptor *layer = ocv_manifest_layer(pull->child.manifest, i);
        progress_add(pull->progress, layer->digest, layer->size);
    }
    call.path = path;
    pull->cached = false;
    int status = engine_call(pull->cli, endpoint, &call, err);
    if (status == OCV_OK && *failure) {
        /* A pull may fail after the engine has answered 200; the text is the engine's. */
        bool denied = strstr(failure, "unauthorized") || strstr(failure, "access denied") ||
                      strstr(failure, "no basic auth credentials");
        status =
            ocv_error_set(err, denied ? OCV_ERR_DENIED : OCV_ERR_ENGINE, "docker: %s", failure);
    }
    if (status < 0) {
        if (strstr(err->message, "HTTP response to HTTPS client"))
            ocv_error_hint(err, "dockerd's own insecure-registries decides about plain HTTP");
        return status;
    }
    pull->cached = !stream.fetched;
    progress_settle(pull->progress, pull->cached ? LAYER_CACHED : LAYER_DONE);
    return OCV_OK;
}

static int create_image(struct pull *pull, const struct endpoint *endpoint, struct ocv_error *err)
{
    ocv_auto_buffer path, json, header;
    ocv_buffer_init(&path, 64u * 1024);
    ocv_buffer_init(&json, 64u * 1024);
    ocv_buffer_init(&header, 128u * 1024);
    OCV_TRY(ocv_buffer_printf(&path, err, "/images/create?fromImage="));
    OCV_TRY(ocv_url_escape(pull->image.reference->name, OCV_URL_UNRESERVED, &path, err));
    OCV_TRY(ocv_buffer_printf(&path, err, "&tag=%s", pull->entry->digest));
    /* X-Registry-Auth for the image's registry: what holds the secret is wiped. */
    OCV_TRY(ocv_registry_credentials(pull->cli->registry, pull->image.reference->host, &json, err));
    ocv_auto_free char *encoded = json.len ? ocv_base64_encode(json.data, json.len) : NULL;
    if (json.len)
        explicit_bzero(json.data, json.len);
    if (json.len && !encoded)
        return ocv_error_nomem(err);
    for (char *at = encoded; at && *at; at++) /* as headers have it: RFC 4648 section 5 */
        *at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
    int status = encoded ? ocv_buffer_printf(&header, err, "X-Registry-Auth: %s", encoded) : OCV_OK;
    if (encoded)
        explicit_bzero(encoded, strlen(encoded));
    struct engine_call call = {.method = "POST", .header = header.data};
    if (status == OCV_OK)
        status = stream_call(pull, endpoint, &call, path.data, err);
    if (header.data)
        explicit_bzero(header.data, header.len);
    return status;
}

static int load_image(struct pull *pull, const struct endpoint *endpoint, struct ocv_error *err)
{
    ocv_auto_fd int fd = -1;
    OCV_TRY(engine_archive(pull, &fd, err));
    struct engine_call call = {.method = "POST",
                               .header = "Content-Type: application/x-tar",
                               .upload = true,
                               .upload_fd = fd};
    progress_status(pull->progress, "loading", pull->image.text, "loading into docker");
    int status = stream_call(pull, endpoint, &call, "/images/load?quiet=1", err);
    pull->cached = false;
    return status;
}

static int pull_docker(struct pull *pull, const char *argument, char *where, size_t size,
                       struct ocv_error *err)
{
    struct endpoint endpoint;
    (void)argument;
    snprintf(where, size, "into docker");
    OCV_TRY(docker_endpoint(&pull->options->docker, &endpoint, err));
    if (ping_daemon(pull->cli, &endpoint, err) < 0) {
        ocv_error_prefix(err, "docker does not answer");
        ocv_error_hint(err, "is dockerd running, and may this user use its socket?");
        if (err->status != OCV_ERR_INTERRUPTED)
            err->status = OCV_ERR_ENGINE;
        return err->status;
    }
    /* On a remote engine, this machine's devices say nothing about that host. */
    const char *host = strstr(endpoint.base, "://");
    bool chosen_for_it = pull->cli->profile_file || pull->cli->unchecked;
    if (!endpoint.socket[0] && host && !chosen_for_it &&
        pull->image.kind != OCV_DOCUMENT_MANIFEST && !ocv_reference_host_is_loopback(host + 3))
        progress_warn(pull->progress, pull->cli->program,
                      "docker runs on %s, and this build was chosen for the machine of vpull: run "
                      "vpull there, or give that machine's profile (--profile FILE)",
                      host + 3);
    /* Prefix the following paths with a version. It is asked for first, since a half-sent request
     * cannot be repeated on another path. */
    struct ocv_error refused = {0};
    size_t n = strlen(endpoint.base);
    snprintf(endpoint.base + n, sizeof(endpoint.base) - n, "%s", API);
    if (ping_daemon(pull->cli, &endpoint, &refused) < 0 && refused.http_status == 400 &&
        strstr(refused.message, "too old"))
        snprintf(endpoint.base + n, sizeof(endpoint.base) - n, "%s", API_NEW);
    if (!pull->image.reference)
        return load_image(pull, &endpoint, err);
    OCV_TRY(create_image(pull, &endpoint, err));
    if (!pull->name)
        return OCV_OK;
    const char *colon = strrchr(pull->name, ':');
    ocv_auto_buffer path;
    ocv_buffer_init(&path, 64u * 1024);
    OCV_TRY(ocv_buffer_printf(&path, err, "/images/%s@%s/tag?repo=", pull->image.reference->name,
                              pull->entry->digest));
    ocv_auto_free char *repository = strndup(pull->name, (size_t)(colon - pull->name));
    OCV_TRY(repository ? ocv_url_escape(repository, OCV_URL_UNRESERVED, &path, err)
                       : ocv_error_nomem(err));
    OCV_TRY(ocv_buffer_printf(&path, err, "&tag=%s", colon + 1));
    struct engine_call call = {.method = "POST", .path = path.data};
    return engine_call(pull->cli, &endpoint, &call, err);
}

const struct destination destination_docker = {"docker", NULL, is_available, pull_docker};
