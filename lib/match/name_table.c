/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/match/match_internal.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64u

/* The slot of a name, or the free one where it belongs. */
static size_t slot_of(const struct ocv_names *names, const void *data, const char *name)
{
    /* names of nodes come from administrators, and a fleet has a limit */
    uint64_t h = ocv_text_hash(name, strlen(name));
    size_t at = (size_t)(h ^ (h >> 32)) & (names->room - 1);
    while (names->slots[at] && strcmp(names->name_of(data, names->slots[at] - 1), name) != 0)
        at = (at + 1) & (names->room - 1);
    return at;
}

size_t ocv_names_find(const struct ocv_names *names, const void *data, const char *name)
{
    if (!names->room)
        return SIZE_MAX;
    uint32_t found = names->slots[slot_of(names, data, name)];
    return found ? found - 1 : SIZE_MAX;
}

int ocv_names_add(struct ocv_names *names, const void *data, size_t place, struct ocv_error *err)
{
    if (2 * (names->count + 1) > names->room) {
        struct ocv_names larger = *names;
        larger.room = names->room ? names->room * 2 : ROOM_MIN;
        larger.slots = calloc(larger.room, sizeof(*larger.slots));
        if (!larger.slots)
            return ocv_error_nomem(err);
        for (size_t i = 0; i < names->room; i++)
            if (names->slots[i])
                larger.slots[slot_of(&larger, data, names->name_of(data, names->slots[i] - 1))] =
                    names->slots[i];
        free(names->slots);
        *names = larger;
    }
    names->slots[slot_of(names, data, names->name_of(data, place))] = (uint32_t)place + 1;
    names->count++;
    return OCV_OK;
}

void ocv_names_free(struct ocv_names *names)
{
    free(names->slots);
    names->slots = NULL;
    names->room = names->count = 0;
}
