/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Properties that an image's files support, and the drivers of CUDA that they go with. */
#include "lib/base/cleanup.h"
#include "lib/internal/content/derived.h"

#include "gen/content-rules.h"
#include "gen/toolkits.h"
#include "lib/base/arena.h"
#include "lib/internal/content/image_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* What the properties of CUDA are made of. */
struct cuda_proposal {
    const struct ocv_content_report *report;
    size_t machine, compiled; /* devices that run machine code of every file; others */
    char built[32];           /* "12.8", or "12" where the minor version is not known */
    char first[32];           /* "12.0", "12.4"; empty: no driver but those that know `built` */
    bool apart;               /* the devices with machine code are an entry of their own */
};

static int add_to(char ***list, size_t *n, const char *text, struct ocv_error *err)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp((*list)[i], text))
            return OCV_OK;
    char *copy = strdup(text);
    char **place = copy ? ocv_array_grow(list, *n) : NULL;
    if (!place) {
        free(copy);
        return ocv_error_nomem(err);
    }
    *place = copy;
    ++*n;
    return OCV_OK;
}

static int propose_fact(struct ocv_content_derived *out, enum ocv_content_fact fact,
                        const char *value, struct ocv_error *err)
{
    for (size_t i = 0; i < COUNT(content_properties); i++) {
        const struct content_property *p = &content_properties[i];
        if (p->fact != fact)
            continue;
        char *text;
        if (asprintf(&text, "%s :: %s :: %s%s%s", p->ns, p->feature, p->before, value, p->after) <
            0)
            return ocv_error_nomem(err);
        int status = add_to(&out->properties, &out->n_properties, text, err);
        free(text);
        return status;
    }
    return OCV_OK;
}

static bool is_of(struct ocv_property p, const char *feature)
{
    return !strcmp(p.ns, OCV_TOOLKIT_NAMESPACE) && !strcmp(p.feature, feature);
}

/* Has every file with code for such devices machine code for "90_real"? */
static bool runs_machine_code(const struct ocv_content_report *report, const char *device)
{
    static const char real[] = "_real";
    size_t len = strlen(device);
    char sm[32];
    if (len < sizeof(real) || strcmp(device + len - (sizeof(real) - 1), real) != 0)
        return false;
    snprintf(sm, sizeof(sm), "%.*s", (int)(len - (sizeof(real) - 1)), device);
    for (size_t i = 0; i < report->n_files; i++) {
        const struct ocv_content_facts *facts = &report->files[i].facts;
        if (ocv_content_has_code(facts, OCV_CONTENT_CUDA_CODE) &&
            !ocv_content_machine_code_runs(facts, OCV_CONTENT_CUDA_CODE, sm))
            return false;
    }
    return true;
}

/* "90_real" of "nvidia :: sm_arch :: 90_real"; NULL: it is about something else. */
static const char *device_of(const char *property)
{
    static const char before[] = OCV_TOOLKIT_NAMESPACE " :: " OCV_TOOLKIT_DEVICE " :: ";
    size_t n = sizeof(before) - 1;
    return strncmp(property, before, n) == 0 ? property + n : NULL;
}

static bool same_major(const char *version, const char *major)
{
    return version && (!*major || strtoul(version, NULL, 10) == strtoul(major, NULL, 10));
}

/* Is a value of the property's feature written by hand? */
static bool is_given(const struct ocv_content_told *told, const char *property)
{
    char feature[160];
    for (size_t i = 0; told && i < told->n_given; i++) {
        int n = snprintf(feature, sizeof(feature), "%s :: %s :: ", told->given[i].ns,
                         told->given[i].feature);
        if (n > 0 && (size_t)n < sizeof(feature) && !strncmp(property, feature, (size_t)n))
            return true;
    }
    return false;
}

/* Which drivers the devices go with, as versions of CUDA. `major`: what the files need, "12", or
 * empty where they do not say. */
static int propose_drivers(struct cuda_proposal *c, const struct ocv_content_told *told,
                           struct ocv_content_derived *out, const char *major,
                           struct ocv_error *err)
{
    /* devices that are written by hand are the ones that the entry is for */
    bool given = is_given(told, OCV_TOOLKIT_NAMESPACE " :: " OCV_TOOLKIT_DEVICE " :: ");
    for (size_t i = 0; i < (given ? told->n_given : out->n_properties); i++) {
        const char *device = !given ? device_of(out->properties[i])
                             : is_of(told->given[i], OCV_TOOLKIT_DEVICE) ? told->given[i].value
                                                                         : NULL;
        bool runs = device && runs_machine_code(c->report, device);
        c->machine += runs;
        c->compiled += device && !runs;
    }
    for (size_t i = 0; !c->machine && i < out->n_targets; i++)
        c->compiled += out->targets[i].fact == OCV_CONTENT_CUDA_PTX;

    const char *stated = told ? told->cuda : NULL, *ptx = out->ptx_toolkit;
    const char *built = same_major(stated, major)                         ? stated
                        : *major && c->compiled && same_major(ptx, major) ? ptx
                                                                          : major;
    unsigned long number = strtoul(built, NULL, 10);
    snprintf(c->first, sizeof(c->first), "%lu.0", number);
    if (out->zstd.value && number == strtoul(OCV_TOOLKIT_ZSTD, NULL, 10)) {
        snprintf(c->first, sizeof(c->first), OCV_TOOLKIT_ZSTD);
        if (ocv_version_compare(built, c->first) < 0)
            built = c->first; /* of 12 the minor version was not known */
    }
    snprintf(c->built, sizeof(c->built), "%s", built);
    bool older = number >= OCV_TOOLKIT_MINOR_FROM && ocv_version_compare(c->built, c->first) > 0;
    bool compiles = !c->compiled || (ptx && ocv_version_compare(ptx, c->first) <= 0);
    c->apart = older && !compiles && c->machine;
    if (!older || !(compiles || c->apart))
        c->first[0] = '\0';

    const char *const versions[] = {c->built, c->built[0] && !c->apart ? c->first : ""};
    for (size_t i = 0; i < COUNT(versions); i++) {
        char text[160];
        snprintf(text, sizeof(text), OCV_TOOLKIT_NAMESPACE " :: " OCV_TOOLKIT_VERSION " :: %s",
                 versions[i]);
        if (versions[i][0])
            OCV_TRY(add_to(&out->properties, &out->n_properties, text, err));
    }
    return OCV_OK;
}

void ocv_content_property_value(const char *target, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)strcspn(target, ":"), target);
    for (char *at = out; (at = strchr(at, '-'));)
        *at = '_';
}

int ocv_content_propose(const struct ocv_content_report *report,
                        const struct ocv_content_told *told, struct ocv_content_derived *out,
                        struct ocv_error *err)
{
    struct cuda_proposal c = {.report = report};
    for (size_t i = 0; i < out->n_targets; i++) {
        struct ocv_content_target *target = &out->targets[i];
        char value[64];
        ocv_content_property_value(target->value, value, sizeof(value));
        /* PTX for one chip or one family of them runs on no later one. */
        bool later = target->fact != OCV_CONTENT_CUDA_PTX ||
                     target->value[strspn(target->value, "0123456789")] == '\0';
        target->proposed = target->lacking == 0 && target->fact != OCV_CONTENT_SYCL_CODE &&
                           target->fact != OCV_CONTENT_CUDA_IR && later;
        if (target->proposed)
            OCV_TRY(propose_fact(out, target->fact, value, err));
    }

    /* Where all files agree about it: the major version of CUDA, and a label. */
    const char *major = "";
    for (size_t i = 0; i < out->n_needs; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(out->needs[i].is, out->needs[k].is) &&
                strcmp(out->needs[i].version, out->needs[k].version) != 0)
                out->mixed = true;
    for (size_t i = 0; i < out->n_needs && !out->mixed; i++) {
        const struct content_library *rule = out->needs[i].rule;
        const char *version = out->needs[i].version;
        if (*version && rule->label)
            snprintf(out->label, sizeof(out->label), "%s%s", rule->label, version);
        if (*version && rule->ns && !strcmp(rule->ns, OCV_TOOLKIT_NAMESPACE) &&
            !strcmp(rule->feature, OCV_TOOLKIT_VERSION) &&
            strtoul(version, NULL, 10) > strtoul(major, NULL, 10))
            major = version;
    }
    if (out->cuda_files && !out->mixed)
        OCV_TRY(propose_drivers(&c, told, out, major, err));
    if (out->level.value && strcmp(out->level.value, "1") > 0)
        OCV_TRY(propose_fact(out, OCV_CONTENT_X86_LEVEL, out->level.value, err));
    if (!c.apart || is_given(told, OCV_TOOLKIT_NAMESPACE " :: " OCV_TOOLKIT_VERSION " :: "))
        return OCV_OK;

    /* The other entry: the properties, but of devices those with machine code alone, and of the
     * versions the first of the major one. */
    static const char prefix[] = OCV_TOOLKIT_NAMESPACE " :: " OCV_TOOLKIT_VERSION " :: ";
    char text[160];
    for (size_t i = 0; told && i < told->n_given; i++) {
        if (!is_of(told->given[i], OCV_TOOLKIT_DEVICE) ||
            !runs_machine_code(report, told->given[i].value))
            continue;
        snprintf(text, sizeof(text), OCV_TOOLKIT_NAMESPACE " :: " OCV_TOOLKIT_DEVICE " :: %s",
                 told->given[i].value);
        OCV_TRY(add_to(&out->base, &out->n_base, text, err));
    }
    for (size_t i = 0; i < out->n_properties; i++) {
        const char *property = out->properties[i], *device = device_of(property);
        if (strncmp(property, prefix, sizeof(prefix) - 1) == 0) {
            snprintf(text, sizeof(text), "%s%s", prefix, c.first);
            property = text;
        } else if (is_given(told, property) || (device && !runs_machine_code(report, device))) {
            continue;
        }
        OCV_TRY(add_to(&out->base, &out->n_base, property, err));
    }
    return OCV_OK;
}
