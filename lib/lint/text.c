/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Words that are nearly others, and versions. */
#include "internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 64u /* longer words are never taken for typing errors */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment, three rows of it. */
size_t ocv_lint_distance(const char *a, const char *b, size_t max)
{
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX || (n > m ? n - m : m - n) > max)
        return max + 1;
    for (size_t k = 0; k <= m; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t k = 1; k <= m; k++) {
            size_t change = before[k - 1] + (a[i - 1] != b[k - 1]);
            now[k] = least(change, least(before[k], now[k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                now[k] = least(now[k], older[k - 2] + 1);
        }
    }
    return least(rows[n % 3][m], max + 1);
}

#define NEAR 3u

void ocv_lint_offer(struct ocv_lint_nearest *nearest, const char *word)
{
    size_t distance = ocv_lint_distance(nearest->wanted, word, NEAR);
    if (distance > NEAR || (nearest->best && distance >= nearest->distance))
        return;
    nearest->best = word;
    nearest->distance = distance;
}

/* A third of the word may be wrong, and of three letters one. */
const char *ocv_lint_meant(const struct ocv_lint_nearest *nearest)
{
    size_t len = strlen(nearest->wanted);
    return nearest->best && nearest->distance <= (len < 3 ? 1 : len / 3) ? nearest->best : NULL;
}

int ocv_lint_version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (*a == '0')
                a++;
            while (*b == '0')
                b++;
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            int order = n != m ? (n < m ? -1 : 1) : strncmp(a, b, n);
            if (order)
                return order;
            a += n;
            b += m;
            continue;
        }
        /* 12 is 12.0 */
        if (!*a && *b == '.' && strspn(b, ".0") == strlen(b))
            return 0;
        if (!*b && *a == '.' && strspn(a, ".0") == strlen(a))
            return 0;
        if (*a != *b && (*a == '.' || *b == '.')) /* 8a is 8.0a */
            return *a == '.' ? 1 : -1;
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        a++;
        b++;
    }
    return 0;
}
