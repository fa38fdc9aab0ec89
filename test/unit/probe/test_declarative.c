/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lib/probe/declarative: errors with their lines, and which file answers for a namespace. The
 * rules: test_declarative_rules.c; the shipped files: test_machines.c. */
#include "test/unit/probe/declarative_util.h"

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

RUN_TESTS_IN("declarative", make_root, remove_root, reader_names_the_line, reader_has_limits,
             reader_takes_no_bombs, directories_hold_files, one_provider_a_namespace,
             check_asks_one_file, known_files_are_noted_as_they_are, changed_files_are_read)
