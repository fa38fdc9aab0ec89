/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a decision says: every reason to reject, made from real documents, and the JSON. */
#include "test/unit/core_util.h"

static const char profile_text[] =
    "{'platform':{'os':'linux','architecture':'amd64','variant':'v2'},'namespaces':["
    "{'namespace':'n','features':[{'name':'f','values':['2','1']},{'name':'e','values':[]}]},"
    "{'namespace':'nvidia','driver':'535.161','features':[{'name':'sm_arch','values':['90_real']},"
    "{'name':'cuda_version_lower_bound','values':['12.2','12.1']}],'devices':["
    "{'id':'d0','features':[{'name':'sm_arch','values':['90_real']}]},"
    "{'id':'d1','features':[{'name':'sm_arch','values':['75_real']}]}]},"
    "{'namespace':'amd','features':[{'name':'gfx_arch','values':['gfx942']}],'devices':["
    "{'id':'a0','secondary':true,'features':[{'name':'gfx_arch','values':['gfx942']}]}]}]}";

static struct ocv_profile *profile(void)
{
    char *text = quoted("%s", profile_text);
    struct ocv_profile *p = parse_profile(text);
    free(text);
    return p;
}

#define LABELLED(label, properties) \
    ",'annotations':{'dev.ocivariant.label':" label ",'dev.ocivariant.properties':" properties "}"
#define AMD64 ",'platform':{'os':'linux','architecture':'amd64'}"

/* code, what is wanted of the property, the entry's other members */
static const struct {
    enum ocv_reject code;
    const char *feature;
    const char *members;
} cases[] = {
    {OCV_REJECT_PLATFORM, NULL, ",'platform':{'os':'linux','architecture':'arm64'}"},
    {OCV_REJECT_PLATFORM, NULL, ",'platform':{'os':'windows','architecture':'amd64'}"},
    {OCV_REJECT_PLATFORM_VARIANT, NULL,
     ",'platform':{'os':'linux','architecture':'amd64','variant':'v3'}"},
    {OCV_REJECT_OS_FEATURES, NULL,
     ",'platform':{'os':'linux','architecture':'amd64','os.features':['erofs']}"},
    {OCV_REJECT_UNKNOWN_PLATFORM, NULL, ",'platform':{'os':'unknown','architecture':'unknown'}"},
    {OCV_REJECT_ATTESTATION, NULL,
     AMD64 ",'annotations':{'vnd.docker.reference.type':'attestation-manifest'}"},
    {OCV_REJECT_ARTIFACT, NULL, AMD64 ",'artifactType':'application/spdx+json'"},
    {OCV_REJECT_MEDIA_TYPE, NULL, AMD64 ",'mediaType':'text/plain'"},
    {OCV_REJECT_NESTED, NULL, AMD64 ",'mediaType':'application/vnd.oci.image.index.v1+json'"},
    {OCV_REJECT_DIGEST_ALGORITHM, NULL, AMD64 ",'digest':'blake3:abcdef'"},
    {OCV_REJECT_LABEL_MISSING, NULL,
     AMD64 ",'annotations':{'dev.ocivariant.properties':'n :: f :: 1'}"},
    {OCV_REJECT_PROPERTIES_MISSING, NULL, AMD64 ",'annotations':{'dev.ocivariant.label':'x'}"},
    {OCV_REJECT_BAD_LABEL, NULL, AMD64 LABELLED("'Upper'", "'n :: f :: 1'")},
    {OCV_REJECT_BAD_LABEL, NULL, AMD64 LABELLED("'..'", "'n :: f :: 1'")},
    {OCV_REJECT_BAD_LABEL, NULL, AMD64 LABELLED("7", "'n :: f :: 1'")},
    {OCV_REJECT_BAD_PROPERTIES, NULL, AMD64 LABELLED("'x'", "'n : f'")},
    {OCV_REJECT_BAD_PROPERTIES, NULL, AMD64 LABELLED("'x'", "[]")},
    {OCV_REJECT_DUPLICATE_LABEL, NULL, AMD64 LABELLED("'twin'", "'n :: f :: 1'")},
    {OCV_REJECT_NULL_WITH_PROPERTIES, NULL, AMD64 LABELLED("'null'", "'n :: f :: 1'")},
    {OCV_REJECT_EMPTY_NOT_NULL, NULL, AMD64 LABELLED("'x'", "' '")},
    {OCV_REJECT_NAMESPACE_UNDECLARED, "u :: f", AMD64 LABELLED("'x'", "'u :: f :: 1'")},
    {OCV_REJECT_NAMESPACE_UNSUPPORTED, "m :: f", AMD64 LABELLED("'x'", "'m :: f :: 1'")},
    {OCV_REJECT_FEATURE_UNSUPPORTED, "n :: g", AMD64 LABELLED("'x'", "'n :: g :: 1'")},
    {OCV_REJECT_FEATURE_UNSUPPORTED, "n :: e", AMD64 LABELLED("'x'", "'n :: e :: 1'")},
    {OCV_REJECT_VALUE_UNSUPPORTED, "n :: f", AMD64 LABELLED("'x'", "'n :: f :: 3'")},
    {OCV_REJECT_VALUE_UNSUPPORTED, "nvidia :: cuda_version_lower_bound",
     AMD64 LABELLED("'x'", "'nvidia :: cuda_version_lower_bound :: 12.8'")},
    {OCV_REJECT_DEVICE, "nvidia :: sm_arch",
     AMD64 LABELLED("'x'", "'nvidia :: sm_arch :: 90_real'")},
    {OCV_REJECT_NO_DEVICE, "amd :: gfx_arch", AMD64 LABELLED("'x'", "'amd :: gfx_arch :: gfx942'")},
    {OCV_REJECT_DISABLED, "off :: f", AMD64 LABELLED("'x'", "'off :: f :: 1'")},
};

static struct ocv_index *case_index(const char *members, const char *schema)
{
    char digest[OCV_DIGEST_MAX], twin[OCV_DIGEST_MAX];
    fake_digest(digest, 1);
    fake_digest(twin, 2);
    /* a key that the case gives itself comes instead of the usual one */
    bool type = strstr(members, "mediaType") != NULL, own = strstr(members, "'digest'") != NULL;
    char *text = quoted(
        "{'schemaVersion':2,'annotations':{'dev.ocivariant.namespaces':'n, m, nvidia, amd, off',"
        "'dev.ocivariant.schema':'%s'},"
        "'manifests':[{'size':1%s%s%s%s%s},"
        "{'mediaType':'" OCV_MEDIA_TYPE_MANIFEST
        "','size':1,'digest':'%s'" AMD64 LABELLED("'twin'", "'n :: f :: 2'") "}]}",
        schema, type ? "" : ",'mediaType':'" OCV_MEDIA_TYPE_MANIFEST "'", own ? "" : ",'digest':'",
        own ? "" : digest, own ? "" : "'", members, twin);
    struct ocv_index *index = parse_index(text);
    free(text);
    return index;
}

static bool is_printable_utf8(const char *s)
{
    json_t *text = json_string(s); /* refuses invalid UTF-8 */
    bool ok = text != NULL;
    json_decref(text);
    for (; *s; s++)
        ok = ok && (unsigned char)*s >= 0x20 && *s != 0x7f;
    return ok;
}

static struct ocv_rejection check_case(const struct ocv_index *index,
                                       const struct ocv_resolve_options *options,
                                       enum ocv_reject code, const char *feature)
{
    ocv_auto(ocv_profile) p = profile();
    ocv_auto(ocv_decision) d = resolve(index, p, options);
    struct ocv_rejection r = rejection_of(d, 0);
    ck_assert_str_eq(ocv_reject_name(r.code), ocv_reject_name(code));
    char got[256] = "";
    if (r.ns)
        snprintf(got, sizeof(got), "%s :: %s", r.ns, r.feature);
    ck_assert_str_eq(got, feature ? feature : "");
    ocv_auto_buffer reason;
    ocv_buffer_init(&reason, 4096);
    ck_assert_int_eq(ocv_decision_reason(d, 0, &reason, NULL), OCV_OK);
    ck_assert_uint_gt(reason.len, 5);
    ck_assert(is_printable_utf8(reason.data));
    ck_assert_uint_eq(ocv_decision_matched(d, r.entry, NULL, 0), 0);
    return r;
}

START_TEST(test_codes)
{
    ocv_auto(ocv_index) index = case_index(cases[_i].members, "1");
    ocv_auto(ocv_config) config = new_config();
    set_config(config, "disable", "off");
    struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config)};
    check_case(index, &options, cases[_i].code, cases[_i].feature);
}
END_TEST

START_TEST(test_codes_of_the_request)
{
    ocv_auto(ocv_index) fits = case_index(AMD64 LABELLED("'x'", "'n :: f :: 1'"), "1");
    struct ocv_resolve_options label = {.label = "other"};
    check_case(fits, &label, OCV_REJECT_NOT_REQUESTED, NULL);
    ocv_auto(ocv_index) arm = case_index(
        ",'platform':{'os':'linux','architecture':'arm64'}" LABELLED("'x'", "'n :: f :: 1'"), "1");
    ocv_auto(ocv_platform) platform = NULL;
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_platform_parse("linux/arm64", &platform, &err), OCV_OK);
    struct ocv_resolve_options foreign = {.platform = platform};
    check_case(arm, &foreign, OCV_REJECT_FOREIGN_ARCHITECTURE, NULL);
    ocv_auto(ocv_index) schema = case_index(AMD64 LABELLED("'x'", "'n :: f :: 1'"), "2");
    check_case(schema, NULL, OCV_REJECT_SCHEMA, NULL);
}
END_TEST

START_TEST(test_too_long)
{
    char list[4200] = "", members[4600];
    while (strlen(list) <= OCV_ENTRY_PROPERTIES_BYTES_MAX)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%sn :: f :: %zu",
                 *list ? ", " : "", strlen(list));
    snprintf(members, sizeof(members),
             AMD64 ",'annotations':{'dev.ocivariant.label':'x','dev.ocivariant.properties':'%s'}",
             list);
    ocv_auto(ocv_index) index = case_index(members, "1");
    check_case(index, NULL, OCV_REJECT_TOO_LONG, NULL);
}
END_TEST

START_TEST(test_names)
{
    for (int a = 0; a < OCV_REJECT_MAX; a++) {
        ck_assert_str_ne(ocv_reject_name((enum ocv_reject)a), "unknown");
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(ocv_reject_name((enum ocv_reject)a),
                             ocv_reject_name((enum ocv_reject)b));
    }
    ck_assert_str_eq(ocv_reject_name(OCV_REJECT_MAX), "unknown");
    ck_assert_str_eq(ocv_reject_name((enum ocv_reject) - 1), "unknown");
}
END_TEST

static json_t *decision_json(const struct ocv_decision *d)
{
    ocv_auto_buffer text;
    struct ocv_error err = {0};
    ocv_buffer_init(&text, 1u << 24);
    int status = ocv_decision_format_json(d, &text, &err);
    ck_assert_msg(status == OCV_OK, "%s", err.message);
    ck_assert_int_eq(text.data[text.len - 1], '\n');
    json_t *json = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(json);
    return json;
}

static const char *member(const json_t *json, const char *key)
{
    const char *s = json_string_value(json_object_get(json, key));
    return s ? s : "(none)";
}

START_TEST(test_json)
{
    ocv_auto(ocv_profile) p = profile();
    json_t *json = index_json("n, nvidia");
    add_entry(json, "linux/amd64", NULL, NULL);
    add_entry(json, "linux/amd64/x-good", "good", "n :: f :: 1, n :: f :: 2, n :: f :: 9");
    add_entry(json, "linux/amd64", "cuda", "nvidia :: cuda_version_lower_bound :: 12.8");
    add_entry(json, "linux/amd64", "sm", "nvidia :: sm_arch :: 90_real");
    add_entry(json, "linux/arm64", NULL, NULL);
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_decision) d = resolve(index, p, NULL);
    json_t *out = decision_json(d);
    ck_assert_str_eq(member(out, "schema"), "dev.ocivariant.decision/v1");
    ck_assert_str_eq(member(out, "index"), ocv_index_digest(index));
    ck_assert_str_eq(member(out, "source"), "index");
    const json_t *s = json_object_get(out, "selected");
    ck_assert_str_eq(member(s, "label"), "good");
    ck_assert_str_eq(member(s, "kind"), "variant");
    ck_assert_str_eq(member(s, "mediaType"), OCV_MEDIA_TYPE_MANIFEST);
    ck_assert_int_eq(json_integer_value(json_object_get(s, "size")), 1001);
    ck_assert_str_eq(member(json_object_get(s, "platform"), "variant"), "x-good");
    const json_t *matched = json_object_get(s, "matched");
    ck_assert_uint_eq(json_array_size(matched), 2);
    ck_assert_str_eq(json_string_value(json_array_get(matched, 0)), "n :: f :: 1");
    const json_t *order = json_object_get(out, "order");
    ck_assert_uint_eq(json_array_size(order), 2);
    ck_assert_str_eq(json_string_value(json_array_get(order, 1)),
                     ocv_index_entry(index, 0)->digest);
    const json_t *r = json_object_get(out, "rejected");
    ck_assert_uint_eq(json_array_size(r), 3);
    const json_t *cuda = json_array_get(r, 0), *sm = json_array_get(r, 1);
    ck_assert_str_eq(member(cuda, "label"), "cuda");
    ck_assert_str_eq(member(cuda, "code"), "value-unsupported");
    ck_assert_str_eq(member(cuda, "property"), "nvidia :: cuda_version_lower_bound");
    ck_assert_uint_eq(json_array_size(json_object_get(cuda, "wanted")), 1);
    ck_assert_uint_eq(json_array_size(json_object_get(cuda, "have")), 2);
    ck_assert_str_eq(member(cuda, "hint"), "driver 535.161 supports CUDA up to 12.2; this needs "
                                           "12.8: driver 570 or newer");
    ck_assert_ptr_nonnull(strstr(member(sm, "hint"), "--devices nvidia="));
    ck_assert_str_eq(member(sm, "device"), "d1");
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(sm, "have"), 0)), "75_real");
    ck_assert(json_is_null(json_object_get(json_array_get(r, 2), "label")));
    ck_assert_str_eq(member(json_array_get(r, 2), "code"), "platform");
    json_decref(out);
}
END_TEST

/* What would make a property fit: schema/hints.yaml, with and without what the host has. */
static const struct {
    const char *ns, *property, *hint;
} hints[] = {
    {"'driver':'535.161','features':[{'name':'cuda_version_lower_bound','values':['12.2','12.1']}]",
     "nvidia :: cuda_version_lower_bound :: 12.8",
     "driver 535.161 supports CUDA up to 12.2; this needs 12.8: driver 570 or newer"},
    {"'driver':'595.45','features':[{'name':'cuda_version_lower_bound','values':['13.2']}]",
     "nvidia :: cuda_version_lower_bound :: 14.1",
     "driver 595.45 supports CUDA up to 13.2; this needs 14.1: a newer driver"},
    {"'features':[{'name':'cuda_version_lower_bound','values':['12.2']}]",
     "nvidia :: cuda_version_lower_bound :: 13.1", "this needs CUDA 13.1: driver 590 or newer"},
    {"'features':[{'name':'cuda_version_upper_bound','values':['14.0','13.3']}]",
     "nvidia :: cuda_version_upper_bound :: 13.0",
     "this needs CUDA below 13.0: a driver older than 580"},
    {"'status':'partial','error':'the NVIDIA driver is not loaded','features':[]",
     "nvidia :: cuda_version_lower_bound :: 12.8", "the NVIDIA driver is not loaded"},
    {"'features':[{'name':'sm_arch','values':['75_real']}]", "nvidia :: sm_arch :: 120f_real",
     "this needs SM 120f_real: a GPU of compute capability 12.0 or 12.1 (CUDA 12.9 or newer)"},
    {"'features':[{'name':'sm_arch','values':['75_real']}],"
     "'devices':[{'id':'d0','features':[{'name':'sm_arch','values':['75_real']}]}]",
     "nvidia :: sm_arch :: 90_real",
     "this needs SM 90_real: a GPU of compute capability 9.0 (Hopper; CUDA 11.8 or newer)"},
    {"'driver':'470.1','features':[{'name':'cuda_version_lower_bound','values':['11.4']}]",
     "nvidia :: cuda_version_lower_bound :: 12.9, nvidia :: cuda_version_lower_bound :: 12.0",
     "driver 470.1 supports CUDA up to 11.4; this needs 12.0: driver 525 or newer"},
    {"'driver':'535.1','features':[{'name':'cuda_version_lower_bound','values':['12.2']}]",
     "nvidia :: cuda_version_lower_bound :: 12.8, nvidia :: cuda_version_lower_bound :: 12.4",
     "driver 535.1 supports CUDA up to 12.2; this needs 12.4: driver 550 or newer; its code is "
     "compressed in a way that older drivers cannot read"},
    {"'driver':'535.1','features':[{'name':'cuda_version_lower_bound','values':['12.2']}]",
     "nvidia :: cuda_version_lower_bound :: 12.4",
     "driver 535.1 supports CUDA up to 12.2; this needs 12.4: driver 550 or newer"},
    {"'driver':'570.1','features':[{'name':'cuda_version_lower_bound','values':['12.9']}]",
     "nvidia :: cuda_version_lower_bound :: 12.8",
     "the host's list has 12.9 and not 12.8: it should have each version that runs, down to the "
     "oldest"},
    {"'features':[{'name':'unknown','values':['1']}]", "nvidia :: unknown :: 2", ""},
    {"'features':[]", "nvidia :: cuda_version_lower_bound :: 12.8", ""}, /* no device, no advice */
    {"'features':[],'devices':[{'id':'d0'}]", "nvidia :: cuda_version_lower_bound :: 12.8",
     "this needs CUDA 12.8: driver 570 or newer"},
};

START_TEST(test_hints)
{
    char *text = quoted("{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux',"
                        "'architecture':'amd64'},'namespaces':[{'namespace':'nvidia',%s}]}",
                        hints[_i].ns);
    ocv_auto(ocv_profile) p = parse_profile(text);
    ocv_auto_buffer hint;
    ocv_buffer_init(&hint, 4096);
    json_t *json = index_json("nvidia");
    add_entry(json, "linux/amd64", "v", hints[_i].property);
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_decision) d = resolve(index, p, NULL);
    ck_assert_uint_eq(ocv_decision_rejected_count(d), 1);
    ck_assert_int_eq(ocv_decision_hint(d, 0, &hint, NULL), OCV_OK);
    ck_assert_str_eq(hint.data ? hint.data : "", hints[_i].hint);
    free(text);
}
END_TEST

/* Devices that no profile has; devices of which one at least could serve something. */
START_TEST(test_no_device)
{
    static const char *const devices[] = {
        "", ",'devices':[{'id':'d0','secondary':true,'attributes':{'reason':'no driver'}},"
            "{'id':'d1'}]"};
    ocv_auto(ocv_config) config = new_config();
    char *text = quoted("{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux',"
                        "'architecture':'amd64'},'namespaces':[{'namespace':'nvidia','features':[{"
                        "'name':'sm_arch','values':['90_real']}]%s}]}",
                        devices[_i]);
    ocv_auto(ocv_profile) p = parse_profile(text);
    ocv_auto_buffer hint;
    ocv_buffer_init(&hint, 4096);
    set_config(config, "devices", "nvidia=7");
    struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config)};
    json_t *json = index_json("nvidia");
    add_entry(json, "linux/amd64", "v", "nvidia :: sm_arch :: 90_real");
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_decision) d = resolve(index, p, &options);
    ck_assert_int_eq(ocv_decision_rejected(d, 0).code, OCV_REJECT_NO_DEVICE);
    ck_assert_int_eq(ocv_decision_hint(d, 0, &hint, NULL), OCV_OK);
    ck_assert_str_eq(hint.data, "see --devices, 'devices' and what the probe marks secondary");
    free(text);
}
END_TEST

#define CUDA(version) "nvidia :: cuda_version_lower_bound :: " version
#define BY_MINOR "runs by CUDA minor-version compatibility: built with "

/* Of the entry `v`, beside another one of the same image, on a host with CUDA 12.8. */
static const struct {
    const char *properties, *other, *note;
} notes[] = {
    {CUDA("12.0") ", " CUDA("12.9"), NULL,
     BY_MINOR "12.9, this driver has 12.8; driver 575 or newer runs it natively"},
    {CUDA("12.0") ", " CUDA("12.19"), NULL,
     BY_MINOR "12.19, this driver has 12.8; a newer driver runs it natively"},
    {CUDA("12.0"), CUDA("12.9"),
     BY_MINOR "12.9, this driver has 12.8; driver 575 or newer runs it natively"},
    {CUDA("12.0"), CUDA("12.6"), ""},
    {CUDA("12.0"), CUDA("13.0"), ""},
    {CUDA("12.0") ", " CUDA("12.6"), NULL, ""},
    {CUDA("12.0"), NULL, ""},
    {CUDA("12.6") ", " CUDA("12.9"), NULL, ""}, /* not the first of a major */
    /* the first whose drivers read what is compressed with zstd */
    {CUDA("12.4") ", " CUDA("12.9"), NULL,
     BY_MINOR "12.9, this driver has 12.8; driver 575 or newer runs it natively"},
    {CUDA("12.0") ", " CUDA("13.0"), NULL, ""},
    {CUDA("12.9"), NULL, ""}, /* does not fit */
    {"nvidia :: sm_arch :: 90_real", NULL, ""},
    {"amd :: rocm_user_space :: 10.0", NULL,
     "brings ROCm 10.0, newer than what was tested with this driver (up to 7.14)"},
    {"amd :: rocm_user_space :: 7.15", NULL,
     "brings ROCm 7.15, newer than what was tested with this driver (up to 7.14)"},
    {"amd :: rocm_user_space :: 7.14", NULL, ""},
    {"amd :: rocm_user_space :: 7.2", NULL, ""}, /* 7.2 is below 7.14 */
    {"amd :: rocm_user_space :: 6.0", NULL, ""}, /* does not fit */
    {"amd :: rocm_user_space :: 10.0, amd :: rocm_user_space :: 7.2", NULL, ""},
};

START_TEST(test_notes)
{
    char *text =
        quoted("{'schema':'dev.ocivariant.profile/v1','platform':{'os':'linux',"
               "'architecture':'amd64'},'namespaces':[{'namespace':'nvidia','features':[{"
               "'name':'cuda_version_lower_bound','values':['12.8','12.7','12.6','12.4','12.0']},"
               "{'name':'sm_arch','values':['90_real']}]},{'namespace':'amd',"
               "'features':[{'name':'rocm_user_space','values':['7.14','7.2','10.0','7.15']}]}]}");
    ocv_auto(ocv_profile) p = parse_profile(text);
    ocv_auto_buffer note;
    ocv_buffer_init(&note, 4096);
    json_t *json = index_json("nvidia, amd");
    add_entry(json, "linux/amd64", "v", notes[_i].properties);
    if (notes[_i].other) {
        json_t *list = json_object_get(json, "manifests");
        json_array_append_new(list, entry_json(0, "linux/amd64", "w", notes[_i].other));
    }
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_decision) d = resolve(index, p, NULL);
    const struct ocv_entry *v = ocv_index_entry(index, 0);
    ck_assert_int_eq(ocv_decision_note(d, v, &note, NULL), OCV_OK);
    ck_assert_str_eq(note.data ? note.data : "", notes[_i].note);
    json_t *out = decision_json(d);
    const char *told = json_string_value(json_object_get(json_object_get(out, "selected"), "note"));
    ck_assert_str_eq(ocv_decision_selected(d) == v && told ? told : "",
                     ocv_decision_selected(d) == v ? notes[_i].note : "");
    json_decref(out);
    free(text);
}
END_TEST

START_TEST(test_json_nothing_fits)
{
    ocv_auto(ocv_profile) p = profile();
    json_t *json = index_json("n");
    ocv_auto(ocv_index) index = index_from(json);
    ocv_auto(ocv_decision) d = resolve(index, p, NULL);
    ck_assert_ptr_null(ocv_decision_selected(d));
    json_t *out = decision_json(d);
    ck_assert(json_is_null(json_object_get(out, "selected")));
    ck_assert_str_eq(member(out, "source"), "none");
    ck_assert_uint_eq(json_array_size(json_object_get(out, "order")), 0);
    json_decref(out);
}
END_TEST

/* Names from the registry are cut to a length somewhere; a cut inside a character, or an escape
 * sequence, must reach neither the JSON nor a terminal. */
START_TEST(test_hostile_text)
{
    char euros[400] = "", members[2000];
    size_t used = 0;
    for (int i = 0; i < 101 + _i; i++) /* 3 bytes each: every alignment of the cut */
        used += (size_t)snprintf(euros + used, sizeof(euros) - used, "%s", i < _i ? "x" : "€");
    ocv_auto(ocv_profile) p = profile();
    static const char *const shapes[] = {
        AMD64 ",'annotations':{'dev.ocivariant.label':'x','dev.ocivariant.properties':'%s'}",
        AMD64 ",'annotations':{'dev.ocivariant.label':'%s','dev.ocivariant.properties':''}",
        AMD64 ",'mediaType':'\\u001b[31m%s'",
        ",'platform':{'os':'\\u001b%s','architecture':'amd64'}",
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        int cut = snprintf(members, sizeof(members), "%.*s%s%s",
                           (int)(strstr(shapes[i], "%s") - shapes[i]), shapes[i], euros,
                           strstr(shapes[i], "%s") + 2);
        ck_assert_int_lt(cut, (int)sizeof(members));
        ocv_auto(ocv_index) index = case_index(members, "1");
        ocv_auto(ocv_decision) d = resolve(index, p, NULL);
        ocv_auto_buffer reason;
        ocv_buffer_init(&reason, 4096);
        ck_assert_int_eq(ocv_decision_reason(d, 0, &reason, NULL), OCV_OK);
        ck_assert_msg(is_printable_utf8(reason.data), "%s", reason.data);
        json_decref(decision_json(d));
    }
}
END_TEST

/* An entry that is skipped keeps its first reason; its label must not reach a terminal either. */
START_TEST(test_hostile_label)
{
    ocv_auto(ocv_index) index =
        case_index(",'mediaType':'text/"
                   "plain','platform':{'os':'\\u001b[2J','architecture':'\\u0007'}" LABELLED(
                       "'\\u001b[31mred'", "''"),
                   "1");
    const struct ocv_entry *entry = ocv_index_entry(index, 0);
    ck_assert_int_eq(entry->code, OCV_REJECT_MEDIA_TYPE);
    ck_assert_ptr_null(entry->label);
    char text[64];
    ocv_platform_format(&entry->platform, text, sizeof(text));
    ck_assert_msg(is_printable_utf8(text), "%s", text);
}
END_TEST

/* Names may be as long as a property list: sentences about them are still part of the JSON. */
START_TEST(test_long_names)
{
    static char members[8192], feature[3900];
    memset(feature, 'f', sizeof(feature) - 1);
    snprintf(members, sizeof(members), AMD64 LABELLED("'x'", "'n :: %s :: 1'"), feature);
    ocv_auto(ocv_index) index = case_index(members, "1");
    ocv_auto(ocv_profile) p = profile();
    ocv_auto(ocv_decision) d = resolve(index, p, NULL);
    json_t *out = decision_json(d);
    json_t *rejected = json_array_get(json_object_get(out, "rejected"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(rejected, "code")), "feature-unsupported");
    json_decref(out);
}
END_TEST

START_TEST(test_hostile_warnings)
{
    char list[300] = "";
    size_t used = 0;
    for (int i = 0; i < 60 + _i; i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s", i < _i ? "x" : "€");
    snprintf(list + used, sizeof(list) - used, "\x1b[31m");
    json_t *json = index_json(list);
    json_t *annotations = json_object_get(json, "annotations");
    json_object_set_new(annotations, OCV_ANNOTATION_STATIC "own", json_string(list));
    snprintf(list, sizeof(list), OCV_ANNOTATION_STATIC "\x1b%.*s€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€€",
             _i, "xxx");
    json_object_set_new(annotations, list, json_string("f :: 1"));
    ocv_auto(ocv_index) index = index_from(json);
    const char *const *warnings;
    size_t n = ocv_index_warnings(index, &warnings);
    ck_assert_uint_eq(n, 3);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(is_printable_utf8(warnings[i]), "%s", warnings[i]);
    ocv_auto(ocv_profile) p = profile();
    ocv_auto(ocv_decision) d = resolve(index, p, NULL);
    json_t *out = decision_json(d);
    ck_assert_uint_eq(json_array_size(json_object_get(out, "warnings")), 3);
    json_decref(out);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("decision");
    TCase *tcase = tcase_create("decision");
    tcase_add_loop_test(tcase, test_codes, 0, sizeof(cases) / sizeof(*cases));
    tcase_add_test(tcase, test_codes_of_the_request);
    tcase_add_test(tcase, test_too_long);
    tcase_add_test(tcase, test_names);
    tcase_add_test(tcase, test_json);
    tcase_add_loop_test(tcase, test_hints, 0, sizeof(hints) / sizeof(*hints));
    tcase_add_loop_test(tcase, test_notes, 0, sizeof(notes) / sizeof(*notes));
    tcase_add_loop_test(tcase, test_no_device, 0, 2);
    tcase_add_test(tcase, test_json_nothing_fits);
    tcase_add_loop_test(tcase, test_hostile_text, 0, 3);
    tcase_add_test(tcase, test_hostile_label);
    tcase_add_test(tcase, test_long_names);
    tcase_add_loop_test(tcase, test_hostile_warnings, 0, 3);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
