/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The allocator of these tests. It is this program's own and hidden, so that it refuses only our
 * code; the libraries below keep theirs. */
#include "test/unit/nomem/nomem_util.h"

#include <errno.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NOMEM_SKIPPED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NOMEM_SKIPPED 1
#endif
#endif

#ifndef NOMEM_SKIPPED
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

static struct {
    bool on, persistent;
    long countdown, seen, live;
} heap;

static bool refuse(void)
{
    if (!heap.on)
        return false;
    heap.seen++;
    if (heap.persistent ? heap.seen < heap.countdown : heap.seen != heap.countdown)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    if (refuse())
        return NULL;
    void *p = __libc_malloc(size);
    heap.live += heap.on && p;
    return p;
}

void *calloc(size_t n, size_t size)
{
    if (refuse())
        return NULL;
    void *p = __libc_calloc(n, size);
    heap.live += heap.on && p;
    return p;
}

void *realloc(void *old, size_t size)
{
    if (refuse())
        return NULL;
    void *p = __libc_realloc(old, size);
    heap.live += heap.on && p && !old;
    return p;
}

void free(void *p)
{
    heap.live -= heap.on && p;
    __libc_free(p);
}
#else
static struct {
    bool on, persistent;
    long countdown, seen, live;
} heap;
#endif

static const struct torture_call *torture_calls;

#define ATTEMPTS_MAX 20000

/* One disturbed call. Returns the blocks it left behind: once, a library below may keep what it
 * sets up late; every time, it is a leak. */
static long disturb(size_t which, long n, bool persistent, const struct ocv_buffer *expected)
{
    struct ocv_error err = {0};
    struct ocv_buffer out;
    ocv_buffer_init(&out, 1u << 20);
    heap.seen = heap.live = 0;
    heap.countdown = n;
    heap.persistent = persistent;
    heap.on = true;
    int status = torture_calls[which].call(&out, &err);
    bool same = status == OCV_OK && out.len == expected->len &&
                memcmp(out.data, expected->data, out.len) == 0;
    ocv_buffer_free(&out);
    heap.on = false;
    const char *name = torture_calls[which].name;
    ck_assert_msg(status == OCV_OK || status == OCV_ERR_NOMEM, "%s: allocation %ld: %d %s", name, n,
                  status, err.message);
    ck_assert_msg(status != OCV_OK || same, "%s: allocation %ld: another result", name, n);
    ck_assert_msg(status == OCV_OK || err.status == OCV_ERR_NOMEM, "%s: %ld: error not set", name,
                  n);
    return heap.live;
}

/* True when nothing was refused: the call has fewer than n allocations. */
static bool attempt(size_t which, long n, bool persistent, const struct ocv_buffer *expected)
{
    long live = disturb(which, n, persistent, expected);
    bool done = heap.seen < n;
    if (live)
        live = disturb(which, n, persistent, expected);
    ck_assert_msg(live <= torture_calls[which].lost, "%s: allocation %ld: %ld blocks lost",
                  torture_calls[which].name, n, live);
    return done;
}

START_TEST(test_torture)
{
    size_t which = (size_t)_i / 2;
    struct ocv_buffer expected;
    struct ocv_error err = {0};
    for (int warm = 0; warm < 2; warm++) { /* the libraries below set themselves up at first use */
        ocv_buffer_init(&expected, 1u << 20);
        ck_assert_msg(torture_calls[which].call(&expected, &err) == OCV_OK, "%s: %s",
                      torture_calls[which].name, err.message);
        if (!warm)
            ocv_buffer_free(&expected);
    }
    long n = 1;
    while (!attempt(which, n, _i % 2, &expected))
        ck_assert_int_lt(++n, ATTEMPTS_MAX);
    ck_assert_int_gt(n, 1); /* something was refused on the way */
    ocv_buffer_free(&expected);
}
END_TEST

int torture(const char *name, const struct torture_call *calls, size_t n)
{
#ifdef NOMEM_SKIPPED
    printf("skipped: the sanitizer owns the allocator\n");
    return 0;
#endif
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("torture");
    torture_calls = calls;
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_torture, 0, 2 * (int)n);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
