/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test/data/machines: each machine gives what is written beside it, and takes of an index what is
 * written beside it; libpci sees the devices that the confined reader sees. plugins/providers: each
 * file has machines with its devices, without their driver, and with virtual functions. */
#include "lib/probe/declarative/declarative.h"
#include "test/unit/machines/machine_tags.h"
#include "test/unit/probe/pci_readers.h"

static const char *words_of_devices(const json_t *ns)
{
    static char text[2048];
    json_t *device;
    size_t i;
    text[0] = '\0';
    json_array_foreach(json_object_get(ns, "devices"), i, device)
    {
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "", string_at(device, "id"));
    }
    return text;
}

static bool has_value(const json_t *ns, const char *feature, const char *value)
{
    json_t *entry, *v;
    size_t i, k;
    json_array_foreach(json_object_get(ns, "features"), i, entry)
    {
        json_array_foreach(json_object_get(entry, "values"), k, v)
        {
            if (strcmp(string_at(entry, "name"), feature) == 0 &&
                strcmp(json_string_value(v), value) == 0)
                return true;
        }
    }
    return false;
}

#define SAYS(actual)                                                                            \
    do {                                                                                        \
        const char *said = (actual);                                                            \
        ck_assert_msg(strcmp(said, rest) == 0, "%s:%zu: %s: %s: '%s', not '%s'", m->file, line, \
                      m->name, verb, said, rest);                                               \
    } while (0)

static void check_device(const struct machine *m, size_t line, const char *verb, char *rest,
                         const json_t *device)
{
    if (strcmp(verb, "device") == 0) {
        SAYS(features_of(device));
    } else if (strcmp(verb, "name") == 0) {
        SAYS(string_at(device, "name"));
    } else if (strcmp(verb, "index") == 0) {
        char index[24];
        snprintf(index, sizeof(index), "%lld",
                 (long long)json_integer_value(json_object_get(device, "index")));
        SAYS(index);
    } else if (strcmp(verb, "secondary") == 0) {
        ck_assert_msg(json_is_true(json_object_get(device, "secondary")), "%s:%zu: it counts",
                      m->file, line);
    } else {
        ck_assert_msg(strcmp(verb, "attribute") == 0, "%s:%zu: what is '%s'?", m->file, line, verb);
        const char *key = next_word(&rest);
        SAYS(string_at(json_object_get(device, "attributes"), key));
    }
}

static void check_platform(const struct machine *m, size_t line, const char *wanted,
                           const json_t *profile)
{
    char text[128] = "none";
    const json_t *platform = json_object_get(profile, "platform");
    const char *variant = string_at(platform, "variant");
    if (platform)
        snprintf(text, sizeof(text), "%s/%s%s%s", string_at(platform, "os"),
                 string_at(platform, "architecture"), *variant ? "/" : "", variant);
    ck_assert_msg(strcmp(text, wanted) == 0, "%s:%zu: %s: the platform is %s, not %s", m->file,
                  line, m->name, text, wanted);
}

static void check_line(const struct machine *m, size_t line, const char *verb, char *rest,
                       void *data)
{
    if (strcmp(verb, "tags") == 0) {
        check_tags(m, line, rest, data);
        return;
    }
    if (strcmp(verb, "platform") == 0) {
        check_platform(m, line, rest, data);
        return;
    }
    if (strcmp(verb, "choice") == 0 || strcmp(verb, "hint") == 0) {
        (*verb == 'c' ? check_choice : check_hint)(m, line, rest, data);
        return;
    }
    const json_t *ns = namespace_of(data, next_word(&rest));
    if (strcmp(verb, "absent") == 0) {
        ck_assert_msg(ns == NULL || strcmp(string_at(ns, "status"), "absent") == 0,
                      "%s:%zu: it is there", m->file, line);
        return;
    }
    ck_assert_msg(ns != NULL, "%s:%zu: %s: no such namespace", m->file, line, m->name);
    if (strcmp(verb, "status") == 0) {
        SAYS(string_at(ns, "status"));
    } else if (strcmp(verb, "features") == 0) {
        SAYS(features_of(ns));
    } else if (strcmp(verb, "error") == 0) {
        SAYS(string_at(ns, "error"));
    } else if (strcmp(verb, "driver") == 0) {
        SAYS(string_at(ns, "driver"));
    } else if (strcmp(verb, "guess") == 0) {
        SAYS(json_is_true(json_object_get(ns, "guess")) ? "yes" : "no");
    } else if (strcmp(verb, "devices") == 0) {
        SAYS(words_of_devices(ns));
    } else if (strcmp(verb, "has") == 0 || strcmp(verb, "lacks") == 0) {
        const char *feature = next_word(&rest);
        ck_assert_msg(has_value(ns, feature, rest) == (*verb == 'h'), "%s:%zu: %s: %s %s %s",
                      m->file, line, m->name, *verb == 'h' ? "no" : "there is", feature, rest);
    } else {
        const json_t *device = device_of(ns, next_word(&rest));
        ck_assert_msg(device != NULL, "%s:%zu: no such device", m->file, line);
        check_device(m, line, verb, rest, device);
    }
}

START_TEST(machine_gives_what_is_written)
{
    json_t *profile = probe_machine(&machines[_i]);
    each_line(&machines[_i], false, check_line, profile);
    json_decref(profile);
    compare_readers(root);
}
END_TEST

struct coverage {
    const char *ns;
    bool serves, unserved, virtual_function;
};

static void cover_line(const struct machine *m, size_t line, const char *verb, char *rest,
                       void *data)
{
    struct coverage *c = data;
    (void)line;
    const char *ns = next_word(&rest);
    if (!ns || strcmp(ns, c->ns) != 0)
        return;
    c->serves = c->serves || (strcmp(verb, "status") == 0 && strcmp(rest, "ok") == 0);
    c->unserved = c->unserved || (strcmp(verb, "error") == 0 && strstr(rest, "driver"));
    c->virtual_function = c->virtual_function || strstr(m->text, " pf=");
}

/* A file's devices are there, lack their driver, and have virtual functions on some machine. */
START_TEST(every_file_has_its_machines)
{
    struct ocv_declarations set = {0};
    struct ocv_error err = {0};
    ck_assert_msg(ocv_declarations_load(&set, SHIPPED "/providers", NULL, &err) == 0, "%s",
                  err.message);
    ck_assert_uint_ge(set.n, 30);
    for (size_t i = 0; i < set.n; i++) {
        struct coverage c = {.ns = set.items[i].ns};
        const struct ocv_yaml *first = ocv_yaml_get(set.items[i].tree, "devices")->first;
        for (size_t k = 0; k < n_machines; k++)
            each_line(&machines[k], false, cover_line, &c);
        ck_assert_msg(c.serves, "no machine has %s", c.ns);
        ck_assert_msg(c.unserved, "no machine has %s without its driver", c.ns);
        ck_assert_msg(c.virtual_function || ocv_yaml_get(first, "devicetree"),
                      "no machine has a virtual function of %s", c.ns);
    }
    ocv_declarations_free(&set);
}
END_TEST

static const char *fixtures(const char *family)
{
    static char path[512];
    const char *directory = getenv("OCV_FIXTURES");
    snprintf(path, sizeof(path), "%s/%s", directory ? directory : "../shared/fixtures", family);
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

/* What the recording calls each attribute, and what a profile does. */
static const struct {
    const char *recorded, *attribute;
} npu_attributes[] = {
    {"driver_version", "driver_version"},
    {"fw_version", "firmware_version"},
    {"soc_rev", "soc_revision"},
    {"device_uuid", "uuid"},
};

static void check_npu(const json_t *expected, const json_t *ns)
{
    const json_t *device = device_of(ns, string_at(expected, "pci"));
    ck_assert_msg(device != NULL, "%s", string_at(expected, "pci"));
    const char *arch = string_at(expected, "arch");
    char features[64];
    snprintf(features, sizeof(features), "arch=%s", strcmp(arch, "rngd") ? arch : "renegade");
    ck_assert_str_eq(features_of(device), features);
    const json_t *attributes = json_object_get(device, "attributes");
    for (size_t i = 0; i < sizeof(npu_attributes) / sizeof(*npu_attributes); i++)
        ck_assert_str_eq(string_at(attributes, npu_attributes[i].attribute),
                         string_at(expected, npu_attributes[i].recorded));
}

START_TEST(recorded_npus)
{
    const char *directory = fixtures("npu/furiosa-test-1");
    char path[600];
    json_t *device;
    size_t i;
    if (!directory) {
        printf("skipped: no recorded machines\n");
        return;
    }
    copy_recording(directory);
    snprintf(path, sizeof(path), "%s/expected.json", root);
    json_t *expected = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(expected);
    json_t *profile = probe(), *ns = namespace_of(profile, "furiosa");
    compare_readers(root);
    ck_assert_ptr_nonnull(ns);
    ck_assert_str_eq(features_of(ns), "arch=renegade,warboy");
    json_array_foreach(json_object_get(expected, "devices"), i, device)
    {
        check_npu(device, ns);
    }
    ck_assert_uint_eq(json_array_size(json_object_get(ns, "devices")), i);
    json_decref(expected);
    json_decref(profile);
}
END_TEST

/* No recorded PCI machine has a chip of the shipped files: none may be found. Its links, put back,
 * lead nowhere out of it, so that libpci may read it. */
START_TEST(recorded_machines_have_none)
{
    size_t devices = 0;
    int recordings = 0;
    const char *directory = fixtures("pci");
    if (!directory) {
        printf("skipped: no recorded machines\n");
        return;
    }
    char base[512], path[1024];
    snprintf(base, sizeof(base), "%s", directory);
    DIR *dir = opendir(base);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        json_t *ns;
        size_t i;
        snprintf(path, sizeof(path), "%s/%s/sys", base, entry->d_name);
        if (entry->d_name[0] == '.' || access(path, R_OK) != 0 || recordings++ % tenth())
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
        devices += compare_readers(root);
    }
    closedir(dir);
    ck_assert_uint_ge(devices, tenth() == 1 ? 200 : 1);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("machines");
    TCase *tcase = tcase_create("machines");
    read_machines();
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, make_root, remove_root);
    tcase_add_loop_test(tcase, machine_gives_what_is_written, 0, (int)n_machines);
    tcase_add_test(tcase, every_file_has_its_machines);
    tcase_add_test(tcase, recorded_npus);
    tcase_add_test(tcase, recorded_machines_have_none);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
