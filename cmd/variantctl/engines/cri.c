/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A kubelet's runtime. */
#include "cmd/variantctl/engines/engines.h"
#include "lib/base/cleanup.h"
#include "lib/base/format/json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const char *local_images_socket(const char *where)
{
    if (strcmp(where, "cri") == 0)
        return CONTAINERD_SOCKET;
    return strncmp(where, "cri:/", 5) == 0 ? where + 4 : NULL;
}

/* What kubelet has, as a program of ours asks for it: there is no client on every node. */
static int cri_images(struct engine_walk *walk, struct ocv_error *err)
{
    const char *socket = local_images_socket(walk->where);
    char helper[PATH_MAX];
    const char *const argv[] = {helper, socket, NULL};
    ocv_auto_buffer text;
    ocv_buffer_init(&text, CLIENT_OUTPUT_MAX);
    if (!cli_helper(CRI_HELPER, getenv("OCV_DATADIR"), helper, sizeof(helper)))
        return ocv_error_set(err, OCV_ERR_CONFIG, CRI_HELPER ": its path is too long");
    OCV_TRY(client_capture_first(argv, &text, err));
    ocv_auto_json *list = ocv_json_load_any(text.data, text.len, CLIENT_VALUES_MAX, 0, NULL);
    if (!json_is_array(list))
        return ocv_error_set(err, OCV_ERR_ENGINE, CRI_HELPER " prints no JSON");
    OCV_TRY(engine_visit_inspected(walk, list));
    const char *why = NULL;
    size_t unread = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = ocv_json_text(json_array_get(list, i), "Unread");
        why = why ? why : one;
        unread += one != NULL;
    }
    return !unread ? OCV_OK : ocv_error_set(err, OCV_ERR_ENGINE, ENGINE_UNREAD_FORM, unread, why);
}

const struct engine engine_cri = {.name = "cri", .argument = "/SOCKET", .images = cri_images};
