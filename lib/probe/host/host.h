/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that is looked at. A provider sees it through `struct ocv_probe_host` only, so that
 * --sysroot and --cpuid hold for all of them. */
#ifndef OCV_HOST_H
#define OCV_HOST_H

#include "lib/probe/cpu/cpuid.h"
#include "lib/probe/cpu/cpuinfo.h"
#include "lib/probe/files/sysroot.h"
#include "lib/probe/pci/pci.h"
#include "ocivariant/probe.h"

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
/** True if the files that name a sysroot's processor cannot be read. This is reported in the CPU
 * namespace of the running machine, which is the likeliest one. */
bool ocv_probe_host_cpu_unread(const struct ocv_probe_host *host, const char *ns);
/** Host name and boot id of the machine, where known: buffers of `size` bytes, else empty. */
void ocv_probe_host_identity(const struct ocv_probe_host *host, char *hostname, char *boot_id,
                             size_t size);

#endif
