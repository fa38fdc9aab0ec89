/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests that no client of a registry sends, but a browser on behalf of a web page: with a
 * name of theirs as Host, with an Origin, or from another site. */
#ifndef VARIANTD_FOREIGN_H
#define VARIANTD_FOREIGN_H

#include "cmd/variantd/common/metrics.h"
#include "cmd/variantd/common/settings.h"

#include <microhttpd.h>

/** Is it such a request? `host_names` of the configuration are names of this machine. */
bool foreign_request(struct MHD_Connection *connection, const struct settings *settings);
/** 404, counted as `where` ("mirror", "api"). */
enum MHD_Result foreign_refuse(struct MHD_Connection *connection, struct metrics *metrics,
                               const char *where);

#endif
