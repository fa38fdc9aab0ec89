/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads the registry client when a program first asks a registry. libcurl and its 33 libraries cost
 * several milliseconds, which purely local commands need not pay. Programs that link this file call
 * the functions of ocivariant/registry.h as usual. */
#ifndef OCV_REGISTRY_LOAD_H
#define OCV_REGISTRY_LOAD_H

#include "ocivariant/error.h"

/** Load the library now, unless it is loaded; ocv_registry_new and ocv_engine_http call this too.
 *  Threads that map memory at the same time slow each other down, so call it before starting one.
 */
int registry_load(struct ocv_error *err) OCV_WARN_UNUSED;

#endif
