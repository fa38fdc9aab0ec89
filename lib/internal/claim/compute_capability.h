/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Compute capabilities as properties name them: "90a_real", "120_virtual". */
#ifndef OCV_CAPABILITY_H
#define OCV_CAPABILITY_H

#include <stdbool.h>

struct ocv_capability {
    unsigned code; /**< 10 * major + minor, below 256 */
    char form;     /**< r: machine code; a: of this chip only; f: of this family; v: PTX */
};

/** False: not a compute capability. */
bool ocv_capability_parse(const char *value, struct ocv_capability *out);
/** Does the code run on a device of that capability? */
bool ocv_capability_fits(const struct ocv_capability *code, unsigned capability);
/** Below 0 where a host lists `a` before `b`. */
int ocv_capability_order(const struct ocv_capability *a, const struct ocv_capability *b);

#endif
