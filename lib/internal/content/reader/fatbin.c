/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* NVIDIA's fat binaries: a container of entries, each code for one architecture. Only the headers
 * are read; what follows them may be compressed.
 *
 * container: u32 magic, u16 version, u16 header size, u64 bytes that follow
 * entry:     u16 kind, u16, u32 header size, u64 bytes that follow, u32, u32, u16 minor, u16 major,
 *            u32 architecture, …, u64 flags (at 40), …, u64 bytes that they inflate to (at 56) */
#include "lib/base/cleanup.h"
#include "lib/internal/content/reader/reader.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define CONTAINER_HEADER 16u
#define ENTRY_HEADER 48u   /* the least of one */
#define ENTRY_INFLATED 64u /* with what it inflates to */
/* A cubin without a function has 840 to 1464 bytes for the SM that ptxas of CUDA 12.4 and 13.5
 * takes unless told otherwise, one with the least function 1864 and more. */
#define CUBIN_EMPTY_MAX 1535u
#define ENTRY_HEADER_MAX 65536u
#define SM_MIN 10u
#define SM_MAX 999u
#define SM_ALONE_MIN 90u /* from which on there is code for one SM alone */

enum entry_kind { ENTRY_PTX = 1, ENTRY_CUBIN = 2, ENTRY_IR = 8 };
enum entry_flag { FLAG_ZSTD = 0x8000, FLAG_ARCH_ONLY = 0x100000, FLAG_FAMILY = 0x200000 };

int ocv_fatbin_begin(struct ocv_content_reader *r, int64_t offset, bool last, struct ocv_error *err)
{
    size_t have;
    const unsigned char *p = ocv_window_at(r, offset, &have);
    r->next = offset + 8;
    if (have < CONTAINER_HEADER) {
        if (!last)
            r->next = offset;
        return last ? OCV_STEP_DONE : OCV_STEP_MORE;
    }
    uint64_t size = ocv_le64(p + 8);
    unsigned header = ocv_le16(p + 6);
    if (ocv_le16(p + 4) != 1 || header < CONTAINER_HEADER || header > 4096 || size > INT64_MAX / 4)
        return OCV_STEP_DONE;
    OCV_TRY(ocv_content_leap(r, offset, offset + header, err));
    r->container = offset;
    r->container_end = offset + header + (int64_t)size;
    return OCV_STEP_DONE;
}

static int leave_fatbin(struct ocv_content_reader *r, int64_t at, struct ocv_error *err)
{
    int64_t container = r->container;
    r->container = -1;
    OCV_TRY(ocv_content_leap(r, container, (at + 7) & ~(int64_t)7, err));
    return OCV_STEP_DONE;
}

int ocv_fatbin_walk(struct ocv_content_reader *r, bool last, struct ocv_error *err)
{
    size_t have;
    if (r->next + (int64_t)ENTRY_HEADER > r->container_end)
        return leave_fatbin(r, r->container_end, err);
    const unsigned char *p = ocv_window_at(r, r->next, &have);
    if (have < ENTRY_INFLATED && !last)
        return OCV_STEP_MORE;
    if (have < ENTRY_HEADER) {
        ocv_content_unseen(r, "a CUDA fat binary that ends early");
        return leave_fatbin(r, r->container_end, err);
    }
    uint32_t header = ocv_le32(p + 4);
    uint64_t size = ocv_le64(p + 8);
    uint64_t room = (uint64_t)(r->container_end - r->next);
    if (header < ENTRY_HEADER || header > ENTRY_HEADER_MAX || header > room ||
        size > room - header) {
        ocv_content_unseen(r, "a malformed CUDA fat binary");
        return leave_fatbin(r, r->next, err);
    }
    int64_t bytes = header + (int64_t)size;
    uint64_t inflated = header >= ENTRY_INFLATED && have >= ENTRY_INFLATED ? ocv_le64(p + 56) : 0;
    if (!inflated)
        inflated = size;
    r->next += bytes;

    uint32_t sm = ocv_le32(p + 28);
    uint64_t flags = ocv_le64(p + 40);
    unsigned kind = ocv_le16(p);
    char value[32];
    if (sm < SM_MIN || sm > SM_MAX) {
        ocv_content_unseen(r, "CUDA code of an architecture that is not known");
        return OCV_STEP_DONE;
    }
    snprintf(value, sizeof(value), "%u%s", (unsigned)sm,
             flags & FLAG_ARCH_ONLY ? "a"
             : flags & FLAG_FAMILY  ? "f"
                                    : "");
    if (flags & FLAG_ZSTD)
        OCV_TRY(ocv_content_sight(r, r->container, OCV_CONTENT_CUDA_ZSTD, value, 0, err));
    if (kind != ENTRY_CUBIN && kind != ENTRY_IR && kind != ENTRY_PTX) {
        ocv_content_unseen(r, "an entry of a CUDA fat binary of a kind that is not known");
        return OCV_STEP_DONE;
    }
    enum ocv_content_fact fact = kind == ENTRY_IR              ? OCV_CONTENT_CUDA_IR
                                 : kind == ENTRY_PTX           ? OCV_CONTENT_CUDA_PTX
                                 : inflated <= CUBIN_EMPTY_MAX ? OCV_CONTENT_CUDA_EMPTY
                                                               : OCV_CONTENT_CUDA_CODE;
    OCV_TRY(ocv_content_sight(r, r->container, fact, value, bytes, err));
    if (kind == ENTRY_PTX) {
        snprintf(value, sizeof(value), "%u.%u", ocv_le16(p + 26), ocv_le16(p + 24));
        OCV_TRY(ocv_content_sight(r, r->container, OCV_CONTENT_PTX_VERSION, value, 0, err));
    }
    return OCV_STEP_DONE;
}

int ocv_cubin_begin(struct ocv_content_reader *r, int64_t offset, bool last, struct ocv_error *err)
{
    size_t have;
    char sm[16];
    const unsigned char *p = ocv_window_at(r, offset, &have);
    r->next = offset + 8;
    if (have < sizeof(Elf64_Ehdr)) {
        if (!last)
            r->next = offset;
        return last ? OCV_STEP_DONE : OCV_STEP_MORE;
    }
    if (p[EI_CLASS] != ELFCLASS64 || ocv_le16(p + 18) != EM_CUDA_NUMBER ||
        !ocv_cubin_sm(p, sm, sizeof(sm)))
        return OCV_STEP_DONE;
    /* its tables are behind what they speak of */
    uint64_t segments = ocv_le64(p + 32), sections = ocv_le64(p + 40);
    if (segments > INT32_MAX || sections > INT32_MAX)
        return OCV_STEP_DONE;
    segments += (uint64_t)ocv_le16(p + 54) * ocv_le16(p + 56);
    sections += (uint64_t)ocv_le16(p + 58) * ocv_le16(p + 60);
    int64_t size = (int64_t)(segments > sections ? segments : sections);
    size = size > (int64_t)sizeof(Elf64_Ehdr) ? size : (int64_t)sizeof(Elf64_Ehdr);
    /* 64 bytes may say anything: where the file ends before, it was no cubin, and nothing behind
     * them has been passed over */
    size_t n = r->n_sightings;
    OCV_TRY(ocv_content_sight(r, offset, OCV_CONTENT_CUDA_CODE, sm, size, err));
    if (r->n_sightings > n)
        r->sightings[n].whole = true;
    r->next = offset + (int64_t)sizeof(Elf64_Ehdr);
    return OCV_STEP_DONE;
}

/* ELF flags of a cubin, by its ABI version: up to 7 the SM is in the low byte, from 8 on in the
 * next one. A bit of the other byte says that it has code for this SM alone
 * (llvm/BinaryFormat/ELF.h: EF_CUDA_ACCELERATORS); ptxas of CUDA 13 leaves it 0 and says so in a
 * note. */
bool ocv_cubin_sm(const unsigned char *header, char *out, size_t size)
{
    uint32_t flags = ocv_le32(header + 48);
    bool later = header[8] >= 8;
    uint32_t sm = later ? flags >> 8 & 0xff : flags & 0xff;
    bool alone = sm >= SM_ALONE_MIN && flags & (later ? 0x8 : 0x800);
    snprintf(out, size, "%u%s", (unsigned)sm, alone ? "a" : "");
    return sm >= SM_MIN;
}
