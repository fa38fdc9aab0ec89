/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of libocivariant-probe: the machine that is looked at, what providers are, what they
 * answer. A provider reads `struct ocv_probe_host` and fills a `struct ocv_result`; it never looks
 * at the machine in another way, so that --sysroot and --cpuid hold for all of them. */
#ifndef OCV_PROBE_H
#define OCV_PROBE_H

#include "lib/probe/cpu/cpuinfo.h"
#include "lib/probe/pci/pci.h"
#include "ocivariant/probe.h"

#include <jansson.h>

/* ---- Files of the machine (sysroot.c) -------------------------------------------------------- */

#define OCV_SYSROOT_DEPTH_MAX 64u /**< components of a path, links followed */
#define OCV_SYSROOT_LINKS_MAX 40u /**< links followed on the way, as the kernel has it */

/** Open the folder that stands for `/` (NULL: `/` itself). The caller closes `*root`. */
int ocv_sysroot_open(const char *path, int *root, struct ocv_error *err) OCV_WARN_UNUSED;
/** Open `path` (relative to the root, no leading slash) for reading. No link, absolute or with
 *  "..", leaves the root. A descriptor, or -1 with errno. */
int ocv_sysroot_openat(int root, const char *path, int flags);
/** The same without openat2(2), for kernels and emulators that lack it, and where it gives up. */
int ocv_sysroot_walk(int root, const char *path, int flags);
/** Open a regular file for reading; -1 with errno, EBADFD for any other kind. That is found out
 *  before it is opened: opening some devices does things (watchdogs, tapes), and a FIFO waits. */
int ocv_sysroot_file(int root, const char *path);
/** Read a regular file of at most out->max bytes. Missing: OCV_ERR_NOT_FOUND; not a regular file,
 *  unreadable: OCV_ERR_IO; larger: OCV_ERR_DATA. */
int ocv_sysroot_read(int root, const char *path, struct ocv_buffer *out,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** The first line of a small file without surrounding blanks, cut to `size`. False if there is none
 *  or it is not printable ASCII. */
bool ocv_sysroot_line(int root, const char *path, char *out, size_t size);

/** True if there is such a folder. */
bool ocv_sysroot_folder(int root, const char *path);

/* ---- CPUID (cpuid.c) ------------------------------------------------------------------------- */

#define OCV_CPUID_FILE_MAX (1024u * 1024) /**< bytes of a --cpuid file */
#define OCV_CPUID_ROWS_MAX 4096u          /**< leaves in it */

enum ocv_register { OCV_EAX, OCV_EBX, OCV_ECX, OCV_EDX };

struct ocv_cpuid_row {
    uint32_t leaf;
    uint32_t subleaf;
    uint32_t registers[4];
};

/** The answers of one processor. Sorted by leaf and subleaf once read. */
struct ocv_cpuid {
    struct ocv_cpuid_row *rows;
    size_t n;
    bool has_xcr0; /**< not recorded: every state component counts as enabled if OSXSAVE is set */
    uint64_t xcr0;
};

/** Parse a text of "LEAF SUBLEAF EAX EBX ECX EDX" and "xcr0 HEX" lines; `#` starts a comment.
 *  `source` names it in messages. Malformed, a leaf twice, no leaf at all: OCV_ERR_DATA. */
int ocv_cpuid_parse(const char *source, const char *text, size_t len, struct ocv_cpuid *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
/** Read such a file. */
int ocv_cpuid_read(const char *path, struct ocv_cpuid *out, struct ocv_error *err) OCV_WARN_UNUSED;
/** Ask the processor this runs on for `n` leaves. OCV_ERR_UNSUPPORTED on other architectures. */
int ocv_cpuid_live(const uint32_t (*leaves)[2], size_t n, struct ocv_cpuid *out,
                   struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_cpuid_free(struct ocv_cpuid *cpuid);
/** One register, 0 where the processor does not know the leaf (leaf 0, leaf 80000000 and leaf 7
 *  say which it knows; a processor answers something for the others too). */
uint32_t ocv_cpuid_word(const struct ocv_cpuid *cpuid, uint32_t leaf, uint32_t subleaf,
                        enum ocv_register reg);
/** State components that the operating system saves; 0 without OSXSAVE. */
uint64_t ocv_cpuid_xcr0(const struct ocv_cpuid *cpuid);

/* ---- The machine (host.c) -------------------------------------------------------------------- */

struct ocv_probe_host {
    int root;  /**< folder that stands for / */
    bool live; /**< that folder is /, so system calls speak of the same machine */
    bool deep;
    bool no_environment;
    /** as the options give them, for ocv_host_libexec() */
    const char *libexecdir, *datadir;
    unsigned timeout_ms;  /**< of a child */
    const char *pci_dump; /**< stands for the PCI devices; borrowed from the options, or NULL */
    bool has_cpuid;       /**< CPUID was injected and stands before all other sources */
    bool has_cpuinfo;     /**< /proc/cpuinfo was read: only with a sysroot */
    struct ocv_cpuid cpuid;
    struct ocv_cpuinfo cpuinfo;
    struct ocv_error cpuinfo_error; /**< why it could not be read: its status is OCV_OK else */
    const char *architecture;       /**< GOARCH, NULL where nothing says it */
    const char *variant;        /**< platform variant as far as it is known without a provider */
    struct ocv_pci_list pci;    /**< empty where it could not be read */
    struct ocv_error pci_error; /**< why it could not: its status is OCV_OK else */
};

int ocv_host_open(const struct ocv_probe_options *options, struct ocv_probe_host *out,
                  struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_host_close(struct ocv_probe_host *host);
/** Path of a program of this project ("nvml-query"), or of the folder "providers": from
 * `libexecdir` of the options; else beside their datadir, where it is there; else the installed
 * one. Too long: false. Whether it exists is not said. */
bool ocv_host_libexec(const struct ocv_probe_host *host, const char *name, char *path, size_t size);
/** A variable of the environment that speaks of the machine this runs on: NULL where it is unset or
 *  empty, the machine is another one, or the options say that the environment does not count. */
const char *ocv_host_variable(const struct ocv_probe_host *host, const char *name);
/** True if nothing says which processor a sysroot's machine has, because what would say it cannot
 * be read: that is told in the CPU namespace of this machine, the likeliest one. */
bool ocv_host_cpu_unread(const struct ocv_probe_host *host, const char *ns);
/** Host name and boot id of the machine, where known: buffers of `size` bytes, else empty. */
void ocv_host_identity(const struct ocv_probe_host *host, char *hostname, char *boot_id,
                       size_t size);

/* ---- Providers ------------------------------------------------------------------------------- */

enum ocv_result_status { OCV_RESULT_OK, OCV_RESULT_PARTIAL, OCV_RESULT_FAILED, OCV_RESULT_ABSENT };

/** One namespace of the profile, while a provider fills it. Values stand best first. */
struct ocv_result {
    enum ocv_result_status status; /**< OCV_RESULT_ABSENT until a provider says otherwise */
    const char *source;            /**< where it comes from: "cpuid", "cpuinfo", ... */
    const char *variant;           /**< platform variant (CPU providers), or NULL */
    json_t *features;              /**< array of {"name", "values"} */
    json_t *devices;               /**< array of devices, most capable first; may stay empty */
    char driver[64];               /**< version of the namespace's driver, or empty */
    bool guess;                    /**< a value was inferred, from a table's ranges say */
    char note[256]; /**< with status partial: what is missing and why, for operators */
};

/** Append a value to a feature, which is added after the others when it is new. */
int ocv_result_add(struct ocv_result *result, const char *feature, const char *value,
                   struct ocv_error *err) OCV_WARN_UNUSED;

/** Append a device; `name` may be NULL. The object is borrowed from the result, NULL without
 * memory. */
json_t *ocv_result_device(struct ocv_result *result, const char *id, const char *name);
/** Append a value to a device's own list of a feature. */
int ocv_device_add(json_t *device, const char *feature, const char *value,
                   struct ocv_error *err) OCV_WARN_UNUSED;
/** Set a text attribute (memory in bytes, firmware, ...). NULL or empty: nothing. */
int ocv_device_attribute(json_t *device, const char *key, const char *value,
                         struct ocv_error *err) OCV_WARN_UNUSED;

struct ocv_declaration; /* declarative.h */

/** Source of one namespace. Stateless. */
struct provider {
    const char *name;
    const char *ns;
    const char *kind;    /**< "builtin", "declarative", "executable" */
    const char *version; /**< raised when the same machine gets another answer */
    bool cpu;            /**< left out of the profiles of other architectures */
    /** A failure is this namespace's only: it is reported in the profile. */
    int (*probe)(const struct ocv_probe_host *host, struct ocv_result *result,
                 struct ocv_error *err);
    const struct ocv_declaration *declaration; /**< kind "declarative": asked instead of `probe` */
    bool quiet;                                /**< left out of the profile where it is absent */
};

extern const struct provider ocv_provider_x86_64;
/* cpu_provider.c; what they look at stands in providers/ */
extern const struct provider ocv_provider_aarch64, ocv_provider_loongarch64, ocv_provider_ppc64le,
    ocv_provider_riscv64, ocv_provider_s390x, ocv_provider_nvidia, ocv_provider_amd,
    ocv_provider_intel;

/* ---- Writing (pretty.c) ---------------------------------------------------------------------- */

/** Append JSON over several lines, without a final newline; what fits on a line stands on it. Keys
 *  must need no escapes. */
int ocv_pretty_append(const json_t *json, size_t indent, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

/* ---- For tests ------------------------------------------------------------------------------- */

/** Names of the flags of namespace x86_64 in the order of the profile. NULL past the end. */
const char *ocv_x86_64_flag(size_t i);
/** Level of a processor, 0 below v1. */
unsigned ocv_x86_64_level(const struct ocv_cpuid *cpuid);

#endif
