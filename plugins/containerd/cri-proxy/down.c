/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client's side: frames of kubelet, crictl and whoever speaks to our socket. */
#include "plugins/containerd/cri-proxy/proxy.h"

#include <stdlib.h>

static struct stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct client *client = data;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct stream *stream = stream_new(client, frame->hd.stream_id);
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    client->spoke = true;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *data)
{
    struct stream *stream = stream_of(session, frame->hd.stream_id);
    (void)data;
    if (!stream)
        return 0;
    bool first = frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    headers_add(first ? &stream->request : &stream->up.trailers, name, name_len, value, value_len,
                flags);
    stream->up.has_trailers = !first;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    (void)data;
    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct stream *stream = stream_of(session, frame->hd.stream_id);
    if (!stream)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        stream_begin(stream, end);
    else if (end)
        stream_end(stream);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t len, void *data)
{
    struct stream *stream = stream_of(session, id);
    (void)flags, (void)data;
    if (stream)
        stream_body(stream, bytes, len);
    else
        nghttp2_session_consume(session, id, len);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *data)
{
    struct stream *stream = stream_of(session, id);
    struct client *client = data;
    client->dirty = true;
    if (stream)
        stream_down_closed(stream, error);
    return 0;
}

/* An answer may end before its request does: the client learns that it need not go on. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    (void)data;
    if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    const struct stream *stream = stream_of(session, frame->hd.stream_id);
    if (stream && !stream->up.ended)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_NO_ERROR);
    return 0;
}

nghttp2_session_callbacks *down_callbacks(void)
{
    nghttp2_session_callbacks *callbacks = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_send_callback(callbacks, loop_send);
    return callbacks;
}

int down_new(struct client *client)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADERS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW}};
    if (nghttp2_session_server_new2(&client->session, client->proxy->down, client,
                                    client->proxy->option) != 0)
        return -1;
    if (nghttp2_submit_settings(client->session, NGHTTP2_FLAG_NONE, settings, 3) != 0 ||
        nghttp2_session_set_local_window_size(client->session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW) != 0)
        return -1;
    return 0;
}

/* ---- the answer --------------------------------------------------------------------------------
 */

static ssize_t read_answer(nghttp2_session *session, int32_t id, uint8_t *out, size_t size,
                           uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct stream *stream = stream_of(session, id);
    struct client *client = data;
    size_t pay = 0;
    (void)source;
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    size_t n = pipe_take(&stream->down, out, size, &pay);
    if (pay && stream->engine) {
        nghttp2_session_consume_stream(stream->engine->session, stream->up_id, pay);
        client->dirty = true;
    }
    if (pipe_waits(&stream->down) || !stream->down.ended)
        return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!stream->down.has_trailers)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_nv *list = headers_list(&stream->down.trailers);
    int failed = list ? nghttp2_submit_trailer(session, id, list, stream->down.trailers.n) : -1;
    free(list);
    return failed ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : (ssize_t)n;
}

void down_answer(struct stream *stream, const struct headers *headers, bool end)
{
    nghttp2_session *session = stream->client->session;
    nghttp2_data_provider body = {.read_callback = read_answer};
    nghttp2_nv *list = headers_list(headers);
    if (!stream->down_id)
        return free(list);
    stream->answered = true;
    stream->client->dirty = true;
    if (!list ||
        nghttp2_submit_response(session, stream->down_id, list, headers->n, end ? NULL : &body))
        down_reset(stream, NGHTTP2_INTERNAL_ERROR);
    free(list);
}

void down_resume(struct stream *stream)
{
    if (!stream->down_id)
        return;
    nghttp2_session_resume_data(stream->client->session, stream->down_id);
    stream->client->dirty = true;
}

void down_reset(struct stream *stream, uint32_t error)
{
    if (!stream->down_id)
        return;
    nghttp2_submit_rst_stream(stream->client->session, NGHTTP2_FLAG_NONE, stream->down_id, error);
    stream->client->dirty = true;
}
