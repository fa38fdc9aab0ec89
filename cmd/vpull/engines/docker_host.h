/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file docker_host.h  Which Docker Engine is meant. */
#ifndef VPULL_DOCKER_HOST_H
#define VPULL_DOCKER_HOST_H

#include "cmd/vpull/engines/engine.h"

#define DOCKER_PATH_MAX 4096 /* of a file of docker's */

/** Find the engine from docker's global options, the environment and docker's configuration. `out`
 *  owns its strings except those borrowed from `globals`; it may not be moved. A context that does
 *  not exist: OCV_ERR_CONFIG; an ssh:// address: OCV_ERR_UNSUPPORTED. */
int docker_endpoint(const struct plugin_globals *globals, struct endpoint *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

#endif
