/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the providers of GPUs share: devices that serve nothing, device nodes, kernel drivers. */
#ifndef OCV_GPU_H
#define OCV_GPU_H

#include "lib/probe/result/result.h"

/** What the user of this process may do with a device node. */
enum ocv_gpu_access { OCV_GPU_MAY, OCV_GPU_MAY_NOT, OCV_GPU_MISSING };

/** True for the PCI classes of GPUs: VGA, 3D, display, and processing accelerators. */
bool ocv_gpu_is_class(uint32_t class_code);
/** Give a device an empty list of a feature, so that it does not inherit the namespace's. */
int ocv_gpu_add_none(json_t *device, const char *feature, struct ocv_error *err) OCV_WARN_UNUSED;
/** Keep a device from serving any build, under every device policy: empty lists of all features of
 *  its namespace, and `why` as the attribute `reason`. The caller marks it secondary. */
int ocv_gpu_bar(json_t *device, const char *const *features, size_t n, const char *why,
                struct ocv_error *err) OCV_WARN_UNUSED;
/** Append a value unless the namespace has it. */
int ocv_gpu_add_once(struct ocv_result *result, const char *feature, const char *value,
                     struct ocv_error *err) OCV_WARN_UNUSED;
/** Set a number of bytes or a count as a text attribute; 0: nothing. */
int ocv_gpu_add_number(json_t *device, const char *key, uint64_t number,
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Set index, secondary and guess of a device. */
int ocv_gpu_mark(json_t *device, size_t index, bool secondary, bool guess,
                 struct ocv_error *err) OCV_WARN_UNUSED;
/** The entry of a PCI device's directory `class` ("drm", "accel") that starts with `prefix` and
 * goes on with digits: the name of its device node. False if there is none. */
bool ocv_gpu_node(const struct ocv_probe_host *host, const char *address, const char *class_name,
                  const char *prefix, char *out, size_t size);
/** True in Windows Subsystem for Linux 2 (/dev/dxg) where Windows has a display driver whose
 * package begins with one of `names` ("iigd"; # stands for a digit): files show nothing else of its
 * GPUs. */
bool ocv_gpu_is_windows(const struct ocv_probe_host *host, const char *const *names, size_t n);
/** May this process read and write a device node ("dev/kfd")? Always, where the machine is not the
 *  one this runs on. */
enum ocv_gpu_access ocv_gpu_access(const struct ocv_probe_host *host, const char *path);
/** Decimal number of a one-line file. */
bool ocv_gpu_number(const struct ocv_probe_host *host, const char *path, uint64_t *out);
/** Version of a kernel module, or the kernel's for a module that comes with it. Empty if unknown.
 */
void ocv_gpu_driver_version(const struct ocv_probe_host *host, const char *module, char *out,
                            size_t size);

/* The providers that are compiled in. */

/* providers/cpu */
extern const struct provider ocv_provider_x86_64, ocv_provider_aarch64, ocv_provider_loongarch64,
    ocv_provider_ppc64le, ocv_provider_riscv64, ocv_provider_s390x;
extern const struct provider ocv_provider_nvidia, ocv_provider_amd, ocv_provider_intel,
    ocv_provider_vulkan;

#endif
