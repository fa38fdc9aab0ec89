/* SPDX-License-Identifier: LGPL-3.0-or-later */
#include "lib/base/format/json.h"
#include "lib/internal/records/records.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "ocivariant/buffer.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CDI_KEYS "cdi.k8s.io/"
#define VISIBLE "_VISIBLE_DEVICES"
#define ENTRIES_MAX 4096u /* of a list in the specification that are looked at */
#define NVIDIA_MAJOR 195u /* its character devices have no link to their card in sysfs */

struct device_list {
    struct ocv_buffer text;
    const char *root;
    bool full;
};

static void add_id(struct device_list *list, const char *before, const char *id, size_t n)
{
    /* letters of ids and names of devices; a comma would be another one */
    static const char more[] = "._:-=/@+";
    char name[512];
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)id[i]) && !strchr(more, id[i]))
            return;
    if (n == 0 || n >= 256)
        return;
    int len = snprintf(name, sizeof(name), "%s%.*s", before, (int)n, id);
    if (len >= (int)sizeof(name))
        return;
    const char *at = list->text.len ? list->text.data : "";
    for (; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == (size_t)len && memcmp(at, name, (size_t)len) == 0)
            return;
    list->full |= ocv_buffer_printf(&list->text, NULL, "%s%s", list->text.len ? "," : "", name) < 0;
}

/* "0000:3b:00.0" */
static bool is_address(const char *text)
{
    static const char form[] = "xxxx:xx:xx.x";
    for (size_t i = 0; i < sizeof(form) - 1; i++)
        if (form[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    return !text[sizeof(form) - 1];
}

/* The card of a device file. */
static void add_file(struct device_list *list, unsigned major, unsigned minor)
{
    char path[512], target[512];
    if (major == NVIDIA_MAJOR) {
        static const char key[] = "Device Minor:";
        const struct dirent *entry;
        snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", list->root);
        ocv_auto_dir DIR *all = opendir(path);
        while (all && (entry = readdir(all))) {
            char file[768];
            ocv_auto_buffer text;
            ocv_buffer_init(&text, 64u * 1024);
            snprintf(file, sizeof(file), "%s/%s/information", path, entry->d_name);
            if (!is_address(entry->d_name) ||
                ocv_file_read(file, OCV_FILE_REGULAR, &text, NULL) < 0 || !text.len)
                continue;
            const char *at = strstr(text.data, key); /* "Device Minor: \t 0" */
            char *end = NULL;
            unsigned long number = at ? strtoul(at + sizeof(key) - 1, &end, 10) : 0;
            if (at && end > at + sizeof(key) - 1 && number == minor)
                add_id(list, "", entry->d_name, strlen(entry->d_name));
        }
        return;
    }
    int len =
        snprintf(path, sizeof(path), "%s/sys/dev/char/%u:%u/device", list->root, major, minor);
    ssize_t n = len < (int)sizeof(path) ? readlink(path, target, sizeof(target) - 1) : -1;
    if (n < 0)
        return;
    target[n] = '\0';
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    if (is_address(name))
        add_id(list, "", name, strlen(name));
}

/* NVIDIA_VISIBLE_DEVICES and the like. */
static void read_variables(struct device_list *list, const json_t *spec, bool all)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(json_object_get(spec, "process"), "env"), i, one)
    {
        const char *text = json_string_value(one);
        size_t n = text ? strcspn(text, "=") : 0, end = strlen(VISIBLE), at = 0;
        if (i >= ENTRIES_MAX || n <= end || text[n] != '=' ||
            memcmp(text + n - end, VISIBLE, end) != 0)
            continue;
        /* "nvidia/visible=": an owner whose devices the ids are */
        char before[128];
        bool good = true;
        for (; good && at < n - end && at < sizeof(before) - sizeof("/visible="); at++) {
            good = isalnum((unsigned char)text[at]) || text[at] == '_';
            before[at] = (char)tolower((unsigned char)text[at]);
        }
        snprintf(before + at, sizeof(before) - at, "/visible=");
        for (text += n + 1; good && *text; text += strcspn(text, ","), text += *text == ',') {
            size_t len = strcspn(text, ",");
            bool word = (len == 4 && (!memcmp(text, "void", 4) || !memcmp(text, "none", 4))) ||
                        (len == 3 && !all && !memcmp(text, "all", 3));
            if (!word)
                add_id(list, before, text, len);
        }
    }
}

char *ocv_container_devices(const json_t *spec, bool all, const char *root)
{
    struct device_list list = {.root = root};
    ocv_buffer_init(&list.text, OCV_CONTAINER_DEVICES_MAX);
    const char *key;
    const json_t *value;
    size_t seen = 0;
    json_object_foreach(json_object_get(spec, "annotations"), key, value)
    {
        const char *text = json_string_value(value);
        if (++seen > ENTRIES_MAX || !text || strncmp(key, CDI_KEYS, strlen(CDI_KEYS)) != 0)
            continue;
        for (; *text; text += strcspn(text, ","), text += *text == ',') {
            text += strspn(text, " ");
            size_t n = strcspn(text, ", ");
            if (memchr(text, '=', n))
                add_id(&list, "", text, n);
        }
    }
    size_t i;
    struct stat st;
    char path[4096];
    /* device files that are made */
    json_array_foreach(json_object_get(json_object_get(spec, "linux"), "devices"), i, value)
    {
        const char *type = ocv_json_text(value, "type");
        json_int_t major = json_integer_value(json_object_get(value, "major"));
        json_int_t minor = json_integer_value(json_object_get(value, "minor"));
        if (i < ENTRIES_MAX && type && *type == 'c' && major > 0 && major <= UINT16_MAX &&
            minor >= 0 && minor <= UINT32_MAX)
            add_file(&list, (unsigned)major, (unsigned)minor);
    }
    /* device files that are bound one by one */
    json_array_foreach(json_object_get(spec, "mounts"), i, value)
    {
        const char *source = ocv_json_text(value, "source");
        if (i >= ENTRIES_MAX || !source || strncmp(source, "/dev/", 5) != 0 ||
            snprintf(path, sizeof(path), "%s%s", root, source) >= (int)sizeof(path))
            continue;
        if (stat(path, &st) == 0 && S_ISCHR(st.st_mode))
            add_file(&list, major(st.st_rdev), minor(st.st_rdev));
    }
    if (!list.text.len)
        read_variables(&list, spec, all);
    char *found = list.text.len && !list.full ? strndup(list.text.data, list.text.len) : NULL;
    ocv_buffer_free(&list.text);
    return found;
}
