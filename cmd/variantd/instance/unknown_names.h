/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names in the configuration that nothing on this node knows. One file serves unlike nodes, so they
 * keep no daemon from starting; a flag of this very daemon is another matter. */
#ifndef VARIANTD_UNKNOWN_NAMES_H
#define VARIANTD_UNKNOWN_NAMES_H

#include "cmd/variantd/instance/instance.h"

/** Log and return how many of the configuration's names neither vocabulary nor providers nor this
 *  node know. */
uint64_t unknown_names_count(const struct instance *instance);
/** OCV_ERR_CONFIG if a flag has a name that nothing knows. */
int unknown_names_check_flags(const struct instance *instance,
                              struct ocv_error *err) OCV_WARN_UNUSED;

#endif
