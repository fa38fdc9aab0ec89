/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/image/image.h"

#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

#define TAGS_LOOKED_AT 5000u /* the first tags of a repository */
#define TAGS_SHOWN 6u

static int add_tag(void *data, const char *tag)
{
    struct rules_tags *tags = data;
    return tags->n == TAGS_LOOKED_AT || rules_tags_add(tags, tag, NULL) < 0 ? 1 : 0;
}

/* Tags with the longest common prefix come first. */
static int by_likeness(const void *a, const void *b, void *data)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const char *wanted = data;
    size_t m = 0, n = 0;
    while (x[m] && x[m] == wanted[m])
        m++;
    while (y[n] && y[n] == wanted[n])
        n++;
    return m != n ? (m < n ? 1 : -1) : strcmp(x, y);
}

#define PREFIX_MAX 2u /* components of a path before the name that is mirrored */

const char *image_mirrors(struct cli *cli, const struct ocv_reference *reference, char *place,
                          size_t size)
{
    static const char *const registries[] = {"docker.io", "ghcr.io", "quay.io", "nvcr.io"};
    ocv_auto(ocv_tag_rules) here = NULL;
    const char *tag_rules = ocv_config_get(cli->config, "tag_rules"), *path = reference->repository;
    for (size_t i = 0; i < sizeof(registries) / sizeof(*registries); i++)
        if (!strcmp(reference->host, registries[i]))
            return NULL;
    if ((tag_rules && !strcmp(tag_rules, "off")) || rules_load(cli, reference, &here, NULL) < 0 ||
        ocv_tag_rules_count(here) > 0)
        return NULL;
    for (unsigned n = 0; n <= PREFIX_MAX && path; n++) {
        for (size_t i = 0; i < sizeof(registries) / sizeof(*registries); i++) {
            char text[600];
            ocv_auto(ocv_reference) there = NULL;
            ocv_auto(ocv_tag_rules) rules = NULL;
            int len = snprintf(text, sizeof(text), "%s/%s", registries[i], path);
            if (len < (int)sizeof(text) && ocv_reference_parse(text, &there, NULL) == OCV_OK &&
                rules_load(cli, there, &rules, NULL) == OCV_OK && ocv_tag_rules_count(rules) > 0) {
                bool part = path > reference->repository;
                len = snprintf(place, size, "%s%s%.*s", reference->host, part ? "/" : "",
                               part ? (int)(path - reference->repository - 1) : 0,
                               reference->repository);
                return len < (int)size ? registries[i] : NULL; /* nothing is advised in part */
            }
        }
        path = (path = strchr(path, '/')) ? path + 1 : NULL;
    }
    return NULL;
}

void image_explain_missing(struct cli *cli, const struct ocv_reference *reference,
                           struct ocv_error *err)
{
    char tags[400] = "", mirror[OCV_ERROR_HINT_MAX] = "", place[300];
    struct ocv_error failure = {0};
    ocv_auto_tags found = {0};
    if (!err || *err->hint || !cli->registry || !reference->tag || reference->digest)
        return;
    int status = rules_visit_tags(cli, reference, add_tag, &found, &failure);
    if (status == OCV_ERR_NOT_FOUND)
        snprintf(tags, sizeof(tags), "there is no repository %.200s on %.100s",
                 reference->repository, reference->host);
    if (status >= 0) {
        char question[OCV_NEAREST_QUESTION_MAX];
        struct ocv_nearest nearest = {.wanted = reference->tag};
        for (size_t i = 0; i < found.n; i++)
            ocv_nearest_offer(&nearest, found.list[i]);
        qsort_r(found.list, found.n, sizeof(*found.list), by_likeness, reference->tag);
        size_t used =
            (size_t)snprintf(tags, sizeof(tags), "the repository has no tag '%.60s'; it has %s",
                             reference->tag, found.n ? "" : "no tags");
        size_t shown = found.n < TAGS_SHOWN ? found.n : TAGS_SHOWN;
        for (size_t i = 0; i < shown && used < sizeof(tags); i++)
            used += (size_t)snprintf(tags + used, sizeof(tags) - used, "%s%.60s", i ? ", " : "",
                                     found.list[i]);
        if (found.n > shown && used < sizeof(tags))
            used += (size_t)snprintf(tags + used, sizeof(tags) - used, " and %s%zu more",
                                     found.n == TAGS_LOOKED_AT ? "over " : "", found.n - shown);
        if (used < sizeof(tags))
            snprintf(tags + used, sizeof(tags) - used, "%s",
                     ocv_nearest_question(ocv_nearest_meant(&nearest), question));
    }
    const char *of = status >= 0 ? image_mirrors(cli, reference, place, sizeof(place)) : NULL;
    if (of && snprintf(mirror, sizeof(mirror),
                       "; if %s mirrors %s, configure it: registries: {%s: {mirror_of: %s}}", place,
                       of, place, of) >= (int)(sizeof(mirror) - strlen(tags)))
        mirror[0] = '\0';
    if (*tags || *mirror)
        ocv_error_hint(err, "%s%s", tags, *tags ? mirror : mirror + (*mirror ? 2 : 0));
}
