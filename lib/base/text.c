/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Text that quotes bytes from outside. The programs have a copy: these functions are not public. */
#include "lib/base/text.h"

#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

size_t ocv_text_character(const void *text, size_t len)
{
    const unsigned char *s = text;
    unsigned char low = 0x80, high = 0xbf; /* of the second byte: no overlong form, no surrogate */
    size_t n = 0;
    if (!len)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        n = 2;
    else if ((s[0] & 0xf0) == 0xe0)
        n = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        n = 4;
    low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : low;
    high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : high;
    if (n > len || (n && (s[1] < low || s[1] > high)))
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Characters that are not visible, or change how others are shown: controls, line separators (Zl,
 * Zp), format characters (Cf, the direction overrides among them) and what else is ignorable by
 * default (Default_Ignorable_Code_Point). Unicode 15.1: DerivedCoreProperties.txt,
 * DerivedGeneralCategory.txt. In order. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},
    {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
    {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

size_t ocv_text_hidden(const void *text, size_t len)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *s = text;
    size_t n = ocv_text_character(text, len);
    uint32_t code = n ? s[0] & masks[n] : 0;
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3f);
    for (size_t i = 0; n && i < sizeof(hidden) / sizeof(*hidden) && hidden[i].first <= code; i++)
        if (code <= hidden[i].last)
            return n;
    return 0;
}

void ocv_text_clean(char *s)
{
    const char *end = s + strlen(s);
    while (s < end) {
        if (*s >= ' ' && *s <= '~') { /* nearly all */
            s++;
            continue;
        }
        size_t n = ocv_text_character(s, (size_t)(end - s));
        if (n == 0 || ocv_text_hidden(s, n))
            memset(s, '?', n ? n : 1);
        s += n ? n : 1;
    }
}

bool ocv_text_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool ocv_text_ends(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);
    return len > n && !strcmp(text + len - n, end);
}

uint64_t ocv_text_hash(const char *text, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
    return hash;
}

int ocv_text_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool ocv_text_listed(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list ? list : ""; *at;) {
        at += strspn(at, ", ");
        size_t n = strcspn(at, ", ");
        if (n == len && !memcmp(at, word, n))
            return true;
        at += n;
    }
    return false;
}

size_t ocv_text_find_glob(char *const *globs, size_t n, const char *text)
{
    size_t i = 0;
    while (i < n && fnmatch(globs[i], text, 0) != 0)
        i++;
    return i;
}
