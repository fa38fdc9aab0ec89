/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A unit test file ends with RUN_TESTS("name", test, test...), or with a TEST_FILE that makes its
 * own suite. The files of a directory are one program (suite.c): build/test/unit/AREA/run
 * [FILE...]. */
#ifndef SUITE_H
#define SUITE_H

#include <check.h>
#include <stddef.h>

struct test_file {
    const char *path;
    int (*run)(void); /* returns the exit status */
    struct test_file *next;
};

/* Keeps `file`. Called before main by TEST_FILE. */
void test_file_add(struct test_file *file);

/* The head of a function that runs this file's tests; it ends with `return run_suite(suite);`. */
#define TEST_FILE                                                       \
    static int run_file(void);                                          \
    __attribute__((constructor)) static void add_file(void)             \
    {                                                                   \
        static struct test_file this_file = {__FILE__, run_file, NULL}; \
        test_file_add(&this_file);                                      \
    }                                                                   \
    static int run_file(void)

/* What loops over many inputs takes every tenth of them, all of them where OCV_THOROUGH=1 is set:
 * for (i = 0; i < n; i += tenth()). Returns 10 or 1. */
int tenth(void);

/* Runs and frees `suite`. Returns the exit status. */
int run_suite(Suite *suite);

int run_tests(const char *name, void (*set_up)(void), void (*tear_down)(void),
              const TTest *const *tests, size_t n);

/* `set_up` and `tear_down` run before and after each test. */
#define RUN_TESTS_IN(name, set_up, tear_down, ...)                                              \
    TEST_FILE                                                                                   \
    {                                                                                           \
        const TTest *const tests[] = {__VA_ARGS__};                                             \
        return run_tests((name), (set_up), (tear_down), tests, sizeof(tests) / sizeof(*tests)); \
    }
#define RUN_TESTS(name, ...) RUN_TESTS_IN(name, NULL, NULL, __VA_ARGS__)

#endif
