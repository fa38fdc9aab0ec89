/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /v1/registries: do they answer, and what can be served from them? */
#include "cmd/variantd/mirror/mirror_internal.h"
#include "cmd/variantd/upstream/upstream.h"

#include <jansson.h>
#include <stdlib.h>

/* Indexed by enum ocv_registry_access. */
static const char *const anybody[] = {"yes", "by repository", "no"};

int mirror_registries(struct mirror *m, bool trusted, struct ocv_buffer *json,
                      struct ocv_error *err)
{
    size_t n = m->settings->n_upstreams;
    struct reach *list = calloc(n + 1, sizeof(*list));
    json_t *registries = json_array();
    if (list && registries)
        reach_all(m->clients, m->settings, trusted, list);
    for (size_t i = 0; list && registries && i < n; i++) {
        const struct reach *reach = &list[i];
        bool failed = reach->status < 0;
        const char *login = !reach->login                     ? "none"
                            : reach->status == OCV_ERR_DENIED ? "refused"
                                                              : "accepted";
        json_t *out = json_pack("{s:s, s:b, s:s, s:s, s:s?, s:s?, s:s?}", "name",
                                m->settings->upstreams[i].name, "answers",
                                !failed || reach->status == OCV_ERR_DENIED, "anybody",
                                anybody[reach->access], "login", login, "fault",
                                !failed        ? NULL
                                : reach->wrong ? "configuration"
                                               : "network",
                                "message", failed ? reach->err.message : NULL, "hint",
                                failed && *reach->err.hint ? reach->err.hint : NULL);
        /* Names that clients asked for and that the registry refused; for trusted clients only. */
        struct denied sum = {0};
        pthread_mutex_lock(&m->lock);
        for (size_t k = 0; k < 2; k++) {
            const struct denied *d = &m->denied[2 * i + k];
            sum.n += d->n;
            if (d->n)
                snprintf(sum.name, sizeof(sum.name), "%s", d->name);
        }
        pthread_mutex_unlock(&m->lock);
        if (out && sum.n)
            json_object_set_new(out, "refused",
                                json_pack("{s:I, s:s?}", "requests", (json_int_t)sum.n,
                                          "repository", trusted ? sum.name : NULL));
        json_array_append_new(registries, out);
    }
    free(list);
    json_t *root = json_pack("{s:b, s:b, s:o}", "trusted", trusted, "servePrivate",
                             m->settings->serve_private, "registries", registries);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    int status = text ? ocv_buffer_printf(json, err, "%s\n", text) : ocv_error_nomem(err);
    json_decref(root);
    free(text);
    return status;
}
