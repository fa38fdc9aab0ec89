/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The providers that are compiled in. */
#ifndef OCV_BUILTIN_H
#define OCV_BUILTIN_H

#include "lib/probe/result/provider.h"

/* providers/cpu */
extern const struct provider ocv_provider_x86_64, ocv_provider_aarch64, ocv_provider_loongarch64,
    ocv_provider_ppc64le, ocv_provider_riscv64, ocv_provider_s390x;
extern const struct provider ocv_provider_nvidia, ocv_provider_amd, ocv_provider_intel,
    ocv_provider_vulkan;

#endif
