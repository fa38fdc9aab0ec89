/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where this machine's variantd listens, and who answers there. */
#ifndef OCV_SETUP_MIRROR_H
#define OCV_SETUP_MIRROR_H

#include "cmd/variantctl/setup/setup.h"

#define SETUP_ADDRESS_MAX 64

enum setup_mirror {
    SETUP_MIRROR_UNKNOWN,   /**< another tree, or no address of this machine's */
    SETUP_MIRROR_OURS,      /**< variantd */
    SETUP_MIRROR_NOBODY,    /**< engines go past it, or fail, as they were set up */
    SETUP_MIRROR_FOREIGN,   /**< another program, which answers this machine's pulls */
    SETUP_MIRROR_ELSEWHERE, /**< variantd runs, and listens at another address */
};

/** What the running daemon says, else its default. */
const char *setup_find_listen(const struct setup *setup, char out[SETUP_ADDRESS_MAX]);
/** Who is at "ADDRESS:PORT"; `detail`: the foreign one's user, or where variantd is, or empty. */
enum setup_mirror setup_look_at_mirror(const struct setup *setup, const char *listen,
                                       char detail[SETUP_ADDRESS_MAX]);

#endif
