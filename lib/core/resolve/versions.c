/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/core/resolve/resolve_internal.h"

#include "gen/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINOR_OPEN 20u /* of a major that is not over: room for versions that are not out yet */

static unsigned last_minor(const char *history, unsigned major)
{
    for (const char *at = history; at && *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
        if (strtoul(at, NULL, 10) == major)
            return (unsigned)strtoul(strchr(at, '.') + 1, NULL, 10);
    return MINOR_OPEN;
}

int ocv_versions_below(const char *ns, const char *feature, unsigned major, unsigned minor,
                       int (*visit)(void *data, const char *version), void *data)
{
    char text[32];
    const char *history = NULL;
    for (size_t i = 0; i < sizeof(ocv_vocabulary_histories) / sizeof(*ocv_vocabulary_histories);
         i++)
        if (!strcmp(ocv_vocabulary_histories[i].ns, ns) &&
            !strcmp(ocv_vocabulary_histories[i].name, feature))
            history = ocv_vocabulary_histories[i].versions;
    unsigned oldest = history ? (unsigned)strtoul(history, NULL, 10) : 1;
    int status = 0;
    if (oldest > major)
        oldest = major;
    for (unsigned at = major; status == 0 && at >= oldest && at > 0; at--) {
        for (unsigned i = (at == major ? minor : last_minor(history, at)) + 1;
             i-- > 0 && !status;) {
            snprintf(text, sizeof(text), "%u.%u", at, i);
            status = visit(data, text);
        }
        snprintf(text, sizeof(text), "%u", at);
        if (status == 0)
            status = visit(data, text);
    }
    return status;
}
