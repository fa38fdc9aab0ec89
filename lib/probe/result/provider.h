/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a provider is. It reads `struct ocv_probe_host` and fills a `struct ocv_result`. */
#ifndef OCV_PROVIDER_H
#define OCV_PROVIDER_H

#include "lib/probe/host/host.h"
#include "lib/probe/result/result.h"

struct ocv_declaration; /* declarative.h */

/** Source of one namespace. Stateless. */
struct provider {
    const char *name;
    const char *ns;
    const char *kind;    /**< "builtin", "declarative", "executable" */
    const char *version; /**< raised when the same machine gets another answer */
    bool cpu;            /**< left out of the profiles of other architectures */
    /** A failure is this namespace's only: it is reported in the profile. */
    int (*probe)(const struct ocv_probe_host *host, struct ocv_result *result,
                 struct ocv_error *err);
    const struct ocv_declaration *declaration; /**< kind "declarative": asked instead of `probe` */
    bool quiet;                                /**< left out of the profile where it is absent */
};

#endif
