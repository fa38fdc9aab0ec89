/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/upstream/upstream.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS_MAX 8u
#define STACK (512u * 1024)

struct login_checks {
    struct clients *clients;
    const struct settings *settings;
    bool trusted;
    struct reach *list;
    atomic_size_t next;
};

static void *run_checks(void *data)
{
    struct login_checks *r = data;
    size_t i;
    while ((i = atomic_fetch_add(&r->next, 1)) < r->settings->n_upstreams) {
        const struct upstream *upstream = &r->settings->upstreams[i];
        struct reach *out = &r->list[i];
        struct client *client = NULL;
        *out = (struct reach){.access = OCV_REGISTRY_ACCESS_OPEN};
        if (upstream->layout)
            continue;
        bool daemon = r->trusted && clients_private(r->clients, upstream);
        out->status =
            client_acquire(r->clients, upstream, daemon ? IDENTITY_DAEMON : IDENTITY_ANONYMOUS,
                           PATIENCE_DOCUMENT, REACH_MS, &client, &out->err);
        if (out->status == OCV_OK)
            out->status = ocv_registry_ping(client_registry(client), upstream->name, &out->login,
                                            &out->access, &out->err);
        client_release(client, out->status);
        out->wrong = out->status == OCV_ERR_DENIED || out->status == OCV_ERR_CONFIG ||
                     out->status == OCV_ERR_TLS;
    }
    return NULL;
}

void reach_all(struct clients *clients, const struct settings *settings, bool trusted,
               struct reach *list)
{
    struct login_checks r = {
        .clients = clients, .settings = settings, .trusted = trusted, .list = list};
    pthread_t threads[THREADS_MAX];
    pthread_attr_t attributes;
    size_t n = 0;
    atomic_init(&r.next, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    while (n < THREADS_MAX && n + 1 < settings->n_upstreams &&
           pthread_create(&threads[n], &attributes, run_checks, &r) == 0)
        n++;
    pthread_attr_destroy(&attributes);
    run_checks(&r);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}
