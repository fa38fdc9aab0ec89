/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every rule of schema/lint-rules.yaml finds something in its bad example, and nothing at all is
 * found in its good one; places, settings, corrections and formats. */
#include "test/unit/lint_example.h"

#include "lib/lint/lint_internal.h"

static struct ocv_tag_rules *tag_rules;

static void read_rules(void)
{
    ck_assert_int_eq(ocv_tag_rules_new(&tag_rules, NULL), OCV_OK);
    ck_assert_int_eq(ocv_tag_rules_load(tag_rules, "plugins/tags.d", NULL, NULL), OCV_OK);
}

static void free_rules(void)
{
    ocv_tag_rules_free(tag_rules);
}

static void lint_with(const char *text, const struct ocv_lint_config *config,
                      struct ocv_lint_report *report)
{
    struct example *e = example_read(text);
    struct ocv_lint_options options = {.config = config, .tag_rules = tag_rules};
    struct ocv_error err = {0};
    int status = ocv_lint_run(&e->input, &options, report, &err);
    ck_assert_msg(status == OCV_OK, "%s\n%s", err.message, text);
    example_free(e);
}

static void lint(const char *text, struct ocv_lint_report *report)
{
    *report = (struct ocv_lint_report){0};
    lint_with(text, NULL, report);
}

static const struct ocv_lint_finding *find(const struct ocv_lint_report *report, const char *id)
{
    for (size_t i = 0; i < report->n; i++)
        if (!strcmp(report->findings[i].rule->id, id))
            return &report->findings[i];
    return NULL;
}

/* ---- the table ---- */

/* A level that contradicts stands where no level should be. */
static bool goes_with(const char *id, const char *other)
{
    return !strcmp(id, "OCV207") && !strcmp(other, "OCV508");
}

/* The bad example shows its rule, and no other fault that a reader would have to think away. */
START_TEST(bad_example_is_found)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct ocv_lint_report report;
    lint(rule->bad, &report);
    const struct ocv_lint_finding *found = find(&report, rule->id);
    ck_assert_msg(found != NULL, "%s finds nothing in\n%s", rule->id, rule->bad);
    ck_assert_msg(rule->fix == OCV_LINT_FIX_NO || (found->hint && *found->hint),
                  "%s does not say what to do", rule->id);
    for (size_t i = 0; i < report.n; i++) {
        const char *id = report.findings[i].rule->id;
        ck_assert_msg(!strcmp(id, rule->id) || goes_with(rule->id, id),
                      "%s: its bad example has %s, too: %s\n%s", rule->id, id,
                      report.findings[i].message, rule->bad);
    }
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(good_example_is_clean)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct ocv_lint_report report;
    lint(rule->good, &report);
    if (report.n)
        ck_abort_msg("%s: its good example has %s: %s\n%s", rule->id, report.findings[0].rule->id,
                     report.findings[0].message, rule->good);
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(fix_removes_the_finding)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct example *e = example_read(rule->bad);
    struct ocv_error err = {0};
    size_t changes = 0, again = 0;
    ocv_auto_buffer out;
    ocv_auto_buffer more;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&more, OCV_MANIFEST_MAX);
    ocv_auto_buffer moved;
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    if (rule->fix == OCV_LINT_FIX_WRITE) {
        struct ocv_lint_report report = {0};
        struct ocv_lint_input input = {.name = "fixed", .file = true};
        ck_assert_msg(ocv_lint_fix(e->input.bytes, e->input.len, true, &out, &changes, &moved,
                                   &err) == OCV_OK,
                      "%s: %s", rule->id, err.message);
        ck_assert_msg(changes > 0, "%s: nothing changed", rule->id);
        input.bytes = out.data;
        input.len = out.len;
        ck_assert_int_eq(ocv_lint_run(&input, NULL, &report, &err), OCV_OK);
        ck_assert_msg(find(&report, rule->id) == NULL, "%s is still there:\n%s", rule->id,
                      out.data);
        ck_assert_int_eq(ocv_lint_fix(out.data, out.len, false, &more, &again, &moved, &err),
                         OCV_OK);
        ck_assert_msg(again == 0, "%s: a second run changes more:\n%s", rule->id, more.data);
        ocv_lint_report_free(&report);
    }
    example_free(e);
}
END_TEST

START_TEST(good_example_needs_no_fix)
{
    const struct ocv_lint_rule *rule = ocv_lint_rule((size_t)_i);
    struct example *e = example_read(rule->good);
    size_t changes = 0;
    ocv_auto_buffer out;
    ocv_auto_buffer moved;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    if (e->input.bytes)
        ck_assert_int_eq(
            ocv_lint_fix(e->input.bytes, e->input.len, false, &out, &changes, &moved, NULL),
            OCV_OK);
    ck_assert_msg(changes == 0, "%s:\n%s", rule->id, out.data);
    example_free(e);
}
END_TEST

/* A correction that shows another: the level that becomes a property brings its namespace. */
START_TEST(fix_is_complete)
{
    struct example *e = example_read("@namespaces habana\nlinux/amd64 null\n"
                                     "linux/amd64/v3 a habana :: arch :: gaudi3\n");
    size_t changes = 0;
    ocv_auto_buffer out;
    ocv_auto_buffer moved;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    ck_assert_int_eq(
        ocv_lint_fix(e->input.bytes, e->input.len, false, &out, &changes, &moved, NULL), OCV_OK);
    ck_assert_msg(strstr(out.data, "\"habana, x86_64\"") &&
                      strstr(out.data, "\"habana :: arch :: gaudi3, x86_64 :: level :: v3\"") &&
                      strstr(out.data, "\"x-a\""),
                  "%s", out.data);
    example_free(e);
}
END_TEST

#define HEX64 "0000000000000000000000000000000000000000000000000000000000000000"
#define KEPT                                                                        \
    "{ \"size\":2 , \"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},\n " \
    "\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\", \"digest\" :\"sha256:" HEX64 "\"}"

/* What is not corrected keeps its bytes, and what is has the manner of the document. */
START_TEST(fix_keeps_bytes)
{
    static const char before[] =
        "{\n  \"schemaVersion\" : 2,\n  \"manifests\": [\n    {\n      \"mediaType\": "
        "\"" OCV_MEDIA_TYPE_MANIFEST "\",\n      \"digest\": \"sha256:" HEX64 "\",\n"
        "      \"size\": 2,\n      \"platform\": {\"os\": \"linux\", \"architecture\": \"amd64\", "
        "\"variant\": \"x-a\"},\n      \"annotations\": {\"" OCV_ANNOTATION_LABEL
        "\": \"a\", \"" OCV_ANNOTATION_PROPERTIES "\": \"habana::arch::gaudi3\"}\n    },\n    " KEPT
        "\n  ],\n  \"other\":  null }\n";
    static const char after[] =
        "{\n  \"schemaVersion\" : 2,\n  \"manifests\": [\n    " KEPT
        ",\n    {\n      \"mediaType\": "
        "\"" OCV_MEDIA_TYPE_MANIFEST "\",\n      \"digest\": \"sha256:" HEX64 "\",\n"
        "      \"size\": 2,\n      \"platform\": {\n        \"os\": \"linux\",\n        "
        "\"architecture\": \"amd64\",\n        \"variant\": \"x-a\"\n      },\n"
        "      \"annotations\": {\n        \"" OCV_ANNOTATION_LABEL
        "\": \"a\",\n        \"" OCV_ANNOTATION_PROPERTIES
        "\": \"habana :: arch :: gaudi3\"\n      }\n    }\n  ],\n  \"other\":  null,\n"
        "  \"annotations\": {\n    \"" OCV_ANNOTATION_SCHEMA
        "\": \"1\",\n    \"" OCV_ANNOTATION_NAMESPACES "\": \"habana\"\n  },\n"
        "  \"mediaType\": \"" OCV_MEDIA_TYPE_INDEX "\" }\n";
    size_t changes = 0;
    struct ocv_error err = {0};
    ocv_auto_buffer out;
    ocv_auto_buffer moved;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    int status = ocv_lint_fix(before, strlen(before), false, &out, &changes, &moved, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ck_assert_str_eq(out.data, after);
    ck_assert_uint_eq(changes, 5); /* type, schema, namespaces, properties, order */
}
END_TEST

/* A Docker list is corrected, too, and stays in one line. */
START_TEST(fix_takes_a_docker_list)
{
    static const char before[] =
        "{\"schemaVersion\":2,\"mediaType\":\"" OCV_MEDIA_TYPE_DOCKER_LIST
        "\",\"manifests\":[{\"mediaType\":\"" OCV_MEDIA_TYPE_DOCKER_MANIFEST
        "\",\"digest\":\"sha256:" HEX64 "\",\"size\":2,\"platform\":{\"os\":\"linux\","
        "\"architecture\":\"amd64\",\"variant\":\"v1\"}}]}";
    size_t changes = 0;
    ocv_auto_buffer out;
    ocv_auto_buffer moved;
    ocv_buffer_init(&out, OCV_MANIFEST_MAX);
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    ck_assert_int_eq(ocv_lint_fix(before, strlen(before), false, &out, &changes, &moved, NULL),
                     OCV_OK);
    ck_assert_uint_eq(changes, 1);
    ck_assert(strstr(out.data, "{\"os\":\"linux\",\"architecture\":\"amd64\"}}]}"));
    ck_assert_uint_eq(out.len, strlen(before) - strlen(",\"variant\":\"v1\""));
}
END_TEST

/* What clients without variants get; whether it stays so unless it is asked for. */
static const struct {
    const char *before, *moved;   /* "": nothing */
    const char *platforms, *told; /* of the entries afterwards: by itself, and when told to */
} default_cases[] = {
    /* builds that wait for their annotations, as a builder leaves them: the ROCm build first */
    {"linux/amd64/x-rocm7-1 -\nlinux/amd64 -\nlinux/amd64/x-cuda12-8 -\n", "",
     "- x-rocm7-1 x-cuda12-8", "- x-rocm7-1 x-cuda12-8"},
    {"linux/amd64/x-a -\nlinux/amd64/x-b -\n", "", "x-a x-b", "x-a x-b"},
    {"linux/amd64/x-null null\nlinux/amd64/x-a a habana :: arch :: gaudi3\n", "", "x-null x-a",
     "x-null x-a"},
    /* the variant is what they get today */
    {"linux/amd64 a habana :: arch :: gaudi3\nlinux/amd64 -\n", "linux/amd64: ", "- -", "- x-a"},
    {"linux/amd64 a habana :: arch :: gaudi3\n", "linux/amd64: no image instead of ", "-", "x-a"},
    {"linux/amd64 -\nlinux/amd64 a habana :: arch :: gaudi3\n", "", "- x-a", "- x-a"},
    {"linux/arm/v6 a habana :: arch :: gaudi3\nlinux/arm/v7 -\n", "linux/arm/v6: no image instead",
     "v6 v7", "v7 x-a"},
    {"linux/amd64/v1 -\nlinux/amd64/v3 a habana :: arch :: gaudi3\n", "", "- x-a", "- x-a"},
};

static void assert_platforms(const char *bytes, size_t len, const char *expected)
{
    ocv_auto(ocv_index) index = NULL;
    char text[256] = "";
    ck_assert_int_eq(ocv_index_parse(bytes, len, NULL, &index, NULL), OCV_OK);
    for (size_t i = 0; i < ocv_index_count(index); i++) {
        const char *variant = ocv_index_entry(index, i)->platform.variant;
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "", variant ? variant : "-");
    }
    ck_assert_str_eq(text, expected);
}

START_TEST(fix_keeps_what_older_clients_get)
{
    struct example *e = example_read(default_cases[_i].before);
    for (int told = 0; told < 2; told++) {
        size_t changes = 0;
        ocv_auto_buffer out;
        ocv_auto_buffer moved;
        ocv_buffer_init(&out, OCV_MANIFEST_MAX);
        ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
        ck_assert_int_eq(
            ocv_lint_fix(e->input.bytes, e->input.len, told, &out, &changes, &moved, NULL), OCV_OK);
        const char *bytes = changes ? out.data : e->input.bytes;
        assert_platforms(bytes, changes ? out.len : e->input.len,
                         told ? default_cases[_i].told : default_cases[_i].platforms);
        const char *said = default_cases[_i].moved;
        ck_assert_msg(*said ? moved.data && strstr(moved.data, said) : moved.len == 0, "%s",
                      moved.data);
    }
    example_free(e);
}
END_TEST

START_TEST(table_is_complete)
{
    size_t groups[10] = {0};
    ck_assert_uint_ge(OCV_LINT_RULES, 40);
    for (size_t i = 0; i < OCV_LINT_RULES; i++) {
        const struct ocv_lint_rule *rule = ocv_lint_rule(i);
        groups[rule->id[3] - '0']++;
        ck_assert_ptr_eq(ocv_lint_rule_find(rule->id), rule);
        ck_assert_ptr_eq(ocv_lint_rule_find(rule->name), rule);
        ck_assert_str_ne(rule->bad, rule->good);
    }
    for (int g = 1; g <= 6; g++)
        ck_assert_uint_gt(groups[g], 0);
    ck_assert_ptr_null(ocv_lint_rule_find("OCV999"));
}
END_TEST

/* ---- what the messages say ---- */

/* TEXT has a finding of rule ID whose message or hint contains SAYS; SAYS NULL: none of it. */
static void expect(const char *text, const char *id, const char *says)
{
    struct ocv_lint_report report;
    lint(text, &report);
    bool found = false;
    char all[8192] = "";
    for (size_t i = 0; i < report.n; i++) {
        const struct ocv_lint_finding *f = &report.findings[i];
        size_t at = strlen(all);
        snprintf(all + at, sizeof(all) - at, "%s %s (%s)\n", f->rule->id, f->message,
                 f->hint ? f->hint : "");
        if (strcmp(f->rule->id, id) != 0)
            continue;
        found = found || !says || strstr(f->message, says) || (f->hint && strstr(f->hint, says));
    }
    ck_assert_msg(found == (says != NULL), "%s %s '%s' in\n%s\nfound\n%s", id,
                  says ? "does not say" : "is there", says ? says : "", text, all);
    ocv_lint_report_free(&report);
}

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
    expect("linux/amd64/x-a a amd :: gfx_arch :: mi300\n", "OCV205", "must match");
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
    /* versions of Windows are platforms of their own */
    expect("windows/amd64 -\n  platform os.version=10.0.20348.1\n"
           "windows/amd64 -\n  platform os.version=10.0.17763.1\n",
           "OCV503", NULL);
    expect("windows/amd64 -\n  platform os.version=10.0.20348.1\n"
           "windows/amd64 -\n  platform os.version=10.0.20348.1\n",
           "OCV503", "2 entries");
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
           "linux/arm64 has variants and no default entry");
    /* a fat build that carries properties is no default */
    expect("linux/amd64 fat x86_64 :: level :: v2\n", "OCV501", "linux/amd64");
    expect("linux/amd64 -\nlinux/amd64/x-a a habana :: arch :: gaudi2\n", "OCV501", NULL);
}
END_TEST

/* ---- reach ---- */

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
    size_t judged = 0;
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
            judged++;
            ck_assert_msg(!chosen_somewhere(e->bytes, label), "%s\n%s", f->message, text);
        }
        example_free(e);
        ocv_lint_report_free(&report);
    }
    ck_assert_uint_gt(judged, 20);
}
END_TEST

/* ---- configurations ---- */

START_TEST(requirements)
{
    static const struct {
        const char *text, *cuda;
        bool valid;
    } cases[] = {
        {"cuda>=12.8", "12.8", true},
        {"cuda>=12.8 brand=tesla,driver>=535,driver<536", "12.8", true},
        {"brand=tesla,driver>=535 cuda>=12.4", "12.4", true},
        {"cuda>=12.4 cuda>=11.0,driver>=470", "11.0", true},
        {"cuda>=12.4 driver>=470", NULL, true},
        {"cuda>12.4,arch>=7.0", "12.4", true},
        {"cuda!=12.4", NULL, true},
        {"", NULL, true},
        {"cuda=>12.8", NULL, false},
        {"cuda", NULL, false},
        {"cuda>=12.8,", NULL, false},
        {",cuda>=12.8", NULL, false},
        {"cuda>=", NULL, false},
        {">=12", NULL, false},
        {"kuda>=12.8", NULL, false},
        {"cuda >= 12.8", NULL, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ocv_lint_requirement r = {0};
        struct ocv_error err = {0};
        int status = ocv_lint_require_parse(cases[i].text, &r, &err);
        ck_assert_msg((status == OCV_OK) == cases[i].valid, "'%s': %s", cases[i].text, err.message);
        const char *least = status == OCV_OK ? ocv_lint_require_least(&r, "cuda") : NULL;
        ck_assert_msg((least == NULL) == (cases[i].cuda == NULL), "'%s'", cases[i].text);
        if (least)
            ck_assert_str_eq(least, cases[i].cuda);
        if (status == OCV_OK)
            ocv_lint_require_free(&r);
    }
}
END_TEST

#define CUDA "linux/amd64/x-a a nvidia :: cuda_version_lower_bound :: 12.4, nvidia :: sm_arch :: "

START_TEST(environment)
{
    expect(CUDA "75_real\n  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n", "OCV402", "below cuda 12.8");
    expect(CUDA "75_real\n  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n  env NVIDIA_DISABLE_REQUIRE=1\n",
           "OCV402", NULL);
    expect(CUDA
           "75_real\n  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n  env NVIDIA_DISABLE_REQUIRE=true\n",
           "OCV402", NULL);
    expect(CUDA "75_real\n  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n  env NVIDIA_DISABLE_REQUIRE=0\n",
           "OCV402", "below cuda 12.8");
    expect(CUDA "75_real\n  env NVIDIA_REQUIRE_ARCH=arch>=8.0\n", "OCV402", "below arch 8.0");
    expect(CUDA "100_real\n  env NVIDIA_REQUIRE_ARCH=arch>=8.0\n", "OCV402", NULL);
    expect(CUDA "75_real\n  env CUDA_VERSION=12.3.2\n", "OCV404", "is above it");
    expect(CUDA "75_real\n  env CUDA_VERSION=13.0.0\n", "OCV404", "lower major version");
    expect(CUDA "75_real\n  env CUDA_VERSION=12.9.0\n", "OCV404", NULL);
    expect(CUDA "75_real\n  env CUDA_VERSION=unknown\n", "OCV404", NULL);
    expect("linux/amd64/x-a a amd :: rocm_version :: 6.4\n  env ROCM_VERSION=6.3.1\n", "OCV404",
           "another version");
}
END_TEST

/* A version and the first of its major, which runs it, too. */
START_TEST(minor_versions)
{
#define LOWER "nvidia :: cuda_version_lower_bound :: "
#define PAIR(label, a, b) \
    "linux/amd64/x-" label " " label " " LOWER a ", " LOWER b ", nvidia :: sm_arch :: 90_real\n"
    expect(PAIR("a", "12.9", "12.0"), "OCV210", NULL);
    expect(PAIR("a", "11.8", "11.0"), "OCV210", NULL);
    expect(PAIR("a", "10.2", "10.0"), "OCV210", "2 values"); /* before the promise */
    expect(PAIR("a", "12.9", "12.1"), "OCV210", "2 values");
    expect(PAIR("a", "13.0", "12.0"), "OCV210", "2 values");
    expect(PAIR("a", "12.9, " LOWER "12.8", "12.0"), "OCV210", "3 values");
    expect("linux/amd64/x-a a x86_64 :: level :: v2, x86_64 :: level :: v3\n", "OCV210",
           "2 values");
    /* where all that is left is the label, it must choose the older build */
    expect(PAIR("cuda12.6", "12.6", "12.0") PAIR("cuda12.9", "12.9", "12.0"), "OCV120", NULL);
    expect(PAIR("cuda12.10", "12.10", "12.0") PAIR("cuda12.6", "12.6", "12.0"), "OCV120",
           "between cuda12.10 and cuda12.6");
    expect(PAIR("a", "12.9", "12.0") PAIR("b", "12.6", "12.0"), "OCV120", "between a and b");
    expect("linux/amd64/x-a a habana :: arch :: gaudi2, habana :: arch :: gaudi3\n"
           "linux/amd64/x-b b habana :: arch :: gaudi, habana :: arch :: gaudi3\n",
           "OCV120", "between a and b");
    /* what the base image asks for is what it was built with */
    expect(PAIR("a", "12.9", "12.0") "  env NVIDIA_REQUIRE_CUDA=cuda>=12.9\n", "OCV402", NULL);
    expect(PAIR("a", "12.9", "12.0") "  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n", "OCV402", NULL);
    expect(PAIR("a", "12.6", "12.0") "  env NVIDIA_REQUIRE_CUDA=cuda>=12.8\n", "OCV402",
           "below cuda 12.8");
    expect(PAIR("a", "12.9", "12.0") "  env NVIDIA_REQUIRE_CUDA=cuda>=13.0\n", "OCV402",
           "below cuda 13.0");
    expect("linux/amd64/x-a a " LOWER "12.9, nvidia :: sm_arch :: 90_virtual\n"
           "linux/amd64/x-b b " LOWER "12.0, nvidia :: sm_arch :: 90_real\n  digest-of 0\n"
           "  env NVIDIA_REQUIRE_CUDA=cuda>=12.9\n",
           "OCV402", NULL);
#define TWINS(a, b)                                                    \
    "linux/amd64/x-a a " LOWER a ", nvidia :: sm_arch :: 90_virtual\n" \
    "linux/amd64/x-b b " LOWER b ", nvidia :: sm_arch :: 90_real\n  digest-of 0\n"
    expect(TWINS("12.9", "12.0"), "OCV123", NULL);
    expect(TWINS("12.0", "12.9"), "OCV123", NULL);
    expect(TWINS("12.9", "12.8"), "OCV123", "a and b are the same image");
    expect(TWINS("12.9", "12.0") PAIR("c", "12.6", "12.0"), "OCV121", NULL);
    expect("linux/amd64/x-b b " LOWER "12.0, nvidia :: sm_arch :: 90_real\n"
           "linux/amd64/x-a a " LOWER "12.0, " LOWER "12.6, nvidia :: sm_arch :: 90_real\n",
           "OCV121", "b is never chosen");
#undef TWINS
    /* bounds compare by the lowest value */
    expect(PAIR("a", "12.9", "12.0, nvidia :: cuda_version_upper_bound :: 12.5"), "OCV208", NULL);
    expect(PAIR("a", "12.9", "12.0, nvidia :: cuda_version_upper_bound :: 12.0"), "OCV208",
           "at least 12.0 and below 12.0");
    expect(PAIR("a", "12.9", "12.0") "  env CUDA_VERSION=12.9.1\n", "OCV404", NULL);
    expect(PAIR("a", "12.9", "12.0") "  env CUDA_VERSION=13.0.0\n", "OCV404", "lower major");
}
END_TEST

/* Of a family whose builds run so, a tag's word is the version, its major's first, or both. */
START_TEST(minor_version_tags)
{
#define TAGGED(values, tag) \
    "linux/amd64 null\nlinux/amd64/x-a a " values "\ntag vllm/vllm-openai:" tag " = 1\n"
#define BOTH LOWER "12.9, " LOWER "12.0, nvidia :: sm_arch :: 90_real"
    expect(TAGGED(BOTH, "v0.14.1-cu129"), "OCV301", NULL);
    expect(TAGGED(BOTH, "v0.14.1"), "OCV301", NULL);
    expect(TAGGED(LOWER "12.9, nvidia :: sm_arch :: 90_real", "v0.14.1-cu129"), "OCV301", NULL);
    expect(TAGGED(LOWER "12.0, nvidia :: sm_arch :: 90a_real", "v0.14.1-cu129"), "OCV301", NULL);
    expect(TAGGED(BOTH, "v0.14.1-cu126"), "OCV301", "has another value");
    expect(TAGGED(BOTH, "v0.14.1-cu130"), "OCV301", "has another value");
    expect(TAGGED(LOWER "12.8", "v0.14.1-cu129"), "OCV301", "has another value");
    /* nobody has said of these that they run so */
    expect("linux/amd64 null\nlinux/amd64/x-a a " LOWER "12.0\n"
           "tag rayproject/ray:2.49.2-cu128 = 1\n",
           "OCV301", "has another value");
    expect("linux/amd64 null\nlinux/amd64/x-a a " LOWER "12.9, " LOWER "12.0\n"
           "tag r.example/app:1.0-cu129 = 1\n",
           "OCV301", NULL);
#undef TAGGED
}
END_TEST

/* ---- tags ---- */

/* One image under two labels: a tag that agrees with either is right. */
START_TEST(tags_of_shared_images)
{
#define SHARED(a, b, tag)                                                                      \
    "linux/amd64 null\nlinux/amd64/x-a a nvidia :: cuda_version_lower_bound :: " a             \
    "\nlinux/amd64/x-b b nvidia :: cuda_version_lower_bound :: " b "\n  digest-of 1\ntag " tag \
    " = 1\n"
    expect(SHARED("12.2, nvidia :: sm_arch :: 89_real", "12.2, nvidia :: sm_arch :: 86_real",
                  "ghcr.io/huggingface/text-embeddings-inference:86-1.9"),
           "OCV301", NULL);
    expect(SHARED("12.2, nvidia :: sm_arch :: 89_real", "12.2, nvidia :: sm_arch :: 86_real",
                  "ghcr.io/huggingface/text-embeddings-inference:hopper-1.9"),
           "OCV301", "entry 1 (a) of the index has another value");
    expect(SHARED("12.8", "12.6", "r.example/app:1.0-cu126"), "OCV301", NULL);
    expect(SHARED("12.6", "12.8", "r.example/app:1.0-cu126"), "OCV301", NULL);
    expect(SHARED("12.8", "12.9", "r.example/app:1.0-cu126"), "OCV301",
           "12.8 of entry 1 (a) is above it");
#undef SHARED
}
END_TEST

START_TEST(tag_drift)
{
    expect("tag r.example/a:1-cuda12\ntag r.example/a:2-cu128\ntag r.example/a:3-cu126\n", "OCV302",
           "CUDA is written 'cuda12' here and 'cu126'");
    expect("tag r.example/a:1-cuda12\ntag r.example/b:2-cu128\n", "OCV302", NULL);
    expect("tag docker.io/lablup/a:1-cuda12.1\ntag docker.io/lablup/b:2-cu124\n", "OCV302",
           "CUDA is written 'cu124' here and 'cuda12.1'"); /* one family */
    expect("tag r.example/a:1-cuda12.1\ntag r.example/a:2-cuda121\n", "OCV302", "'cuda121'");
    expect("tag r.example/a:1-py312\ntag r.example/a:2-py3.12\ntag r.example/a:2-py3.11\n",
           "OCV302", "Python");
    expect("tag r.example/a:1-x86_64\ntag r.example/a:2-aarch64\n", "OCV302", NULL);
    expect("tag r.example/a:1-x86_64\ntag r.example/a:2-amd64\ntag r.example/a:3-amd64\n", "OCV302",
           "'x86_64'");
    expect("tag r.example/a:300I-Duo\ntag r.example/a:300l-Duo\ntag r.example/a:2-300I-Duo\n",
           "OCV303", "did you mean 300I?");
    expect("tag r.example/a:1.10\ntag r.example/a:1.1O\n", "OCV303", NULL);
    expect("tag r.example/a:2-300l-Duo\n", "OCV303", "did you mean 300I?");
    expect("tag r.example/a:2-300I-Duo\ntag r.example/b:2-300i-duo\n", "OCV303", NULL);
    expect("tag r.example/a:300\ntag r.example/a:3001\n", "OCV303", NULL);
    expect("tag r.example/a:1-RC2\ntag r.example/a:2-rc2\n", "OCV303", "RC2");
}
END_TEST

/* A repository that no rule knows: cu128 says what it says all the same. */
START_TEST(tags_without_rules)
{
#define BUILT(version, tag)                                                              \
    "linux/amd64 null\nlinux/amd64/x-c c nvidia :: cuda_version_lower_bound :: " version \
    "\ntag r.example/app:" tag " = 1\n"
    expect(BUILT("12.8", "1.0-cu126"), "OCV301", "it says 'cu126'");
    expect(BUILT("12.8", "1.0-cuda12.6.1"), "OCV301", "is above it");
    expect(BUILT("12.8", "1.0_cu13"), "OCV301", "has a lower major version");
    expect(BUILT("12.8", "1.0-rocm7.1"), "OCV301", "is for other accelerators");
    expect(BUILT("12.8", "1.0-cu128"), "OCV301", NULL);
    expect(BUILT("12.8", "1.0-cu129"), "OCV301", NULL);
    expect(BUILT("12.8", "cuda12-1.0"), "OCV301", NULL);
    expect(BUILT("12.8", "1.0-cuda"), "OCV301", NULL);
    expect(BUILT("12.8", "1.0-cube11"), "OCV301", NULL);
    expect(BUILT("12.8", "cu12345-1"), "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_version_lower_bound :: 7.0\n"
           "tag r.example/app:1.0-rocm6.4 = 1\n",
           "OCV301", "it says 'rocm6.4'");
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_version_lower_bound :: 6.3\n"
           "tag r.example/app:1.0-rocm700 = 1\n",
           "OCV301", NULL);
    /* an image brings its own ROCm: the version is the one that the tag says */
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 7.14\n"
           "tag r.example/app:1.0-rocm714 = 1\n",
           "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 6.2\n"
           "tag r.example/app:1.0-rocm624 = 1\n",
           "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 6.1\n"
           "tag r.example/app:1.0-rocm613 = 1\n",
           "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 10.0\n"
           "tag r.example/app:1.0-rocm100 = 1\n",
           "OCV301", NULL);
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 7.2\n"
           "tag r.example/app:1.0-rocm714 = 1\n",
           "OCV301", "it says 'rocm714'");
    expect("linux/amd64 null\nlinux/amd64/x-r r amd :: rocm_user_space :: 7.2\n  env "
           "ROCM_VERSION=7.1.1\n",
           "OCV404", "7.1.1");
    expect("linux/amd64 null\nlinux/amd64/x-v v x86_64 :: level :: v3\n"
           "tag r.example/app:1.0-cu128 = 1\ntag r.example/app:2.0-cu128 = 0\n",
           "OCV301", NULL);
#undef BUILT
}
END_TEST

/* ---- places ---- */

START_TEST(places)
{
    static const char text[] = "{\n  \"a\": [1, {\"x/y\": \"\\\"}\", \"b\": [ ]},\n"
                               "    {\"z~\":\n      true}],\n  \"c\": {}\n}\n";
    static const struct {
        const char *pointer;
        size_t line, column;
    } cases[] = {{"", 1, 1},           {"/a", 2, 3},      {"/a/0", 2, 9},     {"/a/1", 2, 12},
                 {"/a/1/x~1y", 2, 13}, {"/a/1/b", 2, 27}, {"/a/2/z~0", 3, 6}, {"/c", 5, 3},
                 {"/a/2/none", 3, 5},  {"/none/x", 1, 1}, {"/a/9", 2, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t line = 0, column = 0;
        ocv_lint_locate(text, strlen(text), cases[i].pointer, &line, &column);
        ck_assert_msg(line == cases[i].line && column == cases[i].column, "%s: %zu:%zu",
                      cases[i].pointer, line, column);
    }
}
END_TEST

START_TEST(findings_have_lines)
{
    struct ocv_lint_report report;
    lint(ocv_lint_rule_find("OCV205")->bad, &report);
    const struct ocv_lint_finding *f = find(&report, "OCV205");
    ck_assert_str_eq(f->pointer, "/manifests/1/annotations/dev.ocivariant.properties");
    ck_assert_str_eq(f->where, "manifests[1] (hopper)");
    ck_assert_uint_gt(f->line, 10);
    ck_assert_uint_gt(f->column, 1);
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(versions)
{
    ck_assert_int_lt(ocv_lint_version_compare("12.8", "12.10"), 0);
    ck_assert_int_gt(ocv_lint_version_compare("13", "12.10"), 0);
    ck_assert_int_eq(ocv_lint_version_compare("12", "12.0"), 0);
    ck_assert_int_lt(ocv_lint_version_compare("8a", "8.1a"), 0);
    ck_assert_int_lt(ocv_lint_version_compare("8.6a", "9.0a"), 0);
    ck_assert_int_lt(ocv_lint_version_compare("power9", "power10"), 0);
}
END_TEST

/* ---- settings ---- */

static struct ocv_lint_config *settings(const char *text)
{
    struct ocv_lint_config *config = NULL;
    struct ocv_error err = {0};
    int status = ocv_lint_config_read("lint.yaml", text, strlen(text), &config, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    return config;
}

START_TEST(settings_decide)
{
    struct ocv_lint_report report = {0};
    struct ocv_lint_config *config =
        settings("disable: [OCV1xx, OCV501]\nenable: [schema-missing]\nlevel: {OCV503: error}\n"
                 "allow:\n  - {rule: OCV205, label: 'hop*', input: '*.json', reason: soon gone}\n");
    ck_assert_int_eq(ocv_lint_config_level(config, ocv_lint_rule_find("OCV102")), OCV_LINT_OFF);
    ck_assert_int_eq(ocv_lint_config_level(config, ocv_lint_rule_find("OCV101")), OCV_LINT_WARNING);
    ck_assert_int_eq(ocv_lint_config_level(config, ocv_lint_rule_find("OCV503")), OCV_LINT_ERROR);
    ck_assert_int_eq(ocv_lint_config_level(config, ocv_lint_rule_find("OCV504")), OCV_LINT_ERROR);
    lint_with(ocv_lint_rule_find("OCV205")->bad, config, &report);
    ck_assert_uint_eq(report.allowed, 1);
    ck_assert_uint_eq(report.counts[OCV_LINT_ERROR], 0);
    ck_assert_str_eq(find(&report, "OCV205")->allowed, "soon gone");
    ocv_lint_report_free(&report);
    lint_with(ocv_lint_rule_find("OCV105")->bad, config, &report);
    ck_assert_ptr_null(find(&report, "OCV105"));
    lint_with(ocv_lint_rule_find("OCV503")->bad, config, &report);
    ck_assert_uint_eq(report.counts[OCV_LINT_ERROR], 1);
    ocv_lint_report_free(&report);
    ocv_lint_config_free(config);
}
END_TEST

/* An allowance is for what it names, and for nothing else. */
START_TEST(allowances_are_narrow)
{
    static const char *const others[] = {"label: 'cu*'", "input: '*.yaml'",
                                         "input: '*.json', label: 'cu*'"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        char text[128];
        struct ocv_lint_report report = {0};
        snprintf(text, sizeof(text), "allow: [{rule: OCV205, %s, reason: x}]\n", others[i]);
        struct ocv_lint_config *config = settings(text);
        lint_with(ocv_lint_rule_find("OCV205")->bad, config, &report);
        ck_assert_uint_eq(report.allowed, 0);
        ck_assert_uint_eq(report.counts[OCV_LINT_ERROR], 1);
        ck_assert_ptr_null(find(&report, "OCV205")->allowed);
        ocv_lint_report_free(&report);
        ocv_lint_config_free(config);
    }
}
END_TEST

START_TEST(settings_are_checked)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"enabel: [OCV101]\n", "lint.yaml:1: unknown key 'enabel'; did you mean 'enable'?"},
        {"\ndisable: [OCV999]\n", "lint.yaml:2: no rule or group 'OCV999'"},
        {"disable: OCV101\n", "lint.yaml:1: 'disable' must be a list, not 'OCV101'"},
        {"disable: [[OCV101]]\n", "lint.yaml:1: an item must be the id or name of a rule"},
        {"level: {OCV101: fatal}\n", "'OCV101' must be error, warning, note or off, not 'fatal'"},
        {"level: [OCV101]\n", "'level' must be a mapping"},
        {"allow: [{rule: OCV101}]\n", "an allowance lacks 'reason'"},
        {"allow: [{reason: because}]\n", "an allowance lacks 'rule'"},
        {"allow: [{rule: OCV999, reason: x}]\n", "no rule or group 'OCV999'"},
        {"allow: [{rule: OCV101, reason: x, until: 2030}]\n", "unknown key 'until' of an allow"},
        {"allow: [OCV101]\n", "'OCV101' must be a mapping"},
        {"- a\n", "lint.yaml:1: the file must be a mapping"},
        {"a: [\n", "lint.yaml:"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ocv_lint_config *config = NULL;
        struct ocv_error err = {0};
        int status =
            ocv_lint_config_read("lint.yaml", cases[i].text, strlen(cases[i].text), &config, &err);
        ck_assert_int_eq(status, OCV_ERR_CONFIG);
        ck_assert_msg(strstr(err.message, cases[i].message) != NULL, "%s", err.message);
    }
    ocv_lint_config_free(settings(""));
}
END_TEST

/* ---- input ---- */

START_TEST(unreadable_input)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{\"manifests\": 7}",
                                        "{\"manifests\": [{}]}",
                                        "{\"manifests\": [], \"a\": 1, \"a\": 2}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct ocv_lint_report report = {0};
        struct ocv_error err = {0};
        struct ocv_lint_input input = {
            .name = "x.json", .file = true, .bytes = texts[i], .len = strlen(texts[i])};
        ck_assert_int_eq(ocv_lint_run(&input, NULL, &report, &err), OCV_ERR_DATA);
        ck_assert_msg(!strncmp(err.message, "x.json: ", 8), "%s", err.message);
        ck_assert_uint_eq(report.n, 0);
        ocv_lint_report_free(&report);
    }
}
END_TEST

START_TEST(size_is_judged_unread)
{
    struct ocv_lint_report report = {0};
    struct ocv_lint_input input = {.name = "x", .len = OCV_MANIFEST_MAX + 1};
    ck_assert_int_eq(ocv_lint_run(&input, NULL, &report, NULL), OCV_OK);
    ck_assert_ptr_nonnull(find(&report, "OCV510"));
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(report_is_bounded)
{
    struct ocv_lint_report report = {0};
    struct example *e = example_read("linux/amd64 -\nlinux/amd64/x-a a habana :: arch :: gaudii\n");
    for (size_t i = 0; i < OCV_LINT_FINDINGS_MAX + 5; i++)
        ck_assert_int_eq(ocv_lint_run(&e->input, NULL, &report, NULL), OCV_OK);
    ck_assert_uint_eq(report.n, OCV_LINT_FINDINGS_MAX);
    ck_assert_uint_eq(report.dropped, 5);
    ck_assert_uint_eq(report.counts[OCV_LINT_ERROR], OCV_LINT_FINDINGS_MAX + 5);
    example_free(e);
    ocv_lint_report_free(&report);
}
END_TEST

/* ---- formats ---- */

static void format(const struct ocv_lint_report *report, enum ocv_lint_format how,
                   struct ocv_buffer *out)
{
    struct ocv_lint_failure failure = {"other.json", "other.json: 100% broken\nreally"};
    struct ocv_error err = {0};
    ocv_buffer_init(out, 16u * 1024 * 1024);
    ck_assert_msg(ocv_lint_format(report, how, &failure, 1, out, &err) == OCV_OK, "%s",
                  err.message);
}

START_TEST(formats)
{
    struct ocv_lint_report report;
    lint(ocv_lint_rule_find("OCV205")->bad, &report);
    ocv_auto_buffer text;
    ocv_auto_buffer json;
    ocv_auto_buffer sarif;
    ocv_auto_buffer github;
    format(&report, OCV_LINT_FORMAT_TEXT, &text);
    ck_assert_msg(strstr(text.data, "index.json:") && strstr(text.data, "[OCV205 value-unknown]") &&
                      strstr(text.data, "1 error, 0 warnings, 0 notes"),
                  "%s", text.data);
    format(&report, OCV_LINT_FORMAT_GITHUB, &github);
    ck_assert_msg(strstr(github.data, "::error file=index.json,line=") &&
                      strstr(github.data, "100%25 broken%0Areally"),
                  "%s", github.data);
    format(&report, OCV_LINT_FORMAT_JSON, &json);
    ocv_auto_json *root = json_loads(json.data, 0, NULL);
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(root, "summary"), "errors")), 1);
    format(&report, OCV_LINT_FORMAT_SARIF, &sarif);
    ocv_auto_json *log = json_loads(sarif.data, 0, NULL);
    json_t *run = json_array_get(json_object_get(log, "runs"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(run, "results")), report.n);
    ocv_lint_report_free(&report);
}
END_TEST

START_TEST(nothing_is_quoted_raw)
{
    struct ocv_lint_report report = {0};
    struct ocv_lint_input input = {.name = "a\033[31m.json", .len = OCV_MANIFEST_MAX + 1};
    ck_assert_int_eq(ocv_lint_run(&input, NULL, &report, NULL), OCV_OK);
    ocv_auto_buffer text;
    format(&report, OCV_LINT_FORMAT_TEXT, &text);
    ck_assert_ptr_null(strchr(text.data, '\033'));
    ocv_lint_report_free(&report);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lint");
    TCase *table = tcase_create("table"), *other = tcase_create("other");
    tcase_add_unchecked_fixture(table, read_rules, free_rules);
    tcase_add_unchecked_fixture(other, read_rules, free_rules);
    tcase_add_loop_test(table, bad_example_is_found, 0, OCV_LINT_RULES);
    tcase_add_loop_test(table, good_example_is_clean, 0, OCV_LINT_RULES);
    tcase_add_loop_test(table, fix_removes_the_finding, 0, OCV_LINT_RULES);
    tcase_add_loop_test(table, good_example_needs_no_fix, 0, OCV_LINT_RULES);
    tcase_add_test(table, table_is_complete);
    tcase_add_test(table, fix_is_complete);
    tcase_add_test(table, fix_keeps_bytes);
    tcase_add_test(table, fix_takes_a_docker_list);
    tcase_add_loop_test(table, fix_keeps_what_older_clients_get, 0,
                        sizeof(default_cases) / sizeof(*default_cases));
    tcase_add_test(other, did_you_mean);
    tcase_add_test(other, no_half_commands);
    tcase_add_test(other, labels_of_other_programs);
    tcase_add_test(other, shared_platforms_are_counted);
    tcase_add_test(other, a_platform_is_told_once);
    tcase_add_test(other, what_is_right_is_silent);
    tcase_add_test(other, defaults_of_each_architecture);
    tcase_add_test(other, reach_is_sound);
    tcase_add_test(other, reach_agrees_with_the_resolver);
    tcase_add_test(other, requirements);
    tcase_add_test(other, environment);
    tcase_add_test(other, minor_versions);
    tcase_add_test(other, minor_version_tags);
    tcase_add_test(other, tags_of_shared_images);
    tcase_add_test(other, tag_drift);
    tcase_add_test(other, tags_without_rules);
    tcase_add_test(other, places);
    tcase_add_test(other, findings_have_lines);
    tcase_add_test(other, versions);
    tcase_add_test(other, settings_decide);
    tcase_add_test(other, allowances_are_narrow);
    tcase_add_test(other, settings_are_checked);
    tcase_add_test(other, unreadable_input);
    tcase_add_test(other, size_is_judged_unread);
    tcase_add_test(other, report_is_bounded);
    tcase_add_test(other, formats);
    tcase_add_test(other, nothing_is_quoted_raw);
    tcase_set_timeout(other, 60);
    suite_add_tcase(suite, table);
    suite_add_tcase(suite, other);
    return run_suite(suite);
}
