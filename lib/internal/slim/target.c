/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Targets as they are written, the code that a GPU runs, and words of reports: what a program asks
 * that cuts nothing itself. */
#include "lib/core/resolve/resolve_internal.h"
#include "lib/internal/slim/slim_internal.h"

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

/* "gfx942": a processor, without features. False: it is none. */
static bool parse_gfx(const char *text, size_t len, char out[OCV_SLIM_GFX_LEN])
{
    if (len < 6 || len > 8 || memcmp(text, "gfx", 3) != 0)
        return false;
    snprintf(out, OCV_SLIM_GFX_LEN, "%.*s", (int)len, text);
    return strspn(out + 3, "0123456789abcdef") == len - 3 && out[3] >= '1' && out[3] <= '9';
}

static int compare_sms(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

static int compare_gfx(const void *a, const void *b)
{
    size_t x = strlen(a), y = strlen(b);
    return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

void ocv_slim_target_sort(struct ocv_slim_target *target)
{
    qsort(target->sm, target->n, sizeof(target->sm[0]), compare_sms);
    qsort(target->gfx, target->n_gfx, sizeof(target->gfx[0]), compare_gfx);
}

int ocv_slim_target_parse(const char *text, size_t len, struct ocv_slim_target *out,
                          struct ocv_error *err)
{
    *out = (struct ocv_slim_target){.scratch = -1};
    for (const char *part = text, *end = text + len; part <= end;) {
        const char *plus = memchr(part, '+', (size_t)(end - part));
        size_t n = (size_t)((plus ? plus : end) - part);
        char gfx[OCV_SLIM_GFX_LEN];
        unsigned sm = parse_sm(part, n);
        bool amd = !sm && parse_gfx(part, n, gfx), known = false;
        if (!sm && !amd) {
            ocv_error_set(err, OCV_ERR_INVALID, "'%.*s' is no target", (int)(n < 64 ? n : 64),
                          part);
            ocv_error_hint(err, "targets are written as compilers do: sm_80, sm_90, gfx942; "
                                "sm_80+sm_86 for two that share a variant");
            return OCV_ERR_INVALID;
        }
        for (size_t i = 0; i < out->n; i++)
            known = known || out->sm[i] == sm;
        for (size_t i = 0; i < out->n_gfx && amd; i++)
            known = known || !strcmp(out->gfx[i], gfx);
        if (!known && (amd ? out->n_gfx == OCV_SLIM_GFX_MAX : out->n == OCV_SLIM_TARGETS_MAX))
            return ocv_error_set(err, OCV_ERR_INVALID, "more than %u targets in one variant",
                                 amd ? OCV_SLIM_GFX_MAX : OCV_SLIM_TARGETS_MAX);
        if (!known && amd)
            memcpy(out->gfx[out->n_gfx++], gfx, sizeof(gfx));
        else if (!known)
            out->sm[out->n++] = sm;
        part += n + 1;
    }
    ocv_slim_target_sort(out);
    return OCV_OK;
}

static const char *write_names(const struct ocv_slim_target *target, const char *before,
                               const char *between, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < target->n && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s%u", at ? between : "", before,
                               target->sm[i]);
    for (size_t i = 0; i < target->n_gfx && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", at ? between : "", target->gfx[i]);
    return out;
}

const char *ocv_slim_target_label(const struct ocv_slim_target *target, char *out, size_t size)
{
    return write_names(target, "sm", "_", out, size);
}

const char *ocv_slim_target_format(const struct ocv_slim_target *target, char *out, size_t size)
{
    return write_names(target, "sm_", "+", out, size);
}

/* Code for Tegra runs on no other chip either; the lists of hosts do not say so. */
static bool is_tegra(unsigned number)
{
    static const unsigned numbers[] = {32, 53, 62, 72, 87, 101, 110};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i] == number)
            return true;
    return false;
}

bool ocv_slim_sm_runs(unsigned number, char letter, bool compiled, unsigned sm)
{
    if (!compiled && number != sm && (is_tegra(number) || is_tegra(sm)))
        return false;
    return ocv_sm_runs(number, letter ? letter : compiled ? 'v' : 'r', sm);
}

unsigned ocv_slim_runs(const char *architecture, bool compiled, unsigned sm)
{
    char *letter;
    unsigned long number = strtoul(architecture, &letter, 10);
    return number <= UINT16_MAX && ocv_slim_sm_runs((unsigned)number, *letter, compiled, sm)
               ? (unsigned)number
               : 0;
}

bool ocv_slim_gfx_runs(const char *processor, const char *gfx)
{
    size_t n = strcspn(processor, ":"), len = strlen(gfx);
    const char *dash = memchr(processor, '-', n);
    if (!dash)
        return n == len && !memcmp(processor, gfx, n);
    /* "gfx9-4-generic": which processors of its generation it covers, the runtime's table says */
    size_t major = (size_t)(dash - processor);
    return len > 2 && major == len - 2 && !memcmp(processor, gfx, major);
}

const char *ocv_slim_outcome_name(enum ocv_slim_outcome outcome)
{
    static const char *const names[] = {[OCV_SLIM_NOTHING] = "nothing to cut",
                                        [OCV_SLIM_CUT] = "cut",
                                        [OCV_SLIM_ZEROED] = "zeroed",
                                        [OCV_SLIM_LEFT] = "left alone",
                                        [OCV_SLIM_OMITTED] = "left out"};
    return names[outcome];
}
