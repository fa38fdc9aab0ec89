/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kubelet's report on a pod's devices, and their search in a profile: the result is valid as a
 * configuration's devices. */
#include "lib/internal/config/config.h"
#include "plugins/containerd/cri-proxy/workload/workload.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "{\"schema\":\"dev.ocivariant.profile/v1\",\"platform\":{\"os\":\"linux\",\"architecture\":"
    "\"amd64\"},\"namespaces\":[{\"namespace\":\"nvidia\",\"status\":\"ok\",\"features\":[{"
    "\"name\":\"sm_arch\",\"values\":[\"90_real\"]}],\"devices\":[{\"id\":\"0000:01:00.0\","
    "\"index\":0,\"uuid\":\"GPU-1\",\"features\":[]},{\"id\":\"0000:02:00.0\",\"index\":1,"
    "\"uuid\":\"GPU-2\",\"features\":[]}]}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ocv_given_devices given;
    static struct ocv_profile *profile;
    const struct pod pod = {.name = "p", .name_space = "default"};
    char out[OCV_GIVEN_FOUND_MAX];
    struct ocv_config *config = NULL;
    if (!profile && ocv_profile_parse(text, sizeof(text) - 1, &profile, NULL) < 0)
        abort();
    if (pod_resources_parse(data, size, &pod, &given, NULL) < 0)
        return 0;
    if (ocv_given_find(&given, profile, out, sizeof(out), NULL) == OCV_OK && *out) {
        if (ocv_config_new(&config, NULL) < 0 ||
            ocv_config_set(config, "devices", "devices", out, false, NULL) < 0)
            abort();
        ocv_config_free(config);
    }
    return 0;
}
