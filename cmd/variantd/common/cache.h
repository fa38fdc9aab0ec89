/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was learnt, bounded: least recently used goes first. Values are shared and counted, so that
 * a reader keeps what it found however soon it is forgotten. Any thread. */
#ifndef VARIANTD_CACHE_H
#define VARIANTD_CACHE_H

#include "ocivariant.h"

#include <stdatomic.h>

/** First member of everything that is remembered. */
struct refcounted {
    atomic_int references;
    void (*free)(struct refcounted *item);
};
void refcounted_init(struct refcounted *item,
                     void (*free)(struct refcounted *item)); /**< one reference */
void *refcounted_ref(void *item);                            /**< NULL is allowed */
void refcounted_unref(void *item);                           /**< NULL is allowed */

#define MEMORY_KEY_MAX 1024u

/** A key of several texts. Each ends with a NUL, so that no two lists of texts look alike. */
struct key {
    size_t len;
    char bytes[MEMORY_KEY_MAX]; /**< only the first `len` are set */
};
void key_begin(struct key *key);
/** False, and the key is unusable, where it becomes too long. NULL is not "". */
bool key_add(struct key *key, const char *text);
bool key_add_number(struct key *key, uint64_t number);

struct cache;
/** At most `items` values of together at most `bytes`. */
int cache_new(size_t items, size_t bytes, struct cache **out,
              struct ocv_error *err) OCV_WARN_UNUSED;
void cache_free(struct cache *memory);
/** The value with a reference taken, or NULL. */
void *cache_find(struct cache *memory, const struct key *key);
/** Remember, in place of what was there. Takes a reference of its own; where there is no room it is
 *  simply not remembered. `bytes`: what the value weighs. */
void cache_keep(struct cache *memory, const struct key *key, void *item, size_t bytes);
void cache_forget(struct cache *memory, const struct key *key);

#endif
