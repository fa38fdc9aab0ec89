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
    char host[300];
    size_t n = strcspn(text, "/");
    int len = snprintf(host, sizeof(host), "%.*s", (int)n, text);
    if (len < 0 || (size_t)len >= sizeof(host) || !ocv_reference_host_valid(host))
        return ocv_error_set(err, OCV_ERR_INVALID, "'%.200s' is not the name of a registry", text);
    if (asprintf(out, "%s%s", ocv_reference_host_canonical(host), text + n) < 0)
        return ocv_error_nomem(err);
    for (char *at = *out; *at; at++) /* as rules write them */
        *at = (char)tolower((unsigned char)*at);
    return OCV_OK;
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
    if (status == OCV_OK && strchr(of, '/'))
        status = ocv_error_set(err, OCV_ERR_INVALID, "'%.200s' is not the name of a registry", of);
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

/* Length of the mirror's name if the reference is of it, 0 if not. A host may have a path. */
static size_t covers(const struct ocv_tag_mirror *m, const struct ocv_reference *reference)
{
    size_t host = strcspn(m->host, "/"), n = strlen(m->host);
    const char *path = m->host + host;
    if (strlen(reference->host) != host || strncasecmp(m->host, reference->host, host) != 0)
        return 0;
    if (!*path)
        return n;
    size_t len = n - host - 1; /* without the slash */
    return !strncmp(reference->repository, path + 1, len) && reference->repository[len] == '/' ? n
                                                                                               : 0;
}

const char *ocv_tag_rules_name(const struct ocv_tag_rules *rules,
                               const struct ocv_reference *reference, char out[OCV_TAG_TEXT_MAX])
{
    const struct ocv_tag_mirror *best = NULL;
    for (const struct ocv_tag_mirror *m = rules->mirrors; m; m = m->next)
        if (covers(m, reference) > (best ? strlen(best->host) : 0))
            best = m;
    if (!best)
        return reference->name;
    const char *path = strchr(best->host, '/');
    const char *rest = reference->repository + (path ? strlen(path + 1) + 1 : 0);
    int n = snprintf(out, OCV_TAG_TEXT_MAX, "%s/%s", best->of, rest);
    return n < (int)OCV_TAG_TEXT_MAX ? out : reference->name;
}
