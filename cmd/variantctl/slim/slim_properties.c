/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the index says of slim variants and of the original, so that no GPU gets a build in which
 * code of its own is missing. */
#include "cmd/variantctl/slim/slim_verb.h"

#include "gen/content-rules.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

/* Machine code, also where some files have none for that architecture: these did not run there
 * before, either. */
static bool is_code(const struct ocv_content_target *target)
{
    return target->fact == OCV_CONTENT_CUDA_CODE;
}

static int add_property(struct ocv_buffer *out, struct ocv_error *err, const char *property)
{
    return ocv_buffer_printf(out, err, "%s%s", out->len ? ", " : "", property);
}

/* The property that says for which architecture there is machine code. */
static const struct content_property *arch_property(void)
{
    const struct content_property *it = content_properties;
    while (it->fact != OCV_CONTENT_CUDA_CODE)
        it++;
    return it;
}

static int add_arch(struct ocv_buffer *out, const char *value, struct ocv_error *err)
{
    char property[64];
    const struct content_property *it = arch_property();
    snprintf(property, sizeof(property), "%s :: %s :: %s%s%s", it->ns, it->feature, it->before,
             value, it->after);
    return out->len && strstr(out->data, property) ? OCV_OK : add_property(out, err, property);
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
                          const struct ocv_slim_target *target, struct ocv_buffer *out,
                          struct ocv_error *err)
{
    for (size_t t = 0; t < target->n; t++)
        for (size_t i = 0; i < derived->n_targets; i++)
            if (is_code(&derived->targets[i]) &&
                ocv_slim_runs(derived->targets[i].value, false, target->sm[t]) ==
                    slim_best_code(derived, target->sm[t]))
                OCV_TRY(add_arch(out, derived->targets[i].value, err));
    return OCV_OK;
}

/* The lowest architecture of the same major version above one that FROM has machine code for; of
 * GPUs from there on `fat` is told that it has code of their own. */
static unsigned next_code(const struct ocv_content_derived *derived, unsigned best)
{
    unsigned next = best / 10 * 10 + 10;
    for (size_t i = 0; i < derived->n_targets; i++) {
        unsigned long number = strtoul(derived->targets[i].value, NULL, 10);
        if (is_code(&derived->targets[i]) && number > best && number < next)
            next = (unsigned)number;
    }
    return next;
}

/* What each of these GPUs would load stays in the variant, the PTX of parts without machine code,
 * too. */
void slim_find_served(const struct ocv_content_derived *derived,
                      const struct ocv_slim_target *target, struct ocv_slim_target *out)
{
    *out = (struct ocv_slim_target){.keep_ptx = target->keep_ptx};
    for (size_t t = 0; t < target->n; t++) {
        unsigned best = slim_best_code(derived, target->sm[t]), next = next_code(derived, best);
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

/* What `fat` is told to be for: what `derive` proposes, and the architectures of which a GPU would
 * else lose its own code to a slim variant of a lower one. */
int slim_describe_fat(const struct slim *s, const struct ocv_content_derived *derived,
                      struct ocv_properties **out, struct ocv_error *err)
{
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_ENTRY_PROPERTIES_BYTES_MAX);
    for (size_t i = 0; i < derived->n_properties; i++)
        OCV_TRY(add_property(&text, err, derived->properties[i]));
    for (size_t i = 0; i < derived->n_targets; i++) {
        unsigned long number = strtoul(derived->targets[i].value, NULL, 10);
        for (size_t t = 0; t < s->n_targets && is_code(&derived->targets[i]); t++)
            for (size_t k = 0; k < s->targets[t].n; k++)
                if (number / 10 == s->targets[t].sm[k] / 10 &&
                    number > slim_best_code(derived, s->targets[t].sm[k]))
                    OCV_TRY(add_arch(&text, derived->targets[i].value, err));
    }
    return ocv_properties_parse(text.data ? text.data : "", text.len, out, err);
}

/* Is there an architecture of `fat` that none of the variants is for? */
bool slim_fat_is_reached(const struct slim *s, size_t first, const struct ocv_properties *fat)
{
    const struct content_property *rule = arch_property();
    for (size_t i = 0; i < ocv_properties_count(fat); i++) {
        struct ocv_property p = ocv_properties_get(fat, i);
        bool taken = strcmp(p.ns, rule->ns) != 0 || strcmp(p.feature, rule->feature) != 0;
        for (size_t k = first; k < s->n_variants && !taken; k++)
            taken = s->variants[k].cut && edit_has_property(s->variants[k].properties, p);
        if (!taken)
            return true;
    }
    return false;
}
