/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A taint is removed by its place in the Node's list, with a test that it still stands there: a
 * JSON patch of RFC 6902, since the list has no merge key. */
#include "cmd/common/daemons.h"
#include "cmd/variantd/common/log.h"
#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/node/node.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/format/json.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 10000
#define RETRY_MS 1000
#define RETRY_MAX_MS (60 * 1000)
#define AGAIN_MS (10 * 60 * 1000) /* the Node object may have been deleted and created again */
#define LOOK_MAX_MS (30 * 1000)   /* between two looks at all nodes */
#define NODES_PAGE 100            /* nodes of one answer */
#define ANSWER_MAX (16u * 1024 * 1024)
#define VALUES_MAX ((size_t)1 << 20) /* of JSON: a node has some hundreds */

struct taint_remover {
    struct taint_options options;
    char account[4096], node[KUBE_NODE_MAX], key[TAINT_KEY_MAX];
    json_t *since; /* with `after_ms`: name of a node with the taint -> when it was first seen */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ending; /* under the lock */
    volatile int interrupted;
    char failure[512]; /* the last one logged; used by the thread only, as `since` */
};

/* Send, and parse the answer. */
static int ask(struct taint_remover *r, const char *method, const char *path, const char *type,
               const char *body, json_t **out, struct ocv_error *err)
{
    ocv_auto_buffer answer;
    ocv_buffer_init(&answer, ANSWER_MAX);
    const struct kube_request request = {.account = r->account,
                                         .method = method,
                                         .path = path,
                                         .type = type,
                                         .body = body,
                                         .wanted = 200,
                                         .timeout_ms = ANSWER_MS,
                                         .interrupted = &r->interrupted,
                                         .answer = &answer};
    OCV_TRY(kube_api_send(&request, err));
    *out = ocv_json_load_any(answer.data ? answer.data : "", answer.len, VALUES_MAX,
                             JSON_REJECT_DUPLICATES, NULL);
    return *out ? OCV_OK : ocv_error_set(err, OCV_ERR_DATA, "the API server's answer is no JSON");
}

/* The patch that takes every taint of our key from a Node; NULL: it has none, or no memory. */
static char *taint_patch(const struct taint_remover *r, const json_t *node)
{
    const json_t *taints = json_object_get(json_object_get(node, "spec"), "taints");
    json_t *patch = json_array();
    for (size_t i = json_array_size(taints); i-- > 0;) { /* from the end: places stay as they are */
        char place[64], key[80];
        if (strcmp(ocv_json_text_or(json_array_get(taints, i), "key", ""), r->key) != 0)
            continue;
        snprintf(place, sizeof(place), "/spec/taints/%zu", i);
        snprintf(key, sizeof(key), "%s/key", place);
        json_array_append_new(
            patch, json_pack("{s:s, s:s, s:s}", "op", "test", "path", key, "value", r->key));
        json_array_append_new(patch, json_pack("{s:s, s:s}", "op", "remove", "path", place));
    }
    char *text = json_array_size(patch) ? json_dumps(patch, JSON_COMPACT) : NULL;
    json_decref(patch);
    return text;
}

/* Take it from the Node; `*had`: there was one. */
static int take(struct taint_remover *r, const json_t *node, bool *had, struct ocv_error *err)
{
    const char *name = ocv_json_text_or(json_object_get(node, "metadata"), "name", "");
    json_t *after = NULL;
    char path[512];
    ocv_auto_free char *patch = taint_patch(r, node);
    *had = patch != NULL;
    if (!patch)
        return OCV_OK;
    if (!kube_node_name_valid(name))
        return ocv_error_set(err, OCV_ERR_DATA, "the API server names a node '%.100s'", name);
    snprintf(path, sizeof(path), "/api/v1/nodes/%s?fieldManager=variantd", name);
    int status = ask(r, "PATCH", path, "application/json-patch+json", patch, &after, err);
    json_decref(after);
    return status;
}

/* Our own Node. The pod may not read it, but a change of nothing answers with it. */
static int take_own(struct taint_remover *r, struct ocv_error *err)
{
    char path[512];
    json_t *node = NULL;
    bool had = false;
    snprintf(path, sizeof(path), "/api/v1/nodes/%s?fieldManager=variantd", r->node);
    OCV_TRY(ask(r, "PATCH", path, "application/merge-patch+json", "{}", &node, err));
    int status = take(r, node, &had, err);
    json_decref(node);
    if (status == OCV_OK && had)
        log_line(LOG_LEVEL_INFO, "node %s serves: its taint %s is removed", r->node, r->key);
    return status;
}

/* One node of all: `fresh` gets those that have the taint and may keep it for now. */
static int take_expired(struct taint_remover *r, const json_t *node, json_t *fresh,
                        struct ocv_error *err)
{
    const char *name = ocv_json_text_or(json_object_get(node, "metadata"), "name", "");
    ocv_auto_free char *patch = taint_patch(r, node);
    bool had;
    if (!patch) {
        json_object_del(r->since, name);
        return OCV_OK;
    }
    const json_t *first = json_object_get(r->since, name);
    int64_t since = first ? json_integer_value(first) : ocv_clock_ms();
    json_object_set_new(fresh, name, json_integer(since));
    if (ocv_clock_ms() - since < r->options.after_ms)
        return OCV_OK;
    OCV_TRY(take(r, node, &had, err));
    json_object_del(fresh, name);
    json_object_del(r->since, name);
    metrics_add(r->options.metrics, METRIC_STARTUP_TAINTS_EXPIRED_TOTAL, 1);
    log_line(LOG_LEVEL_WARNING,
             "node %s has had the taint %s for %lld s, and its variantd does not serve: the taint "
             "is removed, and pods there get the default images",
             name, r->key, (long long)((ocv_clock_ms() - since) / 1000));
    return OCV_OK;
}

/* All nodes, a page at a time. A failure at one node does not keep the others. */
static int take_all_expired(struct taint_remover *r, struct ocv_error *err)
{
    char path[2048], next[1024] = "";
    json_t *fresh = json_object();
    struct ocv_error first = {0};
    int status;
    if (!fresh)
        return ocv_error_nomem(err);
    do {
        json_t *page = NULL, *node;
        size_t i;
        snprintf(path, sizeof(path), "/api/v1/nodes?limit=%d%s%s", NODES_PAGE,
                 *next ? "&continue=" : "", next);
        status = ask(r, "GET", path, "application/json", NULL, &page, err);
        next[0] = '\0';
        if (status == OCV_OK) {
            json_array_foreach(json_object_get(page, "items"), i, node)
            {
                struct ocv_error why = {0};
                if (take_expired(r, node, fresh, &why) < 0 && !first.status)
                    first = why;
            }
            /* base64url of the API server; anything else would change the request */
            const char *more = ocv_json_text_or(json_object_get(page, "metadata"), "continue", "");
            size_t n = strlen(more);
            if (n < sizeof(next) &&
                strspn(more, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                             "0123456789-_") == n)
                memcpy(next, more, n + 1);
            else
                status = ocv_error_set(err, OCV_ERR_DATA,
                                       "the API server's list goes on in no way that is known");
        }
        json_decref(page);
    } while (status == OCV_OK && *next);
    if (status < 0) { /* what was not seen may still be there */
        json_decref(fresh);
        return status;
    }
    json_decref(r->since);
    r->since = fresh;
    if (first.status)
        *err = first;
    return first.status;
}

static void *remove_taints(void *data)
{
    struct taint_remover *r = data;
    bool all = r->options.after_ms > 0;
    int64_t look_ms = !all                                    ? AGAIN_MS
                      : r->options.after_ms / 4 < LOOK_MAX_MS ? r->options.after_ms / 4 + 1
                                                              : LOOK_MAX_MS;
    int64_t retry_ms = RETRY_MS;
    pthread_mutex_lock(&r->lock);
    while (!r->ending) {
        struct ocv_error err = {0};
        pthread_mutex_unlock(&r->lock);
        int status = all ? take_all_expired(r, &err) : take_own(r, &err);
        if (status == OCV_OK) {
            r->failure[0] = '\0';
            retry_ms = RETRY_MS;
        } else if (strcmp(r->failure, err.message) != 0 && status != OCV_ERR_INTERRUPTED) {
            snprintf(r->failure, sizeof(r->failure), "%.500s", err.message);
            log_line(LOG_LEVEL_WARNING, "cannot remove the taint %s: %s; retrying", r->key,
                     err.message);
        }
        const struct timespec until = ocv_clock_after(status == OCV_OK ? look_ms : retry_ms);
        if (status < 0)
            retry_ms = retry_ms * 2 < RETRY_MAX_MS ? retry_ms * 2 : RETRY_MAX_MS;
        pthread_mutex_lock(&r->lock);
        int waited = 0;
        while (!r->ending && waited == 0)
            waited = pthread_cond_clockwait(&r->changed, &r->lock, CLOCK_MONOTONIC, &until);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

int taint_remover_new(const struct taint_options *options, struct taint_remover **out,
                      struct ocv_error *err)
{
    const char *node = kube_variable("NODE_NAME");
    if (!kube_api_known())
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "--startup-taint: not in a pod: KUBERNETES_SERVICE_HOST or "
                             "KUBERNETES_SERVICE_PORT is not set");
    if (!options->after_ms && !kube_node_name_valid(node))
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "--startup-taint: invalid node name '%.100s' in NODE_NAME", node);
    size_t n = strlen(options->key);
    if (n == 0 || n >= TAINT_KEY_MAX)
        return ocv_error_set(err, OCV_ERR_INVALID, "--startup-taint: '%.100s' is no taint's key",
                             options->key);
    struct taint_remover *r = calloc(1, sizeof(*r));
    if (!r)
        return ocv_error_nomem(err);
    r->options = *options;
    snprintf(r->account, sizeof(r->account), "%.4000s", options->account);
    snprintf(r->node, sizeof(r->node), "%.*s", KUBE_NODE_MAX - 1, options->after_ms ? "" : node);
    memcpy(r->key, options->key, n + 1);
    r->since = json_object();
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    if (!r->since || pthread_create(&r->thread, NULL, remove_taints, r) != 0) {
        pthread_cond_destroy(&r->changed);
        pthread_mutex_destroy(&r->lock);
        json_decref(r->since);
        free(r);
        return ocv_error_set(err, OCV_ERR_NOMEM, "cannot start a thread");
    }
    *out = r;
    return OCV_OK;
}

void taint_remover_free(struct taint_remover *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->ending = true;
    r->interrupted = 1;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    json_decref(r->since);
    free(r);
}
