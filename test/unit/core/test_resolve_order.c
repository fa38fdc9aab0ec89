/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties of the order on random input from a fixed seed, and a second, plain implementation of
 * it: one rank vector per variant over the host's features, missing = worst, ties by label. */
#include "lib/core/core_internal.h"
#include "test/unit/core_util.h"

#define CASES 2000
#define NAMESPACES 4 /* a..d; e is never declared */
#define FEATURES 3
#define VALUES 5
#define VARIANTS 12
#define MISSING 1000

struct random {
    uint64_t state;
};

/* splitmix64 */
static unsigned draw(struct random *r, unsigned below)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % below);
}

struct world {
    int n_order, order[NAMESPACES];              /* declared namespaces, best first */
    int place[NAMESPACES + 1][FEATURES][VALUES]; /* of a value in the host's list, or MISSING */
    int feature_place[NAMESPACES + 1][FEATURES]; /* of the feature in its namespace, or MISSING */
    bool has[VARIANTS][NAMESPACES + 1][FEATURES][VALUES];
    int n_variants;
    char label[VARIANTS][8];
};

static void shuffle(struct random *r, int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)draw(r, (unsigned)i + 1), t = list[i];
        list[i] = list[k];
        list[k] = t;
    }
}

static void make_world(struct random *r, struct world *w)
{
    int features[FEATURES] = {0, 1, 2}, values[VALUES] = {0, 1, 2, 3, 4};
    memset(w, 0, sizeof(*w));
    for (int i = 0; i < NAMESPACES; i++)
        w->order[i] = i;
    shuffle(r, w->order, NAMESPACES);
    w->n_order = 1 + (int)draw(r, NAMESPACES);
    for (int n = 0; n <= NAMESPACES; n++) {
        shuffle(r, features, FEATURES);
        for (int f = 0; f < FEATURES; f++) {
            int listed = draw(r, 8) ? 1 + (int)draw(r, VALUES) : 0;
            w->feature_place[n][features[f]] = f;
            shuffle(r, values, VALUES);
            for (int v = 0; v < VALUES; v++)
                w->place[n][features[f]][values[v]] = v < listed ? v : MISSING;
        }
    }
    w->n_variants = 2 + (int)draw(r, VARIANTS - 2);
    for (int i = 0; i < w->n_variants; i++) {
        snprintf(w->label[i], sizeof(w->label[i]), "%c%d", 'a' + (char)draw(r, 3), i);
        for (unsigned k = 1 + draw(r, 6); k; k--) {
            unsigned n = draw(r, 40) ? draw(r, NAMESPACES) : NAMESPACES;
            if (draw(r, 3)) /* mostly the first namespaces, so that much is compatible */
                n = (unsigned)w->order[draw(r, (unsigned)w->n_order)];
            w->has[i][n][draw(r, FEATURES)][draw(r, VALUES)] = true;
        }
    }
}

/* Best supported value of a variant's feature, MISSING if it has none, -1 if none is supported. */
static int rank(const struct world *w, int variant, int n, int f)
{
    int best = MISSING;
    bool named = false;
    for (int v = 0; v < VALUES; v++) {
        if (!w->has[variant][n][f][v])
            continue;
        named = true;
        if (w->place[n][f][v] < best)
            best = w->place[n][f][v];
    }
    return named && best == MISSING ? -1 : best;
}

static bool declared(const struct world *w, int n)
{
    for (int i = 0; i < w->n_order; i++)
        if (w->order[i] == n)
            return true;
    return false;
}

static bool compatible(const struct world *w, int variant)
{
    for (int n = 0; n <= NAMESPACES; n++)
        for (int f = 0; f < FEATURES; f++) {
            int best = rank(w, variant, n, f);
            if (best < 0 || (best != MISSING && !declared(w, n)))
                return false;
        }
    return true;
}

static bool better(const struct world *w, int a, int b)
{
    for (int i = 0; i < w->n_order; i++)
        for (int place = 0; place < FEATURES; place++)
            for (int f = 0; f < FEATURES; f++) {
                int n = w->order[i];
                if (w->feature_place[n][f] != place)
                    continue;
                int x = rank(w, a, n, f), y = rank(w, b, n, f);
                if (x != y)
                    return x < y;
            }
    return strcmp(w->label[a], w->label[b]) < 0;
}

static void plain_order(const struct world *w, char *out, size_t size)
{
    int list[VARIANTS], n = 0;
    for (int i = 0; i < w->n_variants; i++) {
        if (!compatible(w, i))
            continue;
        int at = n++;
        for (; at && better(w, i, list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = i;
    }
    out[0] = '\0';
    for (int i = 0; i < n; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", i ? " " : "", w->label[list[i]]);
    }
}

static struct ocv_profile *world_profile(const struct world *w)
{
    json_t *list = json_array();
    for (int n = 0; n <= NAMESPACES; n++) {
        json_t *features = json_array();
        for (int place = 0; place < FEATURES; place++)
            for (int f = 0; f < FEATURES; f++) {
                if (w->feature_place[n][f] != place)
                    continue;
                json_t *values = json_array();
                for (int at = 0; at < VALUES; at++)
                    for (int v = 0; v < VALUES; v++)
                        if (w->place[n][f][v] == at)
                            json_array_append_new(values, json_sprintf("%d", v));
                json_array_append_new(
                    features,
                    json_pack("{s:o, s:o}", "name", json_sprintf("f%d", f), "values", values));
            }
        json_array_append_new(list, json_pack("{s:o, s:o}", "namespace",
                                              json_sprintf("%c", 'a' + n), "features", features));
    }
    return profile_from(json_pack("{s:{s:s, s:s}, s:o}", "platform", "os", "linux", "architecture",
                                  "amd64", "namespaces", list));
}

static void variant_text(const struct world *w, int variant, char *out, size_t size)
{
    out[0] = '\0';
    for (int n = 0; n <= NAMESPACES; n++)
        for (int f = 0; f < FEATURES; f++)
            for (int v = 0; v < VALUES; v++) {
                size_t used = strlen(out);
                if (w->has[variant][n][f][v])
                    snprintf(out + used, size - used, "%s%c :: f%d :: %d", used ? ", " : "",
                             'a' + n, f, v);
            }
}

/* `sequence`: which variants, in which order. */
static struct ocv_index *world_index(const struct world *w, const int *sequence, int n)
{
    char text[2048] = "";
    for (int i = 0; i < w->n_order; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%c", i ? ", " : "", 'a' + w->order[i]);
    }
    json_t *index = index_json(text);
    for (int i = 0; i < n; i++) {
        variant_text(w, sequence[i], text, sizeof(text));
        add_entry(index, "linux/amd64", w->label[sequence[i]], text);
    }
    return index_from(index);
}

START_TEST(test_plain_implementation_agrees)
{
    struct random r = {20261121};
    size_t compatible_seen = 0, rejected_seen = 0;
    for (int i = 0; i < CASES; i++) {
        struct world w;
        char expected[512];
        int sequence[VARIANTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        make_world(&r, &w);
        plain_order(&w, expected, sizeof(expected));
        ocv_auto(ocv_profile) profile = world_profile(&w);
        ocv_auto(ocv_index) index = world_index(&w, sequence, w.n_variants);
        ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
        ck_assert_msg(!strcmp(order_text(d), expected), "case %d: %s, expected %s", i,
                      order_text(d), expected);
        compatible_seen += ocv_decision_order_count(d);
        rejected_seen += ocv_decision_rejected_count(d);
    }
    ck_assert_uint_gt(compatible_seen, CASES); /* the generator reaches both sides */
    ck_assert_uint_gt(rejected_seen, CASES);
}
END_TEST

START_TEST(test_entry_order_means_nothing)
{
    struct random r = {42};
    for (int i = 0; i < 300; i++) {
        struct world w;
        int sequence[VARIANTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        char before[512];
        make_world(&r, &w);
        ocv_auto(ocv_profile) profile = world_profile(&w);
        ocv_auto(ocv_index) index = world_index(&w, sequence, w.n_variants);
        ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
        snprintf(before, sizeof(before), "%s", order_text(d));
        shuffle(&r, sequence, w.n_variants);
        ocv_auto(ocv_index) other = world_index(&w, sequence, w.n_variants);
        ocv_auto(ocv_decision) again = resolve(other, profile, NULL);
        ck_assert_str_eq(order_text(again), before);
    }
}
END_TEST

/* Leaving out the incompatible variants, or any that did not win, changes nothing above them. */
START_TEST(test_others_do_not_matter)
{
    struct random r = {7};
    for (int i = 0; i < 300; i++) {
        struct world w;
        int sequence[VARIANTS], n = 0;
        make_world(&r, &w);
        ocv_auto(ocv_profile) profile = world_profile(&w);
        for (int k = 0; k < w.n_variants; k++)
            if (compatible(&w, k))
                sequence[n++] = k;
        ocv_auto(ocv_index) index = world_index(&w, sequence, n);
        ocv_auto(ocv_decision) d = resolve(index, profile, NULL);
        int all[VARIANTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        char alone[512];
        snprintf(alone, sizeof(alone), "%s", order_text(d));
        ocv_auto(ocv_index) full = world_index(&w, all, w.n_variants);
        ocv_auto(ocv_decision) both = resolve(full, profile, NULL);
        ck_assert_str_eq(order_text(both), alone);
    }
}
END_TEST

/* A profile with one device that has the namespace's lists gives the same result as one without
 * devices. */
START_TEST(test_one_device_is_no_device)
{
    struct random r = {99};
    for (int i = 0; i < 200; i++) {
        struct world w;
        int all[VARIANTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
        char expected[512];
        size_t k;
        json_t *ns;
        make_world(&r, &w);
        plain_order(&w, expected, sizeof(expected));
        ocv_auto(ocv_profile) profile = world_profile(&w);
        json_t *json = json_deep_copy(profile->root);
        json_array_foreach(json_object_get(json, "namespaces"), k, ns)
        {
            json_t *device =
                json_pack("{s:s, s:O}", "id", "d", "features", json_object_get(ns, "features"));
            json_object_set_new(ns, "devices", json_pack("[O, o]", device, device));
        }
        ocv_auto(ocv_profile) with = profile_from(json);
        ocv_auto(ocv_index) index = world_index(&w, all, w.n_variants);
        ocv_auto(ocv_decision) d = resolve(index, with, NULL);
        ck_assert_str_eq(order_text(d), expected);
    }
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("resolve order");
    TCase *tcase = tcase_create("random");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_plain_implementation_agrees);
    tcase_add_test(tcase, test_entry_order_means_nothing);
    tcase_add_test(tcase, test_others_do_not_matter);
    tcase_add_test(tcase, test_one_device_is_no_device);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
