/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file probe.h
 * libocivariant-probe: what this machine, or a recorded one, can run. Does I/O, and may run
 * programs (executable providers, helpers that open vendors' libraries) with a time limit.
 *
 * Ownership: options are borrowed for the call; results are appended to the caller's buffer. Thread
 * safety: the functions may be called from several threads at once.
 */
#ifndef OCIVARIANT_PROBE_H
#define OCIVARIANT_PROBE_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where to look. Zero-initialised: the machine this runs on. */
struct ocv_probe_options {
    const char *sysroot; /**< directory that stands for /, or NULL */
    const char *cpuid; /**< file of CPUID words (LEAF SUBLEAF EAX EBX ECX EDX, xcr0 HEX), or NULL */
    bool deep;         /**< also ask vendor libraries */
    const char *datadir;    /**< data directory with providers/, or NULL for the installed one */
    const char *providers;  /**< administrator's provider files, or NULL for those of this machine:
                                 /etc/ocivariant/providers.d */
    const char *check;      /**< ask this provider file alone, or NULL */
    const char *pci_dump;   /**< text of `lspci -kx` (or -xxx, -xxxx, -v) that stands for the
                                 machine's PCI devices, or NULL; without a sysroot the machine is
                                 another one, of which nothing else is known but a given CPUID */
    bool describe;          /**< add what only people read: names of PCI devices by the list of
                                 names of this machine, their drivers, devices without a provider */
    const char *libexecdir; /**< directory with providers/ and this project's own helper programs,
                               or NULL: DATADIR/../../libexec/ocivariant where a datadir is given
                                 and that has them, else the installed one */
    unsigned timeout_ms;    /**< time limit of each program that is run (executable providers, what
                                 asks vendors' libraries), 0: 2,000 */
    bool no_environment;    /**< the published wheel providers' variables (NV_VARIANT_PROVIDER_...)
                                 are ignored: for daemons */
    bool whole_node;        /**< GPUs that the device cgroup keeps from this process count, too: for
                                 a daemon that is in a container itself and answers for the node */
};

/** Probe and write the profile (JSON of schema dev.ocivariant.profile/v1, final newline) into
 *  `json`. A provider that fails is reported inside the profile; only unreadable input named by the
 *  caller is an error (OCV_ERR_NOT_FOUND, OCV_ERR_DATA), and a provider file that is wrong or in
 *  conflict with another (OCV_ERR_CONFIG, "FILE:LINE: ..."). Thread-safe. */
OCV_API int ocv_probe(const struct ocv_probe_options *options, struct ocv_buffer *json,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Append the namespaces of installed provider files, a line each, also of those that have nothing
 *  to say on this host. Errors as above. */
OCV_API int ocv_probe_namespaces(const struct ocv_probe_options *options, struct ocv_buffer *names,
                                 struct ocv_error *err) OCV_WARN_UNUSED;

#ifdef __cplusplus
}
#endif
#endif
