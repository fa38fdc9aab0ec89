/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/daemons.h"
#include "cmd/variantd/common/log.h"
#include "cmd/variantd/node/node.h"
#include "lib/base/clock.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LABEL "dev.ocivariant/class"
#define ANNOTATION "dev.ocivariant/profile"
#define ESSENCE_MAX (128u * 1024) /* Kubernetes allows 256 KiB for all annotations */
#define ANSWER_MS 10000
#define RETRY_MS 1000
#define RETRY_MAX_MS (5 * 60 * 1000)
#define AGAIN_MS (60 * 60 * 1000) /* the Node object may have been deleted and created again */

struct announcer {
    char account[4096], path[512], node[KUBE_NODE_MAX];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char class[OCV_CLASS_MAX]; /* under the lock, as the members below */
    char *patch;               /* the change to send; NULL: none yet */
    uint64_t wanted, said;     /* number of the change to send, and of the last one sent */
    bool ending;
    volatile int interrupted;
    char failure[512]; /* the last one logged; used by the thread only */
};

/* Wait until `until_ms`, or, `for_work`, for a change to send. */
static void wait_until(struct announcer *a, int64_t until_ms, bool for_work)
{
    while (!a->ending && !(for_work && a->wanted != a->said) && ocv_clock_ms() < until_ms) {
        struct timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_sec += (until_ms - ocv_clock_ms()) / 1000 + 1;
        pthread_cond_clockwait(&a->changed, &a->lock, CLOCK_MONOTONIC, &at);
    }
}

static void *announce_all(void *data)
{
    struct announcer *a = data;
    int64_t retry_ms = RETRY_MS;
    pthread_mutex_lock(&a->lock);
    while (!a->ending) {
        struct ocv_error err = {0};
        char class[OCV_CLASS_MAX];
        wait_until(a, ocv_clock_ms() + AGAIN_MS, true);
        char *patch = a->ending || !a->patch ? NULL : strdup(a->patch);
        if (!patch)
            continue;
        uint64_t turn = a->wanted;
        bool news = turn != a->said;
        memcpy(class, a->class, sizeof(class));
        pthread_mutex_unlock(&a->lock);
        const struct kube_request request = {.account = a->account,
                                             .method = "PATCH",
                                             .path = a->path,
                                             .type = "application/merge-patch+json",
                                             .body = patch,
                                             .wanted = 200,
                                             .timeout_ms = ANSWER_MS,
                                             .interrupted = &a->interrupted};
        int status = kube_api_send(&request, &err);
        free(patch);
        if (status == OCV_OK && news)
            log_line(LOG_LEVEL_INFO, "announced class %s on node %s", class, a->node);
        if (status == OCV_OK) {
            a->failure[0] = '\0';
        } else if (strcmp(a->failure, err.message) != 0 && status != OCV_ERR_INTERRUPTED) {
            snprintf(a->failure, sizeof(a->failure), "%.500s", err.message);
            log_line(LOG_LEVEL_WARNING, "cannot announce this node's class: %s; retrying",
                     err.message);
        }
        pthread_mutex_lock(&a->lock);
        if (status == OCV_OK) {
            a->said = turn;
            retry_ms = RETRY_MS;
            continue;
        }
        wait_until(a, ocv_clock_ms() + retry_ms, false);
        retry_ms = retry_ms * 2 < RETRY_MAX_MS ? retry_ms * 2 : RETRY_MAX_MS;
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

void announcer_update(struct announcer *a, const struct ocv_profile *profile)
{
    struct ocv_error err = {0};
    char class[OCV_CLASS_MAX];
    ocv_auto_buffer essence;
    ocv_buffer_init(&essence, ESSENCE_MAX);
    int status = ocv_profile_class(profile, class, &err);
    bool whole = status == OCV_OK && ocv_profile_essence(profile, &essence, &err) == OCV_OK;
    if (status == OCV_OK && whole)
        essence.data[strcspn(essence.data, "\n")] = '\0';
    json_t *root = status == OCV_OK ? json_pack("{s:{s:{s:s}, s:{s:o}}}", "metadata", "labels",
                                                LABEL, class, "annotations", ANNOTATION,
                                                whole ? json_string(essence.data) : json_null())
                                    : NULL;
    char *patch = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (!patch) {
        log_line(LOG_LEVEL_WARNING, "cannot announce this node's class: %s",
                 status < 0 ? err.message : "out of memory");
        return;
    }
    if (!whole)
        log_line(LOG_LEVEL_WARNING,
                 "the profile is too large to announce; announcing the class only");
    pthread_mutex_lock(&a->lock);
    if (!a->patch || strcmp(a->patch, patch) != 0) {
        char *old = a->patch;
        a->patch = patch;
        patch = old;
        memcpy(a->class, class, sizeof(class));
        a->wanted++;
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    free(patch);
}

int announcer_new(const char *account, struct announcer **out, struct ocv_error *err)
{
    const char *node = kube_variable("NODE_NAME");
    if (!kube_api_known())
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "--announce kubernetes: not in a pod: KUBERNETES_SERVICE_HOST or "
                             "KUBERNETES_SERVICE_PORT is not set");
    if (!kube_node_name_valid(node))
        return ocv_error_set(err, OCV_ERR_CONFIG,
                             "--announce kubernetes: invalid node name '%.100s' in NODE_NAME",
                             node);
    struct announcer *a = calloc(1, sizeof(*a));
    if (!a)
        return ocv_error_nomem(err);
    snprintf(a->account, sizeof(a->account), "%.4000s", account);
    snprintf(a->node, sizeof(a->node), "%s", node);
    snprintf(a->path, sizeof(a->path), "/api/v1/nodes/%s?fieldManager=variantd", node);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    if (pthread_create(&a->thread, NULL, announce_all, a) != 0) {
        pthread_cond_destroy(&a->changed);
        pthread_mutex_destroy(&a->lock);
        free(a);
        return ocv_error_set(err, OCV_ERR_NOMEM, "cannot start a thread");
    }
    *out = a;
    return OCV_OK;
}

void announcer_free(struct announcer *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->ending = true;
    a->interrupted = 1;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a->patch);
    free(a);
}
