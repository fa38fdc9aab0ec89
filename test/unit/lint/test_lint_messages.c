/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What findings say of platforms, labels and names, and of images that nobody gets. */
#include "test/unit/lint/lint_util.h"

START_TEST(did_you_mean)
{
    expect("linux/amd64/x-a a habanna :: arch :: gaudi3\n", "OCV203",
           "did you mean habana :: arch :: gaudi3? variantctl index annotate REPO:TAG 'a=habana :: "
           "arch :: gaudi3'");
    expect("linux/amd64/x-a a wholly_own :: arch :: gaudi3\n", "OCV203", "no provider owns");
    expect("linux/amd64/x-a a x86_64 :: levle :: v3\n", "OCV204", "x86_64 :: level :: v3?");
    expect("linux/amd64/x-a a habana :: arch :: gaudi33\n", "OCV205", "gaudi3?");
    expect("linux/amd64/x-a a habana :: arch :: something\n", "OCV205", "known are gaudi3,");
    expect("linux/amd64/x-a a nvidia :: sm_arch :: sm_90\n", "OCV205", ":: 90_real?");
    expect("linux/amd64/x-a a nvidia :: sm_arch :: 90\n", "OCV205", ":: 90_real?");
    expect("linux/amd64/x-a a nvidia :: cuda_version_lower_bound :: 12.8.1\n", "OCV205",
           ":: 12.8?");
    expect("linux/amd64/x-a a nvidia :: cuda_version_lower_bound :: 128\n", "OCV205", ":: 12.8?");
    expect("linux/amd64/x-a a nvidia :: cuda_version :: 12.8\n", "OCV204",
           "did you mean nvidia :: cuda_version_lower_bound :: 12.8?");
    expect("linux/amd64/x-a a amd :: gfx_arch :: mi300\n", "OCV205", "amd :: gfx_arch :: gfx942?");
    expect("linux/amd64/x-a a amd :: gfx_arch :: radeon\n", "OCV205", "must match");
    expect("linux/amd64 -\n  label ai.backend.acelerators=cuda\n", "OCV408",
           "did you mean ai.backend.accelerators?");
    expect("linux/amd64 -\n  label ai.backend..nvidia.enabled=1\n", "OCV408", "empty part");
    expect("linux/amd64 -\n  label com.example.anything=1\n", "OCV408", NULL);
    expect("linux/amd64 -\n  label maintainer=me\n", "OCV408", NULL);
}
END_TEST

/* A command that is cut would take properties away. */
START_TEST(no_half_commands)
{
    static const struct {
        unsigned n;
        bool command;
    } cases[] = {{20, true}, {60, false}};
    for (size_t c = 0; c < 2; c++) {
        char text[4096];
        struct ocv_lint_report report;
        size_t at =
            (size_t)snprintf(text, sizeof(text), "linux/amd64/x-a a nvidia :: sm_arch :: sm_90");
        for (unsigned i = 0; i < cases[c].n; i++)
            at += (size_t)snprintf(text + at, sizeof(text) - at, ",own :: chip :: c%02u", i);
        snprintf(text + at, sizeof(text) - at, "\n");
        lint(text, &report);
        const char *hint = find(&report, "OCV205")->hint, *last = strchr(hint, '\'');
        ck_assert_ptr_nonnull(strstr(hint, "did you mean nvidia :: sm_arch :: 90_real?"));
        ck_assert_msg((last != NULL) == cases[c].command, "%s", hint);
        if (last) {
            ck_assert_ptr_nonnull(strstr(last, "own :: chip :: c19"));
            ck_assert_int_eq(hint[strlen(hint) - 1], '\'');
        }
        hint = find(&report, "OCV202")->hint;
        ck_assert_msg((strstr(hint, "c00, own") != NULL) == cases[c].command, "%s", hint);
        ocv_lint_report_free(&report);
    }
}
END_TEST

START_TEST(labels_of_other_programs)
{
    expect("linux/amd64 -\n  label ai.backend.service-ports=ipython:pty:3000,jupyter:http:8080\n",
           "OCV409", "service-ports");
    expect(
        "linux/amd64 -\n  label ai.backend.service-ports=ipython:preopen:3000,jupyter:http:8080\n",
        "OCV409", NULL);
    expect("linux/amd64 -\n  label ai.backend.role=compute\n", "OCV409", "COMPUTE");
    expect("linux/amd64 -\n  label ai.backend.resource.min.cuda.device=1\n", "OCV410", NULL);
    expect("linux/amd64/x-a a habana :: arch :: gaudi3\n"
           "  label ai.backend.resource.min.cuda.device=1\n",
           "OCV410", "nvidia");
    expect("linux/amd64/x-a a habana :: arch :: gaudi3\n"
           "  label ai.backend.resource.min.cuda.device=0\n",
           "OCV410", NULL);
    expect("linux/amd64/x-a a habana :: arch :: gaudi3\n"
           "  label ai.backend.accelerators=cuda,gaudi\n",
           "OCV410", NULL);
    expect("linux/amd64/x-a a x86_64 :: level :: v3\n  label ai.backend.accelerators=cuda\n",
           "OCV410", NULL);
}
END_TEST

START_TEST(shared_platforms_are_counted)
{
    expect("linux/amd64 null\nlinux/amd64 a habana :: arch :: gaudi2\n"
           "linux/amd64 b habana :: arch :: gaudi3\n",
           "OCV503", "3 entries for linux/amd64: 2 extra images on containerd 2.1 and newer");
    expect("linux/amd64 null\nlinux/arm64 null\n", "OCV503", NULL);
    /* versions of Windows are separate platforms */
    expect("windows/amd64 -\n  platform os.version=10.0.20348.1\n"
           "windows/amd64 -\n  platform os.version=10.0.17763.1\n",
           "OCV503", NULL);
    expect("windows/amd64 -\n  platform os.version=10.0.20348.1\n"
           "windows/amd64 -\n  platform os.version=10.0.20348.1\n",
           "OCV524",
           "like manifests[0] it has no label and no properties: every client takes that one for "
           "windows/amd64, and never this one");
    /* counted among those that share, it would be told twice */
    expect("linux/amd64 -\nlinux/amd64 -\n", "OCV503", NULL);
    expect("linux/amd64 -\nlinux/amd64 -\nlinux/amd64 a habana :: arch :: gaudi2\n", "OCV503",
           "2 entries for linux/amd64: 1 extra image");
}
END_TEST

START_TEST(a_platform_is_told_once)
{
    struct ocv_lint_report report;
    lint("linux/amd64/x-a a habana :: arch :: gaudi2\nlinux/amd64/x-b b habana :: arch :: gaudi3\n"
         "linux/amd64/x-c c habana :: arch :: gaudi\n",
         &report);
    ck_assert_uint_eq(report.n, 1);
    ck_assert_ptr_nonnull(find(&report, "OCV501"));
    ocv_lint_report_free(&report);
}
END_TEST

/* A limit is kept at the limit, and what another rule is about is left to it. */
START_TEST(what_is_right_is_silent)
{
    expect("linux/amd64 null\n  long-layer 4054\n", "OCV519", NULL);
    expect("linux/amd64 null\n  long-layer 4055\n", "OCV519", "4097 bytes");
    expect("linux/amd64/x-a a x86_64 :: level :: v4\n  config variant=v3\n", "OCV411", NULL);
    expect("linux/amd64/x-a a x86_64 :: level :: v2\n  config variant=v3\n", "OCV411", "v2");
    /* only where the index itself is signed */
    expect("linux/amd64 null\nlinux/amd64/x-a a habana :: arch :: gaudi2\nsigned 0\n", "OCV605",
           NULL);
    expect("linux/amd64 -\nunknown/unknown -\n  attests 0\n  config architecture=arm64\n", "OCV401",
           NULL);
    /* a real level before the label decides which is taken */
    expect("linux/amd64/v3 z habana :: arch :: gaudi2\n"
           "linux/amd64/v2 a habana :: arch :: gaudi2, habana :: arch :: gaudi3\n",
           "OCV121", NULL);
}
END_TEST

START_TEST(defaults_of_each_architecture)
{
    expect("linux/amd64 null\nlinux/arm64/x-a a habana :: arch :: gaudi2\n", "OCV501",
           "no default for linux/arm64: hosts that no variant fits find nothing, nor do Docker and "
           "containerd; crane, ko, kaniko and cosign take the first variant, whatever it needs");
    /* a build that carries properties is not a default */
    expect("linux/amd64 fat x86_64 :: level :: v2\n", "OCV501", "linux/amd64");
    expect("linux/amd64 -\nlinux/amd64/x-a a habana :: arch :: gaudi2\n", "OCV501", NULL);
}
END_TEST

START_TEST(reach_is_sound)
{
    static const char statics[] = "@static.priority order :: 1, order :: 2\n";
    static const struct {
        const char *namespaces, *a, *b;
        const char *hidden; /* label, or NULL */
    } cases[] = {
        /* B accepts all that A does, and only the label is left: alphabet */
        {"habana", "z habana :: arch :: gaudi3",
         "a habana :: arch :: gaudi2, habana :: arch :: gaudi3", "z is never chosen: a"},
        {"habana", "a habana :: arch :: gaudi3",
         "z habana :: arch :: gaudi2, habana :: arch :: gaudi3", NULL},
        /* A asks for more, and may rank higher by it */
        {"habana, x86_64", "z habana :: arch :: gaudi3, x86_64 :: level :: v3",
         "a habana :: arch :: gaudi3", NULL},
        {"x86_64, habana", "z habana :: arch :: gaudi3, x86_64 :: level :: v3",
         "a habana :: arch :: gaudi3", NULL},
        /* ... but not where a static namespace comes first */
        {"priority, habana, x86_64",
         "z habana :: arch :: gaudi3, priority :: order :: 2, x86_64 :: level :: v3",
         "a habana :: arch :: gaudi3, priority :: order :: 1", "z is never chosen"},
        {"habana, priority, x86_64",
         "z habana :: arch :: gaudi3, priority :: order :: 2, x86_64 :: level :: v3",
         "a habana :: arch :: gaudi3, priority :: order :: 1", "z is never chosen"},
        {"x86_64, priority, habana",
         "z habana :: arch :: gaudi3, priority :: order :: 2, x86_64 :: level :: v3",
         "a habana :: arch :: gaudi3, priority :: order :: 1", NULL},
        {"priority, habana", "a habana :: arch :: gaudi3, priority :: order :: 1",
         "z habana :: arch :: gaudi3, priority :: order :: 2", "z is never chosen: a"},
        /* B does not accept a host of A's */
        {"priority, habana",
         "z habana :: arch :: gaudi2, habana :: arch :: gaudi3, priority :: order :: 2",
         "a habana :: arch :: gaudi3, priority :: order :: 1", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 "%s@namespaces %s\nlinux/amd64 null\nlinux/amd64 %s\nlinux/amd64 %s\n",
                 strstr(cases[i].namespaces, "priority") ? statics : "", cases[i].namespaces,
                 cases[i].a, cases[i].b);
        expect(text, "OCV121", cases[i].hidden);
    }
}
END_TEST

/* Whatever lint calls unreachable, the resolver chooses on none of many hosts; and what it calls
 * separated by the label alone does tie on one. */
static json_t *host(unsigned n)
{
    static const char *const archs[] = {"gaudi3", "gaudi2", "gaudi"}, *const levels[] = {"v3",
                                                                                         "v2"};
    json_t *ns = json_array(), *values = json_array(), *other = json_array();
    for (unsigned i = 0; i < 3; i++) /* any subset, in either order */
        if (n >> i & 1)
            json_array_insert_new(values, n >> 3 & 1 ? 0 : json_array_size(values),
                                  json_string(archs[i]));
    for (unsigned i = 0; i < 2; i++)
        if (n >> (4 + i) & 1)
            json_array_append_new(other, json_string(levels[i]));
    if (json_array_size(values))
        json_array_append_new(ns, json_pack("{s:s, s:[{s:s, s:O}]}", "namespace", "habana",
                                            "features", "name", "arch", "values", values));
    if (json_array_size(other))
        json_array_append_new(ns, json_pack("{s:s, s:[{s:s, s:O}]}", "namespace", "x86_64",
                                            "features", "name", "level", "values", other));
    json_decref(values);
    json_decref(other);
    return json_pack("{s:s, s:{s:s, s:s}, s:o}", "schema", "dev.ocivariant.profile/v1", "platform",
                     "os", "linux", "architecture", "amd64", "namespaces", ns);
}

static bool chosen_somewhere(const char *bytes, const char *label)
{
    ocv_auto(ocv_index) index = parse_index(bytes);
    for (unsigned n = 0; n < 64; n++) {
        struct ocv_resolve_options options = {0};
        ocv_auto(ocv_profile) profile = profile_from(host(n));
        ocv_auto(ocv_decision) decision = resolve(index, profile, &options);
        const struct ocv_entry *entry = ocv_decision_selected(decision);
        if (entry && entry->label && !strcmp(entry->label, label))
            return true;
    }
    return false;
}

static void random_set(char *out, size_t size, unsigned *seed)
{
    static const char *const words[] = {"habana :: arch :: gaudi",  "habana :: arch :: gaudi2",
                                        "habana :: arch :: gaudi3", "priority :: order :: 1",
                                        "priority :: order :: 2",   "x86_64 :: level :: v2",
                                        "x86_64 :: level :: v3"};
    *seed = *seed * 1103515245u + 12345u;
    unsigned bits = *seed >> 16 & 0x7f;
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if ((bits ? bits : 1) >> i & 1)
            at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "", words[i]);
}

START_TEST(reach_agrees_with_the_resolver)
{
    static const char *const orders[] = {"priority, habana, x86_64", "habana, priority, x86_64",
                                         "x86_64, habana, priority"};
    unsigned seed = 7;
    size_t checked = 0;
    for (unsigned round = 0; round < 300; round++) {
        char text[2048], set[512];
        size_t at = (size_t)snprintf(text, sizeof(text),
                                     "@static.priority order :: 1, order :: 2\n@namespaces %s\n"
                                     "linux/amd64 null\n",
                                     orders[round % 3]);
        for (char label = 'a'; label < 'e'; label++) {
            random_set(set, sizeof(set), &seed);
            at += (size_t)snprintf(text + at, sizeof(text) - at, "linux/amd64/x-%c %c %s\n", label,
                                   label, set);
        }
        struct ocv_lint_report report;
        struct example *e = example_read(text);
        lint(text, &report);
        for (size_t i = 0; i < report.n; i++) {
            const struct ocv_lint_finding *f = &report.findings[i];
            char label[2] = {f->message[0], '\0'};
            if (f->rule != ocv_lint_rule(OCV_LINT_VARIANT_UNREACHABLE))
                continue;
            checked++;
            ck_assert_msg(!chosen_somewhere(e->bytes, label), "%s\n%s", f->message, text);
        }
        example_free(e);
        ocv_lint_report_free(&report);
    }
    ck_assert_uint_gt(checked, 20);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("lint messages");
    TCase *tcase = tcase_create("lint messages");
    tcase_add_unchecked_fixture(tcase, read_rules, free_rules);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, did_you_mean);
    tcase_add_test(tcase, no_half_commands);
    tcase_add_test(tcase, labels_of_other_programs);
    tcase_add_test(tcase, shared_platforms_are_counted);
    tcase_add_test(tcase, a_platform_is_told_once);
    tcase_add_test(tcase, what_is_right_is_silent);
    tcase_add_test(tcase, defaults_of_each_architecture);
    tcase_add_test(tcase, reach_is_sound);
    tcase_add_test(tcase, reach_agrees_with_the_resolver);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
