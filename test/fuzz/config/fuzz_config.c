/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configuration: the first byte says whether the rest is YAML or the text of one key. */
#include "lib/internal/config/config.h"
#include "ocivariant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocv_auto(ocv_config) config = NULL;
    struct ocv_error err = {0};
    if (size == 0 || ocv_config_new(&config, &err) < 0)
        return 0;
    size_t n_keys = 0;
    while (ocv_config_keys()[n_keys])
        n_keys++;
    char *text = strndup((const char *)data + 1, size - 1);
    if (!text)
        return 0;
    int status;
    if (data[0] < 'a')
        status = ocv_config_merge_yaml(config, "fuzz", (const char *)data + 1, size - 1, &err);
    else
        status = ocv_config_set(config, "fuzz", ocv_config_keys()[(data[0] - 'a') % n_keys], text,
                                data[0] & 1, &err);
    free(text);
    /* every message names its source: "fuzz: ...", "invalid value 'x' for fuzz: ..." */
    if (status < 0 && strncmp(err.message, "fuzz", 4) != 0 && !strstr(err.message, "' for fuzz: "))
        abort();
    ocv_auto(ocv_reference) reference = NULL;
    if (ocv_reference_parse("registry.example/team/deep/app:1", &reference, NULL) == OCV_OK) {
        const struct ocv_config *own = ocv_config_for_reference(config, reference);
        (void)ocv_config_get(own, "label");
        (void)ocv_config_list(own, "require", NULL);
    }
    const struct ocv_registry_config *list;
    size_t n = ocv_config_registries(config, &list);
    for (size_t i = 0; i < n; i++)
        if (!ocv_config_find_registry(config, list[i].host).host)
            abort();
    return 0;
}
