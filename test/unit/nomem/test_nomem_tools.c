/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Without memory: probes, editing and linting of indexes, records. */
#include "test/unit/nomem/nomem_util.h"

#include "lib/base/file.h"
#include "lib/internal/content/content.h"
#include "lib/internal/content/derived.h"
#include "lib/internal/edit/edit.h"
#include "lib/internal/lint/lint.h"
#include "lib/internal/records/records.h"
#include "lib/internal/tags/tags.h"
#include "lib/probe/executable/executable.h"
#include "lib/probe/providers/gpu.h"
#include "lib/probe/providers/nvidia/nvidia.h"
#include "lib/probe/result/result.h"

#include <ftw.h>

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
    int status = ocv_lint_fix(linted, sizeof(linted) - 1, true, out, &changes, NULL, &moved, err);
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

/* Two layers of one file each: read, kept, stacked, and what they mean. */
static const char layer_text[] =
    "{\"schema\": \"dev.ocivariant.content/v1\", \"files\": [{\"path\": \"a\", \"size\": 9, "
    "\"facts\": [{\"fact\": \"cuda-code\", \"value\": \"90\", \"bytes\": 5}, "
    "{\"fact\": \"cuda-ptx\", \"value\": \"100\", \"bytes\": 5}, "
    "{\"fact\": \"ptx-version\", \"value\": \"8.7\"}, "
    "{\"fact\": \"needed\", \"value\": \"libcudart.so.12\"}]}, "
    "{\"path\": \"b\", \"size\": 9, \"facts\": [{\"fact\": \"kpack-name\", \"value\": \"b\"}, "
    "{\"fact\": \"kpack-path\", \"value\": \"c\"}]}, "
    "{\"path\": \"c\", \"size\": 9, \"facts\": [{\"fact\": \"kpack-code\", \"value\": \"gfx942 "
    "b\"}]}, "
    "{\"path\": \"d\", \"size\": 9, \"facts\": [{\"fact\": \"kpack-name\", \"value\": \"d\"}, "
    "{\"fact\": \"kpack-path\", \"value\": \"e\"}]}]}";

/* Files with compressed code, by one reader; what is kept of them. */
static int call_content_reader(struct ocv_buffer *out, struct ocv_error *err)
{
    static const char *const names[] = {"cuda.so", "zlib2.bundle", "zstd3.bundle", "kpack.so",
                                        "x_gfx942.kpack"};
    struct ocv_content_reader *reader = ocv_content_reader_new();
    struct ocv_content_report report = {0};
    int status = reader ? OCV_OK : ocv_error_nomem(err);
    for (size_t i = 0; i < 5 && status == OCV_OK; i++) {
        char path[64];
        struct ocv_content_facts facts = {0};
        ocv_auto_buffer bytes;
        snprintf(path, sizeof(path), "test/data/fuzz/content/%s", names[i]);
        ocv_buffer_init(&bytes, 1u << 20);
        status = ocv_file_read(path, OCV_FILE_REGULAR, &bytes, err);
        if (status == OCV_OK)
            status = ocv_content_feed(reader, bytes.data, bytes.len, err);
        if (status == OCV_OK)
            status = ocv_content_end(reader, &facts, err);
        if (status == OCV_OK)
            status = ocv_content_report_file(&report, names[i], (int64_t)bytes.len, &facts, err);
        ocv_content_facts_free(&facts);
    }
    if (status == OCV_OK)
        status = ocv_content_report_write(&report, out, err);
    ocv_content_report_free(&report);
    ocv_content_reader_free(reader);
    return status;
}

static int write_list(char *const *list, size_t n, struct ocv_buffer *out, struct ocv_error *err)
{
    int status = OCV_OK;
    for (size_t i = 0; i < n && status == OCV_OK; i++)
        status = ocv_buffer_printf(out, err, "%s;", list[i]);
    return status;
}

static int call_content(struct ocv_buffer *out, struct ocv_error *err)
{
    static const struct ocv_property given = {"x86_64", "level", "v2"};
    const struct ocv_content_told told = {.cuda = "12.8", .given = &given, .n_given = 1};
    struct ocv_content_report layer = {0};
    struct ocv_content content = {0};
    int status = OCV_OK;
    for (size_t i = 0; i < 2 && status == OCV_OK; i++) {
        status = ocv_content_report_read(layer_text, sizeof(layer_text) - 1, &layer, err);
        if (status == OCV_OK)
            status = ocv_content_report_stack(&content.report, &layer, err);
        ocv_content_report_free(&layer);
        layer = (struct ocv_content_report){0};
    }
    if (status == OCV_OK)
        status = ocv_content_derive(&content.report, &told, &content.derived, err);
    if (status == OCV_OK)
        status = write_list(content.derived.properties, content.derived.n_properties, out, err);
    if (status == OCV_OK)
        status = write_list(content.derived.base, content.derived.n_base, out, err);
    if (status == OCV_OK)
        status = ocv_content_report_write(&content.report, out, err);
    ocv_content_free(&content);
    return status;
}

static const struct torture_call calls[] = {
    {"declaration", call_declaration, 2},
    {"content", call_content, 0},
    {"content reader", call_content_reader, 0},
    {"executable", call_executable, 0},
    {"nvidia", call_nvidia, 0},
    {"nvml-query", call_nvml, 0},
    {"index source", call_source, 2},
    {"edit", call_author, 2},
    {"lint", call_lint, 0},
    {"lint --fix", call_lint_fix, 0},
    {"records", call_records, 0},
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

TEST_FILE
{
    if (!mkdtemp(records))
        return 1;
    int code = torture("nomem tools", calls, sizeof(calls) / sizeof(*calls));
    nftw(records, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return code;
}
