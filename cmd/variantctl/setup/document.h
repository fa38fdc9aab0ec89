/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON objects: daemon.json and the state. */
#ifndef OCV_SETUP_DOCUMENT_H
#define OCV_SETUP_DOCUMENT_H

#include "cmd/variantctl/setup/setup.h"

#include <jansson.h>
#include <stdlib.h>

/** Parse an object: strict, no duplicate names. `source` names the file in messages. */
int setup_json_load(const char *source, const char *text, size_t len, json_t **out,
                    struct ocv_error *err) OCV_WARN_UNUSED;
int setup_json_dump(const json_t *json, size_t flags, struct ocv_buffer *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

static inline void setup_json_cleanup(json_t **json)
{
    json_decref(*json);
}
#define setup_auto_json __attribute__((cleanup(setup_json_cleanup))) json_t

#endif
