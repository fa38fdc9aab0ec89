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

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* Tags with the longest common prefix come first. */
static int by_likeness(const void *a, const void *b, void *wanted)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t m = common_prefix(x, wanted), n = common_prefix(y, wanted);
    return m != n ? (m < n ? 1 : -1) : strcmp(x, y);
}

/* True if rules would know the name with "registries: {HOST: {mirror_of: docker.io}}". */
static bool mirrors_a_family(struct cli *cli, const struct ocv_reference *reference)
{
    char text[600];
    ocv_auto(ocv_reference) there = NULL;
    ocv_auto(ocv_tag_rules) here_rules = NULL;
    ocv_auto(ocv_tag_rules) there_rules = NULL;
    if (!strcmp(reference->host, "docker.io") ||
        snprintf(text, sizeof(text), "docker.io/%s", reference->repository) >= (int)sizeof(text) ||
        ocv_reference_parse(text, &there, NULL) < 0 ||
        rules_load(cli, reference, &here_rules, NULL) < 0 || ocv_tag_rules_count(here_rules) > 0 ||
        rules_load(cli, there, &there_rules, NULL) < 0)
        return false;
    return ocv_tag_rules_count(there_rules) > 0;
}

void image_explain_missing(struct cli *cli, const struct ocv_reference *reference,
                           struct ocv_error *err)
{
    char tags[400] = "", mirror[200] = "";
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
    if (status >= 0 && mirrors_a_family(cli, reference))
        snprintf(mirror, sizeof(mirror),
                 "; if %.80s mirrors docker.io, configure it: registries: {%.80s: {mirror_of: "
                 "docker.io}}",
                 reference->host, reference->host);
    if (*tags || *mirror)
        ocv_error_hint(err, "%s%s", tags, *tags ? mirror : mirror + (*mirror ? 2 : 0));
}
