/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The planned file: what does not change is copied, regions are cut, and every number that speaks
 * of a place that moved is written anew. */
#include "lib/internal/slim/slim_internal.h"

#include <string.h>

/* The new file, and the old one that it is made of. */
struct output {
    const struct ocv_slim_elf *elf;
    unsigned char *bytes;
};

/* Bytes of the old file, of which none is taken out, at their new place. */
static void copy_range(const struct output *out, uint64_t from, uint64_t to)
{
    const uint64_t step = (uint64_t)16 << 20;
    for (uint64_t n; from < to; from += n) {
        n = to - from < step ? to - from : step;
        unsigned char *into = out->bytes + ocv_slim_moved(out->elf, from);
        memcpy(into, out->elf->bytes + from, n);
        ocv_slim_release(out->elf->bytes + from, n);
        ocv_slim_release(into, n);
    }
}

static bool move_pointer(void *data, uint64_t place, uint64_t value, const unsigned char *addend)
{
    const struct output *out = data;
    const struct ocv_slim_elf *elf = out->elf;
    const struct ocv_slim_device *device = ocv_slim_device_of(elf, value);
    if (!device)
        return true;
    /* where the value, an address of device code, leads afterwards */
    const struct ocv_slim_region *region = ocv_slim_region_at(device, value);
    uint64_t address = region ? value - region->old + region->new : value;
    uint64_t word = ocv_slim_place(elf, place, 8);
    if (addend)
        ocv_slim_put64(out->bytes + ocv_slim_moved(elf, (uint64_t)(addend - elf->bytes)), address);
    /* lld leaves 0 in the word where the addend has the value */
    if (ocv_slim_u64(elf->bytes + word) == value)
        ocv_slim_put64(out->bytes + ocv_slim_moved(elf, word), address);
    return true;
}

/* Symbols of the regions follow them; one at the end of a section stays at its end. */
static void move_symbols(const struct output *out, const Elf64_Shdr *table)
{
    const struct ocv_slim_elf *elf = out->elf;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        const unsigned char *p = elf->bytes + table->sh_offset + at;
        unsigned char *to = out->bytes + ocv_slim_moved(elf, table->sh_offset) + at;
        size_t section = ocv_slim_u32(p + 4) >> 16;
        uint64_t value = ocv_slim_u64(p + 8), size = ocv_slim_u64(p + 16);
        for (size_t i = 0; i < elf->n_devices; i++) {
            const struct ocv_slim_device *device = &elf->devices[i];
            if (device->section != section)
                continue;
            const struct ocv_slim_region *region = ocv_slim_region_at(device, value);
            if (value == device->address + device->size && device->hole_size)
                ocv_slim_put64(to + 8, device->address + device->used);
            else if (region && value >= device->address)
                ocv_slim_put64(to + 8, device->address + region->new);
            if (region && size == region->old_size)
                ocv_slim_put64(to + 16, region->new_size);
        }
    }
}

void ocv_slim_write(const struct ocv_slim_elf *elf, const struct ocv_slim_target *target,
                    unsigned char *bytes)
{
    struct output out = {elf, bytes};
    uint64_t at = 0;
    for (size_t i = 0; i < elf->n_devices; i++) {
        const struct ocv_slim_device *device = &elf->devices[i];
        copy_range(&out, at, device->offset);
        at = device->offset + device->size;
        for (size_t k = 0; k < device->n_regions; k++) {
            const struct ocv_slim_region *r = &device->regions[k];
            const char *why;
            unsigned char *into = bytes + ocv_slim_moved(elf, device->offset) + r->new;
            ocv_slim_region_cut(elf->bytes + device->offset + r->old, r->old_size, target, into,
                                NULL, &why);
            ocv_slim_release(elf->bytes + device->offset + r->old, r->old_size);
            ocv_slim_release(into, r->new_size);
        }
    }
    copy_range(&out, at, elf->len);
    ocv_slim_each_pointer(elf, move_pointer, &out);

    Elf64_Ehdr header = elf->header;
    unsigned char *sections = bytes + ocv_slim_moved(elf, elf->header.e_shoff);
    for (size_t i = 0; i < elf->header.e_shnum; i++) {
        Elf64_Shdr s = elf->sections[i];
        if (s.sh_type == SHT_NULL)
            continue;
        s.sh_offset = ocv_slim_moved(elf, s.sh_offset);
        for (size_t k = 0; k < elf->n_devices; k++)
            if (elf->devices[k].section == i && elf->devices[k].hole_size)
                s.sh_size = elf->devices[k].used;
        memcpy(sections + i * sizeof(s), &s, sizeof(s));
        if (s.sh_type == SHT_SYMTAB)
            move_symbols(&out, &elf->sections[i]);
    }
    header.e_shoff = ocv_slim_moved(elf, elf->header.e_shoff);
    if (elf->headers) {
        header.e_phoff = ocv_slim_moved(elf, elf->headers);
        header.e_phnum = (uint16_t)elf->n_headers;
        memset(bytes + ocv_slim_moved(elf, elf->header.e_phoff), 0,
               elf->header.e_phnum * sizeof(Elf64_Phdr));
    }
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + header.e_phoff, elf->planned, elf->n_headers * sizeof(Elf64_Phdr));
}
