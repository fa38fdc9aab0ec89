/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/installed.h"

#include <string.h>

size_t installed_namespaces(const struct ocv_probe_options *options, struct ocv_buffer *text,
                            const char *list[INSTALLED_MAX])
{
    size_t n = 0;
    char *save = NULL;
    if (ocv_probe_namespaces(options, text, NULL) < 0 || !text->data)
        return 0;
    for (char *ns = strtok_r(text->data, "\n", &save); ns && n < INSTALLED_MAX;
         ns = strtok_r(NULL, "\n", &save))
        list[n++] = ns;
    return n;
}
