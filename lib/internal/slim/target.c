/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/slim/slim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SM_MIN 10u
#define SM_MAX 999u

/* "sm_80", "sm_90a": which GPU is meant, whatever code it runs. 0: it is none. */
static unsigned parse_sm(const char *text, size_t len)
{
    unsigned sm = 0;
    size_t at = 3;
    if (len < 5 || memcmp(text, "sm_", 3) != 0)
        return 0;
    for (; at < len && at < 6 && text[at] >= '0' && text[at] <= '9'; at++)
        sm = sm * 10 + (unsigned)(text[at] - '0');
    if (at + 1 == len && text[at] == 'a')
        at++;
    return at == len && sm >= SM_MIN && sm <= SM_MAX ? sm : 0;
}

static int compare_sms(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

void ocv_slim_target_sort(struct ocv_slim_target *target)
{
    qsort(target->sm, target->n, sizeof(target->sm[0]), compare_sms);
}

int ocv_slim_target_parse(const char *text, size_t len, struct ocv_slim_target *out,
                          struct ocv_error *err)
{
    *out = (struct ocv_slim_target){0};
    for (const char *part = text, *end = text + len; part <= end;) {
        const char *plus = memchr(part, '+', (size_t)(end - part));
        size_t n = (size_t)((plus ? plus : end) - part);
        unsigned sm = parse_sm(part, n);
        if (!sm) {
            ocv_error_set(err, OCV_ERR_INVALID, "'%.*s' is no target", (int)(n < 64 ? n : 64),
                          part);
            ocv_error_hint(err,
                           "targets are written as compilers do: sm_80, sm_90; sm_80+sm_86 for "
                           "two that share a variant");
            return OCV_ERR_INVALID;
        }
        bool known = false;
        for (size_t i = 0; i < out->n; i++)
            known = known || out->sm[i] == sm;
        if (!known && out->n == OCV_SLIM_TARGETS_MAX)
            return ocv_error_set(err, OCV_ERR_INVALID, "more than %u targets in one variant",
                                 OCV_SLIM_TARGETS_MAX);
        if (!known)
            out->sm[out->n++] = sm;
        part += n + 1;
    }
    ocv_slim_target_sort(out);
    return OCV_OK;
}

static const char *write_numbers(const struct ocv_slim_target *target, const char *before,
                                 const char *between, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < target->n && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s%u", i ? between : "", before,
                               target->sm[i]);
    return out;
}

const char *ocv_slim_target_label(const struct ocv_slim_target *target, char *out, size_t size)
{
    return write_numbers(target, "sm", "_", out, size);
}

const char *ocv_slim_target_format(const struct ocv_slim_target *target, char *out, size_t size)
{
    return write_numbers(target, "sm_", "+", out, size);
}
