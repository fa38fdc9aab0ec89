/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schema/hints.yaml says nothing that schema/vocabulary.yaml and the driver table do not know, and
 * every CUDA version that a driver of that table brings has its line. */
#include "lib/probe/providers/nvidia/nvidia.h"
#include "test/unit/core_util.h"

#include "gen/hints.h"

#define N_HINTS (sizeof(ocv_hints) / sizeof(*ocv_hints))
#define LOWER "nvidia :: cuda_version_lower_bound :: "
#define UPPER "nvidia :: cuda_version_upper_bound :: "

/* "namespace :: feature" of the vocabulary, each in a line. */
static char features[65536];

static void read_vocabulary(void)
{
    char line[1024], ns[64] = "", feature[64];
    size_t at = 0;
    FILE *file = fopen("schema/vocabulary.yaml", "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "  - namespace: %63s", ns) == 1)
            continue;
        if (sscanf(line, "      - feature: %63s", feature) == 1)
            at += (size_t)snprintf(features + at, sizeof(features) - at, "%s :: %s ::\n", ns,
                                   feature);
        ck_assert_uint_lt(at, sizeof(features));
    }
    fclose(file);
    ck_assert_uint_gt(at, 500);
}

static const struct hint_entry *find(const char *property)
{
    for (size_t i = 0; i < N_HINTS; i++)
        if (strcmp(ocv_hints[i].property, property) == 0)
            return &ocv_hints[i];
    return NULL;
}

/* A property is looked up by halves. */
START_TEST(sorted_by_bytes)
{
    for (size_t i = 1; i < N_HINTS; i++)
        ck_assert_str_lt(ocv_hints[i - 1].property, ocv_hints[i].property);
}
END_TEST

START_TEST(features_are_known)
{
    read_vocabulary();
    for (size_t i = 0; i < N_HINTS; i++) {
        char feature[160];
        const char *value = strrchr(ocv_hints[i].property, ':');
        snprintf(feature, sizeof(feature), "%.*s\n", (int)(value + 1 - ocv_hints[i].property),
                 ocv_hints[i].property);
        ck_assert_msg(strstr(features, feature) != NULL, "%s", ocv_hints[i].property);
        ck_assert_msg(strcmp(value + 2, "*") == 0 ||
                          ocv_property_value_valid(value + 2, strlen(value + 2)),
                      "%s", ocv_hints[i].property);
        ck_assert_int_gt((int)strlen(ocv_hints[i].needs), 0);
    }
}
END_TEST

/* The first version of a major needs the driver from which on NVIDIA promises all of that major
 * ("CUDA Compatibility", Minor Version Compatibility, Table 1). */
START_TEST(majors_begin_where_nvidia_says)
{
    static const char *const table[][2] = {{LOWER "11.0", "driver 450 or newer"},
                                           {LOWER "12.0", "driver 525 or newer"},
                                           {LOWER "13.0", "driver 580 or newer"}};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        const struct hint_entry *hint = find(table[i][0]);
        ck_assert_msg(hint != NULL, "%s", table[i][0]);
        ck_assert_str_eq(hint->needs, table[i][1]);
    }
}
END_TEST

/* Both bounds name the driver that the provider takes the version from. */
START_TEST(drivers_agree_with_the_provider)
{
    unsigned n = 0;
    struct ocv_cuda_version before = {0};
    for (unsigned driver = 450; driver < 1000; driver++) {
        bool newer;
        char property[96], needs[64];
        struct ocv_cuda_version cuda = ocv_nvidia_cuda(driver, &newer);
        if (newer)
            break;
        if (cuda.major == before.major && cuda.minor == before.minor)
            continue;
        before = cuda;
        snprintf(property, sizeof(property), LOWER "%u.%u", cuda.major, cuda.minor);
        snprintf(needs, sizeof(needs), "driver %u or newer", driver);
        ck_assert_msg(find(property) != NULL, "%s", property);
        ck_assert_str_eq(find(property)->needs, needs);
        snprintf(property, sizeof(property), UPPER "%u.%u", cuda.major, cuda.minor);
        snprintf(needs, sizeof(needs), "a driver older than %u", driver);
        ck_assert_msg(find(property) != NULL, "%s", property);
        ck_assert_str_eq(find(property)->needs, needs);
        n++;
    }
    ck_assert_uint_ge(n, 22);
}
END_TEST

/* Machine code of every chip that the provider lists says which GPU runs it. */
START_TEST(compute_capabilities_have_a_line)
{
    for (unsigned device = 0; device < 0x10000; device++) {
        bool guess;
        char property[64];
        unsigned sm = ocv_nvidia_sm((uint16_t)device, &guess);
        if (sm < 50)
            continue;
        snprintf(property, sizeof(property), "nvidia :: sm_arch :: %u_real", sm);
        ck_assert_msg(find(property) != NULL, "%s", property);
    }
}
END_TEST

RUN_TESTS("hints", sorted_by_bytes, features_are_known, majors_begin_where_nvidia_says,
          drivers_agree_with_the_provider, compute_capabilities_have_a_line)
