/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table in shards, each with its lock and its list by age. The seed is random, since clients
 * choose the keys and must not be able to choose the buckets. */
#include "cmd/variantd/common/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SHARDS 8u

struct cache_entry {
    struct cache_entry *next; /* in its bucket */
    struct cache_entry *older, *newer;
    uint64_t hash;
    struct refcounted *item;
    size_t bytes, key_len;
    char key[];
};

struct shard {
    pthread_mutex_t lock;
    struct cache_entry **buckets;
    struct cache_entry *oldest, *newest;
    size_t n, bytes;
};

struct cache {
    uint64_t seed;
    size_t n_buckets; /* of a shard, a power of two */
    size_t max_n, max_bytes;
    struct shard shards[SHARDS];
};

void refcounted_init(struct refcounted *item, void (*free)(struct refcounted *item))
{
    atomic_init(&item->references, 1);
    item->free = free;
}

void *refcounted_ref(void *value)
{
    struct refcounted *item = value;
    if (item)
        atomic_fetch_add_explicit(&item->references, 1, memory_order_relaxed);
    return value;
}

void refcounted_unref(void *value)
{
    struct refcounted *item = value;
    if (!item || atomic_fetch_sub_explicit(&item->references, 1, memory_order_acq_rel) != 1)
        return;
    if (item->free)
        item->free(item);
    else
        free(item);
}

void key_begin(struct key *key)
{
    key->len = 0;
}

static bool add_to_key(struct key *key, const void *bytes, size_t len)
{
    if (len > sizeof(key->bytes) - key->len) {
        key->len = sizeof(key->bytes) + 1; /* makes the key too long, so unusable */
        return false;
    }
    memcpy(key->bytes + key->len, bytes, len);
    key->len += len;
    return true;
}

bool key_add(struct key *key, const char *text)
{
    if (key->len > sizeof(key->bytes))
        return false;
    if (!text) /* a text that begins with this byte has it doubled */
        return add_to_key(key, "\1", 2);
    return (*text != '\1' || add_to_key(key, "\1", 1)) && add_to_key(key, text, strlen(text) + 1);
}

bool key_add_number(struct key *key, uint64_t number)
{
    return key->len <= sizeof(key->bytes) && add_to_key(key, &number, sizeof(number));
}

static uint64_t mix_bits(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

static uint64_t hash_key(const struct cache *memory, const struct key *key)
{
    uint64_t h = memory->seed ^ key->len, word;
    size_t i = 0;
    for (; i + sizeof(word) <= key->len; i += sizeof(word)) {
        memcpy(&word, key->bytes + i, sizeof(word));
        h = mix_bits(h ^ word);
    }
    word = 0;
    memcpy(&word, key->bytes + i, key->len - i);
    return mix_bits(h ^ word);
}

int cache_new(size_t items, size_t bytes, struct cache **out, struct ocv_error *err)
{
    struct cache *memory = calloc(1, sizeof(*memory));
    if (!memory)
        return ocv_error_nomem(err);
    memory->max_n = (items + SHARDS - 1) / SHARDS;
    memory->max_bytes = (bytes + SHARDS - 1) / SHARDS;
    memory->n_buckets = 16;
    while (memory->n_buckets < memory->max_n)
        memory->n_buckets *= 2;
    if (getrandom(&memory->seed, sizeof(memory->seed), 0) != (ssize_t)sizeof(memory->seed))
        memory->seed = (uint64_t)(uintptr_t)memory;
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&memory->shards[i].lock, NULL);
        memory->shards[i].buckets = calloc(memory->n_buckets, sizeof(struct cache_entry *));
        if (!memory->shards[i].buckets) {
            cache_free(memory);
            return ocv_error_nomem(err);
        }
    }
    *out = memory;
    return OCV_OK;
}

static void unlink_age(struct shard *shard, struct cache_entry *entry)
{
    *(entry->older ? &entry->older->newer : &shard->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &shard->newest) = entry->older;
}

static void link_newest(struct shard *shard, struct cache_entry *entry)
{
    entry->newer = NULL;
    entry->older = shard->newest;
    *(shard->newest ? &shard->newest->newer : &shard->oldest) = entry;
    shard->newest = entry;
}

static struct cache_entry **find_place(const struct cache *memory, struct shard *shard, uint64_t h,
                                       const struct key *key)
{
    struct cache_entry **at = &shard->buckets[(h / SHARDS) & (memory->n_buckets - 1)];
    while (*at && ((*at)->hash != h || (*at)->key_len != key->len ||
                   memcmp((*at)->key, key->bytes, key->len) != 0))
        at = &(*at)->next;
    return at;
}

static void drop_entry(struct shard *shard, struct cache_entry **at)
{
    struct cache_entry *entry = *at;
    *at = entry->next;
    unlink_age(shard, entry);
    shard->n--;
    shard->bytes -= entry->bytes;
    refcounted_unref(entry->item);
    free(entry);
}

static void drop_oldest(const struct cache *memory, struct shard *shard)
{
    struct cache_entry *oldest = shard->oldest;
    struct cache_entry **at = &shard->buckets[(oldest->hash / SHARDS) & (memory->n_buckets - 1)];
    while (*at != oldest)
        at = &(*at)->next;
    drop_entry(shard, at);
}

void *cache_find(struct cache *memory, const struct key *key)
{
    if (key->len > sizeof(key->bytes))
        return NULL;
    uint64_t h = hash_key(memory, key);
    struct shard *shard = &memory->shards[h % SHARDS];
    void *found = NULL;
    pthread_mutex_lock(&shard->lock);
    struct cache_entry *entry = *find_place(memory, shard, h, key);
    if (entry) {
        if (shard->newest != entry) {
            unlink_age(shard, entry);
            link_newest(shard, entry);
        }
        found = refcounted_ref(entry->item);
    }
    pthread_mutex_unlock(&shard->lock);
    return found;
}

void cache_keep(struct cache *memory, const struct key *key, void *item, size_t bytes)
{
    if (key->len > sizeof(key->bytes))
        return;
    uint64_t h = hash_key(memory, key);
    struct shard *shard = &memory->shards[h % SHARDS];
    bytes += sizeof(struct cache_entry) + key->len;
    struct cache_entry *entry = NULL;
    if (bytes <= memory->max_bytes && (entry = malloc(sizeof(*entry) + key->len))) {
        *entry = (struct cache_entry){
            .hash = h, .item = refcounted_ref(item), .bytes = bytes, .key_len = key->len};
        memcpy(entry->key, key->bytes, key->len);
    }
    pthread_mutex_lock(&shard->lock);
    struct cache_entry **at = find_place(memory, shard, h, key);
    if (*at)
        drop_entry(shard, at);
    if (entry) {
        while (shard->n && (shard->n >= memory->max_n || shard->bytes + bytes > memory->max_bytes))
            drop_oldest(memory, shard);
        at = find_place(memory, shard, h, key);
        entry->next = *at;
        *at = entry;
        link_newest(shard, entry);
        shard->n++;
        shard->bytes += bytes;
    }
    pthread_mutex_unlock(&shard->lock);
}

void cache_forget(struct cache *memory, const struct key *key)
{
    if (key->len > sizeof(key->bytes))
        return;
    uint64_t h = hash_key(memory, key);
    struct shard *shard = &memory->shards[h % SHARDS];
    pthread_mutex_lock(&shard->lock);
    struct cache_entry **at = find_place(memory, shard, h, key);
    if (*at)
        drop_entry(shard, at);
    pthread_mutex_unlock(&shard->lock);
}

void cache_free(struct cache *memory)
{
    if (!memory)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &memory->shards[i];
        while (shard->oldest)
            drop_oldest(memory, shard);
        free(shard->buckets);
        pthread_mutex_destroy(&shard->lock);
    }
    free(memory);
}
