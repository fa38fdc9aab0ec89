/* SPDX-License-Identifier: GPL-3.0-or-later */
/* containerd's filters, run over a snapshot. */
#include "plugins/containerd/snapshotter/service/service_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[] = "k8s.io/7/sha256:0123", parent[] = "k8s.io/6/sha256:4567";
    struct snap_info info = {.name = name, .parent = parent, .kind = SNAP_COMMITTED};
    struct snap_filter *filter = NULL;
    struct ocv_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    snap_labels_init(&info.labels);
    (void)snap_labels_set(&info.labels, "containerd.io/snapshot.ref", "sha256:0123", &err);
    (void)snap_labels_set(&info.labels, "a.b", "some text of a label", &err);
    if (snap_filter_new(&text, 1, &filter, &err) == GRPC_OK)
        (void)snap_filter_match(filter, &info);
    snap_filter_free(filter);
    ocv_buffer_free(&info.labels);
    free(text);
    return 0;
}
