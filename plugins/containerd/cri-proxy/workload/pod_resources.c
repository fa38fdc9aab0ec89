/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include "lib/base/cleanup.h"
#include "lib/internal/grpc/grpc.h"

#include <stdio.h>
#include <string.h>

#define GET "/v1.PodResourcesLister/Get"

/* GetPodResourcesRequest { string pod_name = 1, pod_namespace = 2; }
 * GetPodResourcesResponse { PodResources pod_resources = 1; }
 * PodResources { string name = 1, namespace = 2; repeated ContainerResources containers = 3; ... }
 * ContainerResources { ...; repeated ContainerDevices devices = 2; ...;
 *                      repeated DynamicResource dynamic_resources = 5; }
 * ContainerDevices { string resource_name = 1; repeated string device_ids = 2; ... }
 * DynamicResource { ...; repeated ClaimResource claim_resources = 4; }
 * ClaimResource { repeated CDIDevice cdi_devices = 1; string driver_name = 2, pool_name = 3,
 *                 device_name = 4; ... }
 * CDIDevice { string name = 1; } */

struct device_reader {
    struct ocv_given_devices *out;
    char name[PODS_NAME_MAX], name_space[PODS_NAME_MAX];
    char owner[OCV_GIVEN_TEXT_MAX]; /* of the devices being read */
    size_t group;
    bool failed;
};

/* Text that is too long is none of ours. */
static void take_text(struct device_reader *r, const uint8_t *bytes, const struct grpc_field *field,
                      char *out, size_t size)
{
    const struct request_text text = {(const char *)bytes + field->at, field->len};
    if (!field->len)
        out[0] = '\0';
    else if (!request_copy(text, out, size))
        r->failed = true;
}

static void add_devices(struct device_reader *r, const uint8_t *bytes,
                        const struct grpc_field *field)
{
    struct ocv_given_devices *all = r->out;
    if (all->n == OCV_GIVEN_MAX) {
        r->failed = true;
        return;
    }
    struct ocv_given_device *device = &all->list[all->n++];
    *device = (struct ocv_given_device){.group = r->group};
    take_text(r, bytes, field, device->id, sizeof(device->id));
}

static void set_owner(struct device_reader *r, size_t from)
{
    for (size_t i = from; i < r->out->n; i++)
        memcpy(r->out->list[i].owner, r->owner, sizeof(r->owner));
}

enum message { RESPONSE, POD, CONTAINER, DEVICES, DYNAMIC, CLAIM, CDI };

static void read_message(struct device_reader *r, enum message which, const uint8_t *bytes,
                         size_t len)
{
    struct grpc_field field;
    size_t pos = 0;
    int more;
    while (!r->failed && (more = grpc_field_next(bytes, len, &pos, &field)) != 0) {
        r->failed = more < 0;
        if (more < 0 || field.type != GRPC_BYTES)
            continue;
        const uint8_t *inner = bytes + field.at;
        size_t from = r->out->n;
        switch (which) {
        case RESPONSE:
            if (field.number == 1)
                read_message(r, POD, inner, field.len);
            break;
        case POD:
            if (field.number == 1)
                take_text(r, bytes, &field, r->name, sizeof(r->name));
            else if (field.number == 2)
                take_text(r, bytes, &field, r->name_space, sizeof(r->name_space));
            else if (field.number == 3)
                read_message(r, CONTAINER, inner, field.len);
            break;
        case CONTAINER:
            if (field.number == 2) {
                r->owner[0] = '\0';
                read_message(r, DEVICES, inner, field.len);
                set_owner(r, from);
            } else if (field.number == 5) {
                read_message(r, DYNAMIC, inner, field.len);
            }
            break;
        case DEVICES:
            r->group = from;
            if (field.number == 1)
                take_text(r, bytes, &field, r->owner, sizeof(r->owner));
            else if (field.number == 2)
                add_devices(r, bytes, &field);
            break;
        case DYNAMIC:
            if (field.number == 4) {
                r->group = from;
                r->owner[0] = '\0';
                read_message(r, CLAIM, inner, field.len);
                set_owner(r, from);
            }
            break;
        case CLAIM:
            if (field.number == 1)
                read_message(r, CDI, inner, field.len);
            else if (field.number == 2)
                take_text(r, bytes, &field, r->owner, sizeof(r->owner));
            else if (field.number == 4)
                add_devices(r, bytes, &field);
            break;
        case CDI:
            if (field.number == 1)
                add_devices(r, bytes, &field);
            break;
        }
    }
}

int pod_resources_parse(const uint8_t *message, size_t len, const struct pod *pod,
                        struct ocv_given_devices *out, struct ocv_error *err)
{
    struct device_reader r = {.out = out};
    out->n = 0;
    read_message(&r, RESPONSE, message, len);
    if (r.failed)
        return ocv_error_set(err, OCV_ERR_DATA, "kubelet's answer is malformed");
    if (strcmp(r.name, pod->name) != 0 || strcmp(r.name_space, pod->name_space) != 0)
        return ocv_error_set(err, OCV_ERR_DATA, "kubelet's answer is about %.100s/%.100s",
                             r.name_space, r.name);
    return OCV_OK;
}

struct resources_call {
    const struct pod *pod;
    struct ocv_given_devices *out;
    struct ocv_error *err;
    int status;
    bool answered;
};

static int on_answer(void *data, const uint8_t *message, size_t len)
{
    struct resources_call *a = data;
    a->answered = true;
    a->status = pod_resources_parse(message, len, a->pod, a->out, a->err);
    return a->status < 0;
}

static int put_text(struct ocv_buffer *out, uint8_t number, const char *text, struct ocv_error *err)
{
    uint8_t head[GRPC_VARINT_MAX + 1] = {(uint8_t)(number << 3 | GRPC_BYTES)};
    size_t n = 1 + grpc_put_varint(head + 1, strlen(text));
    OCV_TRY(ocv_buffer_append(out, head, n, err));
    return ocv_buffer_append(out, text, strlen(text), err);
}

int pod_resources_ask(struct grpc_client *kubelet, const struct pod *pod,
                      struct ocv_given_devices *out, struct ocv_error *err)
{
    struct grpc_result result = {.code = GRPC_UNKNOWN};
    struct resources_call asking = {.pod = pod, .out = out, .err = err};
    ocv_auto_buffer request;
    ocv_buffer_init(&request, 4 * PODS_NAME_MAX);
    out->n = 0;
    OCV_TRY(put_text(&request, 1, pod->name, err));
    OCV_TRY(put_text(&request, 2, pod->name_space, err));
    OCV_TRY(grpc_client_call(kubelet, GET, NULL, 0, request.data, request.len, POD_RESOURCES_MS,
                             on_answer, &asking, &result, err));
    OCV_TRY(asking.status);
    if (result.code != GRPC_OK || !asking.answered)
        return ocv_error_set(err,
                             result.code == GRPC_NOT_FOUND ? OCV_ERR_NOT_FOUND : OCV_ERR_NETWORK,
                             "kubelet answers: %.300s", result.message);
    return OCV_OK;
}
