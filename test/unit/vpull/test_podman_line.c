/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/vpull/engines/podman_line.c: what podman's bars say. */
#include "cmd/vpull/engines/podman_line.c"
#include "test/unit/suite.h"

#define BLOB "Copying blob accc4b459da2 "

static const struct {
    const char *text;
    enum layer_state state;
    int64_t done;
} cases[] = {
    {BLOB "[=======>------------------------------] 66.0MiB / 300.0MiB", LAYER_DOWNLOADING,
     66 * 1048576},
    {BLOB "[=======>------] 1.5GiB / 3.0GiB | 30.1 MiB/s", LAYER_DOWNLOADING, 1610612736},
    {BLOB "[--------------] 0.0b / 300.0MiB", LAYER_DOWNLOADING, 0},
    {BLOB "[==============] 999.0b / 1000.0b", LAYER_DOWNLOADING, 999},
    {BLOB "[=>-] 2.5 KiB / 9.0 KiB", LAYER_DOWNLOADING, 2560},
    {BLOB "[=>-] 1.0XiB / 9.0XiB", LAYER_DOWNLOADING, -1},
    {BLOB "[=>-] -1.0MiB / 9.0MiB", LAYER_DOWNLOADING, -1},
    {BLOB "[=>-] 1e300MiB / 9.0MiB", LAYER_DOWNLOADING, -1},
    {BLOB "[=>-] nan / 9.0MiB", LAYER_DOWNLOADING, -1},
    {BLOB "[=>-", LAYER_DOWNLOADING, -1},
    {BLOB "done  ", LAYER_DONE, -1},
    {BLOB "done   | ", LAYER_DONE, -1},
    {BLOB "skipped: already exists  ", LAYER_CACHED, -1},
    {"Copying blob sha256:accc4b459da24b155237f8f6a63b479e12a5cba40968a20ac0dd575798babd9f",
     LAYER_DOWNLOADING, -1},
};

START_TEST(test_line)
{
    struct podman_line line;
    ck_assert(podman_line_parse(cases[_i].text, &line));
    ck_assert_str_eq(line.id, "accc4b459da2");
    ck_assert_int_eq(line.state, cases[_i].state);
    ck_assert_int_eq(line.done, cases[_i].done);
}
END_TEST

static const char *const others[] = {"",
                                     "Copying config 5e39bea4af done",
                                     "Copying blob accc4b459da [=>-] 1.0MiB / 2.0MiB",
                                     "Copying blob ACCC4B459DA2 done",
                                     "Trying to pull 127.0.0.1/demo/big@sha256:ea71...",
                                     "Error: initializing source"};

START_TEST(test_other)
{
    struct podman_line line;
    ck_assert(!podman_line_parse(others[_i], &line));
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("podman_line");
    TCase *tests = tcase_create("podman_line");
    tcase_add_loop_test(tests, test_line, 0, sizeof(cases) / sizeof(*cases));
    tcase_add_loop_test(tests, test_other, 0, sizeof(others) / sizeof(*others));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
