/* SPDX-License-Identifier: GPL-3.0-or-later */
/* /proc/cpuinfo: the flags that every processor has, and the architecture that it describes. The
 * kernel lists a flag only where it is usable, so XCR0 needs no second look here. */
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/probe/cpu/cpuid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct span {
    const char *data;
    size_t len;
};

/* Flags of one processor, sorted. */
struct flags {
    struct span *items;
    size_t n;
};

static int by_text(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    int order = memcmp(x->data, y->data, x->len < y->len ? x->len : y->len);
    return order ? order : x->len == y->len ? 0 : x->len < y->len ? -1 : 1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim_span(const char *start, const char *end)
{
    while (start < end && is_blank(*start))
        start++;
    while (end > start && is_blank(end[-1]))
        end--;
    return (struct span){start, (size_t)(end - start)};
}

static bool span_starts(struct span text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

static bool span_equals(struct span text, const char *whole)
{
    return text.len == strlen(whole) && span_starts(text, whole);
}

size_t ocv_cpuinfo_word(const char **at, const char *end, const char **word)
{
    while (*at < end && is_blank(**at))
        ++*at;
    *word = *at;
    while (*at < end && !is_blank(**at))
        ++*at;
    return (size_t)(*at - *word);
}

/* Words of a line, or extensions of an isa line. */
static int split_flags(struct span line, bool extensions, struct flags *out, struct ocv_error *err)
{
    struct span *items = malloc(OCV_CPUINFO_FLAGS_MAX * sizeof(*items)), item;
    const char *at = line.data, *end = line.data + line.len;
    struct ocv_isa isa = {0};
    size_t n = 0;
    if (!items)
        return ocv_error_nomem(err);
    if (extensions)
        (void)ocv_isa_begin(&isa, line.data, line.len);
    while (extensions ? ocv_isa_next(&isa, &item.data, &item.len)
                      : (item.len = ocv_cpuinfo_word(&at, end, &item.data)) > 0) {
        if (n == OCV_CPUINFO_FLAGS_MAX) {
            free(items);
            return ocv_error_set(err, OCV_ERR_DATA, "/proc/cpuinfo: more than %u flags",
                                 OCV_CPUINFO_FLAGS_MAX);
        }
        items[n++] = item;
    }
    qsort(items, n, sizeof(*items), by_text);
    *out = (struct flags){items, n};
    return OCV_OK;
}

unsigned ocv_cpuinfo_power(const char *text, size_t len)
{
    static const char name[] = "POWER";
    unsigned n = 0;
    if (len < sizeof(name) || strncasecmp(text, name, sizeof(name) - 1) != 0)
        return 0;
    for (size_t i = sizeof(name) - 1; i < len && isdigit((unsigned char)text[i]) && n < 1000; i++)
        n = n * 10 + (unsigned)(text[i] - '0');
    return n;
}

/* What a line says of the architecture, first hit wins. Sources: the show_cpuinfo functions of
 * Linux (arch/.../kernel). Kernels for the ARM1176 write "CPU architecture: 7"; its name, which
 * stands before that line, says v6. Loongson's own kernels, before 5.19, have no "CPU Family". */
static const struct {
    const char *key, *prefix, *architecture, *variant;
} signs[] = {
    {"model name", "ARMv6-compatible", "arm", "v6"},
    {"Processor", "ARMv6-compatible", "arm", "v6"},
    {"CPU architecture", "AArch64", "arm64", NULL},
    {"CPU architecture", "8", "arm64", NULL},
    {"CPU architecture", "7", "arm", "v7"},
    {"CPU architecture", "6", "arm", "v6"},
    {"CPU architecture", "5", "arm", "v5"},
    {"vendor_id", "IBM/S390", "s390x", NULL},
    {"isa", "rv64", "riscv64", NULL},
    {"CPU Family", "Loongson-64bit", "loong64", NULL},
    {"isa", "loongarch32 loongarch64", "loong64", NULL},
    {"isa", "loongarch64", "loong64", NULL},
};

/* The state of the walk over the lines. */
struct cpuinfo_scan {
    struct flags flags;
    struct span first; /* first flags line, as most of the others are equal to it */
    struct span fields[OCV_CPUINFO_FIELDS];
    bool x86, x86_32;
};

static int read_line(struct ocv_cpuinfo *cpuinfo, struct cpuinfo_scan *walk, const char *start,
                     const char *end, struct ocv_error *err)
{
    /* lines that are kept; s390x numbers its processors in the key */
    static const char *const keys[OCV_CPUINFO_FIELDS] = {[OCV_CPUINFO_CPU] = "cpu",
                                                         [OCV_CPUINFO_MACHINE] = "processor 0",
                                                         [OCV_CPUINFO_UARCH] = "uarch",
                                                         [OCV_CPUINFO_MVENDORID] = "mvendorid",
                                                         [OCV_CPUINFO_MARCHID] = "marchid"};
    struct flags *have = &walk->flags, other = {0};
    const char *colon = memchr(start, ':', (size_t)(end - start));
    if (!colon)
        return OCV_OK;
    struct span key = trim_span(start, colon);
    struct span value = trim_span(colon + 1, end);
    for (size_t i = 0; !cpuinfo->architecture && i < sizeof(signs) / sizeof(*signs); i++)
        if (span_equals(key, signs[i].key) && span_starts(value, signs[i].prefix)) {
            cpuinfo->architecture = signs[i].architecture;
            cpuinfo->variant = signs[i].variant;
        }
    /* POWER does not tell its endianness; from POWER8 on Linux runs it little-endian */
    unsigned power = span_equals(key, "cpu") ? ocv_cpuinfo_power(value.data, value.len) : 0;
    if (!cpuinfo->architecture && power)
        cpuinfo->architecture = power >= 8 ? "ppc64le" : "ppc64";
    for (size_t i = 0; i < OCV_CPUINFO_FIELDS; i++)
        if (!walk->fields[i].data && span_equals(key, keys[i]))
            walk->fields[i] = value;
    walk->x86_32 |= span_equals(key, "fdiv_bug");
    bool x86 = span_equals(key, "flags");
    bool isa = span_equals(key, "isa") && span_starts(value, "rv"); /* LoongArch has one, too */
    if (!x86 && !isa && !span_equals(key, "Features") && !span_equals(key, "features"))
        return OCV_OK;
    walk->x86 |= x86;
    if (!walk->first.data) {
        walk->first = value;
        return split_flags(value, isa, have, err);
    }
    if (value.len == walk->first.len && memcmp(value.data, walk->first.data, value.len) == 0)
        return OCV_OK;

    /* keep what this processor has, too */
    OCV_TRY(split_flags(value, isa, &other, err));
    size_t kept = 0;
    for (size_t i = 0; i < have->n; i++)
        if (other.n > 0 &&
            bsearch(&have->items[i], other.items, other.n, sizeof(*other.items), by_text))
            have->items[kept++] = have->items[i];
    have->n = kept;
    free(other.items);
    return OCV_OK;
}

static const char *keep_span(char **at, struct span span)
{
    char *text = *at;
    memcpy(text, span.data, span.len);
    text[span.len] = '\0';
    *at += span.len + 1;
    return text;
}

/* Keep the flags and fields as strings. */
static int keep_strings(struct ocv_cpuinfo *cpuinfo, const struct cpuinfo_scan *walk,
                        struct ocv_error *err)
{
    size_t size = 1;
    for (size_t i = 0; i < walk->flags.n; i++)
        size += walk->flags.items[i].len + 1;
    for (size_t i = 0; i < OCV_CPUINFO_FIELDS; i++)
        size += walk->fields[i].len + 1;
    char *at = cpuinfo->strings = malloc(size);
    cpuinfo->flags = calloc(walk->flags.n + 1, sizeof(*cpuinfo->flags));
    if (!cpuinfo->strings || !cpuinfo->flags)
        return ocv_error_nomem(err);
    for (size_t i = 0; i < walk->flags.n; i++)
        cpuinfo->flags[i] = keep_span(&at, walk->flags.items[i]);
    cpuinfo->n_flags = walk->flags.n;
    for (size_t i = 0; i < OCV_CPUINFO_FIELDS; i++)
        if (walk->fields[i].data)
            cpuinfo->fields[i] = keep_span(&at, walk->fields[i]);
    return OCV_OK;
}

int ocv_cpuinfo_parse(struct ocv_buffer *text, struct ocv_cpuinfo *out, struct ocv_error *err)
{
    struct ocv_cpuinfo cpuinfo = {0};
    struct cpuinfo_scan walk = {0};
    int status = OCV_OK;
    const char *at = text->data;
    const char *end = at ? at + text->len : at;
    while (status == OCV_OK && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        status = read_line(&cpuinfo, &walk, at, newline ? newline : end, err);
        at = newline ? newline + 1 : end;
    }
    if (status == OCV_OK)
        status = keep_strings(&cpuinfo, &walk, err);
    free(walk.flags.items);
    ocv_buffer_free(text);
    if (status < 0) {
        ocv_cpuinfo_free(&cpuinfo);
        return status;
    }
    /* only 32-bit kernels write of the Pentium's bugs, also on processors that could do more */
    if (walk.x86)
        cpuinfo.architecture = ocv_cpuinfo_has(&cpuinfo, "lm") && !walk.x86_32 ? "amd64" : "386";
    /* a 32-bit kernel on a v8 processor also writes "CPU architecture: 8" */
    else if (cpuinfo.architecture && strcmp(cpuinfo.architecture, "arm64") == 0 &&
             ocv_cpuinfo_has(&cpuinfo, "thumb")) {
        cpuinfo.architecture = "arm";
        cpuinfo.variant = "v8";
    }
    *out = cpuinfo;
    return OCV_OK;
}

void ocv_cpuinfo_free(struct ocv_cpuinfo *cpuinfo)
{
    free(cpuinfo->flags);
    free(cpuinfo->strings);
    *cpuinfo = (struct ocv_cpuinfo){0};
}

bool ocv_cpuinfo_has(const struct ocv_cpuinfo *cpuinfo, const char *flag)
{
    return cpuinfo->n_flags > 0 && bsearch(&flag, cpuinfo->flags, cpuinfo->n_flags,
                                           sizeof(*cpuinfo->flags), ocv_text_order) != NULL;
}
