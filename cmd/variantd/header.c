/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "header.h"

#include <string.h>
#include <strings.h>

#define RANGE_MAX 64 /* characters: two numbers of 18 digits fit */
#define DIGITS_MAX 18
#define BYTES "bytes="

/* Does the parameter list say q=0 (or 0.000)? */
static bool refused(const char *parameters, size_t len)
{
    static const char space[] = " \t;";
    for (size_t i = 0; i < len;) {
        i += strspn(parameters + i, space);
        size_t n = i < len ? strcspn(parameters + i, ";,") : 0;
        const char *p = parameters + i;
        if (n > 2 && (p[0] == 'q' || p[0] == 'Q') && p[1] == '=' && p[2] == '0')
            return strspn(p + 2, "0. \t") >= n - 2;
        i += n ? n : 1;
    }
    return false;
}

bool header_accepts(const char *value, const char *type)
{
    size_t type_len = strlen(type), major = strcspn(type, "/") + 1;
    for (const char *p = value; *p;) {
        p += strspn(p, " \t,");
        size_t len = strcspn(p, ","), name = strcspn(p, ";, \t");
        bool all = name == 3 && !memcmp(p, "*/*", 3);
        bool kin = name == major + 1 && p[major] == '*' && !strncasecmp(p, type, major);
        bool same = name == type_len && !strncasecmp(p, type, name);
        if ((all || kin || same) && !refused(p + name, len - name))
            return true;
        p += len;
    }
    return false;
}

bool header_range_single(const char *value)
{
    size_t len = strlen(value), prefix = strlen(BYTES);
    return len < RANGE_MAX && !strncmp(value, BYTES, prefix) &&
           strspn(value + prefix, "0123456789-") == len - prefix;
}

static bool digits(const char **p, int64_t *out)
{
    const char *start = *p;
    for (*out = 0; **p >= '0' && **p <= '9' && *p - start < DIGITS_MAX; (*p)++)
        *out = *out * 10 + (**p - '0');
    return *p > start;
}

bool header_range_of(const char *value, int64_t size, int64_t *from, int64_t *end)
{
    int64_t first = 0, last = size - 1;
    if (!header_range_single(value))
        return false;
    const char *p = value + strlen(BYTES);
    if (*p == '-') { /* so many from the end */
        p++;
        if (!digits(&p, &first) || first == 0)
            return false;
        first = first < size ? size - first : 0;
    } else if (!digits(&p, &first) || *p++ != '-' || (*p && !digits(&p, &last))) {
        return false;
    }
    *from = first;
    *end = last < size ? last : size - 1;
    return !*p && first < size && first <= *end;
}
