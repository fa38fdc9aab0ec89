/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* `trust`: whose signature an image needs. A rule is for a name; an image has two where its
 * registry mirrors another one, and has to satisfy the rules of both. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/internal/config/config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ocv_config_clear_trust(struct ocv_config *c)
{
    for (size_t i = 0; i < c->n_trust; i++) {
        free(c->trust[i].glob);
        free(c->trust[i].origin);
        free(c->trust[i].pattern);
        ocv_strings_clear(&c->trust[i].keys);
    }
    free(c->trust);
    c->trust = NULL;
    c->n_trust = 0;
}

int ocv_config_add_trust(struct ocv_config *c, const char *glob, const char *origin,
                         struct ocv_trust_setting **out, struct ocv_error *err)
{
    struct ocv_trust_setting *t = ocv_array_grow(&c->trust, c->n_trust);
    if (!t)
        return ocv_error_nomem(err);
    c->n_trust++;
    t->require = true;
    t->glob = strdup(glob);
    t->origin = strdup(origin);
    char plain[OCV_PLAIN_NAME_MAX];
    /* with a registry, which is spelt in several ways */
    bool named = glob[strcspn(glob, "/*")] == '/' && ocv_plain_text(glob, plain, sizeof(plain));
    OCV_TRY(ocv_glob_canonical(named ? plain : glob, &t->pattern, err));
    *out = t;
    return t->glob && t->origin ? OCV_OK : ocv_error_nomem(err);
}

bool ocv_config_trust_differs(const struct ocv_config *a, const struct ocv_config *b)
{
    bool differ = a->n_trust != b->n_trust;
    for (size_t i = 0; !differ && i < a->n_trust; i++) {
        const struct ocv_trust_setting *x = &a->trust[i], *y = &b->trust[i];
        differ = strcmp(x->glob, y->glob) != 0 || x->require != y->require ||
                 x->match != y->match || x->keys.count != y->keys.count;
        for (size_t k = 0; !differ && k < x->keys.count; k++)
            differ = strcmp(x->keys.list[k], y->keys.list[k]) != 0;
    }
    return differ;
}

static struct ocv_trust_rule rule_of(const struct ocv_config *c, const struct ocv_trust_setting *t)
{
    return (struct ocv_trust_rule){.place = (size_t)(t - c->trust),
                                   .glob = t->glob,
                                   .origin = t->origin,
                                   .keys = (const char *const *)t->keys.list,
                                   .n_keys = t->keys.count,
                                   .require = t->require,
                                   .match = t->match};
}

size_t ocv_config_trust_rules(const struct ocv_config *config, size_t i, struct ocv_trust_rule *out)
{
    config = config ? ocv_config_layer(config, "trust") : NULL;
    if (config && i < config->n_trust && out)
        *out = rule_of(config, &config->trust[i]);
    return config ? config->n_trust : 0;
}

/* The most specific rule for a name. */
static const struct ocv_trust_setting *find(const struct ocv_config *config, const char *name)
{
    const struct ocv_trust_setting *best = NULL;
    for (size_t i = 0; i < config->n_trust; i++)
        if (ocv_glob_match(config->trust[i].pattern, name) &&
            (!best || ocv_glob_more_specific(config->trust[i].pattern, best->pattern)))
            best = &config->trust[i];
    return best;
}

size_t ocv_config_trust(const struct ocv_config *config, const struct ocv_reference *reference,
                        struct ocv_trust_rule out[2])
{
    char name[OCV_PLAIN_NAME_MAX], upstream[OCV_PLAIN_NAME_MAX];
    const struct ocv_config *own = config ? ocv_config_layer(config, "trust") : NULL;
    if (!own || !own->n_trust ||
        !ocv_plain_name(reference->host, reference->repository, name, sizeof(name)))
        return 0;
    const struct ocv_trust_setting *a = find(own, name), *b = NULL;
    if (ocv_config_upstream_name(config, reference, upstream, sizeof(upstream)))
        b = find(own, upstream);
    size_t n = 0;
    if (a)
        out[n++] = rule_of(own, a);
    if (b && b != a)
        out[n++] = rule_of(own, b);
    return n;
}

bool ocv_config_trust_required(const struct ocv_config *config,
                               const struct ocv_reference *reference)
{
    struct ocv_trust_rule rules[2];
    size_t n = reference ? ocv_config_trust(config, reference, rules) : 0;
    return n > 0 && (rules[0].require || (n > 1 && rules[1].require));
}

bool ocv_config_trust_anywhere(const struct ocv_config *config)
{
    struct ocv_trust_rule rule = {0};
    size_t n = ocv_config_trust_rules(config, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        ocv_config_trust_rules(config, i, &rule);
        if (rule.require)
            return true;
    }
    return false;
}
