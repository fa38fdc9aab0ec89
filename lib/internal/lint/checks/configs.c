/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties against the images' own configurations: platform, levels, and what variables of the
 * environment say about versions (OCV401 to 404, 411). */
#include "lib/base/format/json.h"
#include "lib/internal/lint/lint_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of "NAME=value" where NAME is, or with `prefix` begins with, `name`; `*at` counts on.
 */
static const char *next_variable(const json_t *config, const char *name, bool prefix, size_t *at,
                                 char full[128])
{
    const json_t *list = json_object_get(json_object_get(config, "config"), "Env");
    size_t len = strlen(name);
    while (*at < json_array_size(list)) {
        const char *text = json_string_value(json_array_get(list, (*at)++));
        const char *equals = text ? strchr(text, '=') : NULL;
        if (!equals || strncmp(text, name, len) != 0 || (!prefix && text + len != equals))
            continue;
        snprintf(full, 128, "%.*s", (int)(equals - text), text);
        return equals + 1;
    }
    return NULL;
}

static const char *get_variable(const json_t *config, const char *name)
{
    char full[128];
    size_t at = 0;
    return next_variable(config, name, false, &at, full);
}

const char *ocv_lint_lowest(const struct ocv_lint *lint, const struct ocv_entry *entry,
                            const char *feature)
{
    const char *found = NULL;
    for (size_t k = 0; k < entry->n_properties; k++) {
        struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
        if (ocv_lint_is_feature(p, feature) && (!found || ocv_version_compare(p.value, found) < 0))
            found = p.value;
    }
    return found;
}

/* "12.8.1" -> 12, 8. */
static void read_numbers(const char *version, unsigned long *major, unsigned long *minor)
{
    char *end;
    *major = strtoul(version, &end, 10);
    *minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
}

const char *ocv_lint_contradiction(const char *relation, const char *value, const char *version)
{
    unsigned long a, b, c, d;
    read_numbers(value, &a, &b);
    read_numbers(version, &c, &d);
    if (!strcmp(relation, "equal"))
        return a != c || b != d ? "is another version" : NULL;
    if (a > c || (a == c && b > d))
        return "is above it";
    if (!strcmp(relation, "minor") && a < c)
        return "has a lower major version";
    return NULL;
}

/* What the image says of itself: its platform, its processor level, versions. */
static void check_own(struct ocv_lint *lint, size_t i, const json_t *config)
{
    const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
    const struct ocv_platform *platform = &entry->platform;
    const char *architecture = ocv_json_text(config, "architecture");
    const struct {
        const char *what, *entry, *image;
    } parts[] = {{"os", platform->os, ocv_json_text(config, "os")},
                 {"architecture", platform->architecture, architecture}};
    for (size_t k = 0; k < OCV_LINT_COUNT(parts); k++) {
        char member[64];
        if (!parts[k].entry || !parts[k].image)
            continue;
        /* Another rule reports other names of the same architecture. */
        const char *x = ocv_lint_architecture(parts[k].entry);
        const char *y = ocv_lint_architecture(parts[k].image);
        if (!strcmp(x ? x : parts[k].entry, y ? y : parts[k].image))
            continue;
        snprintf(member, sizeof(member), "/platform/%s", parts[k].what);
        ocv_lint_entry_at(lint, OCV_LINT_CONFIG_PLATFORM_DISAGREES, i, member,
                          "the entry says %s %s, the image %s", parts[k].what, parts[k].entry,
                          parts[k].image);
        ocv_lint_hint(lint, "list the right image, or build it for %s", parts[k].entry);
    }
    /* The image says that it was built for a processor level; of such properties there must be one
     * at least as demanding. */
    char feature[128];
    const char *variant = ocv_json_text(config, "variant");
    const char *level = ocv_lint_level(architecture, variant, feature);
    const char *found = level ? ocv_lint_lowest(lint, entry, feature) : NULL;
    if (level && (!platform->variant || strcmp(platform->variant, variant) != 0) &&
        (!found || ocv_version_compare(found, strrchr(level, ' ') + 1) < 0)) {
        ocv_lint_entry_at(lint, OCV_LINT_CONFIG_LEVEL_DISAGREES, i, "",
                          "the image was built for %s %s, its properties say %s", architecture,
                          variant, found ? found : "nothing of it");
        ocv_lint_hint(lint, "add %s", level);
    }
    for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_versions); k++) {
        const struct lint_fact *fact = &ocv_lint_versions[k];
        const char *version = get_variable(config, fact->a),
                   *value = ocv_lint_lowest(lint, entry, fact->b);
        if (!version || !value || !isdigit((unsigned char)*version))
            continue;
        const char *why = ocv_lint_contradiction(fact->c, value, version);
        if (!why)
            continue;
        ocv_lint_entry_at(
            lint, OCV_LINT_ENV_VERSION_DISAGREES, i, "/annotations/" OCV_ANNOTATION_PROPERTIES,
            "the image has %s=%.40s, %s :: %s %s", fact->a, version, fact->b, value, why);
        ocv_lint_hint(lint, "correct the property, or list the right image");
    }
}

/* Of values that differ as text only, the one that is lowest as a version. */
static const char *lowest_required(const struct ocv_lint *lint, const struct ocv_entry *entry,
                                   const char *feature, char out[32])
{
    bool found = false;
    for (size_t k = 0; k < entry->n_properties; k++) {
        struct ocv_property p = ocv_index_property(lint->index, entry->properties[k]);
        char version[32];
        if (!ocv_lint_is_feature(p, feature))
            continue;
        /* a compute capability's value as a version: "90_real" -> "9.0"; others stay */
        size_t digits = strspn(p.value, "0123456789");
        if (digits >= 2 && p.value[digits] && p.value[digits] != '.')
            snprintf(version, 32, "%.*s.%c", (int)(digits - 1), p.value, p.value[digits - 1]);
        else
            snprintf(version, 32, "%.31s", p.value);
        if (!found || ocv_version_compare(version, out) < 0)
            memcpy(out, version, sizeof(version));
        found = true;
    }
    return found ? out : NULL;
}

void ocv_lint_check_configs(struct ocv_lint *lint)
{
    for (size_t i = 0; i < ocv_index_count(lint->index) && lint->status == OCV_OK; i++) {
        const struct ocv_lint_child *child = ocv_lint_child(lint, i);
        const struct ocv_entry *entry = ocv_index_entry(lint->index, i);
        if (!child || !child->config || entry->code == OCV_REJECT_ATTESTATION ||
            entry->code == OCV_REJECT_UNKNOWN_PLATFORM || entry->code == OCV_REJECT_ARTIFACT)
            continue;
        check_own(lint, i, child->config);
        const char *off = get_variable(child->config, OCV_REQUIREMENT_OFF), *text;
        char full[128];
        size_t at = 0;
        if (off && (!strcmp(off, "1") || !strcmp(off, "true")))
            continue;
        while ((text = next_variable(child->config, ocv_lint_requires[0].a, true, &at, full))) {
            struct ocv_requirement requirement;
            struct ocv_error err = {0};
            int status = ocv_requirement_parse(text, &requirement, &err);
            if (status == OCV_ERR_NOMEM)
                lint->status = ocv_error_nomem(lint->err);
            else if (status < 0)
                ocv_lint_entry_at(lint, OCV_LINT_REQUIRE_MALFORMED, i, "", "%s: %s", full,
                                  err.message);
            if (status < 0)
                continue;
            for (size_t k = 0; k < OCV_LINT_COUNT(ocv_lint_requires); k++) {
                const struct lint_fact *fact = &ocv_lint_requires[k];
                char value[32];
                const char *least = ocv_requirement_least(&requirement, fact->b);
                const char *declared = lowest_required(lint, entry, fact->c, value);
                if (!least || !declared || ocv_version_compare(declared, least) >= 0)
                    continue;
                const char *built = ocv_lint_built_with(lint, entry, fact->c);
                if (built && ocv_version_compare(built, least) >= 0)
                    continue; /* such a value says how it was built, not where it runs */
                ocv_lint_entry_at(lint, OCV_LINT_REQUIRE_STRICTER, i,
                                  "/annotations/" OCV_ANNOTATION_PROPERTIES,
                                  "%s refuses hosts below %s %s, and %s admits them from %s", full,
                                  fact->b, least, fact->c, declared);
                ocv_lint_hint(lint, "raise the property, or relax %s in the image", full);
            }
            ocv_requirement_free(&requirement);
        }
    }
}
