/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Registries that mirror others: the rules for the originals apply to their repositories. */
#include "lib/internal/tags/tags_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int host_of(const char *text, char **out, struct ocv_error *err)
{
    if (!ocv_reference_host_valid(text))
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.200s' is not the name of a registry", text);
    *out = strdup(ocv_reference_host_canonical(text));
    for (char *at = *out; at && *at; at++) /* as rules write them */
        *at = (char)tolower((unsigned char)*at);
    return *out ? OCV_OK : ocv_error_nomem(err);
}

void ocv_tag_mirrors_free(struct ocv_tag_mirror *mirrors)
{
    for (struct ocv_tag_mirror *next; mirrors; mirrors = next) {
        next = mirrors->next;
        free(mirrors->host);
        free(mirrors->of);
        free(mirrors);
    }
}

int ocv_tag_rules_mirror(struct ocv_tag_rules *rules, const char *host, const char *of,
                         struct ocv_error *err)
{
    struct ocv_tag_mirror *m = calloc(1, sizeof(*m));
    if (!m)
        return ocv_error_nomem(err);
    int status = host_of(host, &m->host, err);
    if (status == OCV_OK)
        status = host_of(of, &m->of, err);
    if (status < 0) {
        ocv_tag_mirrors_free(m);
        return status;
    }
    m->next = rules->mirrors;
    rules->mirrors = m;
    return OCV_OK;
}

const char *ocv_tag_rules_name(const struct ocv_tag_rules *rules,
                               const struct ocv_reference *reference, char out[OCV_TAG_TEXT_MAX])
{
    for (const struct ocv_tag_mirror *m = rules->mirrors; m; m = m->next)
        if (strcasecmp(m->host, reference->host) == 0) {
            int n = snprintf(out, OCV_TAG_TEXT_MAX, "%s/%s", m->of, reference->repository);
            return n < (int)OCV_TAG_TEXT_MAX ? out : reference->name;
        }
    return reference->name;
}
