/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of the CRI proxy's map as they are read from disk: one that is accepted names a pinned
 * reference and a digest, and its file's name stays in its directory. */
#include "plugins/containerd/cri-proxy/pinned/map_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char again[PINNED_TEXT_MAX], child[OCV_DIGEST_MAX];
    struct map_parsed entry;
    if (map_entry_parse((const char *)data, size, &entry, NULL) < 0)
        return 0;
    ocv_auto(ocv_reference) reference = pinned_parse(entry.key, strlen(entry.key));
    check(size <= MAP_ENTRY_MAX && reference && reference->digest);
    check(pinned_key(reference, again) && strcmp(again, entry.key) == 0);
    check(ocv_digest_known(entry.child) && strlen(entry.child) < sizeof(child));
    check(!strchr(entry.name, '/') && strlen(entry.name) == 64 + strlen(".json"));
    json_decref(entry.owner);
    return 0;
}
