/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unknown names in the configuration. One file may serve different nodes, so there they do not
 * prevent a start; in flags of this daemon they do. */
#ifndef VARIANTD_UNKNOWN_NAMES_H
#define VARIANTD_UNKNOWN_NAMES_H

#include "cmd/variantd/instance/instance.h"

/** Log names of the configuration that vocabulary, providers and this node do not know; returns
 *  their number. */
uint64_t unknown_names_count(const struct instance *instance);
/** OCV_ERR_CONFIG if a flag has an unknown name. */
int unknown_names_check_flags(const struct instance *instance,
                              struct ocv_error *err) OCV_WARN_UNUSED;

#endif
