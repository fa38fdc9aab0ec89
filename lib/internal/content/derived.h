/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a report of content means: the machines that an image or a file can run on, as properties.
 *
 * An image runs on a GPU if each of its files with code for such GPUs does: with machine code for
 * it, with that of a lower minor version, or with PTX that the driver compiles. A property is
 * proposed for a target that all of these files run on, and one has machine code for. */
#ifndef OCV_CONTENT_DERIVE_H
#define OCV_CONTENT_DERIVE_H

#include "lib/internal/content/content.h"
#include "ocivariant/property.h"

/** Targets of all files, and libraries that they need: more has no image that anybody built. Each
 * is compared with all findings. */
#define OCV_CONTENT_KINDS_MAX 512u

/** Code for one kind of machine. */
struct ocv_content_target {
    enum ocv_content_fact fact;
    char *value;         /**< "90", "gfx942:xnack-" */
    int64_t bytes;       /**< of such code in all files */
    size_t files;        /**< that have such code */
    size_t lacking;      /**< files of this maker's GPUs that do not run on this target; those of a
                              library that has one for each GPU are one */
    const char *without; /**< one of these; borrowed from the report */
    bool proposed;       /**< it is among the properties */
};

/** A user space that files were built for. */
struct ocv_content_needs {
    const struct content_library *rule; /**< of gen/content-rules.h */
    const char *is;                     /**< "CUDA" */
    char *name;                         /**< the soname, "libcudart.so.12" */
    char version[16];                   /**< "12", or empty */
    size_t files;
    const char *path; /**< one of these files; borrowed */
};

/** The highest of a fact over all files, and a file that says so (borrowed); NULL: none does. */
struct ocv_content_highest {
    const char *value, *path;
};

struct ocv_content_derived {
    struct ocv_content_target *targets;
    size_t n_targets;
    struct ocv_content_needs *needs;
    size_t n_needs;
    char **properties; /**< "ns :: feature :: value" */
    size_t n_properties;
    /** What a second entry of the image says, for drivers that compile none of its PTX but run its
     * machine code; none: no such entry is needed. */
    char **base;
    size_t n_base;
    char label[48]; /**< a label to begin with, or empty */
    struct ocv_content_highest level, glibc, glibcxx, ptx, cubin;
    /** Code that is compressed with zstd, which drivers read from CUDA 12.4 on. */
    struct ocv_content_highest zstd;
    /** The latest CUDA toolkit that the highest version of PTX or the note of a cubin (`cubin`)
     * tells of, or NULL. */
    const char *toolkit;
    const char *ptx_toolkit;                  /**< the same of PTX alone */
    size_t cuda_files, hip_files, sycl_files; /**< with device code */
    bool mixed;                        /**< files need different major versions of one user space */
    struct ocv_content_facts machines; /**< OCV_CONTENT_MACHINE: how many files of each */
    /** Those with code for GPUs, borrowed from the report: ocv_content_next_set walks them. */
    const struct ocv_content_file **files;
    size_t n_files;
};

/** A file, or those of a library that has one for each GPU. */
struct ocv_content_set {
    const char *path; /**< one of them; borrowed */
    bool runs;        /**< on the target */
    bool machine;     /**< with machine code alone */
};

/** An image, a directory or a file: what its files say and what that means. Zero-initialise. */
struct ocv_content {
    struct ocv_content_report report;
    struct ocv_content_derived derived;
};

#define OCV_CONTENT_TARGET_MAX 80u
/** "sm_90a", "gfx942:xnack-": as compilers write it. Returns `out`. */
const char *ocv_content_target_name(const struct ocv_content_target *target, char *out,
                                    size_t size);

/** What is known of an image besides its files. */
struct ocv_content_told {
    const char *cuda; /**< the CUDA version that its configuration states, "12.8"; NULL: none */
    const struct ocv_property *given; /**< properties that are written by hand */
    size_t n_given;
};

/** Give each library in the report the code that kpack archives have of it, as
 * OCV_CONTENT_HIP_CODE. Once is enough; again changes nothing. ocv_content_derive does it. */
int ocv_content_join(struct ocv_content_report *report, struct ocv_error *err);

/** Read `report`, which must live as long as `out` is used; `told` may be NULL. Its files are
 * joined.
 *
 * Files name the major version of CUDA that they need; the toolkit that they were built with is
 * what the configuration states, or what wrote their PTX. Machine code runs on older drivers of
 * that major version, too (Minor Version Compatibility), PTX of a newer toolkit does not: where all
 * proposed devices run machine code, the toolkit and the major's first version are proposed, 12.8
 * and 12.0; where none does, the toolkit alone; where some do, the toolkit, and a second entry
 * (`base`) for these with the first version. Of CUDA 12 the first version is 12.4 where some of the
 * code is compressed with zstd. */
int ocv_content_derive(struct ocv_content_report *report, const struct ocv_content_told *told,
                       struct ocv_content_derived *out, struct ocv_error *err);
void ocv_content_derived_free(struct ocv_content_derived *derived);
void ocv_content_free(struct ocv_content *content);

/** What the next file, or set of files, with code of that kind is for a target; *at begins at 0.
 * False: there is no other. */
bool ocv_content_next_set(const struct ocv_content_derived *derived, size_t *at,
                          enum ocv_content_fact fact, const char *value,
                          struct ocv_content_set *out);
/** Find the files that ocv_content_next_set walks. */
int ocv_content_sets(const struct ocv_content_report *report, struct ocv_content_derived *out,
                     struct ocv_error *err);

/** Does a file with these facts run on a GPU that the target names ("90", "90a"; "gfx942")? */
bool ocv_content_covers(const struct ocv_content_facts *facts, enum ocv_content_fact fact,
                        const char *value);
/** The same by facts of that kind alone, as machine code does without a compiler. */
bool ocv_content_machine_code_runs(const struct ocv_content_facts *facts,
                                   enum ocv_content_fact fact, const char *value);
/** Has it code of the maker of the GPUs that `fact` is about? A library without its kpack archives
 * needs such code all the same. */
bool ocv_content_has_code(const struct ocv_content_facts *facts, enum ocv_content_fact fact);
/** A compiler's target as the value of a property: features ("gfx942:xnack-") are left to the file,
 *  and a generic target is written with underscores. */
void ocv_content_property_value(const char *target, char *out, size_t size);
/** The last part of ocv_content_derive: the properties (proposal.c). */
int ocv_content_propose(const struct ocv_content_report *report,
                        const struct ocv_content_told *told, struct ocv_content_derived *out,
                        struct ocv_error *err);
/** The setting of a build for one target, "TORCH_CUDA_ARCH_LIST=9.0": the i-th there is, false past
 *  the last. */
bool ocv_content_setting(const struct ocv_content_target *target, size_t i, char *out, size_t size);

/* Properties that an image is said to need, compared with its files. */

enum ocv_content_keeping {
    OCV_CONTENT_NO_WORD, /**< files cannot show such a property, or none of them does */
    OCV_CONTENT_KEPT,
    OCV_CONTENT_PARTLY, /**< some files with code for such GPUs do not run there */
    OCV_CONTENT_BROKEN, /**< none does, or a file asks for more than is said */
    OCV_CONTENT_NO_CODE /**< for such GPUs there is no code at all: it is made when a program runs
                         */
};

/** What the files say to it. */
struct ocv_content_evidence {
    enum ocv_content_keeping keeping;
    size_t files, lacking; /**< that have such code; of these, that do not run there */
    const char *path;      /**< a file that contradicts it, or NULL; borrowed from the report */
    char found[160];       /**< what there is instead: "sm_80, sm_86", "v3" */
};

/** Compare one property with the content. */
void ocv_content_check(const struct ocv_content *content, struct ocv_property property,
                       struct ocv_content_evidence *out);
/** The content proposes more of a feature than is said of it: the i-th such property ("ns ::
 *  feature :: value"), NULL past the last. Features of which nothing is said do not count. */
const char *ocv_content_unsaid(const struct ocv_content *content, const struct ocv_property *said,
                               size_t n, size_t i);
/** Have two images the same device code, file by file? False where they have none. */
bool ocv_content_same_code(const struct ocv_content *a, const struct ocv_content *b);
/** A forward-compatibility library that stands where NVIDIA's container toolkit does not look for
 *  it (usr/local/cuda.../compat), or NULL. */
const char *ocv_content_idle_compat(const struct ocv_content *content);
/** How many files are libraries of a driver, which should be the host's: one of them and its maker.
 */
size_t ocv_content_drivers(const struct ocv_content *content, const struct ocv_content_file **first,
                           const char **maker);

#endif
