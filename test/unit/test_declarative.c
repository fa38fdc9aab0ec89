/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/declarative: errors with their lines, rules, compat lists, and which file answers
 * for a namespace. The shipped files: test_machines.c. */
#include "lib/probe/declarative/declarative.h"
#include "test/unit/probe_util.h"

/* ---- machines made by hand ---------------------------------------------------------------------
 */

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
    {"[]", "f:1: the file must be a mapping"},
    {HEAD DEVICES, "f:1: the file lacks 'features'"},
    {HEAD FEATURES, "f:1: the file lacks 'devices'"},
    {GOOD "colour: red\n", "f:7: unknown key 'colour'"},
    {GOOD "namespace: chip\n", "f:7: 'namespace' is given twice"},
    {GOOD "version: A\n", "f:7: 'version' must be a value"},
    {GOOD "meaning: []\n", "f:7: 'meaning' must be a text"},
    {GOOD "drivers: [a/b]\n", "f:7: 'a/b' must be one name"},
    {GOOD "drivers: [a, a]\n", "f:7: 'a' is given twice"},
    {GOOD "drivers: [[a], [b]]\n", "f:7: an item must be one name"},
    {GOOD "driver_version: /a/../b\n", "f:7: 'driver_version' must be a path"},
    {GOOD "driver_version: {key: a}\n", "f:7: 'driver_version' lacks 'file'"},
    {GOOD "x: *a\n", "f:7: aliases are not allowed"},
    {GOOD "---\n" GOOD, "f:7: a second document"},
    {GOOD "\t\n", "f:7: "},
    {GOOD "? [a]\n: b\n", "f:7: a key must be plain text"},
    {"schema: dev.ocivariant.provider/v2\n", "f:1: the file lacks 'namespace'"},
    {"schema: x\nnamespace: chip\n" FEATURES DEVICES, "f:1: 'schema' must be"},
    {"schema: dev.ocivariant.provider/v1\nnamespace: Chip\n" FEATURES DEVICES,
     "f:2: 'namespace' must be a name"},
    {HEAD "features:\n- {feature: arch}\n" DEVICES, "f:4: a feature needs either"},
    {HEAD "features:\n- {feature: arch, values: [a-b]}\n" DEVICES, "f:4: 'a-b' must be a value"},
    {HEAD "features:\n- {feature: arch, values: []}\n" DEVICES, "f:4: 'values' must be a list"},
    {HEAD "features:\n- {feature: arch, values: a}\n" DEVICES, "f:4: 'values' must be a list"},
    {HEAD "features:\n- {feature: f, values: [a]}\n- {feature: f, values: [a]}\n" DEVICES,
     "f:5: 'feature' names one feature twice"},
    {HEAD "features:\n- {feature: f, values: [a], compat: {b: [a]}}\n" DEVICES,
     "f:4: 'b' is not among"},
    {HEAD "features:\n- {feature: f, values: [a], compat: {a: [a]}}\n" DEVICES,
     "f:4: 'a' is not another one"},
    {RULE("{name: x}"), "f:6: a rule needs one of"},
    {RULE("{pci: {device: '0001'}}"), "f:6: 'pci' lacks 'vendor'"},
    {RULE("{pci: {vendor: '12345'}}"), "f:6: 'vendor' must be 4 hexadecimal"},
    {RULE("{pci: {vendor: '12AB'}}"), "f:6: 'vendor' must be 4 hexadecimal"},
    {RULE("{pci: {vendor: '1234', class: '120'}}"), "f:6: 'class' must be 6 or fewer"},
    {RULE("{pci: {vendor: '1234', revision: '1'}}"), "f:6: 'revision' must be 2 hexadecimal"},
    {RULE("{pci: {vendor: '1234'}, set: {arch: d}}"), "f:6: 'arch' is not among"},
    {RULE("{pci: {vendor: '1234'}, set: {model: a}}"), "f:6: 'model' is not a feature"},
    {RULE("{pci: {vendor: '1234'}, virtual_functions: maybe}"), "f:6: 'virtual_functions' must be"},
    {RULE("{pci: {vendor: '1234'}, attributes: {Firmware: fw}}"), "f:6: 'Firmware' must be a name"},
    {RULE("{pci: {vendor: '1234'}, sysfs: {class: a, vendor: '1234'}}"), "f:6: a rule needs one"},
    {RULE("{sysfs: {class: accel}}"), "f:6: 'sysfs' needs 'vendor' or"},
    {RULE("{sysfs: {class: a, attributes: {../x: y}}}"), "f:6: '../x' must be a path"},
    {RULE("{sysfs: {class: a, attributes: {/x: y}}}"), "f:6: '/x' must be a file of"},
    {RULE("{sysfs: {class: a/b, vendor: '1234'}}"), "f:6: 'class' must be one name"},
    {RULE("{devicetree: {compatible: []}}"), "f:6: 'compatible' must be a text"},
    {RULE("{devicetree: {compatible: a, vendor: b}}"), "f:6: unknown key 'vendor' of devicetree"},
    {RULE("{devicetree: {compatible: a}, virtual_functions: skip}"),
     "f:6: 'virtual_functions' belongs to 'pci'"},
    {RULE("{pci: {vendor: '1234', device: ['0001', '0001']}}"), "f:6: '0001' is given twice"},
    {RULE("{pci: {vendor: '1234', device: 0x01}}"), "f:6: 'device' must be 4 hexadecimal"},
    {RULE("{pci: {vendor: '1234', device: {a: b}}}"),
     "f:6: 'device' must be 4 hexadecimal digits in lower case, quoted, or a l"},
    {RULE("{pci: {vendor: ['1234']}}"), "f:6: 'vendor' must be 4 hexadecimal"},
    {RULE("{pci: {vendor: '1234', subsystem: '0001'}}"), "f:6: unknown key 'subsystem' of pci"},
    {RULE("{pci: {vendor: '1234', driver: ../x}}"), "f:6: 'driver' must be one name"},
    {RULE("{pci: [], set: {arch: a}}"), "f:6: 'pci' must be a mapping"},
    {RULE("pci"), "f:6: 'pci' must be a mapping"},
    {RULE("{pci: {vendor: '1234'}, set: [a]}"), "f:6: 'set' must be a mapping of"},
    {RULE("{pci: {vendor: '1234'}, set: {arch: [a]}}"), "f:6: 'arch' must be a value"},
    {RULE("{pci: {vendor: '1234'}, name: ''}"), "f:6: 'name' must be a text"},
    {RULE("{pci: {vendor: '1234'}, name: \"a\\tb\"}"), "f:6: 'name' must be a text"},
    {RULE("{pci: {vendor: '1234'}, memory: /a//b}"), "f:6: 'memory' must be a path"},
    {RULE("{pci: {vendor: '1234'}, memory: {file: a, unit: MB}}"), "f:6: 'unit' must be B, KiB"},
    {RULE("{pci: {vendor: '1234'}, memory: {unit: B}}"), "f:6: 'memory' lacks 'file'"},
    {RULE("{pci: {vendor: '1234'}, guess: false}"), "f:6: 'guess' must be true"},
    {RULE("{pci: {vendor: '1234'}, memory: [a]}"), "f:6: 'memory' must be a path"},
    {RULE("{pci: {vendor: '1234'}, memory: {file: a, unit: KiB}}"), NULL},
    {RULE("{pci: {vendor: '1234'}, attributes: {memory: a}}"), "f:6: 'memory' is a key of"},
    {RULE("{pci: {vendor: '1234'}, attributes: {a: {file: b, kay: c}}}"),
     "f:6: unknown key 'kay' of a source; did you mean 'key'?"},
    {RULE("{pci: {vendor: '1234'}, attributes: {a: []}}"), "f:6: 'a' must be a path"},
    {RULE("{sysfs: {class: accel, vendor: '1234', pci_address: ../x}}"), "f:6: 'pci_address' must"},
    {HEAD "features: {arch: [a]}\n" DEVICES, "f:3: 'features' must be a list"},
    {HEAD "features:\n- {feature: arch, values: [a, a]}\n" DEVICES, "f:4: 'a' is given twice"},
    {HEAD "features:\n- {feature: arch, values: [a], read: /b}\n" DEVICES,
     "f:4: a feature needs eit"},
    {HEAD "features:\n- {feature: ar-ch, values: [a]}\n" DEVICES, "f:4: 'feature' must be a name"},
    {HEAD "features:\n- {values: [a]}\n" DEVICES, "f:4: a feature lacks 'feature'"},
    {HEAD "features:\n- {feature: f, values: [a, {b: c}]}\n" DEVICES, "f:4: an item must be a val"},
    {HEAD "features:\n- {feature: f, values: [a], compat: [a]}\n" DEVICES, "f:4: 'compat' must"},
    {HEAD FEATURES "devices: []\n", "f:5: 'devices' must be a list"},
    {HEAD FEATURES "devices: {}\n", "f:5: 'devices' must be a list"},
    /* YAML itself */
    {GOOD "drivers: [&x chip]\n", NULL}, /* an anchor that nothing refers to does no harm */
    {"a: &a [x, x]\nb: &b [*a, *a]\n", "f:2: aliases are not allowed"},
    {"<<: {a: b}\n" GOOD, "f:1: unknown key '<<'"},
    {GOOD "drivers: [chip\n", "f:8: "},
    {GOOD "drivers: \"chip\n", "f:8: "},
    {GOOD "name: \"a\\0b\"\n", "f:7: a NUL byte"},
    {GOOD "name: \x01\n", "f:7: control characters"},
    {GOOD "name: \xff\n", "f:7: invalid leading UTF-8"},
    {GOOD "%YAML 3.0\n", "f:7: "},
    {GOOD "meaning: !!binary x\n", NULL}, /* tags mean nothing */
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

START_TEST(reader_takes_no_bombs)
{
    static char text[1024 * 1024];
    struct ocv_declaration d = {0};
    struct ocv_error err = {0};
    static const char nul[] = GOOD "name: a\0b\n";
    ck_assert_int_eq(ocv_declaration_read("f", nul, sizeof(nul) - 1, &d, &err), OCV_ERR_CONFIG);
    ck_assert_msg(strncmp(err.message, "f:7: ", 5) == 0, "%s", err.message);
    memset(text, 'a', sizeof(text));
    ck_assert_int_eq(ocv_declaration_read("f", text, sizeof(text), &d, &err), OCV_ERR_CONFIG);
    ck_assert_str_eq(err.message, "f: larger than 65536 bytes");
    memset(text, '[', OCV_DECLARATION_MAX);
    ck_assert_int_eq(ocv_declaration_read("f", text, OCV_DECLARATION_MAX, &d, &err),
                     OCV_ERR_CONFIG);
    ck_assert_str_eq(err.message, "f:1: nested too deeply");
    for (size_t i = 0; i < OCV_DECLARATION_MAX; i++)
        text[i] = "-\n"[i % 2];
    ck_assert_int_eq(ocv_declaration_read("f", text, OCV_DECLARATION_MAX, &d, &err),
                     OCV_ERR_CONFIG);
    ck_assert_msg(strcmp(err.message, "f:8193: too many values") == 0 ||
                      strcmp(err.message, "f:8192: too many values") == 0,
                  "%s", err.message);
}
END_TEST

/* ---- which file answers ------------------------------------------------------------------------
 */

static int probe_with(const char *file, json_t **profile, struct ocv_error *err)
{
    char directory[128];
    snprintf(directory, sizeof(directory), "%s/own", root);
    write_text("own/chip.yaml", "%s", file);
    struct ocv_probe_options options = {.providers = directory};
    return probe_status(&options, profile, err);
}

START_TEST(directories_hold_files)
{
    char directory[128], path[256];
    struct ocv_error err = {0};
    json_t *profile = NULL;
    snprintf(directory, sizeof(directory), "%s/own", root);
    snprintf(path, sizeof(path), "%s/pipe.yaml", directory);
    struct ocv_probe_options options = {.providers = directory};
    write_text("own/README", "not YAML: [");
    write_text("own/.hidden.yaml", "not YAML: [");
    ck_assert_msg(probe_status(&options, &profile, &err) == 0, "%s", err.message);
    json_decref(profile);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(probe_status(&options, &profile, &err), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "pipe.yaml: not a regular file"));
    unlink(path);
    ck_assert_int_eq(symlink("nothing", path), 0);
    ck_assert_int_eq(probe_status(&options, &profile, &err), OCV_ERR_CONFIG);
}
END_TEST

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
/* ---- every way to match ---- */

static const struct {
    const char *rule, *devices; /* of the machine below */
} ways[] = {
    {"{pci: {vendor: '1234'}}", "01 02 03 04"},
    {"{pci: {vendor: '1234', device: '0001'}}", "01 02"},
    {"{pci: {vendor: '1234', device: ['0001', '0002']}}", "01 02 03"},
    {"{pci: {vendor: '1234', subsystem_vendor: '1111'}}", "02"},
    {"{pci: {vendor: '1234', subsystem_device: '0022'}}", "02"},
    {"{pci: {vendor: '1234', subsystem_vendor: '1111', subsystem_device: ['0022', '0033']}}", "02"},
    {"{pci: {vendor: '1234', class: '03'}}", "03 04"},
    {"{pci: {vendor: '1234', class: ['0300', '0302']}}", "03"},
    {"{pci: {vendor: '1234', class: '038000'}}", "04"},
    {"{pci: {vendor: '1234', revision: '0a'}}", "03"},
    {"{pci: {vendor: '1234', revision: ['00', '0b']}}", "01 02 04"},
    {"{pci: {vendor: '1234', driver: chip}}", "01 03 04"},
    {"{pci: {vendor: '1234', driver: [other, third]}}", "02"},
    {"{sysfs: {class: accel, vendor: '1234'}, set: {arch: a}}", "03"},
    {"{sysfs: {class: accel, attributes: {kind: Good}}, set: {arch: a}}", "03 05"},
    {"{sysfs: {class: accel, vendor: '4321', attributes: {kind: [bad, good]}}, set: {arch: a}}",
     "05"},
    {"{sysfs: {class: accel, vendor: '1234', attributes: {kind: bad}}, set: {arch: a}}", ""},
};

static void ways_machine(void)
{
    static const char *const drivers[] = {"chip", "other", "chip", "chip", "chip"};
    static const char *const revisions[] = {"00", "00", "0a", "0b", "00"};
    static const char *const classes[] = {"120000", "120000", "030200", "038000", "120000"};
    for (int i = 0; i < 5; i++) {
        char address[16], path[128];
        snprintf(address, sizeof(address), "0000:%02x:00.0", i + 1);
        add_card(address, &(struct card){i == 4 ? "4321" : "1234", i < 2 ? "0001" : "0002",
                                         i == 1 ? "0022" : NULL, revisions[i], drivers[i]});
        snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", address);
        write_text(path, "0x%s\n", classes[i]);
    }
    write_text("sys/bus/pci/devices/0000:02:00.0/subsystem_vendor", "0x1111\n");
    write_text("sys/bus/pci/devices/0000:04:00.0/device", "0x0003\n");
    link_to("../../../bus/pci/devices/0000:03:00.0", "sys/class/accel/accel0/device");
    link_to("../../../bus/pci/devices/0000:05:00.0", "sys/class/accel/accel1/device");
    write_text("sys/class/accel/accel0/kind", "good");
    write_text("sys/class/accel/accel1/kind", "GOOD\n");
}

START_TEST(every_way_to_match)
{
    ways_machine();
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        char text[1024], found[64] = "";
        struct ocv_error err = {0};
        json_t *profile = NULL, *device;
        size_t k;
        snprintf(text, sizeof(text), HEAD "drivers: [chip, other]\n" FEATURES "devices: [%s]\n",
                 ways[i].rule);
        ck_assert_msg(probe_with(text, &profile, &err) == 0, "%s: %s", ways[i].rule, err.message);
        json_array_foreach(json_object_get(namespace_of(profile, "chip"), "devices"), k, device)
        {
            size_t at = strlen(found);
            snprintf(found + at, sizeof(found) - at, "%s%.2s", k ? " " : "",
                     string_at(device, "id") + 5);
        }
        ck_assert_msg(strcmp(found, ways[i].devices) == 0, "%s: %s", ways[i].rule, found);
        json_decref(profile);
    }
}
END_TEST

static const struct {
    const char *text, *unit, *bytes; /* NULL: none */
} sizes[] = {
    {"85520809984\n", NULL, "85520809984"},
    {"32768", ", unit: MiB", "34359738368"},
    {"0x10", ", unit: KiB", "16384"},
    {"16", ", unit: GiB", "17179869184"},
    {"7", ", unit: B", "7"},
    {"0", NULL, NULL},
    {"-1", NULL, NULL},
    {"16 GB", NULL, NULL},
    {"99999999999999999999", NULL, NULL},
    {"17179869184", ", unit: GiB", NULL},
    {"", NULL, NULL},
};

START_TEST(memory_in_bytes)
{
    add_card("0000:01:00.0", &(struct card){"1234", "0001", NULL, NULL, "chip"});
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char rule[256];
        write_text("sys/bus/pci/devices/0000:01:00.0/mem", "%s", sizes[i].text);
        snprintf(rule, sizeof(rule),
                 HEAD FEATURES
                 "devices:\n- {pci: {vendor: '1234'}, memory: {file: mem%s}, set: {arch: a}}\n",
                 sizes[i].unit ? sizes[i].unit : "");
        struct ocv_error err = {0};
        json_t *profile = NULL;
        ck_assert_msg(probe_with(rule, &profile, &err) == 0, "%s", err.message);
        json_t *device = device_of(namespace_of(profile, "chip"), "0000:01:00.0");
        ck_assert_str_eq(string_at(json_object_get(device, "attributes"), "memory"),
                         sizes[i].bytes ? sizes[i].bytes : "");
        json_decref(profile);
    }
}
END_TEST

static const struct {
    const char *text, *version; /* NULL: none */
} versions[] = {
    {"25.5.1", "25.5.1"},
    {"8.3.RC1", "8.3.rc1"},
    {"1.2.92-6d00b56", "1.2.92"},
    {"1..2", "1"},
    {"7.", "7"},
    {"2_3", "2"},
    {"v1.2", NULL},
    {".5", NULL},
    {"unknown", NULL},
};

START_TEST(versions_are_cut)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s", versions[i].text);
        ck_assert_int_eq(ocv_source_version(text), versions[i].version != NULL);
        if (versions[i].version)
            ck_assert_str_eq(text, versions[i].version);
    }
}
END_TEST

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

/* ---- files that the build knew ------------------------------------------------------------------
 */

/* A host of nothing but one PCI vendor's device. */
static void concerns_vendor(const struct ocv_known_file *known, const char *vendor, bool expected)
{
    struct ocv_pci_device device = {.vendor = (uint16_t)strtoul(vendor, NULL, 16)};
    struct ocv_probe_host host = {.pci = {&device, 1, 0}};
    struct ocv_error err = {0};
    ck_assert_int_eq(ocv_sysroot_open(root, &host.root, &err), 0);
    ck_assert_msg(ocv_known_file_concerns(known, &host) == expected, "%s: %s", known->ns, vendor);
    close(host.root);
}

/* What the build noted of a file is what its rules ask for. */
static void check_known(const char *text, const struct ocv_declaration *d)
{
    const struct ocv_known_file *known = ocv_known_file(text, strlen(text));
    ck_assert_msg(known != NULL, "%s is not known", d->source);
    ck_assert_str_eq(known->ns, d->ns);
    ck_assert_str_eq(known->name, d->name);
    ck_assert_str_eq(known->version, d->version);
    const struct ocv_yaml *rule = ocv_yaml_get(d->tree, "devices")->first;
    for (; rule; rule = rule->next) {
        const struct ocv_yaml *pci = ocv_yaml_get(rule, "pci"),
                              *sysfs = ocv_yaml_get(rule, "sysfs");
        if (pci)
            concerns_vendor(known, ocv_yaml_text(pci, "vendor"), true);
        if (sysfs) {
            char path[128];
            snprintf(path, sizeof(path), "sys/class/%s/x", ocv_yaml_text(sysfs, "class"));
            write_text(path, "%s", "");
            concerns_vendor(known, "0", true);
            new_root();
        }
        if (ocv_yaml_get(rule, "devicetree")) {
            write_text("sys/bus/platform/devices/x", "%s", "");
            concerns_vendor(known, "0", true);
            new_root();
        }
    }
    concerns_vendor(known, "4321", false);
}

START_TEST(known_files_are_noted_as_they_are)
{
    struct ocv_declarations set = {0};
    struct ocv_error err = {0};
    ck_assert_msg(ocv_declarations_load(&set, SHIPPED "/providers", NULL, &err) == 0, "%s",
                  err.message);
    ck_assert_uint_ge(set.n, 30);
    for (size_t i = 0; i < set.n; i++) {
        static char text[OCV_DECLARATION_MAX];
        FILE *file = fopen(set.items[i].source, "rb");
        ck_assert_ptr_nonnull(file);
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        fclose(file);
        check_known(text, &set.items[i]);
        text[0] ^= 1;
        ck_assert_ptr_null(ocv_known_file(text, strlen(text)));
    }
    ocv_declarations_free(&set);
}
END_TEST

/* A shipped file that was changed is read on every machine, and its mistakes are reported. */
START_TEST(changed_files_are_read)
{
    char command[256], datadir[128];
    struct ocv_error err = {0};
    json_t *profile = NULL;
    snprintf(datadir, sizeof(datadir), "%s/data", root);
    snprintf(command, sizeof(command), "mkdir -p '%s' && cp -R " SHIPPED "/providers '%s'", datadir,
             datadir);
    ck_assert_int_eq(system(command), 0);
    struct ocv_probe_options options = {.datadir = datadir};
    ck_assert_msg(probe_status(&options, &profile, &err) == 0, "%s", err.message);
    ck_assert_uint_eq(json_array_size(json_object_get(profile, "namespaces")), 0);
    json_decref(profile);
    write_text("data/providers/groq.yaml", GOOD "colour: red\n");
    ck_assert_int_eq(probe_status(&options, &profile, &err), OCV_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(err.message, "groq.yaml:7: unknown key 'colour'"));
    write_text("data/providers/groq.yaml", GOOD);
    add_card("0000:01:00.0", &(struct card){"1234", "0001", NULL, NULL, "chip"});
    ck_assert_msg(probe_status(&options, &profile, &err) == 0, "%s", err.message);
    ck_assert_str_eq(features_of(namespace_of(profile, "chip")), "arch=a");
    json_decref(profile);
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
    tcase_add_test(tcase, reader_takes_no_bombs);
    tcase_add_test(tcase, directories_hold_files);
    tcase_add_test(tcase, one_provider_a_namespace);
    tcase_add_test(tcase, check_asks_one_file);
    tcase_add_test(tcase, lists_and_order);
    tcase_add_test(tcase, every_way_to_match);
    tcase_add_test(tcase, memory_in_bytes);
    tcase_add_test(tcase, versions_are_cut);
    tcase_add_test(tcase, class_entries);
    tcase_add_test(tcase, device_tree);
    tcase_add_test(tcase, known_files_are_noted_as_they_are);
    tcase_add_test(tcase, changed_files_are_read);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
