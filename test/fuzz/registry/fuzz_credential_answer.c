/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the output of a credential provider plug-in; an accepted one matches images. No
 * error message quotes it. */
#include "lib/registry/auth/providers_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const images[] = {"docker.io/library/a", "a.b:5000/c/d", "[::1]:1/a", "a"};
    struct ocv_provider_answer answer;
    struct ocv_credentials found;
    struct ocv_error err = {0};
    if (ocv_provider_answer_parse((const char *)data, size, "credentialprovider.kubelet.k8s.io/v1",
                                  &answer, &err) < 0) {
        if (!err.message[0] || answer.n || answer.auths)
            abort();
        return 0;
    }
    if (answer.n > OCV_PROVIDER_AUTHS_MAX || answer.keep_ms < -1 || answer.scope > OCV_SCOPE_GLOBAL)
        abort();
    for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++) {
        if (ocv_provider_answer_find(&answer, images[i], &found, &err) < 0)
            abort();
        ocv_credentials_free(&found);
    }
    ocv_provider_answer_free(&answer);
    return 0;
}
