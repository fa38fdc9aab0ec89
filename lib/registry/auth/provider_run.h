/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* One run of a credential provider plug-in. */
#ifndef OCV_PROVIDER_RUN_H
#define OCV_PROVIDER_RUN_H

#include "lib/registry/auth/provider_answer.h"
#include "lib/registry/auth/provider_config.h"

/** Why the program of that name in the directory cannot be run: an error with its path. It, the
 *  directory that names it and the one that it is in have to belong to root or to this user, and
 *  nobody else may write to them. */
int ocv_provider_check(const char *directory, const char *name, char path[4096],
                       struct ocv_error *err) OCV_WARN_UNUSED;
/** Ask it for HOST[:PORT]/REPOSITORY. Errors as ocv_program_ask; no message has what it printed. */
int ocv_provider_run(const struct ocv_provider *provider, const char *directory, const char *image,
                     unsigned timeout_ms, const volatile int *interrupted,
                     struct ocv_provider_answer *out, struct ocv_error *err) OCV_WARN_UNUSED;

#endif
