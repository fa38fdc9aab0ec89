/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Which entries of a region of CUDA stay; of one of ROCm, see bundle.c.
 *
 * The driver takes machine code of the GPU's major version with the highest minor one that is not
 * above the GPU's ("CUDA C++ Programming Guide", "Binary Compatibility"); an architecture with `a`
 * runs on that GPU alone, one with `f` on those of its major version from its minor one on
 * ("Family- Specific Features"). Where there is none, it compiles the newest PTX that is not above
 * the GPU.
 *
 * region: u32 magic, u16 version, u16 header size, u64 bytes that follow
 * entry:  u16 kind, u16, u32 header size, u64 bytes that follow, …, u32 architecture (at 28), …,
 *         u64 flags (at 40) */
#include "lib/internal/content/content.h"
#include "lib/internal/slim/slim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION_MAGIC 0xBA55ED50u
#define ENTRY_HEADER 48u
#define ENTRY_HEADER_MAX 65536u

enum kind { KIND_PTX = 1, KIND_CODE = 2, KIND_IR = 8 };
enum flag { FLAG_OWN = 0x100000, FLAG_FAMILY = 0x200000 };

struct entry {
    enum kind kind;
    uint32_t sm;
    char letter; /* 'a', 'f', or 0 */
    uint64_t at, size;
};

static bool is_fatbin(const unsigned char *bytes, uint64_t len)
{
    return len >= OCV_SLIM_REGION_HEADER && ocv_slim_u32(bytes) == REGION_MAGIC;
}

uint64_t ocv_slim_region_size(const unsigned char *bytes, uint64_t len)
{
    if (!is_fatbin(bytes, len))
        return ocv_slim_bundle_size(bytes, len);
    if (ocv_slim_u32(bytes + 4) != (OCV_SLIM_REGION_HEADER << 16 | 1))
        return 0;
    uint64_t size = ocv_slim_u64(bytes + 8);
    return size <= len - OCV_SLIM_REGION_HEADER ? size + OCV_SLIM_REGION_HEADER : 0;
}

/* The entry at `at`. False: there is none, or, with `*why`, one that is not understood. */
static bool next_entry(const unsigned char *region, uint64_t size, uint64_t at, struct entry *out,
                       const char **why)
{
    if (at == size)
        return false;
    *why = "a fat binary in it is malformed";
    if (size - at < ENTRY_HEADER)
        return false;
    const unsigned char *p = region + at;
    uint64_t header = ocv_slim_u32(p + 4), bytes = ocv_slim_u64(p + 8),
             flags = ocv_slim_u64(p + 40);
    if (header < ENTRY_HEADER || header > ENTRY_HEADER_MAX || header > size - at ||
        bytes > size - at - header)
        return false;
    *out = (struct entry){.kind = ocv_slim_u32(p) & 0xffff,
                          .sm = ocv_slim_u32(p + 28),
                          .letter = flags & FLAG_OWN      ? 'a'
                                    : flags & FLAG_FAMILY ? 'f'
                                                          : '\0',
                          .at = at,
                          .size = header + bytes};
    *why = "it has code of a kind that is not known";
    if (out->kind != KIND_PTX && out->kind != KIND_CODE && out->kind != KIND_IR)
        return false;
    *why = NULL;
    return true;
}

/* Can a GPU run the entry, as machine code or after compiling it? */
static bool runs(const struct entry *entry, unsigned sm)
{
    return ocv_slim_sm_runs(entry->sm, entry->letter, entry->kind == KIND_PTX, sm);
}

/* The highest architectures of a region that each target runs; 0: none. */
struct best {
    uint32_t code[OCV_SLIM_TARGETS_MAX], ptx[OCV_SLIM_TARGETS_MAX];
    uint64_t smallest; /* where the smallest entry is */
    bool only_smallest;
};

static bool stays(const struct entry *entry, const struct ocv_slim_target *target,
                  const struct best *best)
{
    if (entry->kind == KIND_IR)
        return true;
    for (size_t i = 0; i < target->n; i++) {
        if (!runs(entry, target->sm[i]))
            continue;
        if (entry->kind == KIND_CODE && entry->sm == best->code[i])
            return true;
        if (entry->kind == KIND_PTX && entry->sm == best->ptx[i] &&
            (!best->code[i] || target->keep_ptx))
            return true;
    }
    return best->only_smallest && entry->at == best->smallest;
}

/* Read a region once, to know what the best in it is. */
static void find_best(const unsigned char *region, uint64_t size,
                      const struct ocv_slim_target *target, struct best *best, const char **why)
{
    struct entry entry;
    uint64_t smallest = UINT64_MAX;
    bool found = false;
    *best = (struct best){0};
    for (uint64_t at = OCV_SLIM_REGION_HEADER; next_entry(region, size, at, &entry, why);
         at += entry.size) {
        found = found || entry.kind == KIND_IR;
        if (entry.size < smallest) {
            smallest = entry.size;
            best->smallest = at;
        }
        for (size_t i = 0; i < target->n && entry.kind != KIND_IR; i++) {
            uint32_t *highest = entry.kind == KIND_CODE ? &best->code[i] : &best->ptx[i];
            if (!runs(&entry, target->sm[i]))
                continue;
            found = true;
            if (entry.sm > *highest)
                *highest = entry.sm;
        }
    }
    best->only_smallest = !found;
}

void ocv_slim_count_removed(struct ocv_slim_result *result, enum ocv_content_fact fact,
                            const char *value, uint64_t bytes)
{
    struct ocv_slim_removed it = {.kind = ocv_content_fact_name(fact)};
    snprintf(it.value, sizeof(it.value), "%s", value);
    size_t i = 0;
    while (i < result->n_removed && (strcmp(result->removed[i].value, it.value) != 0 ||
                                     strcmp(result->removed[i].kind, it.kind) != 0))
        i++;
    if (i == OCV_SLIM_REMOVED_MAX)
        return;
    if (i == result->n_removed)
        result->removed[result->n_removed++] = it;
    result->removed[i].bytes += (int64_t)bytes;
    result->removed[i].count++;
}

uint64_t ocv_slim_region_cut(const unsigned char *region, uint64_t size,
                             const struct ocv_slim_target *target, unsigned char *out,
                             struct ocv_slim_result *result, const char **why)
{
    struct best best;
    struct entry entry;
    uint64_t kept = OCV_SLIM_REGION_HEADER;
    if (!is_fatbin(region, size))
        return ocv_slim_bundle_cut(region, size, target, out, result, why);
    *why = NULL;
    find_best(region, size, target, &best, why);
    if (*why)
        return 0;
    for (uint64_t at = OCV_SLIM_REGION_HEADER; next_entry(region, size, at, &entry, why);
         at += entry.size) {
        if (!stays(&entry, target, &best)) {
            if (result) {
                enum ocv_content_fact fact =
                    entry.kind == KIND_PTX ? OCV_CONTENT_CUDA_PTX : OCV_CONTENT_CUDA_CODE;
                char value[16];
                snprintf(value, sizeof(value), "%u%.1s", entry.sm, &entry.letter);
                ocv_slim_count_removed(result, fact, value, entry.size);
            }
            continue;
        }
        if (out)
            memcpy(out + kept, region + at, entry.size);
        kept += entry.size;
    }
    if (out) {
        memcpy(out, region, OCV_SLIM_REGION_HEADER);
        ocv_slim_put64(out + 8, kept - OCV_SLIM_REGION_HEADER);
    }
    if (result) {
        bool compiled = false;
        for (size_t i = 0; i < target->n; i++)
            compiled = compiled || (!best.code[i] && best.ptx[i]);
        result->regions++;
        result->by_ptx += compiled;
        result->without += best.only_smallest && size > OCV_SLIM_REGION_HEADER;
    }
    return kept;
}

bool ocv_slim_region_is_cut(const unsigned char *region, uint64_t size,
                            const struct ocv_slim_target *target, const unsigned char *cut,
                            uint64_t cut_size)
{
    struct best best;
    struct entry entry;
    uint64_t kept = OCV_SLIM_REGION_HEADER;
    const char *why = NULL;
    if (!is_fatbin(region, size))
        return ocv_slim_bundle_is_cut(region, size, target, cut, cut_size);
    find_best(region, size, target, &best, &why);
    for (uint64_t at = OCV_SLIM_REGION_HEADER; next_entry(region, size, at, &entry, &why);
         at += entry.size) {
        if (!stays(&entry, target, &best))
            continue;
        if (entry.size > cut_size - kept || memcmp(cut + kept, region + at, entry.size) != 0)
            return false;
        kept += entry.size;
    }
    return !why && kept == cut_size && ocv_slim_region_size(cut, cut_size) == cut_size;
}
