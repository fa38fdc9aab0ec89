/* SPDX-License-Identifier: GPL-3.0-or-later */
/** @file docker_host.h  Finds the Docker Engine. */
#ifndef VPULL_DOCKER_HOST_H
#define VPULL_DOCKER_HOST_H

#include "cmd/vpull/engines/engine.h"

#define DOCKER_PATH_MAX 4096 /* length of a path in docker's configuration */

/** Find the engine from docker's global options, the environment and docker's configuration. `out`
 *  owns its strings, except those borrowed from `globals`; it must not be moved. OCV_ERR_CONFIG if
 *  the context does not exist, OCV_ERR_UNSUPPORTED for an ssh:// address. */
int docker_endpoint(const struct plugin_globals *globals, struct endpoint *out,
                    struct ocv_error *err) OCV_WARN_UNUSED;

#endif
