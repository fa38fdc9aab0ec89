/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/content/image_config.h"
#include "lib/base/cleanup.h"

#include "gen/config-facts.h"
#include "lib/base/format/json.h"
#include "ocivariant/index.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define VARIABLES_MAX 4096u /* of more, the first */

struct ocv_image_config {
    json_t *root;
    const json_t *environment, *labels; /* of the root; NULL where there are none */
    size_t n_variables;
};

int ocv_image_config_parse(const void *bytes, size_t len, struct ocv_image_config **out,
                           struct ocv_error *err)
{
    ocv_auto_json *root = NULL;
    *out = NULL;
    OCV_TRY(ocv_json_load_counted("image configuration", bytes, len, OCV_IMAGE_CONFIG_MAX,
                                  OCV_JSON_VALUES_MAX, &root, err));
    struct ocv_image_config *config = calloc(1, sizeof(*config));
    if (!config)
        return ocv_error_nomem(err);
    const json_t *inner = json_object_get(root, "config");
    config->root = ocv_steal(&root);
    config->environment = json_object_get(inner, "Env");
    config->labels = json_object_get(inner, "Labels");
    size_t n = json_array_size(config->environment);
    config->n_variables = n < VARIABLES_MAX ? n : VARIABLES_MAX;
    *out = config;
    return OCV_OK;
}

void ocv_image_config_free(struct ocv_image_config *config)
{
    if (!config)
        return;
    json_decref(config->root);
    free(config);
}

bool ocv_image_config_platform(const struct ocv_image_config *config, char *out, size_t size)
{
    const char *os = ocv_json_text(config->root, "os");
    const char *architecture = ocv_json_text(config->root, "architecture");
    const char *variant = ocv_json_text(config->root, "variant");
    if (!architecture || !*architecture)
        return false;
    int n = snprintf(out, size, "%s/%s%s%s", os && *os ? os : "linux", architecture,
                     variant && *variant ? "/" : "", variant ? variant : "");
    return n > 0 && (size_t)n < size;
}

const char *ocv_image_config_next(const struct ocv_image_config *config, const char *prefix,
                                  size_t *at)
{
    while (*at < config->n_variables) {
        const char *text = json_string_value(json_array_get(config->environment, (*at)++));
        const char *equals = text ? strchr(text, '=') : NULL;
        size_t n = strlen(prefix);
        if (equals && strncmp(text, prefix, n) == 0 && equals >= text + n)
            return text;
    }
    return NULL;
}

const char *ocv_image_config_variable(const struct ocv_image_config *config, const char *name)
{
    const char *found = NULL, *text;
    size_t at = 0, n = strlen(name);
    while ((text = ocv_image_config_next(config, name, &at)))
        if (text[n] == '=')
            found = text + n + 1;
    return found;
}

const char *ocv_image_config_label(const struct ocv_image_config *config, const char *key)
{
    return ocv_json_text(config->labels, key);
}

/* "12.8" of "12.8.1", "12.8.90-1" and "13.0.1.012". False: not a version with a minor number. */
static bool take_version(const char *of, const char *source, const char *text,
                         struct ocv_image_version *out)
{
    size_t major = text ? strspn(text, "0123456789") : 0;
    if (major == 0 || major > 3 || text[major] != '.')
        return false;
    size_t minor = strspn(text + major + 1, "0123456789");
    const char *rest = text + major + 1 + minor;
    if (minor == 0 || minor > 3 || isalpha((unsigned char)*rest))
        return false;
    out->of = of;
    snprintf(out->version, sizeof(out->version), "%lu.%lu", strtoul(text, NULL, 10),
             strtoul(text + major + 1, NULL, 10));
    snprintf(out->source, sizeof(out->source), "%s", source);
    snprintf(out->text, sizeof(out->text), "%s", text);
    return true;
}

/* All sources, in the order of what is written for the purpose, what is written beside it, what is
 * asked. */
static bool take_source(const struct ocv_image_config *config, size_t i,
                        struct ocv_image_version *out)
{
    const size_t labels = COUNT(config_versions), required = labels + COUNT(config_labels);
    if (i >= required) {
        /* The lowest version that any condition of the toolkit's admits for every brand. */
        const struct config_fact *fact = &config_required[i - required];
        const char *text;
        size_t at = 0;
        bool found = false;
        while (!found && (text = ocv_image_config_next(config, OCV_REQUIREMENT_PREFIX, &at))) {
            ocv_auto_requirement requirement = {0};
            const char *equals = strchr(text, '=');
            char name[128];
            if (ocv_requirement_parse(equals + 1, &requirement, NULL) < 0)
                continue;
            snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
            found = take_version(fact->a, name, ocv_requirement_least(&requirement, fact->b), out);
        }
        return found;
    }
    const struct config_fact *fact = i < labels ? &config_versions[i] : &config_labels[i - labels];
    const char *text = i < labels ? ocv_image_config_variable(config, fact->b)
                                  : ocv_image_config_label(config, fact->b);
    return take_version(fact->a, fact->b, text, out);
}

#define SOURCES (COUNT(config_versions) + COUNT(config_labels) + COUNT(config_required))

bool ocv_image_config_version(const struct ocv_image_config *config, size_t i,
                              struct ocv_image_version *out)
{
    for (size_t k = 0; k < SOURCES; k++)
        if (take_source(config, k, out) && !i--)
            return true;
    return false;
}

bool ocv_image_config_version_of(const struct ocv_image_config *config, const char *of,
                                 struct ocv_image_version *out)
{
    for (size_t k = 0; k < SOURCES; k++)
        if (take_source(config, k, out) && strcmp(out->of, of) == 0)
            return true;
    return false;
}

const char *ocv_image_config_maker(const struct ocv_image_config *config, size_t i,
                                   const char **variable)
{
    for (size_t k = 0; k < COUNT(config_makers); k++) {
        size_t at = 0;
        *variable = ocv_image_config_next(config, config_makers[k].b, &at);
        if (*variable && !i--)
            return config_makers[k].a;
    }
    return NULL;
}

static bool copy_members(json_t *to, const json_t *from, const char *const *keys, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_object_get(from, keys[i]);
        if (json_is_string(value))
            ok = json_object_set(to, keys[i], value) == 0 && ok;
    }
    return ok;
}

int ocv_image_config_essence(const struct ocv_image_config *config, struct ocv_buffer *out,
                             struct ocv_error *err)
{
    static const char *const platform[] = {"os", "architecture", "variant"};
    static const char *const whole[] = {OCV_REQUIREMENT_OFF, OCV_REQUIREMENT_DEVICES};
    static const char *const own[] = {OCV_ANNOTATION_LABEL, OCV_ANNOTATION_PROPERTIES};
    json_t *environment = json_array(), *labels = json_object();
    ocv_auto_json *root =
        json_pack("{s:{s:o, s:o}}", "config", "Env", environment, "Labels", labels);
    if (!root)
        return ocv_error_nomem(err);
    bool ok = copy_members(root, config->root, platform, COUNT(platform)) &&
              copy_members(labels, config->labels, own, COUNT(own));
    for (size_t i = 0; i < COUNT(config_labels) && ok; i++)
        ok = copy_members(labels, config->labels, &config_labels[i].b, 1);
    for (size_t i = 0; i < config->n_variables && ok; i++) {
        json_t *one = json_array_get(config->environment, i);
        const char *text = json_string_value(one);
        if (!text || !strchr(text, '='))
            continue;
        /* is it one that the functions above ask for? */
        size_t n = strcspn(text, "=");
        bool asked = strncmp(text, OCV_REQUIREMENT_PREFIX, strlen(OCV_REQUIREMENT_PREFIX)) == 0;
        for (size_t k = 0; k < COUNT(whole); k++)
            asked = asked || (strlen(whole[k]) == n && memcmp(whole[k], text, n) == 0);
        for (size_t k = 0; k < COUNT(config_versions); k++)
            asked = asked || (strlen(config_versions[k].b) == n &&
                              memcmp(config_versions[k].b, text, n) == 0);
        for (size_t k = 0; k < COUNT(config_makers); k++)
            asked = asked || strncmp(text, config_makers[k].b, strlen(config_makers[k].b)) == 0;
        if (asked)
            ok = json_array_append(environment, one) == 0;
    }
    return ok ? ocv_json_append(root, JSON_COMPACT, out, err) : ocv_error_nomem(err);
}
