/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/match/match_internal.h"

/* Hall: the members of any set of roles have room on the nodes that any of the set could take. */
bool ocv_share_suffices(const struct share *share)
{
    unsigned all = 1u << share->n_roles;
    for (unsigned set = 1; set < all; set++) {
        uint64_t want = 0, room = 0;
        for (size_t r = 0; r < share->n_roles; r++)
            want += set >> r & 1 ? share->want[r] : 0;
        for (unsigned m = 1; m < all && room < want; m++)
            room += m & set ? share->room[m] : 0;
        if (room < want)
            return false;
    }
    return true;
}
