/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/variantd/common/cache.h"
#include "test/unit/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thing {
    struct refcounted item;
    int value;
};

static atomic_int alive;

static void free_thing(struct refcounted *item)
{
    atomic_fetch_sub(&alive, 1);
    free(item);
}

static void keep(struct cache *memory, const char *name, int value, size_t bytes)
{
    struct key key;
    struct thing *thing = calloc(1, sizeof(*thing));
    ck_assert_ptr_nonnull(thing);
    refcounted_init(&thing->item, free_thing);
    atomic_fetch_add(&alive, 1);
    thing->value = value;
    key_begin(&key);
    ck_assert(key_add(&key, name));
    cache_keep(memory, &key, thing, bytes);
    refcounted_unref(thing);
}

static int find(struct cache *memory, const char *name)
{
    struct key key;
    key_begin(&key);
    ck_assert(key_add(&key, name));
    struct thing *thing = cache_find(memory, &key);
    int value = thing ? thing->value : -1;
    refcounted_unref(thing);
    return value;
}

static struct cache *new_memory(size_t items, size_t bytes)
{
    struct cache *memory = NULL;
    ck_assert_int_eq(cache_new(items, bytes, &memory, NULL), 0);
    return memory;
}

START_TEST(keeps_and_replaces)
{
    struct cache *memory = new_memory(100, 100000);
    ck_assert_int_eq(find(memory, "a"), -1);
    keep(memory, "a", 1, 10);
    keep(memory, "b", 2, 10);
    ck_assert_int_eq(find(memory, "a"), 1);
    keep(memory, "a", 3, 10);
    ck_assert_int_eq(find(memory, "a"), 3);
    ck_assert_int_eq(find(memory, "b"), 2);
    ck_assert_int_eq(atomic_load(&alive), 2);
    struct key key;
    key_begin(&key);
    key_add(&key, "a");
    cache_forget(memory, &key);
    cache_forget(memory, &key);
    ck_assert_int_eq(find(memory, "a"), -1);
    cache_free(memory);
    ck_assert_int_eq(atomic_load(&alive), 0);
}
END_TEST

START_TEST(oldest_goes_first)
{
    char name[32];
    struct cache *memory = new_memory(80, 1000000);
    keep(memory, "used", 7, 1);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        keep(memory, name, i, 1);
        ck_assert_int_eq(find(memory, "used"), 7);
    }
    ck_assert_int_le(atomic_load(&alive), 80);
    ck_assert_int_eq(find(memory, "n0"), -1);
    ck_assert_int_eq(find(memory, "n1999"), 1999);
    cache_free(memory);
    ck_assert_int_eq(atomic_load(&alive), 0);
}
END_TEST

START_TEST(weight_is_bounded)
{
    char name[32];
    struct cache *memory = new_memory(1000, 80000);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        keep(memory, name, i, 1000);
    }
    ck_assert_int_le(atomic_load(&alive), 80);
    ck_assert_int_gt(atomic_load(&alive), 8);
    keep(memory, "n499", 1,
         1000000); /* too heavy: not kept, and the old one is not true any more */
    ck_assert_int_eq(find(memory, "n499"), -1);
    cache_free(memory);
}
END_TEST

START_TEST(value_outlives_the_memory)
{
    struct cache *memory = new_memory(10, 1000);
    struct key key;
    keep(memory, "a", 5, 1);
    key_begin(&key);
    key_add(&key, "a");
    struct thing *thing = cache_find(memory, &key);
    cache_free(memory);
    ck_assert_int_eq(thing->value, 5);
    ck_assert_int_eq(atomic_load(&alive), 1);
    refcounted_unref(thing);
    ck_assert_int_eq(atomic_load(&alive), 0);
}
END_TEST

START_TEST(keys_do_not_run_together)
{
    struct key a, b;
    const char *lists[][2] = {{"ab", "c"},   {"a", "bc"},   {"abc", ""},   {"", "abc"},
                              {"abc", NULL}, {"abc", "\1"}, {NULL, "abc"}, {"\1", "abc"}};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        for (size_t k = 0; k < i; k++) {
            key_begin(&a);
            key_begin(&b);
            for (size_t n = 0; n < 2; n++) {
                key_add(&a, lists[i][n]);
                key_add(&b, lists[k][n]);
            }
            ck_assert(a.len != b.len || memcmp(a.bytes, b.bytes, a.len) != 0);
        }
}
END_TEST

START_TEST(key_has_a_limit)
{
    struct key key;
    char text[MEMORY_KEY_MAX + 1];
    memset(text, 'x', sizeof(text));
    text[MEMORY_KEY_MAX - 1] = '\0';
    key_begin(&key);
    ck_assert(key_add(&key, text)); /* with its NUL exactly the most */
    ck_assert(!key_add(&key, ""));
    struct cache *memory = new_memory(10, 10000);
    struct thing *thing = calloc(1, sizeof(*thing));
    ck_assert_ptr_nonnull(thing);
    refcounted_init(&thing->item, free_thing);
    atomic_fetch_add(&alive, 1);
    cache_keep(memory, &key, thing, 1); /* nothing */
    ck_assert_ptr_null(cache_find(memory, &key));
    cache_forget(memory, &key);
    key_begin(&key);
    text[MEMORY_KEY_MAX - 1] = 'x';
    text[MEMORY_KEY_MAX] = '\0';
    ck_assert(!key_add(&key, text));
    ck_assert(!key_add_number(&key, 1));
    refcounted_unref(thing);
    cache_free(memory);
}
END_TEST

static void *worker(void *data)
{
    char name[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "n%d", i % 97);
        if (i % 3)
            (void)find(data, name);
        else
            keep(data, name, i, 100);
    }
    return NULL;
}

START_TEST(threads)
{
    struct cache *memory = new_memory(64, 100000);
    pthread_t thread[4];
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, worker, memory), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    ck_assert_int_le(atomic_load(&alive), 64);
    cache_free(memory);
    ck_assert_int_eq(atomic_load(&alive), 0);
}
END_TEST

RUN_TESTS("variantd memory", keeps_and_replaces, oldest_goes_first, weight_is_bounded,
          value_outlives_the_memory, keys_do_not_run_together, key_has_a_limit, threads)
