/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "records.h"

#include "ocivariant.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX (64u * 1024)

static const char *member(const json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

static bool known(const struct record_set *set, const char *properties)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcmp(set->records[i].properties, properties) == 0)
            return true;
    return false;
}

/* A file of the folder: "sha256-HEX.json". */
static json_t *read_record(int dirfd, const char *name)
{
    char bytes[RECORD_MAX];
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    ssize_t n = read(fd, bytes, sizeof(bytes));
    close(fd);
    return n > 0 && (size_t)n < sizeof(bytes)
               ? json_loadb(bytes, (size_t)n, JSON_REJECT_DUPLICATES, NULL)
               : NULL;
}

static void take(struct record_set *set, const json_t *record, const char *label)
{
    const char *is = member(record, "label"), *digest = member(record, "child");
    const char *properties = member(record, "properties"), *of = member(record, "reference");
    if (!is || strcmp(is, label) != 0 || !properties || set->n == RECORDS_MAX ||
        known(set, properties))
        return;
    struct record *r = &set->records[set->n];
    r->digest = digest ? strdup(digest) : NULL;
    r->properties = strdup(properties);
    r->reference = of ? strdup(of) : NULL;
    if (r->properties)
        set->n++;
}

bool records_by_label(const char *dir, const char *label, struct record_set *out)
{
    const struct dirent *entry;
    unsigned files = 0;
    DIR *folder = dir ? opendir(dir) : NULL;
    *out = (struct record_set){0};
    while (folder && (entry = readdir(folder)) && files++ < RECORD_FILES_MAX) {
        if (strncmp(entry->d_name, "sha", 3) != 0)
            continue;
        json_t *record = read_record(dirfd(folder), entry->d_name);
        take(out, record, label);
        json_decref(record);
    }
    if (folder)
        closedir(folder);
    return out->n > 0;
}

void records_free(struct record_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->records[i].digest);
        free(set->records[i].properties);
        free(set->records[i].reference);
    }
    set->n = 0;
}
