/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods in requests: all texts found lie within the request, and accepted wishes are the same after
 * parsing their canonical form. */
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void inside(const uint8_t *data, size_t size, struct request_text text)
{
    const uint8_t *at = (const uint8_t *)text.at;
    check(!text.len || (at >= data && text.len <= size && at + text.len <= data + size));
}

static void read_back(const struct workload_wishes *wishes)
{
    struct workload_wishes again;
    check(workload_wishes_parse(wishes->text, &again, NULL) == OCV_OK);
    check(strcmp(wishes->text, again.text) == 0);
    check(strcmp(wishes->label, again.label) == 0 && wishes->devices == again.devices);
    workload_wishes_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workload_request request;
    struct workload_wishes wishes;
    struct ocv_config *config;
    if (!workload_request_read(data, size, &request))
        return 0;
    for (size_t i = 0; i < WORKLOAD_WISHES; i++)
        inside(data, size, request.wishes[i]);
    const struct request_text texts[] = {request.seen,     request.hash, request.source,
                                         request.pod_name, request.uid,  request.name_space};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        inside(data, size, texts[i]);
    check(ocv_config_new(&config, NULL) == OCV_OK);
    if (workload_wishes_read(&request, config, &wishes, NULL) == OCV_OK)
        read_back(&wishes);
    workload_wishes_free(&wishes);
    ocv_config_free(config);
    return 0;
}
