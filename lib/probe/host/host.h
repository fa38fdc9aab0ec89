/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that is looked at. A provider sees it through `struct ocv_probe_host` only, so that
 * --sysroot and --cpuid hold for all of them. */
#ifndef OCV_HOST_H
#define OCV_HOST_H

#include "lib/probe/cpu/cpuid.h"
#include "lib/probe/files/sysroot.h"
#include "lib/probe/pci/pci.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"
#include "ocivariant/probe.h"

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct ocv_probe_host {
    int root;  /**< directory that stands for / */
    bool live; /**< that directory is /, so system calls describe the same machine */
    bool deep;
    bool no_environment;
    bool whole_node; /**< devices that only this process is not given count */
    /** as the options give them, for ocv_probe_host_libexec() */
    const char *libexecdir, *datadir;
    unsigned timeout_ms;  /**< of a child */
    const char *pci_dump; /**< stands for the PCI devices; borrowed from the options, or NULL */
    bool has_cpuid;       /**< CPUID was injected and comes before all other sources */
    bool has_cpuinfo;     /**< /proc/cpuinfo was read: only with a sysroot */
    struct ocv_cpuid cpuid;
    struct ocv_cpuinfo cpuinfo;
    struct ocv_error cpuinfo_error; /**< why it could not be read: its status is OCV_OK else */
    const char *architecture;       /**< GOARCH, NULL where it is not known */
    const char *variant;        /**< platform variant as far as it is known without a provider */
    struct ocv_pci_list pci;    /**< empty where it could not be read */
    struct ocv_error pci_error; /**< why it could not: its status is OCV_OK else */
};

int ocv_probe_host_open(const struct ocv_probe_options *options, struct ocv_probe_host *out,
                        struct ocv_error *err) OCV_WARN_UNUSED;
void ocv_probe_host_close(struct ocv_probe_host *host);
/** Path of a program of this project ("nvml-query"), or of the directory "providers": from
 * `libexecdir` of the options; else beside their datadir, where it is there; else the installed
 * one. False if it is too long. It need not exist. */
bool ocv_probe_host_libexec(const struct ocv_probe_host *host, const char *name, char *path,
                            size_t size);
/** A variable of the environment that describes the machine this runs on: NULL where it is unset or
 *  empty, the machine is another one, or the options say that the environment does not count. */
const char *ocv_probe_host_variable(const struct ocv_probe_host *host, const char *name);
/** Host name and boot id of the machine, where known: buffers of `size` bytes, else empty. */
void ocv_probe_host_identity(const struct ocv_probe_host *host, char *hostname, char *boot_id,
                             size_t size);

/* Running what could crash, hang or never stop printing: executable providers, and the programs of
 * this project that open a vendor's library. Always another program, never a bare fork: the caller
 * may be a daemon with threads, and whatever lock they hold would stay held in the copy.
 *
 * What such a program sees: stdin is /dev/null, the directory is the caller's, the environment is
 * PATH (the system's directories), LANG=C, LC_ALL=C and, where the caller has it, LD_LIBRARY_PATH
 * (vendors' libraries are in many places). Nothing else is passed on, not even OCV_*: what a
 * program has to know is in its arguments, so that a daemon that ignores OCV_* also ignores them in
 * its children. */

#define OCV_CHILD_TIMEOUT_MS 2000u                   /**< default time limit */
#define OCV_CHILD_OUTPUT_MAX (1024u * 1024)          /**< bytes a provider may print */
#define OCV_CHILD_MEMORY_MAX (4096ull * 1024 * 1024) /**< memory and address space */
#define OCV_CHILD_FILE_MAX (1024u * 1024)            /**< bytes of a file it writes */
#define OCV_CHILD_FILES_MAX 256u                     /**< descriptors it may have open */

struct ocv_child_limits {
    unsigned timeout_ms; /**< 0: the default */
    size_t output_max;   /**< 0: the default */
    size_t memory_max;   /**< 0: the default */
    bool wide;    /**< limit memory only, not addresses: CUDA reserves as many as the machine has
                     memory */
    bool trusted; /**< only if nobody else could have put it there (lib/base/system/spawn.h) */
};

/** Run `path` with arguments `argv` (argv[0] included, NULL at the end) without shell, stdin from
 *  /dev/null, no new privileges, resource limits, no descriptor of ours, in a process group of its
 *  own that is killed when it exits or the time is over. Its stdout is appended to `out`; the first
 *  line of its stderr goes into the message when it fails. Not executable or gone:
 *  OCV_ERR_NOT_FOUND; late, killed, exit status not 0, too much output: OCV_ERR_IO with the reason
 *  ("did not answer within 2 s", "killed by signal 11 (Segmentation fault)", "printed more than
 *  1048576 bytes", "exit status 3: ..."). Thread-safe; leaves no descriptor behind and no process,
 *  but for one that made itself a session of its own, which is neither waited for nor listened to.
 */
int ocv_child_run(const char *path, const char *const argv[], const struct ocv_child_limits *limits,
                  struct ocv_buffer *out, struct ocv_error *err) OCV_WARN_UNUSED;

/** One of several programs that run at the same time. */
struct ocv_child {
    const char *path;
    const char *const *argv;
    const struct ocv_child_limits *limits; /**< NULL: the defaults */
    struct ocv_buffer *out;
    int status; /**< as ocv_child_run returns it, with `error` */
    struct ocv_error error;
};

/** Run them all at once, so that two that hang cost the time of one. What becomes of each stands in
 *  its `status`. */
void ocv_child_run_all(struct ocv_child *children, size_t n);

/** A program that was started. The caller closes the descriptors, kills the group and reaps. */
struct ocv_child_process {
    pid_t pid;
    int out; /**< its stdout and stderr; reading them does not block */
    int err;
};

/** Start it. `limits` has no zeroes. */
int ocv_child_spawn(const char *path, const char *const argv[],
                    const struct ocv_child_limits *limits, struct ocv_child_process *process,
                    struct ocv_error *err) OCV_WARN_UNUSED;

/* What only people read of PCI devices. */

/** Add to a profile what people want to read: to devices with a PCI address `pci_id`,
 *  `kernel_driver` ("" none) and, where it has none, `name`; at the top `other_devices`
 *  (accelerators that no provider knows), `broken_devices` (how many could not be read) and
 *  `pci_error` (why none could).
 *  `datadir` may hold a pci.ids that goes before the system's. */
int ocv_pci_describe(const struct ocv_probe_host *host, const char *datadir, json_t *profile,
                     struct ocv_error *err) OCV_WARN_UNUSED;

#endif
