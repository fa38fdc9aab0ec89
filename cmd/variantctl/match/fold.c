/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folds node names the way Slurm writes them. */
#include "cmd/variantctl/match/match_verb.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 9u

/* "rack2-n07": "rack2-n", 7 in two digits. */
struct numbered_name {
    const char *name;
    size_t prefix;
    int digits; /* 0: no number at the end */
    unsigned long number;
};

static struct numbered_name split_number(const char *name)
{
    size_t len = strlen(name), at = len;
    while (at && len - at < DIGITS_MAX && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    return (struct numbered_name){.name = name,
                                  .prefix = at,
                                  .digits = (int)(len - at),
                                  .number = at < len ? strtoul(name + at, NULL, 10) : 0};
}

/* n2 before n10. */
static int by_number(const void *a, const void *b)
{
    const char *const *p = a, *const *q = b;
    struct numbered_name x = split_number(*p), y = split_number(*q);
    size_t shorter = x.prefix < y.prefix ? x.prefix : y.prefix;
    int order = strncmp(x.name, y.name, shorter);
    if (order == 0 && x.prefix != y.prefix)
        order = x.prefix < y.prefix ? -1 : 1;
    if (order == 0 && x.number != y.number)
        order = x.number < y.number ? -1 : 1;
    return order ? order : strcmp(x.name, y.name);
}

/* names[0..n) of one series. */
static int put_series(const char *const *names, size_t n, struct ocv_buffer *out,
                      struct ocv_error *err)
{
    struct numbered_name first = split_number(names[0]), last = first;
    bool begin = true;
    OCV_TRY(ocv_buffer_printf(out, err, "%.*s[", (int)first.prefix, first.name));
    for (size_t i = 1; i <= n; i++) {
        struct numbered_name now = split_number(names[i < n ? i : 0]);
        bool goes_on = i < n && now.number == last.number + 1;
        if (!goes_on) {
            bool range = first.number != last.number;
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s%s%s", begin ? "" : ",",
                                      first.name + first.prefix, range ? "-" : "",
                                      range ? last.name + last.prefix : ""));
            begin = false;
            first = now;
        }
        last = now;
    }
    return ocv_buffer_append(out, "]", 1, err);
}

int match_fold_names(const char **names, size_t n, struct ocv_buffer *out, struct ocv_error *err)
{
    if (n)
        qsort(names, n, sizeof(*names), by_number);
    for (size_t i = 0, end; i < n; i = end) {
        struct numbered_name first = split_number(names[i]);
        for (end = i + 1; end < n; end++) {
            struct numbered_name next = split_number(names[end]);
            /* both fit into one pair of brackets: n9 and n10 do, n09 and n9 do not */
            bool zero = first.name[first.prefix] == '0' || next.name[next.prefix] == '0';
            if (!first.digits || !next.digits || first.prefix != next.prefix ||
                strncmp(first.name, next.name, first.prefix) != 0 ||
                (first.digits != next.digits && zero))
                break;
        }
        if (i)
            OCV_TRY(ocv_buffer_append(out, ",", 1, err));
        OCV_TRY(end - i > 1 ? put_series(names + i, end - i, out, err)
                            : ocv_buffer_printf(out, err, "%s", names[i]));
    }
    return OCV_OK;
}
