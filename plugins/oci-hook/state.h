/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a runtime tells a hook of its container, and what follows for the image it was made of. */
#ifndef OCV_HOOK_STATE_H
#define OCV_HOOK_STATE_H

#include "plugins/common/verdict.h"
#include "plugins/oci-hook/storage.h"

#include <jansson.h>

#define STATE_MAX (4u * 1024 * 1024) /**< bytes of the state, and of the bundle's config.json */

struct state {
    json_t *annotations; /* keeps the texts of the question */
    struct storage_image image;
    struct verdict_question question;
    bool unread; /* the bundle's config.json is there, and is none or too large */
};
/** Read all of it; NULL where it is no JSON, or too large. */
json_t *state_parse(int fd);
/** False when nothing says what image it is. Freed with state_free in any case. */
bool state_read(const json_t *json, struct state *out);
void state_free(struct state *state);

#endif
