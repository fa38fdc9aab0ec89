/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The client's connections. */
#include "lib/internal/grpc/grpc_internal.h"

#include "lib/base/system/unix_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POOL_MAX 16u    /* idle connections that are kept */
#define CONNECT_MS 2000 /* that the other side may leave us in its backlog when that is full */

void grpc_link_free(struct link *l)
{
    if (!l)
        return;
    nghttp2_session_del(l->session);
    if (l->fd >= 0)
        close(l->fd);
    free(l);
}

/* A connection that waited may have been closed by the other side meanwhile: read what it said
 * last, a GOAWAY before its end most of all. */
static bool is_usable(struct link *l)
{
    uint8_t bytes[4096];
    for (;;) {
        ssize_t n = recv(l->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN && nghttp2_session_check_request_allowed(l->session);
        if (n == 0 || nghttp2_session_mem_recv(l->session, bytes, (size_t)n) < 0)
            return false;
    }
}

int grpc_link_take(struct grpc_client *client, struct link **out, struct ocv_error *err)
{
    for (;;) {
        pthread_mutex_lock(&client->lock);
        struct link *l = client->idle;
        if (l) {
            client->idle = l->next;
            client->n_idle--;
        }
        pthread_mutex_unlock(&client->lock);
        if (!l)
            break;
        if (is_usable(l)) {
            *out = l;
            return OCV_OK;
        }
        grpc_link_free(l);
    }

    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                               {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1024 * 1024}};
    struct link *l = calloc(1, sizeof(*l));
    if (!l)
        return ocv_error_nomem(err);
    int status = ocv_unix_connect(client->path, CONNECT_MS, &l->fd, NULL);
    if (status < 0)
        status = ocv_error_set(err, OCV_ERR_NETWORK, "%s cannot be reached: %s", client->path,
                               strerror(errno));
    else if (nghttp2_session_client_new2(&l->session, client->callbacks, l, client->option) != 0 ||
             nghttp2_submit_settings(l->session, NGHTTP2_FLAG_NONE, settings, 2) != 0)
        status = ocv_error_nomem(err);
    if (status < 0) {
        grpc_link_free(l);
        return status;
    }
    *out = l;
    return OCV_OK;
}

void grpc_link_give_back(struct grpc_client *client, struct link *l)
{
    l->call = NULL;
    bool keep = !l->failed && nghttp2_session_want_read(l->session);
    pthread_mutex_lock(&client->lock);
    if (keep && client->n_idle < POOL_MAX) {
        l->next = client->idle;
        client->idle = l;
        client->n_idle++;
        l = NULL;
    }
    pthread_mutex_unlock(&client->lock);
    grpc_link_free(l);
}

void grpc_client_tend(struct grpc_client *client)
{
    pthread_mutex_lock(&client->lock);
    struct link *list = client->idle;
    client->idle = NULL;
    client->n_idle = 0;
    pthread_mutex_unlock(&client->lock);
    for (struct link *l = list, *next; l; l = next) {
        next = l->next;
        l->failed = !is_usable(l) || grpc_outbox_send(&l->out, l->fd, l->session) < 0;
        grpc_link_give_back(client, l);
    }
}
