/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether variantd can serve the images of the registries that engines ask it about. */
#ifndef OCV_SETUP_REGISTRY_LINES_H
#define OCV_SETUP_REGISTRY_LINES_H

#include "cmd/variantctl/setup/setup.h"

#include <jansson.h>

/** The daemon's report about its registries (/v1/registries), for which it asks them; owned by the
 *  caller. NULL: no daemon answers, an older one, or --root. */
json_t *setup_ask_registries(const struct setup *setup);
/** Warnings as lines of text: failures, and what an engine's images do without. `engine` NULL:
 *  about the registries themselves. `hosts`: the engine's registries, an array of strings; empty:
 *  all. `*bad`: one is the configuration's fault. `told` may be NULL. */
int setup_reach_lines(const json_t *told, const char *engine, const json_t *hosts,
                      const char *prefix, bool *bad, struct ocv_buffer *out,
                      struct ocv_error *err) OCV_WARN_UNUSED;

#endif
