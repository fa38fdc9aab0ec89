/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include "lib/internal/grpc/grpc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST "/runtime.v1.RuntimeService/ListPodSandbox"
#define SANDBOXES_MAX 8192u /* in one answer */
#define SEEN "kubernetes.io/config.seen"

struct pods {
    pthread_mutex_t lock;
    struct pod *list; /* when it is full, the oldest one is at `next` */
    size_t n, next;
};

int pods_new(struct pods **out, struct ocv_error *err)
{
    struct pods *p = calloc(1, sizeof(*p));
    if (!p || !(p->list = calloc(PODS_MAX, sizeof(*p->list)))) {
        free(p);
        return ocv_error_nomem(err);
    }
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return OCV_OK;
}

void pods_free(struct pods *p)
{
    if (!p)
        return;
    pthread_mutex_destroy(&p->lock);
    free(p->list);
    free(p);
}

void pods_list_free(struct pods_list *list)
{
    free(list->list);
    *list = (struct pods_list){0};
}

/* Call with the lock held. When kubelet restarts a pod gets another config.seen, while its old
 * sandbox keeps the old one. */
static void keep_pod(struct pods *p, const struct pod *pod)
{
    if (!*pod->uid || !*pod->seen)
        return;
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->list[i].uid, pod->uid) == 0 && strcmp(p->list[i].seen, pod->seen) == 0)
            return;
    p->list[p->next] = *pod;
    p->next = (p->next + 1) % PODS_MAX;
    p->n += p->n < PODS_MAX;
}

/* If two pods were first seen at the same moment, neither is returned. */
bool pods_find(struct pods *p, const char *seen, struct pod *out)
{
    size_t found = 0;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; *seen && i < p->n; i++)
        if (strcmp(p->list[i].seen, seen) == 0) {
            *out = p->list[i];
            found++;
        }
    pthread_mutex_unlock(&p->lock);
    return found == 1;
}

void pods_of_request(struct pods *p, const struct workload_request *request, struct pod *out)
{
    struct pod known;
    char source[16];
    *out = (struct pod){0};
    if (!request_copy(request->seen, out->seen, sizeof(out->seen)))
        out->seen[0] = '\0';
    if (request_copy(request->uid, out->uid, sizeof(out->uid))) {
        if (!request_copy(request->pod_name, out->name, sizeof(out->name)) ||
            !request_copy(request->name_space, out->name_space, sizeof(out->name_space)))
            out->name[0] = '\0';
        pthread_mutex_lock(&p->lock);
        keep_pod(p, out);
        pthread_mutex_unlock(&p->lock);
    } else if (pods_find(p, out->seen, &known)) {
        *out = known;
    } else if (request_copy(request->source, source, sizeof(source)) &&
               (strcmp(source, "file") == 0 || strcmp(source, "http") == 0)) {
        /* A static pod's uid is the hash of its file. A pod from the API may set that annotation to
         * anything, but not the source, which kubelet writes. */
        if (!request_copy(request->hash, out->uid, sizeof(out->uid)))
            out->uid[0] = '\0';
    }
}

/*
 * ListPodSandboxResponse { repeated PodSandbox items = 1; }
 * PodSandbox { PodSandboxMetadata metadata = 2; ...; map<string, string> annotations = 6; ... }
 * PodSandboxMetadata { string name = 1, uid = 2, namespace = 3; ... } */

static void take_text(const uint8_t *bytes, const struct grpc_field *field, char *out, size_t size)
{
    const struct request_text text = {(const char *)bytes + field->at, field->len};
    if (!request_copy(text, out, size))
        out[0] = '\0';
}

static bool read_metadata(const uint8_t *bytes, size_t len, struct pod *out)
{
    struct grpc_field field;
    size_t pos = 0;
    int more;
    while ((more = grpc_field_next(bytes, len, &pos, &field)) == 1) {
        if (field.type != GRPC_BYTES)
            continue;
        if (field.number == 1)
            take_text(bytes, &field, out->name, sizeof(out->name));
        else if (field.number == 2)
            take_text(bytes, &field, out->uid, sizeof(out->uid));
        else if (field.number == 3)
            take_text(bytes, &field, out->name_space, sizeof(out->name_space));
    }
    return more == 0;
}

static bool read_annotation(const uint8_t *bytes, size_t len, struct pod *out)
{
    struct grpc_field field;
    struct grpc_field value = {0};
    size_t pos = 0;
    bool seen = false;
    int more;
    while ((more = grpc_field_next(bytes, len, &pos, &field)) == 1) {
        if (field.type == GRPC_BYTES && field.number == 1)
            seen = field.len == strlen(SEEN) && memcmp(bytes + field.at, SEEN, field.len) == 0;
        else if (field.type == GRPC_BYTES && field.number == 2)
            value = field;
    }
    if (seen && value.number)
        take_text(bytes, &value, out->seen, sizeof(out->seen));
    return more == 0;
}

int pods_parse(const uint8_t *message, size_t len, struct pods_list *out, struct ocv_error *err)
{
    struct grpc_field item, field;
    size_t pos = 0;
    int more;
    while ((more = grpc_field_next(message, len, &pos, &item)) == 1) {
        size_t at = 0;
        if (item.type != GRPC_BYTES || item.number != 1)
            continue;
        const uint8_t *sandbox = message + item.at;
        if (out->n == SANDBOXES_MAX)
            return ocv_error_set(err, OCV_ERR_DATA, "more than %u sandboxes", SANDBOXES_MAX);
        if (out->n % 64 == 0) {
            struct pod *more_room = realloc(out->list, (out->n + 64) * sizeof(*more_room));
            if (!more_room)
                return ocv_error_nomem(err);
            out->list = more_room;
        }
        struct pod *pod = &out->list[out->n];
        *pod = (struct pod){0};
        bool sound = true;
        while (sound && (more = grpc_field_next(sandbox, item.len, &at, &field)) == 1)
            if (field.type == GRPC_BYTES && field.number == 2)
                sound = read_metadata(sandbox + field.at, field.len, pod);
            else if (field.type == GRPC_BYTES && field.number == 6)
                sound = read_annotation(sandbox + field.at, field.len, pod);
        if (more != 0)
            break;
        out->n += *pod->uid != '\0';
    }
    return more == 0 ? OCV_OK : ocv_error_set(err, OCV_ERR_DATA, "malformed list of sandboxes");
}

struct pods_call {
    struct pods_list *list;
    struct ocv_error *err;
    int status;
};

static int on_answer(void *data, const uint8_t *message, size_t len)
{
    struct pods_call *a = data;
    a->status = pods_parse(message, len, a->list, a->err);
    return a->status < 0;
}

int pods_ask(struct pods *p, struct grpc_client *engine, struct pods_list *live,
             struct ocv_error *err)
{
    struct grpc_result result;
    struct pods_call answer = {.list = live, .err = err};
    *live = (struct pods_list){0};
    int status = grpc_client_call(engine, LIST, NULL, 0, "", 0, PODS_ASK_MS, on_answer, &answer,
                                  &result, err);
    if (status == OCV_OK && answer.status < 0)
        status = answer.status;
    else if (status == OCV_OK && result.code != GRPC_OK)
        status = ocv_error_set(err, OCV_ERR_ENGINE, "the engine's sandboxes: %s", result.message);
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; status == OCV_OK && i < live->n; i++)
        keep_pod(p, &live->list[i]);
    pthread_mutex_unlock(&p->lock);
    if (status < 0)
        pods_list_free(live);
    return status;
}
