/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/vpull/engines/engine.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/encodings.h"
#include "lib/base/format/json.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SOCKET "/var/run/docker.sock"

int endpoint_parse(const char *text, bool tls, struct endpoint *out, struct ocv_error *err)
{
    *out = (struct endpoint){0};
    if (!strncmp(text, "unix://", 7) || text[0] == '/') {
        const char *path = text[0] == '/' ? text : text + 7;
        snprintf(out->socket, sizeof(out->socket), "%s", *path ? path : DEFAULT_SOCKET);
        snprintf(out->base, sizeof(out->base), "http://localhost");
        return OCV_OK;
    }
    if (!strncmp(text, "http://", 7) || !strncmp(text, "https://", 8)) {
        snprintf(out->base, sizeof(out->base), "%.400s", text);
        return OCV_OK;
    }
    if (!strncmp(text, "tcp://", 6)) {
        /* docker's defaults: localhost, port 2375, or 2376 with TLS */
        const char *address = text + 6;
        size_t host = strcspn(address, "/");
        const char *v6 = memchr(address, ']', host), *colon = v6 ? v6 : address;
        bool port = memchr(colon, ':', host - (size_t)(colon - address)) != NULL;
        snprintf(out->base, sizeof(out->base), "%s://%s%.*s%s%.300s", tls ? "https" : "http",
                 host == 0 || address[0] == ':' ? "localhost" : "", (int)(host < 100 ? host : 100),
                 address,
                 port  ? ""
                 : tls ? ":2376"
                       : ":2375",
                 address + host);
        return OCV_OK;
    }
    ocv_error_set(err, OCV_ERR_UNSUPPORTED, "engine address '%.100s': only unix:// and tcp://",
                  text);
    if (!strncmp(text, "ssh://", 6))
        ocv_error_hint(err, "run vpull on that machine, whose devices count: ssh %.100s vpull ...",
                       text + 6);
    return OCV_ERR_UNSUPPORTED;
}

struct receiver {
    const struct engine_call *call;
    struct engine_lines lines;
    struct ocv_buffer *head; /* first bytes, for error messages */
    bool failed;
};

#define HEAD_BYTES_MAX (64u * 1024)

static int receive_answer(void *data, const char *bytes, size_t len)
{
    struct receiver *r = data;
    size_t room = HEAD_BYTES_MAX - r->head->len;
    if (ocv_buffer_append(r->head, bytes, len < room ? len : room, NULL) < 0)
        r->failed = true;
    if (!r->call->line && r->call->answer &&
        ocv_buffer_append(r->call->answer, bytes, len, NULL) < 0)
        r->failed = true;
    if (r->call->line && !r->failed)
        r->failed = engine_lines_take(&r->lines, bytes, len) != 0;
    return r->failed ? 1 : 0;
}

int engine_call(struct cli *cli, const struct endpoint *endpoint, const struct engine_call *call,
                struct ocv_error *err)
{
    ocv_auto_free char *text = malloc(ENGINE_LINE_MAX);
    ocv_auto_buffer url, head;
    ocv_buffer_init(&url, 64u * 1024);
    ocv_buffer_init(&head, HEAD_BYTES_MAX);
    struct receiver r = {.call = call,
                         .lines = {.text = text, .line = call->line, .data = call->data},
                         .head = &head};
    long code = 0;
    if (!text)
        return ocv_error_nomem(err);
    OCV_TRY(ocv_buffer_printf(&url, err, "%s%s", endpoint->base, call->path));
    struct ocv_engine_request request = {
        .socket = endpoint->socket[0] ? endpoint->socket : NULL,
        .method = call->method,
        .url = url.data,
        .headers = &call->header,
        .n_headers = call->header ? 1 : 0,
        .ca_file = endpoint->ca,
        .cert_file = endpoint->cert,
        .key_file = endpoint->key,
        .upload = call->upload,
        .upload_fd = call->upload ? call->upload_fd : -1,
        .timeout_ms = call->timeout_ms,
        .interrupted = cli->interrupted,
        .tick = cli->tick,
        .tick_data = cli->callback_data,
        .body = receive_answer,
        .data = &r,
    };
    OCV_TRY(ocv_engine_http(&request, &code, err));
    if (call->line)
        engine_lines_flush(&r.lines);
    if (code < 400)
        return OCV_OK;
    /* {"message": "..."} of both engines; libpod says "cause" too. */
    ocv_auto_json *body = ocv_json_load_any(head.data, head.len, OCV_JSON_VALUES_MAX, 0, NULL);
    const char *message = ocv_json_text(body, "message");
    ocv_error_set(err, OCV_ERR_ENGINE, "the engine answered %ld: %.600s", code,
                  message ? message : "no message");
    if (err)
        err->http_status = (int)code;
    return OCV_ERR_ENGINE;
}

int engine_archive(struct pull *pull, int *fd, struct ocv_error *err)
{
    struct staging staging;
    char path[4200];
    int status = staging_fetch(pull, NULL, &staging, err);
    *fd = -1;
    if (status == OCV_OK) {
        snprintf(path, sizeof(path), "%s/archive", staging.dir);
        *fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        status = *fd < 0 ? ocv_error_set(err, OCV_ERR_IO, "%s: %s", path, strerror(errno))
                         : staging_write(pull, &staging, *fd, err);
    }
    staging_remove(&staging, status);
    if (status == OCV_OK && lseek(*fd, 0, SEEK_SET) != 0)
        status = ocv_error_set(err, OCV_ERR_IO, "temporary archive: %s", strerror(errno));
    if (status < 0 && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

struct feeder {
    const struct pull *pull;
    const struct staging *staging;
    int fd;
    int status;
    struct ocv_error err;
};

static void *feed_archive(void *data)
{
    struct feeder *feeder = data;
    feeder->status = staging_write(feeder->pull, feeder->staging, feeder->fd, &feeder->err);
    close(feeder->fd);
    return NULL;
}

static int run_fed(struct pull *pull, const struct staging *staging, const char *const *argv,
                   void (*line)(void *data, const char *text), struct ocv_error *err)
{
    int ends[2];
    pthread_t thread;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ocv_error_set(err, OCV_ERR_IO, "pipe: %s", strerror(errno));
    struct feeder feeder = {.pull = pull, .staging = staging, .fd = ends[1]};
    if (pthread_create(&thread, NULL, feed_archive, &feeder) != 0) {
        close(ends[0]);
        close(ends[1]);
        return ocv_error_set(err, OCV_ERR_NOMEM, "cannot start a thread");
    }
    int status = subprocess_run(argv, ends[0], false, line, pull, pull->cli, err);
    close(ends[0]); /* the feeder then gets a broken pipe when the client gives up */
    pthread_join(thread, NULL);
    if (status == OCV_OK && feeder.status < 0 && err)
        *err = feeder.err;
    return status < 0 ? status : feeder.status;
}

int engine_feed(struct pull *pull, const char *name, const char *const *argv,
                void (*line)(void *data, const char *text), struct ocv_error *err)
{
    struct staging staging;
    int status = staging_fetch(pull, NULL, &staging, err);
    if (status == OCV_OK) {
        progress_status(pull->progress, "loading", pull->image.text, "loading into %s", name);
        status = run_fed(pull, &staging, argv, line, err);
    }
    if (status == OCV_OK)
        progress_settle(pull->progress, LAYER_DONE);
    staging_remove(&staging, status);
    return status;
}

char *pull_digest_reference(const struct pull *pull)
{
    char *text = NULL;
    const struct image *image = &pull->image;
    int n = image->reference
                ? asprintf(&text, "%s@%s", image->reference->name, pull->entry->digest)
                : asprintf(&text, "oci:%s@%s", ocv_layout_path(image->layout), pull->entry->digest);
    return n < 0 ? NULL : text;
}

struct transfer {
    struct pull *pull;
    size_t *rows; /* blob -> progress row; SIZE_MAX: not shown (the config) */
    bool *begun;  /* blob -> its progress has been reported */
    bool fetched;
};

static void show_blob(void *data, size_t i, int64_t done, bool finished, bool cached)
{
    struct transfer *t = data;
    t->fetched = t->fetched || !cached;
    if (!t->begun[i] && !finished && done > 0 && t->rows[i] != SIZE_MAX)
        progress_resumed(t->pull->progress, t->rows[i], done);
    t->begun[i] = true;
    enum layer_state finally = t->pull->staged ? LAYER_DOWNLOADED : LAYER_DONE;
    enum layer_state state = cached ? LAYER_CACHED : finished ? finally : LAYER_DOWNLOADING;
    progress_set(t->pull->progress, t->rows[i], state, done, -1);
}

int pull_to_layout(struct pull *pull, struct ocv_layout *layout, struct ocv_error *err)
{
    size_t n = ocv_manifest_layer_count(pull->child.manifest);
    ocv_auto_free size_t *rows = calloc(n + 1, sizeof(*rows));
    ocv_auto_free bool *begun = calloc(n + 1, sizeof(*begun));
    struct transfer t = {.pull = pull, .rows = rows, .begun = begun};
    if (!rows || !begun)
        return ocv_error_nomem(err);
    rows[0] = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct ocv_descriptor *layer = ocv_manifest_layer(pull->child.manifest, i);
        rows[i + 1] = progress_add(pull->progress, layer->digest, layer->size);
    }
    int status = child_transfer(pull->cli, &pull->image, &pull->child, layout, pull->options->jobs,
                                show_blob, &t, err);
    pull->cached = status == OCV_OK && !t.fetched;
    return status;
}
