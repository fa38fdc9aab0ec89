/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where this machine's variantd listens, for which registries, and which program answers there. */
#ifndef OCV_SETUP_MIRROR_H
#define OCV_SETUP_MIRROR_H

#include "cmd/variantctl/setup/setup.h"

#include <jansson.h>

#define SETUP_ADDRESS_MAX 64

enum setup_mirror {
    SETUP_MIRROR_UNKNOWN,   /**< another tree, or not an address of this machine */
    SETUP_MIRROR_OURS,      /**< variantd */
    SETUP_MIRROR_NOBODY,    /**< engines bypass it or fail, depending on the set-up */
    SETUP_MIRROR_FOREIGN,   /**< another program answers this machine's pulls */
    SETUP_MIRROR_ELSEWHERE, /**< variantd is running, but listens at another address */
};

/** Ask this machine's daemon, once; not with --root. */
void setup_ask_daemon(struct setup *setup);
void setup_daemon_free(struct setup_daemon *daemon);
/** Address of the running daemon; NULL if none answers. */
const char *setup_daemon_listen(const struct setup *setup);
/** Whether it serves variants: its `choose` for all images; NULL if it does not report it. */
const char *setup_daemon_choose(const struct setup *setup);
/** Its registries, borrowed; NULL if it does not report them. */
json_t *setup_daemon_registries(const struct setup *setup);

enum setup_known {
    SETUP_KNOWN,       /**< the running daemon has it, or its configuration if none is running */
    SETUP_KNOWN_LATER, /**< in its configuration, which the running daemon has not read yet */
    SETUP_KNOWN_NOT,   /**< it has others, but not this one */
    SETUP_KNOWN_NONE,  /**< it has no registry at all */
};
/** Whether variantd has this registry; `host` NULL: any registry. */
enum setup_known setup_registry_known(const struct setup *setup, const char *host);
/** Refuse registries that variantd does not have (OCV_ERR_CONFIG), and note what does not work
 *  yet. */
int setup_check_registries(struct setup *setup, struct ocv_error *err) OCV_WARN_UNUSED;
/** Find out who is at "ADDRESS:PORT". `detail`: the user of a foreign program, the address of
 *  variantd, or empty. */
enum setup_mirror setup_check_mirror(const struct setup *setup, const char *listen,
                                     char detail[SETUP_ADDRESS_MAX]);

#endif
