/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees that stand for a machine: made here, copied from recordings, probed. Every namespace that
 * is taken out of a profile has been held against schema/vocabulary.yaml. */
#ifndef SYSROOT_UTIL_H
#define SYSROOT_UTIL_H

#include "lib/probe/declarative/declarative.h"
#include "lib/probe/providers/gpu.h"
#include "test/unit/core_util.h"

#include <fcntl.h>
#include <regex.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

UNUSED static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/ocv-sysroot.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

UNUSED static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "chmod -R u+w '%s'; rm -rf '%s'", root, root);
    ck_assert_int_eq(system(command), 0);
}

/* Full path of a file of the tree, its directories made. Static memory. */
UNUSED static const char *place(const char *path)
{
    static char full[768];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    return full;
}

UNUSED static void write_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(place(path), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

UNUSED static void write_text(const char *path, const char *content)
{
    write_bytes(path, content, strlen(content));
}

UNUSED static void write_link(const char *path, const char *target)
{
    ck_assert_int_eq(symlink(target, place(path)), 0);
}

/* A file of a PCI device's directory. */
UNUSED static void pci_file(const char *address, const char *name, const char *content)
{
    char path[256];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/%s", address, name);
    write_text(path, content);
}

/* `id` is "VENDOR:DEVICE" in hexadecimal, `driver` may be NULL. */
UNUSED static void add_pci(const char *address, const char *id, const char *class_code,
                           const char *driver)
{
    char text[32], path[256];
    snprintf(text, sizeof(text), "0x%.4s\n", id);
    pci_file(address, "vendor", text);
    snprintf(text, sizeof(text), "0x%.4s\n", id + 5);
    pci_file(address, "device", text);
    snprintf(text, sizeof(text), "0x%s\n", class_code);
    pci_file(address, "class", text);
    if (!driver)
        return;
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/driver", address);
    char target[96];
    snprintf(target, sizeof(target), "../../../../bus/pci/drivers/%s", driver);
    write_link(path, target);
}

/* Make it a virtual function of another. */
UNUSED static void make_virtual(const char *address, const char *of)
{
    char path[256], target[64];
    snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/physfn", address);
    snprintf(target, sizeof(target), "../%s", of);
    write_link(path, target);
}

UNUSED static const char *text_of(json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

UNUSED static json_t *item_named(json_t *list, const char *key, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(text_of(json_array_get(list, i), key), name) == 0)
            return json_array_get(list, i);
    return NULL;
}

/* Values of a feature joined by blanks; "-" for an empty list, "" without a list. Static memory. */
UNUSED static const char *values_of(json_t *holder, const char *feature)
{
    static char text[4096];
    json_t *list =
        json_object_get(item_named(json_object_get(holder, "features"), "name", feature), "values");
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(list); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "",
                               json_string_value(json_array_get(list, i)));
    ck_assert_uint_lt(at, sizeof(text));
    return list && json_array_size(list) == 0 ? "-" : text;
}

UNUSED static json_t *nth_device(json_t *ns, size_t i)
{
    return json_array_get(json_object_get(ns, "devices"), i);
}

UNUSED static const char *attribute_of(json_t *device, const char *key)
{
    return text_of(json_object_get(device, "attributes"), key);
}

UNUSED static bool flag_of(json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

UNUSED static const struct ocv_yaml *yaml_item(const struct ocv_yaml *list, const char *key,
                                               const char *name)
{
    for (const struct ocv_yaml *m = list ? list->first : NULL; m; m = m->next)
        if (strcmp(ocv_yaml_text(m, key), name) == 0)
            return m;
    return NULL;
}

UNUSED static void check_list(const struct ocv_yaml *entry, const char *name, json_t *values)
{
    const char *pattern = ocv_yaml_text(entry, "pattern");
    regex_t regex;
    if (pattern)
        ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *value = json_string_value(json_array_get(values, i));
        bool fits = pattern ? regexec(&regex, value, 0, NULL, 0) == 0
                            : ocv_yaml_find(ocv_yaml_get(entry, "values"), value) >= 0;
        ck_assert_msg(fits, "%s :: %s is not in the vocabulary", name, value);
    }
    if (pattern)
        regfree(&regex);
}

/* Features of the namespace or of a device: known ones, in the vocabulary's order. */
UNUSED static void check_features(const struct ocv_yaml *known, json_t *features)
{
    const struct ocv_yaml *at = known->first;
    for (size_t i = 0; i < json_array_size(features); i++) {
        json_t *feature = json_array_get(features, i);
        const char *name = text_of(feature, "name");
        while (at && strcmp(ocv_yaml_text(at, "feature"), name) != 0)
            at = at->next;
        ck_assert_msg(at != NULL, "%s: not in the vocabulary, or out of order", name);
        check_list(at, name, json_object_get(feature, "values"));
    }
}

UNUSED static void check_vocabulary(json_t *ns)
{
    struct ocv_error err = {0};
    struct ocv_yaml *tree = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, 1u << 20);
    int top = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(ocv_sysroot_read(top, "schema/vocabulary.yaml", &text, &err), OCV_OK);
    close(top);
    ck_assert_msg(ocv_yaml_read("vocabulary", text.data, text.len, &tree, &err) == OCV_OK, "%s",
                  err.message);
    const struct ocv_yaml *entry =
        yaml_item(ocv_yaml_get(tree, "namespaces"), "namespace", text_of(ns, "namespace"));
    ck_assert_ptr_nonnull(entry);
    ck_assert_ptr_null(ocv_yaml_get(entry, "documented"));
    check_features(ocv_yaml_get(entry, "features"), json_object_get(ns, "features"));
    for (size_t i = 0; i < json_array_size(json_object_get(ns, "devices")); i++)
        check_features(ocv_yaml_get(entry, "features"),
                       json_object_get(nth_device(ns, i), "features"));
    ocv_yaml_free(tree);
}

/* A namespace of a tree's profile; NULL if it is not there. Freed by the caller. */
UNUSED static json_t *namespace_by(const struct ocv_probe_options *options, const char *name)
{
    struct ocv_error err = {0};
    ocv_auto(ocv_profile) parsed = NULL;
    ocv_auto_buffer text;
    ocv_buffer_init(&text, OCV_PROFILE_MAX);
    ck_assert_msg(ocv_probe(options, &text, &err) == OCV_OK, "%s", err.message);
    ck_assert_msg(ocv_profile_parse(text.data, text.len, &parsed, &err) == OCV_OK, "%s",
                  err.message);
    json_t *profile = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(profile);
    json_t *found =
        json_incref(item_named(json_object_get(profile, "namespaces"), "namespace", name));
    json_decref(profile);
    if (found)
        check_vocabulary(found);
    return found;
}

UNUSED static json_t *namespace_of(const char *tree, const char *name)
{
    const struct ocv_probe_options options = {.sysroot = tree, .datadir = tree, .providers = tree};
    return namespace_by(&options, name);
}

/* Ask one provider as on the machine that this runs on, with the tree in place of /. */
UNUSED static int ask_live(const struct provider *provider, struct ocv_result *result,
                           struct ocv_error *err)
{
    struct ocv_probe_options options = {.sysroot = root};
    struct ocv_probe_host host;
    ck_assert_int_eq(ocv_probe_host_open(&options, &host, err), OCV_OK);
    host.live = true;
    *result = (struct ocv_result){
        .status = OCV_RESULT_ABSENT, .features = json_array(), .devices = json_array()};
    int status = provider->probe(&host, result, err);
    ocv_probe_host_close(&host);
    return status;
}

/* The lists of a result as an object with "features"; ends the result. Freed by the caller. */
UNUSED static json_t *features_of(struct ocv_result *result)
{
    json_decref(result->devices);
    return json_pack("{s:o}", "features", result->features);
}

/* Copy a recording FIXTURES/KIND/NAME into the tree. Its links may have become files that hold
 * their target. */
UNUSED static void restore(const char *kind, const char *name)
{
    char command[2048];
    snprintf(command, sizeof(command),
             "cp -r '%s/%s/%s/.' '%s' && cd '%s' && chmod -R u+w . && "
             "grep -rlE '^[.][.]/' --include=driver --include='*:*' sys 2>/dev/null |"
             "while IFS= read -r f; do t=$(cat \"$f\"); rm \"$f\"; ln -s \"$t\" \"$f\"; done; :",
             fixtures_dir(), kind, name, root, root);
    ck_assert_int_eq(system(command), 0);
}

/* True if the recording is there; says that the test is skipped if not. */
UNUSED static bool have_fixture(const char *kind, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s/%s/expected.json", fixtures_dir(), kind, name);
    if (access(path, R_OK) == 0)
        return true;
    printf("skipped: no %s\n", path);
    return false;
}

#endif
