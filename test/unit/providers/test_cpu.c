/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/providers/cpu, cpu.c and the tables: bits and names, levels, vocabulary. */
#include "lib/probe/providers/cpu/cpu.h"
#include "test/unit/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static const struct ocv_cpu *const cpus[] = {&ocv_cpu_aarch64, &ocv_cpu_loongarch64,
                                             &ocv_cpu_ppc64le, &ocv_cpu_riscv64, &ocv_cpu_s390x};
#define N_CPUS (sizeof(cpus) / sizeof(*cpus))

/* Every flag by its bit or its name but the one at `without`, which nothing implies either. */
struct everything {
    struct ocv_cpu_facts facts;
    const char *names[OCV_CPU_ITEMS_MAX];
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void set_everything(const struct ocv_cpu *cpu, struct everything *out, const char *without,
                           bool named)
{
    *out = (struct everything){.facts = {.source = named ? "cpuinfo" : "hwcap"}};
    for (size_t i = 0; i < cpu->n_flags; i++) {
        const struct ocv_cpu_flag *flag = &cpu->flags[i];
        const char *implied_by = NULL;
        for (size_t k = 0; without && k < cpu->n_flags; k++)
            if (strcmp(cpu->flags[k].name, without) == 0)
                implied_by = cpu->flags[k].implied_by;
        if (without && (strcmp(flag->name, without) == 0 ||
                        (implied_by && strcmp(flag->name, implied_by) == 0)))
            continue;
        if (named || flag->bit == OCV_CPU_NO_BIT)
            out->names[out->facts.n_names++] = flag->name;
        else
            out->facts.words[flag->word] |= UINT64_C(1) << flag->bit;
    }
    qsort(out->names, out->facts.n_names, sizeof(*out->names), by_text);
    out->facts.names = out->names;
}

static const char *first_value(const struct ocv_cpu_answer *answer, const char *feature)
{
    for (size_t i = 0; i < answer->n; i++)
        if (strcmp(answer->items[i].feature, feature) == 0)
            return answer->items[i].value;
    return "";
}

static bool same_answer(const struct ocv_cpu_answer *a, const struct ocv_cpu_answer *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->items[i].feature, b->items[i].feature) == 0 &&
               strcmp(a->items[i].value, b->items[i].value) == 0;
    return same;
}

START_TEST(bits_and_names_say_the_same)
{
    const struct ocv_cpu *cpu = cpus[_i];
    for (size_t i = 0; i <= cpu->n_flags; i++) {
        struct everything bits, names;
        struct ocv_cpu_answer by_bits, by_names;
        const char *without = i < cpu->n_flags ? cpu->flags[i].name : NULL;
        set_everything(cpu, &bits, without, false);
        set_everything(cpu, &names, without, true);
        ocv_cpu_detect(cpu, &bits.facts, &by_bits);
        ocv_cpu_detect(cpu, &names.facts, &by_names);
        ck_assert_uint_lt(by_bits.n, OCV_CPU_ITEMS_MAX); /* nothing was cut */
        ck_assert_msg(same_answer(&by_bits, &by_names), "%s without %s", cpu->ns, without);
        for (size_t k = 0; k < by_bits.n; k++)
            ck_assert_msg(!without || strcmp(by_bits.items[k].feature, without) != 0, "%s: %s",
                          cpu->ns, without);
    }
}
END_TEST

START_TEST(two_flags_are_never_one_bit)
{
    const struct ocv_cpu *cpu = cpus[_i];
    for (size_t i = 0; i < cpu->n_flags; i++)
        for (size_t k = 0; k < i; k++) {
            const struct ocv_cpu_flag *a = &cpu->flags[i], *b = &cpu->flags[k];
            ck_assert_str_ne(a->name, b->name);
            ck_assert_msg(a->bit == OCV_CPU_NO_BIT || a->word != b->word || a->bit != b->bit,
                          "%s: %s %s", cpu->ns, a->name, b->name);
        }
}
END_TEST

/* Name of the level, or of version minor 8.x, below the one that needs this flag. */
static void check_need(const struct ocv_cpu *cpu, size_t level, const char *need)
{
    struct everything set;
    struct ocv_cpu_answer answer;
    char want[16];
    set_everything(cpu, &set, need, false);
    ocv_cpu_detect(cpu, &set.facts, &answer);
    if (cpu != &ocv_cpu_aarch64)
        snprintf(want, sizeof(want), "%s", level > 0 ? cpu->levels[level - 1].name : "");
    else if (level >= 5) /* SVE2 is there */
        snprintf(want, sizeof(want), "9.%zua", level - 5);
    else
        snprintf(want, sizeof(want), level ? "8.%zua" : "8a", level);
    ck_assert_msg(strcmp(first_value(&answer, cpu->feature), want) == 0, "%s without %s: %s not %s",
                  cpu->ns, need, first_value(&answer, cpu->feature), want);
}

START_TEST(each_level_needs_each_of_its_flags)
{
    const struct ocv_cpu *cpu = cpus[_i];
    for (size_t i = 0; i < cpu->n_levels; i++)
        for (size_t k = 0; k < OCV_CPU_NEEDS_MAX && cpu->levels[i].needs[k]; k++)
            check_need(cpu, i, cpu->levels[i].needs[k]);
}
END_TEST

static const struct {
    uint64_t base, extensions;
    const char *profile, *flags;
} hwprobes[] = {
    {1, 0x3, "rva20u64", ""},
    {1, 0x1, "", ""},                       /* no C */
    {0, 0x3, "", ""},                       /* no base behaviour */
    {1, 0x7, "rva20u64", "v"},              /* Linux 6.5 */
    {1, 0x3f, "rva20u64", "v zba zbb zbs"}, /* and the rest it knew */
    {1, 0x1001007b, "rva22u64", "zba zbb zbs zicboz zfhmin"},
    {1, 0x1000007b, "rva20u64", "zba zbb zbs zicboz zfhmin"}, /* no Zkt */
};

START_TEST(words_of_hwprobe)
{
    struct ocv_cpu_facts facts = {0};
    struct ocv_cpu_answer answer;
    char flags[256] = "";
    ocv_riscv64_hwprobe(hwprobes[_i].base, hwprobes[_i].extensions, &facts);
    ocv_cpu_detect(&ocv_cpu_riscv64, &facts, &answer);
    ck_assert_str_eq(facts.source, "hwprobe");
    ck_assert(!ocv_cpu_thin(&ocv_cpu_riscv64, &facts));
    ck_assert_str_eq(first_value(&answer, "profile"), hwprobes[_i].profile);
    for (size_t i = 0; i < answer.n; i++)
        if (strcmp(answer.items[i].value, "on") == 0)
            snprintf(flags + strlen(flags), sizeof(flags) - strlen(flags), "%s%s",
                     *flags ? " " : "", answer.items[i].feature);
    ck_assert_str_eq(flags, hwprobes[_i].flags);
}
END_TEST

static yaml_document_t vocabulary;

static yaml_node_t *node(int id)
{
    return yaml_document_get_node(&vocabulary, id);
}

static const char *text(const yaml_node_t *scalar)
{
    return (const char *)scalar->data.scalar.value;
}

static yaml_node_t *member(yaml_node_t *map, const char *key)
{
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
        if (strcmp(text(node(p->key)), key) == 0)
            return node(p->value);
    return NULL;
}

static size_t length(const yaml_node_t *list)
{
    return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

static yaml_node_t *item(yaml_node_t *list, size_t i)
{
    return node(list->data.sequence.items.start[i]);
}

static void load_vocabulary(void)
{
    yaml_parser_t parser;
    FILE *file = fopen("schema/vocabulary.yaml", "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert(yaml_parser_initialize(&parser));
    yaml_parser_set_input_file(&parser, file);
    ck_assert(yaml_parser_load(&parser, &vocabulary));
    yaml_parser_delete(&parser);
    fclose(file);
}

static yaml_node_t *find_namespace(const char *name)
{
    yaml_node_t *list = member(yaml_document_get_root_node(&vocabulary), "namespaces");
    for (size_t i = 0; i < length(list); i++)
        if (strcmp(text(member(item(list, i), "namespace")), name) == 0)
            return item(list, i);
    ck_abort_msg("no namespace %s", name);
}

static void check_value(yaml_node_t *values, const char *value)
{
    for (size_t i = 0; i < length(values); i++)
        if (strcmp(text(item(values, i)), value) == 0)
            return;
    ck_abort_msg("value %s is not in the vocabulary", value);
}

/* Both ways and in one order: features of the vocabulary and what the table can emit. */
START_TEST(vocabulary_is_the_table)
{
    const struct ocv_cpu *cpu = cpus[_i];
    load_vocabulary();
    yaml_node_t *entry = find_namespace(cpu->ns);
    ck_assert_ptr_null(member(entry, "documented"));
    yaml_node_t *features = member(entry, "features");
    yaml_node_t *first = item(features, 0);
    ck_assert_str_eq(text(member(first, "feature")), cpu->feature);
    struct everything set;
    struct ocv_cpu_answer answer;
    set_everything(cpu, &set, NULL, false);
    ocv_cpu_detect(cpu, &set.facts, &answer);
    size_t n = 1;
    for (size_t i = 0; i < answer.n; i++) {
        if (strcmp(answer.items[i].feature, cpu->feature) == 0) {
            check_value(member(first, "values"), answer.items[i].value);
            continue;
        }
        ck_assert_uint_lt(n, length(features));
        ck_assert_str_eq(answer.items[i].feature, text(member(item(features, n), "feature")));
        check_value(member(item(features, n), "values"), answer.items[i].value);
        n++;
    }
    ck_assert_uint_eq(n, length(features));
    yaml_document_delete(&vocabulary);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("cpu");
    TCase *tables = tcase_create("tables");
    tcase_add_loop_test(tables, bits_and_names_say_the_same, 0, (int)N_CPUS);
    tcase_add_loop_test(tables, two_flags_are_never_one_bit, 0, (int)N_CPUS);
    tcase_add_loop_test(tables, each_level_needs_each_of_its_flags, 0, (int)N_CPUS);
    tcase_add_loop_test(tables, vocabulary_is_the_table, 0, (int)N_CPUS);
    tcase_add_loop_test(tables, words_of_hwprobe, 0, (int)(sizeof(hwprobes) / sizeof(*hwprobes)));
    suite_add_tcase(suite, tables);
    return run_suite(suite);
}
