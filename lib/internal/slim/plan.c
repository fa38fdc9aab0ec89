/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What is to become of a file: whether every pointer to its device code is understood, where each
 * region goes, which pages are taken out, and which program headers describe what is left. */
#include "lib/base/cleanup.h"
#include "lib/internal/slim/slim_internal.h"

#include <stdlib.h>
#include <string.h>

#define STEP ((uint64_t)4 << 20) /* of code, that is looked through */
#define ALONE_MAX 16u /* regions without a wrapper; published libraries have one at most */

/* The segment that a section of device code lies in. */
static const Elf64_Phdr *segment_of(const struct ocv_slim_elf *elf,
                                    const struct ocv_slim_device *device)
{
    const Elf64_Phdr *p = elf->segments;
    while (p->p_type != PT_LOAD || device->address < p->p_vaddr ||
           device->address - p->p_vaddr >= p->p_filesz)
        p++;
    return p;
}

/* Does a range of the file have a byte of a section of device code? */
static bool touches_device(const struct ocv_slim_elf *elf, uint64_t offset, uint64_t size,
                           size_t but)
{
    for (size_t i = 0; i < elf->n_devices; i++) {
        const struct ocv_slim_device *device = &elf->devices[i];
        if (device->section != but && offset < device->offset + device->size &&
            device->offset < offset + size)
            return true;
    }
    return false;
}

struct walk {
    const struct ocv_slim_elf *elf;
    size_t wrappers; /* whose pointers were seen */
};

/* A pointer into device code is a wrapper's own, and leads to where a region begins. */
static bool check_pointer(void *data, uint64_t place, uint64_t value, const unsigned char *addend)
{
    struct walk *walk = data;
    const struct ocv_slim_elf *elf = walk->elf;
    const struct ocv_slim_device *device = ocv_slim_device_of(elf, value);
    bool wrapper = ocv_slim_is_wrapper(elf, place);
    (void)addend;
    walk->wrappers += wrapper;
    if (ocv_slim_device_of(elf, place))
        return false;
    if (!device)
        return true;
    struct ocv_slim_region *region =
        (struct ocv_slim_region *)(uintptr_t)ocv_slim_region_at(device, value);
    uint64_t word = ocv_slim_place(elf, place, 8);
    if (!wrapper || !region || word == UINT64_MAX || touches_device(elf, word, 8, SIZE_MAX))
        return false;
    region->pointed = true;
    return true;
}

/* May an instruction lead to an address, by its distance (x86-64) or its page (aarch64)? */
static bool code_leads_to(const struct ocv_slim_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->header.e_shnum; i++) {
        const Elf64_Shdr *s = &elf->sections[i];
        if (!(s->sh_flags & SHF_EXECINSTR) || s->sh_type != SHT_PROGBITS)
            continue;
        const unsigned char *bytes = elf->bytes + s->sh_offset;
        bool x86 = elf->header.e_machine == EM_X86_64;
        for (uint64_t at = 0; at + 4 <= s->sh_size; at += x86 ? 1 : 4) {
            uint32_t word = ocv_slim_u32(bytes + at);
            uint64_t here = s->sh_addr + at;
            /* up to four bytes of the instruction stand behind the distance */
            if (x86 && address - (here + 4 + (uint64_t)(int64_t)(int32_t)word) <= 4)
                return true;
            if (x86 || (word & 0x9f000000u) != 0x90000000u) /* adrp */
                continue;
            uint64_t pages = (word >> 29 & 3) | (uint64_t)(word >> 5 & 0x7ffff) << 2;
            pages = pages & 0x100000 ? pages | ~(uint64_t)0x1fffff : pages;
            if (((here >> 12) + pages) << 12 == (address & ~(uint64_t)0xfff))
                return true;
        }
    }
    return false;
}

/* Does `lea` (x86-64), which compilers take an address with, have the begin of a region? */
static bool code_takes_region(const struct ocv_slim_elf *elf)
{
    for (size_t i = 0; i < elf->header.e_shnum && elf->header.e_machine == EM_X86_64; i++) {
        const Elf64_Shdr *s = &elf->sections[i];
        if (!(s->sh_flags & SHF_EXECINSTR) || s->sh_type != SHT_PROGBITS)
            continue;
        const unsigned char *bytes = elf->bytes + s->sh_offset;
        for (uint64_t at = 0; at + 6 <= s->sh_size; at++) {
            if (at && at % STEP == 0)
                ocv_slim_release(bytes + at - STEP, STEP);
            if (bytes[at] != 0x8d || (bytes[at + 1] & 0xc7) != 0x05)
                continue;
            uint64_t address =
                s->sh_addr + at + 6 + (uint64_t)(int64_t)(int32_t)ocv_slim_u32(bytes + at + 2);
            const struct ocv_slim_device *device = ocv_slim_device_of(elf, address);
            if (device && ocv_slim_region_at(device, address))
                return true;
        }
    }
    return false;
}

/* No symbol of a table is in device code. */
static const char *check_symbols(const struct ocv_slim_elf *elf, const Elf64_Shdr *table)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        const unsigned char *p = elf->bytes + table->sh_offset + at;
        unsigned section = ocv_slim_u32(p + 4) >> 16;
        if (section != SHN_UNDEF && section < SHN_LORESERVE &&
            ocv_slim_device_of(elf, ocv_slim_u64(p + 8)))
            return "a symbol of it is in its device code";
    }
    return NULL;
}

/* Symbols for debuggers, which follow the regions: each is where one begins, or a section. */
static const char *check_names(const struct ocv_slim_elf *elf, const Elf64_Shdr *table)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        const unsigned char *p = elf->bytes + table->sh_offset + at;
        unsigned section = ocv_slim_u32(p + 4) >> 16;
        uint64_t value = ocv_slim_u64(p + 8);
        const struct ocv_slim_device *device =
            section != SHN_UNDEF && section < SHN_LORESERVE ? ocv_slim_device_of(elf, value) : NULL;
        if (device && value != device->address && !ocv_slim_region_at(device, value))
            return "a symbol of it is within its device code";
    }
    return NULL;
}

static const char *check_relocations(const struct ocv_slim_elf *elf,
                                     const struct ocv_slim_table *table)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= table->size; at += sizeof(Elf64_Rela)) {
        const unsigned char *p = elf->bytes + table->offset + at;
        uint32_t type = ocv_slim_u32(p + 8), symbol = ocv_slim_u32(p + 12);
        if (ocv_slim_device_of(elf, ocv_slim_u64(p)))
            return "a relocation changes its device code";
        if (!symbol || type == elf->relative || type == elf->irelative)
            continue;
        uint64_t place = ocv_slim_symbol(elf, symbol);
        if (place == UINT64_MAX || touches_device(elf, place, sizeof(Elf64_Sym), SIZE_MAX))
            return "a relocation of it names no symbol";
        const unsigned char *s = elf->bytes + place;
        if (ocv_slim_u32(s + 4) >> 16 &&
            ocv_slim_device_of(elf, ocv_slim_u64(s + 8) + ocv_slim_u64(p + 16)))
            return "a relocation leads into its device code";
    }
    return NULL;
}

/* Is everything understood that leads to device code, or lies over it? */
static const char *check_pointers(const struct ocv_slim_elf *elf)
{
    for (size_t i = 0; i < elf->header.e_shnum; i++) {
        const Elf64_Shdr *s = &elf->sections[i];
        const char *why = NULL;
        if (s->sh_type == SHT_NULL || s->sh_type == SHT_NOBITS)
            continue;
        if (touches_device(elf, s->sh_offset, s->sh_size, i))
            return "a section lies over its device code";
        if (s->sh_type == SHT_SYMTAB)
            why = check_names(elf, s);
        else if (s->sh_type == SHT_DYNSYM)
            why = check_symbols(elf, s);
        else if (s->sh_type == SHT_REL)
            why = "it has relocations of a form that is not known";
        if (why)
            return why;
    }
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        if (p->p_type != PT_LOAD && p->p_type != PT_NULL && p->p_type != PT_GNU_STACK &&
            touches_device(elf, p->p_offset, p->p_filesz, SIZE_MAX))
            return "a segment of another kind lies over its device code";
        /* the same bytes mapped twice: only the segment that has them at their addresses is known
         */
        for (size_t k = 0; p->p_type == PT_LOAD && k < elf->n_devices; k++)
            if (segment_of(elf, &elf->devices[k]) != p &&
                p->p_offset < elf->devices[k].offset + elf->devices[k].size &&
                elf->devices[k].offset < p->p_offset + p->p_filesz)
                return "two segments have its device code";
    }
    if (touches_device(elf, 0, sizeof(elf->header), SIZE_MAX) ||
        touches_device(elf, elf->header.e_phoff, elf->header.e_phnum * sizeof(Elf64_Phdr),
                       SIZE_MAX) ||
        touches_device(elf, elf->header.e_shoff, elf->header.e_shnum * sizeof(Elf64_Shdr),
                       SIZE_MAX))
        return "its headers lie over its device code";
    struct ocv_slim_table table;
    for (size_t i = 0; ocv_slim_table(elf, i, &table); i++) {
        if (table.known && touches_device(elf, table.offset, table.size, SIZE_MAX))
            return "a table of relocations lies over its device code";
        const char *why = !table.known   ? "a table of relocations does not lie in it"
                          : table.packed ? NULL
                                         : check_relocations(elf, &table);
        if (why)
            return why;
    }
    struct walk walk = {.elf = elf};
    if (!ocv_slim_each_pointer(elf, check_pointer, &walk) ||
        walk.wrappers != ocv_slim_count_wrappers(elf))
        return "something leads to its device code that is no wrapper of a fat binary";
    if (code_takes_region(elf))
        return "its code takes the address of a fat binary";
    /* a region without a wrapper is nobody's, or code finds it by itself */
    size_t alone = 0;
    for (size_t i = 0; i < elf->n_devices; i++)
        for (size_t k = 0; k < elf->devices[i].n_regions; k++) {
            if (elf->devices[i].regions[k].pointed)
                continue;
            if (++alone > ALONE_MAX)
                return "it has too many fat binaries without a wrapper";
            if (code_leads_to(elf, elf->devices[i].address + elf->devices[i].regions[k].old))
                return "its code may lead to a fat binary without a wrapper";
        }
    return NULL;
}

/* Where each region goes: to the front, at its old place within the section's alignment, which
 * never is behind its old place. */
static bool pack_regions(struct ocv_slim_elf *elf, const struct ocv_slim_target *target,
                         struct ocv_slim_result *result)
{
    for (size_t i = 0; i < elf->n_devices; i++) {
        struct ocv_slim_device *device = &elf->devices[i];
        struct ocv_slim_region *regions = (struct ocv_slim_region *)(uintptr_t)device->regions;
        uint64_t next = 0;
        for (size_t k = 0; k < device->n_regions; k++) {
            struct ocv_slim_region *r = &regions[k];
            r->new_size = ocv_slim_region_cut(elf->bytes + device->offset + r->old, r->old_size,
                                              target, NULL, result, &elf->why);
            if (!r->new_size)
                return false;
            ocv_slim_release(elf->bytes + device->offset + r->old, r->old_size);
            uint64_t within = r->old & (device->align - 1);
            r->new = (next & ~(device->align - 1)) + within;
            if (r->new < next)
                r->new += device->align;
            next = r->new + r->new_size;
        }
        device->used = device->kept = next;
    }
    return true;
}

static int compare_devices(const void *a, const void *b)
{
    const struct ocv_slim_device *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Whole pages behind what is kept. Each hole is a multiple of the largest alignment, so that what
 * comes after it stays at its place within that. */
static void find_hole(const struct ocv_slim_elf *elf, struct ocv_slim_device *device, uint64_t unit)
{
    uint64_t start = ocv_slim_up(device->offset + device->kept, elf->page);
    uint64_t end = (device->offset + device->size) & ~(elf->page - 1);
    device->hole = start;
    device->hole_size = end > start ? (end - start) & ~(unit - 1) : 0;
}

/* Old kernels tell a program where its headers are by the place of the first segment: no hole may
 * be in front of them. */
static bool may_hold_headers(const struct ocv_slim_elf *elf, const struct ocv_slim_device *device)
{
    bool program = false;
    for (size_t i = 0; i < elf->header.e_phnum; i++)
        program = program || elf->segments[i].p_type == PT_INTERP;
    if (!program || !elf->n_loads)
        return !program;
    for (const struct ocv_slim_device *it = elf->devices; it < device; it++)
        if (it->hole_size)
            return false;
    return device->address - device->offset == elf->loads[0]->p_vaddr - elf->loads[0]->p_offset;
}

uint64_t ocv_slim_moved(const struct ocv_slim_elf *elf, uint64_t offset)
{
    uint64_t out = offset;
    for (size_t i = 0; i < elf->n_devices; i++) {
        const struct ocv_slim_device *device = &elf->devices[i];
        if (!device->hole_size || offset <= device->hole)
            continue;
        if (offset < device->hole + device->hole_size)
            return UINT64_MAX;
        out -= device->hole_size;
    }
    return out;
}

/* A piece of a segment is no more than what its sections ask for: code runs, data is written. */
static uint32_t piece_flags(const struct ocv_slim_elf *elf, const Elf64_Phdr *piece)
{
    uint64_t found = 0;
    for (size_t i = 0; i < elf->header.e_shnum; i++) {
        const Elf64_Shdr *s = &elf->sections[i];
        if (s->sh_flags & SHF_ALLOC && s->sh_addr < piece->p_vaddr + piece->p_memsz &&
            s->sh_addr + s->sh_size > piece->p_vaddr)
            found |= s->sh_flags;
    }
    uint32_t unused = (found & SHF_EXECINSTR ? 0u : PF_X) | (found & SHF_WRITE ? 0u : PF_W);
    return PF_R | (piece->p_flags & ~unused);
}

static int plan_headers(struct ocv_slim_elf *elf, struct ocv_error *err)
{
    elf->planned =
        ocv_arena_alloc(&elf->arena, elf->header.e_phnum + elf->n_devices + 1, sizeof(Elf64_Phdr));
    if (!elf->planned)
        return ocv_error_nomem(err);
    elf->n_headers = 0;
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        /* a segment, in the pieces that are left around the holes */
        const Elf64_Phdr *segment = &elf->segments[i];
        Elf64_Phdr rest = *segment;
        bool split = false;
        for (size_t k = 0; k < elf->n_devices && segment->p_type == PT_LOAD; k++) {
            const struct ocv_slim_device *device = &elf->devices[k];
            if (!device->hole_size || segment_of(elf, device) != segment)
                continue;
            Elf64_Phdr piece = rest;
            piece.p_filesz = piece.p_memsz = device->offset + device->kept - rest.p_offset;
            piece.p_flags = piece_flags(elf, &piece);
            elf->planned[elf->n_headers++] = piece;
            uint64_t gone = device->hole + device->hole_size - rest.p_offset;
            rest.p_offset += gone;
            rest.p_vaddr += gone;
            rest.p_paddr += gone;
            rest.p_filesz -= gone;
            rest.p_memsz -= gone;
            split = true;
        }
        if (split && !rest.p_memsz)
            continue;
        if (split)
            rest.p_flags = piece_flags(elf, &rest);
        elf->planned[elf->n_headers++] = rest;
    }
    for (size_t i = 0; i < elf->n_headers; i++) {
        Elf64_Phdr *p = &elf->planned[i];
        if (p->p_type == PT_PHDR && elf->headers) {
            const struct ocv_slim_device *device = elf->devices;
            while (elf->headers < device->offset || elf->headers >= device->offset + device->size)
                device++;
            p->p_offset = elf->headers;
            p->p_vaddr = p->p_paddr = device->address + (elf->headers - device->offset);
            p->p_filesz = p->p_memsz = elf->n_headers * sizeof(Elf64_Phdr);
        }
        if (p->p_type != PT_NULL)
            p->p_offset = ocv_slim_moved(elf, p->p_offset);
        if (p->p_offset == UINT64_MAX)
            elf->why = "a segment begins within its device code";
        while (p->p_type == PT_LOAD && p->p_align > elf->page &&
               (p->p_vaddr - p->p_offset) & (p->p_align - 1))
            p->p_align /= 2;
    }
    return OCV_OK;
}

int ocv_slim_plan(struct ocv_slim_elf *elf, const struct ocv_slim_target *target,
                  struct ocv_slim_result *result, struct ocv_error *err)
{
    uint64_t before = 0, after = 0, gone = 0;
    if (!pack_regions(elf, target, result))
        return OCV_OK;
    for (size_t i = 0; i < elf->n_devices; i++)
        for (size_t k = 0; k < elf->devices[i].n_regions; k++) {
            before += elf->devices[i].regions[k].old_size;
            after += elf->devices[i].regions[k].new_size;
        }
    if (before == after)
        return OCV_OK; /* OCV_SLIM_NOTHING */
    if ((elf->why = check_pointers(elf)))
        return OCV_OK;

    uint64_t unit = elf->page;
    for (size_t i = 0; i < elf->header.e_shnum; i++)
        if (elf->sections[i].sh_flags & SHF_ALLOC && elf->sections[i].sh_addralign > unit)
            unit = elf->sections[i].sh_addralign;
    qsort(elf->devices, elf->n_devices, sizeof(elf->devices[0]), compare_devices);
    elf->headers = 0;
    for (size_t i = 0; i < elf->n_devices; i++) {
        struct ocv_slim_device *device = &elf->devices[i];
        find_hole(elf, device, unit);
        if (!device->hole_size || elf->headers || !may_hold_headers(elf, device))
            continue;
        /* one header more for each hole there may be */
        uint64_t at = ocv_slim_up(device->offset + device->used, 8);
        device->kept =
            at - device->offset + (elf->header.e_phnum + elf->n_devices) * sizeof(Elf64_Phdr);
        find_hole(elf, device, unit);
        if (device->hole_size) {
            elf->headers = at;
            continue;
        }
        device->kept = device->used;
        find_hole(elf, device, unit);
    }
    for (size_t i = 0; i < elf->n_devices && !elf->headers; i++)
        elf->devices[i].hole_size = 0; /* no room for the headers that a hole needs */

    for (size_t i = 0; i < elf->header.e_shnum && !elf->why; i++)
        if (elf->sections[i].sh_type != SHT_NULL &&
            ocv_slim_moved(elf, elf->sections[i].sh_offset) == UINT64_MAX)
            elf->why = "a section begins within its device code";
    if (ocv_slim_moved(elf, elf->header.e_shoff) == UINT64_MAX)
        elf->why = "its section table begins within its device code";
    OCV_TRY(plan_headers(elf, err));
    for (size_t i = 0; i < elf->n_devices; i++)
        gone += elf->devices[i].hole_size;
    result->outcome = gone ? OCV_SLIM_CUT : OCV_SLIM_ZEROED;
    result->after = (int64_t)(elf->len - gone);
    return OCV_OK;
}
