/* SPDX-License-Identifier: LGPL-3.0-or-later */
/**
 * @file ocivariant.h
 * libocivariant: choose the image of an OCI image index that was built for this machine.
 *
 * The library reads two kinds of documents (an image index with variant annotations, a host
 * profile) and turns them into a decision that can be explained. The core
 * does no I/O, keeps no global state, never prints, aborts or exits; every function may be called
 * from any thread as long as one object is not changed by two threads at once. Parsed indexes,
 * profiles and decisions are immutable and may be shared. Headers whose modules do I/O say so.
 *
 * Fallible functions return OCV_OK (0) or a negative enum ocv_status and, when `err` is not NULL,
 * fill it. Outputs are written on success only, unless a function says otherwise. A pointer to a
 * pointer is freed by the caller with the matching _free, which takes NULL, too; a returned pointer
 * is borrowed from the object that returned it. Places count from 0; a place must be below the
 * count unless the function says otherwise. Sizes are bytes. What annotations mean is specified in
 * schema/annotations.md.
 */
#ifndef OCIVARIANT_H
#define OCIVARIANT_H

#include "ocivariant/attributes.h"
#include "ocivariant/buffer.h"
#include "ocivariant/descriptor.h"
#include "ocivariant/digest.h"
#include "ocivariant/error.h"
#include "ocivariant/index.h"
#include "ocivariant/layout.h"
#include "ocivariant/manifest.h"
#include "ocivariant/match.h"
#include "ocivariant/platform.h"
#include "ocivariant/preferences.h"
#include "ocivariant/profile.h"
#include "ocivariant/property.h"
#include "ocivariant/reference.h"
#include "ocivariant/registry_config.h"
#include "ocivariant/resolve.h"
#include "ocivariant/vocabulary.h"

#endif
