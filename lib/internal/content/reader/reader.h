/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The inside of a reader.
 *
 * Bytes pass through one window. Each part looks at what it wants of the window and says from where
 * on it must be kept, because what begins there is not complete. All places are offsets in the
 * file. */
#ifndef OCV_CONTENT_READER_H
#define OCV_CONTENT_READER_H

#include "lib/base/arena.h"
#include "lib/internal/content/content.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OCV_WINDOW ((size_t)256 * 1024)
#define OCV_CONTENT_WORD_MAX ((size_t)160)
#define OCV_HEADER_MAX ((size_t)64 * 1024) /* of a bundle; at most a quarter of the window */
#define OCV_REFS_MAX 8u /* texts of a file that may be references to kpack archives */

/* Numbers as ELF files of the machines that matter have them. */
static inline uint16_t ocv_le16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t ocv_le32(const unsigned char *p)
{
    return ocv_le16(p) | (uint32_t)ocv_le16(p + 2) << 16;
}

static inline uint64_t ocv_le64(const unsigned char *p)
{
    return ocv_le32(p) | (uint64_t)ocv_le32(p + 4) << 32;
}

#define EM_AMDGPU_NUMBER 224 /* EM_AMDGPU; older headers have no name for these */
#define EM_CUDA_NUMBER 190
/* What a machine's number is called; other numbers are written into `buffer`. */
const char *ocv_content_machine_name(uint16_t machine, char *buffer, size_t size);

/* A part of the file that is kept until its end. */
struct ocv_capture {
    int64_t offset;
    size_t want; /* bytes, 0: nothing */
    size_t have;
    unsigned char *data;
};

/* Device code that was seen at a place, and counts once that place is known to hold device code. */
struct ocv_sighting {
    int64_t container;
    int64_t bytes;
    uint32_t value; /* in `values` */
    bool whole;     /* so many bytes from `container` on, which the file has to have */
};

struct ocv_content_value {
    enum ocv_content_fact fact;
    const char *text;
};

struct ocv_content_word {
    int64_t offset;
    const char *text;
};

enum ocv_content_kind {
    OCV_KIND_UNKNOWN, /* nothing read yet */
    OCV_KIND_NONE,    /* nothing to be found in it */
    OCV_KIND_ELF,
    OCV_KIND_DEVICE, /* device code without an ELF file around it */
    OCV_KIND_KPACK,  /* an archive of AMD's kpack */
};

struct ocv_elf {
    uint64_t phoff;
    uint64_t shoff;
    uint16_t phnum;
    uint16_t shnum;
    uint16_t shstrndx;
    uint16_t machine;
    struct ocv_capture segments; /* program headers */
    struct ocv_capture sections; /* section headers, and what is behind them */
    struct ocv_capture dynamic;
    struct ocv_capture property;
    unsigned char header[64];
    char target[64]; /* of an object for a GPU */
    char toolkit[16];
    bool split;   /* its code for GPUs of AMD is in kpack archives */
    bool has_ref; /* to these, and it was read: a library has one */
};

struct ocv_content_reader {
    struct ocv_arena arena; /* of this file */
    enum ocv_content_kind kind;
    int64_t base;        /* of the window */
    size_t len;          /* bytes in the window */
    int64_t next;        /* where the search for device code goes on */
    int64_t words_next;  /* where that for words does */
    int64_t words_floor; /* where the bytes begin that it looks at */
    int64_t container;   /* fat binary that is being walked, -1: none */
    int64_t container_end;
    struct ocv_elf elf;
    struct ocv_capture refs[OCV_REFS_MAX]; /* what may be a reference to kpack archives */
    size_t n_refs;
    int64_t ref_next;         /* where the search for one goes on */
    struct ocv_capture table; /* of a kpack archive */
    struct ocv_sighting *sightings;
    size_t n_sightings;
    struct ocv_content_value *values;
    size_t n_values;
    struct ocv_content_word *words;
    size_t n_words;
    unsigned inflations; /* tried */
    const char *unseen[8];
    size_t n_unseen;
    uint16_t *places; /* of values, by their hash, and 1 more than the place; PLACES, or NULL */
    /* kept from file to file */
    int64_t work; /* done so far */
    int64_t read; /* bytes of input, as ocv_content_allow was told */
    void *zstd;
    unsigned char *header; /* OCV_HEADER_MAX, of a compressed bundle */
    unsigned char window[OCV_WINDOW];
};

/** Bytes of the window from `offset` on; *len of them. */
const unsigned char *ocv_window_at(const struct ocv_content_reader *r, int64_t offset, size_t *len);
/** Count work, in units of about 100 ns. OCV_ERR_DATA once it is out of proportion to what was
 * read: publishers decide how many pieces a layer seems to have, and files repeat. */
int ocv_content_work(struct ocv_content_reader *r, int64_t units, struct ocv_error *err);
/** Note what was not looked at; `why` is a constant. */
void ocv_content_unseen(struct ocv_content_reader *r, const char *why);
/** Note device code of `bytes` bytes in the container that begins there. */
int ocv_content_sight(struct ocv_content_reader *r, int64_t container, enum ocv_content_fact fact,
                      const char *value, int64_t bytes, struct ocv_error *err);

/** Keep what a capture wants of the window. */
int ocv_capture_keep(struct ocv_content_reader *r, struct ocv_capture *c, struct ocv_error *err);
/** Where in the file it goes on; INT64_MAX if it wants nothing more. One whose start has passed
 * gets nothing. */
int64_t ocv_capture_wants(const struct ocv_content_reader *r, const struct ocv_capture *c);

/** Device code begins at `offset`, and the search goes on at `end`. */
int ocv_content_leap(struct ocv_content_reader *r, int64_t offset, int64_t end,
                     struct ocv_error *err);

/* What a look at the window came to; errors are negative. */
enum ocv_step {
    OCV_STEP_MORE = 0, /* more of the file must be in the window */
    OCV_STEP_DONE = 1, /* go on at r->next */
};

#define OCV_FATBIN_MAGIC 0xBA55ED50u
#define OCV_ELF_MAGIC 0x464c457fu
/** A container may begin at `offset`, whose magic number is in the window. `last`: the window has
 *  the file's end. Returns a step, as the others here. */
int ocv_fatbin_begin(struct ocv_content_reader *r, int64_t offset, bool last,
                     struct ocv_error *err);
/** The next entry of the container r->container. */
int ocv_fatbin_walk(struct ocv_content_reader *r, bool last, struct ocv_error *err);
/** What begins at `offset` with ELF's magic number within a library may be a cubin. */
int ocv_cubin_begin(struct ocv_content_reader *r, int64_t offset, bool last, struct ocv_error *err);
/** The SM of a cubin by its ELF header; false for one that is not known. */
bool ocv_cubin_sm(const unsigned char *header, char *out, size_t size);

#define OCV_BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define OCV_BUNDLE_MAGIC_LEN 24u
#define OCV_CCOB_MAGIC 0x424f4343u
int ocv_bundle_begin(struct ocv_content_reader *r, int64_t offset, bool last,
                     struct ocv_error *err);
int ocv_ccob_begin(struct ocv_content_reader *r, int64_t offset, bool last, struct ocv_error *err);
/** The GPU in a target's name, "amdgcn-amd-amdhsa--gfx942:xnack-"; false if there is none. */
bool ocv_bundle_gpu(const char *target, size_t len, char *out, size_t size);

#define OCV_KPACK_MAGIC 0x4b41504bu
#define OCV_KPACK_REF ".rocm_kpack_ref"
#define OCV_REF_BEFORE 1024 /* bytes of a reference before what is searched for */
/** Note what in the window may be a reference to archives: its section is known at the end only. */
void ocv_kpack_search(struct ocv_content_reader *r);
/** The reference in a section there. */
int ocv_kpack_ref(struct ocv_content_reader *r, int64_t offset, int64_t size,
                  struct ocv_content_facts *facts, struct ocv_error *err);
/** A reference: 1 if `facts` have what it says, 0 if it is malformed. */
int ocv_kpack_ref_parse(const void *bytes, size_t len, struct ocv_content_facts *facts,
                        struct ocv_error *err);
/** Read an archive's header, which is at the window's begin. */
void ocv_kpack_begin(struct ocv_content_reader *r);
/** The archive ends at `size`: its table becomes sightings. */
int ocv_kpack_end(struct ocv_content_reader *r, int64_t size, struct ocv_error *err);
int ocv_kpack_table_parse(struct ocv_content_reader *r, const void *bytes, size_t len,
                          struct ocv_error *err);

/** Keep the names of libraries, versions and sections that stand before `upto`; `ends`: the bytes
 *  to look at end there, so that no string goes on. */
int ocv_words_scan(struct ocv_content_reader *r, int64_t upto, bool ends, struct ocv_error *err);
/** The word that ends where a string at `offset` ends, from that offset on; NULL if none is. */
const char *ocv_words_at(const struct ocv_content_reader *r, int64_t offset);

/** Read the ELF header and the program headers, which are at the window's begin. */
void ocv_elf_begin(struct ocv_content_reader *r);
/** Is the file an object for a GPU, all of it? */
bool ocv_elf_is_device(const struct ocv_content_reader *r);
/** Look in such an object for the notes that say for which GPU and by which toolkit; what follows
 * is not wanted once they are found. */
void ocv_elf_device(struct ocv_content_reader *r, bool last);
/** Keep what the captures want of the window. */
int ocv_elf_capture(struct ocv_content_reader *r, struct ocv_error *err);
/** The file ends at `size`: what its tables say. */
int ocv_elf_end(struct ocv_content_reader *r, struct ocv_content_facts *facts, int64_t size,
                struct ocv_error *err);

/* MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), as far as the tables of
 * AMD's kpack need it: values are walked in place, nothing is copied and nothing recurses. What is
 * not as wanted sets `bad`, and then all numbers are 0 and all texts empty. */

/** The bytes that are left. */
struct ocv_msgpack {
    const unsigned char *at, *end;
    bool bad;
};

/** A text, not ended by NUL; points into the bytes. */
struct ocv_msgpack_text {
    const char *text;
    size_t len;
};

enum ocv_msgpack_kind {
    OCV_MSGPACK_OTHER,
    OCV_MSGPACK_NUMBER,
    OCV_MSGPACK_TEXT,
    OCV_MSGPACK_ARRAY,
    OCV_MSGPACK_MAP
};

/** The number that stands here, the values of the array or the pairs of the map that begins here.
 */
uint64_t ocv_msgpack_take(struct ocv_msgpack *m, enum ocv_msgpack_kind kind);
struct ocv_msgpack_text ocv_msgpack_text(struct ocv_msgpack *m);
/** Pass over a value with all that is in it. */
void ocv_msgpack_skip(struct ocv_msgpack *m);

/** Is it this text? */
bool ocv_msgpack_is(struct ocv_msgpack_text text, const char *other);

#endif
