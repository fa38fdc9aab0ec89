/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places for decisions, which wait for registries. A registry has at most half of what the others
 * leave, so that one that hangs does not stop the pulls of others; one that was silent is not asked
 * for a while. Any thread. */
#ifndef CRI_PROXY_DECISION_PLACES_H
#define CRI_PROXY_DECISION_PLACES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PLACES_MAX 8u          /**< decisions at the same time: each may read an index */
#define PLACES_SILENT_MS 30000 /**< a registry that was silent is left alone for so long */
#define PLACES_SILENT_MAX 64u  /**< such registries that are remembered; then the oldest goes */
#define PLACES_HOST_MAX 256u

struct places_host {
    char name[PLACES_HOST_MAX];
    unsigned n;       /* decisions that wait for it */
    int64_t until_ms; /* silent until then */
};
struct places {
    pthread_mutex_t lock;
    pthread_cond_t left;
    unsigned taken;
    struct places_host busy[PLACES_MAX], silent[PLACES_SILENT_MAX];
};

enum place_given { PLACE_TAKEN, PLACE_CANCELLED, PLACE_SILENT };

void places_init(struct places *places);
void places_destroy(struct places *places);
/** Wait for a place, until `*gone` (read atomically). PLACE_SILENT: do not ask that registry now.
 */
enum place_given places_take(struct places *places, const char *host, const volatile int *gone);
/** Give a place back. `silent`: the registry has not answered in time. */
void places_leave(struct places *places, const char *host, bool silent);

#endif
