/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines made by hand in a temporary directory, and what a probe says of them. */
#ifndef PROBE_UTIL_H
#define PROBE_UTIL_H

#include "ocivariant-probe.h"
#include "test/unit/suite.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define SHIPPED "plugins" /* data directory in the source tree */

static char root[64];

UNUSED __attribute__((format(printf, 2, 3))) static void write_text(const char *path,
                                                                    const char *format, ...)
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

UNUSED static void link_to(const char *target, const char *path)
{
    char full[512];
    write_text(path, "%s", ""); /* makes the directories */
    snprintf(full, sizeof(full), "%s/%s", root, path);
    ck_assert_int_eq(unlink(full), 0);
    ck_assert_int_eq(symlink(target, full), 0);
}

UNUSED static void make_root(void)
{
    snprintf(root, sizeof(root), "/tmp/ocv-declared.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

UNUSED static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

UNUSED static void new_root(void)
{
    remove_root();
    make_root();
}

UNUSED static int probe_status(const struct ocv_probe_options *asked, json_t **out,
                               struct ocv_error *err)
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

UNUSED static json_t *probe(void)
{
    struct ocv_probe_options options = {0};
    struct ocv_error err = {0};
    json_t *profile = NULL;
    ck_assert_msg(probe_status(&options, &profile, &err) == 0, "%s", err.message);
    return profile;
}

UNUSED static const char *string_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

UNUSED static json_t *namespace_of(const json_t *profile, const char *ns)
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
UNUSED static const char *features_of(const json_t *object)
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

UNUSED static json_t *device_of(const json_t *ns, const char *id)
{
    json_t *device;
    size_t i;
    json_array_foreach(json_object_get(ns, "devices"), i, device)
    {
        if (strcmp(string_at(device, "id"), id) == 0)
            return device;
    }
    return NULL;
}

#endif
