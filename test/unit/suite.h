/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main function of a unit test: RUN_TESTS("name", test, test...) at the end of the file. */
#ifndef SUITE_H
#define SUITE_H

#include <check.h>
#include <stddef.h>

/* For a main function of its own, if tests need cases with different fixtures. Returns the exit
 * status. */
static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

static inline int run_tests(const char *name, void (*set_up)(void), void (*tear_down)(void),
                            const TTest *const *tests, size_t n)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    if (set_up)
        tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; i < n; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}

/* `set_up` and `tear_down` run before and after each test. */
#define RUN_TESTS_IN(name, set_up, tear_down, ...)                                              \
    int main(void)                                                                              \
    {                                                                                           \
        const TTest *const tests[] = {__VA_ARGS__};                                             \
        return run_tests((name), (set_up), (tear_down), tests, sizeof(tests) / sizeof(*tests)); \
    }
#define RUN_TESTS(name, ...) RUN_TESTS_IN(name, NULL, NULL, __VA_ARGS__)

#endif
