/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/common/progress: several images on one display, also from several threads. */
#include "cmd/common/progress/progress_internal.h"
#include "test/unit/suite.h"

#include <stdlib.h>
#include <string.h>

static int64_t fake_now;

static int64_t fake_clock(void)
{
    return fake_now;
}

static char *captured;
static size_t captured_len, seen; /* `seen`: what has been looked at */

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

struct pair {
    FILE *stream;
    struct progress *whole, *app, *tool;
};

static struct pair open_pair(enum progress_mode mode)
{
    struct pair pair;

    fake_now = SECOND_NS;
    pair.stream = open_memstream(&captured, &captured_len);
    ck_assert_ptr_nonnull(pair.stream);
    ck_assert_int_eq(progress_new(mode, pair.stream, fake_clock, &pair.whole, NULL), 0);
    ck_assert_int_eq(progress_open(pair.whole, "r/app:1", &pair.app, NULL), 0);
    ck_assert_int_eq(progress_open(pair.whole, "r/tool:2", &pair.tool, NULL), 0);
    return pair;
}

static void close_pair(struct pair *pair)
{
    progress_free(pair->app);
    progress_free(pair->tool);
    progress_free(pair->whole);
    fclose(pair->stream);
    free(captured);
}

/* A line for each image, its active layers below it, the total last; the same layer of two images
 * counts in both. */
START_TEST(test_several_bars)
{
    struct pair pair = open_pair(PROGRESS_BARS);
    size_t a = progress_add(pair.app, "sha256:aaaaaaaaaaaaaaaa", 1000);

    progress_add(pair.app, "sha256:bbbbbbbbbbbbbbbb", 1000);
    progress_status(pair.tool, "resolving", "r/tool:2", "r/tool:2: resolving");
    fake_now += 200000000;
    fflush(pair.stream);
    seen = captured_len;
    progress_set(pair.app, a, LAYER_DOWNLOADING, 500, -1);
    fflush(pair.stream);
    const char *app = strstr(captured + seen, "r/app:1: 0 of 2 layers, 500 B of 2.00 kB");
    ck_assert_ptr_nonnull(app);
    const char *layer = strstr(app, "aaaaaaaaaaaa: downloading");
    ck_assert_ptr_nonnull(layer);
    ck_assert_ptr_nonnull(strstr(layer, "r/tool:2: resolving"));
    ck_assert_ptr_null(strstr(captured + seen, "bbbbbbbbbbbb")); /* it waits */

    progress_status_end(pair.tool);
    size_t t = progress_add(pair.tool, "sha256:aaaaaaaaaaaaaaaa", 1000);
    fake_now += 200000000;
    fflush(pair.stream);
    seen = captured_len;
    progress_set(pair.tool, t, LAYER_DOWNLOADING, 100, -1);
    fflush(pair.stream);
    ck_assert_ptr_nonnull(strstr(captured + seen, "r/tool:2: 0 of 1 layer, 100 B of 1.00 kB"));
    ck_assert_ptr_nonnull(strstr(captured + seen, "0 of 3 layers, 600 B of 3.00 kB"));

    seen = captured_len;
    progress_finish(pair.tool); /* one line stays, the other image's block goes on below it */
    fflush(pair.stream);
    ck_assert_uint_eq(count(captured + seen, "r/tool:2: "), 1);
    ck_assert_ptr_nonnull(strstr(strstr(captured + seen, "r/tool:2: "), "r/app:1: 0 of 2 layers"));
    close_pair(&pair);
}
END_TEST

START_TEST(test_several_lines)
{
    struct pair pair = open_pair(PROGRESS_PLAIN);
    size_t a = progress_add(pair.app, "sha256:aaaaaaaaaaaaaaaa", 1000);
    size_t t = progress_add(pair.tool, "sha256:aaaaaaaaaaaaaaaa", 3000);

    progress_status(pair.tool, "loading", "r/tool:2", "loading into docker");
    progress_set(pair.app, a, LAYER_DOWNLOADING, 500, -1);
    progress_set(pair.tool, t, LAYER_DOWNLOADING, 500, -1);
    progress_resumed(pair.tool, t, 400);
    fake_now += PLAIN_NS;
    progress_tick(pair.app);
    progress_set(pair.app, a, LAYER_DONE, 1000, -1);
    fflush(pair.stream);
    ck_assert_str_eq(captured, "r/tool:2: loading into docker\n"
                               "r/tool:2: aaaaaaaaaaaa: resuming at 400 B of 3.00 kB\n"
                               "1.00 kB of 4.00 kB, stalled 5s\n"
                               "r/tool:2: loading into docker: 5s\n"
                               "r/app:1: aaaaaaaaaaaa: done, 1.00 kB\n");
    close_pair(&pair);
}
END_TEST

START_TEST(test_several_events)
{
    struct pair pair = open_pair(PROGRESS_JSON);

    progress_add(pair.app, "sha256:aaaaaaaaaaaaaaaa", 1000);
    progress_warn(pair.tool, "p", "x");
    progress_event(pair.tool, "error", json_pack("{s:s}", "image", "named"));
    progress_warn(pair.whole, "p", "of all");
    fflush(pair.stream);
    ck_assert_str_eq(captured,
                     "{\"event\":\"layer\",\"id\":\"sha256:aaaaaaaaaaaaaaaa\",\"size\":1000,"
                     "\"image\":\"r/app:1\"}\n"
                     "{\"event\":\"warning\",\"message\":\"x\",\"image\":\"r/tool:2\"}\n"
                     "{\"event\":\"error\",\"image\":\"named\"}\n"
                     "{\"event\":\"warning\",\"message\":\"of all\"}\n");
    close_pair(&pair);
}
END_TEST

#define STEPS 3000

static void *pull_in_thread(void *data)
{
    struct progress *progress = data;
    size_t i = progress_add(progress, "sha256:aaaaaaaaaaaaaaaa", STEPS);

    for (int step = 1; step <= STEPS; step++) {
        progress_set(progress, i, LAYER_DOWNLOADING, step, -1);
        if (step % 100 == 0)
            progress_message(progress, "message %s", progress->image);
        if (step % 500 == 0)
            progress_status(progress, "loading", progress->image, "loading");
    }
    progress_finish(progress);
    return NULL;
}

/* Lines of two threads come whole. */
START_TEST(test_several_threads)
{
    struct pair pair = open_pair(PROGRESS_PLAIN);
    pthread_t threads[2];

    ck_assert_int_eq(pthread_create(&threads[0], NULL, pull_in_thread, pair.app), 0);
    ck_assert_int_eq(pthread_create(&threads[1], NULL, pull_in_thread, pair.tool), 0);
    for (int i = 0; i < 200; i++) {
        progress_hold(pair.whole);
        fputs("held ", pair.stream);
        fputs("line\n", pair.stream);
        progress_release(pair.whole);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    fflush(pair.stream);
    ck_assert_uint_eq(count(captured, "held line\n"), 200);
    ck_assert_uint_eq(count(captured, "message r/app:1\n"), STEPS / 100);
    ck_assert_uint_eq(count(captured, "message r/tool:2\n"), STEPS / 100);
    close_pair(&pair);
}
END_TEST

RUN_TESTS("progress_several", test_several_bars, test_several_lines, test_several_events,
          test_several_threads)
