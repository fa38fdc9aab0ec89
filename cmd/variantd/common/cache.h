/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bounded cache; the least recently used value is dropped first. Values are shared and counted,
 * so a reader keeps what it found after the cache has dropped it. Any thread. */
#ifndef VARIANTD_CACHE_H
#define VARIANTD_CACHE_H

#include "ocivariant.h"

#include <stdatomic.h>

/** First member of every cached value. */
struct refcounted {
    atomic_int references;
    void (*free)(struct refcounted *item);
};
/** One reference. `free` NULL: free(3). */
void refcounted_init(struct refcounted *item, void (*free)(struct refcounted *item));
void *refcounted_ref(void *item);  /**< NULL is allowed */
void refcounted_unref(void *item); /**< NULL is allowed */

#define MEMORY_KEY_MAX 1024u

/** A key made of several texts. Each ends with a NUL, so that different lists never give the same
 *  key. */
struct key {
    size_t len;
    char bytes[MEMORY_KEY_MAX]; /**< only the first `len` are set */
};
void key_begin(struct key *key);
/** False if the key becomes too long; it is unusable then. NULL differs from "". */
bool key_add(struct key *key, const char *text);
bool key_add_number(struct key *key, uint64_t number);

struct cache;
/** At most `items` values, with at most `bytes` bytes together. */
int cache_new(size_t items, size_t bytes, struct cache **out,
              struct ocv_error *err) OCV_WARN_UNUSED;
void cache_free(struct cache *memory);
/** The value with a reference taken, or NULL. */
void *cache_find(struct cache *memory, const struct key *key);
/** Cache the value in place of an older one. Takes its own reference; if there is no room the value
 *  is not cached. `bytes`: size of the value. */
void cache_keep(struct cache *memory, const struct key *key, void *item, size_t bytes);
void cache_forget(struct cache *memory, const struct key *key);

#endif
