/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as kubelet's CredentialProviderConfig; an accepted one never names a program outside of
 * its directory. */
#include "lib/registry/auth/providers_internal.h"

#include <stdlib.h>
#include <string.h>

static void check_provider(const struct ocv_provider *p)
{
    if (!*p->name || strchr(p->name, '/') || !strcmp(p->name, "..") || p->keep_ms < 0 ||
        !p->n_globs || p->n_globs > OCV_PROVIDER_GLOBS_MAX || strcmp(p->argv[0], p->name) != 0)
        abort();
    for (char **v = p->variables; *v; v++)
        if (!strchr(*v, '=') || **v == '=')
            abort();
    (void)ocv_provider_serves(p, "a.b:5000/c/d");
    for (size_t i = 0; i < p->n_globs; i++)
        if (ocv_image_glob_match(p->globs[i], "a.b:5000/c") &&
            !ocv_image_glob_covers(p->globs[i], "a.b:5000"))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ocv_provider_config config;
    struct ocv_error err = {0};
    if (ocv_provider_config_read("fuzz", (const char *)data, size, &config, &err) < 0) {
        if (!err.message[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < config.n; i++)
        check_provider(&config.providers[i]);
    ocv_provider_config_free(&config);
    return 0;
}
