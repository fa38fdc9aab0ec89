/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/cli.h"
#include "cmd/common/names.h"

#include <string.h>

#define TEXT_MAX 2048

/* The text before the part being typed ("nvidia::"), and whether all parts are required. */
struct property_part {
    char head[TEXT_MAX];
    const char *typed; /* of this part */
    bool whole;
};

/* A part that another one may follow. After a complete part the separator is offered. */
static void offer_part(struct ocv_completion *c, const struct property_part *p, const char *name,
                       const char *about)
{
    char text[TEXT_MAX + 256];
    bool go_on = p->whole || !strcmp(p->typed, name);
    snprintf(text, sizeof(text), "%s%s%s", p->head, name, go_on ? "::" : "");
    ocv_complete_offer(c, text, about);
    c->how |= OCV_COMPLETE_NO_SPACE;
}

void complete_property(struct ocv_completion *c, const char *head, bool whole)
{
    struct property_part p = {.typed = c->word + strlen(head), .whole = whole};
    const char *end = strstr(p.typed, "::"), *value = end ? strstr(end + 2, "::") : NULL;
    const struct vocabulary_namespace *ns;
    char name[OCV_WORD_MAX];
    if (!end) {
        snprintf(p.head, sizeof(p.head), "%s", head);
        for (size_t i = 0; (ns = vocabulary_namespace_at(i)) != NULL; i++)
            offer_part(c, &p, ns->name, ns->meaning);
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(end - p.typed), p.typed);
    ns = vocabulary_namespace_find(name);
    snprintf(p.head, sizeof(p.head), "%.*s", (int)((value ? value : end) + 2 - c->word), c->word);
    p.typed = end + 2;
    for (size_t i = 0; ns && !value && i < ns->n; i++) {
        const struct vocabulary_feature *f = vocabulary_feature_at(ns, i);
        offer_part(c, &p, f->name, f->meaning);
    }
    if (!ns || !value)
        return;
    snprintf(name, sizeof(name), "%.*s", (int)(value - p.typed), p.typed);
    const struct vocabulary_feature *feature = vocabulary_feature_find(ns, name);
    const char *values = feature ? feature->values : NULL;
    for (; values && *values; values += strcspn(values, ","), values += *values == ',') {
        char text[TEXT_MAX + 256];
        snprintf(text, sizeof(text), "%s%.*s", p.head, (int)strcspn(values, ","), values);
        ocv_complete_offer(c, text, NULL);
    }
}
