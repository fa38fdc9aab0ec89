/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config.json, auth.json and a credential helper's answer: any bytes. A helper's name never
 * contains a slash. */
#include "lib/registry/auth/credentials.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char helper[OCV_HELPER_NAME_MAX];
    struct ocv_credentials credentials;
    struct ocv_error err = {0};
    const char *hosts[] = {"docker.io", "localhost:5000", "a"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        int status = ocv_docker_config_find((const char *)data, size, hosts[i], "library/a", helper,
                                            &credentials, &err);
        if (strchr(helper, '/') || (status < 0 && !ocv_credentials_empty(&credentials)))
            abort();
        ocv_credentials_free(&credentials);
    }
    if (ocv_helper_parse((const char *)data, size, &credentials, &err) == 0)
        ocv_credentials_free(&credentials);
    return 0;
}
