/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/internal/content/content.h"
#include "lib/internal/content/derived.h"

#include "gen/content-rules.h"
#include "gen/toolkits.h"
#include "lib/internal/content/image_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void check_code(const struct ocv_content *content, enum ocv_content_fact fact,
                       const char *value, struct ocv_content_evidence *out)
{
    size_t exact = 0;
    struct ocv_content_set set;
    for (size_t at = 0; ocv_content_next_set(&content->derived, &at, fact, value, &set);) {
        out->files++;
        exact += set.machine;
        if (!set.runs && (!out->lacking++ || strcmp(set.path, out->path) < 0))
            out->path = set.path;
    }
    /* machine code is promised, and every file has PTX at most */
    bool broken = out->lacking == out->files || !exact;
    out->keeping = !out->files    ? OCV_CONTENT_NO_CODE
                   : broken       ? OCV_CONTENT_BROKEN
                   : out->lacking ? OCV_CONTENT_PARTLY
                                  : OCV_CONTENT_KEPT;
    /* "sm_80, sm_86": the targets of the maker, as far as there is room */
    bool room = true;
    size_t len = 0;
    for (size_t i = 0; i < content->derived.n_targets && room; i++) {
        const struct ocv_content_target *it = &content->derived.targets[i];
        const struct ocv_content_finding finding = {.fact = it->fact};
        const struct ocv_content_facts one = {
            .list = (struct ocv_content_finding *)(uintptr_t)&finding, .n = 1};
        char name[OCV_CONTENT_TARGET_MAX];
        if (!ocv_content_has_code(&one, fact))
            continue;
        ocv_content_target_name(it, name, sizeof(name));
        room = len + strlen(name) + 8 < sizeof(out->found);
        len += (size_t)snprintf(out->found + len, sizeof(out->found) - len, "%s%s", len ? ", " : "",
                                room ? name : "...");
    }
    if (!out->found[0])
        snprintf(out->found, sizeof(out->found), "GPUs whose .kpack archives are not here");
}

void ocv_content_check(const struct ocv_content *content, struct ocv_property property,
                       struct ocv_content_evidence *out)
{
    char value[OCV_CONTENT_TARGET_MAX];
    *out = (struct ocv_content_evidence){0};
    for (size_t i = 0; i < COUNT(content_properties); i++) {
        const struct content_property *rule = &content_properties[i];
        size_t before = strlen(rule->before), after = strlen(rule->after);
        size_t len = strlen(property.value);
        if (strcmp(rule->ns, property.ns) != 0 || strcmp(rule->feature, property.feature) != 0 ||
            len <= before + after || strncmp(property.value, rule->before, before) != 0 ||
            strcmp(property.value + len - after, rule->after) != 0)
            continue;
        snprintf(value, sizeof(value), "%.*s", (int)(len - before - after),
                 property.value + before);
        /* Properties write a generic target with underscores, compilers with dashes. */
        for (char *at = value; strstr(value, "generic") && (at = strchr(at, '_'));)
            *at = '-';
        if (rule->fact != OCV_CONTENT_X86_LEVEL) {
            check_code(content, rule->fact, value, out);
            return;
        }
        const struct ocv_content_highest *level = &content->derived.level;
        if (!level->value)
            return;
        out->keeping = strverscmp(level->value, value) > 0 ? OCV_CONTENT_BROKEN : OCV_CONTENT_KEPT;
        if (out->keeping == OCV_CONTENT_BROKEN)
            out->path = level->path;
        snprintf(out->found, sizeof(out->found), "%s%s%s", rule->before, level->value, rule->after);
        return;
    }
    /* Files that need version 12 of a library are not kept by a property of 11. */
    for (size_t i = 0; i < content->derived.n_needs; i++) {
        const struct ocv_content_needs *needs = &content->derived.needs[i];
        if (!needs->rule->ns || strcmp(needs->rule->ns, property.ns) != 0 ||
            strcmp(needs->rule->feature, property.feature) != 0 || !needs->version[0])
            continue;
        bool broken = strtoul(needs->version, NULL, 10) > strtoul(property.value, NULL, 10);
        out->keeping = broken ? OCV_CONTENT_BROKEN : OCV_CONTENT_KEPT;
        out->path = broken ? needs->path : NULL;
        snprintf(out->found, sizeof(out->found), "%s", needs->name);
        if (broken)
            return;
    }
    /* Drivers of the major version, but too old to read the code. */
    const struct ocv_content_highest *zstd = &content->derived.zstd;
    if (!zstd->value || strcmp(property.ns, OCV_TOOLKIT_NAMESPACE) != 0 ||
        strcmp(property.feature, OCV_TOOLKIT_VERSION) != 0 ||
        strtoul(property.value, NULL, 10) != strtoul(OCV_TOOLKIT_ZSTD, NULL, 10) ||
        ocv_version_compare(property.value, OCV_TOOLKIT_ZSTD) >= 0)
        return;
    out->keeping = OCV_CONTENT_BROKEN;
    out->path = zstd->path;
    snprintf(out->found, sizeof(out->found),
             "CUDA " OCV_TOOLKIT_ZSTD ": their code is compressed with zstd, which older drivers "
             "cannot read");
}

static bool property_says(const char *text, struct ocv_property property, bool value)
{
    size_t ns = strlen(property.ns), feature = strlen(property.feature);
    return !strncmp(text, property.ns, ns) && !strncmp(text + ns, " :: ", 4) &&
           !strncmp(text + ns + 4, property.feature, feature) &&
           !strncmp(text + ns + 4 + feature, " :: ", 4) &&
           (!value || !strcmp(text + ns + 8 + feature, property.value));
}

/* Of a version or a level it is enough to say some value; targets are a set. */
static bool is_set(struct ocv_property property)
{
    for (size_t i = 0; i < COUNT(content_properties); i++)
        if (!strcmp(content_properties[i].ns, property.ns) &&
            !strcmp(content_properties[i].feature, property.feature))
            return content_properties[i].fact != OCV_CONTENT_X86_LEVEL;
    return false;
}

const char *ocv_content_unsaid(const struct ocv_content *content, const struct ocv_property *said,
                               size_t n, size_t i)
{
    for (size_t k = 0; k < content->derived.n_properties; k++) {
        bool feature = false, value = false;
        for (size_t c = 0; c < n; c++) {
            feature = feature || (is_set(said[c]) &&
                                  property_says(content->derived.properties[k], said[c], false));
            value = value || property_says(content->derived.properties[k], said[c], true);
        }
        if (feature && !value && !i--)
            return content->derived.properties[k];
    }
    return NULL;
}

bool ocv_content_same_code(const struct ocv_content *a, const struct ocv_content *b)
{
    if (!a->derived.n_targets || a->derived.n_targets != b->derived.n_targets ||
        a->derived.n_needs != b->derived.n_needs)
        return false;
    for (size_t i = 0; i < a->derived.n_targets; i++) {
        const struct ocv_content_target *x = &a->derived.targets[i], *y = &b->derived.targets[i];
        if (x->fact != y->fact || strcmp(x->value, y->value) != 0 || x->bytes != y->bytes ||
            x->files != y->files)
            return false;
    }
    for (size_t i = 0; i < a->derived.n_needs; i++)
        if (strcmp(a->derived.needs[i].name, b->derived.needs[i].name) != 0)
            return false;
    return true;
}

const char *ocv_content_idle_compat(const struct ocv_content *content)
{
    static const char home[] = "usr/local/cuda";
    for (size_t i = 0; i < content->report.n_files; i++) {
        const struct ocv_content_file *file = &content->report.files[i];
        for (size_t k = 0; k < file->facts.n; k++)
            if (file->facts.list[k].fact == OCV_CONTENT_CUDA_COMPAT &&
                (strncmp(file->path, home, sizeof(home) - 1) != 0 ||
                 !strstr(file->path, "/compat/")))
                return file->path;
    }
    return NULL;
}

size_t ocv_content_drivers(const struct ocv_content *content, const struct ocv_content_file **first,
                           const char **maker)
{
    size_t n = 0;
    for (size_t i = 0; i < content->report.n_files; i++) {
        const struct ocv_content_file *file = &content->report.files[i];
        for (size_t k = 0; k < file->facts.n; k++)
            if (file->facts.list[k].fact == OCV_CONTENT_DRIVER && !n++) {
                *first = file;
                *maker = file->facts.list[k].value;
            }
    }
    return n;
}
