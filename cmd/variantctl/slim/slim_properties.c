/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the index says of slim variants and of the original, so that no GPU gets a build in which
 * code of its own is missing. */
#include "cmd/variantctl/slim/slim_verb.h"

#include "gen/content-rules.h"
#include "lib/base/cleanup.h"
#include "lib/probe/providers/amd/amd.h"

#include <stdlib.h>
#include <string.h>

/* Machine code, also where some files have none for that architecture: these did not run there
 * before, either. */
static bool is_code(const struct ocv_content_target *target)
{
    return target->fact == OCV_CONTENT_CUDA_CODE;
}

/* The property that says for which architecture there is machine code; NULL: there is none. */
static const struct content_property *arch_property(enum ocv_content_fact fact)
{
    for (size_t i = 0; i < sizeof(content_properties) / sizeof(content_properties[0]); i++)
        if (content_properties[i].fact == fact &&
            (fact == OCV_CONTENT_CUDA_CODE || fact == OCV_CONTENT_HIP_CODE))
            return &content_properties[i];
    return NULL;
}

/* Does a property say for which architecture there is machine code? */
static bool is_arch(struct ocv_property p)
{
    for (size_t i = 0; i < sizeof(content_properties) / sizeof(content_properties[0]); i++) {
        const struct content_property *it = &content_properties[i];
        if (arch_property(it->fact) == it && !strcmp(p.ns, it->ns) &&
            !strcmp(p.feature, it->feature))
            return true;
    }
    return false;
}

static int add_arch(struct ocv_buffer *out, const struct ocv_content_target *target,
                    struct ocv_error *err)
{
    char property[160], value[64];
    const struct content_property *it = arch_property(target->fact);
    ocv_content_property_value(target->value, value, sizeof(value));
    snprintf(property, sizeof(property), "%s :: %s :: %s%s%s", it->ns, it->feature, it->before,
             value, it->after);
    if (out->len && strstr(out->data, property))
        return OCV_OK;
    return ocv_buffer_printf(out, err, "%s%s", out->len ? ", " : "", property);
}

/* "gfx9-4-generic": code for several processors. */
static bool is_generic(const char *value)
{
    return memchr(value, '-', strcspn(value, ":")) != NULL;
}

/* Code that a processor of AMD runs, and whether it is for that processor alone. */
static bool is_gfx_code(const struct ocv_content_target *target, const char *gfx, bool *own)
{
    char value[64];
    const char *generic = ocv_amd_generic_of(gfx);
    *own = !is_generic(target->value);
    ocv_content_property_value(target->value, value, sizeof(value));
    return target->fact == OCV_CONTENT_HIP_CODE && !strcmp(value, *own      ? gfx
                                                                  : generic ? generic
                                                                            : "");
}

/* Is it the best that FROM has for a processor: code for it alone, or generic code where there is
 * none? */
static bool is_best_gfx(const struct ocv_content_derived *derived,
                        const struct ocv_content_target *target, const char *gfx)
{
    bool own, other;
    if (!is_gfx_code(target, gfx, &own))
        return false;
    for (size_t i = 0; i < derived->n_targets && !own; i++)
        if (is_gfx_code(&derived->targets[i], gfx, &other) && other)
            return false;
    return true;
}

bool slim_has_code(const struct ocv_content_derived *derived, const struct ocv_slim_target *target)
{
    for (size_t i = 0; i < target->n; i++)
        if (!slim_best_code(derived, target->sm[i]))
            return false;
    for (size_t t = 0; t < target->n_gfx; t++) {
        bool found = false, own;
        for (size_t i = 0; i < derived->n_targets && !found; i++)
            found = is_gfx_code(&derived->targets[i], target->gfx[t], &own);
        if (!found)
            return false;
    }
    return true;
}

/* What the best machine code of FROM is that a GPU runs; 0: there is none. */
unsigned slim_best_code(const struct ocv_content_derived *derived, unsigned sm)
{
    unsigned best = 0;
    for (size_t i = 0; i < derived->n_targets; i++) {
        unsigned number =
            is_code(&derived->targets[i]) ? ocv_slim_runs(derived->targets[i].value, false, sm) : 0;
        best = number > best ? number : best;
    }
    return best;
}

/* The properties of a variant: FROM's, but of its architectures only what is FROM's best for each
 * of the targets. So both rank alike there, and everywhere else FROM is no worse. */
int slim_describe_variant(const struct ocv_content_derived *derived,
                          const struct ocv_properties *given, const struct ocv_slim_target *target,
                          struct ocv_buffer *out, struct ocv_error *err)
{
    for (size_t i = 0; given && i < ocv_properties_count(given); i++) {
        struct ocv_property p = ocv_properties_get(given, i);
        if (!is_arch(p))
            OCV_TRY(ocv_buffer_printf(out, err, "%s%s :: %s :: %s", out->len ? ", " : "", p.ns,
                                      p.feature, p.value));
    }
    for (size_t i = 0; i < derived->n_targets; i++) {
        const struct ocv_content_target *it = &derived->targets[i];
        bool best = false;
        for (size_t t = 0; t < target->n && is_code(it); t++)
            best = best || ocv_slim_runs(it->value, false, target->sm[t]) ==
                               slim_best_code(derived, target->sm[t]);
        for (size_t t = 0; t < target->n_gfx; t++)
            best = best || is_best_gfx(derived, it, target->gfx[t]);
        if (best)
            OCV_TRY(add_arch(out, it, err));
    }
    return OCV_OK;
}

/* What each of these GPUs would load stays in the variant, the PTX of parts without machine code,
 * too. */
void slim_find_served(const struct ocv_content_derived *derived,
                      const struct ocv_slim_target *target, struct ocv_slim_target *out)
{
    *out = *target; /* of processors of AMD none runs code for another one */
    out->n = 0;
    for (size_t t = 0; t < target->n; t++) {
        unsigned best = slim_best_code(derived, target->sm[t]), next = best / 10 * 10 + 10;
        /* The lowest architecture of the same major version above one that FROM has machine code
         * for; of GPUs from there on `fat` is told that it has code of their own. */
        for (size_t i = 0; i < derived->n_targets; i++) {
            unsigned long number = strtoul(derived->targets[i].value, NULL, 10);
            if (is_code(&derived->targets[i]) && number > best && number < next)
                next = (unsigned)number;
        }
        for (unsigned sm = best; sm <= target->sm[t] || sm < next; sm++) {
            bool known = false;
            for (size_t i = 0; i < out->n; i++)
                known = known || out->sm[i] == sm;
            if (!known && out->n < OCV_SLIM_TARGETS_MAX)
                out->sm[out->n++] = sm;
        }
    }
    ocv_slim_target_sort(out);
}

/* Is it code for one processor, of those that generic code is for, which is the best that another
 * one has? */
static bool is_lost_gfx(const struct ocv_content_derived *derived, const char *value,
                        const char *gfx)
{
    char name[32];
    const char *generic = ocv_amd_generic_of(gfx);
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(value, ":"), value);
    const char *its = is_generic(value) ? NULL : ocv_amd_generic_of(name);
    if (!generic || !its || strcmp(generic, its) != 0)
        return false;
    for (size_t i = 0; i < derived->n_targets; i++)
        if (is_generic(derived->targets[i].value) &&
            is_best_gfx(derived, &derived->targets[i], gfx))
            return true;
    return false;
}

/* A maker of devices that properties name: that of a target's code. */
static const char *maker_of(const struct ocv_slim_target *target)
{
    return arch_property(target->n ? OCV_CONTENT_CUDA_CODE : OCV_CONTENT_HIP_CODE)->ns;
}

bool slim_may_take(const struct ocv_properties *given, const struct ocv_slim_target *target)
{
    const char *maker = derive_maker(given, NULL);
    bool any = false, fits = false;
    if (maker && strcmp(maker, maker_of(target)) != 0)
        return false;
    for (size_t i = 0; given && i < ocv_properties_count(given); i++) {
        struct ocv_property p = ocv_properties_get(given, i);
        if (!is_arch(p) || strcmp(p.ns, maker_of(target)) != 0)
            continue;
        any = true;
        size_t digits = strspn(p.value, "0123456789");
        char architecture[16];
        snprintf(architecture, sizeof(architecture), "%.*s", (int)strcspn(p.value, "_"), p.value);
        bool compiled = strstr(p.value, "_virtual") != NULL;
        for (size_t t = 0; t < target->n && digits; t++)
            fits = fits || ocv_slim_runs(architecture, compiled, target->sm[t]);
        for (size_t t = 0; t < target->n_gfx && !digits; t++) {
            const char *generic = ocv_amd_generic_of(target->gfx[t]);
            fits =
                fits || !strcmp(p.value, target->gfx[t]) || (generic && !strcmp(p.value, generic));
        }
    }
    return !any || fits;
}

/* What `fat` is told to be for: what `derive` proposes, and the architectures of which a GPU would
 * else lose its own code to a slim variant of a lower one. */
int slim_describe_fat(const struct slim *s, const struct ocv_content *content,
                      const struct ocv_properties *given, enum ocv_content_fact fact,
                      struct ocv_properties **out, struct ocv_error *err)
{
    const struct ocv_content_derived *derived = &content->derived;
    ocv_auto(ocv_properties) all = NULL;
    ocv_auto(ocv_properties) base = NULL;
    ocv_auto_buffer text, kept;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    ocv_buffer_init(&kept, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    OCV_TRY(derive_properties(content, given, &all, &base, err));
    /* without the properties of another maker's devices */
    for (const char *other; (other = derive_maker(all, arch_property(fact)->ns));) {
        kept.len = 0;
        for (size_t i = 0; i < ocv_properties_count(all); i++) {
            struct ocv_property p = ocv_properties_get(all, i);
            if (strcmp(p.ns, other) != 0)
                OCV_TRY(ocv_buffer_printf(&kept, err, "%s%s :: %s :: %s", kept.len ? ", " : "",
                                          p.ns, p.feature, p.value));
        }
        ocv_properties_free(all);
        all = NULL;
        OCV_TRY(ocv_properties_parse(kept.len ? kept.data : "", kept.len, &all, err));
    }
    OCV_TRY(ocv_properties_format(all, &text, err));
    for (size_t i = 0; i < derived->n_targets; i++) {
        const struct ocv_content_target *it = &derived->targets[i];
        unsigned long number = strtoul(it->value, NULL, 10);
        for (size_t t = 0; t < s->n_targets && it->fact == fact; t++) {
            const struct ocv_slim_target *target = &s->targets[t];
            bool lost = false;
            for (size_t k = 0; k < target->n && is_code(it); k++)
                lost = lost || (number / 10 == target->sm[k] / 10 &&
                                number > slim_best_code(derived, target->sm[k]));
            /* where a variant is for a whole generation, by generic code */
            for (size_t k = 0; k < target->n_gfx && it->fact == OCV_CONTENT_HIP_CODE; k++)
                lost = lost || is_lost_gfx(derived, it->value, target->gfx[k]);
            if (lost)
                OCV_TRY(add_arch(&text, it, err));
        }
    }
    return ocv_properties_parse(text.data ? text.data : "", text.len, out, err);
}

/* Is there an architecture of `fat` that none of the variants is for? */
bool slim_fat_is_reached(const struct slim *s, size_t first, const struct ocv_properties *fat)
{
    for (size_t i = 0; i < ocv_properties_count(fat); i++) {
        struct ocv_property p = ocv_properties_get(fat, i);
        bool taken = !is_arch(p);
        for (size_t k = first; k < s->n_variants && !taken; k++)
            taken = s->variants[k].cut && edit_has_property(s->variants[k].properties, p);
        if (!taken)
            return true;
    }
    return false;
}
