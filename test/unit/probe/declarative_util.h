/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Providers' files, and machines made by hand. */
#ifndef OCV_DECLARATIVE_UTIL_H
#define OCV_DECLARATIVE_UTIL_H

#include "lib/probe/declarative/declarative.h"
#include "test/unit/probe/probe_util.h"

struct card {
    const char *vendor, *device, *subsystem, *revision, *driver;
};

UNUSED static void add_card(const char *address, const struct card *card)
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
    {GOOD "version: A\n", "f:7: invalid value 'A' for version: a value"},
    {GOOD "meaning: []\n", "f:7: 'meaning' must be a text"},
    {GOOD "drivers: [a/b]\n", "f:7: 'a/b' must be one name"},
    {GOOD "drivers: [a, a]\n", "f:7: 'a' is given twice"},
    {GOOD "drivers: [[a], [b]]\n", "f:7: an item must be one name"},
    {GOOD "driver_version: /a/../b\n", "f:7: invalid value '/a/../b' for driver_version: a path"},
    {GOOD "driver_version: {key: a}\n", "f:7: 'driver_version' lacks 'file'"},
    {GOOD "x: *a\n", "f:7: aliases are not allowed"},
    {GOOD "---\n" GOOD, "f:7: a second document"},
    {GOOD "\t\n", "f:7: "},
    {GOOD "? [a]\n: b\n", "f:7: a key must be plain text"},
    {"schema: dev.ocivariant.provider/v2\n", "f:1: the file lacks 'namespace'"},
    {"schema: x\nnamespace: chip\n" FEATURES DEVICES, "f:1: invalid value 'x' for schema: "},
    {"schema: dev.ocivariant.provider/v1\nnamespace: Chip\n" FEATURES DEVICES,
     "f:2: invalid value 'Chip' for namespace: a name"},
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
    {RULE("{pci: {vendor: '12345'}}"), "f:6: invalid value '12345' for vendor: 4 hexadecimal"},
    {RULE("{pci: {vendor: '12AB'}}"), "f:6: invalid value '12AB' for vendor: 4 hexadecimal"},
    {RULE("{pci: {vendor: '1234', class: '120'}}"),
     "f:6: invalid value '120' for class: 6 or fewer"},
    {RULE("{pci: {vendor: '1234', revision: '1'}}"),
     "f:6: invalid value '1' for revision: 2 hexadecimal"},
    {RULE("{pci: {vendor: '1234'}, set: {arch: d}}"), "f:6: 'arch' is not among"},
    {RULE("{pci: {vendor: '1234'}, set: {model: a}}"), "f:6: 'model' is not a feature"},
    {RULE("{pci: {vendor: '1234'}, virtual_functions: maybe}"), "f:6: invalid value 'maybe'"},
    {RULE("{pci: {vendor: '1234'}, attributes: {Firmware: fw}}"), "f:6: 'Firmware' must be a name"},
    {RULE("{pci: {vendor: '1234'}, sysfs: {class: a, vendor: '1234'}}"), "f:6: a rule needs one"},
    {RULE("{sysfs: {class: accel}}"), "f:6: 'sysfs' needs 'vendor' or"},
    {RULE("{sysfs: {class: a, attributes: {../x: y}}}"), "f:6: '../x' must be a path"},
    {RULE("{sysfs: {class: a, attributes: {/x: y}}}"), "f:6: '/x' must be a file of"},
    {RULE("{sysfs: {class: a/b, vendor: '1234'}}"), "f:6: invalid value 'a/b' for class: one name"},
    {RULE("{devicetree: {compatible: []}}"), "f:6: 'compatible' must be a text"},
    {RULE("{devicetree: {compatible: a, vendor: b}}"), "f:6: unknown key 'vendor' of devicetree"},
    {RULE("{devicetree: {compatible: a}, virtual_functions: skip}"),
     "f:6: 'virtual_functions' belongs to 'pci'"},
    {RULE("{pci: {vendor: '1234', device: ['0001', '0001']}}"), "f:6: '0001' is given twice"},
    {RULE("{pci: {vendor: '1234', device: 0x01}}"),
     "f:6: invalid value '0x01' for device: 4 hexadecimal"},
    {RULE("{pci: {vendor: '1234', device: {a: b}}}"),
     "f:6: 'device' must be 4 hexadecimal digits in lower case, quoted, or a l"},
    {RULE("{pci: {vendor: ['1234']}}"), "f:6: 'vendor' must be 4 hexadecimal"},
    {RULE("{pci: {vendor: '1234', subsystem: '0001'}}"), "f:6: unknown key 'subsystem' of pci"},
    {RULE("{pci: {vendor: '1234', driver: ../x}}"),
     "f:6: invalid value '../x' for driver: one name"},
    {RULE("{pci: [], set: {arch: a}}"), "f:6: 'pci' must be a mapping"},
    {RULE("pci"), "f:6: 'pci' must be a mapping"},
    {RULE("{pci: {vendor: '1234'}, set: [a]}"), "f:6: 'set' must be a mapping of"},
    {RULE("{pci: {vendor: '1234'}, set: {arch: [a]}}"), "f:6: 'arch' must be a value"},
    {RULE("{pci: {vendor: '1234'}, name: ''}"), "f:6: 'name' must be a text"},
    {RULE("{pci: {vendor: '1234'}, name: \"a\\tb\"}"), "f:6: invalid value 'a?b' for name: a text"},
    {RULE("{pci: {vendor: '1234'}, memory: /a//b}"),
     "f:6: invalid value '/a//b' for memory: a path"},
    {RULE("{pci: {vendor: '1234'}, memory: {file: a, unit: MB}}"),
     "f:6: invalid value 'MB' for unit: B, KiB"},
    {RULE("{pci: {vendor: '1234'}, memory: {unit: B}}"), "f:6: 'memory' lacks 'file'"},
    {RULE("{pci: {vendor: '1234'}, guess: false}"), "f:6: invalid value 'false' for guess: true"},
    {RULE("{pci: {vendor: '1234'}, memory: [a]}"), "f:6: 'memory' must be a path"},
    {RULE("{pci: {vendor: '1234'}, memory: {file: a, unit: KiB}}"), NULL},
    {RULE("{pci: {vendor: '1234'}, attributes: {memory: a}}"), "f:6: 'memory' is a key of"},
    {RULE("{pci: {vendor: '1234'}, attributes: {a: {file: b, kay: c}}}"),
     "f:6: unknown key 'kay' of a source; did you mean 'key'?"},
    {RULE("{pci: {vendor: '1234'}, attributes: {a: []}}"), "f:6: 'a' must be a path"},
    {RULE("{sysfs: {class: accel, vendor: '1234', pci_address: ../x}}"),
     "f:6: invalid value '../x' for pci_address"},
    {HEAD "features: {arch: [a]}\n" DEVICES, "f:3: 'features' must be a list"},
    {HEAD "features:\n- {feature: arch, values: [a, a]}\n" DEVICES, "f:4: 'a' is given twice"},
    {HEAD "features:\n- {feature: arch, values: [a], read: /b}\n" DEVICES,
     "f:4: a feature needs eit"},
    {HEAD "features:\n- {feature: ar-ch, values: [a]}\n" DEVICES,
     "f:4: invalid value 'ar-ch' for feature: a name"},
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

UNUSED static int probe_with(const char *file, json_t **profile, struct ocv_error *err)
{
    char directory[128];
    snprintf(directory, sizeof(directory), "%s/own", root);
    write_text("own/chip.yaml", "%s", file);
    struct ocv_probe_options options = {.providers = directory};
    return probe_status(&options, profile, err);
}

#endif
