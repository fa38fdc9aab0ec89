/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels are unique per platform with its version and features: twins in other formats stand beside
 * the plain entry. Random indexes against what must hold of any of them. */
#include "test/unit/core_util.h"

#define WORLDS 400
#define FORMATS 3

static const char *const formats[FORMATS] = {"erofs", "nydus.remoteimage.v1", "stargz"};

static unsigned draw(unsigned *r, unsigned n)
{
    *r = *r * 1664525u + 1013904223u;
    return (*r >> 16) % n;
}

struct twin {
    unsigned label, features; /* features: bits of `formats` */
};

static void feature_text(unsigned bits, char *out, size_t size)
{
    out[0] = '\0';
    for (unsigned f = 0; f < FORMATS; f++)
        if (bits >> f & 1)
            snprintf(out + strlen(out), size - strlen(out), "%s%s", *out ? "," : "", formats[f]);
}

/* Each label with some of its formats, never one twice. */
static size_t random_twins(unsigned *r, struct twin *out)
{
    size_t n = 0;
    for (unsigned label = 0; label < 4; label++)
        for (unsigned bits = 0; bits < 1u << FORMATS; bits++)
            if (draw(r, 3) == 0)
                out[n++] = (struct twin){label, bits};
    for (size_t i = n; i > 1; i--) {
        size_t k = draw(r, (unsigned)i);
        struct twin t = out[k];
        out[k] = out[i - 1];
        out[i - 1] = t;
    }
    return n;
}

/* Label 0 is null; 3 is the best. `keep`: include only twins whose features are among these bits.
 */
static struct ocv_index *make_index(const struct twin *twins, size_t n, unsigned keep)
{
    static const char *const labels[] = {"null", "v1", "v2", "v3"};
    json_t *json = index_json("x86_64");
    size_t entries = 0;
    for (size_t i = 0; i < n; i++) {
        char text[128];
        if (twins[i].features & ~keep)
            continue;
        snprintf(text, sizeof(text), "x86_64 :: level :: %s", labels[twins[i].label]);
        add_entry(json, "linux/amd64", labels[twins[i].label], twins[i].label ? text : "");
        feature_text(twins[i].features, text, sizeof(text));
        if (*text)
            add_features(json, entries, text);
        entries++;
    }
    return index_from(json);
}

static struct ocv_profile *make_host(unsigned has)
{
    char text[128];
    char *json = quoted("{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux',"
                        "'architecture':'amd64'},'namespaces':[{'namespace':'x86_64','features':["
                        "{'name':'level','values':['v3','v2','v1']}]}]}");
    ocv_auto(ocv_profile) probed = parse_profile(json);
    ocv_auto(ocv_config) config = new_config();
    struct ocv_profile *profile = NULL;
    free(json);
    feature_text(has, text, sizeof(text));
    if (*text)
        set_config(config, "os_features", text);
    ck_assert_int_eq(ocv_config_override_profile(config, probed, &profile, NULL), OCV_OK);
    return profile;
}

static unsigned bits_of(unsigned features)
{
    return (unsigned)__builtin_popcount(features);
}

/* The best label that has an entry for the host, and of its entries the one with most features. */
static void assert_best(const struct twin *twins, size_t n, unsigned has,
                        const struct ocv_decision *d)
{
    const struct twin *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (!(twins[i].features & ~has) && (!best || twins[i].label > best->label ||
                                            (twins[i].label == best->label &&
                                             bits_of(twins[i].features) > bits_of(best->features))))
            best = &twins[i];
    const struct ocv_entry *chosen = ocv_decision_selected(d);
    ck_assert_int_eq(chosen != NULL, best != NULL);
    if (!best)
        return;
    ck_assert_uint_eq(chosen->platform.n_os_features, bits_of(best->features));
    ck_assert_int_eq(chosen->label[1] - '0', best->label ? (int)best->label : 'u' - '0');
}

START_TEST(twins_hold)
{
    unsigned r = (unsigned)_i + 1;
    struct twin twins[64];
    size_t n = random_twins(&r, twins);
    unsigned has = draw(&r, 1u << FORMATS);
    ocv_auto(ocv_index) all = make_index(twins, n, ~0u);
    ocv_auto(ocv_index) usable = make_index(twins, n, has);
    ocv_auto(ocv_profile) host = make_host(has);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(ocv_index_entry(all, i)->code, OCV_REJECT_NONE);
    ocv_auto(ocv_decision) d = resolve(all, host, NULL);
    assert_best(twins, n, has, d);
    /* what the host cannot read changes nothing */
    char *order = strdup(order_text(d));
    ocv_auto(ocv_decision) without = resolve(usable, host, NULL);
    ck_assert_str_eq(order_text(without), order);
    /* a label means all of its twins */
    struct ocv_resolve_options options = {.label = "v2"};
    ocv_auto(ocv_decision) asked = resolve(all, host, &options);
    size_t wanted = 0;
    for (size_t i = 0; i < n; i++)
        wanted += twins[i].label == 2 && !(twins[i].features & ~has);
    ck_assert_uint_eq(ocv_decision_order_count(asked), wanted);
    ck_assert_ptr_null(ocv_decision_order(asked, wanted));
    free(order);
}
END_TEST

/* What is one platform to readers, and what is not. */
static const struct {
    const char *a, *b, *version, *features_a, *features_b;
    bool twice;
} pairs[] = {
    {"linux/amd64/x-a", "linux/amd64/x-b", NULL, NULL, NULL, true},
    {"linux/amd64", "linux/amd64/v1", NULL, NULL, NULL, true},
    {"linux/arm64", "linux/arm64/v8", NULL, NULL, NULL, true},
    {"linux/arm/v6", "linux/arm/v7", NULL, NULL, NULL, false},
    {"linux/amd64/x-a", "linux/amd64/x-a", NULL, NULL, "erofs", false},
    {"linux/amd64/x-a", "linux/amd64/x-a", NULL, "erofs", "erofs", true},
    {"linux/amd64/x-a", "linux/amd64/x-a", NULL, "erofs,stargz", "stargz,erofs", true},
    {"linux/amd64/x-a", "linux/amd64/x-a", NULL, "erofs,stargz", "erofs", false},
    {"windows/amd64/x-a", "windows/amd64/x-a", "10.0.20348", NULL, NULL, false},
};

START_TEST(one_label_for_each_platform)
{
    json_t *json = index_json("n");
    add_entry(json, pairs[_i].a, "a", "n :: f :: 1");
    add_entry(json, pairs[_i].b, "a", "n :: f :: 1");
    json_t *second = json_array_get(json_object_get(json, "manifests"), 1);
    if (pairs[_i].version)
        json_object_set_new(json_object_get(second, "platform"), "os.version",
                            json_string(pairs[_i].version));
    if (pairs[_i].features_a)
        add_features(json, 0, pairs[_i].features_a);
    if (pairs[_i].features_b)
        add_features(json, 1, pairs[_i].features_b);
    ocv_auto(ocv_index) index = index_from(json);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(ocv_index_entry(index, i)->code,
                         pairs[_i].twice ? OCV_REJECT_DUPLICATE_LABEL : OCV_REJECT_NONE);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("twins");
    TCase *tcase = tcase_create("twins");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, twins_hold, 0, WORLDS);
    tcase_add_loop_test(tcase, one_label_for_each_platform, 0, sizeof(pairs) / sizeof(*pairs));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
