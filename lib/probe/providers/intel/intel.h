/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace intel, what its files and tests share. */
#ifndef OCV_INTEL_H
#define OCV_INTEL_H

#include "lib/probe/providers/gpu.h"

struct ocv_intel_gpu {
    const char *name;     /**< of the product family */
    const char *ip;       /**< IP version of the production stepping */
    const char *base;     /**< IP version that it also runs code for, or NULL */
    uint16_t first, last; /**< PCI device ids */
    bool integrated;
    bool guess; /**< steppings with other versions exist, or the product is not certain */
};

/** The table's row for a GPU, or NULL. */
const struct ocv_intel_gpu *ocv_intel_gpu_find(uint16_t device);
/** Generation of an NPU ("40xx"), or NULL if the PCI device is none that is known. */
const char *ocv_intel_npu_find(uint16_t device);

#endif
