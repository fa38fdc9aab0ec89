/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Libraries and fat binaries for GPUs of NVIDIA and AMD, cut to the machine code of a few targets.
 *
 * A region is what a compiler made of one source: machine code and PTX for each architecture that
 * it was built for. Of each region stays what the driver of a target would take. What is kept is
 * moved to the front of its section, the pointers to it follow, and whole pages behind it are taken
 * out of the file; no address changes but those of device code. A file of which anything is not
 * understood stays as it is.
 *
 * Formats: System V gABI; fatbinary.h of the CUDA toolkit and NVIDIA's cuobjdump as reference.
 *
 * Thread safety: no state. */
#ifndef OCV_SLIM_H
#define OCV_SLIM_H

#include "ocivariant/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OCV_SLIM_TARGETS_MAX 160u
#define OCV_SLIM_GFX_MAX 32u
#define OCV_SLIM_GFX_LEN 12u
#define OCV_SLIM_LABEL_MAX 1600u

/** What one variant is for. */
struct ocv_slim_target {
    unsigned sm[OCV_SLIM_TARGETS_MAX]; /**< 80 of compute capability 8.0; ascending */
    size_t n;
    char gfx[OCV_SLIM_GFX_MAX][OCV_SLIM_GFX_LEN]; /**< "gfx942"; ascending, after `sm` */
    size_t n_gfx;
    bool keep_ptx; /**< keep the newest PTX that a target can compile, and SPIR-V, beside machine
                      code for it */
    int scratch;   /**< an empty temporary file, in which bundles that zstd compressed are inflated:
                      their windows are not this process's memory then; -1: such bundles stay */
};

/** Read one target: "sm_80", "gfx942", or several that share a variant, "sm_80+sm_86"; without PTX
 * and a scratch file. Anything else is OCV_ERR_INVALID with a hint. */
int ocv_slim_target_parse(const char *text, size_t len, struct ocv_slim_target *out,
                          struct ocv_error *err) OCV_WARN_UNUSED;
/** Put its numbers in order. */
void ocv_slim_target_sort(struct ocv_slim_target *target);
/** As it is parsed: "sm_80+sm_86". Returns `out`. */
const char *ocv_slim_target_format(const struct ocv_slim_target *target, char *out, size_t size);
/** "sm80", "gfx942" or "sm80_sm86": a label. Returns `out`. */
const char *ocv_slim_target_label(const struct ocv_slim_target *target, char *out, size_t size);

/** Does the GPU `sm` (89 of compute capability 8.9) run machine code for an architecture ("86",
 *  "90a", "100f"), or, `compiled`, PTX for it? Returns the architecture's number, 86; 0: it does
 *  not. */
unsigned ocv_slim_runs(const char *architecture, bool compiled, unsigned sm);
/** Does the GPU "gfx90a" take code for "gfx90a:xnack-"? A generic target counts for all GPUs of its
 *  generation, of which it may cover some only. */
bool ocv_slim_gfx_runs(const char *processor, const char *gfx);

enum ocv_slim_outcome {
    OCV_SLIM_NOTHING, /**< it has no device code, or none but for the targets */
    OCV_SLIM_CUT,     /**< written, and smaller */
    OCV_SLIM_ZEROED,  /**< written with zeros in place of what was removed: no page of it is free */
    OCV_SLIM_LEFT,    /**< it has code for others, and stays as it is: see `why` */
    OCV_SLIM_OMITTED  /**< left out of the layer: it is for others alone */
};
/** "cut", "zeroed", "left alone", "left out": for reports. */
const char *ocv_slim_outcome_name(enum ocv_slim_outcome outcome);

/** Code of one kind and architecture that was removed. */
struct ocv_slim_removed {
    const char *kind; /**< "cuda-code", "cuda-ptx": as in reports of content */
    char value[32];   /**< "90", "90a", "gfx942:xnack-" */
    int64_t bytes, count;
};
#define OCV_SLIM_REMOVED_MAX 64u

struct ocv_slim_result {
    enum ocv_slim_outcome outcome;
    const char *why;       /**< of a file that was left alone; a constant */
    int64_t before, after; /**< bytes of the file */
    int64_t regions;
    int64_t
        by_ptx; /**< regions of which PTX stays, because there is no machine code for a target */
    int64_t without; /**< regions that no target runs: their smallest entry stays */
    struct ocv_slim_removed removed[OCV_SLIM_REMOVED_MAX];
    size_t n_removed; /**< more kinds and architectures than there are rows for are not counted */
};

/** Cut a file that `in` has the first `size` bytes of. For OCV_SLIM_CUT and OCV_SLIM_ZEROED `out`,
 * an empty file, receives the new one, `result->after` bytes; else it is left empty. Both are
 * mapped: nobody may change them meanwhile. Malformed input is no error: the file is left alone.
 *  OCV_ERR_IO: no room for the new file; OCV_ERR_NOMEM. */
int ocv_slim_file(int in, size_t size, int out, const struct ocv_slim_target *target,
                  struct ocv_slim_result *result, struct ocv_error *err) OCV_WARN_UNUSED;

/* Layers: tar archives as they pass, in which some files are cut or left out, and all else stays
 * byte for byte. */

/** A layer, and where it goes. `data` is passed to the functions. */
struct ocv_slim_layer {
    const struct ocv_slim_target *target;
    const char *const *paths; /**< of the files to cut, as strcmp sorts them; no slash in front */
    size_t n_paths;
    const bool
        *leaves_out; /**< of each path: the file, and hard links to it, are left out; NULL: none */
    int files[3];    /**< empty temporary files, two for a library and one for what has to wait */
    /** The next bytes, at most `len`; 0 at the end, negative: an error. */
    ssize_t (*read)(void *data, void *bytes, size_t len, struct ocv_error *err);
    int (*write)(void *data, const void *bytes, size_t len, struct ocv_error *err);
    /** A file was cut, or left out, or not. */
    int (*done)(void *data, const char *path, const struct ocv_slim_result *result,
                struct ocv_error *err);
    /** After `done`: a file that was cut or left out has its sum or signature there, which is wrong
     *  now: a list of dpkg, or an attribute. */
    int (*listed)(void *data, const char *path, const char *where, struct ocv_error *err);
    void *data;
};

/** Exit status of content-scan where the layer needs more memory than it may have. */
#define OCV_SLIM_EXIT_NO_MEMORY 12

/** Pass the layer on, not compressed. Of a wheel's RECORD the rows of files that were cut get their
 *  new sizes and hashes, those of files that were left out go; until these are known, what comes
 * behind it waits in a file. Sparse members are not cut. Not a tar archive: OCV_ERR_DATA. */
int ocv_slim_layer_run(struct ocv_slim_layer *layer, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
