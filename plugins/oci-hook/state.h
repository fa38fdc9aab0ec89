/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The container state that a runtime passes to a hook, and the question about its image. */
#ifndef OCV_HOOK_STATE_H
#define OCV_HOOK_STATE_H

#include "plugins/common/verdict.h"
#include "plugins/oci-hook/storage.h"

#include <jansson.h>

#define STATE_MAX (4u * 1024 * 1024) /**< bytes of the state, and of the bundle's config.json */

struct container_state {
    json_t *annotations; /* owns the question's strings */
    struct storage_image image;
    struct ocv_verdict_question question;
    char *config, *devices, *given; /* for the question, or NULL */
    bool unread; /* the bundle's config.json exists, but is invalid or too large */
};
/** Read `fd` to its end. NULL if it is not JSON, or too large. */
json_t *state_parse(int fd);
/** False: the image is unknown, and there is no configuration to check. Free `out` with state_free
 *  in any case. */
bool state_read(const json_t *json, struct container_state *out);
void state_free(struct container_state *state);

#endif
