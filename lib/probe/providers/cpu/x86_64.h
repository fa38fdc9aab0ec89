/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Namespace x86_64, for tests. */
#ifndef OCV_X86_64_H
#define OCV_X86_64_H

#include "lib/probe/cpu/cpuid.h"

/** Names of the flags of namespace x86_64 in the order of the profile. NULL past the end. */
const char *ocv_x86_64_flag(size_t i);
/** Level of a processor, 0 below v1. */
unsigned ocv_x86_64_level(const struct ocv_cpuid *cpuid);

#endif
