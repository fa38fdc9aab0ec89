/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's side: containerd or CRI-O. A client's calls share one connection; another is made
 * when that one takes no more, or when the engine was restarted. */
#include "plugins/containerd/cri-proxy/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *data)
{
    struct stream *stream = stream_of(session, frame->hd.stream_id);
    (void)data;
    if (stream)
        headers_add(stream->answered ? &stream->down.trailers : &stream->answer, name, name_len,
                    value, value_len, flags);
    return 0;
}

/* A header block of the answer is whole: its head, or its trailers. */
static void on_block(struct stream *stream, bool end)
{
    size_t len = 0;
    const char *status = headers_find(&stream->answer, ":status", &len);
    if (stream->answer.bad || stream->down.trailers.bad) {
        up_cancel(stream, NGHTTP2_CANCEL);
        stream->down.trailers.bad = false;
        stream_fail(stream, GRPC_RESOURCE_EXHAUSTED, "the engine's headers are too large");
    } else if (stream->answered) {
        stream_answered(stream, &stream->down.trailers);
        stream->down.ended = true;
        stream->down.has_trailers = true;
        down_resume(stream);
    } else if (!end && len == 3 && status[0] == '1') { /* the answer is still to come */
        headers_free(&stream->answer);
        headers_init(&stream->answer);
    } else {
        if (end)
            stream_answered(stream, &stream->answer);
        stream->down.ended = end;
        down_answer(stream, &stream->answer, end);
        headers_free(&stream->answer);
        headers_init(&stream->answer);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    struct engine *engine = data;
    engine->leaving = engine->leaving || frame->hd.type == NGHTTP2_GOAWAY;
    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct stream *stream = stream_of(session, frame->hd.stream_id);
    if (!stream)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS) {
        on_block(stream, end);
    } else if (end) {
        stream->down.ended = true;
        down_resume(stream);
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t len, void *data)
{
    struct stream *stream = stream_of(session, id);
    (void)flags, (void)data;
    if (!stream || !stream->answered) {
        nghttp2_session_consume(session, id, len);
        return 0;
    }
    nghttp2_session_consume_connection(session, len);
    if (!pipe_put(&stream->down, bytes, len))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    down_resume(stream);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *data)
{
    struct stream *stream = stream_of(session, id);
    (void)data;
    if (!stream)
        return 0;
    stream->engine = NULL;
    stream->up_id = 0;
    if (!stream->down.ended)
        down_reset(stream, error == NGHTTP2_NO_ERROR ? NGHTTP2_INTERNAL_ERROR : error);
    return 0;
}

nghttp2_session_callbacks *up_callbacks(void)
{
    nghttp2_session_callbacks *callbacks = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_send_callback(callbacks, loop_send);
    return callbacks;
}

/* ---- connections -------------------------------------------------------------------------------
 */

static int dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
        (int)sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static int open_session(struct engine *engine)
{
    const struct proxy *proxy = engine->client->proxy;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADERS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW}};
    if (nghttp2_session_client_new2(&engine->session, proxy->up, engine, proxy->option) != 0 ||
        nghttp2_submit_settings(engine->session, NGHTTP2_FLAG_NONE, settings, 3) != 0 ||
        nghttp2_session_set_local_window_size(engine->session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW) != 0) {
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

/* A new connection to the engine; NULL with errno. */
static struct engine *up_new(struct client *client)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return NULL;
    engine->client = client;
    engine->source.kind = SOURCE_ENGINE;
    engine->source.fd = dial(client->proxy->options->backend);
    if (engine->source.fd < 0 || open_session(engine) < 0 ||
        loop_watch(client->proxy, &engine->source, true, false) < 0) {
        int why = errno;
        up_free(engine);
        errno = why;
        return NULL;
    }
    engine->next = client->engines;
    client->engines = engine;
    return engine;
}

void up_free(struct engine *engine)
{
    nghttp2_session_del(engine->session);
    if (engine->source.fd >= 0)
        close(engine->source.fd);
    free(engine);
}

void up_lost(struct engine *engine)
{
    engine->source.dead = true;
    for (struct stream *s = engine->client->streams; s; s = s->next) {
        if (s->engine != engine)
            continue;
        s->engine = NULL;
        s->up_id = 0;
        if (!s->down.ended)
            stream_fail(s, GRPC_UNAVAILABLE, "the connection to the container engine is lost");
    }
}

static struct engine *up_take(struct client *client)
{
    for (struct engine *e = client->engines; e; e = e->next)
        if (!e->source.dead && !e->leaving && nghttp2_session_check_request_allowed(e->session))
            return e;
    return up_new(client);
}

/* ---- the request -------------------------------------------------------------------------------
 */

static ssize_t read_request(nghttp2_session *session, int32_t id, uint8_t *out, size_t size,
                            uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct stream *stream = stream_of(session, id);
    size_t pay = 0;
    (void)source, (void)data;
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t n = pipe_take(&stream->up, out, size, &pay);
    if (pay && stream->down_id) {
        nghttp2_session_consume_stream(stream->client->session, stream->down_id, pay);
        stream->client->dirty = true;
    }
    if (pipe_waits(&stream->up) || !stream->up.ended)
        return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!stream->up.has_trailers)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_nv *list = headers_list(&stream->up.trailers);
    int failed = list ? nghttp2_submit_trailer(session, id, list, stream->up.trailers.n) : -1;
    free(list);
    return failed ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : (ssize_t)n;
}

void up_send(struct stream *stream, bool end)
{
    nghttp2_data_provider body = {.read_callback = read_request};
    char why[160];
    struct engine *engine = up_take(stream->client);
    nghttp2_nv *list = engine ? headers_list(&stream->request) : NULL;
    int32_t id = list ? nghttp2_submit_request(engine->session, NULL, list, stream->request.n,
                                               end ? NULL : &body, stream)
                      : -1;
    if (!engine) {
        snprintf(why, sizeof(why), "the container engine cannot be reached: %s", strerror(errno));
        stream_fail(stream, GRPC_UNAVAILABLE, why);
    } else if (id < 0) { /* its numbers are used up, or there is no memory */
        engine->leaving = true;
        stream_fail(stream, GRPC_UNAVAILABLE, "the call cannot be passed on");
    } else {
        stream->engine = engine;
        stream->up_id = id;
        stream->client->dirty = true;
    }
    free(list);
    headers_free(&stream->request);
}

void up_resume(struct stream *stream)
{
    if (!stream->engine)
        return;
    nghttp2_session_resume_data(stream->engine->session, stream->up_id);
    stream->client->dirty = true;
}

void up_cancel(struct stream *stream, uint32_t error)
{
    if (!stream->engine)
        return;
    nghttp2_session *session = stream->engine->session;
    nghttp2_session_set_stream_user_data(session, stream->up_id, NULL);
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->up_id, error);
    stream->engine = NULL;
    stream->up_id = 0;
    stream->client->dirty = true;
}
