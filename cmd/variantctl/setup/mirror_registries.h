/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where this machine's variantd listens, for which registries, and who answers there. */
#ifndef OCV_SETUP_MIRROR_H
#define OCV_SETUP_MIRROR_H

#include "cmd/variantctl/setup/setup.h"

#include <jansson.h>

#define SETUP_ADDRESS_MAX 64

enum setup_mirror {
    SETUP_MIRROR_UNKNOWN,   /**< another tree, or no address of this machine's */
    SETUP_MIRROR_OURS,      /**< variantd */
    SETUP_MIRROR_NOBODY,    /**< engines go past it, or fail, as they were set up */
    SETUP_MIRROR_FOREIGN,   /**< another program, which answers this machine's pulls */
    SETUP_MIRROR_ELSEWHERE, /**< variantd runs, and listens at another address */
};

/** Ask this machine's daemon, once; not with --root. */
void setup_ask_daemon(struct setup *setup);
void setup_daemon_free(struct setup_daemon *daemon);
/** Where the running daemon listens; NULL: none answers. */
const char *setup_daemon_listen(const struct setup *setup);
/** Whether it serves variants, its `choose` for all images; NULL: it does not tell. */
const char *setup_daemon_choose(const struct setup *setup);
/** The registries that it has, borrowed; NULL: it does not tell. */
json_t *setup_daemon_registries(const struct setup *setup);

enum setup_known {
    SETUP_KNOWN,       /**< the running daemon has it; where none answers, its configuration */
    SETUP_KNOWN_LATER, /**< its configuration has it, and the running one has not read that */
    SETUP_KNOWN_NOT,   /**< others, but not this one */
    SETUP_KNOWN_NONE,  /**< no registry at all */
};
/** Has variantd this registry; `host` NULL: any? */
enum setup_known setup_registry_known(const struct setup *setup, const char *host);
/** Refuse what variantd has no registry for (OCV_ERR_CONFIG), and note what does not work yet. */
int setup_check_registries(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Who is at "ADDRESS:PORT"; `detail`: the foreign one's user, or where variantd is, or empty. */
enum setup_mirror setup_check_mirror(const struct setup *setup, const char *listen,
                                     char detail[SETUP_ADDRESS_MAX]);

#endif
