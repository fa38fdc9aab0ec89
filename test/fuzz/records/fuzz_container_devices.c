/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a container's specification: its devices become a list that parses again, and those
 * found in a profile are valid as a configuration's devices. */
#include "lib/internal/config/config.h"
#include "lib/internal/records/records.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "{\"schema\":\"dev.ocivariant.profile/v1\",\"platform\":{\"os\":\"linux\",\"architecture\":"
    "\"amd64\"},\"namespaces\":[{\"namespace\":\"nvidia\",\"status\":\"ok\",\"features\":[{"
    "\"name\":\"sm_arch\",\"values\":[\"90_real\"]}],\"devices\":[{\"id\":\"0000:01:00.0\","
    "\"index\":0,\"uuid\":\"GPU-1\",\"features\":[]},{\"id\":\"0000:02:00.0\",\"index\":1,"
    "\"uuid\":\"GPU-2\",\"features\":[]}]}]}";

static void look_up(const char *list)
{
    static struct ocv_given_devices given;
    static struct ocv_profile *profile;
    char out[OCV_GIVEN_FOUND_MAX];
    struct ocv_workload_input input = {0};
    struct ocv_preferences preferences = {0};
    if (!profile && ocv_profile_parse(text, sizeof(text) - 1, &profile, NULL) < 0)
        abort();
    if (ocv_workload_given(list, &given, NULL) < 0 ||
        ocv_given_find(&given, profile, out, sizeof(out), NULL) < 0)
        return;
    if (ocv_workload_devices(out, profile, &input, &preferences, NULL) < 0 ||
        preferences.n_devices != 1)
        abort();
    ocv_workload_input_free(&input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *spec = json_loadb((const char *)data, size, JSON_DISABLE_EOF_CHECK, NULL);
    for (int all = 0; all < 2; all++) {
        char *list = ocv_container_devices(spec, all, "/nowhere");
        if (list && (strpbrk(list, " &?#\n") || strlen(list) > OCV_CONTAINER_DEVICES_MAX))
            abort();
        if (list)
            look_up(list);
        free(list);
    }
    json_decref(spec);
    char *bytes = strndup((const char *)data, size); /* a question's argument may be any text */
    if (bytes)
        look_up(bytes);
    free(bytes);
    return 0;
}
