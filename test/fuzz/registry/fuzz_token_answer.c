/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any answer of a token server. What is taken of it can be sent as a header. */
#include "lib/registry/registry_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_token_answer answer;
    struct ocv_error err = {0};
    int status = ocv_token_read((const char *)data, size, &answer, &err);
    const char *token = answer.token ? answer.token : answer.access_token;
    if (status != OCV_OK && !*err.message)
        abort();
    if (status == OCV_OK && (!*token || strlen(token) > size || answer.life_s < 60))
        abort();
    for (const char *c = status == OCV_OK ? token : ""; *c; c++)
        if (*c <= ' ' || *c >= 0x7f)
            abort();
    ocv_token_forget(&answer);
    if (answer.token || answer.access_token)
        abort();
    return 0;
}
