/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detects requests that a browser sends on behalf of a web page, never a registry client: the
 * page's name as Host, an Origin header, or another site. */
#ifndef VARIANTD_FOREIGN_H
#define VARIANTD_FOREIGN_H

#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"

#include <microhttpd.h>

/** True for such a request. The configuration's `host_names` are names of this machine. */
bool foreign_request(struct MHD_Connection *connection, const struct settings *settings);
/** 404, counted as `where` ("mirror", "api"). */
enum MHD_Result foreign_refuse(struct MHD_Connection *connection, struct metrics *metrics,
                               const char *where);

#endif
