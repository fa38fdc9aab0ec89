/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call from its headers to its end. Three methods' requests are held and may get another image
 * name; everything else goes through as it comes. */
#include "plugins/containerd/cri-proxy/proxy.h"

#include "plugins/containerd/cri-proxy/pinned.h"
#include "plugins/containerd/cri-proxy/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream *stream_new(struct client *client, int32_t id)
{
    struct stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->client = client;
    s->down_id = id;
    headers_init(&s->request);
    headers_init(&s->answer);
    pipe_init(&s->up);
    pipe_init(&s->down);
    s->next = client->streams;
    s->link = &client->streams;
    if (s->next)
        s->next->link = &s->next;
    client->streams = s;
    return s;
}

void stream_free(struct stream *s)
{
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    if (s->job)
        job_abandon(s->job);
    headers_free(&s->request);
    headers_free(&s->answer);
    pipe_free(&s->up);
    pipe_free(&s->down);
    free(s->asked);
    free(s);
}

/* "/runtime.v1.ImageService/PullImage": the service of today and of before 1.20. */
static enum method method_of(const struct headers *headers)
{
    static const char *const services[] = {"/runtime.v1.ImageService/",
                                           "/runtime.v1alpha2.ImageService/"};
    static const char *const names[] = {
        [METHOD_PULL] = "PullImage",
        [METHOD_STATUS] = "ImageStatus",
        [METHOD_REMOVE] = "RemoveImage",
    };
    size_t len = 0;
    const char *path = headers_find(headers, ":path", &len);
    for (size_t i = 0; path && i < sizeof(services) / sizeof(*services); i++) {
        size_t n = strlen(services[i]);
        if (len <= n || memcmp(path, services[i], n) != 0)
            continue;
        for (int m = METHOD_PULL; m <= METHOD_REMOVE; m++)
            if (strlen(names[m]) == len - n && memcmp(names[m], path + n, len - n) == 0)
                return (enum method)m;
    }
    return METHOD_OTHER;
}

void stream_begin(struct stream *s, bool end)
{
    s->up.ended = end;
    s->method = end ? METHOD_OTHER : method_of(&s->request);
    if (s->request.bad)
        stream_fail(s, GRPC_RESOURCE_EXHAUSTED, "the request's headers are too large");
    else if (s->method == METHOD_OTHER)
        up_send(s, end);
    else
        s->held = true;
}

void stream_body(struct stream *s, const uint8_t *bytes, size_t len)
{
    nghttp2_session *session = s->client->session;
    nghttp2_session_consume_connection(session, len);
    s->client->dirty = true;
    if (s->held) { /* all of it must come, whatever the window */
        nghttp2_session_consume_stream(session, s->down_id, len);
        s->up.paid += len;
    } else if (!s->engine) { /* it has ended on the other side */
        nghttp2_session_consume_stream(session, s->down_id, len);
        return;
    }
    if (!pipe_put(&s->up, bytes, len)) {
        down_reset(s, NGHTTP2_INTERNAL_ERROR);
    } else if (s->held && pipe_waits(&s->up) > HOLD_MAX) {
        s->held = false; /* the engine says what it thinks of it */
        up_send(s, false);
    } else {
        up_resume(s);
    }
}

/* ---- what becomes of a held request ------------------------------------------------------------
 */

/* The one message of the request. */
static bool message_of(const struct stream *s, const uint8_t **message, size_t *len)
{
    size_t at = 0;
    enum grpc_code code;
    const uint8_t *bytes = s->up.bytes + s->up.at;
    size_t waits = pipe_waits(&s->up);
    if (!waits || grpc_unframe(bytes, waits, &at, len, &code) != 1 || at + *len != waits)
        return false;
    *message = bytes + at;
    return true;
}

/* Put another name into the request. It stays as it is where that cannot be done. */
static void edit(struct stream *s, const char *name)
{
    const uint8_t *message;
    uint8_t frame[5];
    char number[24];
    size_t len = 0;
    struct wire_image image;
    struct ocv_buffer out;
    ocv_buffer_init(&out, HOLD_MAX);
    if (!message_of(s, &message, &len) || !wire_find_image(message, len, &image))
        return;
    if (ocv_buffer_append(&out, "\0\0\0\0", 5, NULL) == OCV_OK &&
        wire_replace_image(message, len, &image, name, &out, NULL) == OCV_OK) {
        grpc_frame(frame, out.len - 5);
        memcpy(out.data, frame, 5);
        s->up.at = s->up.len; /* room for the new one */
        s->up.paid = 0;
        if (!pipe_put(&s->up, out.data, out.len))
            down_reset(s, NGHTTP2_INTERNAL_ERROR);
        s->up.paid = pipe_waits(&s->up);
        snprintf(number, sizeof(number), "%zu", out.len);
        headers_set(&s->request, "content-length", number);
    }
    if (out.data) /* it may have a password in it */
        explicit_bzero(out.data, out.len);
    ocv_buffer_free(&out);
}

static void decide(struct stream *s)
{
    const struct proxy *proxy = s->client->proxy;
    const uint8_t *message;
    size_t len = 0;
    struct wire_image image;
    char name[PINNED_TEXT_MAX];
    if (!message_of(s, &message, &len) || !wire_find_image(message, len, &image))
        return up_send(s, false);
    const char *text = (const char *)message + image.inner_at;
    if (s->method == METHOD_PULL) {
        s->job = job_new(s, message, len, &image);
        if (s->job && workers_put(proxy->workers, s->job))
            return;
        if (s->job)
            job_free(s->job);
        s->job = NULL;
    } else if (map_rewrite(proxy->map, text, image.inner_len, name)) {
        edit(s, name);
    }
    up_send(s, false);
}

void stream_end(struct stream *s)
{
    s->up.ended = true;
    if (s->up.trailers.bad) { /* half of them would be another message */
        s->up.trailers.bad = false;
        up_cancel(s, NGHTTP2_CANCEL);
        stream_fail(s, GRPC_RESOURCE_EXHAUSTED, "the request's trailers are too large");
        return;
    }
    if (!s->held)
        return up_resume(s);
    s->held = false;
    decide(s);
}

void stream_decided(struct stream *s, const char *image)
{
    s->job = NULL;
    if (image)
        edit(s, image);
    up_send(s, false);
}

void stream_refused(struct stream *s, const char *reason)
{
    s->job = NULL;
    stream_fail(s, GRPC_FAILED_PRECONDITION, reason);
}

/* ---- its end -----------------------------------------------------------------------------------
 */

void stream_answered(const struct stream *s, const struct headers *last)
{
    size_t len = 0;
    const char *status = headers_find(last, "grpc-status", &len);
    if (s->asked && status && !(len == 1 && status[0] == '0'))
        decide_doubt(s->client->proxy->options->decide, s->asked);
}

void stream_down_closed(struct stream *s, uint32_t error)
{
    s->down_id = 0;
    up_cancel(s, error == NGHTTP2_NO_ERROR ? NGHTTP2_CANCEL : error);
    stream_free(s);
}

static void add(struct headers *headers, const char *name, const char *value)
{
    headers_add(headers, name, strlen(name), value, strlen(value), NGHTTP2_NV_FLAG_NONE);
}

void stream_fail(struct stream *s, enum grpc_code code, const char *message)
{
    char number[8], text[512];
    bool first = !s->answered;
    struct headers *headers = &s->down.trailers;
    if (s->down.ended)
        return;
    headers_free(headers);
    headers_init(headers);
    if (first) {
        add(headers, ":status", "200");
        add(headers, "content-type", "application/grpc");
    }
    snprintf(number, sizeof(number), "%d", (int)code);
    grpc_encode_message(message, text, sizeof(text));
    add(headers, "grpc-status", number);
    add(headers, "grpc-message", text);
    s->held = false;
    s->down.ended = true;
    s->down.has_trailers = !first;
    if (first)
        down_answer(s, headers, true);
    else
        down_resume(s);
}
