/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schema/vocabulary.yaml against what the providers say of every machine that the tests have:
 * nothing is emitted that is not in it, in its order, and everything in it is emitted by some
 * machine of the repository or marked as documented. */
#include "lib/probe/declarative/declarative.h"
#include "test/unit/machines/machines.h"

#include <regex.h>

#define ENTRIES_MAX 2048

/* A value of a list, or a pattern. */
struct entry {
    const char *ns, *feature;
    const char *value; /* NULL: the pattern */
    regex_t pattern;
    bool documented, emitted;
};

static struct ocv_yaml *vocabulary;
static struct entry entries[ENTRIES_MAX];
static size_t n_entries;
static size_t n_probed;

static bool is_documented(const struct ocv_yaml *item, const char *value)
{
    const struct ocv_yaml *mark = ocv_yaml_get(item, "documented");
    if (!mark || mark->type == OCV_YAML_SCALAR)
        return mark && strcmp(mark->text, "true") == 0;
    return value && ocv_yaml_find(mark, value) >= 0;
}

static struct entry *add_entry(const struct ocv_yaml *ns, const struct ocv_yaml *feature,
                               const char *value)
{
    ck_assert_uint_lt(n_entries, ENTRIES_MAX);
    struct entry *entry = &entries[n_entries++];
    entry->ns = ocv_yaml_text(ns, "namespace");
    entry->feature = ocv_yaml_text(feature, "feature");
    entry->value = value;
    entry->documented = is_documented(ns, NULL) || is_documented(feature, value);
    return entry;
}

static void read_feature(const struct ocv_yaml *ns, const struct ocv_yaml *feature)
{
    const struct ocv_yaml *values = ocv_yaml_get(feature, "values");
    const char *pattern = ocv_yaml_text(feature, "pattern");
    ck_assert_msg(!values != !pattern, "%zu: needs values or a pattern", feature->line);
    ck_assert_ptr_nonnull(ocv_yaml_text(feature, "meaning"));
    if (pattern)
        ck_assert_int_eq(
            regcomp(&add_entry(ns, feature, NULL)->pattern, pattern, REG_EXTENDED | REG_NOSUB), 0);
    for (const struct ocv_yaml *v = values ? values->first : NULL; v; v = v->next)
        add_entry(ns, feature, v->text);
    /* what is marked exists */
    const struct ocv_yaml *mark = ocv_yaml_get(feature, "documented");
    for (const struct ocv_yaml *v = mark ? mark->first : NULL; v; v = v->next)
        ck_assert_msg(ocv_yaml_find(values, v->text) >= 0, "%zu: %s", v->line, v->text);
}

static void read_vocabulary(void)
{
    struct ocv_error err = {0};
    ocv_auto_buffer text;
    char block[16384];
    ocv_buffer_init(&text, 1024 * 1024);
    FILE *file = fopen("schema/vocabulary.yaml", "rb");
    ck_assert_ptr_nonnull(file);
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;)
        ck_assert_int_eq(ocv_buffer_append(&text, block, n, &err), 0);
    fclose(file);
    ck_assert_msg(ocv_yaml_read("vocabulary.yaml", text.data, text.len, &vocabulary, &err) == 0,
                  "%s", err.message);
    const struct ocv_yaml *ns = ocv_yaml_get(vocabulary, "namespaces")->first;
    for (; ns; ns = ns->next)
        for (const struct ocv_yaml *f = ocv_yaml_get(ns, "features")->first; f; f = f->next)
            read_feature(ns, f);
    make_root();
}

static void forget_vocabulary(void)
{
    remove_root();
    ocv_yaml_free(vocabulary);
}

/* Its place in the vocabulary; all values of a pattern share one. */
static size_t find_entry(const char *ns, const char *feature, const char *value)
{
    for (size_t i = 0; i < n_entries; i++) {
        const struct entry *e = &entries[i];
        if (strcmp(e->ns, ns) == 0 && strcmp(e->feature, feature) == 0 &&
            (e->value ? strcmp(e->value, value) == 0
                      : regexec(&e->pattern, value, 0, NULL, 0) == 0))
            return i;
    }
    return n_entries;
}

/* Features of a namespace or device: each value is in the vocabulary, in its order. */
static void check_features(const char *machine, const char *ns, const json_t *object)
{
    json_t *feature, *value;
    size_t i, k, last = 0;
    json_array_foreach(json_object_get(object, "features"), i, feature)
    {
        const char *name = string_at(feature, "name");
        json_array_foreach(json_object_get(feature, "values"), k, value)
        {
            const char *text = json_string_value(value);
            size_t at = find_entry(ns, name, text);
            ck_assert_msg(at < n_entries, "%s: '%s :: %s :: %s' is not in the vocabulary", machine,
                          ns, name, text);
            ck_assert_msg(at >= last, "%s: '%s :: %s :: %s' is out of order", machine, ns, name,
                          text);
            ck_assert_msg(!entries[at].documented,
                          "%s: '%s :: %s :: %s' is emitted: take the mark 'documented' away",
                          machine, ns, name, text);
            entries[at].emitted = true;
            last = at;
        }
    }
}

static void check_profile(const char *machine, const json_t *profile)
{
    json_t *ns, *device;
    size_t i, k;
    n_probed++;
    json_array_foreach(json_object_get(profile, "namespaces"), i, ns)
    {
        const char *name = string_at(ns, "namespace");
        ck_assert_msg(strcmp(string_at(ns, "status"), "failed") != 0, "%s: %s: %s", machine, name,
                      string_at(ns, "error"));
        check_features(machine, name, ns);
        json_array_foreach(json_object_get(ns, "devices"), k, device)
        {
            check_features(machine, name, device);
        }
    }
}

static void check_with(const char *machine, const struct ocv_probe_options *options)
{
    struct ocv_error err = {0};
    json_t *profile = NULL;
    ck_assert_msg(probe_status(options, &profile, &err) == 0, "%s: %s", machine, err.message);
    check_profile(machine, profile);
    json_decref(profile);
}

typedef void (*on_path)(const char *path);

static void each_path(const char *directory, on_path call)
{
    struct dirent **names;
    char path[1024];
    int n = scandir(directory, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            call(path);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

/* A processor's CPUID in a machine without anything else, or a directory that is a machine. */
static void check_path(const char *path)
{
    struct stat st;
    const char *dot = strrchr(path, '.');
    struct ocv_probe_options options = {0};
    if (dot && strcmp(dot, ".cpuid") == 0)
        options.cpuid = path;
    else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        options.sysroot = path;
    else
        return;
    check_with(path, &options);
}

static void check_each_path(const char *directory)
{
    each_path(directory, check_path);
}

/* What images out there name, so that it can never be renamed. */
static const char *const fixed[][2] = {
    {"rebellions", "atom atom_plus atom_max rebel"},
    {"furiosa", "warboy renegade renegade_s renegade_max"},
    {"habana", "gaudi gaudi2 gaudi3"},
    {"tpu", "v2 v3 v4 v5e v5p v6e v7x"},
    {"neuron", "inf1 inf2 trn1 trn2 trn3"},
    {"tenstorrent", "grayskull wormhole blackhole"},
};

static void check_fixed_names(void)
{
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        char values[128], *rest = values;
        snprintf(values, sizeof(values), "%s", fixed[i][1]);
        for (const char *value; (value = next_word(&rest));) {
            size_t at = find_entry(fixed[i][0], "arch", value);
            ck_assert_msg(at < n_entries && entries[at].emitted, "%s: %s", fixed[i][0], value);
        }
    }
    static const char *const ascend[] = {"npu_type", "driver_version", "cann_version"};
    for (size_t i = 0; i < 3; i++) {
        size_t at = find_entry("ascend", ascend[i], i ? "8.5.0" : "910b");
        ck_assert_msg(at < n_entries && entries[at].emitted, "%s", ascend[i]);
    }
}

START_TEST(everything_is_emitted_or_documented)
{
    size_t missing = 0;
    check_each_path("test/data/cpuid");
    each_path("test/data/cpuinfo", check_each_path);
    for (size_t i = 0; i < n_machines; i++) {
        json_t *profile = probe_machine(&machines[i]);
        check_profile(machines[i].name, profile);
        json_decref(profile);
    }
    check_fixed_names();
    for (size_t i = 0; i < n_entries; i++)
        if (!entries[i].emitted && !entries[i].documented && ++missing)
            printf("no machine gives '%s :: %s :: %s'\n", entries[i].ns, entries[i].feature,
                   entries[i].value ? entries[i].value : "(pattern)");
    fflush(stdout); /* a failed test ends without it */
    ck_assert_msg(missing == 0, "%zu entries: give them a machine, or mark them as documented",
                  missing);
    ck_assert_uint_gt(n_probed, 100);
    ck_assert_uint_gt(n_entries, 300);
}
END_TEST

START_TEST(recorded_machines_keep_to_it)
{
    static const char *const families[] = {"cpuid", "cpuinfo", "kfd", "npu", "pci"};
    const char *directory = getenv("OCV_FIXTURES");
    char path[512];
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory ? directory : "../shared/fixtures",
                 families[i]);
        if (access(path, R_OK) == 0)
            check_each_path(path);
        else
            printf("skipped: no recorded machines of %s\n", families[i]);
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("vocabulary");
    TCase *tcase = tcase_create("vocabulary");
    read_machines();
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, read_vocabulary, forget_vocabulary);
    tcase_add_test(tcase, everything_is_emitted_or_documented);
    tcase_add_test(tcase, recorded_machines_keep_to_it);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
