/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a file says of the machines that can run it: ELF files and the device code in them, read in
 * one pass from front to back, with bounded memory. No I/O: bytes in, facts out.
 *
 * Read: ELF (64-bit, little-endian): machine, libraries needed, C library versions wanted, x86
 * level; NVIDIA fat binaries and cubins; offload bundles of clang, compressed ones too; AMD code
 * objects and kpack archives. Formats: System V gABI; fatbinary.h of the CUDA toolkit and NVIDIA's
 * cuobjdump as reference; clang's "Clang Offload Bundler" and LLVM's "User Guide for AMDGPU
 * Backend". libelf is not used: it wants a whole file or a descriptor that seeks, and a layer is a
 * stream.
 *
 * A section table stands at the end of its file. So device code is noted when its first bytes pass,
 * and counts once the table shows it in a section for device code.
 *
 * Thread safety: one thread at a time for each reader and each set of facts. */
#ifndef OCV_CONTENT_H
#define OCV_CONTENT_H

#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/property.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ocv_content_fact {
    OCV_CONTENT_MACHINE,     /**< as OCI names it ("amd64"), else "elf-NUMBER" */
    OCV_CONTENT_X86_LEVEL,   /**< "1" to "4": the x86-64 level that the file states it needs */
    OCV_CONTENT_NEEDED,      /**< a library that it is linked with: "libcudart.so.12" */
    OCV_CONTENT_SONAME,      /**< its own name as a library */
    OCV_CONTENT_GLIBC,       /**< the highest version of the C library wanted: "2.34" */
    OCV_CONTENT_GLIBCXX,     /**< the same of the C++ library: "3.4.30" */
    OCV_CONTENT_CUDA_CODE,   /**< machine code of an SM: "90", "90a", "100f" */
    OCV_CONTENT_CUDA_PTX,    /**< code for an SM and later ones, compiled by the driver: "90" */
    OCV_CONTENT_CUDA_IR,     /**< code that a linker compiles when the program runs: "90" */
    OCV_CONTENT_PTX_VERSION, /**< version of the PTX language, which tells the toolkit: "8.7" */
    OCV_CONTENT_CUDA_COMPAT, /**< "yes": a driver library for forward compatibility */
    OCV_CONTENT_CUDA_EMPTY,  /**< machine code of an SM without a function: "75". Compilers write it
                                  for sources that have none, for an SM of their own choice */
    OCV_CONTENT_TOOLKIT,     /**< the CUDA toolkit that wrote a cubin: "13.0" */
    OCV_CONTENT_CUDA_ZSTD,   /**< code for an SM that is compressed with zstd, which drivers read
                                  from CUDA 12.4 on: "90" */
    OCV_CONTENT_HIP_CODE,    /**< machine code of a GPU of AMD: "gfx942:sramecc+:xnack-" */
    OCV_CONTENT_KPACK_NAME,  /**< the name under which kpack archives have the code of this library
                              */
    OCV_CONTENT_KPACK_PATH,  /**< where its archives are, from its directory on:
                                  "../.kpack/blas_@GFXARCH@.kpack" */
    OCV_CONTENT_KPACK_CODE,  /**< a target and a name, of a kpack archive: "gfx942 lib/libx.so" */
    OCV_CONTENT_SYCL_CODE,   /**< the target of SYCL code: "spir64_gen" */
    OCV_CONTENT_OUTSIDE,     /**< code of a library beside that of its sections for it, which its
                                  program brings to the driver by itself: "cuda-code 80" */
    OCV_CONTENT_HWCAPS,      /**< a directory of glibc-hwcaps: "x86-64-v3" */
    OCV_CONTENT_NPU_KERNEL,  /**< the chip that a directory of kernels is for: "soc910" */
    OCV_CONTENT_DRIVER,      /**< whose driver the file is a library of, that of a host: "NVIDIA" */
    OCV_CONTENT_COMPILER, /**< what compiles code when the program runs, by its files: "Triton" */
    OCV_CONTENT_UNSEEN,   /**< what was not looked at, in words */
    OCV_CONTENT_FACTS
};

/** OCV_CONTENT_UNSEEN of an archive: wheels are zip archives. */
#define OCV_CONTENT_ZIP "a zip archive, not opened"
/** The same of static libraries, and of others by their names; and of one that was to be read. */
#define OCV_CONTENT_ARCHIVE "an archive, not opened"
#define OCV_CONTENT_UNREADABLE "an archive that cannot be read"
#define OCV_CONTENT_BOMB "an archive that inflates to far more than its size"
/** The same of a library that was split by kpack, where no archive has code of it. */
#define OCV_CONTENT_KPACK_MISSING "its code for GPUs is in .kpack archives that are not here"

/** The fact's name in reports: "cuda-code". */
const char *ocv_content_fact_name(enum ocv_content_fact fact);
/** The fact of that name, OCV_CONTENT_FACTS if there is none. */
enum ocv_content_fact ocv_content_fact_find(const char *name);

struct ocv_content_finding {
    enum ocv_content_fact fact;
    char *value;
    int64_t bytes; /**< size of the file, 0 where a size has no meaning */
    int64_t count; /**< how often it was found */
};

/** What a file, or many, say. Zero-initialise; ocv_content_facts_free frees what it holds. */
struct ocv_content_facts {
    struct ocv_content_finding *list; /**< in order of fact, then value, after ocv_content_end */
    size_t n;
};

/** Count a finding. Of versions (glibc, glibcxx) only the highest is kept. */
int ocv_content_facts_add(struct ocv_content_facts *facts, enum ocv_content_fact fact,
                          const char *value, int64_t bytes, int64_t count, struct ocv_error *err);
int ocv_content_facts_merge(struct ocv_content_facts *into, const struct ocv_content_facts *from,
                            struct ocv_error *err);
void ocv_content_facts_sort(struct ocv_content_facts *facts);
void ocv_content_facts_free(struct ocv_content_facts *facts);

/** What a file's name says, where `facts` have what is in it: a driver's library, an object named
 * for a GPU of AMD (`…gfx942….hsaco`), a directory of glibc-hwcaps, kernels of an NPU by the
 * directory of their chip, a compiler, an archive. */
int ocv_content_path(struct ocv_content_facts *facts, const char *path, int64_t bytes,
                     struct ocv_error *err);

/** Is it the name of an archive whose files are read, where it is the file that is named, or in a
 * directory that is? */
bool ocv_content_opens(const char *path);
/** Is it the name of a file for one GPU, of those that ocv_content_path knows? */
bool ocv_content_is_named(const char *path);

/** Reads one file after the other. About 0.4 MiB, and 24 bytes for each piece of device code. */
struct ocv_content_reader;
struct ocv_content_reader *ocv_content_reader_new(void);
void ocv_content_reader_free(struct ocv_content_reader *reader);
/** So many bytes of input have been read in all, before they were decompressed: the work that the
 *  reader does on what it finds is limited in proportion to them. */
void ocv_content_allow(struct ocv_content_reader *reader, int64_t bytes);

/** Add to a sum of bytes or files that may be anybody's: it stays at INT64_MAX. */
static inline void ocv_content_sum(int64_t *sum, int64_t n)
{
    if (__builtin_add_overflow(*sum, n, sum))
        *sum = INT64_MAX;
}

/** Is a value of OCV_CONTENT_MACHINE a processor that images are made for, and by its name there?
 */
bool ocv_content_is_processor(const char *machine);

/** The file's next bytes. Malformed content is no error: it is a fact, OCV_CONTENT_UNSEEN. */
int ocv_content_feed(struct ocv_content_reader *reader, const void *data, size_t len,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** How many of the bytes that follow are not needed: a caller that can seek may leave them out and
 *  call ocv_content_skip; INT64_MAX for the whole rest. */
int64_t ocv_content_unwanted(const struct ocv_content_reader *reader);
/** `n` bytes were left out, at most as many as ocv_content_unwanted said. */
void ocv_content_skip(struct ocv_content_reader *reader, int64_t n);
/** The file has ended: add what it says to `facts`, which are sorted then. The next file may be
 *  fed. */
int ocv_content_end(struct ocv_content_reader *reader, struct ocv_content_facts *facts,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/* What the files of a directory, of a layer or of a whole image say: dev.ocivariant.content/v1.
 *
 * A report of a layer also says what the layer hides of those below it: whiteouts, and the paths of
 * all its other files, as hashes. So reports of layers can be kept, and stacked again at any time.
 *
 * Thread safety: one thread at a time for each report. */

#define OCV_CONTENT_SCHEMA "dev.ocivariant.content/v1"
#define OCV_CONTENT_MEDIA_TYPE "application/vnd.dev.ocivariant.content.v1+json"
#define OCV_CONTENT_REPORT_MAX ((size_t)256 << 20) /* bytes of one as JSON */
#define OCV_CONTENT_FILES_MAX 1000000u
#define OCV_CONTENT_TEXT_MAX ((size_t)64 << 10) /* of a file that is kept as text */
#define OCV_CONTENT_KEPT_MAX ((size_t)16 << 20) /* of memory, but for the hashes of other paths */

struct ocv_content_file {
    char *path; /**< from the root, without a slash in front */
    int64_t size;
    struct ocv_content_facts facts;
};

/** A small file whose text is evaluated: the publisher's own, or a framework's. */
struct ocv_content_text {
    char *path, *text;
};

/** Zero-initialise; ocv_content_report_free frees what it holds. */
struct ocv_content_report {
    struct ocv_content_file *files; /**< those with facts */
    size_t n_files;
    struct ocv_content_text *texts;
    size_t n_texts;
    char **removed; /**< paths that are not there any more, with all below them */
    size_t n_removed;
    char **opaque; /**< directories of which nothing of the layers below is seen */
    size_t n_opaque;
    uint64_t *others; /**< hashes of the paths of all other files */
    size_t n_others;
    struct ocv_content_facts notes; /**< what was not looked at, of the whole */
    int64_t members;                /**< files, links and directories that were there */
    int64_t bytes;                  /**< of all files */
    size_t kept;                    /**< memory that was taken, about */
};

void ocv_content_report_free(struct ocv_content_report *report);

/** Is the file one whose text is kept, by its path? */
bool ocv_content_is_text(const char *path);
/** Add a file with what it says; the facts are moved. Without facts only its path is noted. What
 *  goes beyond OCV_CONTENT_KEPT_MAX is OCV_ERR_DATA, here and where texts and whiteouts are added:
 *  20,000 libraries take a third of it. */
int ocv_content_report_file(struct ocv_content_report *report, const char *path, int64_t size,
                            struct ocv_content_facts *facts, struct ocv_error *err);
/** Add a finding to a file that is in the report. */
int ocv_content_report_add(struct ocv_content_report *report, struct ocv_content_file *file,
                           enum ocv_content_fact fact, const char *value, int64_t bytes,
                           struct ocv_error *err);
int ocv_content_report_text(struct ocv_content_report *report, const char *path, const char *text,
                            size_t len, struct ocv_error *err);
/** A member named `.wh.NAME` or `.wh..wh..opq`, as layers have them: 1 if it was one, else 0. */
int ocv_content_report_whiteout(struct ocv_content_report *report, const char *path,
                                struct ocv_error *err);
/** Put the layer `upper` on what is below it: moved out of `upper`, which is empty afterwards. */
int ocv_content_report_stack(struct ocv_content_report *below, struct ocv_content_report *upper,
                             struct ocv_error *err);

/** Sort files by path, and what a layer hides. */
void ocv_content_report_sort(struct ocv_content_report *report);
/** Has the sorted report anything of that path: a file, or a link? */
bool ocv_content_report_names(const struct ocv_content_report *report, char *path);
/** As JSON, sorted by path: the same files give the same bytes. */
int ocv_content_report_write(struct ocv_content_report *report, struct ocv_buffer *out,
                             struct ocv_error *err);
/** Read one; what is not as written by ocv_content_report_write is OCV_ERR_DATA. */
int ocv_content_report_read(const void *bytes, size_t len, struct ocv_content_report *out,
                            struct ocv_error *err);

#define ocv_auto_content_report __attribute__((cleanup(ocv_content_report_free)))

#endif
