/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 64u /* longer words are never taken for typing errors */
#define NEAR 3u

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment, three rows of it. */
size_t ocv_nearest_distance(const char *a, const char *b, size_t max)
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
            now[k] = least_of(change, least_of(before[k], now[k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                now[k] = least_of(now[k], older[k - 2] + 1);
        }
    }
    return least_of(rows[n % 3][m], max + 1);
}

static bool is_version(const char *s)
{
    return *s && strspn(s, "0123456789.") == strlen(s);
}

/* A version that lost a digit runs on machines that the right one does not: 128 may be 12.8 or
 * 128.0, never 12. The part behind a superfluous dot may go (12.8.1). */
static bool loosens_word(const char *wanted, const char *word)
{
    size_t n = strlen(word);
    if (!is_version(wanted) || !is_version(word) ||
        (!strncmp(wanted, word, n) && wanted[n] == '.' && strchr(word, '.')))
        return false;
    for (const char *digit = wanted; *digit; digit++) {
        word += strspn(word, ".");
        if (*digit != '.' && *digit != *word++)
            return true;
    }
    return false;
}

/* How far apart the digits are of two words that differ in one: 12.9 is nearer to 12.8 than to
 * 12.6. */
static size_t compare_digits(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    bool digits = *a >= '0' && *a <= '9' && *b >= '0' && *b <= '9' && !strcmp(a + 1, b + 1);
    return digits ? (size_t)abs(*a - *b) : 10;
}

void ocv_nearest_offer(struct ocv_nearest *nearest, const char *word)
{
    size_t len = strlen(nearest->wanted);
    bool begun = len > 1 && strlen(word) <= WORD_MAX && !strncmp(word, nearest->wanted, len);
    size_t distance = begun ? word[len] != '\0' : ocv_nearest_distance(nearest->wanted, word, NEAR);
    /* of two that are equally near the first one stays */
    bool nearer =
        !nearest->best || distance < nearest->distance ||
        (distance == nearest->distance &&
         compare_digits(nearest->wanted, word) < compare_digits(nearest->wanted, nearest->best));
    if (distance > NEAR || !nearer || loosens_word(nearest->wanted, word))
        return;
    nearest->best = word;
    nearest->distance = distance;
}

/* A third of the word may be wrong, and of three letters one. */
const char *ocv_nearest_meant(const struct ocv_nearest *nearest)
{
    size_t len = strlen(nearest->wanted);
    bool near = nearest->best && len && nearest->distance <= (len < 3 ? 1 : len / 3);
    return near ? nearest->best : NULL;
}

const char *ocv_nearest(const char *text, const char *const *words, size_t n)
{
    struct ocv_nearest nearest = {.wanted = text};
    for (size_t i = 0; i < n; i++)
        ocv_nearest_offer(&nearest, words[i]);
    return ocv_nearest_meant(&nearest);
}

const char *ocv_nearest_question(const char *meant, char out[OCV_NEAREST_QUESTION_MAX])
{
    snprintf(out, OCV_NEAREST_QUESTION_MAX, meant && *meant ? "; did you mean '%.64s'?" : "%s",
             meant ? meant : "");
    return out;
}
