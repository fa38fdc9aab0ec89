/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/base/arena.h"

#include "test/unit/core_util.h"

/* Every element is kept while others come, and a new one is zeroed, also where one was removed. */
START_TEST(test_grow)
{
    int *list = NULL;
    size_t n = 0;
    for (int i = 1; i <= 1000; i++) {
        int *added = ocv_array_grow(&list, n);
        ck_assert_ptr_eq(added, &list[n]);
        ck_assert_int_eq(*added, 0);
        *added = i;
        n++;
    }
    for (int i = 1; i <= 1000; i++)
        ck_assert_int_eq(list[i - 1], i);
    for (n = 600; n < 1000; n++) {
        int *added = ocv_array_grow(&list, n);
        ck_assert_ptr_nonnull(added);
        ck_assert_int_eq(*added, 0);
    }
    ck_assert_int_eq(list[599], 600);
    free(list);
}
END_TEST

/* A removed element leaves room at every count: address sanitizer watches the bounds. */
START_TEST(test_shrink)
{
    char **list = NULL;
    for (size_t top = 0; top < 40; top++) {
        size_t n = 0;
        for (; n < top; n++)
            *ocv_array_grow(&list, n) = NULL;
        for (size_t back = top / 2; back < top; back++) {
            char **added = ocv_array_grow(&list, back);
            ck_assert_ptr_eq(added, &list[back]);
        }
    }
    free(list);
}
END_TEST

/* A count that cannot be doubled leaves the array as it is. */
START_TEST(test_limit)
{
    char *list = NULL, *first = ocv_array_grow(&list, 0);
    ck_assert_ptr_nonnull(first);
    *first = 'a';
    ck_assert_ptr_null(ocv_array_grow(&list, SIZE_MAX / 2 + 1));
    ck_assert_ptr_eq(list, first);
    ck_assert_int_eq(*list, 'a');
    free(list);
}
END_TEST

RUN_TESTS("array", test_grow, test_shrink, test_limit)
