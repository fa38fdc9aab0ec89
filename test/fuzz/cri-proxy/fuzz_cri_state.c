/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CRI proxy's files of versions before 0.2: an accepted one is whole, and of one kind. */
#include "plugins/containerd/cri-proxy/state/state_internal.h"

#include <jansson.h>
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
    struct state_old old;
    if (state_old_parse(data, size, &old, NULL) < 0)
        return 0;
    check(strlen(old.reference) < PINNED_TEXT_MAX && ocv_digest_known(old.child));
    if (old.user) {
        check(*old.user && ocv_digest_known(old.index));
        check(old.wishes ? old.devices && !old.uid : old.uid && (*old.uid || *old.seen));
    } else {
        ocv_auto(ocv_reference) reference = pinned_parse(old.reference, strlen(old.reference));
        check(reference && ocv_digest_known(old.index) && !old.wishes && !old.uid);
    }
    json_decref(old.owner);
    return 0;
}
