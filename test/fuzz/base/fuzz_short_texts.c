/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One short text, by each reader of such: addresses, durations, versions, requirements of images.
 */
#include "lib/base/format/span.h"
#include "lib/internal/claim/claim_internal.h"
#include "lib/internal/content/image_config.h"
#include "lib/probe/providers/amd/amd.h"
#include "lib/registry/auth/providers_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_requirement requirement;
    struct ocv_capability capability;
    struct ocv_rocm_version version;
    struct sockaddr_storage address;
    socklen_t len = 0;
    int64_t ms = 0;
    char *text = size > 4096 ? NULL : strndup((const char *)data, size);
    if (!text)
        return 0;
    if (ocv_address_parse(text, &address, &len) && (!len || len > sizeof(address)))
        abort();
    if (ocv_duration_parse(text, &ms) && ms < 0)
        abort();
    (void)ocv_go_duration_parse(text, &ms);
    (void)ocv_capability_parse(text, &capability);
    (void)ocv_rocm_parse(text, &version);
    if (ocv_requirement_parse(text, &requirement, NULL) == OCV_OK)
        ocv_requirement_free(&requirement);
    free(text);
    return 0;
}
