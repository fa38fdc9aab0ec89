/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main function of a directory's unit tests: runs the files that are named (test_resolve), or
 * all of them by name. The exit status is 1 when a test failed, 2 when there is no such file. */
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct test_file *files;

static int name_of(const struct test_file *file, const char **name)
{
    const char *slash = strrchr(file->path, '/');
    *name = slash ? slash + 1 : file->path;
    return (int)strcspn(*name, ".");
}

static int compare(const struct test_file *a, const struct test_file *b)
{
    const char *left, *right;
    name_of(a, &left);
    name_of(b, &right);
    return strcmp(left, right);
}

void test_file_add(struct test_file *file)
{
    struct test_file **at = &files;
    while (*at && compare(*at, file) < 0)
        at = &(*at)->next;
    file->next = *at;
    *at = file;
}

int tenth(void)
{
    const char *thorough = getenv("OCV_THOROUGH");
    return thorough && strcmp(thorough, "1") == 0 ? 1 : 10;
}

int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int run_tests(const char *name, void (*set_up)(void), void (*tear_down)(void),
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

static int run_named(const char *wanted)
{
    for (struct test_file *file = files; file; file = file->next) {
        const char *name;
        int len = name_of(file, &name);
        if (strlen(wanted) == (size_t)len && memcmp(wanted, name, (size_t)len) == 0)
            return file->run();
    }
    fprintf(stderr, "%s: no such test file\n", wanted);
    return 2;
}

int main(int argc, char **argv)
{
    int worst = EXIT_SUCCESS;
    for (int i = 1; i < argc; i++) {
        int code = run_named(argv[i]);
        worst = code > worst ? code : worst;
    }
    if (argc > 1)
        return worst;
    for (struct test_file *file = files; file; file = file->next)
        if (file->run() != EXIT_SUCCESS)
            worst = EXIT_FAILURE;
    return files ? worst : 2;
}
