/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registry client, loaded when a program first asks a registry: libcurl and its 33 libraries
 * cost several milliseconds that purely local commands do not have to pay. Programs that link this
 * call the functions of ocivariant/registry.h as everybody does. */
#ifndef OCV_REGISTRY_LOAD_H
#define OCV_REGISTRY_LOAD_H

#include "ocivariant/error.h"

/** Load the library now, once; ocv_registry_new and ocv_engine_http do so themselves. Threads that
 * map memory at the same time slow each other down, so call this before starting one.
 * `one_thread`: no thread has been started, so the environment may be changed for a moment. */
int registry_load(bool one_thread, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
