/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A container engine's list of sandboxes. */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pods_list list = {0};
    if (pods_parse(data, size, &list, NULL) == OCV_OK)
        for (size_t i = 0; i < list.n; i++)
            if (!*list.list[i].uid || strlen(list.list[i].seen) >= STATE_POD_MAX)
                abort();
    pods_list_free(&list);
    return 0;
}
