/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The new file is read like any other, and compared with the old one: sections other than device
 * code are the same at the same addresses, each pointer leads to what is left of its region, and
 * the tables describe a file that loaders accept. */
#include "lib/base/cleanup.h"
#include "lib/internal/slim/slim_internal.h"

#include <string.h>

#define STEP ((uint64_t)1 << 20) /* bytes that are compared at once; a multiple of a word */

struct check {
    const struct ocv_slim_elf *old, *new;
    const struct ocv_slim_target *target;
    size_t pointers;
};

static bool overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

/* Sections lie in their segments, segments do not share bytes, and nothing shares the headers'. */
static const char *check_tables(const struct ocv_slim_elf *elf)
{
    uint64_t headers = elf->header.e_phoff, size = elf->header.e_phnum * sizeof(Elf64_Phdr);
    for (size_t i = 0; i < elf->header.e_shnum; i++) {
        const Elf64_Shdr *s = &elf->sections[i];
        if (s->sh_type == SHT_NULL || s->sh_type == SHT_NOBITS || !s->sh_size)
            continue;
        if (overlap(s->sh_offset, s->sh_size, headers, size))
            return "the new headers share bytes with a section";
        if (s->sh_flags & SHF_ALLOC && ocv_slim_place(elf, s->sh_addr, s->sh_size) != s->sh_offset)
            return "a section of the new file is not where its segment is";
    }
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        if (p->p_type == PT_PHDR && (p->p_offset != headers || p->p_filesz != size ||
                                     ocv_slim_place(elf, p->p_vaddr, size) != headers))
            return "the new headers are not where they say";
        for (size_t k = i + 1; k < elf->header.e_phnum && p->p_type == PT_LOAD; k++)
            if (elf->segments[k].p_type == PT_LOAD && p->p_filesz && elf->segments[k].p_filesz &&
                overlap(p->p_offset, p->p_filesz, elf->segments[k].p_offset,
                        elf->segments[k].p_filesz))
                return "segments of the new file share bytes";
    }
    return NULL;
}

/* Of each region there is what its target keeps, byte for byte, and nothing else is in the section.
 */
static const char *check_regions(const struct check *check)
{
    static const char wrong[] = "the new device code is not what was to be kept";
    for (size_t i = 0; i < check->new->n_devices; i++) {
        const struct ocv_slim_device *new = &check->new->devices[i], *old = NULL;
        for (size_t k = 0; k < check->old->n_devices; k++)
            if (check->old->devices[k].section == new->section)
                old = &check->old->devices[k];
        if (!old || old->address != new->address || old->n_regions != new->n_regions)
            return wrong;
        for (size_t k = 0; k < new->n_regions; k++) {
            const struct ocv_slim_region *from = &old->regions[k], *to = &new->regions[k];
            if (to->old != from->new ||
                !ocv_slim_region_is_cut(check->old->bytes + old->offset + from->old, from->old_size,
                                        check->target, check->new->bytes + new->offset + to->old,
                                        to->old_size))
                return wrong;
            ocv_slim_release(check->old->bytes + old->offset + from->old, from->old_size);
            ocv_slim_release(check->new->bytes + new->offset + to->old, to->old_size);
        }
    }
    return check->new->n_devices == check->old->n_devices ? NULL : wrong;
}

static bool check_pointer(void *data, uint64_t place, uint64_t value, const unsigned char *addend)
{
    struct check *check = data;
    const struct ocv_slim_device *device = ocv_slim_device_of(check->new, value);
    (void)addend;
    if (ocv_slim_device_of(check->old, value) && !device)
        return false;
    if (!device)
        return true;
    check->pointers++;
    return ocv_slim_is_wrapper(check->new, place) && ocv_slim_region_at(device, value);
}

static bool count_pointer(void *data, uint64_t place, uint64_t value, const unsigned char *addend)
{
    struct check *check = data;
    (void)place;
    (void)addend;
    check->pointers += ocv_slim_device_of(check->old, value) != NULL;
    return true;
}

/* May this word of a section differ: an addend, a wrapper's pointer, a symbol for debuggers? */
static bool may_differ(const struct check *check, const Elf64_Shdr *section, uint64_t at)
{
    const unsigned char *p = check->old->bytes + section->sh_offset + at;
    switch (section->sh_type) {
    case SHT_RELA:
        return at % sizeof(Elf64_Rela) == 16 && ocv_slim_device_of(check->old, ocv_slim_u64(p));
    case SHT_SYMTAB:
        return at % sizeof(Elf64_Sym) >= 8;
    case SHT_PROGBITS:
        return ocv_slim_is_wrapper(check->old, section->sh_addr + at) &&
               ocv_slim_device_of(check->old, ocv_slim_u64(p));
    default:
        return false;
    }
}

static const char *check_sections(const struct check *check)
{
    const struct ocv_slim_elf *old = check->old, *new = check->new;
    if (old->header.e_shnum != new->header.e_shnum)
        return "the new file has another number of sections";
    for (size_t i = 0; i < old->header.e_shnum; i++) {
        const Elf64_Shdr *a = &old->sections[i], *b = &new->sections[i];
        bool device = false;
        for (size_t k = 0; k < old->n_devices; k++)
            device = device || old->devices[k].section == i;
        if (a->sh_type != b->sh_type || a->sh_addr != b->sh_addr || a->sh_flags != b->sh_flags ||
            (!device && a->sh_size != b->sh_size))
            return "a section of the new file is not what it was";
        if (device || a->sh_type == SHT_NULL || a->sh_type == SHT_NOBITS)
            continue;
        const unsigned char *x = old->bytes + a->sh_offset, *y = new->bytes + b->sh_offset;
        for (uint64_t from = 0, step; from < a->sh_size; from += step) {
            step = a->sh_size - from < STEP ? a->sh_size - from : STEP;
            bool same = memcmp(x + from, y + from, step) == 0;
            for (uint64_t at = from; at < from + step && !same; at += 8) {
                size_t n = from + step - at < 8 ? from + step - at : 8;
                if (memcmp(x + at, y + at, n) != 0 && (n < 8 || !may_differ(check, a, at)))
                    return "bytes of the new file differ that are no device code";
            }
            ocv_slim_release(x + from, step);
            ocv_slim_release(y + from, step);
        }
    }
    return NULL;
}

int ocv_slim_check(const struct ocv_slim_elf *old, const unsigned char *bytes, uint64_t len,
                   const struct ocv_slim_target *target, const char **why, struct ocv_error *err)
{
    __attribute__((cleanup(ocv_slim_elf_free))) struct ocv_slim_elf new;
    struct check check = {.old = old, .new = &new, .target = target};
    OCV_TRY(ocv_slim_elf_read(bytes, len, &new, err));
    if (!new.why)
        OCV_TRY(ocv_slim_find_regions(&new, err));
    *why = new.why;
    if (!*why)
        *why = check_tables(&new);
    if (!*why)
        *why = check_sections(&check);
    if (!*why)
        *why = check_regions(&check);
    if (*why)
        return OCV_OK;
    ocv_slim_each_pointer(old, count_pointer, &check);
    size_t before = check.pointers;
    check.pointers = 0;
    if (!ocv_slim_each_pointer(&new, check_pointer, &check) || check.pointers != before)
        *why = "a pointer of the new file leads nowhere";
    return OCV_OK;
}
