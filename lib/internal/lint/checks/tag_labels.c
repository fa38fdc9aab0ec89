/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What a tag says by the rule of its family, against the labels of its image's configuration
 * (OCV307). */
#include "lib/internal/lint/lint_internal.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 512u /* of a property; what is longer is cut */

/* `names`: alternatives, of which one that the tag names is enough: the chip or, of an accelerator
 * that is many chips, its namespace. A name that is not known may be. */
static bool may_agree(const struct ocv_tag *tag, const char *names, const char *separators)
{
    const struct ocv_properties *set = ocv_tag_properties(tag);
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, separators);
        const struct lint_fact *accelerator = ocv_lint_accelerator(at, n);
        bool named = !accelerator;
        for (size_t i = 0; i < ocv_properties_count(set) && !named; i++) {
            struct ocv_property p = ocv_properties_get(set, i);
            char text[TEXT_MAX];
            snprintf(text, sizeof(text), "%s :: %s :: %s", p.ns, p.feature, p.value);
            named = accelerator->c ? !strcmp(text, accelerator->c) : !strcmp(p.ns, accelerator->b);
        }
        if (n && named)
            return true;
        if (*separators != ',' || !at[n])
            return false;
        at += n + 1;
    }
    return !*names;
}

void ocv_lint_check_tag_labels(struct ocv_lint *lint, size_t i, const struct ocv_tag *tag,
                               size_t entry)
{
    const struct ocv_lint_child *child = ocv_lint_child(lint, entry);
    const json_t *config = child ? json_object_get(child->config, "config") : NULL;
    /* the property by which the tag names an accelerator */
    const struct ocv_properties *set = ocv_tag_properties(tag);
    struct ocv_property device;
    bool named = false;
    for (size_t at = 0; at < ocv_properties_count(set) && !named; at++) {
        device = ocv_properties_get(set, at);
        for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_accelerators); k++)
            named = named || !strcmp(device.ns, ocv_lint_accelerators[k].b);
    }
    char means[TEXT_MAX] = "no accelerator";
    if (named)
        snprintf(means, sizeof(means), "%s :: %s :: %s", device.ns, device.feature, device.value);
    const char *key;
    json_t *text;
    if (ocv_tag_refused(tag))
        return; /* it says something that has no property */
    json_object_foreach(json_object_get(config, "Labels"), key, text)
    {
        const char *value = json_string_value(text);
        for (size_t k = 0; value && k < OCV_LINT_COUNT(ocv_lint_accelerator_labels); k++) {
            /* A label that lists accelerators permits them, one that asks for a least number needs
             * them. */
            const struct lint_fact *fact = &ocv_lint_accelerator_labels[k];
            size_t n = strlen(fact->a);
            bool permits = !strcmp(fact->b, "list") && !strcmp(key, fact->a);
            bool needs =
                !strcmp(fact->b, "part") && !strncmp(key, fact->a, n) && value[strspn(value, "0.")];
            if (needs ? may_agree(tag, key + n, ".")
                      : !permits || !named || may_agree(tag, value, ","))
                continue;
            ocv_lint_tag_at(lint, OCV_LINT_TAG_LABELS_DISAGREE, i,
                            "by the rules of %s it is for %s, its image's label says %.200s=%.200s",
                            ocv_tag_family(tag), means, key, value);
            ocv_lint_hint(lint, "correct the label in the image, or the tag");
        }
        const char *name, *os;
        bool distribution = value && !strcmp(key, ocv_lint_distribution_labels[0].a);
        for (size_t k = 0; distribution && ocv_tag_group(tag, k, &name, &os); k++) {
            /* a tag may leave the version open: 3.9-ubuntu */
            if (strcmp(name, "os") != 0 || !strncmp(value, os, strlen(os)))
                continue;
            ocv_lint_tag_at(lint, OCV_LINT_TAG_LABELS_DISAGREE, i,
                            "by the rules of %s it is of %s, its image's label says %s=%.200s",
                            ocv_tag_family(tag), os, key, value);
            ocv_lint_hint(lint, "correct the label in the image, or the tag");
        }
    }
}
