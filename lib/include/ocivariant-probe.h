/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * @file ocivariant-probe.h
 * libocivariant-probe in one header (GPL).
 */
#ifndef OCIVARIANT_PROBE_ALL_H
#define OCIVARIANT_PROBE_ALL_H

#include "ocivariant.h"
#include "ocivariant/probe.h"

#endif
