/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Torture: the Nth allocation fails, for N = 1, 2, ... until the call succeeds; once alone, once
 * with every later one. A call either says OCV_ERR_NOMEM and leaks nothing, or succeeds with the
 * same result as undisturbed. The allocator is this program's own, so that allocations of the
 * libraries below ours fail too; under a sanitizer, which brings its own, the test is skipped. */
#include "lib/core/profile_internal.h"
#include "lib/edit/edit.h"
#include "lib/lint/lint.h"
#include "lib/probe/executable/executable.h"
#include "lib/probe/providers/builtin.h"
#include "lib/probe/providers/nvidia/nvidia.h"
#include "lib/probe/result/pretty.h"
#include "lib/records/records.h"
#include "test/unit/core_util.h"

#include <errno.h>
#include <ftw.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIPPED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SKIPPED 1
#endif
#endif

#ifdef SKIPPED
int main(void)
{
    printf("skipped: the sanitizer owns the allocator\n");
    return 0;
}
#else

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

static struct {
    bool on, persistent;
    long countdown, seen, live;
} heap;

static bool refuse(void)
{
    if (!heap.on)
        return false;
    heap.seen++;
    if (heap.persistent ? heap.seen < heap.countdown : heap.seen != heap.countdown)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    if (refuse())
        return NULL;
    void *p = __libc_malloc(size);
    heap.live += heap.on && p;
    return p;
}

void *calloc(size_t n, size_t size)
{
    if (refuse())
        return NULL;
    void *p = __libc_calloc(n, size);
    heap.live += heap.on && p;
    return p;
}

void *realloc(void *old, size_t size)
{
    if (refuse())
        return NULL;
    void *p = __libc_realloc(old, size);
    heap.live += heap.on && p && !old;
    return p;
}

void free(void *p)
{
    heap.live -= heap.on && p;
    __libc_free(p);
}

/* ---- the calls ---- */

static const char index_text[] =
    "{\"schemaVersion\":2,\"annotations\":{\"dev.ocivariant.namespaces\":\"n, p, B\u00e4d\","
    "\"dev.ocivariant.static.p\":\"order :: 1, order :: 2\"},\"manifests\":["
#define ENTRY(digit, more)                                             \
    "{\"mediaType\":\"application/"                                    \
    "vnd.oci.image.manifest.v1+json\",\"size\":5,\"digest\":\"sha256:" \
    "000000000000000000000000000000000000000000000000000000000000000" digit "\"" more "}"
#define VARIANT(label, properties)                                                    \
    ",\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\",\"os.features\":[]}," \
    "\"annotations\":{\"dev.ocivariant.label\":\"" label                              \
    "\",\"dev.ocivariant.properties\":\"" properties "\"}"
    ENTRY("1", VARIANT("null", "")) "," ENTRY("2",
                                              VARIANT("a", "n :: f :: 1, p :: order :: 2")) "," //
    ENTRY("3", VARIANT("b", "n :: f :: 2, n :: g :: 1")) "," ENTRY("4", "") ","                 //
    ENTRY("5", VARIANT("bad", "no property")) "," ENTRY("6", VARIANT("c", "n :: f :: 9")) "]}";

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

static const char declaration_text[] =
    "schema: dev.ocivariant.provider/v1\nnamespace: chip\ndrivers: [chip]\n"
    "features: [{feature: arch, values: [b, a], compat: {b: [a]}}]\n"
    "devices:\n- {pci: {vendor: '1234', device: ['0001', '0002']}, name: B, set: {arch: b}}\n"
    "- {pci: {vendor: '1234'}, name: C, attributes: {firmware: fw}}\n";

/* A machine without files: what cannot be read is not there, whatever the reason. */
static int call_declaration(struct ocv_buffer *out, struct ocv_error *err)
{
    struct ocv_pci_device cards[] = {
        {.address = "0000:01:00.0", .vendor = 0x1234, .device = 3, .driver = "chip"},
        {.address = "0000:02:00.0", .vendor = 0x1234, .device = 2, .driver = "chip"},
    };
    struct ocv_probe_host host = {.root = -1, .pci = {.devices = cards, .n = 2}};
    struct ocv_declaration d = {0};
    struct ocv_result result = {.features = json_array(), .devices = json_array()};
    int status = result.features && result.devices ? OCV_OK : ocv_error_nomem(err);
    if (status == OCV_OK)
        status = ocv_declaration_read("chip.yaml", declaration_text, sizeof(declaration_text) - 1,
                                      &d, err);
    if (status == OCV_OK)
        status = ocv_declaration_probe(&d, &host, &result, err);
    if (status == OCV_OK)
        status = ocv_pretty_append(result.features, 0, out, err);
    if (status == OCV_OK)
        status = ocv_pretty_append(result.devices, 0, out, err);
    if (status == OCV_OK)
        status = ocv_buffer_printf(out, err, "%s", result.note);
    ocv_declaration_free(&d);
    json_decref(result.features);
    json_decref(result.devices);
    return status;
}

static const char executable_text[] =
    "{\"namespace\": \"chip\", \"provider\": {\"version\": \"1\"}, \"status\": \"partial\","
    " \"error\": \"no card\", \"features\": [{\"name\": \"arch\", \"values\": [\"b\", \"a\"]}],"
    " \"devices\": [{\"id\": \"x\", \"attributes\": {\"memory\": \"5\"}}, {\"id\": \"y\"}]}";

static int call_executable(struct ocv_buffer *out, struct ocv_error *err)
{
    char replaces[OCV_EXECUTABLE_NAME_MAX + 1];
    json_t *answer = NULL;
    int status = ocv_executable_answer("chip", executable_text, sizeof(executable_text) - 1,
                                       &answer, replaces, err);
    if (status == OCV_OK)
        status = ocv_pretty_append(answer, 0, out, err);
    json_decref(answer);
    return status;
}

static int call_nvidia(struct ocv_buffer *out, struct ocv_error *err)
{
    struct ocv_pci_device cards[] = {{.address = "0000:01:00.0",
                                      .vendor = OCV_PCI_NVIDIA,
                                      .device = 0x2330,
                                      .class_code = 0x030200,
                                      .driver = "nvidia"}};
    struct ocv_probe_host host = {.root = -1, .pci = {.devices = cards, .n = 1}};
    struct ocv_result result = {.features = json_array(), .devices = json_array()};
    int status = result.features && result.devices ? OCV_OK : ocv_error_nomem(err);
    if (status == OCV_OK)
        status = ocv_provider_nvidia.probe(&host, &result, err);
    if (status == OCV_OK)
        status = ocv_pretty_append(result.features, 0, out, err);
    if (status == OCV_OK)
        status = ocv_pretty_append(result.devices, 0, out, err);
    json_decref(result.features);
    json_decref(result.devices);
    return status;
}

static int call_nvml(struct ocv_buffer *out, struct ocv_error *err)
{
    static const char text[] =
        "{\"schema\": \"dev.ocivariant.nvml-query/v1\", \"cuda\": 12080, \"devices\":"
        " [{\"name\": \"A\", \"capability\": [9, 0]}, {\"mig\": true}]}";
    struct ocv_nvml_answer answer;
    int status = ocv_nvml_parse(text, sizeof(text) - 1, &answer, err);
    if (status < 0)
        return status;
    status = ocv_buffer_printf(out, err, "%u %zu %s %u", answer.cuda.major, answer.n,
                               answer.devices[0].gpu.name, answer.devices[0].gpu.sm);
    ocv_nvml_free(&answer);
    return status;
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
    struct ocv_tag_source source = {NULL, visit_tags, head_tag, get_tag, get_config};
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

static const char source_text[] =
    "namespaces: [n, p]\nstatic: {p: ['order :: 1', 'order :: 2']}\nannotations: {k: v}\n"
    "defaults: [d]\nvariants:\n- {label: a, image: r, properties: {n: {f: [1, 2]}}}\n";

static int call_source(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_edit_source) source = NULL;
    const char *key = "", *value = "";
    int status = ocv_edit_source_parse("s", source_text, sizeof(source_text) - 1, &source, err);
    if (status < 0)
        return status;
    for (size_t i = 0; status == OCV_OK && ocv_edit_source_annotation(source, i, &key, &value); i++)
        status = ocv_buffer_printf(out, err, "%s=%s ", key, value);
    struct ocv_edit_source_image image = ocv_edit_source_image(source, 1);
    return status == OCV_OK ? ocv_properties_format(image.properties, out, err) : status;
}

/* An index that is read, gets an entry, loses one, and is laid out again. */
static int call_author(struct ocv_buffer *out, struct ocv_error *err)
{
    static const char *const features[] = {"f"};
    ocv_auto(ocv_properties) set = NULL;
    ocv_auto(ocv_edit) edit = NULL;
    struct ocv_edit_image image = {.label = "new",
                                   .descriptor = {.media_type = OCV_MEDIA_TYPE_MANIFEST},
                                   .platform = {.os = "windows",
                                                .architecture = "amd64",
                                                .os_version = "1",
                                                .os_features = features,
                                                .n_os_features = 1}};
    fake_digest(image.descriptor.digest, 77);
    int status =
        ocv_edit_open(index_text, sizeof(index_text) - 1, NULL, OCV_EDIT_HIDDEN, &edit, err);
    if (status == OCV_OK)
        status = ocv_properties_parse("p :: order :: 2", 15, &set, err);
    image.properties = set;
    if (status == OCV_OK)
        status = ocv_edit_add(edit, &image, err);
    if (status == OCV_OK)
        status = ocv_edit_annotate(edit, "a", NULL, "aa", set, err);
    if (status == OCV_OK)
        status = ocv_edit_remove(edit, "b", NULL, err);
    if (status == OCV_OK)
        status = ocv_edit_remove(edit, "bad", NULL, err);
    if (status == OCV_OK)
        status = ocv_edit_relayout(edit, err);
    return status == OCV_OK ? ocv_edit_format(edit, out, err) : status;
}

typedef int (*call)(struct ocv_buffer *, struct ocv_error *);
/* Malformed, not canonical, in a wrong order, with a config that disagrees. */
#define LINTED(n, more)                                                                         \
    "{\"mediaType\":\"" OCV_MEDIA_TYPE_MANIFEST "\",\"size\":2,\"digest\":\"sha256:00000000000" \
    "0000000000000000000000000000000000000000000000000000" n "\"," more "}"
static const char linted[] =
    "{\"schemaVersion\":2,\"annotations\":{\"dev.ocivariant.namespaces\":\"n, "
    "zz\"},\"manifests\":[" LINTED(
        "1",
        "\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},\"annotations\":{"
        "\"dev.ocivariant.label\":\"a\",\"dev.ocivariant.properties\":\"n::g::2, n :: "
        "f::1\"}") "," LINTED("2", "\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\","
                                   "\"variant\":\"v3\"}") "," LINTED("3", "\"annotations\":{\"vnd."
                                                                          "docker.reference.type\":"
                                                                          "\"attestation-"
                                                                          "manifest\"}") "]}";
static const char lint_settings[] =
    "disable: [OCV106]\nlevel: {OCV503: error}\nallow:\n- {rule: OCV501, reason: x}\n";

static int call_lint(struct ocv_buffer *out, struct ocv_error *err)
{
    struct ocv_lint_report report = {0};
    struct ocv_lint_config *settings = NULL;
    json_t *config = json_pack("{s:s, s:s, s:{s:{s:s, s:s}, s:[s, s]}}", "os", "linux",
                               "architecture", "amd64", "config", "Labels", OCV_ANNOTATION_LABEL,
                               "a", OCV_ANNOTATION_PROPERTIES, "n :: f :: 3", "Env",
                               "NVIDIA_REQUIRE_CUDA=cuda>=12.9 driver>=470", "CUDA_VERSION=12.8");
    const struct ocv_lint_child children[3] = {{.state = OCV_LINT_STATE_READ, .config = config},
                                               {.state = OCV_LINT_STATE_MISSING}};
    const struct ocv_lint_input input = {.name = "x",
                                         .file = true,
                                         .bytes = linted,
                                         .len = sizeof(linted) - 1,
                                         .children = children,
                                         .n_children = 3};
    int status =
        config ? ocv_lint_config_read("c", lint_settings, sizeof(lint_settings) - 1, &settings, err)
               : ocv_error_nomem(err);
    const struct ocv_lint_options options = {.config = settings};
    if (status == OCV_OK)
        status = ocv_lint_run(&input, &options, &report, err);
    for (int format = OCV_LINT_FORMAT_TEXT; format <= OCV_LINT_FORMAT_GITHUB && status == OCV_OK;
         format++)
        status = ocv_lint_format(&report, (enum ocv_lint_format)format, NULL, 0, out, err);
    ocv_lint_report_free(&report);
    ocv_lint_config_free(settings);
    json_decref(config);
    return status;
}

static int call_lint_fix(struct ocv_buffer *out, struct ocv_error *err)
{
    size_t changes = 0;
    ocv_auto_buffer moved;
    ocv_buffer_init(&moved, OCV_MANIFEST_MAX);
    int status = ocv_lint_fix(linted, sizeof(linted) - 1, true, out, &changes, &moved, err);
    return status < 0 ? status : ocv_buffer_printf(out, err, " %zu", changes);
}

static char records[] = "/tmp/ocv-nomem-XXXXXX";

static int call_records(struct ocv_buffer *out, struct ocv_error *err)
{
    ocv_auto(ocv_index) index = NULL;
    ocv_auto_record said = {0};
    struct ocv_record_index found = {0};
    const struct ocv_record where = {.repository = "docker.io/demo/app", .reference = "demo/app:1"};
    int status = ocv_index_parse(index_text, sizeof(index_text) - 1, NULL, &index, err);
    if (status == OCV_OK)
        status = ocv_record_chosen(records, index, ocv_index_entry(index, 0), &where, err);
    if (status == OCV_OK)
        status = ocv_record_find(records, where.repository, ocv_index_digest(index), &found, err);
    if (status == OCV_OK)
        status = ocv_record_read(records, where.repository, ocv_index_entry(index, 0)->digest,
                                 &said, err);
    if (status == OCV_OK)
        status =
            ocv_buffer_printf(out, err, "%s %s %s", found.digest, found.reference, said.properties);
    ocv_record_index_free(&found);
    return status;
}

static const struct {
    const char *name;
    call call;
    long lost; /* blocks that libyaml 0.2.5 (node, event) or OpenSSL (error data) may lose */
} calls[] = {
    {"index", call_index, 2},
    {"lone manifest", call_manifest_index, 2},
    {"profile", call_profile, 0},
    {"configuration", call_config, 2},
    {"resolve", call_resolve, 2},
    {"reference", call_reference, 0},
    {"properties", call_properties, 0},
    {"platform", call_platform, 0},
    {"digest", call_digest, 2},
    {"declaration", call_declaration, 2},
    {"executable", call_executable, 0},
    {"nvidia", call_nvidia, 0},
    {"nvml-query", call_nvml, 0},
    {"index source", call_source, 2},
    {"tag", call_tag, 0},
    {"choice among tags", call_tag_choice, 0},
    {"edit", call_author, 2},
    {"lint", call_lint, 0},
    {"lint --fix", call_lint_fix, 0},
    {"records", call_records, 0},
};

#define ATTEMPTS_MAX 20000

/* One disturbed call. Returns the blocks it left behind: once, a library below may keep what it
 * sets up late; every time, it is a leak. */
static long disturb(size_t which, long n, bool persistent, const struct ocv_buffer *expected)
{
    struct ocv_error err = {0};
    struct ocv_buffer out;
    ocv_buffer_init(&out, 1u << 20);
    heap.seen = heap.live = 0;
    heap.countdown = n;
    heap.persistent = persistent;
    heap.on = true;
    int status = calls[which].call(&out, &err);
    bool same = status == OCV_OK && out.len == expected->len &&
                memcmp(out.data, expected->data, out.len) == 0;
    ocv_buffer_free(&out);
    heap.on = false;
    const char *name = calls[which].name;
    ck_assert_msg(status == OCV_OK || status == OCV_ERR_NOMEM, "%s: allocation %ld: %d %s", name, n,
                  status, err.message);
    ck_assert_msg(status != OCV_OK || same, "%s: allocation %ld: another result", name, n);
    ck_assert_msg(status == OCV_OK || err.status == OCV_ERR_NOMEM, "%s: %ld: error not set", name,
                  n);
    return heap.live;
}

/* True when nothing was refused: the call has fewer than n allocations. */
static bool attempt(size_t which, long n, bool persistent, const struct ocv_buffer *expected)
{
    long live = disturb(which, n, persistent, expected);
    bool done = heap.seen < n;
    if (live)
        live = disturb(which, n, persistent, expected);
    ck_assert_msg(live <= calls[which].lost, "%s: allocation %ld: %ld blocks lost",
                  calls[which].name, n, live);
    return done;
}

START_TEST(test_torture)
{
    size_t which = (size_t)_i / 2;
    struct ocv_buffer expected;
    struct ocv_error err = {0};
    for (int warm = 0; warm < 2; warm++) { /* the libraries below set themselves up at first use */
        ocv_buffer_init(&expected, 1u << 20);
        ck_assert_msg(calls[which].call(&expected, &err) == OCV_OK, "%s: %s", calls[which].name,
                      err.message);
        if (!warm)
            ocv_buffer_free(&expected);
    }
    long n = 1;
    while (!attempt(which, n, _i % 2, &expected))
        ck_assert_int_lt(++n, ATTEMPTS_MAX);
    ck_assert_int_gt(n, 1); /* something was refused on the way */
    ocv_buffer_free(&expected);
}
END_TEST

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    Suite *suite = suite_create("nomem");
    TCase *tcase = tcase_create("torture");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_torture, 0, 2 * (int)(sizeof(calls) / sizeof(*calls)));
    suite_add_tcase(suite, tcase);
    if (!mkdtemp(records))
        return 1;
    int code = run_suite(suite);
    nftw(records, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return code;
}
#endif
