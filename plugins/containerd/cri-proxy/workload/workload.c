/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/workload_internal.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "plugins/containerd/cri-proxy/request/pinned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRUNE_MS 60000 /* interval of listing the engine's sandboxes */
#define PRUNE_AGE_S 60 /* a pod's row may be older than its sandbox */

bool work_begin(struct work *work, struct workload_answer *answer)
{
    const struct workload_call *call = work->call;
    struct ocv_error err = {0};
    if (!workload_request_read(call->message, call->len, &work->request)) {
        answer_refusal(answer, GRPC_INVALID_ARGUMENT, "ocivariant: malformed request");
        return false;
    }
    pods_of_request(work->workload->pods, &work->request, &work->pod);
    if (workload_wishes_read(&work->request, call->decide->config, &work->wishes, &err) < 0) {
        answer_error(answer, &err);
        return false;
    }
    /* "devices=" is the first line of the canonical form. */
    static const char key[] = "devices=";
    const char *text = work->wishes.text;
    if (work->wishes.devices == WISHES_UNSAID)
        snprintf(work->devices, sizeof(work->devices), "%s", DEVICES_NODE);
    else
        snprintf(work->devices, sizeof(work->devices), "%.*s",
                 (int)strcspn(text + sizeof(key) - 1, "\n"), text + sizeof(key) - 1);
    return true;
}

struct state_key work_key(const struct work *work)
{
    return (struct state_key){work->call->text, work->wishes.text, work->devices};
}

struct state_pod work_pod(const struct work *work)
{
    return (struct state_pod){work->pod.uid, work->pod.seen};
}

void answer_refusal(struct workload_answer *answer, enum grpc_code code, const char *reason)
{
    answer->way = WORKLOAD_REFUSE;
    answer->code = code;
    snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
    log_line("refused: %s", reason);
}

void answer_error(struct workload_answer *answer, const struct ocv_error *err)
{
    char reason[WORKLOAD_REASON_MAX];
    enum grpc_code code = GRPC_UNAVAILABLE;
    if (err->status == OCV_ERR_INVALID)
        code = GRPC_INVALID_ARGUMENT;
    else if (err->status == OCV_ERR_NO_MATCH || err->status == OCV_ERR_CHECK ||
             err->status == OCV_ERR_UNTRUSTED)
        code = GRPC_FAILED_PRECONDITION;
    else if (err->status == OCV_ERR_NOT_FOUND)
        code = GRPC_NOT_FOUND;
    else if (err->status == OCV_ERR_DENIED)
        code = GRPC_PERMISSION_DENIED;
    else if (err->status == OCV_ERR_NOMEM)
        code = GRPC_RESOURCE_EXHAUSTED;
    snprintf(reason, sizeof(reason), "ocivariant: %.*s", (int)(sizeof(reason) - 16), err->message);
    answer_refusal(answer, code, reason);
}

void answer_child(const struct work *work, const char *child, struct workload_answer *answer)
{
    const char *text = work->call->text;
    if (pinned_rewrite(text, strlen(text), child, answer->name))
        answer->way = WORKLOAD_EDIT;
    else
        answer_refusal(answer, GRPC_INVALID_ARGUMENT, "ocivariant: the image's name is too long");
}

/* Part of the key is the pod as it is now: a pod that may not read the image must not learn
 * another's refusal. */
static char *refusal_key(const struct work *work)
{
    char *key = NULL;
    if (!*work->pod.seen)
        return NULL;
    return asprintf(&key, "%s\n%s\n%s", work->pod.seen, work->call->text, work->wishes.text) < 0
               ? NULL
               : key;
}

void refusal_keep(const struct work *work, const struct workload_answer *answer)
{
    struct workload *w = work->workload;
    char *key = refusal_key(work);
    if (!key ||
        (answer->code != GRPC_INVALID_ARGUMENT && answer->code != GRPC_FAILED_PRECONDITION)) {
        free(key);
        return;
    }
    pthread_mutex_lock(&w->lock);
    struct refusal *r = &w->refusals[w->next_refusal];
    w->next_refusal = (w->next_refusal + 1) % REFUSALS_MAX;
    free(r->key);
    *r = (struct refusal){.key = key, .code = answer->code, .until = ocv_clock_ms() + REFUSAL_MS};
    memcpy(r->reason, answer->reason, sizeof(r->reason));
    pthread_mutex_unlock(&w->lock);
}

bool refusal_find(const struct work *work, struct workload_answer *answer)
{
    struct workload *w = work->workload;
    char *key = refusal_key(work);
    bool found = false;
    int64_t now = ocv_clock_ms();
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; key && i < REFUSALS_MAX; i++) {
        const struct refusal *r = &w->refusals[i];
        if (!r->key || r->until <= now || strcmp(r->key, key) != 0)
            continue;
        answer->way = WORKLOAD_REFUSE;
        answer->code = r->code;
        memcpy(answer->reason, r->reason, sizeof(answer->reason));
        found = true;
    }
    pthread_mutex_unlock(&w->lock);
    free(key);
    return found;
}

/* Choose again with another profile or configuration: the result is the same child, another child
 * of its index with the same user, or none, so that the next pull asks the registry. */
static int choose_again(struct workload *w, const struct decide *decide,
                        const struct ocv_profile *profile, struct state_copy *row,
                        struct ocv_error *err)
{
    char user[OCV_IMAGE_USER_MAX];
    ocv_auto_buffer body;
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_reference) reference = NULL;
    __attribute__((cleanup(workload_wishes_free))) struct workload_wishes wishes = {0};
    const struct ocv_entry *entry = NULL;
    ocv_buffer_init(&body, STATE_INDEX_MAX);
    if (strcmp(row->value.index, row->value.child) == 0)
        return OCV_OK; /* there is nothing to choose from */
    OCV_TRY(state_index(w->state, row->value.index, &body, err));
    OCV_TRY(ocv_index_parse(body.data, body.len, NULL, &index, err));
    OCV_TRY(decide_walk(NULL, NULL, &index, err));
    OCV_TRY(ocv_reference_parse(row->reference, &reference, err));
    OCV_TRY(workload_wishes_parse(row->wishes, &wishes, err));
    const struct choose_question question = {
        .name = row->reference,
        .config = ocv_config_for_reference(decide->config, reference),
        .tag = reference->tag,
        .wishes = &wishes,
        .devices = row->devices,
        .index = index,
        .profile = profile};
    OCV_TRY(choose_entry(&question, &entry, err));
    if (strcmp(entry->digest, row->value.child) == 0)
        return OCV_OK;
    if (!users_recall(&w->users, entry->digest, user) || strcmp(user, row->value.user) != 0)
        return ocv_error_set(err, OCV_ERR_CHECK, "the user of %s is not known", entry->digest);
    snprintf(row->value.child, sizeof(row->value.child), "%s", entry->digest);
    const struct state_key key = {row->reference, row->wishes, row->devices};
    log_line("the node has changed: %s -> %s", row->reference, entry->digest);
    return state_put_choice(w->state, &key, &row->value, NULL, 0, err);
}

void workload_tend(struct workload *w, const struct decide *decide, unsigned generation)
{
    char digest[OCV_DIGEST_MAX] = "";
    struct ocv_error err = {0};
    struct state_copy row;
    int64_t none = 0;
    ocv_auto(ocv_profile) profile = NULL;
    int64_t now = ocv_clock_ms();
    if (now - w->pruned >= PRUNE_MS) {
        w->pruned = now;
        struct pods_list live = {0};
        int64_t since = (int64_t)time(NULL) - PRUNE_AGE_S;
        bool any = state_count_pods(w->state) > 0;
        int status = any ? pods_ask(w->pods, w->engine, &live, &err) : OCV_OK;
        struct state_pod *pods = any && status == OCV_OK ? calloc(live.n + 1, sizeof(*pods)) : NULL;
        for (size_t i = 0; pods && i < live.n; i++)
            pods[i] = (struct state_pod){live.list[i].uid, live.list[i].seen};
        if (pods)
            state_prune(w->state, pods, live.n, since);
        if (status < 0)
            log_debug("%s", err.message);
        free(pods);
        pods_list_free(&live);
    }
    if (!state_next_choice(w->state, &none, &row))
        return;
    state_copy_free(&row);
    if (decide_profile(decide, &profile, digest, &err) < 0 ||
        (generation == w->generation && strcmp(digest, w->profile) == 0))
        return;
    bool changed = *w->profile || generation != w->generation;
    for (int64_t after = 0; changed && state_next_choice(w->state, &after, &row);) {
        struct ocv_error why = {0};
        const struct state_key key = {row.reference, row.wishes, row.devices};
        int status = choose_again(w, decide, profile, &row, &why);
        if (status < 0 && status != OCV_ERR_NOMEM) {
            log_line("%s is chosen again at the next pull: %s", row.reference, why.message);
            state_drop_choice(w->state, &key);
        }
        state_copy_free(&row);
    }
    memcpy(w->profile, digest, sizeof(w->profile));
    w->generation = generation;
}

void workload_tick(struct workload *w)
{
    grpc_client_tend(w->engine);
    grpc_client_tend(w->kubelet);
}

OCV_DEFINE_CLEANUP(workload)

int workload_new(const struct workload_options *options, struct workload **out,
                 struct ocv_error *err)
{
    ocv_auto(workload) w = calloc(1, sizeof(*w));
    if (!w)
        return ocv_error_nomem(err);
    pthread_mutex_init(&w->lock, NULL);
    pthread_mutex_init(&w->users.lock, NULL);
    w->state = options->state;
    OCV_TRY(pods_new(&w->pods, err));
    OCV_TRY(counts_new(options->metrics, &w->counts, err));
    OCV_TRY(grpc_client_new(options->backend, &w->engine, err));
    OCV_TRY(grpc_client_new(options->pod_resources, &w->kubelet, err));
    *out = ocv_steal(&w);
    return OCV_OK;
}

void workload_free(struct workload *w)
{
    if (!w)
        return;
    pods_free(w->pods);
    counts_free(w->counts);
    grpc_client_free(w->engine);
    grpc_client_free(w->kubelet);
    for (size_t i = 0; i < POD_DEVICES_MAX; i++)
        free(w->given[i].devices);
    for (size_t i = 0; i < REFUSALS_MAX; i++)
        free(w->refusals[i].key);
    for (size_t i = 0; i < WARNED_MAX; i++)
        free(w->warned[i]);
    pthread_mutex_destroy(&w->users.lock);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
