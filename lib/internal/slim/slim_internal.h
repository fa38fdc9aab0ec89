/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The inside of cutting: a file is read and planned (elf.c), written (write.c) and read again
 * (check.c); what of a region stays is decided in one place (region.c). */
#ifndef OCV_SLIM_INTERNAL_H
#define OCV_SLIM_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/internal/content/content.h"
#include "lib/internal/slim/slim.h"
#include "ocivariant/buffer.h"

#include <elf.h>
#include <zlib.h>

#define OCV_SLIM_DEVICES_MAX 4u
#define OCV_SLIM_WRAPPERS_MAX 4u
#define EM_CUDA_NUMBER 190 /* EM_CUDA; older headers have no name for it */

/** One region, by offsets in its section; sizes with its header. */
struct ocv_slim_region {
    uint64_t old, old_size, new, new_size;
    bool pointed; /**< a wrapper leads to it */
};

/** A section of device code. */
struct ocv_slim_device {
    size_t section;                        /**< its place in the section table */
    uint64_t address, offset, size, align; /**< as the file has them */
    const struct ocv_slim_region *regions; /**< in order */
    size_t n_regions;
    uint64_t used;            /**< bytes at its begin that regions take afterwards */
    uint64_t kept;            /**< the same with program headers behind them */
    uint64_t hole, hole_size; /**< what is taken out: its offset in the old file; size 0: nothing */
};

/** A file that is read, and what is to become of it. Zero-initialise; `arena` owns all arrays. */
struct ocv_slim_elf {
    struct ocv_arena arena;
    const unsigned char *bytes;
    uint64_t len;
    Elf64_Ehdr header;
    Elf64_Phdr *segments;
    const Elf64_Phdr **loads; /**< PT_LOAD of these, in order */
    size_t n_loads;
    Elf64_Shdr *sections;
    const char *why; /**< it is not understood; a constant */
    uint64_t page;   /**< the largest of its machine */
    uint32_t relative, irelative;
    struct ocv_slim_device devices[OCV_SLIM_DEVICES_MAX];
    size_t n_devices;
    uint64_t scratch; /**< bytes of a file that its bundles take, one after the other */
    const Elf64_Shdr *wrappers[OCV_SLIM_WRAPPERS_MAX]; /**< sections that have these */
    uint32_t magics[OCV_SLIM_WRAPPERS_MAX];            /**< their first words */
    size_t n_wrappers;
    uint64_t headers;    /**< offset in the old file where program headers are put; 0: they stay */
    size_t n_headers;    /**< of the new file */
    Elf64_Phdr *planned; /**< these */
};

/** Read the headers of a file; `elf->why` says what is wrong with it. */
int ocv_slim_elf_read(const unsigned char *bytes, uint64_t len, struct ocv_slim_elf *elf,
                      struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_slim_elf_free(struct ocv_slim_elf *elf);
/** A section's name, "" where it has none. */
const char *ocv_slim_section_name(const struct ocv_slim_elf *elf, const Elf64_Shdr *section);
/** Find the regions of the sections for device code. */
int ocv_slim_find_regions(struct ocv_slim_elf *elf, struct ocv_error *err) OCV_WARN_UNUSED;
/** Decide where each region goes, which pages are taken out, and how the segments are split. */
int ocv_slim_plan(struct ocv_slim_elf *elf, const struct ocv_slim_target *target,
                  struct ocv_slim_result *result, struct ocv_error *err) OCV_WARN_UNUSED;
/** The device code's section that an address is in; NULL: none. */
const struct ocv_slim_device *ocv_slim_device_of(const struct ocv_slim_elf *elf, uint64_t address);
/** The region that begins at an address, NULL if none does. */
const struct ocv_slim_region *ocv_slim_region_at(const struct ocv_slim_device *device,
                                                 uint64_t address);
/** Is a wrapper's pointer at this address: the second word of 24 bytes of .nvFatBinSegment, or of
 *  .hipFatBinSegment? */
bool ocv_slim_is_wrapper(const struct ocv_slim_elf *elf, uint64_t address);
/** The place in the file of `size` bytes at an address; UINT64_MAX if they are not in it. */
uint64_t ocv_slim_place(const struct ocv_slim_elf *elf, uint64_t address, uint64_t size);
/** Where an offset of the old file is in the new one; UINT64_MAX for what was taken out. */
uint64_t ocv_slim_moved(const struct ocv_slim_elf *elf, uint64_t offset);

/** How many wrappers there are. */
size_t ocv_slim_count_wrappers(const struct ocv_slim_elf *elf);

/** A table of relocations, as the dynamic section names it and the loader walks it. */
struct ocv_slim_table {
    uint64_t offset, size;
    bool packed; /**< DT_RELR */
    bool known;  /**< it lies in the file */
};
/** The i-th; false past the last. */
bool ocv_slim_table(const struct ocv_slim_elf *elf, size_t i, struct ocv_slim_table *out);
/** The place of a dynamic symbol; UINT64_MAX if it is not in the file. */
uint64_t ocv_slim_symbol(const struct ocv_slim_elf *elf, uint32_t number);

/** A word that the loader makes a pointer of: its address, what it will point at, and where the
 * file has that value (of packed relocations NULL: in the word). */
typedef bool (*ocv_slim_visit)(void *data, uint64_t place, uint64_t value,
                               const unsigned char *addend);
/** Each of these. False: a table is malformed, or `visit` returned false. */
bool ocv_slim_each_pointer(const struct ocv_slim_elf *elf, ocv_slim_visit visit, void *data);

/** Write the planned file into `out`, which has its size and is zero. */
void ocv_slim_write(const struct ocv_slim_elf *elf, const struct ocv_slim_target *target,
                    unsigned char *out);

/** Read the new file again: `*why` is NULL if it is the old one with only the target's code, else
 *  what is wrong with it. */
int ocv_slim_check(const struct ocv_slim_elf *old, const unsigned char *bytes, uint64_t len,
                   const struct ocv_slim_target *target, const char **why,
                   struct ocv_error *err) OCV_WARN_UNUSED;

/* Regions. */

#define OCV_SLIM_REGION_HEADER 16u

/** The size of the region that begins at `bytes`, header included; 0 if none does. */
uint64_t ocv_slim_region_size(const unsigned char *bytes, uint64_t len);
/** What of a whole region stays for a target: its size, header included. `out` (may be NULL)
 *  receives it, `result` (may be NULL) counts what does not. 0 with `*why`: it is not
 *  understood. */
uint64_t ocv_slim_region_cut(const unsigned char *region, uint64_t size,
                             const struct ocv_slim_target *target, unsigned char *out,
                             struct ocv_slim_result *result, const char **why);

/** Is `cut` what of a region stays, byte for byte? */
bool ocv_slim_region_is_cut(const unsigned char *region, uint64_t size,
                            const struct ocv_slim_target *target, const unsigned char *cut,
                            uint64_t cut_size);

/** All bundles of a file together may inflate to 64 MiB, or to 64 times the file. `inflated`: in
 * units of 16 bytes, so that no sum is too large. */
static inline bool ocv_slim_inflates_far(uint64_t inflated, uint64_t len)
{
    return inflated > ((uint64_t)64 << 20) / 16 && inflated / 64 > len / 16;
}
#define OCV_SLIM_INFLATES_FAR "its device code inflates to far more than its size"

enum ocv_slim_method { OCV_SLIM_ZLIB = 0, OCV_SLIM_ZSTD = 1 };

/** A compressed bundle's header. */
struct ocv_slim_ccob {
    unsigned version;
    enum ocv_slim_method method;
    uint64_t header, total, inflated, hash; /**< bytes of the header, of all, of what follows */
};
/** False: it is not one. */
bool ocv_slim_ccob_read(const unsigned char *p, uint64_t len, struct ocv_slim_ccob *c);
void ocv_slim_ccob_write(unsigned char *p, const struct ocv_slim_ccob *c);

/** The bytes of a bundle one after the other, as they are or inflated. What zstd compressed lies in
 * a file, inflated at once: a stream would keep its window in memory, up to 128 MiB. */
struct ocv_slim_source {
    const unsigned char *next;
    uint64_t left; /**< of the input */
    uint64_t more; /**< that it may inflate to, of zlib */
    bool inflates; /**< zlib, as it is read */
    z_stream zlib;
    void *mapped;
    uint64_t size; /**< of what is mapped */
    bool ended, no_memory;
};
#define OCV_SLIM_MALFORMED "a bundle of device code in it is malformed"
#define OCV_SLIM_NO_ROOM "there is no room for a bundle of its device code"
#define OCV_SLIM_NO_MEMORY "there is no memory for a bundle of its device code"
/** `file` has room from `at` on. NULL, or why it cannot be read. ocv_slim_source_close in any case.
 */
const char *ocv_slim_source_open(struct ocv_slim_source *s, const unsigned char *bytes,
                                 uint64_t len, int file, uint64_t at);
void ocv_slim_source_close(struct ocv_slim_source *s);
/** At most `len` bytes; 0: the end, or it is malformed. */
size_t ocv_slim_source_some(struct ocv_slim_source *s, unsigned char *out, size_t len);
/** Just so many; false: there are fewer. */
bool ocv_slim_source_read(struct ocv_slim_source *s, unsigned char *out, size_t len);

/** The same three of an offload bundle, plain or compressed. */
uint64_t ocv_slim_bundle_size(const unsigned char *bytes, uint64_t len);
/** Bytes of a scratch file that cutting and checking it takes; 0: none. */
uint64_t ocv_slim_bundle_scratch(const unsigned char *bytes, uint64_t len);
/** What a compressed one says that it inflates to; 0: it is not compressed. */
uint64_t ocv_slim_bundle_inflated(const unsigned char *bytes, uint64_t len);
uint64_t ocv_slim_bundle_cut(const unsigned char *bundle, uint64_t size,
                             const struct ocv_slim_target *target, unsigned char *out,
                             struct ocv_slim_result *result, const char **why);
bool ocv_slim_bundle_is_cut(const unsigned char *bundle, uint64_t size,
                            const struct ocv_slim_target *target, const unsigned char *cut,
                            uint64_t cut_size);
/** Does the GPU `sm` run code for a number with a letter, 'a', 'f' or 0; `compiled`: PTX? */
bool ocv_slim_sm_runs(unsigned number, char letter, bool compiled, unsigned sm);
/** Code of one architecture is removed. */
void ocv_slim_count_removed(struct ocv_slim_result *result, enum ocv_content_fact fact,
                            const char *value, uint64_t bytes);

static inline uint32_t ocv_slim_u32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t ocv_slim_u64(const unsigned char *p)
{
    return ocv_slim_u32(p) | (uint64_t)ocv_slim_u32(p + 4) << 32;
}

static inline void ocv_slim_put64(unsigned char *p, uint64_t value)
{
    for (size_t i = 0; i < 8; i++)
        p[i] = (unsigned char)(value >> (8 * i));
}

/** Bytes of a mapped file that are not looked at again soon: their pages go back to the page cache,
 * so that libraries of gigabytes take little memory. Bytes that are mapped for writing stay as they
 *  are. */
void ocv_slim_release(const unsigned char *bytes, uint64_t size);

/** Up to the next multiple of `unit`, a power of two. */
static inline uint64_t ocv_slim_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

/* Tar. */

#define OCV_SLIM_BLOCK 512u
enum { OCV_SLIM_AT_TYPE = 156, OCV_SLIM_AT_MORE = 482 }; /* fields of a header */

/* A member: the headers that extend it, as they were, and its own. */
struct ocv_slim_member {
    struct ocv_buffer extensions;
    size_t pax; /* where in them the header of its pax records is */
    bool has_pax, pax_size, sparse;
    unsigned char header[OCV_SLIM_BLOCK];
    char *path; /* normalised, no slash in front */
    char *link; /* of a hard link: the other file's path, likewise */
    int64_t size;
};

void ocv_slim_member_free(struct ocv_slim_member *member);
/** Exactly `len` bytes of the layer; *end (may be NULL): it ended before the first. */
int ocv_slim_read(const struct ocv_slim_layer *layer, void *out, size_t len, bool *end,
                  struct ocv_error *err) OCV_WARN_UNUSED;
/** Bytes of `size` with the padding to whole blocks. */
int64_t ocv_slim_blocks(int64_t size);
/** The next member, whose content is read next. *end: there is none, and `extensions` are the block
 *  of zeros, if there is one. */
int ocv_slim_member_next(const struct ocv_slim_layer *layer, struct ocv_slim_member *out, bool *end,
                         struct ocv_error *err) OCV_WARN_UNUSED;
/** Give it another size: in its pax records, too, where they have one. */
int ocv_slim_member_resize(struct ocv_slim_member *member, int64_t size,
                           struct ocv_error *err) OCV_WARN_UNUSED;

#endif
