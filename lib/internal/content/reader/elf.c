/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* ELF, 64-bit and little-endian: its header and program headers as they pass, its dynamic section,
 * and at the end its section table. */
#include "lib/base/cleanup.h"
#include "lib/internal/content/derived.h"
#include "lib/internal/content/reader/reader.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS_MAX ((size_t)8 << 20)
#define DYNAMIC_MAX ((size_t)64 << 10)
#define PROPERTY_MAX ((size_t)4 << 10)
/* What the tools write into the notes of an object for a GPU: AMD's its target, NVIDIA's which of
 * them wrote it and how they were called (.note.nv.tkinfo). */
#define AMD_TARGET "amdgcn-amd-amdhsa--gfx"
#define CUDA_RELEASE "Cuda compilation tools, release "
#define TARGET_MAX 64u
#define NOTE_OVERLAP 128 /* a text and what is read behind it */

static void begin_capture(struct ocv_capture *c, uint64_t offset, uint64_t size, size_t max)
{
    if (offset < INT64_MAX / 4 && size)
        *c = (struct ocv_capture){.offset = (int64_t)offset, .want = size < max ? size : max};
}

bool ocv_elf_is_device(const struct ocv_content_reader *r)
{
    return r->kind == OCV_KIND_ELF &&
           (r->elf.machine == EM_CUDA_NUMBER || r->elf.machine == EM_AMDGPU_NUMBER);
}

void ocv_elf_begin(struct ocv_content_reader *r)
{
    const unsigned char *h = r->window;
    struct ocv_elf *e = &r->elf;
    r->kind = OCV_KIND_ELF;
    if (h[EI_CLASS] != ELFCLASS64 || h[EI_DATA] != ELFDATA2LSB) {
        e->machine = 0;
        ocv_content_unseen(r, "an ELF file that is not 64-bit and little-endian");
        r->kind = OCV_KIND_NONE;
        return;
    }
    e->machine = ocv_le16(h + 18);
    e->phoff = ocv_le64(h + 32);
    e->shoff = ocv_le64(h + 40);
    e->phnum = ocv_le16(h + 56);
    e->shnum = ocv_le16(h + 60);
    e->shstrndx = ocv_le16(h + 62);
    if (ocv_le16(h + 54) == sizeof(Elf64_Phdr))
        begin_capture(&e->segments, e->phoff, (uint64_t)e->phnum * sizeof(Elf64_Phdr),
                      OCV_HEADER_MAX);
    if (ocv_le16(h + 58) == sizeof(Elf64_Shdr))
        begin_capture(&e->sections, e->shoff,
                      e->shnum ? (uint64_t)e->shnum * sizeof(Elf64_Shdr) : SECTIONS_MAX,
                      SECTIONS_MAX);
    memcpy(e->header, h, sizeof(e->header));
    if (ocv_elf_is_device(r)) {
        /* the header and a note say which GPU it is for */
        e->segments.want = e->sections.want = 0;
        r->next = 0;
        r->words_next = r->words_floor = INT64_MAX / 4;
    }
}

int ocv_capture_keep(struct ocv_content_reader *r, struct ocv_capture *c, struct ocv_error *err)
{
    size_t have;
    if (c->have == c->want || r->base + (int64_t)r->len <= c->offset + (int64_t)c->have)
        return OCV_OK;
    const unsigned char *p = ocv_window_at(r, c->offset + (int64_t)c->have, &have);
    size_t n = c->want - c->have < have ? c->want - c->have : have;
    if (!n)
        return OCV_OK;
    unsigned char *data = realloc(c->data, c->have + n);
    if (!data)
        return ocv_error_nomem(err);
    c->data = data;
    memcpy(data + c->have, p, n);
    c->have += n;
    return OCV_OK;
}

static bool is_complete(const struct ocv_capture *c)
{
    return c->want && c->have == c->want;
}

/* The text behind `key` in the window, with at least TARGET_MAX bytes of it unless the file ends
 * there; NULL if it is not there. */
static const char *text_behind(const struct ocv_content_reader *r, const char *key, bool last,
                               size_t *left)
{
    size_t len, key_len = strlen(key);
    const char *text = (const char *)ocv_window_at(r, r->base, &len);
    const char *at = memmem(text, len, key, key_len);
    *left = at ? len - (size_t)(at - text) - key_len : 0;
    if (!at || (*left < TARGET_MAX && !last))
        return NULL;
    *left = *left < TARGET_MAX ? *left : TARGET_MAX;
    return at + key_len;
}

void ocv_elf_device(struct ocv_content_reader *r, bool last)
{
    struct ocv_elf *e = &r->elf;
    bool cuda = e->machine == EM_CUDA_NUMBER;
    size_t left;
    const char *at;
    if (!e->target[0] && (at = text_behind(r, cuda ? "-arch sm_" : AMD_TARGET, last, &left))) {
        size_t n = 0; /* of "90a" */
        while (n < left && n < 4 && at[n] >= '0' && at[n] <= '9')
            n++;
        if (n >= 2 && n < left && (at[n] == 'a' || at[n] == 'f'))
            n++;
        if (!cuda)
            ocv_bundle_gpu(at - strlen(AMD_TARGET), left + strlen(AMD_TARGET), e->target,
                           sizeof(e->target));
        else if (n >= 2)
            snprintf(e->target, sizeof(e->target), "%.*s", (int)n, at);
    }
    if (cuda && !e->toolkit[0] && (at = text_behind(r, CUDA_RELEASE, last, &left))) {
        /* "13.0" of "13.0, V13.0.88" */
        size_t n = 0, dots = 0;
        for (; n < left && n < 15 && ((at[n] >= '0' && at[n] <= '9') || at[n] == '.'); n++)
            dots += at[n] == '.';
        if (dots == 1 && n > 2 && n < left && at[0] != '.' && at[n - 1] != '.' && at[n] == ',')
            snprintf(e->toolkit, 16, "%.*s", (int)n, at);
    }
    int64_t end = r->base + (int64_t)r->len - NOTE_OVERLAP;
    if (e->target[0] && (!cuda || e->toolkit[0]))
        r->next = INT64_MAX / 4;
    else if (end > r->next)
        r->next = end;
}

int ocv_elf_capture(struct ocv_content_reader *r, struct ocv_error *err)
{
    struct ocv_elf *e = &r->elf;
    bool had = is_complete(&e->segments);
    OCV_TRY(ocv_capture_keep(r, &e->segments, err));
    if (!had && is_complete(&e->segments)) {
        /* The program headers have come: what they point at. */
        for (size_t at = 0; at + sizeof(Elf64_Phdr) <= e->segments.have; at += sizeof(Elf64_Phdr)) {
            const unsigned char *p = e->segments.data + at;
            uint32_t type = ocv_le32(p);
            uint64_t offset = ocv_le64(p + 8), size = ocv_le64(p + 32);
            if (type == PT_DYNAMIC && !e->dynamic.want)
                begin_capture(&e->dynamic, offset, size, DYNAMIC_MAX);
            if (type == PT_GNU_PROPERTY && !e->property.want)
                begin_capture(&e->property, offset, size, PROPERTY_MAX);
        }
    }
    OCV_TRY(ocv_capture_keep(r, &e->dynamic, err));
    OCV_TRY(ocv_capture_keep(r, &e->property, err));
    OCV_TRY(ocv_capture_keep(r, &e->sections, err));
    for (size_t i = 0; i < r->n_refs; i++)
        OCV_TRY(ocv_capture_keep(r, &r->refs[i], err));
    return OCV_OK;
}

int64_t ocv_capture_wants(const struct ocv_content_reader *r, const struct ocv_capture *c)
{
    int64_t at = c->offset + (int64_t)c->have;
    return c->have == c->want || at < r->base ? INT64_MAX : at;
}

/* The last value of `tag` in the dynamic section. */
static bool dynamic_value(const struct ocv_elf *e, int64_t tag, uint64_t *value)
{
    bool found = false;
    for (size_t at = 0; at + 16 <= e->dynamic.have; at += 16) {
        int64_t it = (int64_t)ocv_le64(e->dynamic.data + at);
        if (it == DT_NULL)
            break;
        if (it == tag) {
            *value = ocv_le64(e->dynamic.data + at + 8);
            found = true;
        }
    }
    return found;
}

/* How many of these there are is the publisher's choice, and each is compared with all others. */
static int add_fact(struct ocv_content_reader *r, struct ocv_content_facts *facts,
                    enum ocv_content_fact fact, const char *value, int64_t bytes,
                    struct ocv_error *err)
{
    OCV_TRY(ocv_content_work(r, 1 + (int64_t)facts->n / 16, err));
    return ocv_content_facts_add(facts, fact, value, bytes, 1, err);
}

static int add_linked(struct ocv_content_reader *r, struct ocv_content_facts *facts,
                      struct ocv_error *err)
{
    const struct ocv_elf *e = &r->elf;
    uint64_t address = 0, size = 0, name = 0;
    if (!e->dynamic.want)
        return OCV_OK;
    if (!is_complete(&e->dynamic) || !dynamic_value(e, DT_STRTAB, &address) ||
        !dynamic_value(e, DT_STRSZ, &size)) {
        ocv_content_unseen(r, "the dynamic section");
        return OCV_OK;
    }
    int64_t strings = -1; /* their place in the file, if a segment has the address */
    for (size_t at = 0; strings < 0 && at + sizeof(Elf64_Phdr) <= e->segments.have;
         at += sizeof(Elf64_Phdr)) {
        const unsigned char *p = e->segments.data + at;
        uint64_t offset = ocv_le64(p + 8), start = ocv_le64(p + 16), bytes = ocv_le64(p + 32);
        if (ocv_le32(p) == PT_LOAD && address >= start && address - start < bytes &&
            offset < INT64_MAX / 4 && bytes < INT64_MAX / 4)
            strings = (int64_t)(offset + (address - start));
    }
    if (strings < 0 || size > INT64_MAX / 4) {
        ocv_content_unseen(r, "the dynamic section");
        return OCV_OK;
    }
    const char *soname = NULL;
    if (dynamic_value(e, DT_SONAME, &name) && name < size)
        soname = ocv_words_at(r, strings + (int64_t)name);
    OCV_TRY(soname ? ocv_content_facts_add(facts, OCV_CONTENT_SONAME, soname, 0, 1, err) : 0);
    for (size_t at = 0; at + 16 <= e->dynamic.have; at += 16) {
        int64_t tag = (int64_t)ocv_le64(e->dynamic.data + at);
        uint64_t value = ocv_le64(e->dynamic.data + at + 8);
        const char *word =
            tag == DT_NEEDED && value < size ? ocv_words_at(r, strings + (int64_t)value) : NULL;
        if (tag == DT_NULL)
            break;
        if (word)
            OCV_TRY(add_fact(r, facts, OCV_CONTENT_NEEDED, word, 0, err));
        else if (tag == DT_NEEDED)
            ocv_content_unseen(r, "the name of a library that it needs");
    }
    /* Versions wanted of the C and C++ libraries, from the names in the table of strings. The
     * libraries themselves have the names of what they offer there. */
    static const char *const offers[] = {"libc.so.",  "libm.so.",  "ld-linux",    "libpthread.so.",
                                         "libdl.so.", "librt.so.", "libmvec.so.", "libresolv.so."};
    bool own_cxx = soname && !strncmp(soname, "libstdc++.so", 12);
    bool own = false;
    for (size_t i = 0; soname && i < sizeof(offers) / sizeof(offers[0]); i++)
        own = own || !strncmp(soname, offers[i], strlen(offers[i]));
    for (size_t i = 0; i < r->n_words; i++) {
        const struct ocv_content_word *word = &r->words[i];
        if (word->offset < strings || word->offset >= strings + (int64_t)size)
            continue;
        if (!strncmp(word->text, "GLIBC_", 6) && word->text[6] >= '0' && word->text[6] <= '9' &&
            !own)
            OCV_TRY(ocv_content_facts_add(facts, OCV_CONTENT_GLIBC, word->text + 6, 0, 1, err));
        if (!strncmp(word->text, "GLIBCXX_", 8) && word->text[8] >= '0' && word->text[8] <= '9' &&
            !own_cxx)
            OCV_TRY(ocv_content_facts_add(facts, OCV_CONTENT_GLIBCXX, word->text + 8, 0, 1, err));
    }
    return OCV_OK;
}

/* x86-64-ABI: property GNU_PROPERTY_X86_ISA_1_NEEDED, a bit for each level. */
static int add_level(const struct ocv_elf *e, struct ocv_content_facts *facts,
                     struct ocv_error *err)
{
    const unsigned char *p = e->property.data;
    size_t have = e->property.have;
    if (e->machine != EM_X86_64 || have < 16 || ocv_le32(p) != 4 || memcmp(p + 12, "GNU", 4) != 0)
        return OCV_OK;
    size_t end = 16 + (size_t)ocv_le32(p + 4);
    for (size_t at = 16; at + 8 <= end && at + 8 <= have;) {
        uint32_t type = ocv_le32(p + at), size = ocv_le32(p + at + 4);
        if (type == 0xc0008002 && size == 4 && at + 12 <= have) {
            uint32_t bits = ocv_le32(p + at + 8) & 0xf;
            char level[2] = {'0', '\0'};
            for (; bits; bits >>= 1)
                level[0]++;
            return level[0] > '0'
                       ? ocv_content_facts_add(facts, OCV_CONTENT_X86_LEVEL, level, 0, 1, err)
                       : OCV_OK;
        }
        if (size > PROPERTY_MAX)
            break;
        at += 8 + ((size_t)size + 7) / 8 * 8;
    }
    return OCV_OK;
}

/* Section `i`, NULL if it is not there. */
static const unsigned char *section_at(const struct ocv_elf *e, size_t i)
{
    return (i + 1) * sizeof(Elf64_Shdr) <= e->sections.have
               ? e->sections.data + i * sizeof(Elf64_Shdr)
               : NULL;
}

/* Count the device code whose container begins within a section. The sightings are in order. */
static int count_within(struct ocv_content_reader *r, struct ocv_content_facts *facts,
                        int64_t begin, int64_t end, struct ocv_error *err)
{
    size_t low = 0, high = r->n_sightings;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->sightings[middle].container < begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < r->n_sightings && r->sightings[low].container < end; low++) {
        struct ocv_sighting *it = &r->sightings[low];
        const struct ocv_content_value *value = &r->values[it->value];
        OCV_TRY(ocv_content_work(r, 1 + (int64_t)facts->n / 16, err));
        if (it->bytes < 0)
            continue; /* counted: sections may overlap in a malformed file */
        OCV_TRY(ocv_content_facts_add(facts, value->fact, value->text, it->bytes, 1, err));
        it->bytes = -1;
    }
    return OCV_OK;
}

static int scan_section(struct ocv_content_reader *r, struct ocv_content_facts *facts,
                        const unsigned char *s, const char *name, struct ocv_error *err)
{
    int64_t offset = (int64_t)(ocv_le64(s + 24) & INT64_MAX);
    int64_t size = (int64_t)(ocv_le64(s + 32) & INT64_MAX);
    if (offset > INT64_MAX / 4 || size > INT64_MAX / 4 || ocv_le32(s + 4) == SHT_NOBITS)
        return OCV_OK;
    if (!strcmp(name, OCV_KPACK_REF)) {
        bool first = !r->elf.has_ref;
        r->elf.has_ref = true;
        return first ? ocv_kpack_ref(r, offset, size, facts, err) : OCV_OK;
    }
    if (!strcmp(name, ".hip_fatbin") && r->elf.split)
        return OCV_OK; /* what splitting left of it */
    if (!strcmp(name, ".nv_fatbin") || !strcmp(name, "__nv_relfatbin") ||
        !strcmp(name, ".hip_fatbin"))
        return count_within(r, facts, offset, offset + size, err);
    if (!strcmp(name, ".note.cuda.fwd_compatibility"))
        return ocv_content_facts_add(facts, OCV_CONTENT_CUDA_COMPAT, "yes", 0, 1, err);
    const char *target = name + OCV_BUNDLE_MAGIC_LEN;
    if (strncmp(name, OCV_BUNDLE_MAGIC, OCV_BUNDLE_MAGIC_LEN) != 0)
        return OCV_OK;
    if (!strncmp(target, "sycl-", 5) && target[5])
        return add_fact(r, facts, OCV_CONTENT_SYCL_CODE, target + 5, size, err);
    if (strncmp(target, "host", 4) != 0)
        ocv_content_unseen(r, "device code for a target that is not known");
    return OCV_OK;
}

int ocv_elf_end(struct ocv_content_reader *r, struct ocv_content_facts *facts, int64_t size,
                struct ocv_error *err)
{
    struct ocv_elf *e = &r->elf;
    char buffer[16];
    const char *machine = ocv_content_machine_name(e->machine, buffer, sizeof(buffer));
    OCV_TRY(ocv_content_facts_add(facts, OCV_CONTENT_MACHINE, machine, size, 1, err));
    if (ocv_elf_is_device(r)) {
        bool cuda = e->machine == EM_CUDA_NUMBER;
        if (e->toolkit[0])
            OCV_TRY(ocv_content_facts_add(facts, OCV_CONTENT_TOOLKIT, e->toolkit, 0, 1, err));
        if (e->target[0] || (cuda && ocv_cubin_sm(e->header, e->target, sizeof(e->target))))
            return ocv_content_facts_add(facts, cuda ? OCV_CONTENT_CUDA_CODE : OCV_CONTENT_HIP_CODE,
                                         e->target, size, 1, err);
        ocv_content_unseen(r, "an object for a GPU that does not say for which");
        return OCV_OK;
    }
    OCV_TRY(add_linked(r, facts, err));
    OCV_TRY(add_level(e, facts, err));
    if (!e->shoff) /* a file without sections: all of its device code counts */
        return count_within(r, facts, 0, INT64_MAX, err);
    const unsigned char *first = section_at(e, 0), *strings = NULL;
    size_t n = 0;
    if (first) {
        size_t names = e->shstrndx == SHN_XINDEX ? ocv_le32(first + 40) : e->shstrndx;
        n = e->shnum ? e->shnum : (size_t)ocv_le64(first + 32);
        if (n > e->sections.have / sizeof(Elf64_Shdr)) {
            n = e->sections.have / sizeof(Elf64_Shdr);
            ocv_content_unseen(r, "sections at the end of a long or cut table");
        }
        strings = names < n ? section_at(e, names) : NULL;
        OCV_TRY(ocv_content_work(r, (int64_t)n, err));
    } else {
        ocv_content_unseen(r, "the section table: the file ends before it");
    }
    int64_t offset = strings ? (int64_t)(ocv_le64(strings + 24) & (INT64_MAX >> 2)) : 0;
    for (size_t i = 1; i < n && strings && r->n_refs && !e->split; i++) {
        const char *name = ocv_words_at(r, offset + ocv_le32(section_at(e, i)));
        e->split = name && !strcmp(name, OCV_KPACK_REF);
    }
    for (size_t i = 1; i < n && strings; i++) {
        const unsigned char *s = section_at(e, i);
        const char *name = ocv_words_at(r, offset + ocv_le32(s));
        if (name)
            OCV_TRY(scan_section(r, facts, s, name, err));
    }
    /* Device code that no section counts, which a program brings to the driver by itself. Where a
     * library has code in these sections, that tells what it runs on; else this does. */
    bool inside = ocv_content_has_code(facts, OCV_CONTENT_CUDA_CODE) ||
                  ocv_content_has_code(facts, OCV_CONTENT_HIP_CODE);
    for (size_t i = 0; i < r->n_sightings; i++) {
        const struct ocv_sighting *it = &r->sightings[i];
        const struct ocv_content_value *value = &r->values[it->value];
        char text[96];
        OCV_TRY(ocv_content_work(r, 1 + (int64_t)facts->n / 16, err));
        if (it->bytes < 0 || (e->split && value->fact == OCV_CONTENT_HIP_CODE))
            continue;
        snprintf(text, sizeof(text), "%s %s", ocv_content_fact_name(value->fact), value->text);
        if (inside && it->bytes)
            OCV_TRY(ocv_content_facts_add(facts, OCV_CONTENT_OUTSIDE, text, it->bytes, 1, err));
        else if (!inside || value->fact == OCV_CONTENT_CUDA_ZSTD)
            OCV_TRY(ocv_content_facts_add(facts, value->fact, value->text, it->bytes, 1, err));
    }
    return OCV_OK;
}
