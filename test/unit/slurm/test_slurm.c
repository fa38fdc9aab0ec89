/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Features of Slurm's nodes, and the constraint that an index puts on them. */
#include "lib/internal/slurm/slurm.h"

#include "test/unit/core_util.h"

#define AMD64 "x86_64::level::v2,x86_64::level::v1"

static char told[4096];

static void tell(void *data, const struct ocv_entry *entry, const char *features)
{
    (void)data;
    size_t at = strlen(told);
    snprintf(told + at, sizeof(told) - at, "%s%s=%s", at ? " " : "",
             entry->label ? entry->label : "-", features);
}

/* The alternatives of an index for lines of features, or the error. Static memory. */
static const char *alternatives(const struct ocv_index *index, const char *features, bool brief)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_slurm_nodes) nodes = NULL;
    ocv_auto_buffer out;
    struct ocv_slurm_how how = {.visit = tell, .use_short = brief};
    ocv_buffer_init(&out, 65536);
    told[0] = '\0';
    ck_assert_msg(ocv_slurm_nodes_read(features, strlen(features), "amd64", &nodes, &err) == OCV_OK,
                  "%s", err.message);
    int status = ocv_slurm_constraint(nodes, index, &how, &out, &err);
    if (status < 0)
        snprintf(told, sizeof(told), "error %d, %zu left out", status, how.left_out);
    else
        ck_assert_ptr_nonnull(out.data);
    return told;
}

static struct ocv_index *gpu_index(void)
{
    json_t *json = index_json("accel, x86_64");
    add_entry(json, "linux/amd64/x-a", "a", "accel :: arch :: a2, accel :: rt :: 3");
    add_entry(json, "linux/amd64/x-b", "b",
              "accel :: arch :: a1, accel :: arch :: a2, accel :: rt :: 2");
    add_entry(json, "linux/amd64/x-c", "c", "x86_64 :: level :: v2");
    add_entry(json, "linux/arm64/x-c", "c", "accel :: arch :: a2");
    return index_from(json);
}

/* Best first; each only where some kind runs it, and never where an earlier one has all its nodes.
 */
START_TEST(test_alternatives)
{
    ocv_auto(ocv_index) index = gpu_index();
    const char *new = "accel::arch::a2,accel::rt::3,accel::rt::2," AMD64 "\n";
    const char *old = "accel::arch::a1,accel::rt::2," AMD64 "\n";
    char both[512];
    snprintf(both, sizeof(both), "%s%s(null)\nib,gpu,::,a::b,A::b::c\n", new, old);
    ck_assert_str_eq(alternatives(index, new, false), "a=accel::arch::a2&accel::rt::3");
    ck_assert_str_eq(alternatives(index, old, false), "b=accel::arch::a1&accel::rt::2");
    ck_assert_str_eq(alternatives(index, both, false),
                     "a=accel::arch::a2&accel::rt::3 b=accel::arch::a1&accel::rt::2 "
                     "c=x86_64::level::v2");
    ck_assert_str_eq(alternatives(index, "(null)\n", false), "error -10, 0 left out");
    ck_assert_str_eq(alternatives(index, "", false), "error -10, 0 left out");
}
END_TEST

/* Another architecture with the same features is told apart by the CPU's; where nothing tells it,
 * the alternative is left out. */
START_TEST(test_told_apart)
{
    ocv_auto(ocv_index) index = gpu_index();
    ck_assert_str_eq(alternatives(index,
                                  "accel::arch::a2,aarch64::version::8a\n"
                                  "accel::arch::a2,x86_64::level::v1\n",
                                  false),
                     "c=accel::arch::a2&aarch64::version::8a");
    json_t *json = index_json("accel");
    add_entry(json, "linux/amd64/x-c", "c", "accel :: arch :: a2");
    ocv_auto(ocv_index) plain = index_from(json);
    ck_assert_str_eq(
        alternatives(plain, "accel::arch::a2\naccel::arch::a2,aarch64::version::8a\n", false),
        "error -10, 1 left out");
}
END_TEST

START_TEST(test_short)
{
    struct ocv_error err = {0};
    char one[OCV_SLURM_SHORT_MAX], two[OCV_SLURM_SHORT_MAX], text[512];
    ocv_auto(ocv_index) index = gpu_index();
    ck_assert_int_eq(ocv_slurm_short("accel::arch::a1", one, &err), OCV_OK);
    ck_assert_int_eq(ocv_slurm_short("accel::rt::2", two, &err), OCV_OK);
    ck_assert_uint_eq(strlen(one), 9);
    ck_assert_str_ne(one, two);
    snprintf(text, sizeof(text), "accel::arch::a1,accel::rt::2,%s,%s\n", one, two);
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "b=%s&%s", one, two);
    ck_assert_str_eq(alternatives(index, text, true), wanted);
    ck_assert_str_eq(alternatives(index, "accel::arch::a1,accel::rt::2\n", true),
                     "error -4, 0 left out");
}
END_TEST

/* A value of devices counts where all have it. */
START_TEST(test_features)
{
    struct ocv_error err = {0};
    char *text = quoted(
        "{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux','architecture':'amd64'},"
        "'namespaces':[{'namespace':'accel','features':[{'name':'arch','values':['a2','a1']},"
        "{'name':'rt','values':['3']}],'devices':[{'id':'d0','features':[{'name':'arch','values':["
        "'a2','a1']}]},{'id':'d1','features':[{'name':'arch','values':['a1']}]},{'id':'d2',"
        "'secondary':true,'features':[{'name':'arch','values':['a0']}]}]}]}");
    ocv_auto(ocv_profile) profile = parse_profile(text);
    ocv_auto_buffer out, both;
    ocv_buffer_init(&out, 4096);
    ocv_buffer_init(&both, 4096);
    ck_assert_int_eq(ocv_slurm_features(profile, false, &out, &err), OCV_OK);
    ck_assert_str_eq(out.data, "accel::arch::a1,accel::rt::3");
    ck_assert_int_eq(ocv_slurm_features(profile, true, &both, &err), OCV_OK);
    ck_assert_uint_eq(both.len, out.len + 20);
    ck_assert_int_eq(strncmp(both.data, out.data, out.len), 0);
    free(text);
}
END_TEST

START_TEST(test_limits)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_slurm_nodes) nodes = NULL;
    size_t room = (size_t)16 * (OCV_SLURM_FEATURES_MAX + 2), at = 0;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
    for (unsigned i = 0; i <= OCV_SLURM_FEATURES_MAX; i++)
        at += (size_t)snprintf(text + at, room - at, "a::b::%u,", i);
    ck_assert_int_eq(ocv_slurm_nodes_read(text, at, "amd64", &nodes, &err), OCV_ERR_DATA);
    *strrchr(text, 'a') = '\0';
    ck_assert_int_eq(ocv_slurm_nodes_read(text, strlen(text), "amd64", &nodes, &err), OCV_OK);
    ck_assert_uint_eq(ocv_slurm_nodes_count(nodes), 1);
    memset(text, '\n', room);
    ocv_slurm_nodes_free(nodes);
    nodes = NULL;
    ck_assert_int_eq(ocv_slurm_nodes_read(text, OCV_SLURM_KINDS_MAX + 1, "amd64", &nodes, &err),
                     OCV_ERR_DATA);
    ck_assert_int_eq(ocv_slurm_nodes_read("a::b::c\0x", 9, "amd64", &nodes, &err), OCV_ERR_DATA);
    free(text);
}
END_TEST

RUN_TESTS("slurm", test_alternatives, test_told_apart, test_short, test_features, test_limits)
