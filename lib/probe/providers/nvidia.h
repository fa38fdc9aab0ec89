/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace nvidia, what its files and tests share. */
#ifndef OCV_NVIDIA_H
#define OCV_NVIDIA_H

#include "../probe.h"

#define OCV_NVIDIA_SM_MIN 50u /**< compute capability 5.0: below it the provider lists nothing */

struct ocv_cuda_version {
    unsigned major, minor; /**< major 0: unknown */
};

/** Compute capability of a PCI device as 10 * major + minor, 0 if unknown. */
unsigned ocv_nvidia_sm(uint16_t device, bool *guess);
/** The CUDA version that a driver for desktops and servers supports. `*newer`: the driver is newer
 *  than the table, whose newest entry is given. */
struct ocv_cuda_version ocv_nvidia_cuda(unsigned driver_major, bool *newer);
/** Add both lists of CUDA versions. */
int ocv_nvidia_add_cuda(struct ocv_result *result, struct ocv_cuda_version cuda,
                        struct ocv_error *err) OCV_WARN_UNUSED;
/** Add sm_arch to the namespace, or to `device` if it is not NULL. Below the minimum: nothing. */
int ocv_nvidia_add_sm(struct ocv_result *result, json_t *device, unsigned sm,
                      struct ocv_error *err) OCV_WARN_UNUSED;
/** Values of the overriding environment variables; false if malformed. */
bool ocv_nvidia_force_cuda(const char *text, struct ocv_cuda_version *out);
bool ocv_nvidia_force_sm(const char *text, unsigned *out);

#endif
