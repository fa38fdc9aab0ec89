/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/declarative*.c and plugins/providers/: errors with their lines, rules, compat lists,
 * which file answers for a namespace, and each shipped chip on a machine made for it. */
#include "declarative.h"

#include <check.h>
#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHIPPED "plugins"

/* ---- machines made by hand ---------------------------------------------------------------------
 */

static char root[64];

__attribute__((format(printf, 2, 3))) static void write_text(const char *path, const char *format,
                                                             ...)
{
    char full[512], text[4096];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ck_assert_int_lt(len, (int)sizeof(text));
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "wb");
    ck_assert_msg(file != NULL, "%s", full);
    ck_assert_uint_eq(fwrite(text, 1, (size_t)len, file), (size_t)len);
    fclose(file);
}

static void link_to(const char *target, const char *path)
{
    char full[512];
    write_text(path, "%s", ""); /* makes the folders */
    snprintf(full, sizeof(full), "%s/%s", root, path);
    ck_assert_int_eq(unlink(full), 0);
    ck_assert_int_eq(symlink(target, full), 0);
}

struct card {
    const char *vendor, *device, *subsystem, *revision, *driver;
};

static void add_card(const char *address, const struct card *card)
{
    char path[256], target[256];
    const struct {
        const char *file, *text;
    } files[] = {{"vendor", card->vendor},
                 {"device", card->device},
                 {"class", "120000"},
                 {"revision", card->revision ? card->revision : "00"},
                 {"subsystem_vendor", card->vendor},
                 {"subsystem_device", card->subsystem ? card->subsystem : "0000"}};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", address, files[i].file);
        write_text(path, "0x%s\n", files[i].text);
    }
    if (!card->driver)
        return;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/driver", address);
    snprintf(target, sizeof(target), "../../drivers/%s", card->driver);
    link_to(target, path);
}

static void make_virtual(const char *address, const char *parent)
{
    char path[256], target[256];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/physfn", address);
    snprintf(target, sizeof(target), "../%s", parent);
    link_to(target, path);
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/sriov_numvfs", parent);
    write_text(path, "1\n");
}

static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/ocv-declared.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

static void new_root(void)
{
    remove_root();
    make_root();
}

static int probe_status(const struct ocv_probe_options *asked, json_t **out, struct ocv_error *err)
{
    struct ocv_probe_options options = *asked;
    ocv_auto_buffer buffer;
    ocv_auto(ocv_profile) parsed = NULL;
    ocv_buffer_init(&buffer, OCV_PROFILE_MAX);
    options.sysroot = options.sysroot ? options.sysroot : root;
    options.datadir = options.datadir ? options.datadir : SHIPPED;
    options.providers = options.providers ? options.providers : "/nonexistent";
    int status = ocv_probe(&options, &buffer, err);
    if (status < 0)
        return status;
    ck_assert_msg(ocv_profile_parse(buffer.data, buffer.len, &parsed, err) == 0, "%s",
                  err->message);
    *out = json_loadb(buffer.data, buffer.len, 0, NULL);
    return 0;
}

static json_t *probe(void)
{
    struct ocv_probe_options options = {0};
    struct ocv_error err = {0};
    json_t *profile = NULL;
    ck_assert_msg(probe_status(&options, &profile, &err) == 0, "%s", err.message);
    return profile;
}

static const char *string_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static json_t *namespace_of(const json_t *profile, const char *ns)
{
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(profile, "namespaces"), i, item)
    {
        if (strcmp(string_at(item, "namespace"), ns) == 0)
            return item;
    }
    return NULL;
}

/* "feature=a,b feature=c" of a namespace or device. */
static const char *features_of(const json_t *object)
{
    static char text[1024];
    json_t *feature, *value;
    size_t i, k;
    text[0] = '\0';
    json_array_foreach(json_object_get(object, "features"), i, feature)
    {
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s=", i ? " " : "", string_at(feature, "name"));
        json_array_foreach(json_object_get(feature, "values"), k, value)
        {
            at = strlen(text);
            snprintf(text + at, sizeof(text) - at, "%s%s", k ? "," : "", json_string_value(value));
        }
    }
    return text;
}

/* ---- the reader --------------------------------------------------------------------------------
 */

#define HEAD "schema: dev.ocivariant.provider/v1\nnamespace: chip\n"
#define FEATURES "features:\n- {feature: arch, values: [c, b, a], compat: {c: [b]}}\n"
#define DEVICES "devices:\n- {pci: {vendor: '1234', device: '0001'}, set: {arch: a}}\n"
#define GOOD HEAD FEATURES DEVICES
#define RULE(text) HEAD FEATURES "devices:\n- " text "\n"

static const struct {
    const char *text, *message; /* NULL: fine */
} files[] = {
    {GOOD, NULL},
    {HEAD DEVICES FEATURES, NULL},
    {"", "f:1: an empty file"},
    {"[]", "f:1: 'item' must be a mapping"},
    {HEAD DEVICES, "f:1: 'item' lacks 'features'"},
    {HEAD FEATURES, "f:1: 'item' lacks 'devices'"},
    {GOOD "colour: red\n", "f:7: 'colour' is an unknown key"},
    {GOOD "namespace: chip\n", "f:7: 'namespace' is given twice"},
    {GOOD "version: A\n", "f:7: 'version' must be a value"},
    {GOOD "meaning: []\n", "f:7: 'meaning' must be a text"},
    {GOOD "drivers: [a/b]\n", "f:7: 'a/b' must be one name"},
    {GOOD "drivers: [a, a]\n", "f:7: 'a' is given twice"},
    {GOOD "drivers: [[a], [b]]\n", "f:7: 'item' must be a text"},
    {GOOD "driver_version: /a/../b\n", "f:7: 'driver_version' must be a path"},
    {GOOD "driver_version: {key: a}\n", "f:7: 'driver_version' lacks 'file'"},
    {GOOD "x: *a\n", "f:7: aliases are not allowed"},
    {GOOD "---\n" GOOD, "f:7: a second document"},
    {GOOD "\t\n", "f:7: "},
    {GOOD "? [a]\n: b\n", "f:7: a key must be plain text"},
    {"schema: dev.ocivariant.provider/v2\n", "f:1: 'item' lacks 'namespace'"},
    {"schema: x\nnamespace: chip\n" FEATURES DEVICES, "f:1: 'schema' must be"},
    {"schema: dev.ocivariant.provider/v1\nnamespace: Chip\n" FEATURES DEVICES,
     "f:2: 'namespace' must be a name"},
    {HEAD "features:\n- {feature: arch}\n" DEVICES, "f:4: 'item' needs either"},
    {HEAD "features:\n- {feature: arch, values: [a-b]}\n" DEVICES, "f:4: 'a-b' must be a value"},
    {HEAD "features:\n- {feature: arch, values: []}\n" DEVICES, "f:4: 'values' must be a list"},
    {HEAD "features:\n- {feature: arch, values: a}\n" DEVICES, "f:4: 'values' must be a list"},
    {HEAD "features:\n- {feature: f, values: [a]}\n- {feature: f, values: [a]}\n" DEVICES,
     "f:5: 'feature' names one feature twice"},
    {HEAD "features:\n- {feature: f, values: [a], compat: {b: [a]}}\n" DEVICES,
     "f:4: 'b' is not among"},
    {HEAD "features:\n- {feature: f, values: [a], compat: {a: [a]}}\n" DEVICES,
     "f:4: 'a' is not another one"},
    {RULE("{name: x}"), "f:6: 'item' needs one of"},
    {RULE("{pci: {device: '0001'}}"), "f:6: 'pci' lacks 'vendor'"},
    {RULE("{pci: {vendor: '12345'}}"), "f:6: 'vendor' must be 4 hexadecimal"},
    {RULE("{pci: {vendor: '12AB'}}"), "f:6: 'vendor' must be 4 hexadecimal"},
    {RULE("{pci: {vendor: '1234', class: '120'}}"), "f:6: 'class' must be 6 or fewer"},
    {RULE("{pci: {vendor: '1234', revision: '1'}}"), "f:6: 'revision' must be 2 hexadecimal"},
    {RULE("{pci: {vendor: '1234'}, set: {arch: d}}"), "f:6: 'arch' is not among"},
    {RULE("{pci: {vendor: '1234'}, set: {model: a}}"), "f:6: 'model' is not a feature"},
    {RULE("{pci: {vendor: '1234'}, virtual_functions: maybe}"), "f:6: 'virtual_functions' must be"},
    {RULE("{pci: {vendor: '1234'}, attributes: {Firmware: fw}}"), "f:6: 'Firmware' must be a name"},
    {RULE("{pci: {vendor: '1234'}, sysfs: {class: a, vendor: '1234'}}"), "f:6: 'item' needs one"},
    {RULE("{sysfs: {class: accel}}"), "f:6: 'sysfs' needs 'vendor' or"},
    {RULE("{sysfs: {class: a, attributes: {../x: y}}}"), "f:6: '../x' must be a path"},
    {RULE("{sysfs: {class: a, attributes: {/x: y}}}"), "f:6: '/x' must be a file of"},
    {RULE("{sysfs: {class: a/b, vendor: '1234'}}"), "f:6: 'class' must be one name"},
    {RULE("{devicetree: {compatible: []}}"), "f:6: 'compatible' must be a list"},
};

START_TEST(reader_names_the_line)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        struct ocv_declaration d = {0};
        struct ocv_error err = {0};
        int status = ocv_declaration_read("f", files[i].text, strlen(files[i].text), &d, &err);
        if (files[i].message) {
            ck_assert_msg(status == OCV_ERR_CONFIG, "%s", files[i].text);
            ck_assert_msg(strncmp(err.message, files[i].message, strlen(files[i].message)) == 0,
                          "%s: %s", files[i].text, err.message);
        } else {
            ck_assert_msg(status == OCV_OK, "%s", err.message);
            ck_assert_str_eq(d.name, "chip");
            ocv_declaration_free(&d);
        }
    }
}
END_TEST

START_TEST(reader_has_limits)
{
    static char text[OCV_DECLARATION_MAX + 2];
    struct ocv_declaration d = {0};
    struct ocv_error err = {0};
    memset(text, '#', sizeof(text) - 1);
    memcpy(text, GOOD, strlen(GOOD));
    text[OCV_DECLARATION_MAX] = '\0';
    ck_assert_msg(ocv_declaration_read("f", text, OCV_DECLARATION_MAX, &d, &err) == 0, "%s",
                  err.message);
    ocv_declaration_free(&d);
    text[OCV_DECLARATION_MAX] = '#';
    ck_assert_int_eq(ocv_declaration_read("f", text, OCV_DECLARATION_MAX + 1, &d, &err),
                     OCV_ERR_CONFIG);
    struct ocv_yaml *tree = NULL;
    memset(text, '[', OCV_YAML_DEPTH_MAX);
    memset(text + OCV_YAML_DEPTH_MAX, ']', OCV_YAML_DEPTH_MAX);
    ck_assert_int_eq(ocv_yaml_read("f", text, (size_t)OCV_YAML_DEPTH_MAX * 2, &tree, &err), 0);
    ocv_yaml_free(tree);
    memset(text, '[', OCV_YAML_DEPTH_MAX + 1);
    memset(text + OCV_YAML_DEPTH_MAX + 1, ']', OCV_YAML_DEPTH_MAX + 1);
    ck_assert_int_eq(ocv_yaml_read("f", text, (size_t)OCV_YAML_DEPTH_MAX * 2 + 2, &tree, &err),
                     OCV_ERR_CONFIG);
    ck_assert_str_eq(err.message, "f:1: nested too deeply");
}
END_TEST

/* ---- which file answers ------------------------------------------------------------------------
 */

static int probe_with(const char *file, json_t **profile, struct ocv_error *err)
{
    char folder[128];
    snprintf(folder, sizeof(folder), "%s/own", root);
    write_text("own/chip.yaml", "%s", file);
    struct ocv_probe_options options = {.providers = folder};
    return probe_status(&options, profile, err);
}

#define OWN(ns, replaces)                                                       \
    "schema: dev.ocivariant.provider/v1\nnamespace: " ns "\n" replaces FEATURES \
    "devices:\n- {pci: {vendor: '1eff', device: '1250'}, set: {arch: c}}\n"

START_TEST(one_provider_a_namespace)
{
    struct ocv_error err = {0};
    json_t *profile = NULL;
    add_card("0000:01:00.0", &(struct card){"1eff", "1250", NULL, NULL, "rebellions"});
    ck_assert_int_eq(probe_with(OWN("rebellions", ""), &profile, &err), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(
        strstr(err.message, "chip.yaml:2: namespace 'rebellions' has a provider"));
    ck_assert_ptr_nonnull(strstr(err.hint, "replaces: rebellions"));
    ck_assert_int_eq(probe_with(OWN("rebellions", "replaces: nobody\n"), &profile, &err),
                     OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "chip.yaml:3: no provider is called 'nobody'"));
    ck_assert_int_eq(probe_with(OWN("rebellions", "replaces: furiosa\n"), &profile, &err),
                     OCV_ERR_CONFIG);
    ck_assert_int_eq(probe_with(OWN("x86_64", ""), &profile, &err), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "(built in)"));
    ck_assert_int_eq(probe_with(OWN("rebellions", "replaces: rebellions\n"), &profile, &err), 0);
    ck_assert_str_eq(features_of(namespace_of(profile, "rebellions")), "arch=c,b");
    json_decref(profile);
    ck_assert_int_eq(probe_with(OWN("x86_64", "replaces: x86_64\n"), &profile, &err), 0);
    ck_assert_str_eq(features_of(namespace_of(profile, "x86_64")), "arch=c,b");
    json_decref(profile);
}
END_TEST

START_TEST(check_asks_one_file)
{
    struct ocv_error err = {0};
    json_t *profile = NULL;
    char path[128];
    snprintf(path, sizeof(path), "%s/new.yaml", root);
    write_text("new.yaml", GOOD);
    struct ocv_probe_options options = {.check = path};
    ck_assert_int_eq(probe_status(&options, &profile, &err), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(profile, "namespaces")), 1);
    ck_assert_str_eq(string_at(namespace_of(profile, "chip"), "status"), "absent");
    json_decref(profile);
    write_text("new.yaml", HEAD);
    ck_assert_int_eq(probe_status(&options, &profile, &err), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "new.yaml:1: "));
    unlink(path);
    ck_assert_int_eq(probe_status(&options, &profile, &err), OCV_ERR_NOT_FOUND);
}
END_TEST

/* ---- rules ------------------------------------------------------------------------------------
 */

static json_t *probe_rules(const char *more)
{
    char text[2048];
    struct ocv_error err = {0};
    json_t *profile = NULL;
    snprintf(text, sizeof(text), "%s", more);
    ck_assert_msg(probe_with(text, &profile, &err) == 0, "%s", err.message);
    return profile;
}

START_TEST(lists_and_order)
{
    add_card("0000:01:00.0", &(struct card){"1234", "000a", NULL, NULL, "chip"});
    add_card("0000:02:00.0", &(struct card){"1234", "000c", NULL, NULL, "chip"});
    json_t *profile =
        probe_rules(HEAD FEATURES "devices:\n"
                                  "- {pci: {vendor: '1234', device: '000a'}, set: {arch: a}}\n"
                                  "- {pci: {vendor: '1234', class: '12'}, set: {arch: c}}\n");
    json_t *ns = namespace_of(profile, "chip");
    ck_assert_str_eq(features_of(ns), "arch=c,b,a");
    json_t *first = json_array_get(json_object_get(ns, "devices"), 0);
    json_t *second = json_array_get(json_object_get(ns, "devices"), 1);
    ck_assert_str_eq(string_at(first, "id"), "0000:02:00.0");
    ck_assert_int_eq(json_integer_value(json_object_get(first, "index")), 1);
    ck_assert_str_eq(features_of(first), "arch=c,b");
    ck_assert_int_eq(json_integer_value(json_object_get(second, "index")), 0);
    ck_assert_str_eq(features_of(second), "arch=a");
    json_decref(profile);
}
END_TEST

/* The class accel has devices of several vendors; a PCI device and its class entry are one. */
START_TEST(class_entries)
{
    add_card("0000:01:00.0", &(struct card){"1234", "0001", NULL, NULL, "chip"});
    add_card("0000:02:00.0", &(struct card){"4321", "0001", NULL, NULL, "other"});
    link_to("../../../bus/pci/devices/0000:01:00.0", "sys/class/accel/accel0/device");
    link_to("../../../bus/pci/devices/0000:02:00.0", "sys/class/accel/accel1/device");
    write_text("sys/class/accel/accel0/fw", " 1.2.3 ");
    json_t *profile =
        probe_rules(GOOD "- sysfs: {class: accel, vendor: '1234'}\n"
                         "  attributes: {firmware_version: fw, driver_version: fw}\n");
    json_t *ns = namespace_of(profile, "chip");
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), 1);
    json_t *device = json_array_get(json_object_get(ns, "devices"), 0);
    ck_assert_str_eq(string_at(json_object_get(device, "attributes"), "firmware_version"), "1.2.3");
    ck_assert_str_eq(string_at(ns, "driver"), "1.2.3");
    json_decref(profile);
}
END_TEST

START_TEST(device_tree)
{
    static const char compatible[] = "maker,chip2\0maker,chip";
    char path[256];
    write_text("sys/firmware/devicetree/base/npu/compatible", "%s", "");
    snprintf(path, sizeof(path), "%s/sys/firmware/devicetree/base/npu/compatible", root);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(compatible, 1, sizeof(compatible), file), sizeof(compatible));
    fclose(file);
    link_to("../../../../firmware/devicetree/base/npu",
            "sys/bus/platform/devices/fdab0000.npu/of_node");
    link_to("../../drivers/chip", "sys/bus/platform/devices/fdab0000.npu/driver");
    json_t *profile = probe_rules(RULE("{devicetree: {compatible: 'maker,chip'}, set: {arch: b}}"));
    json_t *ns = namespace_of(profile, "chip");
    ck_assert_str_eq(features_of(ns), "arch=b");
    ck_assert_str_eq(string_at(json_array_get(json_object_get(ns, "devices"), 0), "id"),
                     "platform/fdab0000.npu");
    json_decref(profile);
    profile = probe_rules(RULE("{devicetree: {compatible: 'maker,chi'}, set: {arch: b}}"));
    ck_assert_ptr_null(namespace_of(profile, "chip"));
    json_decref(profile);
}
END_TEST

/* ---- the shipped files --------------------------------------------------------------------------
 */

static const struct chip {
    const char *ns;
    struct card card; /* with the driver that serves it */
    const char *features;
    const char *lent; /* a driver that does not serve it */
} chips[] = {
    {"rebellions", {"1eff", "1020", 0, 0, "rebellions"}, "arch=atom", "vfio-pci"},
    {"rebellions", {"1eff", "1120", 0, 0, "rebellions"}, "arch=atom_plus", "vfio-pci"},
    {"rebellions", {"1eff", "1220", 0, 0, "rebellions"}, "arch=atom_plus", "vfio-pci"},
    {"rebellions", {"1eff", "1250", 0, 0, "rebellions"}, "arch=atom_max", "vfio-pci"},
    {"rebellions", {"1eff", "2030", 0, 0, "rebellions"}, "arch=rebel", "vfio-pci"},
    {"rebellions", {"1eff", "2130", 0, 0, "rebellions"}, "arch=rebel", "vfio-pci"},
    {"rebellions", {"1eff", "2230", 0, 0, "rebellions"}, "arch=rebel", "vfio-pci"},
    {"furiosa", {"1ed2", "0000", 0, 0, "npu"}, "arch=warboy", "vfio-pci"},
    {"furiosa", {"1ed2", "0001", 0, 0, "rngd"}, "arch=renegade", "vfio-pci"},
    {"furiosa", {"1ed2", "2222", 0, 0, "rngd"}, "arch=renegade_s", "vfio-pci"},
    {"furiosa", {"1ed2", "0002", 0, 0, "rngd"}, "arch=renegade_max", "vfio-pci"},
    {"habana", {"1da3", "1000", 0, 0, "habanalabs"}, "arch=gaudi", "vfio-pci"},
    {"habana", {"1da3", "1020", 0, 0, "habanalabs"}, "arch=gaudi2", "vfio-pci"},
    {"habana", {"1da3", "1060", 0, 0, "habanalabs"}, "arch=gaudi3", "vfio-pci"},
    {"tpu", {"1ae0", "0027", "004e", 0, "gasket"}, "arch=v2", NULL},
    {"tpu", {"1ae0", "0027", "004f", 0, "gasket"}, "arch=v3", NULL},
    {"tpu", {"1ae0", "005e", 0, 0, "gasket"}, "arch=v4", NULL},
    {"tpu", {"1ae0", "0063", 0, 0, "vfio-pci"}, "arch=v5e", NULL},
    {"tpu", {"1ae0", "0062", 0, 0, "vfio-pci"}, "arch=v5p", NULL},
    {"tpu", {"1ae0", "006f", 0, 0, "vfio-pci"}, "arch=v6e", NULL},
    {"tpu", {"1ae0", "0076", 0, 0, "vfio-pci"}, "arch=v7x", NULL},
    {"coral", {"1ac1", "089a", 0, 0, "apex"}, "arch=edgetpu", "vfio-pci"},
    {"neuron", {"1d0f", "7064", 0, 0, "neuron"}, "arch=inf1", "vfio-pci"},
    {"neuron", {"1d0f", "7264", 0, 0, "neuron"}, "arch=inf2", "vfio-pci"},
    {"neuron", {"1d0f", "7164", 0, 0, "neuron"}, "arch=trn1", "vfio-pci"},
    {"neuron", {"1d0f", "7364", 0, 0, "neuron"}, "arch=trn2", "vfio-pci"},
    {"neuron", {"1d0f", "7564", 0, 0, "neuron"}, "arch=trn3", "vfio-pci"},
    {"ascend", {"19e5", "d100", 0, 0, "davinci"}, "npu_type=310", "vfio-pci"},
    {"ascend", {"19e5", "d500", 0, 0, "davinci"}, "npu_type=310p", "vfio-pci"},
    {"ascend", {"19e5", "d802", 0, 0, "davinci"}, "npu_type=910b", "vfio-pci"},
    {"ascend", {"19e5", "d803", 0, 0, "davinci"}, "npu_type=a3", "vfio-pci"},
    {"tenstorrent", {"1e52", "faca", 0, 0, "tenstorrent"}, "arch=grayskull", "vfio-pci"},
    {"tenstorrent", {"1e52", "401e", "0014", 0, "tenstorrent"}, "arch=wormhole", "vfio-pci"},
    {"tenstorrent", {"1e52", "b140", "0043", 0, "tenstorrent"}, "arch=blackhole", "vfio-pci"},
    {"qualcomm", {"17cb", "a100", 0, 0, "qaic"}, "arch=aic100", "vfio-pci"},
    {"qualcomm", {"17cb", "a080", 0, 0, "qaic"}, "arch=aic080", "vfio-pci"},
    {"graphcore", {"1d95", "0001", 0, 0, "ipu"}, "arch=gc2", "vfio-pci"},
    {"graphcore", {"1d95", "0002", 0, 0, "ipu"}, "arch=gc1", "vfio-pci"},
    {"cambricon", {"cabc", "0370", 0, 0, "cambricon"}, "arch=mlu370", "vfio-pci"},
    {"cambricon", {"cabc", "0270", 0, 0, "cambricon"}, "arch=mlu270", "vfio-pci"},
    {"hailo", {"1e60", "2864", 0, 0, "hailo"}, "arch=hailo8", "vfio-pci"},
    {"hailo", {"1e60", "45c4", 0, 0, "hailo1x"}, "arch=hailo10h", "vfio-pci"},
    {"hailo", {"1e60", "43a2", 0, 0, "hailo1x"}, "arch=hailo15l", "vfio-pci"},
    {"xdna", {"1022", "1502", 0, "00", "amdxdna"}, "arch=npu1", "vfio-pci"},
    {"xdna", {"1022", "17f0", 0, "10", "amdxdna"}, "arch=npu4", "vfio-pci"},
    {"xdna", {"1022", "17f0", 0, "11", "amdxdna"}, "arch=npu5", "vfio-pci"},
    {"xdna", {"1022", "17f0", 0, "20", "amdxdna"}, "arch=npu6", "vfio-pci"},
    {"groq", {"1de0", "0000", 0, 0, "groq"}, "arch=groqchip", "vfio-pci"},
    {"hygon", {"1d94", "6211", 0, 0, "hydcu"}, "arch=k100_ai", "vfio-pci"},
    {"metax", {"9999", "0a01", 0, 0, "metax"}, "arch=c500", "vfio-pci"},
    {"memryx", {"1fe9", "0100", 0, 0, "memx"}, "arch=mx3", "vfio-pci"},
    {"deepx", {"1ff4", "0100", 0, 0, "dx"}, "arch=m1", "vfio-pci"},
    {"deepx", {"1ff4", "0101", 0, 0, "dx"}, "arch=h1", "vfio-pci"},
    {"axelera", {"1f9d", "0001", 0, 0, "metis"}, "arch=europa", "vfio-pci"},
    {"axelera", {"1f9d", "1100", 0, 0, "metis"}, "arch=metis", "vfio-pci"},
    {"kunlunxin", {"1d22", "3684", 0, 0, "xpu"}, "arch=kunlun", "vfio-pci"},
    {"dmatrix", {"1f82", "0011", 0, 0, "dm"}, "arch=corsair", "vfio-pci"},
    {"untether", {"1e67", "0002", 0, 0, "uai"}, "arch=runai200", "vfio-pci"},
    {"untether", {"1e67", "0004", 0, 0, "uai"}, "arch=speedai240", "vfio-pci"},
    {"blaize", {"1e38", "0102", 0, 0, "blaize"}, "arch=x1600", "vfio-pci"},
    {"nextsilicon", {"cdfa", "0007", 0, 0, "next"}, "arch=maverick", "vfio-pci"},
    {"nextsilicon", {"cdfa", "0009", 0, 0, "next"}, "arch=maverick2", "vfio-pci"},
    {"sophgo", {"1e30", "1684", 0, 0, "bmsophon"}, "arch=bm1684", "vfio-pci"},
    {"sophgo", {"1f1c", "1686", 0, 0, "bmsophon"}, "arch=bm1686", "vfio-pci"},
    {"moorethreads", {"1ed5", "0321", 0, 0, "mtgpu"}, "arch=mp_31", "vfio-pci"},
    {"enflame", {"1e36", "c035", 0, 0, "gcu"}, "arch=s60", "vfio-pci"},
    {"vastai", {"1ec6", "0100", 0, 0, "vastai"}, "arch=sv100", "vfio-pci"},
    {"brainchip", {"1e7c", "bca1", 0, 0, "akida"}, "arch=akd1000", "vfio-pci"},
    {"etched", {"20a1", "0001", 0, 0, "sohu"}, "arch=sohu", "vfio-pci"},
    {"lightmatter", {"1eca", "0000", 0, 0, "envise"}, "arch=envise", "vfio-pci"},
};
#define N_CHIPS (sizeof(chips) / sizeof(*chips))

START_TEST(chip_is_there)
{
    const struct chip *chip = &chips[_i];
    add_card("0000:01:00.0", &chip->card);
    json_t *profile = probe(), *ns = namespace_of(profile, chip->ns);
    ck_assert_uint_eq(json_array_size(json_object_get(profile, "namespaces")), 1);
    ck_assert_str_eq(features_of(ns), chip->features);
    ck_assert_str_eq(string_at(ns, "status"), "ok");
    ck_assert_str_eq(string_at(ns, "error"), "");
    ck_assert_str_eq(string_at(json_object_get(ns, "provider"), "kind"), "declarative");
    json_t *device = json_array_get(json_object_get(ns, "devices"), 0);
    ck_assert_str_eq(string_at(device, "id"), "0000:01:00.0");
    ck_assert_str_ne(string_at(device, "name"), "");
    ck_assert_str_eq(features_of(device), chip->features);
    json_decref(profile);
}
END_TEST

static void expect_unserved(const struct chip *chip, const char *driver)
{
    struct card card = chip->card;
    new_root();
    card.driver = driver;
    add_card("0000:01:00.0", &card);
    json_t *profile = probe(), *ns = namespace_of(profile, chip->ns);
    ck_assert_str_eq(string_at(ns, "status"), "partial");
    ck_assert_ptr_nonnull(strstr(string_at(ns, "error"), driver ? driver : "not loaded"));
    ck_assert_str_eq(features_of(ns), "");
    json_t *device = json_array_get(json_object_get(ns, "devices"), 0);
    ck_assert(json_is_true(json_object_get(device, "secondary")));
    const char *features = features_of(device);
    ck_assert_int_eq(features[strlen(features) - 1], '=');
    json_decref(profile);
}

START_TEST(chip_lacks_its_driver)
{
    const struct chip *chip = &chips[_i];
    char file[128];
    snprintf(file, sizeof(file), SHIPPED "/providers/%s.yaml", chip->ns);
    struct ocv_declaration d = {0};
    ck_assert_int_eq(ocv_declaration_read_file(file, &d, NULL), 0);
    const struct ocv_yaml *drivers = ocv_yaml_get(d.tree, "drivers");
    if (drivers && strcmp(drivers->first->text, "*") != 0)
        expect_unserved(chip, NULL);
    if (chip->lent)
        expect_unserved(chip, chip->lent);
    ocv_declaration_free(&d);
}
END_TEST

/* A host's virtual function takes no part beside its card, but Rebellions': there it replaces it.
 */
START_TEST(chip_has_a_virtual_function)
{
    const struct chip *chip = &chips[_i];
    add_card("0000:01:00.0", &chip->card);
    add_card("0000:01:00.1", &chip->card);
    make_virtual("0000:01:00.1", "0000:01:00.0");
    bool replaces = strcmp(chip->ns, "rebellions") == 0;
    json_t *profile = probe(),
           *devices = json_object_get(namespace_of(profile, chip->ns), "devices");
    ck_assert_uint_eq(json_array_size(devices), 1);
    ck_assert_str_eq(string_at(json_array_get(devices, 0), "id"),
                     replaces ? "0000:01:00.1" : "0000:01:00.0");
    json_decref(profile);
}
END_TEST

START_TEST(ascend_versions)
{
    add_card("0000:01:00.0", &(struct card){"19e5", "d802", NULL, NULL, "davinci"});
    write_text("usr/local/Ascend/driver/version.info", "Package=x\nVersion=25.5.1\nOther=1\n");
    write_text("usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info",
               "package_name=Ascend-cann-toolkit\nversion=8.3.RC1\n");
    json_t *profile = probe(), *ns = namespace_of(profile, "ascend");
    ck_assert_str_eq(features_of(ns), "npu_type=910b driver_version=25.5.1 cann_version=8.3.rc1");
    ck_assert_str_eq(string_at(ns, "driver"), "25.5.1");
    json_decref(profile);
}
END_TEST

START_TEST(rebellions_version)
{
    add_card("0000:01:00.0", &(struct card){"1eff", "1250", NULL, NULL, "rebellions"});
    add_card("0000:02:00.0", &(struct card){"1eff", "1110", NULL, NULL, "rebellions"});
    write_text("sys/class/rebellions/rbln0/kernel_version", "1.2.92-6d00b56\n");
    json_t *profile = probe(), *ns = namespace_of(profile, "rebellions");
    ck_assert_str_eq(string_at(ns, "driver"), "1.2.92-6d00b56");
    ck_assert_str_eq(features_of(ns), "arch=atom_max");
    ck_assert_str_eq(string_at(ns, "status"), "partial"); /* the second one is of no known kind */
    ck_assert_ptr_nonnull(strstr(string_at(ns, "error"), "0000:02:00.0 RBLN-CA11"));
    json_decref(profile);
}
END_TEST

/* ---- the vocabulary -----------------------------------------------------------------------------
 */

static const struct ocv_yaml *find_item(const struct ocv_yaml *list, const char *key,
                                        const char *name)
{
    for (const struct ocv_yaml *m = list ? list->first : NULL; m; m = m->next)
        if (strcmp(ocv_yaml_text(m, key), name) == 0)
            return m;
    return NULL;
}

static void check_against(const struct ocv_declaration *d, const struct ocv_yaml *vocabulary)
{
    const struct ocv_yaml *ns =
        find_item(ocv_yaml_get(vocabulary, "namespaces"), "namespace", d->ns);
    ck_assert_msg(ns != NULL, "%s", d->ns);
    ck_assert_msg(!ocv_yaml_get(ns, "documented"), "%s is emitted", d->ns);
    const struct ocv_yaml *want = ocv_yaml_get(ns, "features")->first;
    const struct ocv_yaml *feature = ocv_yaml_get(d->tree, "features")->first;
    for (; feature; feature = feature->next, want = want->next) {
        ck_assert_msg(want != NULL, "%s: too many features", d->ns);
        ck_assert_str_eq(ocv_yaml_text(feature, "feature"), ocv_yaml_text(want, "feature"));
        const struct ocv_yaml *all = ocv_yaml_get(want, "values");
        const struct ocv_yaml *values = ocv_yaml_get(feature, "values");
        int last = -1;
        for (const struct ocv_yaml *v = values && all ? values->first : NULL; v; v = v->next) {
            int at = ocv_yaml_find(all, v->text);
            ck_assert_msg(at > last, "%s :: %s: not in the vocabulary, or out of order", d->ns,
                          v->text);
            last = at;
        }
    }
    ck_assert_msg(want == NULL, "%s lacks a feature", d->ns);
}

START_TEST(shipped_files_keep_to_the_vocabulary)
{
    static char text[256 * 1024];
    struct ocv_error err = {0};
    struct ocv_yaml *vocabulary = NULL;
    struct ocv_declarations set = {0};
    FILE *file = fopen("schema/vocabulary.yaml", "rb");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof(text), file);
    fclose(file);
    ck_assert_msg(ocv_yaml_read("vocabulary", text, len, &vocabulary, &err) == 0, "%s",
                  err.message);
    ck_assert_msg(ocv_declarations_load(&set, SHIPPED "/providers", &err) == 0, "%s", err.message);
    ck_assert_int_eq(ocv_declarations_settle(&set, NULL, 0, &err), 0);
    ck_assert_uint_ge(set.n, 20);
    for (size_t i = 0; i < set.n; i++) {
        check_against(&set.items[i], vocabulary);
        size_t k = 0;
        while (k < N_CHIPS && strcmp(chips[k].ns, set.items[i].ns) != 0)
            k++;
        if (!ocv_yaml_get(ocv_yaml_get(set.items[i].tree, "devices")->first, "pci"))
            continue; /* device tree: device_tree */
        ck_assert_msg(k < N_CHIPS, "no test machine has %s", set.items[i].ns);
    }
    ocv_declarations_free(&set);
    ocv_yaml_free(vocabulary);
}
END_TEST

/* ---- recorded machines --------------------------------------------------------------------------
 */

static const char *fixtures(const char *family)
{
    static char path[512];
    const char *folder = getenv("OCV_FIXTURES");
    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "../shared/fixtures", family);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* A copy in `root`. Some copies of the recordings hold links as files with the target's text. */
static void copy_recording(const char *path)
{
    char command[2048];
    new_root();
    snprintf(command, sizeof(command),
             "cp -R '%s/.' '%s' && chmod -R u+w '%s' && cd '%s' && "
             "grep -rlE '^(\\.\\./)+[^ ]+$' sys | while IFS= read -r f; do "
             "t=$(cat \"$f\") && rm \"$f\" && ln -s \"$t\" \"$f\"; done",
             path, root, root, root);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(recorded_npus)
{
    const char *folder = fixtures("npu/furiosa-test-1");
    if (!folder) {
        printf("skipped: no recorded machines\n");
        return;
    }
    copy_recording(folder);
    json_t *profile = probe(), *ns = namespace_of(profile, "furiosa");
    ck_assert_ptr_nonnull(ns);
    ck_assert_str_eq(features_of(ns), "arch=renegade,warboy");
    json_t *devices = json_object_get(ns, "devices");
    ck_assert_uint_eq(json_array_size(devices), 2);
    json_t *rngd = json_array_get(devices, 0), *warboy = json_array_get(devices, 1);
    ck_assert_str_eq(string_at(rngd, "id"), "0000:00:03.0");
    ck_assert_str_eq(string_at(warboy, "id"), "0000:6d:00.0");
    ck_assert_str_eq(string_at(json_object_get(rngd, "attributes"), "driver_version"),
                     "1.0.0, 0abcdef");
    ck_assert_str_eq(string_at(json_object_get(rngd, "attributes"), "uuid"),
                     "82540B87-1055-48C6-AAB1-C4CC84672C71");
    ck_assert_ptr_null(json_object_get(json_object_get(rngd, "attributes"), "firmware_version"));
    ck_assert_str_eq(string_at(json_object_get(warboy, "attributes"), "firmware_version"),
                     "1.6.0, c1bebfd");
    ck_assert_str_eq(string_at(json_object_get(warboy, "attributes"), "soc_revision"), "B0");
    json_decref(profile);
}
END_TEST

/* No recorded machine has a chip of these files: none may be found. */
START_TEST(recorded_machines_have_none)
{
    const char *folder = fixtures("pci");
    if (!folder) {
        printf("skipped: no recorded machines\n");
        return;
    }
    char base[512], path[1024];
    snprintf(base, sizeof(base), "%s", folder);
    DIR *dir = opendir(base);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        json_t *ns;
        size_t i;
        snprintf(path, sizeof(path), "%s/%s/sys", base, entry->d_name);
        if (entry->d_name[0] == '.' || access(path, R_OK) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", base, entry->d_name);
        copy_recording(path);
        json_t *profile = probe();
        json_array_foreach(json_object_get(profile, "namespaces"), i, ns)
        {
            ck_assert_msg(
                strcmp(string_at(json_object_get(ns, "provider"), "kind"), "declarative") != 0,
                "%s: %s", entry->d_name, string_at(ns, "namespace"));
        }
        json_decref(profile);
    }
    closedir(dir);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("declarative");
    TCase *tcase = tcase_create("declarative");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, make_root, remove_root);
    tcase_add_test(tcase, reader_names_the_line);
    tcase_add_test(tcase, reader_has_limits);
    tcase_add_test(tcase, one_provider_a_namespace);
    tcase_add_test(tcase, check_asks_one_file);
    tcase_add_test(tcase, lists_and_order);
    tcase_add_test(tcase, class_entries);
    tcase_add_test(tcase, device_tree);
    tcase_add_loop_test(tcase, chip_is_there, 0, (int)N_CHIPS);
    tcase_add_loop_test(tcase, chip_lacks_its_driver, 0, (int)N_CHIPS);
    tcase_add_loop_test(tcase, chip_has_a_virtual_function, 0, (int)N_CHIPS);
    tcase_add_test(tcase, ascend_versions);
    tcase_add_test(tcase, rebellions_version);
    tcase_add_test(tcase, shipped_files_keep_to_the_vocabulary);
    tcase_add_test(tcase, recorded_npus);
    tcase_add_test(tcase, recorded_machines_have_none);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
