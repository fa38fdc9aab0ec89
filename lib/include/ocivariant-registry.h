/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file ocivariant-registry.h
 * libocivariant-registry in one header.
 */
#ifndef OCIVARIANT_REGISTRY_ALL_H
#define OCIVARIANT_REGISTRY_ALL_H

#include "ocivariant.h"
#include "ocivariant/registry.h"
#include "ocivariant/signature.h"

#endif
