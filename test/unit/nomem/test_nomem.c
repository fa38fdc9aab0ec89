/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Without memory: indexes, profiles, configuration, the choice, tags. */
#include "test/unit/nomem/nomem_util.h"

#include "lib/core/core_internal.h"
#include "lib/internal/config/config.h"
#include "lib/internal/tags/tags.h"

static const char profile_text[] =
    "{\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\",\"os.features\":[\"x\"]},"
    "\"namespaces\":[{\"namespace\":\"n\",\"driver\":\"1.2\",\"features\":["
    "{\"name\":\"g\",\"values\":[\"1\"]}],\"devices\":["
    "{\"features\":[{\"name\":\"f\",\"values\":[\"2\",\"1\"]}]},"
    "{\"id\":\"d1\",\"uuid\":\"u\",\"features\":[{\"name\":\"f\",\"values\":[\"1\",\"2\"]}]}]}]}";

static const char config_text[] =
    "namespace_priority: [p, n]\ndisable: [zz, 'a::b', 'n::f::9']\ndevice_policy: {n: all}\n"
    "devices: {n: ['0', d1]}\noverride: {n: {h: ['1', '2'], g: ['1']}, m: {q: []}}\n"
    "registries:\n  'r.example:5000': {url: 'https://r', ca: /ca, insecure: true}\nto: docker\n"
    "mode: auto\nallow: ['*']\ncredentials: x\nrequire: ['n::f']\n"
    "repositories: {'docker.io/a': {label: a, disable: [n]}, '**': {device_policy: {n: any}}}\n";

static int call_index(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    int status = ocv_index_parse(index_text, sizeof(index_text) - 1, NULL, &index, err);
    return status < 0 ? status : ocv_buffer_printf(out, err, "%s", ocv_index_digest(index));
}

static int call_manifest_index(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    struct ocv_descriptor d = {.media_type = OCV_MEDIA_TYPE_MANIFEST, .size = 3};
    fake_digest(d.digest, 1);
    int status = ocv_index_of_manifest(&d, &index, err);
    return status < 0 ? status : ocv_buffer_printf(out, err, "%s", ocv_index_digest(index));
}

static int call_profile(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_profile) profile = NULL;
    int status = ocv_profile_parse(profile_text, sizeof(profile_text) - 1, &profile, err);
    return status < 0 ? status : ocv_json_append(profile->root, 0, out, err);
}

static int read_config(struct ocv_config **config, struct ocv_error *err)
{
    int status = ocv_config_new(config, err);
    if (status == OCV_OK)
        status = ocv_config_merge_yaml(*config, "test", config_text, strlen(config_text), err);
    if (status == OCV_OK)
        status = ocv_config_set(*config, "test", "override", "n::k=1,2;n::l=", true, err);
    if (status == OCV_OK)
        status = ocv_config_set(*config, "test", "devices", "n=0", true, err);
    if (status == OCV_OK)
        status = ocv_config_set(*config, "test", "device_policy", "k=first", true, err);
    if (status == OCV_OK)
        status = ocv_config_set(*config, "test", "disable", "q, r::s", true, err);
    return status == OCV_OK ? ocv_config_set(*config, "test", "to", "podman", false, err) : status;
}

static int call_config(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_config) config = NULL;
    int status = read_config(&config, err);
    if (status < 0) /* a configuration that could not be filled must still be readable */
        return config && ocv_config_find_registry(config, "x").host ? OCV_ERR_INVALID : status;
    return ocv_buffer_printf(out, err, "%s", ocv_config_get(config, "to"));
}

static int call_resolve(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto(ocv_profile) plain = NULL;
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_config) config = NULL;
    ocv_auto(ocv_decision) d = NULL;
    int status = ocv_index_parse(index_text, sizeof(index_text) - 1, NULL, &index, err);
    if (status == OCV_OK)
        status = ocv_profile_parse(profile_text, sizeof(profile_text) - 1, &plain, err);
    if (status == OCV_OK)
        status = read_config(&config, err);
    if (status == OCV_OK)
        status = ocv_config_override_profile(config, plain, &profile, err);
    struct ocv_resolve_options options = {.preferences = ocv_config_preferences(config)};
    if (status == OCV_OK)
        status = ocv_resolve(index, profile, &options, &d, err);
    for (size_t i = 0; status == OCV_OK && i < ocv_decision_rejected_count(d); i++) {
        status = ocv_decision_reason(d, i, out, err);
        if (status == OCV_OK)
            status = ocv_decision_hint(d, i, out, err);
    }
    for (size_t i = 0; status == OCV_OK && i < ocv_decision_order_count(d); i++)
        status = ocv_decision_note(d, ocv_decision_order(d, i), out, err);
    if (status == OCV_OK)
        status = ocv_json_append(profile->root, 0, out, err);
    return status < 0 ? status : ocv_decision_format_json(d, out, err);
}

static int call_reference(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_reference) ref = NULL;
    int status = ocv_reference_parse("alpine:3.20@sha256:00000000000000000000000000000000000000000"
                                     "00000000000000000000000",
                                     &ref, err);
    return status < 0 ? status
                      : ocv_buffer_printf(out, err, "%s %s %s", ref->name, ref->tag, ref->familiar);
}

static int call_properties(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_properties) set = NULL;
    int status = ocv_properties_parse("b::c::d,a::b::c", 15, &set, err);
    return status < 0 ? status : ocv_properties_format(set, out, err);
}

static int call_platform(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_platform) p = NULL;
    char text[64];
    int status = ocv_platform_parse("linux/arm64/v8", &p, err);
    return status < 0
               ? status
               : ocv_buffer_printf(out, err, "%s", ocv_platform_format(p, text, sizeof(text)));
}

static int call_digest(struct ocv_buffer *out, struct ocv_error *err)
{
    char digest[OCV_DIGEST_MAX];
    int status = ocv_digest_bytes("abc", 3, digest, err);
    if (status == OCV_OK)
        status = ocv_digest_check(digest, "abc", 3, err);
    return status < 0 ? status : ocv_buffer_append(out, digest, strlen(digest), err);
}

static const char rules_text[] =
    "schema: dev.ocivariant.tags/v1\nfamily: demo\nnotations:\n  py: [{match: 'py([0-9]+)', group: "
    "{py: '\\1'}}]\nrepositories: [{match: 'docker\\.io/demo/(app)', kind: r, group: {r: '\\1'}}]\n"
    "parts:\n- {match: 'cu([0-9]+)', gives: ['n :: f :: \\1'], kind: d}\n- {use: py}\n"
    "- {match: 'arm64', platform: linux/arm64}\n- {match: slim, ignore: true}\n"
    "- {match: '[0-9.]+', group: version}\ndefaults:\n- {missing: d, where: {version: '1.*'}, "
    "gives: "
    "['n :: f :: 0']}\n- {missing: [d], refuse: why}\ngroup_tags: ['{version}', '{version}-{py}']\n"
    "prefer: {py: newest, r: [a], tag: shortest}\nnamespaces: [n]\n";

static int read_rules(struct ocv_tag_rules **rules, struct ocv_reference **reference,
                      struct ocv_error *err)
{
    int status = ocv_tag_rules_new(rules, err);
    if (status == OCV_OK)
        status = ocv_tag_rules_mirror(*rules, "m.example", "docker.io", err);
    if (status == OCV_OK)
        status = ocv_reference_parse("demo/app:1.9", reference, err);
    return status == OCV_OK
               ? ocv_tag_rules_add(*rules, "r", rules_text, strlen(rules_text), *reference, err)
               : status;
}

static int call_tag(struct ocv_buffer *out, struct ocv_error *err)
{
    static const char *const tags[] = {"1.9", "1.9-cu128-py312-arm64-slim-what-cu130", "2.0"};
    ocv_auto(ocv_tag_rules) rules = NULL;
    ocv_auto(ocv_reference) reference = NULL;
    int status = read_rules(&rules, &reference, err);
    for (size_t i = 0; i < 3 && status == OCV_OK; i++) {
        ocv_auto(ocv_tag) tag = NULL;
        status = ocv_tag_parse(rules, reference, tags[i], &tag, err);
        if (status == OCV_OK)
            status = ocv_tag_format_json(tag, out, err);
    }
    return status;
}

static int visit_tags(void *data, int (*visit)(void *visit_data, const char *tag), void *visit_data,
                      struct ocv_error *err)
{
    static const char *const tags[] = {
        "1.9", "1.9-cu128", "1.9-cu130-py312", "1.9-cu130-py311", "1.9-cu130-arm64", "2.0-x"};
    (void)data;
    for (size_t i = 0; i < 6; i++)
        if (visit(visit_data, tags[i]))
            return ocv_error_set(err, OCV_ERR_INTERRUPTED, "stopped");
    return OCV_OK;
}

static int head_tag(void *data, const char *tag, struct ocv_descriptor *out, struct ocv_error *err)
{
    (void)data;
    (void)err;
    *out = (struct ocv_descriptor){.media_type = OCV_MEDIA_TYPE_MANIFEST, .size = 5};
    fake_digest(out->digest, (unsigned)strlen(tag));
    return OCV_OK;
}

static int get_tag(void *data, const char *digest, struct ocv_buffer *body,
                   struct ocv_descriptor *out, struct ocv_error *err)
{
    (void)data;
    (void)out;
    return ocv_buffer_printf(
        body, err,
        "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"%s\",\"digest\":\"%s\","
        "\"size\":5},\"layers\":[]}",
        OCV_MEDIA_TYPE_CONFIG, digest);
}

static int get_config(void *data, const struct ocv_descriptor *blob, struct ocv_buffer *body,
                      struct ocv_error *err)
{
    (void)data;
    (void)blob;
    return ocv_buffer_printf(body, err, "{\"architecture\":\"amd64\",\"os\":\"linux\"}");
}

/* One of the tags wins, and no tag but arm64's says its platform: a config is read. */
static int call_tag_choice(struct ocv_buffer *out, struct ocv_error *err)
{
    static const char host[] = "{\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},"
                               "\"namespaces\":[{\"namespace\":\"n\",\"features\":["
                               "{\"name\":\"f\",\"values\":[\"130\",\"128\",\"0\"]}]}]}";
    struct ocv_tag_source source = {
        .tags = visit_tags, .head = head_tag, .get = get_tag, .blob = get_config};
    struct ocv_resolve_options options = {0};
    ocv_auto(ocv_tag_rules) rules = NULL;
    ocv_auto(ocv_reference) reference = NULL;
    ocv_auto(ocv_profile) profile = NULL;
    ocv_auto(ocv_tag_choice) choice = NULL;
    ocv_auto(ocv_decision) decision = NULL;
    int status = read_rules(&rules, &reference, err);
    if (status == OCV_OK)
        status = ocv_profile_parse(host, sizeof(host) - 1, &profile, err);
    if (status == OCV_OK)
        status = ocv_tag_choice_new(rules, reference, &source, &choice, err);
    if (status == OCV_OK)
        status = ocv_tag_choice_resolve(choice, &source, profile, &options, &decision, err);
    if (choice && !ocv_tag_choice_index(choice)) /* it may be asked again */
        return ocv_error_set(err, OCV_ERR_DATA, "no index is left to choose in");
    if (status == OCV_OK && !ocv_decision_selected(decision)->has_platform)
        return ocv_error_set(err, OCV_ERR_DATA, "no config was read");
    return status < 0 ? status : ocv_decision_format_json(decision, out, err);
}

static const struct torture_call calls[] = {
    {"index", call_index, 2},
    {"lone manifest", call_manifest_index, 2},
    {"profile", call_profile, 0},
    {"configuration", call_config, 2},
    {"resolve", call_resolve, 2},
    {"reference", call_reference, 0},
    {"properties", call_properties, 0},
    {"platform", call_platform, 0},
    {"digest", call_digest, 2},
    {"tag", call_tag, 0},
    {"choice among tags", call_tag_choice, 0},
};

TEST_FILE
{
    return torture("nomem", calls, sizeof(calls) / sizeof(*calls));
}
