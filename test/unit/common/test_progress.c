/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/common/progress: bars, plain lines and JSON events. */
#include "cmd/common/progress/bars.c"
#include "cmd/common/progress/format.c"
#include "cmd/common/progress/lines.c"
#include "cmd/common/progress/messages.c"
#include "cmd/common/progress/progress.c"
#include "cmd/common/progress/progress_internal.h"
#include "test/unit/suite.h"

static int64_t fake_now;

static int64_t fake_clock(void)
{
    return fake_now;
}

static char *captured;
static size_t captured_len, seen; /* `seen`: what shown() has returned */

static struct progress *capture(enum progress_mode mode, FILE **stream)
{
    struct progress *progress = NULL;

    fake_now = 1000000000;
    seen = 0;
    *stream = open_memstream(&captured, &captured_len);
    ck_assert_ptr_nonnull(*stream);
    ck_assert_int_eq(progress_new(mode, *stream, fake_clock, &progress, NULL), 0);
    return progress;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

START_TEST(test_bars_follow_the_clock)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_BARS, &stream);
    size_t i = progress_add(progress, "sha256:aaaaaaaaaaaaaaaa", 1000);

    for (int step = 1; step <= 100; step++) {
        fake_now += 10000000; /* 100 calls in a second */
        progress_set(progress, i, LAYER_DOWNLOADING, step * 10, -1);
    }
    fflush(stream);
    /* ten redraws a second, whatever the number of calls */
    ck_assert_uint_eq(count(captured, "aaaaaaaaaaaa: downloading"), 10);
    progress_set(progress, i, LAYER_DONE, 1000, -1);
    progress_finish(progress);
    fflush(stream);
    ck_assert_uint_eq(count(captured, "aaaaaaaaaaaa: done"), 1);
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

/* A block taller than the screen cannot be redrawn: it is cut, with a line for the rest. */
START_TEST(test_more_layers_than_rows)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_BARS, &stream);
    char id[32];

    for (int i = 0; i < 60; i++) {
        snprintf(id, sizeof(id), "sha256:%012d", i);
        progress_add(progress, id, 100);
    }
    for (size_t i = 0; i < 30; i++)
        progress_set(progress, i, LAYER_DONE, 100, -1);
    fake_now += 200000000;
    progress_set(progress, 31, LAYER_DOWNLOADING, 50, -1);
    fflush(stream);
    ck_assert_ptr_nonnull(strstr(captured, "30 of 60 layers, 3.05 kB of 6.00 kB"));
    ck_assert_uint_le(progress->display->drawn, 24);
    ck_assert_ptr_nonnull(strstr(captured, "000000000031: downloading"));
    progress_finish(progress);
    fflush(stream);
    ck_assert_ptr_nonnull(strstr(captured, "000000000059: waiting"));
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

/* Below the bars stands the sum: what does not fit is left out, never cut. */
static const struct {
    unsigned width;
    const char *text;
} sums[] = {
    {79, "1 of 3 layers, 50.0 kB of 120 kB, 5.00 kB/s, 14s left"},
    {53, "1 of 3 layers, 50.0 kB of 120 kB, 5.00 kB/s, 14s left"},
    {52, "1 of 3 layers, 50.0 kB of 120 kB, 14s left"},
    {41, "1 of 3 layers, 14s left"},
    {22, "1 of 3 layers"},
    {12, "1 of 3"},
};

START_TEST(test_sum)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_BARS, &stream);
    char text[PROGRESS_LINE_MAX];
    progress_add(progress, "sha256:aaaaaaaaaaaaaaaa", 20000);
    size_t i = progress_add(progress, "sha256:bbbbbbbbbbbbbbbb", 60000);
    progress_add(progress, "sha256:cccccccccccccccc", 40000);
    progress_set(progress, 0, LAYER_DONE, 20000, -1);
    progress_set(progress, i, LAYER_DOWNLOADING, 0, -1);
    for (int step = 1; step <= 6; step++) {
        fake_now += 1000000000;
        progress_set(progress, i, LAYER_DOWNLOADING, step * 5000, -1);
    }
    fflush(stream);
    ck_assert_ptr_nonnull(strstr(captured, sums[0].text));
    lines_sum(progress, true, fake_now, sums[_i].width, text, sizeof(text));
    ck_assert_str_eq(text, sums[_i].text);
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

START_TEST(test_message_stands_above_the_bars)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_BARS, &stream);
    size_t i = progress_add(progress, "sha256:bbbbbbbbbbbbbbbb", 10);

    fake_now += 200000000;
    progress_set(progress, i, LAYER_DOWNLOADING, 1, -1);
    progress_message(progress, "hello %d", 7);
    fflush(stream);
    const char *message = strstr(captured, "hello 7\n");

    ck_assert_ptr_nonnull(message);
    ck_assert_ptr_nonnull(strstr(message, "bbbbbbbbbbbb"));
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

/* What came since the last call, without the way up and the ends of lines. */
static const char *shown(FILE *stream)
{
    static char text[4096];
    size_t n = 0;

    fflush(stream);
    for (const char *at = captured + seen; *at && n + 1 < sizeof(text); at++)
        if (*at == '\033')
            at += strcspn(at, "ABKJhl");
        else if (*at != '\r')
            text[n++] = *at;
    text[n] = '\0';
    seen = captured_len;
    return text;
}

static void end(struct progress *progress, FILE *stream)
{
    progress_free(progress);
    fclose(stream);
    free(captured);
}

START_TEST(test_plain)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_PLAIN, &stream);
    size_t i = progress_add(progress, "sha256:cccccccccccccccc", 2000);

    progress_set(progress, i, LAYER_DOWNLOADING, 0, -1);
    fake_now += SECOND_NS;
    progress_set(progress, i, LAYER_DOWNLOADING, 1000, -1);
    fflush(stream);
    ck_assert_uint_eq(captured_len, 0);
    fake_now += 4 * SECOND_NS;
    progress_set(progress, i, LAYER_DOWNLOADING, 1500, -1);
    ck_assert_str_eq(shown(stream), "1.50 kB of 2.00 kB, 737 B/s, 1s left\n");
    fake_now += PLAIN_NS;
    progress_tick(progress);
    ck_assert_str_eq(shown(stream), "1.50 kB of 2.00 kB, stalled 5s\n");
    progress_set(progress, i, LAYER_DONE, 2000, -1);
    progress_set(progress, i, LAYER_DONE, 2000, -1);
    progress_set(progress, i + 1, LAYER_DONE, 1, -1); /* out of range: ignored */
    ck_assert_str_eq(shown(stream), "cccccccccccc: done, 2.00 kB\n");
    fake_now += PLAIN_NS;
    progress_tick(progress); /* nothing is left to be told */
    ck_assert_str_eq(shown(stream), "");
    end(progress, stream);
}
END_TEST

/* One is extracted, one waits for that, one is on its way. */
START_TEST(test_plain_extracting)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_PLAIN, &stream);

    progress_add(progress, "sha256:111111111111aaaa", 2000);
    progress_add(progress, "sha256:222222222222aaaa", 2000);
    progress_add(progress, "sha256:333333333333aaaa", 2000);
    progress_set(progress, 0, LAYER_DOWNLOADED, 2000, -1);
    progress_set(progress, 1, LAYER_DOWNLOADED, 2000, -1);
    ck_assert_str_eq(shown(stream),
                     "111111111111: downloaded, 2.00 kB\n222222222222: downloaded, 2.00 kB\n");
    progress_set(progress, 0, LAYER_EXTRACTING, 0, -1);
    fake_now += PLAIN_NS;
    progress_set(progress, 0, LAYER_EXTRACTING, 500, -1);
    ck_assert_str_eq(shown(stream), "4.00 kB of 6.00 kB\n"
                                    "111111111111: extracting   500 B/2.00 kB\n");
    fake_now += PLAIN_NS;
    progress_set(progress, 0, LAYER_EXTRACTING, -1, -1); /* an engine that does not tell */
    ck_assert_str_eq(shown(stream), "4.00 kB of 6.00 kB\n"
                                    "111111111111: extracting   10s\n");
    progress_settle(progress, LAYER_DONE);
    ck_assert_str_eq(shown(stream), "111111111111: done, 2.00 kB\n333333333333: done, 2.00 kB\n");
    end(progress, stream);
}
END_TEST

/* No number that is guessed from too little. */
START_TEST(test_rate_after_two_seconds)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_BARS, &stream);
    size_t i = progress_add(progress, "sha256:aaaaaaaaaaaaaaaa", 1000000);

    progress_set(progress, i, LAYER_DOWNLOADING, 0, -1);
    fake_now += 10 * SECOND_NS; /* the first byte takes its time */
    for (int64_t step = 1; step <= 40; step++) {
        const bool early = step * 100 <= 2000;

        (void)shown(stream);
        progress_set(progress, i, LAYER_DOWNLOADING, step * 1000, -1);
        ck_assert_msg(!strstr(shown(stream), " left") == early, "at %d00 ms", (int)step);
        fake_now += 100 * SECOND_NS / 1000;
    }
    fake_now += 12 * SECOND_NS;
    progress_tick(progress);
    ck_assert_ptr_nonnull(strstr(shown(stream), "40.0 kB/1.00 MB  stalled 12s\n"));
    progress_set(progress, i, LAYER_EXTRACTING, 1000,
                 -1); /* nothing of it says how long that takes */
    fake_now += SECOND_NS;
    progress_set(progress, i, LAYER_EXTRACTING, 300000, -1);
    ck_assert_ptr_null(strstr(shown(stream), " left"));
    end(progress, stream);
}
END_TEST

/* Two layers have a sum, one has none. */
START_TEST(test_sum_of_two)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_BARS, &stream);
    progress_add(progress, "sha256:aaaaaaaaaaaaaaaa", 20000);
    fake_now += SECOND_NS;
    progress_set(progress, 0, LAYER_DOWNLOADING, 100, -1);
    fflush(stream);
    ck_assert_ptr_null(strstr(captured, "of 1 layer"));
    progress_add(progress, "sha256:bbbbbbbbbbbbbbbb", 60000);
    fake_now += SECOND_NS;
    progress_set(progress, 0, LAYER_DOWNLOADING, 200, -1);
    fflush(stream);
    ck_assert_ptr_nonnull(strstr(captured, "0 of 2 layers, 200 B of 80.0 kB"));
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

static const struct {
    size_t width;
    const char *text;
} statuses[] = {
    {69, "app:1: looking for tags: waiting for registry.example for 7s (1 of 3)"},
    {68, "app:1: looking for tags"},
    {22, "app:1"},
    {4, "app:"}, /* one word alone */
};

START_TEST(test_status_fits)
{
    char text[] = "app:1: looking for tags: waiting for registry.example for 7s (1 of 3)";
    fit_status(text, statuses[_i].width);
    ck_assert_str_eq(text, statuses[_i].text);
    char words[] = "looking for a word that fits";
    fit_status(words, 14);
    ck_assert_str_eq(words, "looking for a");
}
END_TEST

static void wait_for(struct progress *progress, unsigned attempt, int64_t ms, const char *trouble)
{
    const struct ocv_registry_wait wait = {.what = "registry.example/app:1",
                                           .host = "registry.example",
                                           .trouble = trouble,
                                           .attempt = attempt,
                                           .attempts = 3,
                                           .ms = ms};

    progress_wait(progress, &wait);
}

START_TEST(test_waiting)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_BARS, &stream);

    progress_status(progress, "resolving", "app:1", "%s: resolving", "app:1");
    ck_assert_str_eq(shown(stream), "app:1: resolving\n");
    fake_now += SECOND_NS;
    wait_for(progress, 1, 1000, NULL);
    ck_assert_str_eq(shown(stream), "app:1: resolving\n");
    fake_now += 6 * SECOND_NS;
    wait_for(progress, 1, 7000, NULL);
    ck_assert_str_eq(shown(stream),
                     "app:1: resolving: waiting for registry.example for 7s (try 1 of 3)\n");
    fake_now += 8 * SECOND_NS;
    wait_for(progress, 2, 250, "is silent for 15 s");
    ck_assert_str_eq(shown(stream), "registry.example is silent for 15 s, trying again (2 of 3)\n"
                                    "app:1: resolving: 15s\napp:1: resolving: 15s\n");
    wait_for(progress, 3, 12000, "answers HTTP 429");
    ck_assert_ptr_nonnull(
        strstr(shown(stream), "registry.example answers HTTP 429, trying again in 12 s\n"));
    progress_status_end(progress);
    progress_finish(progress);
    ck_assert_str_eq(shown(stream), "");
    end(progress, stream);
}
END_TEST

START_TEST(test_waiting_elsewhere)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_PLAIN, &stream);

    progress_status(progress, "resolving", "app:1", "app:1: resolving");
    fake_now += 4 * SECOND_NS;
    wait_for(progress, 1, 4000, NULL);
    fake_now += SECOND_NS;
    wait_for(progress, 1, 5000, NULL);
    ck_assert_str_eq(shown(stream),
                     "app:1: resolving\n"
                     "app:1: resolving: waiting for registry.example for 5s (try 1 of 3)\n");
    end(progress, stream);
    progress = capture(PROGRESS_JSON, &stream);
    progress_status(progress, "resolving", "app:1", "app:1: resolving");
    fake_now += 5 * SECOND_NS;
    wait_for(progress, 1, 5000, NULL);
    wait_for(progress, 1, 5100, NULL); /* not ten times a second */
    wait_for(progress, 2, 250, "is silent for 15 s");
    ck_assert_str_eq(
        shown(stream),
        "{\"event\":\"resolving\",\"image\":\"app:1\",\"message\":\"app:1: resolving\"}\n"
        "{\"event\":\"waiting\",\"host\":\"registry.example\",\"what\":\"registry.example/"
        "app:1\",\"seconds\":5,\"attempt\":1,\"attempts\":3}\n"
        "{\"event\":\"retry\",\"host\":\"registry.example\",\"what\":\"registry.example/app:1\","
        "\"reason\":\"is silent for 15 s\",\"attempt\":2,\"attempts\":3}\n");
    end(progress, stream);
}
END_TEST

START_TEST(test_colors)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_BARS, &stream);
    size_t i = progress_add(progress, "sha256:aaaaaaaaaaaaaaaa", 1000);

    progress_color(progress, true);
    progress_warn(progress, "p", "x");
    progress_set(progress, i, LAYER_DOWNLOADING, 10, -1);
    fake_now += 5 * SECOND_NS;
    progress_tick(progress);
    fflush(stream);
    ck_assert_ptr_nonnull(strstr(captured, "p: \033[33mwarning:\033[0m x\n"));
    ck_assert_ptr_nonnull(strstr(captured, "\033[33mstalled 5s\033[0m\033[K\r\n"));
    end(progress, stream);
}
END_TEST

START_TEST(test_json)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_JSON, &stream);
    size_t i = progress_add(progress, "sha256:dddddddddddddddd", 10);
    char *save = NULL;

    ck_assert_uint_eq(progress_add(progress, "dddddddddddd", 10), i);
    progress_message(progress, "not shown");
    fake_now += 200000000;
    progress_set(progress, i, LAYER_DOWNLOADING, 4, -1);
    progress_set(progress, i, LAYER_DOWNLOADING, 5, -1); /* too soon for an event */
    progress_set(progress, i, LAYER_DONE, 10, -1);
    progress_event(progress, "done", json_pack("{s:s}", "name", "a\nb"));
    fflush(stream);
    const char *const want[] = {"layer", "progress", "progress", "done"};
    size_t n = 0;

    for (char *line = strtok_r(captured, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *object = json_loads(line, 0, NULL);

        ck_assert_ptr_nonnull(object);
        ck_assert_uint_lt(n, 4);
        ck_assert_str_eq(json_string_value(json_object_get(object, "event")), want[n++]);
        json_decref(object);
    }
    ck_assert_uint_eq(n, 4);
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

START_TEST(test_resumed)
{
    FILE *stream;
    struct progress *progress = capture(_i ? PROGRESS_JSON : PROGRESS_PLAIN, &stream);
    size_t i = progress_add(progress, "sha256:dddddddddddddddd", 200000000);

    fflush(stream);
    size_t before = strlen(captured);
    progress_resumed(progress, i, 59200000);
    progress_resumed(progress, i + 1, 1);
    fflush(stream);
    ck_assert_str_eq(captured + before,
                     _i ? "{\"event\":\"resumed\",\"id\":\"sha256:dddddddddddddddd\","
                          "\"done\":59200000,\"size\":200000000}\n"
                        : "dddddddddddd: resuming at 59.2 MB of 200 MB\n");
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

START_TEST(test_settle)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_PLAIN, &stream);
    size_t i = progress_add(progress, "sha256:111111111111aaaa", 10);

    progress_add(progress, "sha256:222222222222aaaa", 20);
    progress_set(progress, i, LAYER_DONE, 10, -1);
    progress_settle(progress, LAYER_CACHED);
    fflush(stream);
    ck_assert_str_eq(captured, "111111111111: done, 10 B\n222222222222: already here, 20 B\n");
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

START_TEST(test_warning)
{
    static const struct {
        enum progress_mode mode;
        const char *text;
    } want[] = {{PROGRESS_PLAIN, "p: warning: x 1\n"},
                {PROGRESS_QUIET, "p: warning: x 1\n"},
                {PROGRESS_JSON, "{\"event\":\"warning\",\"message\":\"x 1\"}\n"}};

    for (size_t i = 0; i < 3; i++) {
        FILE *stream;
        struct progress *progress = capture(want[i].mode, &stream);

        progress_warn(progress, "p", "x %d", 1);
        fflush(stream);
        ck_assert_str_eq(captured, want[i].text);
        progress_free(progress);
        fclose(stream);
        free(captured);
    }
}
END_TEST

START_TEST(test_quiet)
{
    FILE *stream;
    struct progress *progress = capture(PROGRESS_QUIET, &stream);
    size_t i = progress_add(progress, "sha256:eeeeeeeeeeeeeeee", 10);

    progress_message(progress, "not shown");
    progress_event(progress, "x", json_object());
    fake_now += 200000000;
    progress_set(progress, i, LAYER_DONE, 10, -1);
    progress_finish(progress);
    fflush(stream);
    ck_assert_uint_eq(captured_len, 0);
    progress_free(progress);
    fclose(stream);
    free(captured);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("progress");
    TCase *tcase = tcase_create("progress");

    tcase_add_test(tcase, test_bars_follow_the_clock);
    tcase_add_test(tcase, test_more_layers_than_rows);
    tcase_add_loop_test(tcase, test_sum, 0, sizeof(sums) / sizeof(*sums));
    tcase_add_test(tcase, test_sum_of_two);
    tcase_add_loop_test(tcase, test_status_fits, 0, sizeof(statuses) / sizeof(*statuses));
    tcase_add_test(tcase, test_message_stands_above_the_bars);
    tcase_add_test(tcase, test_plain);
    tcase_add_test(tcase, test_plain_extracting);
    tcase_add_test(tcase, test_rate_after_two_seconds);
    tcase_add_test(tcase, test_waiting);
    tcase_add_test(tcase, test_waiting_elsewhere);
    tcase_add_test(tcase, test_colors);
    tcase_add_test(tcase, test_json);
    tcase_add_loop_test(tcase, test_resumed, 0, 2);
    tcase_add_test(tcase, test_settle);
    tcase_add_test(tcase, test_warning);
    tcase_add_test(tcase, test_quiet);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
