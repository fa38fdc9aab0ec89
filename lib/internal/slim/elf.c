/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The tables of a library: read as they are, and without any trust in them. Where a number leads
 * out of the file, the file is not understood. */
#include "lib/base/cleanup.h"
#include "lib/internal/slim/slim_internal.h"

#include <string.h>

#define DEVICE_SECTION_CUDA ".nv_fatbin"
#define DEVICE_SECTION_RDC "__nv_relfatbin"
#define DEVICE_SECTION_HIP ".hip_fatbin"
#define DT_RELRSZ_TAG 35 /* DT_RELRSZ, DT_RELR; older headers have no name for these */
#define DT_RELR_TAG 36
#define WRAPPER_SIZE 24u
#define WRAPPER_POINTER 8u
#define REGIONS_MAX ((size_t)1 << 18)

/* Wrappers of regions: where they are, and their first word. */
static const struct {
    const char *section;
    uint32_t magic;
} wrappers[] = {{".nvFatBinSegment", 0x466243b1u}, {".hipFatBinSegment", 0x48495046u}};

static const char NO_MEMORY[] = "there is no memory for its headers";

/* A table of `n` rows of `size` bytes within the file, copied; NULL with *why. */
static void *copy_table(struct ocv_slim_elf *elf, uint64_t offset, uint64_t n, size_t size,
                        const char **why)
{
    *why = "its headers do not lie within it";
    if (offset > elf->len || n * size > elf->len - offset)
        return NULL;
    *why = NO_MEMORY;
    void *table = ocv_arena_alloc(&elf->arena, n ? n : 1, size);
    if (table)
        memcpy(table, elf->bytes + offset, n * size);
    return table;
}

static const char *read_headers(struct ocv_slim_elf *elf)
{
    Elf64_Ehdr *h = &elf->header;
    if (elf->len < sizeof(*h) || memcmp(elf->bytes, ELFMAG, SELFMAG) != 0)
        return "it is no ELF file";
    memcpy(h, elf->bytes, sizeof(*h));
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
        return "it is not 64-bit and little-endian";
    if (h->e_type != ET_DYN)
        return "it is no shared library and no position-independent program";
    /* the relocation types that say "here stands an address of this file", and the largest page */
    if (h->e_machine == EM_X86_64) {
        elf->relative = R_X86_64_RELATIVE;
        elf->irelative = R_X86_64_IRELATIVE;
        elf->page = 4096;
    } else if (h->e_machine == EM_AARCH64) {
        elf->relative = R_AARCH64_RELATIVE;
        elf->irelative = 1032; /* R_AARCH64_IRELATIVE */
        elf->page = 65536;
    } else {
        return "it is for a processor whose relocations are not known";
    }
    if (h->e_ehsize != sizeof(*h) || h->e_phentsize != sizeof(Elf64_Phdr) ||
        h->e_shentsize != sizeof(Elf64_Shdr) || !h->e_shoff || !h->e_phoff)
        return "its section table is not there";
    if (!h->e_shnum || h->e_shstrndx >= h->e_shnum || h->e_phnum >= PN_XNUM - 64)
        return "its section table is of a form that is not known";
    const char *why;
    elf->segments = copy_table(elf, h->e_phoff, h->e_phnum, sizeof(Elf64_Phdr), &why);
    if (elf->segments)
        elf->sections = copy_table(elf, h->e_shoff, h->e_shnum, sizeof(Elf64_Shdr), &why);
    if (!elf->segments || !elf->sections)
        return why;
    for (size_t i = 0; i < h->e_shnum; i++) {
        const Elf64_Shdr *s = &elf->sections[i];
        if (s->sh_addralign & (s->sh_addralign - 1))
            return "the alignment of a section is no power of two";
        if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL)
            continue;
        if (s->sh_offset > elf->len || s->sh_size > elf->len - s->sh_offset ||
            s->sh_addr > UINT64_MAX - s->sh_size)
            return "a section does not lie within it";
    }
    elf->loads = ocv_arena_alloc(&elf->arena, h->e_phnum + 1, sizeof(*elf->loads));
    if (!elf->loads)
        return NO_MEMORY;
    uint64_t last = 0;
    for (size_t i = 0; i < h->e_phnum; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        if (p->p_type == PT_NULL || !p->p_filesz)
            continue;
        if (p->p_offset > elf->len || p->p_filesz > elf->len - p->p_offset ||
            p->p_filesz > p->p_memsz || p->p_vaddr > INT64_MAX || p->p_memsz > INT64_MAX)
            return "a segment does not lie within it";
        if (p->p_type != PT_LOAD)
            continue;
        if (p->p_align & (p->p_align - 1) ||
            (p->p_align > 1 && (p->p_vaddr - p->p_offset) & (p->p_align - 1)))
            return "a segment is not aligned as it says";
        if (p->p_vaddr < last)
            return "its segments overlap, or are in no order";
        last = p->p_vaddr + p->p_memsz;
        elf->loads[elf->n_loads++] = p;
    }
    return NULL;
}

int ocv_slim_elf_read(const unsigned char *bytes, uint64_t len, struct ocv_slim_elf *elf,
                      struct ocv_error *err)
{
    *elf = (struct ocv_slim_elf){.bytes = bytes, .len = len};
    elf->why = read_headers(elf);
    return elf->why == NO_MEMORY ? ocv_error_nomem(err) : OCV_OK;
}

void ocv_slim_elf_free(struct ocv_slim_elf *elf)
{
    ocv_arena_free(&elf->arena);
}

const char *ocv_slim_section_name(const struct ocv_slim_elf *elf, const Elf64_Shdr *section)
{
    const Elf64_Shdr *names = &elf->sections[elf->header.e_shstrndx];
    if (names->sh_type != SHT_STRTAB || section->sh_name >= names->sh_size)
        return "";
    const char *name = (const char *)elf->bytes + names->sh_offset + section->sh_name;
    return memchr(name, '\0', names->sh_size - section->sh_name) ? name : "";
}

uint64_t ocv_slim_place(const struct ocv_slim_elf *elf, uint64_t address, uint64_t size)
{
    size_t low = 0, high = elf->n_loads; /* they are in order */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (elf->loads[middle]->p_vaddr <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const Elf64_Phdr *p = low ? elf->loads[low - 1] : NULL;
    return p && address - p->p_vaddr <= p->p_filesz && size <= p->p_filesz - (address - p->p_vaddr)
               ? p->p_offset + (address - p->p_vaddr)
               : UINT64_MAX;
}

const struct ocv_slim_device *ocv_slim_device_of(const struct ocv_slim_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->n_devices; i++)
        if (address >= elf->devices[i].address &&
            address - elf->devices[i].address < elf->devices[i].size)
            return &elf->devices[i];
    return NULL;
}

const struct ocv_slim_region *ocv_slim_region_at(const struct ocv_slim_device *device,
                                                 uint64_t address)
{
    uint64_t offset = address - device->address;
    size_t low = 0, high = device->n_regions;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (device->regions[middle].old < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < device->n_regions && device->regions[low].old == offset ? &device->regions[low]
                                                                         : NULL;
}

bool ocv_slim_is_wrapper(const struct ocv_slim_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->n_wrappers; i++) {
        const Elf64_Shdr *s = elf->wrappers[i];
        uint64_t at = address - s->sh_addr;
        if (address >= s->sh_addr + WRAPPER_POINTER && at < s->sh_size)
            return at % WRAPPER_SIZE == WRAPPER_POINTER && s->sh_size - at >= 8 &&
                   ocv_slim_u32(elf->bytes + s->sh_offset + at - WRAPPER_POINTER) == elf->magics[i];
    }
    return false;
}

size_t ocv_slim_count_wrappers(const struct ocv_slim_elf *elf)
{
    size_t n = 0;
    for (size_t i = 0; i < elf->n_wrappers; i++) {
        const Elf64_Shdr *s = elf->wrappers[i];
        for (uint64_t at = 0; at + WRAPPER_SIZE <= s->sh_size; at += WRAPPER_SIZE)
            n += ocv_slim_u32(elf->bytes + s->sh_offset + at) == elf->magics[i];
    }
    return n;
}

/* The last value of a tag of the dynamic section, as the loader takes it; 0: none. */
static uint64_t dynamic_value(const struct ocv_slim_elf *elf, int64_t tag)
{
    uint64_t value = 0;
    for (size_t i = 0; i < elf->header.e_phnum; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        for (uint64_t at = 0; p->p_type == PT_DYNAMIC && at + 16 <= p->p_filesz; at += 16) {
            int64_t it = (int64_t)ocv_slim_u64(elf->bytes + p->p_offset + at);
            if (it == DT_NULL)
                break;
            if (it == tag)
                value = ocv_slim_u64(elf->bytes + p->p_offset + at + 8);
        }
    }
    return value;
}

bool ocv_slim_table(const struct ocv_slim_elf *elf, size_t i, struct ocv_slim_table *out)
{
    static const struct {
        int64_t place, size;
        bool packed;
    } tables[] = {{DT_RELA, DT_RELASZ, false},
                  {DT_JMPREL, DT_PLTRELSZ, false},
                  {DT_RELR_TAG, DT_RELRSZ_TAG, true}};
    if (i == sizeof(tables) / sizeof(tables[0]))
        return false;
    uint64_t address = dynamic_value(elf, tables[i].place);
    *out = (struct ocv_slim_table){.packed = tables[i].packed,
                                   .size = address ? dynamic_value(elf, tables[i].size) : 0};
    out->offset = ocv_slim_place(elf, address, out->size);
    out->known = !out->size || out->offset != UINT64_MAX;
    return true;
}

uint64_t ocv_slim_symbol(const struct ocv_slim_elf *elf, uint32_t number)
{
    return ocv_slim_place(elf, dynamic_value(elf, DT_SYMTAB) + number * sizeof(Elf64_Sym),
                          sizeof(Elf64_Sym));
}

/* DT_RELR (System V gABI): an even word is the place of a pointer; an odd one tells by its other 63
 * bits which of the words that follow are pointers, too. */
static bool each_packed(const struct ocv_slim_elf *elf, const struct ocv_slim_table *table,
                        ocv_slim_visit visit, void *data)
{
    uint64_t next = 0;
    for (uint64_t at = 0; at + 8 <= table->size; at += 8) {
        uint64_t word = ocv_slim_u64(elf->bytes + table->offset + at);
        uint64_t bits = word & 1 ? word >> 1 : 1, place = word & 1 ? next : word;
        next = word & 1 ? next + (uint64_t)63 * 8 : word + 8;
        for (; bits; bits >>= 1, place += 8) {
            if (!(bits & 1))
                continue;
            uint64_t offset = ocv_slim_place(elf, place, 8);
            if (offset == UINT64_MAX ||
                !visit(data, place, ocv_slim_u64(elf->bytes + offset), NULL))
                return false;
        }
    }
    return true;
}

bool ocv_slim_each_pointer(const struct ocv_slim_elf *elf, ocv_slim_visit visit, void *data)
{
    struct ocv_slim_table table;
    for (size_t i = 0; ocv_slim_table(elf, i, &table); i++) {
        if (!table.known || (table.packed && !each_packed(elf, &table, visit, data)))
            return false;
        for (uint64_t at = 0; !table.packed && at + sizeof(Elf64_Rela) <= table.size;
             at += sizeof(Elf64_Rela)) {
            const unsigned char *p = elf->bytes + table.offset + at;
            uint32_t type = ocv_slim_u32(p + 8);
            if ((type == elf->relative || type == elf->irelative) &&
                !visit(data, ocv_slim_u64(p), ocv_slim_u64(p + 16), p + 16))
                return false;
        }
    }
    return true;
}

/* The regions of a section, with zeros between them and nothing else. */
static const char *walk_regions(struct ocv_slim_elf *elf, struct ocv_slim_device *device,
                                struct ocv_slim_region *list, size_t *n)
{
    const unsigned char *bytes = elf->bytes + device->offset;
    *n = 0;
    for (uint64_t at = 0; at < device->size;) {
        uint64_t size = ocv_slim_region_size(bytes + at, device->size - at);
        if (!size && bytes[at])
            return "its device code is of a form that is not known";
        if (size && *n == REGIONS_MAX)
            return "it has too many fat binaries";
        if (size && list)
            list[*n] = (struct ocv_slim_region){.old = at, .old_size = size};
        *n += size != 0;
        at += size ? size : 1;
    }
    return NULL;
}

int ocv_slim_find_regions(struct ocv_slim_elf *elf, struct ocv_error *err)
{
    bool split = false; /* its code for GPUs of AMD was moved into kpack archives */
    uint64_t inflated = 0;
    for (size_t i = 0; i < elf->header.e_shnum && !elf->why && !split; i++)
        split = !strcmp(ocv_slim_section_name(elf, &elf->sections[i]), ".rocm_kpack_ref");
    for (size_t i = 0; i < elf->header.e_shnum && !elf->why; i++) {
        const Elf64_Shdr *s = &elf->sections[i];
        const char *name = ocv_slim_section_name(elf, s);
        uint32_t magic = 0; /* the first word of the section's wrappers */
        for (size_t k = 0; k < sizeof(wrappers) / sizeof(wrappers[0]) && !magic; k++)
            if (s->sh_type == SHT_PROGBITS && !strcmp(name, wrappers[k].section))
                magic = wrappers[k].magic;
        if (magic && elf->n_wrappers == OCV_SLIM_WRAPPERS_MAX)
            elf->why = "it has too many sections of wrappers";
        else if (magic) {
            elf->wrappers[elf->n_wrappers] = s;
            elf->magics[elf->n_wrappers++] = magic;
        }
        bool hip = !strcmp(name, DEVICE_SECTION_HIP);
        if ((!hip && strcmp(name, DEVICE_SECTION_CUDA) != 0 &&
             strcmp(name, DEVICE_SECTION_RDC) != 0) ||
            !s->sh_size || (hip && split))
            continue;
        if (s->sh_type != SHT_PROGBITS || !(s->sh_flags & SHF_ALLOC) ||
            ocv_slim_place(elf, s->sh_addr, s->sh_size) != s->sh_offset) {
            elf->why = "its device code does not lie in a segment";
        } else if (elf->n_devices == OCV_SLIM_DEVICES_MAX) {
            elf->why = "it has too many sections of device code";
        } else {
            elf->devices[elf->n_devices++] =
                (struct ocv_slim_device){.section = i,
                                         .address = s->sh_addr,
                                         .offset = s->sh_offset,
                                         .size = s->sh_size,
                                         .align = s->sh_addralign > 8 ? s->sh_addralign : 8};
        }
    }
    for (size_t i = 0; i < elf->n_devices && !elf->why; i++) {
        struct ocv_slim_device *device = &elf->devices[i];
        size_t n;
        if ((elf->why = walk_regions(elf, device, NULL, &n)))
            break;
        struct ocv_slim_region *list = ocv_arena_alloc(&elf->arena, n + 1, sizeof(*list));
        if (!list)
            return ocv_error_nomem(err);
        walk_regions(elf, device, list, &device->n_regions);
        device->regions = list;
        for (size_t k = 0; k < device->n_regions; k++) {
            const unsigned char *region = elf->bytes + device->offset + list[k].old;
            uint64_t scratch = ocv_slim_bundle_scratch(region, list[k].old_size);
            inflated += ocv_slim_bundle_inflated(region, list[k].old_size) / 16;
            elf->scratch = scratch > elf->scratch ? scratch : elf->scratch;
        }
    }
    if (ocv_slim_inflates_far(inflated, elf->len))
        elf->why = OCV_SLIM_INFLATES_FAR;
    return OCV_OK;
}
