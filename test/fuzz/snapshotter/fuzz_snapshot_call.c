/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call: the first byte selects its method, the others are its message. It is decoded and answered
 * by a back end in a directory of its own; the answer is discarded. */
#include "plugins/containerd/snapshotter/overlay/overlay_internal.h"
#include "plugins/containerd/snapshotter/service/service.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *request;
static size_t request_len;
static char path[80];

/* The part of a call that the service uses, in place of lib/internal/grpc's. */
struct grpc_call {
    int unused;
};

const char *grpc_call_path(const struct grpc_call *call)
{
    (void)call;
    return path;
}

const char *grpc_call_metadata(const struct grpc_call *call, const char *name)
{
    (void)call;
    return strcmp(name, "containerd-namespace") == 0 ? "k8s.io" : NULL;
}

int64_t grpc_call_left(const struct grpc_call *call)
{
    (void)call;
    return -1;
}

bool grpc_call_cancelled(struct grpc_call *call)
{
    (void)call;
    return false;
}

int grpc_call_gone_fd(struct grpc_call *call)
{
    (void)call;
    return -1;
}

const uint8_t *grpc_call_request(const struct grpc_call *call, size_t *len)
{
    (void)call;
    *len = request_len;
    return request;
}

int grpc_call_send(struct grpc_call *call, const void *message, size_t len)
{
    volatile uint8_t sum = 0;
    (void)call;
    for (size_t i = 0; i < len; i++) /* every byte must be initialised */
        sum = (uint8_t)(sum + ((const uint8_t *)message)[i]);
    return OCV_OK;
}

void grpc_call_push(struct grpc_call *call)
{
    (void)call;
}

void grpc_call_finish(struct grpc_call *call, enum grpc_code code, const char *message)
{
    (void)call;
    if (code != GRPC_OK && message && strlen(message) > OCV_ERROR_MESSAGE_MAX)
        abort();
}

static struct snap_service s;
static char root[] = "/tmp/ocv-fuzz-XXXXXX";

static void close_service(void)
{
    snap_overlay_free(s.overlay);
    snap_meta_close(s.meta);
    (void)snap_tree_remove(AT_FDCWD, root);
    memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
}

static struct snap_service *service(void)
{
    static unsigned calls;
    struct ocv_error err = {0};
    if (s.meta && ++calls % 4096 != 0)
        return &s;
    if (s.meta) /* keeps the disk from filling up */
        close_service();
    else if (atexit(close_service) != 0)
        abort();
    if (!mkdtemp(root) || snap_meta_open(":memory:", &s.meta, &err) < 0 ||
        snap_overlay_open(root, true, s.meta, NULL, &s.overlay, &err) < 0)
        abort();
    return &s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"Prepare", "View",   "Mounts", "Commit", "Remove",
                                          "Stat",    "Update", "List",   "Usage",  "Cleanup"};
    struct grpc_call call = {0};
    if (size == 0)
        return 0;
    snprintf(path, sizeof(path), SNAP_SERVICE "%s",
             methods[data[0] % (sizeof(methods) / sizeof(*methods))]);
    request = data + 1;
    request_len = size - 1;
    snap_service_handle(service(), &call);
    return 0;
}
