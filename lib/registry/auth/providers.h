/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Asking credential providers, and remembering what they said. */
#ifndef OCV_PROVIDERS_H
#define OCV_PROVIDERS_H

#include "lib/registry/auth/credentials.h"
#include "ocivariant/registry.h"

/** How long the caller waits. */
struct ocv_providers_patience {
    const volatile int *interrupted; /* non-zero: no longer; may be NULL */
    int64_t until_ms;                /* monotonic; 0: as long as it takes */
};

/** The credentials for HOST[:PORT]/REPOSITORY (or the host alone) of the first provider that has
 *  some; all empty if none has. A provider that fails has none, and `note` says why. When the time
 *  is up: OCV_ERR_NETWORK with http_status 504. */
int ocv_providers_find(struct ocv_credential_providers *providers, const char *image,
                       const struct ocv_providers_patience *patience, struct ocv_credentials *out,
                       char *note, size_t note_size, struct ocv_error *err) OCV_WARN_UNUSED;
/** The registry refused the credentials of that issue: may others be asked for? False if these
 * were given out only just now; else their provider is asked again. `providers` may be NULL. */
bool ocv_providers_renew(struct ocv_credential_providers *providers, uint64_t issue);

#endif
