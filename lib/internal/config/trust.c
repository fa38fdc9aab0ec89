/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* `trust`: whose signature an image needs. A rule is for a name; an image has two where its
 * registry mirrors another one, and has to satisfy the rules of both. */
#include "lib/base/arena.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/internal/config/config_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 512

/* HOST/PATH by which rules are found, however it is spelt: the host in lower case, without the port
 * that a registry has anyway, Docker Hub by its usual name and with library/. */
static bool plain_name(const char *host, const char *path, char *out, size_t size)
{
    char plain[300];
    int n = snprintf(plain, sizeof(plain), "%s", host);
    if (n <= 0 || (size_t)n >= sizeof(plain))
        return false;
    for (char *c = plain; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < 2; i++) {
        static const char *const ports[] = {":443", ":80"};
        if (ocv_text_ends(plain, ports[i]))
            plain[strlen(plain) - strlen(ports[i])] = '\0';
    }
    const char *usual = ocv_reference_host_canonical(plain);
    bool official = !strcmp(usual, "docker.io") && !strchr(path, '/') && !strchr(path, '*');
    n = snprintf(out, size, "%s/%s%s", usual, official ? "library/" : "", path);
    return n > 0 && (size_t)n < size;
}

/* The same of "HOST" or "HOST/PATH". */
static bool plain_text(const char *text, char *out, size_t size)
{
    char host[300];
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    if (n >= sizeof(host))
        return false;
    snprintf(host, sizeof(host), "%.*s", (int)n, text);
    if (!plain_name(host, slash ? slash + 1 : "*", out, size))
        return false;
    if (!slash)
        *strrchr(out, '/') = '\0';
    return true;
}

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
    char plain[NAME_MAX_BYTES];
    /* with a registry, which is spelt in several ways */
    bool named = glob[strcspn(glob, "/*")] == '/' && plain_text(glob, plain, sizeof(plain));
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

bool ocv_config_upstream_name(const struct ocv_config *config,
                              const struct ocv_reference *reference, char *out, size_t size)
{
    char own[NAME_MAX_BYTES], other[NAME_MAX_BYTES];
    const struct ocv_registry_config *registries;
    const struct ocv_path_mirror *paths;
    const char *of = NULL;
    size_t best = 0;
    if (!plain_name(reference->host, reference->repository, own, sizeof(own)))
        return false;
    size_t n = ocv_config_path_mirrors(config, &paths);
    for (size_t i = 0; i < n; i++) {
        size_t len = plain_text(paths[i].prefix, other, sizeof(other)) ? strlen(other) : 0;
        if (len > best && !strncmp(own, other, len) && own[len] == '/') {
            best = len;
            of = paths[i].of;
        }
    }
    n = ocv_config_registries(config, &registries);
    for (size_t i = 0; i < n && !of; i++) {
        size_t len = plain_text(registries[i].host, other, sizeof(other)) ? strlen(other) : 0;
        if (len && !strncmp(own, other, len) && own[len] == '/') {
            best = len;
            of = registries[i].mirror_of;
        }
    }
    return of && plain_name(of, own + best + 1, out, size);
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
    char name[NAME_MAX_BYTES], upstream[NAME_MAX_BYTES];
    const struct ocv_config *own = config ? ocv_config_layer(config, "trust") : NULL;
    if (!own || !own->n_trust ||
        !plain_name(reference->host, reference->repository, name, sizeof(name)))
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
