/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what the kernel says of a processor to the features of its namespace. */
#include "lib/probe/providers/cpu/cpu.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

static bool has_flag(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts,
                     const struct ocv_cpu_flag *flag)
{
    if (flag->bit != OCV_CPU_NO_BIT && (facts->words[flag->word] >> flag->bit & 1))
        return true;
    bool without = facts->without && strcmp(facts->without, flag->name) == 0;
    if (!without && facts->n_names > 0 &&
        bsearch(&flag->name, facts->names, facts->n_names, sizeof(*facts->names), ocv_text_order))
        return true;
    return flag->implied_by && ocv_cpu_has(cpu, facts, flag->implied_by);
}

bool ocv_cpu_has(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts, const char *name)
{
    for (size_t i = 0; i < cpu->n_flags; i++)
        if (strcmp(cpu->flags[i].name, name) == 0)
            return has_flag(cpu, facts, &cpu->flags[i]);
    return false;
}

void ocv_cpu_put(struct ocv_cpu_answer *answer, const char *feature, const char *value)
{
    if (answer->n < OCV_CPU_ITEMS_MAX)
        answer->items[answer->n++] = (struct ocv_cpu_item){feature, value};
}

void ocv_cpu_detect(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts,
                    struct ocv_cpu_answer *answer)
{
    size_t levels = 0; /* up to the first of which a flag is missing */
    for (bool has = true; has && levels < cpu->n_levels; levels += has)
        for (size_t k = 0; has && k < OCV_CPU_NEEDS_MAX && cpu->levels[levels].needs[k]; k++)
            has = ocv_cpu_has(cpu, facts, cpu->levels[levels].needs[k]);
    *answer = (struct ocv_cpu_answer){0};
    if (cpu->put_levels)
        cpu->put_levels(cpu, facts, levels, answer);
    else
        for (size_t i = levels; i-- > 0;)
            ocv_cpu_put(answer, cpu->feature, cpu->levels[i].name);
    for (size_t i = 0; i < cpu->n_flags; i++)
        if (!cpu->flags[i].internal && has_flag(cpu, facts, &cpu->flags[i]))
            ocv_cpu_put(answer, cpu->flags[i].name, "on");
}

bool ocv_cpu_live(const struct ocv_cpu *cpu, struct ocv_cpu_facts *facts)
{
    if (!cpu->live)
        return false;
    *facts = (struct ocv_cpu_facts){.source = "hwcap"};
    cpu->live(facts);
    return true;
}

bool ocv_cpu_thin(const struct ocv_cpu *cpu, const struct ocv_cpu_facts *facts)
{
    return cpu->hwcap_is_thin && strcmp(facts->source, "hwcap") == 0;
}

bool ocv_cpu_recorded(const struct ocv_cpu *cpu, const struct ocv_cpuinfo *cpuinfo,
                      struct ocv_cpu_facts *facts)
{
    if (!cpuinfo->architecture || strcmp(cpuinfo->architecture, cpu->architecture) != 0)
        return false;
    facts->source = "cpuinfo";
    facts->names = cpuinfo->flags;
    facts->n_names = cpuinfo->n_flags;
    if (cpu->correct)
        cpu->correct(cpuinfo, facts);
    return true;
}
